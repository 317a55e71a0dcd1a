"""What recording costs a run: recording.py FOLDER-OF-PROGRAMS

Ranks read the clock around each task; between two steps rank 0 gathers what all have measured and writes it into the
record, so that it can be read while the run goes on. Both are set against the time of the run.
"""

import pathlib
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time

SCENARIOS = pathlib.Path(__file__).resolve().parent.parent.parent / "scenarios"
STEPS = 12


def clock_reading():
    """Seconds; through the interpreter, hence more than a rank pays."""
    count = 200_000
    start = time.perf_counter()
    for _ in range(count):
        time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    return (time.perf_counter() - start) / count


def main():
    with tempfile.TemporaryDirectory() as folder:
        record = f"{folder}/run.tandem"
        subprocess.run(
            [f"{sys.argv[1]}/tandem", "run", f"{SCENARIOS}/llama-mini-2-cores.toml", "--steps", str(STEPS), "--quiet",
             "-o", record], check=True, stdout=subprocess.DEVNULL)
        steps = sqlite3.connect(record).execute(
            "SELECT min(start_s), max(end_s), count(*) FROM spans WHERE rank = 0 GROUP BY step ORDER BY step").fetchall()
    steps = steps[2:]  # after the warm-up
    period = statistics.median(b[0] - a[0] for a, b in zip(steps, steps[1:]))
    between = statistics.median(b[0] - a[1] for a, b in zip(steps, steps[1:])) / period
    stamps = 2 * steps[0][2] * clock_reading() / period
    print(f"a step of {period * 1e3:.0f} ms, {steps[0][2]} tasks a rank: {100 * between:.3f} % of the time between steps, "
          f"{100 * stamps:.3f} % reading the clock; target 1 %")
    sys.exit(0 if between + stamps <= 0.01 else 1)


main()

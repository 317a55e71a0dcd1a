"""Steps of the CPU executor beside PyTorch's: compare_training.py BENCH_TRAINING [--steps N] [--threads N...]

Both programs stay alive and take turns, step by step, so that a machine that grows slower or faster does so for both.
"""

import argparse
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
STEP = re.compile(r"step ([\d.]+) s, processor ([\d.]+) s, loss ([\d.]+), page faults (\d+)")


def python_with_torch():
    for python in (sys.executable, "/usr/bin/python3"):
        if shutil.which(python) and subprocess.run([python, "-c", "import torch"], capture_output=True).returncode == 0:
            return python
    return None


def torch_environment(threads):
    """PyTorch's best settings: memory is kept instead of returned after each tensor, on huge pages, and OpenBLAS uses
    AVX-512 also on processors that are younger than it is."""
    best = {
        "OMP_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": str(threads),
        "MALLOC_MMAP_THRESHOLD_": str(4 << 30),
        "MALLOC_TRIM_THRESHOLD_": str(16 << 30),
        "MALLOC_TOP_PAD_": str(256 << 20),
        "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1",
    }
    if "avx512f" in pathlib.Path("/proc/cpuinfo").read_text():
        best["OPENBLAS_CORETYPE"] = "SkylakeX"
    # Settings of this shell would be another PyTorch's (a preset OPENBLAS_CORETYPE=Haswell doubles its products' time).
    tuning = ("OPENBLAS_", "OMP_", "GOMP_", "MALLOC_")
    return {name: value for name, value in os.environ.items() if not name.startswith(tuning)} | best


class Trainer:
    """A program that makes one step for each line it is sent."""

    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(
            command, env=environment, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.about = self.read()
        self.steps = []  # (wall, processor, page faults)

    def read(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit(f"{self.process.args[0]} ended with {self.process.wait()}")
        return line.strip()

    def step(self):
        self.process.stdin.write("step\n")
        self.process.stdin.flush()
        wall, cpu, _, faults = STEP.match(self.read()).groups()
        self.steps.append((float(wall), float(cpu), int(faults)))

    def end(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        self.peak_gb = int(re.search(r"VmHWM:\s+(\d+)", status).group(1)) * 1024 / 1e9
        self.process.stdin.close()
        rest = self.process.stdout.read()
        self.process.wait()
        return rest

    def median(self, column):
        return statistics.median(step[column] for step in self.steps)

    def row(self, name, threads):
        wall = [step[0] for step in self.steps]
        return (
            f"| {name}, {threads} thread{'s' if threads > 1 else ''} | {self.median(0):.3f} s of {len(wall)} "
            f"| {min(wall):.3f} .. {max(wall):.3f} s | {self.median(1):.3f} s | {self.median(2):.0f} "
            f"| {self.peak_gb:.2f} GB |"
        )


def compare(program, python, threads, steps):
    model = str(ROOT / "scenarios/models/gpt2/config.json")
    ours = Trainer([program, model, "--threads", str(threads), "--on-request"])
    theirs = Trainer([python, str(ROOT / "tests/benchmarks/torch_training.py"), str(threads)], torch_environment(threads))
    for _ in range(steps):
        ours.step()
        theirs.step()
    breakdown = ours.end()
    theirs.end()
    load = os.getloadavg()[0]
    print(f"\nOne after the other, {steps} steps each, load {load:.1f}; {theirs.about}\n")
    print("| | wall, median | shortest .. longest | processor, median | page faults | peak memory |")
    print("|---|---|---|---|---|---|")
    print(ours.row("Tandem", threads))
    print(theirs.row("PyTorch", threads))
    pairs = [our[0] / their[0] for our, their in zip(ours.steps, theirs.steps)]
    best = min(step[0] for step in ours.steps) / min(step[0] for step in theirs.steps)
    print(
        f"\nTandem / PyTorch: {ours.median(0) / theirs.median(0):.3f} by medians, {best:.3f} by shortest steps, "
        f"{ours.median(1) / theirs.median(1):.3f} by processor time, pairs {min(pairs):.3f} .. {max(pairs):.3f} "
        f"(median {statistics.median(pairs):.3f})\n"
    )
    print(breakdown, end="", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--steps", type=int, default=7)
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    options = parser.parse_args()
    python = python_with_torch()
    if python is None:
        print("Skipped: no PyTorch to compare with (Debian: apt-get install python3-torch libopenblas0-pthread)")
        return
    for threads in options.threads:
        compare(options.program, python, threads, options.steps)


main()

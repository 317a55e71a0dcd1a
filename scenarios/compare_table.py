"""The table of compare.sh: python3 compare_table.py RESULT-FOLDER ROUNDS."""
import itertools
import json
import os
import re
import statistics
import sys

PARTS = {  # of a step, by the summary's keys
    "computation": ("forward_s", "backward_s", "weight_gradient_s", "recompute_s", "optimizer_s"),
    "exposed": ("exposed_comm_s", "exposed_copy_s"),
    "waiting": ("idle_s", "bubble_s", "input_s", "host_s"),
}
MOST_DRIFT = 0.06  # of the reference product


def load(path):
    try:
        with open(path) as file:
            return json.load(file)
    except (OSError, ValueError):
        return None


def reference(path):
    """FLOP/s of the reference product beside a calibration; None where it names none."""
    try:
        with open(path) as file:
            found = re.search(r"reference product at ([0-9.]+) ([kMGT])FLOP/s", file.read())
    except OSError:
        return None
    return float(found[1]) * 1000 ** "kMGT".index(found[2]) if found else None


def drifted(folder, names, rounds):
    """(plan, round) between whose calibration and the next one the reference product changed too much."""
    rates = [((name, r), reference(f"{folder}/{name}-{r}.toml")) for r in range(1, rounds + 1) for name in names]
    rates = [(key, rate) for key, rate in rates if rate]
    return {key for (key, before), (_, after) in zip(rates, rates[1:]) if abs(after / before - 1) > MOST_DRIFT}


def rounds_of(folder, name, rounds, rejected):
    """Predicted and measured summaries, a pair for each round that counts, and how many do not."""
    pairs = []
    for r in range(1, rounds + 1):
        pair = tuple(load(f"{folder}/{name}-{r}.{what}.json") for what in ("predicted", "measured"))
        if None not in pair:
            pairs.append((pair, (name, r) in rejected))
    kept = [pair for pair, bad in pairs if not bad]
    return kept, len(pairs) - len(kept)


def part(summary, keys):
    return sum(summary.get(key, 0) for key in keys)


class Row:
    def __init__(self, group, name, model, pairs, rejected):
        self.group, self.name, self.model, self.rejected, self.rounds = group, name, model, rejected, len(pairs)
        self.predicted = statistics.median(p["step_time_s"] for p, _ in pairs)
        steps = [m["step_time_s"] for _, m in pairs]
        self.measured = statistics.median(steps)
        self.spread = (max(steps) - min(steps)) / self.measured
        self.deviation = statistics.median(p["step_time_s"] / m["step_time_s"] - 1 for p, m in pairs)
        self.parts = {
            name: statistics.median((part(p, keys) - part(m, keys)) / m["step_time_s"] for p, m in pairs)
            for name, keys in PARTS.items()
        }


def kendall(rows):
    pairs = list(itertools.combinations(rows, 2))
    agree = sum((a.predicted - b.predicted) * (a.measured - b.measured) > 0 for a, b in pairs)
    return (2 * agree - len(pairs)) / len(pairs) if pairs else float("nan")


def main():
    folder, rounds = sys.argv[1], int(sys.argv[2])
    rows, missing = [], []
    with open(f"{folder}/chosen") as file:
        plans = [line.split()[:3] for line in file]
    rejected = drifted(folder, [name for _, name, _ in plans], rounds)
    for group, name, model in plans:
        pairs, left_out = rounds_of(folder, name, rounds, rejected)
        if pairs:
            rows.append(Row(group, name, model, pairs, left_out))
        else:
            missing.append(name)
    print("Medians over rounds. deviation = (predicted - measured) / measured; the parts are shares of the step.")
    print(f"{'plan':<16} {'rounds':>6} {'predicted':>10} {'measured':>10} {'spread':>8} {'deviation':>10}"
          f" = {'computation':>11} + {'exposed':>7} + {'waiting':>7}")
    for group in ("own", "shared", "paced"):
        chosen = [row for row in rows if row.group == group]
        if not chosen:
            continue
        print({"own": "a core for each rank", "shared": "more ranks than cores", "paced": "paced messages"}[group])
        for row in chosen:
            parts = [100 * row.parts[name] for name in PARTS]
            print(f"  {row.name:<14} {row.rounds:>4}{f'-{row.rejected}' if row.rejected else '':<2} "
                  f"{1e3 * row.predicted:>7.0f} ms {1e3 * row.measured:>7.0f} ms {100 * row.spread:>6.1f} %"
                  f" {100 * row.deviation:>+8.1f} % = {parts[0]:>+11.1f} + {parts[1]:>+7.1f} + {parts[2]:>+7.1f}")
        deviations = [row.deviation for row in chosen]
        print(f"  {len(chosen)} plans: mean absolute {100 * statistics.mean(map(abs, deviations)):.1f} %, worst "
              f"{100 * max(map(abs, deviations)):.1f} %, bias {100 * statistics.mean(deviations):+.1f} %, "
              f"Kendall's tau {kendall([row for row in chosen if row.model == 'dense']):.2f}")
    if missing:
        print("no result: " + ", ".join(missing))


main()

#!/bin/sh
# Predicts and runs plans of one model on this machine's cores, in turns, and says how far the two lie apart.
# Calibration slices (C) and runs (R) alternate: C R C R ...; a plan's prediction is the median over its C, its
# measurement the median of its R. Nothing of a run enters its prediction.
# usage: scenarios/compare.sh [FOLDER-OF-PROGRAMS] [ROUNDS] [RESULT-FOLDER]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
bin=${1:-build/release/bin}
rounds=${2:-3}
out=${3:-compare-results}
mkdir -p "$out"
TANDEM_SCENARIOS=$here
export TANDEM_SCENARIOS

cat > "$out/model.json" <<'JSON'
{"model_type":"gpt2","n_layer":6,"n_embd":512,"n_head":8,"n_positions":512,"vocab_size":8192,"resid_pdrop":0.0,
 "attn_pdrop":0.0,"embd_pdrop":0.0}
JSON

# A name, then flags.
cat > "$out/plans" <<'PLANS'
one-mbs1 --cluster cpu-core:1 --mbs 1
one-mbs2 --cluster cpu-core:1 --mbs 2
one-mbs4 --cluster cpu-core:1 --mbs 4
one-recompute --cluster cpu-core:1 --mbs 2 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
dp2-mbs1 --cluster cpu-core:2 --dp 2 --mbs 1
dp2-mbs2 --cluster cpu-core:2 --dp 2 --mbs 2
dp2-zero1 --cluster cpu-core:2 --dp 2 --mbs 1 --set zero_stage=1
dp2-zero3 --cluster cpu-core:2 --dp 2 --mbs 1 --set zero_stage=3
tp2-mbs1 --cluster cpu-core:2 --tp 2 --mbs 1
tp2-mbs2 --cluster cpu-core:2 --tp 2 --mbs 2
tp2-sp --cluster cpu-core:2 --tp 2 --mbs 2 --sequence-parallel
pp2-mbs1 --cluster cpu-core:2 --pp 2 --mbs 1
pp2-mbs2 --cluster cpu-core:2 --pp 2 --mbs 2
pp2-gpipe --cluster cpu-core:2 --pp 2 --mbs 1 --set schedule=gpipe
cp2 --cluster cpu-core:2 --cp 2 --mbs 1
PLANS

common="--model $out/model.json --seq-length 256 --gbs 8 --set dtype=fp32 --make-vocab-size-divisible-by 8"
round=1
while [ "$round" -le "$rounds" ]; do
  while read -r name flags; do
    # shellcheck disable=SC2086
    {
      "$bin/tandem" calibrate $common $flags --threads-per-rank 1 --slices 3 --quiet -o "$out/$name-$round.toml" > /dev/null
      "$bin/tandem" predict $common $flags --fidelity estimate --calibration "$out/$name-$round.toml" --json \
        > "$out/$name-$round.predicted.json"
      "$bin/tandem" run $common $flags --threads-per-rank 1 --bind-cores --steps 5 --warmup 2 --quiet --json \
        -o "$out/$name-$round.tandem" > "$out/$name-$round.measured.json"
    } < /dev/null || echo "compare: $name was left out in round $round" >&2
  done < "$out/plans"
  round=$((round + 1))
done

python3 - "$out" <<'PYTHON'
import json, os, statistics, sys

out = sys.argv[1]

def step_times(name, what):
    times, round = [], 1
    while os.path.exists(f"{out}/{name}-{round}.{what}.json"):
        with open(f"{out}/{name}-{round}.{what}.json") as file:
            text = file.read()
        if text.strip():
            times.append(json.loads(text)["step_time_s"])
        round += 1
    return times

rows = []
for line in open(f"{out}/plans"):
    name = line.split()[0]
    predicted, measured = step_times(name, "predicted"), step_times(name, "measured")
    if predicted and measured:
        rows.append((name, statistics.median(predicted), statistics.median(measured),
                     (max(measured) - min(measured)) / statistics.median(measured)))
print(f"{'plan':<16} {'predicted':>10} {'measured':>10} {'spread':>8} {'deviation':>10}")
for name, p, m, spread in rows:
    print(f"{name:<16} {p:>8.3f} s {m:>8.3f} s {100 * spread:>6.1f} % {100 * (p - m) / m:>+8.1f} %")
deviations = [(p - m) / m for _, p, m, _ in rows]
pairs = [(a, b) for i, a in enumerate(rows) for b in rows[:i]]
tau = sum((1 if (a[1] - b[1]) * (a[2] - b[2]) > 0 else -1) for a, b in pairs) / max(1, len(pairs))
if rows:
    print(f"{len(rows)} plans: mean absolute {100 * statistics.mean(map(abs, deviations)):.1f} %, worst "
          f"{100 * max(map(abs, deviations)):.1f} %, bias {100 * statistics.mean(deviations):+.1f} %, Kendall's tau {tau:.2f}")
PYTHON

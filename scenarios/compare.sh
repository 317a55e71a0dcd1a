#!/usr/bin/env bash
# Predicts and runs plans of small models on two cores of this machine, in turns, and says how far the two lie apart.
# usage: scenarios/compare.sh [FOLDER-OF-PROGRAMS] [ROUNDS] [RESULT-FOLDER] [PATTERN-OF-PLANS]
#
# Calibration (C) and run (R) of a plan alternate: C R C R ... Nothing of a run enters its prediction. A round in which
# the reference product took 6 % longer or shorter after the run, with the next plan's calibration, does not count.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
bin=${1:-build/release/bin}
rounds=${2:-5}
out=${3:-compare-results}
pattern=${4:-.}
[[ $rounds =~ ^[1-9][0-9]{0,3}$ ]] || { echo "compare: $rounds is not a number of rounds" >&2; exit 2; }
[[ -x $bin/tandem ]] || { echo "compare: no program tandem in $bin; name the folder where it was built" >&2; exit 2; }
command -v python3 >/dev/null || { echo "compare: python3 is missing (Debian: apt-get install python3)" >&2; exit 3; }
mkdir -p "$out"
export TANDEM_SCENARIOS=$here

cat >"$out/dense.json" <<'JSON'
{"model_type":"gpt2","n_layer":8,"n_embd":512,"n_head":8,"n_positions":512,"vocab_size":8192,"resid_pdrop":0.0,
 "attn_pdrop":0.0,"embd_pdrop":0.0}
JSON
cat >"$out/experts.json" <<'JSON'
{"model_type":"mixtral","num_hidden_layers":4,"hidden_size":512,"intermediate_size":512,"num_attention_heads":8,
 "num_key_value_heads":8,"vocab_size":8192,"max_position_embeddings":512,"num_local_experts":16,
 "num_experts_per_tok":2,"tie_word_embeddings":false}
JSON

# Group, name, model, pace or -, flags. "own": a core for each rank; "shared": more ranks than cores.
cat >"$out/plans" <<'PLANS'
own one             dense - --mbs 1
own one-mbs2        dense - --mbs 2
own one-full        dense - --mbs 1 --recompute-granularity full --recompute-method uniform --recompute-num-layers 1
own one-selective   dense - --mbs 2 --recompute-granularity selective
own dp2             dense - --dp 2 --mbs 1
own dp2-overlap     dense - --dp 2 --mbs 2 --overlap-grad-reduce --set ddp_bucket_size=4000000
own dp2-zero1       dense - --dp 2 --mbs 1 --set zero_stage=1
own dp2-zero2       dense - --dp 2 --mbs 1 --set zero_stage=2
own dp2-zero3       dense - --dp 2 --mbs 1 --set zero_stage=3
own tp2             dense - --tp 2 --mbs 1
own tp2-sp          dense - --tp 2 --mbs 2 --sequence-parallel
own cp2             dense - --cp 2 --mbs 1
own pp2-gpipe       dense - --pp 2 --mbs 1 --set schedule=gpipe
own pp2-1f1b        dense - --pp 2 --mbs 1
own pp2-interleaved dense - --pp 2 --mbs 1 --set vpp=2
own pp2-zb-h1       dense - --pp 2 --mbs 1 --set schedule=zb-h1
own pp2-zb-v        dense - --pp 2 --mbs 1 --set schedule=zb-v
own pp2-dualpipe    dense - --pp 2 --mbs 1 --set schedule=dualpipe
own ep2             experts - --dp 2 --ep 2 --mbs 2
shared dp4          dense - --dp 4 --mbs 1
shared tp4          dense - --tp 4 --mbs 1
shared pp4          dense - --pp 4 --mbs 1
shared dp2-tp2      dense - --dp 2 --tp 2 --mbs 1
paced dp2-1GB       dense 1GB/s,20us --dp 2 --mbs 2 --overlap-grad-reduce --set ddp_bucket_size=4000000
paced dp2-200MB     dense 200MB/s,20us --dp 2 --mbs 2 --overlap-grad-reduce --set ddp_bucket_size=4000000
paced zero3-1GB     dense 1GB/s,20us --dp 2 --mbs 1 --set zero_stage=3
paced tp2-1GB       dense 1GB/s,20us --tp 2 --mbs 1
paced pp2-200MB     dense 200MB/s,20us --pp 2 --mbs 1
PLANS
grep -E "$pattern" "$out/plans" >"$out/chosen" || { echo "compare: no plan matches $pattern" >&2; exit 2; }

ranks_of() {  # flags
  local product=1 flag
  for flag in dp tp pp cp; do
    [[ " $* " =~ \ --$flag\ ([0-9]+)\  ]] && product=$((product * BASH_REMATCH[1]))
  done
  echo "$product"
}

measure() {  # file of the result, flags of the scenario and of the run
  "$bin/tandem" run "${@:2}" --threads-per-rank 1 --warmup 1 --steps 3 --quiet --json -o "$1.tandem" >"$1.measured.json"
}

one_round() {  # file of the result, model, pace, flags
  local file=$1 model=$2 pace=() balance=() scenario
  [[ $3 == - ]] || pace=(--pace "$3")
  shift 3
  rm -f "$file".*  # of an earlier comparison
  scenario=(--model "$out/$model.json" --cluster "cpu-core:$(ranks_of "$@")" --seq-length 256 --gbs 4
            --set dtype=fp32 --make-vocab-size-divisible-by 8 "$@")
  # How unevenly a router spreads rows is not predicted.
  [[ $model != experts ]] || balance=(--moe-router-force-load-balancing)
  "$bin/tandem" calibrate "${scenario[@]}" "${pace[@]}" --threads-per-rank 1 --slices 3 --quiet -o "$file.toml" >/dev/null &&
    "$bin/tandem" predict "${scenario[@]}" --fidelity estimate --calibration "$file.toml" --json >"$file.predicted.json" &&
    measure "$file" "${scenario[@]}" "${pace[@]}" "${balance[@]}"
}

total=$(($(wc -l <"$out/chosen") * rounds))
done=0
for ((round = 1; round <= rounds; ++round)); do
  while read -r _ name model pace flags; do
    done=$((done + 1))
    [[ -t 2 ]] && printf '\r\033[Kcompare: %d of %d, %s' "$done" "$total" "$name" >&2
    # shellcheck disable=SC2086  # flags are words
    one_round "$out/$name-$round" "$model" "$pace" $flags </dev/null || echo "compare: $name failed in round $round" >&2
  done <"$out/chosen"
done
[[ -t 2 ]] && printf '\r\033[K' >&2
python3 "$here/compare_table.py" "$out" "$rounds"

#!/usr/bin/env bash
# Builds the release programs and measures them: bash tests/benchmarks/run.sh [--runs N] [--only TEXT]
# Whole commands first, beside their targets; then training steps beside PyTorch's and what recording costs; then each other bench_* program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

echo "Packages"
bash scenarios/install-packages.sh programs execution tests
echo "Build"
mkdir -p build
cmake --preset release -DTANDEM_BENCHMARKS=ON >build/configure-release.log
targets=(tandem tandem-sim)
if grep -q "^build tandem-exec:" build/release/build.ninja; then targets+=(tandem-exec); fi
for source in tests/benchmarks/bench_*.cpp; do
  name=$(basename "$source" .cpp)
  if grep -q "^build $name:" build/release/build.ninja; then targets+=("$name"); fi
done
NINJA_STATUS="  %f of %t, %es  " cmake --build build/release --parallel "$(nproc)" --target "${targets[@]}"

echo "Machine: $(nproc) cores, $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1), load $(cut -d ' ' -f 1 /proc/loadavg)"
failed=0
build/release/bin/bench_process build/release/bin . "$@" || failed=1
(($# == 0)) || exit $failed
echo
echo "Training steps beside PyTorch's"
if [[ -x build/release/bin/bench_training ]]; then
  python3 tests/benchmarks/compare_training.py build/release/bin/bench_training || failed=1
else
  echo "Skipped: bench_training was not built (it needs oneDNN: apt-get install libdnnl-dev)"
fi
if [[ -x build/release/bin/tandem-exec ]]; then
  echo
  echo "Recording"
  python3 tests/benchmarks/recording.py build/release/bin || failed=1
fi
for program in build/release/bin/bench_*; do
  [[ $(basename "$program") =~ ^bench_(process|training)$ ]] && continue
  echo
  echo "$(basename "$program")"
  "$program" || failed=1
done
exit $failed

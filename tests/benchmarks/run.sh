#!/usr/bin/env bash
# Builds the release programs and measures them: bash tests/benchmarks/run.sh [--runs N] [--only TEXT]
# Whole commands first, beside their targets; then each other bench_* program.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

echo "Packages"
bash scenarios/install-packages.sh programs tests
echo "Build"
mkdir -p build
cmake --preset release -DTANDEM_BENCHMARKS=ON >build/configure-release.log
targets=(tandem tandem-sim)
for source in tests/benchmarks/bench_*.cpp; do targets+=("$(basename "$source" .cpp)"); done
NINJA_STATUS="  %f of %t, %es  " cmake --build build/release --parallel "$(nproc)" --target "${targets[@]}"

echo "Machine: $(nproc) cores, $(sed -n 's/^model name\s*: //p' /proc/cpuinfo | head -n 1), load $(cut -d ' ' -f 1 /proc/loadavg)"
failed=0
build/release/bin/bench_process build/release/bin . "$@" || failed=1
for program in build/release/bin/bench_*; do
  [[ $(basename "$program") == bench_process ]] && continue
  (($# == 0)) || continue
  echo
  echo "$(basename "$program")"
  "$program" || failed=1
done
exit $failed

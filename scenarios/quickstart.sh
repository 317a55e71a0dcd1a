#!/usr/bin/env bash
# From a fresh Debian 12 to a first prediction: packages, build, Llama-3.1-8B on two DGX H100.
# Run as root or with sudo at hand: bash scenarios/quickstart.sh
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

scenario=scenarios/llama-3.1-8b-2xdgx-h100.toml
log=build/quickstart.log
mkdir -p build

started=$SECONDS
echo "[1/4] Packages"
bash scenarios/install-packages.sh programs

echo "[2/4] Configure: build/release"
if ! cmake --preset release >"$log" 2>&1; then
  tail -n 30 "$log" >&2
  echo "Configuring failed; the whole text is in $log" >&2
  exit 1
fi
grep -e "-- Tandem" -e "left out: tandem" "$log"

echo "[3/4] Build: $(nproc) at a time"
NINJA_STATUS="  %f of %t, %es  " cmake --build build/release --parallel "$(nproc)" --target tandem tandem-sim

echo "[4/4] Predict: $scenario ($((SECONDS - started)) s so far)"
echo "  \$ build/release/bin/tandem predict $scenario"
echo
build/release/bin/tandem predict "$scenario"

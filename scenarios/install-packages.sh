#!/usr/bin/env bash
# Installs the Debian 12 packages that Tandem needs and that are missing: bash scenarios/install-packages.sh GROUP...
# Groups: programs (compiler, build tools, libraries), execution (oneDNN, Open MPI), tests, format, tidy, fuzz.
set -euo pipefail

declare -A packages=(
  [programs]="g++ cmake ninja-build libfmt-dev libboost-dev nlohmann-json3-dev libtomlplusplus-dev libsqlite3-dev
              libsimgrid-dev"
  [execution]="libdnnl-dev libopenmpi-dev openmpi-bin"
  [tests]="libgtest-dev libgmock-dev libbenchmark-dev protobuf-compiler"
  [format]="clang-format-14"
  [tidy]="clang-tidy-14"
  [fuzz]="clang-14 libclang-rt-14-dev"
)

if ! command -v dpkg-query >/dev/null; then
  echo "  no dpkg here: packages are taken as they are (CMake names what is missing)"
  exit 0
fi

missing=()
for group in "$@"; do
  for package in ${packages[$group]:?no such group: $group}; do
    state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    [[ $state == installed ]] || missing+=("$package")
  done
done
if ((${#missing[@]} == 0)); then
  echo "  all packages are here"
  exit 0
fi

as_root=()
if ((EUID != 0)); then
  if ! command -v sudo >/dev/null; then
    echo "Packages are missing, and this is neither root nor is there sudo. Run as root, then again here:" >&2
    echo "  apt-get update && apt-get install --yes --no-install-recommends ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  if ! "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes "$@" >"$log" 2>&1; then
    tail -n 20 "$log" >&2
    echo "apt-get $* failed" >&2
    exit 1
  fi
}
echo "  missing: ${missing[*]}"
echo "  reading the package lists"
apt update
echo "  downloading and installing"
apt install --no-install-recommends "${missing[@]}"
echo "  installed"

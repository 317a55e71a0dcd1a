#!/usr/bin/env bash
# Sets everything up and runs the tests: bash tests/run.sh [OPTION] [-- CTEST ARGUMENTS]
#   (none)          all tests of the release build, by label
#   --sanitize      the same under address and undefined-behaviour sanitizers
#   --threads       only the communication between threads, under the thread sanitizer
#   --format        only check the format of all sources
#   --tidy          only run the checks of .clang-tidy over all sources (many minutes)
#   --fuzz SECONDS  only run each fuzz target so long
#   --golden        rewrite tests/golden from what the programs print now, then say what changed
#   --werror        warnings are errors (with the first two)
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mode=release
werror=OFF
seconds=0
while (($#)); do
  case $1 in
    --sanitize) mode=sanitize ;;
    --threads) mode=threads ;;
    --format) mode=format ;;
    --tidy) mode=tidy ;;
    --golden) mode=golden ;;
    --fuzz)
      mode=fuzz
      seconds=${2:?--fuzz needs a number of seconds}
      shift
      ;;
    --werror) werror=ON ;;
    --help) sed -n '2,11s/^# \{0,1\}//p' "$0"; exit 0 ;;
    --) shift; break ;;
    *) echo "tests/run.sh: no such option: $1 (see --help)" >&2; exit 2 ;;
  esac
  shift
done

sources() { find core sim exec gui tests \( -name '*.h' -o -name '*.cpp' \) -print0; }

build() {  # preset, target, further settings
  local log=build/configure-$1.log
  mkdir -p build
  if ! cmake --preset "$1" "${@:3}" >"$log" 2>&1; then
    tail -n 30 "$log" >&2
    echo "Configuring failed; the whole text is in $log" >&2
    exit 1
  fi
  grep -e "-- Tandem" -e "left out" -e Warning "$log"
  NINJA_STATUS="  %f of %t, %es  " cmake --build "build/$1" --target "$2" --parallel "$(nproc)"
}

run_tests() {  # preset, then arguments for ctest
  ctest --preset "$1" --parallel "$(nproc)" --progress "${@:2}"
}

case $mode in
  release | sanitize)
    echo "[1/3] Packages"
    bash scenarios/install-packages.sh programs execution tests
    echo "[2/3] Build: $mode"
    build "$mode" all -DTANDEM_TESTS=ON -DTANDEM_WERROR=$werror
    echo "[3/3] Tests: $mode"
    run_tests "$mode" "$@"
    ;;
  threads)
    bash scenarios/install-packages.sh programs execution tests
    build threads test_communicate -DTANDEM_TESTS=ON -DTANDEM_WERROR=$werror
    # The sanitizer of GCC 12 may find no room among very random addresses; where they can be fixed, they are.
    run=(build/threads/bin/test_communicate --gtest_brief=1)
    if setarch "$(uname -m)" -R true 2>/dev/null; then run=(setarch "$(uname -m)" -R "${run[@]}"); fi
    "${run[@]}"
    ;;
  golden)
    bash scenarios/install-packages.sh programs execution tests
    build release all -DTANDEM_TESTS=ON -DTANDEM_WERROR=$werror
    TANDEM_REWRITE_GOLDEN=1 run_tests release "$@"
    if command -v git >/dev/null; then git --no-pager diff --stat -- tests/golden; fi
    ;;
  format)
    bash scenarios/install-packages.sh format
    sources | xargs -0 clang-format-14 --dry-run --Werror
    echo "  every source is formatted"
    ;;
  tidy)
    bash scenarios/install-packages.sh programs execution tests tidy
    build release all -DTANDEM_TESTS=ON
    run-clang-tidy-14 -quiet -p build/release "^$PWD/(core|sim|exec|gui|tests)/"
    ;;
  fuzz)
    bash scenarios/install-packages.sh programs execution fuzz
    build fuzz all
    for target in build/fuzz/bin/fuzz_*; do
      name=$(basename "$target")
      corpus=build/fuzz/corpus/$name
      seeds=(scenarios)
      [[ -d tests/fuzz/seeds/$name ]] && seeds+=("tests/fuzz/seeds/$name")
      mkdir -p "$corpus"
      echo "  $name: $seconds s"
      "$target" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
        -artifact_prefix="build/fuzz/$name-" "$corpus" "${seeds[@]}"
    done
    ;;
esac

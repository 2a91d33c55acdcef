#!/usr/bin/env bash
# The fuzzers: `fuzz.sh build FOLDER`, `fuzz.sh short FOLDER` (the same number of inputs each, in parallel, always with
# the same seed: what it finds and did not find before was brought by the change), `fuzz.sh long FOLDER`
# (FUZZ_SECONDS each; what is new and small goes into the corpus with `fuzz.sh minimise FOLDER`).
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
what=${1:?build, short, long or minimise}
build=${2:?the folder of the fuzzers build}
mkdir -p "$build"
build=$(cd "$build" && pwd)
jobs=${FUZZ_JOBS:-$(nproc)}

if [ "$what" = build ]; then
  [ -e "$build/build.ninja" ] || cmake -S "$here" -B "$build" -G Ninja -DCMAKE_CXX_COMPILER=clang++ >"$build/cmake.log"
  exec ninja -C "$build" -j "$jobs"
fi

targets=$(cd "$here/targets" && ls ./*.cpp | sed 's,^\./,,; s,\.cpp$,,')
only=${FUZZ_ONLY:-$targets}
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1} UBSAN_OPTIONS=${UBSAN_OPTIONS:-print_stacktrace=1}

one() {
  local name=$1 seconds=$2 seed=$3 runs=$4
  local found="$build/found/$name" fresh="$build/fresh/$name" dictionary=()
  mkdir -p "$found" "$fresh"
  [ -e "$here/dictionaries/$name.dict" ] && dictionary=("-dict=$here/dictionaries/$name.dict")
  if ! "$build/fuzz_$name" -runs="$runs" -max_total_time="$seconds" -timeout=10 -rss_limit_mb=2048 -max_len="${FUZZ_MAX_LEN:-16384}" -artifact_prefix="$found/" \
    -seed="$seed" -print_final_stats=1 "${dictionary[@]}" "$fresh" "$here/corpus/$name" >"$build/$name.log" 2>&1; then
    echo "$name: FOUND something, see $build/$name.log and $found"
    grep -aE "broken promise|ERROR: |runtime error|SUMMARY" "$build/$name.log" | head -5
    return 1
  fi
  awk -v n="$name" '/number_of_executed_units/ {runs = $2} /average_exec_per_sec/ {rate = $2} /peak_rss_mb/ {rss = $2}
                    END {printf "%-20s %10d executions, %6d a second, %4d MiB\n", n, runs, rate, rss}' "$build/$name.log"
}
export -f one
export here build

case $what in
short | long)
  if [ "$what" = short ]; then # as many inputs on a slow machine as on a fast one, unless it is very slow
    seconds=${FUZZ_SECONDS:-60} seed=1 runs=${FUZZ_RUNS:-3000}
  else # a random seed, and time alone is the limit
    seconds=${FUZZ_SECONDS:-600} seed=0 runs=-1
  fi
  printf '%s\n' $only | xargs -P "$jobs" -I{} bash -c "one {} $seconds $seed $runs"
  ;;
minimise)
  for name in $only; do
    rm -rf "$build/merged/$name" && mkdir -p "$build/merged/$name" "$build/fresh/$name"
    "$build/fuzz_$name" -merge=1 -max_len=2048 -timeout=10 "$build/merged/$name" "$here/corpus/$name" "$build/fresh/$name" 2>"$build/$name.merge.log"
    # The smallest 150 that are new; what stands in the corpus already stays.
    ls -Sr "$build/merged/$name" | head -150 | while read -r file; do cp "$build/merged/$name/$file" "$here/corpus/$name/$file"; done
    echo "$name: $(ls "$here/corpus/$name" | wc -l) inputs, $(du -sb "$here/corpus/$name" | cut -f1) bytes"
  done
  ;;
*)
  echo "unknown: $what" >&2
  exit 2
  ;;
esac

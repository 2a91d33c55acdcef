#!/usr/bin/env bash
# benchmarks/compare.sh BUILD_DIR BASE [FIGURE...]: builds BASE (a commit or branch) in BUILD_DIR/base and measures both builds in turn, A B A B.
set -euo pipefail
if [ $# -lt 2 ] || [ ! -d "$1/bin" ]; then
  echo "usage: benchmarks/compare.sh BUILD_DIR BASE [FIGURE...]   (or: make bench-compare BASE=main)" >&2
  exit 2
fi
here=$(cd "$(dirname "$0")" && pwd)
build=$(cd "$1" && pwd)
base=$2
shift 2
figures=("$@")
[ ${#figures[@]} -gt 0 ] || figures=(cancel_to_fenced fenced_to_signalled start_rate messages turns)
work=$build/base
commit=$(git -C "$here" rev-parse --verify "$base^{commit}")
if [ ! -d "$work/source" ]; then
  git -C "$here" worktree add --detach "$work/source" "$commit" >&2
else
  git -C "$work/source" checkout --detach "$commit" >&2
fi
cmake -S "$work/source" -B "$work/build" -G Ninja >&2
ninja -C "$work/build" programs >&2
results=$(mktemp -d)
trap 'rm -rf "$results"' EXIT
for round in 1 2; do
  for side in before after; do
    bin=$build/bin
    [ "$side" = before ] && bin=$work/build/bin
    for figure in "${figures[@]}"; do
      echo "== round $round, $side: $figure" >&2
      QUELL_BIN=$bin QUELL_BENCH_KEEP=$results/$side.$round "$here/run.sh" "$build" "$figure" >&2
    done
  done
done
echo "before: $(git -C "$here" log -1 --format='%h %s' "$commit")"
echo "after:  $build/bin"
echo
python3 "$here/compare.py" "$results"/before.* -- "$results"/after.*

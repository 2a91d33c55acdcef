#!/usr/bin/env bash
# benchmarks/run.sh BUILD_DIR [FIGURE [ARGUMENTS…]]: every figure, or one, each beside its limit in the same run; a table at the end.
# Figures are ratios and never fail the run; a figure that could not be measured does.
set -uo pipefail
figures=(cancel_to_fenced lone_cancel fenced_to_signalled idle_cpu stop_processes stop_trees start_rate cancel_pending timers_due streams_cancel memory restart_million turns watchers messages externals get_one task_output neighbours voice_latency cli_start console)
here=$(cd "$(dirname "$0")" && pwd)
if [ $# -lt 1 ] || [ ! -d "$1/bin" ]; then
  echo "usage: benchmarks/run.sh BUILD_DIR [FIGURE [ARGUMENTS...]]   (BUILD_DIR/bin holds the programs; build with make)" >&2
  echo "figures: ${figures[*]}" >&2
  exit 2
fi
export QUELL_BIN=${QUELL_BIN:-$(cd "$1/bin" && pwd)}
export QUELL_BENCH_BIN=$(cd "$1/bin" && pwd)
shift
if [ $# -gt 0 ]; then
  if [ ! -f "$here/$1.py" ]; then
    echo "run.sh: no figure is called $1; there are: ${figures[*]}" >&2
    exit 2
  fi
  figures=("$1")
  shift
fi
QUELL_BENCH_RESULTS=${QUELL_BENCH_KEEP:-$(mktemp)} # QUELL_BENCH_KEEP: a file to which the rows are added, and which stays
export QUELL_BENCH_RESULTS
[ -n "${QUELL_BENCH_KEEP:-}" ] || trap 'rm -f "$QUELL_BENCH_RESULTS"' EXIT
renice -n -10 -p $$ >/dev/null 2>&1 || true # less of other people's noise, for quell and for its limits alike
failed=0
for figure in "${figures[@]}"; do
  # Every row names the state of the machine that it was taken on; QUELL_BENCH_WAIT=0 does not wait for calm.
  QUELL_BENCH_MACHINE=$(python3 "$here/calm.py" "${QUELL_BENCH_WAIT:-120}")
  export QUELL_BENCH_MACHINE
  echo "== $figure ($QUELL_BENCH_MACHINE)" >&2
  python3 "$here/$figure.py" "$@" || { echo "run.sh: $figure could not be measured" >&2; failed=1; }
done
echo
python3 "$here/table.py" "$QUELL_BENCH_RESULTS"
exit $failed

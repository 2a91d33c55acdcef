#!/usr/bin/env bash
# The demo: a cluster with two workers, a three-level tree of real processes on both, one branch cancelled, then the whole scope; an agent's
# turn with parallel tools and sub-agents on both workers, stopped half-way; and the proof that nothing is left. Everything lives in a temporary directory and ends with this script.
set -euo pipefail
bin=$(cd "${1:-build/bin}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d -t quell-demo.XXXXXX)
mark="quell-demo-$$"
export PATH="$bin:$PATH" QUELL_STATE="$work/state" QUELL_DEMO_MARK="$mark"
unset QUELL_URL QUELL_TOKEN QUELL_SCOPE QUELL_OPERATION

bold=$(tput bold 2>/dev/null || true) plain=$(tput sgr0 2>/dev/null || true)
[ -t 1 ] || { bold=""; plain=""; }
step() { printf '\n%s== %s%s\n' "$bold" "$*" "$plain"; }
show() { printf '%s$ quell %s%s\n' "$bold" "$*" "$plain"; quell "$@"; }

up=""
finish() {
  status=$?
  if [ -n "$up" ] && kill -0 "$up" 2>/dev/null; then
    kill -INT "$up" 2>/dev/null || true
    wait "$up" || true
  fi
  [ "$status" -eq 0 ] || { echo "the demo failed; the cluster said:"; tail -n 30 "$work/up.log"; }
  rm -rf "$work"
  exit "$status"
}
trap finish EXIT

# Waits (30 s at most) until the command given as text succeeds.
wait_for() {
  local what=$1 deadline=$((SECONDS + 30))
  shift
  until "$@" >/dev/null 2>&1; do
    [ "$SECONDS" -lt "$deadline" ] || { echo "gave up waiting for $what"; return 1; }
    read -rt 0.1 <> <(:) || true
  done
}
# Living processes of the demo, from /proc alone: not from quell's own records.
# A process that ends while it is read is not one that lives, and no reason for grep to fail.
survivors() { { grep -laz -- "$mark" /proc/[0-9]*/cmdline 2>/dev/null || true; } | { grep -v "/proc/$$/" || true; } | cut -d/ -f3 | while read -r pid; do
    name=$(cat "/proc/$pid/comm" 2>/dev/null) || continue
    case $name in quell*|demo.sh|grep) ;; *) printf '%s %s\n' "$pid" "$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | cut -c1-100)" ;; esac
  done; }
count_is() { [ "$(quell ps -q --scope "$1" --status running | wc -l)" -eq "$2" ]; }

step "A cluster on this machine: one controller, two workers"
sed "s,@HERE@,$here,g" "$here/agents.toml" >"$work/agents.toml"
setsid quell up --workers 2 --slots 16 --listen 127.0.0.1:0 --state "$work/state" --config "$work/agents.toml" >"$work/up.log" 2>&1 &
up=$!
wait_for "two workers to be ready" bash -c '[ "$(quell worker list --json | grep -o "\"status\": *\"ready\"" | wc -l)" -eq 2 ]'
show workers

step "A tree of real work on both workers, three levels deep"
quell run -d --scope demo/build --worker w1 --title "the build" -- bash "$here/tree.sh" root "$mark" >/dev/null
quell run -d --scope demo/other --worker w2 --title "somebody else's work" -- bash "$here/tree.sh" leaf "$mark-other" >/dev/null
wait_for "the whole tree to run" count_is demo/build 7
show ps --tree --scope demo
echo "processes (one ignores SIGTERM, one has double-forked away):"
survivors

step "Cancel one branch"
branch=$(quell ps --json --scope demo/build/tests | python3 -c 'import json,sys; ops=json.load(sys.stdin)["operations"]; print([o["id"] for o in ops if o["title"]=="the tests"][0])')
show cancel "$branch" --reason "the tests are hopeless" --grace 500ms
echo
echo "the rest is alive:"
show ps --tree --scope demo

step "Cancel the scope: everything below demo/build, on both workers"
show cancel --scope demo/build --reason "wrong branch" --grace 500ms
echo
echo "other scopes were not touched:"
show ps --scope demo
show cancel --scope demo --grace 500ms >/dev/null 2>&1

step "An agent's turn: parallel tools, a sub-agent on each worker, their processes deaf to SIGTERM"
turn=$(quell say -d --scope demo/chat "survey $mark")
two_scouts_run() { [ "$(quell ps --json --scope demo/chat --status running | grep -o '"kind": *"task"' | wc -l)" -eq 2 ]; }
wait_for "both scouts to run" two_scouts_run
show ps --tree --scope demo/chat
echo "processes:"
survivors

step "Stop it half-way"
show cancel "$turn" --reason "not now" --grace 500ms
echo
echo "the conversation is whole, and goes on:"
show say --scope demo/chat "what happened?"

step "The proof, looked up in /proc"
left=$(survivors)
if [ -n "$left" ]; then
  echo "alive: $left"
  exit 1
fi
echo "no process of the demo lives."

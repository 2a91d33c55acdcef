#!/usr/bin/env bash
# One node of the demo's tree. Children are started with `quell run` inside the task: each becomes a child operation, on either worker.
# usage: tree.sh ROLE MARK
role=$1 mark=$2
here=$(cd "$(dirname "$0")" && pwd)
child() { quell run -d "${@:3}" --title "$1" -- bash "$here/tree.sh" "$2" "$mark" >/dev/null; }
rest() { while :; do read -rt 1000 <> <(:) || :; done; }

case $role in
  root)
    child "compile" compile --scope demo/build --worker w2
    child "the tests" tests --scope demo/build/tests --worker w2
    ;;
  compile)
    child "compile a.cpp" leaf --worker w1
    child "a compiler deaf to SIGTERM" deaf --worker w2
    ;;
  tests)
    child "unit tests" leaf --worker w1
    child "a test that daemonises" daemon --worker w2
    ;;
  deaf)
    trap '' TERM
    ;;
  daemon)
    # setsid and a double fork, descriptors closed, environment cleared, deaf to SIGTERM and SIGHUP.
    (setsid env -i bash -c 'trap "" TERM HUP; exec <&- >&- 2>&-; while :; do /bin/sleep 1000; done' "$mark-daemon" &)
    ;;
esac
rest

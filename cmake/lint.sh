#!/usr/bin/env bash
# The lint: formatting of every C++ file, shell and Python syntax, file lengths, no sleeps in tests. (House rules are a test: tests/house.)
set -uo pipefail
build=${1:-build}
cd "$(dirname "$0")/.."
failed=0
say() { echo "lint: $*"; failed=1; }

mapfile -t sources < <(git ls-files '*.cpp' '*.hpp')
[ ${#sources[@]} -gt 0 ] && ! clang-format --dry-run -Werror "${sources[@]}" && say "run make format"
for file in $(git ls-files '*.sh' .ci/run); do bash -n "$file" || say "$file: shell syntax"; done
python=$(git ls-files '*.py')
[ -n "$python" ] && { /usr/bin/python3 -m py_compile $python || say "Python syntax"; }
long=$(git ls-files '*.cpp' '*.hpp' '*.py' | xargs wc -l | awk '$2 != "total" && $1 > 400 {print $2 " has " $1 " lines"}')
[ -n "$long" ] && say "files over 400 lines: $long"
sleeps=$(git grep -nE 'sleep_for|time\.sleep\(|usleep\(' -- tests)
[ -n "$sleeps" ] && say "sleeps in tests, wait for a condition instead: $sleeps"
exit $failed

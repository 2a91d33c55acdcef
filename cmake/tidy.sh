#!/usr/bin/env bash
# clang-tidy over the product, some sources of a folder at once: reading the headers is what costs. usage: tidy.sh [FOLDER...]
set -euo pipefail
cd "$(dirname "$0")/.."
folders=("$@")
[ ${#folders[@]} -eq 0 ] && folders=(protocol controller storage actors gateway integrations worker cli quelld)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
git ls-files -- "${folders[@]/%//*.cpp}" | grep -v 'ear_main\.cpp$' | awk -v work="$work" '
  { folder = $0; sub("/[^/]*$", "", folder); name = folder; gsub("/", "_", name)
    file = work "/" name "_" int((count[folder]++) / 12) ".cpp"; print "#include \"" $0 "\"" >> file }'
ls "$work"/*.cpp | xargs -r -P "${JOBS:-$(nproc)}" -n 1 sh -c '
  clang-tidy --quiet --config-file=.clang-tidy "$1" -- -std=c++20 -D__cpp_impl_coroutine=201902L -I. -w -DBOOST_ASIO_NO_DEPRECATED -DCAF_ENABLE_TYPE_ID_CHECKS -DQUELL_VERSION=\"0\" \
    -DQUELL_COMMIT=\"0\" -DQUELL_OPENAPI_SHA256=\"0\" > "$1.log" 2>&1 || touch "$1.failed"' sh
if compgen -G "$work/*.failed" > /dev/null; then
  for failed in "$work"/*.failed; do grep -vE "warnings? (generated|treated)|^Suppressed|^Use -header" "${failed%.failed}.log"; done
  exit 1
fi

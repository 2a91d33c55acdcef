#!/usr/bin/env bash
# Installs the Debian packages of packages.txt that are missing, and those of packages_optional.txt if that is possible.
# Quick when nothing is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null | awk '$2 == "installed" {print $1}')
root=()
[ "$(id -u)" -eq 0 ] || root=(sudo)

# The packages of a list that are not installed.
missing_of() {
  local package
  grep -v '^#' "$here/$1" | while read -r package; do
    grep -qx "$package" <<<"$installed" && continue
    # A Node.js from elsewhere brings its own npm, which Debian's would push out.
    [ "$package" = npm ] && command -v npm >/dev/null && continue
    echo "$package"
  done
}

install() {
  echo "installing: $*"
  "${root[@]}" apt-get update -qq &&
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "$@" >/dev/null
}

mapfile -t missing < <(missing_of packages.txt)
[ ${#missing[@]} -eq 0 ] || install "${missing[@]}"
mapfile -t missing < <(missing_of packages_optional.txt)
[ ${#missing[@]} -eq 0 ] || install "${missing[@]}" || echo "not installed: ${missing[*]}; quell is built without" >&2

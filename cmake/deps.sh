#!/usr/bin/env bash
# Installs the Debian packages of packages.txt that are missing. Quick when nothing is missing.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
mapfile -t wanted < <(grep -v '^#' "$here/packages.txt")
missing=()
installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' 2>/dev/null | awk '$2 == "installed" {print $1}')
for package in "${wanted[@]}"; do
  grep -qx "$package" <<<"$installed" && continue
  # A Node.js from elsewhere brings its own npm, which Debian's would push out.
  [ "$package" = npm ] && command -v npm >/dev/null && continue
  missing+=("$package")
done
[ ${#missing[@]} -eq 0 ] && exit 0
echo "installing: ${missing[*]}"
root=()
[ "$(id -u)" -eq 0 ] || root=(sudo)
"${root[@]}" apt-get update -qq
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null

#!/usr/bin/env bash
# The console's packages, exactly as the lockfile says. usage: install.sh NPM CONSOLE STAMP
set -euo pipefail
cd "$2"
"$1" ci --ignore-scripts --no-audit --no-fund --loglevel=error
mkdir -p "$(dirname "$3")"
touch "$3"

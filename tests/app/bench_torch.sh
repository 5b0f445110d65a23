#!/bin/sh
# bench_torch.sh SCRIPT - scripts/bench-torch; skipped without Python.
set -eu
command -v python3 >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
PYTHONDONTWRITEBYTECODE=1 python3 "$(dirname "$0")/bench_torch.py" "$1" "$folder"

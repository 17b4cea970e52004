#!/usr/bin/env bash
# Builds the wheel of the Python package with the command in it, and the archive of its sources: make-wheel.sh DIRECTORY
set -euo pipefail
directory=$(mkdir -p "$1" && cd "$1" && pwd)
cd "$(dirname "$0")/../.."
environment="${XDG_CACHE_HOME:-$HOME/.cache}/arraylab/maturin-1.16.0"
if [ ! -x "$environment/bin/maturin" ]; then
  rm -rf "$environment"
  "$(scripts/python/find-python.sh 3.11)" -m venv "$environment"
  "$environment/bin/pip" install -q --disable-pip-version-check maturin==1.16.0 build==1.5.0
fi
PATH="$environment/bin:$PATH" "$environment/bin/python" -m build --no-isolation --wheel --sdist --outdir "$directory" . >&2
ls "$directory"/arraylab-*.whl

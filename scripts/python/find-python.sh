#!/usr/bin/env bash
# Prints a Python of a version (3.11, 3.13): on the path, of pyenv, else fetched by uv (from PyPI) into the cache.
set -euo pipefail
version=$1
works() { [ -x "$1" ] && "$1" -c "import sys, venv, ensurepip; sys.exit('%d.%d' % sys.version_info[:2] != '$version')" >/dev/null 2>&1; }
for candidate in "$(command -v "python$version" || true)" "$(command -v python3 || true)" \
    "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version"*/bin/python3; do
  if works "$candidate"; then
    # A shim of pyenv is a script that may mean another version elsewhere.
    exec "$candidate" -c 'import os, sys; print(os.path.realpath(sys.executable))'
  fi
done
echo "no Python $version here: fetching one" >&2
tools="${XDG_CACHE_HOME:-$HOME/.cache}/arraylab/uv"
[ -x "$tools/bin/uv" ] || { python3 -m venv "$tools" && "$tools/bin/pip" install -q uv >&2; }
"$tools/bin/uv" python install -q "$version" >&2 ||
  { echo "Python $version cannot be fetched: install it by hand" >&2; exit 1; }
exec "$tools/bin/uv" python find "$version"

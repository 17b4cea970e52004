#!/usr/bin/env bash
# Builds the wheel with the development build of the workspace and runs the tests of the package with Python 3.11 and 3.13, each in
# an environment of its own, both at once: most of their tests keep one core busy.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}"
wheels="$target/python/wheels"
rm -rf "$wheels"
command=$(scripts/build-test-binary.sh)
ARRAYLAB_WHEEL_PROFILE=dev ARRAYLAB_WHEEL_COMMAND=$(realpath "$command") scripts/python/make-wheel.sh "$wheels"
declare -A running
trap 'kill $(jobs -p) 2>/dev/null || true' EXIT
cache="${XDG_CACHE_HOME:-$HOME/.cache}/arraylab"
for version in 3.11 3.13; do
  environment="$cache/python-$version-$(sha256sum scripts/python/test-requirements.txt | cut -c1-12)"
  if [ ! -e "$environment/complete" ]; then
    rm -rf "$environment"
    "$(scripts/python/find-python.sh "$version")" -m venv "$environment"
    "$environment/bin/pip" install -q --disable-pip-version-check -r scripts/python/test-requirements.txt
    touch "$environment/complete"
  fi
  "$environment/bin/pip" install -q --disable-pip-version-check --no-deps --force-reinstall "$wheels"/arraylab-*.whl
  # The wheel is the same file for both. With one of them here, and with both in full: whatever tests the same Rust again (frames of plans,
  # runs of the command, sweeps whose shards are killed, notebooks, types, memory).
  chosen=""
  [ "$version" = 3.11 ] || [ "${ARRAYLAB_LONG:-}" = 1 ] || chosen="not ((frames and not quick) or numbers or killed_shards or notebooks or stubs or memory_goes)"
  # Beside the repository, where `python/arraylab` is not what is imported.
  (cd python/tests && exec env -u PYTHONPATH "$environment/bin/python" -m pytest -q -p no:cacheprovider --durations=5 -k "$chosen") \
    </dev/null >"$target/python/tests-$version.txt" 2>&1 &
  running[$version]=$!
done
failed=
for version in "${!running[@]}"; do
  wait "${running[$version]}" || failed+=" $version"
  echo "Python $version:"
  cat "$target/python/tests-$version.txt"
done
[ -z "$failed" ] || { echo "tests failed with Python$failed" >&2; exit 1; }

# The command has nothing of Python or Arrow in it.
if cargo tree --locked -p arraylab -e normal --prefix none | grep -E '^(pyo3|arrow)'; then
  echo "the command depends on the crates above" >&2
  exit 1
fi

# As somebody installs it: an environment with nothing in it, a wheel, and NumPy as the only package that comes along.
empty="$target/python/empty"
rm -rf "$empty"
"$(scripts/python/find-python.sh 3.13)" -m venv "$empty"
"$empty/bin/pip" install -q --disable-pip-version-check --only-binary :all: "$wheels"/arraylab-*.whl
came=$("$empty/bin/pip" list --disable-pip-version-check --format freeze | grep -v -e '^pip=' -e '^setuptools=' | sed 's/=.*//;s/ .*//' | sort | tr '\n' ' ')
[ "$came" = "arraylab numpy " ] || { echo "an empty environment got: $came" >&2; exit 1; }
"$empty/bin/python" - <<'PYTHON'
import subprocess, sys
from pathlib import Path
import arraylab

command = Path(sys.executable).parent / "arraylab"
version = subprocess.run([command, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
assert version == arraylab.__version__, (version, arraylab.__version__)
simulation = arraylab.simulate("composite-flash", rw="randread", bs="4k", iodepth=8, runtime=1)
assert simulation.results(to="numpy")["iops"][0] > 0
try:
    simulation.results()
except arraylab.ArraylabError as error:
    assert error.hint.startswith('pip install "arraylab[frames]"'), error
else:
    raise AssertionError("polars is there")
PYTHON
echo "an empty environment runs the wheel with NumPy alone" >&2

if [ "${ARRAYLAB_LONG:-}" = 1 ]; then
  # The archive of the sources holds all that the wheel is built of.
  archive="$target/python/from-archive"
  rm -rf "$archive"
  # In a target directory of its own: cargo takes files of the same name for those that it has built.
  PATH="$cache/maturin-1.16.0/bin:$PATH" ARRAYLAB_WHEEL_PROFILE=dev env -u CARGO_TARGET_DIR \
    "$cache/maturin-1.16.0/bin/pip" wheel -q --no-deps --no-build-isolation -w "$archive" "$wheels"/arraylab-*.tar.gz
  ls "$archive"/arraylab-*.whl
fi

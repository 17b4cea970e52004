#!/usr/bin/env bash
# Builds the wheel with the development build of the workspace and runs the tests of the package with Python 3.11 and 3.13, each in
# an environment of its own.
set -euo pipefail
cd "$(dirname "$0")/.."
target="${CARGO_TARGET_DIR:-target}"
wheels="$target/python/wheels"
rm -rf "$wheels"
ARRAYLAB_WHEEL_PROFILE=dev scripts/python/make-wheel.sh "$wheels"
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
  # Beside the repository, where `python/arraylab` is not what is imported.
  (cd python/tests && env -u PYTHONPATH "$environment/bin/python" -m pytest -q -p no:cacheprovider --durations=5 ${PYTEST_ARGUMENTS:-} </dev/null)
done

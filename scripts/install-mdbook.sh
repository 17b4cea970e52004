#!/bin/sh
# mdBook from the registry, pinned, into target/tools; does nothing where it is there already. Prints its path.
set -eu
version=0.5.4
cd "$(dirname "$0")/.."
tools=$PWD/${CARGO_TARGET_DIR:-target}/tools
case ${CARGO_TARGET_DIR:-} in /*) tools=$CARGO_TARGET_DIR/tools ;; esac
if [ "$("$tools/bin/mdbook" --version 2>/dev/null)" != "mdbook v$version" ]; then
    "${CARGO:-cargo}" install --quiet --locked --version "$version" --no-default-features --features search \
        --root "$tools" --target-dir "$tools/build" mdbook >&2
fi
echo "$tools/bin/mdbook"

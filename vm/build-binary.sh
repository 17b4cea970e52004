#!/usr/bin/env bash
# Builds the static binary that `make test-vm` runs in its machine, and prints its path. The profile of the tests, not of releases:
# overflow checks stay in, and the whole-program optimisation of `make dist` costs minutes and finds nothing here.
set -euo pipefail
cd "$(dirname "$0")/.."
target=x86_64-unknown-linux-gnu
directory=${CARGO_TARGET_DIR:-target}
scripts/install-libclang.sh >&2
# At a fixed address: to relocate itself takes the program four fifths of its start, and tests start it some thousand times.
RUSTFLAGS="-C target-feature=+crt-static" ${CARGO:-cargo} rustc --locked --target $target -p arraylab --bin arraylab \
    --features arraylab/ublk -- -C relocation-model=static >&2
scripts/check-static.sh "$directory/$target/debug/arraylab" >&2
echo "$directory/$target/debug/arraylab"

#!/usr/bin/env bash
# Builds the command as `cargo test` builds it, with the features of all packages, so that after `cargo test` nothing is compiled, and
# prints its path. `cargo build -p arraylab` would compile most crates once more, with fewer features in some libraries.
set -euo pipefail
cd "$(dirname "$0")/.."
${CARGO:-cargo} test --locked --workspace --no-run --test it >&2
echo "${CARGO_TARGET_DIR:-target}/debug/arraylab"

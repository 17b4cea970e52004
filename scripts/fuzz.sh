#!/usr/bin/env bash
# Runs one fuzz target for some seconds: scripts/fuzz.sh TARGET [SECONDS]; the targets are those of fuzz/fuzz_targets.
# Needs a nightly compiler and a C++ compiler; cargo-fuzz is not needed. What it finds lies in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"
target=${1:?a target: nbd, nbd-client, control, agent, http, fio, workloads, plan, array, addresses, traces, results, telemetry, store or volume}
seconds=${2:-60}

# What cargo-fuzz sets, without the address sanitizer, which finds nothing in safe Rust.
export RUSTFLAGS="-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 \
 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table \
 -Cllvm-args=-sanitizer-coverage-trace-compares -Ccodegen-units=1 --cfg fuzzing \
 -Cdebug-assertions -Coverflow-checks"
# Named, so that build scripts and macros are not instrumented.
cargo +nightly build --quiet --release --bin "$target" --target x86_64-unknown-linux-gnu

# What each target begins with.
case "$target" in
  plan) seeds=(../plans/*.yaml) ;;
  array) seeds=(../arrays/*.yaml) ;;
  workloads) seeds=(../crates/import/tests/fio/*.fio ../crates/import/tests/vdbench/*.parm) ;;
  fio) seeds=(../crates/fio/tests/samples/*/*) ;;
  results) seeds=(../crates/fio/tests/samples/*/* ../crates/import/tests/results/*) ;;
  *) seeds=() ;;
esac
mkdir -p "corpus/$target" "artifacts/$target"
for seed in "${seeds[@]}"; do
  [ -f "$seed" ] && cp -n "$seed" "corpus/$target/$(echo "$seed" | tr / _)"
done
if [ "$target" = nbd-client ]; then
  # A server's greeting, an export, and the reply to a read: without it no change gets past the first word.
  {
    printf '\x01NBDMAGICIHAVEOPT\x00\x03'
    printf '\x00\x03\xe8\x89\x04\x55\x65\xa9\x00\x00\x00\x07\x00\x00\x00\x03\x00\x00\x00\x0c'
    printf '\x00\x00\x00\x00\x00\x00\x00\x10\x00\x00\x05\xed'
    printf '\x00\x03\xe8\x89\x04\x55\x65\xa9\x00\x00\x00\x07\x00\x00\x00\x01\x00\x00\x00\x00'
    printf '\x67\x44\x66\x98\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x01'
    head -c 4096 /dev/zero
  } >"corpus/$target/greeting"
fi
exec target/x86_64-unknown-linux-gnu/release/"$target" "corpus/$target" \
  "-artifact_prefix=artifacts/$target/" "-max_total_time=$seconds" -print_final_stats=1 -timeout=10 -max_len=65536

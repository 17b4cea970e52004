#!/bin/bash
# A study on this machine and, with --sshloginfile in PARALLEL, on others: gnu-parallel.sh SHARDS PLAN TARGET DIRECTORY
set -euo pipefail
shards=$1 plan=$2 target=$3 directory=$4
mkdir -p "$directory"
# --joblog and --resume-failed: called again, it does what is missing or has failed.
parallel --joblog "$directory/joblog" --resume-failed --retries 2 \
  'if [ -e {3}/part-{4}/manifest.json ]; then arraylab run --resume {3}/part-{4} --threads 1
   else arraylab run {1} --target {2} --threads 1 --shard {4}/'"$shards"' --out {3}/part-{4}; fi' \
  ::: "$plan" ::: "$target" ::: "$directory" ::: $(seq "$shards")
arraylab merge "$directory"/part-* --out "$directory/run"

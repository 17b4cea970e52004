#!/bin/bash
# A study as a Slurm job array: sbatch --array=1-50 slurm-array.sh PLAN TARGET DIRECTORY
# When all tasks have ended: arraylab merge DIRECTORY/part-* --out DIRECTORY/run
#SBATCH --job-name=arraylab
#SBATCH --cpus-per-task=1
set -euo pipefail
plan=$1 target=$2 directory=$3
part=$directory/part-$SLURM_ARRAY_TASK_ID
mkdir -p "$directory"
# A task that was requeued goes on where it was stopped.
if [ -e "$part/manifest.json" ]; then
  exec arraylab run --resume "$part" --threads 1
fi
exec arraylab run "$plan" --target "$target" --threads 1 \
  --shard "$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT" --out "$part"

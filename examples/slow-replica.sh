#!/bin/bash
# A slow replica: PostgreSQL waits for a standby whose array has slow drives, and commits take as long as the standby's
# disks. Needs root, PostgreSQL with its contrib programs, nbdfuse.
set -euo pipefail
. "$(dirname "$0")/mounted-array.sh"
. "$(dirname "$0")/postgres.sh"

# Disks without a write cache, at their own speed: a commit is a write and a flush.
serve_array raid-levels,raid=10,disks=4,capacity=256m,write_cache=off --speed "${SPEED:-20}"
attach_disk
mkfs.ext4 -q "$device"
mount_disk
chmod 711 "$work"

primary=$work/primary
standby=$work/tree/standby
stop_both() {
    stop_database "$primary" immediate 2>/dev/null || true
    stop_database "$standby" immediate 2>/dev/null || true
}
trap 'stop_both; clean_up' EXIT

new_database "$primary" 54332
echo "synchronous_standby_names='*'" >>"$primary/postgresql.conf"
echo "synchronous_commit=local" >>"$primary/postgresql.conf"
start_database "$primary" 54332
pgbench -i -q -s 1 "${client[@]}" -p 54332 postgres 2>/dev/null
mkdir "$standby"
chown nobody "$standby"
chmod 700 "$standby"
as_nobody pg_basebackup "${client[@]}" -p 54332 -D "$standby" -R -c fast
echo "port=54333" >>"$standby/postgresql.conf"
start_database "$standby" 54333

latency_ms() {
    PGOPTIONS='-c synchronous_commit=on' pgbench -n -N -c 1 -T 5 "${client[@]}" -p 54332 postgres 2>/dev/null |
        sed -n 's/^latency average = \([0-9.]*\) ms$/\1/p'
}
before=$(latency_ms)
for drive in 0 1 2 3; do array slow "$drive" 200 >/dev/null; done
slow=$(latency_ms)
for drive in 0 1 2 3; do array slow "$drive" 1 >/dev/null; done
after=$(latency_ms)
echo "a commit takes $before ms, with the standby's drives 200 times as slow $slow ms, afterwards $after ms"
awk -v before="$before" -v slow="$slow" -v after="$after" 'BEGIN { exit !(slow > 2 * before && after < slow / 2) }'
echo "slow replica: commits wait for the standby's disks"

#!/bin/bash
# PostgreSQL through a drive failure and a rebuild: pgbench runs on ext4 on a RAID 6 while drives fail and are replaced; no
# transaction fails and the balances add up. Needs root, PostgreSQL with its contrib programs, nbdfuse.
set -euo pipefail
. "$(dirname "$0")/mounted-array.sh"
. "$(dirname "$0")/postgres.sh"

serve_array raid-levels,raid=6,disks=6,capacity=128m --untimed
attach_disk
mkfs.ext4 -q "$device"
mount_disk
chmod 711 "$work"
new_database "$work/tree/database" 54331
start_database "$work/tree/database" 54331

pgbench -i -q -s 2 "${client[@]}" -p 54331 postgres 2>/dev/null
pgbench -n -c 4 -T "${SECONDS_OF_LOAD:-12}" "${client[@]}" -p 54331 postgres >"$work/pgbench.log" 2>&1 &
load=$!
sleep 2
array fail 1 >/dev/null
sleep 1
array fail 4 >/dev/null
echo "two of six drives have failed"
# Spares, where the description has them, take their places by themselves; these are new drives.
array replace 1 >/dev/null 2>&1 || true
array replace 4 >/dev/null 2>&1 || true
wait "$load"
grep -E '^(tps|number of (transactions actually|failed))' "$work/pgbench.log"
grep -q 'number of failed transactions: 0 ' "$work/pgbench.log"
wait_for 120 is_whole
sql() { psql "${client[@]}" -p 54331 -d postgres -Atc "$1"; }
[ "$(sql 'select sum(abalance) from pgbench_accounts')" = "$(sql 'select sum(delta) from pgbench_history')" ]
[ "$(sql 'select sum(bbalance) from pgbench_branches')" = "$(sql 'select sum(delta) from pgbench_history')" ]
stop_database "$work/tree/database"
echo "PostgreSQL: went through two failed drives and their rebuild"

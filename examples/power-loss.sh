#!/bin/bash
# Power loss in the middle of a commit: SQLite commits on ext4 on a RAID 6, the array loses its power and half of what it
# had not flushed, and every commit that was acknowledged is there afterwards. Needs root, sqlite3, nbdfuse.
set -euo pipefail
. "$(dirname "$0")/mounted-array.sh"

serve_array raid-levels,raid=6,disks=6,capacity=64m --untimed
attach_disk
mkfs.ext4 -q "$device"
mount_disk
sqlite3 "$work/tree/orders.db" 'pragma journal_mode=wal; pragma synchronous=full; create table orders (id integer primary key);' \
    >/dev/null

commits() {
    for id in $(seq 100000); do
        sqlite3 "$work/tree/orders.db" "pragma synchronous=full; insert into orders values ($id);" 2>/dev/null || return 0
        # Said only when the commit has been acknowledged.
        echo "$id" >>"$work/acknowledged"
    done
}

for cut in 1 2 3; do
    : >"$work/acknowledged"
    sqlite3 "$work/tree/orders.db" 'delete from orders;'
    commits &
    committing=$!
    sleep 1.5
    array power-cut "$cut" >/dev/null
    wait "$committing"
    acknowledged=$(wc -l <"$work/acknowledged")
    detach_disk
    attach_disk
    mount_disk
    [ "$(sqlite3 "$work/tree/orders.db" 'pragma integrity_check;')" = ok ]
    kept=$(sqlite3 "$work/tree/orders.db" 'select count(*) from orders;')
    echo "power cut $cut: $acknowledged commits acknowledged, $kept kept"
    # One may have been on its way.
    [ "$acknowledged" -gt 0 ]
    [ "$kept" -ge "$acknowledged" ]
    [ "$kept" -le $((acknowledged + 1)) ]
done
echo "power loss: no acknowledged commit was lost"

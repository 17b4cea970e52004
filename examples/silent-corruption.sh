#!/bin/bash
# Silent corruption and scrub: sectors of a drive change behind everyone's back; a read never returns them, and a scrub
# finds and repairs them. Needs qemu-io, nbdcopy (libnbd-bin), jq; no root.
set -euo pipefail
ARRAYLAB=${ARRAYLAB:-arraylab}
export ARRAYLAB
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# What is started by `serve --run` finds the array by ARRAYLAB_NBD_URI and ARRAYLAB_CONTROL.
cat >"$work/test.sh" <<'TEST'
set -euo pipefail
array() { "$ARRAYLAB" ctl "$ARRAYLAB_CONTROL" "$@"; }

qemu-io -f raw -c 'write -P 0x5a 0 16m' -c flush "$ARRAYLAB_NBD_URI" >/dev/null
nbdcopy "$ARRAYLAB_NBD_URI" before.img

array corrupt 1 4096 8 >/dev/null
array corrupt 3 1048576 1 >/dev/null

# Readers get what was written: bad sectors are computed from the other drives.
nbdcopy "$ARRAYLAB_NBD_URI" after.img
cmp before.img after.img

array corrupt 2 8192 8 >/dev/null
array scrub >/dev/null
for _ in $(seq 200); do
    report=$(array status | jq -c .background.scrub)
    if [ "$(jq .is_running <<<"$report")" = false ]; then break; fi
    sleep 0.1
done
echo "scrub: $report"
[ "$(jq .is_running <<<"$report")" = false ]
[ "$(jq .report.repaired_sectors <<<"$report")" -ge 8 ]
[ "$(jq .report.unrepairable_sectors <<<"$report")" -eq 0 ]
nbdcopy "$ARRAYLAB_NBD_URI" after.img
cmp before.img after.img
TEST

cd "$work"
"$ARRAYLAB" serve raid-levels,raid=5,disks=5,capacity=32m --socket "$work/s" --data "$work/data" --untimed \
    --run "bash $work/test.sh"
echo "silent corruption: found and repaired"

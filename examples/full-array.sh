#!/bin/bash
# A file system on a full array: the array promises more room than it has (thin), writes fail when it is used up, what was
# synced before stays, and all goes on when there is room again. Needs root, nbdfuse.
set -euo pipefail
. "$(dirname "$0")/mounted-array.sh"

# The room behind the array: a file system of its own, so that nothing else runs full.
mkdir "$work/data"
mount -t tmpfs -o size=96m tmpfs "$work/data"
serve_array raid-levels,raid=5,disks=5,capacity=256m --untimed
attach_disk
mkfs.ext4 -q -E nodiscard "$device"
mount_disk

dd if=/dev/urandom of="$work/tree/kept" bs=1M count=8 conv=fsync status=none
kept=$(sha256sum <"$work/tree/kept")

if dd if=/dev/zero bs=1M count=400 status=none | tr '\0' x | dd of="$work/tree/too-much" bs=1M iflag=fullblock conv=fsync \
    status=none 2>"$work/dd.log"; then
    echo "a write of 400 MB went through" >&2
    exit 1
fi
echo "full: $(tail -n 1 "$work/dd.log")"

# The application's disk is gone for it; what was synced is not.
detach_disk
mount -o remount,size=1g "$work/data"
attach_disk
e2fsck -fy "$device" >"$work/fsck.log" 2>&1 || [ $? -le 2 ]
mount_disk
[ "$(sha256sum <"$work/tree/kept")" = "$kept" ]
rm -f "$work/tree/too-much"
dd if=/dev/urandom of="$work/tree/more" bs=1M count=64 conv=fsync status=none
echo "full array: what was synced was kept, and there is room again"

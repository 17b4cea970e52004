#!/bin/sh
# Builds and checks what only the feature `ublk` has (served arrays as block devices). It needs libclang, which the default
# build does without; Debian's is installed where there is none. Where the kernel has the driver, fio writes and verifies on
# a device; elsewhere the refusal is tried.
set -eu
CARGO=${CARGO:-cargo}
"$(dirname "$0")/install-libclang.sh"
$CARGO clippy --locked -p serve -p arraylab --features serve/ublk,arraylab/ublk --all-targets -- -D warnings
$CARGO test --locked -p serve --features serve/ublk --lib ublk
$CARGO build --locked -p arraylab --features arraylab/ublk
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
set -- "${CARGO_TARGET_DIR:-target}/debug/arraylab" serve raid-levels,raid=5,disks=3,capacity=64m \
    --socket "$directory/s" --data "$directory/d" --ublk
if [ -e /dev/ublk-control ]; then
    "$@" --speed 100 --run 'fio --name=verify --filename="$ARRAYLAB_BLOCK_DEVICE" --direct=1 --rw=randwrite --bs=4k \
        --iodepth=16 --ioengine=libaio --size=32m --verify=crc32c'
    echo "a block device was written and verified"
else
    if said=$("$@" --untimed 2>&1); then
        echo "a block device without /dev/ublk-control: $said" >&2
        exit 1
    fi
    echo "$said" | grep -q 'modprobe ublk_drv' || { echo "$said" >&2; exit 1; }
    echo "checked but for the driver, which this kernel does not have"
fi

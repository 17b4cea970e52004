# Served arrays as block devices of the kernel (`serve --ublk`).

serve_ublk() { # [OPTIONS…]: serves a RAID 5 in the background; sets $SERVER and $DEVICE
    rm -f serve.out serve.err
    modprobe ublk_drv
    arraylab serve "${ARRAY:-raid-levels,raid=5,disks=3,capacity=64m}" --socket "$WORK/s" --data "$WORK/d" --ublk --untimed \
        "$@" >serve.out 2>serve.err &
    SERVER=$!
    wait_for 60 server_is_ready_or_gone
    ended "$SERVER" && { cat serve.err; fail "the server ended before it was ready"; }
    DEVICE=$(sed -n 's/^block device: //p' serve.err)
    [ -b "$DEVICE" ] || { cat serve.err; fail "no block device"; }
}
server_is_ready_or_gone() { [ -s serve.out ] || ended "$SERVER"; }
no_ublk_device() { [ -z "$(ls -d /dev/ublkb* /dev/ublkc* 2>/dev/null)" ]; }
node_is_gone() { [ ! -e "$1" ]; }

# Proves that an array is served as a block device, that what is written is read back, and that TERM ends the server and takes
# the device away.
test_serves_and_goes() {
    serve_ublk
    dd if=/dev/urandom of=bytes bs=1M count=8 status=none
    dd if=bytes of="$DEVICE" bs=64k oflag=direct status=none
    cmp bytes <(dd if="$DEVICE" bs=1M count=8 iflag=direct status=none)
    kill -TERM "$SERVER"
    wait_for_end 20 "$SERVER"
    [ "$STATUS" = 0 ] || { cat serve.err; fail "exit status $STATUS after TERM"; }
    ! grep -q panicked serve.err || { cat serve.err; fail "a thread panicked"; }
    wait_for 10 no_ublk_device
}

# Proves that the device which a killed server leaves is found and removed by the next start, and that the array holds what
# was flushed before.
test_leftovers_of_a_killed_server_are_removed() {
    serve_ublk
    dd if=/dev/urandom of=bytes bs=1M count=4 status=none
    dd if=bytes of="$DEVICE" bs=64k oflag=direct conv=fsync status=none
    kill -KILL "$SERVER"
    wait_for_end 10 "$SERVER"
    wait_for 10 node_is_gone "$DEVICE"
    local left=${DEVICE/ublkb/ublkc}
    [ -c "$left" ] || fail "the kernel keeps no $left after a kill: nothing is tested"
    serve_ublk
    grep -q "removed $left" serve.err || { cat serve.err; fail "the leftover was not removed"; }
    [ "$(ls -d /dev/ublkc* | wc -l)" = 1 ] || fail "there are $(echo /dev/ublkc*)"
    cmp bytes <(dd if="$DEVICE" bs=1M count=4 iflag=direct status=none)
}

# Proves that a start leaves the device of another server alone, which serves on.
test_live_devices_of_others_stay() {
    serve_ublk
    local first=$SERVER device=$DEVICE
    mkdir other; cd other
    WORK=$PWD serve_ublk
    [ "$DEVICE" != "$device" ] || fail "both are $device"
    dd if=/dev/zero of="$device" bs=64k count=16 oflag=direct status=none
    kill -TERM "$SERVER"; wait_for_end 20 "$SERVER"
    [ "$STATUS" = 0 ] || fail "exit status $STATUS after TERM"
    dd if=/dev/zero of="$device" bs=64k count=16 oflag=direct status=none
    kill -TERM "$first"; wait_for_end 20 "$first"
    [ "$STATUS" = 0 ] || fail "exit status $STATUS after TERM"
    wait_for 10 no_ublk_device
}

# Proves that TERM ends a server whose device is mounted: what the file system still had is written, and the device goes with
# its last user.
test_a_mounted_device_does_not_hold_the_server() {
    serve_ublk
    mkfs.ext4 -q "$DEVICE"; mkdir m; mount "$DEVICE" m
    dd if=/dev/urandom of=m/bytes bs=1M count=4 status=none
    kill -TERM "$SERVER"
    wait_for_end 30 "$SERVER"
    [ "$STATUS" = 0 ] || { cat serve.err; fail "exit status $STATUS after TERM"; }
    umount m
    wait_for 10 no_ublk_device
}

# Proves that file systems on a device keep every byte while a drive of the array fails and is rebuilt.
# deadline: 240
test_file_systems_survive_a_failed_drive() {
    local fs
    modprobe -a xfs btrfs
    for fs in ext4 xfs btrfs; do
        rm -rf d s s.ctl; mkdir -p m
        ARRAY=raid-levels,raid=6,disks=6,capacity=400m serve_ublk
        mkfs.$fs "$DEVICE" >mkfs.out 2>&1 || { cat mkfs.out; fail "mkfs.$fs"; }
        mount "$DEVICE" m
        dd if=/dev/urandom of=m/a bs=1M count=8 status=none; (cd m; md5sum a >"$WORK/sums"); sync
        arraylab ctl "$WORK/s.ctl" fail 0 >ctl.out || { cat ctl.out; fail "no drive failed"; }
        dd if=/dev/urandom of=m/b bs=1M count=8 status=none; (cd m; md5sum b >>"$WORK/sums"); sync
        umount m; mount "$DEVICE" m
        (cd m; md5sum -c "$WORK/sums" >/dev/null) || fail "$fs: bytes differ"
        umount m
        kill -TERM "$SERVER"; wait_for_end 20 "$SERVER"
        [ "$STATUS" = 0 ] || { cat serve.err; fail "$fs: exit status $STATUS after TERM"; }
    done
}

# Proves that every file that was synced is there, byte for byte, after the server was killed in the middle of writing (for the file
# system a power cut): on each of ext4, XFS and btrfs, with --long twice.
# deadline: 500
test_synced_files_survive_a_killed_server() {
    local fs round writer
    modprobe -a xfs btrfs
    mkdir m
    for fs in ext4 xfs btrfs; do
        rm -rf d s s.ctl; : >sums
        ARRAY=raid-levels,raid=6,disks=6,capacity=400m serve_ublk
        mkfs.$fs "$DEVICE" >mkfs.out 2>&1 || { cat mkfs.out; fail "mkfs.$fs"; }
        mount "$DEVICE" m
        for round in $ROUNDS; do
            write_synced "synced-$round"
            dd if=/dev/urandom of="m/cut-$round" bs=64k count=1024 status=none 2>dd.err & writer=$!
            sync & # so that there is something under way when the server goes
            wait_for 60 has_written_more "$DEVICE" $(($(writes "$DEVICE") + 5))
            kill -KILL "$SERVER"; wait_for_end 10 "$SERVER"
            wait_for_end 60 $writer
            umount m || umount -l m
            wait_for 30 node_is_gone "$DEVICE"
            ARRAY=raid-levels,raid=6,disks=6,capacity=400m serve_ublk
            mount "$DEVICE" m || { dmesg | tail; fail "$fs cannot be mounted after a kill"; }
            (cd m; md5sum -c "$WORK/sums" >"$WORK/checked" 2>&1) || { cat checked; fail "$fs, round $round: bytes differ"; }
        done
        umount m
        kill -TERM "$SERVER"; wait_for_end 20 "$SERVER"
        [ "$STATUS" = 0 ] || { cat serve.err; fail "$fs: exit status $STATUS after TERM"; }
    done
}
write_synced() { dd if=/dev/urandom of="m/$1" bs=1M count=8 conv=fsync status=none; (cd m; md5sum "$1" >>"$WORK/sums"); sync m; }

# Proves that fio's own verification holds on a device, and that the command of --run finds it and its exit status is kept.
test_fio_verifies_a_device() {
    modprobe ublk_drv
    expect 0 arraylab serve raid-levels,raid=5,disks=3,capacity=64m --socket "$WORK/s" --data "$WORK/d" --ublk --untimed \
        --run 'fio --name=verify --filename="$ARRAYLAB_BLOCK_DEVICE" --direct=1 --rw=randwrite --bs=4k --iodepth=16 \
            --ioengine=libaio --size=4m --verify=crc32c'
    rm -rf d
    expect 7 arraylab serve raid-levels,raid=5,disks=3,capacity=64m --socket "$WORK/s" --data "$WORK/d" --ublk --untimed \
        --run 'exit 7'
    wait_for 10 no_ublk_device
}

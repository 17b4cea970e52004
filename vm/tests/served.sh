# Served arrays attached as people attach them: by nbd-client with four connections, and by iSCSI through LIO, with file systems on top.
# vm-memory: 2500

serve_nbd() { # sets $SERVER; a RAID 6 on 127.0.0.1:10809
    rm -rf d
    start_server
    modprobe nbd nbds_max=1
}
start_server() { # sets $SERVER; with what is in `d`
    rm -f s s.ctl serve.out serve.err
    arraylab serve raid-levels,raid=6,disks=6,capacity=400m --listen 127.0.0.1:10809 --control "$WORK/s.ctl" --data "$WORK/d" --untimed \
        >serve.out 2>serve.err &
    SERVER=$!
    wait_for 60 is_ready_or_gone
    ended "$SERVER" && { cat serve.err; fail "the server ended before it was ready"; }
    true
}
is_ready_or_gone() { [ -s serve.out ] || ended "$SERVER"; }
attach() { nbd-client -C 4 127.0.0.1 10809 /dev/nbd0 >client.out 2>&1 || { cat client.out; fail "nbd-client"; }; wait_for 20 is_attached; }
is_attached() { [ -e /sys/block/nbd0/pid ] && [ "$(</sys/block/nbd0/size)" -gt 0 ]; }
detach() { nbd-client -d /dev/nbd0; wait_for 20 is_detached; }
is_detached() { [ ! -e /sys/block/nbd0/pid ]; }
make_fs() { modprobe -q "$1" || true; mkfs."$1" "$2" >mkfs.out 2>&1 || { cat mkfs.out; fail "mkfs.$1"; }; }
ctl() { arraylab ctl "$WORK/s.ctl" "$@" >ctl.out 2>&1 || { cat ctl.out; fail "ctl $*"; }; }
is_rebuilt() { ctl ready; grep -q '"ready":true' ctl.out; }
write_file() { dd if=/dev/urandom of="m/$1" bs=1M count=8 status=none; (cd m; md5sum "$1" >>"$WORK/sums"); sync m/"$1"; }
check_files() { (cd m; md5sum -c "$WORK/sums" >"$WORK/checked" 2>&1) || { cat checked; fail "$1: bytes differ"; }; }
stop_server() { kill -TERM "$SERVER"; wait_for_end 30 "$SERVER"; [ "$STATUS" = 0 ] || { cat serve.err; fail "exit status $STATUS after TERM"; }; }

# Proves that file systems on an array that nbd-client attached with four connections keep every byte while two drives fail and are
# rebuilt on spares.
# deadline: 400
test_file_systems_by_nbd_survive_failed_drives() {
    local fs
    mkdir m
    for fs in ext4 xfs btrfs; do
        : >sums
        serve_nbd; attach; make_fs $fs /dev/nbd0; mount /dev/nbd0 m
        write_file a; ctl fail 0; write_file b; ctl fail 3; write_file c
        wait_for 60 is_rebuilt; write_file d
        umount m; mount /dev/nbd0 m
        check_files $fs
        umount m; detach; stop_server
    done
}

# Proves that what was synced to a file system before a power cut of the array is there, byte for byte, when it is attached again.
# deadline: 400
test_synced_files_survive_a_power_cut() {
    local fs seed
    mkdir m
    for fs in ext4 xfs btrfs; do
        : >sums
        serve_nbd; attach; make_fs $fs /dev/nbd0; mount /dev/nbd0 m
        for seed in $ROUNDS; do
            write_file "synced-$seed"
            dd if=/dev/urandom of="m/unsynced-$seed" bs=1M count=8 status=none
            ctl power-cut $seed
            umount m || umount -l m
            detach; attach
            mount /dev/nbd0 m || { dmesg | tail; fail "$fs cannot be mounted after a power cut"; }
            check_files $fs
        done
        umount m; detach; stop_server
    done
}

# Proves that file systems on an array with four connections go on, and keep every byte, synced or not, when its server is killed in the
# middle of writing and starts again: what waits is sent anew by new connections.
# deadline: 400
test_file_systems_survive_a_server_that_comes_back() {
    local fs round writer
    mkdir m
    for fs in ext4 xfs btrfs; do
        : >sums
        serve_nbd; python3 /lab/tests/nbd_sockets.py connect 0 10809 4; wait_for 20 is_attached
        make_fs $fs /dev/nbd0; mount /dev/nbd0 m
        for round in $ROUNDS; do
            write_file "before-$round"
            write_endlessly & writer=$!
            wait_for 60 has_written_more /dev/nbd0 $(($(writes /dev/nbd0) + 20))
            kill -KILL "$SERVER"; wait_for_end 10 "$SERVER"
            start_server; python3 /lab/tests/nbd_sockets.py reconnect 0 10809 4
            wait_for 60 has_written_more /dev/nbd0 $(($(writes /dev/nbd0) + 20))
            : >stop; wait_for_end 60 $writer; rm stop
            [ "$STATUS" = 0 ] || { dmesg | tail -20; fail "$fs: a write failed"; }
            check_files "$fs, round $round"
        done
        umount m; mount /dev/nbd0 m
        check_files "$fs, mounted again"
        umount m; detach; stop_server
    done
}
write_endlessly() { # files of 1 MiB, of which each is synced before the next, until there is a file `stop`
    local number=0
    while [ ! -e "$WORK/stop" ]; do
        number=$((number + 1))
        # The same eight names, so that the file system does not run full.
        dd if=/dev/urandom of="m/endless-$((number % 8))" bs=256k count=4 conv=fsync status=none || return 1
    done
}

# Proves that nbd-client attaches an array anew, with four connections, after its server has ended and started again, and that
# every file is there.
# deadline: 240
test_nbd_client_attaches_a_server_that_comes_back() {
    mkdir m; : >sums
    serve_nbd; attach
    [ "$(established)" -ge 4 ] || fail "$(established) connections"
    make_fs ext4 /dev/nbd0; mount /dev/nbd0 m
    write_file a
    umount m
    kill -KILL "$SERVER"; wait_for_end 10 "$SERVER"
    wait_for 20 is_dead; nbd-client -d /dev/nbd0 || true; wait_for 20 is_detached
    start_server; attach
    [ "$(established)" -ge 4 ] || fail "$(established) connections after the restart"
    mount /dev/nbd0 m
    check_files "after a restart"; write_file b
    umount m; detach; stop_server
}
established() { ss -Htn state established "dport = 10809" | wc -l; }
is_dead() { [ "$(established)" = 0 ]; }

# Proves that file systems on an iSCSI disk, which LIO serves from an array and open-iscsi of this machine attaches, keep every byte
# while a drive of the array fails, and every synced file over a power cut of the array; and that disk and array are refused as
# targets meanwhile.
# deadline: 500
test_file_systems_by_iscsi_survive_a_failed_drive_and_a_power_cut() {
    local fs disk
    mkdir m
    start_iscsid
    for fs in ext4 xfs btrfs; do
        : >sums
        serve_nbd; attach_by_iscsi; disk=$(iscsi_disk)
        make_fs $fs "$disk"; mount "$disk" m
        write_file a; ctl fail 1; write_file b
        if [ $fs = ext4 ]; then
            refused "$disk" "mounted at"
            refused /dev/nbd0 "exported by LIO"
        fi
        umount m; mount "$disk" m
        check_files "$fs by iscsi"
        dd if=/dev/urandom of=m/unsynced bs=1M count=8 status=none
        ctl power-cut 1
        umount m || umount -l m
        detach_by_iscsi; attach_by_iscsi; disk=$(iscsi_disk)
        mount "$disk" m || { dmesg | tail; fail "$fs cannot be mounted after a power cut"; }
        check_files "$fs by iscsi, after a power cut"
        umount m
        detach_by_iscsi; stop_server
    done
}
attach_by_iscsi() { attach; export_by_iscsi /dev/nbd0; log_in; wait_for 30 iscsi_disk; }
detach_by_iscsi() {
    iscsiadm -m node -u >iscsi.out 2>&1 || { cat iscsi.out; fail "logout"; }
    wait_for 30 no_iscsi_disk
    # Directories that the kernel made itself stay.
    remove_configfs || true
    detach
}
no_iscsi_disk() { ! iscsi_disk; }
export_by_iscsi() { # NODE: as LUN 0 of iqn.2026-11.lab:array at 127.0.0.1:3260, for anybody
    local root=/sys/kernel/config/target store group
    modprobe -a target_core_mod target_core_iblock iscsi_target_mod
    store=$root/core/iblock_0/array
    mkdir -p $store; echo "udev_path=$1" >$store/control; echo 41525241 >$store/wwn/vpd_unit_serial; echo 1 >$store/enable
    group=$root/iscsi/iqn.2026-11.lab:array/tpgt_1
    mkdir -p $group; mkdir $group/lun/lun_0; ln -s $store $group/lun/lun_0/store
    mkdir $group/np/127.0.0.1:3260
    echo 0 >$group/attrib/authentication; echo 1 >$group/attrib/generate_node_acls; echo 0 >$group/attrib/demo_mode_write_protect
    echo 1 >$group/enable
}
start_iscsid() {
    modprobe iscsi_tcp
    mkdir -p /run/lock/iscsi /etc/iscsi/nodes /etc/iscsi/send_targets
    iscsid -f >iscsid.out 2>&1 &
}
log_in() {
    wait_for 30 finds_target
    iscsiadm -m node -T iqn.2026-11.lab:array -p 127.0.0.1 --login >iscsi.out 2>&1 || { cat iscsi.out iscsid.out; fail "login"; }
}
finds_target() { iscsiadm -m discovery -t sendtargets -p 127.0.0.1; }
iscsi_disk() {
    local path
    for path in /sys/class/iscsi_session/session*/device/target*/*/block/*; do [ -b "/dev/${path##*/}" ] && echo "/dev/${path##*/}" && return 0; done
    return 1
}

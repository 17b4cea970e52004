# The guard on real kernels: what is used, by whichever way, is refused; what nobody uses is written with consent.

# --- findings of issue 15

# F1: proves that a file system on one path bars the other while no multipath map exists, before and while multipathd runs.
smoke_a_mounted_second_path_is_refused() {
    local one two
    one=$(disk mp1) two=$(disk mp2)
    mkfs.ext4 -q "$one" 32M; mkdir m; mount "$one" m
    refused "$two" "${one##*/}" "has the same WWN naa.5000000000000200" "mounted at"
    # A path that is mounted makes no map: multipathd runs, and both stay bare disks.
    multipathd >/dev/null 2>&1
    wait_for 30 multipathd_answers
    [ ! -e /dev/mapper/mpatha ] || fail "multipathd has made a map of a mounted path"
    refused "$two" "has the same WWN naa.5000000000000200" "mounted at"
}
multipathd_answers() { multipathd show daemon | grep -q idle; }

# F1: proves that a path is refused while the map of both is there, used or not, and that the map itself is written.
test_paths_of_a_map_are_refused() {
    start_multipathd
    refused "$(disk mp1)" "one path of multipath device mpatha"
    accepted "$(mpath)"
    mkfs.ext4 -q "$(mpath)" 32M; mkdir m; mount "$(mpath)" m
    refused "$(mpath)" "mounted at"
    refused "$(disk mp2)" "one path of multipath device mpatha"
}

# F1: proves that swap, LVM, md and a partition on one path bar the other.
test_every_use_of_the_second_path_is_refused() {
    local one two
    one=$(disk mp1) two=$(disk mp2)
    mkswap -q "$one"; swapon "$one"
    refused "$two" "is swap space in use"
    swapoff "$one"; wipefs -qaf "$one"
    echo 'start=2048, size=65536' | sfdisk -q "$one"; settle
    mkfs.ext4 -q "${one}1"; mkdir m; mount "${one}1" m
    refused "$two" "${one##*/}1 on it is mounted at"
    umount m
    sfdisk -q --delete "$one"; settle; wipefs -qaf "$one"
    mdadm --create /dev/md7 --run --level=1 --raid-devices=2 --metadata=1.2 "$one" missing --force
    refused "$two" "is held by md raid1 md7"
}

# F5: proves that a disk that nvmet exports is refused, and the exporting namespace named.
smoke_a_namespace_of_nvmet_is_refused() {
    export_by_nvmet "$(disk s1)"
    refused "$(disk s1)" "is exported by nvmet as namespace 1 of lab-export"
}

export_by_nvmet() { # NODE: subsystem lab-export, listening on 127.0.0.1:4420
    local root=/sys/kernel/config/nvmet
    modprobe nvmet; modprobe nvmet_tcp
    mkdir $root/subsystems/lab-export $root/subsystems/lab-export/namespaces/1 $root/ports/1
    echo 1 >$root/subsystems/lab-export/attr_allow_any_host
    echo -n "$1" >$root/subsystems/lab-export/namespaces/1/device_path
    echo 1 >$root/subsystems/lab-export/namespaces/1/enable
    echo ipv4 >$root/ports/1/addr_adrfam; echo tcp >$root/ports/1/addr_trtype
    echo 127.0.0.1 >$root/ports/1/addr_traddr; echo 4420 >$root/ports/1/addr_trsvcid
    ln -s $root/subsystems/lab-export $root/ports/1/subsystems/lab-export
}

# F5: proves that a disk whose file system is mounted over NVMe/TCP on the same host is refused.
test_a_disk_mounted_over_nvme_tcp_is_refused() {
    local attached
    export_by_nvmet "$(disk s1)"
    modprobe nvme_tcp
    nvme connect -t tcp -a 127.0.0.1 -s 4420 -n lab-export
    wait_for 20 namespace_of_tcp
    attached=$(namespace_of_tcp)
    mkfs.ext4 -q "$attached" 32M; mkdir m; mount "$attached" m
    refused "$(disk s1)" "is exported by nvmet as namespace 1 of lab-export"
    refused "$attached" "mounted at"
}

# F5: proves that the disk behind a fileio backstore of LIO is refused, and the backstore named.
smoke_a_disk_behind_lio_is_refused() {
    local store=/sys/kernel/config/target/core/fileio_0/store
    modprobe target_core_mod; modprobe target_core_file
    mkdir -p $store
    echo "fd_dev_name=$(disk s2),fd_dev_size=$(blockdev --getsize64 "$(disk s2)")" >$store/control
    echo 1 >$store/enable
    refused "$(disk s2)" "is exported by LIO as backstore fileio/store"
}

# F5: proves that a disk that any process holds open for writing is refused with its name, and one held for reading is not.
smoke_a_disk_open_for_writing_is_refused() {
    python3 -c 'import sys, time; held = open(sys.argv[1], "r+b", 0); open("ready", "w"); time.sleep(900)' "$(disk s3)" &
    wait_for 20 test -e ready
    refused "$(disk s3)" "is open for writing by python3 (process $!)"
    kill $!; wait $! || true
    rm ready
    python3 -c 'import sys, time; held = open(sys.argv[1], "rb", 0); open("ready", "w"); time.sleep(900)' "$(disk s3)" &
    wait_for 20 test -e ready
    accepted "$(disk s3)"
}

# F5: proves that a partition and a second path count when a process writes to the whole disk.
test_a_writer_of_the_whole_disk_bars_partition_and_path() {
    local one
    one=$(disk mp1)
    echo 'start=2048, size=65536' | sfdisk -q "$one"; settle
    python3 -c 'import sys, time; held = open(sys.argv[1], "r+b", 0); open("ready", "w"); time.sleep(900)' "$one" &
    wait_for 20 test -e ready
    refused "${one}1" "/dev/${one##*/} leads to its bytes and is open for writing by python3"
    refused "$(disk mp2)" "/dev/${one##*/} leads to its bytes and is open for writing by python3"
}

# F5: proves that a file behind a loop device counts when a process writes to the file.
test_a_writer_of_the_file_behind_a_loop_device_is_refused() {
    local loop
    truncate -s 32M image; loop=$(losetup --find --show image)
    python3 -c 'import sys, time; held = open(sys.argv[1], "r+b", 0); open("ready", "w"); time.sleep(900)' image &
    wait_for 20 test -e ready
    refused "$loop" "image below it is open for writing by python3"
}

# F5: proves that the disk of an NBD server, whose export is mounted through /dev/nbd0, is refused.
test_a_disk_of_an_nbd_server_is_refused() {
    modprobe nbd nbds_max=1
    nbd-server 127.0.0.1:10809 "$(disk s4)" -C /dev/null -d >server 2>&1 &
    wait_for 20 attach_nbd
    mkfs.ext4 -q /dev/nbd0 32M; mkdir m; mount /dev/nbd0 m
    refused "$(disk s4)" "is open for writing by nbd-server"
    refused /dev/nbd0 "mounted at"
}
attach_nbd() { nbd-client 127.0.0.1 10809 /dev/nbd0; }

# F5: proves that an NBD address is refused while its export is mounted through /dev/nbd0, by either way of nbd-client,
# and is accepted when only an idle client is attached.
# deadline: 300
test_an_nbd_address_mounted_through_the_kernel_is_refused() {
    local address=nbd://localhost option sum
    modprobe nbd nbds_max=1
    mkdir m
    arraylab serve raid-levels,raid=5,disks=3,capacity=64m --listen 127.0.0.1:10809 --data "$WORK/d" --untimed >served 2>server &
    wait_for 60 test -s served
    for option in "127.0.0.1 10809" "127.0.0.1 10809 -nonetlink"; do
        wait_for 20 attach_nbd_by $option
        mkfs.ext4 -qF /dev/nbd0
        # Read-only, so that the file system itself writes nothing.
        mount -o ro,noload /dev/nbd0 m
        sum=$(sum_of /dev/nbd0)
        write_plan
        consent_of "$address" >consent
        expect 2 arraylab run plan.yaml --target "$address" --out run $(<consent)
        expect_text "/dev/nbd0 is attached to the same server" "is mounted at"
        [ "$(sum_of /dev/nbd0)" = "$sum" ] || fail "$address was written"
        umount m
        [ -n "$(consent_of "$address")" ] || { cat consent-asked; fail "$address is refused although nobody uses it"; }
        nbd-client -d /dev/nbd0; wait_for 20 nbd_is_free
    done
}
attach_nbd_by() { # ARGUMENTS…
    # Without netlink the client stays in the foreground until the device is detached.
    if [[ "$*" == *-nonetlink* ]]; then nbd-client "$@" /dev/nbd0 >client 2>&1 & wait_for 20 nbd_is_attached; else nbd-client "$@" /dev/nbd0; fi
}
nbd_is_attached() { [ -e /sys/block/nbd0/pid ] && [ "$(</sys/block/nbd0/size)" -gt 0 ]; }
nbd_is_free() { [ ! -e /sys/block/nbd0/pid ]; }

# F5: proves that a disk attached over NVMe/TCP to this very host is refused while what is exported is mounted here, and written
# when it is not.
test_a_disk_attached_to_an_export_of_a_mounted_disk_is_refused() {
    local attached
    mkfs.ext4 -q "$(disk s1)" 32M; mkdir m; mount "$(disk s1)" m
    export_by_nvmet "$(disk s1)"
    modprobe nvme_tcp
    nvme connect -t tcp -a 127.0.0.1 -s 4420 -n lab-export
    wait_for 20 namespace_of_tcp
    attached=$(namespace_of_tcp)
    refused "$attached" "/dev/$(kernel_name "$(disk s1)") is what ${attached#/dev/} is attached to (nvmet as namespace 1 of lab-export)" \
        "mounted at"
    umount m
    accepted "$attached"
}

# F5: proves the same of a unit of LIO, with a serial number and without one.
test_a_unit_of_lio_over_a_mounted_disk_is_refused() {
    local serial unit
    mkfs.ext4 -q "$(disk s2)" 32M; mkdir m
    for serial in "" 4c41422d53323131; do
        mount "$(disk s2)" m
        attach_by_lio "$(disk s2)" "$serial"
        unit=$(unit_of_lio)
        refused "$unit" "/dev/$(kernel_name "$(disk s2)") is what ${unit#/dev/} is attached to (LIO as backstore fileio/store)" "mounted at"
        umount m
        accepted "$unit"
        # Some of its directories are the kernel's own and stay.
        remove_configfs || true
        wait_for 20 no_unit_of_lio
        mkfs.ext4 -qF "$(disk s2)" 32M
    done
}
attach_by_lio() { # NODE [SERIAL]: as a SCSI disk of this host, by tcm_loop
    local root=/sys/kernel/config/target store portal
    modprobe target_core_mod; modprobe target_core_file; modprobe tcm_loop
    store=$root/core/fileio_0/store
    mkdir -p $store
    echo "fd_dev_name=$1,fd_dev_size=$(blockdev --getsize64 "$1")" >$store/control
    [ -z "${2-}" ] || echo "$2" >$store/wwn/vpd_unit_serial
    echo 1 >$store/enable
    portal=$root/loopback/naa.6001405000000001/tpgt_1
    mkdir -p $portal
    echo naa.6001405000000002 >$portal/nexus
    mkdir $portal/lun/lun_0; ln -s $store $portal/lun/lun_0/store
    wait_for 20 unit_of_lio
}
no_unit_of_lio() { ! unit_of_lio; }
unit_of_lio() {
    local vendor
    for vendor in /sys/block/sd*/device/vendor; do
        [[ $(<"$vendor") == LIO-ORG* ]] || continue
        vendor=${vendor#/sys/block/}; [ -b "/dev/${vendor%%/*}" ] && echo "/dev/${vendor%%/*}" && return 0
    done
    return 1
}

# Proves that a loop device over a mounted device-mapper device is refused, and one over its neighbour on the disk is not.
test_a_loop_device_over_a_mounted_volume_is_refused() {
    local one two
    dmsetup create lab-one --table "0 65536 linear $(disk s0) 0"
    dmsetup create lab-two --table "0 65536 linear $(disk s0) 65536"
    mkfs.ext4 -q /dev/mapper/lab-one; mkdir m; mount /dev/mapper/lab-one m
    one=$(losetup --find --show /dev/mapper/lab-one) two=$(losetup --find --show /dev/mapper/lab-two)
    refused "$one" "is what ${one#/dev/} is set up over and is mounted at"
    accepted "$two"
}

# F7: proves that drives named as /dev/sdX and by links under /dev/disk are one: the consents are those of the identity, and an
# array that was made with one name is recognised, and made again, by the other.
# deadline: 240
test_drives_of_an_array_are_known_by_any_name() {
    local by_node by_id name
    modprobe raid1
    name=$(kernel_name "$(disk s0)")
    by_node="$(disk s0)+$(disk s1)"
    by_id="$(link_of "$(disk s0)")+$(link_of "$(disk s1)")"
    [ "$by_id" != "$by_node" ] || fail "there are no links"
    cat >plan.yaml <<PLAN
title: Mirror
defaults: { ioengine: libaio, direct: 1, runtime: 1, bs: 4k, iodepth: 4, rw: randwrite }
stages:
  mirror: { settings: { raid: 1 } }
PLAN
    # Both drives are asked for at once.
    expect 3 arraylab run plan.yaml --target /dev/md/none --out asked --array "exec:mdadm,drives=$by_node,size=32m"
    grep -o -- '--overwrite-data [^ ]*' out | sort -u >ids
    [ "$(wc -l <ids)" = 2 ] || { cat out; fail "not both consents at once"; }
    expect 0 arraylab run plan.yaml --target /dev/md/none --out run --array "exec:mdadm,drives=$by_node,size=32m" $(<ids)
    expect 0 arraylab run plan.yaml --target /dev/md/none --out run-2 --array "exec:mdadm,drives=$by_id,size=32m" $(<ids)
}
link_of() { # NODE: its link by WWN
    local link
    for link in /dev/disk/by-id/wwn-*; do [ "$(readlink -f "$link")" = "$1" ] && echo "$link" && return 0; done
    return 1
}

# F6: proves that an unused physical volume of an active volume group is refused with the group's name, and named when
# the group is inactive.
smoke_a_volume_of_an_active_group_is_refused() {
    pvcreate -qq "$(disk s0)" "$(disk s1)"
    vgcreate -qq lab "$(disk s0)" "$(disk s1)"
    lvcreate -qq -y -Zn -Wn -L 16M -n data lab "$(disk s0)"
    refused "$(disk s1)" "it belongs to LVM volume group lab, which is active (lab-data)"
    vgchange -qq -an lab
    write_plan
    expect 2 arraylab run plan.yaml --target "$(disk s1)" --out asked
    expect_text "an LVM physical volume of volume group lab" "--overwrite-data"
}

# --- what the guard did before, on real devices

# Proves that a mount in another mount namespace is seen, on the disk and on a loop device over it.
smoke_a_mount_in_another_namespace_is_refused() {
    local loop
    mkfs.ext4 -q "$(disk s5)" 32M; mkdir m
    loop=$(losetup --find --show "$(disk s5)")
    unshare -m bash -c 'mount "$1" m; touch ready; exec sleep 900' x "$loop" &
    wait_for 20 test -e ready
    refused "$(disk s5)" "mounted at" "in another mount namespace"
}

# Proves that members and holders of md, LVM and device mapper are refused, and the devices made of them accepted.
smoke_members_and_holders_are_refused() {
    mdadm --quiet --create /dev/md7 --run --level=0 --raid-devices=2 "$(disk s0)" "$(disk s1)"
    refused "$(disk s0)" "is held by md raid0 md7"
    dmsetup create lab-linear --table "0 65536 linear $(disk s2) 0"
    refused "$(disk s2)" "is held by device-mapper device lab-linear"
    accepted /dev/mapper/lab-linear
    accepted /dev/md7
}

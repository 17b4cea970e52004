# The guard's table: each class of block device × each kind of use. docs/guard.md shows it; a class's row is one test.
#
# The rows as they were found: grep -h '^| ' target/vm/logs/classes/*.log

# Proves that a class of block device is refused in every kind of use, that it is written with consent when nobody uses it or it only
# holds a file system, and that docs/guard.md says so: of a plain disk.
# deadline: 300
test_a_disk() { is "$(disk s0)"; try_uses "SCSI disk"; }

# The same of a second path to a disk, the first of which is used. That one is read-only says nothing of the other.
# deadline: 300
test_a_second_path() { used=$(disk mp1) target=$(disk mp2); try_uses "second path"; }

# The same of a multipath map.
# deadline: 300
test_a_multipath_map() { start_multipathd; is "$(mpath)"; try_uses "multipath map"; }

# The same of a partition.
# deadline: 300
test_a_partition() {
    echo 'start=2048, size=131072' | sfdisk -q "$(disk s1)"; settle
    is "$(disk s1)1"; try_uses partition
}

# The same of an NVMe namespace.
# deadline: 300
test_an_nvme_namespace() { is "$(disk n01)"; try_uses "NVMe namespace"; }

# The same of a namespace with two native paths.
# deadline: 300
test_an_nvme_multipath_head() { is "$(disk nm)"; try_uses "NVMe multipath head"; }

# The same of a linear device of device mapper.
# deadline: 300
test_dm_linear() { dmsetup create lab --table "0 131072 linear $(disk s2) 0"; is /dev/mapper/lab; try_uses dm-linear; }

# The same of an encrypted device of device mapper.
# deadline: 300
test_dm_crypt() {
    echo -n secret | cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --hash sha256 --key-file - "$(disk s3)" lab-crypt
    is /dev/mapper/lab-crypt; try_uses dm-crypt
}

# The same of a logical volume.
# deadline: 300
test_an_lvm_volume() {
    pvcreate -qq -y -ff "$(disk s4)"; vgcreate -qq lab "$(disk s4)"; lvcreate -qq -y -Zn -Wn -L 64M -n data lab; settle
    is /dev/lab/data; try_uses "LVM volume"
}

# The same of an md array.
# deadline: 300
test_md() {
    modprobe raid0
    mdadm --quiet --create /dev/md7 --run --force --level=0 --raid-devices=1 "$(disk s5)"; settle
    is /dev/md7; try_uses md
}

# The same of a loop device over a disk, and over a file.
# deadline: 300
test_a_loop_device_over_a_disk() { is "$(losetup --find --show "$(disk n02)")"; try_uses "loop over a disk"; }
# deadline: 300
test_a_loop_device_over_a_file() { truncate -s 64M image; is "$(losetup --find --show image)"; try_uses "loop over a file"; }

# The same of a disk that nbd-client attached.
# deadline: 300
test_nbd() {
    modprobe nbd nbds_max=2 max_part=4
    truncate -s 64M nbd-image
    nbd-server 127.0.0.1:10809 "$WORK/nbd-image" -C /dev/null -d >server 2>&1 &
    wait_for 20 nbd-client 127.0.0.1 10809 /dev/nbd0
    is /dev/nbd0; try_uses NBD
}

# The same of a block device that ublk makes of a served array.
# deadline: 300
test_ublk() {
    modprobe ublk_drv
    arraylab serve raid-levels,raid=5,disks=3,capacity=64m --socket "$WORK/s" --data "$WORK/d" --ublk --untimed >served 2>server &
    wait_for 60 test -s served
    is "$(sed -n 's/^block device: //p' server)"; try_uses ublk
}

# The same of a namespace that is attached over NVMe/TCP to an export of this machine.
# deadline: 300
test_nvme_over_tcp() {
    load_nvmet; modprobe nvme_tcp
    make_namespace lab-export "$(disk s1)" 4420
    nvme connect -t tcp -a 127.0.0.1 -s 4420 -n lab-export
    wait_for 20 namespace_of_tcp
    is "$(namespace_of_tcp)"; try_uses "NVMe over TCP"
}

# The same of a unit of LIO, as a SCSI disk of this machine by tcm_loop.
# deadline: 300
test_a_unit_of_lio() {
    local root=/sys/kernel/config/target store portal
    modprobe -a target_core_mod target_core_file tcm_loop
    store=$root/core/fileio_0/store portal=$root/loopback/naa.6001405000000001/tpgt_1
    mkdir -p $store $portal
    echo "fd_dev_name=$(disk s2),fd_dev_size=$(blockdev --getsize64 "$(disk s2)")" >$store/control; echo 1 >$store/enable
    echo naa.6001405000000002 >$portal/nexus
    mkdir $portal/lun/lun_0; ln -s $store $portal/lun/lun_0/store
    wait_for 20 scsi_disk_of LIO-ORG
    is "$(scsi_disk_of LIO-ORG)"; try_uses "unit of LIO"
}
scsi_disk_of() { # VENDOR: its node
    local vendor name
    for vendor in /sys/block/sd*/device/vendor; do
        [[ $(<"$vendor") == "$1"* ]] || continue
        name=${vendor#/sys/block/}; name=${name%%/*}
        [ -b "/dev/$name" ] && echo "/dev/$name" && return 0
    done
    return 1
}

# The same of a SCSI disk that the kernel simulates.
# deadline: 300
test_scsi_debug() {
    modprobe scsi_debug dev_size_mb=64
    wait_for 20 scsi_disk_of Linux
    is "$(scsi_disk_of Linux)"; try_uses scsi_debug
}

# The same of null_blk with memory behind it.
# deadline: 300
test_null_blk() {
    local null=/sys/kernel/config/nullb/lab
    modprobe null_blk nr_devices=0
    mkdir $null; echo 64 >$null/size; echo 1 >$null/memory_backed; echo 1 >$null/power
    wait_for 20 node_of_null_blk
    is "$(node_of_null_blk)"; try_uses null_blk
}
node_of_null_blk() { local node; for node in /dev/lab /dev/nullb*; do [ -b "$node" ] && echo "$node" && return 0; done; return 1; }

# The same of a RAM disk.
# deadline: 300
test_a_ram_disk() { modprobe brd rd_nr=1 rd_size=65536 max_part=4; wait_for 20 test -b /dev/ram0; is /dev/ram0; try_uses "RAM disk"; }

# Proves that docs/guard.md has no row without a test, and names the kinds of use in their order.
test_the_table_is_whole() {
    local row="| class |" use tests
    for use in "${USES[@]}"; do row+=" ${use//_/ } |"; done
    grep -qxF -- "$row" /lab/guard.md || fail "docs/guard.md has other kinds of use: $row"
    tests=$(grep -c '[ ;]try_uses [a-zA-Z"]' /lab/tests/classes.sh)
    [ "$(sed -n '/^| class /,$p' /lab/guard.md | grep -c '^| ')" = $((tests + 1)) ] || fail "docs/guard.md has not $tests rows"
}

USES=(nobody file_system mounted in_a_namespace swap partitions LVM md dm multipath loop nvmet LIO NBD ublk writer O_EXCL read-only)

# --- a class sets `used`, and `target`, which is another name of the same bytes where there are two

is() { used=$1 target=$1; }

try_uses() { # CLASS
    local class=$1 use row verdict consent undo=()
    # What a use said when it failed.
    trap '[ $? = 0 ] || cat use.out' EXIT
    write_plan
    row="| $class |"
    for use in "${USES[@]}"; do try_cell; row+=" $verdict |"; done
    echo "$row"
    grep -qxF -- "$row" /lab/guard.md || fail "docs/guard.md has another row for $class"
}

try_cell() { # sets `verdict`
    local status=0 said
    undo=()
    if ! "use_$use" >use.out 2>&1; then
        echo "$class, $use: not possible: $(tail -1 use.out)"
        undo_use; verdict=–; return
    fi
    arraylab run plan.yaml --target "$target" --out run >out 2>&1 </dev/null 7<&- || status=$?
    [ "$status" = 2 ] || { cat out; fail "$class, $use: exit status $status"; }
    [ ! -e run ] || fail "$class, $use: a refused run left a run directory"
    said=$(<out)
    if [[ $said == *--overwrite-data* ]]; then
        verdict=consent
        consent=$(consent_in out)
    elif [[ $said == *"is never written"* ]]; then verdict=refused
    else cat out; fail "$class, $use: neither refused nor asked for"; fi
    case $use in
    nobody | file_system) [ $verdict = consent ] || { cat out; fail "$class, $use: $verdict"; } ;;
    read-only) [ $verdict = refused ] || [ "$used" != "$target" ] || { cat out; fail "$class, $use: $verdict"; } ;;
    *) [ $verdict = refused ] || { cat out; fail "$class, $use: $verdict"; } ;;
    esac
    undo_use
}

undo_use() {
    local index
    for ((index = ${#undo[@]} - 1; index >= 0; index--)); do
        eval "${undo[index]}" >undo.out 2>&1 || { cat undo.out; fail "$class, $use: cannot undo: ${undo[index]}"; }
    done
    undo=()
    settle
    # Those that write a signature; the others leave the device as it was.
    case $use in
    file_system | mounted | in_a_namespace | swap | partitions | LVM | md | loop | ublk)
        wipefs -qaf "$used" || { lsblk; fail "$class, $use: $used is still used"; } ;;
    esac
}

# --- uses: each does it to `used`; one that fails is told as –

use_nobody() { :; }
use_file_system() { mkfs.ext4 -qF "$used" 32M; }
use_mounted() { mkfs.ext4 -qF "$used" 32M; mkdir -p m; mount "$used" m && undo+=("umount m"); }
use_in_a_namespace() {
    mkfs.ext4 -qF "$used" 32M; mkdir -p m; rm -f ready
    unshare -m bash -c 'mount "$1" m; touch ready; exec sleep 6000' x "$used" & undo+=("kill $!; wait $! || true")
    wait_for 30 test -e ready
}
use_swap() { mkswap -q "$used" && swapon "$used" && undo+=("swapoff $used"); }
use_partitions() { echo 'start=2048, size=65536' | sfdisk -q "$used" && undo+=("remove_partitions") && settle; }
# wipefs has the kernel read the table anew.
remove_partitions() {
    # udev makes devices of the partitions of a multipath map.
    [[ $used != /dev/mapper/mpath* ]] || kpartx -d "$used"
}
use_LVM() {
    # Of a disk with two paths LVM sees its volume twice, and takes neither unless it is told which.
    vgcreate -qq -y --devices "$used" used "$used" && lvcreate -qq -y -Zn -Wn -L 16M --devices "$used" -n data used || return 1
    undo+=("vgremove -qq -ff --devices $used used"); settle
}
use_md() { mdadm --quiet --create /dev/md9 --run --force --level=1 --raid-devices=1 "$used" && undo+=("wait_for 20 mdadm --quiet --stop /dev/md9"); settle; }
use_dm() { dmsetup create holder --table "0 32768 linear $used 0" && undo+=("dmsetup remove --retry holder"); }
use_multipath() { # as its only path; what is no disk cannot be asked for whole requests
    modprobe -a dm_multipath dm_round_robin
    dmsetup create paths --table "0 32768 multipath 2 queue_mode bio 0 1 1 round-robin 0 1 1 $used 1000" \
        && undo+=("dmsetup remove --retry paths")
}
use_loop() {
    local loop
    mkfs.ext4 -qF "$used" 32M; mkdir -p m
    loop=$(losetup --find --show "$used") && undo+=("losetup -d $loop") && mount "$loop" m && undo+=("umount m")
}
use_nvmet() { load_nvmet; make_namespace used "$used" 4422 && undo+=("remove_namespace used"); }
use_LIO() {
    modprobe -a target_core_mod target_core_file
    local store=/sys/kernel/config/target/core/fileio_2/used
    mkdir -p $store; undo+=("rmdir $store")
    echo "fd_dev_name=$used,fd_dev_size=$(blockdev --getsize64 "$used")" >$store/control && echo 1 >$store/enable
}
use_NBD() { # attached, for nbd-server opens what it exports for a client
    local server
    modprobe nbd nbds_max=2 max_part=4
    nbd-server 127.0.0.1:10810 "$used" -C /dev/null -d & server=$!
    undo+=("kill $server 2>/dev/null; wait $server || true")
    wait_for 20 nbd-client 127.0.0.1 10810 /dev/nbd1; undo+=("nbd-client -d /dev/nbd1; wait_for 20 test ! -e /sys/block/nbd1/pid")
}
use_ublk() { # as the first drive of an array that is served as a block device
    local server
    modprobe ublk_drv
    rm -rf served-d served.out
    # An ID is of one name of a device.
    [ "$used" = "$target" ] || consent=$(consent_of "$used")
    arraylab serve raid-levels,raid=1,disks=2,capacity=24m --drive "$used" $consent --socket "$WORK/served-s" \
        --data "$WORK/served-d" --ublk --untimed >served.out & server=$!
    undo+=("kill $server; wait $server || true")
    wait_for 60 served_or_ended "$server"
    ! ended "$server"
}
served_or_ended() { [ -s served.out ] || ended "$1"; } # PID
use_writer() { exec 7<>"$used" && undo+=("exec 7>&-"); }
use_O_EXCL() {
    rm -f ready
    python3 -c 'import os, sys, time; held = os.open(sys.argv[1], os.O_RDONLY | os.O_EXCL); open("ready", "w"); time.sleep(6000)' "$used" &
    undo+=("kill $!; wait $! || true")
    wait_for 20 test -e ready
}
use_read-only() { blockdev --setro "$used" && undo+=("blockdev --setrw $used"); }

load_nvmet() { modprobe nvmet; modprobe nvmet_tcp; }
make_namespace() { # NQN BACKING PORT
    local root=/sys/kernel/config/nvmet
    mkdir $root/subsystems/$1 $root/subsystems/$1/namespaces/1 $root/ports/$3
    echo 1 >$root/subsystems/$1/attr_allow_any_host
    echo -n "$2" >$root/subsystems/$1/namespaces/1/device_path
    echo 1 >$root/subsystems/$1/namespaces/1/enable
    echo ipv4 >$root/ports/$3/addr_adrfam; echo tcp >$root/ports/$3/addr_trtype
    echo 127.0.0.1 >$root/ports/$3/addr_traddr; echo $3 >$root/ports/$3/addr_trsvcid
    ln -s $root/subsystems/$1 $root/ports/$3/subsystems/$1
}
remove_namespace() { # NQN
    local root=/sys/kernel/config/nvmet port
    for port in $root/ports/*; do
        [ -e "$port/subsystems/$1" ] || continue
        rm "$port/subsystems/$1"; rmdir "$port"
    done
    echo 0 >$root/subsystems/$1/namespaces/1/enable
    rmdir $root/subsystems/$1/namespaces/1 $root/subsystems/$1
}

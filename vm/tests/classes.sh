# The guard's table: each class of block device × each kind of use. docs/guard.md shows it; a class's row is one test.
#
# The rows as they were found: grep -h '^| ' target/vm/logs/classes/*.log

# Proves that a class of block device is refused in every kind of use, that it is written with consent when nobody uses it or it only
# holds a file system, and that docs/guard.md says so: of a plain disk.
# deadline: 240
test_a_disk() { is "$(disk s0)"; try_uses "SCSI disk"; }

# The same of a second path to a disk, the first of which is used. That one is read-only says nothing of the other.
# deadline: 240
test_a_second_path() { used=$(disk mp1) target=$(disk mp2); try_uses "second path"; }

# The same of a multipath map.
# deadline: 240
test_a_multipath_map() { start_multipathd; is "$(mpath)"; try_uses "multipath map"; }

# The same of a partition.
# deadline: 240
test_a_partition() {
    echo 'start=2048, size=131072' | sfdisk -q "$(disk s1)"; udevadm settle
    is "$(disk s1)1"; try_uses partition
}

# The same of an NVMe namespace.
# deadline: 240
test_an_nvme_namespace() { is "$(disk n01)"; try_uses "NVMe namespace"; }

# The same of a namespace with two native paths.
# deadline: 240
test_an_nvme_multipath_head() { is "$(disk nm)"; try_uses "NVMe multipath head"; }

# The same of a linear device of device mapper.
# deadline: 240
test_dm_linear() { dmsetup create lab --table "0 131072 linear $(disk s2) 0"; is /dev/mapper/lab; try_uses dm-linear; }

# The same of an encrypted device of device mapper.
# deadline: 240
test_dm_crypt() {
    echo -n secret | cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --hash sha256 --key-file - "$(disk s3)" lab-crypt
    is /dev/mapper/lab-crypt; try_uses dm-crypt
}

# The same of a logical volume.
# deadline: 240
test_an_lvm_volume() {
    pvcreate -qq -y -ff "$(disk s4)"; vgcreate -qq lab "$(disk s4)"; lvcreate -qq -y -Zn -Wn -L 64M -n data lab; udevadm settle
    is /dev/lab/data; try_uses "LVM volume"
}

# The same of an md array.
# deadline: 240
test_md() {
    modprobe raid0
    mdadm --quiet --create /dev/md7 --run --force --level=0 --raid-devices=1 "$(disk s5)"; udevadm settle
    is /dev/md7; try_uses md
}

# The same of a loop device over a disk, and over a file.
# deadline: 240
test_a_loop_device_over_a_disk() { is "$(losetup --find --show "$(disk n02)")"; try_uses "loop over a disk"; }
# deadline: 240
test_a_loop_device_over_a_file() { truncate -s 64M image; is "$(losetup --find --show image)"; try_uses "loop over a file"; }

# The same of a disk that nbd-client attached.
# deadline: 240
test_nbd() {
    modprobe nbd max_part=4
    truncate -s 64M nbd-image
    nbd-server 127.0.0.1:10809 "$WORK/nbd-image" -C /dev/null -d >server 2>&1 &
    wait_for 20 nbd-client 127.0.0.1 10809 /dev/nbd0
    is /dev/nbd0; try_uses NBD
}

# Proves that docs/guard.md has no row without a test, and names the kinds of use in their order.
test_the_table_is_whole() {
    local row="| class |" use tests
    for use in "${USES[@]}"; do row+=" ${use//_/ } |"; done
    grep -qxF -- "$row" /lab/guard.md || fail "docs/guard.md has other kinds of use: $row"
    tests=$(grep -c '[ ;]try_uses [a-zA-Z"]' /lab/tests/classes.sh)
    [ "$(sed -n '/^| class /,$p' /lab/guard.md | grep -c '^| ')" = $((tests + 1)) ] || fail "docs/guard.md has not $tests rows"
}

USES=(nobody file_system mounted in_a_namespace swap partitions LVM md dm loop nvmet LIO writer O_EXCL read-only)

# --- a class sets `used`, and `target`, which is another name of the same bytes where there are two

is() { used=$1 target=$1; }

try_uses() { # CLASS
    local class=$1 use row verdict undo=()
    # What a use said when it failed.
    trap '[ $? = 0 ] || cat use.out' EXIT
    write_plan
    row="| $class |"
    for use in "${USES[@]}"; do try_cell; row+=" $verdict |"; done
    echo "$row"
    grep -qxF -- "$row" /lab/guard.md || fail "docs/guard.md has another row for $class"
}

try_cell() { # sets `verdict`
    local status=0
    undo=(); rm -rf run
    if ! "use_$use" >use.out 2>&1; then
        echo "$class, $use: not possible: $(tail -1 use.out)"
        undo_use; verdict=–; return
    fi
    arraylab run plan.yaml --target "$target" --out run >out 2>&1 </dev/null 7<&- || status=$?
    [ "$status" = 2 ] || { cat out; fail "$class, $use: exit status $status"; }
    if grep -q -- --overwrite-data out; then verdict=consent
    elif grep -q "is never written" out; then verdict=refused
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
    udevadm settle -t 20
    # Those that write a signature; the others leave the device as it was.
    case $use in
    file_system | mounted | in_a_namespace | swap | partitions | LVM | md | loop)
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
use_partitions() { echo 'start=2048, size=65536' | sfdisk -q "$used" && undo+=("remove_partitions") && udevadm settle; }
remove_partitions() {
    # udev makes devices of the partitions of a multipath map.
    [[ $used != /dev/mapper/mpath* ]] || kpartx -d "$used"
    sfdisk -q --delete "$used" || true
    blockdev --rereadpt "$used" || true
}
use_LVM() {
    # Of a disk with two paths LVM sees its volume twice, and takes neither unless it is told which.
    pvcreate -qq -y -ff --devices "$used" "$used" && vgcreate -qq --devices "$used" used "$used" \
        && lvcreate -qq -y -Zn -Wn -L 16M --devices "$used" -n data used || return 1
    undo+=("vgremove -qq -ff --devices $used used"); udevadm settle
}
use_md() { mdadm --quiet --create /dev/md9 --run --force --level=1 --raid-devices=1 "$used" && undo+=("wait_for 20 mdadm --quiet --stop /dev/md9"); udevadm settle; }
use_dm() { dmsetup create holder --table "0 32768 linear $used 0" && undo+=("dmsetup remove --retry holder"); }
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

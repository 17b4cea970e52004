# The guard's table: each class of block device × each kind of use. docs/guard.md shows it.

# Proves that every class of block device is refused in every kind of use, and written with consent when nobody uses it or when it
# only holds a file system; and that the table of docs/guard.md is what was found.
# deadline: 1200
test_the_table_of_the_guard() {
    local table=/lab/results/classes/guard-table.md class use row verdict node target used undo=() class_undo=()
    write_plan
    {
        row="| class |"; for use in "${USES[@]}"; do row+=" ${use//_/ } |"; done; echo "$row"
        row="|---|"; for use in "${USES[@]}"; do row+="---|"; done; echo "$row"
    } >table
    for class in "${CLASSES[@]}"; do
        undo=(); "class_$class"; class_undo=("${undo[@]}")
        row="| ${class//_/ } |"
        for use in "${USES[@]}"; do
            try_cell
            row+=" $verdict |"
        done
        echo "$row" | tee -a table
        undo=("${class_undo[@]}"); undo_uses
    done
    cp table $table
    sed -n '/^| class /,/^$/p' /lab/guard.md | sed '/^$/d' >documented
    diff documented table || fail "docs/guard.md differs from what was found: share/results/classes/guard-table.md has the table"
}

CLASSES=(SCSI_disk second_path multipath_map partition NVMe_namespace NVMe_multipath_head dm-linear dm-crypt LVM_volume md loop_over_a_disk
    loop_over_a_file NBD)
USES=(nobody file_system mounted in_a_namespace swap partitions LVM md dm loop nvmet LIO writer O_EXCL read-only)

try_cell() { # sets `verdict`
    local status=0
    undo=(); rm -rf run
    "use_$use" >use.out 2>&1 || { undo_uses; clean; verdict=–; return; }
    arraylab run plan.yaml --target "$target" --out run >out 2>&1 </dev/null 7<&- || status=$?
    [ "$status" = 2 ] || { cat out; fail "$class, $use: exit status $status"; }
    if grep -q -- --overwrite-data out; then verdict=consent
    elif grep -q "is never written" out; then verdict=refused
    else cat out; fail "$class, $use: neither refused nor asked for"; fi
    case $use in
    # A path that is read-only says nothing of the other.
    nobody | file_system | ${class/#second_path/}read-only) [ $verdict = consent ] || { cat out; fail "$class, $use: $verdict"; } ;;
    *) [ $verdict = refused ] || { cat out; fail "$class, $use: $verdict"; } ;;
    esac
    undo_uses
    clean
}

undo_uses() {
    local index
    for ((index = ${#undo[@]} - 1; index >= 0; index--)); do
        eval "${undo[index]}" >undo.out 2>&1 || { cat undo.out; fail "$class, $use: cannot undo: ${undo[index]}"; }
    done
    undo=()
    udevadm settle -t 20
}
clean() { wipefs -qaf "$used" || { lsblk; fail "$class, $use: $used is still used"; }; }

# --- classes: each sets `used` and `target`, which is another name of the same bytes where there are two

is() { used=$1 target=$1; }
class_SCSI_disk() { is "$(disk s0)"; }
class_second_path() { used=$(disk mp1) target=$(disk mp2); }
class_multipath_map() { start_multipathd; is "$(mpath)"; undo+=("end_multipathd"); }
end_multipathd() { multipathd shutdown >/dev/null; wait_for 20 no_multipathd; multipath -F; }
no_multipathd() { ! pidof multipathd; }
class_partition() {
    echo 'start=2048, size=131072' | sfdisk -q "$(disk s1)"; udevadm settle
    is "$(disk s1)1"; undo+=("sfdisk -q --delete $(disk s1)")
}
class_NVMe_namespace() { is "$(disk n01)"; }
class_NVMe_multipath_head() { is "$(disk nm)"; }
class_dm-linear() { dmsetup create lab --table "0 131072 linear $(disk s2) 0"; is /dev/mapper/lab; undo+=("dmsetup remove --retry lab"); }
class_dm-crypt() {
    echo -n secret | cryptsetup open --type plain --cipher aes-xts-plain64 --key-size 256 --hash sha256 --key-file - "$(disk s3)" lab-crypt
    is /dev/mapper/lab-crypt; undo+=("dmsetup remove --retry lab-crypt")
}
class_LVM_volume() {
    pvcreate -qq -y -ff "$(disk s4)"; vgcreate -qq lab "$(disk s4)"; lvcreate -qq -y -Zn -Wn -L 64M -n data lab; udevadm settle
    is /dev/lab/data; undo+=("vgchange -qq -an lab")
}
class_md() {
    modprobe raid0
    mdadm --quiet --create /dev/md7 --run --force --level=0 --raid-devices=1 "$(disk s5)"; udevadm settle
    is /dev/md7; undo+=("wait_for 20 mdadm --quiet --stop /dev/md7")
}
class_loop_over_a_disk() { is "$(losetup --find --show "$(disk n02)")"; undo+=("losetup -d $used"); }
class_loop_over_a_file() { truncate -s 64M image; is "$(losetup --find --show image)"; undo+=("losetup -d $used"); }
class_NBD() {
    modprobe nbd max_part=4
    truncate -s 64M nbd-image
    nbd-server 127.0.0.1:10809 "$WORK/nbd-image" -C /dev/null -d >server 2>&1 & undo+=("kill $!; wait $! || true")
    wait_for 20 nbd-client 127.0.0.1 10809 /dev/nbd0
    is /dev/nbd0; undo+=("nbd-client -d /dev/nbd0")
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

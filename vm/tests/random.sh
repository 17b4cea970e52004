# Random stacks over disks: whatever is used in the machine is never written, told by checksums of what is used.
# vm-disk: 48M

# Proves that arraylab never writes to data that a mount, swap or an open holder reaches, over random stacks of partition, dm, loop,
# md and LVM on disks with one or two paths; and that what nobody uses is written. In six parts: what hangs or fails ends its part,
# and the others are still tried.
# deadline: 3000
test_random_combinations_1() { try_part 1; }
# deadline: 3000
test_random_combinations_2() { try_part 2; }
# deadline: 3000
test_random_combinations_3() { try_part 3; }
# deadline: 3000
test_random_combinations_4() { try_part 4; }
# deadline: 3000
test_random_combinations_5() { try_part 5; }
# deadline: 3000
test_random_combinations_6() { try_part 6; }

PARTS=6
# Of one combination, which takes 3 s on average, and 7 s beside another machine; what the host takes from the machine does not count.
COMBINATION_DEADLINE_S=180

try_part() { # PART: every sixth combination, from the PART-th
    local number written=0 refused=0 tried=0 child before target
    write_plan 1
    echo "seed $SEED"
    for ((number = $1; number <= RANDOM_COUNT; number += PARTS)); do
        # A process of its own, so that one that hangs can be told from one that is slow.
        (RANDOM=$((SEED + number - 1)); try_combination; echo "$written $refused" >counts) & child=$!
        if ! wait_with_deadline $COMBINATION_DEADLINE_S "$child"; then
            report_hang
            fail "combination $number hangs: --seed $((SEED + number - 1)) --random 1 is that one alone"
        fi
        [ "$STATUS" = 0 ] || fail "combination $number: --seed $((SEED + number - 1)) --random 1 is that one alone"
        read -r written refused <counts
        tried=$((tried + 1))
    done
    echo "$tried combinations: $written written, $refused refused"
    [ "$refused" -gt 0 ] || [ "$tried" -lt 10 ] || fail "nothing was refused: the stacks were not used"
    # One combination in seven is used by nobody, so that one part in five may have none of them: a disk is, now that all is put away.
    number=-; target=$(disk s0); before=$written; try_target
    [ "$written" -gt "$before" ] || { cat out; fail "a disk that nobody uses was refused"; }
}

# Every process, where it waits in the kernel, and the tasks that wait for a device.
report_hang() {
    local pid
    report_processes
    for pid in /proc/[0-9]*; do
        [ ! -s "$pid/cmdline" ] || { echo "${pid#/proc/}: $(tr '\0' ' ' <"$pid/cmdline")"; cat "$pid/stack"; } 2>/dev/null
    done
    echo w >/proc/sysrq-trigger
}

try_combination() {
    local devices=() undo=() usable=() top base layers use used before target tried picked
    pick s0 s1 mp1 mp1; base=$(disk "$picked")
    devices=("$base"); top=$base; layers=$base
    [ "$base" != "$(disk mp1)" ] || devices+=("$(disk mp2)")
    local depth=$((RANDOM % 4)) level layer
    for ((level = 1; level <= depth; level++)); do
        pick linear partition loop md lvm; layer=$picked
        [ "$layer" != partition ] || [ "$level" = 1 ] || layer=linear
        # LVM takes no volume of its own for a physical one (devices/scan_lvs).
        if [ "$layer" = lvm ] && [[ $top == /dev/lab* ]]; then layer=linear; fi
        # A loop device leaves what it is set up over to others; md, LVM and partitions write into it themselves.
        case $layer in loop) usable+=("$top") ;; md | lvm | partition) usable=() ;; esac
        "add_$layer"; layers="$layers < $layer $top"
    done
    pick none mount mount namespace swap writer writer; use=$picked
    pick "$top" "${usable[@]}"; used=$picked
    "use_by_$use"
    before=$(sum_of_used)
    for tried in 1 2; do
        target=${devices[RANDOM % ${#devices[@]}]}
        try_target
        [ "$(sum_of_used)" = "$before" ] || fail "combination $number: $layers, $use on $used: writing $target changed it"
    done
    # What nobody uses can be written at its top: else a guard that refuses everything would pass.
    if [ "$use" = none ]; then
        target=$top; before=$written; try_target
        [ "$written" -gt "$before" ] || { cat out; fail "combination $number: $layers, unused, and $top was refused"; }
    fi
    echo "$number: $layers, $use on $used: $written written, $refused refused so far"
    undo_all
}

# One of the words, in `picked`; a subshell's random numbers would be repeated by the next.
pick() { local words=("$@"); printf -v picked %s "${words[RANDOM % $#]}"; }

try_target() { # counts in `written` or `refused`
    local consent status=0
    rm -rf run
    arraylab run plan.yaml --target "$target" --out run >out 2>&1 </dev/null 7<&- || status=$?
    [ "$status" = 2 ] || { cat out; fail "combination $number: exit status $status for $target without consent"; }
    consent=$(sed -n 's/.*--overwrite-data \([^ ]*\).*/\1/p' out)
    if [ -z "$consent" ]; then refused=$((refused + 1)); return; fi
    status=0
    arraylab run plan.yaml --target "$target" --out run --overwrite-data "$consent" >out 2>&1 </dev/null 7<&- || status=$?
    case $status in
    0) written=$((written + 1)) ;;
    2) refused=$((refused + 1)) ;;
    *) cat out; fail "combination $number: exit status $status for $target" ;;
    esac
}

undo_all() {
    local index
    for ((index = ${#undo[@]} - 1; index >= 0; index--)); do
        eval "${undo[index]}" >/dev/null 2>&1 || undo_again "${undo[index]}" || fail "combination $number: cannot undo: ${undo[index]}"
    done
    settle
    stop_again 2>/dev/null
    # The emulator zeroes it: a tenth of the time that writing it takes.
    blkdiscard -fz "$base" 2>wiped || { cat wiped; fail "combination $number: $base cannot be zeroed"; }
    blockdev --flushbufs "${devices[@]:0:2}" 2>/dev/null || true
    wait_for 30 is_free "$base"
    if [ "$base" = "$(disk mp1)" ]; then blockdev --rereadpt "$(disk mp2)"; fi
    settle
}

# From what a loop device lay over, udev puts an md array together again once that is gone, and LVM activates the volumes on it: before the
# disk is zeroed, or as late as after that.
stop_again() { dmsetup remove_all || true; mdadm -q --stop --scan || true; }
is_free() { stop_again; blockdev --rereadpt "$1"; } # NODE

# When a loop device goes, udev finds the md array on what it lay over, and puts it together there: that is then held.
undo_again() { # COMMAND
    settle
    mdadm -q --stop --scan 2>/dev/null || true
    eval "$1" >/dev/null 2>&1
}

# --- layers: each makes a new `top` of the old one

add_linear() {
    local sectors; sectors=$(blockdev --getsz "$top")
    dmsetup create "lab-$number-$level" --table "0 $((sectors / 2 / 8 * 8)) linear $top $((sectors / 4 / 8 * 8))"
    undo+=("dmsetup remove --retry lab-$number-$level")
    top=/dev/mapper/lab-$number-$level; devices+=("$top")
}

add_partition() {
    printf 'size=20M\nsize=20M\n' | sfdisk -q "$top"
    undo+=("sfdisk -q --delete $top")
    settle
    # The kernel may know of the partitions by both paths or by one.
    if [ "$top" = "$(disk mp1)" ] && ((RANDOM % 2)); then
        blockdev --rereadpt "$(disk mp2)"; settle; devices+=("$(disk mp2)1" "$(disk mp2)2")
    fi
    devices+=("${top}1" "${top}2"); top=$top$((RANDOM % 2 + 1))
}

add_loop() {
    top=$(losetup --find --show "$top"); devices+=("$top"); undo+=("losetup -d $top")
}

add_md() {
    mdadm --quiet --create "/dev/md$level" --run --force --level=$((RANDOM % 2)) --raid-devices=1 --metadata=1.2 "$top"
    settle
    undo+=("mdadm --quiet --stop /dev/md$level"); top=/dev/md$level; devices+=("$top")
}

add_lvm() {
    local group=lab${number}_$level
    # Of a disk with two paths LVM sees its volume twice, and takes neither unless it is told which.
    pvcreate -qq -y -ff --devices "$top" "$top"; vgcreate -qq -s 1M --devices "$top" "$group" "$top"
    lvcreate -qq -y -Zn -Wn -l 40%VG --devices "$top" -n a "$group"; lvcreate -qq -y -Zn -Wn -l 40%VG --devices "$top" -n b "$group"
    settle
    undo+=("vgchange -qq -an --devices $top $group")
    devices+=("/dev/$group/a" "/dev/$group/b")
    if ((RANDOM % 2)); then top=/dev/$group/a; else top=/dev/$group/b; fi
}

# --- uses of one of them, and what must not change meanwhile

use_by_none() { :; }
use_by_mount() { make_files; mount "$used" m; undo+=("umount m"); }
use_by_swap() { mkswap -q "$used"; swapon "$used"; undo+=("swapoff $used"); }
use_by_writer() { exec 7<>"$used"; undo+=("exec 7>&-"); }
use_by_namespace() {
    make_files; rm -f ready
    unshare -m bash -c 'mount "$1" m; touch ready; exec sleep 6000' x "$used" 7<&- &
    wait_for 30 test -e ready
    undo+=("kill $!; wait $! || true")
}

make_files() {
    mkfs.ext4 -qF "$used"; mkdir -p m; mount "$used" m
    head -c $(($(blockdev --getsize64 "$used") / 2)) /dev/urandom >m/data
    umount m
}

sum_of_used() {
    # What was written to a loop device may still be in the page cache of what it is set up over.
    sync
    case $use in
    none) echo nothing ;;
    # The file's blocks, past every cache; the file system itself may write its journal.
    mount) echo 3 >/proc/sys/vm/drop_caches; dd if=m/data bs=1M iflag=direct status=none | md5sum ;;
    namespace) echo 3 >/proc/sys/vm/drop_caches; dd if="/proc/$!/root$WORK/m/data" bs=1M iflag=direct status=none | md5sum ;;
    # Nothing is swapped to it, and the writer only holds it.
    swap | writer) dd if="$used" bs=1M iflag=direct status=none | md5sum ;;
    esac
}

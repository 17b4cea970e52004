# What the runner does after each test, so that the next one finds the machine as it was booted.

remember_machine() {
    local points
    mounts_at_start=(); points_of_tests; mounts_at_start=("${points[@]}")
    disks_at_start=$(lab_disks)
    mkdir -p /run/wiped
}

# The machine's own disks; what tests make of them and modules such as scsi_debug add is not among them.
lab_disks() {
    local name
    for name in s0 s1 s2 s3 s4 s5 mp1 mp2 n01 n02 nm; do disk $name; done
}

# Kernel threads have no command line; udevd, the sign of life and what the runner itself runs stay.
kill_leftovers() {
    local directory pid name parent
    for directory in /proc/[0-9]*; do
        pid=${directory#/proc/}
        read -r -d '' name <"$directory/cmdline" 2>/dev/null || continue
        [ -n "$name" ] && [ "$pid" != 1 ] && [ "$pid" != $$ ] && [ "$pid" != "$BASHPID" ] || continue
        parent=$(awk '$1 == "PPid:" {print $2}' "$directory/status" 2>/dev/null)
        case $name in *systemd-udevd*) continue ;; busybox) continue ;; sleep) [ "$parent" = $$ ] && continue ;; esac
        [ "$parent" = "$BASHPID" ] || kill -9 "$pid" 2>/dev/null
    done
}

report_processes() { ps -eo pid,ppid,stat,wchan:30,args --no-headers | grep -v '\[' || true; }

put_away() {
    local PS4='+ $EPOCHREALTIME ${FUNCNAME[0]} '; set -x
    kill_leftovers
    local pass
    for pass in 1 2 3 4; do
        if has /sys/block/dm-*; then
            dmsetup ls --noheadings -o name 2>/dev/null | xargs -r -n1 dmsetup resume 2>/dev/null
        fi
        # Its server has just been killed: requests that were under way wait for ever, and an unmount with them, until it is detached.
        local nbd; for nbd in /sys/block/nbd*/pid; do [ ! -e "$nbd" ] || nbd-client -d "/dev/$(basename "${nbd%/pid}")"; done
        unmount_all
        ! is_swapping || swapoff -a
        if has /sys/class/nvme/nvme*/transport && grep -q '^\(tcp\|loop\)$' /sys/class/nvme/nvme*/transport; then nvme disconnect-all; fi
        if has /sys/class/iscsi_session/*; then iscsiadm -m node -u; fi
        if has /sys/block/dm-*; then vgchange -q -an; multipath -F; dmsetup remove_all; fi
        if has /sys/block/md*; then mdadm --stop --scan; fi
        if has /sys/block/loop*/loop; then losetup -D; fi
        remove_configfs
        remove_null_blk
        ! is_away || break
        udevadm settle -t 10
    done
    local module loaded; loaded=$(</proc/modules)
    for module in nbd ublk_drv scsi_debug null_blk nvme_tcp nvme_loop nvmet_tcp nvmet tcm_loop iscsi_target_mod target_core_iblock \
        target_core_file brd; do
        if [[ $'\n'$loaded == *$'\n'"$module "* ]]; then modprobe -q -r "$module"; fi
    done
    return_disks
    wipe_disks
    rm -rf /tmp/work /etc/lvm/{archive,backup,cache,devices} /etc/multipath/{wwids,bindings} /etc/mdadm/mdadm.conf
    udevadm settle -t 20
    is_away || { lsblk; cat /proc/mounts; report_processes; return 1; }
    [ "$(lab_disks)" = "$disks_at_start" ] || { echo "other disks than at the start: $(lab_disks)"; return 1; }
}

has() { [ -e "$1" ]; } # GLOB…: it matched something

# Mount points of tests, the latest first, in `points`. Bash alone: processes are slow in an emulated machine.
points_of_tests() {
    local line fields at_start=" ${mounts_at_start[*]} "
    points=()
    while read -r -a fields; do
        [[ $at_start == *" ${fields[1]} "* ]] || points=("$(printf '%b' "${fields[1]}")" "${points[@]}")
    done </proc/mounts
}

unmount_all() {
    local points point
    points_of_tests
    for point in "${points[@]}"; do umount "$point" || umount -l "$point"; done
}

is_swapping() { local lines; mapfile -t lines </proc/swaps; [ "${#lines[@]}" -gt 1 ]; }

# LIO and nvmet: links first, then what they lead to. Directories that the kernel made itself cannot be removed, and need not.
remove_configfs() {
    local root
    for root in /sys/kernel/config/{nvmet,target}; do
        [ -d "$root" ] || continue
        find "$root" -name enable -path '*namespaces*' 2>/dev/null | while read -r file; do echo 0 >"$file"; done
        find "$root" -type l ! -name 'default_tg_pt_gp' -path "$root/*" 2>/dev/null | xargs -r rm -f
        find "$root" -mindepth 1 -depth -type d 2>/dev/null | xargs -r rmdir 2>/dev/null
    done
}

remove_null_blk() {
    local device
    for device in /sys/kernel/config/nullb/*/; do
        [ -e "$device/power" ] || continue
        echo 0 >"$device/power"; rmdir "$device"
    done
}

# Tests that remove a disk from the kernel get it back by a scan.
return_disks() {
    if (lab_disks) >/dev/null 2>&1; then return; fi
    local file
    for file in /sys/class/scsi_host/host*/scan; do echo '- - -' >"$file"; done
    echo 1 >/sys/bus/pci/rescan
    udevadm settle -t 20
}

# Only what was written since it was last wiped: four tools for each disk take a tenth of a second in an emulated machine.
wipe_disks() {
    local node size_mib wiped_at written=
    for node in $disks_at_start; do
        wiped_at=/run/wiped/${node##*/}
        [ "$(sectors_written "$node")" != "$([ ! -e "$wiped_at" ] && echo 0 || echo "$(<"$wiped_at")")" ] || continue
        written=1
        blockdev --setrw "$node"
        # GPT and md (1.0) keep a copy at the end; ext4 and LVM more behind the first sector.
        size_mib=$(($(blockdev --getsize64 "$node") / 1048576))
        dd if=/dev/zero of="$node" bs=1M count=4 oflag=direct status=none
        dd if=/dev/zero of="$node" bs=1M seek=$((size_mib - 4)) count=4 oflag=direct status=none
        blockdev --rereadpt "$node" 2>/dev/null
        sectors_written "$node" >"$wiped_at"
    done
    # The page cache of a path knows nothing of what was written by another.
    [ -z "$written" ] || blockdev --flushbufs $disks_at_start
}

is_away() {
    local points
    points_of_tests
    ! has /sys/block/dm-* && ! has /sys/block/md* && ! is_swapping && ! has /sys/block/loop*/loop/backing_file && [ ${#points[@]} = 0 ]
}

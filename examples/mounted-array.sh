# Functions of the examples: a served array as a mounted ext4 file system. Needs root, nbdfuse, util-linux, e2fsprogs, jq.
#
#   . mounted-array.sh
#   serve_array ARRAY OPTION...    starts an array in $work; its socket is $work/s, its control socket $work/s.ctl
#   attach_disk                    the array as the block device $device
#   mount_disk, detach_disk        the file system on it in $work/tree; both gone, whatever state they are in
#   array VERB...                  says something to the array
#   wait_for SECONDS COMMAND...    until a command succeeds

ARRAYLAB=${ARRAYLAB:-arraylab}
work=$(mktemp -d)
device=
server=
fuse=

array() { "$ARRAYLAB" ctl "$work/s.ctl" "$@"; }

wait_for() {
    limit=$1
    shift
    for _ in $(seq $((limit * 10))); do
        if "$@"; then return 0; fi
        sleep 0.1
    done
    echo "not within $limit s: $*" >&2
    return 1
}

serve_array() {
    "$ARRAYLAB" serve "$1" --socket "$work/s" --data "${data:-$work/data}" "${@:2}" >"$work/server.log" 2>&1 &
    server=$!
    wait_for 20 test -S "$work/s.ctl"
}

attach_disk() {
    : >"$work/disk"
    nbdfuse "$work/disk" "nbd+unix:///?socket=$work/s" 2>>"$work/nbdfuse.log" &
    fuse=$!
    wait_for 20 test -s "$work/disk"
    device=$(losetup -f --show "$work/disk")
}

mount_disk() {
    mkdir -p "$work/tree"
    mount "$device" "$work/tree"
}

detach_disk() {
    if mountpoint -q "$work/tree"; then umount -l "$work/tree"; fi
    if [ -n "$device" ]; then losetup -d "$device"; fi
    device=
    if [ -n "$fuse" ]; then
        umount -l "$work/disk" 2>/dev/null || true
        kill "$fuse" 2>/dev/null || true
        wait "$fuse" 2>/dev/null || true
    fi
    fuse=
}

is_whole() { array ready | grep -q '"ready":true'; }

clean_up() {
    status=$?
    if [ "$status" -ne 0 ]; then tail -n 20 "$work"/*.log >&2 || true; fi
    detach_disk || true
    if [ -n "$server" ]; then kill "$server" 2>/dev/null || true; wait "$server" 2>/dev/null || true; fi
    if mountpoint -q "$work/data"; then umount -l "$work/data"; fi
    rm -rf "$work"
    exit "$status"
}
trap clean_up EXIT

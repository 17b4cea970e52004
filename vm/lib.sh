# Shared by the tests of vm/tests, in the guest. README.md tells what a test may use.

fail() { echo "failed: $*" >&2; exit 1; }

# --- waiting: for a condition with a deadline, never for a time

wait_for() { # SECONDS COMMAND…
    local seconds=$1 ends_at starved began pause_us pause_s; shift
    ! "$@" >/dev/null 2>&1 || return 0
    ends_at=$((SECONDS + seconds))
    read_starved; starved=$STARVED
    while began=${EPOCHREALTIME/./}; ! "$@" >/dev/null 2>&1; do
        if [ "$SECONDS" -ge "$ends_at" ]; then
            read_starved_now
            [ "$STARVED" -gt "$starved" ] || fail "not within $seconds s: $*"
            ends_at=$((SECONDS + STARVED - starved)) starved=$STARVED
        fi
        # Asking takes a third of a processor at most, and what is waited for has the rest.
        pause_us=$((2 * (${EPOCHREALTIME/./} - began)))
        pause_us=$((pause_us < 50000 ? 50000 : pause_us > 500000 ? 500000 : pause_us))
        printf -v pause_s 0.%06d $pause_us
        # No process, and none whose number would replace `$!`.
        read -r -t $pause_s <>/run/never-written || true
    done
}

# Until udev has done what it was told of. The time that udevadm waits does not know of a host that gives no processor.
settle() { wait_for 60 udevadm settle -t 10; }

# Seconds, in `STARVED`, that this machine was ready to run and the host gave it no processor (run.py writes them). Every deadline is
# extended by them.
read_starved() { STARVED=0; read -r STARVED </lab/starved || true; }
# A machine that has just got a processor again learns only from the host's next look, every half second, how long it had none.
read_starved_now() { read -r -t 2 <>/run/never-written || true; read_starved; }

# Waits for a child of this shell; false when the time is over. Its exit status is in $STATUS.
wait_with_deadline() { # SECONDS PID
    local left_s=$1 child=$2 timer first starved
    while [ "$left_s" -gt 0 ]; do
        read_starved; starved=$STARVED
        sleep "$left_s" & timer=$!
        STATUS=0; wait -n -p first "$child" "$timer" || STATUS=$?
        if [ "$first" != "$timer" ]; then
            kill "$timer" 2>/dev/null || true
            wait "$timer" 2>/dev/null || true
            return 0
        fi
        read_starved_now; left_s=$((STARVED - starved))
    done
    return 1
}

ended() { [ ! -d "/proc/$1" ] || grep -q '^State:.[ZX]' "/proc/$1/status" 2>/dev/null; } # PID

wait_for_end() { # SECONDS PID: its exit status, in $STATUS; it must be a child of this shell
    wait_for "$1" ended "$2"; STATUS=0; wait "$2" || STATUS=$?
}

# --- devices of the machine

disk() { # s0…s5, mp1, mp2, n01, n02, nm: its node
    local node=
    case $1 in
    s[0-5]) scsi_nodes "500000000000010${1#s}"; node=${nodes[0]-} ;;
    mp[12]) scsi_nodes 5000000000000200; node=${nodes[${1#mp} - 1]-} ;;
    n0[12]) nvme_nodes LAB-N0; node=${nodes[${1#n0} - 1]-} ;;
    nm) nvme_nodes LAB-NM; node=${nodes[0]-} ;;
    esac
    [ -b "$node" ] || fail "no disk $1 in this machine ($node)"
    echo "$node"
}

# Without a subprocess: these are slow in an emulated machine, and tests ask for disks all the time.
scsi_nodes() { # WWN: sets `nodes`, in the order of their SCSI addresses
    local device wwid block
    nodes=()
    for device in /sys/bus/scsi/devices/*:*:*:*; do
        read -r wwid <"$device/wwid" || continue
        [ "$wwid" = "naa.$1" ] || continue
        for block in "$device"/block/*; do nodes+=("/dev/${block##*/}"); done
    done 2>/dev/null
}

nvme_nodes() { # SERIAL: sets `nodes`, in the order of their namespaces
    local subsystem serial namespace
    nodes=()
    for subsystem in /sys/class/nvme-subsystem/*; do
        read -r serial <"$subsystem/serial" || continue
        [ "$serial" = "$1" ] || continue
        # With native multipath the subsystem has the namespaces, without it a controller has.
        for namespace in "$subsystem"/nvme*n* "$subsystem"/nvme*/nvme*n*; do
            [[ ${namespace##*/} =~ ^nvme[0-9]+n[0-9]+$ ]] && [ -d "$namespace" ] && nodes+=("/dev/${namespace##*/}")
        done
    done 2>/dev/null
    true
}

namespace_of_tcp() { # the node of a namespace that came over NVMe/TCP, once it is there
    local controller
    for controller in /sys/class/nvme/nvme*; do
        [ "$(<"$controller/transport")" = tcp ] || continue
        nvme_nodes "$(tr -d ' ' <"$controller/serial")"
        [ -b "${nodes[0]-}" ] && echo "${nodes[0]}" && return 0
    done
    return 1
}

scsi_debug_disk() { # the node of a disk of scsi_debug, once it is there
    local path
    for path in /sys/bus/pseudo/drivers/scsi_debug/adapter*/host*/target*/*/block/*; do
        [ -b "/dev/${path##*/}" ] && echo "/dev/${path##*/}" && return 0
    done
    return 1
}

start_multipathd() { # and wait until both paths are in one map
    multipathd >/dev/null 2>&1
    wait_for 30 map_is_there
}
map_is_there() { [ "$(ls "/sys/block/$(basename "$(readlink -f /dev/mapper/mpatha)")/slaves" | wc -l)" = 2 ]; }
mpath() { echo /dev/mapper/mpatha; }

kernel_name() { basename "$(readlink -f "$1")"; } # NODE

stat_field() { # NODE INDEX
    local name=${1##*/} fields
    [ -d "/sys/class/block/$name" ] || name=$(kernel_name "$1")
    read -r -a fields <"/sys/class/block/$name/stat"; echo "${fields[$2]}"
}
reads() { stat_field "$1" 0; }
writes() { stat_field "$1" 4; }
sectors_written() { stat_field "$1" 6; }
in_flight() { stat_field "$1" 8; }
has_written_more() { [ "$(writes "$1")" -gt "$2" ]; } # NODE COUNT

sum_of() { dd if="$1" bs=4M iflag=direct status=none | md5sum | cut -d' ' -f1; } # NODE

# --- arraylab

write_plan() { # [SECONDS] [SETTINGS…]: plan.yaml, random writes of 4 KiB, as few as show in counters and sums
    local seconds=${1:-1}; shift || true
    cat >plan.yaml <<PLAN
title: Writes
defaults: { ioengine: libaio, direct: 1, runtime: $seconds, bs: 4k, iodepth: 4, rate_iops: 500 }
stages:
  write: { settings: { rw: randwrite${1:+, $*} } }
PLAN
}

# Runs a command with its output in the file `out`; it must end with STATUS.
expect() { # STATUS COMMAND…
    local wanted=$1 status=0; shift
    "$@" >out 2>&1 </dev/null || status=$?
    [ "$status" = "$wanted" ] || { cat out; fail "exit status $status, not $wanted: $*"; }
}

expect_text() { # TEXT…: all of them are in the file `out`
    local text
    for text in "$@"; do
        grep -qF -- "$text" out || { cat out; fail "no \"$text\" in what it said"; }
    done
}

consent_of() { # TARGET…: the IDs that --overwrite-data needs, as arguments; nothing where it is refused for good
    local target
    [ -e plan.yaml ] || write_plan
    for target in "$@"; do
        arraylab run plan.yaml --target "$target" --out consent-run >consent-asked 2>&1 </dev/null || true
        consent_in consent-asked
    done
}
consent_in() { # FILE: what it asks consent for, as arguments
    local line
    while read -r line; do
        [[ $line =~ --overwrite-data\ [^\ ]+ ]] && echo "${BASH_REMATCH[0]}"
    done <"$1"
    true
}

# Writing is refused although the user consents, every TEXT is said, and the device has seen no write.
refused() { # TARGET TEXT…
    local target=$1 before consent; shift
    write_plan
    before=$(sectors_written "$target")
    expect 2 arraylab run plan.yaml --target "$target" --out refused-run
    consent=$(consent_in out)
    [ -z "$consent" ] || expect 2 arraylab run plan.yaml --target "$target" --out refused-run $consent
    expect_text "$@"
    [ ! -e refused-run ] || fail "a refused run left a run directory"
    # A mounted file system writes by itself, in whichever mount namespace.
    grep -qsF " $WORK/" /proc/[0-9]*/mounts || [ "$(sectors_written "$target")" = "$before" ] || fail "$target was written"
}

# With consent it is written, as the device's own counter shows; what stands there without is a request for consent.
accepted() { # TARGET
    local before consent
    write_plan
    rm -rf accepted-run
    before=$(writes "$1")
    expect 2 arraylab run plan.yaml --target "$1" --out accepted-run
    consent=$(consent_in out)
    [ -n "$consent" ] || { cat out; fail "no ID to consent to: $1 was refused"; }
    if ! (expect 0 arraylab run plan.yaml --target "$1" --out accepted-run $consent); then
        arraylab results accepted-run --json || true
        arraylab status accepted-run || true
        fail "$1 was not written"
    fi
    has_written_more "$1" "$before" || fail "nothing was written to $1"
}

. /lab/put-away.sh

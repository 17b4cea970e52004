# Paths to a device: their states, their loss, and what a run says of it.

long_plan() { # SECONDS
    cat >plan.yaml <<PLAN
title: Reads
watch: { interval: 1 }
defaults: { ioengine: libaio, direct: 1, runtime: $1, bs: 4k, iodepth: 4 }
stages:
  read: { settings: { rw: randread } }
PLAN
}
has_read_more() { [ "$(reads "$1")" -gt $(($2 + 200)) ]; } # more than udev looks at it

run_is_told_of_a_lost_path() { # DEVICE PATH-NAME COMMAND…: the command loses the path while the device is read
    local device=$1 path=$2 before run; shift 2
    long_plan 25
    before=$(reads "$device")
    arraylab run plan.yaml --target "$device" --out run >out 2>&1 &
    run=$!
    wait_for 60 has_read_more "$device" "$before"
    # A finding holds what comes after an event against the intervals before it.
    wait_for 60 has_samples 6
    "$@"
    wait_for_end 100 $run
    [ "$STATUS" = 0 ] || { cat out; fail "exit status $STATUS"; }
    grep -q "the path .*$path is lost" out || { cat out; fail "no warning"; }
    python3 - "$path" <<'P'
import sqlite3, sys
run = sqlite3.connect("run/run.sqlite")
events = run.execute("select kind, text, case_at_ns from events where kind = 'path-lost'").fetchall()
assert len(events) == 1 and sys.argv[1] in events[0][1], events
assert events[0][2] is not None, "it is not on the case's clock"
def samples(entity, name):
    return [value for (value,) in run.execute(
        "select value from counters join counter_series on series_id = counter_series.id where entity like ? and name = ? order by time_id",
        (entity, name))]
usable, online = samples("%", "paths"), samples(f"%{sys.argv[1]}", "online")
assert usable[0] == 2 and usable[-1] == 1 and sorted(usable, reverse=True) == usable, usable
# A path that is taken away altogether has no state any more.
assert online[0] == 1 and (online[-1] == 0 or len(online) < len(usable)), online
P
    arraylab findings run --json >findings
    python3 - "$path" <<'P'
import json, sys
findings = [json.loads(line) for line in open("findings")]
lost = [one for one in findings if one["kind"] == "disruption" and f"{sys.argv[1]} is lost" in one["event"]]
assert len(lost) == 1, findings
P
}
has_samples() { # COUNT
    python3 -c 'import sqlite3, sys
run = sqlite3.connect("file:run/run.sqlite?mode=ro", uri=True)
sys.exit(run.execute("select count(*) from intervals").fetchone()[0] < int(sys.argv[1]))' "$1"
}

# F9: proves that a path of dm-multipath which goes offline under load is an event on the run's clock, a warning, and a finding of what
# it did to the load.
test_a_lost_path_of_a_map_is_told() {
    local path
    start_multipathd
    path=$(kernel_name "$(disk mp2)")
    run_is_told_of_a_lost_path "$(mpath)" "$path" take_offline "$path"
}
take_offline() { echo offline >"/sys/block/$1/device/state"; }

# F9: proves the same of a controller of native NVMe multipath.
test_a_lost_nvme_path_is_told() {
    local head controller
    head=$(kernel_name "$(disk nm)")
    controller=$(ls -d /sys/class/nvme-subsystem/*/"$head"/../nvme? | sed 's,.*/,,' | sort | tail -1)
    run_is_told_of_a_lost_path "$(disk nm)" "${head%n*}c${controller#nvme}n${head##*n}" remove_controller "$controller"
}
remove_controller() { echo 1 >"$(readlink -f "/sys/class/nvme/$1/device")/remove"; }

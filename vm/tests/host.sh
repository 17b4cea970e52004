# The host around a load: what is read of drives, what is set, and where the run lies.

quick_plan() { # SETTINGS…: plan.yaml that reads for a second
    cat >plan.yaml <<PLAN
title: Reads
defaults: { ioengine: libaio, direct: 1, runtime: 1, bs: 4k, iodepth: 4${1:+, $1} }
stages:
  read: { settings: { rw: randread } }
PLAN
}

# Proves that disks without SMART are no reason for a warning, that an NVMe drive's temperature is in degrees Celsius, and that a SCSI
# disk's is the one that it gives.
test_health_is_read_or_absent() {
    quick_plan
    expect 0 arraylab run plan.yaml --target "$(disk s0)" --out scsi
    ! grep -q "gave no counters" out || { cat out; fail "a disk without SMART is a warning"; }
    expect 0 arraylab run plan.yaml --target "$(disk n01)" --out nvme
    python3 - nvme/run.sqlite <<'P'
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("select name, value from counters join counter_series on series_id = counter_series.id where name like 'temperature%'").fetchall()
assert rows, "no temperature"
assert all(name.endswith("_celsius") and -40 < value < 120 for name, value in rows), rows
P
    modprobe scsi_debug dev_size_mb=32
    wait_for 20 scsi_debug_disk
    expect 0 arraylab run plan.yaml --target "$(scsi_debug_disk)" --out simulated
    python3 - simulated/run.sqlite <<'P'
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("select name, value from counters join counter_series on series_id = counter_series.id where name = 'temperature_celsius'").fetchall()
# The temperature page of drivers/scsi/scsi_debug.c.
assert rows and all(value == 38 for _, value in rows), rows
P
}

# Proves that a scheduler which the kernel does not have is said to be missing, with those that it has.
test_an_unknown_scheduler_is_named() {
    quick_plan '"queue.scheduler": no-such-scheduler'
    expect 0 arraylab run plan.yaml --target "$(disk s0)" --out run
    expect_text "not-settable" "there is no scheduler" "no-such-scheduler" "mq-deadline"
    ! grep -q "rounds" out || { cat out; fail "it is told as a rounded number"; }
}

# Proves that a run directory on 9p, where SQLite's write-ahead log cannot map its memory, is written and read.
test_a_run_directory_on_9p() {
    quick_plan
    rm -rf /lab/run-9p
    expect 0 arraylab run plan.yaml --target "$(disk s0)" --out /lab/run-9p
    expect 0 arraylab results /lab/run-9p --json
    expect_text '"status":"done"'
    expect 0 arraylab status /lab/run-9p
}

# Proves that completions on a native NVMe multipath head are polled for, each time that it is asked.
test_hipri_on_a_multipath_head() {
    local n
    quick_plan "hipri: 1"
    for n in 1 2 3 4 5 6; do
        expect 0 arraylab run plan.yaml --target "$(disk nm)" --out "run-$n"
        ! grep -q "cannot be polled" out || { cat out; fail "round $n"; }
    done
}

# Proves that settings of the host are put back at the end of a run, and after kill -9 by the next.
test_settings_are_put_back() {
    local queue before run
    queue=/sys/block/$(kernel_name "$(disk s0)")/queue
    before=$(cat "$queue/nr_requests") 
    quick_plan '"queue.nr_requests": 32, "queue.scheduler": none, "sysctl.vm.swappiness": 7'
    expect 0 arraylab run plan.yaml --target "$(disk s0)" --out run
    [ "$(cat "$queue/nr_requests")" = "$before" ] || fail "nr_requests is not put back"
    sed -i 's/runtime: 1/runtime: 100/' plan.yaml
    arraylab run plan.yaml --target "$(disk s0)" --out killed >out 2>&1 &
    run=$!
    wait_for 60 is_set "$queue" 32
    kill -KILL $run; wait_for_end 10 $run
    [ "$(cat "$queue/nr_requests")" = 32 ] || fail "nothing is left to be put back"
    quick_plan
    expect 0 arraylab run plan.yaml --target "$(disk s0)" --out after
    quick_plan '"queue.nr_requests": 48'
    expect 0 arraylab run plan.yaml --target "$(disk s0)" --out again
    [ "$(cat "$queue/nr_requests")" = "$before" ] || fail "nr_requests is $(cat "$queue/nr_requests"), not $before"
    [ "$(sysctl -n vm.swappiness)" = 60 ] || fail "swappiness is $(sysctl -n vm.swappiness)"
}
is_set() { [ "$(cat "$1/nr_requests")" = "$2" ]; }

# Proves that each case has its own settings, on both disks below a volume and of the kernel, that those of the case before are put back
# first, that after a kill the next run puts back all of them although it sets nothing itself and looks at another disk, and that a
# module's parameter is compared, told, and never set.
# deadline: 240
test_settings_of_each_case_are_put_back_after_a_kill() {
    local run limit requests ratio swappiness queues=() queue size name
    for name in s0 s1; do queues+=("/sys/block/$(kernel_name "$(disk $name)")/queue"); done
    requests=$(<"${queues[0]}/nr_requests") ratio=$(sysctl -n vm.dirty_ratio) swappiness=$(sysctl -n vm.swappiness)
    limit=$(</sys/module/scsi_mod/parameters/max_luns)
    size=$(blockdev --getsz "$(disk s0)")
    printf '0 %d linear %s 0\n%d %d linear %s 0\n' "$size" "$(disk s0)" "$size" "$size" "$(disk s1)" | dmsetup create lab
    cat >plan.yaml <<PLAN
title: Settings
defaults: { ioengine: libaio, direct: 1, bs: 4k, iodepth: 4, rw: randread }
stages:
  first: { settings: { runtime: 1, "queue.nr_requests": 32, "sysctl.vm.dirty_ratio": 11, "module.scsi_mod.max_luns": 77 } }
  second: { settings: { runtime: 100, "queue.nr_requests": 48, "sysctl.vm.swappiness": 9 } }
PLAN
    arraylab run plan.yaml --target /dev/mapper/lab --out run >out 2>&1 &
    run=$!
    wait_for 90 is_set "${queues[1]}" 48
    wait_for 30 runs_second
    [ "$(<"${queues[0]}/nr_requests") $(sysctl -n vm.swappiness) $(sysctl -n vm.dirty_ratio)" = "48 9 $ratio" ] \
        || fail "second case: $(<"${queues[0]}/nr_requests") $(sysctl -n vm.swappiness) $(sysctl -n vm.dirty_ratio)"
    kill -KILL $run; wait_for_end 10 $run
    expect_text "parameter max_luns of module scsi_mod is $limit, not 77"
    [ "$(</sys/module/scsi_mod/parameters/max_luns)" = "$limit" ] || fail "the module's parameter was set"
    [ "$(<"${queues[0]}/nr_requests") $(sysctl -n vm.swappiness)" = "48 9" ] || fail "nothing is left to be put back"
    quick_plan
    expect 0 arraylab run plan.yaml --target "$(disk s5)" --out after
    expect_text "nr_requests was put back to $requests" "vm.swappiness was put back to $swappiness"
    for queue in "${queues[@]}"; do [ "$(<"$queue/nr_requests")" = "$requests" ] || fail "$queue/nr_requests is $(<"$queue/nr_requests")"; done
    [ "$(sysctl -n vm.swappiness)" = "$swappiness" ] || fail "swappiness is $(sysctl -n vm.swappiness)"
    python3 - run/run.sqlite <<'P'
import sqlite3, sys
rows = sqlite3.connect(sys.argv[1]).execute("select name, before_value, after_value from settings_changed order by id").fetchall()
names = [name for name, _, _ in rows]
# Made, put back between the cases, and the second case's made.
assert names.count("vm.dirty_ratio") == 2 and names.count("vm.swappiness") == 1, rows
assert sum(name.endswith("/nr_requests") for name in names) == 6, rows
P
}
# The second case's load has begun.
runs_second() { grep -q second out && [ "$(sysctl -n vm.swappiness)" = 9 ]; }

# Devices that fail and devices that do not answer: counted by kind, ended as the plan says, and never waited for without end.

map() { dmsetup create "$1" --table "0 $(blockdev --getsz "$2") $3"; } # NAME DEVICE TARGET…
map_over() { map "$1" "$2" "linear $2 0"; } # NAME DEVICE

two_cases() { # SECONDS [SETTINGS]: plan.yaml with two cases that write
    cat >plan.yaml <<PLAN
title: Writes twice
defaults: { ioengine: libaio, direct: 1, runtime: $1, bs: 4k, iodepth: 4${2:+, $2} }
stages:
  write: { matrix: { rw: [randwrite, write] } }
PLAN
}
results() { arraylab results "$1" --json; } # RUN
field() { python3 -c 'import json,sys
for line in sys.stdin: print(eval(sys.argv[1], {"case": json.loads(line)}))' "$1"; } # EXPRESSION

hang_during() { # ENGINE: a device is suspended while the first of two cases writes, and resumed when the run has ended
    local before run
    map_over hang "$(disk s0)"
    two_cases 3
    before=$(writes "$(disk s0)")
    arraylab run plan.yaml --target /dev/mapper/hang --engine "$1" --out run $(consent_of /dev/mapper/hang) >out 2>&1 &
    run=$!
    wait_for 60 has_written_more "$(disk s0)" "$before"
    dmsetup suspend --noflush --nolockfs hang
    wait_for_end 150 $run
    [ "$STATUS" = 3 ] || { cat out; fail "exit status $STATUS with a device that hangs"; }
    expect_text "hang"
    results run >rows
    [ "$(wc -l <rows)" = 1 ] || { cat rows; fail "a case was run while I/O was pending"; }
    [ "$(field 'case["status"]' <rows)" = failed ] || { cat rows; fail "the case is not failed"; }
    grep -Eq '[0-9]+ I/Os were not answered for [0-9]+ s' out || { cat out; fail "not how many for how long"; }
    dmsetup resume hang
    wait_for 30 nobody_has_open hang
    expect 0 arraylab run --resume run $(consent_of /dev/mapper/hang)
    [ "$(results run | field 'case["status"]' | sort | uniq -c | tr -s ' ')" = " 2 done" ] || { results run; fail "not two cases done"; }
}
nobody_has_open() { [ "$(dmsetup info -c --noheadings -o open "$1")" = 0 ]; }

# Proves that a device which hangs under our engine fails its case with how many I/Os hang for how long, that no case begins
# while I/O is pending (exit status 3), and that the run is resumed when the device answers again.
# deadline: 300
test_a_hang_under_our_engine() { hang_during ring; }

# Proves the same of fio.
# deadline: 400
test_a_hang_under_fio() { hang_during fio; }

# Proves that Ctrl-C ends a run on a device that hangs within two seconds, and keeps it.
test_an_interrupt_ends_a_hanging_run() {
    local before run begun
    map_over hang "$(disk s0)"
    two_cases 60
    before=$(writes "$(disk s0)")
    arraylab run plan.yaml --target /dev/mapper/hang --out run $(consent_of /dev/mapper/hang) >out 2>&1 &
    run=$!
    wait_for 60 has_written_more "$(disk s0)" "$before"
    dmsetup suspend --noflush --nolockfs hang
    begun=$EPOCHREALTIME
    kill -TERM $run
    wait_for_end 30 $run
    [ "$STATUS" = 130 ] || { cat out; fail "exit status $STATUS after an interrupt"; }
    # An emulated machine on a busy host is several times slower than the two seconds are meant for.
    awk "BEGIN { exit !($EPOCHREALTIME - $begun < 8) }" || fail "it took more than 8 s"
    dmsetup resume hang
    expect 0 arraylab status run
}

errors_with() { # ENGINE: with `continue_on_error: all` the case is done and its errors are counted by kind
    map bad "$(disk s0)" "flakey $(disk s0) 0 1 1 1 error_writes"
    two_cases 2 "continue_on_error: all, rwmixread: 50"
    sed -i 's/\[randwrite, write\]/[randrw]/' plan.yaml
    expect 0 arraylab run plan.yaml --target /dev/mapper/bad --engine "$1" --out run $(consent_of /dev/mapper/bad)
    results run >rows
    [ "$(field 'case["status"]' <rows)" = "done" ] || { cat rows; fail "the case is not done"; }
    [ "$(field 'case["write"]["errors"] > 0 and case["write"]["ios"] > 0' <rows)" = True ] || { cat rows; fail "no errors are counted"; }
    grep -q 'writes failed: Input/output error' out || { cat out; fail "the kind of error is not said"; }
}

# Proves that errors are counted by kind, and the case goes on and is done, where the plan says so: with our engine.
test_errors_are_counted_by_our_engine() { errors_with ring; }

# Proves the same of fio.
test_errors_are_counted_by_fio() { errors_with fio; }

# Proves that without `continue_on_error` the first error ends the case as failed, with its kind, and the next case is run.
test_an_error_ends_the_case() {
    local engine
    map bad "$(disk s0)" error
    two_cases 2
    for engine in ring fio; do
        expect 3 arraylab run plan.yaml --target /dev/mapper/bad --engine $engine --out run-$engine $(consent_of /dev/mapper/bad)
        [ "$(results run-$engine | field 'case["status"]' | sort -u)" = failed ] || { results run-$engine; fail "$engine"; }
        expect_text "Input/output error"
    done
}

# Proves that a medium error of a SCSI disk is counted as one and passed over, by our engine and by fio, whose own list of
# errors to pass over lacks it.
test_medium_errors_are_counted() {
    local engine bad
    modprobe scsi_debug dev_size_mb=32 opts=2 medium_error_start=4096 medium_error_count=2048
    wait_for 20 scsi_debug_disk
    bad=$(scsi_debug_disk)
    cat >plan.yaml <<PLAN
title: Reads
defaults: { ioengine: libaio, direct: 1, runtime: 2, bs: 4k, iodepth: 4, continue_on_error: all }
stages:
  read: { settings: { rw: randread } }
PLAN
    for engine in ring fio; do
        expect 0 arraylab run plan.yaml --target "$bad" --engine $engine --out run-$engine
        [ "$(results run-$engine | field 'case["read"]["errors"] > 0')" = True ] || { results run-$engine; fail "$engine counts none"; }
        grep -q 'reads failed: ' out || { cat out; fail "$engine does not say the kind"; }
    done
}

# Proves that commands of a SCSI disk which time out, and which the kernel sends again, are waited for and measured: the case is done
# without errors, with both engines.
# deadline: 240
test_commands_that_time_out_are_measured() {
    local engine run before slow driver=/sys/bus/pseudo/drivers/scsi_debug
    modprobe scsi_debug dev_size_mb=32
    wait_for 20 scsi_debug_disk
    slow=$(scsi_debug_disk)
    echo 2 >"/sys/block/${slow##*/}/device/timeout"
    two_cases 10
    sed -i 's/\[randwrite, write\]/[randread]/' plan.yaml
    for engine in ring fio; do
        before=$(reads "$slow")
        arraylab run plan.yaml --target "$slow" --engine $engine --out run-$engine >out 2>&1 &
        run=$!
        wait_for 60 has_read_more "$slow" "$before"
        # Every 100th command gets no answer.
        echo 4 >$driver/opts; echo 100 >$driver/every_nth
        wait_for 60 nothing_is_completed "$slow"
        echo 0 >$driver/every_nth; echo 0 >$driver/opts
        wait_for_end 100 $run
        [ "$STATUS" = 0 ] || { cat out; fail "$engine: exit status $STATUS"; }
        results run-$engine >rows
        [ "$(field 'case["status"] == "done" and case["read"]["errors"] == 0 and case["read"]["latency_ns"]["max"] >= 1.9e9' <rows)" = True ] \
            || { cat rows out; fail "$engine does not measure it"; }
    done
}
nothing_is_completed() { # NODE
    local before; before=$(reads "$1")
    [ "$(in_flight "$1")" -gt 0 ] && [ "$(reads "$1")" = "$before" ]
}

# Proves that a disk which is removed under load is told as gone, and not as an I/O that was too short.
test_a_removed_disk_is_gone() {
    local run before bad=
    modprobe scsi_debug dev_size_mb=64
    wait_for 20 scsi_debug_disk
    bad=$(scsi_debug_disk)
    two_cases 30
    sed -i 's/\[randwrite, write\]/[randread]/' plan.yaml
    before=$(reads "$bad")
    arraylab run plan.yaml --target "$bad" --out run >out 2>&1 &
    run=$!
    wait_for 60 has_read_more "$bad" "$before"
    echo 1 >"/sys/block/${bad##*/}/device/delete"
    wait_for_end 60 $run
    [ "$STATUS" = 3 ] || { cat out; fail "exit status $STATUS"; }
    ! grep -q "fewer bytes" out || { cat out; fail "a removed disk is told as a short I/O"; }
    expect_text "the target is gone"
}
has_read_more() { [ "$(reads "$1")" -gt $(($2 + 200)) ]; } # more than udev looks at it

# Proves that a device which is slow (dm-delay) is measured as such, and its case is done.
test_a_slow_device_is_measured() {
    # The kernel counts the delay in ticks of 4 ms, of which the first has begun.
    map slow "$(disk s0)" "delay $(disk s0) 0 104"
    two_cases 3
    sed -i 's/\[randwrite, write\]/[randread]/' plan.yaml
    expect 0 arraylab run plan.yaml --target /dev/mapper/slow --out run
    results run >rows
    [ "$(field 'case["status"] == "done" and case["read"]["latency_ns"]["min"] >= 100e6 and case["read"]["ios"] > 0' <rows)" = True ] \
        || { cat rows; fail "it is not measured as 100 ms"; }
}

# Proves that a reset of an NVMe controller under load is waited for: the case is done, without errors.
test_a_reset_of_an_nvme_controller_is_survived() {
    local run before controller
    controller=$(nvme_controller "$(disk n01)")
    two_cases 15
    sed -i 's/\[randwrite, write\]/[randread]/' plan.yaml
    before=$(reads "$(disk n01)")
    arraylab run plan.yaml --target "$(disk n01)" --out run >out 2>&1 &
    run=$!
    wait_for 60 has_read_more "$(disk n01)" "$before"
    echo 1 >"/sys/class/nvme/$controller/reset_controller"
    before=$(reads "$(disk n01)")
    wait_for 60 has_read_more "$(disk n01)" "$before"
    wait_for_end 90 $run
    [ "$STATUS" = 0 ] || { cat out; fail "exit status $STATUS"; }
    [ "$(results run | field 'case["status"] == "done" and case["read"]["errors"] == 0')" = True ] || { results run; cat out; fail "not done"; }
}
# The controller of a namespace without native multipath, or the first of its subsystem.
nvme_controller() { # NODE
    local subsystem path
    for subsystem in /sys/class/nvme-subsystem/*; do
        [ -d "$subsystem/${1##*/}" ] || [ -n "$(ls -d "$subsystem"/nvme*/"${1##*/}" 2>/dev/null)" ] || continue
        for path in "$subsystem"/nvme*; do [[ ${path##*/} =~ ^nvme[0-9]+$ ]] && echo "${path##*/}" && return 0; done
    done
    return 1
}

# Proves that an NVMe drive that is pulled out under load is told as gone, with both engines, and the run is kept.
# deadline: 240
test_a_pulled_nvme_drive_is_gone() {
    local run before controller engine
    for engine in ring fio; do
        controller=$(nvme_controller "$(disk n02)")
        two_cases 60
        sed -i 's/\[randwrite, write\]/[randread]/' plan.yaml
        before=$(reads "$(disk n02)")
        arraylab run plan.yaml --target "$(disk n02)" --engine $engine --out run-$engine >out 2>&1 &
        run=$!
        wait_for 60 has_read_more "$(disk n02)" "$before"
        echo 1 >"$(readlink -f "/sys/class/nvme/$controller/device")/remove"
        wait_for_end 100 $run
        [ "$STATUS" = 3 ] || { cat out; fail "$engine: exit status $STATUS"; }
        expect_text "the target is gone"
        [ "$(results run-$engine | field 'case["status"]')" = failed ] || { results run-$engine; fail "$engine: not failed"; }
        return_disks
        wait_for 30 nvme_is_back
    done
}
nvme_is_back() { (disk n02) && [ -e "/sys/class/nvme/$(nvme_controller "$(disk n02)")/device/remove" ]; }

# Proves that bad sectors of null_blk are counted as errors of their kind, for reads and writes, with both engines.
test_bad_sectors_of_null_blk_are_counted() {
    local engine null=/sys/kernel/config/nullb/lab
    modprobe null_blk nr_devices=0
    mkdir $null
    echo 64 >$null/size; echo 1 >$null/memory_backed; echo +4096-16383 >$null/badblocks; echo 1 >$null/power
    wait_for 20 has_null_blk
    two_cases 2 "continue_on_error: all, rwmixread: 50"
    sed -i 's/\[randwrite, write\]/[randrw]/' plan.yaml
    for engine in ring fio; do
        expect 0 arraylab run plan.yaml --target "$(null_blk_disk)" --engine $engine --out run-$engine $(consent_of "$(null_blk_disk)")
        results run-$engine >rows
        [ "$(field 'case["status"] == "done" and min(case[d]["errors"] for d in ("read", "write")) > 0' <rows)" = True ] \
            || { cat rows out; fail "$engine counts none"; }
        grep -q 'reads failed: Input/output error' out && grep -q 'writes failed: Input/output error' out || { cat out; fail "$engine does not say the kind"; }
    done
}
null_blk_disk() { local path; for path in /dev/lab /dev/nullb*; do [ -b "$path" ] && echo "$path" && return 0; done; return 1; }
has_null_blk() { null_blk_disk; }

# Proves that a device which shrinks under load fails its case, is never waited for, and is not written again by the next case.
test_a_device_that_shrinks() {
    local run before sectors written
    sectors=$(blockdev --getsz "$(disk s0)")
    map_over shrinks "$(disk s0)"
    two_cases 20
    before=$(writes "$(disk s0)")
    arraylab run plan.yaml --target /dev/mapper/shrinks --out run $(consent_of /dev/mapper/shrinks) >out 2>&1 &
    run=$!
    wait_for 60 has_written_more "$(disk s0)" "$before"
    dmsetup reload shrinks --table "0 $((sectors / 2)) linear $(disk s0) 0"
    dmsetup suspend shrinks; dmsetup resume shrinks
    wait_for_end 100 $run
    [ "$STATUS" = 3 ] || { cat out; fail "exit status $STATUS"; }
    results run >rows
    ! field 'case["status"]' <rows | grep -q "done" || { cat rows; fail "a case on another size is done"; }
    cat out
}

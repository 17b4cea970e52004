#!/bin/bash
# In the guest: runs the tests of /lab/plan one after another, each in a process of its own with a deadline, and puts their devices
# away. Ends early, and with it the machine, when that fails: the host runs the rest in a fresh machine.
set -uo pipefail
. /lab/lib.sh
results=/lab/results
export PATH=/run/bin:$PATH
# Loop devices are made when they are asked for: each that is there is one more to look at for udev and for every run.
modprobe -q loop max_loop=0; mkfifo /run/never-written
mkdir -p /run/bin; cp /lab/arraylab /run/bin/; export ARRAYLAB=/run/bin/arraylab
. /lab/settings; export SEED RANDOM_COUNT ROUNDS
# A host that gives no processor for a minute leaves the boot with devices that udev has not made yet.
until udevadm settle -t 60; do :; done
remember_machine

run_test() { # GROUP TEST DEADLINE_S: sets $verdict; false when the machine can take no further test
    local group=$1 test=$2 deadline_s=$3 log=$results/$1/$2.log child
    mkdir -p "$results/$group" /tmp/work
    : >"$results/$group/$test.begin"
    # A session of its own, so that everything it left in the background is known by what was not there before.
    setsid bash -c '
        set -Eeuo pipefail
        trap '\''echo "failed: $BASH_COMMAND (line ${BASH_LINENO[0]} of ${FUNCNAME[0]:-the test})"'\'' ERR
        . /lab/lib.sh; . "/lab/tests/$1.sh"; cd /tmp/work; export WORK=$PWD; "$2"' test "$group" "$test" >"$log" 2>&1 </dev/null 3<&- &
    child=$!
    if ! wait_with_deadline "$deadline_s" "$child"; then
        verdict="it did not end within $deadline_s s"
        report_processes >>"$log" 2>&1
        return 1
    fi
    if [ "$STATUS" = 0 ]; then verdict=ok; else verdict="exit status $STATUS"; fi
    # Traced, and each line that goes to the host takes as long as the command that it tells of.
    put_away >/run/put-away.log 2>&1 3<&- & child=$!
    if ! wait_with_deadline 60 "$child" || [ "$STATUS" != 0 ]; then
        cat /run/put-away.log >>"$log"
        echo "arraylab-vm: devices could not be put away after $group/$test: the rest runs in another machine"
        return 1
    fi
}

while read -r group test deadline_s <&3; do
    begun=$EPOCHREALTIME; verdict=
    run_test "$group" "$test" "$deadline_s"; goes_on=$?
    dmesg -c >>"$results/$group/$test.log.dmesg" 2>/dev/null
    [ "$verdict" = ok ] || { echo "--- kernel log"; tail -40 "$results/$group/$test.log.dmesg"; } >>"$results/$group/$test.log"
    echo "$(awk "BEGIN { printf \"%.1f\", $EPOCHREALTIME - $begun }") $verdict" >"$results/$group/$test.end.new"
    mv "$results/$group/$test.end.new" "$results/$group/$test.end"
    echo "arraylab-vm: $group/$test: $verdict"
    [ "$goes_on" = 0 ] || break
done 3</lab/plan

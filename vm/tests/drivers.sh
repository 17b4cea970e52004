# Drivers of arrays against the real tools.

array_plan() { # SETTINGS…: plan.yaml with a case for each RAID level
    cat >plan.yaml <<PLAN
title: Levels
defaults: { ioengine: libaio, direct: 1, runtime: 1, bs: 4k, iodepth: 4, rw: randwrite }
stages:
  levels: { matrix: { raid: [$1] } }
PLAN
}
drives() { local all=; for n in "$@"; do all+="+$(disk "$n")"; done; echo "${all#+}"; } # NAME…
statuses() { arraylab results "$1" --json | python3 -c 'import json,sys
print(" ".join(json.loads(line)["status"] for line in sys.stdin))'; } # RUN
consents() { # COMMAND…: runs it until it has all the consents it asks for; at the end it has run with them
    local id known=() n
    for n in 1 2 3 4 5 6 7; do
        "$@" "${known[@]}" >out 2>&1 && return 0
        id=$(grep -o -- '--overwrite-data [^ ]*' out | sort -u | tr '\n' ' ')
        [ -n "$id" ] || return 1
        rm -rf run
        known+=($id)
    done
    return 1
}

# Proves that a volume whose size is no multiple of an extent on each stripe is made as LVM rounds it, and that the run says so.
test_lvm_rounds_a_size() {
    vgcreate -qq vg0 "$(disk s0)" "$(disk s1)" >/dev/null
    array_plan 0
    consents arraylab run plan.yaml --target /dev/vg0/none --array "exec:lvm,group=vg0,drives=$(drives s0 s1),size=65m" --out run \
        || { cat out; fail "the volume was not made"; }
    expect_text "is made as 72 MiB"
    [ "$(lvs --noheadings --units m --nosuffix -o lv_size vg0 | tr -d ' ')" = 72.00 ] || { lvs; fail "another size"; }
    [ "$(statuses run)" = "done" ] || { cat out; fail "$(statuses run)"; }
}

# Proves that mdadm makes RAID 0, 1, 10, 5 and 6 of real drives one after the other, each loaded when it is ready.
# deadline: 300
test_mdadm_makes_all_levels() {
    modprobe -a raid0 raid1 raid10 raid456
    array_plan 0,1,10,5,6
    consents arraylab run plan.yaml --target /dev/md/none --out run \
        --array "exec:mdadm,drives=$(drives s0 s1 s2 s3),size=64m,segment=64k" || { cat out; fail "not all levels were made"; }
    [ "$(statuses run)" = "done done done done done" ] || { cat out; fail "$(statuses run)"; }
}

# Proves that LVM makes RAID 1, 5, 6 and 10 of real drives one after the other, each loaded when it is synchronised.
# deadline: 300
test_lvm_makes_all_levels() {
    local names=(s0 s1 s2 s3 s4 s5) name nodes=()
    for name in "${names[@]}"; do nodes+=("$(disk $name)"); done
    vgcreate -qq vg0 "${nodes[@]}" >/dev/null
    array_plan 1,5,6,10
    consents arraylab run plan.yaml --target /dev/vg0/none --out run \
        --array "exec:lvm,group=vg0,drives=$(drives "${names[@]}"),size=24m,segment=64k" || { cat out; fail "not all levels were made"; }
    [ "$(statuses run)" = "done done done done" ] || { cat out; fail "$(statuses run)"; }
    [ "$(lvs --noheadings -o segtype vg0 | tr -d ' ')" = raid10 ] || { lvs -o+segtype; fail "the last one is no RAID 10"; }
}

# Proves that with at_end=delete the array of a run is gone when it ends, done or interrupted, and leaves its drives empty.
# deadline: 240
test_an_array_is_put_away_at_the_end() {
    local run
    modprobe raid1
    array_plan 1
    ask_for_drives s0 s1
    expect 0 arraylab run plan.yaml --target /dev/md/none --out run --array "$ARRAY,at_end=delete" "${CONSENTS[@]}"
    no_array_is_left
    sed -i 's/runtime: 1,/runtime: 100,/' plan.yaml
    arraylab run plan.yaml --target /dev/md/none --out interrupted --array "$ARRAY,at_end=delete" "${CONSENTS[@]}" >out 2>&1 &
    run=$!
    wait_for 90 an_array_is_written
    kill -TERM $run; wait_for_end 60 $run
    [ "$STATUS" = 130 ] || { cat out; fail "exit status $STATUS after an interrupt"; }
    no_array_is_left
}
an_array_is_written() { local array; for array in /sys/block/md*; do has_written_more "/dev/${array##*/}" 100; done; }
no_array_is_left() {
    local name
    ! has /sys/block/md* || { cat out; fail "the array is still there"; }
    for name in s0 s1; do [ -z "$(wipefs -n "$(disk $name)")" ] || { cat out; fail "$name is not empty"; }; done
}

# Proves that a drive which is in use is refused by name, and that nothing was made of the others.
test_mdadm_refuses_a_busy_drive() {
    modprobe -a raid1
    mkfs.ext4 -q "$(disk s1)"; mkdir m; mount "$(disk s1)" m
    array_plan 1
    ! consents arraylab run plan.yaml --target /dev/md/none --out run \
        --array "exec:mdadm,drives=$(drives s0 s1),size=64m,segment=64k" || { cat out; fail "a mounted drive was taken"; }
    expect_text "mounted"
    [ -z "$(wipefs -n "$(disk s0)")" ] || fail "the other drive was written"
    umount m; fsck.ext4 -fn "$(disk s1)" >fsck.out 2>&1 || { cat fsck.out; fail "the mounted drive was written"; }
}

# Proves that a run that is killed while mdadm fills a new array is resumed: the array that it left is recognised, and every case
# is done.
# deadline: 300
test_a_run_killed_while_an_array_is_made_is_resumed() {
    local run
    modprobe -a raid456
    array_plan 5
    ask_for_drives s0 s1 s2
    echo 500 >/proc/sys/dev/raid/speed_limit_max; echo 100 >/proc/sys/dev/raid/speed_limit_min
    arraylab run plan.yaml --target /dev/md/none --out run --array "$ARRAY" "${CONSENTS[@]}" >out 2>&1 &
    run=$!
    wait_for 90 an_array_is_filled
    kill -KILL $run; wait_for_end 10 $run
    an_array_is_filled || fail "it was killed too late: nothing is tested"
    echo 200000 >/proc/sys/dev/raid/speed_limit_max
    expect 0 arraylab run --resume run "${CONSENTS[@]}"
    [ "$(statuses run)" = "done" ] || { cat out; fail "$(statuses run)"; }
}
ask_for_drives() { # NAME…: sets ARRAY and CONSENTS, all that the driver asks for
    ARRAY="exec:mdadm,drives=$(drives "$@"),size=64m,segment=64k"
    # The driver asks when it is to make the first array.
    expect 3 arraylab run plan.yaml --target /dev/md/none --out asked --array "$ARRAY"
    mapfile -t CONSENTS < <(grep -o -- '--overwrite-data [^ ]*' out | sort -u | tr ' ' '\n')
    [ "${#CONSENTS[@]}" = $((2 * $#)) ] || { cat out; fail "not all consents at once: ${CONSENTS[*]}"; }
}
an_array_is_filled() { grep -qs 're\(sync\|cover\)' /sys/block/md*/md/sync_action; }

# Proves that an array of ours that has lost a drive is taken away and made anew, and that without the lost drive it is an error that
# names it.
# deadline: 300
test_a_degraded_array_is_made_anew() {
    local array
    modprobe -a raid1
    array_plan 1
    ask_for_drives s0 s1
    expect 0 arraylab run plan.yaml --target /dev/md/none --out run --array "$ARRAY" "${CONSENTS[@]}"
    for array in /sys/block/md*; do array=/dev/${array##*/}; done
    [ -b "$array" ] || { ls -l /dev/md*; fail "the array is not there after the run"; }
    mdadm --quiet "$array" --fail "$(disk s1)" --remove "$(disk s1)"
    expect 0 arraylab run plan.yaml --target /dev/md/none --out again --array "$ARRAY" "${CONSENTS[@]}"
    [ "$(statuses again)" = "done" ] || { cat out; fail "$(statuses again)"; }
    [ "$(</sys/block/${array#/dev/}/md/degraded)" = 0 ] || fail "it is degraded"
}

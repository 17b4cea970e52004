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

# Loads on each class of block device: what the device counted is what the run says, and what a plan asks of it reaches it.

case_plan() { # SECONDS SETTINGS: plan.yaml with one case
    cat >plan.yaml <<PLAN
title: Load
defaults: { ioengine: libaio, direct: 1, runtime: $1, bs: 4k, iodepth: 4 }
stages:
  load: { settings: { $2 } }
PLAN
}
load() { # NODE ENGINE: runs plan.yaml, which must be done, into `run`; its results are in `rows`
    # What a load that writes asks of a device is kept for the next one.
    local consent=consent-${1//\//-} status=0
    rm -rf run; touch "$consent"
    arraylab run plan.yaml --target "$1" --engine "$2" --out run $(<"$consent") >out 2>&1 </dev/null || status=$?
    if [ $status = 2 ]; then
        consent_in out >"$consent"
        expect 0 arraylab run plan.yaml --target "$1" --engine "$2" --out run $(<"$consent")
    elif [ $status != 0 ]; then cat out; fail "exit status $status: $2 on $1"; fi
    arraylab results run --json >rows
    [ "$(field 'case["status"]')" = "done" ] || { cat rows out; fail "$2 on $1 is not done"; }
}
field() { python3 -c 'import json,sys
for line in open("rows"): print(eval(sys.argv[1], {"case": json.loads(line)}))' "$1"; } # EXPRESSION

# --- every class, with both engines

both_engines_drive() { # CLASS NODE
    local engine read write before_read before_written written
    for engine in ring fio; do
        before_read=$(reads "$2") before_written=$(sectors_written "$2")
        case_plan 1 "rw: randrw, rwmixread: 50"
        load "$2" $engine
        written=$(($(sectors_written "$2") - before_written))
        read -r read write < <(field '"%d %d" % (case["read"]["ios"], case["write"]["ios"])')
        [ "$read" -gt 0 ] && [ "$write" -gt 0 ] || { cat rows; fail "$1: $engine did nothing"; }
        # Those in flight at the end are in no count; the guard and udev read too.
        [ $written -ge $((write * 8)) ] && [ $written -le $(((write + 4) * 8)) ] \
            || fail "$1: $engine counts $write writes of 8 sectors, and the device $written sectors"
        [ $(($(reads "$2") - before_read)) -ge "$read" ] || fail "$1: $engine counts $read reads, and the device fewer"
        echo "$1, $engine: $read reads, $write writes"
    done
}

# Proves that our engine and fio drive disks, partitions and namespaces, and that each device completed just what the run counted.
# deadline: 300
test_disks_are_driven() {
    echo 'start=2048, size=131072' | sfdisk -q "$(disk s1)"; settle
    both_engines_drive "SCSI disk" "$(disk s0)"
    both_engines_drive partition "$(disk s1)1"
    both_engines_drive "NVMe namespace" "$(disk n01)"
    both_engines_drive "NVMe multipath head" "$(disk nm)"
    start_multipathd
    both_engines_drive "multipath map" "$(mpath)"
}

# Proves the same of what device mapper, LVM, md and loop make of disks.
# deadline: 300
test_stacked_devices_are_driven() {
    local mirror=/dev/md8
    modprobe raid1
    dmsetup create lab --table "0 131072 linear $(disk s2) 0"
    both_engines_drive dm-linear /dev/mapper/lab
    pvcreate -qq -y -ff "$(disk s4)"; vgcreate -qq lab "$(disk s4)"; lvcreate -qq -y -Zn -Wn -L 64M -n data lab; settle
    both_engines_drive "LVM volume" /dev/lab/data
    mdadm --quiet --create $mirror --run --assume-clean --level=1 --size=64M --bitmap=none --raid-devices=2 "$(disk s3)" "$(disk s5)"
    both_engines_drive md $mirror
    both_engines_drive loop "$(losetup --find --show --direct-io=on "$(disk n02)")"
}

# Proves the same of devices of drivers: nbd, ublk, scsi_debug, null_blk.
# deadline: 300
test_devices_of_drivers_are_driven() {
    modprobe nbd nbds_max=1; modprobe ublk_drv; modprobe scsi_debug dev_size_mb=64
    truncate -s 64M nbd-image
    nbd-server 127.0.0.1:10809 "$WORK/nbd-image" -C /dev/null -d >server 2>&1 &
    wait_for 20 nbd-client 127.0.0.1 10809 /dev/nbd0
    both_engines_drive NBD /dev/nbd0
    arraylab serve raid-levels,raid=5,disks=3,capacity=64m --socket "$WORK/s" --data "$WORK/d" --ublk --untimed >served 2>ublk-server &
    wait_for 60 test -s served
    both_engines_drive ublk "$(sed -n 's/^block device: //p' ublk-server)"
    wait_for 20 scsi_debug_disk
    both_engines_drive scsi_debug "$(scsi_debug_disk)"
    make_null_blk
    both_engines_drive null_blk "$(null_blk_disk)"
}
make_null_blk() { # [ATTRIBUTE=VALUE…]: 64 MiB in memory
    local null=/sys/kernel/config/nullb/lab setting
    modprobe null_blk nr_devices=0
    mkdir $null
    for setting in size=64 memory_backed=1 "$@"; do echo "${setting#*=}" >"$null/${setting%%=*}"; done
    echo 1 >$null/power
    wait_for 20 null_blk_disk
}
null_blk_disk() { local node; for node in /dev/lab /dev/nullb*; do [ -b "$node" ] && echo "$node" && return 0; done; return 1; }

# --- what a plan asks of a device: seen as the requests that the kernel hands to its driver

TRACE=/sys/kernel/debug/tracing
trace_requests() { # NODE: notes its requests until `requests` has told of them
    local number; number=$(</sys/class/block/"$(kernel_name "$1")"/dev)
    echo 0 >$TRACE/tracing_on; echo 16384 >$TRACE/buffer_size_kb; : >$TRACE/trace
    echo "dev == $(((${number%:*} << 20) | ${number#*:}))" >$TRACE/events/block/block_rq_issue/filter
    echo 1 >$TRACE/events/block/block_rq_issue/enable; echo 1 >$TRACE/tracing_on
}
stop_trace() { # the requests are in the file `requests`: processor, flags (blktrace's RWBS), sectors
    echo 0 >$TRACE/tracing_on; echo 0 >$TRACE/events/block/block_rq_issue/enable
    # "arraylab-99 [001] ..... 12.5: block_rq_issue: 8,0 WFS 4096 () 128 + 8 be,0,4 [arraylab]"
    sed -n 's/^.*\[\([0-9]*\)\].* block_rq_issue: [0-9]*,[0-9]* \([A-Z]*\) .* + \([0-9]*\) .*$/\1 \2 \3/p' $TRACE/trace >requests
}
requests() { # PATTERN [SECTORS]: how many there were with such flags
    awk -v flags="$1" -v sectors="${2-}" '$2 ~ flags && (sectors == "" || $3 == sectors) {n++} END {print n+0}' requests
}
discarded_sectors() { awk '$2 ~ /^D/ {n += $3} END {print n+0}' requests; }
# Writes and zeroing of whatever kind; commands without sectors ask a drive for its health.
written_requests() { awk '$2 ~ /^[WN]/ && $3 > 0 {n++} END {print n+0}' requests; }
purge_plan() { # a load after a purge
    cat >plan.yaml <<PLAN
title: Purge
defaults: { ioengine: libaio, direct: 1, runtime: 1, bs: 4k, iodepth: 4 }
stages:
  purge: { settings: { rw: randread }, precondition: { purge: true } }
PLAN
}
FUA='^F?W.*F'
FLUSH='^F'

# Proves that synchronous writes are on stable storage when they are answered, with both engines: an NVMe drive is given each with FUA,
# a SCSI disk that has none a flush behind each; and that without `sync` neither is given anything of the kind.
# deadline: 240
test_synchronous_writes_reach_the_device() {
    local engine writes
    [ "$(<"/sys/block/$(kernel_name "$(disk n01)")/queue/fua")" = 1 ] || fail "this NVMe drive has no FUA: nothing is tested"
    [ "$(<"/sys/block/$(kernel_name "$(disk s0)")/queue/write_cache")" = "write back" ] || fail "this disk has no cache: nothing is tested"
    for engine in ring fio; do
        case_plan 1 "rw: randwrite, sync: dsync, iodepth: 1"
        trace_requests "$(disk n01)"; load "$(disk n01)" $engine; stop_trace
        writes=$(field 'case["write"]["ios"]')
        [ "$(requests "$FUA" 8)" -ge "$writes" ] || { head requests; fail "$engine: $(requests "$FUA") of $writes with FUA"; }
        [ "$(requests '^W[^F]*$' 8)" = 0 ] || { head requests; fail "$engine: $(requests '^W[^F]*$') writes without FUA"; }
        trace_requests "$(disk s0)"; load "$(disk s0)" $engine; stop_trace
        writes=$(field 'case["write"]["ios"]')
        [ "$(requests "$FLUSH")" -ge "$writes" ] || { head requests; fail "$engine: $(requests "$FLUSH") flushes of $writes writes"; }
        case_plan 1 "rw: randwrite, iodepth: 1"
        trace_requests "$(disk n01)"; load "$(disk n01)" $engine; stop_trace
        [ "$(requests '^W' 8)" -gt 0 ] && [ "$(requests "$FUA")" = 0 ] || { head requests; fail "$engine: FUA that nobody asked for"; }
    done
}

# Proves that `fsync: 8` gives a device a flush after each eighth write, with both engines, through device mapper too, and that without
# it there is none.
# deadline: 240
test_fsync_reaches_the_device() {
    local engine node below writes flushes
    dmsetup create lab --table "0 131072 linear $(disk s2) 0"
    for node in "$(disk s0)" "$(disk n01)" /dev/mapper/lab; do
        below=$node; [ "$node" != /dev/mapper/lab ] || below=$(disk s2)
        for engine in ring fio; do
            case_plan 1 "rw: randwrite, iodepth: 1, fsync: 8"
            trace_requests "$below"; load "$node" $engine; stop_trace
            writes=$(field 'case["write"]["ios"]') flushes=$(requests "$FLUSH")
            # The last one may fall behind the end of the load; more may be made when the device is closed.
            [ "$flushes" -ge $((writes / 8 - 1)) ] && [ "$flushes" -le $((writes / 8 + 3)) ] \
                || { head requests; fail "$engine on $node: $flushes flushes of $writes writes"; }
        done
    done
    case_plan 1 "rw: randwrite, iodepth: 1"
    trace_requests "$(disk n01)"; load "$(disk n01)" ring; stop_trace
    [ "$(requests "$FLUSH")" -le 3 ] || fail "$(requests "$FLUSH") flushes that nobody asked for"
}

# Proves that a trim reaches a device as a discard, with both engines, and `trim_by: zeroes` as zeroes that it writes itself: never as
# the other.
# deadline: 300
test_discards_and_zeroes_reach_the_device() {
    local engine trims node
    for node in "$(disk s0)" "$(disk n01)"; do
        for engine in ring fio; do
            case_plan 1 "rw: randwrite, rwmixtrim: 100, bs: 64k"
            trace_requests "$node"; load "$node" $engine; stop_trace
            trims=$(field 'case["trim"]["ios"]')
            # The kernel merges discards that are under way together, wherever they lie.
            [ "$trims" -gt 0 ] && [ "$(discarded_sectors)" -ge $((trims * 128)) ] \
                || { cat rows; head requests; fail "$engine on $node: $(discarded_sectors) sectors discarded by $trims trims of 128"; }
            [ "$(written_requests)" = 0 ] || { grep -v ' R' requests | head; fail "$engine on $node writes what it is to discard"; }
        done
        case_plan 1 "rw: randwrite, rwmixtrim: 100, bs: 64k, trim_by: zeroes"
        dd if=/dev/urandom of="$node" bs=1M count=4 oflag=direct status=none
        trace_requests "$node"; load "$node" ring; stop_trace
        trims=$(field 'case["trim"]["ios"]')
        [ "$trims" -gt 0 ] && [ "$(requests '^D')" = 0 ] || { cat rows; head requests; fail "zeroes on $node: discards"; }
        [ "$(written_requests)" -ge "$trims" ] || { head requests; fail "zeroes on $node: $(written_requests) of $trims"; }
    done
}

# Proves that a device that takes no discards says so: the case is failed with the reason, by both engines; that writing zeroes works
# there all the same; and that a purge which cannot be made is told and leaves the case to be done.
# deadline: 240
test_a_device_without_discards_says_so() {
    local engine node
    make_null_blk discard=0; node=$(null_blk_disk)
    [ "$(</sys/block/"${node#/dev/}"/queue/discard_max_bytes)" = 0 ] || fail "it takes discards: nothing is tested"
    case_plan 1 "rw: randwrite, rwmixtrim: 100, bs: 64k"
    for engine in ring fio; do
        rm -rf run
        expect 3 arraylab run plan.yaml --target "$node" --engine $engine --out run $(consent_of "$node")
        arraylab results run --json >rows
        [ "$(field 'case["status"]')" = failed ] || { cat rows; fail "$engine: not failed"; }
        expect_text "Operation not supported"
    done
    case_plan 1 "rw: randwrite, rwmixtrim: 100, bs: 64k, trim_by: zeroes"
    dd if=/dev/urandom of="$node" bs=1M count=64 oflag=direct status=none
    load "$node" ring
    purge_plan
    load "$node" ring
    expect_text "was not purged" "it takes no discards"
}

# Proves that a purge discards every sector of a device and writes none.
test_a_purge_discards_all() {
    local node sectors
    purge_plan
    for node in "$(disk s0)" "$(disk n01)"; do
        trace_requests "$node"; load "$node" ring; stop_trace
        sectors=$(discarded_sectors)
        [ "$sectors" = "$(blockdev --getsz "$node")" ] || { grep -v ' R' requests | head; fail "$node: $sectors sectors are discarded"; }
        [ "$(written_requests)" = 0 ] || { grep -v ' R' requests | head; fail "a purge of $node writes"; }
    done
}

# Proves that on devices of 4,096-byte sectors both engines do what fits, and say of what does not fit how large the sectors are,
# before anything is written; and that a partition table there is known as one.
# deadline: 300
test_sectors_of_4096_bytes() {
    local engine node before
    modprobe scsi_debug dev_size_mb=64 sector_size=4096
    make_null_blk blocksize=4096
    wait_for 20 scsi_debug_disk
    for node in "$(scsi_debug_disk)" "$(null_blk_disk)" "$(losetup --find --show --sector-size 4096 "$(disk n02)")"; do
        [ "$(blockdev --getss "$node")" = 4096 ] || fail "$node has other sectors: nothing is tested"
        both_engines_drive "$node" "$node"
        for engine in ring fio; do
            case_plan 1 "rw: randwrite, bs: 512"
            rm -rf run; before=$(sectors_written "$node")
            expect 3 arraylab run plan.yaml --target "$node" --engine $engine --out run $(consent_of "$node")
            arraylab results run --json >rows
            [ "$(field 'case["status"]')" != "done" ] || { cat rows; fail "$engine on $node did what cannot be"; }
            expect_text "4096"
            [ "$(sectors_written "$node")" = "$before" ] || fail "$engine wrote to $node"
        done
    done
    node=$(scsi_debug_disk)
    echo 'label: gpt' | sfdisk -q "$node"; blockdev --rereadpt "$node"; settle
    write_plan
    expect 2 arraylab run plan.yaml --target "$node" --out asked
    expect_text "partition table"
}

# --- what is read beside the load

# Proves that the columns of a run are those of `iostat -x` beside it: medians of a steady load on a device that takes 20 ms.
# deadline: 240
test_columns_are_those_of_iostat() {
    local run name
    dmsetup create lab --table "0 131072 delay $(disk s0) 0 20"
    name=$(kernel_name /dev/mapper/lab)
    cat >plan.yaml <<PLAN
title: Steady
watch: { interval: 1 }
defaults: { ioengine: libaio, direct: 1, runtime: 16, bs: 8k, iodepth: 4, rw: randrw, rwmixread: 75, rate_iops: 80 }
stages:
  load: {}
PLAN
    local consent; consent=$(consent_of /dev/mapper/lab)
    local before; before=$(writes /dev/mapper/lab)
    arraylab run plan.yaml --target /dev/mapper/lab --out run $consent >out 2>&1 &
    run=$!
    wait_for 60 has_written_more /dev/mapper/lab "$before"
    LC_ALL=C iostat -dxy -o JSON "$name" 1 10 >iostat.json
    wait_for_end 100 $run
    [ "$STATUS" = 0 ] || { cat out; fail "exit status $STATUS"; }
    python3 - "$name" <<'P'
import json, sqlite3, statistics, sys
theirs = [disk for report in json.load(open("iostat.json"))["sysstat"]["hosts"][0]["statistics"] for disk in report["disk"]]
ours = {}
rows = sqlite3.connect("run/run.sqlite").execute(
    "select entity, name, value from counters join counter_series on series_id = counter_series.id where source = 'volume'").fetchall()
for entity, name, value in rows:
    ours.setdefault(name, []).append(value)
assert {entity for entity, _, _ in rows} == {"lab"}, {entity for entity, _, _ in rows}
names = {"%rrqm": "rrqm", "%wrqm": "wrqm", "%util": "util"}
bad = []
for column in ["r/s", "rkB/s", "rrqm/s", "r_await", "rareq-sz", "w/s", "wkB/s", "wrqm/s", "w_await", "wareq-sz", "d/s", "f/s", "aqu-sz", "%util"]:
    key = next(key for key in (names.get(column, column), column) if key in theirs[0])
    a, b = statistics.median(ours[column][1:-1]), statistics.median(report[key] for report in theirs)
    print(column, a, b)
    if abs(a - b) > 0.15 * max(a, b) + 0.5: bad.append((column, a, b))
assert not bad, bad
# The load is what was asked for, so that two wrong readings that agree would be seen; the delay is counted in ticks of 4 ms, the
# first of which has begun.
assert 40 < statistics.median(ours["r/s"]) < 80 and statistics.median(ours["rareq-sz"]) == 8, ours
assert 16 <= statistics.median(ours["r_await"]) < 40, ours
P
}

# Proves that jobs pinned to processors hand their I/O to the device from these alone, on a device with a queue for each.
test_pinned_jobs_use_their_processors() {
    local engine node name; node=$(disk n01); name=$(kernel_name "$node")
    [ "$(ls "/sys/block/$name/mq" | wc -l)" -ge 2 ] || fail "one queue: nothing is tested"
    for engine in ring fio; do
        case_plan 1 "rw: randread, cpus_allowed: 1"
        trace_requests "$node"; load "$node" $engine; stop_trace
        [ "$(awk '$1 == "001" && $2 ~ /^R/ && $3 == 8' requests | wc -l)" -ge "$(field 'case["read"]["ios"]')" ] || { head requests; fail "$engine: others too"; }
        case_plan 1 "rw: randread, numjobs: 2, cpus_allowed: 0-1"
        trace_requests "$node"; load "$node" $engine; stop_trace
        for processor in 000 001; do
            [ "$(awk -v p=$processor '$1 == p && $2 ~ /^R/ && $3 == 8' requests | wc -l)" -gt 10 ] || fail "$engine: processor $processor does nothing"
        done
    done
}

# Two NUMA nodes of two processors, and several queues: an NVMe drive whose adapter belongs to the second node, and a virtio disk.
# vm-qemu: -smp 4 -object memory-backend-ram,id=memory0,size=750M -object memory-backend-ram,id=memory1,size=750M -numa node,nodeid=0,cpus=0-1,memdev=memory0 -numa node,nodeid=1,cpus=2-3,memdev=memory1 -device pxb,id=node1,bus=pci.0,bus_nr=128,numa_node=1 -drive file=DISKS/far,format=raw,if=none,cache=unsafe,id=far -device nvme,bus=node1,serial=LAB-FAR,drive=far,max_ioqpairs=6 -drive file=DISKS/wide,format=raw,if=none,cache=unsafe,id=wide -device virtio-blk-pci,bus=pci.0,drive=wide,num-queues=4,serial=LAB-WIDE

. /lab/tests/load.sh

far() { nvme_nodes LAB-FAR; echo "${nodes[0]}"; }
wide() { local disk; for disk in /sys/block/vd*; do [ "$(<"$disk/serial")" != LAB-WIDE ] || echo "/dev/${disk##*/}"; done; }

# Interrupts that the queues of a device have raised on each processor, in `interrupts`. Each queue belongs to a processor.
count_interrupts() { # NODE
    local adapter queue; adapter=$(basename "$(readlink "/sys/block/${1#/dev/}/device")")
    # The first queue of an NVMe drive takes commands to the drive itself, not requests.
    case $adapter in nvme*) queue="${adapter}q[1-9]" ;; *) queue="$adapter-req" ;; esac
    read -r -a interrupts < <(awk -v queue="$queue" '$NF ~ "^" queue {for (p = 0; p < 4; p++) n[p] += $(p + 2)}
        END {print n[0]+0, n[1]+0, n[2]+0, n[3]+0}' /proc/interrupts)
}
requests_of() { awk -v first="$1" -v last="$2" '$1 >= first && $1 <= last {n++} END {print n+0}' requests; } # PROCESSOR PROCESSOR
reads_of() { awk -v first="$1" -v last="$2" '$1 >= first && $1 <= last && $2 ~ /^R/ && $3 == 8 {n++} END {print n+0}' requests; }

# Proves that a run records the NUMA nodes of the host with their processors, and of each device its queues and the node of its adapter.
test_nodes_and_queues_are_recorded() {
    local node
    for node in "$(far)" "$(wide)"; do
        case_plan 1 "rw: randread"
        load "$node" ring
        python3 - "${node#/dev/}" "$(ls "/sys/block/${node#/dev/}/mq" | wc -l)" "$([ "$node" = "$(wide)" ] || echo 1)" <<'P'
import json, sys
name, queues, adapter_node = sys.argv[1:]
host = json.load(open("run/manifest.json"))["host"]
device = host["devices"][name]
assert host["numa_nodes"] == {"0": "0-1", "1": "2-3"}, host["numa_nodes"]
assert device["hardware_queues"] == int(queues) >= 4, device
assert device["numa_node"] == (int(adapter_node) if adapter_node else None), device
P
    done
}

# Proves that jobs pinned to the processors of a node hand their I/O to the device from these alone, each by the queue of its own
# processor, with both engines, on NVMe and virtio; and jobs on all processors by all queues.
# deadline: 240
test_pinned_jobs_use_the_queues_of_their_node() {
    local engine node processor before others
    for node in "$(far)" "$(wide)"; do
        for engine in ring fio; do
            case_plan 1 "rw: randread, numjobs: 2, cpus_allowed: 2-3"
            count_interrupts "$node"; before=("${interrupts[@]}")
            trace_requests "$node"; load "$node" $engine; stop_trace
            count_interrupts "$node"
            [ "$(reads_of 2 3)" -ge "$(field 'case["read"]["ios"]')" ] || { head requests; fail "$engine on $node: others too"; }
            for processor in 2 3; do
                [ $((interrupts[processor] - before[processor])) -gt 10 ] \
                    || fail "$engine on $node: the queue of processor $processor does nothing: ${before[*]}, then ${interrupts[*]}"
            done
            # The guard and udev read from anywhere.
            others=$(requests_of 0 1)
            [ $((interrupts[0] + interrupts[1] - before[0] - before[1])) -le "$others" ] \
                || fail "$engine on $node: queues of node 0 answer more than its $others requests: ${before[*]}, then ${interrupts[*]}"
            case_plan 1 "rw: randread, numjobs: 4, cpus_allowed: 0-3"
            trace_requests "$node"; load "$node" $engine; stop_trace
            for processor in 0 1 2 3; do
                [ "$(reads_of $processor $processor)" -gt 10 ] || fail "$engine on $node: processor $processor does nothing"
            done
        done
    done
}

# Proves that a run which is started on a node's processors keeps its I/O there, with both engines, though its plan pins nothing.
test_a_run_started_on_a_node_stays_there() {
    local engine node; node=$(far)
    taskset -pc "$(<"/sys/block/${node#/dev/}/device/device/local_cpulist")" $BASHPID
    for engine in ring fio; do
        case_plan 1 "rw: randread, numjobs: 2"
        trace_requests "$node"; load "$node" $engine; stop_trace
        [ "$(reads_of 2 3)" -ge "$(field 'case["read"]["ios"]')" ] || { head requests; fail "$engine: other processors too"; }
    done
}

# Proves that devices with several queues complete just what the run counted, whichever queue it went by, with both engines.
test_devices_with_several_queues_are_driven() {
    both_engines_drive "NVMe drive of another node" "$(far)"
    both_engines_drive "virtio disk" "$(wide)"
}

//! D1 to D15: a Huawei OceanStor Dorado 2100 G2.

mod long_load;
mod short_load;

use super::{Claim, Origin};

const SIZES: [u64; 6] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 1 << 20];

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "D1",
        origin: Origin::Published,
        says: "First writes to a fresh RAID set are slower than rewriting the same range.",
        mechanism: "The first write of a stripe initialises its parity.",
        tolerance: "the first pass at least 3 % below the second",
        judge: long_load::first_writes,
    },
    Claim {
        id: "D2",
        origin: Origin::Published,
        says: "Under sustained random writes throughput falls once, after 2–3 minutes, and then stays level; the level after it is the array's largest sustained rate.",
        mechanism: "Erased flash in reserve is used up; from then on a write waits for garbage collection to free a block.",
        tolerance: "at every block size one fall, 80 to 200 s after the start, no recovery, and the second half of what follows within 15 % of all of it",
        judge: long_load::falls_once,
    },
    Claim {
        id: "D3",
        origin: Origin::Published,
        says: "The sustained rate depends on block size: RAID 5 lowest at 4K, level from 8K to 64K, highest at 1M.",
        mechanism: "Flash is mapped and collected in units of 8 KB, so that 4K costs as much as 8K; 1M writes whole pieces of stripes and saves parity reads.",
        tolerance: "in bytes a second: 4K at most 0.8 of the mean of 8K to 64K, those within 15 % of it, 1M at least 1.3 of it",
        judge: long_load::by_block_size,
    },
    Claim {
        id: "D4",
        origin: Origin::Published,
        says: "The write cache changes neither the time of the cliff nor the level after it.",
        mechanism: "The cache delays writes by what it holds, which is small beside the reserve, and flash has to take them all.",
        tolerance: "with cache ÷ without, at every block size: onset within 15 % or two intervals, level within 10 %",
        judge: |view| long_load::same_cliff(view, 2.0, "cache on"),
    },
    Claim {
        id: "D5",
        origin: Origin::Published,
        says: "Covering 70 % instead of 100 % of the capacity changes neither.",
        mechanism: "The reserve is flash that the LUNs never cover; pages of deleted LUNs stay mapped, because deleting does not trim.",
        tolerance: "70 % ÷ 100 %, at every block size: onset within 15 % or two intervals, level within 10 %",
        judge: |view| long_load::same_cliff(view, 3.0, "70 % covered"),
    },
    Claim {
        id: "D6",
        origin: Origin::Published,
        says: "8K is the best block size for bursts of writes of 2–3 minutes and more: about the IOPS of 4K at twice the bytes.",
        mechanism: "The controllers cost the same for both, and flash is mapped in units of 8 KB.",
        tolerance: "before the cliff: IOPS at 8K at least 0.9 of those at 4K, bytes at least 1.8 times",
        judge: long_load::bursts,
    },
    Claim {
        id: "D7",
        origin: Origin::Published,
        says: "In mixed load, reads fall in the same proportion as writes at the cliff: the generator keeps the ratio.",
        mechanism: "A job that waits for a write issues no read.",
        tolerance: "share of reads left ÷ share of writes left within 10 % of 1, at every block size of scenarios 4 and 5",
        judge: long_load::reads_fall,
    },
    Claim {
        id: "D8",
        origin: Origin::Published,
        says: "The sustained write rate under mixed load equals that of pure writes: reads do not slow garbage collection.",
        mechanism: "A collected page crosses the drive's bus twice for every page written; a read crosses it once.",
        tolerance: "writes after the cliff, scenarios 4 and 5 ÷ scenario 1: on average within 10 %",
        judge: long_load::mixed_sustained,
    },
    Claim {
        id: "D9",
        origin: Origin::Published,
        says: "RAID 0 writes are significantly faster than RAID 5 before and after the cliff.",
        mechanism: "RAID 5 reads and writes parity beside the data.",
        tolerance: "RAID 0 ÷ RAID 5 at least 1.2 before and after, at every block size",
        judge: long_load::raid_0,
    },
    Claim {
        id: "D10",
        origin: Origin::Published,
        says: "Throughput at 1M is twice that of 16K–64K.",
        mechanism: "In RAID 5 large writes cover several segments of a stripe and share its parity.",
        tolerance: "largest bytes a second of pure writes: 1M ÷ mean of 16K to 64K from 1.6 to 2.5, at each RAID level measured",
        judge: short_load::twice,
    },
    Claim {
        id: "D11",
        origin: Origin::Published,
        says: "The array gives the same IOPS at 4K and 8K, a little less at 16K; 8K and 16K suit it best.",
        mechanism: "The controllers' cost of a command bounds small blocks.",
        tolerance: "largest IOPS in RAID 5: 8K within 10 % of 4K, 16K at least 0.7 of 8K, for reads, writes and both",
        judge: short_load::small_blocks,
    },
    Claim {
        id: "D12",
        origin: Origin::Published,
        says: "Large reads and large mixed load are limited by 4 × 8 Gb FC, not by the array; mixed load uses both directions of the links at once.",
        mechanism: "Four ports carry 800 MB/s each in each direction.",
        tolerance: "largest reads at 1M from 0.9 to 1.05 of 3,200 MB/s, mixed load at 1M above 1.15 of it; where the parts are seen, the links are the limit",
        judge: short_load::links,
    },
    Claim {
        id: "D13",
        origin: Origin::Published,
        says: "Saturation in RAID 5 begins, asynchronous, at 2–4 jobs with 32K–64K and at 8 jobs with 4K–16K; synchronous at 128–192 jobs. In RAID 0 asynchronous the same, synchronous earlier.",
        mechanism: "The rate levels off once jobs × depth covers what the array can work on at once.",
        tolerance: "median first number of jobs with 90 % of the largest IOPS: 1 to 8, 4 to 16, 64 to 256; RAID 0 synchronous no later than RAID 5",
        judge: short_load::saturation,
    },
    Claim {
        id: "D14",
        origin: Origin::Derived,
        says: "Outstanding I/O ÷ latency = IOPS at the published maxima, and lands on a product of jobs and depth.",
        mechanism: "Little's law in a closed loop.",
        tolerance: "IOPS × latency within 10 % of jobs × depth at the largest asynchronous IOPS of every profile",
        judge: short_load::little,
    },
    Claim {
        id: "D15",
        origin: Origin::Published,
        says: "The array suits multi-threaded load that tolerates latency; its latency is above that of purpose-built flash arrays.",
        mechanism: "SAS drives behind controllers add time to every I/O that flash modules on the array's own bus do not.",
        tolerance: "least latency above 0.25 ms for reads and 0.177 ms for writes (a FlashSystem 840); largest IOPS at least 4 times those of one synchronous job",
        judge: short_load::threads,
    },
];

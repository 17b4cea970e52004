//! D1 to D15: a Huawei OceanStor Dorado 2100 G2.

use super::view::{Seen, View, near};
use super::{Claim, Judged, Origin};
use crate::text::{bandwidth, block, duration, iops, latency};
use crate::{Fact, Kind, WriteCliff};

const SIZES: [u64; 6] = [4 << 10, 8 << 10, 16 << 10, 32 << 10, 64 << 10, 1 << 20];

/// Four 8 Gb FC ports at 800 MB/s in each direction.
const LINKS_BYTES_PER_S: f64 = 4.0 * 800e6;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "D1",
        origin: Origin::Published,
        says: "First writes to a fresh RAID set are slower than rewriting the same range.",
        mechanism: "The first write of a stripe initialises its parity.",
        tolerance: "the first pass at least 3 % below the second",
        judge: first_writes,
    },
    Claim {
        id: "D2",
        origin: Origin::Published,
        says: "Under sustained random writes throughput falls once, after 2–3 minutes, and then stays level; the level after it is the array's largest sustained rate.",
        mechanism: "Erased flash in reserve is used up; from then on a write waits for garbage collection to free a block.",
        tolerance: "at every block size one fall, 80 to 200 s after the start, no recovery, and the second half of what follows within 15 % of all of it",
        judge: falls_once,
    },
    Claim {
        id: "D3",
        origin: Origin::Published,
        says: "The sustained rate depends on block size: RAID 5 lowest at 4K, level from 8K to 64K, highest at 1M.",
        mechanism: "Flash is mapped and collected in units of 8 KB, so that 4K costs as much as 8K; 1M writes whole pieces of stripes and saves parity reads.",
        tolerance: "in bytes a second: 4K at most 0.8 of the mean of 8K to 64K, those within 15 % of it, 1M at least 1.3 of it",
        judge: by_block_size,
    },
    Claim {
        id: "D4",
        origin: Origin::Published,
        says: "The write cache changes neither the time of the cliff nor the level after it.",
        mechanism: "The cache delays writes by what it holds, which is small beside the reserve, and flash has to take them all.",
        tolerance: "with cache ÷ without, at every block size: onset within 15 % or two intervals, level within 10 %",
        judge: |view| same_cliff(view, 2.0, "cache on"),
    },
    Claim {
        id: "D5",
        origin: Origin::Published,
        says: "Covering 70 % instead of 100 % of the capacity changes neither.",
        mechanism: "The reserve is flash that the LUNs never cover; pages of deleted LUNs stay mapped, because deleting does not trim.",
        tolerance: "70 % ÷ 100 %, at every block size: onset within 15 % or two intervals, level within 10 %",
        judge: |view| same_cliff(view, 3.0, "70 % covered"),
    },
    Claim {
        id: "D6",
        origin: Origin::Published,
        says: "8K is the best block size for bursts of writes of 2–3 minutes and more: about the IOPS of 4K at twice the bytes.",
        mechanism: "The controllers cost the same for both, and flash is mapped in units of 8 KB.",
        tolerance: "before the cliff: IOPS at 8K at least 0.9 of those at 4K, bytes at least 1.8 times",
        judge: bursts,
    },
    Claim {
        id: "D7",
        origin: Origin::Published,
        says: "In mixed load, reads fall in the same proportion as writes at the cliff: the generator keeps the ratio.",
        mechanism: "A job that waits for a write issues no read.",
        tolerance: "share of reads left ÷ share of writes left within 10 % of 1, at every block size of scenarios 4 and 5",
        judge: reads_fall,
    },
    Claim {
        id: "D8",
        origin: Origin::Published,
        says: "The sustained write rate under mixed load equals that of pure writes: reads do not slow garbage collection.",
        mechanism: "A collected page crosses the drive's bus twice for every page written; a read crosses it once.",
        tolerance: "writes after the cliff, scenarios 4 and 5 ÷ scenario 1: on average within 10 %",
        judge: mixed_sustained,
    },
    Claim {
        id: "D9",
        origin: Origin::Published,
        says: "RAID 0 writes are significantly faster than RAID 5 before and after the cliff.",
        mechanism: "RAID 5 reads and writes parity beside the data.",
        tolerance: "RAID 0 ÷ RAID 5 at least 1.2 before and after, at every block size",
        judge: raid_0,
    },
    Claim {
        id: "D10",
        origin: Origin::Published,
        says: "Throughput at 1M is twice that of 16K–64K.",
        mechanism: "In RAID 5 large writes cover several segments of a stripe and share its parity.",
        tolerance: "largest bytes a second of pure writes: 1M ÷ mean of 16K to 64K from 1.6 to 2.5, at each RAID level measured",
        judge: twice,
    },
    Claim {
        id: "D11",
        origin: Origin::Published,
        says: "The array gives the same IOPS at 4K and 8K, a little less at 16K; 8K and 16K suit it best.",
        mechanism: "The controllers' cost of a command bounds small blocks.",
        tolerance: "largest IOPS in RAID 5: 8K within 10 % of 4K, 16K at least 0.7 of 8K, for reads, writes and both",
        judge: small_blocks,
    },
    Claim {
        id: "D12",
        origin: Origin::Published,
        says: "Large reads and large mixed load are limited by 4 × 8 Gb FC, not by the array; mixed load uses both directions of the links at once.",
        mechanism: "Four ports carry 800 MB/s each in each direction.",
        tolerance: "largest reads at 1M from 0.9 to 1.05 of 3,200 MB/s, mixed load at 1M above 1.15 of it; where the parts are seen, the links are the limit",
        judge: links,
    },
    Claim {
        id: "D13",
        origin: Origin::Published,
        says: "Saturation in RAID 5 begins, asynchronous, at 2–4 jobs with 32K–64K and at 8 jobs with 4K–16K; synchronous at 128–192 jobs. In RAID 0 asynchronous the same, synchronous earlier.",
        mechanism: "The rate levels off once jobs × depth covers what the array can work on at once.",
        tolerance: "median first number of jobs with 90 % of the largest IOPS: 1 to 8, 4 to 16, 64 to 256; RAID 0 synchronous no later than RAID 5",
        judge: saturation,
    },
    Claim {
        id: "D14",
        origin: Origin::Derived,
        says: "Outstanding I/O ÷ latency = IOPS at the published maxima, and lands on a product of jobs and depth.",
        mechanism: "Little's law in a closed loop.",
        tolerance: "IOPS × latency within 10 % of jobs × depth at the largest asynchronous IOPS of every profile",
        judge: little,
    },
    Claim {
        id: "D15",
        origin: Origin::Published,
        says: "The array suits multi-threaded load that tolerates latency; its latency is above that of purpose-built flash arrays.",
        mechanism: "SAS drives behind controllers add time to every I/O that flash modules on the array's own bus do not.",
        tolerance: "least latency above 0.25 ms for reads and 0.177 ms for writes (a FlashSystem 840); largest IOPS at least 4 times those of one synchronous job",
        judge: threads,
    },
];

fn first_writes(view: &View<'_>) -> Judged {
    let pass = |number: f64| {
        view.one("fill", &format!("pass {number:.0}"), move |case| case.number("pass") == Some(number))
    };
    let (first, second) = (pass(1.0)?.level.bw_bytes_per_s, pass(2.0)?.level.bw_bytes_per_s);
    let text = format!(
        "first pass {}, second {} ({:.2} of it)",
        bandwidth(first),
        bandwidth(second),
        first / second
    );
    Ok((first <= 0.97 * second, text))
}

/// The cases of a scenario by block size, those of the plan's sizes that were run.
fn scenario<'a>(view: &View<'a>, number: f64) -> Result<Vec<Seen<'a>>, String> {
    let mut seen = view
        .all("group-1", &format!("scenario {number:.0}"), |case| case.number("scenario") == Some(number))?;
    seen.sort_by_key(Seen::bs);
    Ok(seen)
}

fn size(seen: &[Seen<'_>], bs: u64) -> Option<usize> {
    seen.iter().position(|one| one.bs() == bs)
}

fn falls_once(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    for seen in scenario(view, 1.0)? {
        match view.cliff_or_none(seen)? {
            Ok(cliff) => {
                let level = near(cliff.sustained.iops, cliff.after.iops, 0.15);
                let once = cliff.further_falls.is_empty() && cliff.recovery.is_none();
                holds &= (80.0..=200.0).contains(&cliff.onset_s) && once && level;
                parts.push(format!(
                    "{}: after {} from {} to {}{}{}",
                    block(seen.bs()),
                    duration(cliff.onset_s),
                    iops(cliff.before.iops),
                    iops(cliff.after.iops),
                    if once { "" } else { ", more than once" },
                    if level { "" } else { ", not level" }
                ));
            }
            Err(none) => {
                holds = false;
                parts.push(format!("{}: {none}", block(seen.bs())));
            }
        }
    }
    Ok((holds, parts.join("; ")))
}

fn by_block_size(view: &View<'_>) -> Judged {
    let seen = scenario(view, 1.0)?;
    let rate = |bs: u64| -> Result<f64, String> {
        let index = size(&seen, bs).ok_or_else(|| format!("{} was not run", block(bs)))?;
        Ok(view.sustained(seen[index])?.bw_bytes_per_s)
    };
    let (small, large) = (rate(SIZES[0])?, rate(SIZES[5])?);
    let middle = SIZES[1..5].iter().map(|bs| rate(*bs)).collect::<Result<Vec<f64>, String>>()?;
    let mean = crate::statistics::mean(&middle);
    let holds =
        small <= 0.8 * mean && large >= 1.3 * mean && middle.iter().all(|rate| near(*rate, mean, 0.15));
    let level: Vec<String> = middle.iter().map(|rate| bandwidth(*rate)).collect();
    Ok((holds, format!("4K {}, 8K to 64K {}, 1M {}", bandwidth(small), level.join(" "), bandwidth(large))))
}

/// A block size with its cliff in two scenarios; the second may show that it has none.
type CliffPair<'a> = (u64, &'a WriteCliff, Result<&'a WriteCliff, String>);

/// Cliffs of two scenarios at the same block size.
fn cliffs_of<'a>(view: &View<'a>, first: f64, second: f64) -> Result<Vec<CliffPair<'a>>, String> {
    let (first, second) = (scenario(view, first)?, scenario(view, second)?);
    let mut found = Vec::new();
    for one in first {
        if let Some(index) = size(&second, one.bs()) {
            found.push((one.bs(), view.cliff(one)?, view.cliff_or_none(second[index])?));
        }
    }
    if found.is_empty() { Err("no block size was run in both scenarios".into()) } else { Ok(found) }
}

fn same_cliff(view: &View<'_>, other: f64, name: &str) -> Judged {
    const TWO_INTERVALS_S: f64 = 10.0;
    let mut holds = true;
    let mut parts = Vec::new();
    for (bs, plain, changed) in cliffs_of(view, 1.0, other)? {
        let Ok(changed) = changed else {
            holds = false;
            parts.push(format!("{}: no cliff with {name}", block(bs)));
            continue;
        };
        let onset = (changed.onset_s - plain.onset_s).abs();
        holds &= onset <= (0.15 * plain.onset_s).max(TWO_INTERVALS_S)
            && near(changed.sustained.iops, plain.sustained.iops, 0.10);
        parts.push(format!(
            "{}: onset {} against {}, level {} against {}",
            block(bs),
            duration(changed.onset_s),
            duration(plain.onset_s),
            iops(changed.sustained.iops),
            iops(plain.sustained.iops)
        ));
    }
    Ok((holds, format!("{name}: {}", parts.join("; "))))
}

fn bursts(view: &View<'_>) -> Judged {
    let seen = scenario(view, 1.0)?;
    let before = |bs: u64| -> Result<crate::Rate, String> {
        let index = size(&seen, bs).ok_or_else(|| format!("{} was not run", block(bs)))?;
        Ok(view.cliff(seen[index])?.before)
    };
    let (small, eight) = (before(SIZES[0])?, before(SIZES[1])?);
    let holds = eight.iops >= 0.9 * small.iops && eight.bw_bytes_per_s >= 1.8 * small.bw_bytes_per_s;
    Ok((
        holds,
        format!(
            "before the cliff 4K {} ({}), 8K {} ({})",
            iops(small.iops),
            bandwidth(small.bw_bytes_per_s),
            iops(eight.iops),
            bandwidth(eight.bw_bytes_per_s)
        ),
    ))
}

fn reads_fall(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    let mixed: Vec<Seen<'_>> =
        [4.0, 5.0].into_iter().filter_map(|number| scenario(view, number).ok()).flatten().collect();
    if mixed.is_empty() {
        return Err("the run has no measurement of scenarios 4 and 5 in the stage `group-1`".into());
    }
    for seen in mixed {
        let name = &seen.case.name;
        match view.cliff_or_none(seen)? {
            Ok(cliff) => {
                let (Some(before), Some(after)) = (cliff.reads_before, cliff.reads_after) else {
                    return Err(format!("{name} has no reads"));
                };
                let (reads, writes) = (after.iops / before.iops, cliff.after.iops / cliff.before.iops);
                holds &= near(reads / writes, 1.0, 0.10);
                parts.push(format!(
                    "{name}: reads to {:.0} %, writes to {:.0} %",
                    100.0 * reads,
                    100.0 * writes
                ));
            }
            Err(none) => {
                holds = false;
                parts.push(none);
            }
        }
    }
    Ok((holds, parts.join("; ")))
}

fn mixed_sustained(view: &View<'_>) -> Judged {
    let mut ratios = Vec::new();
    for number in [4.0, 5.0] {
        for (_, pure, mixed) in cliffs_of(view, 1.0, number)? {
            if let Ok(mixed) = mixed {
                ratios.push(mixed.after.bw_bytes_per_s / pure.after.bw_bytes_per_s);
            }
        }
    }
    if ratios.is_empty() {
        return Err("no mixed load shows a cliff".into());
    }
    let mean = crate::statistics::mean(&ratios);
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let text = format!(
        "mixed ÷ pure writes after the cliff: mean {mean:.2}, from {least:.2} to {most:.2} over {} pairs",
        ratios.len()
    );
    Ok((near(mean, 1.0, 0.10), text))
}

fn raid_0(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    for (bs, five, zero) in cliffs_of(view, 1.0, 6.0)? {
        let Ok(zero) = zero else {
            // Without a cliff RAID 0 has no level after it to compare.
            return Err(format!("RAID 0 at {} shows no cliff", block(bs)));
        };
        let before = zero.before.iops / five.before.iops;
        let after = zero.sustained.iops / five.sustained.iops;
        holds &= before >= 1.2 && after >= 1.2;
        parts.push(format!("{}: × {before:.2} before, × {after:.2} after", block(bs)));
    }
    Ok((holds, parts.join("; ")))
}

const STAGES: [(&str, &str); 2] = [("group-2", "RAID 5"), ("group-3", "RAID 0")];

/// The case with the largest rate of a share of reads and a block size.
fn largest<'a>(
    view: &View<'a>,
    stage: &str,
    share: f64,
    bs: u64,
    value: fn(&Seen<'_>) -> f64,
) -> Result<Seen<'a>, String> {
    let what = format!("{share:.0} % reads at {}", block(bs));
    let seen = view.all(stage, &what, |case| {
        case.number("rwmixread") == Some(share) && case.number("bs") == Some(bs as f64)
    })?;
    let mut best = seen[0];
    for one in seen {
        if value(&one) > value(&best) {
            best = one;
        }
    }
    Ok(best)
}

fn bytes(seen: &Seen<'_>) -> f64 {
    seen.level.bw_bytes_per_s
}

fn operations(seen: &Seen<'_>) -> f64 {
    seen.level.iops
}

fn twice(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    for (stage, name) in STAGES {
        let rate = |bs| largest(view, stage, 0.0, bs, bytes).map(|seen| bytes(&seen));
        let Ok(large) = rate(SIZES[5]) else { continue };
        let middle = SIZES[2..5].iter().map(|bs| rate(*bs)).collect::<Result<Vec<f64>, String>>()?;
        let ratio = large / crate::statistics::mean(&middle);
        holds &= (1.6..=2.5).contains(&ratio);
        parts.push(format!("{name}: 1M {} is {ratio:.2} of the mean of 16K to 64K", bandwidth(large)));
    }
    if parts.is_empty() { Err("no writes at 1M were measured".into()) } else { Ok((holds, parts.join("; "))) }
}

fn small_blocks(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    for (share, name) in [(100.0, "reads"), (0.0, "writes"), (70.0, "70 % reads")] {
        let rate = |bs| largest(view, "group-2", share, bs, operations).map(|seen| operations(&seen));
        let (four, eight, sixteen) = (rate(SIZES[0])?, rate(SIZES[1])?, rate(SIZES[2])?);
        holds &= near(eight, four, 0.10) && sixteen >= 0.7 * eight;
        parts.push(format!("{name} 4K {}, 8K {}, 16K {}", iops(four), iops(eight), iops(sixteen)));
    }
    Ok((holds, parts.join("; ")))
}

fn links(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    for (stage, name) in STAGES {
        let (Ok(reads), Ok(mixed)) =
            (largest(view, stage, 100.0, SIZES[5], bytes), largest(view, stage, 70.0, SIZES[5], bytes))
        else {
            continue;
        };
        holds &= (0.9..=1.05).contains(&(bytes(&reads) / LINKS_BYTES_PER_S))
            && bytes(&mixed) > 1.15 * LINKS_BYTES_PER_S;
        let limits: Vec<&str> = view
            .of_kind(Kind::Limit, stage)
            .into_iter()
            .filter(|finding| finding.case.as_deref() == Some(reads.case.name.as_str()))
            .filter_map(|finding| match &finding.fact {
                Fact::Limit(limit) if limit.by != "unknown" => Some(limit.by.as_str()),
                _ => None,
            })
            .collect();
        holds &= limits.iter().all(|by| *by == "link");
        let seen = if limits.is_empty() {
            "parts not seen".to_owned()
        } else {
            format!("limit: {}", limits.join(", "))
        };
        parts.push(format!(
            "{name}: reads {}, mixed {}, links 3,200 MB/s a direction ({seen})",
            bandwidth(bytes(&reads)),
            bandwidth(bytes(&mixed))
        ));
    }
    if parts.is_empty() {
        return Err("reads and mixed load at 1M were not both measured".into());
    }
    Ok((holds, parts.join("; ")))
}

/// The median number of jobs at which a kind of load saturates.
fn jobs(view: &View<'_>, stage: &str, engine: &str, sizes: &[u64]) -> Result<f64, String> {
    let found = view.of_kind(Kind::Saturation, stage);
    let points: Vec<f64> = found
        .iter()
        .filter_map(|finding| match &finding.fact {
            Fact::Saturation(one) if one.setting == "numjobs" => Some(one),
            _ => None,
        })
        .filter(|one| {
            let is = |name: &str| one.of.get(name).and_then(serde_json::Value::as_str) == Some(engine);
            let bs = one.of.get("bs").and_then(serde_json::Value::as_u64);
            is("ioengine") && bs.is_some_and(|bs| sizes.contains(&bs))
        })
        .map(|one| one.at.unwrap_or_else(|| one.points.last().map_or(0.0, |point| point[0])))
        .collect();
    if points.is_empty() {
        return Err(format!("`{stage}` has no series of jobs with {engine}"));
    }
    Ok(crate::statistics::median(points))
}

fn saturation(view: &View<'_>) -> Judged {
    let large = jobs(view, "group-2", "libaio", &SIZES[3..5])?;
    let small = jobs(view, "group-2", "libaio", &SIZES[0..3])?;
    let sync = jobs(view, "group-2", "sync", &SIZES)?;
    let mut holds =
        (1.0..=8.0).contains(&large) && (4.0..=16.0).contains(&small) && (64.0..=256.0).contains(&sync);
    let mut text = format!(
        "RAID 5 at {large:.0} jobs with 32K–64K, {small:.0} with 4K–16K, {sync:.0} synchronous (medians)"
    );
    if let Ok(zero) = jobs(view, "group-3", "sync", &SIZES) {
        holds &= zero <= sync;
        text.push_str(&format!("; RAID 0 synchronous at {zero:.0}"));
    }
    Ok((holds, text))
}

fn little(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    for (stage, name) in STAGES {
        for share in [0.0, 70.0, 100.0] {
            let all = view.all(stage, "asynchronous load", |case| {
                case.number("rwmixread") == Some(share) && case.word("ioengine") == Some("libaio")
            });
            let Ok(all) = all else { continue };
            let mut best = all[0];
            for one in all {
                if operations(&one) > operations(&best) {
                    best = one;
                }
            }
            let product = best.number("numjobs").unwrap_or(1.0) * best.number("iodepth").unwrap_or(1.0);
            holds &= near(best.level.outstanding, product, 0.10);
            parts.push(format!(
                "{name}, {share:.0} % reads: {} × {} = {:.0}, jobs × depth = {product:.0}",
                iops(operations(&best)),
                latency(best.level.mean_latency_ns),
                best.level.outstanding
            ));
        }
    }
    if parts.is_empty() {
        return Err("no asynchronous load was measured".into());
    }
    Ok((holds, parts.join("; ")))
}

fn threads(view: &View<'_>) -> Judged {
    let least = |share: f64, value: fn(&Seen<'_>) -> f64| -> Result<f64, String> {
        let all = view
            .all("group-2", &format!("{share:.0} % reads"), |case| case.number("rwmixread") == Some(share))?;
        Ok(all.iter().map(value).fold(f64::INFINITY, f64::min))
    };
    let (read, write) = (least(100.0, |seen| seen.read_ns())?, least(0.0, |seen| seen.write_ns())?);
    let one = view.one("group-2", "one synchronous job at 4K", |case| {
        case.number("numjobs") == Some(1.0)
            && case.word("ioengine") == Some("sync")
            && case.number("rwmixread") == Some(100.0)
            && case.number("bs") == Some(4096.0)
    })?;
    let most = operations(&largest(view, "group-2", 100.0, SIZES[0], operations)?);
    let holds = read > 250e3 && write > 177e3 && most >= 4.0 * operations(&one);
    Ok((
        holds,
        format!(
            "least latency {} for reads, {} for writes; {} by one job, {} at most",
            latency(read),
            latency(write),
            iops(operations(&one)),
            iops(most)
        ),
    ))
}

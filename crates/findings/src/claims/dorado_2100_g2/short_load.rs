//! What groups 2 and 3 show: a minute of every mix, block size, engine, depth and number of jobs.

use super::SIZES;
use crate::claims::Judged;
use crate::claims::view::{Seen, View, near};
use crate::text::{bandwidth, block, count, iops, latency};
use crate::{Fact, Kind};

/// Four 8 Gb FC ports at 800 MB/s in each direction.
const LINKS_BYTES_PER_S: f64 = 4.0 * 800e6;

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

pub(super) fn twice(view: &View<'_>) -> Judged {
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

pub(super) fn small_blocks(view: &View<'_>) -> Judged {
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

pub(super) fn links(view: &View<'_>) -> Judged {
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

pub(super) fn saturation(view: &View<'_>) -> Judged {
    let large = jobs(view, "group-2", "libaio", &SIZES[3..5])?;
    let small = jobs(view, "group-2", "libaio", &SIZES[0..3])?;
    let sync = jobs(view, "group-2", "sync", &SIZES)?;
    let mut holds =
        (1.0..=8.0).contains(&large) && (4.0..=16.0).contains(&small) && (64.0..=256.0).contains(&sync);
    let mut text = format!(
        "RAID 5 with 32K–64K at {}, with 4K–16K at {}, synchronous at {} (medians)",
        count(large.round() as usize, "job"),
        count(small.round() as usize, "job"),
        count(sync.round() as usize, "job")
    );
    if let Ok(zero) = jobs(view, "group-3", "sync", &SIZES) {
        holds &= zero <= sync;
        text.push_str(&format!("; RAID 0 synchronous at {zero:.0}"));
    }
    Ok((holds, text))
}

pub(super) fn little(view: &View<'_>) -> Judged {
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

pub(super) fn threads(view: &View<'_>) -> Judged {
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

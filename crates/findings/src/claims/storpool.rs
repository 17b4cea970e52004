//! S1 to S9: StorPool with volumes on NVMe, hybrid and HDD.

use super::view::{Seen, View, near};
use super::{Claim, Judged, Origin};
use crate::observation::Interval;
use crate::statistics::median;
use crate::text::{count, duration, iops, latency};
use crate::{Conformance, Fact, Kind};

/// Half a rotation at 7,200 rpm.
const HALF_ROTATION_NS: f64 = 4.16e6;
/// The shortest seeks, to a track nearby, that datasheets of 7,200 rpm disks give.
const LEAST_SEEK_NS: f64 = 0.8e6;
/// The source gives rotation and seek to a hundredth of a millisecond.
const ROUNDING_NS: f64 = 10e3;
/// 3 nodes of 4 HDDs each.
const HDDS: f64 = 12.0;
/// Copies of every block.
const REPLICAS: f64 = 3.0;

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "S1",
        origin: Origin::Published,
        says: "HDD random read latency is half a rotation + a short seek; caching does not help it. The client adds a network hop.",
        mechanism: "Reads go to the tail replica, on a disk; the volume is far larger than its cache.",
        tolerance: "on a node half a rotation and at least 0.8 ms, the shortest seeks of such disks, up to 9.5 ms; the client's mean at \
                    most 2 ms above the node's, and below it by no more than 10 µs, to which the source rounds, and the two means' own 95 % \
                    uncertainty: in a minute of 7 ms reads that is several hops, so the hop itself is seen in S2",
        judge: disk_latency,
    },
    Claim {
        id: "S2",
        origin: Origin::Published,
        says: "NVMe latency on a node and on the client differ marginally.",
        mechanism: "Two of three reads on a node cross the network as well, and the hop is short.",
        tolerance: "client ÷ node random read latency from 0.9 to 1.3",
        judge: hop,
    },
    Claim {
        id: "S3",
        origin: Origin::Published,
        says: "Hybrid reads match all-NVMe; hybrid random writes reach fewer IOPS.",
        mechanism: "The tail, which serves reads, is on NVMe; a write completes when every replica has it, and two are on HDD.",
        tolerance: "hybrid ÷ NVMe: reads from 0.9 to 1.15, random writes below 0.9, on each host",
        judge: hybrid,
    },
    Claim {
        id: "S4",
        origin: Origin::Published,
        says: "Mixed and sequential load: hybrid is close to all-NVMe; HDD is behind.",
        mechanism: "Protected buffers and copy-on-write turn writes to HDD into sequences.",
        tolerance: "hybrid ÷ NVMe at least 0.6, HDD ÷ NVMe below 0.6 and below hybrid, geometric means",
        judge: mixed_and_sequential,
    },
    Claim {
        id: "S5",
        origin: Origin::Published,
        says: "A limit caps IOPS and bandwidth per volume and takes effect at once when changed.",
        mechanism: "Every I/O takes a token before it goes on; there is no burst to use up.",
        tolerance: "no interval under a limit more than 2 % above it, from 2 s after the change on at the latest; where a limit is below what was done before, at least 0.9 of it is delivered",
        judge: caps,
    },
    Claim {
        id: "S6",
        origin: Origin::Published,
        says: "Changing a volume's template moves it between drive classes without interrupting I/O.",
        mechanism: "Data moves in the background, object by object, while either place serves I/O.",
        tolerance: "no interval without I/O, no error, and the rate changes by 10 % or more",
        judge: template,
    },
    Claim {
        id: "S7",
        origin: Origin::Published,
        says: "HDD volumes do better in IOPS than their drives alone, thanks to software and controller caching.",
        mechanism: "Writes are acknowledged from a protected buffer and written in sequence.",
        tolerance: "random write IOPS above 2 × 12 drives ÷ 3 replicas × what one drive does at depth 1; a drive that sorts its own queue \
                    gains up to half of that by itself",
        judge: better_than_drives,
    },
    Claim {
        id: "S8",
        origin: Origin::Published,
        says: "A noisy neighbour is held by its limit, and the others recover.",
        mechanism: "The limit leaves the drives that both share to the victim.",
        tolerance: "the victim loses 10 % or more under the neighbour, has 0.9 of its rate back under the neighbour's limit, and no more than a tenth of the limit's intervals are exceeded",
        judge: neighbour,
    },
    Claim {
        id: "S9",
        origin: Origin::Published,
        says: "A limit hides differences and changes of the hardware below it.",
        mechanism: "Below the limit every volume is waiting for tokens, not for drives.",
        tolerance: "volumes whose rates without a limit differ twofold deliver the same within 5 % under the lowest limit",
        judge: hides,
    },
];

fn on<'a>(view: &View<'a>, stage: &str, volume: &str, host: &str, rw: &str) -> Result<Seen<'a>, String> {
    view.one(stage, &format!("{rw} of {volume} from the {host}"), |case| {
        case.word("volume") == Some(volume) && case.word("host") == Some(host) && case.word("rw") == Some(rw)
    })
}

fn disk_latency(view: &View<'_>) -> Judged {
    let node = on(view, "latency", "hdd", "node", "randread")?;
    let client = on(view, "latency", "hdd", "client", "randread")?;
    let hop = client.read_ns() - node.read_ns();
    let unsure = libm::hypot(uncertainty_ns(&node), uncertainty_ns(&client));
    let least = HALF_ROTATION_NS + LEAST_SEEK_NS;
    Ok((
        (least..=9.5e6).contains(&node.read_ns()) && hop <= 2e6 && hop >= -(ROUNDING_NS + unsure),
        format!(
            "{} on a node, {} on the client (the difference ± {})",
            latency(node.read_ns()),
            latency(client.read_ns()),
            latency(unsure)
        ),
    ))
}

/// Half the 95 % confidence interval of a mean latency at depth 1, where latency is the inverse of the rate.
fn uncertainty_ns(seen: &Seen<'_>) -> f64 {
    let [low, high] = seen.level.iops_confidence_95.unwrap_or([seen.level.iops; 2]);
    seen.read_ns() * (high - low) / (2.0 * seen.level.iops)
}

fn hop(view: &View<'_>) -> Judged {
    let node = on(view, "latency", "nvme", "node", "randread")?.read_ns();
    let client = on(view, "latency", "nvme", "client", "randread")?.read_ns();
    let ratio = client / node;
    Ok((
        (0.9..=1.3).contains(&ratio),
        format!("{} on a node, {} on the client ({ratio:.2})", latency(node), latency(client)),
    ))
}

fn hybrid(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    for host in ["node", "client"] {
        let rate = |volume, rw| on(view, "iops", volume, host, rw).map(|seen| seen.level.iops);
        let reads = rate("hybrid", "randread")? / rate("nvme", "randread")?;
        let writes = rate("hybrid", "randwrite")? / rate("nvme", "randwrite")?;
        holds &= (0.9..=1.15).contains(&reads) && writes < 0.9;
        parts.push(format!("{host}: reads {reads:.2}, random writes {writes:.2}"));
    }
    Ok((holds, format!("hybrid ÷ NVMe, {}", parts.join("; "))))
}

fn mixed_and_sequential(view: &View<'_>) -> Judged {
    let mut hybrid = Vec::new();
    let mut hdd = Vec::new();
    for host in ["node", "client"] {
        for (stage, rw) in [("mixed", "randrw"), ("bandwidth", "read"), ("bandwidth", "write")] {
            let rate = |volume| on(view, stage, volume, host, rw).map(|seen| seen.level.bw_bytes_per_s);
            let nvme = rate("nvme")?;
            hybrid.push(libm::log(rate("hybrid")? / nvme));
            hdd.push(libm::log(rate("hdd")? / nvme));
        }
    }
    let mean = |logs: &[f64]| libm::exp(crate::statistics::mean(logs));
    let (hybrid, hdd) = (mean(&hybrid), mean(&hdd));
    Ok((
        hybrid >= 0.6 && hdd < 0.6 && hdd < hybrid,
        format!("÷ NVMe over mixed and sequential load: hybrid {hybrid:.2}, HDD {hdd:.2}"),
    ))
}

fn conformances<'a>(view: &View<'a>, stage: &str) -> Vec<(&'a str, &'a Conformance)> {
    view.of_kind(Kind::Conformance, stage)
        .into_iter()
        .filter_map(|finding| match &finding.fact {
            Fact::Conformance(fact) => Some((finding.case.as_deref().unwrap_or_default(), fact)),
            _ => None,
        })
        .collect()
}

/// The median rate of intervals within a span.
fn rate_within(intervals: &[Interval], from_s: f64, to_s: f64) -> Option<f64> {
    let rates: Vec<f64> = intervals
        .iter()
        .filter(|one| !one.is_ramp && one.start_s >= from_s - 1e-6 && one.end_s <= to_s + 1e-6)
        .map(Interval::iops)
        .collect();
    (!rates.is_empty()).then(|| median(rates))
}

fn caps(view: &View<'_>) -> Judged {
    let cases = view.all("limits", "a load under limits", |_| true)?;
    let found = conformances(view, "limits");
    if found.is_empty() {
        return Err("no limit was set while the load ran".into());
    }
    let (mut late, mut short): (f64, usize) = (0.0, 0);
    let (mut above, mut intervals) = (0, 0);
    for (name, one) in &found {
        above += one.intervals_above;
        intervals += one.intervals;
        late = late.max(one.takes_effect_s.unwrap_or(f64::INFINITY));
        let case = cases.iter().find(|seen| seen.case.name == *name);
        let free = case.and_then(|seen| {
            let first = seen.case.limits.first()?;
            rate_within(&seen.case.intervals, 0.0, first.at_s)
        });
        if one.quantity == "iops"
            && free.is_some_and(|free| free > one.allowed)
            && one.delivered < 0.9 * one.allowed
        {
            short += 1;
        }
    }
    // An interval in which the change itself falls is judged by neither limit, so one after it may still be the change.
    let holds = late <= 2.0 && above * 50 <= intervals && short == 0;
    Ok((
        holds,
        format!(
            "{}: {above} of {} above, the slowest change took {}, {short} delivered less than 0.9 of \
             what they allow",
            count(found.len(), "limit"),
            count(intervals, "interval"),
            if late.is_finite() { duration(late) } else { "for ever".to_owned() }
        ),
    ))
}

fn template(view: &View<'_>) -> Judged {
    let seen = view.one("template", "a load during the change", |_| true)?;
    let changes = view.disruptions("template");
    let counted = seen.case.counted();
    let (Some(first), Some(change)) = (counted.first(), changes.first()) else {
        return Err("no change of the template was recorded while the load ran".into());
    };
    let stalls = counted.iter().filter(|one| one.all().ios <= 0.0).count();
    let errors: u64 = counted.iter().map(|one| one.all().errors).sum();
    let before = rate_within(&counted, first.start_s, change.at_s).unwrap_or(0.0);
    let after = changes
        .iter()
        .map(|one| one.iops_percent)
        .fold(100.0f64, |most, one| if (one - 100.0).abs() > (most - 100.0).abs() { one } else { most });
    Ok((
        stalls == 0 && errors == 0 && (after - 100.0).abs() >= 10.0,
        format!(
            "{} without I/O, {}; from {} to {after:.0} % of it",
            count(stalls, "interval"),
            units::human_count(errors, "error"),
            iops(before)
        ),
    ))
}

fn better_than_drives(view: &View<'_>) -> Judged {
    let one = on(view, "latency", "hdd", "node", "randread")?.read_ns();
    let writes = on(view, "iops", "hdd", "node", "randwrite")?.level.iops;
    let drives = HDDS / REPLICAS * 1e9 / one;
    Ok((
        writes > 2.0 * drives,
        format!("{} of random writes; 12 drives with 3 replicas alone {}", iops(writes), iops(drives)),
    ))
}

fn neighbour(view: &View<'_>) -> Judged {
    let seen = view.one("neighbour", "a victim and a neighbour", |_| true)?;
    let found = conformances(view, "neighbour");
    let Some((_, limit)) = found.first() else {
        return Err("no limit was set on the neighbour".into());
    };
    let noisy_name = limit.load.as_deref().unwrap_or("noisy");
    let loads = &seen.case.loads;
    let noisy = loads.iter().find(|(name, _)| name == noisy_name);
    let victim = loads.iter().find(|(name, _)| name != noisy_name);
    let (Some((_, noisy)), Some((_, victim))) = (noisy, victim) else {
        return Err("the case has not two loads".into());
    };
    let begins = noisy.iter().find(|one| one.all().ios > 0.0).map_or(0.0, |one| one.start_s);
    // A second after each change is left for what is under way.
    let rate =
        |from_s, to_s| rate_within(victim, from_s, to_s).ok_or("the victim has no interval to compare");
    let (before, during) = (rate(0.0, begins)?, rate(begins + 1.0, limit.from_s)?);
    let held = rate(limit.from_s + 1.0, limit.to_s)?;
    let text = format!(
        "the victim does {} alone, {} beside the neighbour, {} once that is limited; {} of {} above the limit",
        iops(before),
        iops(during),
        iops(held),
        limit.intervals_above,
        count(limit.intervals, "interval")
    );
    if during > 0.9 * before {
        return Err(format!("the neighbour takes nothing from the victim: {text}"));
    }
    Ok((held >= 0.9 * before && limit.intervals_above * 10 <= limit.intervals, text))
}

fn hides(view: &View<'_>) -> Judged {
    let cases = view.all("limits", "a load under limits", |_| true)?;
    let found = conformances(view, "limits");
    let lowest = found
        .iter()
        .filter(|(_, one)| one.quantity == "iops")
        .map(|(_, one)| one.allowed)
        .fold(f64::INFINITY, f64::min);
    let under: Vec<f64> = found
        .iter()
        .filter(|(_, one)| one.quantity == "iops" && near(one.allowed, lowest, 1e-9))
        .map(|(_, one)| one.delivered)
        .collect();
    let free: Vec<f64> = cases
        .iter()
        .filter_map(|seen| rate_within(&seen.case.intervals, 0.0, seen.case.limits.first()?.at_s))
        .collect();
    if under.len() < 2 || free.len() < 2 {
        return Err("two volumes under the same limit are needed".into());
    }
    let spread = |rates: &[f64]| {
        rates.iter().copied().fold(0.0, f64::max) / rates.iter().copied().fold(f64::INFINITY, f64::min)
    };
    let text = format!(
        "without a limit the volumes differ × {:.2}, under {} × {:.3}",
        spread(&free),
        iops(lowest),
        spread(&under)
    );
    if spread(&free) < 2.0 {
        return Err(format!("the volumes do not differ twofold: {text}"));
    }
    Ok((spread(&under) <= 1.05, text))
}

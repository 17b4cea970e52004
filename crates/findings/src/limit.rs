//! What bounds the rate of a case, and how evenly its paths carry it.

use crate::finding::{Fact, Finding};
use crate::level::total;
use crate::observation::{Observation, ObservedCase};
use crate::text::{iops, latency};
use crate::{Level, Limit, PartUse, PathBalance, words};

/// A part that is busy for this share of the time bounds the rate: by the law of busy times no more than a ninth of it
/// could be added.
const FULL: f64 = 0.90;

/// Load generators queue long before all processors are full.
const GENERATOR_FULL: f64 = 0.90;

/// A rate that was asked for is reached within this share.
const RATE_REACHED: f64 = 0.98;

/// Latency so many times that of the same case with at most half the I/Os outstanding is mostly time in queues …
const QUEUED: f64 = 3.0;
/// … and so many times the least of its block size, where there is no such case: another mix takes another time by itself.
const QUEUED_BESIDE_ANOTHER: f64 = 10.0;
/// I/Os wait for one another only where there are more than so many for each of the parts.
const OUTSTANDING_PER_PART: f64 = 2.0;
/// A part that is busy for less than this share of the time is not what others wait for.
const HALF: f64 = 0.5;

/// What bounds a case, beside the others of its run.
pub(crate) fn of(observation: &Observation, case: &ObservedCase) -> Finding {
    let level = total(case);
    let (calm_ns, queued_factor, calm) = calm(observation, case, level.outstanding);
    let is_limited = case
        .limits
        .iter()
        .any(|limit| limit.load.is_none() && (limit.iops.is_some() || limit.bw_bytes_per_s.is_some()));
    let uses = uses(case);
    let busiest = uses.iter().find(|part| part.part != "cpu" && part.part != "disk");
    let generator = uses.iter().find(|part| part.part == "cpu");
    let asked = case.number("rate_iops").map(|rate| rate * case.number("numjobs").unwrap_or(1.0));
    let say = |by: &str, part: String, because: String| (by.to_owned(), part, because);
    let (by, part, because) = match (asked, busiest, generator) {
        (Some(asked), _, _) if level.iops >= RATE_REACHED * asked => say(
            "rate",
            "rate_iops".into(),
            format!("{} were asked for and {} delivered", iops(asked), iops(level.iops)),
        ),
        _ if is_limited => say(
            "rate",
            "limit".into(),
            format!(
                "the limits that were set allow no more for some of the time; {} were delivered",
                iops(level.iops)
            ),
        ),
        (_, Some(part), _) if part.mean_percent >= 100.0 * FULL => say(
            class(part),
            format!("{} {}", part.part, part.resource),
            format!("{} busy {:.0} % of the time{}", words::busy(part), part.mean_percent, words::way(part)),
        ),
        (_, _, Some(cpu)) if cpu.mean_percent >= 100.0 * GENERATOR_FULL => say(
            "generator",
            "cpu".into(),
            format!("the host’s processors are busy {:.0} % of the time", cpu.mean_percent),
        ),
        // Parts of a kind are seldom full together: while some collect garbage or move their arms, the I/Os of all queue up
        // at those, and the others wait. Then more I/Os would only wait longer.
        (_, Some(part), _)
            if level.mean_latency_ns >= queued_factor * calm_ns
                && level.outstanding > OUTSTANDING_PER_PART * part.parts as f64 =>
        {
            let queued = format!(
                "{} outstanding wait {}, where {calm} is {}",
                ios(level.outstanding),
                latency(level.mean_latency_ns),
                latency(calm_ns)
            );
            if part.mean_percent >= 100.0 * HALF {
                let because = format!(
                    "{} busy {:.0} % of the time in the mean{}{}: {queued}",
                    words::busy(part),
                    part.mean_percent,
                    words::way(part),
                    if part.parts > 1 { ", though not all at once" } else { "" }
                );
                say(class(part), format!("{} {}", part.part, part.resource), because)
            } else {
                let because = format!(
                    "no part that is counted is busy more than {:.0} % of the time, yet {queued}",
                    part.mean_percent
                );
                say("unknown", String::new(), because)
            }
        }
        // On a twin every part is seen: where none is full, time is spent in latency, and more I/Os would do more.
        (_, Some(part), _) => say(
            "concurrency",
            format!("{} {}", part.part, part.resource),
            format!(
                "no part is full (at most, {} busy {:.0} % of the time{}), and {} outstanding at {} make {}",
                words::busy(part),
                part.mean_percent,
                words::way(part),
                ios(level.outstanding),
                latency(level.mean_latency_ns),
                iops(level.iops)
            ),
        ),
        (_, None, _) => say(
            "unknown",
            String::new(),
            format!(
                "the target shows nothing of its parts; {:.0} I/Os were outstanding at {}",
                level.outstanding,
                latency(level.mean_latency_ns)
            ),
        ),
    };
    let use_percent = uses.iter().find(|one| part == format!("{} {}", one.part, one.resource));
    let use_percent = use_percent.or(generator.filter(|_| by == "generator")).map(|one| one.mean_percent);
    let fact = Limit {
        by,
        part,
        use_percent,
        because,
        iops: level.iops,
        bw_bytes_per_s: level.bw_bytes_per_s,
        uses,
    };
    Finding::of_case(case, Fact::Limit(fact), None)
}

/// So many I/Os.
fn ios(count: f64) -> String {
    units::human_count(count.round() as u64, "I/O")
}

/// Settings that say how much is outstanding and for how long, not what is done.
const HOW_MUCH: [&str; 5] = ["numjobs", "iodepth", "ioengine", "runtime", "ramp_time"];

/// The latency of a case where nothing or little waits, how many times as much is waiting, and what it is in words.
fn calm(observation: &Observation, case: &ObservedCase, outstanding: f64) -> (f64, f64, &'static str) {
    let what = |case: &ObservedCase| {
        let mut settings = case.settings.clone();
        settings.retain(|name, _| !HOW_MUCH.contains(&name.as_str()));
        settings
    };
    let least = |is_calm: &dyn Fn(&ObservedCase, &Level) -> bool| {
        let levels = observation.cases.iter().map(|other| (other, total(other)));
        let calm = levels.filter(|(other, level)| level.mean_latency_ns > 0.0 && is_calm(other, level));
        calm.map(|(_, level)| level.mean_latency_ns).fold(f64::INFINITY, f64::min)
    };
    let of_case = what(case);
    let alone_ns = least(&|other, level| level.outstanding <= outstanding / 2.0 && what(other) == of_case);
    if alone_ns.is_finite() {
        return (alone_ns, QUEUED, "the same with fewer outstanding");
    }
    let of_size_ns = least(&|other, _| other.number("bs") == case.number("bs"));
    (of_size_ns, QUEUED_BESIDE_ANOTHER, "the least of this block size")
}

/// Link, controller, drive or generator, by what a twin calls its parts.
fn class(part: &PartUse) -> &'static str {
    match (part.part.as_str(), part.resource.as_str()) {
        ("link" | "port" | "network" | "nic" | "drive-links", _) | (_, "send" | "receive") => "link",
        ("controller" | "server" | "node" | "cache" | "block" | "nvmed" | "write-buffer", _) => "controller",
        ("host" | "client", _) => "generator",
        _ => "drive",
    }
}

/// Uses of like parts, the busiest kind first. Parts that were not used at all (a hot spare) do not count.
fn uses(case: &ObservedCase) -> Vec<PartUse> {
    let mut kinds: Vec<(&str, &str, Vec<f64>)> = Vec::new();
    for busy in &case.busy {
        match kinds.iter_mut().find(|(part, resource, _)| *part == busy.part && *resource == busy.resource) {
            Some((_, _, shares)) => shares.push(busy.share),
            None => kinds.push((&busy.part, &busy.resource, vec![busy.share])),
        }
    }
    let mut uses: Vec<PartUse> = kinds
        .into_iter()
        .filter_map(|(part, resource, shares)| {
            let used: Vec<f64> = shares.into_iter().filter(|share| *share > 1e-6).collect();
            let largest = used.iter().copied().fold(0.0, f64::max);
            (!used.is_empty()).then(|| PartUse {
                part: part.to_owned(),
                resource: resource.to_owned(),
                mean_percent: 100.0 * crate::statistics::mean(&used),
                largest_percent: 100.0 * largest,
                parts: used.len(),
            })
        })
        .collect();
    uses.sort_by(|a, b| b.mean_percent.total_cmp(&a.mean_percent));
    uses
}

/// A device that carried less than this share of what the busiest one did says nothing about balance.
const IDLE: f64 = 0.1;

/// How load divides over the paths of a case, where there are two or more of a kind: the links of a twin or the ports of
/// the host and, of all devices with several paths, the one whose load divides least evenly.
pub(crate) fn balance(case: &ObservedCase) -> Vec<Finding> {
    let mut kinds: Vec<(&str, Vec<f64>)> = Vec::new();
    for one in &case.carried {
        match kinds.iter_mut().find(|(paths, _)| *paths == one.paths) {
            Some((_, bytes)) => bytes.push(one.bytes),
            None => kinds.push((&one.paths, vec![one.bytes])),
        }
    }
    let carried = |kind: &(&str, Vec<f64>)| kind.1.iter().sum::<f64>();
    kinds.retain(|kind| kind.1.len() >= 2 && carried(kind) > 0.0);
    let (devices, others): (Vec<_>, Vec<_>) =
        kinds.into_iter().partition(|(paths, _)| paths.starts_with("path"));
    let busiest = devices.iter().map(carried).fold(0.0, f64::max);
    let worst = devices
        .into_iter()
        .filter(|device| carried(device) >= IDLE * busiest)
        .map(|(paths, bytes)| shares(paths, &bytes))
        .reduce(|a, b| if b.largest_over_mean > a.largest_over_mean { b } else { a });
    let others = others.into_iter().map(|(paths, bytes)| shares(paths, &bytes));
    let mut found: Vec<Finding> = Vec::new();
    for fact in worst.into_iter().chain(others) {
        let paths = fact.paths.clone();
        let mut one = Finding::of_case(case, Fact::PathBalance(fact), None);
        if !found.is_empty() {
            one.id = format!("{}/{paths}", one.id);
        }
        found.push(one);
    }
    found
}

fn shares(paths: &str, bytes: &[f64]) -> PathBalance {
    let all: f64 = bytes.iter().sum();
    let shares: Vec<f64> = bytes.iter().map(|one| 100.0 * one / all).collect();
    let mean = 100.0 / shares.len() as f64;
    PathBalance {
        paths: paths.to_owned(),
        largest_over_mean: shares.iter().copied().fold(0.0, f64::max) / mean,
        smallest_over_mean: shares.iter().copied().fold(f64::INFINITY, f64::min) / mean,
        shares_percent: shares,
    }
}

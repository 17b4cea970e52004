//! Utilisation of parts and balance of paths, from counters.

use super::differences::{Differences, EXACT, text};
use super::disruption::is_record;
use crate::run::{Case, Counter};
use serde_json::Value;

/// A part that is busy for this share of the time is full.
const FULL_PERCENT: f64 = 90.0;

/// Share of the time without an I/O beyond which the use of parts does not show what would do more.
const IDLE_PERCENT: f64 = 10.0;

/// Number of I/Os in the mean interval with any from which on an interval without one is no chance.
const IOS_PER_INTERVAL: f64 = 10.0;

/// Checks the share of the time in which nothing completed, and that a case which stood still is not said to be short of load.
pub(super) fn idle(differences: &mut Differences<'_>, case: &Case) {
    let (mut idle_s, mut all_s, mut ios, mut busy) = (0.0, 0.0, 0.0, 0.0);
    for interval in case.counted() {
        let own = interval.flows[0].ios + interval.flows[1].ios;
        all_s += interval.length_s();
        idle_s += if own == 0.0 { interval.length_s() } else { 0.0 };
        busy += f64::from(u8::from(own > 0.0));
        ios += own;
    }
    let percent = (idle_s > 0.0 && ios >= IOS_PER_INTERVAL * busy).then(|| 100.0 * idle_s / all_s);
    differences.expect("idle_percent", percent, EXACT);
    let is_short_of_load = text(differences.fields, "by") == "concurrency";
    differences.require(
        !(is_short_of_load && percent > Some(IDLE_PERCENT)),
        "more I/Os would do more in a case that stood still",
    );
}

/// The mean of what was read of a counter after the ramp.
fn mean_after(counter: &Counter, ramp_s: f64) -> Option<f64> {
    let is_after = |(at, _): &&(Option<f64>, f64)| at.is_some_and(|at| at >= ramp_s - 1e-6);
    let after: Vec<f64> = counter.points.iter().filter(is_after).map(|(_, value)| *value).collect();
    (!after.is_empty()).then(|| after.iter().sum::<f64>() / after.len() as f64)
}

/// Checks the commands that waited for room, and that a case of which most waited is not said to be short of load.
pub(super) fn waiting(differences: &mut Differences<'_>, case: &Case) {
    let (ramp_s, _) = times(case);
    let is_its = |counter: &&Counter| counter.source == "twin" && counter.name == "fill_waiting_commands";
    let count: f64 =
        case.counters.iter().filter(is_its).filter_map(|counter| mean_after(counter, ramp_s)).sum();
    differences.expect("waiting_commands", (count > 0.0).then_some(count), EXACT);
    let outstanding = case.iops() * case.mean_latency_ns() / 1e9;
    differences.require(
        count < 0.5 * outstanding || count == 0.0 || text(differences.fields, "by") != "concurrency",
        "more I/Os would do more where most of them wait for room",
    );
}

/// Settings that say how much is outstanding and for how long, not what is done.
const HOW_MUCH: [&str; 5] = ["numjobs", "iodepth", "ioengine", "runtime", "ramp_time"];

/// Checks that a case is not said to be short of load where another of its stage shows that a factor of nearly two in what is
/// outstanding makes at most 5 % of difference in IOPS. Cases with events and limits have IOPS of their own.
pub(super) fn level_rate<'a>(
    differences: &mut Differences<'_>,
    case: &Case,
    mut others: impl Iterator<Item = &'a Case>,
) {
    let is_plain = |of: &Case| of.moments.iter().all(|moment| is_record(&moment.kind));
    if text(differences.fields, "by") != "concurrency" || !is_plain(case) {
        return;
    }
    let is_alike = |other: &Case| {
        let [own, others] =
            [case, other].map(|of| of.settings.iter().filter(|(name, _)| !HOW_MUCH.contains(&name.as_str())));
        other.stage == case.stage && is_plain(other) && own.eq(others)
    };
    let outstanding = |of: &Case| of.iops() * of.mean_latency_ns() / 1e9;
    let is_level = |other: &Case| {
        let (times, gain) = (outstanding(other) / outstanding(case), other.iops() / case.iops());
        gain <= 1.05 && (times >= 1.9 || (times <= 1.0 / 1.9 && gain >= 0.95))
    };
    if let Some(other) = others.find(|other| is_alike(other) && is_level(other)) {
        differences.require(
            false,
            &format!("more I/Os would do more, though {} shows that they do not", other.name),
        );
    }
}

/// Checks the utilisation of parts against their counters.
pub(super) fn uses(differences: &mut Differences<'_>, case: &Case) {
    let fields = differences.fields;
    let (ramp_s, began_s) = times(case);
    let count = fields.get("uses").and_then(Value::as_array).map_or(0, Vec::len);
    let is_any_full =
        (0..count).any(|place| fields["uses"][place]["largest_percent"].as_f64() >= Some(FULL_PERCENT));
    let says_none = text(fields, "because").starts_with("no part is full");
    differences.require(!(is_any_full && says_none), "no part is said to be full where one is");
    for place in 0..count {
        let one = &fields["uses"][place];
        let (part, resource) =
            (one["part"].as_str().unwrap_or_default(), one["resource"].as_str().unwrap_or_default());
        let mean_of = |counter: &Counter| mean_after(counter, ramp_s);
        let servers = |busy: &Counter| {
            let pool = match busy.name.as_str() {
                name if name.starts_with("processors") => "processors",
                "threads_busy_ns" => "fill_threads",
                _ => return Some(1.0),
            };
            let pool = case.counters.iter().find(|other| other.entity == busy.entity && other.name == pool);
            pool.and_then(|pool| pool.points.last()).map(|point| point.1.max(1.0))
        };
        let shares = case.counters.iter().filter_map(|counter| {
            match (counter.source.as_str(), counter.name.as_str()) {
                ("twin", name) if part_of(&counter.entity) == part => {
                    let own = if name == "busy_ns" { "core" } else { name.strip_suffix("_busy_ns")? };
                    let (busy_ns, elapsed_s) = grown(counter, ramp_s, began_s)?;
                    (own == resource).then_some(busy_ns / 1e9 / elapsed_s / servers(counter)?)
                }
                ("disk", "%util") if part == "disk" => mean_of(counter).map(|percent| percent / 100.0),
                ("cpu", "%idle") if part == "cpu" && counter.entity == "all" => {
                    mean_of(counter).map(|idle| 1.0 - idle / 100.0)
                }
                _ => None,
            }
        });
        let used: Vec<f64> = shares
            .filter(|share| (0.0..=1.02).contains(share))
            .map(|share| share.min(1.0))
            .filter(|share| *share > 1e-6)
            .collect();
        let mean = used.iter().sum::<f64>() / used.len().max(1) as f64;
        differences.expect(&format!("uses.{place}.mean_percent"), Some(100.0 * mean), EXACT);
        let largest = used.iter().copied().fold(0.0, f64::max);
        differences.expect(&format!("uses.{place}.largest_percent"), Some(100.0 * largest), EXACT);
        differences.expect(&format!("uses.{place}.parts"), Some(used.len() as f64), EXACT);
    }
}

/// Checks the load of each path of a device.
pub(super) fn path_balance(differences: &mut Differences<'_>, case: &Case) {
    let (ramp_s, began_s) = times(case);
    let paths = text(differences.fields, "paths");
    let mut carried: Vec<(&str, f64)> = Vec::new();
    for counter in &case.counters {
        let is_its = match counter.source.as_str() {
            "twin" => part_of(&counter.entity) == paths,
            "path" => match (counter.entity.rsplit_once('/'), paths.split_once(" of ")) {
                (Some((device, _)), Some((_, wanted))) => device == wanted,
                (None, None) => paths == "path",
                _ => false,
            },
            source => source == paths,
        };
        let bytes = match (counter.source.as_str(), counter.name.as_str()) {
            _ if !is_its => continue,
            ("twin", "to_array_bytes" | "to_host_bytes") => {
                grown(counter, ramp_s, began_s).map(|grown| grown.0)
            }
            ("path" | "port", "rkB/s" | "wkB/s") => mean_after(counter, ramp_s).map(|rate| rate * 1024.0),
            _ => continue,
        };
        let Some(bytes) = bytes else { continue };
        match carried.iter_mut().find(|known| known.0 == counter.entity) {
            Some(known) => known.1 += bytes,
            None => carried.push((&counter.entity, bytes)),
        }
    }
    let all: f64 = carried.iter().map(|one| one.1).sum();
    for (place, (_, bytes)) in carried.iter().enumerate() {
        differences.expect(&format!("shares_percent.{place}"), Some(100.0 * bytes / all), EXACT);
    }
}

/// Shares of hosts, recomputed from their totals.
pub(super) fn host_balance(differences: &mut Differences<'_>, case: &Case) {
    let all: f64 = case.hosts.iter().map(|(_, iops)| iops).sum();
    let mean = all / case.hosts.len().max(1) as f64;
    let slowest = case.hosts.iter().min_by(|a, b| a.1.total_cmp(&b.1));
    let fastest = case.hosts.iter().map(|(_, iops)| *iops).fold(0.0, f64::max);
    for (place, (name, iops)) in case.hosts.iter().enumerate() {
        differences.expect(&format!("iops.{place}"), Some(*iops), EXACT);
        differences.expect(&format!("shares_percent.{place}"), Some(100.0 * iops / all), EXACT);
        let named = differences.fields.get("hosts").and_then(|hosts| hosts.get(place));
        let is_named = named.and_then(|named| named.as_str()) == Some(name);
        differences.require(is_named, "its hosts are not those of the case");
    }
    differences.expect("largest_over_mean", Some(fastest / mean), EXACT);
    differences.expect("smallest_over_mean", slowest.map(|(_, iops)| iops / mean), EXACT);
    let is_slowest = slowest.is_some_and(|(_, iops)| {
        let named = text(differences.fields, "slowest");
        case.hosts.iter().any(|(name, other)| name == named && other == iops)
    });
    differences.require(is_slowest, "its slowest host is another");
}

/// Returns the kind of part in an entity's name: `node-0/server-1` is a `server`.
fn part_of(entity: &str) -> &str {
    let part = entity.rsplit('/').next().unwrap_or(entity);
    match part.rsplit_once('-') {
        Some((kind, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => kind,
        _ => part,
    }
}

/// Value of a counter of a twin's data service, as claims have it: growth over the counted time, of levels the last.
pub(crate) fn of_service(case: &Case, counter: &str) -> Option<f64> {
    let (service, name) = counter.split_once('.')?;
    let is_its = |one: &&Counter| one.source == "twin" && one.entity == service && one.name == name;
    let one = case.counters.iter().find(is_its)?;
    if name.starts_with("fill_") {
        return one.points.last().map(|point| point.1);
    }
    let (ramp_s, began_s) = times(case);
    grown(one, ramp_s, began_s).map(|(value, _)| value)
}

/// Growth of a cumulative counter over the counted time, and that time.
fn grown(counter: &Counter, ramp_s: f64, began_s: f64) -> Option<(f64, f64)> {
    let points: Vec<(f64, f64)> = counter
        .points
        .iter()
        .filter_map(|(at, value)| Some(((*at)?, *value)))
        .filter(|(at, _)| *at >= ramp_s - 1e-6)
        .collect();
    let last = points.last()?;
    let (from_s, from) = if ramp_s > began_s { *points.first()? } else { (began_s, 0.0) };
    (last.0 > from_s).then_some((last.1 - from, last.0 - from_s))
}

/// Returns the end of the ramp, and the start of the twin that gave the result: each point of a search has a twin of its
/// own.
fn times(case: &Case) -> (f64, f64) {
    let ramp_s = case.intervals.iter().filter(|one| one.is_ramp).map(|one| one.end_s).fold(0.0, f64::max);
    let answer = case.moments.iter().rev().find(|moment| moment.kind == "max-under-latency");
    let began_s = answer
        .and_then(|answer| answer.at_s)
        .map_or(0.0, |at_s| at_s - case.number("ramp_time").unwrap_or(0.0));
    (ramp_s, began_s)
}

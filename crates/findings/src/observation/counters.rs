//! Counters reduced to utilisation of parts and traffic of paths.

use super::{Busy, Names, PartResource, PathTraffic, ServiceCount};
use plan::claim::COUNTED_SERVICES;
use std::collections::BTreeMap;
use store::{CounterPoint, CounterSeries};

/// A twin's parts count busy time under names with this ending, cumulative.
const BUSY: &str = "_busy_ns";

/// The same of a part that is one thing: a service on its core.
const BUSY_ALONE: &str = "busy_ns";

/// Level of the commands that wait for room in a twin's controller: in its cache, or among those that it works on.
const WAITING_COMMANDS: &str = "fill_waiting_commands";

/// Returns true if a counter, by its source, entity and name, is one that [`busy`], [`carried`], [`over_time`] or [`of_services`] reads.
/// Most are none: a run of many cases has millions.
pub(crate) fn is_read(source: &str, entity: &str, name: &str) -> bool {
    match source {
        "twin" if COUNTED_SERVICES.contains(&entity) => true,
        "twin" => {
            name.ends_with(BUSY)
                || matches!(
                    name,
                    BUSY_ALONE
                        | "processors"
                        | "fill_threads"
                        | "to_array_bytes"
                        | "to_host_bytes"
                        | WAITING_COMMANDS
                )
        }
        "disk" => name == "%util",
        "cpu" => name == "%idle",
        "path" | "port" => matches!(name, "rkB/s" | "wkB/s"),
        _ => false,
    }
}

/// Returns the beginning of the case's load on the run's clock, from any counter that was read on both clocks.
pub(super) fn case_start_ns(series: &[CounterSeries]) -> Option<u64> {
    let point = series.iter().flat_map(|one| &one.points).find(|point| point.case_at_ns.is_some())?;
    point.at_ns.checked_sub(point.case_at_ns?)
}

/// The part of a case that counts, on the case's clock.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counted {
    /// End of the ramp, or of the search for a load.
    pub ramp_s: f64,
    /// Beginning of the twin that gave the result, with all its counters at 0: each point of a search has one of its own.
    pub twin_began_s: f64,
}

/// Returns the utilisation of each part in the time counted.
pub(super) fn busy(series: &[CounterSeries], counted: Counted, names: &mut Names) -> Vec<Busy> {
    let ramp_s = counted.ramp_s;
    let mut all = Vec::new();
    for one in series {
        let share = match (one.source.as_str(), one.name.as_str()) {
            ("twin", name) if name.ends_with(BUSY) || name == BUSY_ALONE => {
                grown(one, counted).map(|(busy_ns, elapsed_ns)| busy_ns / elapsed_ns / servers(series, one))
            }
            ("disk", "%util") => mean(one, ramp_s).map(|percent| percent / 100.0),
            ("cpu", "%idle") if one.entity == "all" => mean(one, ramp_s).map(|idle| 1.0 - idle / 100.0),
            _ => None,
        };
        // More than all of the time means several servers behind one count, of which nobody said how many.
        let Some(share) = share.filter(|share| is_share(*share)) else { continue };
        let (part, resource) = names_of(one);
        all.push(Busy {
            of: names.get(PartResource { part, entity: one.entity.clone(), resource }),
            share: share.min(1.0),
        });
    }
    all
}

/// Returns true if a quotient may be a share of time, with some time given before an end and served after it.
fn is_share(share: f64) -> bool {
    (0.0..=1.02).contains(&share)
}

/// Returns the mean number of commands that waited for room in the controllers of a twin in the time counted.
pub(super) fn waiting_commands(series: &[CounterSeries], counted: Counted) -> f64 {
    let is_its = |one: &&CounterSeries| one.source == "twin" && one.name == WAITING_COMMANDS;
    series.iter().filter(is_its).filter_map(|one| mean(one, counted.ramp_s)).sum()
}

/// Counts the servers behind a busy time: `processors_busy_ns` is the sum over `processors`, and `threads_busy_ns` over
/// `fill_threads`, where a counter of that name says how many. Without it a pool is left out, by a count that no sum reaches.
fn servers(series: &[CounterSeries], busy: &CounterSeries) -> f64 {
    let pool = match busy.name.as_str() {
        name if name.starts_with("processors") => "processors",
        "threads_busy_ns" => "fill_threads",
        _ => return 1.0,
    };
    let count = series.iter().find(|one| one.entity == busy.entity && one.name == pool);
    count.and_then(|one| one.points.last()).map_or(f64::NAN, |point| point.value.max(1.0))
}

/// Traffic of a twin's links, of the paths to devices and of the host's ports after the ramp. Drives are no paths: a host has
/// some that the load never touches.
pub(super) fn carried(series: &[CounterSeries], counted: Counted) -> Vec<PathTraffic> {
    let mut all: Vec<PathTraffic> = Vec::new();
    for one in series {
        let bytes = match (one.source.as_str(), one.name.as_str()) {
            ("twin", "to_array_bytes" | "to_host_bytes") => grown(one, counted).map(|(bytes, _)| bytes),
            ("path" | "port", "rkB/s" | "wkB/s") => mean(one, counted.ramp_s).map(|rate| rate * 1024.0),
            _ => None,
        };
        let Some(bytes) = bytes else { continue };
        let paths = match one.source.as_str() {
            "twin" => kind_of(&one.entity),
            // `mpatha/sdb` is a path of `mpatha`.
            "path" => match one.entity.rsplit_once('/') {
                Some((device, _)) => format!("path of {device}"),
                None => "path".to_owned(),
            },
            source => source.to_owned(),
        };
        match all.iter_mut().find(|known| known.paths == paths && known.entity == one.entity) {
            Some(known) => known.bytes += bytes,
            None => all.push(PathTraffic { paths, entity: one.entity.clone(), bytes }),
        }
    }
    all
}

/// Beginning of the names of levels, as opposed to counts.
const LEVEL: &str = "fill_";

/// Returns what each data service of a twin counted in the time counted, and of levels the last.
pub(super) fn of_services(
    series: &[CounterSeries],
    counted: Counted,
    names: &mut Names,
) -> Vec<ServiceCount> {
    let is_of_service =
        |one: &&CounterSeries| one.source == "twin" && COUNTED_SERVICES.contains(&one.entity.as_str());
    let count = |one: &CounterSeries| match one.name.starts_with(LEVEL) {
        true => one.points.last().map(|point| point.value),
        false => grown(one, counted).map(|(value, _)| value),
    };
    let counts = series.iter().filter(is_of_service).filter_map(|one| {
        let value = count(one)?;
        let (entity, resource) = (one.entity.clone(), one.name.clone());
        Some(ServiceCount { of: names.get(PartResource { part: entity.clone(), entity, resource }), value })
    });
    counts.collect()
}

/// `link-3` is a `link`, `node-0/server-1` a `server`.
fn kind_of(entity: &str) -> String {
    let part = entity.rsplit('/').next().unwrap_or(entity);
    match part.rsplit_once('-') {
        Some((kind, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => kind.to_owned(),
        _ => part.to_owned(),
    }
}

/// Utilisation of like parts over a case, interval by interval, on the case's clock.
#[derive(Debug, Clone, PartialEq)]
pub struct PartUtilisation {
    /// The kind of part: `link`, `controller`, `module`, `disk`, `cpu`.
    pub part: String,
    /// Resource of the parts that is busy.
    pub resource: String,
    /// In order of time.
    pub points: Vec<UsePoint>,
}

/// Utilisation of like parts in one interval, as shares of its time.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct UsePoint {
    /// End of the interval, since the start of the case's load.
    pub at_s: f64,
    /// Mean over the parts.
    pub mean_share: f64,
    /// Of the part that is least busy.
    pub smallest_share: f64,
    /// Of the busiest.
    pub largest_share: f64,
    /// Number of parts.
    pub parts: usize,
}

/// Utilisation of each kind of part over time, the busiest kind first.
pub(crate) fn over_time(series: &[CounterSeries]) -> Vec<PartUtilisation> {
    // Shares of the parts of a kind, by the end of the interval.
    type Shares = BTreeMap<u64, Vec<f64>>;
    let mut kinds: BTreeMap<(String, String), Shares> = BTreeMap::new();
    for one in series {
        let shares = match (one.source.as_str(), one.name.as_str()) {
            ("twin", name) if name.ends_with(BUSY) || name == BUSY_ALONE => {
                busy_by_interval(one, servers(series, one))
            }
            ("disk", "%util") => each(one, |percent| percent / 100.0),
            ("cpu", "%idle") if one.entity == "all" => each(one, |percent| 1.0 - percent / 100.0),
            _ => continue,
        };
        // More than all of the time means several servers behind one count, of which nobody said how many. One interval alone may have
        // more: what a part was given shortly before its end, or what a window is taken for.
        let shares_alone: Vec<f64> = shares.iter().map(|(_, share)| *share).collect();
        if !is_share(crate::statistics::mean(&shares_alone)) {
            continue;
        }
        // A spare that was never used says nothing of the others.
        if shares.iter().all(|(_, share)| *share == 0.0) {
            continue;
        }
        let known = kinds.entry(names_of(one)).or_default();
        shares.iter().for_each(|(at_ns, share)| known.entry(*at_ns).or_default().push(share.min(1.0)));
    }
    let mut all: Vec<PartUtilisation> = kinds
        .into_iter()
        .map(|((part, resource), shares)| {
            let point = |(at_ns, shares): (u64, Vec<f64>)| UsePoint {
                at_s: at_ns as f64 / 1e9,
                mean_share: crate::statistics::mean(&shares),
                smallest_share: shares.iter().copied().fold(1.0, f64::min),
                largest_share: shares.iter().copied().fold(0.0, f64::max),
                parts: shares.len(),
            };
            PartUtilisation { part, resource, points: shares.into_iter().map(point).collect() }
        })
        .collect();
    let mean = |one: &PartUtilisation| {
        one.points.iter().map(|point| point.mean_share).sum::<f64>() / one.points.len() as f64
    };
    all.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
    all
}

/// Shares of the intervals between readings of a cumulative busy time. A count that falls is that of a new twin, and says
/// nothing of the interval.
fn busy_by_interval(one: &CounterSeries, servers: f64) -> Vec<(u64, f64)> {
    let mut shares = Vec::new();
    let (mut before_ns, mut before) = (0, 0.0);
    for (at_ns, value) in one.points.iter().filter_map(|point| Some((point.case_at_ns?, point.value))) {
        if at_ns > before_ns && value >= before {
            shares.push((at_ns, (value - before) / (at_ns - before_ns) as f64 / servers));
        }
        (before_ns, before) = (at_ns, value);
    }
    shares
}

fn each(one: &CounterSeries, share: impl Fn(f64) -> f64) -> Vec<(u64, f64)> {
    one.points.iter().filter_map(|point| Some((point.case_at_ns?, share(point.value)))).collect()
}

/// Kind of part and resource of a counter of busy time.
fn names_of(one: &CounterSeries) -> (String, String) {
    if one.source == "twin" {
        let resource = if one.name == BUSY_ALONE { "core" } else { one.name.trim_end_matches(BUSY) };
        (kind_of(&one.entity), resource.to_owned())
    } else {
        (one.source.clone(), if one.source == "cpu" { "busy".to_owned() } else { one.name.clone() })
    }
}

fn after(series: &CounterSeries, ramp_s: f64) -> Vec<&CounterPoint> {
    let is_after =
        |point: &&CounterPoint| point.case_at_ns.is_some_and(|at| at as f64 / 1e9 >= ramp_s - 1e-6);
    series.points.iter().filter(is_after).collect()
}

/// By how much a cumulative counter grew in the time counted, and in what time.
fn grown(series: &CounterSeries, counted: Counted) -> Option<(f64, f64)> {
    let points = after(series, counted.ramp_s);
    let last = points.last()?;
    let first = points.first().and_then(|first| Some((first.value, first.case_at_ns? as f64)));
    let (first_value, first_ns) = match first {
        // What was read when the twin began is of the one before it.
        Some((value, at_ns)) if counted.ramp_s > counted.twin_began_s => (value, at_ns),
        _ => (0.0, counted.twin_began_s * 1e9),
    };
    let elapsed_ns = last.case_at_ns? as f64 - first_ns;
    (elapsed_ns > 0.0).then_some((last.value - first_value, elapsed_ns))
}

fn mean(series: &CounterSeries, ramp_s: f64) -> Option<f64> {
    let points = after(series, ramp_s);
    let count = points.len();
    (count > 0).then(|| points.iter().map(|point| point.value).sum::<f64>() / count as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn series(source: &str, entity: &str, name: &str, values: &[(u64, f64)]) -> CounterSeries {
        let points = values
            .iter()
            .map(|&(at_s, value)| CounterPoint {
                at_ns: at_s * 1_000_000_000 + 7,
                case_at_ns: Some(at_s * 1_000_000_000),
                value,
            })
            .collect();
        CounterSeries { source: source.into(), entity: entity.into(), name: name.into(), points }
    }

    /// Proves that busy shares count from the end of the ramp, that pools are divided by their servers and left out
    /// where nobody says how many there are.
    #[test]
    fn busy_time_becomes_a_share_of_the_counted_time() {
        let all = [
            series("twin", "link-0", "to_host_busy_ns", &[(5, 5e9), (10, 7.5e9), (15, 10e9)]),
            series("twin", "controller-0", "processors_busy_ns", &[(5, 0.0), (15, 20e9)]),
            series("twin", "controller-0", "processors", &[(5, 4.0), (15, 4.0)]),
            series("twin", "controller-1", "processors_busy_ns", &[(5, 0.0), (15, 5e9)]),
            series("twin", "hosts", "fill_threads", &[(5, 2.0), (15, 2.0)]),
            series("twin", "hosts", "threads_busy_ns", &[(5, 1e9), (15, 16e9)]),
            series("cpu", "all", "%idle", &[(5, 90.0), (10, 10.0), (15, 30.0)]),
        ];
        let found = busy(&all, Counted { ramp_s: 5.0, twin_began_s: 0.0 }, &mut Names::default());
        let shares: Vec<(&str, &str, f64)> =
            found.iter().map(|one| (one.of.entity.as_str(), one.of.resource.as_str(), one.share)).collect();
        assert_eq!(shares[0], ("link-0", "to_host", 0.5));
        assert_eq!(shares[1], ("controller-0", "processors", 0.5));
        assert_eq!(shares[2], ("hosts", "threads", 0.75));
        assert_eq!(shares[3].0, "all");
        assert!((shares[3].2 - (1.0 - 130.0 / 300.0)).abs() < 1e-12);
        assert_eq!(shares.len(), 4, "{shares:?}");
        assert_eq!(case_start_ns(&all), Some(7));
    }

    /// Proves that commands that wait are the mean after the ramp, of all controllers of the twin together.
    #[test]
    fn waiting_commands_are_those_of_all_controllers() {
        let all = [
            series("twin", "controller-0", WAITING_COMMANDS, &[(2, 90.0), (5, 4.0), (10, 8.0)]),
            series("twin", "controller-1", WAITING_COMMANDS, &[(2, 90.0), (5, 1.0), (10, 2.0)]),
            series("twin", "controller-1", "fill_commands", &[(5, 30.0), (10, 30.0)]),
        ];
        let counted = Counted { ramp_s: 5.0, twin_began_s: 0.0 };
        assert_eq!(waiting_commands(&all, counted), 7.5);
        assert_eq!(waiting_commands(&all[2..], counted), 0.0);
    }

    /// Proves that utilisation over time is that of each interval, from 0 at the start of the load, divided by servers, with mean and
    /// extremes over like parts, and that a count which falls says nothing of its interval.
    #[test]
    fn utilisation_is_told_interval_by_interval() {
        let all = [
            series("twin", "disk-0", "arm_busy_ns", &[(5, 5e9), (10, 7.5e9), (15, 1e9), (20, 2e9)]),
            series("twin", "disk-1", "arm_busy_ns", &[(5, 0.0), (10, 5e9), (15, 10e9), (20, 15e9)]),
            series("twin", "controller-0", "processors_busy_ns", &[(5, 2e9), (10, 4e9)]),
            series("twin", "controller-0", "processors", &[(5, 4.0), (10, 4.0)]),
            series("twin", "hosts", "threads_busy_ns", &[(5, 20e9)]),
            series("twin", "link-0", "to_host_busy_ns", &[(5, 0.0), (10, 0.0)]),
        ];
        let found = over_time(&all);
        let names: Vec<(&str, &str)> =
            found.iter().map(|one| (one.part.as_str(), one.resource.as_str())).collect();
        assert_eq!(
            names,
            [("disk", "arm"), ("controller", "processors")],
            "busiest first, idle ones left out"
        );
        let points: Vec<(f64, f64, f64, f64, usize)> = found[0]
            .points
            .iter()
            .map(|one| (one.at_s, one.mean_share, one.smallest_share, one.largest_share, one.parts))
            .collect();
        assert_eq!(
            points,
            [
                (5.0, 0.5, 0.0, 1.0, 2),
                (10.0, 0.75, 0.5, 1.0, 2),
                (15.0, 1.0, 1.0, 1.0, 1),
                (20.0, 0.6, 0.2, 1.0, 2)
            ]
        );
        assert_eq!(found[1].points[1].mean_share, 0.1);
    }

    /// Proves that a part that is full all the time is shown also where single intervals have more than all of their time, as
    /// extrapolated ones do, and that a pool of unknown size is not.
    #[test]
    fn a_full_part_is_shown_whatever_single_intervals_have() {
        let all = [
            series("twin", "drive-0", "bus_busy_ns", &[(5, 5.2e9), (10, 9.9e9), (15, 14.9e9)]),
            series("twin", "drive-1", "bus_busy_ns", &[(5, 5e9), (10, 10.3e9), (15, 15e9)]),
            series("twin", "node-0", "core_busy_ns", &[(5, 9e9), (10, 18e9), (15, 20e9)]),
        ];
        let found = over_time(&all);
        assert_eq!(found.len(), 1, "{found:?}");
        assert_eq!((found[0].part.as_str(), found[0].points[0].parts), ("drive", 2));
        assert!(found[0].points.iter().all(|point| (0.9..=1.0).contains(&point.mean_share)), "{found:?}");
    }

    /// Proves that counters of data services count from the end of the ramp, that levels are their last value, and that those of other
    /// parts and of hosts are none.
    #[test]
    fn services_count_over_the_counted_time() {
        let all = [
            series("twin", "thin", "allocations", &[(5, 100.0), (10, 250.0), (15, 400.0)]),
            series("twin", "wear", "fill_days_left", &[(5, 9.0), (15, 7.0)]),
            series("twin", "drive-0", "host_units", &[(5, 1.0), (15, 2.0)]),
            series("disk", "thin", "allocations", &[(5, 1.0), (15, 2.0)]),
        ];
        let found = of_services(&all, Counted { ramp_s: 5.0, twin_began_s: 0.0 }, &mut Names::default());
        let counts: Vec<(&str, &str, f64)> =
            found.iter().map(|one| (one.of.entity.as_str(), one.of.resource.as_str(), one.value)).collect();
        assert_eq!(counts, [("thin", "allocations", 300.0), ("wear", "fill_days_left", 7.0)]);
        let whole = of_services(&all, Counted { ramp_s: 0.0, twin_began_s: 0.0 }, &mut Names::default());
        assert_eq!(whole[0].value, 400.0, "a twin begins at 0");
        let is_read = |one: &CounterSeries| is_read(&one.source, &one.entity, &one.name);
        assert_eq!(all.each_ref().map(is_read), [true, true, false, false]);
    }

    /// Proves that after a search, whose points each have a twin of their own, the counters of the last twin alone count, from
    /// 0 where the result has no ramp.
    #[test]
    fn the_last_twin_of_a_search_counts() {
        let all = [series("twin", "link-0", "to_host_busy_ns", &[(5, 4e9), (10, 4e9), (15, 1e9), (20, 2e9)])];
        let share =
            |ramp_s| busy(&all, Counted { ramp_s, twin_began_s: 10.0 }, &mut Names::default())[0].share;
        assert_eq!(share(10.0), 0.2);
        assert_eq!(share(15.0), 0.2);
    }

    /// Proves that paths are told apart by the device that they lead to, that ports are paths and drives are none, and
    /// that both directions count from the end of the ramp.
    #[test]
    fn paths_carry_bytes_to_their_device() {
        let rate = |source, entity, name, kb_per_s| {
            series(source, entity, name, &[(5, 9e9), (10, kb_per_s), (15, kb_per_s)])
        };
        let all = [
            rate("disk", "sda", "rkB/s", 5.0),
            rate("path", "mpatha/sdb", "rkB/s", 10.0),
            rate("path", "mpatha/sdb", "wkB/s", 1.0),
            rate("path", "nvme0n1/nvme0c1n1", "wkB/s", 4.0),
            rate("path", "mpatha/sdb", "r/s", 99.0),
            rate("port", "host2", "rkB/s", 3.0),
        ];
        let found = carried(&all, Counted { ramp_s: 6.0, twin_began_s: 0.0 });
        let found: Vec<(&str, &str, f64)> =
            found.iter().map(|one| (one.paths.as_str(), one.entity.as_str(), one.bytes)).collect();
        assert_eq!(
            found,
            [
                ("path of mpatha", "mpatha/sdb", 11.0 * 1024.0),
                ("path of nvme0n1", "nvme0n1/nvme0c1n1", 4096.0),
                ("port", "host2", 3072.0)
            ]
        );
    }
}

//! Other cases of a run that tell whether the I/Os of one queue: the same with more or fewer outstanding, and the latency of an I/O that
//! hardly queues.

use crate::Level;
use crate::level::total;
use crate::observation::{Observation, ObservedCase};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Latency so many times that of the same case with at most half the I/Os outstanding is mostly time in queues …
const QUEUED: f64 = 3.0;
/// … and so many times the least of its block size, where there is no such case: another mix takes another time by itself.
const QUEUED_BESIDE_ANOTHER: f64 = 10.0;

/// Twice the depth has a little less or more than twice as much outstanding: some of it is on its way through the host.
const TWICE: f64 = 1.9;

/// IOPS that differ by no more than this share are as many: where half or twice as much is outstanding, parts that are free would
/// make a factor of two of it.
const AS_MANY: f64 = 0.05;

/// Settings that say how much is outstanding and for how long, not what is done.
const HOW_MUCH: [&str; 5] = ["numjobs", "iodepth", "ioengine", "runtime", "ramp_time"];

/// Cases of a run, indexed by workload. They are sorted when the first case asks, and only once: a run has more than a thousand of
/// them, and most are told by a part that is full.
pub(crate) struct OtherCases<'a> {
    observation: &'a Observation,
    cases: OnceCell<Cases>,
}

#[derive(Default)]
struct Cases {
    /// I/Os outstanding and mean latency of cases that do the same, each with its place in the observation.
    alike: BTreeMap<String, Vec<(f64, f64, usize)>>,
    /// The lowest mean latency by block size, as bits, and the place of its case.
    least_ns: BTreeMap<Option<u64>, (f64, usize)>,
}

/// Unloaded latency of a case.
pub(super) struct UnloadedLatency {
    pub latency_ns: f64,
    /// The case, as `stage/case`.
    pub path: String,
    /// So many times as much is mostly time in queues.
    pub factor: f64,
    /// Owner of the latency, in words.
    pub of: &'static str,
}

/// Case that does the same with more or fewer I/Os outstanding.
pub(super) struct OtherDepth {
    /// The case, as `stage/case`.
    pub path: String,
    pub outstanding: f64,
    pub iops: f64,
}

impl<'a> OtherCases<'a> {
    pub fn new(observation: &'a Observation) -> Self {
        OtherCases { observation, cases: OnceCell::new() }
    }

    /// The same case of its stage with at most half as much outstanding that does as many I/Os, or with at least twice as much that does
    /// no more; of several the one with the fewest outstanding. `None` beside events and limits, which make IOPS of their own.
    pub(super) fn with_as_many(&self, case: &ObservedCase, level: &Level) -> Option<OtherDepth> {
        let is_plain = |one: &ObservedCase| one.moments.is_empty() && one.limits.is_empty();
        let cases = self.cases.get_or_init(|| Cases::of(self.observation));
        let alike = cases.alike.get(&what(case)).filter(|_| is_plain(case))?;
        let others = alike.iter().filter_map(|(outstanding, latency_ns, place)| {
            let other = self.observation.cases.get(*place)?;
            let iops = outstanding / latency_ns * 1e9;
            let ratio = iops / level.iops;
            let is_less = *outstanding <= level.outstanding / TWICE && ratio >= 1.0 - AS_MANY;
            let is_so = ratio <= 1.0 + AS_MANY && (is_less || *outstanding >= level.outstanding * TWICE);
            (is_so && other.stage == case.stage && is_plain(other)).then(|| OtherDepth {
                path: other.path(),
                outstanding: *outstanding,
                iops,
            })
        });
        others.min_by(|a, b| a.outstanding.total_cmp(&b.outstanding))
    }

    /// That of the same case with at most half as much outstanding; else the least of its block size.
    pub(super) fn beside(&self, case: &ObservedCase, outstanding: f64) -> UnloadedLatency {
        let cases = self.cases.get_or_init(|| Cases::of(self.observation));
        let alike = cases.alike.get(&what(case)).into_iter().flatten();
        let alone = alike
            .filter(|(other, _, _)| *other <= outstanding / TWICE)
            .map(|(_, latency_ns, place)| (*latency_ns, *place))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let (found, factor, of) = match alone {
            Some(found) => (Some(found), QUEUED, "the same with fewer outstanding"),
            None => {
                let least = cases.least_ns.get(&size(case)).copied();
                (least, QUEUED_BESIDE_ANOTHER, "the lowest of this block size")
            }
        };
        let (latency_ns, place) = found.unwrap_or((f64::INFINITY, 0));
        let path = self.observation.cases.get(place).map(ObservedCase::path).unwrap_or_default();
        UnloadedLatency { latency_ns, path, factor, of }
    }
}

impl Cases {
    fn of(observation: &Observation) -> Cases {
        let mut cases = Cases::default();
        for (place, case) in observation.cases.iter().enumerate() {
            let level = total(case);
            if level.mean_latency_ns > 0.0 {
                let of_case = (level.outstanding, level.mean_latency_ns, place);
                cases.alike.entry(what(case)).or_default().push(of_case);
                let least = cases.least_ns.entry(size(case)).or_insert((f64::INFINITY, place));
                if level.mean_latency_ns < least.0 {
                    *least = (level.mean_latency_ns, place);
                }
            }
        }
        cases
    }
}

/// Key of a case's workload, however much of it is outstanding.
fn what(case: &ObservedCase) -> String {
    let settings = case.settings.iter().filter(|(name, _)| !HOW_MUCH.contains(&name.as_str()));
    settings.map(|(name, value)| format!("{name}={value},")).collect()
}

fn size(case: &ObservedCase) -> Option<u64> {
    case.number("bs").map(f64::to_bits)
}

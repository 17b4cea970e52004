//! How long an I/O takes where nothing or little waits: what a queue is told by.

use crate::level::total;
use crate::observation::{Observation, ObservedCase};
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// Latency so many times that of the same case with at most half the I/Os outstanding is mostly time in queues …
const QUEUED: f64 = 3.0;
/// … and so many times the least of its block size, where there is no such case: another mix takes another time by itself.
const QUEUED_BESIDE_ANOTHER: f64 = 10.0;

/// Settings that say how much is outstanding and for how long, not what is done.
const HOW_MUCH: [&str; 5] = ["numjobs", "iodepth", "ioengine", "runtime", "ramp_time"];

/// The cases of a run by what they do. They are sorted when the first case asks, and only once: a run has more than a thousand of
/// them, and most are told by a part that is full.
pub(crate) struct Calm<'a> {
    observation: &'a Observation,
    cases: OnceCell<Cases>,
}

#[derive(Default)]
struct Cases {
    /// What is outstanding and the mean latency, of cases that do the same.
    alike: BTreeMap<String, Vec<(f64, f64)>>,
    /// The least mean latency by block size, as bits.
    least_ns: BTreeMap<Option<u64>, f64>,
}

/// The latency of a case where little waits.
pub(super) struct CalmLatency {
    pub latency_ns: f64,
    /// So many times as much is mostly time in queues.
    pub factor: f64,
    /// Whose it is, in words.
    pub of: &'static str,
}

impl<'a> Calm<'a> {
    pub fn new(observation: &'a Observation) -> Self {
        Calm { observation, cases: OnceCell::new() }
    }

    /// That of the same case with at most half as much outstanding; else the least of its block size.
    pub(super) fn beside(&self, case: &ObservedCase, outstanding: f64) -> CalmLatency {
        let cases = self.cases.get_or_init(|| Cases::of(self.observation));
        let alike = cases.alike.get(&what(case)).into_iter().flatten();
        let alone_ns = alike
            .filter(|(other, _)| *other <= outstanding / 2.0)
            .map(|(_, latency_ns)| *latency_ns)
            .fold(f64::INFINITY, f64::min);
        if alone_ns.is_finite() {
            return CalmLatency {
                latency_ns: alone_ns,
                factor: QUEUED,
                of: "the same with fewer outstanding",
            };
        }
        CalmLatency {
            latency_ns: cases.least_ns.get(&size(case)).copied().unwrap_or(f64::INFINITY),
            factor: QUEUED_BESIDE_ANOTHER,
            of: "the least of this block size",
        }
    }
}

impl Cases {
    fn of(observation: &Observation) -> Cases {
        let mut cases = Cases::default();
        for case in &observation.cases {
            let level = total(case);
            if level.mean_latency_ns > 0.0 {
                cases.alike.entry(what(case)).or_default().push((level.outstanding, level.mean_latency_ns));
                let least_ns = cases.least_ns.entry(size(case)).or_insert(f64::INFINITY);
                *least_ns = least_ns.min(level.mean_latency_ns);
            }
        }
        cases
    }
}

/// What a case does, however much of it at once.
fn what(case: &ObservedCase) -> String {
    let settings = case.settings.iter().filter(|(name, _)| !HOW_MUCH.contains(&name.as_str()));
    settings.map(|(name, value)| format!("{name}={value},")).collect()
}

fn size(case: &ObservedCase) -> Option<u64> {
    case.number("bs").map(f64::to_bits)
}

//! Grid of intervals: samples of all hosts that belong to one interval become one.
//!
//! Hosts begin together and count intervals from their own start, so that equal starts mean the same interval. An interval
//! is handed on when every host that runs the load has delivered it, or has ended before it.

use crate::sample_sum::add_to;
use load::Sample;
use std::collections::{BTreeMap, BTreeSet};

/// Intervals of one load that are incomplete.
#[derive(Debug, Default)]
pub(super) struct SampleGrid {
    open: BTreeMap<u64, (Sample, BTreeSet<usize>)>,
    /// Hosts that still deliver, with the end of the last interval of each.
    delivering: BTreeMap<usize, u64>,
}

impl SampleGrid {
    /// A grid of the load on these hosts.
    pub fn new(hosts: impl IntoIterator<Item = usize>) -> SampleGrid {
        SampleGrid { open: BTreeMap::new(), delivering: hosts.into_iter().map(|host| (host, 0)).collect() }
    }

    /// Adds a host's interval; gives those that are whole now, in order.
    pub fn add(&mut self, host: usize, sample: &Sample) -> Vec<Sample> {
        if let Some(end_ns) = self.delivering.get_mut(&host) {
            *end_ns = (*end_ns).max(sample.end_ns);
        }
        match self.open.get_mut(&sample.start_ns) {
            None => {
                self.open.insert(sample.start_ns, (sample.clone(), BTreeSet::from([host])));
            }
            Some((merged, hosts)) => {
                add_to(merged, sample);
                hosts.insert(host);
            }
        }
        self.take_whole()
    }

    /// A host has ended: nothing more of it is waited for.
    pub fn end(&mut self, host: usize) -> Vec<Sample> {
        self.delivering.remove(&host);
        self.take_whole()
    }

    /// Returns the samples that are left when all hosts have ended, or the case has.
    pub fn finish(&mut self) -> Vec<Sample> {
        std::mem::take(&mut self.open).into_values().map(|(sample, _)| sample).collect()
    }

    fn take_whole(&mut self) -> Vec<Sample> {
        let mut whole = Vec::new();
        while let Some(first) = self.open.first_entry() {
            let start_ns = *first.key();
            let hosts = &first.get().1;
            let is_owed = |(host, end_ns): (&usize, &u64)| !hosts.contains(host) && *end_ns <= start_ns;
            if self.delivering.iter().any(is_owed) {
                break;
            }
            whole.push(first.remove().0);
        }
        whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(start_s: u64, ios: u64) -> Sample {
        let mut sample = Sample {
            start_ns: start_s * 1_000_000_000,
            end_ns: (start_s + 1) * 1_000_000_000,
            ..Sample::default()
        };
        for _ in 0..ios {
            sample.read.latency.record(1000);
        }
        sample.read.ios = ios;
        sample
    }

    fn starts(samples: &[Sample]) -> Vec<(u64, u64)> {
        samples.iter().map(|sample| (sample.start_ns / 1_000_000_000, sample.read.ios)).collect()
    }

    /// Proves that an interval is handed on once, in order, when all hosts have delivered it, however late one is, with the
    /// sum of their counts and all their latencies.
    #[test]
    fn an_interval_waits_for_all_hosts() {
        let mut grid = SampleGrid::new([0, 1, 2]);
        assert!(grid.add(0, &sample(0, 1)).is_empty());
        assert!(grid.add(0, &sample(1, 2)).is_empty());
        assert!(grid.add(2, &sample(0, 10)).is_empty());
        assert!(grid.add(2, &sample(1, 20)).is_empty());
        let whole = grid.add(1, &sample(0, 100));
        assert_eq!(starts(&whole), [(0, 111)]);
        assert_eq!(whole[0].read.latency.count(), 111);
        assert_eq!(starts(&grid.add(1, &sample(1, 200))), [(1, 222)]);
        assert!(grid.finish().is_empty());
    }

    /// Proves that a host which has ended is not waited for, and that nothing of what it delivered is lost.
    #[test]
    fn a_host_that_ended_is_not_waited_for() {
        let mut grid = SampleGrid::new([0, 1]);
        assert!(grid.add(0, &sample(0, 1)).is_empty());
        assert!(grid.add(0, &sample(1, 2)).is_empty());
        assert_eq!(starts(&grid.end(1)), [(0, 1), (1, 2)]);
        assert_eq!(starts(&grid.add(0, &sample(2, 4))), [(2, 4)]);
        let mut grid = SampleGrid::new([0, 1]);
        grid.add(0, &sample(3, 7));
        assert_eq!(starts(&grid.finish()), [(3, 7)]);
    }
}

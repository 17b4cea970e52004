//! Share of a case's reads that met nothing but unallocated units of thin volumes and asked no drive.

use store::LoadOutcome;
use twin::Twin;

/// Counter of such reads at the end of the ramp and later.
#[derive(Debug, Clone, Copy)]
pub(super) struct UnwrittenReads {
    before: u64,
    now: u64,
}

fn count(twin: &Twin) -> u64 {
    let counters = twin.counters();
    let unallocated = counters.iter().find(|one| one.entity == "thin" && one.name == "unallocated_reads");
    unallocated.map_or(0, |counter| counter.value)
}

impl UnwrittenReads {
    /// Counts from the state of a twin on.
    pub fn of(twin: &Twin) -> UnwrittenReads {
        let now = count(twin);
        UnwrittenReads { before: now, now }
    }

    /// Reads the counter at the end of an interval; reads in the ramp do not count.
    pub fn look(&mut self, twin: &Twin, is_ramp: bool) {
        self.now = count(twin);
        if is_ramp {
            self.before = self.now;
        }
    }

    /// Returns a remark on reads of unwritten addresses; `None` where there were none.
    pub fn in_words(self, loads: &[LoadOutcome]) -> Option<String> {
        let reads: u64 = loads.iter().filter_map(|load| load.read.as_ref()).map(|read| read.ios).sum();
        let unwritten = (self.now - self.before).min(reads);
        (unwritten > 0).then(|| {
            let percent = match unwritten as f64 / reads as f64 * 100.0 {
                share if share < 0.1 => "less than 0.1 %".to_owned(),
                share => format!("{share:.1} %"),
            };
            format!(
                "{percent} of reads were of unwritten units and read nothing: fill the volume first (`precondition`)"
            )
        })
    }
}

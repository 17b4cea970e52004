//! Share of a case's reads that met nothing but unallocated units of thin volumes and asked no drive.

use crate::message::CaseEvent;
use findings::UNWRITTEN_READS_EVENT;
use serde_json::json;
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

    /// Record of reads of unwritten addresses, with a remark as its text; `None` where there were none.
    pub fn record(self, loads: &[LoadOutcome]) -> Option<CaseEvent> {
        let reads: u64 = loads.iter().filter_map(|load| load.read.as_ref()).map(|read| read.ios).sum();
        let unwritten = (self.now - self.before).min(reads);
        (unwritten > 0).then(|| {
            let share = unwritten as f64 / reads as f64;
            let percent = match share * 100.0 {
                percent if percent < 0.1 => "less than 0.1 %".to_owned(),
                percent => format!("{percent:.1} %"),
            };
            CaseEvent {
                case_at_ns: 0,
                kind: UNWRITTEN_READS_EVENT.to_owned(),
                text: format!(
                    "{percent} of reads were of unwritten units and read nothing: fill the volume first (`precondition`)"
                ),
                data: Some(json!({ "share": share })),
            }
        })
    }
}

//! The host's own counters, read while a campaign runs on a real target.

use crate::message::{Message, OwnedCounter};
use probe::{DeviceSelection, INTERVAL_MINIMUM, ProbeError, ProbeRoots, ProbeSettings, ProbeThread};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};
use store::RunClock;

/// Reads the host's counters while a campaign runs.
pub(crate) struct HostWatch(ProbeThread);

impl HostWatch {
    pub fn start(
        interval: Duration,
        devices: DeviceSelection,
        clock: RunClock,
        tell: SyncSender<Message>,
    ) -> Result<HostWatch, ProbeError> {
        // The probe counts from its start; a resumed run's clock does not begin there.
        let (run_start, started_at_ns) = (Instant::now(), clock.now_ns());
        let settings = ProbeSettings {
            roots: ProbeRoots::system(),
            devices,
            interval: interval.max(INTERVAL_MINIMUM),
            run_start,
        };
        ProbeThread::start(settings, move |read| {
            let counters = read
                .counters
                .iter()
                .map(|counter| OwnedCounter {
                    source: counter.source,
                    entity: counter.entity.to_string(),
                    name: counter.name.to_owned(),
                    value: counter.value,
                })
                .collect();
            // The keeper has gone only when the campaign is over.
            let _ = tell.send(Message::HostCounters { at_ns: started_at_ns + read.end_ns, counters });
        })
        .map(HostWatch)
    }

    /// Takes a last reading and ends; what it missed is said in words.
    pub fn stop(self) -> Option<String> {
        match self.0.stop() {
            Ok(summary) if summary.late > 0 => Some(format!(
                "the host's counters were read late {} times: their intervals are longer",
                summary.late
            )),
            Ok(_) => None,
            Err(error) => Some(format!("the host's counters ended early: {error}")),
        }
    }
}

//! Telemetry of a campaign on a real target: counters of the host, health of the drives, and values of
//! commands and Prometheus addresses, all on the run's clock.

use crate::message::{Message, OwnedCounter};
use diagnostic::{full_text, text_with_causes};
use plan::Watch;
use probe::{
    Answer, CollectorSettings, CollectorSource, CollectorThread, CommandSettings, DeviceSelection,
    HealthSettings, HostInterval, INTERVAL_MINIMUM, ProbeRoots, ProbeSettings, ProbeThread,
    PrometheusSettings,
};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};
use store::RunClock;

/// Telemetry sources and the interval of host counters.
#[derive(Debug, Clone)]
pub(crate) struct WatchSettings {
    pub interval: Duration,
    /// Block devices; the health of their drives is read.
    pub devices: DeviceSelection,
    /// Telemetry sources that the plan names beside the host.
    pub plan: Watch,
}

/// Everything that is read while a campaign runs. Each source has a thread, so that none keeps another waiting.
pub(crate) struct HostWatch {
    host: Option<ProbeThread>,
    collectors: Vec<CollectorThread>,
}

impl HostWatch {
    /// Starts all sources. What cannot be started is said in words, and the others go on without it.
    pub fn start(
        watched: WatchSettings,
        clock: RunClock,
        tx: &SyncSender<Message>,
    ) -> (HostWatch, Vec<String>) {
        // Sources count from their start; a resumed run's clock does not begin there.
        let origin = Origin { start: Instant::now(), at_ns: clock.now_ns() };
        let mut problems = Vec::new();
        let host = match start_host(&watched, origin, tx.clone()) {
            Ok(thread) => Some(thread),
            Err(error) => {
                problems.push(format!("the host's counters are not read: {}", full_text(&error)));
                None
            }
        };
        let mut collectors = Vec::new();
        for (source, interval, timeout) in sources(watched) {
            let name = source.name();
            let settings = CollectorSettings { source, interval, timeout, run_start: origin.start };
            match start_collector(settings, origin, tx.clone()) {
                Ok(thread) => collectors.push(thread),
                Err(error) => {
                    problems.push(format!("counters of `{name}` are not read: {}", full_text(&error)));
                }
            }
        }
        (HostWatch { host, collectors }, problems)
    }

    /// Takes a last reading of the host and ends; returns what was missed, in words.
    pub fn stop(self) -> Vec<String> {
        self.collectors.iter().for_each(CollectorThread::signal_stop);
        let mut missed = Vec::new();
        match self.host.map(ProbeThread::stop) {
            Some(Ok(summary)) if summary.late > 0 => missed.push(format!(
                "the host's counters were read late {} times: their intervals are longer",
                summary.late
            )),
            Some(Ok(_)) | None => {}
            Some(Err(error)) => {
                missed.push(format!("the host's counters ended early: {}", full_text(&error)));
            }
        }
        missed.extend(self.collectors.into_iter().filter_map(|thread| thread.stop().warning()));
        missed
    }
}

/// A moment on both clocks: that of this process and the run's.
#[derive(Debug, Clone, Copy)]
struct Origin {
    start: Instant,
    at_ns: u64,
}

fn start_host(
    watched: &WatchSettings,
    origin: Origin,
    tx: SyncSender<Message>,
) -> Result<ProbeThread, probe::ProbeError> {
    let settings = ProbeSettings {
        roots: ProbeRoots::system(),
        devices: watched.devices.clone(),
        interval: watched.interval.max(INTERVAL_MINIMUM),
        run_start: origin.start,
    };
    ProbeThread::start(settings, move |read| {
        for change in &read.path_changes {
            let _ = tx.send(Message::PathChanged {
                at_ns: origin.at_ns + read.end_ns,
                path: change.path.to_string(),
                is_usable: change.is_usable,
                state: change.state.clone(),
            });
        }
        // The coordinator has gone only when the campaign is over.
        let _ = tx.send(Message::HostCounters { at_ns: origin.at_ns + read.end_ns, counters: owned(read) });
    })
}

/// Returns the counters of an interval as the coordinator receives them.
pub(crate) fn owned(read: &HostInterval) -> Vec<OwnedCounter> {
    read.counters
        .iter()
        .map(|counter| OwnedCounter {
            source: counter.source.into(),
            entity: counter.entity.to_string(),
            name: counter.name.to_owned(),
            value: counter.value,
        })
        .collect()
}

fn start_collector(
    settings: CollectorSettings,
    origin: Origin,
    tx: SyncSender<Message>,
) -> Result<CollectorThread, probe::ProbeError> {
    CollectorThread::start(settings, move |received| {
        let message = match received {
            Ok(Answer { at_ns, source, values }) => {
                let owned = |value: probe::CollectedValue| OwnedCounter {
                    source: source.to_owned().into(),
                    entity: value.entity,
                    name: value.name,
                    value: value.value,
                };
                let counters = values.into_iter().map(owned).collect();
                Message::HostCounters { at_ns: origin.at_ns + at_ns, counters }
            }
            Err(problem) => {
                Message::Warning { text: format!("{}; it is asked again", text_with_causes(&problem)) }
            }
        };
        // As above.
        let _ = tx.send(message);
    })
}

/// Lists the telemetry sources with their poll intervals and timeouts.
fn sources(watched: WatchSettings) -> Vec<(CollectorSource, Duration, Duration)> {
    let WatchSettings { devices, plan, .. } = watched;
    let times = |poll: plan::PollSettings| {
        (Duration::from_nanos(poll.every_ns), Duration::from_nanos(poll.timeout_ns))
    };
    let commands = plan.commands.into_iter().map(|command| {
        let (every, timeout) = times(command.poll);
        let settings = CommandSettings {
            name: command.name,
            arguments: command.arguments,
            cumulative: command.cumulative,
        };
        (CollectorSource::Command(settings), every, timeout)
    });
    let addresses = plan.addresses.into_iter().map(|address| {
        let (every, timeout) = times(address.poll);
        let settings =
            PrometheusSettings { name: address.name, address: address.address, metrics: address.metrics };
        (CollectorSource::Prometheus(settings), every, timeout)
    });
    let mut all: Vec<_> = commands.chain(addresses).collect();
    if plan.has_health {
        let settings = HealthSettings::system(devices);
        let every = settings.interval();
        // All drives together may take until they are due again.
        all.push((CollectorSource::Health(settings), every, every));
    }
    all
}

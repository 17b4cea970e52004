//! Cases on a real target, by fio.

use crate::carry_out::{ONLY_LOAD, Order, Worker};
use crate::message::{Ended, Message, OwnedCounter};
use fio::{Engine, FioCase, FioError, FioOutcome};
use plan::{Case, SettingScope};
use probe::{DeviceSelection, INTERVAL_MINIMUM, ProbeError, ProbeRoots, ProbeSettings, ProbeThread};
use serde_json::Value;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};
use store::{CaseOutcome, CaseStatus, DirectionTotals, LoadOutcome, RunClock};
use target::{Address, Inspected, PermitError, ReadPermit, WritePermit};

/// The leave that a campaign has for its target, held as long as it lasts.
#[derive(Debug)]
enum Permit {
    Write(WritePermit),
    Read(ReadPermit),
}

impl Permit {
    fn inspected(&self) -> &Inspected {
        match self {
            Permit::Write(permit) => permit.inspected(),
            Permit::Read(permit) => permit.inspected(),
        }
    }

    /// fio opens the address by itself, so the address is looked at again before each case.
    fn recheck(&self) -> Result<(), PermitError> {
        match self {
            Permit::Write(permit) => permit.recheck(),
            Permit::Read(_) => Ok(()),
        }
    }
}

/// Runs fio on one real target.
#[derive(Debug)]
pub(crate) struct FioWorker {
    engine: Engine,
    permit: Permit,
    address: fio::Target,
    target: String,
    interval_ns: u64,
}

impl FioWorker {
    pub fn writing(engine: Engine, permit: WritePermit, target: String, interval_ns: u64) -> FioWorker {
        let address = fio_target(permit.address());
        FioWorker { engine, permit: Permit::Write(permit), address, target, interval_ns }
    }

    pub fn reading(engine: Engine, permit: ReadPermit, target: String, interval_ns: u64) -> FioWorker {
        let address = fio_target(permit.address());
        FioWorker { engine, permit: Permit::Read(permit), address, target, interval_ns }
    }

    /// Everything known about the target, for the manifest.
    pub fn describe_target(&self) -> Value {
        self.permit.inspected().describe()
    }

    /// Starts to read the host's counters on the run's clock.
    pub fn watch_host(&self, clock: RunClock, tell: SyncSender<Message>) -> Result<HostWatch, ProbeError> {
        let devices: Vec<String> =
            self.permit.inspected().kernel_name().map(str::to_owned).into_iter().collect();
        HostWatch::start(Duration::from_nanos(self.interval_ns), devices, clock, tell)
    }

    /// The case's settings for fio. A plan that names an engine for devices also runs on an NBD address, which only
    /// one of fio's engines reaches; `engine_warning` says so.
    fn options(&self, case: &Case) -> Vec<(String, String)> {
        let is_nbd = matches!(self.address, fio::Target::Nbd(_));
        case.settings_of(SettingScope::Engine)
            .into_iter()
            .map(|(name, value)| match name.as_str() {
                "ioengine" if is_nbd => (name, NBD_ENGINE.to_owned()),
                _ => (name, value.as_str().map_or_else(|| value.to_string(), str::to_owned)),
            })
            .collect()
    }

    fn engine_warning(&self, case: &Case) -> Option<String> {
        let wanted = case.settings.get("ioengine").and_then(Value::as_str)?;
        let replaced = matches!(self.address, fio::Target::Nbd(_)) && wanted != NBD_ENGINE;
        replaced.then(|| {
            format!(
                "ioengine={wanted} was replaced by {NBD_ENGINE}, the only one that reaches an NBD address"
            )
        })
    }

    fn run_fio(
        &self,
        case: &Case,
        case_index: u32,
        directory: &Path,
        tell: &SyncSender<Message>,
        stop: &AtomicBool,
    ) -> Result<FioOutcome, FioError> {
        let options = self.options(case);
        let fio_case = FioCase { target: &self.address, load: &case.load, options: &options, directory };
        self.engine.run(
            &fio_case,
            &mut |progress| {
                let share = progress.elapsed_ns as f64 / progress.expected_ns.max(1) as f64;
                let _ = tell.send(Message::Progress { case_index, share });
            },
            stop,
        )
    }
}

/// What only one of fio's engines can do on an NBD address.
const NBD_ENGINE: &str = "nbd";

fn fio_target(address: Address) -> fio::Target {
    match address {
        Address::Path(path) => fio::Target::Path(path),
        Address::NbdUri(uri) => fio::Target::Nbd(uri),
    }
}

impl Worker for FioWorker {
    fn measure(&self, case: &Case, order: &Order, tell: &SyncSender<Message>, stop: &AtomicBool) -> Ended {
        let mut outcome = CaseOutcome {
            status: CaseStatus::Done,
            engine: "fio".into(),
            target: self.target.clone(),
            duration_ns: case.load.runtime_ns,
            loads: Vec::new(),
            error: None,
            warnings: Vec::new(),
        };
        let array_settings = case.settings_of(SettingScope::Array);
        if !array_settings.is_empty() {
            let names: Vec<&str> = array_settings.keys().map(String::as_str).collect();
            outcome.status = CaseStatus::NotSettable;
            outcome.error = Some(format!(
                "nothing can set {} on this target: one unchanged array is never reported as several",
                names.join(", ")
            ));
            return Ended::Outcome(Box::new(outcome));
        }
        let failed = |outcome: &mut CaseOutcome, error: String| {
            outcome.status = CaseStatus::Failed;
            outcome.error = Some(error);
        };
        if let Err(error) = self.permit.recheck() {
            failed(&mut outcome, error.to_string());
            return Ended::Outcome(Box::new(outcome));
        }
        for event in &case.events {
            outcome.warnings.push(format!(
                "the plan's event `{}` at {} was not made: nothing can make it on this target",
                event.action,
                units::human_duration(event.at_ns)
            ));
        }
        outcome.warnings.extend(self.engine_warning(case));
        let Some(directory) = &order.directory else {
            failed(&mut outcome, "the case has no directory for fio's files".into());
            return Ended::Outcome(Box::new(outcome));
        };
        let ran = self.run_fio(case, order.case_index, directory, tell, stop);
        if stop.load(Ordering::Relaxed) {
            return Ended::Stopped;
        }
        match ran {
            Ok(measured) => take_over(&mut outcome, measured, order.case_index, tell),
            Err(error) => {
                failed(&mut outcome, error.to_string());
                if let FioError::Failed { partial: Some(partial), .. } = error {
                    take_over(&mut outcome, *partial, order.case_index, tell);
                }
            }
        }
        Ended::Outcome(Box::new(outcome))
    }
}

/// Hands fio's samples over and keeps its totals, which are exact.
fn take_over(outcome: &mut CaseOutcome, measured: FioOutcome, case_index: u32, tell: &SyncSender<Message>) {
    for sample in measured.samples {
        let message = Message::Sample {
            case_index,
            sample: Box::new(sample),
            counters: Vec::new(),
            events: Vec::new(),
        };
        if tell.send(message).is_err() {
            break;
        }
    }
    let totals = |direction: fio::DirectionTotals| {
        (direction.ios > 0 || direction.errors > 0).then_some(DirectionTotals {
            ios: direction.ios,
            bytes: direction.bytes,
            errors: direction.errors,
            latency: direction.latency,
            service: None,
        })
    };
    outcome.loads.push(LoadOutcome {
        name: ONLY_LOAD.into(),
        target: None,
        duration_ns: None,
        read: totals(measured.read),
        write: totals(measured.write),
        trim: totals(measured.trim),
    });
    if measured.runtime_ns > 0 {
        outcome.duration_ns = measured.runtime_ns;
    }
    outcome.warnings.extend(measured.warnings);
}

/// Reads the host's counters while a campaign runs.
pub(crate) struct HostWatch(ProbeThread);

impl HostWatch {
    fn start(
        interval: Duration,
        devices: Vec<String>,
        clock: RunClock,
        tell: SyncSender<Message>,
    ) -> Result<HostWatch, ProbeError> {
        // The probe counts from its start; a resumed run's clock does not begin there.
        let (run_start, started_at_ns) = (Instant::now(), clock.now_ns());
        let settings = ProbeSettings {
            roots: ProbeRoots::system(),
            devices: if devices.is_empty() {
                DeviceSelection::Whole
            } else {
                DeviceSelection::Named(devices)
            },
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

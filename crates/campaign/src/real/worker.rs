//! Worker for cases on real targets.

use crate::message::{Ended, Message};
use crate::real::engine::{NBD_ENGINE, RealEngine, is_direct, misfit_of_fio, shown};
use crate::real::events::{Events, EventsOfCase};
use crate::real::filesystem::Mounted;
use crate::real::host::HostSettingsGuard;
use crate::real::loads::{Issuer, Listener, LoadRun, Measured, RealLoad, run_at_once};
use crate::real::precondition::{filling, is_short, load_of, purge};
use crate::real::reporter::{CaseStop, Reporter};
use crate::real::{AgentParts, ArraySetter, Held, HeldTargets, HostWatch, WatchSettings, part_of};
use crate::sample_sum::add_to_interval;
use crate::targets::target_of;
use crate::worker::{CaseJob, ONLY_LOAD, Worker};
use diagnostic::{Problem, full_text, text_with_causes};
use hosts::Part;
use load::ContentTally;
use load_engine::{Handover, HandoverChoice};
use plan::{Amount, Case, SettingScope, SettingValues, Stripe};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;
use storage_target::{Address, Inspected, Roots};
use store::{CaseOutcome, CaseStatus, LoadOutcome, PRECONDITIONING_LOAD, RunClock};

/// Parts of a worker.
#[derive(Debug)]
pub(crate) struct RealWorkerParts {
    pub engine: RealEngine,
    pub targets: HeldTargets,
    pub array: Option<ArraySetter>,
    /// Array settings that the user says the array has (`--set`).
    pub declared: SettingValues,
    pub interval_ns: u64,
    pub watched: WatchSettings,
    /// Parameters of an agent, where a coordinator gives out the cases; the coordinator also sets the array.
    pub agent: Option<AgentParts>,
}

/// Measures cases on real targets, one after another.
#[derive(Debug)]
pub(crate) struct RealWorker {
    engine_name: &'static str,
    watched: WatchSettings,
    testbed: Mutex<Testbed>,
}

impl RealWorker {
    /// The engine, as results name it.
    pub fn engine_name(&self) -> &'static str {
        self.engine_name
    }

    pub fn new(parts: RealWorkerParts) -> RealWorker {
        RealWorker {
            engine_name: parts.engine.choice().name(),
            watched: parts.watched.clone(),
            testbed: Mutex::new(Testbed { parts, host: HostSettingsGuard::default(), is_written: false }),
        }
    }

    /// Starts to read what is watched on the run's clock.
    pub fn watch_host(&self, clock: RunClock, tx: &SyncSender<Message>) -> (HostWatch, Vec<String>) {
        HostWatch::start(self.watched.clone(), clock, tx)
    }
}

impl Worker for RealWorker {
    fn measure(
        &self,
        case: &Case,
        _neighbours: &[Case],
        job: &CaseJob,
        tx: &SyncSender<Message>,
        stop: &AtomicBool,
    ) -> Ended {
        // One thread uses it; if it panicked, the campaign has ended.
        let mut testbed = self.testbed.lock().unwrap_or_else(PoisonError::into_inner);
        let mut outcome = CaseOutcome {
            status: CaseStatus::Done,
            engine: testbed.parts.engine.choice().name().into(),
            target: testbed.target_text(case),
            duration_ns: case.load.runtime_ns,
            loads: Vec::new(),
            error: None,
            warnings: Vec::new(),
            extrapolation: None,
        };
        let reporter = Reporter { case_index: job.case_index, tx };
        let case_stop = match &job.directory {
            Some(directory) => {
                testbed.measure(case, (directory, &job.parts), &reporter, stop, &mut outcome).err()
            }
            None => Some(CaseStop::Failed("the case has no directory for its files".into())),
        };
        if stop.load(Ordering::Relaxed) {
            return Ended::Stopped;
        }
        let (status, why, gave_up) = match case_stop {
            None => return Ended::Outcome(Box::new(outcome)),
            Some(CaseStop::Stopped) => return Ended::Stopped,
            Some(CaseStop::Failed(why)) => (CaseStatus::Failed, why, false),
            Some(CaseStop::NotSettable(why)) => (CaseStatus::NotSettable, why, false),
            Some(CaseStop::Refused(why)) => (CaseStatus::Refused, why, false),
            Some(CaseStop::GaveUp(why)) => (CaseStatus::Failed, why, true),
        };
        Ended::gave_up_if(gave_up, outcome, status, why)
    }

    fn close(&self, tx: &SyncSender<Message>) {
        let mut testbed = self.testbed.lock().unwrap_or_else(PoisonError::into_inner);
        testbed.host.put_back(tx);
        testbed.parts.targets.let_go();
        if let Some(array) = &mut testbed.parts.array {
            array.finish(tx);
        }
    }
}

#[derive(Debug)]
struct Testbed {
    parts: RealWorkerParts,
    host: HostSettingsGuard,
    /// The writes that cases rely on were made, and nothing has undone them.
    is_written: bool,
}

impl Testbed {
    fn target_text(&self, case: &Case) -> String {
        let texts = || self.parts.targets.0.iter().map(|held| held.text.as_str());
        if case.loads.is_empty() && case.stripe.is_none() {
            texts().next().unwrap_or_default().to_owned()
        } else {
            texts().collect::<Vec<_>>().join(" ")
        }
    }

    fn measure(
        &mut self,
        case: &Case,
        (directory, parts): (&Path, &[Option<Part>]),
        reporter: &Reporter<'_>,
        stop: &AtomicBool,
        outcome: &mut CaseOutcome,
    ) -> Result<(), CaseStop> {
        // Asked before anything can fail: writes that this case was to bring are still owed to those after it.
        if case.preconditioning.is_some() {
            self.is_written = false;
        }
        self.set_array(case, reporter, stop)?;
        self.parts.targets.hold().map_err(|error| match self.parts.array {
            Some(_) => CaseStop::gave_up(&error),
            None => CaseStop::failed(&error),
        })?;
        let devices = self.parts.targets.kernel_names();
        self.host.apply(case, &devices, reporter)?;
        if let Some(wanted) = case.conditioned_by.as_ref().filter(|_| !self.is_written) {
            if wanted.purge {
                self.purge(reporter)?;
            }
            if wanted.times > 0 {
                let loads = self.each_target(|inspected, seed| {
                    let range = self.written_range(inspected.capacity_bytes);
                    load_of(wanted, range, self.parts.interval_ns, seed)
                })?;
                self.write_before(&loads, directory, "written before the test", reporter, stop)?;
            }
            self.is_written = true;
        }
        match &case.filesystem {
            Some(wanted) => {
                // A file system takes the place of what was written.
                self.is_written = false;
                self.measure_in_filesystem(case, wanted, directory, reporter, stop, outcome)
            }
            None => {
                let loads = self.loads(case, parts, outcome)?;
                self.run_loads(case, &loads, directory, reporter, stop, outcome)
            }
        }
    }

    /// First byte and length of what this host writes of a volume before cases: its part, where hosts share the volume.
    fn written_range(&self, capacity_bytes: u64) -> (u64, u64) {
        let part = self.parts.agent.as_ref().and_then(|agent| agent.part);
        part.map_or((0, capacity_bytes), |part| part_of(0, capacity_bytes, part))
    }

    fn set_array(&mut self, case: &Case, reporter: &Reporter<'_>, stop: &AtomicBool) -> Result<(), CaseStop> {
        if self.parts.agent.is_some() {
            return Ok(());
        }
        let wanted = case.settings_of(SettingScope::Array);
        let Some(array) = &mut self.parts.array else {
            let declared = &self.parts.declared;
            let unknown: Vec<String> = wanted
                .iter()
                .filter(|(name, value)| declared.get(*name) != Some(value))
                .map(|(name, value)| format!("{name}={}", shown(value)))
                .collect();
            return if unknown.is_empty() {
                Ok(())
            } else {
                Err(CaseStop::NotSettable(format!(
                    "nobody sets {} on this target: one unchanged array is never reported as several; name who sets it with --array, or what it is with --set",
                    unknown.join(", ")
                )))
            };
        };
        if wanted.is_empty() || !array.differs(&wanted) {
            return Ok(());
        }
        self.host.put_back(reporter.sender());
        self.parts.targets.let_go();
        self.is_written = false;
        let devices = array.set(&wanted, reporter, stop)?;
        if devices.is_empty() {
            return Ok(());
        }
        let targets = &mut self.parts.targets.0;
        if devices.len() != targets.len() {
            return Err(CaseStop::GaveUp(format!(
                "the driver made {} devices, but the run has {} targets",
                devices.len(),
                targets.len()
            )));
        }
        for (target, device) in targets.iter_mut().zip(&devices) {
            target.replace(device).map_err(|error| CaseStop::gave_up(&error))?;
            reporter.happened(
                0,
                "device",
                &format!(
                    "{} is the device that the array's driver made ({})",
                    device.path.display(),
                    device.id
                ),
                None,
            );
        }
        Ok(())
    }

    /// Discards all data of the targets. One that takes no discards is left as it is, and the run says so.
    fn purge(&self, reporter: &Reporter<'_>) -> Result<(), CaseStop> {
        for held in &self.parts.targets.0 {
            let inspected =
                held.inspected().ok_or_else(|| CaseStop::Failed(format!("{} is not held", held.text)))?;
            reporter.waiting(&format!("{} is purged", held.text));
            let text = match purge(&inspected.address(), self.written_range(inspected.capacity_bytes)) {
                Ok(()) => {
                    reporter.happened(0, "purge", &format!("{} was purged", held.text), None);
                    continue;
                }
                Err(problem) => format!(
                    "{} was not purged ({}): the test begins in the state that earlier writes left",
                    held.text,
                    text_with_causes(&problem)
                ),
            };
            reporter.send(Message::Warning { text });
        }
        Ok(())
    }

    /// Writes to every target at once.
    fn each_target(
        &self,
        load: impl Fn(&Inspected, u64) -> (load::LoadSpec, u64),
    ) -> Result<Vec<RealLoad>, CaseStop> {
        let targets = &self.parts.targets.0;
        targets
            .iter()
            .enumerate()
            .map(|(number, held)| {
                let inspected =
                    held.inspected().ok_or_else(|| CaseStop::Failed(format!("{} is not held", held.text)))?;
                let (load, bytes) = load(inspected, number as u64 + 1);
                Ok(RealLoad {
                    name: format!("target-{number}"),
                    issuer: self.issuer(&[held], true, None)?,
                    target_text: held.text.clone(),
                    load,
                    io_size_bytes: Some(bytes),
                    settings: SettingValues::new(),
                    start_ns: 0,
                })
            })
            .collect()
    }

    /// Returns the issuer of a load to targets that are held; several are one stripe.
    fn issuer(&self, held: &[&Held], direct: bool, stripe: Option<Stripe>) -> Result<Issuer, CaseStop> {
        match &self.parts.engine {
            RealEngine::Fio(engine) => {
                let inspected = held.first().and_then(|held| held.inspected());
                let inspected = inspected.ok_or_else(|| CaseStop::Failed("no target is held".into()))?;
                let target = fio_target(inspected.address()).map_err(|problem| CaseStop::failed(&problem))?;
                Ok(Issuer::Fio { engine: Arc::clone(engine), target, server: None })
            }
            RealEngine::Ring => {
                if let [only] = held
                    && let Some(inspected) = only.inspected().filter(|it| it.address() == Address::Null)
                {
                    return Ok(Issuer::Null { capacity_bytes: inspected.capacity_bytes });
                }
                let opened: Result<Vec<_>, Problem> = held.iter().map(|held| held.open(direct)).collect();
                let targets = opened.map_err(|problem| CaseStop::failed(&problem))?;
                let unit_bytes = stripe.and_then(|stripe| stripe.unit_bytes);
                let chunk_bytes = load_engine::stripe_chunk_bytes(&targets, unit_bytes);
                Ok(Issuer::Ring { targets, chunk_bytes })
            }
        }
    }

    /// Writes that no result counts, sampled and kept like any load.
    fn write_before(
        &self,
        loads: &[RealLoad],
        directory: &Path,
        says: &str,
        reporter: &Reporter<'_>,
        stop: &AtomicBool,
    ) -> Result<(), CaseStop> {
        let bytes = loads.iter().filter_map(|load| load.io_size_bytes).fold(0, u64::saturating_add);
        reporter.waiting(&format!("{} are {says}", units::human_bytes(bytes)));
        let directory = directory.join(PRECONDITIONING_LOAD);
        std::fs::create_dir_all(&directory)
            .map_err(|error| CaseStop::Failed(format!("cannot create {}: {error}", directory.display())))?;
        let keep = |sample| reporter.send(Message::sample(reporter.case_index, PRECONDITIONING_LOAD, sample));
        let merged: Mutex<Vec<load::Sample>> = Mutex::default();
        let listener = Listener {
            on_sample: &|_, sample| match loads.len() {
                1 => keep(sample),
                _ => add_to_interval(&mut merged.lock().unwrap_or_else(PoisonError::into_inner), sample),
            },
            on_progress: &|_| {},
        };
        let ran = run_at_once(loads, &directory, &listener, stop, None);
        if stop.load(Ordering::Relaxed) {
            return Err(CaseStop::Stopped);
        }
        for (load, LoadRun { measured, failed, is_pending }) in loads.iter().zip(ran) {
            if let Some(why) = failed {
                let why = format!("{} could not be {says}: {why}", load.target_text);
                return Err(if is_pending { CaseStop::GaveUp(why) } else { CaseStop::Failed(why) });
            }
            let measured = measured.unwrap_or_default();
            let written_bytes = measured.write.as_ref().map_or(0, |write| write.bytes);
            if is_short(load, written_bytes) {
                return Err(CaseStop::Failed(format!(
                    "{} took only {} in {}",
                    load.target_text,
                    units::human_bytes(written_bytes),
                    units::human_duration(measured.runtime_ns)
                )));
            }
        }
        merged.into_inner().unwrap_or_else(PoisonError::into_inner).into_iter().for_each(keep);
        Ok(())
    }

    fn measure_in_filesystem(
        &mut self,
        case: &Case,
        wanted: &plan::Filesystem,
        directory: &Path,
        reporter: &Reporter<'_>,
        stop: &AtomicBool,
        outcome: &mut CaseOutcome,
    ) -> Result<(), CaseStop> {
        let [target] = &mut self.parts.targets.0[..] else {
            return Err(CaseStop::NotSettable("a file system is made on one target".into()));
        };
        let device = target.inspected().filter(|inspected| inspected.kernel_name().is_some());
        let Some(Address::Path(device)) = device.map(Inspected::address) else {
            return Err(CaseStop::NotSettable(format!(
                "a file system needs a block device, and {} is none",
                target.text
            )));
        };
        let target_text = target.text.clone();
        reporter.waiting(&format!("{} is made on {}", wanted.kind, device.display()));
        // The kernel gives a device to one holder at a time; the mount holds it from here on.
        target.let_go();
        let host = &mut self.host;
        let mut note = |device: &Path, mount_point: &Path| {
            host.note_mount(device, mount_point, reporter.sender()).map_err(|error| Problem::of(&error))
        };
        let mounted = Mounted::make(wanted, &device, directory, &mut note)
            .map_err(|problem| CaseStop::failed(&problem))?;
        let (fill, bytes) = filling(mounted.file_bytes, self.parts.interval_ns, case.load.seed);
        let measured = Held::of_own_file(target_text.clone(), mounted.file.clone())
            .map_err(|error| CaseStop::failed(&error))
            .and_then(|file| {
                let on_file = |name: &str, load, io_size_bytes, settings: SettingValues| {
                    Ok(RealLoad {
                        name: name.to_owned(),
                        issuer: self.issuer(&[&file], is_direct(&settings), None)?,
                        target_text: target_text.clone(),
                        load,
                        io_size_bytes,
                        settings,
                        start_ns: 0,
                    })
                };
                let fill = [on_file(PRECONDITIONING_LOAD, fill, Some(bytes), SettingValues::new())?];
                self.write_before(&fill, directory, "written into the file", reporter, stop)?;
                let io_size_bytes = io_size_bytes(case.ends_after, &case.load, mounted.file_bytes);
                let load = on_file(ONLY_LOAD, case.load.clone(), io_size_bytes, case.settings.clone())?;
                self.run_loads(case, &[load], directory, reporter, stop, outcome)
            });
        let unmounted = mounted.unmount().map_err(|problem| CaseStop::failed(&problem));
        measured.and(unmounted)
    }

    /// The loads of a case on its targets.
    fn loads(
        &self,
        case: &Case,
        parts: &[Option<Part>],
        outcome: &mut CaseOutcome,
    ) -> Result<Vec<RealLoad>, CaseStop> {
        let targets = &self.parts.targets.0;
        let on = |(name, part): (&str, Option<Part>),
                  settings: &SettingValues,
                  load: &load::LoadSpec,
                  ends_after,
                  start_ns,
                  held: &[&Held]| {
            let capacities = held.iter().filter_map(|held| held.inspected().map(|it| it.capacity_bytes));
            let capacity_bytes = capacities.fold(0, u64::saturating_add);
            let load = &of_part(load, capacity_bytes, part);
            let issuer = self.issuer(held, is_direct(settings), case.stripe)?;
            if matches!(issuer, Issuer::Fio { .. }) && is_direct(settings) {
                let misfit =
                    held.iter().filter_map(|held| misfit_of_fio(load, &held.text, held.inspected()?)).next();
                misfit.map_or(Ok(()), |problem| Err(CaseStop::failed(&problem)))?;
            }
            Ok(RealLoad {
                name: name.to_owned(),
                issuer,
                target_text: held.iter().map(|held| held.text.as_str()).collect::<Vec<_>>().join(" "),
                load: load.clone(),
                io_size_bytes: io_size_bytes(ends_after, load, capacity_bytes),
                settings: settings.clone(),
                start_ns,
            })
        };
        let loads: Vec<RealLoad> = if case.loads.is_empty() {
            let all: Vec<&Held> = targets.iter().collect();
            vec![on(
                (ONLY_LOAD, parts.first().copied().flatten()),
                &case.settings,
                &case.load,
                case.ends_after,
                0,
                &all,
            )?]
        } else {
            let texts: Vec<&str> = targets.iter().map(|held| held.text.as_str()).collect();
            case.loads
                .iter()
                .enumerate()
                .map(|(index, load)| {
                    let number = target_of(case, index, &texts).map_err(|error| CaseStop::failed(&error))?;
                    let held = [&targets[number]];
                    let part = parts.get(index).copied().flatten();
                    on((&load.name, part), &load.settings, &load.load, load.ends_after, load.start_ns, &held)
                })
                .collect::<Result<_, CaseStop>>()?
        };
        let wanted = case.settings.get("ioengine").and_then(Value::as_str);
        let is_replaced =
            loads.iter().any(|load| matches!(load.issuer, Issuer::Fio { target: fio::Target::Nbd(_), .. }));
        if let Some(wanted) = wanted.filter(|wanted| is_replaced && *wanted != NBD_ENGINE) {
            outcome.warnings.push(format!(
                "ioengine={wanted} was replaced by {NBD_ENGINE}, the only one that reaches an NBD address"
            ));
        }
        Ok(loads)
    }

    /// Returns warnings for results that come from this host's memory instead of storage.
    fn measures_memory(&self, loads: &[RealLoad]) -> Vec<String> {
        let direct = loads.iter().all(|load| is_direct(&load.settings));
        let roots = Roots::system();
        let inspected = self.parts.targets.0.iter().filter_map(|held| Some((held, held.inspected()?)));
        inspected
            .filter_map(|(held, inspected)| {
                let why = inspected.answers_from_memory(&roots, direct)?;
                Some(format!("{} is measured through this host's memory, not as storage: {why}", held.text))
            })
            .collect()
    }

    fn run_loads(
        &mut self,
        case: &Case,
        loads: &[RealLoad],
        directory: &Path,
        reporter: &Reporter<'_>,
        stop: &AtomicBool,
        outcome: &mut CaseOutcome,
    ) -> Result<(), CaseStop> {
        let gives_samples = !loads.iter().any(|load| matches!(load.issuer, Issuer::Fio { .. }));
        let first = self.parts.targets.0.first().and_then(Held::inspected);
        let capacity_bytes = first.map_or(0, |inspected| inspected.capacity_bytes);
        let range_bytes = case.load.range_bytes(capacity_bytes);
        let EventsOfCase { events, warnings, mut missed } =
            Events::of(case, self.parts.array.is_some(), gives_samples, range_bytes);
        outcome.warnings.extend(warnings);
        let over = AtomicBool::new(false);
        let (ran, made) = std::thread::scope(|scope| {
            let making = self.parts.array.as_mut().filter(|_| !events.is_empty()).map(|array| {
                let (events, over) = (&events, &over);
                scope.spawn(move || events.make(array.driver(), reporter, over))
            });
            let case_index = reporter.case_index;
            let listener = Listener {
                on_sample: &|number, sample| {
                    // As on a twin, conditions are about the first load.
                    if number == 0 {
                        events.look(&sample);
                    }
                    reporter.send(Message::sample(case_index, &loads[number].name, sample));
                },
                on_progress: &|share| reporter.send(Message::Progress { case_index, share }),
            };
            reporter.send(Message::Loaded { case_index, is_loaded: true, at: Instant::now() });
            let barrier = self.parts.agent.as_ref().map(|agent| agent.start.begin(loads.len()));
            let ran = run_at_once(loads, directory, &listener, stop, barrier.as_deref());
            reporter.send(Message::Loaded { case_index, is_loaded: false, at: Instant::now() });
            over.store(true, Ordering::Relaxed);
            let made = making.map_or(Ok(Vec::new()), |making| {
                making.join().unwrap_or_else(|_| Err("the thread that makes events panicked".into()))
            });
            (ran, made)
        });
        if stop.load(Ordering::Relaxed) {
            return Err(CaseStop::Stopped);
        }
        let mut failed = match made {
            Ok(never_due) => {
                missed.extend(never_due);
                None
            }
            Err(problem) => Some(full_text(&problem)),
        };
        for event in missed {
            reporter.send(Message::Happened { case_index: reporter.case_index, event: event.record() });
            outcome.warnings.push(event.why);
        }
        let is_only = loads.len() == 1;
        let mut is_pending = false;
        for (load, LoadRun { measured, failed: why, is_pending: hangs }) in loads.iter().zip(ran) {
            is_pending |= hangs;
            if let Some(why) = why {
                failed.get_or_insert(if is_only { why } else { format!("{}: {why}", load.name) });
            }
            if let Some(measured) = measured {
                let ended_ns =
                    load.start_ns.saturating_add(load.load.ramp_ns).saturating_add(measured.runtime_ns);
                if let Some(blocks) = measured.verified_blocks {
                    let text =
                        format!("{blocks} blocks of `{}` were read back and are as written", load.name);
                    reporter.happened(ended_ns, "verified", &text, None);
                }
                if let Some((text, data)) = measured.content.and_then(|content| delivered(load, &content)) {
                    reporter.happened(ended_ns, "content", &text, Some(data));
                }
                if let Some(choice) = &measured.handover {
                    reporter.happened(
                        ended_ns,
                        "handover",
                        &format!("`{}`: {choice}", load.name),
                        Some(handover_data(load, choice)),
                    );
                }
                take_over(outcome, load, measured, is_only);
            }
        }
        outcome.warnings.extend(self.measures_memory(loads));
        match failed {
            None => Ok(()),
            Some(why) if is_pending => Err(CaseStop::GaveUp(why)),
            Some(why) => Err(CaseStop::Failed(why)),
        }
    }
}

/// Describes the content that a load wrote, in words and figures.
fn delivered(load: &RealLoad, content: &ContentTally) -> Option<(String, Value)> {
    let (compress, dedupe) = (content.compress_percent()?, content.dedupe_percent()?);
    let requested = load.load.shape.content;
    let text = format!(
        "what `{}` wrote shrinks by {compress:.1} % under deflate ({} % asked) and has {dedupe:.1} % duplicates ({} % asked)",
        load.name, requested.compress_percent, requested.dedupe_percent
    );
    let data = json!({
        "load": load.name, "blocks": content.blocks, "compress_percent": compress, "dedupe_percent": dedupe,
    });
    Some((text, data))
}

/// Data of the event that says how our own engine handed I/O over, with what its trials gave.
fn handover_data(load: &RealLoad, choice: &HandoverChoice) -> Value {
    let way =
        |way: &Handover| json!({ "force_async": way.force_async, "defer_taskrun": way.deferred_completion });
    let trials = choice.trials.iter().map(|(tried, iops)| {
        let mut trial = way(tried);
        trial["iops"] = json!(iops.round());
        trial
    });
    let trials: Vec<Value> = trials.collect();
    json!({
        "load": load.name,
        "chosen": way(&choice.chosen),
        "trials": trials,
        "trial_ios": choice.trial_ios,
    })
}

/// Keeps an engine's totals, which are exact.
fn take_over(outcome: &mut CaseOutcome, load: &RealLoad, measured: Measured, is_only: bool) {
    outcome.loads.push(LoadOutcome {
        name: load.name.clone(),
        target: (!is_only).then(|| load.target_text.clone()),
        duration_ns: (!is_only).then_some(measured.runtime_ns),
        cpu_ns: measured.cpu_ns,
        read: measured.read,
        write: measured.write,
        trim: measured.trim,
    });
    if is_only && measured.runtime_ns > 0 {
        outcome.duration_ns = measured.runtime_ns;
    }
    outcome.warnings.extend(measured.warnings);
}

/// The load in a part of its range, where hosts divide it.
pub(crate) fn of_part(load: &load::LoadSpec, capacity_bytes: u64, part: Option<Part>) -> load::LoadSpec {
    let mut load = load.clone();
    if let Some(part) = part {
        let whole = capacity_bytes.saturating_sub(load.offset_bytes);
        let range = load.range_bytes(capacity_bytes).min(whole);
        let (offset_bytes, size_bytes) = part_of(load.offset_bytes, range, part);
        (load.offset_bytes, load.size_bytes) = (offset_bytes, Some(size_bytes));
    }
    load
}

/// The bytes after which a load ends, in a range of this target.
pub(crate) fn io_size_bytes(
    ends_after: Option<Amount>,
    load: &load::LoadSpec,
    capacity_bytes: u64,
) -> Option<u64> {
    ends_after.map(|amount| amount.resolve(load.range_bytes(capacity_bytes)))
}

pub(crate) fn fio_target(address: Address) -> Result<fio::Target, Problem> {
    match address {
        Address::Path(path) => Ok(fio::Target::Path(path)),
        Address::NbdUri(uri) => Ok(fio::Target::Nbd(uri)),
        Address::Null => Err("a null target is one of our own engine; fio has `ioengine=null`".into()),
    }
}

//! Cases on a twin, in simulated time.

mod case_checks;
mod case_run;
mod concurrent;
mod timed_events;
mod twin_cache;
mod unwritten;

pub use case_checks::CaseChecks;
pub use twin_cache::TwinCache;

use crate::CampaignError;
use crate::message::{CaseEvent, Ended, Message, OwnedCounter};
use crate::missed_event::MissedEvent;
use crate::worker::{CaseJob, ONLY_LOAD, Worker};
use diagnostic::{Problem, full_text};
use load::{AsFastAsPossible, Clock, Device as _, Extrapolation, NEVER_STOPPED, Pattern, Sample, WallClock};
use plan::{Case, Preconditioning, SettingScope};
use serde_json::{Map, Value};
use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use storage_target::TwinSpec;
use store::{CaseOutcome, CaseStatus, LoadOutcome};
use twin::{ArrayDescription, Twin, TwinError};
use units::human_duration;
use unwritten::UnwrittenReads;

/// The setting of a twin that says in which state it begins.
const CONDITION: &str = "condition";
/// The setting of a twin whose hosts have file systems.
const FILESYSTEM: &str = "filesystem";

/// Whoever waits for the wall clock looks so often whether the run is to stop.
const STOP_LOOK: Duration = Duration::from_millis(100);

/// Brings an array to life for each case.
#[derive(Debug)]
pub(crate) struct Simulator {
    description: Box<ArrayDescription>,
    /// Settings given with the target, which a case's own override.
    settings: Map<String, Value>,
    target: String,
    threads: usize,
    /// Speed of the twins' time in millionths of the wall clock's; `None` as fast as it can be simulated.
    speed_millionths: Option<u64>,
    /// Largest delay of a sample behind the wall clock so far, in nanoseconds.
    late_ns: AtomicU64,
    /// Twins as cases left them that others go on from, by the number of the case.
    parked: Mutex<BTreeMap<u32, Twin>>,
}

impl Simulator {
    pub fn new(
        description: ArrayDescription,
        twin: &TwinSpec,
        target: String,
        threads: Option<usize>,
        speed_millionths: Option<u64>,
    ) -> Self {
        let settings = twin.settings.iter().map(|(name, text)| (name.clone(), typed(name, text))).collect();
        let processors = || match speed_millionths {
            None => std::thread::available_parallelism().map_or(1, usize::from),
            // As on a real array, one after the other: whoever watches sees one.
            Some(_) => 1,
        };
        Simulator {
            description: Box::new(description),
            settings,
            target,
            threads: threads.unwrap_or_else(processors).max(1),
            speed_millionths,
            late_ns: AtomicU64::new(0),
            parked: Mutex::default(),
        }
    }

    pub fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the largest delay of a sample behind the wall clock, where time is paced by it.
    pub fn late_ns(&self) -> Option<u64> {
        self.speed_millionths.map(|_| self.late_ns.load(Ordering::Relaxed))
    }

    /// Waits until a moment of a case has come; `false` where the run is to stop.
    fn keep_time(&self, clock: &impl Clock, at_ns: u64, stop: &AtomicBool) -> bool {
        let waited = clock.wait_until(at_ns, |left| {
            std::thread::sleep(left.map_or(STOP_LOOK, |left| left.min(STOP_LOOK)));
            if stop.load(Ordering::Relaxed) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        if let ControlFlow::Continue(late) = waited {
            let late_ns = u64::try_from(late.as_nanos()).unwrap_or(u64::MAX);
            self.late_ns.fetch_max(late_ns, Ordering::Relaxed);
        }
        waited.is_continue()
    }

    fn has_setting(&self, name: &str) -> bool {
        Twin::settings(&self.description).iter().any(|setting| setting.name == name)
    }

    /// The twin of a case in the state in which the case begins where it continues none. `unwritten` is the state where no writes
    /// precede the case: cases that continue each other show what first and later passes do to an array that nobody has written yet.
    fn build_as(&self, case: &Case, unwritten: Option<&str>) -> Result<Twin, CampaignError> {
        let settings = self.twin_settings(case, unwritten)?;
        Twin::build(&self.description, &settings, case.load.seed).map_err(|source| twin_error(case, source))
    }

    /// Settings of the twin of a case, as [`Simulator::build_as`] builds it.
    fn twin_settings(
        &self,
        case: &Case,
        unwritten: Option<&str>,
    ) -> Result<Map<String, Value>, CampaignError> {
        let mut settings = self.settings.clone();
        settings.extend(case.settings_of(SettingScope::Array));
        let condition = case.conditioned_by.as_ref().map(condition_after).or(unwritten);
        if let Some(condition) = condition
            && self.has_setting(CONDITION)
            && !settings.contains_key(CONDITION)
        {
            settings.insert(CONDITION.to_owned(), condition.into());
        }
        if let Some(filesystem) = case.settings.get(FILESYSTEM) {
            if self.has_setting(FILESYSTEM) {
                settings.insert(FILESYSTEM.to_owned(), filesystem.clone());
            } else if case.filesystem.is_some() {
                let problem =
                    Problem::new(format!("stage `{}`: this twin's hosts have no file systems", case.stage));
                let hint = "leave it out with --stage, or choose --only filesystem=raw";
                return Err(problem.with_hint(hint).into());
            }
        }
        Ok(settings)
    }

    /// Refuses a case that its twin cannot simulate.
    fn check_on(&self, mut twin: Twin, case: &Case) -> Result<Twin, CampaignError> {
        concurrent::check(&mut twin, case)?;
        let conditional = case.conditional_events.iter().map(|event| (&event.action, &event.arguments));
        let (mut is_possible, mut without_part) = (false, None);
        for (action, arguments) in
            case.events.iter().map(|event| (&event.action, &event.arguments)).chain(conditional)
        {
            match twin.clone().act(0, action, arguments) {
                Ok(()) => is_possible = true,
                Err(source @ TwinError::NoSuchPart { .. }) => without_part = without_part.or(Some(source)),
                Err(source) => return Err(twin_error(case, source)),
            }
        }
        match without_part {
            None => Ok(twin),
            // What else happens in the case the array has to survive.
            Some(TwinError::NoSuchPart { event, remedy, .. }) if is_possible => {
                Err(twin_error(case, TwinError::NoSuchEvent { event, remedy }))
            }
            Some(source) => Err(twin_error(case, source)),
        }
    }

    /// An outcome for each load of a case, with nothing counted yet.
    fn empty_outcomes(&self, case: &Case) -> Vec<LoadOutcome> {
        if case.loads.is_empty() {
            return vec![LoadOutcome { name: ONLY_LOAD.into(), ..LoadOutcome::default() }];
        }
        let named = |load: &plan::NamedLoad| LoadOutcome {
            name: load.name.clone(),
            target: Some(concurrent::target_text(&self.target, load)),
            ..LoadOutcome::default()
        };
        case.loads.iter().map(named).collect()
    }

    /// The twin with which a case begins: as the case before it left it, or new.
    fn twin_for(
        &self,
        case: &Case,
        cases: &[Case],
        job: &CaseJob,
        stop: &AtomicBool,
    ) -> Result<Twin, Problem> {
        let index = job.case_index as usize;
        let text_of = |error: CampaignError| Problem::of(&error);
        let Some(before) = job.predecessors.last() else {
            let next_continues = cases.get(index + 1).is_some_and(|next| next.continues);
            return self.build_as(case, next_continues.then_some("fresh")).map_err(text_of);
        };
        let parked = self.parked.lock().unwrap_or_else(PoisonError::into_inner).remove(&before.case_index);
        let mut twin = match parked {
            Some(twin) => twin,
            // After a resume: what led here is done again, and not counted.
            None => {
                let mut twin = self
                    .build_as(&cases[job.predecessors[0].case_index as usize], Some("fresh"))
                    .map_err(text_of)?;
                let mut pause_ns = 0;
                for before in &job.predecessors {
                    pass(&mut twin, pause_ns);
                    let case = before.resolved_case.as_deref().unwrap_or(&cases[before.case_index as usize]);
                    case_run::run(&mut twin, case, stop, &mut |_, _, _| false)?;
                    pause_ns = before.pause_ns;
                }
                twin
            }
        };
        pass(&mut twin, before.pause_ns);
        Ok(twin)
    }
}

/// Runs one case on the twin of an array, outside any run: `on_begin` receives the twin before the first I/O, `on_sample` the twin, the
/// number of the load and the sample, and ends the case with `true`. `settings` apply to the twin where the case has none; it is taken
/// from a cache where one is given.
pub fn simulate_case(
    description: &ArrayDescription,
    settings: &[(String, String)],
    case: &Case,
    twins: Option<&TwinCache>,
    on_begin: &mut dyn FnMut(&mut Twin),
    on_sample: &mut dyn FnMut(&mut Twin, usize, Sample) -> bool,
) -> Result<Extrapolation, CampaignError> {
    let target = TwinSpec { name: description.name.clone(), settings: settings.to_vec() };
    let simulator = Simulator::new(description.clone(), &target, String::new(), Some(1), None);
    let settings = simulator.twin_settings(case, None)?;
    let seed = case.load.seed;
    let built = match twins {
        Some(twins) => twins.build(description, &settings, seed),
        None => Twin::build(description, &settings, seed),
    };
    let mut twin = simulator.check_on(built.map_err(|source| twin_error(case, source))?, case)?;
    concurrent::check_single(&twin, case)?;
    on_begin(&mut twin);
    let ran = case_run::run(&mut twin, case, &NEVER_STOPPED, on_sample)?;
    Ok(ran.extrapolation)
}

/// The state of a twin after writes: `fresh` after none, `written` once in order, `filled` more often and then at rest,
/// `steady` after random writes.
pub fn condition_after(written: &Preconditioning) -> &'static str {
    match (written.pattern, written.times) {
        (_, 0) => "fresh",
        (Pattern::Write | Pattern::Rw | Pattern::Read, 1) => "written",
        (Pattern::Write | Pattern::Rw | Pattern::Read, _) => "filled",
        _ => "steady",
    }
}

fn twin_error(case: &Case, source: TwinError) -> CampaignError {
    CampaignError::Twin { stage: case.stage.clone(), case: case.name.clone(), source: Box::new(source) }
}

/// Lets time pass without load.
fn pass(twin: &mut Twin, time_ns: u64) {
    let until_ns = twin.now_ns().saturating_add(time_ns);
    // Nothing is outstanding; the twin works on behind the scenes.
    while twin.next_completion(until_ns).is_some() {}
}

/// Returns the remark on a case that was not simulated from end to end.
fn in_words(ran: &Extrapolation) -> String {
    format!(
        "{} of {} were simulated, in windows; the time between is taken to be like them (mean rate ± {:.1} %, 95 % \
         confidence); `--exact` simulates all of it",
        human_duration(ran.simulated_ns),
        human_duration(ran.simulated_ns + ran.carried_ns),
        ran.confidence_95 * 100.0
    )
}

/// Returns the remark on drives that are lost and not rebuilt when a load ends: what a rebuild does to a load was seen in part, or not.
fn unrepaired_in_words(twin: &Twin) -> Option<String> {
    let drives = match twin.unrebuilt_drives() {
        0 => None,
        1 => Some("1 lost drive".to_owned()),
        count => Some(format!("{count} lost drives")),
    };
    let rebuilt = twin.rebuilt_share().map(|share| match share {
        share if share < 0.001 => "less than 0.1 %".to_owned(),
        share => format!("{:.1} %", share * 100.0),
    });
    Some(match (rebuilt, drives) {
        (None, None) => return None,
        (Some(share), None) => {
            format!("the rebuild had come to {share} when the load ended: what is left of it was not seen")
        }
        (Some(share), Some(drives)) => format!(
            "the rebuild of a drive had come to {share} when the load ended, and {drives} had none yet: what is left of it was not seen"
        ),
        (None, Some(drives)) => {
            format!("{drives} had neither a spare nor a replacement when the load ended: no rebuild was seen")
        }
    })
}

/// A setting's value as the plan types it, or its text where the plan language does not know it: switches of a twin.
fn typed(name: &str, text: &str) -> Value {
    plan::setting(name).and_then(|setting| setting.parse(text).ok()).unwrap_or_else(|| Value::from(text))
}

impl Worker for Simulator {
    fn measure(
        &self,
        case: &Case,
        cases: &[Case],
        job: &CaseJob,
        tx: &SyncSender<Message>,
        stop: &AtomicBool,
    ) -> Ended {
        match self.speed_millionths {
            None => self.measure_by(|| AsFastAsPossible, case, cases, job, tx, stop),
            Some(speed) => self.measure_by(|| WallClock::start(speed), case, cases, job, tx, stop),
        }
    }
}

impl Simulator {
    /// Measures a case whose samples leave when the clock that is started says so.
    fn measure_by<C: Clock>(
        &self,
        start: impl FnOnce() -> C,
        case: &Case,
        cases: &[Case],
        job: &CaseJob,
        tx: &SyncSender<Message>,
        stop: &AtomicBool,
    ) -> Ended {
        let index = job.case_index as usize;
        let mut outcome = CaseOutcome {
            status: CaseStatus::Done,
            engine: "sim".into(),
            target: self.target.clone(),
            duration_ns: case.load.runtime_ns,
            loads: Vec::new(),
            error: None,
            warnings: Vec::new(),
            extrapolation: None,
        };
        let mut measured_loads = self.empty_outcomes(case);
        let mut counted_ns = 0;
        let measured = self.twin_for(case, cases, job, stop).and_then(|mut twin| {
            let begun_ns = twin.time_ns();
            let clock = start();
            let mut unwritten = UnwrittenReads::of(&twin);
            let ran = case_run::run(&mut twin, case, stop, &mut |twin, number, sample| {
                unwritten.look(twin, sample.is_ramp);
                if !self.keep_time(&clock, sample.end_ns, stop) {
                    return true;
                }
                let outcome = &mut measured_loads[number];
                outcome.add(&sample);
                if case.loads.is_empty() {
                    counted_ns = sample.end_ns.saturating_sub(case.load.ramp_ns);
                } else if !sample.is_ramp {
                    *outcome.duration_ns.get_or_insert_default() += sample.duration_ns();
                }
                let message = Message::Sample {
                    case_index: job.case_index,
                    load: outcome.name.clone(),
                    // The parts of the twin are one set for all loads.
                    counters: if number == 0 { counters(twin) } else { Vec::new() },
                    events: events(twin, begun_ns),
                    sample: Box::new(sample),
                };
                tx.send(message).is_err()
            });
            let unrepaired = unrepaired_in_words(&twin);
            if cases.get(index + 1).is_some_and(|next| next.continues) {
                self.parked.lock().unwrap_or_else(PoisonError::into_inner).insert(job.case_index, twin);
            }
            ran.map(|ran| (ran, unwritten, unrepaired))
        });
        if stop.load(Ordering::Relaxed) {
            return Ended::Stopped;
        }
        let may_end_early = case.ends_after.is_some() || case.load.shape.replay.is_some();
        if may_end_early && counted_ns > 0 {
            outcome.duration_ns = counted_ns;
        }
        outcome.loads = measured_loads;
        match measured {
            Ok((ran, unwritten, unrepaired)) => {
                outcome.warnings.extend(unrepaired);
                if ran.extrapolation.carried_ns > 0 {
                    outcome.warnings.push(in_words(&ran.extrapolation));
                    outcome.extrapolation = Some(ran.extrapolation);
                }
                let missed = ran.missed.iter().map(MissedEvent::record);
                for event in missed.chain(unwritten.record(&outcome.loads)) {
                    outcome.warnings.push(event.text.clone());
                    // The coordinator receives until every worker has hung up.
                    let _ = tx.send(Message::Happened { case_index: job.case_index, event });
                }
            }
            Err(error) => {
                outcome.status = CaseStatus::Failed;
                outcome.error = Some(full_text(&error));
            }
        }
        Ended::Outcome(Box::new(outcome))
    }
}

fn counters(twin: &Twin) -> Vec<OwnedCounter> {
    twin.counters()
        .into_iter()
        .map(|counter| OwnedCounter {
            source: "twin".into(),
            entity: counter.entity,
            name: counter.name.to_owned(),
            value: counter.value as f64,
        })
        .collect()
}

fn events(twin: &mut Twin, begun_ns: u64) -> Vec<CaseEvent> {
    twin.take_notes()
        .into_iter()
        .map(|note| CaseEvent {
            case_at_ns: note.at_ns.saturating_sub(begun_ns),
            kind: "event".into(),
            text: note.says,
            data: None,
        })
        .collect()
}

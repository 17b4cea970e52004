//! Coordinator of a campaign: one thread writes the run directory, workers measure.

use crate::dependencies::needed_before;
use crate::executor::Executor;
use crate::load_choice::Load;
use crate::message::{CaseEvent, Ended, Message, OwnedCounter};
use crate::pace::Pace;
use crate::pauses::Pauses;
use crate::prepare::Campaign;
use crate::real::{HostWatch, append_change};
use crate::rounds::{StageEnds, round_of};
use crate::worker::{CaseJob, Predecessor, Worker, failed};
use crate::{CampaignError, Watcher, inventory, load_choice, longest_first, rate_share, search};
use diagnostic::{Problem, full_text};
use findings::{KnownLevel, SUSTAINED_METHOD, SustainedLevels};
use load::Sample;
use plan::{Case, InventoryMoment, Plan};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::time::{Duration, Instant};
use store::{
    CaseOutcome, CaseRecord, CaseResult, CaseState, CaseStatus, Counter, Event, PRECONDITIONING_LOAD, Run,
    RunEnd, StoreError,
};

/// After so many cases in a row that failed, the target is taken to be gone and the rest is left for a resume.
const FAILURES_IN_A_ROW_LIMIT: u32 = 3;

/// Messages that may wait for the coordinator; workers wait beyond that, so that memory stays bounded.
const MESSAGES_LIMIT: usize = 64;

/// Interval at which the coordinator checks the interruption flag and reports progress to the watcher.
const TICK: Duration = Duration::from_millis(100);

/// Summary of a campaign at its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Summary {
    /// The run directory.
    pub directory: PathBuf,
    /// End of the run, as its record has it.
    pub end: RunEnd,
    /// Cases with status `done`.
    pub done: usize,
    /// Cases that were measured and failed.
    pub failed: usize,
    /// Cases whose settings were refused or could not be made.
    pub not_run: usize,
    /// Cases that have no outcome yet.
    pub pending: usize,
    /// Cases of rounds that were not needed.
    pub not_needed: usize,
    /// Largest delay of a sample behind the wall clock, in nanoseconds, where twins are paced by it.
    pub late_ns: Option<u64>,
}

/// Case with the rate, or the jobs and depth, that the results of other cases gave it.
struct ResolvedCase {
    case: Case,
    /// Kind of the event that records it: `rate` or `load`.
    kind: &'static str,
    text: String,
}

/// Runs the pending cases of a campaign, until all are done, `interrupt` is raised, or the campaign cannot go on.
pub fn run_campaign(
    campaign: Campaign,
    interrupt: &AtomicBool,
    watcher: &mut dyn Watcher,
) -> Result<Summary, CampaignError> {
    let Campaign { cases, plan, mut run, executor, devices, notices, capacity_bytes } = campaign;
    let stage_ends = StageEnds::read(&plan, &cases, capacity_bytes, &run)?;
    let records = run.cases()?;
    let own_records: Vec<&CaseRecord> =
        records.iter().filter(|record| run.manifest().has_case(record.index)).collect();
    let mut pending: Vec<u32> = own_records
        .iter()
        .filter(|record| record.state != CaseState::Ended(CaseStatus::Done))
        .map(|record| record.index)
        .collect();
    let stop = AtomicBool::new(false);
    let worker = executor.worker();
    let workers = executor.threads().min(pending.len()).max(1);
    if workers > 1 {
        longest_first::sort(&mut pending, &cases, &records);
    }
    let ending = std::thread::scope(|scope| {
        let (tx, rx) = sync_channel(MESSAGES_LIMIT);
        let job_senders: Vec<Sender<CaseJob>> = (0..workers)
            .map(|number| {
                let (job, jobs) = channel();
                let (tx, stop, cases) = (tx.clone(), &stop, &cases);
                scope.spawn(move || work(number, worker, cases, &jobs, &tx, stop));
                job
            })
            .collect();
        let (host_watch, not_watched) = match executor.watch_host(run.clock(), &tx) {
            Some((watch, problems)) => (Some(watch), problems),
            None => (None, Vec::new()),
        };
        drop(tx);
        let mut coordinator = Coordinator {
            pace: Pace::new(&own_records, executor.is_real_time()),
            run: &mut run,
            plan: &plan,
            pauses: Pauses::default(),
            stage_ends,
            levels: SustainedLevels::new(&plan, &cases),
            not_needed: BTreeSet::new(),
            cases: &cases,
            records: &records,
            pending: pending.into(),
            idle: (0..workers).collect(),
            under_way: BTreeMap::new(),
            failures_in_a_row: 0,
            not_before: Instant::now(),
            needs_directories: executor.is_real_time(),
            gave_up: None,
            watcher,
        };
        for notice in &notices {
            coordinator.watcher.notice(notice);
        }
        let ending = coordinator
            .end_stages()
            .and_then(|()| coordinator.warn_all(&not_watched))
            .and_then(|()| coordinator.coordinate(&job_senders, &rx, interrupt, &stop));
        // Workers and the probe may be waiting for room in the queue: they are told to stop, and it is emptied.
        stop.store(true, Ordering::Relaxed);
        drop(job_senders);
        let stopped = scope.spawn(move || host_watch.map(HostWatch::stop).unwrap_or_default());
        while let Ok(message) = rx.recv() {
            let is_late_word = matches!(
                message,
                Message::HostCounters { .. }
                    | Message::PathChanged { .. }
                    | Message::Changed { .. }
                    | Message::RunEvent { .. }
                    | Message::Warning { .. }
            );
            if ending.is_ok() && is_late_word {
                coordinator.handle(message)?;
            }
        }
        let missed = stopped.join().unwrap_or_default();
        if ending.is_ok() {
            coordinator.warn_all(&missed)?;
        }
        ending.map(|ending| (ending, coordinator.not_needed.len()))
    });
    // Agents have said theirs when they ended.
    if matches!(executor, Executor::Real(_)) {
        for answer in inventory::take(&plan.inventory, InventoryMoment::End, &devices) {
            let at_ns = run.clock().now_ns();
            let text = answer["command"].as_str().unwrap_or_default().to_owned();
            let kind = "inventory".to_owned();
            run.append_event(&Event { at_ns, kind, text, data: Some(answer), ..Event::default() })?;
        }
    }
    let records = run.own_cases()?;
    let count = |wanted: fn(CaseState) -> bool| records.iter().filter(|record| wanted(record.state)).count();
    let done = count(|state| state == CaseState::Ended(CaseStatus::Done));
    let failed = count(|state| state == CaseState::Ended(CaseStatus::Failed));
    let not_run = count(|state| {
        matches!(state, CaseState::Ended(CaseStatus::Refused) | CaseState::Ended(CaseStatus::NotSettable))
    });
    let pending = count(|state| matches!(state, CaseState::Pending | CaseState::Begun));
    let directory = run.directory().to_owned();
    let (ending, not_needed) = ending?;
    let pending = pending.saturating_sub(not_needed);
    let end = match ending {
        RunEnding::All if failed > 0 => RunEnd::Failed(format!("{failed} of {} cases failed", records.len())),
        RunEnding::All => RunEnd::Done,
        RunEnding::Interrupted => RunEnd::Interrupted("interrupted".into()),
        RunEnding::GaveUp(why) => RunEnd::Failed(why),
    };
    run.end(&end)?;
    Ok(Summary { directory, end, done, failed, not_run, pending, not_needed, late_ns: executor.late_ns() })
}

fn work(
    number: usize,
    worker: &dyn Worker,
    cases: &[Case],
    jobs: &Receiver<CaseJob>,
    tx: &SyncSender<Message>,
    stop: &AtomicBool,
) {
    while let Ok(job) = jobs.recv() {
        let case_index = job.case_index;
        let case = job.resolved_case.as_deref().unwrap_or(&cases[case_index as usize]);
        let ended = match &case.find {
            Some(find) => search::measure(worker, cases, find, &job, tx, stop),
            None => worker.measure(case, cases, &job, tx, stop),
        };
        // The coordinator receives until every worker has hung up.
        let _ = tx.send(Message::Ended { worker: number, case_index, ended });
    }
    worker.close(tx);
}

/// Ending of the coordination.
enum RunEnding {
    All,
    Interrupted,
    GaveUp(String),
}

/// Keeps the run directory, hands out cases, and tells the watcher.
struct Coordinator<'a> {
    run: &'a mut Run,
    plan: &'a Plan,
    pauses: Pauses,
    stage_ends: StageEnds,
    levels: SustainedLevels,
    /// Cases of rounds that are not run, because their stage has ended.
    not_needed: BTreeSet<u32>,
    cases: &'a [Case],
    records: &'a [CaseRecord],
    pending: VecDeque<u32>,
    idle: Vec<usize>,
    /// Cases under way, with the moment on the run's clock at which the loads of each began, while they run.
    under_way: BTreeMap<u32, Option<u64>>,
    failures_in_a_row: u32,
    /// A pause is kept before the next case.
    not_before: Instant,
    needs_directories: bool,
    /// Reason that a worker gives why the run cannot go on.
    gave_up: Option<String>,
    pace: Pace,
    watcher: &'a mut dyn Watcher,
}

impl Coordinator<'_> {
    fn coordinate(
        &mut self,
        job_senders: &[Sender<CaseJob>],
        rx: &Receiver<Message>,
        interrupt: &AtomicBool,
        stop: &AtomicBool,
    ) -> Result<RunEnding, StoreError> {
        let mut ending: Option<RunEnding> = None;
        loop {
            if ending.is_none() && interrupt.load(Ordering::Relaxed) {
                stop.store(true, Ordering::Relaxed);
                ending = Some(RunEnding::Interrupted);
            }
            if let (None, Some(why)) = (&ending, self.gave_up.take()) {
                ending = Some(RunEnding::GaveUp(why));
            }
            if ending.is_none() && self.failures_in_a_row >= FAILURES_IN_A_ROW_LIMIT {
                stop.store(true, Ordering::Relaxed);
                let why = format!("{FAILURES_IN_A_ROW_LIMIT} cases in a row failed; the rest was left");
                ending = Some(RunEnding::GaveUp(why));
            }
            if ending.is_none() {
                self.hand_out(job_senders)?;
            }
            if self.under_way.is_empty() {
                if let Some(ending) = ending {
                    return Ok(ending);
                }
                if self.pending.is_empty() {
                    return Ok(RunEnding::All);
                }
            }
            match rx.recv_timeout(TICK) {
                Ok(message) => self.handle(message)?,
                Err(RecvTimeoutError::Timeout) => self.report_progress(),
                Err(RecvTimeoutError::Disconnected) => {
                    return Ok(RunEnding::GaveUp("a worker ended without a word".into()));
                }
            }
        }
    }

    /// Keeps a warning about the run.
    fn warn(&mut self, warning: &str) -> Result<(), StoreError> {
        self.run.append_warning(None, warning)?;
        self.watcher.notice(&format!("warning: {warning}"));
        Ok(())
    }

    fn warn_all(&mut self, warnings: &[String]) -> Result<(), StoreError> {
        warnings.iter().try_for_each(|warning| self.warn(warning))
    }

    /// Gives every idle worker a case, once the pause after the last one is over.
    fn hand_out(&mut self, job_senders: &[Sender<CaseJob>]) -> Result<(), StoreError> {
        while !self.idle.is_empty() && Instant::now() >= self.not_before {
            let ready = self.pending.iter().position(|&case_index| self.may_begin(case_index));
            let Some(case_index) = ready.and_then(|place| self.pending.remove(place)) else { return Ok(()) };
            let predecessors = self.led_to(case_index)?;
            let resolved_case = self.resolved_case(case_index)?;
            self.run.begin_case(case_index)?;
            let directory =
                if self.needs_directories { Some(self.run.create_case_directory(case_index)?) } else { None };
            let record = &self.records[case_index as usize];
            self.under_way.insert(case_index, None);
            self.pace.begin(record);
            self.watcher.case_started(record, &self.pace.progress());
            let resolved_case = match resolved_case {
                None => None,
                Some(Err(problem)) => {
                    self.keep_outcome(case_index, &failed(full_text(&problem)))?;
                    continue;
                }
                Some(Ok(ResolvedCase { case, kind, text })) => {
                    self.run.set_settings(case_index, &case.settings)?;
                    let event = CaseEvent { case_at_ns: 0, kind: kind.into(), text, data: None };
                    self.keep_event(case_index, &event)?;
                    Some(Box::new(case))
                }
            };
            if let Some(worker) = self.idle.pop() {
                // A worker that is gone shows as a closed channel in `coordinate`.
                let _ = job_senders[worker].send(CaseJob {
                    case_index,
                    directory,
                    predecessors,
                    resolved_case,
                    parts: Vec::new(),
                });
            }
        }
        Ok(())
    }

    /// Resolves a case whose load depends on the results of others: the resolved case, or the reason why it cannot be run.
    /// `None` for a case that depends on no results.
    fn resolved_case(&self, case_index: u32) -> Result<Option<Result<ResolvedCase, Problem>>, StoreError> {
        let case = &self.cases[case_index as usize];
        if let Some(share) = &case.rate_share {
            let Some(rates) = rate_share::rates(self.run, self.cases, case)? else {
                return Ok(Some(Err(rate_share::unknown(share).into())));
            };
            let text = rate_share::in_words(share, &rates);
            return Ok(Some(Ok(ResolvedCase {
                case: rate_share::with_rates(case, &rates),
                kind: "rate",
                text,
            })));
        }
        let Some(choice) = &case.load_of else { return Ok(None) };
        let window = self.stage_ends.window(&choice.stage);
        let Some((load, text)) = load_choice::choose(self.run, choice, window.as_deref())? else {
            return Ok(Some(Err(load_choice::unknown(choice).into())));
        };
        Ok(Some(Ok(ResolvedCase { case: load.put_into(case), kind: "load", text })))
    }

    /// A case that continues another waits for it, and for the case whose rate the pause between them rests on.
    fn may_begin(&self, case_index: u32) -> bool {
        let is_over = |index: u32| !self.pending.contains(&index) && !self.under_way.contains_key(&index);
        needed_before(self.cases, case_index as usize).into_iter().all(|before| is_over(before as u32))
    }

    /// The cases that lead to one that continues them, with the pauses between them.
    fn led_to(&mut self, case_index: u32) -> Result<Vec<Predecessor>, StoreError> {
        let last = case_index as usize;
        if self.needs_directories {
            return Ok(Vec::new());
        }
        let first = (1..=last).rev().find(|&index| !self.cases[index].continues).unwrap_or(0);
        let mut predecessors = Vec::new();
        for case in &self.cases[first..last] {
            let case_index = case.index as u32;
            if !self.not_needed.contains(&case_index) {
                let pause_ns = self.pauses.after(case, self.cases, self.run, self.plan)?;
                let resolved_case = match &case.load_of {
                    // Its record says which load was chosen.
                    Some(_) => Load::of(&self.run.case(case_index)?.settings)
                        .map(|load| Box::new(load.put_into(case))),
                    None => None,
                };
                predecessors.push(Predecessor { case_index, resolved_case, pause_ns });
            }
        }
        Ok(predecessors)
    }

    /// Takes out what is pending of stages whose rounds are enough.
    fn end_stages(&mut self) -> Result<(), StoreError> {
        let cases = self.cases;
        let mut stage = None;
        for case in cases.iter().filter(|case| stage.replace(&case.stage) != Some(&case.stage)) {
            self.end_stage(case)?;
        }
        Ok(())
    }

    /// Takes out what is pending of the stage of this case, if its rounds are enough.
    fn end_stage(&mut self, case: &Case) -> Result<(), StoreError> {
        let Some(ended) = self.stage_ends.ended(case) else { return Ok(()) };
        let (cases, not_needed) = (self.cases, &mut self.not_needed);
        self.pending.retain(|&index| {
            let pending = &cases[index as usize];
            let is_needed = pending.stage != ended.stage || round_of(pending) <= ended.round;
            if !is_needed {
                not_needed.insert(index);
            }
            is_needed
        });
        if ended.is_new {
            let at_ns = self.run.clock().now_ns();
            let (kind, text) = (findings::STAGE_ENDED_EVENT.to_owned(), ended.says.clone());
            let data = Some(serde_json::json!({ "stage": ended.stage, "round": ended.round }));
            self.run.append_event(&Event { at_ns, kind, text, data, ..Event::default() })?;
            self.watcher.notice(&ended.says);
        }
        Ok(())
    }

    fn handle(&mut self, message: Message) -> Result<(), StoreError> {
        match message {
            Message::Sample { case_index, load, sample, counters, events } => {
                self.keep_sample(case_index, &load, &sample, &counters, &events)?;
            }
            Message::Happened { case_index, event } => self.keep_event(case_index, &event)?,
            Message::HostSample { case_index, host, load, sample } => {
                self.run.append_host_sample(case_index, &host, &load, &sample)?;
                self.watcher.host_sample(&self.records[case_index as usize], &host, &load, &sample);
            }
            Message::HostTotals { case_index, hosts } => self.run.set_host_totals(case_index, &hosts)?,
            Message::RunEvent { kind, text, data } => {
                let at_ns = self.run.clock().now_ns();
                self.run.append_event(&Event { at_ns, kind, text, data, ..Event::default() })?;
            }
            Message::Flush(done) => {
                let _ = done.send(());
            }
            Message::Waiting { case_index, text } => {
                let progress = self.pace.progress();
                self.watcher.case_waiting(&self.records[case_index as usize], &text, &progress);
            }
            Message::Changed { case_index, change } => append_change(self.run, case_index, change)?,
            Message::Warning { text } => self.warn(&text)?,
            Message::Loaded { case_index, is_loaded, at } => {
                let now_ns = self.run.clock().now_ns();
                let since_ns = u64::try_from(at.elapsed().as_nanos()).unwrap_or(u64::MAX);
                let loaded_ns = is_loaded.then(|| now_ns.saturating_sub(since_ns));
                self.under_way.insert(case_index, loaded_ns);
            }
            Message::Progress { case_index, share } => {
                self.pace.advance(case_index, share);
                self.report_progress();
            }
            Message::HostCounters { at_ns, counters } => {
                let case = self.under_way.iter().next().map(|(&index, &loaded_ns)| (index, loaded_ns));
                let case_at_ns = case.and_then(|(_, loaded_ns)| at_ns.checked_sub(loaded_ns?));
                let counters = borrowed(&counters);
                self.run.append_counters(case.map(|(index, _)| index), at_ns, case_at_ns, &counters)?;
                self.watcher.counters(&counters);
            }
            Message::PathChanged { at_ns, path, is_usable, state } => {
                self.keep_path_change(at_ns, &path, is_usable, &state)?;
            }
            Message::Ended { worker, case_index, ended } => {
                self.idle.push(worker);
                match ended {
                    Ended::Outcome(outcome) => self.keep_outcome(case_index, &outcome)?,
                    Ended::GaveUp(outcome, why) => {
                        self.keep_outcome(case_index, &outcome)?;
                        self.gave_up = Some(why);
                    }
                    Ended::Stopped => {
                        self.under_way.remove(&case_index);
                    }
                }
            }
        }
        Ok(())
    }

    fn keep_sample(
        &mut self,
        case_index: u32,
        load: &str,
        sample: &Sample,
        counters: &[OwnedCounter],
        events: &[CaseEvent],
    ) -> Result<(), StoreError> {
        self.run.append_sample(case_index, load, sample)?;
        let now_ns = self.run.clock().now_ns();
        if !counters.is_empty() {
            let counters = borrowed(counters);
            self.run.append_counters(Some(case_index), now_ns, Some(sample.end_ns), &counters)?;
            self.watcher.counters(&counters);
        }
        self.watcher.sample(&self.records[case_index as usize], load, sample);
        for event in events {
            self.keep_event(case_index, event)?;
        }
        if load == PRECONDITIONING_LOAD {
            return Ok(());
        }
        let case = &self.cases[case_index as usize];
        let whole_ns = (case.load.ramp_ns + case.load.runtime_ns).max(1);
        self.pace.advance(case_index, sample.end_ns as f64 / whole_ns as f64);
        self.report_progress();
        Ok(())
    }

    /// An event of the case that is under load, so that findings say what it did to the load, and a warning where a path is
    /// lost.
    fn keep_path_change(
        &mut self,
        at_ns: u64,
        path: &str,
        is_usable: bool,
        state: &str,
    ) -> Result<(), StoreError> {
        let (kind, text) = match is_usable {
            false => ("path-lost", format!("the path {path} is lost ({state})")),
            true => ("path-back", format!("the path {path} is back ({state})")),
        };
        let case = self.under_way.iter().next().map(|(&index, &loaded_ns)| (index, loaded_ns));
        let case_at_ns = case.and_then(|(_, loaded_ns)| at_ns.checked_sub(loaded_ns?));
        self.run.append_event(&Event {
            at_ns,
            case_index: case.map(|(index, _)| index),
            case_at_ns,
            kind: kind.to_owned(),
            text: text.clone(),
            data: Some(serde_json::json!({ "path": path, "state": state })),
        })?;
        if is_usable {
            self.watcher.notice(&text);
            return Ok(());
        }
        self.warn(&text)
    }

    fn keep_event(&mut self, case_index: u32, event: &CaseEvent) -> Result<(), StoreError> {
        self.run.append_event(&Event {
            at_ns: self.run.clock().now_ns(),
            case_index: Some(case_index),
            case_at_ns: Some(event.case_at_ns),
            kind: event.kind.clone(),
            text: event.text.clone(),
            data: event.data.clone(),
        })
    }

    fn keep_outcome(&mut self, case_index: u32, outcome: &CaseOutcome) -> Result<(), StoreError> {
        self.run.finish_case(case_index, outcome)?;
        self.under_way.remove(&case_index);
        self.pace.end(case_index);
        let cases = self.cases;
        let case = &cases[case_index as usize];
        self.stage_ends.add(case, self.run)?;
        self.end_stage(case)?;
        self.failures_in_a_row = match outcome.status {
            CaseStatus::Failed => self.failures_in_a_row + 1,
            _ => 0,
        };
        if self.needs_directories && !self.pending.is_empty() {
            // A case that issued nothing needs no rest.
            let pause_ns = match outcome.loads.is_empty() {
                true => 0,
                false => self.pauses.after(case, self.cases, self.run, self.plan)?,
            };
            self.not_before = Instant::now() + Duration::from_nanos(pause_ns);
        }
        if let Some(result) = self.run.result(case_index)? {
            self.keep_sustained(case_index, &result)?;
            self.watcher.case_ended(&self.records[case_index as usize], &result, &self.pace.progress());
        }
        Ok(())
    }

    /// Keeps the sustained level of a case at its end, so that `results` need not read its samples.
    fn keep_sustained(&mut self, case_index: u32, result: &CaseResult) -> Result<(), StoreError> {
        if result.status != CaseStatus::Done {
            return Ok(());
        }
        match self.levels.of(self.run, case_index, result)? {
            KnownLevel::Known(level) => self.run.keep_sustained(case_index, SUSTAINED_METHOD, level),
            KnownLevel::NeedsRun => Ok(()),
        }
    }

    fn report_progress(&mut self) {
        let progress = self.pace.progress();
        if let Some(&case_index) = self.under_way.keys().next() {
            let share = self.pace.share_of(case_index);
            self.watcher.case_progress(&self.records[case_index as usize], share, &progress);
        }
    }
}

pub(crate) fn borrowed(counters: &[OwnedCounter]) -> Vec<Counter<'_>> {
    counters
        .iter()
        .map(|counter| Counter {
            source: &counter.source,
            entity: &counter.entity,
            name: &counter.name,
            value: counter.value,
        })
        .collect()
}

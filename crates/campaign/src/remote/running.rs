//! Case under way on several hosts: set up, started, counted, and concluded.

use crate::message::{CaseEvent, Ended, Message, OwnedCounter};
use crate::remote::connect::now_ns;
use crate::remote::grid::SampleGrid;
use crate::remote::state::{HostContext, LOOK, State};
use crate::remote::totals::{HostEnd, take_totals};
use crate::sample_sum::add_to_interval;
use diagnostic::{Problem, text_with_causes};
use hosts::{ClockEstimate, LinkEvent, Reply, Request};
use load::Sample;
use plan::Case;
use serde_json::json;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender};
use std::time::{Duration, Instant};
use store::{CaseOutcome, CaseStatus, PRECONDITIONING_LOAD};

/// From the word to the start: every host has it by then.
const START_LEAD: Duration = Duration::from_millis(150);
/// After so long, hosts that were told to stop are no longer waited for.
const STOP_LIMIT: Duration = Duration::from_millis(1_900);
/// A host whose sample is later than this has failed.
const SAMPLE_LIMIT: Duration = Duration::from_secs(5);
/// Hosts that begin further apart than this are a warning.
const SKEW_LIMIT_NS: u64 = 10_000_000;

/// A clock that is known less well than this is a warning.
const CLOCK_ERROR_LIMIT_NS: u64 = 5_000_000;

/// One host in a case.
#[derive(Debug, Default)]
pub(super) struct Member {
    pub is_ready: bool,
    pub end: Option<HostEnd>,
    pub clock: Option<ClockEstimate>,
    pub last_sample: Option<Instant>,
}

/// A case under way.
pub(super) struct Running<'a> {
    pub context: &'a HostContext,
    pub case: &'a Case,
    pub case_index: u32,
    pub tx: &'a SyncSender<Message>,
    pub members: BTreeMap<usize, Member>,
    pub grids: BTreeMap<String, SampleGrid>,
    /// Writes before the case; hosts make them at their own pace.
    pub before: Vec<Sample>,
    pub shares: BTreeMap<usize, f64>,
    pub failed: Option<String>,
    pub is_lost: bool,
}

impl Running<'_> {
    pub fn send(&self, message: Message) {
        let _ = self.tx.send(message);
    }

    fn fail(&mut self, number: usize, why: &str) {
        let host = &self.context.names[number];
        self.failed.get_or_insert_with(|| format!("host `{host}`: {why}"));
    }

    /// Sets the case up on all hosts and names the start; none where it comes to none.
    pub fn set_up(&mut self, state: &mut State, stop: &AtomicBool) -> Option<Instant> {
        while !self.members.values().all(|member| member.is_ready) {
            if stop.load(Ordering::Relaxed) || self.failed.is_some() {
                return None;
            }
            self.receive(state, LOOK);
            // A host that could not set the case up has ended it.
            if self.members.values().any(|member| member.end.is_some()) {
                return None;
            }
        }
        for sample in std::mem::take(&mut self.before) {
            self.send(Message::sample(self.case_index, PRECONDITIONING_LOAD, sample));
        }
        let numbers: Vec<usize> = self.members.keys().copied().collect();
        let clocks: Vec<Option<ClockEstimate>> = std::thread::scope(|scope| {
            let open = &state.open;
            let threads: Vec<_> =
                numbers.iter().map(|&number| scope.spawn(move || open[number].link.sync_clock())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap_or(None)).collect()
        });
        let mut slowest_ns = 0;
        for (&number, clock) in numbers.iter().zip(clocks) {
            let Some(clock) = clock else {
                self.fail(number, "its clock could not be read");
                return None;
            };
            slowest_ns = slowest_ns.max(clock.round_trip_ns);
            if let Some(member) = self.members.get_mut(&number) {
                member.clock = Some(clock);
            }
        }
        let lead = START_LEAD + Duration::from_nanos(slowest_ns.saturating_mul(4));
        let (start, start_ns) = (Instant::now() + lead, now_ns() + lead.as_nanos() as u64);
        for (number, member) in &self.members {
            if let Some(clock) = member.clock {
                state.open[*number].link.send(&Request::Start { at_ns: clock.there_ns(start_ns) });
            }
        }
        Some(start)
    }

    /// Takes what hosts count until all have ended, one fails, or the case is to stop.
    pub fn run(&mut self, state: &mut State, stop: &AtomicBool, start: Instant) {
        let spec = &self.case.load;
        let loaded = Duration::from_nanos(spec.ramp_ns.saturating_add(spec.runtime_ns));
        let interval = Duration::from_nanos(spec.interval_ns);
        while self.members.values().any(|member| member.end.is_none()) {
            if stop.load(Ordering::Relaxed) || self.failed.is_some() {
                return;
            }
            self.receive(state, LOOK);
            if start.elapsed() > loaded {
                continue;
            }
            let late = self.members.iter().find(|(_, member)| {
                let since = member.last_sample.unwrap_or(start);
                member.end.is_none() && since.elapsed() > interval + SAMPLE_LIMIT
            });
            if let Some((&number, _)) = late {
                self.fail(
                    number,
                    &format!("no sample has come for {} s", (interval + SAMPLE_LIMIT).as_secs()),
                );
            }
        }
    }

    /// Tells all hosts to stop, and waits for their ends as long as an agent may take.
    pub fn stop_all(&mut self, state: &mut State) {
        let begun = Instant::now();
        for number in self.members.keys() {
            state.open[*number].link.send(&Request::Stop);
        }
        while self.members.values().any(|member| member.end.is_none()) && begun.elapsed() < STOP_LIMIT {
            // A host that is lost says nothing more.
            let waited_for = self.members.values().filter(|member| member.end.is_none()).count();
            if self.is_lost && waited_for <= 1 {
                break;
            }
            self.receive(state, LOOK);
        }
    }

    fn receive(&mut self, state: &mut State, limit: Duration) {
        let mut limit = limit;
        loop {
            match state.events.recv_timeout(limit) {
                Ok((number, LinkEvent::Lost(why))) => {
                    self.is_lost = true;
                    self.fail(number, &why);
                }
                Ok((number, LinkEvent::Reply(reply))) => self.take(number, reply),
                Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => return,
            }
            limit = Duration::ZERO;
        }
    }

    fn take(&mut self, number: usize, reply: Reply) {
        let case_index = self.case_index;
        match reply {
            Reply::Ready => {
                if let Some(member) = self.members.get_mut(&number) {
                    member.is_ready = true;
                }
            }
            Reply::Sample { load, sample } => match sample.to_sample() {
                Ok(sample) => self.take_sample(number, &load, sample),
                Err(problem) => {
                    let why = text_with_causes(&problem);
                    self.fail(number, &format!("a sample of its agent is wrong: {why}"));
                }
            },
            Reply::Ended(end) => self.take_end(number, HostEnd::read(*end)),
            Reply::Event { case_at_ns, kind, text, data } => {
                let text = format!("{}: {text}", self.context.names[number]);
                self.send(Message::Happened {
                    case_index,
                    event: CaseEvent { case_at_ns, kind, text, data },
                });
            }
            Reply::Progress { share } if share.is_finite() => {
                self.shares.insert(number, share.clamp(0.0, 1.0));
                let share = self.shares.values().copied().fold(1.0, f64::min);
                self.send(Message::Progress { case_index, share });
            }
            Reply::Waiting { text } => {
                let text = format!("{}: {text}", self.context.names[number]);
                self.send(Message::Waiting { case_index, text });
            }
            Reply::Counters { at_ns, counters } => {
                let Some(clock) = self.clock_of(number) else { return };
                let host = &self.context.names[number];
                let owned = counters.into_iter().map(|counter| OwnedCounter {
                    source: counter.source.into(),
                    entity: format!("{host}/{}", counter.entity),
                    name: counter.name,
                    value: counter.value,
                });
                let at_ns = self.context.run_clock_ns(clock.here_ns(at_ns));
                self.send(Message::HostCounters { at_ns, counters: owned.collect() });
            }
            Reply::Path { at_ns, path, is_usable, state } => {
                let Some(clock) = self.clock_of(number) else { return };
                let at_ns = self.context.run_clock_ns(clock.here_ns(at_ns));
                let path = format!("{}/{path}", self.context.names[number]);
                self.send(Message::PathChanged { at_ns, path, is_usable, state });
            }
            Reply::Refused { why } => self.fail(number, &why),
            other => {
                if let Some(message) = self.context.common_message(number, Some(case_index), other) {
                    self.send(message);
                }
            }
        }
    }

    fn clock_of(&self, number: usize) -> Option<ClockEstimate> {
        self.members.get(&number)?.clock
    }

    fn take_sample(&mut self, number: usize, load: &str, sample: Sample) {
        if load == PRECONDITIONING_LOAD {
            return add_to_interval(&mut self.before, sample);
        }
        let Some(grid) = self.grids.get_mut(load) else {
            let why = format!("its agent counts a load `{load}` that the case does not have");
            return self.fail(number, &why);
        };
        if let Some(member) = self.members.get_mut(&number) {
            member.last_sample = Some(Instant::now());
        }
        let whole = grid.add(number, &sample);
        self.send(Message::HostSample {
            case_index: self.case_index,
            host: self.context.names[number].clone(),
            load: load.to_owned(),
            sample: Box::new(sample),
        });
        for sample in whole {
            self.send(Message::sample(self.case_index, load, sample));
        }
    }

    fn take_end(&mut self, number: usize, end: Result<HostEnd, Problem>) {
        let end = match end {
            Ok(end) => end,
            Err(problem) => {
                let why = text_with_causes(&problem);
                return self.fail(number, &format!("the end of its case is wrong: {why}"));
            }
        };
        let mut whole = Vec::new();
        for (load, grid) in &mut self.grids {
            whole.extend(grid.end(number).into_iter().map(|sample| (load.clone(), sample)));
        }
        for (load, sample) in whole {
            self.send(Message::sample(self.case_index, &load, sample));
        }
        if end.status != Some(CaseStatus::Done) && end.status.is_some() {
            let why = end.error.clone().unwrap_or_else(|| "it has failed".into());
            self.fail(number, &why);
        }
        if let Some(member) = self.members.get_mut(&number) {
            member.end = Some(end);
        }
    }

    /// The outcome of all hosts together.
    pub fn conclude(mut self, state: &State, mut outcome: CaseOutcome) -> Ended {
        for (load, grid) in std::mem::take(&mut self.grids) {
            let mut grid = grid;
            for sample in grid.finish() {
                self.send(Message::sample(self.case_index, &load, sample));
            }
        }
        self.tell_starts(state, &mut outcome);
        let names = &self.context.names;
        let ends: Vec<(&str, &HostEnd)> = self
            .members
            .iter()
            .filter_map(|(number, member)| Some((names[*number].as_str(), member.end.as_ref()?)))
            .collect();
        let hosts = take_totals(&mut outcome, self.case, &ends);
        self.send(Message::HostTotals { case_index: self.case_index, hosts });
        let gave_up = self.is_lost || ends.iter().any(|(_, end)| end.gave_up);
        let worst = ends.iter().filter_map(|(_, end)| end.status).find(|status| *status != CaseStatus::Done);
        let Some(why) = self.failed else { return Ended::Outcome(Box::new(outcome)) };
        let status = if self.is_lost { CaseStatus::Failed } else { worst.unwrap_or(CaseStatus::Failed) };
        Ended::gave_up_if(gave_up, outcome, status, why)
    }

    /// Keeps when each host began, by how much its clock differs, and how that changed.
    fn tell_starts(&self, state: &State, outcome: &mut CaseOutcome) {
        let mut rows = Vec::new();
        let mut began = Vec::new();
        for (&number, member) in &self.members {
            let (Some(clock), Some(at_ns)) =
                (member.clock, member.end.as_ref().and_then(|end| end.began_at_ns))
            else {
                continue;
            };
            let after = state.open[number].link.clock();
            // By what is known best by now: the start itself was named by what was known before.
            let best = after.filter(|after| after.error_ns < clock.error_ns).unwrap_or(clock);
            let here_ns = best.here_ns(at_ns);
            began.push((here_ns, number));
            if best.error_ns > CLOCK_ERROR_LIMIT_NS {
                outcome.warnings.push(format!(
                    "the clock of host `{}` is known to {} only: its intervals may lie so far beside those of the others",
                    self.context.names[number],
                    units::human_latency(best.error_ns as f64)
                ));
            }
            rows.push(json!({
                "host": self.context.names[number],
                "began_at_ns": self.context.run_clock_ns(here_ns),
                "host_clock_ns": at_ns,
                "clock_offset_ns": clock.offset_ns,
                "round_trip_ns": clock.round_trip_ns,
                "clock_error_ns": best.error_ns,
                "clock_offset_after_ns": after.map(|after| after.offset_ns),
            }));
        }
        let (Some(first), Some(last)) = (began.iter().min(), began.iter().max()) else { return };
        let skew_ns = last.0 - first.0;
        let text = format!(
            "{} began within {}",
            units::human_count(began.len() as u64, "host"),
            units::human_latency(skew_ns as f64)
        );
        let data = Some(json!({ "skew_ns": skew_ns, "hosts": rows }));
        let event = CaseEvent { case_at_ns: 0, kind: "hosts-began".into(), text: text.clone(), data };
        self.send(Message::Happened { case_index: self.case_index, event });
        if skew_ns > SKEW_LIMIT_NS {
            outcome.warnings.push(format!("{text}; the last was `{}`", self.context.names[last.1]));
        }
    }
}

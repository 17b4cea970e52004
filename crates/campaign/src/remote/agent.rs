//! Agent: carries out cases on this host for a coordinator on another.
//!
//! Guard, consents, host settings and their journal, writes before a case and counters are those of a run here. An agent
//! whose input ends, or that has received nothing for a while, stops its load, puts settings back and exits within 2 s.

use crate::inventory;
use crate::message::{Ended, Message};
use crate::prepare::{RunRequest, check_real, expand, parse_targets};
use crate::real::{AgentParts, CommonStart, HostWatch, RealWorker};
use crate::remote::assignment::{case_of, case_to_measure};
use crate::remote::replies::reply_of;
use crate::worker::{CaseJob, Worker};
use diagnostic::{Problem, full_text, text_with_causes};
use hosts::{
    CaseEnd, Hello, MeasureRequest, OpenRequest, Opened, OpenedTarget, PROTOCOL, Reply, Request,
    SILENCE_LIMIT, WireLoad, decode_request, read_frame, write_frame,
};
use plan::{Case, LoadedPlan};
use std::fs::DirBuilder;
use std::io::{Read, Write};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{CaseOutcome, CaseStatus, RunClock};

/// Messages of a worker that may wait.
const MESSAGES_LIMIT: usize = 64;
/// Interval at which the agent checks whether it has to end.
const LOOK: Duration = Duration::from_millis(20);
/// After so long an agent that shall end exits, also where a device holds its load.
const EXIT_LIMIT: Duration = Duration::from_millis(1_900);
/// Exit status of an agent that could not put everything back.
const EXIT_HELD: i32 = 3;

/// Clock of an agent: that of the machine, moved where a test asks for it.
#[derive(Debug, Clone, Copy, Default)]
pub struct AgentClock {
    /// Offset of this clock from the machine's, in nanoseconds.
    pub offset_ns: i64,
}

impl AgentClock {
    fn of_monotonic(self, monotonic_ns: u64) -> u64 {
        monotonic_ns.saturating_add_signed(self.offset_ns)
    }

    fn now_ns(self) -> u64 {
        self.of_monotonic(RunClock::monotonic().now_ns())
    }

    /// A moment of this clock.
    fn instant(self, at_ns: u64) -> Instant {
        let now = Instant::now();
        let now_ns = self.now_ns();
        match at_ns.checked_sub(now_ns) {
            // A wrong moment far away is as good as none: the coordinator stops the case.
            Some(ahead_ns) => now + Duration::from_nanos(ahead_ns.min(3600 * units::NANOS_PER_SECOND)),
            None => now,
        }
    }

    fn of_instant(self, moment: Instant) -> u64 {
        let now_ns = self.now_ns();
        match moment.checked_duration_since(Instant::now()) {
            Some(ahead) => now_ns.saturating_add(ahead.as_nanos() as u64),
            None => now_ns.saturating_sub(moment.elapsed().as_nanos() as u64),
        }
    }
}

/// State that the threads of an agent share.
struct Shared {
    clock: AgentClock,
    begun: Instant,
    received_ns: AtomicU64,
    is_ending: AtomicBool,
    /// The case under way is to stop.
    stop: AtomicBool,
    start: Arc<CommonStart>,
    replies: Sender<Vec<u8>>,
}

impl Shared {
    fn send(&self, reply: &Reply) {
        if let Ok(body) = serde_json::to_vec(reply) {
            let _ = self.replies.send(body);
        }
    }

    /// The end of everything, for whatever reason.
    fn end(&self) {
        if self.is_ending.swap(true, Ordering::Relaxed) {
            return;
        }
        self.stop.store(true, Ordering::Relaxed);
        std::thread::spawn(|| {
            std::thread::sleep(EXIT_LIMIT);
            // A device holds a thread: the kernel takes back what it can, and the journal puts settings back next time.
            std::process::exit(EXIT_HELD);
        });
    }
}

/// A run that is open on this host.
struct OpenedRun {
    cases: Vec<Case>,
    worker: RealWorker,
    watch: Option<HostWatch>,
}

/// Serves a coordinator until its input ends or `interrupt` is raised.
pub fn run_agent(
    mut input: impl Read + Send + 'static,
    mut output: impl Write + Send + 'static,
    clock: AgentClock,
    interrupt: &AtomicBool,
) {
    let (replies, outgoing) = channel::<Vec<u8>>();
    let hello = Hello {
        protocol: PROTOCOL,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        machine: std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default().trim().to_owned(),
        pid: std::process::id(),
    };
    if let Ok(body) = serde_json::to_vec(&hello) {
        let _ = replies.send(body);
    }
    let shared = Arc::new(Shared {
        clock,
        begun: Instant::now(),
        received_ns: AtomicU64::new(0),
        is_ending: AtomicBool::new(false),
        stop: AtomicBool::new(false),
        start: Arc::default(),
        replies,
    });
    let writer = std::thread::spawn({
        let shared = Arc::downgrade(&shared);
        move || {
            while let Ok(body) = outgoing.recv() {
                if write_frame(&mut output, &body).is_err() {
                    if let Some(shared) = shared.upgrade() {
                        shared.end();
                    }
                    return;
                }
            }
        }
    });
    let (requests, jobs) = channel();
    std::thread::spawn({
        let shared = Arc::clone(&shared);
        move || {
            read_all(&mut input, &shared, &requests);
            shared.end();
        }
    });
    serve(&shared, &jobs, interrupt);
    // Its last words: what was put back.
    drop(shared);
    let begun = Instant::now();
    while !writer.is_finished() && begun.elapsed() < Duration::from_millis(100) {
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Reads messages; those that cannot wait for a case to end are answered here.
fn read_all(input: &mut impl Read, shared: &Shared, requests: &Sender<Request>) {
    while let Ok(Some(body)) = read_frame(input) {
        let at_ns = shared.clock.now_ns();
        shared.received_ns.store(shared.begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
        match decode_request(&body) {
            Ok(Request::Ping { id }) => shared.send(&Reply::Pong { id, at_ns }),
            Ok(Request::Start { at_ns }) => {
                if let Some(barrier) = shared.start.wait(Duration::ZERO) {
                    barrier.open(shared.clock.instant(at_ns));
                }
            }
            Ok(Request::Stop) => shared.stop.store(true, Ordering::Relaxed),
            Ok(request) => {
                // A new case may follow the stop of the last one.
                if matches!(request, Request::Measure(_)) && !shared.is_ending.load(Ordering::Relaxed) {
                    shared.stop.store(false, Ordering::Relaxed);
                }
                if requests.send(request).is_err() {
                    return;
                }
            }
            Err(problem) => {
                let why = format!("a message is not understood: {}", text_with_causes(&problem));
                shared.send(&Reply::Refused { why });
                return;
            }
        }
    }
}

fn serve(shared: &Arc<Shared>, jobs: &Receiver<Request>, interrupt: &AtomicBool) {
    std::thread::scope(|scope| {
        let (tx, rx) = sync_channel::<Message>(MESSAGES_LIMIT);
        scope.spawn(move || {
            while let Ok(message) = rx.recv() {
                if let Some(reply) = reply_of(message, |ns| shared.clock.of_monotonic(ns)) {
                    shared.send(&reply);
                }
            }
        });
        scope.spawn(|| watch_silence(shared, interrupt));
        let mut opened: Option<OpenedRun> = None;
        while !shared.is_ending.load(Ordering::Relaxed) {
            let Ok(request) = jobs.recv_timeout(LOOK) else { continue };
            match (request, &opened) {
                (Request::Open(request), None) => match open(*request, &shared.start) {
                    Ok((mut run, answer)) => {
                        let (watch, problems) = run.worker.watch_host(RunClock::monotonic(), &tx);
                        run.watch = Some(watch);
                        shared.send(&Reply::Opened(Box::new(answer)));
                        for text in problems {
                            shared.send(&Reply::Warning { text });
                        }
                        opened = Some(run);
                    }
                    Err(problem) => shared.send(&Reply::Refused { why: full_text(&problem) }),
                },
                (Request::Measure(request), Some(run)) => {
                    let end = measure(run, *request, shared, &tx);
                    shared.send(&Reply::Ended(Box::new(end)));
                }
                (Request::Inventory { commands }, _) => {
                    shared.send(&Reply::Inventory { answers: inventory::run_all(&commands) });
                }
                (_, _) => shared.send(&Reply::Refused { why: "the message is out of order".into() }),
            }
        }
        if let Some(run) = opened {
            run.worker.close(&tx);
            for text in run.watch.map(HostWatch::stop).unwrap_or_default() {
                shared.send(&Reply::Warning { text });
            }
        }
        drop(tx);
    });
}

/// Ends the agent where nothing is received any more: a link that is down closes no stream.
fn watch_silence(shared: &Shared, interrupt: &AtomicBool) {
    while !shared.is_ending.load(Ordering::Relaxed) {
        let received = Duration::from_nanos(shared.received_ns.load(Ordering::Relaxed));
        let silence = shared.begun.elapsed().saturating_sub(received);
        // The first word comes when the coordinator has read ours.
        let limit = if received.is_zero() { 15 * SILENCE_LIMIT } else { SILENCE_LIMIT };
        if silence > limit || interrupt.load(Ordering::Relaxed) {
            shared.end();
        }
        std::thread::sleep(LOOK);
    }
}

fn open(request: OpenRequest, start: &Arc<CommonStart>) -> Result<(OpenedRun, Opened), Problem> {
    let plan = plan::parse_plan(&request.plan_name, &request.plan_source, &request.plan_text)
        .map_err(|error| Problem::of(&error))?;
    let loaded =
        LoadedPlan { name: request.plan_name, source: request.plan_source, text: request.plan_text, plan };
    let hosts::SelectionText { stages, only, set } = request.selection;
    let selection = plan::Selection { stages, only, set };
    let requested = RunRequest {
        loaded: &loaded,
        selection: &selection,
        seed: request.seed,
        targets: parse_targets(&request.targets).map_err(|error| Problem::of(&error))?,
        consents: request.consents,
        engine: Some(crate::EngineChoice::Ring),
        array_driver: None,
        time_budget_ns: None,
        threads: None,
        speed_millionths: None,
        agent: Some(AgentParts { start: Arc::clone(start), part: request.part }),
        hosts: Vec::new(),
        push_binary: false,
    };
    let cases = expand(&requested).map_err(|error| Problem::of(&error))?;
    let own = cases
        .iter()
        .filter_map(|case| case_of(case, &request.host, &request.hosts, loaded.plan.jobs))
        .collect();
    let checked = check_real(&requested, own).map_err(|error| Problem::of(&error))?;
    let crate::executor::Executor::Real(worker) = checked.executor else {
        return Err("a simulated array runs on one host".into());
    };
    let mut notices = checked.notices;
    match checked.recovered {
        Some(Ok(recovered)) => {
            for change in recovered.put_back.changes {
                notices.push(format!(
                    "{} was put back to {}: a run that was killed had left it at {}",
                    change.name,
                    change.after.as_deref().unwrap_or("nothing"),
                    change.before.as_deref().unwrap_or("nothing")
                ));
            }
            notices.extend(recovered.put_back.problems);
        }
        Some(Err(error)) => {
            notices.push(format!("what killed runs may have left was not put back: {}", full_text(&error)));
        }
        None => {}
    }
    let kernel_names: Vec<String> =
        checked.devices.iter().filter_map(|path| path.rsplit('/').next().map(str::to_owned)).collect();
    let targets = checked.targets.into_iter().map(|target| OpenedTarget {
        capacity_bytes: target.identity["device"]["capacity_bytes"].as_u64().unwrap_or(0),
        spec: target.spec,
        identity: target.identity,
    });
    let answer = Opened {
        targets: targets.collect(),
        devices: checked.devices,
        facts: probe::host_facts(&probe::ProbeRoots::system(), &kernel_names),
        notices,
    };
    Ok((OpenedRun { cases: checked.cases, worker: *worker, watch: None }, answer))
}

/// Measures a case; returns when it has ended, or shortly after it was stopped.
fn measure(
    run: &OpenedRun,
    request: MeasureRequest,
    shared: &Arc<Shared>,
    tx: &std::sync::mpsc::SyncSender<Message>,
) -> CaseEnd {
    let failed = |error: String| CaseEnd {
        status: CaseStatus::Failed.name().to_owned(),
        error: Some(error),
        ..CaseEnd::default()
    };
    let is_it = |case: &&Case| case.stage == request.stage && case.name == request.case;
    let Some(case) = run.cases.iter().find(is_it) else {
        return failed(format!(
            "the plan has no case `{}` of `{}` for this host",
            request.case, request.stage
        ));
    };
    let (case, parts) = match case_to_measure(case, request) {
        Ok(resolved) => resolved,
        Err(problem) => return failed(full_text(&problem)),
    };
    let directory = match CaseDirectory::create() {
        Ok(directory) => directory,
        Err(error) => return failed(format!("no directory for files of the case: {error}")),
    };
    let job = CaseJob {
        case_index: case.index as u32,
        directory: Some(directory.0.clone()),
        predecessors: Vec::new(),
        resolved_case: None,
        parts,
    };
    shared.start.clear();
    let is_over = AtomicBool::new(false);
    let barrier = Mutex::new(None);
    let ended = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                let Some(current) = shared.start.wait(LOOK) else { continue };
                *barrier.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&current));
                while !is_over.load(Ordering::Relaxed) {
                    if current.wait_until_ready(LOOK) {
                        shared.send(&Reply::Ready);
                        return;
                    }
                    std::thread::sleep(Duration::from_millis(1));
                }
            }
        });
        let ended = run.worker.measure(&case, &run.cases, &job, tx, &shared.stop);
        is_over.store(true, Ordering::Relaxed);
        ended
    });
    let began = barrier.into_inner().unwrap_or_else(PoisonError::into_inner).and_then(|it| it.began());
    // Everything that the worker has sent of the case goes before its end: the forwarder takes one after the other.
    flush(tx);
    let began_at_ns = began.map(|moment| shared.clock.of_instant(moment));
    match ended {
        Ended::Outcome(outcome) => end_of(*outcome, false, began_at_ns),
        Ended::GaveUp(outcome, _) => end_of(*outcome, true, began_at_ns),
        Ended::Stopped => CaseEnd { status: "stopped".into(), began_at_ns, ..CaseEnd::default() },
    }
}

/// Waits until the forwarder has taken everything: the answer says so.
fn flush(tx: &std::sync::mpsc::SyncSender<Message>) {
    let (done, is_done) = sync_channel(1);
    if tx.send(Message::Flush(done)).is_ok() {
        let _ = is_done.recv_timeout(Duration::from_millis(500));
    }
}

fn end_of(outcome: CaseOutcome, gave_up: bool, began_at_ns: Option<u64>) -> CaseEnd {
    CaseEnd {
        status: outcome.status.name().to_owned(),
        error: outcome.error,
        gave_up,
        began_at_ns,
        target: outcome.target,
        duration_ns: outcome.duration_ns,
        loads: outcome.loads.iter().map(WireLoad::new).collect(),
        warnings: outcome.warnings,
    }
}

/// A directory for one case's files, which goes with it.
struct CaseDirectory(PathBuf);

impl CaseDirectory {
    fn create() -> std::io::Result<CaseDirectory> {
        let name = format!("arraylab-agent-{}-{}", std::process::id(), RunClock::monotonic().now_ns());
        let path = std::env::temp_dir().join(name);
        // Made anew and for nobody else: what lies there already is not used.
        DirBuilder::new().mode(0o700).create(&path)?;
        Ok(CaseDirectory(path))
    }
}

impl Drop for CaseDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

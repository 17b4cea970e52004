//! Run of one load: workers and their common start.

mod collector;

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use load::{LoadSpec, Sample, Schedule};

use collector::Collector;

use crate::arena::Arena;
use crate::capabilities::{choose, choose_with_discards};
use crate::handover::{Trial, choose_handover};
use crate::null::Null;
use crate::options::WORKERS_LIMIT;
use crate::outcome::RingOutcome;
use crate::polling::possible;
use crate::start::{StartBarrier, wait_until};
use crate::striping::Striping;
use crate::threads::Threads;
use crate::uring::{Backing, Uring, build_ring};
use crate::worker::{Assignment, WorkerOutcome, drive};
use crate::{Engine, Interface, OpenTarget, RingError, RingOptions, TrimKind};

/// Targets of a load.
#[derive(Debug, Clone, Copy)]
pub enum RingTargets<'a> {
    /// Open targets; several are striped.
    Open(&'a [OpenTarget]),
    /// The null target of this size: answers at once, without the kernel.
    Null {
        /// Bytes that are addressed.
        capacity_bytes: u64,
    },
    /// The kernel's null operation through a ring: answers at once, for a target of this size.
    NullRing {
        /// Bytes that are addressed.
        capacity_bytes: u64,
    },
}

/// A load, its targets, and how to drive it.
#[derive(Debug, Clone, Copy)]
pub struct RingCase<'a> {
    /// On what.
    pub targets: RingTargets<'a>,
    /// Load.
    pub load: &'a LoadSpec,
    /// Settings of the engine.
    pub options: &'a RingOptions,
    /// Bytes of all jobs together after which the load ends, also when its runtime is not over (fio's `io_size`).
    pub io_size_bytes: Option<u64>,
    /// Directory in which a verified load keeps what was acknowledged, so that it can be verified after a crash.
    pub journal: Option<&'a Path>,
}

/// Progress of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Progress {
    /// Since its start.
    pub elapsed_ns: u64,
    /// Until its end, ramp included.
    pub expected_ns: u64,
}

enum Message {
    /// Set up and waiting for the start, or not.
    Ready(Result<(), RingError>),
    Sample(u32, Box<Sample>),
    Ended(u32, Result<Box<WorkerOutcome>, RingError>),
}

/// Gate at which workers wait for the common start, or for the word that there is none.
#[derive(Default)]
struct Gate {
    opened: Mutex<Option<Option<Instant>>>,
    changed: Condvar,
}

impl Gate {
    fn open(&self, start: Option<Instant>) {
        *self.opened.lock().unwrap_or_else(PoisonError::into_inner) = Some(start);
        self.changed.notify_all();
    }

    fn wait(&self) -> Option<Instant> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(start) = *opened {
                return start;
            }
            opened = self.changed.wait(opened).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// State that all workers share before and after, but not while, they drive.
struct Common<'a> {
    case: RingCase<'a>,
    interface: Interface,
    striping: Option<Striping>,
    capacity_bytes: u64,
    workers: u32,
    barrier: Option<&'a StartBarrier>,
    gate: Gate,
    stop_signal: AtomicBool,
    /// The caller asked for the end.
    hurry: AtomicBool,
}

/// Drives a load. `on_sample` gets each interval, over all workers, as it ends, on the caller's thread; a slow `on_sample`
/// does not hold the load up. `stop` ends the run within a second, and what was counted is kept.
pub fn run(
    case: &RingCase,
    on_sample: &mut dyn FnMut(Sample),
    on_progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<RingOutcome, RingError> {
    run_behind(None, case, on_sample, on_progress, stop)
}

/// As [`run`], but the load begins at the moment that the barrier names.
pub fn run_behind(
    barrier: Option<&StartBarrier>,
    case: &RingCase,
    on_sample: &mut dyn FnMut(Sample),
    on_progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<RingOutcome, RingError> {
    let (interface, fallback) = match case.targets {
        RingTargets::Null { .. } => (case.options.interface, None),
        RingTargets::NullRing { .. } => choose(Interface::IoUring, Engine::probe())?,
        RingTargets::Open(targets) => {
            let discards_blocks = case.load.shape.trim_percent > 0
                && case.options.trim == TrimKind::Discard
                && targets.iter().any(OpenTarget::is_block_device);
            choose_with_discards(case.options.interface, discards_blocks, Engine::probe())?
        }
    };
    let (striping, capacity_bytes) = match case.targets {
        RingTargets::Open(targets) => {
            let striping = Striping::new(targets, case.options.stripe_chunk_bytes)?;
            let capacity_bytes = striping.capacity_bytes();
            (Some(striping), capacity_bytes)
        }
        RingTargets::Null { capacity_bytes } | RingTargets::NullRing { capacity_bytes } => {
            (None, capacity_bytes)
        }
    };
    check(case, interface, capacity_bytes)?;
    let workers = workers(case)?;
    let (mut options, not_possible) = possible(case.options, case.targets, interface);
    let handover = match case.targets {
        RingTargets::Open(targets) if interface == Interface::IoUring => {
            let mut try_load = |load: &LoadSpec, options: &RingOptions| {
                let trial = RingCase { load, options, io_size_bytes: None, journal: None, ..*case };
                let Ok(outcome) = run_behind(None, &trial, &mut |_| {}, &mut |_| {}, stop) else {
                    return Trial::default();
                };
                let is_sound = outcome.runtime_ns > 0 && outcome.errors.is_empty();
                let iops = outcome.delivered_ios() as f64 / (outcome.runtime_ns as f64 / 1e9);
                Trial { iops: is_sound.then_some(iops), ios: outcome.issued_ios }
            };
            let choice = choose_handover(targets, case.load, &options, Engine::probe(), &mut try_load);
            options.force_async = Some(choice.chosen.force_async);
            options.deferred_completion = Some(choice.chosen.deferred_completion);
            Some(choice)
        }
        _ => None,
    };
    let common = Common {
        case: RingCase { options: &options, ..*case },
        interface,
        striping,
        capacity_bytes,
        workers,
        barrier,
        gate: Gate::default(),
        stop_signal: AtomicBool::new(false),
        hurry: AtomicBool::new(false),
    };
    let mut collector = Collector::new(&common, on_sample, on_progress, stop);
    std::thread::scope(|scope| {
        let (tx, rx) = channel();
        for worker in 0..workers {
            let (tx, common) = (tx.clone(), &common);
            let spawned = std::thread::Builder::new()
                .name(format!("ring-{worker}"))
                .spawn_scoped(scope, move || work(common, worker, &tx));
            if let Err(error) = spawned {
                common.gate.open(None);
                return Err(RingError::engine("start a thread", error));
            }
        }
        drop(tx);
        collector.collect(&rx)
    })?;
    let warnings = fallback.into_iter().chain(not_possible).collect();
    Ok(RingOutcome { handover, ..collector.outcome(warnings) })
}

fn check(case: &RingCase, interface: Interface, capacity_bytes: u64) -> Result<(), RingError> {
    let spec = case.load;
    Schedule::new(spec, capacity_bytes)?;
    if case.options.poll && (case.options.fsync_every > 0 || spec.shape.trim_percent > 0) {
        return Err(RingError::refused(
            "polled completions know only reads and writes",
            "leave out `poll`, or trims and fsync",
        ));
    }
    if interface == Interface::IoUring && spec.shape.trim_percent > 0 && !Engine::probe().fallocate {
        return Err(RingError::refused(
            "this kernel's io_uring cannot discard",
            "use the interface `threads`",
        ));
    }
    let RingTargets::Open(targets) = case.targets else { return Ok(()) };
    for target in targets {
        if spec.writes() && !target.is_writable() {
            return Err(RingError::refused(
                format!("`{}` is open for reading only, but the load writes", target.name()),
                "open it with a write permit",
            ));
        }
        let alignment = u64::from(target.alignment_bytes());
        let sizes = spec.shape.sizes.iter().map(|size| size.bs_bytes).chain([spec.bs_bytes]);
        let increment = spec.shape.offset_increment_bytes.unwrap_or(0);
        for bytes in sizes.map(u64::from).chain([spec.offset_bytes, increment]) {
            if !bytes.is_multiple_of(alignment) {
                return Err(RingError::refused(
                    format!(
                        "`{}` has blocks of {alignment} bytes, and {bytes} is no multiple of that",
                        target.name()
                    ),
                    "choose `bs`, `offset` and `offset_increment` that fit, or `direct: 0` for a file",
                ));
            }
        }
    }
    Ok(())
}

fn workers(case: &RingCase) -> Result<u32, RingError> {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u32);
    let wanted = case.options.workers.unwrap_or(processors);
    if wanted == 0 || wanted > WORKERS_LIMIT {
        return Err(RingError::refused(format!("{wanted} workers"), "use 1 to 1024"));
    }
    Ok(wanted.min(case.load.numjobs))
}

/// Body of one worker's thread.
fn work(common: &Common, worker: u32, tx: &Sender<Message>) {
    // A message that nobody takes any more belongs to a run that has already failed.
    let ready = |result| {
        let _ = tx.send(Message::Ready(result));
        let start = common.gate.wait();
        if let (Some(start), Some(barrier)) = (start, common.barrier) {
            wait_until(start);
            barrier.note_begin(Instant::now());
        }
        start
    };
    let unpinned = prepare_thread(common.case.options, worker);
    let ended = |outcome: Result<WorkerOutcome, RingError>| {
        let outcome = outcome.map(|mut outcome| {
            outcome.warnings.extend(unpinned.clone());
            Box::new(outcome)
        });
        let _ = tx.send(Message::Ended(worker, outcome));
    };
    let jobs: Vec<u32> = (worker..common.case.load.numjobs).step_by(common.workers as usize).collect();
    let spec = common.case.load;
    let slots = jobs.len() * spec.iodepth as usize;
    let mut on_sample = |sample| match tx.send(Message::Sample(worker, Box::new(sample))) {
        Ok(()) => ControlFlow::Continue(()),
        Err(_) => ControlFlow::Break(()),
    };
    let assignment = |start| Assignment {
        spec,
        options: common.case.options,
        worker,
        jobs: jobs.clone(),
        capacity_bytes: common.capacity_bytes,
        start,
        stop_signal: &common.stop_signal,
        hurry: &common.hurry,
        io_size_bytes: common.case.io_size_bytes,
        journal: common.case.journal,
        targets: common.case.targets,
    };
    let arena = || Arena::new(slots, spec.shape.largest_bytes(spec.bs_bytes) as usize);
    macro_rules! drive_with {
        ($queue:expr) => {
            match $queue {
                Err(error) => {
                    ready(Err(error));
                }
                Ok(queue) => {
                    if let Some(start) = ready(Ok(())) {
                        ended(drive(&assignment(start), queue, &mut on_sample));
                    }
                }
            }
        };
    }
    match (common.case.targets, &common.striping) {
        (RingTargets::Open(targets), Some(striping)) if common.interface == Interface::Threads => {
            drive_with!(
                arena()
                    .and_then(|arena| { Threads::new(targets, striping, arena, slots, common.case.options) })
            );
        }
        (RingTargets::Null { .. }, _) => drive_with!(Ok(Null::default())),
        (targets, striping) => {
            let (backing, parts) = match (targets, striping) {
                (RingTargets::Open(targets), Some(striping)) => {
                    let largest = spec.shape.largest_bytes(spec.bs_bytes);
                    let parts = striping
                        .extents_at_most(largest)
                        .max(if common.case.options.fsync_every > 0 { targets.len() as u64 } else { 1 });
                    (Backing::Targets(targets, striping), parts)
                }
                _ => (Backing::Nothing, 1),
            };
            match build_ring(slots as u64 * parts, common.case.options, Engine::probe()) {
                Err(error) => {
                    ready(Err(error));
                }
                Ok(mut ring) => {
                    let mut warnings = Vec::new();
                    let queue = arena()
                        .and_then(|arena| Uring::new(&mut ring, arena, slots, backing, common.case.options))
                        .inspect(|queue| warnings.clone_from(&queue.warnings));
                    match queue {
                        Err(error) => {
                            ready(Err(error));
                        }
                        Ok(queue) => {
                            if let Some(start) = ready(Ok(())) {
                                let driven = drive(&assignment(start), queue, &mut on_sample);
                                ended(driven.map(|mut outcome| {
                                    outcome.warnings.append(&mut warnings);
                                    outcome
                                }));
                            }
                        }
                    }
                }
            }
        }
    }
}

/// Pins the thread if asked, and has the kernel wake it without the slack that saves power. Returns what could not be done.
fn prepare_thread(options: &RingOptions, worker: u32) -> Option<String> {
    // SAFETY: PR_SET_TIMERSLACK takes a number and changes only this thread's timers.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1u64) };
    if let Some(&cpu) = options.cpus.get(worker as usize % options.cpus.len().max(1)) {
        // SAFETY: an all-zero set is an empty set.
        let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
        if cpu < libc::CPU_SETSIZE as usize {
            // SAFETY: the number lies within the set, and the set outlives both calls. A processor that is not there leaves
            // the thread where it was.
            let refused = unsafe {
                libc::CPU_SET(cpu, &mut set);
                libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set) != 0
            };
            if !refused {
                return None;
            }
        }
        return Some(format!(
            "there is no processor {cpu} to pin a worker to: it runs where the system puts it"
        ));
    }
    None
}

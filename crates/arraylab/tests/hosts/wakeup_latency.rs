//! Wake-up latency of this machine, as `cyclictest` measures it: on each processor a thread that only sleeps, of the class
//! that loads have at their start. What keeps such a thread from its processor keeps every other one from it too.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;

/// A thread sleeps for so long each time.
const PERIOD_NS: u64 = 1_000_000;
/// A thread that is woken later than this was kept from its processor.
const LATE_NS: u64 = 2_000_000;

/// A time in which a processor was not to be had, by the monotonic clock.
#[derive(Debug, Clone, Copy)]
pub struct Withheld {
    due_ns: u64,
    woken_ns: u64,
}

impl Withheld {
    pub fn overlaps(&self, from_ns: u64, until_ns: u64) -> bool {
        self.due_ns <= until_ns && from_ns <= self.woken_ns
    }
}

/// Measurement under way.
pub struct WakeupLatency {
    stop: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Vec<Withheld>>>,
}

impl WakeupLatency {
    pub fn start() -> WakeupLatency {
        let stop = Arc::new(AtomicBool::new(false));
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = (0..processors)
            .map(|processor| {
                let stop = Arc::clone(&stop);
                std::thread::spawn(move || measure(processor, &stop))
            })
            .collect();
        WakeupLatency { stop, threads }
    }

    /// Ends the watch and returns the times at which processors were withheld.
    pub fn finish(self) -> Vec<Withheld> {
        self.stop.store(true, Ordering::Relaxed);
        self.threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
    }
}

fn measure(processor: usize, stop: &AtomicBool) -> Vec<Withheld> {
    // SAFETY: an all-zero set is a valid one, and the calls change only this thread. Where they are not allowed, the thread
    // sleeps as an ordinary one.
    unsafe {
        let mut set: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(processor, &mut set);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &raw const set);
        let mut parameters: libc::sched_param = std::mem::zeroed();
        parameters.sched_priority = 1;
        libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters);
    }
    let clock = store::RunClock::monotonic();
    let mut withheld = Vec::new();
    while !stop.load(Ordering::Relaxed) {
        let due_ns = clock.now_ns() + PERIOD_NS;
        std::thread::sleep(std::time::Duration::from_nanos(PERIOD_NS));
        let woken_ns = clock.now_ns();
        if woken_ns > due_ns + LATE_NS {
            withheld.push(Withheld { due_ns, woken_ns });
        }
    }
    withheld
}

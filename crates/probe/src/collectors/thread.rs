//! Collector thread: polls one telemetry source at a fixed interval while a run goes on.

use super::command::CommandSource;
use super::health::HealthSource;
use super::prometheus::PrometheusSource;
use super::{Answer, CollectError, CommandSettings, Deadline, HealthSettings, PrometheusSettings, Source};
use crate::host::ProbeError;
use diagnostic::{Problem, text_with_causes};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A source that is stopped has so long to come back: it looks at the stop ten times a second, but a name server or
/// the kernel may hold it. Then it is left behind, and what it still says is not heard.
const STOP_GRACE: Duration = Duration::from_secs(1);
const STOP_STEP: Duration = Duration::from_millis(2);

/// Telemetry source of a collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CollectorSource {
    /// A command.
    Command(CommandSettings),
    /// A Prometheus address.
    Prometheus(PrometheusSettings),
    /// The drives.
    Health(HealthSettings),
}

impl CollectorSource {
    /// The source of its values in the run.
    pub fn name(&self) -> &'static str {
        match self {
            CollectorSource::Command(_) => "command",
            CollectorSource::Prometheus(_) => "prometheus",
            CollectorSource::Health(_) => "smart",
        }
    }

    fn describe(&self) -> String {
        match self {
            CollectorSource::Command(command) => format!("the command `{}`", command.name),
            CollectorSource::Prometheus(settings) => format!("{}", settings.address),
            CollectorSource::Health(_) => "the health of the drives".into(),
        }
    }

    fn source(self) -> Box<dyn Source> {
        match self {
            CollectorSource::Command(settings) => Box::new(CommandSource::new(settings)),
            CollectorSource::Prometheus(settings) => Box::new(PrometheusSource::new(settings)),
            CollectorSource::Health(settings) => Box::new(HealthSource::new(settings)),
        }
    }
}

/// Source, interval and timeout of a collector.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CollectorSettings {
    /// Telemetry source.
    pub source: CollectorSource,
    /// Time between questions.
    pub interval: Duration,
    /// Timeout of an answer.
    pub timeout: Duration,
    /// Time at which the run's clock was zero; questions fall on whole intervals since then.
    pub run_start: Instant,
}

/// Counts of answers and failures of a collector.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CollectorSummary {
    /// Description of the source, in words.
    pub source: String,
    /// Answers that were given on.
    pub answers: u64,
    /// Questions without an answer.
    pub failures: u64,
    /// Reason of the last failure.
    pub last_failure: Option<String>,
}

impl CollectorSummary {
    /// Returns a warning, in words, where something is missing.
    pub fn warning(&self) -> Option<String> {
        let CollectorSummary { source, answers, failures, last_failure } = self;
        let why = last_failure.as_ref()?;
        Some(format!("{source} gave no counters {failures} times of {}: {why}", answers + failures))
    }
}

/// Receiver of answers, and of the first failure of a source that gave no answer yet: the run may last for hours.
type Sink = Box<dyn FnMut(Result<Answer, Problem>) + Send>;

struct Shared {
    stop: AtomicBool,
    /// Taken away by the stop, so that a source which never comes back holds nothing that the run waits for.
    sink: Mutex<Option<Sink>>,
    summary: Mutex<CollectorSummary>,
}

/// Running collector; dropping it stops its thread.
pub struct CollectorThread {
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl CollectorThread {
    /// Asks at once and then every interval, on a thread of its own. `sink` is given each answer and, once, why there was
    /// none; later failures are counted in the summary.
    pub fn start(
        settings: CollectorSettings,
        sink: impl FnMut(Result<Answer, Problem>) + Send + 'static,
    ) -> Result<Self, ProbeError> {
        if settings.interval < crate::INTERVAL_MINIMUM {
            return Err(ProbeError::Interval(settings.interval));
        }
        let summary = CollectorSummary { source: settings.source.describe(), ..CollectorSummary::default() };
        let shared = Arc::new(Shared {
            stop: AtomicBool::new(false),
            sink: Mutex::new(Some(Box::new(sink))),
            summary: Mutex::new(summary),
        });
        let theirs = Arc::clone(&shared);
        let thread = thread::Builder::new()
            .name("asked-probe".into())
            .spawn(move || collect_until_stopped(settings, &theirs))
            .map_err(ProbeError::Thread)?;
        Ok(CollectorThread { shared, thread: Some(thread) })
    }

    /// Tells it to end without waiting, so that several sources end at the same time.
    pub fn signal_stop(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = &self.thread {
            thread.thread().unpark();
        }
    }

    /// Ends it within about a second, whatever the source does, and says how it went.
    pub fn stop(mut self) -> CollectorSummary {
        self.end();
        lock(&self.shared.summary).clone()
    }

    fn end(&mut self) {
        self.signal_stop();
        let Some(thread) = self.thread.take() else { return };
        let deadline = Instant::now() + STOP_GRACE;
        while !thread.is_finished() && Instant::now() < deadline {
            thread::sleep(STOP_STEP);
        }
        drop(lock(&self.shared.sink).take());
    }
}

impl Drop for CollectorThread {
    fn drop(&mut self) {
        self.end();
    }
}

fn collect_until_stopped(settings: CollectorSettings, shared: &Shared) {
    let CollectorSettings { source, interval, timeout, run_start } = settings;
    let name = source.name();
    let mut source = source.source();
    let stopped = || shared.stop.load(Ordering::Relaxed);
    while !stopped() {
        let deadline = Deadline::new(timeout, &stopped);
        let answered = source.collect(&deadline);
        let at_ns = nanoseconds(run_start.elapsed());
        match answered {
            Ok(values) => {
                lock(&shared.summary).answers += 1;
                if let Some(sink) = lock(&shared.sink).as_mut().filter(|_| !values.is_empty()) {
                    sink(Ok(Answer { at_ns, source: name, values }));
                }
            }
            Err(CollectError::Stopped) => return,
            Err(error) => {
                let why = text_with_causes(&error);
                let first = {
                    let mut summary = lock(&shared.summary);
                    summary.failures += 1;
                    summary.last_failure = Some(why.clone());
                    (summary.failures == 1).then(|| {
                        Problem::new(format!("{} gave no counters", summary.source)).caused_by(error)
                    })
                };
                if let (Some(sink), Some(first)) = (lock(&shared.sink).as_mut(), first) {
                    sink(Err(first));
                }
            }
        }
        // Questions that were due meanwhile are left out.
        let interval_ns = nanoseconds(interval);
        let due_ns = (nanoseconds(run_start.elapsed()) / interval_ns + 1).saturating_mul(interval_ns);
        loop {
            let left_ns = due_ns.saturating_sub(nanoseconds(run_start.elapsed()));
            if left_ns == 0 || stopped() {
                break;
            }
            thread::park_timeout(Duration::from_nanos(left_ns));
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // A sink that panicked has ended this source's thread; what it left is still to be read.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// 2^64 ns are 584 years.
fn nanoseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

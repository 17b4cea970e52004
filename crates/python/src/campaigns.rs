//! Plans carried out from Python, on the engine of `arraylab run`.

use crate::errors::{FAILED, REFUSED, raise, raise_text};
use campaign::{CampaignError, EngineChoice, Progress, Request, Watcher};
use diagnostic::Problem;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use store::{CaseRecord, CaseResult, RunEnd};

/// Interval at which the interpreter is checked for a keyboard interrupt.
const SIGNAL_LOOK: Duration = Duration::from_millis(50);
/// Progress that waits for Python; what comes while the queue is full is left out, the next is newer.
const PROGRESS_QUEUE: usize = 64;

/// Ends campaigns that other threads carry out: Ctrl-C reaches the main thread alone.
#[pyclass(module = "arraylab._native", frozen)]
#[derive(Default)]
pub struct Stop {
    requested: AtomicBool,
}

#[pymethods]
impl Stop {
    #[new]
    fn new() -> Stop {
        Stop::default()
    }

    /// Campaigns that were given this end in order.
    fn set(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }
}

/// Message of a campaign.
enum News {
    Progress { case: String, share: f64, cases_ended: usize, cases_total: usize, time_left_ns: Option<u64> },
    Notice(String),
}

/// Hands on what happens to the thread that holds the interpreter.
struct Reporter {
    news: Option<SyncSender<News>>,
}

impl Reporter {
    fn send(&self, news: News) {
        if let Some(sender) = &self.news {
            // Progress is a picture of now: where the queue is full, the next one says more.
            let _ = sender.try_send(news);
        }
    }

    fn progress(&self, case: &CaseRecord, progress: &Progress) {
        self.send(News::Progress {
            case: format!("{}/{}", case.stage, case.name),
            share: progress.share,
            cases_ended: progress.cases_ended,
            cases_total: progress.cases_total,
            time_left_ns: progress.time_left_ns,
        });
    }
}

impl Watcher for Reporter {
    fn case_started(&mut self, case: &CaseRecord, progress: &Progress) {
        self.progress(case, progress);
    }

    fn case_progress(&mut self, case: &CaseRecord, _share: f64, progress: &Progress) {
        self.progress(case, progress);
    }

    fn case_ended(&mut self, case: &CaseRecord, _result: &CaseResult, progress: &Progress) {
        self.progress(case, progress);
    }

    fn notice(&mut self, text: &str) {
        self.send(News::Notice(text.to_owned()));
    }
}

/// Carries out a plan as `arraylab run` does, and returns how it ended: `done`, or `failed: …`. The interpreter is free
/// meanwhile; Ctrl-C ends the run in order and raises KeyboardInterrupt. `on_progress` is called with a dictionary.
#[pyfunction]
#[pyo3(signature = (plan, targets, out, *, seed=1, stages=Vec::new(), only=Vec::new(), set=Vec::new(), exact=false,
                    threads=None, consents=Vec::new(), array_driver=None, engine=None, on_progress=None, stop=None))]
#[expect(clippy::too_many_arguments, reason = "the keywords of a Python function")]
pub fn carry_out(
    py: Python<'_>,
    plan: String,
    targets: Vec<String>,
    out: PathBuf,
    seed: u64,
    stages: Vec<String>,
    only: Vec<(String, Vec<String>)>,
    set: Vec<(String, String)>,
    exact: bool,
    threads: Option<usize>,
    consents: Vec<String>,
    array_driver: Option<String>,
    engine: Option<&str>,
    on_progress: Option<Bound<'_, PyAny>>,
    stop: Option<Py<Stop>>,
) -> PyResult<()> {
    let engine = match engine {
        None => None,
        Some("ring") => Some(EngineChoice::Ring),
        Some("fio") => Some(EngineChoice::Fio),
        Some(other) => {
            let problem = Problem::new(format!("there is no engine `{other}`"));
            return Err(raise(&problem.with_hint("ring or fio"), REFUSED));
        }
    };
    let request = Request {
        plan,
        targets,
        selection: plan::Selection { stages, only, set },
        directory: out,
        seed,
        consents,
        engine,
        array_driver,
        threads,
        exact,
        command_line: vec!["python".to_owned()],
        ..Request::default()
    };
    let campaign = py.detach(|| campaign::prepare(&request)).map_err(of_campaign)?;
    let interrupt = AtomicBool::new(false);
    let (news, received) = sync_channel(PROGRESS_QUEUE);
    // One thread listens; the lock is what lets it wait without the interpreter.
    let received = Mutex::new(received);
    let wants_progress = on_progress.is_some();
    let (carried, stopped) = std::thread::scope(|scope| {
        let interrupt = &interrupt;
        let worker = scope.spawn(move || {
            let mut reporter = Reporter { news: wants_progress.then(|| news.clone()) };
            let carried = campaign::run_campaign(campaign, interrupt, &mut reporter);
            // The receiver sees the end when the last sender is gone.
            drop(news);
            carried
        });
        let stopped =
            listen(py, &received, on_progress.as_ref(), stop.as_ref().map(|stop| stop.get()), interrupt);
        if stopped.is_err() {
            interrupt.store(true, Ordering::Relaxed);
        }
        let carried = py.detach(|| worker.join());
        (carried, stopped)
    });
    stopped?;
    let carried = carried.map_err(|_| raise_text("the campaign ended by an error of arraylab", FAILED))?;
    let summary = carried.map_err(of_campaign)?;
    match summary.end {
        RunEnd::Done => Ok(()),
        RunEnd::Failed(why) => {
            let hint = format!("`arraylab run --resume {}` goes on", summary.directory.display());
            Err(raise(&Problem::new(why).with_hint(hint), FAILED))
        }
        RunEnd::Interrupted(why) => Err(raise_text(&format!("interrupted: {why}"), 130)),
    }
}

/// Hands progress to Python until the campaign is over; an error is the user's interrupt, or the callback's own.
fn listen(
    py: Python<'_>,
    received: &Mutex<Receiver<News>>,
    on_progress: Option<&Bound<'_, PyAny>>,
    stop: Option<&Stop>,
    interrupt: &AtomicBool,
) -> PyResult<()> {
    loop {
        let next =
            py.detach(|| received.lock().unwrap_or_else(PoisonError::into_inner).recv_timeout(SIGNAL_LOOK));
        match next {
            Ok(news) => {
                if let Some(callback) = on_progress {
                    callback.call1((as_dictionary(py, news)?,))?;
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
        py.check_signals()?;
        if stop.is_some_and(|stop| stop.requested.load(Ordering::Relaxed)) {
            interrupt.store(true, Ordering::Relaxed);
        }
    }
}

fn as_dictionary(py: Python<'_>, news: News) -> PyResult<Bound<'_, PyDict>> {
    let dictionary = PyDict::new(py);
    match news {
        News::Notice(text) => dictionary.set_item("notice", text)?,
        News::Progress { case, share, cases_ended, cases_total, time_left_ns } => {
            dictionary.set_item("case", case)?;
            dictionary.set_item("share", share)?;
            dictionary.set_item("cases_ended", cases_ended)?;
            dictionary.set_item("cases_total", cases_total)?;
            dictionary.set_item("time_left_s", time_left_ns.map(|ns| ns as f64 / 1e9))?;
        }
    }
    Ok(dictionary)
}

fn of_campaign(error: CampaignError) -> PyErr {
    let status = match &error {
        CampaignError::Store(error) if error.is_failure() => FAILED,
        _ => REFUSED,
    };
    raise(&error, status)
}

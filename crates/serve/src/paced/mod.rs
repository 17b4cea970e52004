//! Pacing of a served array: each reply is sent at the time that the twin gives.
//!
//! Readers tell the [`Pacer`] of a request when it has arrived and hand it the reply when the bytes are done. One
//! thread owns the twin, runs it on the wall clock, and lets go of each reply at the twin's moment.

mod inbox;
mod limited;
mod model;
mod model_swap;
mod pacing_error;
mod persistent_faults;
mod recent_window;
mod send_cost;
mod tally;
mod thread;
mod twin_spec;
mod wake_lead;

pub(crate) use model::{Model, RequestTarget};
pub use pacing_error::PacingErrorReport;
pub(crate) use tally::Tally;
pub(crate) use twin_spec::KnownVolume;
pub use twin_spec::TwinSpec;

use crate::ServeError;
use crate::array_settings::text_of;
use diagnostic::Problem;
use inbox::{ArrivedRequest, Inbox};
use nbd::{Arrival, HeldReply};
use serde_json::{Map, Value};
use std::sync::mpsc;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;
use thread::Pacing;

/// Time that the thread may take to answer a question; it looks for them between any two events.
const ANSWER_LIMIT: Duration = Duration::from_secs(10);
const STACK_BYTES: usize = 1 << 20;

/// State that a query of the pacer thread reads and changes.
pub(crate) struct Paced<'a> {
    /// The twin and its volumes.
    pub model: &'a mut Model,
    /// The moment on the twin's clock.
    pub now_ns: u64,
    /// Delay with which replies have left so far.
    pub lateness: PacingErrorReport,
    /// Requests that have no reply yet.
    pub under_way: usize,
    /// Everything that is under way is to be answered now: the twin it was handed to is no more.
    pub forget: &'a mut bool,
}

impl Paced<'_> {
    /// Puts a twin with other settings in the place of this one. What is under way is answered now.
    pub(crate) fn rebuild(&mut self, changes: Map<String, Value>, lost: &[Value]) -> Result<(), ServeError> {
        let mut settings = self.model.settings().clone();
        let is_other = |key: &str, value: &Value| {
            settings.get(key).is_none_or(|before| text_of(before) != text_of(value))
        };
        let changes: Vec<_> = changes.into_iter().filter(|(key, value)| is_other(key, value)).collect();
        if !changes.is_empty() {
            settings.extend(changes);
            self.model.rebuild(settings, lost, self.now_ns)?;
            *self.forget = true;
        }
        Ok(())
    }

    /// The array has other volumes from now on.
    pub(crate) fn volumes_are(&mut self, known: Vec<KnownVolume>, lost: &[Value]) -> Result<(), ServeError> {
        *self.forget |= self.model.volumes_are(self.now_ns, known, lost)?;
        Ok(())
    }
}

/// Paces replies by a twin.
pub(crate) struct Pacer {
    inbox: Arc<Inbox>,
    thread: Mutex<Option<JoinHandle<PacingErrorReport>>>,
    speed_millionths: u64,
}

impl Pacer {
    /// Starts the twin's clock.
    pub(crate) fn start(model: Model, speed_millionths: u64) -> Result<Pacer, ServeError> {
        let inbox = Arc::new(Inbox::default());
        let pacing = Pacing::new(inbox.clone(), model, speed_millionths);
        let builder = std::thread::Builder::new().name("pacer".into()).stack_size(STACK_BYTES);
        let thread = builder.spawn(move || pacing.run()).map_err(ServeError::io("start the pacer"))?;
        inbox.belongs_to(thread.thread().clone());
        Ok(Pacer { inbox, thread: Mutex::new(Some(thread)), speed_millionths })
    }

    /// The twin's time in millionths of ours.
    pub(crate) fn speed_millionths(&self) -> u64 {
        self.speed_millionths
    }

    /// A request has arrived. The number by which its reply is to be handed over, unless the pacer has stopped.
    pub(crate) fn arrive(&self, arrival: &Arrival, place: RequestTarget, tally: Arc<Tally>) -> Option<u32> {
        let Arrival { at, access, length_bytes, connection, .. } = *arrival;
        self.inbox.arrive(|number| ArrivedRequest {
            number,
            at,
            access,
            place,
            length_bytes,
            connection,
            tally,
        })
    }

    /// The bytes of a request are done.
    pub(crate) fn hold(&self, number: u32, reply: HeldReply) {
        self.inbox.hold(number, reply);
    }

    /// Asks the thread that owns the twin.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        question: impl FnOnce(&mut Paced<'_>) -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let (answer, answered) = mpsc::sync_channel(1);
        self.inbox.query(Box::new(move |paced| {
            // Whoever asked may have stopped waiting.
            let _ = answer.send(question(paced));
        }));
        answered
            .recv_timeout(ANSWER_LIMIT)
            .map_err(|_| Problem::new("the model has stopped").with_hint("start the server anew"))
    }

    /// Lets all replies go at once, now and from now on, and ends the thread. How late it has been.
    pub(crate) fn stop(&self) -> Option<PacingErrorReport> {
        self.inbox.stop();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take()?;
        thread.join().ok()
    }
}

impl Drop for Pacer {
    fn drop(&mut self) {
        self.stop();
    }
}

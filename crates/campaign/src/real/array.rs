//! Array settings between cases.

use crate::message::Message;
use crate::real::reporter::{CaseStop, Reporter};
use diagnostic::{Problem, full_text};
use driver::{ArrayDriver, Change, CreatedDevice, DriverError, SetOutcome, Settings, WaitLimits};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::SyncSender;
use std::time::{Duration, Instant};

/// Interval of messages to a person on what an array is still doing.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// Array driver with the settings that it made last.
pub(crate) struct ArraySetter {
    driver: Box<dyn ArrayDriver>,
    wait: WaitLimits,
    /// Current settings of the array; `None` while they are not known.
    set: Option<Settings>,
}

impl std::fmt::Debug for ArraySetter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ArraySetter").field("set", &self.set).finish_non_exhaustive()
    }
}

impl ArraySetter {
    pub fn new(driver: Box<dyn ArrayDriver>, wait: WaitLimits) -> ArraySetter {
        ArraySetter { driver, wait, set: None }
    }

    /// True where the array must be set before a case with these settings.
    pub fn differs(&self, wanted: &Settings) -> bool {
        self.set.as_ref() != Some(wanted)
    }

    /// Makes the settings and waits until the array is ready. Nothing may hold its devices. Returns the devices that
    /// were made for them.
    pub fn set(
        &mut self,
        wanted: &Settings,
        reporter: &Reporter<'_>,
        stop: &AtomicBool,
    ) -> Result<Vec<CreatedDevice>, CaseStop> {
        self.set = None;
        let gave_up =
            |error: DriverError| CaseStop::gave_up(&Problem::of(&error).within("the array could not be set"));
        reporter.waiting("the array is being set");
        let (devices, changes) = match self.driver.set(wanted).map_err(gave_up)? {
            SetOutcome::Refused { reason } => return Err(CaseStop::Refused(reason)),
            SetOutcome::Made { devices, changes, notices } => {
                notices.into_iter().for_each(|text| reporter.send(Message::Warning { text }));
                (devices, changes)
            }
        };
        self.note(changes, reporter);
        let mut last_notice: Option<Instant> = None;
        let ready = driver::wait_until_ready(
            self.driver.as_mut(),
            self.wait,
            &mut |progress| {
                if last_notice.is_some_and(|at| at.elapsed() < TOLD_EVERY) {
                    return;
                }
                last_notice = Some(Instant::now());
                let percent = progress.percent.map_or_else(String::new, |percent| format!(" {percent:.1} %"));
                reporter.waiting(&format!("the array is not ready: {}{percent}", progress.message));
            },
            stop,
        );
        match ready {
            Ok(()) => {}
            Err(DriverError::Interrupted { .. }) => return Err(CaseStop::Stopped),
            Err(error) => return Err(gave_up(error)),
        }
        let status = self.driver.status().map_err(gave_up)?;
        reporter.happened(0, "array", "the array was set", Some(status));
        self.set = Some(wanted.clone());
        Ok(devices)
    }

    /// Deletes what the driver made, where the user requested that. Nothing may hold its devices.
    pub fn finish(&mut self, tx: &SyncSender<Message>) {
        self.set = None;
        let messages = match self.driver.finish() {
            Ok(changes) => {
                changes.into_iter().map(|change| Message::Changed { case_index: None, change }).collect()
            }
            Err(error) => {
                vec![Message::Warning { text: format!("the array was not put away: {}", full_text(&error)) }]
            }
        };
        for message in messages {
            // The coordinator receives until every worker has hung up.
            let _ = tx.send(message);
        }
    }

    fn note(&self, changes: Vec<Change>, reporter: &Reporter<'_>) {
        for change in changes {
            reporter.send(Message::Changed { case_index: Some(reporter.case_index), change });
        }
    }

    /// Returns the array driver, which carries out the events of a case.
    pub fn driver(&mut self) -> &mut dyn ArrayDriver {
        self.driver.as_mut()
    }
}

//! Setting the array between cases.

use crate::message::Message;
use crate::real::worker::{Halt, Telling};
use driver::{ArrayDriver, Change, CreatedDevice, DriverError, SetOutcome, Settings, WaitLimits};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How often a person is told what an array is still doing.
const TOLD_EVERY: Duration = Duration::from_secs(10);

/// What sets the array, and how it was set last.
pub(crate) struct ArraySetter {
    driver: Box<dyn ArrayDriver>,
    wait: WaitLimits,
    /// The settings that the array has now; `None` where nobody knows.
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
        telling: &Telling<'_>,
        stop: &AtomicBool,
    ) -> Result<Vec<CreatedDevice>, Halt> {
        self.set = None;
        let gave_up = |error: DriverError| Halt::GaveUp(format!("the array could not be set: {error}"));
        telling.waiting("the array is being set");
        let (devices, changes) = match self.driver.set(wanted).map_err(gave_up)? {
            SetOutcome::Refused { reason } => return Err(Halt::Refused(reason)),
            SetOutcome::Made { devices, changes, notices } => {
                notices.into_iter().for_each(|text| telling.tell(Message::Warning { text }));
                (devices, changes)
            }
        };
        self.note(changes, telling);
        let mut told: Option<Instant> = None;
        let ready = driver::wait_until_ready(
            self.driver.as_mut(),
            self.wait,
            &mut |progress| {
                if told.is_some_and(|told| told.elapsed() < TOLD_EVERY) {
                    return;
                }
                told = Some(Instant::now());
                let percent = progress.percent.map_or_else(String::new, |percent| format!(" {percent:.1} %"));
                telling.waiting(&format!("the array is not ready: {}{percent}", progress.message));
            },
            stop,
        );
        match ready {
            Ok(()) => {}
            Err(DriverError::Interrupted { .. }) => return Err(Halt::Stopped),
            Err(error) => return Err(gave_up(error)),
        }
        let status = self.driver.status().map_err(gave_up)?;
        telling.happened(0, "array", "the array was set", Some(status));
        self.set = Some(wanted.clone());
        Ok(devices)
    }

    fn note(&self, changes: Vec<Change>, telling: &Telling<'_>) {
        for change in changes {
            telling.tell(Message::Changed { case_index: Some(telling.case_index), change });
        }
    }

    /// What the events of a case go through.
    pub fn driver(&mut self) -> &mut dyn ArrayDriver {
        self.driver.as_mut()
    }
}

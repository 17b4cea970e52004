//! `ctl CONTROL_SOCKET VERB…`: what a user says to a served array.

use crate::ServeError;
use crate::array::typed;
use crate::events::Event;
use crate::verbs;
use driver::{ArrayDriver as _, CtlDriver, Readiness, SetOutcome};
use serde_json::{Value, json};
use std::path::Path;

/// Says one thing to a served array and returns its answer, for printing.
pub fn ctl(socket: &Path, words: &[String]) -> Result<Value, ServeError> {
    let refused = |error: driver::DriverError| ServeError::Refused(error.to_string());
    let Some((verb, arguments)) = words.split_first() else {
        return Err(usage());
    };
    let mut driver = CtlDriver::connect(socket).map_err(refused)?;
    match verb.as_str() {
        "status" => driver.status().map_err(refused),
        "ready" => Ok(match driver.ready().map_err(refused)? {
            Readiness::Ready => json!({"ready": true}),
            Readiness::Busy(progress) => {
                json!({"ready": false, "progress_percent": progress.percent, "message": progress.message})
            }
        }),
        "services" => {
            let mut status = driver.status().map_err(refused)?;
            Ok(status["services"].take())
        }
        "set" => {
            let pairs: Option<Vec<_>> = arguments.iter().map(|word| word.split_once('=')).collect();
            let pairs = pairs.filter(|pairs| !pairs.is_empty()).ok_or_else(usage)?;
            let settings =
                pairs.into_iter().map(|(name, text)| (name.to_owned(), typed(name, text))).collect();
            match driver.set(&settings).map_err(refused)? {
                SetOutcome::Made { .. } => Ok(json!({})),
                SetOutcome::Refused { reason } => Err(ServeError::Refused(reason)),
            }
        }
        event => {
            let arguments = Event::arguments(event, arguments);
            // Refused here, so that what is mistyped costs nothing.
            Event::parse(event, &arguments, &|_| Some(0)).map_err(|_| usage())?;
            driver.event(event, &arguments).map_err(refused)?;
            Ok(json!({}))
        }
    }
}

fn usage() -> ServeError {
    ServeError::Options {
        problem: format!("say one of: {}", verbs::usage()),
        hint: "for example: ctl /run/array.ctl fail 3",
    }
}

//! `ctl CONTROL_SOCKET VERB…`: client of a served array's control socket.

use crate::ServeError;
use crate::array_settings::typed;
use crate::events::Event;
use crate::verbs;
use driver::protocol::Verb;
use driver::{ArrayDriver as _, CtlDriver, DriverError, Readiness, SetOutcome};
use serde_json::{Value, json};
use std::path::Path;

/// The question about a part of the status, and that part's name.
const SERVICES: &str = "services";

/// Says one thing to a served array and returns its answer, for printing.
pub fn ctl(socket: &Path, words: &[String]) -> Result<Value, ServeError> {
    let refused = |error: DriverError| match error {
        DriverError::Refused { .. } => ServeError::Refused(error.to_string()),
        error => ServeError::Unreachable(error),
    };
    // Refused here, so that what is mistyped costs nothing.
    let verb = verb_of(words)?;
    let mut driver = CtlDriver::connect(socket).map_err(refused)?;
    match verb {
        Verb::Status => Ok(asked_for(words, driver.status().map_err(refused)?)),
        Verb::Ready => Ok(match driver.ready().map_err(refused)? {
            Readiness::Ready => json!({"ready": true}),
            Readiness::Busy(progress) => {
                json!({"ready": false, "progress_percent": progress.percent, "message": progress.message})
            }
        }),
        Verb::Set { settings } => match driver.set(&settings).map_err(refused)? {
            SetOutcome::Made { .. } => Ok(json!({})),
            SetOutcome::Refused { reason } => Err(ServeError::Refused(reason)),
        },
        Verb::Event { name, arguments } => driver.answer_of_event(&name, &arguments).map_err(refused),
    }
}

/// Returns what a user typed, or chose on the page, as the control socket has it.
pub(crate) fn verb_of(words: &[String]) -> Result<Verb, ServeError> {
    let Some((name, arguments)) = words.split_first() else { return Err(usage()) };
    match name.as_str() {
        "status" | SERVICES => Ok(Verb::Status),
        "ready" => Ok(Verb::Ready),
        "set" => {
            let pairs: Option<Vec<_>> = arguments.iter().map(|word| word.split_once('=')).collect();
            let pairs = pairs.filter(|pairs| !pairs.is_empty());
            let pairs = pairs.ok_or_else(|| mistyped("set", "it needs settings with values"))?;
            let settings =
                pairs.into_iter().map(|(name, text)| (name.to_owned(), typed(name, text))).collect();
            Ok(Verb::Set { settings })
        }
        event => {
            let arguments = Event::arguments(event, arguments);
            // Refused here, so that what is mistyped costs nothing.
            Event::parse(event, &arguments, &|_| Some(0)).map_err(|error| mistyped(event, &error.message))?;
            Ok(Verb::Event { name: event.to_owned(), arguments })
        }
    }
}

/// The part of a status that was asked for.
pub(crate) fn asked_for(words: &[String], mut status: Value) -> Value {
    if words.first().is_some_and(|name| name == SERVICES) { status[SERVICES].take() } else { status }
}

/// Returns what is wrong with a verb, and how it is said; all of them where there is none of this name.
fn mistyped(name: &str, problem: &str) -> ServeError {
    let Some(verb) = verbs::find(name) else { return usage() };
    ServeError::Options {
        problem: format!("{problem}; say: {}", verbs::usage_of(verb)),
        hint: "sizes are in bytes or as in 64m; `arraylab ctl SOCKET status` lists drives and volumes",
    }
}

fn usage() -> ServeError {
    ServeError::Options {
        problem: format!("say one of: {}", verbs::usage()),
        hint: "for example: ctl /run/array.ctl fail 3",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that who mistypes a verb's arguments is told what is wrong and how that verb is said, and not all verbs.
    #[test]
    fn mistyped_verbs_are_explained() {
        for (line, words) in [
            (
                "create logs",
                "needs a size in bytes, `size`, for example 64m; say: create VOLUME SIZE [TEMPLATE]",
            ),
            ("slow 3", "`factor` is needed, a number from 1 on; say: slow DRIVE FACTOR"),
            ("fail", "event `fail` needs the number of a drive, `drive`; say: fail DRIVE"),
            ("set", "it needs settings with values; say: set SETTING=VALUE…"),
            ("sing", "say one of: status | ready"),
        ] {
            let words_of: Vec<String> = line.split(' ').map(str::to_owned).collect();
            let error = verb_of(&words_of).unwrap_err();
            assert!(error.to_string().contains(words), "{line}: {error}");
            assert_eq!((error.exit_status(), error.to_string().contains("one of")), (2, line == "sing"));
        }
    }
}

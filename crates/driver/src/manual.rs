//! `manual` driver: the operator configures the array by hand.

use crate::array::shown;
use crate::{ArrayDriver, Change, DriverError, Readiness, SetOutcome, Settings};
use serde_json::{Value, json};
use std::io::{self, BufRead, Read as _, Write};

/// An answer is longer than this only by mistake.
const ANSWER_LIMIT_BYTES: u64 = 4096;
/// So often is an answer that cannot be understood asked again.
const ATTEMPTS: u32 = 5;

/// Answer of the operator to a step.
enum OperatorAnswer {
    Done,
    /// With the reason.
    NotDone(String),
}

/// Asks the operator, and takes the answer for what is so.
pub struct ManualDriver {
    answers: Box<dyn BufRead + Send>,
    questions: Box<dyn Write + Send>,
    settings: Settings,
}

impl ManualDriver {
    /// Reads answers from `answers` and asks on `questions`.
    pub fn new(answers: Box<dyn BufRead + Send>, questions: Box<dyn Write + Send>) -> Self {
        ManualDriver { answers, questions, settings: Settings::new() }
    }

    /// Asks the operator to carry out a step.
    fn ask(&mut self, question: &str) -> Result<OperatorAnswer, DriverError> {
        let failed = |source| DriverError::Operator { source };
        self.questions.write_all(question.as_bytes()).map_err(failed)?;
        for _ in 0..ATTEMPTS {
            self.questions
                .write_all(b"done | refused REASON | skip [REASON] > ")
                .and_then(|()| self.questions.flush())
                .map_err(failed)?;
            let mut line = String::new();
            let count = (&mut self.answers).take(ANSWER_LIMIT_BYTES).read_line(&mut line).map_err(failed)?;
            if count == 0 {
                let ended = io::Error::new(io::ErrorKind::UnexpectedEof, "there are no more answers");
                return Err(failed(ended));
            }
            let (word, reason) = line.trim().split_once(char::is_whitespace).unwrap_or((line.trim(), ""));
            let because =
                |default: &str| if reason.is_empty() { default.to_owned() } else { reason.trim().to_owned() };
            match word.to_ascii_lowercase().as_str() {
                "done" => return Ok(OperatorAnswer::Done),
                "refused" => {
                    return Ok(OperatorAnswer::NotDone(because("the operator says that the array refused")));
                }
                "skip" => {
                    let reason = format!("skipped by the operator: {}", because("no reason given"));
                    return Ok(OperatorAnswer::NotDone(reason));
                }
                _ => {}
            }
        }
        let lost =
            io::Error::new(io::ErrorKind::InvalidData, "none of the answers was done, refused or skip");
        Err(failed(lost))
    }
}

impl ArrayDriver for ManualDriver {
    fn set(&mut self, settings: &Settings) -> Result<SetOutcome, DriverError> {
        let changes: Vec<Change> = settings
            .iter()
            .filter(|(name, value)| self.settings.get(*name) != Some(*value))
            .map(|(name, value)| Change::array(name, self.settings.get(name).map(shown), Some(shown(value))))
            .collect();
        if changes.is_empty() {
            return Ok(SetOutcome::Made { devices: vec![], changes, notices: vec![] });
        }
        let mut question = "Set the array, wait until it is ready, and answer:\n".to_owned();
        for (name, value) in settings {
            let known = match self.settings.get(name) {
                Some(before) if before == value => " (as before)".to_owned(),
                Some(before) => format!(" (was {})", shown(before)),
                None => String::new(),
            };
            question.push_str(&format!("  {name} = {}{known}\n", shown(value)));
        }
        match self.ask(&question)? {
            OperatorAnswer::Done => {
                self.settings.clone_from(settings);
                Ok(SetOutcome::Made { devices: vec![], changes, notices: vec![] })
            }
            OperatorAnswer::NotDone(reason) => {
                // Nobody knows how much of it was made.
                self.settings.clear();
                Ok(SetOutcome::Refused { reason })
            }
        }
    }

    fn ready(&mut self) -> Result<Readiness, DriverError> {
        Ok(Readiness::Ready)
    }

    fn status(&mut self) -> Result<Value, DriverError> {
        Ok(json!({ "set_by": "operator", "settings": self.settings }))
    }

    fn event(&mut self, name: &str, arguments: &Settings) -> Result<(), DriverError> {
        let mut question = format!("Now do on the array: {name}");
        for (key, value) in arguments {
            question.push_str(&format!(" {key}={}", shown(value)));
        }
        question.push('\n');
        match self.ask(&question)? {
            OperatorAnswer::Done => Ok(()),
            OperatorAnswer::NotDone(reason) => {
                Err(DriverError::Refused { what: format!("event `{name}`"), reason })
            }
        }
    }
}

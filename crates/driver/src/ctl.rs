//! `ctl:SOCKET` driver: configures a served array over its control socket.

use crate::array::shown;
use crate::protocol::{
    ErrorKind, Ready, Request, Response, ResponseError, ResponseResult, Verb, read_line, to_line,
};
use crate::{ArrayDriver, Change, DriverError, Progress, Readiness, SetOutcome, Settings};
use serde_json::Value;
use std::io::{self, BufReader, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A served array answers at once; a minute is for a host in trouble.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

const HINT: &str =
    "is this the control socket of a served array? (by default the served socket's path + .ctl)";

/// The client side of a control socket.
#[derive(Debug)]
pub struct CtlDriver {
    socket: PathBuf,
    stream: BufReader<UnixStream>,
    next_id: u64,
    settings: Settings,
}

impl CtlDriver {
    /// Connects to a served array.
    pub fn connect(socket: &Path) -> Result<Self, DriverError> {
        let failed = |source| DriverError::Socket { socket: socket.to_owned(), source };
        let stream = UnixStream::connect(socket).map_err(failed)?;
        stream.set_read_timeout(Some(ANSWER_TIMEOUT)).map_err(failed)?;
        stream.set_write_timeout(Some(ANSWER_TIMEOUT)).map_err(failed)?;
        Ok(CtlDriver {
            socket: socket.to_owned(),
            stream: BufReader::new(stream),
            next_id: 1,
            settings: Settings::new(),
        })
    }

    fn ask(&mut self, verb: Verb) -> Result<Result<Value, ResponseError>, DriverError> {
        let id = self.next_id;
        self.next_id += 1;
        let socket = self.socket.clone();
        let failed = |source| DriverError::Socket { socket: socket.clone(), source };
        let wrong =
            |problem: String| DriverError::Answer { from: socket.display().to_string(), problem, hint: HINT };
        let line = to_line(&Request { id, token: None, verb }).map_err(|error| wrong(error.to_string()))?;
        self.stream.get_mut().write_all(&line).map_err(failed)?;
        let line = read_line(&mut self.stream)
            .map_err(failed)?
            .ok_or_else(|| failed(io::Error::from(io::ErrorKind::ConnectionAborted)))?;
        let response = Response::parse(&line).map_err(|error| wrong(error.to_string()))?;
        // An error without an ID is about the only request that is under way.
        if response.id.is_some_and(|answered| answered != id) {
            return Err(wrong(format!("it answers request {:?} instead of {id}", response.id)));
        }
        match response.result {
            ResponseResult::Ok(value) => Ok(Ok(value)),
            ResponseResult::Error(error) => Ok(Err(error)),
        }
    }

    /// Says an event to the array and returns its answer.
    ///
    /// # Errors
    /// [`DriverError::Refused`] where the array does not do it.
    pub fn answer_of_event(&mut self, name: &str, arguments: &Settings) -> Result<Value, DriverError> {
        let verb = Verb::Event { name: name.to_owned(), arguments: arguments.clone() };
        self.done(&format!("event `{name}`"), verb)
    }

    fn done(&mut self, what: &str, verb: Verb) -> Result<Value, DriverError> {
        self.ask(verb)?.map_err(|error| DriverError::Refused { what: what.to_owned(), reason: error.message })
    }
}

impl ArrayDriver for CtlDriver {
    fn set(&mut self, settings: &Settings) -> Result<SetOutcome, DriverError> {
        match self.ask(Verb::Set { settings: settings.clone() })? {
            Ok(_) => {
                let changes = settings
                    .iter()
                    .filter(|(name, value)| self.settings.get(*name) != Some(*value))
                    .map(|(name, value)| {
                        Change::array(name, self.settings.get(name).map(shown), Some(shown(value)))
                    })
                    .collect();
                self.settings.clone_from(settings);
                Ok(SetOutcome::Made { devices: vec![], changes, notices: vec![] })
            }
            Err(error) if error.kind == ErrorKind::Refused => {
                Ok(SetOutcome::Refused { reason: error.message })
            }
            Err(error) => {
                Err(DriverError::Refused { what: "the settings".to_owned(), reason: error.message })
            }
        }
    }

    fn ready(&mut self) -> Result<Readiness, DriverError> {
        let value = self.done("`ready`", Verb::Ready)?;
        let Ready { ready, progress_percent: percent, message } =
            serde_json::from_value(value).map_err(|error| DriverError::Answer {
                from: self.socket.display().to_string(),
                problem: format!("its answer to `ready` is not the JSON expected: {error}"),
                hint: HINT,
            })?;
        if ready { Ok(Readiness::Ready) } else { Ok(Readiness::Busy(Progress { percent, message })) }
    }

    fn status(&mut self) -> Result<Value, DriverError> {
        self.done("`status`", Verb::Status)
    }

    fn event(&mut self, name: &str, arguments: &Settings) -> Result<(), DriverError> {
        self.answer_of_event(name, arguments).map(drop)
    }
}

//! Driver specification: the value of `--array`.

use crate::options::shorten;
use crate::shipped::Shipped;
use crate::{
    ArrayDriver, CommandLimits, CtlDriver, DriverError, ExecDriver, ManualDriver, Options, Protection,
    WaitLimits,
};
use std::fmt;
use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::str::FromStr;

/// A longer text is no driver: 256 drives by their names in `/dev/disk/by-id` fit.
pub const SPEC_LIMIT_BYTES: usize = 32 << 10;

const FORMS: &str = "an array driver is exec:PROGRAM[,key=value]…, exec:openmanage,…, exec:storcli,…, exec:perccli,…, exec:mdadm,…, exec:lvm,…, manual or ctl:SOCKET";

/// A driver as named by the user. Reading it starts nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DriverSpec {
    text: String,
    kind: Kind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Kind {
    Exec { program: PathBuf, options: Options },
    Shipped { driver: Shipped, options: Options },
    Manual,
    Ctl { socket: PathBuf },
}

/// Resources that a driver needs besides its name.
pub struct Opening<'a> {
    /// All IDs that were given with `--overwrite-data`.
    pub consents: &'a [String],
    /// The host's devices, whose users forbid touching them.
    pub protection: Box<dyn Protection>,
    /// Input from which `manual` reads the operator's answers.
    pub answers: Box<dyn BufRead + Send>,
    /// Output to which `manual` writes its instructions.
    pub questions: Box<dyn Write + Send>,
}

impl DriverSpec {
    /// Reads what was typed.
    pub fn parse(text: &str) -> Result<Self, DriverError> {
        let problem = |problem: String| DriverError::Spec { text: shorten(text), problem, hint: FORMS };
        if text.len() > SPEC_LIMIT_BYTES {
            return Err(problem(format!("is longer than {SPEC_LIMIT_BYTES} bytes")));
        }
        if text.chars().any(char::is_control) {
            return Err(problem("contains a control character".to_owned()));
        }
        let kind = if text == "manual" {
            Kind::Manual
        } else if let Some(socket) = text.strip_prefix("ctl:") {
            if socket.is_empty() {
                return Err(problem("names no socket".to_owned()));
            }
            Kind::Ctl { socket: socket.into() }
        } else if let Some(rest) = text.strip_prefix("exec:") {
            let (name, list) = match rest.split_once(',') {
                Some((name, list)) => (name, Some(list)),
                None => (rest, None),
            };
            if name.is_empty() {
                return Err(problem("names no program".to_owned()));
            }
            let options = Options::parse(text, list)?;
            match Shipped::from_name(name) {
                Some(driver) => Kind::Shipped { driver, options },
                None => Kind::Exec { program: name.into(), options },
            }
        } else {
            return Err(problem("is no known driver".to_owned()));
        };
        Ok(DriverSpec { text: text.to_owned(), kind })
    }

    /// Opens the driver, and says how to wait for it. `timeout=`, `poll=` and `ready_timeout=` are options of every
    /// `exec:` driver. Changes nothing on the array.
    pub fn open(&self, opening: Opening<'_>) -> Result<(Box<dyn ArrayDriver>, WaitLimits), DriverError> {
        match &self.kind {
            Kind::Manual => {
                Ok((Box::new(ManualDriver::new(opening.answers, opening.questions)), WaitLimits::default()))
            }
            Kind::Ctl { socket } => Ok((
                Box::new(CtlDriver::connect(socket)?),
                WaitLimits { poll: std::time::Duration::from_millis(200), ..WaitLimits::default() },
            )),
            Kind::Exec { program, options } => {
                let mut options = options.clone();
                let (limits, wait) = limits(&mut options)?;
                let driver =
                    ExecDriver::new(program.clone(), options.into_map(), opening.consents.to_vec(), limits);
                Ok((Box::new(driver), wait))
            }
            Kind::Shipped { driver, options } => {
                let mut options = options.clone();
                let (limits, wait) = limits(&mut options)?;
                let driver = driver.open(options, limits, opening.consents.to_vec(), opening.protection)?;
                Ok((driver, wait))
            }
        }
    }
}

fn limits(options: &mut Options) -> Result<(CommandLimits, WaitLimits), DriverError> {
    let wait = WaitLimits::default();
    Ok((
        CommandLimits { timeout: options.duration("timeout", CommandLimits::default().timeout)? },
        WaitLimits {
            poll: options.duration("poll", wait.poll)?,
            timeout: options.duration("ready_timeout", wait.timeout)?,
        },
    ))
}

impl FromStr for DriverSpec {
    type Err = DriverError;
    fn from_str(text: &str) -> Result<Self, DriverError> {
        DriverSpec::parse(text)
    }
}

/// As it was typed.
impl fmt::Display for DriverSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

//! `exec:PROGRAM` driver: a user's program configures the array; its contract is `docs/array-drivers.md`.
//!
//! The contract is `docs/array-drivers.md`.

use crate::command::{Answer, CommandLimits, run};
use crate::{ArrayDriver, Change, CreatedDevice, DriverError, Progress, Readiness, SetOutcome, Settings};
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The exit status by which a program says that the array refuses the settings.
pub const EXIT_REFUSED: i32 = 3;

/// The contract's version, in every request.
const CONTRACT: u32 = 1;

const HINT: &str =
    "a driver program writes one JSON object to standard output; docs/array-drivers.md says which";

/// A driver program. It is started anew for each verb.
#[derive(Debug)]
pub struct ExecDriver {
    program: PathBuf,
    options: BTreeMap<String, String>,
    consents: Vec<String>,
    limits: CommandLimits,
}

/// What a program reads from standard input.
#[derive(Debug, Serialize, JsonSchema)]
struct ExecRequest<'a> {
    /// Version of this contract: 1.
    contract: u32,
    /// The verb, as in the first argument.
    verb: &'a str,
    /// The options given after the program's name.
    options: &'a BTreeMap<String, String>,
    /// The IDs given with `--overwrite-data`.
    consents: &'a [String],
    /// For `set`: the array settings to make, all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    settings: Option<&'a Map<String, Value>>,
    /// For `event`: its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    event: Option<&'a str>,
    /// For `event`: its arguments.
    #[serde(skip_serializing_if = "Option::is_none")]
    arguments: Option<&'a Map<String, Value>>,
}

/// What `set` answers.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct SetAnswer {
    /// Devices that were made for these settings. Absent or empty: the devices are the same as before.
    #[serde(default)]
    devices: Vec<CreatedDevice>,
    /// What was changed, for the report.
    #[serde(default)]
    changes: Vec<ChangeAnswer>,
    /// Instead of the others: why the array refuses the settings.
    refused: Option<String>,
}

/// One changed setting.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ChangeAnswer {
    /// Its name.
    name: String,
    /// Its value before, where known.
    before: Option<String>,
    /// Its value now.
    after: Option<String>,
}

/// What `ready` answers.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ReadyAnswer {
    /// Whether load may begin.
    ready: bool,
    /// How far the array is, of 100.
    progress_percent: Option<f64>,
    /// What it is doing.
    #[serde(default)]
    message: String,
}

/// The JSON Schemas of the contract, by name.
pub fn exec_schema() -> Value {
    json!({
        "request": schemars::schema_for!(ExecRequest<'_>),
        "set": schemars::schema_for!(SetAnswer),
        "ready": schemars::schema_for!(ReadyAnswer),
    })
}

impl ExecDriver {
    /// A driver that runs `program`, which is a path or a name on the PATH.
    pub fn new(
        program: PathBuf,
        options: BTreeMap<String, String>,
        consents: Vec<String>,
        limits: CommandLimits,
    ) -> Self {
        ExecDriver { program, options, consents, limits }
    }

    fn ask(
        &self,
        verb: &str,
        settings: Option<&Settings>,
        event: Option<(&str, &Settings)>,
    ) -> Result<Answer, DriverError> {
        let request = ExecRequest {
            contract: CONTRACT,
            verb,
            options: &self.options,
            consents: &self.consents,
            settings,
            event: event.map(|(name, _)| name),
            arguments: event.map(|(_, arguments)| arguments),
        };
        let mut input = json!(request).to_string().into_bytes();
        input.push(b'\n');
        run(&self.program, &[verb.to_owned()], &input, self.limits)
    }
}

impl ArrayDriver for ExecDriver {
    fn set(&mut self, settings: &Settings) -> Result<SetOutcome, DriverError> {
        let answer = self.ask("set", Some(settings), None)?;
        if answer.status.code() == Some(EXIT_REFUSED) {
            // The exit status alone says it; the reason may be missing.
            let refusal = parse::<SetAnswer>(&answer).ok().and_then(|answer| answer.refused);
            let reason = refusal.unwrap_or_else(|| match answer.stderr.trim() {
                "" => "the driver gave no reason".to_owned(),
                stderr => crate::error::excerpt(stderr),
            });
            return Ok(SetOutcome::Refused { reason });
        }
        let answer = answer.successful()?;
        let made: SetAnswer = parse(&answer)?;
        if let Some(reason) = made.refused {
            let problem = format!("it says `refused` ({reason}) and exits with 0 instead of {EXIT_REFUSED}");
            return Err(answer.not_understood(problem, HINT));
        }
        if let Some(device) = made.devices.iter().find(|d| !d.path.is_absolute() || d.id.trim().is_empty()) {
            let problem = format!(
                "device `{}` needs an absolute path and an id that tells it from others",
                device.path.display()
            );
            return Err(answer.not_understood(problem, HINT));
        }
        let changes = made.changes.into_iter().map(|c| Change::array(c.name, c.before, c.after)).collect();
        Ok(SetOutcome::Made { devices: made.devices, changes, notices: vec![] })
    }

    fn ready(&mut self) -> Result<Readiness, DriverError> {
        let answer = self.ask("ready", None, None)?.successful()?;
        let ReadyAnswer { ready, progress_percent: percent, message } = parse(&answer)?;
        if ready { Ok(Readiness::Ready) } else { Ok(Readiness::Busy(Progress { percent, message })) }
    }

    fn status(&mut self) -> Result<Value, DriverError> {
        let answer = self.ask("status", None, None)?.successful()?;
        parse::<Map<String, Value>>(&answer).map(Value::Object)
    }

    fn event(&mut self, name: &str, arguments: &Settings) -> Result<(), DriverError> {
        let answer = self.ask("event", None, Some((name, arguments)))?;
        if answer.status.code() == Some(EXIT_REFUSED) {
            let reason = crate::error::excerpt(&answer.stderr);
            return Err(DriverError::Refused { what: format!("event `{name}`"), reason });
        }
        answer.successful().map(drop)
    }
}

fn parse<T: DeserializeOwned>(answer: &Answer) -> Result<T, DriverError> {
    serde_json::from_str(&answer.stdout)
        .map_err(|error| answer.not_understood(format!("it is not the JSON expected: {error}"), HINT))
}

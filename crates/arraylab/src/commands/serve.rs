//! `serve` and `ctl`: an array that can be attached, and what can be done to it.

use super::run::catch_signals;
use crate::cli::{CtlArgs, ServeArgs};
use crate::failure::Failure;
use crate::output::{print, print_json_lines, print_notice};
use crate::panics::stop_on_panic;
use diagnostic::Problem;
use serde_json::Value;
use serve::{Announcement, Endpoint, Options, Outcome, ServeError, parse_speed};
use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Time over which `ctl status` on a terminal measures rates and utilisations.
const STATUS_OVER: Duration = Duration::from_secs(1);
const PANIC_HINT: &str =
    "the server ended rather than leave clients waiting; this is a bug, please report it";
const STATUS_FOOT: &str = "\n(the last second; `arraylab watch` goes on, `--json` has everything)\n";

/// `arraylab serve`
pub fn serve(arguments: &ServeArgs) -> Result<ExitCode, Failure> {
    let options = Options {
        array: arguments.array.clone(),
        endpoint: Endpoint::choose(
            arguments.socket.as_deref(),
            arguments.listen.as_deref(),
            arguments.tls.is_some(),
        )?,
        tls: arguments.tls.clone(),
        data: arguments.data.clone(),
        control: arguments.control.clone(),
        command: arguments.run.clone(),
        block_device: arguments.ublk.clone(),
        drives: arguments.drives.clone(),
        metrics: arguments.metrics,
        token_file: arguments.token_file.clone(),
        speed_millionths: parse_speed(arguments.untimed, arguments.speed)?,
        overwrite_data: arguments.overwrite_data.clone(),
        kept_arrivals: 0,
    };
    let stop = catch_signals()?;
    let first_panic = stop_on_panic(Arc::clone(&stop));
    let ready = |at: &Announcement<'_>| {
        print_notice(&format!("control socket: {}", options.control_path().display()));
        if let Some(device) = at.block_device {
            print_notice(&format!("block device: {}", device.display()));
        }
        if let Some(metrics) = at.metrics {
            print_notice(&format!("metrics: http://{metrics}/metrics"));
            print_notice(&format!(
                "page: http://{metrics}/ (its buttons need the token in {})",
                at.token.display()
            ));
        }
        // Whoever started us may read the address from a pipe; without a reader the array is served all the same.
        let _ = print(&format!("{}\n", at.uri));
    };
    let served = serve::run(&options, &stop, &ready);
    if let Some(message) = first_panic.message() {
        return Err(Failure::failed(Problem::new(message).with_hint(PANIC_HINT)));
    }
    let served = served?;
    if let Some(lateness) = served.lateness {
        print_notice(&lateness.in_words());
    }
    match served.outcome {
        Outcome::Stopped => Ok(ExitCode::SUCCESS),
        Outcome::CommandEnded(status) => Ok(ExitCode::from(status)),
    }
}

/// `arraylab ctl`
pub fn ctl(arguments: &CtlArgs) -> Result<ExitCode, Failure> {
    let answer = serve::ctl(&arguments.socket, &arguments.verb)?;
    // Scripts read the one line of JSON, so a pipe has it without asking.
    if arguments.json || !std::io::stdout().is_terminal() {
        print_json_lines([answer])?;
    } else if arguments.verb.first().is_some_and(|verb| verb == "status") {
        // Rates are of the time between two answers.
        let requested = Instant::now();
        std::thread::sleep(STATUS_OVER);
        let now = serve::ctl(&arguments.socket, &arguments.verb)?;
        print(&serve::view(&answer, &now, requested.elapsed().as_secs_f64()))?;
        print(STATUS_FOOT)?;
    } else {
        print(&in_words(&answer))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// An answer for a person.
fn in_words(answer: &Value) -> String {
    let percent =
        |answer: &Value| answer["progress_percent"].as_f64().map(|percent| format!(", {percent:.0} %"));
    match answer {
        Value::Object(members) if members.is_empty() => "done\n".to_owned(),
        Value::Object(members) if members.contains_key("volume") => of_volume(answer),
        _ if answer["ready"] == true => "ready: all drives are present\n".to_owned(),
        _ if answer["ready"] == false => format!(
            "not ready: {}{}\n",
            answer["message"].as_str().unwrap_or("no reason is known"),
            percent(answer).unwrap_or_default()
        ),
        Value::Null => "nothing of that kind\n".to_owned(),
        // No answer holds what JSON cannot print.
        other => format!("{}\n", serde_json::to_string_pretty(other).unwrap_or_default()),
    }
}

/// The answer to `create`, `resize`, `initialise` or `delete`.
fn of_volume(answer: &Value) -> String {
    let bytes = |name: &str| answer[name].as_u64().map(units::human_bytes);
    let size = bytes("size_bytes").unwrap_or_else(|| "deleted".to_owned());
    let free = bytes("free_bytes").unwrap_or_default();
    format!("{}: {size}; {free} of the array are free\n", answer["volume"].as_str().unwrap_or_default())
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Failure {
        if error.exit_status() == 2 {
            Failure::Refused(Box::new(error))
        } else {
            Failure::Failed(Box::new(error))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// Proves that what a terminal shows of an answer is words, and all of an answer that has none.
    #[test]
    fn answers_are_words() {
        assert_eq!(in_words(&json!({})), "done\n");
        assert_eq!(in_words(&json!({"ready": true})), "ready: all drives are present\n");
        let rebuilding =
            json!({"ready": false, "progress_percent": 41.7, "message": "degraded or rebuilding"});
        assert_eq!(in_words(&rebuilding), "not ready: degraded or rebuilding, 42 %\n");
        let created = json!({"volume": "logs", "size_bytes": 64 << 20, "free_bytes": 32 << 20});
        assert_eq!(in_words(&created), "logs: 64 MiB; 32 MiB of the array are free\n");
        let deleted = json!({"volume": "logs", "size_bytes": null, "free_bytes": 96 << 20});
        assert_eq!(in_words(&deleted), "logs: deleted; 96 MiB of the array are free\n");
        assert!(in_words(&json!([{"service": "node-0/server-1"}])).contains("\n    \"service\": "));
    }
}

//! `serve` and `ctl`: an array that can be attached, and what can be done to it.

use super::run::catch_signals;
use crate::cli::{CtlArgs, ServeArgs};
use crate::failure::Failure;
use crate::output::{print, print_json_lines, say};
use serve::{Announcement, Endpoint, Options, Outcome, ServeError, parse_speed};
use std::process::ExitCode;

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
    let ready = |at: &Announcement<'_>| {
        say(&format!("control socket: {}", options.control_path().display()));
        if let Some(device) = at.block_device {
            say(&format!("block device: {}", device.display()));
        }
        if let Some(metrics) = at.metrics {
            say(&format!("metrics: http://{metrics}/metrics"));
            say(&format!("page: http://{metrics}/ (its buttons need the token in {})", at.token.display()));
        }
        // Whoever started us may read the address from a pipe; without a reader the array is served all the same.
        let _ = print(&format!("{}\n", at.uri));
    };
    let served = serve::run(&options, &stop, &ready)?;
    if let Some(lateness) = served.lateness {
        say(&lateness.in_words());
    }
    match served.outcome {
        Outcome::Stopped => Ok(ExitCode::SUCCESS),
        Outcome::CommandEnded(status) => Ok(ExitCode::from(status)),
    }
}

/// `arraylab ctl`
pub fn ctl(arguments: &CtlArgs) -> Result<ExitCode, Failure> {
    print_json_lines([serve::ctl(&arguments.socket, &arguments.verb)?])?;
    Ok(ExitCode::SUCCESS)
}

impl From<ServeError> for Failure {
    fn from(error: ServeError) -> Failure {
        let message = match error.hint() {
            Some(hint) => format!("{error}\nhint: {hint}"),
            None => error.to_string(),
        };
        if error.exit_status() == 2 {
            Failure::Refused(message.into())
        } else {
            Failure::Failed(message.into())
        }
    }
}

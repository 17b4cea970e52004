//! `verify`: reading back what a run wrote.

use crate::cli::RunJsonArgs;
use crate::failure::{self, Failure};
use crate::output::{print, print_json_lines};
use campaign::VerifiedLoad;
use std::process::ExitCode;

/// Wrong blocks that are printed for people.
const SHOWN: usize = 10;

/// `arraylab verify`
pub fn verify(arguments: &RunJsonArgs) -> Result<ExitCode, Failure> {
    let stop = super::run::catch_signals()?;
    let found = campaign::verify_run(&arguments.run, &stop)?;
    let is_intact = found.iter().all(|load| load.wrong_blocks == 0);
    if arguments.json {
        print_json_lines(found)?;
    } else {
        for load in &found {
            print(&in_words(load))?;
        }
    }
    Ok(if is_intact { ExitCode::SUCCESS } else { failure::not_met() })
}

fn in_words(load: &VerifiedLoad) -> String {
    let mut text = format!(
        "{} {} on {}: {} blocks checked, {} wrong\n",
        load.stage, load.case, load.target, load.checked_blocks, load.wrong_blocks
    );
    for wrong in load.wrong.iter().take(SHOWN) {
        text.push_str(&format!("  {wrong}\n"));
    }
    text
}

//! `sweep`: a plan in shards on many machines, which the Python package does through HyperQueue's own client.

use crate::cli::SweepArgs;
use crate::failure::Failure;
use std::process::ExitCode;

/// `arraylab sweep`
pub fn sweep(arguments: &SweepArgs) -> Result<ExitCode, Failure> {
    let words: Vec<_> = std::iter::once("sweep".into()).chain(arguments.words.iter().cloned()).collect();
    let hint = "pip install \"arraylab[sweep]\", or use `arraylab run --shard` and `arraylab merge`";
    super::python_package::run("sweep", &words, hint)?;
    Ok(ExitCode::SUCCESS)
}

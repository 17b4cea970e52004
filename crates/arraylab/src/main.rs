//! arraylab: a laboratory for storage arrays. This file is the table of contents; `cli` says what each command takes.

mod cli;
mod commands;
mod failure;
mod live;
mod notice;
mod output;
mod panics;
mod progress;
mod table;

use clap::Parser;
use cli::{Cli, Command};
use failure::Failure;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return failure::usage(&error),
    };
    match run_command(&cli.command) {
        Ok(code) => code,
        Err(failure) => failure.report(),
    }
}

fn run_command(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Plans(arguments) => commands::shipped::plans(arguments),
        Command::Arrays(arguments) => commands::shipped::arrays(arguments),
        Command::Parts(arguments) => commands::check::parts(arguments),
        Command::Check(arguments) => commands::check::check(arguments),
        Command::WhatIf(arguments) => commands::what_if::what_if(arguments),
        Command::Size(arguments) => commands::size::size(arguments),
        Command::Explore(arguments) => commands::explore::explore(arguments),
        Command::Record(arguments) => commands::record::record(arguments),
        Command::Workload(arguments) => commands::record::workload(arguments),
        Command::Show(arguments) => commands::shipped::show(arguments),
        Command::Schema(arguments) => commands::schema::print_schema(arguments),
        Command::Expand(arguments) => commands::expand::expand(arguments),
        Command::Run(arguments) => commands::run::run(arguments),
        Command::Agent(arguments) => commands::agent::agent(arguments),
        Command::Merge(arguments) => commands::merge::merge(arguments),
        Command::Sweep(arguments) => commands::sweep::sweep(arguments),
        Command::Status(arguments) => commands::status::status(arguments),
        Command::Mark(arguments) => commands::status::mark(arguments),
        Command::Verify(arguments) => commands::verify::verify(arguments),
        Command::Results(arguments) => commands::results::results(arguments),
        Command::Findings(arguments) => commands::findings::findings(arguments),
        Command::Claims(arguments) => commands::findings::claims(arguments),
        Command::Report(arguments) => commands::report::report(arguments),
        Command::Bundle(arguments) => commands::evidence::bundle(arguments),
        Command::VerifyReport(arguments) => commands::evidence::verify_report(arguments),
        Command::Library(arguments) => commands::library::library(arguments),
        Command::Rate(arguments) => commands::gallery::rate(arguments),
        Command::Gallery(arguments) => commands::gallery::gallery(arguments),
        Command::Compare(arguments) => commands::compare::compare(arguments),
        Command::Import(arguments) => commands::import::import(arguments),
        Command::Export(arguments) => commands::export::export(arguments),
        Command::Explain(arguments) => commands::explain::explain(arguments),
        Command::Fit(arguments) => commands::fit::fit(arguments),
        Command::Serve(arguments) => commands::serve::serve(arguments),
        Command::Ctl(arguments) => commands::serve::ctl(arguments),
        Command::Watch(arguments) => commands::watch::watch(arguments),
        Command::Bench(arguments) => commands::bench::bench(arguments),
    }
}

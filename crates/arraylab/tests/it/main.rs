//! Black-box tests of the binary: what a user types, and what comes of it.

mod acceptance;
mod agreement;
mod bad_input;
mod between_cases;
mod campaigns;
mod command_line;
mod decoders;
mod device_reports;
mod disk_full;
mod docs_examples;
mod documented_commands;
mod drivers;
mod experiments;
mod export;
mod fits;
mod import;
mod kept_levels;
mod kills;

mod mechanisms;
mod methods;
mod own_engine;
mod questions;
mod real_arrays;
mod searches;
mod served;
mod served_plans;
mod shards;
mod shipped_plans;
mod support;
mod telemetry;
mod verdicts;

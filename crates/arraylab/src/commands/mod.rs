//! One module a command or family of commands: arguments in, rooms called, results printed.

pub mod agent;
pub mod bench;
pub mod check;
pub mod compare;
pub mod evidence;
pub mod expand;
pub mod export;
pub mod findings;
pub mod fit;
pub mod gallery;
pub mod import;
pub mod library;
pub mod merge;
mod python_package;
pub mod report;
pub mod requirements;
pub mod results;
pub mod run;
pub mod schema;
pub mod selection;
pub mod serve;
pub mod shipped;
pub mod status;
pub mod sweep;
pub mod verify;
pub mod watch;

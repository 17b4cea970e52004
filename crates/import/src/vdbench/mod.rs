//! vdbench parameter files: lexer, parser and conversion to plans.

mod lex;
mod parameters;
mod phase;
mod read;
mod to_plan;
mod values;

pub use parameters::{Parameters, Seek, StorageDefinition, TransferSize, WorkloadDefinition};
pub use phase::{Loop, Phase, Rate, Run};
pub use read::read_parameters;

pub(crate) use phase::rate_of;
pub(crate) use to_plan::import;
pub(crate) use values::parse_number;

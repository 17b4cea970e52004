//! Answers about arrays: effect of changes, bottlenecks, size for a workload.

#![doc = include_str!("../README.md")]

mod answer;
mod bottleneck;
mod configuration;
mod error;
mod load_source;
mod model_error;
mod part;
mod simulation;
mod what_if;

pub use answer::{Answer, Elasticity, Latency, PartBusy, STEP, answer, answer_with_elasticity};
pub use bottleneck::{Bottleneck, find_bottleneck};
pub use configuration::{Change, Configuration};
pub use error::SizingError;
pub use load_source::LoadSource;
pub use model_error::{ModelError, Validated, model_error};
pub use part::Part;
pub use simulation::Effort;
pub use what_if::{Row, what_if};

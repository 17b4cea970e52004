//! Answers about arrays: effect of changes, bottlenecks, size for a workload.

#![doc = include_str!("../README.md")]

mod answer;
mod bottleneck;
mod bound;
mod cache_warming;
mod configuration;
mod counted_stream;
mod curve;
mod error;
mod growth;
mod headroom;
mod line_rate;
mod load_source;
mod model_error;
mod named_workload;
mod pareto;
mod part;
mod preconditioning;
mod requirement;
mod run_directory;
mod search;
mod simulation;
mod size;
mod size_row;
mod size_run;
mod space;
mod state;
mod time_line;
mod tool_output;
mod vscsi_stats;
mod wear;
mod what_if;
mod what_if_run;
mod workload;
mod workload_source;

pub use answer::{
    Answer, AnswerErrors, AnswerPoint, Elasticity, Latency, LatencySampling, PartBusy, PointKind, STEP,
    answer, answer_with_elasticity,
};
pub use bottleneck::{Bottleneck, Bottlenecks};
pub use bound::most_times;
pub use cache_warming::{WarmCaches, WarmedTwins};
pub use campaign::TwinCache;
pub use configuration::{Change, Configuration, change_texts, value_text};
pub use curve::{CurvePoint, curve};
pub use error::SizingError;
pub use growth::Growth;
pub use load_source::LoadSource;
pub use model_error::{ModelError, Validated, model_error};
pub use named_workload::{NamedWorkload, named_workload, named_workloads};
pub use part::Part;
pub use requirement::{Requirement, Side};
pub use search::{size, size_front};
pub use simulation::Effort;
pub use size::SizeQuestion;
pub use size_row::{
    AtPeak, LeftOut, QuantityError, RequiredLatency, SizeErrors, SizePoint, SizeRow, SizeVerdict,
};
pub use size_run::keep_size_run;
pub use space::{Axis, designs};
pub use state::State;
pub use time_line::{RebuildSpan, TimeLine, TimeLineEnd, TimeLineKind, TimeLinePoint};
pub use tool_output::is_tool_output;
pub use what_if::{Row, what_if};
pub use what_if_run::keep_what_if_run;
pub use workload::{Stream, Workload};
pub use workload_source::{
    joined_workload, workload_of_recording, workload_of_tool_output, workload_of_trace,
};

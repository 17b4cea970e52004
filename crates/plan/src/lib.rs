//! Test plans: the YAML that they are written in, its checks, and the cases that they expand to.
//!
//! This room reads and refuses; it never knows how anything runs. All YAML of the product is read here.

mod check;
mod convert;
mod document;
mod error;
mod estimate;
mod expand;
mod language;
mod library;
mod moment;
mod plan;
mod published;
mod quantity;
mod schema;
mod setting;
mod shipped;
mod source;
mod suggest;
mod yaml;

pub use error::{PlanError, PlanErrorKind};
pub use estimate::{ASSUMED_BYTES_PER_S, ASSUMED_IOPS};
pub use expand::{CASES_LIMIT, Case, CaseEvent, Selection, expand};
pub use language::reference;
pub use library::{LoadedArray, LoadedPlan, load_array, load_plan, parse_array, parse_plan};
pub use moment::Moment;
pub use plan::{Chart, ChartAxis, Declared, EventTemplate, Plan, Preconditioning, SettingValues, Stage};
pub use published::{PublishedFigure, PublishedRow, PublishedTable};
pub use quantity::{QUANTITIES, Quantity};
pub use schema::{Kind, schema};
pub use setting::{BS_BYTES_LIMIT, RATE_IOPS_LIMIT, SETTINGS, Setting, SettingKind, SettingScope, setting};
pub use shipped::{Shipped, ShippedTable, published, shipped_arrays, shipped_plans};
pub use yaml::{FILE_BYTES_LIMIT, parse_yaml};

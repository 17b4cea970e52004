//! Test plans: the YAML that they are written in, its checks, and the cases that they expand to.
//!
//! This room reads and refuses; it never knows how anything runs. All YAML of the product is read here.

#![doc = include_str!("../README.md")]

mod array_check;
mod array_document;
mod budget;
mod case;
mod check;
pub mod claim;
mod convert;
mod document;
mod error;
mod estimate;
mod expand;
mod file_text;
mod language;
mod left_out;
mod library;
mod matrix;
mod part;
mod parts;
mod plan;
mod promises;
mod published;
mod quantity;
mod replace;
mod schema;
mod setting;
mod shipped;
mod source;
mod yaml;
mod yaml_node;

pub use array::{did_you_mean, nearest};
pub use array_check::array_check;
pub use array_document::{RESOLVED, part_values, with_resolved_values};
pub use budget::{Budgeted, fit_budget};
pub use case::{Case, CaseEvent, ConditionalEvent, HostSetting, NamedLoad, PauseRate, RateShare};
pub use check::KeptSettings;
pub use error::{PlanError, PlanErrorKind};
pub use estimate::{ASSUMED_BYTES_PER_S, ASSUMED_IOPS};
pub use expand::{CASES_LIMIT, Selection, expand, visit_cases};
pub use file_text::read_text;
pub use language::reference;
pub use left_out::{LeftOut, leave_out};
pub use library::{
    LoadedArray, LoadedPlan, load_array, load_plan, parse_array, parse_kept_plan, parse_plan,
    parse_plan_with_table,
};
pub use matrix::SettingValues;
pub use part::{
    Amount, Bound, Chart, ChartAxis, Continues, Declared, EventCondition, EventTemplate, Extreme, Filesystem,
    FilesystemOptions, HostChoice, Image, InventoryCommand, InventoryMoment, JobShare, LoadChoice,
    LoadSearch, LoadTarget, LoadTemplate, Moment, Pause, Pick, PlanHost, PollSettings, Preconditioning,
    RateReference, Requirement, Rounds, SearchOver, Stripe, Table, Tracked, Trigger, VolumeShare, Watch,
    WatchedAddress, WatchedCommand, WatchedDevices,
};
pub use parts::{ShippedPart, shipped_parts};
pub use plan::{Plan, Stage};
pub use published::{FigureOf, PublishedFigure, PublishedRow, PublishedTable, PublishedValue, UNSEEN_FOLDER};
pub use quantity::{QUANTITIES, Quantity};
pub use replace::{replace_value, replace_values};
pub use schema::{Kind, schema};
pub use setting::{
    BS_BYTES_LIMIT, HostSettingPlace, RATE_IOPS_LIMIT, SETTINGS, Setting, SettingKind, SettingScope,
    parse_processors, setting, setting_hint,
};
pub use shipped::{Shipped, ShippedTable, published, shipped_arrays, shipped_plans};
pub use yaml::{FILE_BYTES_LIMIT, parse_yaml};

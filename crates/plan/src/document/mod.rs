//! The shape of a plan as it is written. The checks that look at values are made in `check`.

mod claims;
mod find;
mod hosts;
mod replay;
mod report;
mod settings;
mod stage;
mod watch;

pub(crate) use claims::ClaimDocument;
pub(crate) use find::{FindDocument, MaxUnderLatencyDocument};
pub(crate) use hosts::HostDocument;
pub(crate) use replay::ReplayDocument;
pub(crate) use report::{
    ChartDocument, DeclaredDocument, ImageDocument, InventoryDocument, PickDocument, ProfileDocument,
    PublishedDocument, RequirementDocument, SettingColumn, TableDocument,
};
pub(crate) use settings::{Assignments, AxisDocument, Conditions, MatrixDocument};
pub(crate) use stage::{
    ConditionDocument, ContinuesDocument, EventDocument, FilesystemDocument, LoadDocument, LoadOfDocument,
    PauseDocument, PauseOverDocument, PreconditionDocument, RepeatsDocument, RoundsDocument, StageDocument,
    StripeDocument, TrackedDocument,
};
pub(crate) use watch::{WatchCommandDocument, WatchDocument, WatchPrometheusDocument};

use crate::yaml::{Entries, Located};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A test plan: stages of cases, what stands in the report around them, and what others have published or declared.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "arraylab plan")]
pub(crate) struct PlanDocument {
    /// What is tested, in one line.
    pub title: String,
    /// Who wrote the plan; stands in the report.
    #[serde(default)]
    pub author: Option<String>,
    /// What the test is about; stands at the head of the report. Blank lines separate paragraphs.
    #[serde(default)]
    pub intro: Option<String>,
    /// Remarks that stand in the report.
    #[serde(default)]
    pub notes: Vec<String>,
    /// Pictures that stand in the report: the bench, the cabling.
    #[serde(default)]
    pub images: Vec<ImageDocument>,
    /// Commands whose output is kept with the run.
    #[serde(default)]
    pub inventory: Vec<InventoryDocument>,
    /// True for a plan that never writes: its target is opened read-only, and a case that writes is a mistake.
    #[serde(default)]
    pub read_only: bool,
    /// How the run is watched: the length of a sample, and what is counted beside the load.
    #[serde(default)]
    pub watch: WatchDocument,
    /// Settings of every case, unless its stage or its matrix says otherwise.
    #[serde(default)]
    pub defaults: Assignments,
    /// A stripe that the host makes over several targets; a stage may have its own.
    #[serde(default)]
    pub stripe: Option<StripeDocument>,
    /// Other hosts that issue the load.
    #[serde(default)]
    pub hosts: Vec<HostDocument>,
    /// How hosts that see the same volume use it: `parts` (each a part of its own) or `whole` (each all of it).
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub share: Option<Located<String>>,
    /// Jobs of a load on several hosts: `each` host runs all of them (also where nothing is said), or they are `divided`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub jobs: Option<Located<String>>,
    /// Rates over time by name, for the setting `rate_profile`.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, ProfileDocument>")]
    pub profiles: Entries<ProfileDocument>,
    /// The stages by name, in the order in which they run.
    #[schemars(with = "BTreeMap<String, StageDocument>")]
    pub stages: Located<Entries<StageDocument>>,
    /// Limits that results must keep: what they make is a sheet of PASS and FAIL, and exit status 1.
    #[serde(default)]
    pub require: Vec<RequirementDocument>,
    /// Conclusions that the run shows or refutes.
    #[serde(default)]
    pub claims: Vec<ClaimDocument>,
    /// What the vendor declares, to stand beside what is measured.
    #[serde(default)]
    pub declared: Vec<DeclaredDocument>,
    /// Published results of the same test, to stand beside what is measured.
    #[serde(default)]
    pub published: Vec<PublishedDocument>,
    /// The charts of the report; without it each stage has those that its matrix suggests.
    #[serde(default)]
    pub show: Vec<ChartDocument>,
    /// The tables of the report, beside those that every report has.
    #[serde(default)]
    pub tables: Vec<TableDocument>,
}

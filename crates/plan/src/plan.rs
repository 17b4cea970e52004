//! A plan whose every value has been checked.

use crate::published::PublishedTable;
use crate::quantity::Quantity;
use crate::setting::{SETTINGS, Setting};
use crate::source::{Place, SourceText};
use crate::{Moment, PlanError, PlanErrorKind};
use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer};
use serde_json::{Map, Value};
use std::borrow::Cow;

/// The settings of a case by name, each as DESIGN.md fixes its type.
pub type SettingValues = Map<String, Value>;

/// A test plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The name by which results refer to it.
    pub name: String,
    /// What is tested, in one line.
    pub title: String,
    /// Who wrote it.
    pub author: Option<String>,
    /// What the test is about; blank lines separate paragraphs.
    pub intro: Option<String>,
    /// Remarks for the report.
    pub notes: Vec<String>,
    /// True where the target is to be opened read-only.
    pub read_only: bool,
    /// Length of a sample.
    pub interval_ns: u64,
    /// In the order in which they run.
    pub stages: Vec<Stage>,
    /// What the vendor declares.
    pub declared: Vec<Declared>,
    /// What others have measured.
    pub published: Vec<PublishedTable>,
    /// The charts that the plan asks for.
    pub charts: Vec<Chart>,
    pub(crate) source: SourceText,
}

/// A stage of a plan.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// What it shows, in one line.
    pub title: Option<String>,
    /// Remarks for the report.
    pub notes: Vec<String>,
    /// A time without load after each case.
    pub pause_ns: u64,
    /// Writes before the first case and after each change of array settings.
    pub precondition: Option<Preconditioning>,
    /// What is done to the target while each case runs.
    pub events: Vec<EventTemplate>,
    pub(crate) name_place: Place,
    /// The plan's defaults, overridden by the stage's settings.
    pub(crate) settings: Vec<Assignment>,
    pub(crate) axes: Vec<MatrixAxis>,
    pub(crate) include: Vec<Inclusion>,
    pub(crate) exclude: Vec<Condition>,
}

/// A setting with its value.
#[derive(Debug, Clone)]
pub(crate) struct Assignment {
    pub setting: &'static Setting,
    pub value: Value,
    pub place: Place,
}

/// A setting that varies.
#[derive(Debug, Clone)]
pub(crate) struct MatrixAxis {
    pub setting: &'static Setting,
    pub points: Vec<AxisPoint>,
}

/// One value of an axis and the settings that it brings.
#[derive(Debug, Clone)]
pub(crate) struct AxisPoint {
    pub value: Value,
    pub place: Place,
    pub brings: Vec<Assignment>,
}

/// A further case beside the matrix.
#[derive(Debug, Clone)]
pub(crate) struct Inclusion {
    pub assignments: Vec<Assignment>,
    pub place: Place,
}

/// Settings that a case must have, each with one of some values.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Condition(pub Vec<(&'static str, Vec<Value>)>);

impl Condition {
    pub fn holds(&self, settings: &SettingValues) -> bool {
        self.0.iter().all(|(name, values)| settings.get(*name).is_some_and(|value| values.contains(value)))
    }
}

/// Writes that bring a target into the state in which it is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preconditioning {
    /// Order of the writes.
    pub pattern: load::Pattern,
    /// Bytes of one write.
    pub bs_bytes: u32,
    /// Jobs that write.
    pub numjobs: u32,
    /// Writes that each job keeps outstanding.
    pub iodepth: u32,
    /// How many times the size of the target is written.
    pub times: u32,
}

/// Something that a stage does to the target in each of its cases.
#[derive(Debug, Clone, PartialEq)]
pub struct EventTemplate {
    /// When.
    pub at: Moment,
    /// The action's name.
    pub action: String,
    /// What the action is told.
    pub arguments: Map<String, Value>,
}

/// A figure that the vendor declares.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// The declaration in words.
    pub says: String,
    /// Which quantity it is about.
    pub quantity: Quantity,
    /// The figure, in the quantity's unit.
    pub value: f64,
    /// The stage whose cases stand beside it.
    pub stage: String,
    pub(crate) cases: Condition,
}

/// A chart of the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// What it shows, in one line.
    pub title: String,
    /// Which chart of the published test it corresponds to.
    pub published_as: Option<String>,
    /// The stages whose cases it shows.
    pub stages: Vec<String>,
    /// Upwards: quantities of one unit.
    pub y: Vec<Quantity>,
    /// To the right.
    pub x: ChartAxis,
    /// The setting that makes one line for each of its values.
    pub series: Option<&'static str>,
    /// Where a chart against time begins.
    pub from: Option<Moment>,
    /// Where a chart against time ends.
    pub to: Option<Moment>,
}

/// What a chart shows to the right.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartAxis {
    /// Time since counting began.
    Time,
    /// The values of a setting.
    Setting(&'static str),
}

/// The words of [`ChartAxis`]: `time`, and every setting.
fn chart_axis_names() -> impl Iterator<Item = &'static str> + Clone {
    std::iter::once("time").chain(SETTINGS.iter().map(|setting| setting.name))
}

impl<'de> Deserialize<'de> for ChartAxis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if name == "time" {
            return Ok(ChartAxis::Time);
        }
        crate::setting::setting(&name).map(|setting| ChartAxis::Setting(setting.name)).ok_or_else(|| {
            let hint = crate::suggest::did_you_mean(&name, chart_axis_names()).unwrap_or_default();
            de::Error::custom(format!("`{name}` is neither `time` nor a setting; {hint}"))
        })
    }
}

impl JsonSchema for ChartAxis {
    fn schema_name() -> Cow<'static, str> {
        "ChartAxis".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<&str> = chart_axis_names().collect();
        schemars::json_schema!({ "description": "`time`, or a setting", "enum": names })
    }
}

impl Plan {
    /// The stage of this name.
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    /// The declarations that stand beside a case.
    pub fn declared_for(&self, stage: &str, settings: &SettingValues) -> Vec<&Declared> {
        self.declared
            .iter()
            .filter(|declared| declared.stage == stage && declared.cases.holds(settings))
            .collect()
    }

    pub(crate) fn error_at(
        &self,
        kind: PlanErrorKind,
        place: Place,
        message: impl Into<String>,
    ) -> PlanError {
        PlanError::new(kind, message).at(self.source.excerpt(place))
    }
}

impl Stage {
    /// The settings that vary, in the order of the matrix.
    pub fn axes(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.axes.iter().map(|axis| axis.setting.name)
    }
}

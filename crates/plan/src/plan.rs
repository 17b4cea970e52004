//! Plan whose every value is checked.

use crate::claim::Claim;
use crate::matrix::{Assignment, Condition, Inclusion, MatrixAxis, SettingValues};
use crate::part::{
    Chart, Continues, Declared, EventTemplate, FilesystemOptions, HostChoice, Image, InventoryCommand,
    JobShare, LoadChoice, LoadSearch, LoadTemplate, Pause, PlanHost, Preconditioning, Requirement, Rounds,
    Stripe, Table, VolumeShare, Watch,
};
use crate::published::{FigureOf, PublishedFigure, PublishedRow, PublishedTable};
use crate::source::{Place, SourceText};
use crate::{PlanError, PlanErrorKind};
use load::{RateCurve, Replay};
use std::collections::BTreeMap;

/// A test plan.
#[derive(Debug, Clone)]
pub struct Plan {
    /// The name by which results refer to it.
    pub name: String,
    /// Subject of the test, in one line.
    pub title: String,
    /// Author of the plan.
    pub author: Option<String>,
    /// Introduction to the test; blank lines separate paragraphs.
    pub intro: Option<String>,
    /// Remarks for the report.
    pub notes: Vec<String>,
    /// Pictures for the report.
    pub images: Vec<Image>,
    /// Commands whose output is kept with the run.
    pub inventory: Vec<InventoryCommand>,
    /// True where the target is to be opened read-only.
    pub read_only: bool,
    /// Length of a sample.
    pub interval_ns: u64,
    /// Counters that are read beside the load.
    pub watch: Watch,
    /// Other hosts that issue the load.
    pub hosts: Vec<PlanHost>,
    /// Use of a volume that several hosts see.
    pub share: Option<VolumeShare>,
    /// Division of a load's jobs among hosts: all on each host, or shared out.
    pub jobs: JobShare,
    /// The rates over time that `rate_profile` names.
    pub profiles: BTreeMap<String, RateCurve>,
    /// Stages, in the order in which they run.
    pub stages: Vec<Stage>,
    /// Limits that results must keep.
    pub requirements: Vec<Requirement>,
    /// Conclusions that the run shows or refutes.
    pub claims: Vec<Claim>,
    /// Figures that the vendor declares.
    pub declared: Vec<Declared>,
    /// Measurements that others have published.
    pub published: Vec<PublishedTable>,
    /// The charts that the plan asks for.
    pub charts: Vec<Chart>,
    /// The tables that the plan asks for.
    pub tables: Vec<Table>,
    pub(crate) source: SourceText,
}

/// A stage of a plan.
#[derive(Debug, Clone)]
pub struct Stage {
    /// Its name.
    pub name: String,
    /// Subject of the stage, in one line.
    pub title: Option<String>,
    /// Remarks for the report.
    pub notes: Vec<String>,
    /// Rounds of the whole matrix, where it is repeated.
    pub repeats: Option<Rounds>,
    /// Continuation of cases: in the state in which earlier cases left the target, or not.
    pub continues: Continues,
    /// Loads that run at once in each case; empty where a case is one load.
    pub loads: Vec<LoadTemplate>,
    /// Hosts that its loads run on.
    pub hosts: HostChoice,
    /// A stripe that the host makes over several targets.
    pub stripe: Option<Stripe>,
    /// Options of making and mounting file systems, for cases that ask for one.
    pub filesystem: FilesystemOptions,
    /// Search of each case, instead of one load.
    pub find: Option<LoadSearch>,
    /// The jobs and depth of its cases, where an earlier stage's results choose them.
    pub load_of: Option<LoadChoice>,
    /// A recorded trace that each case replays.
    pub replay: Option<Replay>,
    /// A time without load after each case.
    pub pause: Pause,
    /// Writes before the first case and after each change of array settings.
    pub precondition: Option<Preconditioning>,
    /// Events while each case runs.
    pub events: Vec<EventTemplate>,
    /// True where a twin that does not have its events leaves the stage out, instead of refusing the run.
    pub optional: bool,
    pub(crate) name_place: Place,
    /// The plan's defaults, overridden by the stage's settings.
    pub(crate) settings: Vec<Assignment>,
    pub(crate) axes: Vec<MatrixAxis>,
    pub(crate) include: Vec<Inclusion>,
    pub(crate) exclude: Vec<Condition>,
}

impl Plan {
    /// The stage of this name.
    pub fn stage(&self, name: &str) -> Option<&Stage> {
        self.stages.iter().find(|stage| stage.name == name)
    }

    /// The published figures of a case. A maximum or minimum over several cases is none of them
    /// ([`Plan::published_extremes`]).
    pub fn published_for(&self, stage: &str, settings: &SettingValues) -> Vec<PublishedFigure> {
        let mut figures = Vec::new();
        for table in &self.published {
            for row in table.rows_for(stage, settings) {
                let own = row.figures.iter().filter(|figure| figure.of == FigureOf::Each);
                figures.extend(own.map(|figure| PublishedFigure {
                    quantity: figure.quantity,
                    value: figure.value,
                    file: table.file.clone(),
                    source: row.source.clone(),
                }));
            }
        }
        figures
    }

    /// The published rows whose figures are maxima or minima over several cases, each with its table;
    /// [`PublishedTable::has_row_for`] tells which cases.
    pub fn published_extremes(&self) -> impl Iterator<Item = (&PublishedTable, &PublishedRow)> {
        self.published
            .iter()
            .flat_map(|table| table.rows.iter().map(move |row| (table, row)))
            .filter(|(_, row)| row.has_extreme())
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
    /// The settings that vary, in the order of the matrix; `repeat` after them.
    pub fn axes(&self) -> impl Iterator<Item = &'static str> + '_ {
        self.axes.iter().map(|axis| axis.setting.name).chain(self.repeats.as_ref().map(|_| "repeat"))
    }
}

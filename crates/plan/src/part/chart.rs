//! Charts and tables that a plan asks for.

use super::Moment;
use crate::matrix::{Condition, SettingValues};
use crate::quantity::{QUANTITIES, Quantity};
use crate::setting::SETTINGS;
use schemars::JsonSchema;
use serde::de::{self, Deserialize, Deserializer};
use std::borrow::Cow;

/// A chart of the report.
#[derive(Debug, Clone, PartialEq)]
pub struct Chart {
    /// Title in one line.
    pub title: String,
    /// Chart of the published test that it corresponds to.
    pub published_as: Option<String>,
    /// The stages whose cases it shows.
    pub stages: Vec<String>,
    /// Settings that divide the cases into charts: one chart for each combination of their values.
    pub each: Vec<&'static str>,
    /// Quantities of the vertical axis, of one unit.
    pub y: Vec<Quantity>,
    /// Horizontal axis.
    pub x: ChartAxis,
    /// The setting that makes one line for each of its values.
    pub series: Option<&'static str>,
    /// Start of the time axis, where a chart is drawn against time.
    pub from: Option<Moment>,
    /// End of the time axis, where a chart is drawn against time.
    pub to: Option<Moment>,
    /// Choice of the case that a latency chart shows; without it, all cases.
    pub pick: Option<Pick>,
    /// Of a contour chart the latency whose lines of equal value are drawn over `x` and `y`: of one direction, or the means of both, whose
    /// mean over all I/Os it then is. `None` of any other chart.
    pub contour_of: Option<Vec<Quantity>>,
    pub(crate) cases: Condition,
}

impl Chart {
    /// True where it shows some of its stages' cases only.
    pub fn has_conditions(&self) -> bool {
        !self.cases.0.is_empty()
    }

    /// True where it shows a case.
    pub fn shows(&self, stage: &str, settings: &SettingValues) -> bool {
        self.stages.iter().any(|name| name == stage) && self.cases.holds(settings)
    }
}

/// A table of the report: one row for each combination of values of some settings.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// Title in one line.
    pub title: String,
    /// Table of the published test that it corresponds to.
    pub published_as: Option<String>,
    /// The stages whose cases it shows.
    pub stages: Vec<String>,
    /// Settings that make the rows: one row for each combination of their values.
    pub rows: Vec<&'static str>,
    /// Setting whose values are the columns; there is then a table for each quantity.
    pub columns: Option<&'static str>,
    /// Quantities of the columns, or of the tables where `columns` is set.
    pub quantities: Vec<Quantity>,
    /// Choice of the case that a row shows where it has several; without it, all cases.
    pub pick: Option<Pick>,
    pub(crate) cases: Condition,
}

impl Table {
    /// True where it shows a case.
    pub fn shows(&self, stage: &str, settings: &SettingValues) -> bool {
        self.stages.iter().any(|name| name == stage) && self.cases.holds(settings)
    }
}

/// Choice of one case for a table row or a latency chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Pick {
    /// The quantity that decides.
    pub quantity: Quantity,
    /// Extreme of that quantity: the case with the highest or the lowest value.
    pub extreme: Extreme,
    /// Bounds of quantities, each in its unit: only cases within all of them are candidates; a quantity that a
    /// case does not have does not count against it.
    pub at_most: Vec<(Quantity, f64)>,
}

impl Pick {
    /// Returns true if each bounded quantity of a candidate is within its bound.
    pub fn allows(&self, value: impl Fn(Quantity) -> Option<f64>) -> bool {
        self.at_most.iter().all(|(bounded, most)| value(*bounded).is_none_or(|value| value <= *most))
    }

    /// The candidate that it picks by what each has of a quantity; the first of equals.
    pub fn best<T>(
        &self,
        candidates: impl IntoIterator<Item = T>,
        value: impl Fn(&T, Quantity) -> Option<f64>,
    ) -> Option<T> {
        let of = |candidate: &T| value(candidate, self.quantity);
        let within = candidates.into_iter().filter(|one| self.allows(|bounded| value(one, bounded)));
        within.filter(|one| of(one).is_some()).reduce(|best, one| {
            let is_better = match self.extreme {
                Extreme::Largest => of(&one) > of(&best),
                Extreme::Smallest => of(&one) < of(&best),
            };
            if is_better { one } else { best }
        })
    }
}

/// The largest or the smallest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extreme {
    /// The largest.
    Largest,
    /// The smallest.
    Smallest,
}

/// Horizontal axis of a chart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChartAxis {
    /// Time since counting began.
    Time,
    /// Bytes written since the first case of the stage began.
    Written,
    /// Latency: how the I/Os of a case divide over it.
    Latency,
    /// The values of a setting.
    Setting(&'static str),
    /// A measured quantity: each case is a point, as in latency against IOPS.
    Quantity(Quantity),
}

/// The axes that are no settings.
const OWN_AXES: [(&str, ChartAxis); 3] =
    [("time", ChartAxis::Time), ("written", ChartAxis::Written), ("latency", ChartAxis::Latency)];

/// The words of [`ChartAxis`].
fn chart_axis_names() -> impl Iterator<Item = &'static str> + Clone {
    let settings = SETTINGS.iter().map(|setting| setting.name);
    OWN_AXES.iter().map(|(name, _)| *name).chain(settings).chain(QUANTITIES.iter().copied())
}

impl<'de> Deserialize<'de> for ChartAxis {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = String::deserialize(deserializer)?;
        if let Some((_, axis)) = OWN_AXES.iter().find(|(own, _)| *own == name) {
            return Ok(*axis);
        }
        if let Some(quantity) = Quantity::named(&name) {
            return Ok(ChartAxis::Quantity(quantity));
        }
        crate::setting::setting(&name).map(|setting| ChartAxis::Setting(setting.name)).ok_or_else(|| {
            let hint = array::did_you_mean(&name, chart_axis_names()).unwrap_or_default();
            de::Error::custom(format!(
                "`{name}` is neither `time`, `written`, `latency`, a setting nor a quantity; {hint}"
            ))
        })
    }
}

impl JsonSchema for ChartAxis {
    fn schema_name() -> Cow<'static, str> {
        "ChartAxis".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let names: Vec<&str> = chart_axis_names().collect();
        schemars::json_schema!({ "description": "`time`, `written` (bytes), `latency`, a setting, or a quantity", "enum": names })
    }
}

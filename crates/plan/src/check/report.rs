//! Checks of the report section.

use super::Checker;
use crate::document::{
    ChartDocument, DeclaredDocument, ImageDocument, InventoryDocument, PickDocument, RequirementDocument,
    TableDocument,
};
use crate::matrix::Condition;
use crate::part::{
    Bound, Chart, ChartAxis, Declared, Extreme, Image, InventoryCommand, Pick, Requirement, Table,
};
use crate::quantity::Quantity;
use crate::source::Place;
use crate::yaml::{Located, OneOrMany};
use crate::{PlanError, PlanErrorKind as Kind};
use array::did_you_mean;

/// The longest argument of a command, and the most arguments.
const ARGUMENT_CHARS_LIMIT: usize = 1_024;
const ARGUMENTS_LIMIT: usize = 64;
/// The endings of pictures that a page can hold. SVG is not among them: it may carry scripts.
const IMAGE_ENDINGS: [&str; 4] = [".png", ".jpg", ".jpeg", ".webp"];

impl Checker<'_> {
    pub(super) fn known_stage(&self, stage: &Located<String>, names: &[&str]) -> Result<(), PlanError> {
        if names.contains(&stage.value.as_str()) {
            return Ok(());
        }
        Err(self
            .error(Kind::Contradiction, stage.place, format!("the plan has no stage `{}`", stage.value))
            .maybe_hint(did_you_mean(&stage.value, names.iter().copied())))
    }

    pub(super) fn image(&self, document: &ImageDocument) -> Result<Image, PlanError> {
        let file = &document.file;
        let lower = file.value.to_ascii_lowercase();
        if !IMAGE_ENDINGS.iter().any(|ending| lower.ends_with(ending)) {
            let message = format!("`{}` is no picture that a report holds", file.value);
            return Err(self
                .error(Kind::OutOfRange, file.place, message)
                .with_hint(format!("known endings: {}", IMAGE_ENDINGS.join(", "))));
        }
        let leaves = file.value.split(['/', '\\']).any(|part| part == "..") || file.value.starts_with('/');
        if leaves || file.value.chars().any(char::is_control) {
            let message = "a picture lies beside the plan or below it";
            return Err(self.error(Kind::OutOfRange, file.place, message));
        }
        Ok(Image { file: file.value.clone(), caption: document.caption.clone() })
    }

    pub(super) fn inventory(&self, document: &InventoryDocument) -> Result<InventoryCommand, PlanError> {
        Ok(InventoryCommand { arguments: self.arguments(&document.command)?, at: document.at })
    }

    /// A program and its arguments.
    pub(super) fn arguments(&self, command: &Located<OneOrMany>) -> Result<Vec<String>, PlanError> {
        let arguments: Vec<String> = match command.value.0.as_slice() {
            [line] => line.value.split_whitespace().map(str::to_owned).collect(),
            list => list.iter().map(|argument| argument.value.clone()).collect(),
        };
        let is_argument = |text: &String| {
            text.chars().count() <= ARGUMENT_CHARS_LIMIT && !text.chars().any(char::is_control)
        };
        let has_program = arguments.first().is_some_and(|program| !program.trim().is_empty());
        if !has_program || arguments.len() > ARGUMENTS_LIMIT || !arguments.iter().all(is_argument) {
            let message = format!(
                "a command has a program and at most {ARGUMENTS_LIMIT} words of {ARGUMENT_CHARS_LIMIT} characters"
            );
            return Err(self.error(Kind::OutOfRange, command.place, message));
        }
        Ok(arguments)
    }

    pub(super) fn declared(
        &self,
        document: &DeclaredDocument,
        stages: &[&str],
    ) -> Result<Declared, PlanError> {
        self.known_stage(&document.stage, stages)?;
        let value = self.figure(document.quantity, &document.value)?;
        if value == 0.0 {
            let message = "a declared figure is above 0";
            return Err(self.error(Kind::OutOfRange, document.value.place, message));
        }
        Ok(Declared {
            says: document.says.clone(),
            quantity: document.quantity,
            value,
            stage: document.stage.value.clone(),
            cases: self.condition(&document.cases)?,
        })
    }

    pub(super) fn requirement(
        &self,
        document: &RequirementDocument,
        stages: &[&str],
    ) -> Result<(Requirement, Place), PlanError> {
        self.known_stage(&document.stage, stages)?;
        let quantity = document.quantity.value;
        let (bound, written) = match (&document.at_least, &document.at_most) {
            (Some(value), None) => (Bound::AtLeast, value),
            (None, Some(value)) => (Bound::AtMost, value),
            _ => {
                let message = "a requirement has either `at_least` or `at_most`";
                return Err(self.error(Kind::MissingKey, document.quantity.place, message));
            }
        };
        let value = self.figure(quantity, written)?;
        let (cases, place) = match &document.cases {
            Some(cases) => (self.condition(&cases.value)?, cases.place),
            None => (Condition::default(), document.stage.place),
        };
        let side = match bound {
            Bound::AtLeast => "at least",
            Bound::AtMost => "at most",
        };
        let words =
            || format!("{} {side} {} in `{}`", quantity.name(), quantity.print(value), document.stage.value);
        let requirement = Requirement {
            says: document.says.clone().unwrap_or_else(words),
            quantity,
            bound,
            value,
            stage: document.stage.value.clone(),
            cases,
        };
        Ok((requirement, place))
    }

    pub(super) fn chart(&self, document: ChartDocument, stages: &[&str]) -> Result<Chart, PlanError> {
        document.stages.iter().try_for_each(|stage| self.known_stage(stage, stages))?;
        let Some(first) = document.y.first() else {
            return Err(self.error(
                Kind::MissingKey,
                document.x.place,
                "a chart needs at least one quantity in `y`",
            ));
        };
        if let Some(other) = document.y.iter().find(|other| other.value.unit() != first.value.unit()) {
            let message =
                format!("`{}` and `{}` have different units", first.value.name(), other.value.name());
            return Err(self
                .error(Kind::Contradiction, other.place, message)
                .with_hint("make two charts of them"));
        }
        if document.x.value != ChartAxis::Time && (document.from.is_some() || document.to.is_some()) {
            let message = "`from` and `to` cut a chart against `time` only";
            return Err(self.error(Kind::Contradiction, document.x.place, message));
        }
        if document.x.value != ChartAxis::Latency && document.pick.is_some() {
            let message = "`pick` chooses a case of a chart against `latency` only";
            return Err(self
                .error(Kind::Contradiction, document.x.place, message)
                .with_hint("a table has a `pick` too"));
        }
        let contour_of = self.contour_of(&document)?;
        let pick = document.pick.as_ref().map(|pick| self.pick(pick, document.x.place)).transpose()?;
        let series = document.series.as_ref().map(|name| self.setting(name)).transpose()?;
        let each = self.setting_names(&document.each)?;
        for (name, written) in each.iter().zip(&document.each) {
            let is_drawn = document.x.value == ChartAxis::Setting(name);
            if is_drawn || series.is_some_and(|series| series.name == *name) {
                let message = format!("`{name}` is drawn in each chart already");
                return Err(self.error(Kind::Contradiction, written.place, message));
            }
        }
        Ok(Chart {
            title: document.title,
            published_as: document.published_as,
            stages: document.stages.into_iter().map(|stage| stage.value).collect(),
            each,
            y: document.y.iter().map(|quantity| quantity.value).collect(),
            x: document.x.value,
            series: series.map(|series| series.name),
            from: document.from,
            to: document.to,
            pick,
            contour_of,
            cases: self.condition(&document.cases)?,
        })
    }

    /// Latency of a contour chart; `None` of any other chart.
    fn contour_of(&self, document: &ChartDocument) -> Result<Option<Vec<Quantity>>, PlanError> {
        let refused = |place: Place, message: &str| self.error(Kind::Contradiction, place, message);
        let Some(chart) = &document.chart else {
            return match document.of.first() {
                Some(of) => Err(refused(of.place, "`of` is the latency of a `chart: contour`")),
                None => Ok(None),
            };
        };
        let x = match document.x.value {
            ChartAxis::Quantity(x) if matches!(x.unit(), "IOPS" | "bytes/s") => Some(x),
            _ => None,
        };
        let is_plane = matches!((x, &document.y[..]), (Some(x), [y]) if y.value.unit() == x.unit());
        if !is_plane || document.series.is_some() {
            return Err(refused(
                chart.place,
                "a contour has two rates of one unit, one in `x` and one in `y`, and no `series`",
            )
            .with_hint("as `x: read.iops, y: [write.iops], of: [read.latency_ns.p99]`"));
        }
        let names: Vec<&str> = document.of.iter().map(|of| of.value.name()).collect();
        let is_latency = match names[..] {
            [_] => document.of[0].value.is_latency(),
            [one, other] => {
                let mut both = [one, other];
                both.sort_unstable();
                both == ["read.latency_ns.mean", "write.latency_ns.mean"]
            }
            _ => false,
        };
        if !is_latency {
            return Err(refused(
                chart.place,
                "a contour needs a latency in `of`: of one direction, or the means of both",
            )
            .with_hint("as `of: [read.latency_ns.mean, write.latency_ns.mean]`"));
        }
        Ok(Some(document.of.iter().map(|of| of.value).collect()))
    }

    pub(super) fn table(&self, document: TableDocument, stages: &[&str]) -> Result<Table, PlanError> {
        document.stages.iter().try_for_each(|stage| self.known_stage(stage, stages))?;
        let rows = &document.rows;
        if rows.value.is_empty() || document.quantities.is_empty() {
            let message = "a table needs at least one setting in `rows` and one quantity in `quantities`";
            return Err(self.error(Kind::MissingKey, rows.place, message));
        }
        let columns = document.columns.as_ref().map(|name| self.setting(name)).transpose()?;
        Ok(Table {
            rows: self.setting_names(&rows.value)?,
            columns: columns.map(|setting| setting.name),
            pick: document.pick.as_ref().map(|pick| self.pick(pick, rows.place)).transpose()?,
            cases: self.condition(&document.cases)?,
            title: document.title,
            published_as: document.published_as,
            stages: document.stages.into_iter().map(|stage| stage.value).collect(),
            quantities: document.quantities,
        })
    }

    pub(super) fn pick(&self, document: &PickDocument, place: Place) -> Result<Pick, PlanError> {
        let (quantity, extreme) = match (&document.largest, &document.smallest) {
            (Some(quantity), None) => (*quantity, Extreme::Largest),
            (None, Some(quantity)) => (quantity.value, Extreme::Smallest),
            _ => {
                let message = "`pick` has either `largest` or `smallest`";
                return Err(self.error(Kind::MissingKey, place, message));
            }
        };
        let mut at_most = Vec::new();
        for (name, value) in &document.at_most.0 {
            let Some(bounded) = Quantity::named(&name.value) else {
                let message = format!("there is no quantity `{}`", name.value);
                return Err(self
                    .error(Kind::OutOfRange, name.place, message)
                    .maybe_hint(did_you_mean(&name.value, crate::QUANTITIES.iter().copied())));
            };
            at_most.push((bounded, self.figure(bounded, value)?));
        }
        Ok(Pick { quantity, extreme, at_most })
    }
}

//! From a plan as written to a plan whose every value has been checked.

use crate::document::{
    Assignments, AxisDocument, ChartDocument, Conditions, DeclaredDocument, MatrixDocument, PlanDocument,
    PreconditionDocument, StageDocument,
};
use crate::plan::{
    Assignment, AxisPoint, Chart, ChartAxis, Condition, Declared, EventTemplate, Inclusion, MatrixAxis, Plan,
    Preconditioning, Stage,
};
use crate::quantity::Quantity;
use crate::setting::setting_or_error;
use crate::source::{Place, SourceText};
use crate::suggest::did_you_mean;
use crate::yaml::Located;
use crate::{PlanError, PlanErrorKind as Kind, expand, published};
use std::path::Path;

/// The interval of samples where a plan gives none: 5 s, that of the published tests' telemetry.
const INTERVAL_DEFAULT_NS: u64 = 5 * units::NANOS_PER_SECOND;
/// The shortest interval: a shorter one would cost more to keep than it tells.
const INTERVAL_LEAST_NS: u64 = 10_000_000;
/// The most a plan may write before a stage, in sizes of the target. SNIA PTS asks for two.
const PRECONDITION_TIMES_LIMIT: u8 = 10;
/// The longest name of a stage.
const STAGE_NAME_CHARS_LIMIT: usize = 64;
/// The most events in one stage.
const EVENTS_LIMIT: usize = 1_000;

pub(crate) fn check(
    name: &str,
    source: SourceText,
    directory: Option<&Path>,
    document: PlanDocument,
) -> Result<Plan, PlanError> {
    let checker = Checker { source: &source };
    let defaults = checker.assignments(&document.defaults)?;
    let stages = checker.stages(&document, &defaults)?;
    let stage_names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();

    let interval_ns = match &document.watch.interval {
        Some(interval) if interval.value.0 < INTERVAL_LEAST_NS => {
            return Err(checker.error(Kind::OutOfRange, interval.place, "`interval` must be at least 10ms"));
        }
        interval => interval.as_ref().map_or(INTERVAL_DEFAULT_NS, |interval| interval.value.0),
    };
    let declared = document
        .declared
        .iter()
        .map(|declared| checker.declared(declared, &stage_names))
        .collect::<Result<_, _>>()?;
    let mut tables = Vec::new();
    for table in &document.published {
        table.stages.iter().try_for_each(|stage| checker.known_stage(stage, &stage_names))?;
        tables.push(published::read(&source, directory, table)?);
    }
    let charts = document
        .show
        .into_iter()
        .map(|chart| checker.chart(chart, &stage_names))
        .collect::<Result<_, _>>()?;

    let plan = Plan {
        name: name.to_owned(),
        title: document.title,
        author: document.author,
        intro: document.intro,
        notes: document.notes,
        read_only: document.read_only,
        interval_ns,
        stages,
        declared,
        published: tables,
        charts,
        source,
    };
    // A plan is refused whole: a mistake in its last stage is not found after hours of the first.
    expand::check_every_case(&plan)?;
    Ok(plan)
}

struct Checker<'a> {
    source: &'a SourceText,
}

impl Checker<'_> {
    fn error(&self, kind: Kind, place: Place, message: impl Into<String>) -> PlanError {
        PlanError::new(kind, message).at(self.source.excerpt(place))
    }

    fn stages(&self, document: &PlanDocument, defaults: &[Assignment]) -> Result<Vec<Stage>, PlanError> {
        if document.stages.value.0.is_empty() {
            return Err(self.error(
                Kind::MissingKey,
                document.stages.place,
                "a plan needs at least one stage",
            ));
        }
        document.stages.value.0.iter().map(|(name, stage)| self.stage(name, stage, defaults)).collect()
    }

    fn stage(
        &self,
        name: &Located<String>,
        document: &StageDocument,
        defaults: &[Assignment],
    ) -> Result<Stage, PlanError> {
        let is_name_char = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let length = name.value.chars().count();
        if !(1..=STAGE_NAME_CHARS_LIMIT).contains(&length) || !name.value.chars().all(is_name_char) {
            return Err(self.error(
                Kind::OutOfRange,
                name.place,
                format!(
                    "a stage's name has 1 to {STAGE_NAME_CHARS_LIMIT} lower-case letters, digits and `-`"
                ),
            ));
        }
        let mut settings = defaults.to_vec();
        overlay(&mut settings, &self.assignments(&document.settings)?);
        let axes = self.axes(&document.matrix)?;
        Ok(Stage {
            name: name.value.clone(),
            title: document.title.clone(),
            notes: document.notes.clone(),
            pause_ns: document.pause.0,
            precondition: document
                .precondition
                .as_ref()
                .map(|wanted| self.precondition(wanted))
                .transpose()?,
            events: self.events(document)?,
            name_place: name.place,
            settings,
            include: self.include(&document.matrix)?,
            exclude: self.exclude(&document.matrix, &axes)?,
            axes,
        })
    }

    fn events(&self, document: &StageDocument) -> Result<Vec<EventTemplate>, PlanError> {
        if let Some(excess) = document.events.get(EVENTS_LIMIT) {
            let message = format!("a stage has at most {EVENTS_LIMIT} events");
            return Err(self.error(Kind::OverLimit, excess.place, message));
        }
        Ok(document
            .events
            .iter()
            .map(|Located { value: event, .. }| EventTemplate {
                at: event.at,
                action: event.action.clone(),
                arguments: event.with.clone(),
            })
            .collect())
    }

    fn assignment(&self, name: &Located<String>, text: &Located<String>) -> Result<Assignment, PlanError> {
        let setting =
            setting_or_error(&name.value).map_err(|error| error.at(self.source.excerpt(name.place)))?;
        let value = setting.parse(&text.value).map_err(|error| error.at(self.source.excerpt(text.place)))?;
        Ok(Assignment { setting, value, place: text.place })
    }

    fn assignments(&self, document: &Assignments) -> Result<Vec<Assignment>, PlanError> {
        document.0.iter().map(|(name, text)| self.assignment(name, text)).collect()
    }

    fn axes(&self, matrix: &MatrixDocument) -> Result<Vec<MatrixAxis>, PlanError> {
        let mut axes: Vec<MatrixAxis> = Vec::new();
        for (name, document) in &matrix.axes {
            let setting =
                setting_or_error(&name.value).map_err(|error| error.at(self.source.excerpt(name.place)))?;
            let mut points: Vec<AxisPoint> = Vec::new();
            let nothing = Assignments::default();
            let written: Vec<(&Located<String>, &Assignments)> = match &document.value {
                AxisDocument::Lone(value) => {
                    let message = format!("the axis `{}` is one value, not a list", setting.name);
                    return Err(self.error(Kind::WrongType, document.place, message).hint(format!(
                        "write `{}: [{value}]`, or move it to the stage's `settings`",
                        setting.name
                    )));
                }
                AxisDocument::Values(values) => values.iter().map(|value| (value, &nothing)).collect(),
                AxisDocument::Points(points) => {
                    points.iter().map(|(value, brings)| (value, brings)).collect()
                }
            };
            if written.is_empty() {
                let message = format!("the axis `{}` has no values", setting.name);
                return Err(self.error(Kind::OutOfRange, name.place, message));
            }
            for (text, brings) in written {
                let assignment = self.assignment(name, text)?;
                if points.iter().any(|point| point.value == assignment.value) {
                    let message = format!("`{}` stands twice on the axis `{}`", text.value, setting.name);
                    return Err(self
                        .error(Kind::Contradiction, text.place, message)
                        .hint("values are compared as they are meant: 4k and 4096 are the same"));
                }
                points.push(AxisPoint {
                    value: assignment.value,
                    place: text.place,
                    brings: self.assignments(brings)?,
                });
            }
            axes.push(MatrixAxis { setting, points });
        }
        Ok(axes)
    }

    fn include(&self, matrix: &MatrixDocument) -> Result<Vec<Inclusion>, PlanError> {
        matrix
            .include
            .iter()
            .map(|entry| {
                if entry.value.0.is_empty() {
                    return Err(self.error(
                        Kind::MissingKey,
                        entry.place,
                        "a further case needs at least one setting",
                    ));
                }
                Ok(Inclusion { assignments: self.assignments(&entry.value)?, place: entry.place })
            })
            .collect()
    }

    fn exclude(&self, matrix: &MatrixDocument, axes: &[MatrixAxis]) -> Result<Vec<Condition>, PlanError> {
        let mut exclude = Vec::new();
        for entry in &matrix.exclude {
            if entry.value.0.is_empty() {
                return Err(self.error(Kind::MissingKey, entry.place, "this would leave out every case"));
            }
            for (name, _) in &entry.value.0 {
                let varies = axes.iter().any(|axis| {
                    axis.setting.name == name.value
                        || axis
                            .points
                            .iter()
                            .flat_map(|point| &point.brings)
                            .any(|a| a.setting.name == name.value)
                });
                if !varies {
                    let message = format!(
                        "`{}` does not vary in this matrix, so it excludes nothing or everything",
                        name.value
                    );
                    return Err(self
                        .error(Kind::Contradiction, name.place, message)
                        .maybe_hint(did_you_mean(&name.value, axes.iter().map(|axis| axis.setting.name))));
                }
            }
            exclude.push(self.condition(&entry.value)?);
        }
        Ok(exclude)
    }

    fn condition(&self, document: &Conditions) -> Result<Condition, PlanError> {
        let mut condition = Condition::default();
        for (name, texts) in &document.0 {
            let setting =
                setting_or_error(&name.value).map_err(|error| error.at(self.source.excerpt(name.place)))?;
            let values = texts.0.iter().map(|text| self.assignment(name, text).map(|found| found.value));
            condition.0.push((setting.name, values.collect::<Result<_, _>>()?));
        }
        Ok(condition)
    }

    fn precondition(&self, document: &PreconditionDocument) -> Result<Preconditioning, PlanError> {
        let times = &document.times;
        if !(1..=PRECONDITION_TIMES_LIMIT).contains(&times.value) {
            let message = format!("`times` must be 1 to {PRECONDITION_TIMES_LIMIT}");
            return Err(self.error(Kind::OutOfRange, times.place, message));
        }
        let mut preconditioning = Preconditioning {
            pattern: load::Pattern::Write,
            bs_bytes: 0,
            numjobs: 1,
            iodepth: 1,
            times: u32::from(times.value),
        };
        for (assignment, (name, _)) in self.assignments(&document.settings)?.iter().zip(&document.settings.0)
        {
            // Every value below has passed its setting's range, which fits the narrower type.
            let number =
                assignment.value.as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
            match assignment.setting.name {
                "rw" if assignment.value == "write" => preconditioning.pattern = load::Pattern::Write,
                "rw" if assignment.value == "randwrite" => preconditioning.pattern = load::Pattern::Randwrite,
                "rw" => {
                    let message = "preconditioning is `rw: write` or `rw: randwrite`";
                    return Err(self.error(Kind::Contradiction, assignment.place, message));
                }
                "bs" => preconditioning.bs_bytes = number,
                "numjobs" => preconditioning.numjobs = number,
                "iodepth" => preconditioning.iodepth = number,
                other => {
                    let message = format!("`{other}` is no setting of preconditioning");
                    return Err(self
                        .error(Kind::UnknownSetting, name.place, message)
                        .hint("it takes rw, bs, numjobs and iodepth"));
                }
            }
        }
        if preconditioning.bs_bytes == 0 {
            return Err(self.error(Kind::MissingKey, times.place, "preconditioning needs the setting `bs`"));
        }
        Ok(preconditioning)
    }

    fn known_stage(&self, stage: &Located<String>, names: &[&str]) -> Result<(), PlanError> {
        if names.contains(&stage.value.as_str()) {
            return Ok(());
        }
        Err(self
            .error(Kind::Contradiction, stage.place, format!("the plan has no stage `{}`", stage.value))
            .maybe_hint(did_you_mean(&stage.value, names.iter().copied())))
    }

    fn declared(&self, document: &DeclaredDocument, stages: &[&str]) -> Result<Declared, PlanError> {
        self.known_stage(&document.stage, stages)?;
        let value = declared_value(document.quantity, &document.value.value).ok_or_else(|| {
            let message = format!("`{}` is not a figure above 0", document.value.value);
            self.error(Kind::OutOfRange, document.value.place, message)
        })?;
        Ok(Declared {
            says: document.says.clone(),
            quantity: document.quantity,
            value,
            stage: document.stage.value.clone(),
            cases: self.condition(&document.cases)?,
        })
    }

    fn chart(&self, document: ChartDocument, stages: &[&str]) -> Result<Chart, PlanError> {
        document.stages.iter().try_for_each(|stage| self.known_stage(stage, stages))?;
        let unit = |quantity: Quantity| (quantity.is_latency(), quantity.is_bandwidth());
        let Some(first) = document.y.first() else {
            return Err(self.error(
                Kind::MissingKey,
                document.x.place,
                "a chart needs at least one quantity in `y`",
            ));
        };
        if let Some(other) = document.y.iter().find(|other| unit(other.value) != unit(first.value)) {
            let message =
                format!("`{}` and `{}` have different units", first.value.name(), other.value.name());
            return Err(self
                .error(Kind::Contradiction, other.place, message)
                .hint("make two charts of them"));
        }
        if document.x.value != ChartAxis::Time && (document.from.is_some() || document.to.is_some()) {
            let message = "`from` and `to` cut a chart against `time` only";
            return Err(self.error(Kind::Contradiction, document.x.place, message));
        }
        let series = match &document.series {
            Some(name) => Some(
                setting_or_error(&name.value)
                    .map_err(|error| error.at(self.source.excerpt(name.place)))?
                    .name,
            ),
            None => None,
        };
        Ok(Chart {
            title: document.title,
            published_as: document.published_as,
            stages: document.stages.into_iter().map(|stage| stage.value).collect(),
            y: document.y.iter().map(|quantity| quantity.value).collect(),
            x: document.x.value,
            series,
            from: document.from,
            to: document.to,
        })
    }
}

/// A figure in the quantity's unit: a number, or a duration with a suffix where the quantity is a latency.
fn declared_value(quantity: Quantity, text: &str) -> Option<f64> {
    let value = match text.trim().parse::<f64>() {
        Ok(value) => value,
        Err(_) if quantity.is_latency() => units::parse_nanos(text).ok()? as f64,
        Err(_) => return None,
    };
    (value.is_finite() && value > 0.0).then_some(value)
}

/// Puts `upper` over `settings`: what it gives replaces what was there.
pub(crate) fn overlay(settings: &mut Vec<Assignment>, upper: &[Assignment]) {
    for assignment in upper {
        match settings.iter_mut().find(|present| present.setting.name == assignment.setting.name) {
            Some(present) => *present = assignment.clone(),
            None => settings.push(assignment.clone()),
        }
    }
}

//! Settings, matrices and conditions.

use super::Checker;
use crate::document::{Assignments, AxisDocument, Conditions, MatrixDocument};
use crate::matrix::{Assignment, AxisPoint, Condition, Inclusion, MatrixAxis};
use crate::setting::{Setting, setting_or_error};
use crate::yaml::Located;
use crate::{PlanError, PlanErrorKind as Kind};
use array::did_you_mean;

impl Checker<'_> {
    /// The setting of this name.
    pub(super) fn setting(&self, name: &Located<String>) -> Result<&'static Setting, PlanError> {
        setting_or_error(&name.value).map_err(|error| error.at(self.source.excerpt(name.place)))
    }

    /// The settings of these names, each once.
    pub(super) fn setting_names(&self, names: &[Located<String>]) -> Result<Vec<&'static str>, PlanError> {
        let mut found = Vec::new();
        for name in names {
            let setting = self.setting(name)?;
            if found.contains(&setting.name) {
                let message = format!("`{}` stands twice in this list", setting.name);
                return Err(self.error(Kind::Contradiction, name.place, message));
            }
            found.push(setting.name);
        }
        Ok(found)
    }

    pub(super) fn assignment(
        &self,
        name: &Located<String>,
        text: &Located<String>,
    ) -> Result<Assignment, PlanError> {
        let setting = self.setting(name)?;
        let value = setting.parse(&text.value).map_err(|error| error.at(self.source.excerpt(text.place)))?;
        Ok(Assignment { setting, value, place: text.place })
    }

    pub(super) fn assignments(&self, document: &Assignments) -> Result<Vec<Assignment>, PlanError> {
        document.0.iter().map(|(name, text)| self.assignment(name, text)).collect()
    }

    pub(super) fn axes(&self, matrix: &MatrixDocument) -> Result<Vec<MatrixAxis>, PlanError> {
        let mut axes: Vec<MatrixAxis> = Vec::new();
        for (name, document) in &matrix.axes {
            let setting = self.setting(name)?;
            let mut points: Vec<AxisPoint> = Vec::new();
            let nothing = Assignments::default();
            let written: Vec<(&Located<String>, &Assignments)> = match &document.value {
                AxisDocument::Lone(value) => {
                    let message = format!("the axis `{}` is one value, not a list", setting.name);
                    return Err(self.error(Kind::WrongType, document.place, message).with_hint(format!(
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
                        .with_hint("values are compared as they are meant: 4k and 4096 are the same"));
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

    pub(super) fn include(&self, matrix: &MatrixDocument) -> Result<Vec<Inclusion>, PlanError> {
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

    pub(super) fn exclude(
        &self,
        matrix: &MatrixDocument,
        axes: &[MatrixAxis],
    ) -> Result<Vec<Condition>, PlanError> {
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

    pub(super) fn condition(&self, document: &Conditions) -> Result<Condition, PlanError> {
        let mut condition = Condition::default();
        for (name, texts) in &document.0 {
            let setting = self.setting(name)?;
            let values = texts.0.iter().map(|text| self.assignment(name, text).map(|found| found.value));
            condition.0.push((setting.name, values.collect::<Result<_, _>>()?));
        }
        Ok(condition)
    }
}

/// Overrides `settings` by those of `upper`.
pub(super) fn overlay(settings: &mut Vec<Assignment>, upper: &[Assignment]) {
    for assignment in upper {
        match settings.iter_mut().find(|present| present.setting.name == assignment.setting.name) {
            Some(present) => *present = assignment.clone(),
            None => settings.push(assignment.clone()),
        }
    }
}

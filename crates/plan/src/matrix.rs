//! Settings of a stage: assignments, axes of its matrix, conditions on settings.

use crate::setting::Setting;
use crate::source::Place;
use serde_json::{Map, Value};

/// The settings of a case by name, each as DESIGN.md fixes its type.
pub type SettingValues = Map<String, Value>;

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

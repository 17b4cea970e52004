//! Figures that results are held against: what the vendor declares, and what is required.

use crate::matrix::{Condition, SettingValues};
use crate::plan::Plan;
use crate::quantity::Quantity;

/// A figure that the vendor declares.
#[derive(Debug, Clone, PartialEq)]
pub struct Declared {
    /// The declaration in words.
    pub says: String,
    /// Quantity that is declared.
    pub quantity: Quantity,
    /// The figure, in the quantity's unit.
    pub value: f64,
    /// The stage whose cases stand beside it.
    pub stage: String,
    pub(crate) cases: Condition,
}

/// The side on which a bound lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    /// The bound is the least that is allowed.
    AtLeast,
    /// The bound is the most that is allowed.
    AtMost,
}

/// A limit that results must keep.
#[derive(Debug, Clone, PartialEq)]
pub struct Requirement {
    /// The limit in words.
    pub says: String,
    /// Quantity that is limited.
    pub quantity: Quantity,
    /// Side on which the limit lies: minimum or maximum.
    pub bound: Bound,
    /// The limit, in the quantity's unit.
    pub value: f64,
    /// The stage whose cases must keep it.
    pub stage: String,
    pub(crate) cases: Condition,
}

impl Requirement {
    /// True where a case must keep it.
    pub fn is_about(&self, stage: &str, settings: &SettingValues) -> bool {
        self.stage == stage && self.cases.holds(settings)
    }

    /// True where a measured figure keeps it.
    pub fn is_kept_by(&self, measured: f64) -> bool {
        match self.bound {
            Bound::AtLeast => measured >= self.value,
            Bound::AtMost => measured <= self.value,
        }
    }
}

impl Plan {
    /// The declarations that stand beside a case.
    pub fn declared_for(&self, stage: &str, settings: &SettingValues) -> Vec<&Declared> {
        self.declared
            .iter()
            .filter(|declared| declared.stage == stage && declared.cases.holds(settings))
            .collect()
    }

    /// Returns false if the settings of a case exclude the direction of the quantity: writes of a case of reads.
    pub fn has_direction(&self, stage: &str, settings: &SettingValues, quantity: Quantity) -> bool {
        let is_one_load =
            self.stage(stage).is_some_and(|stage| stage.loads.is_empty() && stage.replay.is_none());
        let share = settings.get("rwmixread").and_then(serde_json::Value::as_f64);
        match (quantity.name().split_once('.'), share) {
            (Some(("read", _)), Some(share)) if is_one_load => share > 0.0,
            (Some(("write", _)), Some(share)) if is_one_load => share < 100.0,
            _ => true,
        }
    }

    /// The limits that a case must keep.
    pub fn requirements_for(&self, stage: &str, settings: &SettingValues) -> Vec<&Requirement> {
        self.requirements.iter().filter(|requirement| requirement.is_about(stage, settings)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a limit includes its own figure on both sides, and that no figure is no pass.
    #[test]
    fn a_limit_includes_its_figure() {
        let requirement = |bound| Requirement {
            says: String::new(),
            quantity: Quantity::named("iops").expect("iops"),
            bound,
            value: 100.0,
            stage: "one".into(),
            cases: Condition::default(),
        };
        let kept = |bound, measured| requirement(bound).is_kept_by(measured);
        assert!(kept(Bound::AtLeast, 100.0) && !kept(Bound::AtLeast, 99.9));
        assert!(kept(Bound::AtMost, 100.0) && !kept(Bound::AtMost, 100.1));
        assert!(!kept(Bound::AtLeast, f64::NAN) && !kept(Bound::AtMost, f64::NAN));
    }
}

//! Jobs and depth that an earlier stage's results choose.

use super::Pick;
use crate::matrix::{Condition, SettingValues};

/// The jobs and the depth of a case of an earlier stage, chosen from its results.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadChoice {
    /// The earlier stage.
    pub stage: String,
    /// Choice of the earlier stage's case: of rounds by their means over the measurement window.
    pub pick: Pick,
    pub(crate) half_way_to: Option<Condition>,
    pub(crate) cases: Condition,
}

impl LoadChoice {
    /// True where a case may be chosen.
    pub fn is_about(&self, stage: &str, settings: &SettingValues) -> bool {
        stage == self.stage && self.cases.holds(settings)
    }

    /// True where not the case that is picked counts, but the one whose quantity is nearest to half-way between it and
    /// another.
    pub fn is_half_way(&self) -> bool {
        self.half_way_to.is_some()
    }

    /// True for the case half-way to which the choice lies.
    pub fn is_other_end(&self, settings: &SettingValues) -> bool {
        self.half_way_to.as_ref().is_some_and(|condition| condition.holds(settings))
    }
}

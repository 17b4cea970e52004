//! Rounds of a stage, and when there are enough of them.

use super::Amount;
use crate::matrix::{Condition, SettingValues};
use crate::quantity::Quantity;

/// Number of rounds of a stage.
#[derive(Debug, Clone, PartialEq)]
pub struct Rounds {
    /// The most rounds.
    pub at_most: u32,
    /// The stage ends once every one of these is steady by SNIA's rule over five rounds; empty where rounds are only
    /// counted.
    pub until_steady: Vec<Tracked>,
    /// Spacing of the rounds that are judged: 1 is every round, n is the first and every nth after it.
    pub every: u32,
    /// Amount written in all rounds together after which the stage also ends.
    pub until_written: Option<Amount>,
}

/// A quantity by which the steady state of a stage is judged: a tracking variable of SNIA.
#[derive(Debug, Clone, PartialEq)]
pub struct Tracked {
    /// Quantity that is tracked.
    pub quantity: Quantity,
    pub(crate) cases: Condition,
}

impl Rounds {
    /// True where the stage may end before its last round.
    pub fn may_end_early(&self) -> bool {
        !self.until_steady.is_empty() || self.until_written.is_some()
    }
}

impl Tracked {
    /// True where it is measured by a case with these settings.
    pub fn is_about(&self, settings: &SettingValues) -> bool {
        self.cases.holds(settings)
    }

    /// The settings that tell its cases from others, in words.
    pub fn of(&self) -> String {
        let words = |values: &[serde_json::Value]| {
            let texts: Vec<String> = values
                .iter()
                .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned))
                .collect();
            texts.join("/")
        };
        let parts: Vec<String> =
            self.cases.0.iter().map(|(name, values)| format!("{name}={}", words(values))).collect();
        parts.join(" ")
    }
}

/// State of the target at the start of each case of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Continues {
    /// Cases are independent; a twin is made anew for each.
    #[default]
    No,
    /// Each case begins in the state in which the case before it in the stage left the target.
    Cases,
    /// The same, and the first case in that in which the stage before left it.
    StageBefore,
}

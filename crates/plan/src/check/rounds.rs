//! Rounds of a stage, and what the first case of a stage goes on from.

use super::Checker;
use crate::document::{ContinuesDocument, RepeatsDocument, RoundsDocument, TrackedDocument};
use crate::matrix::MatrixAxis;
use crate::part::{Amount, Continues, Rounds, Tracked};
use crate::plan::Stage;
use crate::setting::{REPEATS_LIMIT, SettingKind};
use crate::source::Place;
use crate::{PlanError, PlanErrorKind as Kind};

/// The most quantities by which the steady state of a stage is judged. SNIA's tests have three.
const TRACKED_LIMIT: usize = 64;

impl Checker<'_> {
    pub(super) fn continues(
        &self,
        document: &ContinuesDocument,
        earlier: &[Stage],
    ) -> Result<Continues, PlanError> {
        let Some(text) = &document.0 else { return Ok(Continues::No) };
        match text.value.as_str() {
            "false" => Ok(Continues::No),
            "true" => Ok(Continues::Cases),
            "stage-before" if earlier.is_empty() => {
                let message = "no stage is before this one, so it cannot continue any";
                Err(self.error(Kind::Contradiction, text.place, message))
            }
            "stage-before" => Ok(Continues::StageBefore),
            _ => Err(self.error(
                Kind::WrongType,
                text.place,
                "`continues` is `true`, `false` or `stage-before`",
            )),
        }
    }

    pub(super) fn rounds(
        &self,
        document: &RepeatsDocument,
        axes: &[MatrixAxis],
        continues: Continues,
    ) -> Result<Rounds, PlanError> {
        let (rounds, place) = match document {
            RepeatsDocument::Times(text) => match text.value.trim().parse() {
                Ok(at_most) => {
                    let rounds = Rounds { at_most, until_steady: Vec::new(), every: 1, until_written: None };
                    (rounds, text.place)
                }
                Err(_) => {
                    let message =
                        format!("`repeats` is a number of 2 to {REPEATS_LIMIT}, or a map with `at_most`");
                    return Err(self.error(Kind::WrongType, text.place, message));
                }
            },
            RepeatsDocument::Until(until) => (self.rounds_until(until)?, until.at_most.place),
        };
        if !(2..=REPEATS_LIMIT).contains(&u64::from(rounds.at_most)) {
            let message = format!("`repeats` must be 2 to {REPEATS_LIMIT}");
            return Err(self.error(Kind::OutOfRange, place, message));
        }
        if axes.iter().any(|axis| axis.setting.name == "repeat") {
            let message = "`repeats` is there twice: here, and as the axis `repeat`";
            return Err(self.error(Kind::Contradiction, place, message).with_hint(
                "`repeats` runs the whole matrix again; an axis `repeat` repeats where it stands in the matrix",
            ));
        }
        if rounds.may_end_early() && continues == Continues::No {
            let message = "rounds that end on what they find go on from one another";
            return Err(self
                .error(Kind::Contradiction, place, message)
                .with_hint("give the stage `continues: true`, or `repeats` a plain number"));
        }
        Ok(rounds)
    }

    fn rounds_until(&self, document: &RoundsDocument) -> Result<Rounds, PlanError> {
        let RoundsDocument { at_most, until_steady, every, until_written } = document;
        if until_steady.len() > TRACKED_LIMIT {
            let message = format!("a stage is judged by at most {TRACKED_LIMIT} quantities");
            return Err(self.error(Kind::OverLimit, at_most.place, message));
        }
        let every = match every {
            Some(every) if !(1..=at_most.value).contains(&every.value) => {
                let message = "`every` must be 1 to the number of rounds";
                return Err(self.error(Kind::OutOfRange, every.place, message));
            }
            every => every.as_ref().map_or(1, |every| every.value),
        };
        let until_written = match until_written {
            None => None,
            Some(text) => Some(self.amount("until_written", &text.value, text.place)?),
        };
        let until_steady =
            until_steady.iter().map(|tracked| self.tracked(tracked)).collect::<Result<_, _>>()?;
        Ok(Rounds { at_most: at_most.value, until_steady, every, until_written })
    }

    fn tracked(&self, document: &TrackedDocument) -> Result<Tracked, PlanError> {
        let quantity = &document.quantity;
        if !quantity.value.is_of_samples() {
            let message = format!("`{}` is known only when the run is over", quantity.value.name());
            return Err(self.error(Kind::Contradiction, quantity.place, message));
        }
        Ok(Tracked { quantity: quantity.value, cases: self.condition(&document.cases)? })
    }

    /// Bytes, or a share of the target.
    pub(super) fn amount(&self, key: &str, text: &str, place: Place) -> Result<Amount, PlanError> {
        let wrong = |reason: String| self.error(Kind::OutOfRange, place, format!("`{key}`: {reason}"));
        let value = SettingKind::Amount.parse(text).map_err(|error| wrong(error.reason()))?;
        Amount::of_setting(&value).ok_or_else(|| wrong(SettingKind::Amount.must_be()))
    }
}

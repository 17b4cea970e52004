//! Conditions on which events take place.

use super::Checker;
use crate::document::ConditionDocument;
use crate::part::EventCondition;
use crate::quantity::Quantity;
use crate::yaml::Located;
use crate::{PlanError, PlanErrorKind as Kind};

/// The most samples in a row that a condition may ask for.
const SAMPLES_LIMIT: u32 = 100_000;

impl Checker<'_> {
    pub(super) fn event_condition(
        &self,
        document: &Located<ConditionDocument>,
    ) -> Result<EventCondition, PlanError> {
        let ConditionDocument { steady, written, quantity, above, below, below_peak, samples } =
            &document.value;
        let one_of = |message: &str| {
            Err(self.error(Kind::Contradiction, document.place, message).with_hint(
                "{ steady: iops }, { written: 200% }, or { quantity: iops, below_peak: 70, samples: 3 }",
            ))
        };
        let has_bound = above.is_some() || below.is_some() || below_peak.is_some();
        match (steady, written, quantity) {
            (None, None, Some(quantity)) => {
                let samples = match samples {
                    Some(samples) if !(1..=SAMPLES_LIMIT).contains(&samples.value) => {
                        let message = format!("`samples` must be 1 to {SAMPLES_LIMIT}");
                        return Err(self.error(Kind::OutOfRange, samples.place, message));
                    }
                    samples => samples.as_ref().map_or(1, |samples| samples.value),
                };
                let quantity = self.sampled(quantity)?;
                match (above, below, below_peak) {
                    (Some(bound), None, None) => {
                        Ok(EventCondition::Above { quantity, value: self.figure(quantity, bound)?, samples })
                    }
                    (None, Some(bound), None) => {
                        Ok(EventCondition::Below { quantity, value: self.figure(quantity, bound)?, samples })
                    }
                    (None, None, Some(share)) if (1..=99).contains(&share.value) => {
                        Ok(EventCondition::BelowPeak { quantity, percent: share.value, samples })
                    }
                    (None, None, Some(share)) => {
                        Err(self.error(Kind::OutOfRange, share.place, "`below_peak` must be 1 to 99 percent"))
                    }
                    _ => one_of("a condition on a quantity has one of `above`, `below` and `below_peak`"),
                }
            }
            (Some(_), None, None) | (None, Some(_), None) if has_bound || samples.is_some() => {
                one_of("`above`, `below`, `below_peak` and `samples` belong to `quantity`")
            }
            (Some(quantity), None, None) => Ok(EventCondition::Steady { quantity: self.sampled(quantity)? }),
            (None, Some(amount), None) => {
                Ok(EventCondition::Written { amount: self.amount("written", &amount.value, amount.place)? })
            }
            _ => one_of("a condition has exactly one of `steady`, `written` and `quantity`"),
        }
    }

    /// A quantity that each sample has.
    fn sampled(&self, quantity: &Located<Quantity>) -> Result<Quantity, PlanError> {
        if quantity.value.is_of_samples() {
            return Ok(quantity.value);
        }
        let message = format!("`{}` is known only when the case is over", quantity.value.name());
        Err(self.error(Kind::Contradiction, quantity.place, message))
    }
}

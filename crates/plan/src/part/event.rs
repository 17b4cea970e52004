//! Events of a case: actions on the target, and their time or condition.

use super::Moment;
use crate::quantity::Quantity;
use serde_json::{Map, Value};

/// Event of a stage, for each of its cases.
#[derive(Debug, Clone, PartialEq)]
pub struct EventTemplate {
    /// Trigger: a time or a condition.
    pub trigger: Trigger,
    /// The action's name.
    pub action: String,
    /// Arguments of the action.
    pub arguments: Map<String, Value>,
}

/// Trigger of an event.
#[derive(Debug, Clone, PartialEq)]
pub enum Trigger {
    /// Time within the case.
    At(Moment),
    /// Condition, which triggers the event when it first holds at the end of a sample.
    When {
        /// The condition.
        condition: EventCondition,
        /// The moment at which it takes place even if the condition has not held.
        latest: Option<Moment>,
    },
}

/// A condition on the samples of a case, ramp excluded.
#[derive(Debug, Clone, PartialEq)]
pub enum EventCondition {
    /// The quantity is steady by SNIA's rule (range within 20 %, slope within 10 % of the mean) over the last five
    /// samples.
    Steady {
        /// The quantity.
        quantity: Quantity,
    },
    /// The bytes written since counting began reach an amount.
    Written {
        /// Amount written.
        amount: Amount,
    },
    /// The quantity is above a bound in some samples in a row.
    Above {
        /// The quantity.
        quantity: Quantity,
        /// The bound, in the quantity's unit.
        value: f64,
        /// Number of consecutive samples.
        samples: u32,
    },
    /// The quantity is below a bound in some samples in a row.
    Below {
        /// The quantity.
        quantity: Quantity,
        /// The bound, in the quantity's unit.
        value: f64,
        /// Number of consecutive samples.
        samples: u32,
    },
    /// The quantity is below a share of its largest sample so far in some samples in a row: it has fallen.
    BelowPeak {
        /// The quantity.
        quantity: Quantity,
        /// The share.
        percent: u8,
        /// Number of consecutive samples.
        samples: u32,
    },
}

/// Bytes, or a share of a range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Amount {
    /// Number of bytes.
    Bytes {
        /// Number of bytes.
        bytes: u64,
    },
    /// A share of the range that is used.
    Share {
        /// The share; over 100 is more than once.
        percent: u64,
    },
}

impl Amount {
    /// The amount that a setting of kind `Amount` holds.
    pub(crate) fn of_setting(value: &Value) -> Option<Amount> {
        match value {
            Value::String(share) => {
                share.strip_suffix('%')?.parse().ok().map(|percent| Amount::Share { percent })
            }
            other => other.as_u64().map(|bytes| Amount::Bytes { bytes }),
        }
    }

    /// The bytes, in a range of this size.
    pub fn resolve(self, range_bytes: u64) -> u64 {
        match self {
            Amount::Bytes { bytes } => bytes,
            Amount::Share { percent } => {
                u64::try_from(u128::from(range_bytes) * u128::from(percent) / 100).unwrap_or(u64::MAX)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a share follows the range and that bytes do not.
    #[test]
    fn a_share_follows_the_range() {
        assert_eq!(Amount::of_setting(&"200%".into()).map(|amount| amount.resolve(1000)), Some(2000));
        assert_eq!(Amount::of_setting(&4096.into()).map(|amount| amount.resolve(1000)), Some(4096));
        assert_eq!(Amount::Share { percent: 200 }.resolve(u64::MAX), u64::MAX);
        assert_eq!(Amount::of_setting(&"many".into()), None);
    }
}

//! Pauses after cases.

use crate::matrix::Condition;
use crate::quantity::Quantity;
use crate::source::Place;

/// A time without load after each case of a stage.
#[derive(Debug, Clone)]
pub enum Pause {
    /// Fixed pause.
    Fixed {
        /// The time.
        time_ns: u64,
    },
    /// Pause as long as writing the case's bytes takes at a rate that another stage found.
    BytesOver {
        /// Reference to the case that finds the rate.
        rate: RateReference,
        /// The pause where the rate is not known.
        otherwise_ns: u64,
    },
}

/// A rate that another stage finds, before it is known which case's it is.
#[derive(Debug, Clone)]
pub struct RateReference {
    /// The stage.
    pub stage: String,
    /// Quantity of that case which is the rate.
    pub quantity: Quantity,
    pub(crate) match_settings: Vec<&'static str>,
    pub(crate) cases: Condition,
    pub(crate) place: Place,
}

//! What the model of a twin lacks, where its parameters come from, and how well it was validated.

use super::Source;
use findings::{Cited, Findings};

/// Nothing of a measurement; of a simulated run what a reader must know of the model before trusting a figure.
pub fn of(_source: &Source<'_>, _found: Option<&Findings>) -> Vec<Cited> {
    Vec::new()
}

//! e2700

use super::Claim;

pub(super) const CLAIMS: &[Claim] = &[];

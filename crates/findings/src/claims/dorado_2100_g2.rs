//! dorado_2100_g2

use super::Claim;

pub(super) const CLAIMS: &[Claim] = &[];

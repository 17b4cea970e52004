//! flashsystem_840

use super::Claim;

pub(super) const CLAIMS: &[Claim] = &[];

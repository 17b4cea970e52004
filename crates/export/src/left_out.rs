//! Cases and loads that a format does not have.

/// Reason why a case or a load is left out of a file, as the list of what was not exported says it.
#[derive(Debug, Clone)]
pub(crate) struct LeftOut(pub String);

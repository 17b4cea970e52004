//! Hosts: what all kinds of them must satisfy.

use crate::description::{PART_LIMIT, STEP_LIMIT_US, whole, within};
use crate::{DescriptionError, Parameter};

/// Refuses a number of hosts, and a time in which they submit, that no array has.
pub(crate) fn check_hosts(
    count: &Parameter<u32>,
    submission_us: &Parameter<f64>,
) -> Result<(), DescriptionError> {
    whole("hosts.count", count, 1, u64::from(PART_LIMIT))?;
    within("hosts.submission_us", submission_us, 0.0, STEP_LIMIT_US)
}

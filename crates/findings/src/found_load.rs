//! Peak load under a latency bound, from the search of a case.

use crate::finding::Finding;
use crate::observation::ObservedCase;

pub(crate) fn of(case: &ObservedCase) -> Option<Finding> {
    Some(Finding::of_case(case, case.found_load.clone()?.into(), None))
}

//! Cases that a run leaves out, each with its reason.

use crate::case::{Case, mark_preconditioning};

/// A case that was left out, and why.
#[derive(Debug, Clone, PartialEq)]
pub struct LeftOut {
    /// The case.
    pub case: Case,
    /// Reason in words.
    pub reason: String,
}

/// Divides cases into those that are kept, numbered anew, and those that are left out, both in the plan's order.
/// `reason_of` gives the reason why the case at a place is left out; `None` keeps it.
pub fn leave_out(
    cases: Vec<Case>,
    mut reason_of: impl FnMut(usize, &Case) -> Option<String>,
) -> (Vec<Case>, Vec<LeftOut>) {
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for (place, case) in cases.into_iter().enumerate() {
        match reason_of(place, &case) {
            None => kept.push(Case { index: kept.len(), ..case }),
            Some(reason) => left_out.push(LeftOut { case, reason }),
        }
    }
    mark_preconditioning(&mut kept);
    (kept, left_out)
}

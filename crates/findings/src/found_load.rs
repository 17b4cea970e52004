//! The largest load under a bound, as the search of a case found it.

use crate::Kind;
use crate::finding::{Basis, Fact, Finding};
use crate::observation::ObservedCase;

pub(crate) fn of(case: &ObservedCase) -> Option<Finding> {
    let fact = Fact::FoundLoad(case.found_load.clone()?);
    Some(Finding {
        id: format!("{}/{}", Kind::FoundLoad.name(), case.path()),
        stage: case.stage.clone(),
        case: Some(case.name.clone()),
        fact,
        rests_on: vec![Basis {
            stage: case.stage.clone(),
            case: case.name.clone(),
            from_s: None,
            to_s: None,
        }],
    })
}

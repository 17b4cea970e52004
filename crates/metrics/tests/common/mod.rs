//! Fixtures of the tests of the server and its page.

use store::{CaseRecord, CaseState};

/// A case that has begun.
pub fn record(index: u32, name: &str) -> CaseRecord {
    CaseRecord {
        index,
        plan: "quick".into(),
        stage: "random".into(),
        name: name.into(),
        settings: Default::default(),
        estimated_duration_ns: 1,
        estimated_write_bytes: 0,
        state: CaseState::Begun,
        attempts: 1,
        error: None,
    }
}

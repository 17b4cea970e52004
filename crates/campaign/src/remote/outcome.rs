//! Outcome of a case on several hosts: as it begins, and why its array settings are not made.

use crate::remote::RunHost;
use plan::{Case, SettingScope, SettingValues};
use store::{CaseOutcome, CaseStatus};

/// Outcome of a case that begins, before anything is known of it.
pub(super) fn begun<'a>(engine: &str, case: &Case, hosts: impl Iterator<Item = &'a RunHost>) -> CaseOutcome {
    let targets = hosts.map(|host| format!("{}:{}", host.spec.name, host.targets.join(" ")));
    CaseOutcome {
        status: CaseStatus::Done,
        engine: engine.into(),
        target: targets.collect::<Vec<_>>().join(" "),
        duration_ns: case.load.runtime_ns,
        error: None,
        ..crate::worker::failed(String::new())
    }
}

/// Returns the reason why array settings of a case cannot be made: no driver sets an array for hosts. Settings that were
/// declared, and the host that a load comes from, need none.
pub(super) fn not_settable(case: &Case, declared: &SettingValues, hosts: &[String]) -> Option<String> {
    let wanted = case.settings_of(SettingScope::Array);
    let unknown: Vec<String> = wanted
        .iter()
        .filter(|(name, value)| {
            let is_host =
                *name == "host" && value.as_str().is_some_and(|value| hosts.iter().any(|host| host == value));
            declared.get(*name) != Some(value) && !is_host
        })
        .map(|(name, value)| format!("{name}={value}"))
        .collect();
    (!unknown.is_empty()).then(|| {
        format!("nobody sets {} on this target: say with --set what the array has", unknown.join(", "))
    })
}

//! Campaign errors.

use twin::TwinError;

/// Campaign errors, by the state that each leaves behind.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The plan or the array cannot be used.
    #[error(transparent)]
    Plan(#[from] plan::PlanError),
    /// The target cannot be used, or may not be written.
    #[error(transparent)]
    Target(#[from] target::TargetError),
    /// The guard refused, or the target could not be opened.
    #[error(transparent)]
    Permit(#[from] target::PermitError),
    /// The array driver cannot be used.
    #[error(transparent)]
    Driver(#[from] driver::DriverError),
    /// The load generator cannot be used.
    #[error(transparent)]
    Engine(#[from] fio::FioError),
    /// The twin cannot be built as asked.
    #[error("the twin cannot be built for stage `{stage}`, case `{case}`: {source}{}", suggestion(source))]
    Twin {
        /// The stage.
        stage: String,
        /// The case.
        case: String,
        /// Error of the twin.
        source: Box<TwinError>,
    },
    /// A host that issues load cannot be used.
    #[error(transparent)]
    Host(#[from] hosts::HostError),
    /// A case's load does not fit its target.
    #[error("stage `{stage}`, case `{case}`: {source}")]
    Load {
        /// The stage.
        stage: String,
        /// The case.
        case: String,
        /// Error in the load's parameters.
        source: load::SpecError,
    },
    /// The request contradicts itself or the run.
    #[error("{0}")]
    Refused(String),
    /// The run directory failed after the start.
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

/// Hint with the event or setting of a twin that is nearest to a misspelt one; empty where none is near.
fn suggestion(error: &TwinError) -> String {
    let (word, known) = match error {
        TwinError::UnknownEvent { event, known } => (event, known),
        TwinError::UnknownSetting { name, known } => (name, known),
        _ => return String::new(),
    };
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let names = known.split(|letter| !is_name(letter)).filter(|name| !["", "and"].contains(name));
    plan::nearest(word, names).map_or_else(String::new, |name| format!("\nhint: did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a misspelt event and a misspelt setting of a twin are answered with the nearest one, and that an event unlike
    /// all others is not.
    #[test]
    fn misspelt_events_and_settings_get_a_suggestion() {
        let message = |source: TwinError| {
            let source = Box::new(source);
            CampaignError::Twin { stage: "loss".into(), case: "raid=5".into(), source }.to_string()
        };
        let event = |event: &str| {
            let known = "drive-failure, drive-slow and firmware-update".into();
            message(TwinError::UnknownEvent { event: event.into(), known })
        };
        assert!(event("drive-failre").ends_with("\nhint: did you mean `drive-failure`?"));
        assert!(event("firmware_update").ends_with("\nhint: did you mean `firmware-update`?"));
        assert!(!event("end").contains("hint:") && !event("earthquake").contains("hint:"));
        let known = "write_cache, links".into();
        let setting = message(TwinError::UnknownSetting { name: "write_cahce".into(), known });
        assert!(setting.ends_with("\nhint: did you mean `write_cache`?"), "{setting}");
    }
}

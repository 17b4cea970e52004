//! Campaign errors.

use diagnostic::{Diagnostic, Problem};
use plan::Case;
use std::borrow::Cow;
use twin::TwinError;

/// Campaign errors, by the state that each leaves behind.
#[derive(Debug, thiserror::Error)]
pub enum CampaignError {
    /// The plan or the array cannot be used.
    #[error(transparent)]
    Plan(#[from] plan::PlanError),
    /// The target cannot be used, or may not be written.
    #[error(transparent)]
    Target(#[from] storage_target::TargetError),
    /// The guard refused, or the target could not be opened.
    #[error(transparent)]
    Permit(#[from] storage_target::PermitError),
    /// The array driver cannot be used.
    #[error(transparent)]
    Driver(#[from] driver::DriverError),
    /// The load generator cannot be used.
    #[error(transparent)]
    Engine(#[from] fio::FioError),
    /// The engine of files and block devices cannot be used, or what it wrote cannot be read.
    #[error(transparent)]
    Ring(#[from] load_engine::RingError),
    /// The twin cannot be built as asked.
    #[error("the twin cannot be built for stage `{stage}`, case `{case}`")]
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
    #[error("stage `{stage}`, case `{case}`")]
    Load {
        /// The stage.
        stage: String,
        /// The case.
        case: String,
        /// Error in the load's parameters.
        source: load::SpecError,
    },
    /// The request contradicts itself or the run.
    #[error(transparent)]
    Refused(#[from] Problem),
    /// The run directory failed after the start.
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

impl CampaignError {
    /// Refusal of a case, by its stage.
    pub(crate) fn of_stage(case: &Case, why: Problem) -> CampaignError {
        why.within(format!("stage `{}`", case.stage)).into()
    }

    /// Refusal of a case's load, which does not fit its target.
    pub(crate) fn of_load(case: &Case, source: load::SpecError) -> CampaignError {
        CampaignError::Load { stage: case.stage.clone(), case: case.name.clone(), source }
    }
}

/// Refuses a request.
pub(crate) fn refused<T>(why: impl Into<Problem>) -> Result<T, CampaignError> {
    Err(why.into().into())
}

impl Diagnostic for CampaignError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            CampaignError::Plan(error) => error.hint(),
            CampaignError::Target(error) => error.hint(),
            CampaignError::Permit(error) => error.hint(),
            CampaignError::Driver(error) => error.hint(),
            CampaignError::Engine(error) => error.hint(),
            CampaignError::Ring(error) => error.hint(),
            CampaignError::Host(error) => error.hint(),
            CampaignError::Twin { source, .. } => suggestion(source).map(Cow::Owned),
            CampaignError::Refused(problem) => problem.hint(),
            CampaignError::Load { .. } | CampaignError::Store(_) => None,
        }
    }
}

/// Event or setting of a twin that is nearest to a misspelt one, or how to run a plan without an event that an array does not have.
fn suggestion(error: &TwinError) -> Option<String> {
    let (word, known) = match error {
        // Settings have no dots.
        TwinError::UnknownSetting { name, .. } if name.contains('.') => {
            return Some(format!(
                "keys of array files are changed in a copy, which `arraylab show array ARRAY` prints, and that is run as `twin:COPY.yaml`; `arraylab \
                 what-if ARRAY --change {name}=…` asks what it gives"
            ));
        }
        TwinError::UnknownEvent { event, known } => (event, known),
        TwinError::UnknownSetting { name, known } => (name, known),
        TwinError::NoSuchEvent { .. } | TwinError::NoSuchPart { .. } => {
            return Some("`--stage` names the stages to run: those without this event".into());
        }
        _ => return None,
    };
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "-_".contains(letter);
    let names = known.split(|letter| !is_name(letter)).filter(|name| !["", "and"].contains(name));
    plan::nearest(word, names).map(|name| format!("did you mean `{name}`?"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a misspelt event and a misspelt setting of a twin are answered with the nearest one, that an event unlike
    /// all others is not, and that one which an array does not have is answered with how to run the other stages,
    /// and a key of array files with where it is changed.
    #[test]
    fn misspelt_events_and_settings_get_a_suggestion() {
        let message = |source: TwinError| {
            let source = Box::new(source);
            diagnostic::full_text(&CampaignError::Twin {
                stage: "loss".into(),
                case: "raid=5".into(),
                source,
            })
        };
        let event = |event: &str| {
            let known = "drive-failure, drive-slow and firmware-update".into();
            message(TwinError::UnknownEvent { event: event.into(), known })
        };
        assert!(event("drive-failre").ends_with("\nhint: did you mean `drive-failure`?"));
        assert!(event("firmware_update").ends_with("\nhint: did you mean `firmware-update`?"));
        assert!(!event("end").contains("hint:") && !event("earthquake").contains("hint:"));
        let impossible = message(TwinError::NoSuchEvent {
            event: "controller-failover",
            remedy: "it needs two controllers",
        });
        assert!(
            impossible.ends_with("\nhint: `--stage` names the stages to run: those without this event"),
            "{impossible}"
        );
        let known = "write_cache, links".into();
        let setting = message(TwinError::UnknownSetting { name: "write_cahce".into(), known });
        assert!(setting.ends_with("\nhint: did you mean `write_cache`?"), "{setting}");
        let key = message(TwinError::UnknownSetting { name: "drives.count".into(), known: "links".into() });
        assert!(key.ends_with("what-if ARRAY --change drives.count=…` asks what it gives"), "{key}");
    }
}

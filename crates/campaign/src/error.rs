//! Campaign errors.

/// What went wrong, classed by what it leaves behind.
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
    /// What sets the array cannot be used.
    #[error(transparent)]
    Driver(#[from] driver::DriverError),
    /// The load generator cannot be used.
    #[error(transparent)]
    Engine(#[from] fio::FioError),
    /// The twin cannot be built as asked.
    #[error("the twin cannot be built for stage `{stage}`, case `{case}`: {source}")]
    Twin {
        /// The stage.
        stage: String,
        /// The case.
        case: String,
        /// What the twin says.
        source: Box<twin::TwinError>,
    },
    /// A case's load does not fit its target.
    #[error("stage `{stage}`, case `{case}`: {source}")]
    Load {
        /// The stage.
        stage: String,
        /// The case.
        case: String,
        /// What is wrong with it.
        source: load::SpecError,
    },
    /// The request contradicts itself or the run.
    #[error("{0}")]
    Refused(String),
    /// The run directory failed after the start.
    #[error(transparent)]
    Store(#[from] store::StoreError),
}

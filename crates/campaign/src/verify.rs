//! Reading back what the last verified case of a run wrote, also where the run was killed in the middle of it.

use crate::CampaignError;
use crate::error::refused;
use crate::targets::target_of;
use diagnostic::Problem;
use load::Written;
use load_engine::OpenTarget;
use plan::{Case, Selection};
use serde::Serialize;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use storage_target::{Guard, Roots, TargetSpec};
use store::{CaseState, RunReader};

/// Verification result of one load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VerifiedLoad {
    /// The stage of the case that wrote it.
    pub stage: String,
    /// The case.
    pub case: String,
    /// Target that was read.
    pub target: String,
    /// Blocks whose last write was acknowledged, and which were checked.
    pub checked_blocks: u64,
    /// Blocks that are not as written.
    pub wrong_blocks: u64,
    /// The first of them, each with what was expected there.
    pub wrong: Vec<String>,
}

/// Reads every block back that the last verified case of a run wrote and had acknowledged. Opens targets for reading only.
pub fn verify_run(directory: &Path, stop: &AtomicBool) -> Result<Vec<VerifiedLoad>, CampaignError> {
    let reader = store::Run::open_read_only(directory)?;
    let manifest = reader.manifest().clone();
    let plan = findings::kept_plan(&manifest, &reader.cases()?)?;
    let selection = Selection {
        stages: manifest.selection.stages.clone(),
        only: manifest.selection.only.clone(),
        set: manifest.selection.set.clone(),
    };
    let cases = plan::expand(&plan, &selection)?;
    let texts: Vec<&str> = manifest.targets.iter().map(|target| target.spec.as_str()).collect();
    let (case, kept) = last_verified(&reader, &cases)?;
    let mut found = Vec::new();
    for (load_index, written) in kept {
        let numbers: Vec<usize> = match case.loads.is_empty() {
            true => (0..texts.len()).collect(),
            false => vec![target_of(case, load_index, &texts)?],
        };
        let mut permits = Vec::new();
        let mut targets = Vec::new();
        for &number in &numbers {
            let TargetSpec::Storage(spec) = TargetSpec::parse(texts[number])? else {
                return refused(format!("{} is no target that holds bytes", texts[number]));
            };
            let inspected = storage_target::inspect(&Roots::system(), &spec)?;
            let permit = Guard::default().permit_read(&inspected).map_err(CampaignError::Permit)?;
            let opened = OpenTarget::reading(&permit, true).or_else(|_| OpenTarget::reading(&permit, false));
            targets.push(opened?);
            // Held until it has been read.
            permits.push(permit);
        }
        let chunk_bytes =
            load_engine::stripe_chunk_bytes(&targets, case.stripe.and_then(|stripe| stripe.unit_bytes));
        let report = load_engine::verify(&targets, chunk_bytes, &written, stop)?;
        found.push(VerifiedLoad {
            stage: case.stage.clone(),
            case: case.name.clone(),
            target: numbers.iter().map(|&number| texts[number]).collect::<Vec<_>>().join(" "),
            checked_blocks: report.checked,
            wrong_blocks: report.wrong,
            wrong: report.named.iter().map(ToString::to_string).collect(),
        });
    }
    Ok(found)
}

/// Written ranges of each load of a case, by the load's number.
type WrittenByLoad = Vec<(usize, Vec<Written>)>;

/// The last case that kept what it wrote, with that by the number of its load. A case after it that wrote would have
/// changed the target.
fn last_verified<'a>(
    reader: &RunReader,
    cases: &'a [Case],
) -> Result<(&'a Case, WrittenByLoad), CampaignError> {
    for record in reader.cases()?.iter().rev().filter(|record| record.state != CaseState::Pending) {
        let is_it = |case: &&Case| case.stage == record.stage && case.name == record.name;
        let Some(case) = cases.iter().find(is_it) else {
            return refused(format!(
                "the plan has no case `{}` of the stage `{}`",
                record.name, record.stage
            ));
        };
        let directory = reader.case_directory(record.index)?;
        let mut kept = Vec::new();
        if case.loads.is_empty() && case.load.shape.verify {
            kept.push((0, directory));
        } else {
            for (index, load) in case.loads.iter().enumerate().filter(|(_, load)| load.load.shape.verify) {
                kept.push((
                    index,
                    if case.loads.len() == 1 { directory.clone() } else { directory.join(&load.name) },
                ));
            }
        }
        if !kept.is_empty() {
            let read = kept.into_iter().map(|(index, directory)| {
                let written = load_engine::read_journals(&directory)?;
                Ok((index, written))
            });
            return Ok((case, read.collect::<Result<_, CampaignError>>()?));
        }
        let writes = case.load.writes() || case.loads.iter().any(|load| load.load.writes());
        if writes {
            let problem = Problem::new(format!(
                "`{}` of the stage `{}` wrote to the target last, and it is not verified",
                case.name, case.stage
            ));
            return refused(problem.with_hint("`verify: crc32c` in the plan verifies what it writes"));
        }
    }
    refused(
        Problem::new("no case of this run has written anything that can be verified")
            .with_hint("`verify: crc32c` in the plan verifies what it writes"),
    )
}

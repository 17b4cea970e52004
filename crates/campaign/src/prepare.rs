//! From what was asked for to a campaign that may begin. Everything is checked before anything is written.

use crate::CampaignError;
use crate::executor::Executor;
use crate::generated::FioWorker;
use crate::simulated::Simulator;
use load::{Generator, Random};
use plan::{Case, LoadedPlan};
use serde_json::json;
use std::path::{Path, PathBuf};
use store::{Manifest, ManifestTarget, NewCase, Run, SourceText};
use target::{Guard, Inspected, PermitError, Roots, StorageSpec, TargetSpec, TwinSpec};

/// A case that is too short for so many of the plan's intervals gets shorter ones: with a single sample it would have
/// no course over time.
const SAMPLES_AT_LEAST: u64 = 10;
/// But not shorter than this: the host's own counters are read no faster.
const INTERVAL_MINIMUM_NS: u64 = 10_000_000;

/// What was asked for.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// A shipped plan's name, or a file.
    pub plan: String,
    /// The target, as typed.
    pub target: String,
    /// Which cases, and what is changed in them.
    pub selection: plan::Selection,
    /// The run directory.
    pub directory: PathBuf,
    /// Seed of addresses, mixes and twins.
    pub seed: u64,
    /// Consent IDs (`--overwrite-data`).
    pub consents: Vec<String>,
    /// Cases simulated at once; all processors without it.
    pub threads: Option<usize>,
    /// The command line, for the manifest.
    pub command_line: Vec<String>,
}

/// A campaign that may begin, or go on.
#[derive(Debug)]
pub struct Campaign {
    pub(crate) cases: Vec<Case>,
    pub(crate) run: Run,
    pub(crate) executor: Executor,
}

impl Campaign {
    /// The run directory.
    pub fn directory(&self) -> &Path {
        self.run.directory()
    }

    /// How many cases the run has.
    pub fn cases_total(&self) -> usize {
        self.cases.len()
    }
}

/// Checks a request and creates its run directory, and the file of a `file:` target.
pub fn prepare(request: &Request) -> Result<Campaign, CampaignError> {
    let loaded = plan::load_plan(&request.plan)?;
    let cases = expand(&loaded.plan, &request.selection, request.seed)?;
    check_free(&request.directory)?;
    let spec = TargetSpec::parse(&request.target)?;
    let mut manifest = Manifest {
        arraylab_version: env!("CARGO_PKG_VERSION").into(),
        seed: request.seed,
        plan: source_text(&loaded),
        selection: store::Selection {
            stages: request.selection.stages.clone(),
            only: request.selection.only.clone(),
            set: request.selection.set.clone(),
        },
        interval_ns: interval_ns(&loaded.plan, &cases),
        command_line: request.command_line.clone(),
        ..Manifest::default()
    };
    let executor = match &spec {
        TargetSpec::Twin(twin) => {
            let array = plan::load_array(&twin.name)?;
            manifest.engine = "sim".into();
            manifest.overrides = twin.settings.clone();
            manifest.array = Some(SourceText {
                name: array.name.clone(),
                source: array.source.clone(),
                text: array.text.clone(),
            });
            manifest.targets =
                vec![ManifestTarget { spec: spec.to_string(), identity: json!({ "kind": "twin" }) }];
            simulator(array.description, twin, &spec, &cases, request)?
        }
        TargetSpec::Storage(storage) => {
            let engine = fio::Engine::find()?;
            let inspected = inspect(storage, &loaded, &cases, &request.consents)?;
            manifest.engine = "fio".into();
            let devices: Vec<String> = inspected.kernel_name().map(str::to_owned).into_iter().collect();
            manifest.host = probe::host_facts(&probe::ProbeRoots::system(), &devices);
            let worker = fio_worker(engine, &inspected, &spec, &loaded, &cases, &request.consents)?;
            manifest.targets = vec![ManifestTarget {
                spec: spec.to_string(),
                identity: json!({ "device": worker.describe_target(), "consents": request.consents }),
            }];
            Executor::Real(Box::new(worker))
        }
    };
    let new_cases: Vec<NewCase> = cases.iter().map(new_case).collect();
    let run = Run::create(&request.directory, &manifest, &new_cases)?;
    Ok(Campaign { cases, run, executor })
}

/// Opens an interrupted or failed run to go on with what it lacks. Consents given before hold while the target is
/// still the same thing; `consents` adds to them.
pub fn resume(
    directory: &Path,
    consents: &[String],
    threads: Option<usize>,
) -> Result<Campaign, CampaignError> {
    let run = Run::open(directory)?;
    let manifest = run.manifest().clone();
    if manifest.arraylab_version != env!("CARGO_PKG_VERSION") {
        return Err(CampaignError::Refused(format!(
            "the run was begun by arraylab {}, this is {}: its cases would not be comparable; finish it with the version that began it",
            manifest.arraylab_version,
            env!("CARGO_PKG_VERSION")
        )));
    }
    let plan = plan::parse_plan(&manifest.plan.name, &manifest.plan.source, &manifest.plan.text)?;
    let selection = plan::Selection {
        stages: manifest.selection.stages.clone(),
        only: manifest.selection.only.clone(),
        set: manifest.selection.set.clone(),
    };
    let cases = expand(&plan, &selection, manifest.seed)?;
    let recorded = run.cases()?;
    let same = recorded.len() == cases.len()
        && recorded
            .iter()
            .zip(&cases)
            .all(|(old, new)| old.stage == new.stage && old.name == new.name && old.settings == new.settings);
    if !same {
        return Err(CampaignError::Refused(format!(
            "{} does not hold the cases that its plan expands to; it cannot be resumed",
            directory.display()
        )));
    }
    let Some(manifest_target) = manifest.targets.first() else {
        return Err(CampaignError::Refused(format!("{} names no target", directory.display())));
    };
    let spec = TargetSpec::parse(&manifest_target.spec)?;
    let loaded = LoadedPlan {
        name: manifest.plan.name.clone(),
        source: manifest.plan.source.clone(),
        text: manifest.plan.text.clone(),
        plan,
    };
    let executor = match (&spec, &manifest.array) {
        (TargetSpec::Twin(twin), Some(array)) => {
            let description = plan::parse_array(&array.source, &array.text)?;
            let request = Request { seed: manifest.seed, threads, ..Request::default() };
            simulator(description, twin, &spec, &cases, &request)?
        }
        (TargetSpec::Twin(_), None) => {
            return Err(CampaignError::Refused(format!("{} does not hold its array", directory.display())));
        }
        (TargetSpec::Storage(storage), _) => {
            let engine = fio::Engine::find()?;
            let given = manifest_target.identity["consents"].as_array().into_iter().flatten();
            let consents: Vec<String> = given
                .filter_map(|id| id.as_str().map(str::to_owned))
                .chain(consents.iter().cloned())
                .collect();
            let inspected = inspect(storage, &loaded, &cases, &consents)?;
            Executor::Real(Box::new(fio_worker(engine, &inspected, &spec, &loaded, &cases, &consents)?))
        }
    };
    Ok(Campaign { cases, run, executor })
}

/// The cases of a plan with the seed of each mixed from the run's and its own, so that a case gives the same result
/// alone, among others, after a resume, and on any number of threads.
fn expand(plan: &plan::Plan, selection: &plan::Selection, seed: u64) -> Result<Vec<Case>, CampaignError> {
    let mut cases = plan::expand(plan, selection)?;
    if cases.is_empty() {
        return Err(CampaignError::Refused(
            "no case is left: `--stage` and `--only` exclude each other; `arraylab expand` shows what there is".into(),
        ));
    }
    if let Some(case) = cases.iter().find(|case| case.preconditioning.is_some()) {
        return Err(CampaignError::Refused(format!(
            "stage `{}` asks for preconditioning, which this version cannot carry out; leave it out with --stage",
            case.stage
        )));
    }
    for case in &mut cases {
        case.load.seed = Random::from_seed_and_stream(seed, case.load.seed).next_u64();
        let shortest_ns = (case.load.runtime_ns / SAMPLES_AT_LEAST).max(INTERVAL_MINIMUM_NS);
        case.load.interval_ns = case.load.interval_ns.min(shortest_ns);
    }
    Ok(cases)
}

/// The interval of all cases; the plan's where a shortened case has one of its own.
fn interval_ns(plan: &plan::Plan, cases: &[Case]) -> u64 {
    let first_ns = cases.first().map_or(plan.interval_ns, |case| case.load.interval_ns);
    if cases.iter().all(|case| case.load.interval_ns == first_ns) { first_ns } else { plan.interval_ns }
}

fn simulator(
    description: twin::ArrayDescription,
    twin: &TwinSpec,
    spec: &TargetSpec,
    cases: &[Case],
    request: &Request,
) -> Result<Executor, CampaignError> {
    let simulator = Simulator::new(description, twin, spec.to_string(), request.threads);
    for case in cases {
        let built = simulator.build(case)?;
        check_load(case, load::Device::capacity_bytes(&built))?;
    }
    Ok(Executor::Twin(simulator))
}

/// Looks at a real target, and asks the guard whether it may be written where any case writes.
fn inspect(
    storage: &StorageSpec,
    loaded: &LoadedPlan,
    cases: &[Case],
    consents: &[String],
) -> Result<Inspected, CampaignError> {
    let inspected = target::inspect(&Roots::system(), storage)?;
    for case in cases {
        check_load(case, inspected.capacity_bytes)?;
    }
    if writes(loaded, cases) {
        let refused = |refusal| CampaignError::Permit(PermitError::Refused(refusal));
        Guard::default().check_write(&inspected, consents).map_err(refused)?;
    }
    Ok(inspected)
}

fn fio_worker(
    engine: fio::Engine,
    inspected: &Inspected,
    spec: &TargetSpec,
    loaded: &LoadedPlan,
    cases: &[Case],
    consents: &[String],
) -> Result<FioWorker, CampaignError> {
    let guard = Guard::default();
    let interval_ns = interval_ns(&loaded.plan, cases);
    Ok(if writes(loaded, cases) {
        FioWorker::writing(engine, guard.permit_write(inspected, consents)?, spec.to_string(), interval_ns)
    } else {
        FioWorker::reading(engine, guard.permit_read(inspected)?, spec.to_string(), interval_ns)
    })
}

fn writes(loaded: &LoadedPlan, cases: &[Case]) -> bool {
    !loaded.plan.read_only && cases.iter().any(|case| case.load.rwmixread < 100)
}

fn check_load(case: &Case, capacity_bytes: u64) -> Result<(), CampaignError> {
    match Generator::new(&case.load, capacity_bytes) {
        Ok(_) => Ok(()),
        Err(source) => {
            Err(CampaignError::Load { stage: case.stage.clone(), case: case.name.clone(), source })
        }
    }
}

/// A directory that holds something is refused before a file target is created.
fn check_free(directory: &Path) -> Result<(), CampaignError> {
    if directory.join("manifest.json").exists() {
        return Err(CampaignError::Refused(format!(
            "{0} holds a run already; choose another directory with --out, or go on with `arraylab run --resume {0}`",
            directory.display()
        )));
    }
    if directory.exists() && !directory.is_dir() {
        return Err(CampaignError::Refused(format!("{} exists and is no directory", directory.display())));
    }
    Ok(())
}

fn source_text(loaded: &LoadedPlan) -> SourceText {
    SourceText { name: loaded.name.clone(), source: loaded.source.clone(), text: loaded.text.clone() }
}

fn new_case(case: &Case) -> NewCase {
    NewCase {
        plan: case.plan.clone(),
        stage: case.stage.clone(),
        name: case.name.clone(),
        settings: case.settings.clone(),
        estimated_duration_ns: case.estimated_duration_ns,
        estimated_write_bytes: case.estimated_write_bytes,
    }
}

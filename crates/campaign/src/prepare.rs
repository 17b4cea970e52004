//! From what was asked for to a campaign that may begin. Everything is checked before anything is written.

use crate::error::refused;
use crate::executor::Executor;
use crate::load_choice::Load;
use crate::real::{
    AgentParts, ArraySetter, EngineChoice, Held, HeldTargets, RealEngine, RealWorker, RealWorkerParts,
    WatchSettings, may_come_from_driver, not_of_fio, note_recovered, recovered, watched_devices,
};
use crate::remote::RunHost;
use crate::simulated::{CaseChecks, Simulator};
use crate::targets::target_of;
use crate::{CampaignError, inventory, pictures, remote, shards};
use diagnostic::{Problem, full_text};
use driver::host::{HostError, Recovered};
use driver::{DriverSpec, HostProtection, Opening};
use load::{LoadSpec, Random, Schedule};
use plan::{Case, InventoryMoment, LeftOut, LoadedPlan, Plan, SettingScope, SettingValues};
use probe::ProbeRoots;
use serde_json::json;
use std::collections::BTreeMap;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Duration;
use storage_target::{StorageSpec, TargetSpec, TwinSpec};
use store::{
    LeftOutCase, Manifest, ManifestHost, ManifestTarget, NewCase, Run, Shard, ShardNumber, SourceText,
};
use twin::TwinError;

/// A case that is too short for so many of the plan's intervals gets shorter ones: with a single sample it would have
/// no course over time.
const SAMPLES_AT_LEAST: u64 = 10;
/// But not shorter than this: the host's own counters are read no faster.
const INTERVAL_MINIMUM_NS: u64 = 10_000_000;
/// The setting that has a twin simulate a load from end to end, which every array knows.
const EXACT: &str = "exact";
/// The most targets of a run.
const TARGETS_LIMIT: usize = 1024;

/// Request for a campaign.
#[derive(Debug, Clone, Default)]
pub struct Request {
    /// A shipped plan's name, or a file.
    pub plan: String,
    /// A file whose limits take the place of the plan's (`--promises`).
    pub promises: Option<PathBuf>,
    /// The targets, as typed.
    pub targets: Vec<String>,
    /// Selection of cases, and changes of their settings.
    pub selection: plan::Selection,
    /// The run directory.
    pub directory: PathBuf,
    /// Seed of addresses, mixes and twins.
    pub seed: u64,
    /// Consent IDs (`--overwrite-data`).
    pub consents: Vec<String>,
    /// Engine that issues the load on real targets (`--engine`); without it, our own engine wherever it supports them.
    pub engine: Option<EngineChoice>,
    /// Driver of a real array (`--array`).
    pub array_driver: Option<String>,
    /// The time that the run may take by its plan (`--time-budget`).
    pub time_budget_ns: Option<u64>,
    /// Cases simulated at once; all processors without it.
    pub threads: Option<usize>,
    /// Twins simulate loads from end to end (`--exact`).
    pub exact: bool,
    /// Speed of twins' time in millionths of the wall clock's (`--speed`); without it, as fast as it can be simulated.
    pub speed_millionths: Option<u64>,
    /// The part of the cases that is carried out (`--shard`); all without it.
    pub shard: Option<ShardNumber>,
    /// Hosts that issue the load, as typed (`--host`).
    pub hosts: Vec<String>,
    /// This program is copied to hosts that lack it (`--push-binary`).
    pub push_binary: bool,
    /// The command line, for the manifest.
    pub command_line: Vec<String>,
}

/// A campaign that may begin, or go on.
#[derive(Debug)]
pub struct Campaign {
    pub(crate) cases: Vec<Case>,
    pub(crate) plan: Plan,
    pub(crate) run: Run,
    pub(crate) executor: Executor,
    /// Block devices under test, for commands of the inventory.
    pub(crate) devices: Vec<String>,
    pub(crate) notices: Vec<String>,
    /// Bytes of all targets together.
    pub(crate) capacity_bytes: u64,
}

impl Campaign {
    /// The run directory.
    pub fn directory(&self) -> &Path {
        self.run.directory()
    }

    /// Returns the manifest of the run.
    pub fn manifest(&self) -> &Manifest {
        self.run.manifest()
    }

    /// Returns the number of cases that this run directory carries out.
    pub fn cases_total(&self) -> usize {
        self.manifest().shard.as_ref().map_or(self.cases.len(), |shard| shard.cases.len())
    }
}

/// Parameters that a new run and a resumed run have in common.
pub(crate) struct RunRequest<'a> {
    pub loaded: &'a LoadedPlan,
    pub selection: &'a plan::Selection,
    pub seed: u64,
    pub targets: Vec<(String, TargetSpec)>,
    pub consents: Vec<String>,
    pub engine: Option<EngineChoice>,
    pub array_driver: Option<String>,
    pub time_budget_ns: Option<u64>,
    pub threads: Option<usize>,
    pub speed_millionths: Option<u64>,
    /// Other hosts that issue the load; their targets are theirs.
    pub hosts: Vec<RunHost>,
    pub push_binary: bool,
    /// Parameters of an agent, where this process carries cases out for a coordinator.
    pub agent: Option<AgentParts>,
}

/// A campaign without its run directory.
pub(crate) struct Checked {
    pub cases: Vec<Case>,
    pub left_out: Vec<LeftOutCase>,
    pub executor: Executor,
    pub array: Option<SourceText>,
    pub targets: Vec<ManifestTarget>,
    pub hosts: Vec<ManifestHost>,
    pub devices: Vec<String>,
    pub notices: Vec<String>,
    pub capacity_bytes: u64,
    /// Settings of killed runs that were put back on this host; `None` where no host is touched.
    pub recovered: Option<Result<Recovered, HostError>>,
}

/// Checks a request and creates its run directory, and the file of a `file:` target.
pub fn prepare(request: &Request) -> Result<Campaign, CampaignError> {
    let mut loaded = plan::load_plan(&request.plan)?;
    if let Some(promises) = &request.promises {
        loaded = loaded.with_promises(promises)?;
    }
    let (hosts, common) = remote::of_request(&loaded.plan, &request.hosts, &request.targets)?;
    let is_twin = common.iter().any(|target| target.starts_with("twin:"));
    if is_twin && !request.hosts.is_empty() {
        return Err(Problem::new("--host is for real targets: a twin is simulated here").into());
    }
    // A plan with hosts is rehearsed on a twin without them.
    let hosts = if is_twin { Vec::new() } else { hosts };
    let mut targets = if hosts.is_empty() { parse_targets(&common)? } else { Vec::new() };
    if request.exact {
        targets = exact(targets)?;
    }
    let requested = RunRequest {
        loaded: &loaded,
        selection: &request.selection,
        seed: request.seed,
        targets,
        consents: request.consents.clone(),
        engine: request.engine,
        array_driver: request.array_driver.clone(),
        time_budget_ns: request.time_budget_ns,
        threads: request.threads,
        speed_millionths: request.speed_millionths,
        hosts,
        push_binary: request.push_binary,
        agent: None,
    };
    let cases = expand(&requested)?;
    let directory = request.directory.display();
    check_free(
        &request.directory,
        &format!("choose another directory with --out, or go on with `arraylab run --resume {directory}`"),
    )?;
    let mut checked = check(&requested, cases, None)?;
    let mut manifest = Manifest {
        arraylab_version: env!("CARGO_PKG_VERSION").into(),
        seed: request.seed,
        plan: source_text(&loaded),
        selection: store::Selection {
            stages: request.selection.stages.clone(),
            only: request.selection.only.clone(),
            set: request.selection.set.clone(),
        },
        interval_ns: interval_ns(&loaded.plan, &checked.cases),
        command_line: request.command_line.clone(),
        array: checked.array.clone(),
        targets: checked.targets.clone(),
        hosts: checked.hosts.clone(),
        engine: checked.executor.engine_name().into(),
        array_driver: request.array_driver.clone(),
        time_budget_ns: request.time_budget_ns,
        left_out: checked.left_out.clone(),
        ..Manifest::default()
    };
    if let Some((_, TargetSpec::Twin(twin))) = requested.targets.first() {
        manifest.overrides = twin.settings.clone();
    }
    if let Some(of) = request.shard {
        manifest.shard = Some(shard(of, &loaded.plan, &checked)?);
    }
    if let Executor::Remote(worker) = &checked.executor {
        let answers = worker.take_inventory(InventoryMoment::Start);
        for (host, answers) in
            manifest.hosts.iter_mut().zip(answers).filter(|(_, answers)| !answers.is_empty())
        {
            host.facts["inventory"] = answers.into();
        }
    }
    if checked.executor.is_real_time() {
        let kernel_names: Vec<String> =
            checked.devices.iter().filter_map(|path| path.rsplit('/').next().map(str::to_owned)).collect();
        manifest.host = probe::host_facts(&ProbeRoots::system(), &kernel_names);
        let commands = if checked.hosts.is_empty() { &loaded.plan.inventory[..] } else { &[] };
        let answers = inventory::take(commands, InventoryMoment::Start, &checked.devices);
        if !answers.is_empty() {
            manifest.host["inventory"] = answers.into();
        }
    }
    let new_cases: Vec<NewCase> = checked.cases.iter().map(new_case).collect();
    let run = Run::create(&request.directory, &manifest, &new_cases)?;
    checked.notices.extend(pictures::keep(&run, &loaded));
    begin(checked, loaded.plan, run)
}

/// The cases of one shard.
fn shard(of: ShardNumber, plan: &Plan, checked: &Checked) -> Result<Shard, CampaignError> {
    let groups = shards::groups(&checked.cases, plan, checked.executor.is_real_time());
    let cases = shards::cases_of(of, &groups);
    if cases.is_empty() {
        let groups = units::human_count(groups.len() as u64, "group");
        let problem = Problem::new(format!(
            "shard {of} has no case: the cases are {groups}, cases that rest on each other together"
        ));
        return Err(problem.with_hint("choose at most as many shards").into());
    }
    Ok(Shard { of, cases })
}

/// Opens an interrupted or failed run to carry out its missing cases. Consents given before hold while the target
/// is still the same thing; `consents` adds to them. `threads` and `speed_millionths` are those of [`Request`].
pub fn resume(
    directory: &Path,
    consents: &[String],
    threads: Option<usize>,
    speed_millionths: Option<u64>,
) -> Result<Campaign, CampaignError> {
    let run = Run::open(directory)?;
    let manifest = run.manifest().clone();
    if manifest.arraylab_version != env!("CARGO_PKG_VERSION") {
        let problem = Problem::new(format!(
            "the run was begun by arraylab {}, this is {}: its cases would not be comparable",
            manifest.arraylab_version,
            env!("CARGO_PKG_VERSION")
        ));
        return Err(problem.with_hint("finish it with the version that began it").into());
    }
    let plan = plan::parse_plan(&manifest.plan.name, &manifest.plan.source, &manifest.plan.text)?;
    let selection = plan::Selection {
        stages: manifest.selection.stages.clone(),
        only: manifest.selection.only.clone(),
        set: manifest.selection.set.clone(),
    };
    let loaded = LoadedPlan {
        name: manifest.plan.name.clone(),
        source: manifest.plan.source.clone(),
        text: manifest.plan.text.clone(),
        plan,
    };
    let hosts = remote::of_manifest(&manifest.hosts)?;
    let own = if hosts.is_empty() { &manifest.targets[..] } else { &[] };
    let specs: Vec<String> = own.iter().map(|target| target.spec.clone()).collect();
    if specs.is_empty() && hosts.is_empty() {
        return Err(Problem::new(format!("{} names no target", directory.display())).into());
    }
    // Those of hosts stand beside these, with the same consents.
    let given = manifest.targets.iter().flat_map(|target| target.identity["consents"].as_array());
    let given = given.flatten().filter_map(|id| id.as_str().map(str::to_owned));
    let mut consents: Vec<String> = given.chain(consents.iter().cloned()).collect();
    consents.sort();
    consents.dedup();
    let requested = RunRequest {
        loaded: &loaded,
        selection: &selection,
        seed: manifest.seed,
        targets: if hosts.is_empty() { parse_targets(&specs)? } else { Vec::new() },
        consents,
        engine: EngineChoice::of_name(&manifest.engine),
        array_driver: manifest.array_driver.clone(),
        time_budget_ns: manifest.time_budget_ns,
        threads,
        speed_millionths,
        hosts,
        push_binary: false,
        agent: None,
    };
    let cases = expand(&requested)?;
    if matches!(requested.targets.first(), Some((_, TargetSpec::Twin(_)))) && manifest.array.is_none() {
        return Err(Problem::new(format!("{} does not hold its array", directory.display())).into());
    }
    let checked = check(&requested, cases, manifest.array)?;
    let recorded = run.cases()?;
    let same = recorded.len() == checked.cases.len()
        && recorded
            .iter()
            .zip(&checked.cases)
            .all(|(old, new)| old.stage == new.stage && old.name == new.name && is_same(&old.settings, new));
    if !same {
        return Err(Problem::new(format!(
            "{} does not hold the cases that its plan expands to; it cannot be resumed",
            directory.display()
        ))
        .into());
    }
    begin(checked, loaded.plan, run)
}

/// Returns true if recorded settings are those of the case, except for a load that results have chosen.
fn is_same(recorded: &SettingValues, case: &Case) -> bool {
    let chosen = Load::of(recorded).filter(|_| case.load_of.is_some());
    match chosen {
        Some(load) => *recorded == load.put_into(case).settings,
        None => *recorded == case.settings,
    }
}

fn begin(checked: Checked, plan: Plan, mut run: Run) -> Result<Campaign, CampaignError> {
    let Checked { cases, executor, devices, mut notices, left_out, capacity_bytes, recovered, .. } = checked;
    for left_out in &left_out {
        notices.push(format!("left out: {} {} ({})", left_out.stage, left_out.case, left_out.reason));
    }
    match recovered {
        Some(Ok(recovered)) => notices.extend(note_recovered(&mut run, recovered)?),
        Some(Err(error)) => {
            let text = format!(
                "what killed runs may have left on this host was not put back: {}",
                full_text(&error)
            );
            run.append_warning(None, &text)?;
            notices.push(format!("warning: {text}"));
        }
        None => {}
    }
    Ok(Campaign { cases, plan, run, executor, devices, notices, capacity_bytes })
}

pub(crate) fn parse_targets(texts: &[String]) -> Result<Vec<(String, TargetSpec)>, CampaignError> {
    let mut targets = Vec::with_capacity(texts.len());
    for text in texts {
        let spec = TargetSpec::parse(text)?;
        targets.push((spec.to_string(), spec));
    }
    if targets.is_empty() {
        return refused("a --target is needed");
    }
    if targets.len() > TARGETS_LIMIT {
        return refused(format!("{} targets are more than {TARGETS_LIMIT}", targets.len()));
    }
    if targets.len() > 1 && targets.iter().any(|(_, spec)| matches!(spec, TargetSpec::Twin(_))) {
        let problem = Problem::new("a twin stands for all targets of a plan");
        return refused(problem.with_hint("give it as the only --target"));
    }
    for (index, (text, _)) in targets.iter().enumerate() {
        if targets[..index].iter().any(|(other, _)| other == text) {
            return refused(format!("the target `{text}` is given twice"));
        }
    }
    Ok(targets)
}

/// The same targets, simulated from end to end. The setting becomes a part of the target, so that a resume keeps it.
fn exact(targets: Vec<(String, TargetSpec)>) -> Result<Vec<(String, TargetSpec)>, CampaignError> {
    check_twins("--exact", &targets)?;
    let one = |(text, spec)| match spec {
        TargetSpec::Twin(mut twin) => {
            twin.settings.retain(|(name, _)| name != EXACT);
            twin.settings.push((EXACT.to_owned(), "on".to_owned()));
            let spec = TargetSpec::Twin(twin);
            (spec.to_string(), spec)
        }
        TargetSpec::Storage(_) => (text, spec),
    };
    Ok(targets.into_iter().map(one).collect())
}

/// Refuses an option that only twins have.
fn check_twins(option: &str, targets: &[(String, TargetSpec)]) -> Result<(), CampaignError> {
    match targets.iter().find(|(_, spec)| !matches!(spec, TargetSpec::Twin(_))) {
        None => Ok(()),
        Some((text, _)) => Err(Problem::new(format!("{option} is for twins, and `{text}` is none")).into()),
    }
}

/// The cases of a plan with the seed of each mixed from the run's and its own, so that a case gives the same result
/// alone, among others, after a resume, and on any number of threads.
pub(crate) fn expand(requested: &RunRequest<'_>) -> Result<Vec<Case>, CampaignError> {
    let mut cases = plan::expand(&requested.loaded.plan, requested.selection)?;
    if cases.is_empty() {
        let problem = Problem::new("no case is left: `--stage` and `--only` exclude each other");
        return Err(problem.with_hint("`arraylab expand` shows what there is").into());
    }
    for case in &mut cases {
        mix_seed(case, requested.seed);
        let named = case.loads.iter_mut().map(|load| &mut load.load);
        for load in named.chain([&mut case.load]) {
            let shortest_ns = (load.runtime_ns / SAMPLES_AT_LEAST).max(INTERVAL_MINIMUM_NS);
            load.interval_ns = load.interval_ns.min(shortest_ns);
        }
    }
    Ok(cases)
}

/// Mixes the seed of a run into those of a case's loads.
pub fn mix_seed(case: &mut Case, seed: u64) {
    let named = case.loads.iter_mut().map(|load| &mut load.load);
    for load in named.chain([&mut case.load]) {
        load.seed = Random::from_seed_and_stream(seed, load.seed).next_u64();
    }
}

/// Chooses the cases that fit into the time, where there is a limit. Writes before cases take as long as a
/// target of this size needs at the rate that estimates assume.
pub(crate) fn fit(
    requested: &RunRequest<'_>,
    cases: Vec<Case>,
    capacity_bytes: u64,
) -> Result<(Vec<Case>, Vec<LeftOutCase>), CampaignError> {
    let Some(budget_ns) = requested.time_budget_ns else { return Ok((cases, Vec::new())) };
    let writes_ns = |case: &Case| {
        let times = case.conditioned_by.as_ref().map_or(0, |written| written.times);
        (capacity_bytes as f64 * f64::from(times) / plan::ASSUMED_BYTES_PER_S * 1e9) as u64
    };
    let fitting = plan::fit_budget(cases, budget_ns, &writes_ns);
    if fitting.kept.is_empty() {
        return Err(Problem::new(format!(
            "no case fits into --time-budget {}; the first needs more ({})",
            units::human_duration(budget_ns),
            fitting.left_out.first().map_or("", |left_out| &left_out.reason)
        ))
        .into());
    }
    Ok((fitting.kept, in_manifest(fitting.left_out)))
}

/// Cases that are left out, as the manifest keeps them.
fn in_manifest(left_out: Vec<LeftOut>) -> Vec<LeftOutCase> {
    let kept = |LeftOut { case, reason }: LeftOut| LeftOutCase {
        stage: case.stage,
        case: case.name,
        reason,
        is_without_part: false,
    };
    left_out.into_iter().map(kept).collect()
}

/// The interval of all cases; the plan's where a shortened case has one of its own.
fn interval_ns(plan: &Plan, cases: &[Case]) -> u64 {
    let first_ns = cases.first().map_or(plan.interval_ns, |case| case.load.interval_ns);
    if cases.iter().all(|case| case.load.interval_ns == first_ns) { first_ns } else { plan.interval_ns }
}

/// Checks cases against their targets. `array` is the array of a run that goes on.
fn check(
    requested: &RunRequest<'_>,
    cases: Vec<Case>,
    array: Option<SourceText>,
) -> Result<Checked, CampaignError> {
    if requested.speed_millionths.is_some() {
        check_twins("--speed", &requested.targets)?;
    }
    if !requested.hosts.is_empty() {
        return remote::check_hosts(requested, cases);
    }
    match &requested.targets[0] {
        (text, TargetSpec::Twin(twin)) => check_twin(requested, cases, text, twin, array),
        _ => check_real(requested, cases),
    }
}

fn check_twin(
    requested: &RunRequest<'_>,
    cases: Vec<Case>,
    text: &str,
    twin: &TwinSpec,
    array: Option<SourceText>,
) -> Result<Checked, CampaignError> {
    if requested.array_driver.is_some() {
        return Err(Problem::new(
            "--array is for real arrays: a twin is built with the settings of each case",
        )
        .into());
    }
    // A twin is in any state at once: nothing is written beforehand.
    let (cases, mut left_out) = fit(requested, cases, 0)?;
    let (description, array) = match array {
        Some(array) => (plan::parse_array(&array.source, &array.text)?, array),
        None => {
            let array = plan::load_array(&twin.name)?;
            let text = plan::with_resolved_values(&array.text, &array.description.parts);
            let kept = SourceText { name: array.name, source: array.source, text };
            (array.description, kept)
        }
    };
    let simulator =
        Simulator::new(description, twin, text.to_owned(), requested.threads, requested.speed_millionths);
    let is_optional = |case: &Case| {
        let stage = requested.loaded.plan.stage(&case.stage);
        stage.is_some_and(|stage| stage.optional)
    };
    let mut capacity_bytes = 0;
    // Reasons why optional stages are left out: events that the twin does not have, or of parts that it does not have.
    let mut reasons: BTreeMap<String, TwinError> = BTreeMap::new();
    let mut checks = CaseChecks::new(&simulator);
    for (index, case) in cases.iter().enumerate() {
        if reasons.contains_key(&case.stage) {
            continue;
        }
        let previous = index.checked_sub(1).map(|previous| &cases[previous]);
        capacity_bytes = match checks.check(case, previous) {
            Err(CampaignError::Twin { source, .. })
                if is_optional(case)
                    && matches!(*source, TwinError::NoSuchEvent { .. } | TwinError::NoSuchPart { .. }) =>
            {
                reasons.insert(case.stage.clone(), *source);
                continue;
            }
            checked => checked?,
        };
        if case.loads.is_empty() {
            check_load(case, &case.load, capacity_bytes)?;
        }
    }
    let (cases, without_events) =
        plan::leave_out(cases, |_, case| reasons.get(&case.stage).map(TwinError::to_string));
    left_out.extend(in_manifest(without_events).into_iter().map(|case| {
        let is_without_part = matches!(reasons.get(&case.stage), Some(TwinError::NoSuchPart { .. }));
        LeftOutCase { is_without_part, ..case }
    }));
    if cases.is_empty() {
        let reason = left_out.last().map_or("", |left_out| &left_out.reason);
        return refused(Problem::new(format!("no case is left: {reason}")));
    }
    let mut notices = Vec::new();
    if cases.iter().any(|case| !case.host_settings().is_empty()) {
        notices.push("the plan's settings of the host do nothing here: a twin has no host".to_owned());
    }
    Ok(Checked {
        cases,
        left_out,
        executor: Executor::Twin(simulator),
        array: Some(array),
        targets: vec![ManifestTarget { spec: text.to_owned(), identity: json!({ "kind": "twin" }) }],
        hosts: Vec::new(),
        devices: Vec::new(),
        notices,
        capacity_bytes,
        recovered: None,
    })
}

pub(crate) fn check_real(requested: &RunRequest<'_>, cases: Vec<Case>) -> Result<Checked, CampaignError> {
    let mut notices = Vec::new();
    let is_nbd = |(_, spec): &(String, TargetSpec)| matches!(spec, TargetSpec::Storage(StorageSpec::Nbd(_)));
    let engine = RealEngine::choose(requested.engine, requested.targets.iter().any(is_nbd), &mut notices)?;
    check_null_targets(requested, &engine)?;
    if requested.agent.is_none()
        && let Some(first) = requested.loaded.plan.hosts.first()
    {
        let hosts: Vec<&str> = requested.loaded.plan.hosts.iter().map(|host| host.name.as_str()).collect();
        notices.push(format!(
            "the plan's load comes from {}; without --host {}=ssh://… all of it comes from this machine",
            hosts.join(" and "),
            first.name
        ));
    }
    // Before targets are looked at: one of them may still be mounted by a run that was killed.
    let recovered = recovered();
    let texts: Vec<&str> = requested.targets.iter().map(|(text, _)| text.as_str()).collect();
    let driver_spec = requested.array_driver.as_deref().map(DriverSpec::parse).transpose()?;
    // Only a program makes devices.
    let may_make_devices = requested.array_driver.as_deref().is_some_and(|text| text.starts_with("exec:"));
    let specs: Vec<StorageSpec> = requested
        .targets
        .iter()
        .filter_map(|(_, spec)| match spec {
            TargetSpec::Storage(storage) => Some(storage.clone()),
            TargetSpec::Twin(_) => None,
        })
        .collect();
    let written = written_targets(requested, &cases, &texts)?;
    let mut held = Vec::new();
    let mut capacities = Vec::new();
    let mut kernel_names = Vec::new();
    for (number, spec) in specs.into_iter().enumerate() {
        let target = Held::new(texts[number].to_owned(), spec, written[number], requested.consents.clone());
        match target.check() {
            Ok(inspected) => {
                capacities.push(Some(inspected.capacity_bytes));
                kernel_names.extend(inspected.kernel_name().map(str::to_owned));
            }
            Err(error) if may_make_devices && may_come_from_driver(&error) => capacities.push(None),
            Err(error) => return Err(CampaignError::Permit(error)),
        }
        held.push(target);
    }
    let (cases, left_out) = fit(requested, cases, capacities.iter().flatten().sum())?;
    check_cases(&cases, &texts, &capacities, engine.choice())?;
    let watch = &requested.loaded.plan.watch;
    let sysfs = ProbeRoots::system().sysfs;
    let watched_devices = watched_devices(&sysfs, kernel_names, driver_spec.is_some(), &watch.devices)?;
    let array = match &driver_spec {
        None => None,
        Some(spec) => {
            let (driver, wait) = spec.open(Opening {
                consents: &requested.consents,
                protection: Box::new(HostProtection::default()),
                answers: Box::new(BufReader::new(std::io::stdin())),
                questions: Box::new(std::io::stderr()),
            })?;
            Some(ArraySetter::new(driver, wait))
        }
    };
    let mut targets = HeldTargets(held);
    // What a driver may make anew is opened when it is there.
    if capacities.iter().all(Option::is_some) {
        targets.hold()?;
    }
    let manifest_targets = texts
        .iter()
        .enumerate()
        .map(|(number, text)| ManifestTarget {
            spec: (*text).to_owned(),
            identity: json!({ "device": targets.describe(number), "consents": requested.consents }),
        })
        .collect();
    let devices = targets.device_paths();
    let interval_ns = interval_ns(&requested.loaded.plan, &cases);
    let watched = WatchSettings {
        interval: Duration::from_nanos(interval_ns),
        devices: watched_devices,
        plan: watch.clone(),
    };
    let worker = RealWorker::new(RealWorkerParts {
        engine,
        targets,
        array,
        declared: declared(requested.selection),
        interval_ns,
        watched,
        agent: requested.agent.clone(),
    });
    Ok(Checked {
        cases,
        left_out,
        executor: Executor::Real(Box::new(worker)),
        array: None,
        targets: manifest_targets,
        hosts: Vec::new(),
        devices,
        notices,
        capacity_bytes: capacities.iter().flatten().sum(),
        recovered: Some(recovered),
    })
}

/// A null target is one of our own engine.
fn check_null_targets(requested: &RunRequest<'_>, engine: &RealEngine) -> Result<(), CampaignError> {
    let is_null =
        |(_, spec): &&(String, TargetSpec)| matches!(spec, TargetSpec::Storage(StorageSpec::Null { .. }));
    let Some((text, _)) = requested.targets.iter().find(is_null) else { return Ok(()) };
    if matches!(engine, RealEngine::Fio(_)) {
        return Err(Problem::new(format!(
            "{text} is a target of our own engine, and this run's engine is fio, which has `ioengine=null` for it"
        ))
        .into());
    }
    Ok(())
}

/// The array settings that the user says the array has: those given with `--set`.
pub(crate) fn declared(selection: &plan::Selection) -> SettingValues {
    let mut declared = SettingValues::new();
    for (name, text) in &selection.set {
        let setting = plan::setting(name).filter(|setting| setting.scope == SettingScope::Array);
        if let Some(Ok(value)) = setting.map(|setting| setting.parse(text)) {
            declared.insert(name.clone(), value);
        }
    }
    declared
}

/// For each target whether any case writes to it.
fn written_targets(
    requested: &RunRequest<'_>,
    cases: &[Case],
    texts: &[&str],
) -> Result<Vec<bool>, CampaignError> {
    let mut written = vec![false; texts.len()];
    if requested.loaded.plan.read_only {
        return Ok(written);
    }
    for case in cases {
        if case.conditioned_by.is_some() {
            written.fill(true);
        }
        if case.loads.is_empty() {
            let writes = case.load.writes() || case.filesystem.is_some();
            // One load goes to one target, or over all of them.
            written.iter_mut().for_each(|target| *target |= writes);
        }
        for (index, load) in case.loads.iter().enumerate() {
            written[target_of(case, index, texts)?] |= load.load.writes();
        }
    }
    Ok(written)
}

/// Refuses cases that these targets cannot carry out.
fn check_cases(
    cases: &[Case],
    texts: &[&str],
    capacities: &[Option<u64>],
    engine: EngineChoice,
) -> Result<(), CampaignError> {
    for case in cases {
        let refused = |why: Problem| Err(CampaignError::of_stage(case, why));
        let several = texts.len() > 1 && case.loads.is_empty();
        match case.stripe {
            Some(stripe) if several && stripe.columns as usize != texts.len() => {
                return refused(Problem::new(format!(
                    "its stripe has {} columns, and there are {} targets",
                    stripe.columns,
                    texts.len()
                )));
            }
            Some(_) if several && engine == EngineChoice::Fio => {
                return refused(Problem::new("fio cannot stripe one load over several targets exactly").with_hint(
                    "use --engine ring, or make the stripe with mdadm, LVM or a volume manager, and give it as the only --target",
                ));
            }
            None if several => {
                return refused(
                    Problem::new("it has one load, and there are several targets")
                        .with_hint("give one --target, or a `stripe:` or `loads:` in the plan"),
                );
            }
            _ => {}
        }
        if case.filesystem.is_some() && !case.loads.is_empty() {
            return refused(Problem::new("a file system takes one load, and this stage has several"));
        }
        let shaped = case.loads.iter().map(|load| &load.load).chain([&case.load]);
        if engine == EngineChoice::Fio
            && let Some(error) = shaped.filter_map(|load| fio::check_shape(load).err()).next()
        {
            return refused(Problem::of(&error));
        }
        let settings = case.loads.iter().map(|load| &load.settings).chain([&case.settings]);
        if engine == EngineChoice::Fio
            && let Some(why) = settings.filter_map(not_of_fio).next()
        {
            return refused(Problem::new(why));
        }
        // A stripe uses of each target what the smallest has.
        let striped = if several {
            let smallest = capacities.iter().copied().min().flatten();
            smallest.map(|bytes| bytes.saturating_mul(texts.len() as u64))
        } else {
            capacities[0]
        };
        if let (true, Some(capacity_bytes)) = (case.loads.is_empty(), striped) {
            check_load(case, &case.load, capacity_bytes)?;
        }
        for (index, load) in case.loads.iter().enumerate() {
            if let Some(capacity_bytes) = capacities[target_of(case, index, texts)?] {
                check_load(case, &load.load, capacity_bytes)?;
            }
        }
    }
    Ok(())
}

fn check_load(case: &Case, load: &LoadSpec, capacity_bytes: u64) -> Result<(), CampaignError> {
    Schedule::new(load, capacity_bytes).map(drop).map_err(|source| CampaignError::of_load(case, source))
}

/// Refuses a directory for a new run that holds a run already, before anything is created.
pub fn check_free(directory: &Path, way_out: &str) -> Result<(), CampaignError> {
    if directory.join("manifest.json").exists() {
        let problem = Problem::new(format!("{} holds a run already", directory.display()));
        return Err(problem.with_hint(way_out.to_owned()).into());
    }
    if directory.exists() && !directory.is_dir() {
        return Err(Problem::new(format!("{} exists and is no directory", directory.display())).into());
    }
    Ok(())
}

fn source_text(loaded: &LoadedPlan) -> SourceText {
    SourceText { name: loaded.name.clone(), source: loaded.source.clone(), text: loaded.text.clone() }
}

/// A case of a plan as the run directory keeps it.
pub fn new_case(case: &Case) -> NewCase {
    NewCase {
        plan: case.plan.clone(),
        stage: case.stage.clone(),
        name: case.name.clone(),
        settings: case.settings.clone(),
        estimated_duration_ns: case.estimated_duration_ns,
        estimated_write_bytes: case.estimated_write_bytes,
    }
}

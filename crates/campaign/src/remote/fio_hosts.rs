//! Opening hosts with servers of fio: versions are compared, and targets are named twice.
//!
//! Nobody can look at what lies behind a path on such a host. A path that is written therefore needs the consent
//! `HOST:PATH`, which names it a second time; an NBD address is looked at from here, as in any run.

use crate::CampaignError;
use crate::prepare::RunRequest;
use crate::real::Held;
use crate::remote::RunHost;
use crate::remote::connect::SAY_HOW_SHARED;
use crate::remote::fio_worker::{FioHost, FioTarget};
use diagnostic::{Problem, full_text};
use hosts::HostAddress;
use plan::Case;
use std::path::PathBuf;
use std::sync::Arc;
use storage_target::{StorageSpec, TargetSpec};

/// Opens the hosts for these cases. Refused with the reasons of all hosts.
pub(crate) fn open_fio_hosts(
    requested: &RunRequest<'_>,
    cases: &[Case],
) -> Result<(Vec<FioHost>, Arc<fio::Engine>), CampaignError> {
    for case in cases {
        check_case(case)?;
    }
    check_shared(requested)?;
    let engine = Arc::new(fio::Engine::find()?);
    let writes = !requested.loaded.plan.read_only
        && cases.iter().any(|case| match case.loads.as_slice() {
            [] => case.load.writes(),
            loads => loads.iter().any(|load| load.load.writes()),
        });
    let results: Vec<Result<FioHost, Problem>> = std::thread::scope(|scope| {
        let engine = &engine;
        let threads: Vec<_> = requested
            .hosts
            .iter()
            .map(|host| scope.spawn(move || open_one(host, engine, writes, &requested.consents)))
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|result| result.unwrap_or_else(|_| Err("a thread panicked".into()))).collect()
    });
    let problems: Vec<String> =
        results.iter().filter_map(|result| result.as_ref().err().map(|problem| full_text(problem))).collect();
    if !problems.is_empty() {
        return Err(Problem::new(problems.join("\n")).into());
    }
    Ok((results.into_iter().flatten().collect(), engine))
}

/// Refuses what a server of fio cannot do for a case.
fn check_case(case: &Case) -> Result<(), CampaignError> {
    let refused = |why: Problem| Err(CampaignError::of_stage(case, why.with_hint("use ssh:// hosts")));
    if case.conditioned_by.is_some() {
        return refused("writes before a case are not made on servers of fio".into());
    }
    if case.filesystem.is_some() {
        return refused("file systems are not made on servers of fio".into());
    }
    if case.stripe.is_some() {
        return refused("fio cannot stripe one load over several targets exactly".into());
    }
    let loads = case.loads.iter().map(|load| &load.load).chain([&case.load]);
    if let Some(error) = loads.filter_map(|load| fio::check_shape(load).err()).next() {
        return refused(Problem::of(&error));
    }
    let settings = case.loads.iter().map(|load| &load.settings).chain([&case.settings]);
    match settings.filter_map(crate::real::not_of_fio).next() {
        Some(why) => refused(why.into()),
        None => Ok(()),
    }
}

/// Refuses hosts with one NBD address where nobody says how they use it.
fn check_shared(requested: &RunRequest<'_>) -> Result<(), CampaignError> {
    if requested.loaded.plan.share.is_some() {
        return Ok(());
    }
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for host in &requested.hosts {
        for target in host.targets.iter().filter(|target| target.starts_with("nbd")) {
            if let Some((other, _)) = seen.iter().find(|(_, known)| known == target) {
                let problem = Problem::new(format!(
                    "`{target}` is the target of the hosts `{other}` and `{}`",
                    host.spec.name
                ));
                return Err(problem.with_hint(SAY_HOW_SHARED).into());
            }
            seen.push((&host.spec.name, target));
        }
    }
    Ok(())
}

fn open_one(
    host: &RunHost,
    engine: &fio::Engine,
    writes: bool,
    consents: &[String],
) -> Result<FioHost, Problem> {
    let name = &host.spec.name;
    let HostAddress::Fio(address) = &host.spec.address else {
        return Err(Problem::new(format!(
            "host `{name}`: {} is no server of fio; with --engine fio all hosts are fio://HOST:PORT",
            host.spec.address
        )));
    };
    let server = fio::Server { machine: address.machine.clone(), port: address.port };
    let directory =
        ProbeDirectory::create().map_err(|error| Problem::of(&error).within(format!("host `{name}`")))?;
    let version = server
        .version_text(engine, &directory.0)
        .map_err(|error| Problem::of(&error).within(format!("host `{name}`")))?;
    if version != engine.version_text {
        return Err(Problem::new(format!(
            "host `{name}`: its fio is {version}, and this one is {}; client and server must be the same",
            engine.version_text
        )));
    }
    let mut targets = Vec::new();
    for text in &host.targets {
        targets.push(open_target(name, text, writes, consents)?);
    }
    Ok(FioHost { host: host.clone(), server, targets })
}

fn open_target(host: &str, text: &str, writes: bool, consents: &[String]) -> Result<FioTarget, Problem> {
    let named = |problem: Problem| problem.within(format!("host `{host}`"));
    if !text.starts_with("nbd") {
        let path = PathBuf::from(text);
        if !path.is_absolute() {
            let problem = format!("`{text}` is no whole path, and a server of fio starts anywhere");
            return Err(named(problem.into()));
        }
        let consent = format!("{host}:{text}");
        if writes && !consents.contains(&consent) {
            let problem = format!(
                "nobody can look at what `{text}` holds there, and the plan writes to it; to overwrite it: --overwrite-data {consent}"
            );
            return Err(named(problem.into()));
        }
        return Ok(FioTarget::Path(path));
    }
    let spec = match TargetSpec::parse(text).map_err(|error| named(Problem::of(&error)))? {
        TargetSpec::Storage(spec @ StorageSpec::Nbd(_)) => spec,
        _ => return Err(named(format!("`{text}` is no NBD address").into())),
    };
    let held = Held::new(text.to_owned(), spec, writes, consents.to_vec());
    held.check().map_err(|error| named(Problem::of(&error)))?;
    Ok(FioTarget::Nbd(Box::new(held)))
}

/// A directory for the probe's job file, which goes with it.
struct ProbeDirectory(PathBuf);

impl ProbeDirectory {
    fn create() -> std::io::Result<ProbeDirectory> {
        use std::os::unix::fs::DirBuilderExt as _;
        let name = format!("arraylab-probe-{}-{}", std::process::id(), store::RunClock::monotonic().now_ns());
        let path = std::env::temp_dir().join(name);
        std::fs::DirBuilder::new().mode(0o700).create(&path)?;
        Ok(ProbeDirectory(path))
    }
}

impl Drop for ProbeDirectory {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

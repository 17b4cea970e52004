//! Check of a run on other hosts: they are opened, and refuse what they cannot do.

use crate::executor::Executor;
use crate::prepare::{Checked, RunRequest, declared, fit};
use crate::remote::assignment::check_jobs;
use crate::remote::connect::{ConnectRequest, check_share, connect};
use crate::remote::fio_hosts::open_fio_hosts;
use crate::remote::fio_worker::FioRemoteWorker;
use crate::remote::hosts::manifest_hosts;
use crate::remote::worker::RemoteWorker;
use crate::{CampaignError, EngineChoice};
use diagnostic::Problem;
use plan::Case;
use serde_json::json;
use store::{ManifestHost, ManifestTarget};

/// Checks cases against targets of other hosts, on these hosts.
pub(crate) fn check_hosts(requested: &RunRequest<'_>, cases: Vec<Case>) -> Result<Checked, CampaignError> {
    if requested.array_driver.is_some() {
        return Err(Problem::new("--array does not go with hosts yet")
            .with_hint("set the array by hand, and say with --set what it has")
            .into());
    }
    let plan = &requested.loaded.plan;
    check_share(&cases, plan.share, requested.hosts.len())?;
    check_jobs(&cases, plan.jobs, &requested.hosts)?;
    if requested.engine == Some(EngineChoice::Fio) {
        return check_fio_hosts(requested, cases);
    }
    let (open, events) = connect(&ConnectRequest {
        hosts: &requested.hosts,
        loaded: requested.loaded,
        selection: requested.selection,
        seed: requested.seed,
        consents: &requested.consents,
        push_binary: requested.push_binary,
    })?;
    let capacity_bytes = open
        .iter()
        .flat_map(|host| &host.opened.targets)
        .fold(0, |sum: u64, target| sum.saturating_add(target.capacity_bytes));
    let (cases, left_out) = fit(requested, cases, capacity_bytes)?;
    let hosts = manifest_hosts(&requested.hosts, &open);
    let of_host = |host: &ManifestHost| {
        let named = |target: &ManifestTarget| ManifestTarget {
            spec: format!("@{}={}", host.name, target.spec),
            identity: target.identity.clone(),
        };
        host.targets.iter().map(named).collect::<Vec<_>>()
    };
    let notices = requested.hosts.iter().zip(&open).flat_map(|(host, open)| {
        let notices = open.opened.notices.iter();
        notices.map(|text| format!("host `{}`: {text}", host.spec.name)).collect::<Vec<_>>()
    });
    let notices = notices.collect();
    let targets = hosts.iter().flat_map(of_host).collect();
    let worker =
        RemoteWorker::new(requested.hosts.clone(), (open, events), plan, declared(requested.selection));
    Ok(Checked {
        cases,
        left_out,
        executor: Executor::Remote(Box::new(worker)),
        array: None,
        targets,
        hosts,
        devices: Vec::new(),
        notices,
        capacity_bytes,
        recovered: None,
    })
}

/// Checks cases against targets of hosts with servers of fio.
fn check_fio_hosts(requested: &RunRequest<'_>, cases: Vec<Case>) -> Result<Checked, CampaignError> {
    let (open, engine) = open_fio_hosts(requested, &cases)?;
    let (cases, left_out) = fit(requested, cases, 0)?;
    let target = |text: &String| ManifestTarget {
        spec: text.clone(),
        identity: json!({ "consents": requested.consents }),
    };
    let hosts: Vec<ManifestHost> = requested
        .hosts
        .iter()
        .map(|host| ManifestHost {
            name: host.spec.name.clone(),
            address: host.spec.address.to_string(),
            targets: host.targets.iter().map(target).collect(),
            facts: json!({ "fio": engine.version_text }),
        })
        .collect();
    let targets = hosts
        .iter()
        .flat_map(|host| {
            let name = |target: &ManifestTarget| format!("@{}={}", host.name, target.spec);
            host.targets
                .iter()
                .map(move |one| ManifestTarget { spec: name(one), identity: one.identity.clone() })
        })
        .collect();
    let worker = FioRemoteWorker::new(open, engine, &requested.loaded.plan, declared(requested.selection));
    Ok(Checked {
        cases,
        left_out,
        executor: Executor::FioRemote(Box::new(worker)),
        array: None,
        targets,
        hosts,
        devices: Vec::new(),
        notices: vec![
            "servers of fio say nothing of their hosts: no counters, no inventory, and no guard for paths there".into(),
        ],
        capacity_bytes: 0,
        recovered: None,
    })
}

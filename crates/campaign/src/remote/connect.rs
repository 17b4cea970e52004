//! Connecting to the hosts of a run: all at once, and refused with every host's reason.

use crate::CampaignError;
use crate::remote::RunHost;
use diagnostic::{Problem, full_text};
use hosts::{
    AgentCommand, HostAddress, Link, LinkEvent, OpenRequest, Opened, Part, Reply, Request, SelectionText,
    push_binary,
};
use plan::{LoadedPlan, Selection, VolumeShare};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;
use store::RunClock;

/// Time limit for a host to inspect its targets and put back what killed runs left.
const OPEN_LIMIT: Duration = Duration::from_secs(60);

/// Parameters of the connection to hosts.
pub(crate) struct ConnectRequest<'a> {
    pub hosts: &'a [RunHost],
    pub loaded: &'a LoadedPlan,
    pub selection: &'a Selection,
    pub seed: u64,
    pub consents: &'a [String],
    pub push_binary: bool,
}

/// A host that is open.
#[derive(Debug)]
pub(crate) struct OpenHost {
    pub link: Link,
    pub opened: Opened,
}

/// News of all links, by the host's number.
pub(crate) type HostEvents = Receiver<(usize, LinkEvent)>;

pub(crate) fn now_ns() -> u64 {
    RunClock::monotonic().now_ns()
}

/// Remedy where hosts have one volume and the plan does not say how they use it.
pub(crate) const SAY_HOW_SHARED: &str = "say in the plan how it is used: `share: parts` or `share: whole`";

/// Connects to all hosts and opens them. Refused where any of them refuses, with the reasons of all.
pub(crate) fn connect(request: &ConnectRequest<'_>) -> Result<(Vec<OpenHost>, HostEvents), CampaignError> {
    let (tx, rx) = channel();
    let results: Vec<Result<(Link, Opened), Problem>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..request.hosts.len())
            .map(|number| {
                let tx = tx.clone();
                scope.spawn(move || open_one(request, number, &tx))
            })
            .collect();
        let joined = threads.into_iter().map(|thread| thread.join());
        joined.map(|result| result.unwrap_or_else(|_| Err("a thread panicked".into()))).collect()
    });
    let mut open = Vec::new();
    let mut problems = Vec::new();
    for result in results {
        match result {
            Ok((link, opened)) => open.push(OpenHost { link, opened }),
            Err(problem) => problems.push(full_text(&problem)),
        }
    }
    if problems.is_empty() {
        check_shared(request, &open)?;
        return Ok((open, rx));
    }
    // Those that opened put back what they have done before this returns.
    for host in open {
        host.link.close(Duration::from_secs(3));
    }
    Err(Problem::new(problems.join("\n")).into())
}

fn open_one(
    request: &ConnectRequest<'_>,
    number: usize,
    tx: &Sender<(usize, LinkEvent)>,
) -> Result<(Link, Opened), Problem> {
    let host = &request.hosts[number];
    let version = env!("CARGO_PKG_VERSION");
    let mut agent = AgentCommand::default();
    if request.push_binary && matches!(host.spec.address, HostAddress::Ssh(_)) {
        agent.program = push_binary(&host.spec, version).map_err(|error| Problem::of(&error))?;
    }
    // Until the host is open, its news are read here.
    let (first_tx, first_rx) = channel();
    let later = tx.clone();
    let is_open = AtomicBool::new(false);
    let forward = move |event: LinkEvent| {
        let is_answer =
            matches!(event, LinkEvent::Lost(_) | LinkEvent::Reply(Reply::Opened(_) | Reply::Refused { .. }));
        if is_answer && !is_open.swap(true, Ordering::Relaxed) {
            let _ = first_tx.send(event);
        } else {
            let _ = later.send((number, event));
        }
    };
    let link =
        Link::open(&host.spec, &agent, version, now_ns, forward).map_err(|error| Problem::of(&error))?;
    let all: Vec<String> = request.hosts.iter().map(|host| host.spec.name.clone()).collect();
    let share = request.loaded.plan.share;
    let part = Part { index: number as u32, of: all.len() as u32 };
    link.send(&Request::Open(Box::new(OpenRequest {
        host: host.spec.name.clone(),
        plan_name: request.loaded.name.clone(),
        plan_source: request.loaded.source.clone(),
        plan_text: request.loaded.text.clone(),
        selection: SelectionText {
            stages: request.selection.stages.clone(),
            only: request.selection.only.clone(),
            set: request.selection.set.clone(),
        },
        seed: request.seed,
        hosts: all,
        targets: host.targets.clone(),
        consents: request.consents.to_vec(),
        // Also hosts that all use the whole write it together beforehand, each a part.
        part: share.filter(|_| part.of > 1).map(|_| part),
    })));
    let named = |why: &str| Problem::new(format!("host `{}`: {why}", host.spec.name));
    match first_rx.recv_timeout(OPEN_LIMIT) {
        Ok(LinkEvent::Reply(Reply::Opened(opened))) if opened.targets.len() == host.targets.len() => {
            Ok((link, *opened))
        }
        Ok(LinkEvent::Reply(Reply::Refused { why }) | LinkEvent::Lost(why)) => {
            link.close(Duration::from_secs(3));
            Err(named(&why))
        }
        Ok(_) => Err(named("its agent opened other targets than were asked for")),
        Err(_) => Err(named(&format!("it has not opened its targets within {} s", OPEN_LIMIT.as_secs()))),
    }
}

/// Returns a key that is the same for one volume on every host: its WWN, or its model and serial number, or its NBD address.
fn volume_key(identity: &Value) -> Option<String> {
    let device = &identity["device"];
    let text = |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let inner = if device["device"].is_object() { &device["device"] } else { device };
    text(&inner["wwn"])
        .or_else(|| text(&inner["wwid"]))
        .or_else(|| Some(format!("{} serial {}", text(&inner["model"])?, text(&inner["serial"])?)))
        .or_else(|| text(&device["uri"]))
}

/// Refuses hosts that see one volume where nobody says how they use it: two hosts that write the same blocks by accident
/// measure nothing that anybody asked for.
fn check_shared(request: &ConnectRequest<'_>, open: &[OpenHost]) -> Result<(), CampaignError> {
    if request.loaded.plan.share.is_some() {
        return Ok(());
    }
    let mut seen: BTreeMap<String, (usize, &str)> = BTreeMap::new();
    for (number, host) in open.iter().enumerate() {
        for target in &host.opened.targets {
            let Some(key) = volume_key(&target.identity) else { continue };
            match seen.get(&key) {
                Some((other, spec)) if *other != number => {
                    let problem = Problem::new(format!(
                        "`{spec}` of host `{}` and `{}` of host `{}` are one volume ({key})",
                        request.hosts[*other].spec.name, target.spec, request.hosts[number].spec.name
                    ));
                    return Err(problem.with_hint(SAY_HOW_SHARED).into());
                }
                Some(_) => {}
                None => {
                    seen.insert(key, (number, &target.spec));
                }
            }
        }
    }
    Ok(())
}

/// Refuses what several hosts cannot do with one volume.
pub(crate) fn check_share(
    cases: &[plan::Case],
    share: Option<VolumeShare>,
    hosts: usize,
) -> Result<(), CampaignError> {
    if share.is_none() || hosts < 2 {
        return Ok(());
    }
    for case in cases {
        let refused = |why: Problem| Err(CampaignError::of_stage(case, why));
        if case.filesystem.is_some() {
            return refused(Problem::new(
                "a file system on a volume that several hosts share would be destroyed by them",
            ));
        }
        let loads = case.loads.iter().map(|load| &load.load).chain([&case.load]);
        if share == Some(VolumeShare::Whole) && loads.clone().any(|load| load.shape.verify) {
            return refused(
                Problem::new("hosts that all write the whole volume overwrite what another verifies")
                    .with_hint("use `share: parts`"),
            );
        }
    }
    Ok(())
}

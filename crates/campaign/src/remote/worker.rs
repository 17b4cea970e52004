//! Worker for cases on several hosts: it sets a case up everywhere, names the common start, and puts together what is counted.

use crate::message::{Ended, Message};
use crate::remote::RunHost;
use crate::remote::assignment::requests;
use crate::remote::connect::{HostEvents, OpenHost};
use crate::remote::grid::SampleGrid;
use crate::remote::outcome::{begun, not_settable};
use crate::remote::running::{Member, Running};
use crate::remote::state::{HostContext, LOOK, State};
use crate::worker::{CaseJob, Worker};
use hosts::{LinkEvent, Reply, Request};
use plan::{Case, InventoryCommand, InventoryMoment, JobShare, Plan, SettingValues, VolumeShare};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, SyncSender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{CaseStatus, RunClock};

/// Time limit for an agent to put everything back and end.
const CLOSE_LIMIT: Duration = Duration::from_millis(2_500);
/// Time limit for the commands of the inventory.
const INVENTORY_LIMIT: Duration = Duration::from_secs(300);

/// Measures cases on several hosts, one after another.
#[derive(Debug)]
pub(crate) struct RemoteWorker {
    context: HostContext,
    hosts: Vec<RunHost>,
    share: Option<VolumeShare>,
    jobs: JobShare,
    declared: SettingValues,
    inventory: Vec<InventoryCommand>,
    state: Mutex<State>,
}

impl RemoteWorker {
    pub fn new(
        hosts: Vec<RunHost>,
        (open, events): (Vec<OpenHost>, HostEvents),
        plan: &Plan,
        declared: SettingValues,
    ) -> RemoteWorker {
        RemoteWorker {
            context: HostContext::new(hosts.iter().map(|host| host.spec.name.clone()).collect()),
            hosts,
            share: plan.share,
            jobs: plan.jobs,
            declared,
            inventory: plan.inventory.clone(),
            state: Mutex::new(State { open, events, lost: None }),
        }
    }

    /// The engine, as results name it.
    pub fn engine_name(&self) -> &'static str {
        "ring"
    }

    /// Places counters of hosts on the run's clock from now on.
    pub fn use_clock(&self, clock: RunClock) {
        let _ = self.context.clock.set(clock);
    }

    /// Runs the commands of a moment on all hosts; answers by host.
    pub fn take_inventory(&self, moment: InventoryMoment) -> Vec<Vec<Value>> {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        take_inventory(&state, &self.inventory, moment)
    }
}

impl Worker for RemoteWorker {
    fn measure(
        &self,
        case: &Case,
        _neighbours: &[Case],
        job: &CaseJob,
        tx: &SyncSender<Message>,
        stop: &AtomicBool,
    ) -> Ended {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let outcome = begun(self.engine_name(), case, self.hosts.iter());
        if let Some(why) = not_settable(case, &self.declared, &self.context.names) {
            return Ended::without_result(outcome, CaseStatus::NotSettable, why);
        }
        let requests = requests(case, &self.context.names, self.share, self.jobs);
        let mut members = BTreeMap::new();
        let mut grids = BTreeMap::new();
        for (number, request) in requests.into_iter().enumerate() {
            let Some(request) = request else { continue };
            for load in &request.loads {
                grids.entry(load.name.clone()).or_insert_with(Vec::new).push(number);
            }
            members.insert(number, Member::default());
            state.open[number].link.send(&Request::Measure(Box::new(request)));
        }
        let mut running = Running {
            context: &self.context,
            case,
            case_index: job.case_index,
            tx,
            members,
            grids: grids.into_iter().map(|(name, hosts)| (name, SampleGrid::new(hosts))).collect(),
            before: Vec::new(),
            shares: BTreeMap::new(),
            failed: state.lost.clone(),
            is_lost: state.lost.is_some(),
        };
        if running.members.is_empty() {
            running.failed = Some("no host of the run has a load of this case".into());
        }
        let started = running.set_up(&mut state, stop);
        if let Some(start) = started {
            running.send(Message::Loaded { case_index: job.case_index, is_loaded: true, at: start });
            running.run(&mut state, stop, start);
            running.send(Message::Loaded {
                case_index: job.case_index,
                is_loaded: false,
                at: Instant::now(),
            });
        }
        if running.members.values().any(|member| member.end.is_none()) {
            running.stop_all(&mut state);
        }
        if running.is_lost {
            state.lost.clone_from(&running.failed);
        }
        if stop.load(Ordering::Relaxed) {
            return Ended::Stopped;
        }
        running.conclude(&state, outcome)
    }

    fn close(&self, tx: &SyncSender<Message>) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for (number, answers) in
            take_inventory(&state, &self.inventory, InventoryMoment::End).into_iter().enumerate()
        {
            for mut answer in answers {
                let host = self.context.names[number].clone();
                let text = format!("{host}: {}", answer["command"].as_str().unwrap_or_default());
                answer["host"] = host.into();
                let _ = tx.send(Message::RunEvent { kind: "inventory".into(), text, data: Some(answer) });
            }
        }
        let open = std::mem::take(&mut state.open);
        let ended: Vec<bool> = std::thread::scope(|scope| {
            let closing: Vec<_> =
                open.into_iter().map(|host| scope.spawn(move || host.link.close(CLOSE_LIMIT))).collect();
            closing.into_iter().map(|thread| thread.join().unwrap_or(false)).collect()
        });
        for (number, has_ended) in ended.into_iter().enumerate() {
            if !has_ended {
                let host = &self.context.names[number];
                let text = format!(
                    "host `{host}` has not confirmed that it put its settings back; the next run there does"
                );
                let _ = tx.send(Message::Warning { text });
            }
        }
        while let Ok((number, LinkEvent::Reply(reply))) = state.events.try_recv() {
            if let Some(message) = self.context.common_message(number, None, reply) {
                let _ = tx.send(message);
            }
        }
    }
}

fn take_inventory(state: &State, commands: &[InventoryCommand], moment: InventoryMoment) -> Vec<Vec<Value>> {
    let is_due = |command: &&InventoryCommand| command.at == moment || command.at == InventoryMoment::Both;
    let mut answers: Vec<Vec<Value>> = state.open.iter().map(|_| Vec::new()).collect();
    let mut waited_for = 0;
    for host in &state.open {
        let words: Vec<Vec<String>> =
            commands.iter().filter(is_due).flat_map(|one| one.for_devices(&host.opened.devices)).collect();
        if !words.is_empty() && state.lost.is_none() {
            host.link.send(&Request::Inventory { commands: words });
            waited_for += 1;
        }
    }
    let begun = Instant::now();
    while waited_for > 0 && begun.elapsed() < INVENTORY_LIMIT {
        match state.events.recv_timeout(LOOK) {
            Ok((number, LinkEvent::Reply(Reply::Inventory { answers: taken }))) => {
                answers[number] = taken;
                waited_for -= 1;
            }
            Ok((_, LinkEvent::Lost(_))) | Err(RecvTimeoutError::Disconnected) => break,
            Ok(_) | Err(RecvTimeoutError::Timeout) => {}
        }
    }
    answers
}

//! Worker for cases on servers of fio: a client of fio for each host and load, all at once.
//!
//! fio's own client fetches reports and logs. No agent runs there: nobody looks at what lies behind a path on such a host,
//! sets its host settings, or reads its counters.

use crate::message::{Ended, Message};
use crate::real::{
    Held, Issuer, Listener, LoadRun, RealLoad, fio_target, io_size_bytes, of_part, run_at_once,
};
use crate::remote::RunHost;
use crate::remote::assignment::requests;
use crate::remote::grid::SampleGrid;
use crate::remote::outcome::{begun, not_settable};
use crate::remote::totals::{HostEnd, take_totals};
use crate::worker::{CaseJob, Worker};
use diagnostic::{Problem, full_text};
use hosts::Part;
use load::Sample;
use plan::{Case, JobShare, Plan, SettingValues, VolumeShare};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::SyncSender;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use store::{CaseStatus, LoadOutcome};

/// Interval at which clients are polled.
const LOOK: Duration = Duration::from_millis(10);

/// A target of a host with a server of fio.
#[derive(Debug)]
pub(crate) enum FioTarget {
    /// Path on that host, which cannot be inspected from here.
    Path(PathBuf),
    /// NBD address, which the guard on this host has inspected and holds.
    Nbd(Box<Held>),
}

/// A host with a server of fio.
#[derive(Debug)]
pub(crate) struct FioHost {
    pub host: RunHost,
    pub server: fio::Server,
    pub targets: Vec<FioTarget>,
}

/// Measures cases on servers of fio, one after another.
#[derive(Debug)]
pub(crate) struct FioRemoteWorker {
    names: Vec<String>,
    hosts: Mutex<Vec<FioHost>>,
    engine: Arc<fio::Engine>,
    share: Option<VolumeShare>,
    jobs: JobShare,
    declared: SettingValues,
}

impl FioRemoteWorker {
    pub fn new(
        hosts: Vec<FioHost>,
        engine: Arc<fio::Engine>,
        plan: &Plan,
        declared: SettingValues,
    ) -> FioRemoteWorker {
        let names = hosts.iter().map(|host| host.host.spec.name.clone()).collect();
        let (share, jobs) = (plan.share, plan.jobs);
        FioRemoteWorker { names, hosts: Mutex::new(hosts), engine, share, jobs, declared }
    }

    /// The loads of a case with the number of each one's host.
    fn loads(&self, case: &Case, hosts: &mut [FioHost]) -> Result<Vec<(usize, String, RealLoad)>, Problem> {
        let mut loads = Vec::new();
        for (number, request) in requests(case, &self.names, self.share, self.jobs).into_iter().enumerate() {
            for wanted in request.into_iter().flat_map(|request| request.loads) {
                let name = &self.names[number];
                let host = &mut hosts[number];
                let place = match case.loads.iter().position(|load| load.name == wanted.name) {
                    Some(index) if host.targets.len() > 1 => index,
                    _ => 0,
                };
                let (target, capacity_bytes) = match host.targets.get_mut(place) {
                    None => {
                        return Err(Problem::new(format!(
                            "host `{name}`: no target is left for the load `{}`",
                            wanted.name
                        )));
                    }
                    Some(FioTarget::Path(path)) => (fio::Target::Path(path.clone()), None),
                    Some(FioTarget::Nbd(held)) => {
                        let inspected = held
                            .hold()
                            .map_err(|error| Problem::of(&error).within(format!("host `{name}`")))?;
                        (fio_target(inspected.address())?, Some(inspected.capacity_bytes))
                    }
                };
                let load = part_of_load(&wanted.load, capacity_bytes, wanted.part)
                    .ok_or_else(|| Problem::new(format!("host `{name}`: {NO_SIZE}")))?;
                let ends_after = case.loads.get(place).map_or(case.ends_after, |load| load.ends_after);
                let io_size_bytes = match (ends_after, capacity_bytes.or(load.size_bytes)) {
                    (Some(_), None) => return Err(format!("host `{name}`: {NO_SIZE}").into()),
                    (ends_after, bytes) => io_size_bytes(ends_after, &load, bytes.unwrap_or(0)),
                };
                loads.push((
                    number,
                    wanted.name.clone(),
                    RealLoad {
                        name: format!("{name}-{}", wanted.name),
                        issuer: Issuer::Fio {
                            engine: Arc::clone(&self.engine),
                            target,
                            server: Some(host.server.clone()),
                        },
                        target_text: host.host.targets[place].clone(),
                        load,
                        io_size_bytes,
                        settings: wanted.settings,
                        start_ns: case
                            .loads
                            .iter()
                            .find(|it| it.name == wanted.name)
                            .map_or(0, |it| it.start_ns),
                    },
                ));
            }
        }
        Ok(loads)
    }
}

const NO_SIZE: &str = "the size of its target is not known here, and the load needs it: give `size` in the plan, or `share: whole`";

/// The load in a host's part of its range; none where nobody knows how long the range is.
fn part_of_load(
    load: &load::LoadSpec,
    capacity_bytes: Option<u64>,
    part: Option<Part>,
) -> Option<load::LoadSpec> {
    match part {
        None => Some(load.clone()),
        Some(_) => {
            let known =
                capacity_bytes.or_else(|| Some(load.offset_bytes.saturating_add(load.size_bytes?)))?;
            Some(of_part(load, known, part))
        }
    }
}

impl Worker for FioRemoteWorker {
    fn measure(
        &self,
        case: &Case,
        _neighbours: &[Case],
        job: &CaseJob,
        tx: &SyncSender<Message>,
        stop: &AtomicBool,
    ) -> Ended {
        let mut hosts = self.hosts.lock().unwrap_or_else(PoisonError::into_inner);
        let mut outcome = begun("fio", case, hosts.iter().map(|host| &host.host));
        if let Some(why) = not_settable(case, &self.declared, &self.names) {
            return Ended::without_result(outcome, CaseStatus::NotSettable, why);
        }
        if !case.host_settings().is_empty() {
            let why = "nobody makes host settings where a server of fio issues the load; use ssh:// hosts";
            return Ended::without_result(outcome, CaseStatus::NotSettable, why.into());
        }
        let loads = match self.loads(case, &mut hosts) {
            Ok(loads) => loads,
            Err(problem) => {
                return Ended::without_result(outcome, CaseStatus::Failed, full_text(&problem));
            }
        };
        let Some(directory) = &job.directory else {
            return Ended::without_result(
                outcome,
                CaseStatus::Failed,
                "the case has no directory for its files".into(),
            );
        };
        let case_index = job.case_index;
        let mut grids: BTreeMap<&str, SampleGrid> = BTreeMap::new();
        for (_, name, _) in &loads {
            let of_load = loads.iter().filter(|(_, other, _)| other == name).map(|(number, _, _)| *number);
            grids.entry(name).or_insert_with(|| SampleGrid::new(of_load));
        }
        let _ = tx.send(Message::Loaded { case_index, is_loaded: true, at: Instant::now() });
        let (ran, samples, why) = self.run_clients(&loads, directory, case_index, tx, stop);
        let _ = tx.send(Message::Loaded { case_index, is_loaded: false, at: Instant::now() });
        if stop.load(Ordering::Relaxed) {
            return Ended::Stopped;
        }
        let keep = |load: &str, sample: Sample| {
            let _ = tx.send(Message::sample(case_index, load, sample));
        };
        for (place, sample) in samples {
            let (number, load, _) = &loads[place];
            let whole =
                grids.get_mut(load.as_str()).map(|grid| grid.add(*number, &sample)).unwrap_or_default();
            let host = self.names[*number].clone();
            let part = Message::HostSample { case_index, host, load: load.clone(), sample: Box::new(sample) };
            let _ = tx.send(part);
            whole.into_iter().for_each(|sample| keep(load, sample));
        }
        for (load, grid) in &mut grids {
            grid.finish().into_iter().for_each(|sample| keep(load, sample));
        }
        let ends = self.ends(&loads, ran);
        let ends: Vec<(&str, &HostEnd)> =
            ends.iter().map(|(number, end)| (self.names[*number].as_str(), end)).collect();
        let totals = take_totals(&mut outcome, case, &ends);
        let _ = tx.send(Message::HostTotals { case_index, hosts: totals });
        match why {
            Some(why) => Ended::without_result(outcome, CaseStatus::Failed, why),
            None => Ended::Outcome(Box::new(outcome)),
        }
    }
}

/// Output of the clients: a run for each load, samples with the number of their load, and the first failure.
type ClientRuns = (Vec<LoadRun>, Vec<(usize, Sample)>, Option<String>);

impl FioRemoteWorker {
    /// Runs all clients at once. The first that fails has the others stop.
    fn run_clients(
        &self,
        loads: &[(usize, String, RealLoad)],
        directory: &Path,
        case_index: u32,
        tx: &SyncSender<Message>,
        stop: &AtomicBool,
    ) -> ClientRuns {
        let stop_clients = AtomicBool::new(false);
        let first: Mutex<Option<String>> = Mutex::default();
        let counted: Mutex<Vec<(usize, Sample)>> = Mutex::default();
        let runs = std::thread::scope(|scope| {
            let (stop_clients, first, counted) = (&stop_clients, &first, &counted);
            let clients: Vec<_> = loads
                .iter()
                .enumerate()
                .map(|(place, (number, _, load))| {
                    scope.spawn(move || {
                        let listener = Listener {
                            on_sample: &|_, sample| {
                                counted.lock().unwrap_or_else(PoisonError::into_inner).push((place, sample));
                            },
                            on_progress: &|share| {
                                let _ = tx.send(Message::Progress { case_index, share });
                            },
                        };
                        let own = directory.join(&load.name);
                        let run = match std::fs::create_dir_all(&own) {
                            Ok(()) => {
                                run_at_once(std::slice::from_ref(load), &own, &listener, stop_clients, None)
                                    .pop()
                            }
                            Err(error) => Some(LoadRun {
                                failed: Some(format!("cannot create {}: {error}", own.display())),
                                ..LoadRun::default()
                            }),
                        };
                        let run = run.unwrap_or_default();
                        if let Some(why) = &run.failed
                            && !stop_clients.swap(true, Ordering::Relaxed)
                        {
                            let why = format!("host `{}`: {why}", self.names[*number]);
                            *first.lock().unwrap_or_else(PoisonError::into_inner) = Some(why);
                        }
                        run
                    })
                })
                .collect();
            while clients.iter().any(|client| !client.is_finished()) {
                if stop.load(Ordering::Relaxed) {
                    stop_clients.store(true, Ordering::Relaxed);
                }
                std::thread::sleep(LOOK);
            }
            clients.into_iter().map(|client| client.join().unwrap_or_default()).collect()
        });
        let counted = counted.into_inner().unwrap_or_else(PoisonError::into_inner);
        (runs, counted, first.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns the end of the case on each host, from its clients.
    fn ends(&self, loads: &[(usize, String, RealLoad)], ran: Vec<LoadRun>) -> BTreeMap<usize, HostEnd> {
        let mut ends: BTreeMap<usize, HostEnd> = BTreeMap::new();
        for ((number, name, load), LoadRun { measured, .. }) in loads.iter().zip(ran) {
            let Some(measured) = measured else { continue };
            let end = ends.entry(*number).or_insert_with(|| HostEnd {
                status: Some(CaseStatus::Done),
                error: None,
                gave_up: false,
                began_at_ns: None,
                target: load.target_text.clone(),
                duration_ns: 0,
                loads: Vec::new(),
                warnings: Vec::new(),
            });
            end.duration_ns = end.duration_ns.max(measured.runtime_ns);
            end.warnings.extend(measured.warnings);
            end.loads.push(LoadOutcome {
                name: name.clone(),
                target: Some(load.target_text.clone()),
                duration_ns: Some(measured.runtime_ns),
                cpu_ns: measured.cpu_ns,
                read: measured.read,
                write: measured.write,
                trim: measured.trim,
            });
        }
        ends
    }
}

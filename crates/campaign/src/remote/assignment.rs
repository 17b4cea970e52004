//! Assignment of a case's loads to hosts, and the share of a load that is one host's.
//!
//! Jobs and depth are those of every host, as with fio's client and server, unless the plan divides the jobs; rates are those of
//! all hosts together, so that a share of a measured rate stays what it says.

use crate::CampaignError;
use crate::remote::RunHost;
use crate::worker::ONLY_LOAD;
use diagnostic::Problem;
use hosts::{LoadRequest, MeasureRequest, Part};
use load::{Arrival, LoadSpec, Random, RateCurve};
use plan::{Case, HostChoice, JobShare, NamedLoad, VolumeShare};
use serde_json::Value;

/// The setting that says which host of a system a load comes from.
const HOST_SETTING: &str = "host";

/// Returns true if a load of a case is for a host. The setting `host` (`node`, `client`) chooses where the run has a host
/// of that name, and the plan does not say otherwise.
fn is_for(case: &Case, load: Option<&NamedLoad>, host: &str, all: &[String]) -> bool {
    let choice = load.and_then(|load| load.hosts.as_ref()).unwrap_or(&case.hosts);
    if *choice != HostChoice::All {
        return choice.contains(host);
    }
    let settings = load.map_or(&case.settings, |load| &load.settings);
    match settings.get(HOST_SETTING).and_then(Value::as_str) {
        Some(named) if all.iter().any(|known| known == named) => named == host,
        _ => true,
    }
}

/// The hosts that a load of a case is for, by their numbers.
fn hosts_of(case: &Case, load: Option<&NamedLoad>, all: &[String]) -> Vec<usize> {
    (0..all.len()).filter(|&number| is_for(case, load, &all[number], all)).collect()
}

/// The case with the loads of one host alone; none where it has no load for it. Where jobs are divided, so are the columns of
/// its stripe: the host has its part of the volumes.
pub(super) fn case_of(case: &Case, host: &str, all: &[String], jobs: JobShare) -> Option<Case> {
    let mut case = case.clone();
    if case.loads.is_empty() {
        let hosts = hosts_of(&case, None, all).len().max(1) as u32;
        if let (JobShare::Divided, Some(stripe)) = (jobs, &mut case.stripe) {
            stripe.columns = (stripe.columns / hosts).max(1);
        }
        return is_for(&case, None, host, all).then_some(case);
    }
    let whole = case.clone();
    case.loads.retain(|load| is_for(&whole, Some(load), host, all));
    (!case.loads.is_empty()).then_some(case)
}

/// Makes the request to each host for a case; `None` for a host without a load.
pub(super) fn requests(
    case: &Case,
    all: &[String],
    share: Option<VolumeShare>,
    jobs: JobShare,
) -> Vec<Option<MeasureRequest>> {
    let mut requests: Vec<Option<MeasureRequest>> = all.iter().map(|_| None).collect();
    let mut add = |number: usize, load: LoadRequest| {
        let empty =
            || MeasureRequest { stage: case.stage.clone(), case: case.name.clone(), loads: Vec::new() };
        requests[number].get_or_insert_with(empty).loads.push(load);
    };
    let mut assign = |load: Option<&NamedLoad>| {
        let chosen = hosts_of(case, load, all);
        for (place, &number) in chosen.iter().enumerate() {
            let (name, spec, settings) = match load {
                Some(load) => (load.name.as_str(), &load.load, &load.settings),
                None => (ONLY_LOAD, &case.load, &case.settings),
            };
            let of = chosen.len() as u32;
            let part =
                (share == Some(VolumeShare::Parts) && of > 1).then_some(Part { index: place as u32, of });
            let mut load = share_of(spec, number, of);
            if jobs == JobShare::Divided {
                // The first hosts have one more where the number does not divide.
                load.numjobs = spec.numjobs / of + u32::from((place as u32) < spec.numjobs % of);
            }
            add(number, LoadRequest { name: name.to_owned(), load, settings: settings.clone(), part });
        }
    };
    match case.loads.as_slice() {
        [] => assign(None),
        loads => loads.iter().for_each(|load| assign(Some(load))),
    }
    requests
}

/// Refuses loads with fewer jobs than hosts, where hosts divide them.
pub(super) fn check_jobs(cases: &[Case], jobs: JobShare, hosts: &[RunHost]) -> Result<(), CampaignError> {
    if jobs == JobShare::Each {
        return Ok(());
    }
    let all: Vec<String> = hosts.iter().map(|host| host.spec.name.clone()).collect();
    for case in cases {
        let loads = case.loads.iter().map(|load| (Some(load), load.load.numjobs));
        let only = case.loads.is_empty().then_some((None, case.load.numjobs));
        for (load, numjobs) in loads.chain(only) {
            let hosts = hosts_of(case, load, &all).len();
            if (numjobs as usize) < hosts {
                let problem = Problem::new(format!(
                    "stage `{}`, case `{}`: {hosts} hosts cannot divide {numjobs} jobs",
                    case.stage, case.name
                ));
                let hint = format!("set `numjobs` to {hosts} or more, or choose the host with `hosts:`");
                return Err(problem.with_hint(hint).into());
            }
        }
    }
    Ok(())
}

/// The load of one host among several: a seed of its own, and its part of the rates.
fn share_of(load: &LoadSpec, number: usize, of: u32) -> LoadSpec {
    let mut load = load.clone();
    load.seed = Random::from_seed_and_stream(load.seed, number as u64 + 1).next_u64();
    let of = f64::from(of.max(1));
    let divide = |rate: &mut Option<f64>| {
        if let Some(rate) = rate {
            *rate /= of;
        }
    };
    divide(&mut load.rate_iops);
    let rates = &mut load.shape.rates;
    [&mut rates.read_iops, &mut rates.write_iops, &mut rates.trim_iops].into_iter().for_each(divide);
    if let Some(arrival) = &mut load.shape.arrival {
        divide_arrivals(arrival, of);
    }
    load
}

fn divide_arrivals(arrival: &mut Arrival, of: f64) {
    match &mut arrival.rate {
        RateCurve::Constant { iops } => *iops /= of,
        RateCurve::Bursts { base_iops, burst_iops, .. } => {
            *base_iops /= of;
            *burst_iops /= of;
        }
        RateCurve::Ramp { from_iops, to_iops, .. } => {
            *from_iops /= of;
            *to_iops /= of;
        }
        RateCurve::Profile { points, .. } => points.iter_mut().for_each(|(_, iops)| *iops /= of),
    }
}

/// Returns the case as a host issues it, with the requested loads. A trace stays that of the plan.
pub(super) fn case_to_measure(
    case: &Case,
    request: MeasureRequest,
) -> Result<(Case, Vec<Option<Part>>), Problem> {
    let mut case = case.clone();
    let mut parts = Vec::new();
    if case.loads.is_empty() {
        let [only] = <[LoadRequest; 1]>::try_from(request.loads).map_err(|_| "the case has one load")?;
        let replay = case.load.shape.replay.take();
        (case.load, case.settings) = (only.load, only.settings);
        case.load.shape.replay = replay;
        parts.push(only.part);
        return Ok((case, parts));
    }
    let mut loads = Vec::new();
    for wanted in request.loads {
        let known = case.loads.iter().find(|load| load.name == wanted.name);
        let mut load =
            known.ok_or_else(|| Problem::new(format!("the case has no load `{}`", wanted.name)))?.clone();
        let replay = load.load.shape.replay.take();
        (load.load, load.settings) = (wanted.load, wanted.settings);
        load.load.shape.replay = replay;
        loads.push(load);
        parts.push(wanted.part);
    }
    case.loads = loads;
    Ok((case, parts))
}

#[cfg(test)]
mod tests {
    use super::*;
    use plan::Selection;

    /// Proves that divided jobs are dealt to the hosts of a load, every one to one host, and the columns of its stripe with them.
    #[test]
    fn divided_jobs_are_dealt_once() {
        let mut case = cases("").remove(0);
        case.load.numjobs = 8;
        case.stripe = Some(plan::Stripe { unit_bytes: None, columns: 12 });
        let jobs = |case: &Case| -> Vec<u32> {
            let requests = requests(case, &all(), None, JobShare::Divided);
            requests.iter().map(|it| it.as_ref().map_or(0, |it| it.loads[0].load.numjobs)).collect()
        };
        assert_eq!(jobs(&case), [3, 3, 2]);
        let columns = |case: &Case, share| case_of(case, "b", &all(), share).unwrap().stripe.unwrap().columns;
        assert_eq!((columns(&case, JobShare::Divided), columns(&case, JobShare::Each)), (4, 12));
        case.hosts = HostChoice::Named(vec!["a".into(), "b".into()]);
        assert_eq!(jobs(&case), [4, 4, 0]);
        assert_eq!(columns(&case, JobShare::Divided), 6);
    }

    fn cases(stage: &str) -> Vec<Case> {
        let text = format!(
            "title: t\nstages:\n  one:\n    settings: {{ rw: randread, bs: 4k, rate_iops: 900 }}\n{stage}"
        );
        plan::expand(&plan::parse_plan("test", "test.yaml", &text).unwrap(), &Selection::default()).unwrap()
    }

    fn all() -> Vec<String> {
        ["a", "b", "c"].map(str::to_owned).to_vec()
    }

    /// Proves that each host gets the whole load with a third of the rate, a seed of its own and a third of the volume.
    #[test]
    fn a_load_is_shared_by_all_hosts() {
        let cases = cases("");
        let requests = requests(&cases[0], &all(), Some(VolumeShare::Parts), JobShare::Each);
        let loads: Vec<&LoadRequest> =
            requests.iter().map(|request| &request.as_ref().unwrap().loads[0]).collect();
        let mut seeds: Vec<u64> = loads.iter().map(|load| load.load.seed).collect();
        seeds.sort_unstable();
        seeds.dedup();
        assert_eq!(seeds.len(), 3);
        for (number, load) in loads.iter().enumerate() {
            assert_eq!(load.load.rate_iops, Some(300.0));
            assert_eq!(load.load.numjobs, cases[0].load.numjobs);
            assert_eq!(load.part, Some(Part { index: number as u32, of: 3 }));
        }
    }

    /// Proves that loads go to the hosts that they name, that the case's hosts hold for the others, and that a host without
    /// a load is not asked.
    #[test]
    fn loads_go_to_their_hosts() {
        let cases = cases("    hosts: [a, b]\n    loads: { x: { hosts: b }, y: {} }\n");
        let requests = requests(&cases[0], &all(), Some(VolumeShare::Parts), JobShare::Each);
        let named = |number: usize| -> Vec<(String, Option<Part>)> {
            let request = requests[number].as_ref();
            request
                .map_or_else(Vec::new, |it| it.loads.iter().map(|one| (one.name.clone(), one.part)).collect())
        };
        assert_eq!(named(0), [("y".to_owned(), Some(Part { index: 0, of: 2 }))]);
        // Alone on its load, a host uses the whole volume.
        assert_eq!(named(1), [("x".to_owned(), None), ("y".to_owned(), Some(Part { index: 1, of: 2 }))]);
        assert!(requests[2].is_none());
        assert!(case_of(&cases[0], "c", &all(), JobShare::Each).is_none());
        assert_eq!(case_of(&cases[0], "a", &all(), JobShare::Each).unwrap().loads.len(), 1);
    }

    /// Proves that the setting `host` chooses a host of that name, and nobody where the run has none.
    #[test]
    fn the_setting_host_chooses() {
        let cases = cases("    matrix: { host: [node, client] }\n");
        let known = ["client".to_owned(), "node".to_owned()];
        let requested = |case: &Case, known: &[String]| -> Vec<bool> {
            requests(case, known, None, JobShare::Each).iter().map(Option::is_some).collect()
        };
        assert_eq!(requested(&cases[0], &known), [false, true]);
        assert_eq!(requested(&cases[1], &known), [true, false]);
        assert_eq!(requested(&cases[0], &all()), [true, true, true]);
    }
}

//! Totals of a case over all hosts: histograms are merged, counts are added.

use crate::worker::ONLY_LOAD;
use diagnostic::Problem;
use hosts::CaseEnd;
use plan::Case;
use store::{CaseOutcome, CaseStatus, HostTotals, LoadOutcome};

/// End of a case on a host, checked.
#[derive(Debug)]
pub(super) struct HostEnd {
    pub status: Option<CaseStatus>,
    pub error: Option<String>,
    pub gave_up: bool,
    pub began_at_ns: Option<u64>,
    pub target: String,
    pub duration_ns: u64,
    pub loads: Vec<LoadOutcome>,
    pub warnings: Vec<String>,
}

impl HostEnd {
    /// The end as received, or what is wrong with it.
    pub fn read(end: CaseEnd) -> Result<HostEnd, Problem> {
        let statuses = [CaseStatus::Done, CaseStatus::Failed, CaseStatus::Refused, CaseStatus::NotSettable];
        let status = statuses.into_iter().find(|status| status.name() == end.status);
        if status.is_none() && end.status != "stopped" {
            return Err(format!("a case that ended as `{}`", end.status).into());
        }
        Ok(HostEnd {
            status,
            error: end.error,
            gave_up: end.gave_up,
            began_at_ns: end.began_at_ns,
            target: end.target,
            duration_ns: end.duration_ns,
            loads: end.loads.iter().map(hosts::WireLoad::to_load).collect::<Result<_, _>>()?,
            warnings: end.warnings,
        })
    }
}

/// Puts together what the hosts of a case say in its outcome, and their totals as the run keeps them.
pub(super) fn take_totals(
    outcome: &mut CaseOutcome,
    case: &Case,
    ends: &[(&str, &HostEnd)],
) -> Vec<HostTotals> {
    for (host, end) in ends {
        outcome.warnings.extend(end.warnings.iter().map(|text| format!("{host}: {text}")));
    }
    let order: Vec<String> = match case.loads.as_slice() {
        [] => vec![ONLY_LOAD.to_owned()],
        loads => loads.iter().map(|load| load.name.clone()).collect(),
    };
    outcome.loads = merge(&order, ends);
    let longest_ns = ends.iter().map(|(_, end)| end.duration_ns).max().unwrap_or(0);
    if order.len() == 1 && longest_ns > 0 {
        outcome.duration_ns = longest_ns;
    }
    by_host(ends)
}

/// Loads of all hosts by name, in the order in which the case has them.
fn merge(order: &[String], hosts: &[(&str, &HostEnd)]) -> Vec<LoadOutcome> {
    let mut merged: Vec<LoadOutcome> = Vec::new();
    let is_only = order.len() == 1;
    for name in order {
        let mut whole = LoadOutcome { name: name.clone(), ..LoadOutcome::default() };
        let mut targets = Vec::new();
        let mut cpu_ns = Some(0u64);
        let mut has_part = false;
        for (host, end) in hosts {
            for load in end.loads.iter().filter(|load| load.name == *name) {
                has_part = true;
                for (sum, part) in [
                    (&mut whole.read, &load.read),
                    (&mut whole.write, &load.write),
                    (&mut whole.trim, &load.trim),
                ] {
                    if let Some(part) = part {
                        sum.get_or_insert_default().merge(part);
                    }
                }
                targets.push(format!("{host}:{}", load.target.as_ref().unwrap_or(&end.target)));
                let duration_ns = load.duration_ns.unwrap_or(end.duration_ns);
                whole.duration_ns = Some(whole.duration_ns.unwrap_or(0).max(duration_ns));
                cpu_ns = cpu_ns.zip(load.cpu_ns).map(|(sum, part)| sum.saturating_add(part));
            }
        }
        if !has_part {
            continue;
        }
        whole.cpu_ns = cpu_ns;
        if is_only {
            whole.duration_ns = None;
        } else {
            whole.target = Some(targets.join(" "));
        }
        merged.push(whole);
    }
    merged
}

/// Totals by host, as the run keeps them.
fn by_host(hosts: &[(&str, &HostEnd)]) -> Vec<HostTotals> {
    hosts
        .iter()
        .map(|(host, end)| HostTotals {
            host: (*host).to_owned(),
            duration_ns: end.duration_ns,
            loads: end.loads.clone(),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::Histogram;
    use store::DirectionTotals;

    fn end(latencies: &[u64], duration_ns: u64) -> HostEnd {
        let mut latency = Histogram::new();
        latencies.iter().for_each(|&ns| latency.record(ns));
        let ios = latencies.len() as u64;
        let read = DirectionTotals { ios, bytes: ios * 4096, latency, ..DirectionTotals::default() };
        let load =
            LoadOutcome { name: "load".into(), cpu_ns: Some(5), read: Some(read), ..LoadOutcome::default() };
        HostEnd {
            status: Some(CaseStatus::Done),
            error: None,
            gave_up: false,
            began_at_ns: None,
            target: "/dev/x".into(),
            duration_ns,
            loads: vec![load],
            warnings: Vec::new(),
        }
    }

    /// Proves that the percentile over all hosts is that of all their latencies: the mean of both percentiles would be wrong.
    #[test]
    fn percentiles_are_of_merged_histograms() {
        let (fast, slow) = (end(&[100; 99], 7), end(&[100_000], 9));
        let merged = merge(&["load".into()], &[("a", &fast), ("b", &slow)]);
        let read = merged[0].read.as_ref().unwrap();
        assert_eq!((read.ios, read.bytes), (100, 100 * 4096));
        assert_eq!(read.latency.percentile_ns(500_000), 100);
        assert_eq!(read.latency.max_ns(), 100_000);
        assert_eq!(merged[0].cpu_ns, Some(10));
        assert_eq!(by_host(&[("a", &fast), ("b", &slow)])[1].duration_ns, 9);
    }

    /// Proves that an end which says what no case can is refused.
    #[test]
    fn an_unknown_status_is_refused() {
        let end = CaseEnd { status: "fine".into(), ..CaseEnd::default() };
        assert!(HostEnd::read(end).unwrap_err().to_string().contains("`fine`"));
        let end = CaseEnd { status: "stopped".into(), ..CaseEnd::default() };
        assert_eq!(HostEnd::read(end).unwrap().status, None);
    }
}

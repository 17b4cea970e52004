//! Host balance: the spread of a case's I/Os over the hosts that issued them, and the slowest of them.

use crate::HostBalance;
use crate::finding::Finding;
use crate::observation::ObservedCase;

/// Division of the load over the hosts of a case, where there are two or more and any of them did an I/O.
pub(crate) fn of(case: &ObservedCase) -> Option<Finding> {
    let hosts = case.result.hosts.as_deref().unwrap_or_default();
    let iops: Vec<f64> = hosts.iter().map(|host| host.iops).collect();
    let all: f64 = iops.iter().sum();
    if hosts.len() < 2 || all <= 0.0 {
        return None;
    }
    let shares_percent: Vec<f64> = iops.iter().map(|one| 100.0 * one / all).collect();
    let mean = 100.0 / iops.len() as f64;
    let slowest = hosts.iter().min_by(|a, b| a.iops.total_cmp(&b.iops))?;
    let fact = HostBalance {
        hosts: hosts.iter().map(|host| host.host.clone()).collect(),
        slowest: slowest.host.clone(),
        largest_over_mean: shares_percent.iter().copied().fold(0.0, f64::max) / mean,
        smallest_over_mean: shares_percent.iter().copied().fold(f64::INFINITY, f64::min) / mean,
        iops,
        shares_percent,
    };
    Some(Finding::of_case(case, fact.into(), None))
}

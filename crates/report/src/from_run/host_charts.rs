//! Charts of hosts: I/Os a second of each host of a case against time.

use super::time_charts::{Line, by_host};
use super::{ReportError, Source, axes};
use crate::chart::{Chart, SERIES_LIMIT};
use store::{CaseResult, DirectionPoint, HostPoint, IntervalPoint};

/// Cases of a stage whose hosts are drawn; beyond that, tables and the database have them.
const CASES_LIMIT: usize = 8;

/// One chart for each of the first cases of a stage that several hosts have loaded.
pub fn charts(source: &Source<'_>, stage: &str, names: &[&str]) -> Result<Vec<Chart>, ReportError> {
    let is_one = |(_, result): &(u32, &CaseResult)| {
        result.stage == stage && result.hosts.as_ref().is_some_and(|hosts| hosts.len() > 1)
    };
    let mut charts = Vec::new();
    for (index, result) in source.done().filter(is_one).take(CASES_LIMIT) {
        let points = source.run.host_points(index)?;
        let hosts = result.hosts.iter().flatten().take(SERIES_LIMIT);
        let lines: Vec<Line> = hosts
            .map(|host| {
                let own = points.iter().filter(|point| point.host == host.host).map(interval);
                Line::new(host.host.clone(), index, own.collect())
            })
            .collect();
        let case = axes::label(&result.settings, names);
        charts.extend(by_host(source, stage, charts.len(), &case, &lines)?);
    }
    Ok(charts)
}

/// A host's interval in the form of a load's: all directions stand in one.
fn interval(point: &HostPoint) -> IntervalPoint {
    let all = DirectionPoint { ios: point.ios, bytes: point.bytes, ..DirectionPoint::default() };
    IntervalPoint {
        load: String::new(),
        start_ns: point.start_ns,
        end_ns: point.end_ns,
        is_ramp: point.is_ramp,
        is_extrapolated: false,
        read: Some(all),
        write: None,
        trim: None,
    }
}

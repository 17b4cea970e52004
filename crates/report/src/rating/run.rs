//! Run with the conditions of its figures.

use crate::gallery::{self, Entry};
use library::Conditions;
use std::collections::BTreeSet;
use store::{CaseResult, CaseStatus, Manifest, RunReader};

/// A run with the conditions of each of its figures.
#[derive(Debug, Clone)]
pub struct RatedRun {
    /// Its figures.
    pub entry: Entry,
    pub(super) cases: Vec<RatedCase>,
    pub(super) drives: Option<u64>,
    pub(super) host_ports: Option<u64>,
}

#[derive(Debug, Clone)]
pub(super) struct RatedCase {
    /// Stage and case.
    pub(super) at: String,
    pub(super) iops: f64,
    pub(super) bw_bytes_per_s: f64,
    pub(super) latency_ns: Option<f64>,
    pub(super) sustained_iops: Option<f64>,
    pub(super) conditions: Conditions,
}

/// The figures of a run, with their conditions.
pub fn rated_run(run: &RunReader) -> Result<RatedRun, crate::ReportError> {
    let manifest = run.manifest();
    let results = gallery::results_of(run)?;
    let disturbed: BTreeSet<u32> = run
        .events()?
        .into_iter()
        .filter(|event| matches!(event.kind.as_str(), "event" | "mark" | "path-lost"))
        .filter_map(|event| event.case_index)
        .collect();
    let (drives, host_ports, hosts) = parts(manifest);
    let is_simulated = manifest.engine == "sim";
    let done = results.iter().filter(|(_, result)| result.status == CaseStatus::Done);
    let cases = done.map(|(index, result)| {
        let latency_ns = gallery::mean_latency_ns(result);
        let mut conditions = Conditions::of_case(&result.settings, result.iops, latency_ns);
        conditions.is_simulated = is_simulated;
        conditions.servers = hosts;
        conditions.runtime_s = Some(result.duration_s);
        conditions.special.extend(special(result));
        if disturbed.contains(index) {
            conditions.special.push("an event disturbed it".into());
        }
        RatedCase {
            at: format!("{} {}", result.stage, result.case),
            iops: result.iops,
            bw_bytes_per_s: result.bw_bytes_per_s,
            latency_ns,
            sustained_iops: result.sustained.map(|sustained| sustained.iops),
            conditions,
        }
    });
    let cases = cases.collect();
    let results: Vec<&CaseResult> = results.iter().map(|(_, result)| result).collect();
    Ok(RatedRun { entry: gallery::entry_from(manifest, &results), cases, drives, host_ports })
}

/// Peculiarities of a result that its settings do not show.
fn special(result: &CaseResult) -> Vec<String> {
    let mut special = Vec::new();
    let errors = [&result.read, &result.write].into_iter().flatten().any(|part| part.errors > 0);
    if errors {
        special.push("I/Os failed".to_owned());
    }
    if result.loads.is_some() {
        special.push("several loads".to_owned());
    }
    if result.warnings.iter().any(|warning| warning.contains("measured through this host's memory")) {
        special.push("cached".to_owned());
    }
    special
}

/// Drives, host ports and hosts, where they are known: those of a twin, and the hosts of a measurement. The drives of a second array
/// store nothing more, and published figures are those of one.
pub(super) fn parts(manifest: &Manifest) -> (Option<u64>, Option<u64>, Option<u64>) {
    let parsed = manifest.array.as_ref().filter(|_| manifest.engine == "sim");
    let Some(array) = parsed.and_then(|array| plan::parse_array(&array.source, &array.text).ok()) else {
        let hosts = (manifest.engine != "import").then(|| manifest.hosts.len().max(1) as u64);
        return (None, None, hosts);
    };
    let topology = array.bench();
    let count = |parts: &[twin::TopologyPart]| {
        let all: u64 = parts.iter().map(|part| u64::from(part.count)).sum();
        Some(all).filter(|all| *all > 0)
    };
    let drives: u64 = array.parts.groups.iter().map(|group| u64::from(array.parts.drives_of(group))).sum();
    (Some(drives).filter(|drives| *drives > 0), count(&topology.links), count(&topology.hosts))
}

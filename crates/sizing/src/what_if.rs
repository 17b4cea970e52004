//! Effect of changes: each alone, and all together.

use crate::answer::{PointKind, STEP, answer_counted, in_parallel, simulations};
use crate::{Answer, Change, Configuration, Effort, SizingError};
use plan::Case;
use serde_json::{Map, Value, json};
use std::sync::atomic::{AtomicU64, Ordering};

/// Most configurations of one question.
const CONFIGURATIONS_LIMIT: usize = 256;
/// Stage of the cases of answers about changes.
pub(crate) const STAGE: &str = "changes";
/// Stage of the cases with one I/O at a time.
const ALONE_STAGE: &str = "one-io";
/// Stage of the cases with more of a part.
const MORE_STAGE: &str = "more-of-a-part";
/// Name of the original array among changes.
pub(crate) const NO_CHANGE: &str = "none";

/// Line of an answer: a configuration with its performance.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Keys that differ from the original array, with their values.
    pub change: Map<String, Value>,
    /// Answer of the simulation.
    pub answer: Answer,
}

impl Row {
    /// The line as `arraylab what-if --json` prints it.
    pub fn json(&self) -> Value {
        answer_json(&self.change, &self.change_name(), STAGE, &self.answer)
    }

    /// The changed array, as its cases name it: `links.count=4+drives.rpm=15000`.
    pub(crate) fn change_name(&self) -> String {
        if self.change.is_empty() {
            return NO_CHANGE.into();
        }
        crate::change_texts(&self.change).join("+").replace([' ', '/', ','], "_")
    }

    /// The change as `--change` takes it, `as it is` without one.
    pub fn change_text(&self) -> String {
        if self.change.is_empty() {
            return "as it is".into();
        }
        crate::change_texts(&self.change).join(", ")
    }
}

/// Stage of a simulation's case.
pub(crate) fn case_stage(stage: &'static str, kind: PointKind) -> &'static str {
    match kind {
        PointKind::Own => stage,
        PointKind::Alone => ALONE_STAGE,
        PointKind::More(..) => MORE_STAGE,
    }
}

/// Name of a simulation's case within its stage.
pub(crate) fn case_name(change: &str, kind: PointKind) -> String {
    match kind {
        PointKind::Own | PointKind::Alone => format!("change={change}"),
        PointKind::More(part, times) => format!("change={change},part={},times={times}", part.name()),
    }
}

/// Stage and name of a simulation's case, as answers cite it.
pub(crate) fn case_path(stage: &'static str, change: &str, kind: PointKind) -> String {
    format!("{}/{}", case_stage(stage, kind), case_name(change, kind))
}

/// Fields of an answer about a changed array.
pub(crate) fn answer_json(
    change: &Map<String, Value>,
    name: &str,
    stage: &'static str,
    answer: &Answer,
) -> Value {
    let case = |kind: PointKind| case_path(stage, name, kind);
    let point = |kind: PointKind| answer.points.iter().find(|point| point.kind == kind);
    let more: Map<String, Value> = answer
        .elasticity
        .iter()
        .filter_map(|one| {
            let kind = PointKind::More(one.part, STEP);
            let point = point(kind)?;
            let gain = point.iops / answer.iops - 1.0;
            Some((
                one.part.name().to_owned(),
                json!({ "iops": point.iops, "gain": gain, "case": case(kind) }),
            ))
        })
        .collect();
    let alone = point(PointKind::Alone)
        .map(|alone| json!({ "mean_ns": alone.mean_ns, "case": case(PointKind::Alone) }));
    let elasticity: Map<String, Value> =
        answer.elasticity.iter().map(|one| (one.part.name().to_owned(), rounded(one.elasticity))).collect();
    let busy: Map<String, Value> =
        answer.busy.iter().map(|one| (one.part.name().to_owned(), rounded(one.share))).collect();
    json!({
        "change": change,
        "iops": answer.iops,
        "iops_95": answer.iops_95,
        "links_bytes_per_s": answer.links_bytes_per_s,
        "closed_loop": answer.closed_loop,
        "bw_bytes_per_s": answer.bw_bytes_per_s,
        "latency_ns": answer.latency_ns,
        "read": answer.read_mean_ns.map(|mean| json!({ "latency_ns": { "mean": mean } })),
        "write": answer.write_mean_ns.map(|mean| json!({ "latency_ns": { "mean": mean } })),
        "limit": answer.limit,
        "elasticity": elasticity,
        "busy": busy,
        "validated": answer.validated,
        "model_error": answer.model_error,
        "sampling_95": answer.sampling,
        "latency_sampling_95": answer.latency_sampling,
        "is_steady": answer.is_steady,
        "drives_began_steady": answer.began_steady,
        "drives_preconditioned_by_load": answer.preconditioned_by_load,
        "read_caches_began_warm": answer.warm_caches.read,
        "write_caches_began_warm": answer.warm_caches.write,
        "counted_s": answer.counted_ns as f64 / 1e9,
        "case": case(PointKind::Own),
        "alone": alone,
        "more": more,
    })
}

/// Digits beyond the third are noise.
pub(crate) fn rounded(value: f64) -> Value {
    let rounded = (value * 1e3).round() / 1e3;
    json!(if rounded == 0.0 { 0.0 } else { rounded })
}

/// Answers for the original array, for each value of each change alone, and, where several keys change, for the last value
/// of all of them. `progress` is called with how many simulations have ended, and of how many, from several threads.
pub fn what_if(
    array: &Configuration,
    case: &Case,
    changes: &[Change],
    effort: &Effort,
    progress: &(dyn Fn(u64, u64) + Sync),
) -> Result<Vec<Row>, SizingError> {
    let mut configurations = vec![array.clone()];
    for change in changes {
        for value in &change.values {
            configurations.push(array.with(&change.key, value)?);
        }
    }
    if changes.len() > 1 {
        let last = changes.iter().filter_map(|change| Some((change.key.as_str(), change.values.last()?)));
        configurations.push(array.with_all(&last.collect::<Vec<_>>())?);
    }
    if configurations.len() > CONFIGURATIONS_LIMIT {
        return Err(SizingError::question(
            format!(
                "these are {} configurations, at most {CONFIGURATIONS_LIMIT} are compared",
                configurations.len()
            ),
            "give fewer values",
        ));
    }
    let questions: Vec<&Configuration> = configurations.iter().collect();
    let total: u64 = questions.iter().map(|one| simulations(one)).sum();
    let ended = AtomicU64::new(0);
    progress(0, total);
    let count = || progress(ended.fetch_add(1, Ordering::Relaxed) + 1, total);
    let answers = in_parallel(&questions, effort.threads, &|one| answer_counted(one, case, effort, &count));
    configurations
        .iter()
        .zip(answers)
        .map(|(configuration, answer)| Ok(Row { change: configuration.changed.clone(), answer: answer? }))
        .collect()
}

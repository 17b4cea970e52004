//! Answers recomputed from their cases: rates, latencies, ranges, gains of parts, limits.

use super::answers::{Answer, Answers};
use crate::answer_data::{Subject, error_differs, latency_ns, line_rate_iops, range};
use crate::run::{Case, Run};
use crate::{Findings, close};
use serde_json::Value;

/// Factor of a step from which a gain is taken.
const STEP: f64 = 1.25;
/// Half of the last digit of a figure that is rounded to three.
const ROUNDED: f64 = 0.000_501;
/// Share of a requested rate that counts as reached.
const RATE_REACHED: f64 = 0.98;
/// Elasticity from which a part limits.
const LIMITS: f64 = 0.1;
/// Share of the time for which a limiting part is busy at least, unless I/Os wait for one another.
const HALF: f64 = 0.5;
/// Share of the time for which a full part is busy.
const FULL: f64 = 0.9;
/// I/Os wait for one another where they take so many times as long as one alone.
const QUEUED: f64 = 2.0;

/// Exponent of a gain from one step.
pub fn exponent(gain: f64) -> f64 {
    gain.max(1e-9).ln() / STEP.ln()
}

/// Returns true if a figure that is rounded to three digits is the value.
pub fn is_rounded(reported: Option<f64>, value: f64) -> bool {
    reported.is_some_and(|reported| (reported - value).abs() <= ROUNDED)
}

/// Every answer of the run; and no case that none rests on.
pub fn check(found: &mut Findings, run: &Run, answers: &Answers<'_>) {
    if answers.rows.first().is_none_or(|first| first.own_name() != "as it is") {
        found.add("answers", "the first is not about the array as it is");
    }
    let mut cited: Vec<String> = Vec::new();
    for answer in answers.all() {
        let place = format!("answer {} ({})", answer.number, answer.name);
        let mut wrong = |what: String| found.add(&place, what);
        if answer.name != answer.own_name() {
            wrong(format!("its text is not about {} and its limit", answer.own_name()));
        }
        let mut cites = |path: &str| cited.push(path.to_owned());
        one(&mut wrong, &mut cites, run, answers, answer);
    }
    for case in &run.cases {
        if !cited.iter().any(|path| *path == format!("{}/{}", case.stage, case.name)) {
            found.add("answers", format!("no answer rests on {}/{}", case.stage, case.name));
        }
    }
}

/// The case at a path, where it is in that stage and has that change.
pub fn case_at<'a>(
    wrong: &mut dyn FnMut(String),
    run: &'a Run,
    path: &str,
    stage: &str,
    change: &str,
) -> Option<&'a Case> {
    let case = path.split_once('/').and_then(|(stage, name)| run.case(stage, name));
    let own = case.filter(|case| case.stage == stage && case.settings.get("change") == Some(&change.into()));
    if own.is_none() {
        wrong(format!("{path} is no case of {change} in {stage}"));
    }
    own
}

fn one(
    wrong: &mut dyn FnMut(String),
    cites: &mut dyn FnMut(&str),
    run: &Run,
    answers: &Answers<'_>,
    answer: &Answer<'_>,
) {
    let change = answer.case_change();
    let path = answer.text("case");
    cites(path);
    let Some(case) = case_at(wrong, run, path, answer.stage(), &change) else { return };
    let mut held = vec![
        ("iops".to_owned(), case.iops()),
        ("bw_bytes_per_s".to_owned(), case.bytes_per_s()),
        ("latency_ns.mean".to_owned(), latency_ns(case, "mean")),
        ("latency_ns.p99".to_owned(), latency_ns(case, "p99")),
    ];
    let mut metrics = Vec::new();
    for (side, name) in ["read", "write"].into_iter().enumerate() {
        if case.totals[side].ios > 0 {
            held.push((format!("{name}.latency_ns.mean"), latency_ns(case, &format!("{name}.mean"))));
            metrics.push(["read.latency_ns.mean", "write.latency_ns.mean"][side]);
        } else if !answer.data[name].is_null() {
            wrong(format!("{name} of a case without any"));
        }
    }
    let is_other =
        answer.is_step() || answer.data["change"].as_object().is_none_or(|change| !change.is_empty());
    let subject = Subject { array: answers.array(), is_other };
    let quantities = [
        ("iops", "iops", "iops_95", "sampling_95", vec!["iops"]),
        ("mean", "latency_ns.mean", "latency_ns.mean_95", "latency_sampling_95.mean", metrics),
        ("p99", "latency_ns.p99", "latency_ns.p99_95", "latency_sampling_95.p99", Vec::new()),
    ];
    for (name, value, ends, sampling, metrics) in quantities {
        let path = format!("model_error.{name}");
        if let Some(difference) = error_differs(run, answer.data, &path, &subject, &metrics) {
            wrong(difference);
        }
        let share = |path: &str| answer.value(path).unwrap_or(f64::NAN);
        let sampling_95 = share(sampling);
        if !(0.0..=1.0).contains(&sampling_95) {
            wrong(format!("{sampling} is {sampling_95}"));
        }
        let value = held.iter().find(|(path, _)| path == value).map_or(f64::NAN, |one| one.1);
        let [over, under] = ["over", "under"].map(|end| share(&format!("{path}.{end}")));
        let [mut low, mut high] = range(value, over, under, sampling_95);
        let most = line_rate_iops(answer.value("links_bytes_per_s"), case).max(case.iops());
        match name {
            "iops" => {
                let requested = answers.question["iops"].as_f64().unwrap_or(f64::INFINITY);
                high = high.min(most).min(requested.max(value));
            }
            "mean" if answer.data["closed_loop"] == true => low = low.max(value * case.iops() / most),
            _ => {}
        }
        held.extend([(format!("{ends}.0"), low), (format!("{ends}.1"), high)]);
    }
    for (path, recomputed) in held {
        let own = answer.value(&path);
        if !own.is_some_and(|own| close(own, recomputed)) {
            wrong(format!("{path} is {own:?}, recomputed {recomputed}"));
        }
    }
    if answer.text("validated") != answer.text("model_error.iops.validated") {
        wrong("its basis is not that of its rate".to_owned());
    }
    gains(wrong, cites, run, answer, case.iops());
    cites(answer.text("bottleneck.second.case"));
    let alone = answer.text("alone.case");
    cites(alone);
    if let Some(alone) = case_at(wrong, run, alone, "one-io", &change) {
        let mean_ns = latency_ns(alone, "mean");
        if !answer.value("alone.mean_ns").is_some_and(|own| close(own, mean_ns)) {
            wrong(format!(
                "one I/O alone takes {:?} ns, recomputed {mean_ns}",
                answer.value("alone.mean_ns")
            ));
        }
        let is_queued = latency_ns(case, "mean") >= QUEUED * mean_ns;
        // Busy shares are rounded: at the very edge either side is right.
        let edges = [-ROUNDED, ROUNDED];
        let expected = edges.map(|edge| limit(answer, answers.question, case.iops(), is_queued, edge));
        if !expected.contains(&answer.text("limit")) {
            wrong(format!("its limit is {}, its figures give {}", answer.text("limit"), expected[0]));
        }
    }
}

/// Gain from a quarter more of each part.
fn gains(
    wrong: &mut dyn FnMut(String),
    cites: &mut dyn FnMut(&str),
    run: &Run,
    answer: &Answer<'_>,
    iops: f64,
) {
    let parts: Vec<&String> = answer.fields("more").map(|(part, _)| part).collect();
    let elasticities: Vec<&String> = answer.fields("elasticity").map(|(part, _)| part).collect();
    if parts != elasticities {
        wrong(format!("elasticities of {elasticities:?}, gains of {parts:?}"));
    }
    for (part, more) in answer.fields("more") {
        let path = more["case"].as_str().unwrap_or_default();
        cites(path);
        let Some(case) = case_at(wrong, run, path, "more-of-a-part", &answer.case_change()) else { continue };
        if case.settings.get("part") != Some(&part.as_str().into()) || case.number("times") != Some(STEP) {
            wrong(format!("{path} is not of a quarter more of {part}"));
        }
        let gain = case.iops() / iops - 1.0;
        let own = |field: &str| more[field].as_f64();
        if !own("iops").is_some_and(|own| close(own, case.iops()))
            || !own("gain").is_some_and(|own| (own - gain).abs() < 1e-6)
        {
            wrong(format!("more {part} gives {more}, recomputed {} and {gain}", case.iops()));
        }
        let elasticity = exponent(case.iops() / iops);
        if !is_rounded(answer.value(&format!("elasticity.{part}")), elasticity) {
            wrong(format!("its elasticity of {part} is not {elasticity}"));
        }
    }
}

/// The limit that the figures of an answer give.
fn limit<'a>(answer: &Answer<'a>, question: &Value, iops: f64, is_queued: bool, edge: f64) -> &'a str {
    if question["iops"].as_f64().is_some_and(|requested| iops >= RATE_REACHED * requested) {
        return "rate";
    }
    // Elasticities are rounded, gains are not.
    let gains = answer.fields("more").filter_map(|(part, more)| Some((part, more["gain"].as_f64()?)));
    let most = gains.max_by(|a, b| a.1.total_cmp(&b.1));
    let busy = |part: &str| answer.value(&format!("busy.{part}"));
    if let Some((part, gain)) = most
        && exponent(gain + 1.0) >= LIMITS
        && (is_queued || busy(part).is_some_and(|share| share >= HALF + edge))
    {
        return part;
    }
    let busiest = answer
        .fields("busy")
        .filter_map(|(part, share)| Some((part, share.as_f64()?)))
        .max_by(|a, b| a.1.total_cmp(&b.1));
    match busiest {
        Some((part, share)) if share >= FULL + edge && most.is_none() => part,
        _ => "concurrency",
    }
}

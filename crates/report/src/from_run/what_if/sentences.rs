//! Answers in a sentence each.

use super::answer::{Answer, signed};
use crate::from_run::event_fields::EventFields;
use crate::from_run::percentile_words;
use findings::{Cited, Quantity, Unit, cited};

/// The array as it is, and each change beside it.
pub fn of_rows(question: &EventFields<'_>, rows: &[Answer<'_>]) -> Vec<Cited> {
    let Some((first, changed)) = rows.split_first() else { return Vec::new() };
    let own = before(question, first);
    own.into_iter().chain(changed.iter().filter_map(|row| after(first, row))).collect()
}

fn before(question: &EventFields<'_>, first: &Answer<'_>) -> Option<Cited> {
    let [low, high] = first.range("iops_95", Unit::Iops)?;
    Some(cited!(
        "{} as it is: {} ({} to {}), mean latency {}, {} {}; {}.",
        question.quote("array")?,
        first.iops()?.iops(),
        low.plain(0),
        high.plain(0),
        first.number("latency_ns.mean", Unit::Ns)?.latency(),
        percentile_words("p99"),
        first.number("latency_ns.p99", Unit::Ns)?.latency(),
        limit_words(first)
    ))
}

fn after(first: &Answer<'_>, row: &Answer<'_>) -> Option<Cited> {
    let latency = |answer: &Answer<'_>, path: &str| answer.number(path, Unit::Ns).map(Quantity::latency);
    let noise: Cited = match row.is_within_sampling_of(first) {
        true => ", no more than sampling gives".into(),
        false => Cited::default(),
    };
    Some(cited!(
        "With {}: {} ({}{}), mean latency {} instead of {}, {} {} instead of {}; {}.",
        row.change(),
        row.iops()?.iops(),
        row.gain_over(first).map_or_else(|| "nothing was done before".into(), signed),
        noise,
        latency(row, "latency_ns.mean")?,
        latency(first, "latency_ns.mean")?,
        percentile_words("p99"),
        latency(row, "latency_ns.p99")?,
        latency(first, "latency_ns.p99")?,
        limit_words(row)
    ))
}

/// The limit in words.
pub fn limit_words(answer: &Answer<'_>) -> Cited {
    match answer.text("limit") {
        Some("rate") => "the load asks for no more".into(),
        Some("concurrency") => "no part is full, more I/Os at once would do more".into(),
        Some(part) => cited!("limit: {}", Cited::words(part.to_owned())),
        None => "limit not known".into(),
    }
}

/// Each step of the walk from limit to limit.
pub fn of_steps(first: &Answer<'_>, steps: &[Answer<'_>]) -> Vec<Cited> {
    if steps.is_empty() {
        return vec![cited!(
            "A quarter more of no part gains anything worth a step: {}.",
            limit_words(first)
        )];
    }
    steps.iter().filter_map(step).collect()
}

fn step(step: &Answer<'_>) -> Option<Cited> {
    let before = step.number("bottleneck.iops_before", Unit::Iops)?;
    let whole = Quantity::constant("whole", 1.0);
    let gain = step.iops()?.over(&before).minus(&whole);
    let doubled = step.number("bottleneck.gain_of_doubling", Unit::Ratio)?.minus(&whole);
    Some(
        cited!(
            "{}: a quarter more gains {} (from {} to {}), twice as much {} (predicted); then {}.",
            Cited::words(step.text("bottleneck.part")?.to_owned()),
            gain.percent(),
            before.iops(),
            step.iops()?.iops(),
            doubled.percent(),
            limit_words(step)
        )
        .capitalised(),
    )
}

//! Table of an array's other properties: capacity, endurance, rebuild, price and power.

use super::answer::{Answer, Question};
use crate::model::{Column, Table};
use findings::{Cited, Quantity, Unit, cited};

/// Years beyond which a figure would say more than a rating does.
const YEARS_LIMIT: f64 = 100.0;

/// A row for each property that the answers have, or lack for a reason.
pub fn table(id: &str, question: &Question<'_>, answers: &[&Answer<'_>]) -> Table {
    let name = answers.first().map(|answer| answer.cited_name()).unwrap_or_default();
    let found = [
        Some(("Usable capacity", capacity(answers))),
        Some(("Full", full(question, answers))),
        amplification(answers).map(|value| ("Write amplification", value)),
        Some(("Endurance", endurance(question, answers))),
        rebuild(answers).map(|value| ("Rebuild of a drive", value)),
        Some(("Drives", first(answers, "drives", Unit::Count).map_or_else(unknown, |count| count.plain(0)))),
        Some(("Price", sum(answers, "cost", "without_price", " USD"))),
        Some(("Power", sum(answers, "watts", "without_watts", " W"))),
    ];
    Table {
        id: format!("{id}-properties"),
        caption: cited!("Capacity, endurance, rebuild, price and power of {}", name),
        columns: vec![Column::words("Property"), Column::words("Value")],
        rows: found.into_iter().flatten().map(|(name, value)| vec![name.into(), value]).collect(),
    }
}

fn unknown() -> Cited {
    "not known".into()
}

/// Of the first state that has it, which is the healthy one as a rule.
fn first(answers: &[&Answer<'_>], path: &str, unit: Unit) -> Option<Quantity> {
    answers.iter().find_map(|answer| answer.number(path, unit))
}

fn capacity(answers: &[&Answer<'_>]) -> Cited {
    let usable = first(answers, "usable_bytes", Unit::Bytes);
    usable.map_or_else(unknown, |bytes| cited!("{} after spares, parity and reduction", bytes.gigabytes()))
}

fn full(question: &Question<'_>, answers: &[&Answer<'_>]) -> Cited {
    let Some(stored) = question.number("capacity_bytes", Unit::Bytes) else {
        return "not known: the workload does not say what it stores".into();
    };
    let stored = stored.gigabytes();
    match (first(answers, "full_in_year", Unit::Count), question.number("growth.years", Unit::Count)) {
        (Some(year), _) if year.value() <= 1.0 => {
            cited!("within the first year of growth ({} stored now)", stored)
        }
        (Some(year), _) => cited!("after {} ({} stored now)", question.before_year(&year), stored),
        (None, Some(years)) => cited!("not until {} ({} stored now)", question.after_years(years), stored),
        (None, None) => cited!("no growth was given ({} stored)", stored),
    }
}

fn amplification(answers: &[&Answer<'_>]) -> Option<Cited> {
    let times = first(answers, "write_amplification", Unit::Count)?;
    let flash = first(answers, "flash_write_amplification", Unit::Count);
    let flash =
        flash.map_or_else(Cited::default, |flash| cited!("; within the drives {} times", flash.plain(2)));
    Some(cited!("{} bytes to the drives for each byte written{}", times.plain(2), flash))
}

fn endurance(question: &Question<'_>, answers: &[&Answer<'_>]) -> Cited {
    let Some(years) = first(answers, "endurance_years", Unit::Count) else {
        return "not known: nothing is written, or the drives have no rating".into();
    };
    let condition = match question.field("written_bytes_per_day") {
        Some(_) => "by what the workload writes in a day",
        None => "if the workload wrote at its peak rate all day",
    };
    if years.value() > YEARS_LIMIT {
        return cited!("over a century, {}", Cited::from(condition));
    }
    cited!("{} years, {}", years.plain(1), Cited::from(condition))
}

/// As simulated beside the load where that state was looked at.
fn rebuild(answers: &[&Answer<'_>]) -> Option<Cited> {
    let simulated =
        answers.iter().find(|answer| answer.state() == "rebuilding" && answer.text("because").is_some());
    let of = |answer: &&&Answer<'_>| answer.number("rebuild_s", Unit::S);
    let (seconds, how) = match simulated.filter(|answer| answer.field("at_peak").is_some()) {
        Some(answer) => (of(&answer)?, "beside this load, as simulated"),
        None => (first(answers, "rebuild_s", Unit::S)?, "at the described rate, without load"),
    };
    Some(cited!("{} {}", seconds.duration(), Cited::from(how)))
}

/// A sum over all parts, or the parts that leave it unknown.
fn sum(answers: &[&Answer<'_>], path: &str, without: &str, unit: &'static str) -> Cited {
    if let Some(value) = first(answers, path, Unit::Count) {
        return cited!("{}{}", value.plain(0), Cited::from(unit));
    }
    let paths = answers.iter().find_map(|answer| {
        let count = answer.field(without)?.as_array()?.len();
        let quotes = (0..count).filter_map(|place| answer.quote(&format!("{without}.{place}")));
        Some(Cited::join(quotes, ", "))
    });
    match paths.filter(|paths| !paths.is_empty()) {
        Some(paths) => cited!("not known: no figure for {}", paths),
        None => unknown(),
    }
}

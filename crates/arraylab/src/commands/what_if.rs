//! `what-if`: effect of changes of an array, and its bottlenecks one after the other.

use crate::cli::WhatIfArgs;
use crate::failure::Failure;
use crate::output::{print, print_json_lines, print_notice, write_answers};
use crate::progress::{TICK, counting_bar};
use crate::table::{Align, render};
use indicatif::ProgressBar;
use sizing::{
    Answer, Bottleneck, Bottlenecks, Change, Configuration, Effort, LoadSource, Row, SizingError, Validated,
    WarmCaches,
};
use std::process::ExitCode;
use units::{human_bandwidth, human_duration, human_latency, human_rate};

impl From<SizingError> for Failure {
    fn from(error: SizingError) -> Failure {
        match error {
            SizingError::Campaign(error) => error.into(),
            SizingError::Store(error) => error.into(),
            other => Failure::Refused(Box::new(other)),
        }
    }
}

/// `arraylab what-if`
pub fn what_if(arguments: &WhatIfArgs) -> Result<ExitCode, Failure> {
    let array = Configuration::load(&arguments.array)?;
    let load = LoadSource::read(&arguments.load)?;
    for left_out in &load.not_carried {
        print_notice(&format!("warning: {left_out}"));
    }
    let changes: Vec<Change> =
        arguments.change.iter().map(|text| Change::parse(text)).collect::<Result<_, _>>()?;
    if let Some(directory) = &arguments.out {
        campaign::check_free(directory, "choose another directory with --out")?;
    }
    let effort = Effort { seeds: arguments.seeds, ..Effort::default() };
    let bar = counting_bar(0);
    let rows = sizing::what_if(&array, &load.case, &changes, &effort, &|ended, total| {
        bar.set_length(total);
        bar.set_position(ended);
    });
    bar.finish_and_clear();
    let rows = rows?;
    let walk = match arguments.find_bottleneck {
        true => Some(walk(&array, &load, &rows, &effort)?),
        false => None,
    };
    let lines = || rows.iter().map(Row::json).chain(walk.iter().flatten().map(Bottleneck::json));
    let text = page(&array, &load, &rows, walk.as_deref());
    if let Some(directory) = &arguments.out {
        let command_line: Vec<String> = std::env::args().collect();
        sizing::keep_what_if_run(directory, &array, &load, &rows, walk.as_deref(), &command_line)?;
        write_answers(directory, "what-if", lines(), &text)?;
    }
    if arguments.json {
        print_json_lines(lines())?;
    } else {
        print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Bottlenecks one after the other; nobody knows how many there will be.
fn walk(
    array: &Configuration,
    load: &LoadSource,
    rows: &[Row],
    effort: &Effort,
) -> Result<Vec<Bottleneck>, SizingError> {
    let spinner = ProgressBar::new_spinner().with_message("looking for the first bottleneck");
    spinner.enable_steady_tick(TICK);
    let steps = Bottlenecks::new(array, &rows[0].answer, &load.case, effort).inspect(|step| {
        if let Ok(step) = step {
            spinner.set_message(format!("looking for the bottleneck after {}", step.part.name()));
        }
    });
    let steps = steps.collect();
    spinner.finish_and_clear();
    steps
}

fn page(array: &Configuration, load: &LoadSource, rows: &[Row], walk: Option<&[Bottleneck]>) -> String {
    let mut text = format!("{}\n", array.description.title);
    text.push_str(&format!("load: {}\n\n", load.text));
    text.push_str(&effect_table(rows));
    text.push_str("\nRate gained by 1 % more of a part, in percent\n");
    text.push_str(&elasticity_table(rows));
    if let Some(steps) = walk {
        text.push_str("\nBottlenecks: a quarter more of the part that limits, step by step\n");
        text.push_str(&walk_table(&rows[0].answer, steps));
    }
    for note in notes(rows) {
        text.push_str(&format!("\n{note}"));
    }
    text.push('\n');
    text
}

/// Width of the longest bar.
const BAR: f64 = 20.0;

fn effect_table(rows: &[Row]) -> String {
    let first = &rows[0].answer;
    let most = rows.iter().map(|row| row.answer.iops).fold(1.0, f64::max);
    let table: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let answer = &row.answer;
            let [low, high] = answer.iops_95;
            vec![
                row.change_text(),
                human_rate(answer.iops),
                format!("{} to {}", human_rate(low), human_rate(high)),
                gain(answer.iops / first.iops.max(f64::MIN_POSITIVE)),
                human_bandwidth(answer.bw_bytes_per_s),
                human_latency(answer.latency_ns.mean),
                human_latency(answer.latency_ns.p99 as f64),
                answer.limit.clone(),
                "#".repeat((answer.iops / most * BAR).round() as usize),
            ]
        })
        .collect();
    let columns = [
        ("change", Align::Left),
        ("IOPS", Align::Right),
        ("range (95 %)", Align::Right),
        ("gain", Align::Right),
        ("bandwidth", Align::Right),
        ("mean", Align::Right),
        ("p99", Align::Right),
        ("limit", Align::Left),
        ("IOPS", Align::Left),
    ];
    render(&columns, &table)
}

/// A value with two decimals; what rounds to zero has no sign.
fn two_decimals(value: f64) -> String {
    let text = format!("{value:.2}");
    if text == "-0.00" { "0.00".to_owned() } else { text }
}

/// So many times as a change in whole percent; what rounds to zero has the sign of the first row's.
fn gain(times: f64) -> String {
    let text = format!("{:+.0} %", (times - 1.0) * 100.0);
    if text == "-0 %" { "+0 %".to_owned() } else { text }
}

fn elasticity_table(rows: &[Row]) -> String {
    let parts: Vec<&str> = rows[0].answer.elasticity.iter().map(|one| one.part.name()).collect();
    let table: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            let of = |part: &&str| {
                let one = row.answer.elasticity.iter().find(|one| one.part.name() == *part);
                one.map_or_else(|| "-".to_owned(), |one| two_decimals(one.elasticity))
            };
            std::iter::once(row.change_text()).chain(parts.iter().map(of)).collect()
        })
        .collect();
    let columns: Vec<(&str, Align)> = std::iter::once(("change", Align::Left))
        .chain(parts.iter().map(|part| (*part, Align::Right)))
        .collect();
    render(&columns, &table)
}

fn walk_table(first: &Answer, steps: &[Bottleneck]) -> String {
    if steps.is_empty() {
        return format!("  no part gains anything: the limit is `{}`\n", first.limit);
    }
    let table: Vec<Vec<String>> = steps
        .iter()
        .map(|step| {
            vec![
                step.part.name().to_owned(),
                format!("{:.2}", step.factors.get(&step.part).copied().unwrap_or(1.0)),
                human_rate(step.answer.iops),
                gain(step.answer.iops / step.iops_before),
                gain(step.doubled),
                step.answer.limit.clone(),
            ]
        })
        .collect();
    let columns = [
        ("part", Align::Left),
        ("times of it", Align::Right),
        ("IOPS", Align::Right),
        ("gain", Align::Right),
        ("gain of doubling it", Align::Right),
        ("limit then", Align::Left),
    ];
    render(&columns, &table)
}

/// Basis of the ranges, and reservations.
fn notes(rows: &[Row]) -> Vec<String> {
    let first = &rows[0].answer;
    let basis = match first.validated {
        Validated::Unseen => {
            "Ranges: the worst error on published rows that no fit has seen; twice that for a changed array."
        }
        Validated::Fitted => {
            "Ranges: the worst error on the rows that the array was fitted to; twice that for a changed array."
        }
        Validated::Assumed => {
            "Ranges: half to twice of what was simulated. No published row validates this array: its parts are assumed. Do not sign on this."
        }
    };
    let mut notes = vec![basis.to_owned()];
    if rows.iter().any(|row| row.answer.links_bytes_per_s.is_some()) {
        notes.push("Ranges of rates end at the line rate of the links.".into());
    }
    notes.push("No published row has percentiles: p99 may be half or twice as long.".into());
    for (by_load, text) in [
        (false, "Drives begin as after hours of random writes; --change condition=fresh shows new ones."),
        (
            true,
            "Drives begin as after many passes of these writes; --change condition=steady shows them after random writes all over.",
        ),
    ] {
        let began = |row: &Row| row.answer.began_steady && row.answer.preconditioned_by_load == by_load;
        if rows.iter().any(began) {
            notes.push(text.into());
        }
    }
    let any_warm = |of: fn(WarmCaches) -> bool| rows.iter().any(|row| of(row.answer.warm_caches));
    let warm = match (any_warm(|warm| warm.read), any_warm(|warm| warm.write)) {
        (true, true) => "Read and write caches",
        (true, false) => "Read caches",
        (false, true) => "Write caches",
        (false, false) => "",
    };
    if !warm.is_empty() {
        notes.push(format!("{warm} begin as after hours of the load; `arraylab run` shows how they fill."));
    }
    for row in rows.iter().filter(|row| !row.answer.is_steady) {
        notes.push(format!(
            "{}: the level still changed, or a cache still filled, when the simulation ended ({} counted).",
            row.change_text(),
            human_duration(row.answer.counted_ns)
        ));
    }
    notes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a loss too small to be printed is not printed as a minus before zero.
    #[test]
    fn zeros_have_no_minus() {
        assert_eq!([-0.004, -0.0, 0.004, -0.006].map(two_decimals), ["0.00", "0.00", "0.00", "-0.01"]);
        assert_eq!([0.996, 1.0, 1.004, 0.99].map(gain), ["+0 %", "+0 %", "+0 %", "-1 %"]);
    }
}

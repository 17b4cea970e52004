//! `size`: arrays for a workload.

use crate::cli::SizeArgs;
use crate::failure::Failure;
use crate::output::{print, print_json_lines, print_notice, write_answers};
use crate::progress::counting_bar;
use crate::table::{Align, render};
use sizing::{
    Axis, Configuration, Effort, Growth, LeftOut, LoadSource, Requirement, SizeQuestion, SizeRow,
    SizeVerdict, State, Validated,
};
use std::process::ExitCode;
use units::{human_bytes, human_count, human_duration, human_latency, human_rate};

/// I/Os of a point: a search takes a dozen of them in each state.
const EFFORT: Effort = Effort { ios: 150_000, most_ios: 1_500_000, ..Effort::FULL };

/// Designs that are described one by one.
const DESCRIBED_LIMIT: usize = 8;

/// Designs of a space that are all looked at; of a larger one those that can be on the Pareto front.
const EXHAUSTIVE_LIMIT: usize = 32;

/// Impossible designs that are named.
const NAMED_LIMIT: usize = 5;

/// `arraylab size`
pub fn size(arguments: &SizeArgs) -> Result<ExitCode, Failure> {
    let load = LoadSource::read(&arguments.workload)?;
    load.check_rate()?;
    for left_out in &load.not_carried {
        print_notice(&format!("warning: {left_out}"));
    }
    let requirements: Vec<Requirement> =
        arguments.require.iter().map(|text| Requirement::parse(text)).collect::<Result<_, _>>()?;
    let space: Vec<Axis> = arguments.space.iter().map(|text| Axis::parse(text)).collect::<Result<_, _>>()?;
    let arrays: Vec<Configuration> =
        arguments.array.iter().map(|name| Configuration::load(name)).collect::<Result<_, _>>()?;
    let mut states: Vec<State> = arguments.state.iter().filter_map(|name| State::named(name)).collect();
    if states.is_empty() {
        states = if space.is_empty() { State::of_arrays(&arrays) } else { vec![State::Healthy] };
    }
    let question = SizeQuestion {
        case: load.case.clone(),
        capacity_bytes: load.capacity_bytes,
        written_bytes_per_day: load.written_bytes_per_day,
        requirements,
        growth: arguments.growth.as_deref().map(Growth::parse).transpose()?,
        states,
        effort: Effort { seeds: arguments.seeds, ..EFFORT },
    };
    let mut designs = Vec::new();
    for (name, array) in arguments.array.iter().zip(&arrays) {
        let (possible, refused) = sizing::designs(array, &space)?;
        for reason in refused.iter().take(NAMED_LIMIT) {
            print_notice(&format!("left out: {name} {reason}"));
        }
        if refused.len() > NAMED_LIMIT {
            let others = human_count((refused.len() - NAMED_LIMIT) as u64, "other design");
            print_notice(&format!("left out: {name}, {others} that no array can have"));
        }
        designs.extend(possible);
    }
    if let Some(directory) = &arguments.out {
        campaign::check_free(directory, "choose another directory with --out")?;
    }
    let designs_text = human_count(designs.len() as u64, "design");
    print_notice(&format!("{designs_text}, {} each", human_count(question.states.len() as u64, "state")));
    let bar = counting_bar((designs.len() * question.states.len()) as u64);
    let is_pruned = !space.is_empty() && designs.len() > EXHAUSTIVE_LIMIT && !arguments.exhaustive;
    let search = if is_pruned { sizing::size_front } else { sizing::size };
    let rows = search(&designs, &question, &|| bar.inc(1));
    bar.finish_and_clear();
    let rows = rows?;
    let text = page(&rows, &question, &load);
    if let Some(directory) = &arguments.out {
        let command_line: Vec<String> = std::env::args().collect();
        sizing::keep_size_run(directory, &arrays, &load, &question, &rows, &command_line)?;
        write_answers(directory, "size", rows.iter().map(SizeRow::json), &text)?;
    }
    if arguments.json {
        print_json_lines(rows.iter().map(SizeRow::json))?;
    } else {
        print(&text)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn page(rows: &[SizeRow], question: &SizeQuestion, load: &LoadSource) -> String {
    let required: Vec<String> = question.requirements.iter().map(ToString::to_string).collect();
    let mut text = format!("workload: {}; required: {}\n\n", load.text, required.join(", "));
    let mut names: Vec<String> = rows.iter().map(SizeRow::name).collect();
    names.dedup();
    // A space is read as a table, a few arrays by their sentences.
    if names.len() <= DESCRIBED_LIMIT {
        for name in &names {
            let own: Vec<&SizeRow> = rows.iter().filter(|row| row.name() == *name).collect();
            text.push_str(&format!("{}\n", sentence(name, &own, question)));
        }
        text.push('\n');
    }
    let is_shown = |row: &&SizeRow| row.left_out.is_none();
    text.push_str(&table(&rows.iter().filter(is_shown).collect::<Vec<_>>()));
    text.push('\n');
    text.push_str(&left_out_text(rows, names.len()));
    if names.len() <= DESCRIBED_LIMIT {
        text.push_str(&offer_table(rows));
        text.push('\n');
        if question.written_bytes_per_day.is_none() && rows.iter().any(|row| row.endurance_years.is_some()) {
            text.push_str("Endurance: as if the workload wrote at its rate all day.\n");
        }
    }
    text.push_str(&missing_prices(rows));
    text.push_str(&format!("{}\n", basis(rows)));
    if rows.iter().any(|row| row.links_bytes_per_s.is_some()) {
        text.push_str("Ranges of headroom end at the line rate of the links.\n");
    }
    let reasons: Vec<String> = rows
        .iter()
        .filter(|row| row.left_out.is_none())
        .filter(|row| {
            row.headroom.is_none() || row.verdict == SizeVerdict::NotShown || row.headroom == Some(0.0)
        })
        .filter(|row| !row.because.is_empty())
        .map(|row| format!("{}, {}: {}", row.name(), row.state.name(), row.because))
        .collect();
    for reason in reasons {
        text.push_str(&format!("{reason}\n"));
    }
    text
}

/// Verdict about one design: healthy first, then the other states.
fn sentence(name: &str, rows: &[&SizeRow], question: &SizeQuestion) -> String {
    let states = |verdict: SizeVerdict| -> Vec<&str> {
        rows.iter()
            .filter(|row| row.verdict == verdict && row.state != State::Healthy)
            .map(|row| row.state.name())
            .collect()
    };
    let healthy = rows.iter().find(|row| row.state == State::Healthy);
    let mut text = match healthy {
        Some(row) => format!("{name} {} the load", verb(row.verdict)),
        None => format!("{name}, without a look at its healthy state"),
    };
    if let Some((row, growth)) = healthy.copied().zip(question.growth)
        && row.verdict == SizeVerdict::Meets
    {
        text.push_str(&match row.breaks_in_year {
            Some(1) => ", but breaks in the first year of growth".to_owned(),
            Some(year) => format!(" until {}", end_of_year(year - 1)),
            None => {
                let years = human_count(u64::from(growth.years), "year");
                format!(" through {years} of growth, until {}", end_of_year(growth.years))
            }
        });
    }
    let also = [
        (SizeVerdict::Meets, "meets it"),
        (SizeVerdict::TooCloseToCall, "too close to call"),
        (SizeVerdict::Fails, "fails"),
        (SizeVerdict::NotShown, "not shown"),
        (SizeVerdict::NotModelled, "not modelled"),
    ];
    for (verdict, words) in also {
        let named = states(verdict);
        if !named.is_empty() {
            text.push_str(&format!("; {words}: {}", named.join(", ")));
        }
    }
    text.push('.');
    text
}

/// End of a year of growth, the first of which begins today: `2028 (end of year 2)`.
fn end_of_year(year: u32) -> String {
    match store::current_year() {
        Some(current) => format!("{} (end of year {year})", current + year),
        None => format!("the end of year {year}"),
    }
}

/// A year of growth that does not end well: `3 (after 2028)`.
fn during_year(year: u32) -> String {
    match store::current_year() {
        Some(current) => format!("{year} (after {})", current + year - 1),
        None => year.to_string(),
    }
}

fn verb(verdict: SizeVerdict) -> &'static str {
    match verdict {
        SizeVerdict::Meets => "meets",
        SizeVerdict::TooCloseToCall => "is too close to call for",
        SizeVerdict::Fails => "fails",
        SizeVerdict::NotShown => "is not shown to meet",
        SizeVerdict::NotModelled => "is not modelled for",
    }
}

/// Describes the number of designs left out, with the reasons.
fn left_out_text(rows: &[SizeRow], designs: usize) -> String {
    let count = |by: LeftOut| {
        let mut names: Vec<String> =
            rows.iter().filter(|row| row.left_out == Some(by)).map(SizeRow::name).collect();
        names.dedup();
        names.len()
    };
    let grounds = [
        (count(LeftOut::Arithmetic), "by their ceilings"),
        (count(LeftOut::Comparison), "beside a design whose parts are no slower"),
        (count(LeftOut::Simulation), "by one simulated point"),
    ];
    let sum: usize = grounds.iter().map(|(count, _)| count).sum();
    if sum == 0 {
        return String::new();
    }
    let texts: Vec<String> = grounds
        .iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, words)| format!("{count} {words}"))
        .collect();
    format!(
        "{sum} of {designs} designs left out: one that costs no more carries as much ({}). --json has them with their \
         reasons, --exhaustive looks at all.\n",
        texts.join(", ")
    )
}

fn table(rows: &[&SizeRow]) -> String {
    let table: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            // Where all multiples that were tried were carried, nothing is known of the upper end.
            let is_all = row.carries_all();
            let at_least = if is_all { "≥ " } else { "" };
            let range = |[low, high]: [f64; 2]| {
                if is_all { format!("≥ {low:.2}") } else { format!("{low:.2} to {high:.2}") }
            };
            let peak =
                row.points.iter().min_by(|a, b| (a.times - 1.0).abs().total_cmp(&(b.times - 1.0).abs()));
            vec![
                row.name(),
                row.state.name().to_owned(),
                row.verdict.name().to_owned(),
                row.headroom.map_or_else(|| "-".into(), |found| format!("{at_least}{found:.2}")),
                row.headroom_95.map_or_else(|| "-".into(), range),
                row.breaks_in_year.map_or_else(|| "-".into(), during_year),
                peak.map_or_else(|| "-".into(), |point| human_rate(point.iops)),
                peak.map_or_else(|| "-".into(), |point| human_latency(point.p99_ns as f64)),
                row.usable_bytes.map_or_else(|| "-".into(), human_bytes),
                row.drives.map_or_else(|| "-".into(), |drives| drives.to_string()),
                row.cost_usd().map_or_else(|| "-".into(), |price| format!("{price:.0}")),
                if row.pareto { "yes".into() } else { String::new() },
            ]
        })
        .collect();
    let columns = [
        ("array", Align::Left),
        ("state", Align::Left),
        ("verdict", Align::Left),
        ("headroom", Align::Right),
        ("range (95 %)", Align::Right),
        ("breaks in year", Align::Right),
        ("IOPS at the load", Align::Right),
        ("p99", Align::Right),
        ("usable", Align::Right),
        ("drives", Align::Right),
        ("price (USD)", Align::Right),
        ("Pareto", Align::Left),
    ];
    render(&columns, &table)
}

/// Lists the other properties of each design beside its headroom: a row a design, of the state in which it was seen.
fn offer_table(rows: &[SizeRow]) -> String {
    let none = || "-".to_owned();
    let mut table: Vec<Vec<String>> = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    for row in rows {
        let name = row.name();
        if seen.contains(&name) {
            continue;
        }
        let own = || rows.iter().filter(|other| other.name() == name);
        let rebuilt = own().find(|row| row.state == State::Rebuilding).unwrap_or(row);
        // Of the first state that has them, which is the healthy one as a rule.
        let amplification = own().find_map(|row| row.write_amplification);
        let years = own().find_map(|row| row.endurance_years);
        table.push(vec![
            name.clone(),
            row.usable_bytes.map_or_else(none, human_bytes),
            row.full_in_year.map_or_else(none, during_year),
            row.cost_usd().map_or_else(none, |price| format!("{price:.0}")),
            row.bill.as_ref().and_then(|bill| bill.watts).map_or_else(none, |watts| format!("{watts:.0}")),
            amplification.map_or_else(none, |times| format!("{times:.2}")),
            years.map_or_else(none, years_text),
            rebuilt.rebuild_s.map_or_else(none, |seconds| human_duration((seconds * 1e9) as u64)),
        ]);
        seen.push(name);
    }
    let columns = [
        ("array", Align::Left),
        ("usable", Align::Right),
        ("full in year", Align::Right),
        ("price (USD)", Align::Right),
        ("watts", Align::Right),
        ("write amplification", Align::Right),
        ("endurance", Align::Right),
        ("rebuild of a drive", Align::Right),
    ];
    render(&columns, &table)
}

/// Endurance; beyond a century a figure would say more than a rating does.
fn years_text(years: f64) -> String {
    if years > 100.0 { "over 100 years".into() } else { format!("{years:.1} years") }
}

/// Lists the parts without a price, which leave the total unknown, and the criteria of the Pareto front.
fn missing_prices(rows: &[SizeRow]) -> String {
    let mut without: Vec<&str> = Vec::new();
    for path in rows.iter().filter_map(|row| row.bill.as_ref()).flat_map(|bill| &bill.without_price) {
        if !without.contains(&path.as_str()) {
            without.push(path);
        }
    }
    match without[..] {
        [] => String::new(),
        _ => format!(
            "Price not known: {} without `price_usd`; the Pareto front is over the number of drives.\n",
            without.join(", ")
        ),
    }
}

fn basis(rows: &[SizeRow]) -> &'static str {
    match rows.iter().map(|row| row.validated).max_by_key(|validated| match validated {
        Validated::Unseen => 0,
        Validated::Fitted => 1,
        Validated::Assumed => 2,
    }) {
        Some(Validated::Unseen) => {
            "Basis: published rows that no fit has seen; percentiles are in none of them and may be half or twice as long."
        }
        Some(Validated::Fitted) => {
            "Basis: rows that the arrays were fitted to, twice their error where an array was changed; percentiles may be half or twice as long."
        }
        _ => {
            "Basis: assumed parts; no published row validates them. Ranges are half to twice of what is simulated: do not sign on this."
        }
    }
}

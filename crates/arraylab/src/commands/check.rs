//! `check`, `parts`: an array's values with their origins, and what follows from them by arithmetic.

use crate::cli::{CheckArgs, PartsArgs};
use crate::failure::Failure;
use crate::output::{print, print_json_lines};
use crate::table::{Align, render};
use array::{Array, BLOCK_SIZES, Capacity, Ceiling, Key, Parameter, SetBy, Warning};
use diagnostic::Problem;
use serde_json::json;
use std::process::ExitCode;
use units::{human_bandwidth, human_bytes, human_duration, human_rate};

/// `arraylab check`
pub fn check(arguments: &CheckArgs) -> Result<ExitCode, Failure> {
    let loaded = plan::load_array(&arguments.array)?;
    let array = &*loaded.description.parts;
    if arguments.json {
        print_json_lines([plan::array_check(&loaded.name, array)])?;
    } else {
        let (sets, _) = array::sets(array);
        let capacities = array::capacity(array, &sets);
        let ceilings = array::ceilings(array, &sets);
        let warnings = array::warnings(array, &sets, &ceilings);
        print(&as_text(array, &capacities, &ceilings, &warnings))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `arraylab parts`
pub fn parts(arguments: &PartsArgs) -> Result<ExitCode, Failure> {
    let mut parts = plan::shipped_parts();
    if let Some(kind) = &arguments.kind {
        let mut kinds: Vec<&str> = parts.iter().map(|part| part.kind).collect();
        kinds.dedup();
        if !kinds.contains(&kind.as_str()) {
            let hint = plan::did_you_mean(kind, kinds.iter().copied())
                .unwrap_or_else(|| format!("there are {}", kinds.join(", ")));
            let problem = Problem::new(format!("there is no kind of part `{kind}`"));
            return Err(Failure::refused(problem.with_hint(hint)));
        }
        parts.retain(|part| part.kind == kind);
    }
    if arguments.json {
        print_json_lines(parts.iter().map(|part| {
            json!({ "name": part.name, "kind": part.kind, "from": file_of(part), "title": part.title })
        }))?;
    } else {
        let row = |part: &plan::ShippedPart| {
            vec![part.kind.to_owned(), part.name.to_owned(), part.title.to_owned()]
        };
        let rows: Vec<Vec<String>> = parts.iter().map(row).collect();
        let columns = [("kind", Align::Left), ("name", Align::Left), ("what it is", Align::Left)];
        print(&render(&columns, &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// The file of a part in the sources, which says where each of its figures is from.
fn file_of(part: &plan::ShippedPart) -> String {
    format!("parts/{}/{}.yaml", part.kind, part.name)
}

/// Text of a part: its file, and below it the values that it leaves to the defaults.
pub fn part_text(name: &str) -> Result<String, Failure> {
    let parts = plan::shipped_parts();
    let found = parts.iter().find(|part| part.name == name || format!("{}/{}", part.kind, part.name) == name);
    let Some(part) = found else {
        let hint = plan::did_you_mean(name, parts.iter().map(|part| part.name)).unwrap_or_default();
        let problem = Problem::new(format!("there is no part `{name}`"));
        return Err(Failure::refused(problem.with_hint(hint)));
    };
    let values = plan::part_values(part.kind, part.name)?;
    let mut text = format!("# {}\n{}", file_of(part), part.text);
    let defaults: Vec<&(&Key, Parameter)> =
        values.iter().filter(|(_, value)| value.set_by == SetBy::Default).collect();
    if !defaults.is_empty() {
        text.push_str("# Defaults of the language, where the part says nothing:\n");
        for (key, value) in defaults {
            text.push_str(&format!("# {}: {}  # {}\n", key.name, value.text, key.help));
        }
    }
    Ok(text)
}

/// Describes the source of a value.
fn source_of(value: &Parameter) -> String {
    let set_by = match &value.set_by {
        SetBy::Array => "this array".to_owned(),
        SetBy::Part(name) => format!("part {name}"),
        SetBy::Default => "default".to_owned(),
    };
    match (value.from.as_str(), &value.set_by) {
        ("", _) | (_, SetBy::Default) => set_by,
        (from, _) => format!("{set_by}: {from}"),
    }
}

fn as_text(array: &Array, capacities: &[Capacity], ceilings: &[Ceiling], warnings: &[Warning]) -> String {
    let mut text = format!("{}\n", array.title);
    if !array.about.is_empty() {
        text.push_str(&format!("{}\n", array.about));
    }
    text.push_str("\nCapacity\n");
    text.push_str(&capacity_table(capacities));
    let bill = array::bill(array);
    for (noun, sum, unit) in [("Price", bill.price_usd, "USD"), ("Power", bill.watts, "W")] {
        if let Some(sum) = sum {
            text.push_str(&format!("\n{noun} of all parts: {sum:.0} {unit}\n"));
        }
    }
    for rated in array::rated_writes(array) {
        let (Some(each), Some(all)) = (rated.drive_bytes, rated.bytes()) else { continue };
        text.push_str(&format!(
            "\nRated writes of `{}`: {:.3} PB for each of {} drives, {:.3} PB in all\n",
            rated.group,
            each / 1e15,
            rated.drives,
            all / 1e15
        ));
    }
    let mut seen: Vec<&str> = Vec::new();
    for ceiling in ceilings {
        if !seen.contains(&ceiling.on.as_str()) {
            seen.push(&ceiling.on);
            text.push_str(&format!(
                "\nCeilings of `{}`: random I/Os a second at most, nothing cached, no garbage collection\n",
                ceiling.on
            ));
            text.push_str(&ceiling_table(&ceiling.on, ceilings));
        }
    }
    let assumed =
        array.sections().iter().flat_map(|(_, _, values)| values.clone()).filter(is_assumed).count();
    let all = array.sections().iter().map(|(_, keys, _)| keys.len()).sum::<usize>();
    text.push_str(&format!("\nValues ({assumed} of {all} are assumed)\n"));
    text.push_str(&value_table(array, |_| true));
    if !warnings.is_empty() {
        text.push_str("\nWarnings\n");
        for warning in warnings {
            text.push_str(&format!("  {}: {}\n", warning.path, warning.message));
        }
    }
    text
}

fn is_assumed(value: &&Parameter) -> bool {
    value.origin == array::Origin::Assumed
}

fn capacity_table(capacities: &[Capacity]) -> String {
    let row = |capacity: &Capacity| {
        vec![
            capacity.name.clone(),
            capacity.drives.to_string(),
            human_bytes(capacity.raw_bytes),
            human_bytes(capacity.usable_bytes),
            format!("{:.0} %", capacity.usable_bytes as f64 / capacity.raw_bytes.max(1) as f64 * 100.0),
            capacity.over_provisioning.map_or_else(|| "-".into(), |share| format!("{:.0} %", share * 100.0)),
            capacity.rebuild_ns.map_or_else(|| "never".into(), human_duration),
        ]
    };
    let columns = [
        ("group or pool", Align::Left),
        ("drives", Align::Right),
        ("raw", Align::Right),
        ("usable", Align::Right),
        ("of raw", Align::Right),
        ("spare flash", Align::Right),
        ("rebuild of a drive", Align::Right),
    ];
    render(&columns, &capacities.iter().map(row).collect::<Vec<_>>())
}

/// Rows of parts, columns of loads; the last row says which part is the bottleneck.
fn ceiling_table(on: &str, ceilings: &[Ceiling]) -> String {
    let of = |part: &str, is_read: bool, block: u64| {
        ceilings
            .iter()
            .find(|c| c.part == part && c.on == on && c.is_read == is_read && c.block_bytes == block)
            .map(|c| c.iops)
    };
    let mut parts: Vec<&str> = Vec::new();
    for ceiling in ceilings.iter().filter(|ceiling| ceiling.on == on) {
        if !parts.contains(&ceiling.part) {
            parts.push(ceiling.part);
        }
    }
    let loads: Vec<(bool, u64)> =
        [true, false].iter().flat_map(|&is_read| BLOCK_SIZES.map(|block| (is_read, block))).collect();
    let shown = |iops: Option<f64>, block: u64| match iops {
        None => "-".to_owned(),
        Some(iops) if block >= 131_072 => human_bandwidth(iops * block as f64),
        Some(iops) => human_rate(iops),
    };
    let mut rows: Vec<Vec<String>> = parts
        .iter()
        .map(|part| {
            let cells = loads.iter().map(|&(is_read, block)| shown(of(part, is_read, block), block));
            std::iter::once((*part).to_owned()).chain(cells).collect()
        })
        .collect();
    let least = |&(is_read, block): &(bool, u64)| {
        let known = parts.iter().filter_map(|part| Some((*part, of(part, is_read, block)?)));
        known.min_by(|a, b| a.1.total_cmp(&b.1)).map_or_else(|| "-".to_owned(), |(part, _)| part.to_owned())
    };
    rows.push(std::iter::once("bottleneck".to_owned()).chain(loads.iter().map(least)).collect());
    let names: Vec<String> = loads
        .iter()
        .map(|&(is_read, block)| format!("{} {}", if is_read { "read" } else { "write" }, human_bytes(block)))
        .collect();
    let columns: Vec<(&str, Align)> = std::iter::once(("part", Align::Left))
        .chain(names.iter().map(|name| (name.as_str(), Align::Right)))
        .collect();
    render(&columns, &rows)
}

/// Table of an array's values by their paths, of those that are meant.
pub fn value_table(array: &Array, is_meant: impl Fn(&str) -> bool) -> String {
    let mut rows = Vec::new();
    for (section, keys, values) in array.sections() {
        for (key, value) in keys.iter().zip(values) {
            let path = format!("{section}.{}", key.name);
            if !is_meant(&path) {
                continue;
            }
            rows.push(vec![
                path,
                if value.text.is_empty() { "(all that is left)".to_owned() } else { value.text.clone() },
                value.origin.word().to_owned(),
                source_of(value),
            ]);
        }
    }
    let columns =
        [("key", Align::Left), ("value", Align::Left), ("origin", Align::Left), ("from", Align::Left)];
    render(&columns, &rows)
}

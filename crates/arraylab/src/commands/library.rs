//! `library`: published results with their conditions.

use crate::cli::{LibraryArgs, LibraryCommand, LibraryListArgs, LibraryShowArgs};
use crate::failure::Failure;
use crate::output::{print, print_json_lines, print_notice};
use crate::table::{Align, render};
use library::{Choice, Entry, Filter, LibraryError, Row};
use std::process::ExitCode;
use units::{human_bandwidth, human_bytes, human_count, human_latency, human_rate};

/// `arraylab library`
pub fn library(arguments: &LibraryArgs) -> Result<ExitCode, Failure> {
    match &arguments.command {
        None => list(&arguments.list),
        Some(LibraryCommand::List(list_arguments)) => list(list_arguments),
        Some(LibraryCommand::Show(show_arguments)) => show(show_arguments),
    }
}

fn list(arguments: &LibraryListArgs) -> Result<ExitCode, Failure> {
    let filter = Filter::parse(arguments.conditions.iter().map(String::as_str))?;
    let entries = filter.apply(library::entries()?);
    if arguments.json {
        print_json_lines(&entries)?;
        return Ok(ExitCode::SUCCESS);
    }
    let row = |entry: &Entry| {
        vec![
            entry.id.clone(),
            entry.date.clone().unwrap_or_else(|| "not known".into()),
            human_count(entry.rows.len() as u64, "row"),
            entry.system.clone(),
        ]
    };
    let columns =
        [("id", Align::Left), ("date", Align::Left), ("figures", Align::Right), ("system", Align::Left)];
    print(&render(&columns, &entries.iter().map(row).collect::<Vec<_>>()))?;
    if entries.is_empty() {
        print_notice("no entry has this; `arraylab library` lists all");
    }
    Ok(ExitCode::SUCCESS)
}

fn show(arguments: &LibraryShowArgs) -> Result<ExitCode, Failure> {
    let entry = library::find(&arguments.id)?;
    if arguments.json {
        print_json_lines([&entry])?;
    } else {
        print(&as_text(&entry))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn as_text(entry: &Entry) -> String {
    let date = entry.date.as_deref().unwrap_or("date not known");
    let mut text = format!("{}\n{}, {date}\n", entry.system, entry.source);
    for (title, lines) in
        [("Conditions", &entry.conditions), ("Remarks", &entry.notes), ("Not published", &entry.missing)]
    {
        if !lines.is_empty() {
            text.push_str(&format!("\n{title}:\n"));
            lines.iter().for_each(|line| text.push_str(&format!("  - {}\n", line.trim())));
        }
    }
    if !entry.rows.is_empty() {
        let columns = [
            ("rw", Align::Left),
            ("bs", Align::Right),
            ("reads", Align::Right),
            ("jobs × depth", Align::Right),
            ("servers", Align::Right),
            ("IOPS", Align::Right),
            ("bandwidth", Align::Right),
            ("mean latency", Align::Right),
            ("figure", Align::Left),
            ("from", Align::Left),
        ];
        let rows: Vec<Vec<String>> = entry.rows.iter().map(cells).collect();
        text.push('\n');
        text.push_str(&render(&columns, &rows));
    }
    let mut pages: Vec<(&str, &str)> = Vec::new();
    for row in &entry.rows {
        if let (Some(address), Some(quote)) = (&row.address, &row.quote)
            && !pages.contains(&(address.as_str(), quote.as_str()))
        {
            pages.push((address, quote));
        }
    }
    if !pages.is_empty() {
        text.push_str("\nIn the words of the page:\n");
        pages.iter().for_each(|(address, quote)| text.push_str(&format!("  - \"{quote}\"\n    {address}\n")));
    }
    text
}

fn cells(row: &Row) -> Vec<String> {
    let unknown = || "–".to_owned();
    let number = |value: Option<u64>| value.map_or_else(unknown, |value| value.to_string());
    let depth = choice(row.iodepth.as_ref(), &|depth| depth.to_string());
    let latency = match (row.latency_ns, row.read_latency_ns, row.write_latency_ns) {
        (Some(both), ..) => human_latency(both),
        (None, Some(read), Some(write)) => format!("{} / {}", human_latency(read), human_latency(write)),
        _ => unknown(),
    };
    let figure = serde_json::to_value(row.figure).ok();
    let figure = figure.as_ref().and_then(serde_json::Value::as_str).unwrap_or_default();
    let mut particulars: Vec<String> = vec![figure.to_owned()];
    particulars.extend(row.raid.map(|raid| format!("RAID {raid}")));
    particulars.extend(row.disks.map(|disks| human_count(disks, "disk")));
    particulars.extend([&row.volume, &row.host, &row.says].into_iter().flatten().cloned());
    vec![
        row.rw.clone(),
        choice(row.bs.as_ref(), &human_bytes),
        format!("{} %", row.rwmixread),
        format!("{} × {depth}", number(row.numjobs)),
        number(row.servers),
        row.iops.map_or_else(unknown, human_rate),
        row.bw_bytes_per_s.map_or_else(unknown, human_bandwidth),
        latency,
        particulars.join(", "),
        format!("published/{}", row.from),
    ]
}

fn choice(choice: Option<&Choice>, text: &dyn Fn(u64) -> String) -> String {
    match choice {
        None => "–".to_owned(),
        Some(Choice::One(one)) => text(*one),
        Some(Choice::AnyOf(all)) => all.iter().map(|one| text(*one)).collect::<Vec<_>>().join(" or "),
        Some(Choice::Words(words)) => words.clone(),
    }
}

impl From<LibraryError> for Failure {
    fn from(error: LibraryError) -> Failure {
        Failure::Refused(Box::new(error))
    }
}

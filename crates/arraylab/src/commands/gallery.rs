//! `gallery` and `rate`: runs beside each other, beside the shipped twins and beside what was published.

use crate::cli::{GalleryArgs, RunJsonArgs};
use crate::failure::Failure;
use crate::output::{print, print_json_lines, print_notice, write_whole};
use crate::table::{Align, render};
use report::gallery::{Entry, Rating, entry_of, kept_entries, page, published_entries};
use std::path::Path;
use std::process::ExitCode;
use store::Run;

fn entry(run: &Path) -> Result<Entry, Failure> {
    entry_of(&Run::open_read_only(run)?).map_err(|error| Failure::Refused(Box::new(error)))
}

/// `arraylab rate`
pub fn rate(arguments: &RunJsonArgs) -> Result<ExitCode, Failure> {
    let own = entry(&arguments.run)?;
    let ratings = report::gallery::rate(&own, &kept_entries());
    if arguments.json {
        print_json_lines(&ratings)?;
        return Ok(ExitCode::SUCCESS);
    }
    let beside = |pair: &Option<(String, String)>| {
        pair.as_ref().map(|(name, value)| format!("{value}, {name}")).unwrap_or_default()
    };
    let row = |rating: &Rating| {
        vec![
            rating.quantity.clone(),
            rating.value.clone(),
            format!("{} of {}", rating.place, rating.of),
            beside(&rating.better),
            beside(&rating.worse),
        ]
    };
    let columns = [
        ("", Align::Left),
        ("this run", Align::Right),
        ("place", Align::Right),
        ("next better", Align::Left),
        ("next worse", Align::Left),
    ];
    print(&render(&columns, &ratings.iter().map(row).collect::<Vec<_>>()))?;
    print_notice(
        "places are among the shipped twins (simulated) and the published tests, each with its own load",
    );
    if !own.shortened.is_empty() {
        print_notice(&format!("this run was shortened: {}", own.shortened));
    }
    Ok(ExitCode::SUCCESS)
}

/// `arraylab gallery`; the last line on stdout is the page's path.
pub fn gallery(arguments: &GalleryArgs) -> Result<ExitCode, Failure> {
    let cannot = |what: &Path, error: std::io::Error| {
        Failure::refused(format!("cannot write {}: {error}", what.display()))
    };
    std::fs::create_dir_all(&arguments.out).map_err(|error| cannot(&arguments.out, error))?;
    let mut entries = Vec::new();
    let mut reports = Vec::new();
    for run in &arguments.runs {
        let own = entry(run)?;
        let reader = Run::open_read_only(run)?;
        let report = report::from_run(&reader).map_err(|error| Failure::Refused(Box::new(error)))?;
        let mut name = own.plan.clone();
        while reports.iter().any(|(_, link): &(String, String)| *link == format!("{name}.html")) {
            name.push_str("-again");
        }
        let file = format!("{name}.html");
        write_whole(&arguments.out.join(&file), &report.html())?;
        reports.push((report.title.to_string(), file));
        entries.push(own);
    }
    if let Some(path) = &arguments.figures {
        let mut lines = String::new();
        for entry in &entries {
            let line = serde_json::to_string(entry).map_err(|error| Failure::Failed(Box::new(error)))?;
            lines.push_str(&line);
            lines.push('\n');
        }
        write_whole(path, &lines)?;
    }
    // Published figures stand under the twin of the same test.
    let mut all = Vec::new();
    let published = published_entries();
    for own in entries {
        let plan = own.plan.clone();
        all.push(own);
        all.extend(published.iter().filter(|entry| entry.plan == plan).cloned());
    }
    let path = arguments.out.join("index.html");
    write_whole(&path, &page(&all, &reports))?;
    print(&format!("{}\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

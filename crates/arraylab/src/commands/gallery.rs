//! `gallery` and `rate`: runs beside each other, beside the shipped twins and beside what was published.

use crate::cli::{GalleryArgs, RateArgs};
use crate::failure::Failure;
use crate::output::{print, print_json_lines, print_notice, write_whole};
use crate::table::{Align, render};
use diagnostic::Problem;
use report::gallery::{EntryOrigin, kept_entries, page, published_entries};
use report::rating::{self, RatedRun, Rating, beside_library, library_table, rated_run};
use std::path::Path;
use std::process::ExitCode;
use store::Run;

fn rated(run: &Path) -> Result<RatedRun, Failure> {
    rated_run(&Run::open_read_only(run)?).map_err(Failure::refused_by)
}

/// `arraylab rate`
pub fn rate(arguments: &RateArgs) -> Result<ExitCode, Failure> {
    let own = rated(&arguments.run)?;
    let library = library::entries()?;
    let ratings = rating::rate(&own, &library, &kept_entries(), arguments.with_simulated);
    let beside = beside_library(&own, &library, arguments.with_simulated);
    if arguments.json {
        print_json_lines(&ratings)?;
        print_json_lines(&beside)?;
        return Ok(ExitCode::SUCCESS);
    }
    let columns = [
        ("", Align::Left),
        ("this run", Align::Right),
        ("place", Align::Right),
        ("next better", Align::Left),
        ("next worse", Align::Left),
        ("not comparable because", Align::Left),
    ];
    print(&render(&columns, &ratings.iter().map(row).collect::<Vec<_>>()))?;
    let columns = [
        ("published system", Align::Left),
        ("case", Align::Left),
        ("this run", Align::Right),
        ("published", Align::Right),
        ("ratio", Align::Right),
        ("per drive", Align::Right),
        ("not comparable because", Align::Left),
    ];
    let rows: Vec<Vec<String>> = beside.iter().flat_map(rating::table_rows).collect();
    print(&format!("\n{}", render(&columns, &rows)))?;
    if arguments.with_simulated {
        print_notice("simulated figures stand beside measured ones, as asked for");
    } else if own.entry.origin == EntryOrigin::Twin {
        print_notice(
            "this run is simulated and the library is measured; --with-simulated puts them beside each other",
        );
    }
    if !own.entry.shortened.is_empty() {
        print_notice(&format!("this run was shortened: {}", own.entry.shortened));
    }
    Ok(ExitCode::SUCCESS)
}

fn row(rating: &Rating) -> Vec<String> {
    let beside = |pair: &Option<(String, String)>| {
        pair.as_ref().map(|(name, value)| format!("{value}, {name}")).unwrap_or_default()
    };
    let place = rating.place.zip(rating.of).map(|(place, of)| format!("{place} of {of}"));
    vec![
        rating.quantity.clone(),
        rating.value.clone(),
        place.unwrap_or_else(|| "–".into()),
        beside(&rating.better),
        beside(&rating.worse),
        rating.because.join("; "),
    ]
}

/// `arraylab gallery`; the last line on stdout is the page's path.
pub fn gallery(arguments: &GalleryArgs) -> Result<ExitCode, Failure> {
    let cannot = |what: &Path, error: std::io::Error| {
        Failure::refused(Problem::new(format!("cannot write {}", what.display())).caused_by(error))
    };
    std::fs::create_dir_all(&arguments.out).map_err(|error| cannot(&arguments.out, error))?;
    let mut entries = Vec::new();
    let mut reports = Vec::new();
    let mut beside = Vec::new();
    let library = library::entries()?;
    for run in &arguments.runs {
        let rated = rated(run)?;
        // A gallery is of twins beside the tests that they repeat: it says itself that they are simulated.
        let is_simulated = rated.entry.origin == EntryOrigin::Twin;
        let table = library_table(
            &rated,
            &format!("library-{}", beside.len()),
            &beside_library(&rated, &library, is_simulated),
        );
        beside.push(table);
        let own = rated.entry;
        let reader = Run::open_read_only(run)?;
        let report = report::from_run(&reader).map_err(Failure::refused_by)?;
        let mut name = own.plan.clone();
        while reports.iter().any(|(_, link): &(String, String)| *link == format!("{name}.html")) {
            name.push_str("-again");
        }
        let file = format!("{name}.html");
        write_whole(&arguments.out.join(&file), report.html())?;
        reports.push((report.title.to_string(), file));
        entries.push(own);
    }
    if let Some(path) = &arguments.figures {
        let mut lines = String::new();
        for entry in &entries {
            let line = serde_json::to_string(entry).map_err(Failure::failed_by)?;
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
    write_whole(&path, page(&all, &beside, &reports))?;
    print(&format!("{}\n", path.display()))?;
    Ok(ExitCode::SUCCESS)
}

//! `report-check RUN… REPORT.json [--published DIR]`: prints what contradicts, exit status 1 where anything does. Of several runs the
//! report is that of their comparison; `NAME=RUN` gives a run the name that the report has for it, else its directory's.

use report_check::{Run, check, check_comparison};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let mut arguments: Vec<String> = std::env::args().skip(1).collect();
    let mut published = PathBuf::from("published");
    if let Some(place) = arguments.iter().position(|argument| argument == "--published")
        && place + 2 == arguments.len()
    {
        published = arguments.split_off(place).remove(1).into();
    }
    let Some((report, runs)) = arguments.split_last().filter(|(_, runs)| !runs.is_empty()) else {
        eprintln!("usage: report-check RUN… REPORT.json [--published DIR]");
        return ExitCode::from(2);
    };
    let read = || -> Result<_, Box<dyn std::error::Error>> {
        let mut opened = Vec::new();
        for run in runs {
            let (name, path) = match run.split_once('=') {
                Some((name, path)) => (name.to_owned(), Path::new(path)),
                None => {
                    let path = Path::new(run);
                    let name = path.file_name().unwrap_or(path.as_os_str());
                    (name.to_string_lossy().into_owned(), path)
                }
            };
            opened.push((name, Run::open(path, &published)?));
        }
        let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(report)?)?;
        Ok((opened, report))
    };
    match read() {
        Ok((runs, report)) => {
            let found = match &runs[..] {
                [(_, run)] => check(run, &report),
                runs => check_comparison(runs, &report),
            };
            found.iter().for_each(|one| println!("{one}"));
            eprintln!("{} contradictions", found.len());
            if found.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(1) }
        }
        Err(error) => {
            eprintln!("error: the run or its report cannot be read: {error}");
            ExitCode::from(2)
        }
    }
}

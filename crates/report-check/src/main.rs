//! `report-check RUN REPORT.json [--published DIR]`: prints what contradicts, exit status 1 where anything does.

use report_check::{Run, check};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (run, report, published) = match &arguments[..] {
        [run, report] => (run, report, PathBuf::from("published")),
        [run, report, option, published] if option == "--published" => (run, report, published.into()),
        _ => {
            eprintln!("usage: report-check RUN REPORT.json [--published DIR]");
            return ExitCode::from(2);
        }
    };
    let read = || -> Result<_, Box<dyn std::error::Error>> {
        let run = Run::open(Path::new(run), &published)?;
        let report: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(report)?)?;
        Ok((run, report))
    };
    match read() {
        Ok((run, report)) => {
            let found = check(&run, &report);
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

//! `findings`, `claims`: what the samples of a run say.

use crate::cli::{ClaimsArgs, RunJsonArgs};
use crate::failure::{self, Failure};
use crate::output::{print, print_json_lines, print_notice};
use crate::table::{Align, render};
use findings::{Findings, Kind, Verdict};
use report::Sentences;
use std::process::ExitCode;
use store::{Run, RunReader};

/// Everything found in a run, by the plan that is kept with it.
pub fn found(run: &RunReader) -> Result<Findings, Failure> {
    let plan = findings::kept_plan(run.manifest(), &run.cases()?)?;
    Ok(findings::find(run, &plan)?)
}

/// `arraylab findings`
pub fn findings(arguments: &RunJsonArgs) -> Result<ExitCode, Failure> {
    let found = found(&Run::open_read_only(&arguments.run)?)?;
    if arguments.json {
        print_json_lines(&found.all)?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = String::new();
    for sentence in Sentences::of(&found).conclusions() {
        text.push_str(&format!("- {}\n", sentence.text));
    }
    let kinds: Vec<Vec<String>> = Kind::ALL
        .iter()
        .map(|&kind| (kind, found.of_kind(kind).count()))
        .filter(|&(_, count)| count > 0)
        .map(|(kind, count)| vec![kind.name().to_owned(), count.to_string()])
        .collect();
    text.push('\n');
    text.push_str(&render(&[("findings", Align::Left), ("number", Align::Right)], &kinds));
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

/// `arraylab claims`
pub fn claims(arguments: &ClaimsArgs) -> Result<ExitCode, Failure> {
    let run = Run::open_read_only(&arguments.run)?;
    let claims = found(&run)?.claims();
    if claims.is_empty() {
        let name = &run.manifest().plan.name;
        print_notice(&format!(
            "the plan `{name}` has no claims; `claims:` in a plan lists conclusions with their checks"
        ));
    }
    if arguments.json {
        print_json_lines(&claims)?;
    } else {
        let mut text = String::new();
        for claim in &claims {
            text.push_str(&format!(
                "{:<4} {:<9} {}\n               {} (tolerance {} %)\n",
                claim.id,
                claim.verdict.name(),
                claim.says,
                claim.because_in_full(),
                // Shares of a percent have no more than two decimals.
                (10_000.0 * claim.tolerance).round() / 100.0
            ));
        }
        print(&text)?;
    }
    let is_refuted = claims.iter().any(|claim| claim.verdict == Verdict::Refuted);
    Ok(if arguments.strict && is_refuted { failure::not_met() } else { ExitCode::SUCCESS })
}

//! The report as one JSON object: what the page says, each number with its value, unit and source.

use crate::model::{AnswersPage, Conclusion, Origin, Report, Section, Table};
use findings::{Cited, Finding, Findings};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;

/// The whole report; `docs/report-json.md` describes it.
pub fn document(report: &Report) -> Value {
    let origin = match &report.origin {
        Origin::Simulated { twin } => json!({"simulated": twin}),
        Origin::Measured { target } => json!({"measured": target}),
    };
    let tiles: Vec<Value> = report
        .headlines
        .iter()
        .map(|tile| json!({"label": tile.label, "value": tile.value, "detail": tile.detail}))
        .collect();
    let facts: Vec<Value> =
        report.facts.iter().map(|fact| json!({"name": fact.name, "value": fact.value})).collect();
    let findings: Vec<Map<String, Value>> =
        report.findings.iter().filter_map(|finding| finding.to_json().ok()).collect();
    json!({
        "verdict": report.verdict.name(),
        "title": report.title,
        "subtitle": report.subtitle,
        "origin": origin,
        "sentences": sentences(report),
        "tiles": tiles,
        "tables": tables(report),
        "warnings": report.warnings,
        "facts": facts,
        "findings": findings,
        "claims": report.claims,
    })
}

/// Every sentence of the page, in its order, with the part of the page that it stands in.
fn sentences(report: &Report) -> Vec<Value> {
    let mut all = Vec::new();
    let mut add = |part: &str, text: &Cited| {
        all.push(json!({"text": text.text(), "numbers": text.numbers(), "part": part}));
    };
    report.verdict.because.iter().for_each(|text| add("verdict", text));
    report.decision.lists().for_each(|(_, lines)| lines.iter().for_each(|text| add("decision", text)));
    let answers = report.answers.iter().flat_map(AnswersPage::sentences);
    answers.for_each(|(part, text)| add(part, text));
    report.model.iter().for_each(|text| add("model", text));
    report.in_short.iter().for_each(|answer| add("in-short", &answer.answer.text));
    report.conclusions.iter().for_each(|conclusion: &Conclusion| add("found", &conclusion.text));
    for Section { title, intro, notes, .. } in &report.sections {
        add("stage", title);
        intro.iter().chain(notes).for_each(|text| add("stage", text));
    }
    report.method.iter().for_each(|text| add("method", text));
    all
}

fn tables(report: &Report) -> Vec<Value> {
    let of_sections = report.sections.iter().flat_map(|section| &section.tables);
    report
        .answers
        .iter()
        .flat_map(AnswersPage::tables)
        .chain(&report.requirements)
        .chain(&report.tested)
        .chain(&report.comparisons)
        .chain(of_sections)
        .chain(&report.not_run)
        .map(table)
        .collect()
}

fn table(table: &Table) -> Value {
    let columns: Vec<&Cited> = table.columns.iter().map(|column| &column.title).collect();
    json!({"id": table.id, "caption": table.caption, "columns": columns, "rows": table.rows})
}

impl Report {
    /// The findings that numbers of this report cite, in the order of the run.
    pub(crate) fn cited_findings(&self, found: &Findings) -> Vec<Finding> {
        let mut sources: BTreeSet<String> = BTreeSet::new();
        let mut take = |text: &Cited| {
            sources.extend(text.numbers().iter().flat_map(|number| ids(number.from.as_str())));
        };
        take(&self.title);
        take(&self.subtitle);
        self.verdict.because.iter().for_each(&mut take);
        self.decision.lists().for_each(|(_, lines)| lines.iter().for_each(&mut take));
        self.model.iter().for_each(&mut take);
        self.in_short.iter().for_each(|answer| take(&answer.answer.text));
        self.conclusions.iter().for_each(|conclusion| take(&conclusion.text));
        self.headlines.iter().for_each(|tile| {
            take(&tile.value);
            take(&tile.detail);
        });
        self.warnings.iter().for_each(&mut take);
        for section in &self.sections {
            take(&section.title);
            section.intro.iter().chain(&section.notes).for_each(&mut take);
        }
        let of_sections = self.sections.iter().flat_map(|section| &section.tables);
        for table in self.requirements.iter().chain(&self.tested).chain(&self.comparisons).chain(of_sections)
        {
            take(&table.caption);
            table.columns.iter().for_each(|column| take(&column.title));
            table.rows.iter().flatten().for_each(&mut take);
        }
        let is_cited = |id: &str| {
            // What comes after the identifier is the field, whose name has no stroke.
            let from = format!("{id}/");
            sources.range(from.clone()..).next().is_some_and(|source| source.starts_with(&from))
        };
        found.all.iter().filter(|finding| is_cited(&encoded(&finding.id))).cloned().collect()
    }
}

/// The paths of findings in an expression. What a case sustains is drawn from its write cliff or its steady state.
fn ids(expression: &str) -> impl Iterator<Item = String> + '_ {
    let terms = expression.split(['(', ')', ';']);
    terms.flat_map(|term| {
        let sustained = term
            .strip_prefix("result:")
            .and_then(|path| path.rsplit_once('/'))
            .filter(|(_, quantity)| quantity.starts_with("sustained."));
        let of_case = sustained.into_iter().flat_map(|(case, _)| {
            ["write-cliff", "steady-state"].map(|kind| format!("{kind}/{case}/sustained"))
        });
        // Whether a case has a finding is shown by the finding.
        let found = term.strip_prefix("found:").map(str::to_owned);
        of_case.chain(term.strip_prefix("finding:").map(str::to_owned)).chain(found)
    })
}

/// An identifier as sources write it.
fn encoded(id: &str) -> String {
    let source = findings::Source::finding(id, "");
    source.as_str().trim_start_matches("finding:").trim_end_matches('/').to_owned()
}

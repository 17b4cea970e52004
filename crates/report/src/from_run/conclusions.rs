//! Findings as sentences, and claims as a table with links to the evidence.

use super::section_id;
use crate::model::{Answer, Column, Conclusion, Evidence, Table};
use crate::{Sentence, Sentences};
use findings::{Cited, Findings, Origin, Verdict, cited};
use std::collections::BTreeSet;

/// Sentences, the weightiest first, each with the stages whose charts show it.
pub fn sentences(found: &Findings) -> Vec<Conclusion> {
    Sentences::of(found).conclusions().into_iter().map(|sentence| shown(found, sentence)).collect()
}

/// The three answers for a reader who has a minute.
pub fn in_short(found: &Findings, has_no_garbage_collection: bool) -> Vec<Answer> {
    let mut all: Vec<Answer> = Sentences::of(found)
        .answers()
        .into_iter()
        .map(|(question, answer)| Answer { question: question.to_owned(), answer: shown(found, answer) })
        .collect();
    // That nothing was seen says nothing where the model cannot show it.
    for answer in all.iter_mut().filter(|answer| answer.answer.text.starts_with("Writes did not fall")) {
        if has_no_garbage_collection {
            let text = &mut answer.answer.text;
            text.push(cited!("\nThe model has no garbage collection: no write cliff could be seen."));
        }
    }
    all
}

fn shown(found: &Findings, sentence: Sentence) -> Conclusion {
    Conclusion {
        text: sentence.text,
        verdict: None,
        evidence: stages(found, &sentence.findings)
            .into_iter()
            .map(|stage| Evidence { id: section_id(stage), label: stage.to_owned() })
            .collect(),
    }
}

fn stages<'a>(found: &'a Findings, ids: &[String]) -> BTreeSet<&'a str> {
    ids.iter().filter_map(|id| found.get(id)).map(|finding| finding.stage.as_str()).collect()
}

/// The conclusions of the published test, each judged on this run.
pub fn claims(found: &Findings) -> Option<Table> {
    let rows: Vec<Vec<Cited>> = found
        .claims()
        .into_iter()
        .map(|claim| {
            let derived = if claim.origin == Origin::Derived { " (derived from its figures)" } else { "" };
            vec![
                claim.quote("id", &claim.id),
                cited!("{}{}", claim.quote("says", &claim.says), derived),
                word(claim.verdict).into(),
                claim.because_in_full(),
                claim.quote("criterion", &claim.criterion),
            ]
        })
        .collect();
    (!rows.is_empty()).then(|| Table {
        id: "claims".into(),
        caption: "What the published test concluded, judged on this run".into(),
        columns: vec![
            Column::words("Claim"),
            Column::words("It says"),
            Column::words("Here it"),
            Column::words("Because"),
            Column::words("What counts as shown"),
        ],
        rows,
    })
}

/// A sign beside the word, so that a table can be skimmed without colour.
fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Holds => "✓ holds",
        Verdict::Refuted => "✗ is refuted",
        Verdict::NotShown => "– is not shown",
    }
}

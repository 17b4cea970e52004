//! Check of a sizing run: each answer is what its cases give, and each sentence and row of the report is what the answer says.

mod answers;
mod recompute;
mod rows;
mod words;

use crate::Findings;
use crate::answer_data::holds;
use crate::run::Run;
use answers::Answers;
use serde_json::Value;

/// Everything that a sizing run and the first page of its report contradict.
pub fn check(found: &mut Findings, run: &Run, report: &Value) {
    let Some(answers) = Answers::of(run) else { return };
    recompute::check(found, run, &answers);
    words::check(found, &answers, report);
    for table in report["tables"].as_array().into_iter().flatten() {
        rows::check(found, &answers, table);
    }
}

/// Returns true if a table is of the first page of a sizing run.
pub fn is_own_table(id: &str) -> bool {
    id.starts_with("size-")
}

/// The value of `sizing:N/FIELD`, `sizing:question/FIELD` or `sizing:designs`.
pub fn value(run: &Run, path: &str) -> Option<f64> {
    let answers = Answers::of(run)?;
    match path {
        "designs" => return Some(answers.names().len() as f64),
        "designs/front" => return Some(answers.searched().iter().filter(|one| one.is_front()).count() as f64),
        "designs/left-out" => {
            let is_left_out = |name: &&&str| answers.of_name(name).any(|answer| answer.is_left_out());
            return Some(answers.names().iter().filter(is_left_out).count() as f64);
        }
        _ => {}
    }
    answers.field(path)?.as_f64()
}

/// Returns true if the text at `N/FIELD`, or one of those at `question/FIELD`, is the one that is looked for.
pub fn has_text(run: &Run, path: &str, is_own: &dyn Fn(&str) -> bool) -> bool {
    let Some(answers) = Answers::of(run) else { return false };
    answers.field(path).is_some_and(|value| holds(value, is_own))
}

#[cfg(test)]
mod tests;

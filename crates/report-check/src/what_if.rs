//! Check of a run about changes of an array: each answer is what its cases give, and each sentence and row of the report is what the
//! answers say.

mod answers;
mod page;
mod recompute;
mod walk;

use crate::Findings;
use crate::answer_data::holds;
use crate::run::Run;
use answers::Answers;
use serde_json::Value;

/// Everything that such a run and the first page of its report contradict.
pub fn check(found: &mut Findings, run: &Run, report: &Value) {
    let Some(answers) = Answers::of(run) else { return };
    recompute::check(found, run, &answers);
    walk::check(found, run, &answers);
    page::check(found, &answers, report);
}

/// Returns true if a table is of the first page of such a run.
pub fn is_own_table(id: &str) -> bool {
    id.starts_with("what-if-")
}

/// The value of `what-if:N/FIELD` or `what-if:question/FIELD`.
pub fn value(run: &Run, path: &str) -> Option<f64> {
    Answers::of(run)?.field(path)?.as_f64()
}

/// Returns true if the text at `N/FIELD`, or one of those at `question/FIELD`, is the one that is looked for.
pub fn has_text(run: &Run, path: &str, is_own: &dyn Fn(&str) -> bool) -> bool {
    let answers = Answers::of(run);
    answers.is_some_and(|answers| answers.field(path).is_some_and(|value| holds(value, is_own)))
}

#[cfg(test)]
mod tests;

//! Promises of a vendor, in a file of their own: they take the place of a plan's `require`.

use crate::file_text::read_text;
use crate::library::LoadedPlan;
use crate::yaml::FILE_BYTES_LIMIT;
use crate::{PlanError, PlanErrorKind, parse_plan};
use std::path::Path;

/// The key that promises are under.
const REQUIRE: &str = "require:";

impl LoadedPlan {
    /// The plan with the limits of a file in the place of its own. The file has the key `require` and nothing else that a plan has; the
    /// text of the plan, which a run keeps, then is that of both.
    pub fn with_promises(self, path: &Path) -> Result<LoadedPlan, PlanError> {
        let promises = read_text(path, FILE_BYTES_LIMIT)?;
        let shown = path.display().to_string();
        if !promises.lines().any(|line| line.starts_with(REQUIRE)) {
            let problem = format!("`{shown}` promises nothing: it has no key `require`");
            return Err(PlanError::new(PlanErrorKind::MissingKey, problem)
                .with_hint("write `require:` and below it a list of limits, as in a plan: docs/plan-language.md#requirements"));
        }
        let own = without_requirements(&self.text);
        // The promises stand first, so that their lines are those of their file.
        let text = format!("{}\n{own}", promises.trim_end());
        // A mistake is shown in the file of the promises.
        let plan =
            parse_plan(&self.name, &self.source, &text).or_else(|_| parse_plan(&self.name, &shown, &text))?;
        Ok(LoadedPlan { text, plan, ..self })
    }
}

/// A plan's text without its limits.
fn without_requirements(text: &str) -> String {
    let mut kept = String::new();
    let mut is_within = false;
    for line in text.lines() {
        let begins_key = !line.starts_with([' ', '#', '-']) && !line.is_empty();
        if begins_key {
            is_within = line.starts_with(REQUIRE);
        }
        if !is_within {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that only the limits go, whatever stands before and behind them.
    #[test]
    fn limits_alone_are_taken_out() {
        let text = "title: t\nrequire:\n  - { a: 1 }\n# of the list\n- { b: 2 }\n\nshow:\n  - c\n";
        assert_eq!(without_requirements(text), "title: t\nshow:\n  - c\n");
        assert_eq!(without_requirements("title: t\nrequire: []\n"), "title: t\n");
        assert_eq!(without_requirements("title: t\n"), "title: t\n");
    }
}

//! List of settings and parts of a plan that an exported file does not carry, by stage.

use std::fmt;

/// The most case names that a line lists.
const NAMES_SHOWN: usize = 2;

/// A setting or part of a plan that an exported file does not carry, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotExported {
    /// The stage; `None` for what concerns the whole plan.
    pub stage: Option<String>,
    /// Names of the cases; empty for what concerns the whole stage or plan.
    pub cases: Vec<String>,
    /// The cases are all of the stage that are exported.
    pub is_every_case: bool,
    /// The setting's name, or the plan's key.
    pub what: String,
    /// Reason, and the replacement in the file.
    pub why: String,
}

/// Name in [`NotExported::what`] of a whole case that is left out.
pub const WHOLE_CASE: &str = "the whole case";

impl fmt::Display for NotExported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.stage {
            Some(stage) => write!(f, "stage {stage}")?,
            None => write!(f, "plan")?,
        }
        match self.cases.as_slice() {
            [] => {}
            _ if self.is_every_case => {}
            [only] if Some(only) == self.stage.as_ref() => {}
            cases => {
                let shown = cases.iter().take(NAMES_SHOWN).map(String::as_str).collect::<Vec<_>>().join(" ");
                let more = cases.len().saturating_sub(NAMES_SHOWN);
                write!(f, ", {}", if cases.len() == 1 { "case " } else { "cases " })?;
                write!(f, "{shown}")?;
                if more > 0 {
                    write!(f, " and {}", units::human_count(more as u64, "other"))?;
                }
            }
        }
        write!(f, ": {}: {}", self.what, self.why)
    }
}

/// List of what is not carried, one entry for each stage, setting and reason.
#[derive(Debug, Default)]
pub(crate) struct NotExportedList(Vec<NotExported>);

impl NotExportedList {
    pub fn of_plan(&mut self, what: &str, why: impl Into<String>) {
        self.add(None, None, what, why.into());
    }

    pub fn of_stage(&mut self, stage: &str, what: &str, why: impl Into<String>) {
        self.add(Some(stage), None, what, why.into());
    }

    pub fn of_case(&mut self, case: &plan::Case, what: &str, why: impl Into<String>) {
        self.add(Some(&case.stage), Some(&case.name), what, why.into());
    }

    fn add(&mut self, stage: Option<&str>, case: Option<&str>, what: &str, why: String) {
        let same = |known: &&mut NotExported| {
            known.stage.as_deref() == stage && known.what == what && known.why == why
        };
        // Cases come in the order of the plan, so an equal entry is among the last ones.
        let cases: Vec<String> = case.map(str::to_owned).into_iter().collect();
        match self.0.iter_mut().rev().find(same) {
            Some(known) => {
                if cases.first().is_some_and(|case| known.cases.last() != Some(case)) {
                    known.cases.extend(cases);
                }
            }
            None => self.0.push(NotExported {
                stage: stage.map(str::to_owned),
                cases,
                is_every_case: false,
                what: what.to_owned(),
                why,
            }),
        }
    }

    /// The entries; `count` gives the number of exported cases of a stage.
    pub fn into_entries(self, count: impl Fn(&str) -> usize) -> Vec<NotExported> {
        let mut entries = self.0;
        for entry in &mut entries {
            let total = entry.stage.as_deref().map_or(0, &count);
            entry.is_every_case = total > 0 && entry.cases.len() == total;
        }
        entries
    }

    /// Adds what another list has.
    pub fn merge(&mut self, other: &[NotExported]) {
        for entry in other {
            let stage = entry.stage.as_deref();
            if entry.cases.is_empty() {
                self.add(stage, None, &entry.what, entry.why.clone());
            }
            for case in &entry.cases {
                self.add(stage, Some(case), &entry.what, entry.why.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a line names plan, stage or cases, and that long lists of cases are cut.
    #[test]
    fn a_line_says_where() {
        let line = |stage: Option<&str>, cases: &[&str]| {
            NotExported {
                stage: stage.map(str::to_owned),
                cases: cases.iter().map(|case| (*case).to_owned()).collect(),
                is_every_case: false,
                what: "streams".into(),
                why: "one stream".into(),
            }
            .to_string()
        };
        assert_eq!(line(None, &[]), "plan: streams: one stream");
        assert_eq!(line(Some("a"), &["a"]), "stage a: streams: one stream");
        assert_eq!(line(Some("a"), &["x"]), "stage a, case x: streams: one stream");
        assert_eq!(
            line(Some("a"), &["x", "y", "z", "u"]),
            "stage a, cases x y and 2 others: streams: one stream"
        );
    }
}

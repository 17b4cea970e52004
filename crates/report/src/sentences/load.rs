//! The load of a finding's case in words.

use super::Sentences;
use findings::{Cited, Finding, Map, Source, case_words, cited, workload_words};
use store::CaseResult;

impl Sentences<'_> {
    /// The load of a finding's case, as a person says it; the stage where it is about no case.
    pub fn load_of(&self, finding: &Finding) -> Cited {
        match self.found.case_of(finding) {
            Some(case) => several_loads(&case.result)
                .unwrap_or_else(|| case_words(&case.stage, &case.name, &case.settings)),
            None => Cited::quote(&finding.stage, Source::finding(&finding.id, "stage")),
        }
    }

    /// The workload of a finding's case, whatever its block size.
    pub(super) fn workload_but_size(&self, finding: &Finding) -> String {
        let mut settings =
            self.found.case_of(finding).map_or_else(Map::new, |case| Map::clone(&case.settings));
        settings.retain(|name, _| name != "bs");
        workload_words("", "", &settings).to_string()
    }

    /// The load that the cases of a finding have in common, but for their block size.
    pub(super) fn load_but_size(&self, finding: &Finding) -> Cited {
        let case = finding.rests_on.first().and_then(|basis| self.found.case(&basis.stage, &basis.case));
        let Some(case) = case else { return self.load_of(finding) };
        let mut settings = Map::clone(&case.settings);
        settings.retain(|name, _| name != "bs");
        case_words(&case.stage, &case.name, &settings)
    }
}

/// The loads of a case that has several. The settings of such a case are those of none of them, or of one; its figures are of all.
fn several_loads(result: &CaseResult) -> Option<Cited> {
    let loads = result.loads.as_ref()?;
    let names = loads.iter().map(|load| Cited::quote(&load.load, Source::quote("plan")));
    Some(cited!("loads {} together", Cited::join(names, ", ")))
}

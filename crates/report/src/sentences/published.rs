//! Sentences on published claims that this run does not show.

use super::{Sentence, Sentences};
use findings::{Cited, Verdict, cited};

impl Sentences<'_> {
    pub(super) fn claims_refuted(&self) -> Vec<Sentence> {
        let refuted = self.found.claims().into_iter().filter(|claim| claim.verdict == Verdict::Refuted);
        refuted
            .filter(|claim| !claim.findings.is_empty())
            .map(|claim| Sentence {
                weight: 68,
                text: cited!(
                    "Published ({}): “{}” This run shows otherwise: {}.",
                    claim.quote("id", &claim.id),
                    claim.quote("says", &claim.says),
                    claim.because_in_full()
                ),
                findings: claim.findings,
            })
            .collect()
    }

    pub(super) fn claims_not_shown(&self) -> Option<Sentence> {
        let claims = self.found.claims();
        let not_shown: Vec<_> = claims.iter().filter(|claim| claim.verdict == Verdict::NotShown).collect();
        let mut findings: Vec<String> =
            not_shown.iter().flat_map(|claim| claim.findings.iter().cloned()).collect();
        findings.dedup();
        // Claims about which the run has nothing at all stand in the table of claims; here only what was looked at.
        if findings.is_empty() {
            return None;
        }
        let looked_at = || not_shown.iter().filter(|claim| !claim.findings.is_empty());
        let ids = looked_at().map(|claim| claim.quote("id", &claim.id));
        let first = looked_at().next()?;
        Some(Sentence {
            weight: 28,
            text: cited!(
                "Not shown by this run: {}. {}: {}.",
                Cited::join(ids, ", "),
                first.quote("id", &first.id),
                first.because_cited()
            ),
            findings,
        })
    }
}

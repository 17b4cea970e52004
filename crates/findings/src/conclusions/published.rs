//! What was published and this run does not show.

use super::Conclusion;
use crate::{Findings, Verdict};

impl Findings {
    pub(super) fn claims_refuted(&self) -> Vec<Conclusion> {
        let refuted = self.claims().into_iter().filter(|claim| claim.verdict == Verdict::Refuted);
        refuted
            .filter(|claim| !claim.findings.is_empty())
            .map(|claim| Conclusion {
                weight: 68,
                text: format!(
                    "Published ({}): “{}” This run shows otherwise: {}.",
                    claim.id,
                    claim.says,
                    claim.because_in_full()
                ),
                findings: claim.findings,
            })
            .collect()
    }

    pub(super) fn claims_not_shown(&self) -> Option<Conclusion> {
        let claims = self.claims();
        let not_shown: Vec<_> = claims.iter().filter(|claim| claim.verdict == Verdict::NotShown).collect();
        let mut findings: Vec<String> =
            not_shown.iter().flat_map(|claim| claim.findings.iter().cloned()).collect();
        findings.dedup();
        // Claims about which the run has nothing at all stand in the table of claims; here only what was looked at.
        if findings.is_empty() {
            return None;
        }
        let ids: Vec<&str> = not_shown
            .iter()
            .filter(|claim| !claim.findings.is_empty())
            .map(|claim| claim.id.as_str())
            .collect();
        let first = not_shown.iter().find(|claim| !claim.findings.is_empty())?;
        Some(Conclusion {
            weight: 28,
            text: format!("Not shown by this run: {}. {}: {}.", ids.join(", "), first.id, first.because),
            findings,
        })
    }
}

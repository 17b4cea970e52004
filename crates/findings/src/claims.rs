//! Claims: what the published tests concluded, as checks on findings.
//!
//! A claim says what must be seen, by how much (its tolerance) and why it should be so (its mechanism). It looks only at
//! findings and the settings of cases, so that a twin and a device are judged alike; where the run lacks what it
//! needs, or the target cannot tell, it is not shown. Judging a claim records every finding it looks at.

mod known;
mod view;

mod dorado_2100_g2;
mod e2700;
mod flashsystem_840;
mod raid_levels;
mod storpool;

use crate::cited::{Cited, Source};
use crate::{Findings, cited};
use serde::Serialize;
use view::View;

pub use known::{Known, Reason};

/// Who draws a conclusion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The author of the published test.
    Published,
    /// Our arithmetic on the published figures.
    Derived,
}

/// What a run says of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The run shows it.
    Holds,
    /// The run shows the contrary.
    Refuted,
    /// The run cannot tell.
    NotShown,
}

impl Verdict {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Refuted => "refuted",
            Verdict::NotShown => "not-shown",
        }
    }
}

/// A published conclusion.
#[derive(Debug, Clone, Copy)]
pub struct Claim {
    /// `D4`.
    pub id: &'static str,
    /// Who concludes it.
    pub origin: Origin,
    /// The conclusion.
    pub says: &'static str,
    /// Why it should be so: what in the array makes it.
    pub mechanism: &'static str,
    /// What counts as shown, with the bounds that the check uses.
    pub tolerance: &'static str,
    judge: fn(&View<'_>) -> Judged,
}

/// A claim, judged; serialises as a line of `arraylab claims --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimResult {
    /// `D4`.
    pub id: &'static str,
    /// Who concludes it.
    pub origin: Origin,
    /// The conclusion.
    pub says: &'static str,
    /// What the run says of it.
    pub verdict: Verdict,
    /// Why, with the numbers.
    pub because: String,
    /// The findings looked at.
    pub findings: Vec<String>,
    /// Why it should be so.
    pub mechanism: &'static str,
    /// What counts as shown.
    pub tolerance: &'static str,
    /// Why it is refuted, where that is known beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<Known>,
}

/// Whether a check's condition is met, with the numbers; or why it cannot be told.
type Judged = Result<(bool, String), String>;

/// The claims of a plan, in the order of the publication.
pub fn claims_of(plan: &str) -> &'static [Claim] {
    match plan {
        "dorado-2100-g2" => dorado_2100_g2::CLAIMS,
        "flashsystem-840" => flashsystem_840::CLAIMS,
        "raid-levels" => raid_levels::CLAIMS,
        "e2700" => e2700::CLAIMS,
        "storpool" => storpool::CLAIMS,
        _ => &[],
    }
}

/// The claim of this identifier.
pub fn claim(id: &str) -> Option<&'static Claim> {
    let plans = ["dorado-2100-g2", "flashsystem-840", "raid-levels", "e2700", "storpool"];
    plans.into_iter().flat_map(claims_of).find(|claim| claim.id == id)
}

impl ClaimResult {
    /// Why, with the numbers.
    pub fn because_cited(&self) -> Cited {
        Cited::quote(&self.because, Source::quote(&format!("claim/{}/because", self.id)))
    }

    /// The numbers, and why it is refuted where that is known.
    pub fn because_in_full(&self) -> Cited {
        match &self.known {
            Some(known) => {
                let says = Cited::quote(known.says, Source::quote(&format!("claim/{}/known", self.id)));
                cited!("{} ({}: {})", self.because_cited(), known.reason.words(), says)
            }
            None => self.because_cited(),
        }
    }
}

impl Findings {
    /// Every claim of the run's plan, judged.
    pub fn claims(&self) -> Vec<ClaimResult> {
        claims_of(&self.plan).iter().map(|claim| claim.on(self)).collect()
    }
}

impl Claim {
    /// Judges the claim on findings.
    pub fn on(&self, findings: &Findings) -> ClaimResult {
        let view = View::new(findings);
        let is_of_twin = findings.observation.is_of_twin();
        let (verdict, because) = match (self.judge)(&view) {
            Ok((true, because)) => (Verdict::Holds, because),
            Ok((false, because)) => (Verdict::Refuted, because),
            Err(reason) => (Verdict::NotShown, reason),
        };
        ClaimResult {
            id: self.id,
            origin: self.origin,
            says: self.says,
            verdict,
            because,
            findings: view.into_cited(),
            mechanism: self.mechanism,
            tolerance: self.tolerance,
            known: (verdict == Verdict::Refuted).then(|| known::reason(self.id, is_of_twin)).flatten(),
        }
    }
}

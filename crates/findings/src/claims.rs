//! Claims: conclusions of the published tests, as checks on findings.
//!
//! A claim says what must be seen, by how much (its tolerance), where it is said (its source) and why it should be so (its
//! mechanism). It looks only at findings and the settings of cases, so that a twin and a device are judged alike; where the run
//! lacks what it needs, is too short for it, or the target cannot tell, it is not shown. Judging a claim records every finding
//! it looks at.
//!
//! Claims are written beside their plan, as expressions (`plan::claim`); `docs/plan-language.md` describes them.

mod evaluate;
mod known;
mod number;
mod print;
mod reduce;
mod select;
mod value;
mod view;

use crate::cited::{Cited, Source};
use crate::{Findings, cited};
use serde::Serialize;
use std::sync::OnceLock;
use value::Truth;
use view::View;

pub use known::Known;
pub use plan::claim::{Origin, Reason};

/// Verdict on a claim.
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

/// A conclusion with its check, as it is written beside its plan.
#[derive(Debug, Clone, Copy)]
pub struct Claim<'a>(&'a plan::claim::Claim);

/// A claim, judged; serialises as a line of `arraylab claims --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimResult {
    /// `D4`.
    pub id: String,
    /// Author of the conclusion: the published test, or this project.
    pub origin: Origin,
    /// The conclusion.
    pub says: String,
    /// Verdict of the run on it.
    pub verdict: Verdict,
    /// Reason of the verdict, with the numbers.
    pub because: String,
    /// The findings looked at.
    pub findings: Vec<String>,
    /// Place in the publication.
    pub source: String,
    /// Mechanism that should make it so.
    pub mechanism: String,
    /// The share by which two values may differ and count as equal.
    pub tolerance: f64,
    /// Condition that counts as shown, in words.
    pub criterion: String,
    /// Reason why it is refuted, where that is known beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<Known>,
    /// Reason of the verdict, with the sources of the numbers.
    #[serde(skip)]
    cited: Cited,
}

/// The claims of a shipped plan, in the order of the publication.
pub fn claims_of(plan: &str) -> Vec<Claim<'static>> {
    let of_plan = shipped().iter().filter(|(name, _)| name == plan).flat_map(|(_, claims)| claims);
    of_plan.map(Claim).collect()
}

/// The claims that the shipped plans have, by plan.
fn shipped() -> &'static [(String, Vec<plan::claim::Claim>)] {
    static SHIPPED: OnceLock<Vec<(String, Vec<plan::claim::Claim>)>> = OnceLock::new();
    SHIPPED.get_or_init(|| {
        let plans = plan::shipped_plans().into_iter();
        // Tests prove that every shipped plan can be read.
        plans
            .filter_map(|shipped| {
                Some((shipped.name.to_owned(), plan::load_plan(shipped.name).ok()?.plan.claims))
            })
            .collect()
    })
}

/// The claim of this identifier among those of the shipped plans.
pub fn claim(id: &str) -> Option<Claim<'static>> {
    // A plan that shares another's claims is as good as the other.
    shipped().iter().flat_map(|(_, claims)| claims).find(|claim| claim.id == id).map(Claim)
}

impl ClaimResult {
    /// Words of the claim's field, repeated.
    pub fn quote(&self, field: &str, words: &str) -> Cited {
        Cited::quote(words, Source::quote(&format!("claim/{}/{field}", self.id)))
    }

    /// Returns the reason of the verdict, with the numbers and their sources.
    pub fn because_cited(&self) -> Cited {
        self.cited.clone()
    }

    /// The numbers, and why it is refuted where that is known.
    pub fn because_in_full(&self) -> Cited {
        match &self.known {
            Some(known) => cited!(
                "{} ({}: {})",
                self.because_cited(),
                self.quote("known", known.words()),
                self.quote("known", &known.says)
            ),
            None => self.because_cited(),
        }
    }
}

impl Findings {
    /// Every claim of the run's plan, judged: those that the plan itself has, else those of the shipped plan of its name.
    pub fn claims(&self) -> Vec<ClaimResult> {
        if self.written_claims.is_empty() {
            claims_of(&self.plan).iter().map(|claim| claim.on(self)).collect()
        } else {
            self.written_claims.iter().map(|claim| Claim(claim).on(self)).collect()
        }
    }
}

impl Claim<'_> {
    /// Its identifier.
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// Judges the claim on findings.
    pub fn on(&self, findings: &Findings) -> ClaimResult {
        let claim = self.0;
        let view = View::new(findings, claim);
        let (truth, mut because) = evaluate::judge(claim, &view);
        let mut verdict = match truth {
            Truth::Holds => Verdict::Holds,
            Truth::Refuted => Verdict::Refuted,
            Truth::Open(_) => Verdict::NotShown,
        };
        let (looked_at, too_short) = view.into_cited();
        if let Some(reason) = too_short {
            because = if verdict == Verdict::NotShown { cited!("{}; {}", reason, because) } else { reason };
            verdict = Verdict::NotShown;
        }
        let known = (verdict == Verdict::Refuted)
            .then(|| known::reason(claim, findings.observation.is_of_twin()))
            .flatten();
        ClaimResult {
            id: claim.id.clone(),
            origin: claim.origin,
            says: claim.says.clone(),
            verdict,
            because: because.text().to_owned(),
            findings: looked_at,
            source: claim.source.clone(),
            mechanism: claim.mechanism.clone(),
            tolerance: claim.tolerance,
            criterion: claim.criterion(),
            known,
            cited: because,
        }
    }
}

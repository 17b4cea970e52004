//! Claims: what the published tests concluded, as checks on findings.
//!
//! A claim says what must be seen, by how much (its tolerance), where it is said (its source) and why it should be so (its
//! mechanism). It looks only at findings and the settings of cases, so that a twin and a device are judged alike; where the run
//! lacks what it needs, is too short for it, or the target cannot tell, it is not shown. Judging a claim records every finding
//! it looks at.
//!
//! Claims are written beside their plan, as expressions (`evaluate`, `plan::claim`), or coded here, where an expression cannot
//! say them.

mod evaluate;
mod known;
mod select;
mod value;
mod view;

mod dorado_2100_g2;
mod e2700;
mod raid_levels;

use crate::cited::{Cited, Source};
use crate::{Findings, cited};
use plan::claim::Needs;
use serde::Serialize;
use std::sync::OnceLock;
use value::Truth;
use view::View;

pub use known::Known;
pub use plan::claim::{Origin, Reason};

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

/// A claim that is coded.
#[derive(Debug)]
pub struct Coded {
    id: &'static str,
    source: &'static str,
    tolerance: f64,
    needs: Needs,
    origin: Origin,
    says: &'static str,
    mechanism: &'static str,
    /// What counts as shown, with the bounds that the check uses.
    criterion: &'static str,
    judge: fn(&View<'_>) -> Judged,
}

/// A conclusion with its check.
#[derive(Debug, Clone, Copy)]
pub enum Claim<'a> {
    /// Coded here.
    Coded(&'a Coded),
    /// Written beside its plan.
    Written(&'a plan::claim::Claim),
}

/// A claim, judged; serialises as a line of `arraylab claims --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimResult {
    /// `D4`.
    pub id: String,
    /// Who concludes it.
    pub origin: Origin,
    /// The conclusion.
    pub says: String,
    /// What the run says of it.
    pub verdict: Verdict,
    /// Why, with the numbers.
    pub because: String,
    /// The findings looked at.
    pub findings: Vec<String>,
    /// Where it is said.
    pub source: String,
    /// Why it should be so.
    pub mechanism: String,
    /// The share by which two values may differ and count as equal.
    pub tolerance: f64,
    /// What counts as shown, in words.
    pub criterion: String,
    /// Why it is refuted, where that is known beforehand.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub known: Option<Known>,
}

/// Whether a check's condition is met, with the numbers; or why it cannot be told.
type Judged = Result<(bool, String), String>;

/// Any length of a case shows the claim or does not.
const ANY: Needs = counted(0.0);

/// A counted time that a case must have.
const fn counted(time_s: f64) -> Needs {
    Needs { time_s, load_s: 0.0, intervals: 0 }
}

/// A time under load that a case must have, the ramp included.
const fn under_load(load_s: f64) -> Needs {
    Needs { time_s: 0.0, load_s, intervals: 0 }
}

/// The claims of a shipped plan, in the order of the publication.
pub fn claims_of(plan: &str) -> Vec<Claim<'static>> {
    let coded = match plan {
        "dorado-2100-g2" => dorado_2100_g2::CLAIMS,
        "raid-levels" => raid_levels::CLAIMS,
        "e2700" => e2700::CLAIMS,
        _ => &[],
    };
    let written = shipped().iter().filter(|(name, _)| name == plan).flat_map(|(_, claims)| claims);
    written.map(Claim::Written).chain(coded.iter().map(Claim::Coded)).collect()
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
    let plans = ["dorado-2100-g2", "flashsystem-840", "raid-levels", "e2700", "storpool"];
    plans.into_iter().flat_map(claims_of).find(|claim| claim.id() == id)
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
                let quote = |text: &str, field: &str| {
                    Cited::quote(text, Source::quote(&format!("claim/{}/{field}", self.id)))
                };
                cited!(
                    "{} ({}: {})",
                    self.because_cited(),
                    quote(known.words(), "known"),
                    quote(&known.says, "known")
                )
            }
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
            self.written_claims.iter().map(|claim| Claim::Written(claim).on(self)).collect()
        }
    }
}

impl Claim<'_> {
    /// Its identifier.
    pub fn id(&self) -> &str {
        match self {
            Claim::Coded(claim) => claim.id,
            Claim::Written(claim) => &claim.id,
        }
    }

    /// Judges the claim on findings.
    pub fn on(&self, findings: &Findings) -> ClaimResult {
        let needs = match self {
            Claim::Coded(claim) => claim.needs,
            Claim::Written(claim) => claim.needs,
        };
        let view = View::new(findings, needs);
        let (mut verdict, mut because) = match self {
            Claim::Coded(claim) => match (claim.judge)(&view) {
                Ok((true, because)) => (Verdict::Holds, because),
                Ok((false, because)) => (Verdict::Refuted, because),
                Err(reason) => (Verdict::NotShown, reason),
            },
            Claim::Written(claim) => match evaluate::judge(claim, &view) {
                (Truth::Holds, because) => (Verdict::Holds, because),
                (Truth::Refuted, because) => (Verdict::Refuted, because),
                (Truth::Open(_), because) => (Verdict::NotShown, because),
            },
        };
        let (cited, too_short) = view.into_cited();
        if let Some(reason) = too_short {
            because = if verdict == Verdict::NotShown { format!("{reason}; {because}") } else { reason };
            verdict = Verdict::NotShown;
        }
        let known = (verdict == Verdict::Refuted)
            .then(|| known::reason(self, findings.observation.is_of_twin()))
            .flatten();
        let (origin, says, source, mechanism, tolerance, criterion) = match self {
            Claim::Coded(claim) => {
                let Coded { origin, says, source, mechanism, tolerance, criterion, .. } = claim;
                (*origin, *says, *source, *mechanism, *tolerance, (*criterion).to_owned())
            }
            Claim::Written(claim) => (
                claim.origin,
                claim.says.as_str(),
                claim.source.as_str(),
                claim.mechanism.as_str(),
                claim.tolerance,
                claim.criterion(),
            ),
        };
        ClaimResult {
            id: self.id().to_owned(),
            origin,
            says: says.to_owned(),
            verdict,
            because,
            findings: cited,
            source: source.to_owned(),
            mechanism: mechanism.to_owned(),
            tolerance,
            criterion,
            known,
        }
    }
}

//! Claims, as they are written.

use crate::claim::{Origin, Reason};
use crate::yaml::{Entries, Located};
use schemars::JsonSchema;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A conclusion with the check that shows or refutes it.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Claim")]
pub(crate) struct ClaimDocument {
    /// Its name, unique in the plan: `S1`.
    pub id: Located<String>,
    /// The conclusion.
    pub says: String,
    /// Who concludes it: `published`, or `derived` from published figures; `published` without it.
    #[serde(default)]
    pub origin: Origin,
    /// Where it is said.
    pub source: String,
    /// Why it should be so: what in the array makes it.
    pub mechanism: String,
    /// The share by which two values may differ and count as equal: `2%` or 0.02.
    #[schemars(with = "super::settings::NumberOrText")]
    pub tolerance: Located<String>,
    /// What a case must have to show anything: `10s` of counted time, or `20 intervals`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub needs: Option<Located<String>>,
    /// Named parts of the check.
    #[serde(default)]
    #[schemars(with = "BTreeMap<String, String>")]
    pub values: Entries<Located<String>>,
    /// What must hold for the check to tell anything.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub given: Option<Located<String>>,
    /// What must hold.
    #[schemars(with = "String")]
    pub check: Located<String>,
    /// The reason in words, with `{name}` for the values.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub because: Option<Located<String>>,
    /// Why it is refuted, where that is known beforehand.
    #[serde(default)]
    pub known: Option<KnownDocument>,
}

/// Why a claim is refuted.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Known")]
pub(crate) struct KnownDocument {
    /// `published-inconsistency` or `limit-of-the-model`.
    pub reason: Reason,
    /// In words.
    pub says: String,
}

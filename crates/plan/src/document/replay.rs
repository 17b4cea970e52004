//! `replay:` as it is written.

use super::settings::NumberOrText;
use crate::yaml::Located;
use schemars::JsonSchema;
use serde::Deserialize;

/// A recorded trace that the cases of a stage replay.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Replay")]
pub(crate) struct ReplayDocument {
    /// The trace, beside the plan's file or by its whole path: fio iolog (versions 2 and 3), blkparse text, MSR
    /// Cambridge CSV, or SPC.
    #[schemars(with = "String")]
    pub trace: Located<String>,
    /// The disk, file or ASU whose I/Os are replayed, where the trace has several.
    #[serde(default)]
    #[schemars(with = "Option<NumberOrText>")]
    pub unit: Option<Located<String>>,
    /// `recorded` (the moments of the trace, the default), `as-fast-as-possible`, or a share of the recorded time such as
    /// `50%`, which is twice as fast.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub timing: Option<Located<String>>,
    /// What becomes of I/Os beyond the end of the target: `refuse` (the default) or `wrap`.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub beyond: Option<Located<String>>,
}

//! Document of load hosts.

use crate::yaml::{Located, OneOrMany};
use schemars::JsonSchema;
use serde::Deserialize;

/// A host that issues load.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Host")]
pub(crate) struct HostDocument {
    /// Its name, by which stages and loads refer to it.
    #[schemars(with = "String")]
    pub name: Located<String>,
    /// Where it is: ssh://USER@HOST, fio://HOST:PORT, or local; `--host NAME=ADDRESS` says it where it stands nowhere.
    #[serde(default)]
    #[schemars(with = "Option<String>")]
    pub address: Option<Located<String>>,
    /// Its targets, where they have other names there than on the command line.
    #[serde(default)]
    #[schemars(with = "Option<super::settings::TextOrTexts>")]
    pub targets: Option<Located<OneOrMany>>,
}

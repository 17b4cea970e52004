//! Table of control verbs, from which `ctl`, the control socket and the page read.

use crate::event_names::{CONTROLLER_FAILOVER, FIRMWARE_UPDATE, LIMIT, TEMPLATE};
use serde::Serialize;

/// One thing to say.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct VerbSpec {
    /// As it is typed.
    pub name: &'static str,
    /// Arguments, in the order in which they are typed without names.
    pub arguments: &'static [Argument],
    /// Pairs that may follow them as often as wanted, as in `KEY=VALUE…`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pairs: Option<&'static str>,
    /// Effect, in words for people.
    pub does: &'static str,
    /// Part that carries it out.
    pub scope: Scope,
    /// True where data may be lost or service end: whoever presses a button is asked again.
    pub is_harmful: bool,
}

/// Executor of a verb.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Scope {
    /// Nothing changes.
    Question,
    /// The array's settings.
    Settings,
    /// The bytes, and the model where it has a course for it.
    Bytes,
    /// The model alone, by the name under which plans know it.
    Model,
}

/// One argument.
#[derive(Debug, Clone, Copy, Serialize)]
pub(crate) struct Argument {
    /// Its name on the control socket.
    pub key: &'static str,
    /// Kind of value that it is chosen from.
    pub kind: Kind,
    /// True where it may be left out.
    pub is_optional: bool,
}

/// Choices of an argument.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Kind {
    /// The drives, by number.
    Drive,
    /// The volumes, by name.
    Volume,
    /// The controllers, by number.
    Controller,
    /// The pools of an array of chains, by name.
    Template,
    /// A name for a volume that there is not yet.
    NewVolume,
    /// A size in bytes, as in 64m.
    Size,
    /// The services of the nodes of an array of chains, as in node-0/server-0.
    Service,
    /// Any whole number.
    Number,
}

const fn needed(key: &'static str, kind: Kind) -> Argument {
    Argument { key, kind, is_optional: false }
}

const fn optional(key: &'static str, kind: Kind) -> Argument {
    Argument { key, kind, is_optional: true }
}

const fn verb(
    scope: Scope,
    name: &'static str,
    arguments: &'static [Argument],
    does: &'static str,
) -> VerbSpec {
    VerbSpec { name, arguments, pairs: None, does, scope, is_harmful: false }
}

const fn harmful(spec: VerbSpec) -> VerbSpec {
    VerbSpec { is_harmful: true, ..spec }
}

const fn with_pairs(spec: VerbSpec, pairs: &'static str) -> VerbSpec {
    VerbSpec { pairs: Some(pairs), ..spec }
}

const DRIVE: &[Argument] = &[needed("drive", Kind::Drive)];
const VOLUME: &[Argument] = &[needed("volume", Kind::Volume)];

/// All of them, in the order in which they are shown.
pub(crate) const VERBS: &[VerbSpec] = &[
    verb(Scope::Question, "status", &[], "everything about the array"),
    verb(Scope::Question, "ready", &[], "whether all drives are present"),
    verb(Scope::Question, "services", &[], "the services of the nodes of an array of chains"),
    with_pairs(verb(Scope::Settings, "set", &[], "changes settings of the model"), "SETTING=VALUE…"),
    harmful(verb(Scope::Bytes, "fail", DRIVE, "the drive fails")),
    harmful(verb(Scope::Bytes, "pull", DRIVE, "the drive is pulled out")),
    verb(Scope::Bytes, "replace", DRIVE, "a new drive takes its place and is rebuilt"),
    verb(
        Scope::Model,
        "slow",
        &[needed("drive", Kind::Drive), needed("factor", Kind::Number)],
        "the drive takes so many times as long; 1 is as described",
    ),
    harmful(verb(Scope::Bytes, "break", DRIVE, "the drive refuses writes; the array finds out")),
    harmful(verb(
        Scope::Bytes,
        "corrupt",
        &[needed("drive", Kind::Drive), optional("offset", Kind::Number), optional("sectors", Kind::Number)],
        "sectors of the drive change silently",
    )),
    harmful(verb(
        Scope::Bytes,
        "power-cut",
        &[optional("seed", Kind::Number)],
        "the power fails for a moment: connections end, unsynced sectors are lost by chance",
    )),
    verb(Scope::Bytes, "scrub", &[], "everything is read, checked and repaired in the background"),
    verb(Scope::Bytes, "checkpoint", &[], "everything goes from the journal to the drives"),
    verb(
        Scope::Bytes,
        "create",
        &[
            needed("volume", Kind::NewVolume),
            needed("size", Kind::Size),
            optional("template", Kind::Template),
        ],
        "makes a volume, all zeros",
    ),
    harmful(verb(
        Scope::Bytes,
        "resize",
        &[needed("volume", Kind::Volume), needed("size", Kind::Size)],
        "gives the volume another size; what is cut off is gone",
    )),
    harmful(verb(Scope::Bytes, "initialise", VOLUME, "makes all of the volume zero")),
    harmful(verb(Scope::Bytes, "delete", VOLUME, "the volume and its data are gone")),
    with_pairs(
        verb(Scope::Model, LIMIT, VOLUME, "limits the volume; none lifts a limit"),
        "iops=N|bw_bytes_per_s=N|…=none",
    ),
    verb(
        Scope::Model,
        TEMPLATE,
        &[needed("volume", Kind::Volume), needed("template", Kind::Template)],
        "moves the volume to other classes of drives",
    ),
    harmful(verb(
        Scope::Model,
        "stop",
        &[needed("service", Kind::Service)],
        "the service stops: its drives serve nothing meanwhile",
    )),
    verb(
        Scope::Model,
        "start",
        &[needed("service", Kind::Service)],
        "the service starts: its drives catch up and serve again",
    ),
    verb(Scope::Model, FIRMWARE_UPDATE, &[], "controllers leave and come back one after the other"),
    verb(
        Scope::Model,
        CONTROLLER_FAILOVER,
        &[needed("controller", Kind::Controller)],
        "the controller leaves and comes back, once",
    ),
];

/// The one of this name.
pub(crate) fn find(name: &str) -> Option<&'static VerbSpec> {
    VERBS.iter().find(|verb| verb.name == name)
}

/// Returns what a user types after `ctl SOCKET`, and what it needs.
pub(crate) fn usage() -> String {
    let verbs: Vec<String> = VERBS.iter().map(usage_of).collect();
    verbs.join(" | ")
}

/// Returns how one is typed.
pub(crate) fn usage_of(verb: &VerbSpec) -> String {
    let mut words = vec![verb.name.to_owned()];
    words.extend(verb.arguments.iter().map(|argument| {
        let name = argument.key.to_uppercase();
        if argument.is_optional { format!("[{name}]") } else { name }
    }));
    words.extend(verb.pairs.map(str::to_owned));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that the documentation has every verb with its arguments.
    #[test]
    fn every_verb_is_documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/ctl.md");
        let text = std::fs::read_to_string(path).unwrap();
        for verb in VERBS {
            assert!(
                text.contains(&format!("`{}`", usage_of(verb))) || verb.pairs.is_some(),
                "{}",
                usage_of(verb)
            );
            assert!(text.contains(&format!("`{} ", verb.name)) || verb.arguments.is_empty(), "{}", verb.name);
        }
    }

    /// Proves that the usage names each verb with its arguments, optional ones in brackets.
    #[test]
    fn usage_is_of_the_table() {
        let usage = usage();
        for words in [
            "status | ready | services | set SETTING=VALUE… | fail DRIVE | ",
            "corrupt DRIVE [OFFSET] [SECTORS] | power-cut [SEED] | ",
            "limit VOLUME iops=N|bw_bytes_per_s=N|…=none | template VOLUME TEMPLATE | ",
            "controller-failover CONTROLLER",
        ] {
            assert!(usage.contains(words), "{words}: {usage}");
        }
        assert_eq!(VERBS.iter().filter(|verb| find(verb.name).is_some()).count(), VERBS.len());
    }
}

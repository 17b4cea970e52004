//! Groups of cases that differ in one setting.

use crate::observation::ObservedCase;
use serde_json::{Map, Value};
use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Write;

/// Labels, weights and lengths: what does not change what is measured.
const NO_SETTING: &[&str] = &[
    "scenario",
    "priority",
    "pause",
    "runtime",
    "ramp_time",
    "randrepeat",
    "norandommap",
    "thread",
    "direct",
];

/// The settings of a case other than some, as text.
pub(crate) fn key(settings: &Map<String, Value>, without: &[&str]) -> String {
    joined(settings.iter().filter(|(name, _)| is_kept(name, without)))
}

/// Joins settings as `bs=4096,rw=randread`.
fn joined<'a>(settings: impl Iterator<Item = (&'a String, &'a Value)>) -> String {
    let mut text = String::new();
    for (name, value) in settings {
        let comma = if text.is_empty() { "" } else { "," };
        // Writing to a string does not fail.
        let _ = match value {
            Value::String(value) => write!(text, "{comma}{name}={value}"),
            value => write!(text, "{comma}{name}={value}"),
        };
    }
    text
}

/// Returns true if a setting changes what is measured and is none of those to leave out.
fn is_kept(name: &str, without: &[&str]) -> bool {
    !NO_SETTING.contains(&name) && !without.contains(&name)
}

/// The settings of a case other than some.
pub(crate) fn common(settings: &Map<String, Value>, without: &[&str]) -> Map<String, Value> {
    settings
        .iter()
        .filter(|(name, _)| is_kept(name, without))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// A value as plans write it.
pub(crate) fn word(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A group of cases of one stage.
pub(crate) struct Group<'a> {
    pub stage: &'a str,
    /// Settings in common, of those that differ in their stage: the tail of identifiers.
    pub name: String,
    /// Everything that they have in common.
    pub common: Map<String, Value>,
    pub cases: Vec<&'a ObservedCase>,
}

/// Groups the cases of each stage by all settings but some; groups and cases are in the order of the plan.
pub(crate) fn by_all_but<'a>(cases: &'a [ObservedCase], without: &[&str]) -> Vec<Group<'a>> {
    let mut groups: Vec<Group<'a>> = Vec::new();
    let mut places: HashMap<(&str, String), usize> = HashMap::new();
    let varying = varying(cases);
    for case in cases {
        // Settings that all cases of a stage have in common tell none of them apart.
        let differing = varying.get(case.stage.as_str());
        let name = joined(case.settings.iter().filter(|(name, _)| {
            differing.is_some_and(|names| names.contains(name.as_str())) && is_kept(name, without)
        }));
        match places.entry((case.stage.as_str(), name)) {
            Entry::Occupied(place) => groups[*place.get()].cases.push(case),
            Entry::Vacant(place) => {
                let name = place.key().1.clone();
                place.insert(groups.len());
                let common = common(&case.settings, without);
                groups.push(Group { stage: &case.stage, name, common, cases: vec![case] });
            }
        }
    }
    groups
}

/// The settings of each stage that do not have the same value in all its cases.
pub(crate) fn varying(cases: &[ObservedCase]) -> BTreeMap<&str, BTreeSet<&str>> {
    let mut firsts: BTreeMap<&str, &Map<String, Value>> = BTreeMap::new();
    let mut names: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for case in cases {
        let first = firsts.entry(&case.stage).or_insert(&case.settings);
        let names = names.entry(&case.stage).or_default();
        // Settings of a stage stand in the same order as a rule, so that none has to be looked up.
        if first.len() == case.settings.len() && first.keys().eq(case.settings.keys()) {
            let pairs = first.iter().zip(case.settings.values());
            let differing =
                pairs.filter(|((_, value), other)| value != other).map(|((name, _), _)| name.as_str());
            for name in differing {
                if !names.contains(name) {
                    names.insert(name);
                }
            }
            continue;
        }
        let all = first.keys().chain(case.settings.keys());
        names.extend(all.filter(|name| first.get(*name) != case.settings.get(*name)).map(String::as_str));
    }
    names
}

impl Group<'_> {
    /// Identifier of a finding about this group.
    pub fn id(&self, kind: crate::Kind, more: &str) -> String {
        let parts = [kind.name(), self.stage, &self.name, more];
        parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/")
    }
}

//! Redaction: a copy of a run in which names of devices, hosts and people are pseudonyms.
//!
//! The copy is made before the report is written, so that no format of a report can have what the run does not. Names are
//! found in two ways: by the fields of the manifest that hold them, wherever else they stand; and by their form.

use crate::EvidenceError;
use crate::error::io_error;
use crate::patterns::{Pattern, SecretKind, patterns, patterns_of_outputs};
use regex_lite::{Captures, Regex};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::Path;
use store::{Manifest, RunReader};

/// Names below this length stand in too many words to be looked for by themselves.
const KNOWN_CHARS: usize = 3;
/// Names that tell nobody apart.
const COMMON: [&str; 12] = [
    "root",
    "localhost",
    "local",
    "none",
    "null",
    "true",
    "false",
    "unknown",
    "admin",
    "user",
    "host",
    "linux",
];

/// A copy of a run without names of devices, hosts and people, in a new directory. The same name has the same pseudonym
/// everywhere in the copy: `host-1`, `serial-2`.
pub fn redacted_copy(run: &RunReader, directory: &Path) -> Result<RunReader, EvidenceError> {
    let mut redactor = Redactor::of_runs([run])?;
    redactor.copy(run, directory)
}

/// Copies of several runs as [`redacted_copy`] makes them, in numbered directories below the given one. The same name has the
/// same pseudonym in all of them: runs on one host can be seen to be on one host.
pub fn redacted_copies(runs: &[RunReader], directory: &Path) -> Result<Vec<RunReader>, EvidenceError> {
    let mut redactor = Redactor::of_runs(runs)?;
    let copy =
        |(number, run): (usize, &RunReader)| redactor.copy(run, &directory.join((number + 1).to_string()));
    runs.iter().enumerate().map(copy).collect()
}

fn manifest_of(run: &RunReader) -> Result<Value, EvidenceError> {
    serde_json::to_value(run.manifest()).map_err(|source| io_error("read", run.directory(), source.into()))
}

fn is_shipped(source: &str) -> bool {
    let stem = Path::new(source).file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let plans = plan::shipped_plans();
    let arrays = plan::shipped_arrays();
    plans.iter().chain(&arrays).any(|shipped| Some(shipped.name) == stem.as_deref())
}

/// Replaces names by pseudonyms, the same name by the same one.
struct Redactor {
    pseudonyms: BTreeMap<(SecretKind, String), usize>,
    counts: BTreeMap<SecretKind, usize>,
    /// Names that fields hold, with their kinds.
    known: BTreeMap<String, SecretKind>,
    /// Full names of hosts by their short one.
    full_names: BTreeMap<String, BTreeSet<String>>,
    known_form: Option<Regex>,
    patterns: Vec<Pattern>,
    patterns_of_outputs: Vec<Pattern>,
}

impl Redactor {
    fn new() -> Redactor {
        Redactor {
            pseudonyms: BTreeMap::new(),
            counts: BTreeMap::new(),
            known: BTreeMap::new(),
            full_names: BTreeMap::new(),
            known_form: None,
            patterns: patterns(),
            patterns_of_outputs: patterns_of_outputs(),
        }
    }

    /// Learns the names in runs.
    fn of_runs<'a>(runs: impl IntoIterator<Item = &'a RunReader>) -> Result<Redactor, EvidenceError> {
        let mut redactor = Redactor::new();
        for run in runs {
            redactor.learn_manifest(&manifest_of(run)?);
            for event in run.events()? {
                if let Some(data) = &event.data {
                    redactor.learn(data, "");
                }
            }
        }
        redactor.compile();
        Ok(redactor)
    }

    /// Writes a copy of a run without the names.
    fn copy(&mut self, run: &RunReader, directory: &Path) -> Result<RunReader, EvidenceError> {
        let mut manifest = manifest_of(run)?;
        // The source of a shipped plan or array is no path of anybody.
        for name in ["plan", "array"] {
            let source = manifest[name]["source"].as_str().unwrap_or_default().to_owned();
            let is_shipped =
                ["plans/", "arrays/"].iter().any(|folder| source.starts_with(folder)) && is_shipped(&source);
            if !is_shipped && !source.is_empty() {
                manifest[name]["source"] = self.pseudonym(SecretKind::Path, &source).into();
            }
        }
        self.walk(&mut manifest, false);
        let manifest: Manifest =
            serde_json::from_value(manifest).map_err(|source| io_error("write", directory, source.into()))?;
        Ok(run.copy_rewritten(directory, &manifest, &mut |text| self.output(text))?)
    }

    fn learn_manifest(&mut self, manifest: &Value) {
        for part in ["host", "targets"] {
            self.learn(&manifest[part], "");
        }
        for host in manifest["hosts"].as_array().into_iter().flatten() {
            self.learn_text(SecretKind::Host, host["name"].as_str().unwrap_or_default());
            let address = host["address"].as_str().unwrap_or_default();
            let place = address.split_once("://").map_or(address, |(_, place)| place);
            if let Some((user, place)) = place.split_once('@') {
                self.learn_text(SecretKind::User, user);
                self.learn_text(SecretKind::Host, place.split([':', '/']).next().unwrap_or_default());
            }
            self.learn(&host["facts"], "");
            self.learn(&host["targets"], "");
        }
    }

    /// Learns the names in a value by the names of its fields.
    fn learn(&mut self, value: &Value, field: &str) {
        match value {
            Value::Object(fields) => fields.iter().for_each(|(name, value)| self.learn(value, name)),
            Value::Array(values) => values.iter().for_each(|value| self.learn(value, field)),
            Value::String(text) => {
                if let Some(kind) = kind_of(field) {
                    self.learn_text(kind, text.trim());
                }
                // A path of a home names its owner.
                for home in ["/home/", "/Users/"] {
                    if let Some((_, rest)) = text.split_once(home) {
                        let end = rest.find(|c: char| !(c.is_alphanumeric() || "._-".contains(c)));
                        self.learn_text(SecretKind::User, &rest[..end.unwrap_or(rest.len())]);
                    }
                }
            }
            _ => {}
        }
    }

    fn learn_text(&mut self, kind: SecretKind, text: &str) {
        let is_setting = plan::SETTINGS.iter().any(|setting| setting.name == text);
        let is_common = COMMON.contains(&text.to_lowercase().as_str());
        if text.chars().count() < KNOWN_CHARS || is_setting || is_common {
            return;
        }
        let is_address = kind == SecretKind::Host && text.parse::<IpAddr>().is_ok();
        let kind = if is_address { SecretKind::Address } else { kind };
        self.known.entry(text.to_lowercase()).or_insert(kind);
        let digits = canonical(SecretKind::Wwn, text);
        if kind == SecretKind::Wwn && digits.len() >= 8 {
            self.known.entry(digits).or_insert(kind);
        }
        if kind == SecretKind::Host
            && let Some((first, _)) = text.split_once('.')
        {
            self.full_names.entry(first.to_lowercase()).or_default().insert(text.to_lowercase());
            self.learn_text(kind, first);
        }
    }

    /// Makes one form of all known names, the longest first.
    fn compile(&mut self) {
        let mut names: Vec<&String> = self.known.keys().collect();
        names.sort_by_key(|name| (std::cmp::Reverse(name.len()), *name));
        let forms: Vec<String> = names.iter().map(|name| regex_lite::escape(name)).collect();
        self.known_form =
            (!forms.is_empty()).then(|| Regex::new(&format!("(?i){}", forms.join("|"))).ok()).flatten();
    }

    /// One form for a name that is written in several ways. The short name of a host is that of its full one, unless two hosts
    /// share it.
    fn one_form(&self, kind: SecretKind, secret: &str) -> String {
        let form = canonical(kind, secret);
        let only = self.full_names.get(&form).filter(|names| kind == SecretKind::Host && names.len() == 1);
        only.and_then(|names| names.first().cloned()).unwrap_or(form)
    }

    fn pseudonym(&mut self, kind: SecretKind, secret: &str) -> String {
        let key = (kind, self.one_form(kind, secret));
        let number = match self.pseudonyms.get(&key) {
            Some(number) => *number,
            None => {
                let count = self.counts.entry(kind).or_default();
                *count += 1;
                self.pseudonyms.insert(key, *count);
                *count
            }
        };
        format!("{}-{number}", kind.word())
    }

    /// A text without names; paths first, because they hold others.
    fn text(&mut self, text: &str) -> String {
        let patterns = std::mem::take(&mut self.patterns);
        let (paths, others): (Vec<&Pattern>, Vec<&Pattern>) =
            patterns.iter().partition(|pattern| pattern.kind == SecretKind::Path);
        let mut rewritten = text.to_owned();
        for pattern in paths {
            rewritten = self.replace(&rewritten, pattern);
        }
        rewritten = self.replace_known(&rewritten);
        for pattern in others {
            rewritten = self.replace(&rewritten, pattern);
        }
        self.patterns = patterns;
        rewritten
    }

    /// A text that a command may have written.
    fn output(&mut self, text: &str) -> String {
        let mut rewritten = self.text(text);
        if text.contains('\n') {
            let patterns = std::mem::take(&mut self.patterns_of_outputs);
            for pattern in &patterns {
                rewritten = self.replace(&rewritten, pattern);
            }
            self.patterns_of_outputs = patterns;
        }
        rewritten
    }

    fn replace_known(&mut self, text: &str) -> String {
        let Some(form) = self.known_form.take() else { return text.to_owned() };
        let mut rewritten = String::with_capacity(text.len());
        let mut end = 0;
        for found in form.find_iter(text) {
            let Some(kind) = self.known.get(&found.as_str().to_lowercase()).copied() else { continue };
            let before = text[..found.start()].chars().next_back();
            let after = text[found.end()..].chars().next();
            let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
            // Numbers of devices stand within longer names; names of hosts and people are words.
            let is_number = matches!(kind, SecretKind::Serial | SecretKind::Wwn | SecretKind::Id)
                && found.as_str().len() >= 6;
            if !is_number && (is_word(before) || is_word(after)) {
                continue;
            }
            rewritten.push_str(&text[end..found.start()]);
            rewritten.push_str(&self.pseudonym(kind, found.as_str()));
            end = found.end();
        }
        rewritten.push_str(&text[end..]);
        self.known_form = Some(form);
        rewritten
    }

    fn replace(&mut self, text: &str, pattern: &Pattern) -> String {
        let replaced = pattern.regex.replace_all(text, |captures: &Captures<'_>| {
            let (Some(whole), secret) = (captures.get(0), captures.get(1)) else { return String::new() };
            let secret = secret.unwrap_or(whole);
            if !(pattern.is_secret)(secret.as_str()) {
                return whole.as_str().to_owned();
            }
            let (before, after) = (secret.start() - whole.start(), secret.end() - whole.start());
            let pseudonym = self.pseudonym(pattern.kind, secret.as_str());
            format!("{}{pseudonym}{}", &whole.as_str()[..before], &whole.as_str()[after..])
        });
        replaced.into_owned()
    }

    /// Rewrites every string of a value, outputs of commands more strictly.
    fn walk(&mut self, value: &mut Value, is_output: bool) {
        match value {
            Value::String(text) => {
                *text = if is_output { self.output(&format!("{text}\n")) } else { self.text(text) };
                if is_output && text.ends_with('\n') {
                    text.pop();
                }
            }
            Value::Array(values) => values.iter_mut().for_each(|value| self.walk(value, is_output)),
            Value::Object(fields) => {
                for (name, mut field) in std::mem::take(fields) {
                    let is_output = is_output || matches!(name.as_str(), "output" | "stderr" | "identity");
                    self.walk(&mut field, is_output);
                    fields.insert(self.text(&name), field);
                }
            }
            _ => {}
        }
    }
}

/// Kind of the names in a field.
fn kind_of(field: &str) -> Option<SecretKind> {
    let field = field.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| field.contains(word));
    if has(&["serial", "asset_tag", "service_tag", "consent"]) {
        Some(SecretKind::Serial)
    } else if has(&["wwn", "wwid", "wwpn", "nguid", "eui", "port_name", "node_name"]) {
        Some(SecretKind::Wwn)
    } else if has(&["uuid", "machine_id", "boot_id"]) {
        Some(SecretKind::Id)
    } else if has(&["hostname", "nodename", "fqdn"]) {
        Some(SecretKind::Host)
    } else if has(&["username", "login", "owner"]) || field == "user" {
        Some(SecretKind::User)
    } else if has(&["nqn", "iqn", "traddr", "mac", "ip_address", "gateway"]) && field != "machine" {
        Some(SecretKind::Address)
    } else {
        None
    }
}

/// One form for a name that is written in several ways.
fn canonical(kind: SecretKind, secret: &str) -> String {
    let lower = secret.to_lowercase();
    match kind {
        SecretKind::Wwn => {
            let stripped = ["naa.", "eui.", "0x"].iter().find_map(|prefix| lower.strip_prefix(prefix));
            let digits: String =
                stripped.unwrap_or(&lower).chars().filter(|letter| !matches!(letter, ':' | ' ')).collect();
            digits
        }
        _ => lower,
    }
}

#[cfg(test)]
mod tests;

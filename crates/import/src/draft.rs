//! Draft plan and its YAML.

use crate::ImportError;
use plan::{Plan, PlanError};
use std::fmt::Write;
use std::path::{Path, PathBuf};

/// A line of the imported file.
pub(crate) type Line = (PathBuf, usize);

#[derive(Debug, Clone, PartialEq, Eq)]
struct Entry {
    name: String,
    value: String,
    /// The line that says so, where it is one.
    line: Option<Line>,
}

/// Settings by name, as texts, in the order in which they were set.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Settings(Vec<Entry>);

impl Settings {
    /// Sets a value, in place of an earlier one.
    pub fn set(&mut self, name: &str, value: impl Into<String>) {
        self.set_at(name, value, None);
    }

    /// Sets a value that a line of the file gives, in place of an earlier one.
    pub fn set_at(&mut self, name: &str, value: impl Into<String>, line: Option<Line>) {
        let value = value.into();
        match self.0.iter_mut().find(|known| known.name == name) {
            Some(known) => {
                known.value = value;
                known.line = line.or(known.line.take());
            }
            None => self.0.push(Entry { name: name.to_owned(), value, line }),
        }
    }

    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|known| known.name == name).map(|known| known.value.as_str())
    }

    /// The line that gives a setting its value.
    pub fn line(&self, name: &str) -> Option<&Line> {
        self.0.iter().find(|known| known.name == name)?.line.as_ref()
    }

    pub fn remove(&mut self, name: &str) {
        self.0.retain(|known| known.name != name);
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().map(|entry| (entry.name.as_str(), entry.value.as_str()))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take_from(&mut self, entry: &Entry) {
        self.set_at(&entry.name, entry.value.clone(), entry.line.clone());
    }
}

/// A load of several at once.
#[derive(Debug, Clone, Default)]
pub(crate) struct DraftLoad {
    pub name: String,
    pub settings: Settings,
    /// The number of its target, where the file names several.
    pub target: Option<usize>,
    /// Start of the load, after that of the case.
    pub start: Option<String>,
    /// Line of the file that names it.
    pub line: Option<Line>,
}

/// A search for the largest load under a bound on latency.
#[derive(Debug, Clone)]
pub(crate) struct DraftSearch {
    /// `mean`, `p50`, `p95`, `p99` or `p99.9`.
    pub of: String,
    /// The bound, with its unit.
    pub below: String,
    /// The largest depth.
    pub limit: String,
    pub line: Line,
}

/// A stage.
#[derive(Debug, Clone, Default)]
pub(crate) struct DraftStage {
    pub name: String,
    pub title: Option<String>,
    pub notes: Vec<String>,
    pub settings: Settings,
    pub axes: Vec<(String, Vec<String>)>,
    /// Further cases; with no axes, all of them.
    pub include: Vec<Settings>,
    pub loads: Vec<DraftLoad>,
    pub pause: Option<String>,
    pub search: Option<DraftSearch>,
    /// Line of the file that names it.
    pub line: Option<Line>,
}

/// Settings that belong to a case as a whole, whatever its loads are.
const OF_THE_CASE: [&str; 2] = ["runtime", "ramp_time"];

impl DraftStage {
    /// Moves the settings that all loads of the stage have in common to the stage. `rw` and `bs`, which every
    /// case needs, are those of the first load.
    pub fn share_settings(&mut self) {
        let Some((first, others)) = self.loads.split_first() else { return };
        for entry in &first.settings.0 {
            let name = entry.name.as_str();
            let is_common = others.iter().all(|load| load.settings.get(name) == Some(&entry.value));
            let is_needed = matches!(name, "rw" | "bs") || OF_THE_CASE.contains(&name);
            if self.settings.get(name).is_none() && (is_common || is_needed) {
                self.settings.take_from(entry);
            }
        }
        for load in &mut self.loads {
            let settings = std::mem::take(&mut load.settings);
            for entry in &settings.0 {
                if self.settings.get(&entry.name) != Some(&entry.value)
                    && !OF_THE_CASE.contains(&entry.name.as_str())
                {
                    load.settings.take_from(entry);
                }
            }
        }
    }
}

/// A plan in the making.
#[derive(Debug, Clone, Default)]
pub(crate) struct Draft {
    pub title: String,
    pub notes: Vec<String>,
    pub interval: Option<String>,
    pub stages: Vec<DraftStage>,
}

impl Draft {
    /// The plan as YAML.
    pub fn text(&self) -> String {
        let mut yaml = Yaml::default();
        yaml.line(0, &format!("title: {}", quoted(&self.title)));
        yaml.list(0, "notes", &self.notes);
        if let Some(interval) = &self.interval {
            yaml.line(0, &format!("watch: {{ interval: {} }}", scalar(interval)));
        }
        yaml.line(0, "stages:");
        for stage in &self.stages {
            yaml.line(1, &format!("{}:", scalar(&stage.name)));
            if let Some(title) = &stage.title {
                yaml.line(2, &format!("title: {}", quoted(title)));
            }
            yaml.list(2, "notes", &stage.notes);
            yaml.settings(2, "settings", &stage.settings);
            if !stage.axes.is_empty() || !stage.include.is_empty() {
                yaml.line(2, "matrix:");
                for (name, values) in &stage.axes {
                    let values: Vec<String> = values.iter().map(|value| scalar(value)).collect();
                    yaml.line(3, &format!("{}: [{}]", scalar(name), values.join(", ")));
                }
                if !stage.include.is_empty() {
                    yaml.line(3, "include:");
                    for settings in &stage.include {
                        yaml.line(4, &format!("- {}", flow(settings)));
                    }
                }
            }
            if !stage.loads.is_empty() {
                yaml.line(2, "loads:");
                for load in &stage.loads {
                    yaml.line(3, &format!("{}:", scalar(&load.name)));
                    if let Some(target) = load.target {
                        yaml.line(4, &format!("target: {target}"));
                    }
                    if let Some(start) = &load.start {
                        yaml.line(4, &format!("start: {}", scalar(start)));
                    }
                    yaml.line(4, &format!("settings: {}", flow(&load.settings)));
                }
            }
            if let Some(DraftSearch { of, below, limit, .. }) = &stage.search {
                yaml.line(2, "find:");
                let (of, below, limit) = (scalar(of), scalar(below), scalar(limit));
                let search = format!("{{ of: {of}, below: {below}, over: iodepth, limit: {limit} }}");
                yaml.line(3, &format!("max-under-latency: {search}"));
            }
            if let Some(pause) = &stage.pause {
                yaml.line(2, &format!("pause: {}", scalar(pause)));
            }
        }
        yaml.0
    }

    /// Returns the plan as YAML after reading it back: a value over a limit of plans is an error of the imported file.
    pub fn checked_text(&self, path: &Path, name: &str) -> Result<(String, Plan), ImportError> {
        let text = self.text();
        let read = plan::parse_plan(name, &path.display().to_string(), &text);
        let plan = read.map_err(|source: PlanError| ImportError::Plan {
            path: path.to_owned(),
            source: Box::new(source),
        })?;
        Ok((text, plan))
    }
}

#[derive(Default)]
struct Yaml(String);

impl Yaml {
    fn line(&mut self, depth: usize, text: &str) {
        let _ = writeln!(self.0, "{:indent$}{text}", "", indent = depth * 2);
    }

    fn list(&mut self, depth: usize, key: &str, texts: &[String]) {
        if texts.is_empty() {
            return;
        }
        self.line(depth, &format!("{key}:"));
        for text in texts {
            self.line(depth + 1, &format!("- {}", quoted(text)));
        }
    }

    fn settings(&mut self, depth: usize, key: &str, settings: &Settings) {
        if !settings.is_empty() {
            self.line(depth, &format!("{key}: {}", flow(settings)));
        }
    }
}

fn flow(settings: &Settings) -> String {
    let entries: Vec<String> =
        settings.iter().map(|(name, value)| format!("{}: {}", scalar(name), scalar(value))).collect();
    if entries.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", entries.join(", ")) }
}

/// A value: bare where YAML cannot take it for anything else, in quotes otherwise.
fn scalar(text: &str) -> String {
    let is_plain = !text.is_empty()
        && text.starts_with(|c: char| c.is_ascii_alphanumeric())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c))
        && !["null", "yes", "no", "y", "n", "true", "false"].contains(&text.to_ascii_lowercase().as_str());
    if is_plain { text.to_owned() } else { quoted(text) }
}

/// The longest text that is taken over from a file.
const TEXT_CHARS_LIMIT: usize = 2000;

/// A text in double quotes, with what YAML does not print replaced.
fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for c in text.chars().take(TEXT_CHARS_LIMIT) {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            c if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') =>
            {
                quoted.push('\u{fffd}');
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Longest name of a stage or load before its number; plans have 64 for both.
const NAME_CHARS_LIMIT: usize = 56;

/// Name as stages and loads of plans have them (lower-case letters, digits and `-`), unlike all of `taken`, to which it is added; `otherwise` where
/// nothing of the wanted one can stay.
pub fn unique_name(wanted: &str, otherwise: &str, taken: &mut Vec<String>) -> String {
    let mut name = String::new();
    for c in wanted.chars() {
        match c {
            c if c.is_ascii_alphanumeric() => name.push(c.to_ascii_lowercase()),
            _ if name.is_empty() || name.ends_with('-') => {}
            _ => name.push('-'),
        }
    }
    name.truncate(NAME_CHARS_LIMIT);
    let base = match name.trim_end_matches('-') {
        "" => otherwise.to_owned(),
        name => name.to_owned(),
    };
    let mut name = base.clone();
    let mut number = 1usize;
    while taken.contains(&name) {
        number += 1;
        name = format!("{base}-{number}");
    }
    taken.push(name.clone());
    name
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Proves that names are those of stages, and different.
    #[test]
    fn names_are_different() {
        let mut taken = Vec::new();
        assert_eq!(unique_name("Rand_Read 4K!", "job", &mut taken), "rand-read-4k");
        assert_eq!(unique_name("rand-read-4k", "job", &mut taken), "rand-read-4k-2");
        assert_eq!(unique_name("√", "job", &mut taken), "job");
    }

    /// Proves that loads keep only what they do not have in common.
    #[test]
    fn common_settings_are_shared() {
        let load = |pairs: &[(&str, &str)]| {
            let mut settings = Settings::default();
            pairs.iter().for_each(|(name, value)| settings.set(name, *value));
            DraftLoad { settings, ..DraftLoad::default() }
        };
        let mut stage = DraftStage {
            loads: vec![
                load(&[("rw", "read"), ("bs", "4k"), ("iodepth", "8"), ("rate_iops", "5")]),
                load(&[("rw", "write"), ("bs", "4k"), ("iodepth", "8")]),
            ],
            ..DraftStage::default()
        };
        stage.share_settings();
        let pairs = |settings: &Settings| {
            settings.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(pairs(&stage.settings), "rw=read bs=4k iodepth=8");
        assert_eq!(pairs(&stage.loads[0].settings), "rate_iops=5");
        assert_eq!(pairs(&stage.loads[1].settings), "rw=write");
    }

    proptest! {
        /// Proves that any words of a file can stand in a plan.
        #[test]
        fn any_words_are_read_back(title in "\\PC{1,40}|[\\x00-\\x1f\"\\\\:#&*{}\\[\\]-]{1,20}", note in any::<String>()) {
            let mut settings = Settings::default();
            settings.set("rw", "read");
            settings.set("bs", "4k");
            let stage = DraftStage { name: "a".into(), title: Some(note.clone()), settings, ..DraftStage::default() };
            let draft = Draft { title, notes: vec![note], stages: vec![stage], ..Draft::default() };
            draft.checked_text(Path::new("x"), "x").map_err(|error| TestCaseError::fail(error.to_string()))?;
        }
    }
}

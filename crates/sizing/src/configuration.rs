//! Configuration of an array: its description with changes of single values.

use crate::SizingError;
use crate::cache_warming::WarmedTwins;
use campaign::TwinCache;
use serde_json::{Map, Value};
use twin::{ArrayDescription, Twin};

/// Most values of one changed key.
const VALUES_LIMIT: usize = 64;

/// Key of an array, or a setting of its twin, with the values that it is to have instead, one after the other.
#[derive(Debug, Clone, PartialEq)]
pub struct Change {
    /// Path in the description (`fabric.ports`, `links.count`), or a setting of the twin (`raid`, `gc`).
    pub key: String,
    /// Its other values.
    pub values: Vec<Value>,
}

impl Change {
    /// Reads `KEY=VALUE[,VALUE]…`.
    pub fn parse(text: &str) -> Result<Change, SizingError> {
        let wrong = || {
            SizingError::question(
                format!("`{text}` is no change"),
                "KEY=VALUE, as `links.count=4,8` or `drives.read=60us`",
            )
        };
        let (key, values) = text.split_once('=').ok_or_else(wrong)?;
        let values: Vec<Value> = values
            .split(',')
            .map(|value| value.trim())
            .filter(|value| !value.is_empty())
            .map(|value| serde_json::from_str(value).unwrap_or_else(|_| value.into()))
            .collect();
        if key.trim().is_empty() || values.is_empty() || values.len() > VALUES_LIMIT {
            return Err(wrong());
        }
        Ok(Change { key: key.trim().to_owned(), values })
    }
}

/// Changes as `--change` takes them: `KEY=VALUE` each.
pub fn change_texts(changes: &Map<String, Value>) -> Vec<String> {
    changes.iter().map(|(key, value)| format!("{key}={}", value_text(value))).collect()
}

/// Formats a value as it is written: texts without quotes.
pub fn value_text(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Array as a twin of it is built.
#[derive(Debug, Clone)]
pub struct Configuration {
    /// Name under which it ships, or of its file.
    pub name: String,
    /// Its text.
    pub text: String,
    /// The same, read.
    pub description: ArrayDescription,
    /// True if it ships, or was derived from one that ships: published rows are about it.
    pub is_shipped: bool,
    /// Settings of the twin, in the order given.
    pub settings: Vec<(String, String)>,
    /// Changes from the original array to this one.
    pub changed: Map<String, Value>,
    /// True in a state, or with more of a part, of which no published row is.
    pub has_no_rows: bool,
    /// Cache of the twin that was built last, for whoever asks about the same array again and again: it has the memory of a whole twin.
    pub twins: Option<TwinCache>,
    /// Twins whose caches were warmed last.
    pub warmed: WarmedTwins,
}

impl Configuration {
    /// An array by its name or path.
    pub fn load(name_or_path: &str) -> Result<Configuration, SizingError> {
        let loaded = plan::load_array(name_or_path)?;
        // A file of somebody's own may have the name of a shipped array.
        let shipped = plan::shipped_arrays().into_iter().find(|shipped| shipped.name == loaded.name);
        Ok(Configuration {
            is_shipped: shipped.is_some_and(|shipped| shipped.text == loaded.text),
            name: loaded.name,
            text: loaded.text,
            description: loaded.description,
            settings: Vec::new(),
            changed: Map::new(),
            has_no_rows: false,
            twins: None,
            warmed: WarmedTwins::default(),
        })
    }

    /// The same array with one value changed.
    pub fn with(&self, key: &str, value: &Value) -> Result<Configuration, SizingError> {
        self.with_all(&[(key, value)])
    }

    /// Returns the array with several values changed at once; only the result as a whole must be valid.
    pub fn with_all(&self, changes: &[(&str, &Value)]) -> Result<Configuration, SizingError> {
        // Its twins are others, and would take the place of this one's.
        let mut changed = Configuration { twins: None, ..self.clone() };
        let mut values = Vec::new();
        for (key, value) in changes {
            changed.changed.insert((*key).to_owned(), (*value).clone());
            if Twin::settings(&self.description).iter().any(|setting| setting.name == *key) {
                changed.settings.retain(|(name, _)| name != key);
                changed.settings.push(((*key).to_owned(), value_text(value)));
            } else if plan::setting(key).is_some() {
                return Err(SizingError::question(
                    format!("`{key}` is a setting of the load, not of the array"),
                    "give it with --load",
                ));
            } else {
                values.push((*key, (*value).clone()));
            }
        }
        if !values.is_empty() {
            changed.text = plan::replace_values(&self.name, &self.text, &values)?;
            changed.description = plan::parse_array(&self.name, &changed.text)?;
        }
        Ok(changed)
    }
}

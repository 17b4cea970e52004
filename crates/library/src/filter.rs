//! Conditions of `--where`: which entries, and which of their rows.

use crate::{Choice, Entry, LibraryError, Row};
use std::collections::BTreeMap;

/// Keys of entries and rows.
pub const KEYS: [&str; 16] = [
    "id",
    "system",
    "source",
    "date",
    "rw",
    "bs",
    "rwmixread",
    "ioengine",
    "iodepth",
    "numjobs",
    "servers",
    "figure",
    "raid",
    "disks",
    "volume",
    "host",
];

/// Keys of entries; the others are of rows.
const ENTRY_KEYS: usize = 4;

/// Values of each key: different keys narrow, several values of one key widen.
#[derive(Debug, Clone, Default)]
pub struct Filter {
    words: BTreeMap<&'static str, Vec<String>>,
    numbers: BTreeMap<&'static str, Vec<u64>>,
}

impl Filter {
    /// Reads conditions `KEY=VALUE[,VALUE]`.
    pub fn parse<'a>(conditions: impl IntoIterator<Item = &'a str>) -> Result<Filter, LibraryError> {
        let mut filter = Filter::default();
        for text in conditions {
            let Some((key, values)) = text.split_once('=').filter(|(_, values)| !values.is_empty()) else {
                return Err(LibraryError::NoCondition { text: text.to_owned(), keys: KEYS.join(", ") });
            };
            let Some(key) = KEYS.into_iter().find(|known| *known == key) else {
                let near = plan::nearest(key, KEYS);
                return Err(LibraryError::UnknownKey {
                    key: key.to_owned(),
                    hint: near.map(|near| format!("did you mean `{near}`? ")).unwrap_or_default(),
                    keys: KEYS.join(", "),
                });
            };
            for value in values.split(',') {
                match example(key) {
                    Some(example) => {
                        let number =
                            if key == "bs" { units::parse_bytes(value).ok() } else { value.parse().ok() };
                        let refused = || LibraryError::NoNumber {
                            key: key.to_owned(),
                            value: value.to_owned(),
                            example,
                        };
                        filter.numbers.entry(key).or_default().push(number.ok_or_else(refused)?);
                    }
                    None => filter.words.entry(key).or_default().push(value.to_lowercase()),
                }
            }
        }
        Ok(filter)
    }

    /// The entries that fulfil the conditions, each with the rows that do; an entry without such a row is left out.
    pub fn apply(&self, entries: Vec<Entry>) -> Vec<Entry> {
        let mut chosen = Vec::new();
        for mut entry in entries {
            let of_entry = [
                ("id", Some(entry.id.as_str())),
                ("system", Some(entry.system.as_str())),
                ("source", Some(entry.source.as_str())),
                ("date", entry.date.as_deref()),
            ];
            if of_entry.iter().any(|(key, value)| !self.has_words(key, *value)) {
                continue;
            }
            if self.narrows_rows() {
                entry.rows.retain(|row| self.has_row(row));
                if entry.rows.is_empty() {
                    continue;
                }
            }
            chosen.push(entry);
        }
        chosen
    }

    fn narrows_rows(&self) -> bool {
        let of_rows = |key: &&str| KEYS[ENTRY_KEYS..].contains(key);
        self.words.keys().any(&of_rows) || self.numbers.keys().any(of_rows)
    }

    fn has_row(&self, row: &Row) -> bool {
        let one = |value: Option<u64>| value.map(Choice::One);
        let figure = serde_json::to_value(row.figure).ok();
        self.has_words("rw", Some(&row.rw))
            && self.has_words("ioengine", row.ioengine.as_deref())
            && self.has_words("figure", figure.as_ref().and_then(serde_json::Value::as_str))
            && self.has_words("volume", row.volume.as_deref())
            && self.has_words("host", row.host.as_deref())
            && self.has_number("bs", row.bs.as_ref())
            && self.has_number("iodepth", row.iodepth.as_ref())
            && self.has_number("rwmixread", one(Some(row.rwmixread)).as_ref())
            && self.has_number("numjobs", one(row.numjobs).as_ref())
            && self.has_number("servers", one(row.servers).as_ref())
            && self.has_number("raid", one(row.raid).as_ref())
            && self.has_number("disks", one(row.disks).as_ref())
    }

    /// Names of systems and sources are long, so a part of them is enough; other words are whole.
    fn has_words(&self, key: &str, value: Option<&str>) -> bool {
        let Some(wanted) = self.words.get(key) else { return true };
        let Some(value) = value.map(str::to_lowercase) else { return false };
        let is_part = matches!(key, "system" | "source");
        wanted.iter().any(|wanted| if is_part { value.contains(wanted) } else { value == *wanted })
    }

    fn has_number(&self, key: &str, value: Option<&Choice>) -> bool {
        let Some(wanted) = self.numbers.get(key) else { return true };
        value.is_some_and(|value| wanted.iter().any(|wanted| value.has(*wanted)))
    }
}

/// An example of a key's values where they are numbers.
fn example(key: &str) -> Option<&'static str> {
    match key {
        "bs" => Some("4k"),
        "rwmixread" => Some("70"),
        "iodepth" => Some("32"),
        "numjobs" => Some("8"),
        "servers" | "raid" => Some("1"),
        "disks" => Some("12"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entries;

    fn ids(conditions: &[&str]) -> Vec<(String, usize)> {
        let filter = Filter::parse(conditions.iter().copied()).expect("conditions");
        let found = filter.apply(entries().expect("entries"));
        found.into_iter().map(|entry| (entry.id, entry.rows.len())).collect()
    }

    /// Proves that keys narrow and values widen, that a row of several block sizes is found by each, and that entries
    /// without a row are left out only where rows were asked for.
    #[test]
    fn keys_narrow_and_values_widen() {
        assert_eq!(ids(&[]).len(), entries().expect("entries").len());
        assert!(ids(&["figure=declared"]).iter().all(|(id, rows)| *rows > 0 && id != "hus-vm"));
        assert_eq!(ids(&["system=violin"]), [("violin-6232".into(), 9)]);
        assert_eq!(ids(&["id=e2700"]), [("e2700".into(), 0)]);
        assert!(ids(&["id=e2700", "bs=4k"]).is_empty());
        assert_eq!(ids(&["id=hus-vm-one-server", "bs=8k"]), [("hus-vm-one-server".into(), 2)]);
        assert_eq!(ids(&["id=hus-vm-one-server", "bs=4k,8k"]), [("hus-vm-one-server".into(), 3)]);
        assert_eq!(ids(&["date=2014"]).len(), 4);
        assert!(ids(&["servers=4"]).iter().any(|(id, _)| id == "hus-vm"));
    }

    /// Proves that wrong conditions are refused with the keys or an example.
    #[test]
    fn wrong_conditions_are_refused() {
        let refused = |text: &str| diagnostic::full_text(&Filter::parse([text]).expect_err(text));
        assert!(refused("iodpeth=3").contains("did you mean `iodepth`?"));
        assert!(refused("colour=3").contains("keys are id, system"));
        assert!(refused("bs=big").contains("for example bs=4k"));
        assert!(refused("bs").contains("write KEY=VALUE") && refused("bs=").contains("write KEY=VALUE"));
    }
}

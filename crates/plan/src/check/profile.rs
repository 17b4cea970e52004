//! Rates over time, read from tables.

use super::{Checker, KNOWN_NAME};
use crate::document::ProfileDocument;
use crate::yaml::{Entries, FILE_BYTES_LIMIT};
use crate::{PlanError, PlanErrorKind as Kind};
use load::RateCurve;
use std::collections::BTreeMap;
use std::path::Path;

/// The most profiles of a plan.
const PROFILES_LIMIT: usize = 64;
/// The period of a profile that does not say one.
const DAY_NS: u64 = 86_400 * units::NANOS_PER_SECOND;

impl Checker<'_> {
    pub(super) fn profiles(
        &self,
        documents: &Entries<ProfileDocument>,
        directory: Option<&Path>,
    ) -> Result<BTreeMap<String, RateCurve>, PlanError> {
        let mut profiles = BTreeMap::new();
        for (name, document) in &documents.0 {
            let is_name = name.value.len() <= 64
                && name.value.chars().all(|c| c.is_ascii_alphanumeric() || KNOWN_NAME.contains(c));
            if profiles.len() == PROFILES_LIMIT || !is_name || name.value.is_empty() {
                let message = format!(
                    "a plan has at most {PROFILES_LIMIT} profiles, each with a name of letters, digits and `{KNOWN_NAME}`"
                );
                return Err(self.error(Kind::OutOfRange, name.place, message));
            }
            let curve = self.profile(document, name.place, directory)?;
            if profiles.insert(name.value.clone(), curve).is_some() {
                return Err(self.error(
                    Kind::Contradiction,
                    name.place,
                    format!("`{}` stands twice", name.value),
                ));
            }
        }
        Ok(profiles)
    }

    fn profile(
        &self,
        document: &ProfileDocument,
        place: crate::source::Place,
        directory: Option<&Path>,
    ) -> Result<RateCurve, PlanError> {
        let (table, from) = match (&document.file, &document.csv) {
            (Some(file), None) => {
                let read = match directory {
                    Some(directory) => {
                        crate::file_text::read_text(&directory.join(&file.value), FILE_BYTES_LIMIT)
                    }
                    None => Err(PlanError::new(
                        Kind::Unreadable,
                        "a plan without a directory has no files beside it",
                    )),
                };
                let table = read
                    .map_err(|error| self.error(Kind::OutOfRange, file.place, error.message().to_owned()))?;
                (table, file)
            }
            (None, Some(csv)) => (csv.value.clone(), csv),
            _ => {
                let message = "a profile has either `file` or `csv`";
                return Err(self.error(Kind::MissingKey, place, message));
            }
        };
        let period_ns = match &document.period {
            None => DAY_NS,
            Some(period) => units::parse_nanos(&period.value)
                .map_err(|error| self.error(Kind::OutOfRange, period.place, error.to_string()))?,
        };
        let speedup = document.speedup.as_ref().map_or(1.0, |speedup| speedup.value);
        RateCurve::profile_from_csv(&table, period_ns, speedup).map_err(|error| {
            self.error(Kind::OutOfRange, from.place, error.to_string())
                .with_hint("each line is a moment (08:00 or seconds, from 0 on) and a rate: `08:00,5000`")
        })
    }
}

//! YAML reader: the only module that uses the YAML library.

mod either;
mod failure;
mod located;
mod map;

pub(crate) use either::{MapOrMaps, OneOrMap};
pub(crate) use located::Located;
pub(crate) use map::{Entries, OneOrMany};

use crate::source::SourceText;
use crate::{PlanError, PlanErrorKind};
use serde::de::DeserializeOwned;
use serde_saphyr::options::{DuplicateKeyPolicy, MergeKeyPolicy};

/// The largest plan or array that is read: 1 MiB. The five published tests need under 20 KiB each.
pub const FILE_BYTES_LIMIT: u64 = 1 << 20;
/// The deepest nesting of maps and lists; the plan language needs 8.
const DEPTH_LIMIT: usize = 32;
/// Values in one document, aliases expanded.
const NODE_LIMIT: usize = 100_000;
/// Aliases (`*name`) in one document.
const ALIAS_LIMIT: usize = 1_000;
/// Values that all aliases of a document may expand to: what stops a bomb of aliases of aliases.
const ALIAS_EXPANSION_LIMIT: usize = 10_000;

/// Reads one YAML document. Duplicate keys, merge keys (`<<`), a second document, unknown tags, `yes` for `true`,
/// and everything over the limits above are refused; the error shows file, line, column, line and hint.
pub fn parse_yaml<T: DeserializeOwned>(source_name: &str, text: &str) -> Result<T, PlanError> {
    parse_source(&SourceText::new(source_name, text))
}

pub(crate) fn parse_source<T: DeserializeOwned>(source: &SourceText) -> Result<T, PlanError> {
    if source.text.len() as u64 > FILE_BYTES_LIMIT {
        return Err(PlanError::new(
            PlanErrorKind::OverLimit,
            format!("`{}` is larger than {}", source.name, units::human_bytes(FILE_BYTES_LIMIT)),
        ));
    }
    if holds_no_document(&source.text) {
        return Err(PlanError::new(PlanErrorKind::Empty, format!("`{}` holds no document", source.name))
            .with_hint("`arraylab show plan quick` prints a short plan to start from"));
    }
    serde_saphyr::from_str_with_options(&source.text, options())
        .map_err(|failure| failure::translate(source, &failure))
}

/// True for a text of nothing but white space, comments and document marks.
fn holds_no_document(text: &str) -> bool {
    text.trim_start_matches('\u{feff}').lines().all(|line| {
        let line = line.trim();
        line.is_empty() || line.starts_with('#') || line == "---" || line == "..."
    })
}

fn options() -> serde_saphyr::Options {
    serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEPTH_LIMIT,
            flow_nesting_limit: DEPTH_LIMIT,
            max_nodes: NODE_LIMIT,
            max_events: 4 * NODE_LIMIT,
            max_aliases: ALIAS_LIMIT,
            max_anchors: ALIAS_LIMIT,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! {
            max_total_replayed_events: ALIAS_EXPANSION_LIMIT,
            max_replay_stack_depth: DEPTH_LIMIT,
        },
        duplicate_keys: DuplicateKeyPolicy::Error,
        merge_keys: MergeKeyPolicy::Error,
        strict_booleans: true,
        reject_unsupported_tags: true,
        // The excerpt is our own (`source.rs`), the same for every kind of error.
        with_snippet: false,
    }
}

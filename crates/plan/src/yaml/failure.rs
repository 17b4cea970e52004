//! The YAML library's errors in the product's words.

use super::located::place_of;
use super::{ALIAS_EXPANSION_LIMIT, ALIAS_LIMIT, DEPTH_LIMIT, NODE_LIMIT};
use crate::source::{Place, SourceText};
use crate::{PlanError, PlanErrorKind as Kind};
use array::did_you_mean;
use serde_saphyr::Error;
use serde_saphyr::budget::BudgetBreach;

const SCHEMA_HINT: &str = "`arraylab schema plan` and `arraylab schema array` say what stands where";

pub(crate) fn translate(source: &SourceText, failure: &Error) -> PlanError {
    let place = failure.location().map(place_of).filter(|place| place.line > 0);
    let error = describe(innermost(failure));
    if let (Kind::Syntax, Some(tab)) = (error.kind(), first_tab_indent(&source.text, place)) {
        return PlanError::new(Kind::Tab, "a tab indents this line; YAML is indented by spaces only")
            .at(source.excerpt(tab))
            .with_hint("replace each tab by two spaces");
    }
    match place {
        Some(place) => error.at(source.excerpt(place)),
        None => error.at(source.excerpt(Place { line: 1, column: 1, width: 1 })),
    }
}

fn innermost(failure: &Error) -> &Error {
    match failure {
        Error::AliasError { error, .. } | Error::WithSnippet { error, .. } => innermost(error),
        other => other,
    }
}

/// A setting that stands beside the map of settings instead of in it.
fn setting_out_of_place(field: &str, expected: &[&str]) -> Option<String> {
    let map = ["settings", "defaults"].into_iter().find(|map| expected.contains(map))?;
    crate::setting(field).map(|setting| format!("`{0}` is a setting: `{map}: {{ {0}: … }}`", setting.name))
}

fn describe(failure: &Error) -> PlanError {
    let plain = || failure.render().lines().next().unwrap_or_default().to_owned();
    match failure {
        Error::DuplicateMappingKey { key, .. } => {
            let named =
                key.as_deref().map_or_else(|| "this key".to_owned(), |key| format!("`{}`", shorten(key)));
            PlanError::new(Kind::DuplicateKey, format!("{named} stands twice in the same map"))
                .with_hint("keep one of the two; which of them would count is not left to chance")
        }
        Error::SerdeUnknownField { field, expected, .. } => {
            PlanError::new(Kind::UnknownKey, format!("there is no key `{}` here", shorten(field))).maybe_hint(
                setting_out_of_place(field, expected)
                    .or_else(|| did_you_mean(field, expected.iter().copied())),
            )
        }
        Error::SerdeUnknownVariant { variant, expected, .. } => PlanError::new(
            Kind::OutOfRange,
            format!("`{}` is not one of the words that stand here", shorten(variant)),
        )
        .maybe_hint(did_you_mean(variant, expected.iter().copied())),
        Error::SerdeMissingField { field, .. } => {
            PlanError::new(Kind::MissingKey, format!("the key `{field}` is missing here"))
                .with_hint(SCHEMA_HINT)
        }
        Error::SerdeInvalidType { unexpected, expected, .. }
        | Error::SerdeInvalidValue { unexpected, expected, .. } => {
            PlanError::new(Kind::WrongType, format!("expected {expected}, found {}", shorten(unexpected)))
                .with_hint(SCHEMA_HINT)
        }
        Error::InvalidBooleanStrict { .. } => PlanError::new(Kind::WrongType, "expected `true` or `false`")
            .with_hint("`yes`, `on` and 1 do not stand for `true`"),
        Error::Unexpected { expected, .. } => {
            let (wanted, hint) = in_words(expected);
            PlanError::new(Kind::WrongType, format!("expected {wanted}")).with_hint(hint)
        }
        Error::InvalidScalar { ty, .. } => {
            PlanError::new(Kind::WrongType, format!("expected {ty}")).with_hint(SCHEMA_HINT)
        }
        Error::NullIntoString { .. } => PlanError::new(Kind::WrongType, "a value is missing here")
            .with_hint("an empty value is null, which nothing takes"),
        Error::Message { msg, .. } => PlanError::new(Kind::WrongType, shorten(msg)).with_hint(SCHEMA_HINT),
        Error::AliasReplayLimitExceeded { .. }
        | Error::AliasReplayCounterOverflow { .. }
        | Error::AliasReplayStackDepthExceeded { .. }
        | Error::AliasExpansionLimitExceeded { .. } => PlanError::new(
            Kind::OverLimit,
            format!("aliases expand to more than {ALIAS_EXPANSION_LIMIT} values"),
        )
        .with_hint("write the values out, or put what cases share into `defaults`"),
        Error::RecursiveReferencesRequireWeakTypes { .. } => {
            PlanError::new(Kind::OverLimit, "this alias stands inside its own anchor")
                .with_hint("write the values out")
        }
        Error::MergeKeyNotAllowed { .. } => {
            PlanError::new(Kind::UnknownKey, "merge keys (`<<`) are not read")
                .with_hint("put what cases share into `defaults`")
        }
        Error::Budget { breach, .. } => describe_breach(breach),
        Error::MultipleDocuments { .. } => PlanError::new(Kind::Syntax, "a second document begins here")
            .with_hint("one file holds one plan or one array"),
        Error::Eof { .. } => PlanError::new(Kind::Syntax, "the text ends before the document does"),
        Error::UnsupportedTag { tag, .. } => {
            PlanError::new(Kind::Syntax, format!("the tag `{}` is not read", shorten(tag)))
        }
        _ => PlanError::new(Kind::Syntax, shorten(&plain()))
            .with_hint("this is not YAML; look at brackets, quotes and indentation here and just before"),
    }
}

/// The library's names for nodes in words that people use, with what to do.
fn in_words(expected: &'static str) -> (&'static str, &'static str) {
    match expected {
        "string scalar" => {
            ("one value here, not a list or a map", "a list of values belongs into a stage's `matrix`")
        }
        "mapping start" => ("a map (`key: value`)", SCHEMA_HINT),
        "sequence start" => ("a list (`[a, b]`)", SCHEMA_HINT),
        other => (other, SCHEMA_HINT),
    }
}

fn describe_breach(breach: &BudgetBreach) -> PlanError {
    let message = match breach {
        BudgetBreach::Depth { .. } => format!("maps and lists nest deeper than {DEPTH_LIMIT}"),
        BudgetBreach::Aliases { .. } | BudgetBreach::Anchors { .. } => {
            format!("more than {ALIAS_LIMIT} anchors or aliases")
        }
        BudgetBreach::Documents { .. } => "a second document begins here".to_owned(),
        BudgetBreach::Nodes { .. } | BudgetBreach::Events { .. } => format!("more than {NODE_LIMIT} values"),
        _ => "the document is over a limit of the reader".to_owned(),
    };
    PlanError::new(Kind::OverLimit, message)
}

/// The first line up to the error that is indented by a tab. A tab inside a text is no mistake, so this is asked
/// only once the text has turned out not to be YAML.
fn first_tab_indent(text: &str, error: Option<Place>) -> Option<Place> {
    let last_line = error.map_or(usize::MAX, |place| place.line + 1);
    text.split('\n').take(last_line).enumerate().find_map(|(index, line)| {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let column = line[..indent].find('\t')? + 1;
        (indent < line.trim_end().len()).then_some(Place { line: index + 1, column, width: 1 })
    })
}

/// Shortens text of a file for quotation in an error.
fn shorten(text: &str) -> String {
    const QUOTE_CHARS: usize = 160;
    array::shorten(text, QUOTE_CHARS)
}

//! Array documents: arrays of parts, resolved with the library of parts.

use crate::parts::{PartLibrary, part_text};
use crate::source::SourceText;
use crate::yaml::parse_source;
use crate::yaml_node::YamlNode;
use crate::{PlanError, PlanErrorKind};
use array::{Array, Problem};

/// Resolves the array of parts in a text.
pub(crate) fn resolve_source(source: &SourceText) -> Result<Array, PlanError> {
    let document = parse_source::<YamlNode>(source)?.into_node();
    array::resolve(&document, &PartLibrary).map_err(|problem| refused(source, problem))
}

/// Beginning of a line that records a value at the time of a run.
pub const RESOLVED: &str = "# resolved ";

/// Text of an array of parts as a run keeps it: below it all values with their origins, as comments. The library of parts may be
/// another when the run is read.
pub fn with_resolved_values(text: &str, array: &Array) -> String {
    let mut kept = text.trim_end().to_owned();
    kept.push('\n');
    for (path, keys, values) in array.sections() {
        for (key, value) in keys.iter().zip(values) {
            let shown = key.kind.print(value.value, &value.text);
            let one_line: String = shown.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
            let origin = value.origin.word();
            kept.push_str(&format!("{RESOLVED}{path}.{}: {one_line}, origin: {origin}\n", key.name));
        }
    }
    kept
}

/// Resolves the values of a part of the library.
pub fn part_values(
    kind: &str,
    name: &str,
) -> Result<Vec<(&'static array::Key, array::Parameter)>, PlanError> {
    array::resolve_part(kind, name, &PartLibrary)
        .map_err(|problem| refused(&SourceText::new(name, ""), problem))
}

fn refused(source: &SourceText, problem: Problem) -> PlanError {
    let at = crate::source::Place {
        line: problem.place.line.max(1),
        column: problem.place.column.max(1),
        width: problem.place.width.max(1),
    };
    let message = match problem.path.as_str() {
        "" => problem.message,
        path => format!("`{path}`: {}", problem.message),
    };
    let in_part =
        problem.part.as_deref().and_then(|name| Some((format!("parts/{name}.yaml"), part_text(name)?)));
    let excerpt = match in_part {
        Some((name, text)) => SourceText::new(&name, text).excerpt(at),
        None => source.excerpt(at),
    };
    PlanError::new(PlanErrorKind::OutOfRange, message).with_hint(problem.hint).at(excerpt)
}

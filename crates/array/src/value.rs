//! Values of keys: read from the layers of documents that give them.

use crate::node::{Content, Node, Place};
use crate::parameter::{Origin, Parameter, SetBy};
use crate::problem::Problem;
use crate::quantity::Kind;
use crate::section::Key;
use crate::suggest::{hint_of, shorten};

/// Characters of a value that a refusal quotes.
const QUOTE_CHARS: usize = 80;

/// Document that gives keys, with the name of its file.
#[derive(Clone)]
pub(crate) struct Layer {
    pub node: Node,
    pub set_by: SetBy,
}

impl Layer {
    pub fn problem(
        &self,
        place: Place,
        path: &str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Problem {
        let part = match &self.set_by {
            SetBy::Part(name) => Some(name.clone()),
            SetBy::Array | SetBy::Default => None,
        };
        Problem { part, place, path: path.to_owned(), message: message.into(), hint: hint.into() }
    }
}

/// Path of a key under a path.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}

/// Reads a value, or a map of a value with its origin.
pub(crate) fn read_value(key: &Key, layer: &Layer, node: &Node, path: &str) -> Result<Parameter, Problem> {
    let refuse = |place: Place, message: String, hint: String| Err(layer.problem(place, path, message, hint));
    let (scalar, origin, from) = match &node.content {
        Content::Scalar(_) => (node, Origin::Assumed, String::new()),
        Content::Map(entries) => {
            if let Some((other, place, _)) =
                entries.iter().find(|(name, _, _)| !matches!(name.as_str(), "value" | "origin" | "from"))
            {
                return refuse(
                    *place,
                    format!("there is no key `{other}` here"),
                    "a value has `value`, `origin` and `from`".into(),
                );
            }
            let Some(value) = node.get("value") else {
                return refuse(
                    node.place,
                    "the key `value` is missing here".into(),
                    format!("give {}", key.kind.takes()),
                );
            };
            let origin = match node.get("origin") {
                None => Origin::Assumed,
                Some(word) => {
                    let known = Origin::ALL.map(|(word, _)| word);
                    let text = word.scalar().unwrap_or_default();
                    match Origin::ALL.iter().find(|(known, _)| *known == text) {
                        Some((_, origin)) => *origin,
                        None => {
                            return refuse(
                                word.place,
                                format!("`{text}` is no origin"),
                                hint_of(text, known),
                            );
                        }
                    }
                }
            };
            (value, origin, node.get("from").and_then(Node::scalar).unwrap_or_default().to_owned())
        }
        Content::List(_) => {
            return refuse(
                node.place,
                "one value is expected here, not a list".into(),
                format!("give {}", key.kind.takes()),
            );
        }
        Content::Nothing => {
            return refuse(
                node.place,
                "a value is missing here".into(),
                format!("give {}", key.kind.takes()),
            );
        }
    };
    let Some(text) = scalar.scalar() else {
        return refuse(
            scalar.place,
            "one value is expected here".into(),
            format!("give {}", key.kind.takes()),
        );
    };
    let Some(value) = key.kind.parse(text) else {
        let hint = match key.kind {
            Kind::Word(words) => hint_of(text, words.iter().copied()),
            kind => format!("give {}", kind.takes()),
        };
        return refuse(
            scalar.place,
            format!("`{}` cannot be `{}`", key.name, shorten(text, QUOTE_CHARS)),
            hint,
        );
    };
    if !key.allows(value) {
        let shown = |value: u64| key.kind.print(value, "");
        return refuse(
            scalar.place,
            format!("`{}` of {} is out of range", key.name, shorten(text, QUOTE_CHARS)),
            format!("it must be {} to {}", shown(key.least), shown(key.most)),
        );
    }
    Ok(Parameter { value, text: text.to_owned(), origin, from, set_by: layer.set_by.clone() })
}

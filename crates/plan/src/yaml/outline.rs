//! Positions of values in a document by path: `drives.count`, `volumes[2].bytes`.

use super::Located;
use crate::source::Place;
use serde::de::{IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use std::fmt;

/// The places of all values of a document.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(transparent)]
pub(crate) struct Outline(Located<Node>);

#[derive(Debug, Clone, PartialEq)]
enum Node {
    Map(Vec<(String, Outline)>),
    List(Vec<Outline>),
    Leaf,
}

impl Outline {
    /// Returns the place of the value at a path; where the document lacks the rest of the path, the place of the last
    /// value on it. A number with its origin (`{ value: …, origin: … }`) stands where its value does.
    pub fn place_of(&self, path: &str) -> Place {
        let mut at = self;
        for step in path.split(['.', '[']).map(|step| step.trim_end_matches(']')) {
            match at.child(step) {
                Some(child) => at = child,
                None => break,
            }
        }
        at.child("value").unwrap_or(at).0.place
    }

    fn child(&self, step: &str) -> Option<&Outline> {
        match &self.0.value {
            Node::Map(entries) => entries.iter().find(|(key, _)| key == step).map(|(_, child)| child),
            Node::List(items) => items.get(step.parse::<usize>().ok()?),
            Node::Leaf => None,
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("anything")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Node::Map(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Node, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            list.push(item);
        }
        Ok(Node::List(list))
    }

    fn visit_bool<E>(self, _: bool) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_none<E>(self) -> Result<Node, E> {
        Ok(Node::Leaf)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Node, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Node::Leaf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::yaml::parse_yaml;

    /// Proves that a path leads to the value's line and column through maps, lists and numbers with an origin, and to the
    /// last value that there is where it goes on.
    #[test]
    fn paths_lead_to_places() {
        let text = "name: x\nparts:\n  count: { value: 3, origin: assumed }\n  list:\n    - size: 1\n    - size: 2\n";
        let outline: Outline = parse_yaml("t", text).unwrap();
        let place = |path: &str| {
            let Place { line, column, .. } = outline.place_of(path);
            (line, column)
        };
        assert_eq!(place("name"), (1, 7));
        assert_eq!(place("parts.count"), (3, 19));
        assert_eq!(place("parts.list[1].size"), (6, 13));
        assert_eq!(place("parts.list[7].size"), (5, 5));
        assert_eq!(place("parts.count.what"), (3, 19));
    }
}

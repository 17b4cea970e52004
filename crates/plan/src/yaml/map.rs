//! Maps whose keys are not fixed, in the order in which they are written.

use super::Located;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess};
use std::fmt;
use std::marker::PhantomData;

/// A map from names to values of one type, with the place of each name.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entries<V>(pub Vec<(Located<String>, V)>);

impl<V> Default for Entries<V> {
    fn default() -> Self {
        Entries(Vec::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Entries<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> de::Visitor<'de> for Visitor<V> {
            type Value = Entries<V>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Entries<V>, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Entries(entries))
            }
        }
        deserializer.deserialize_map(Visitor(PhantomData))
    }
}

/// One value, or a list of them.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct OneOrMany(pub Vec<Located<String>>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The place of a lone value is that of the whole node, so both forms are read through `Located`.
        let node = Located::<Node>::deserialize(deserializer)?;
        Ok(OneOrMany(match node.value {
            Node::One(value) => vec![Located { value, place: node.place }],
            Node::Many(values) => values,
        }))
    }
}

enum Node {
    One(String),
    Many(Vec<Located<String>>),
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = Node;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list of values")
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Node, E> {
                Ok(Node::One(value.to_string()))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Node, E> {
                Ok(Node::One(value.to_string()))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Node, E> {
                Ok(Node::One(value.to_string()))
            }
            fn visit_i128<E: de::Error>(self, value: i128) -> Result<Node, E> {
                Ok(Node::One(value.to_string()))
            }
            fn visit_u128<E: de::Error>(self, value: u128) -> Result<Node, E> {
                Ok(Node::One(value.to_string()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Node, E> {
                Ok(Node::One(value.to_string()))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Node, E> {
                Ok(Node::One(value.to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = list.next_element()? {
                    values.push(value);
                }
                Ok(Node::Many(values))
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

//! Values that may be written in two forms, a short and a long one.

use super::Located;
use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess};
use std::fmt;
use std::marker::PhantomData;

/// One value, or a map of further keys.
#[derive(Debug)]
pub(crate) enum OneOrMap<T> {
    /// One value.
    One(Located<String>),
    /// A map.
    Map(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOrMap<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // The place of a lone value is that of the whole node.
        let node = Located::<Node<T>>::deserialize(deserializer)?;
        Ok(match node.value {
            Node::One(value) => OneOrMap::One(Located { value, place: node.place }),
            Node::Map(map) => OneOrMap::Map(map),
        })
    }
}

enum Node<T> {
    One(String),
    Map(T),
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Node<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = Node<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a map")
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<Node<T>, E> {
                Ok(Node::One(value.to_string()))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<Node<T>, E> {
                Ok(Node::One(value.to_string()))
            }
            fn visit_u64<E: de::Error>(self, value: u64) -> Result<Node<T>, E> {
                Ok(Node::One(value.to_string()))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<Node<T>, E> {
                Ok(Node::One(value.to_string()))
            }
            fn visit_str<E: de::Error>(self, value: &str) -> Result<Node<T>, E> {
                Ok(Node::One(value.to_owned()))
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Node<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Node::Map)
            }
        }
        deserializer.deserialize_any(Visitor(PhantomData))
    }
}

/// One map, or a list of them.
#[derive(Debug)]
pub(crate) struct MapOrMaps<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for MapOrMaps<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> de::Visitor<'de> for Visitor<T> {
            type Value = MapOrMaps<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a map or a list of maps")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<MapOrMaps<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(|one| MapOrMaps(vec![one]))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<MapOrMaps<T>, A::Error> {
                let mut maps = Vec::new();
                while let Some(map) = list.next_element()? {
                    maps.push(map);
                }
                Ok(MapOrMaps(maps))
            }
        }
        deserializer.deserialize_any(Visitor(PhantomData))
    }
}

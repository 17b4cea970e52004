//! Value with its position in the text.

use crate::source::Place;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer};
use std::borrow::Cow;

/// A value of a document and where it stands, so that a check made later can point at it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Located<T> {
    pub value: T,
    pub place: Place,
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Located<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = serde_saphyr::Spanned::<T>::deserialize(deserializer)?;
        // Where an alias is used, not where its anchor is: that is the line to change.
        let place = place_of(spanned.referenced);
        Ok(Located { value: spanned.value, place })
    }
}

pub(crate) fn place_of(location: serde_saphyr::Location) -> Place {
    Place {
        line: location.line() as usize,
        column: location.column() as usize,
        width: usize::try_from(location.span().len()).unwrap_or(1),
    }
}

impl<T: JsonSchema> JsonSchema for Located<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        T::json_schema(generator)
    }
}

//! Array description: the top of a YAML file in `arrays/`, and the kinds of arrays.
//!
//! What kinds of arrays there are, each with its own parts.

mod check;
mod parameter;
mod topology;

pub use check::DescriptionError;
pub(crate) use check::{
    CAPACITY_LIMIT_BYTES, DRIVE_LIMIT, PART_LIMIT, STEP_LIMIT_US, rate, refuse, whole, within,
};
pub use parameter::{Origin, Parameter};
pub use topology::{Topology, TopologyPart};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::composed::Room;
use crate::replicated;

/// A storage array and its hosts, as parts with their properties. Exactly one of the kinds is given.
// One optional key a kind rather than a tagged enum: serde buffers an enum's content, and errors in it would lose
// their line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ArrayDescription {
    /// Short name, as in `twin:NAME`.
    pub name: String,
    /// One line: vendor, product, how it is fitted out.
    pub title: String,
    /// What the description rests on, and what it leaves out.
    #[serde(default)]
    pub about: String,
    /// Kind: nodes that keep replicas of volumes on each other's drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicated: Option<replicated::Description>,
    /// Array of parts, resolved from the array language.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub composed: Option<Box<array::Array>>,
}

/// The kind that a description gives.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind<'a> {
    Replicated(&'a replicated::Description),
    Composed(&'a array::Array),
}

/// The keys of all kinds, for messages.
const KINDS: &str = "`replicated`, or describe it by parts with `groups:`";

impl ArrayDescription {
    /// Description of an array of parts.
    pub fn of_parts(name: String, array: array::Array) -> ArrayDescription {
        ArrayDescription {
            name,
            title: array.title.clone(),
            about: array.about.clone(),
            replicated: None,
            composed: Some(Box::new(array)),
        }
    }

    /// The one kind that is given.
    pub(crate) fn kind(&self) -> Result<Kind<'_>, DescriptionError> {
        let given = [
            ("replicated", self.replicated.as_ref().map(Kind::Replicated)),
            ("composed", self.composed.as_deref().map(Kind::Composed)),
        ];
        let mut kinds = given.into_iter().filter_map(|(key, kind)| Some((key, kind?)));
        let Some((_, kind)) = kinds.next() else {
            return refuse(
                "name",
                format!("`{}` is no kind of array", self.name),
                format!("give one of {KINDS}"),
            );
        };
        match kinds.next() {
            None => Ok(kind),
            Some((key, _)) => {
                refuse(key, "a second kind of array".into(), format!("give exactly one of {KINDS}"))
            }
        }
    }

    /// Refuses what no array can have, naming the key.
    pub fn check(&self) -> Result<(), DescriptionError> {
        match self.kind()? {
            Kind::Replicated(description) => description.check().map_err(|error| error.under("replicated")),
            Kind::Composed(array) => array.check().map_err(|problem| DescriptionError {
                path: problem.path,
                problem: problem.message,
                hint: problem.hint,
            }),
        }
    }

    /// The same parts with so many times less room, as the setting `shrink` has it; `None` where nothing fills.
    pub fn shrunk(&self, times: u32) -> Option<ArrayDescription> {
        let array = self.composed.as_deref().filter(|array| Room::can_shrink(array))?;
        let room = Room { shrink: times, ..Room::DESCRIBED };
        Some(ArrayDescription { composed: Some(Box::new(room.shrink(array))), ..self.clone() })
    }

    /// The parts, counted and labelled for a drawing; empty where no kind is given.
    pub fn bench(&self) -> Topology {
        match self.kind() {
            Ok(Kind::Replicated(description)) => description.bench(),
            Ok(Kind::Composed(array)) => topology::of_parts(array),
            Err(_) => Topology::default(),
        }
    }
}

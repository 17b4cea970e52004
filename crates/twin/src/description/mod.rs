//! Array description: an array of parts under its name.

mod check;
mod topology;

pub use check::DescriptionError;
pub(crate) use check::refuse;
pub use topology::{Topology, TopologyPart};

use crate::composed::Room;

/// Storage array and its hosts, as parts with their properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ArrayDescription {
    /// Short name, as in `twin:NAME`.
    pub name: String,
    /// One line: vendor, product, how it is fitted out.
    pub title: String,
    /// Sources of the description, and simplifications in it.
    pub about: String,
    /// Its parts, resolved from the array language.
    pub parts: Box<array::Array>,
}

impl ArrayDescription {
    /// Description of an array of parts.
    pub fn of_parts(name: String, array: array::Array) -> ArrayDescription {
        ArrayDescription {
            name,
            title: array.title.clone(),
            about: array.about.clone(),
            parts: Box::new(array),
        }
    }

    /// Refuses what no array can have, naming the key.
    pub fn check(&self) -> Result<(), DescriptionError> {
        self.parts.check().map_err(|problem| DescriptionError {
            path: problem.path,
            problem: problem.message,
            hint: problem.hint,
        })
    }

    /// The same parts with so many times less room, as the setting `shrink` has it; `None` where nothing fills.
    pub fn shrunk(&self, times: u32) -> Option<ArrayDescription> {
        if !Room::can_shrink(&self.parts) {
            return None;
        }
        let room = Room { shrink: times, ..Room::DESCRIBED };
        Some(ArrayDescription { parts: Box::new(room.shrink(&self.parts)), ..self.clone() })
    }

    /// Returns the most by which the setting `shrink` can divide the room so that what is simulated stays the same array: drives keep
    /// 360 MiB, of which their write buffers are little. 1 where nothing fills.
    pub fn most_shrink(&self) -> u32 {
        if Room::can_shrink(&self.parts) { Room::most_times(&self.parts) } else { 1 }
    }

    /// The parts, counted and labelled for a drawing.
    pub fn bench(&self) -> Topology {
        topology::of_parts(&self.parts)
    }
}

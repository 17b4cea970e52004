//! Array as it is served: layout, volumes, spares, and the twin that paces it.

use crate::paced::TwinSpec;
use serde_json::{Map, Value};
use twin::ArrayDescription;
use volume::VolumeSpec;

/// An array as it is served.
#[derive(Debug, Clone)]
pub struct ServedArray {
    /// The description's name.
    pub name: String,
    /// The description's title.
    pub title: String,
    /// Settings that were given.
    pub settings: Map<String, Value>,
    /// Layout and drives.
    pub spec: VolumeSpec,
    /// Sizes of `vol0`, `vol1` …, one after the other from the start of the array.
    pub volumes_bytes: Vec<u64>,
    /// Bytes of a unit of the thin pool, where the volumes are thin.
    pub thin_unit_bytes: Option<u64>,
    /// Drives that take the place of lost ones by themselves.
    pub spares: u32,
    /// Model that its time comes from; without it it can only be served as fast as it goes.
    pub twin: Option<TwinSpec>,
    /// Description that it was made from.
    pub description: ArrayDescription,
}

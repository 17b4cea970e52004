//! Reads of addresses that were never written: a thin volume answers them itself, and no drive is asked.

use std::collections::BTreeMap;
use store::Event;

/// Kind of the event that records them; its data has their `share` of the reads of the case.
pub const UNWRITTEN_READS_EVENT: &str = "unwritten-reads";
/// Share of a case's reads from which on what it shows is of the volume's map, not of the array.
pub(crate) const UNWRITTEN_MOST: f64 = 0.01;

/// Share of the reads of each case that were of unwritten addresses.
pub(crate) fn shares<'a>(events: impl Iterator<Item = &'a Event>) -> BTreeMap<u32, f64> {
    let of = events.filter(|event| event.kind == UNWRITTEN_READS_EVENT);
    of.filter_map(|event| Some((event.case_index?, event.data.as_ref()?["share"].as_f64()?))).collect()
}

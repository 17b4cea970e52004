//! Reads of addresses that were never written: a thin volume answers them itself, and no drive is asked.

use store::Event;

/// Kind of the event that records them; its data has their `share` of the reads of the case.
pub const UNWRITTEN_READS_EVENT: &str = "unwritten-reads";
/// Share of a case's reads from which on what it shows is of the volume's map, not of the array.
pub(crate) const UNWRITTEN_MOST: f64 = 0.01;

/// Share of a case's reads that were of unwritten addresses, where this event records it.
pub(crate) fn share(event: &Event) -> Option<f64> {
    event.data.as_ref().filter(|_| event.kind == UNWRITTEN_READS_EVENT)?["share"].as_f64()
}

//! Events of the replicated model, packed into queue payloads.

use crate::payload::{NUMBER_BITS, Numbered, payloads};

/// Bits of a payload for the number of a tag, request, drive, volume or stream.
const INDEX_BITS: u32 = 25;
/// Bits for the replica, from the head.
const REPLICA_BITS: u32 = 2;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
const _: () = assert!(load::OUTSTANDING_LIMIT <= 1 << INDEX_BITS);
const _: () = assert!(super::COPIES <= 1 << REPLICA_BITS);
const _: () = assert!(INDEX_BITS + REPLICA_BITS <= NUMBER_BITS);

/// The most requests that may be under way.
pub(crate) const REQUESTS_LIMIT: usize = 1 << INDEX_BITS;

/// One replica of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplicaOf {
    pub request: u32,
    pub replica: u32,
}

impl Numbered for ReplicaOf {
    #[inline]
    fn number(self) -> u32 {
        self.replica << INDEX_BITS | self.request
    }

    #[inline]
    fn of_number(number: u32) -> Self {
        ReplicaOf { request: number & INDEX_MASK, replica: number >> INDEX_BITS }
    }
}

payloads! {
    /// Event of the replicated model.
    ModelEvent {
        /// The initiator has prepared an I/O.
        0 => GoOut(u32),
        /// The first byte of a request reaches the node of a replica.
        1 => Arrive(ReplicaOf),
        /// A node has all of a request.
        2 => Receive(ReplicaOf),
        /// The server is done with its part.
        3 => Serve(ReplicaOf),
        /// The part of the index that was missing is there.
        4 => Find(ReplicaOf),
        /// The drive, or the buffer before it, has the data or has it read.
        5 => Store(ReplicaOf),
        /// The first byte of an answer reaches the host.
        6 => ComeBack(ReplicaOf),
        /// The host has all of the last answer.
        7 => Answer(u32),
        /// The application has its answer.
        8 => Complete(u32),
        /// A disk has something to do.
        9 => Disk(u32),
        /// A batch of a disk has waited long enough.
        10 => Batch(u32),
        /// A volume's limit may let something in.
        11 => Admit(u32),
        /// A stream of the relocation goes on.
        12 => Relocate(u32),
        /// A planned event.
        13 => Planned(u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that what happens to any replica of any request survives its packing.
    #[test]
    fn replicas_survive_packing() {
        for request in [0, REQUESTS_LIMIT as u32 - 1] {
            for replica in 0..super::super::COPIES as u32 {
                let event = ModelEvent::ComeBack(ReplicaOf { request, replica });
                assert_eq!(ModelEvent::unpack(event.pack()), event);
            }
        }
    }
}

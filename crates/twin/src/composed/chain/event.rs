//! Events of chains of replicas, packed into queue payloads behind those of commands.

use super::row::REPLICAS_LIMIT;
use crate::payload::{NUMBER_BITS, Numbered, payloads};

/// Bits of a payload for the number of a tag, request, drive, volume or stream.
const INDEX_BITS: u32 = 25;
/// Bits for the replica, from the head.
const REPLICA_BITS: u32 = 2;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
const _: () = assert!(load::OUTSTANDING_LIMIT <= 1 << INDEX_BITS);
const _: () = assert!(REPLICAS_LIMIT <= 1 << REPLICA_BITS);
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

/// Kind of the first of these events; commands have those before it.
const FIRST_KIND: u32 = 12;

payloads! {
    /// Event of a chain of replicas.
    ChainEvent {
        /// The initiator has prepared an I/O.
        12 => GoOut(u32),
        /// The first byte of a request reaches the node of a replica.
        13 => Arrive(ReplicaOf),
        /// A node has all of a request.
        14 => Receive(ReplicaOf),
        /// The controller is done with its part.
        15 => Serve(ReplicaOf),
        /// The part of the index that was missing is there.
        16 => Find(ReplicaOf),
        /// The drive, or the buffer before it, has the data or has it read.
        17 => Store(ReplicaOf),
        /// The first byte of an answer reaches the host.
        18 => ComeBack(ReplicaOf),
        /// The host has all of the last answer.
        19 => Answer(u32),
        /// The application has its answer.
        20 => Complete(u32),
        /// A batch of a drive has waited long enough.
        21 => Batch(u32),
        /// A volume's limit may let something in.
        22 => Admit(u32),
        /// A stream of the relocation goes on.
        23 => Relocate(u32),
        /// A planned event.
        24 => Planned(u32),
    }
}

impl ChainEvent {
    /// Returns whether a payload is one of these events.
    #[inline]
    pub fn is_in(payload: u32) -> bool {
        payload >> NUMBER_BITS >= FIRST_KIND
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::command::ModelEvent;
    use super::*;

    /// Proves that what happens to any replica of any request survives its packing, and that no event of a command is taken for one
    /// of a chain.
    #[test]
    fn replicas_survive_packing() {
        for request in [0, REQUESTS_LIMIT as u32 - 1] {
            for replica in 0..REPLICAS_LIMIT as u32 {
                let event = ChainEvent::ComeBack(ReplicaOf { request, replica });
                assert_eq!(ChainEvent::unpack(event.pack()), event);
                assert!(ChainEvent::is_in(event.pack()));
            }
        }
        assert!(ChainEvent::is_in(ChainEvent::GoOut(0).pack()));
        assert!(!ChainEvent::is_in(ModelEvent::Delivered((1 << NUMBER_BITS) - 1).pack()));
    }
}

//! What happens next, and to what.

/// Bits of a payload for the number of a tag, request, drive, volume or stream.
const INDEX_BITS: u32 = 25;
/// Bits for the replica, from the head.
const REPLICA_BITS: u32 = 2;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
const REPLICA_MASK: u32 = (1 << REPLICA_BITS) - 1;
const _: () = assert!(load::OUTSTANDING_LIMIT <= 1 << INDEX_BITS);
const _: () = assert!(super::COPIES <= 1 << REPLICA_BITS);

/// The most requests that may be under way.
pub(crate) const REQUESTS_LIMIT: usize = 1 << INDEX_BITS;

/// One replica of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplicaOf {
    pub request: u32,
    pub replica: u32,
}

impl ReplicaOf {
    /// As a number of 27 bits.
    #[inline]
    pub fn pack(self) -> u32 {
        self.replica << INDEX_BITS | self.request
    }

    /// Back from such a number.
    #[inline]
    pub fn unpack(packed: u32) -> Self {
        ReplicaOf { request: packed & INDEX_MASK, replica: packed >> INDEX_BITS & REPLICA_MASK }
    }
}

/// What happens next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happening {
    /// The initiator has prepared an I/O.
    GoOut(u32),
    /// The first byte of a request reaches the node of a replica.
    Arrive(ReplicaOf),
    /// A node has all of a request.
    Receive(ReplicaOf),
    /// The server is done with its part.
    Serve(ReplicaOf),
    /// The part of the index that was missing is there.
    Find(ReplicaOf),
    /// The drive, or the buffer before it, has the data or has it read.
    Store(ReplicaOf),
    /// The first byte of an answer reaches the host.
    ComeBack(ReplicaOf),
    /// The host has all of the last answer.
    Answer(u32),
    /// The application has its answer.
    Complete(u32),
    /// A disk has something to do.
    Disk(u32),
    /// A batch of a disk has waited long enough.
    Batch(u32),
    /// A volume's limit may let something in.
    Admit(u32),
    /// A stream of the relocation goes on.
    Relocate(u32),
    /// A planned event.
    Planned(u32),
}

impl Happening {
    /// As a payload of the event queue.
    #[inline]
    pub fn pack(self) -> u32 {
        let (kind, rest) = match self {
            Happening::GoOut(tag) => (0, tag),
            Happening::Arrive(copy) => (1, copy.pack()),
            Happening::Receive(copy) => (2, copy.pack()),
            Happening::Serve(copy) => (3, copy.pack()),
            Happening::Find(copy) => (4, copy.pack()),
            Happening::Store(copy) => (5, copy.pack()),
            Happening::ComeBack(copy) => (6, copy.pack()),
            Happening::Answer(request) => (7, request),
            Happening::Complete(tag) => (8, tag),
            Happening::Disk(drive) => (9, drive),
            Happening::Batch(drive) => (10, drive),
            Happening::Admit(volume) => (11, volume),
            Happening::Relocate(stream) => (12, stream),
            Happening::Planned(index) => (13, index),
        };
        kind << (INDEX_BITS + REPLICA_BITS) | rest
    }

    /// Back from a payload.
    #[inline]
    pub fn unpack(payload: u32) -> Self {
        let index = payload & INDEX_MASK;
        let copy = ReplicaOf::unpack(payload);
        match payload >> (INDEX_BITS + REPLICA_BITS) {
            0 => Happening::GoOut(index),
            1 => Happening::Arrive(copy),
            2 => Happening::Receive(copy),
            3 => Happening::Serve(copy),
            4 => Happening::Find(copy),
            5 => Happening::Store(copy),
            6 => Happening::ComeBack(copy),
            7 => Happening::Answer(index),
            8 => Happening::Complete(index),
            9 => Happening::Disk(index),
            10 => Happening::Batch(index),
            11 => Happening::Admit(index),
            12 => Happening::Relocate(index),
            _ => Happening::Planned(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every happening survives its packing.
    #[test]
    fn happenings_survive_packing() {
        let copy = ReplicaOf { request: INDEX_MASK, replica: 2 };
        for happening in [
            Happening::GoOut(0),
            Happening::Arrive(copy),
            Happening::Receive(copy),
            Happening::Serve(copy),
            Happening::Find(copy),
            Happening::Store(copy),
            Happening::ComeBack(copy),
            Happening::Answer(INDEX_MASK),
            Happening::Complete(7),
            Happening::Disk(8),
            Happening::Batch(9),
            Happening::Admit(10),
            Happening::Relocate(11),
            Happening::Planned(12),
        ] {
            assert_eq!(Happening::unpack(happening.pack()), happening);
        }
    }
}

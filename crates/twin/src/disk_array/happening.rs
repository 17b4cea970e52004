//! What the event queue's payloads mean.

/// Bits of a payload that number what it happens to.
const INDEX_BITS: u32 = 28;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;

/// Work numbers from here on are the array's own; below, they are hosts' tags.
pub(crate) const BACKGROUND: u32 = 1 << 26;

const _: () = assert!(load::OUTSTANDING_LIMIT <= BACKGROUND as u64);

/// Something that is going to happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Happening {
    /// A tag's command reaches its controller.
    Arrive(u32),
    /// A processor has taken a tag's command in.
    Start(u32),
    /// Drives that serve in order have read all that a work asked for.
    DrivesRead(u32),
    /// All that a work had to read has come to the controller.
    ReadsDone(u32),
    /// What a work has to write goes out to the drives.
    WriteOut(u32),
    /// All that a work had to write is on the drives.
    WritesDone(u32),
    /// A host has a tag's answer.
    Answered(u32),
    /// A tag is done.
    Complete(u32),
    /// A drive may be done with a command.
    DriveWakes(u32),
    /// A drive is lost.
    DriveFails(u32),
    /// A new drive takes the place of a lost one.
    DriveIsReplaced(u32),
    /// The rebuild goes on.
    Rebuild,
}

impl Happening {
    /// As a payload of the event queue.
    #[inline]
    pub fn pack(self) -> u32 {
        let (kind, index) = match self {
            Happening::Arrive(tag) => (0, tag),
            Happening::Start(tag) => (1, tag),
            Happening::ReadsDone(work) => (2, work),
            Happening::WriteOut(work) => (3, work),
            Happening::WritesDone(work) => (4, work),
            Happening::Answered(tag) => (5, tag),
            Happening::Complete(tag) => (6, tag),
            Happening::DriveWakes(drive) => (7, drive),
            Happening::DriveFails(drive) => (8, drive),
            Happening::Rebuild => (9, 0),
            Happening::DrivesRead(work) => (10, work),
            Happening::DriveIsReplaced(drive) => (11, drive),
        };
        kind << INDEX_BITS | index
    }

    /// Back from a payload.
    #[inline]
    pub fn unpack(payload: u32) -> Self {
        let index = payload & INDEX_MASK;
        match payload >> INDEX_BITS {
            0 => Happening::Arrive(index),
            1 => Happening::Start(index),
            2 => Happening::ReadsDone(index),
            3 => Happening::WriteOut(index),
            4 => Happening::WritesDone(index),
            5 => Happening::Answered(index),
            6 => Happening::Complete(index),
            7 => Happening::DriveWakes(index),
            8 => Happening::DriveFails(index),
            9 => Happening::Rebuild,
            10 => Happening::DrivesRead(index),
            _ => Happening::DriveIsReplaced(index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every happening survives its packing.
    #[test]
    fn happenings_survive_packing() {
        for happening in [
            Happening::Arrive(0),
            Happening::Start(INDEX_MASK),
            Happening::ReadsDone(BACKGROUND + 7),
            Happening::WriteOut(8),
            Happening::WritesDone(9),
            Happening::Answered(11),
            Happening::Complete(12),
            Happening::DriveWakes(13),
            Happening::DriveFails(14),
            Happening::Rebuild,
            Happening::DrivesRead(15),
            Happening::DriveIsReplaced(16),
        ] {
            assert_eq!(Happening::unpack(happening.pack()), happening);
        }
    }
}

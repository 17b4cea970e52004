//! What the event queue's payloads mean.

use crate::payload::payloads;

/// Work numbers from here on are the array's own; below, they are hosts' tags.
pub(crate) const BACKGROUND: u32 = 1 << 26;

const _: () = assert!(load::OUTSTANDING_LIMIT <= BACKGROUND as u64);

payloads! {
    /// Something that is going to happen.
    Happening {
        /// A tag's command reaches its controller.
        0 => Arrive(u32),
        /// A processor has taken a tag's command in.
        1 => Start(u32),
        /// Drives that serve in order have read all that a work asked for.
        2 => DrivesRead(u32),
        /// All that a work had to read has come to the controller.
        3 => ReadsDone(u32),
        /// What a work has to write goes out to the drives.
        4 => WriteOut(u32),
        /// All that a work had to write is on the drives.
        5 => WritesDone(u32),
        /// A host has a tag's answer.
        6 => Answered(u32),
        /// A tag is done.
        7 => Complete(u32),
        /// A drive may be done with a command.
        8 => DriveWakes(u32),
        /// A drive is lost.
        9 => DriveFails(u32),
        /// A new drive takes the place of a lost one.
        10 => DriveIsReplaced(u32),
        /// The rebuild goes on.
        11 => Rebuild(()),
    }
}

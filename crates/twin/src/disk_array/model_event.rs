//! Events of a disk array, as payloads of the event queue.

use crate::payload::payloads;

/// First number of the array's background tasks; lower task numbers are tags of host commands.
pub(crate) const BACKGROUND: u32 = 1 << 26;

const _: () = assert!(load::OUTSTANDING_LIMIT <= BACKGROUND as u64);

payloads! {
    /// Event of the model.
    ModelEvent {
        /// A tag's command reaches its controller.
        0 => Arrive(u32),
        /// A processor has taken a tag's command in.
        1 => Start(u32),
        /// The reads of a task are done, at drives without a queue.
        2 => DrivesRead(u32),
        /// The data that a task reads has reached the controller.
        3 => ReadsDone(u32),
        /// A task issues its writes to the drives.
        4 => WriteOut(u32),
        /// The writes of a task are done.
        5 => WritesDone(u32),
        /// The host has received a command's completion.
        6 => Answered(u32),
        /// The application has a command's result.
        7 => Complete(u32),
        /// A drive may have completed a command.
        8 => DriveWakes(u32),
        /// A drive fails.
        9 => DriveFails(u32),
        /// A new drive takes the place of a lost one.
        10 => DriveIsReplaced(u32),
        /// The rebuild issues its next stripe.
        11 => Rebuild(()),
    }
}

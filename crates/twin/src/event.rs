//! Events that a plan or a user can trigger on a twin, and notes about what followed.

use crate::TwinError;
use crate::slow::DRIVE_SLOW;

/// Event that can be triggered on a twin at a given time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Event {
    /// Each controller in turn leaves for a while, then a verification pass reads the RAID stripes.
    FirmwareUpdate,
    /// A drive is lost; a spare or the pool's free capacity takes its place where there is one.
    DriveFailure,
    /// A new drive takes the place of a lost one and is rebuilt.
    DriveReplacement,
    /// One controller leaves and comes back, once.
    ControllerFailover,
    /// A node of a cluster is lost with its controllers and drives.
    NodeFailure,
    /// A new node with empty drives takes the place of a lost one.
    NodeReplacement,
    /// A service of a node stops.
    ServiceStop,
    /// A service of a node starts again.
    ServiceStart,
    /// Parts of a volume's limit are set or lifted.
    Limit,
    /// A volume is moved to another pool.
    Template,
    /// A snapshot of all volumes is taken.
    Snapshot,
    /// The oldest snapshot is deleted.
    SnapshotDeletion,
    /// The link to the second array is cut.
    MirrorLinkFailure,
    /// The link to the second array is back.
    MirrorLinkRecovery,
}

impl Event {
    /// All that models of arrays carry out. `drive-slow` is not among them: the twin does it itself.
    const ALL: [Event; 14] = [
        Event::FirmwareUpdate,
        Event::DriveFailure,
        Event::DriveReplacement,
        Event::ControllerFailover,
        Event::NodeFailure,
        Event::NodeReplacement,
        Event::ServiceStop,
        Event::ServiceStart,
        Event::Limit,
        Event::Template,
        Event::Snapshot,
        Event::SnapshotDeletion,
        Event::MirrorLinkFailure,
        Event::MirrorLinkRecovery,
    ];

    /// The event of that name in plans, whichever arrays have it; an error names all there are.
    pub fn parse(name: &str) -> Result<Event, TwinError> {
        Event::ALL.into_iter().find(|event| event.name() == name).ok_or_else(|| {
            let known = Event::ALL.map(Event::name).into_iter().chain([DRIVE_SLOW]).collect::<Vec<_>>();
            TwinError::UnknownEvent { event: name.to_owned(), known: known.join(", ") }
        })
    }

    /// Its name in plans, in records of runs and on the control socket.
    pub const fn name(self) -> &'static str {
        match self {
            Event::FirmwareUpdate => "firmware-update",
            Event::DriveFailure => "drive-failure",
            Event::DriveReplacement => "drive-replacement",
            Event::ControllerFailover => "controller-failover",
            Event::NodeFailure => "node-failure",
            Event::NodeReplacement => "node-replacement",
            Event::ServiceStop => "service-stop",
            Event::ServiceStart => "service-start",
            Event::Limit => "limit",
            Event::Template => "template",
            Event::Snapshot => "snapshot",
            Event::SnapshotDeletion => "snapshot-deletion",
            Event::MirrorLinkFailure => "mirror-link-failure",
            Event::MirrorLinkRecovery => "mirror-link-recovery",
        }
    }
}

/// Note for the run's event log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TwinNote {
    /// Moment on the twin's clock.
    pub at_ns: u64,
    /// Text.
    pub says: String,
}

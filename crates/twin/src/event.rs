//! Events that a plan or a user can trigger on a twin, and notes about what followed.

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
}

impl Event {
    /// All that plans can name without telling more.
    pub(crate) const ALL: [Event; 6] = [
        Event::FirmwareUpdate,
        Event::DriveFailure,
        Event::DriveReplacement,
        Event::ControllerFailover,
        Event::NodeFailure,
        Event::NodeReplacement,
    ];

    /// The event of that name in plans.
    pub fn from_name(name: &str) -> Option<Event> {
        Event::ALL.into_iter().find(|event| event.name() == name)
    }

    /// Its name in plans.
    pub fn name(self) -> &'static str {
        match self {
            Event::FirmwareUpdate => "firmware-update",
            Event::DriveFailure => "drive-failure",
            Event::DriveReplacement => "drive-replacement",
            Event::ControllerFailover => "controller-failover",
            Event::NodeFailure => "node-failure",
            Event::NodeReplacement => "node-replacement",
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

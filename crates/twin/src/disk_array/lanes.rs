//! Which events come in order: one lane of the event queue for each source of such events.

/// Numbers of the lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes {
    drives: u32,
    controllers: u32,
}

impl Lanes {
    pub fn new(drives: u32, controllers: u32) -> Self {
        Lanes { drives, controllers }
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.drive_reads(self.drives)
    }

    /// What is rare, or in no order.
    pub fn other(self) -> u32 {
        0
    }

    /// Commands on their way from the hosts.
    pub fn arriving(self) -> u32 {
        1
    }

    /// Answers on their way to the hosts.
    pub fn answering(self) -> u32 {
        2
    }

    /// What goes over the links to the drives.
    pub fn writing_out(self) -> u32 {
        3
    }

    /// What comes over the links from the drives.
    pub fn reading_in(self) -> u32 {
        4
    }

    pub fn controller(self, controller: u32) -> u32 {
        5 + controller
    }

    /// A drive's own moments; those of a work whose last I/O is on this drive.
    pub fn drive(self, drive: u32) -> u32 {
        self.controller(self.controllers) + drive
    }

    /// First phases whose last read is on this drive, where drives serve in order.
    pub fn drive_reads(self, drive: u32) -> u32 {
        self.drive(self.drives) + drive
    }
}

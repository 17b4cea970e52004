//! Which events come in order: one lane of the event queue for each source of such events.

/// Numbers of the lanes.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lanes {
    links: u32,
    controllers: u32,
    drives: u32,
}

impl Lanes {
    pub fn new(links: u32, controllers: u32, drives: u32) -> Self {
        Lanes { links, controllers, drives }
    }

    /// How many there are.
    pub fn count(self) -> u32 {
        self.write_done(self.drives)
    }

    /// Commands without data on their way from the hosts: all take the same time.
    pub fn submitted(self) -> u32 {
        0
    }

    /// Writes that are answered: all take the same time from the window.
    pub fn answered(self) -> u32 {
        1
    }

    /// Steps of an update, and what else is rare.
    pub fn rare(self) -> u32 {
        2
    }

    pub fn link_to_array(self, link: u32) -> u32 {
        3 + link
    }

    pub fn link_to_host(self, link: u32) -> u32 {
        self.link_to_array(self.links) + link
    }

    /// Commands that a controller has read; those with data to take in are later.
    pub fn controller(self, controller: u32, is_write: bool) -> u32 {
        self.link_to_host(self.links) + 2 * controller + u32::from(is_write)
    }

    pub fn read_done(self, drive: u32) -> u32 {
        self.controller(self.controllers, false) + drive
    }

    /// First phase of a write; the slower of two drives, so it often is out of order.
    pub fn ready_to_write(self, drive: u32) -> u32 {
        self.read_done(self.drives) + drive
    }

    pub fn write_done(self, drive: u32) -> u32 {
        self.ready_to_write(self.drives) + drive
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every source has a lane of its own and that none lies beyond the count.
    #[test]
    fn lanes_do_not_overlap() {
        let lanes = Lanes::new(3, 2, 4);
        let mut all = vec![lanes.submitted(), lanes.answered(), lanes.rare()];
        all.extend((0..3).flat_map(|link| [lanes.link_to_array(link), lanes.link_to_host(link)]));
        all.extend((0..2).flat_map(|index| [lanes.controller(index, false), lanes.controller(index, true)]));
        all.extend((0..4).flat_map(|drive| {
            [lanes.read_done(drive), lanes.ready_to_write(drive), lanes.write_done(drive)]
        }));
        all.sort_unstable();
        assert_eq!(all, (0..lanes.count()).collect::<Vec<_>>());
    }
}

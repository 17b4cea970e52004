//! Queues of hosts: so many commands of a host to one volume over one link, the others in order.

use super::command::Command;
use crate::engine::Slots;

/// Queues of all hosts.
#[derive(Debug, Clone)]
pub(crate) struct HostQueues {
    volumes: usize,
    links: usize,
    /// By host, volume and link.
    queues: Box<[Slots]>,
}

impl HostQueues {
    /// Queues to so many volumes; `None` where any number of commands may be under way, or queues are switched off.
    pub fn new(array: &array::Array, volumes: usize, is_on: bool) -> Option<HostQueues> {
        let (depth, links) = (array.hosts.queue.count(), array.fabric.ports.count() as usize);
        let count = array.hosts.count.count() as usize * volumes * links;
        (is_on && depth < array::OPEN_QUEUE).then(|| HostQueues {
            volumes,
            links,
            queues: vec![Slots::new(depth); count].into(),
        })
    }

    #[inline]
    fn queue(&mut self, command: &Command) -> &mut Slots {
        let path = usize::from(command.host) * self.volumes + usize::from(command.volume);
        &mut self.queues[path * self.links + usize::from(command.link)]
    }

    /// Returns whether a command may be sent now; otherwise it waits for its volume and link.
    #[inline]
    pub fn may_send(&mut self, index: u32, command: &Command) -> bool {
        self.queue(command).admit(index)
    }

    /// A command is answered, or gives its path up. Returns the one that is sent in its place.
    #[inline]
    pub fn leave(&mut self, command: &Command) -> Option<u32> {
        self.queue(command).leave()
    }
}

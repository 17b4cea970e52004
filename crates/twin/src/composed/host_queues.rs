//! Queues of hosts: so many commands of a host to one volume over one link, the others in order.

use std::collections::VecDeque;

use super::command::Command;

/// Commands on their way to one volume over one link.
#[derive(Debug, Clone, Default)]
struct Queue {
    sent: u32,
    /// Commands that wait for one of those to be answered.
    waiting: VecDeque<u32>,
}

/// Queues of all hosts.
#[derive(Debug, Clone)]
pub(crate) struct HostQueues {
    depth: u32,
    volumes: usize,
    links: usize,
    /// By host, volume and link.
    queues: Box<[Queue]>,
}

impl HostQueues {
    /// Queues to so many volumes; `None` where any number of commands may be under way, or queues are switched off.
    pub fn new(array: &array::Array, volumes: usize, is_on: bool) -> Option<HostQueues> {
        let (depth, links) = (array.hosts.queue.count(), array.fabric.ports.count() as usize);
        let count = array.hosts.count.count() as usize * volumes * links;
        (is_on && depth < array::OPEN_QUEUE).then(|| HostQueues {
            depth,
            volumes,
            links,
            queues: vec![Queue::default(); count].into(),
        })
    }

    #[inline]
    fn queue(&mut self, command: &Command) -> &mut Queue {
        let path = usize::from(command.host) * self.volumes + usize::from(command.volume);
        &mut self.queues[path * self.links + usize::from(command.link)]
    }

    /// Returns whether a command may be sent now; otherwise it waits for its volume and link.
    #[inline]
    pub fn may_send(&mut self, index: u32, command: &Command) -> bool {
        let depth = self.depth;
        let queue = self.queue(command);
        if queue.sent < depth {
            queue.sent += 1;
            return true;
        }
        queue.waiting.push_back(index);
        false
    }

    /// A command is answered, or gives its path up. Returns the one that is sent in its place.
    #[inline]
    pub fn leave(&mut self, command: &Command) -> Option<u32> {
        let queue = self.queue(command);
        let next = queue.waiting.pop_front();
        if next.is_none() {
            queue.sent -= 1;
        }
        next
    }
}

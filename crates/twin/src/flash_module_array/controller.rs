//! Controller: processors, a protected write buffer, and a bounded window of commands in flight.

use std::collections::VecDeque;

use super::Controllers;
use super::Settings;
use crate::engine::{Rate, Server, ServerPool, nanos_of_us};

/// One controller.
#[derive(Debug, Clone)]
pub(crate) struct Controller {
    command_ns: u64,
    buffer_rate: Rate,
    window_commands: u32,
    window_bytes: u64,
    processors: ServerPool,
    buffer: Server,
    commands_under_way: u32,
    bytes_under_way: u64,
    /// Tags that wait to enter the window, in order, with their sizes.
    waiting: VecDeque<(u32, u32)>,
    pub commands: u64,
}

impl Controller {
    pub fn new(description: &Controllers, settings: Settings) -> Self {
        Controller {
            command_ns: if settings.processors { nanos_of_us(description.command_us.get()) } else { 0 },
            buffer_rate: if settings.processors {
                Rate::from_mb_per_s(description.write_buffer_mb_per_s.get())
            } else {
                Rate::UNLIMITED
            },
            window_commands: if settings.window { description.window_commands.get() } else { u32::MAX },
            window_bytes: if settings.window { description.window_bytes.get() } else { u64::MAX },
            processors: ServerPool::new(description.processors.get()),
            buffer: Server::default(),
            commands_under_way: 0,
            bytes_under_way: 0,
            waiting: VecDeque::with_capacity(1024),
            commands: 0,
        }
    }

    /// Takes a command in; returns when it may enter the window.
    #[inline]
    pub fn take_in(&mut self, now_ns: u64, written_bytes: u64) -> u64 {
        self.commands += 1;
        let known_ns = self.processors.serve(now_ns, self.command_ns);
        if written_bytes == 0 {
            known_ns
        } else {
            self.buffer.serve(known_ns, self.buffer_rate.duration_ns(written_bytes))
        }
    }

    #[inline]
    fn has_room(&self, bytes: u32) -> bool {
        // A command larger than the whole window goes alone.
        self.commands_under_way == 0
            || (self.commands_under_way < self.window_commands
                && self.bytes_under_way + u64::from(bytes) <= self.window_bytes)
    }

    /// Asks for a place in the window; true where there is one, else the tag waits.
    #[inline]
    pub fn enter(&mut self, tag: u32, bytes: u32) -> bool {
        if self.waiting.is_empty() && self.has_room(bytes) {
            self.occupy(bytes);
            return true;
        }
        self.waiting.push_back((tag, bytes));
        false
    }

    #[inline]
    fn occupy(&mut self, bytes: u32) {
        self.commands_under_way += 1;
        self.bytes_under_way += u64::from(bytes);
    }

    /// Gives a command's place back.
    #[inline]
    pub fn leave(&mut self, bytes: u32) {
        self.commands_under_way -= 1;
        self.bytes_under_way -= u64::from(bytes);
    }

    /// The next waiting tag that fits, which then has its place.
    #[inline]
    pub fn admit_next(&mut self) -> Option<u32> {
        let &(tag, bytes) = self.waiting.front()?;
        if !self.has_room(bytes) {
            return None;
        }
        self.waiting.pop_front();
        self.occupy(bytes);
        Some(tag)
    }

    /// Everything that waits, when the controller leaves.
    pub fn abandon_waiting(&mut self) -> VecDeque<(u32, u32)> {
        std::mem::take(&mut self.waiting)
    }

    /// Its processors.
    pub fn processors(&self) -> &ServerPool {
        &self.processors
    }

    /// Busy time of the write buffer's entry.
    pub fn buffer_busy_ns(&self) -> u64 {
        self.buffer.busy_ns()
    }

    /// Commands under way, bytes under way, commands waiting.
    pub fn fill(&self) -> [u64; 3] {
        [u64::from(self.commands_under_way), self.bytes_under_way, self.waiting.len() as u64]
    }
}

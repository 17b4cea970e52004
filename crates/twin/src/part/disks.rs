//! Equal hard disks in an event loop, and when each must be asked again.

use super::Traffic;
use crate::drive::Slowness;
use crate::drive::disk::{DiskCommand, DiskCompletion, DiskCounters, HardDisk};

/// Equal hard disks.
#[derive(Debug, Clone)]
pub(crate) struct Disks {
    disks: Vec<HardDisk>,
    traffic: Vec<Traffic>,
    /// Drives serve in order of arrival without a buffer: they answer at once when a command ends.
    pub answers_at_once: bool,
    /// By drive: the moment for which it is in the event queue.
    wakes_ns: Vec<u64>,
    /// Drives that were given or have finished something since they were last asked.
    touched: Vec<u32>,
    is_touched: Vec<bool>,
}

impl Disks {
    /// So many disks that are as the first.
    pub fn new(first: HardDisk, count: usize) -> Disks {
        let answers_at_once = first.can_serve_in_order();
        Disks {
            disks: vec![first; count],
            traffic: vec![Traffic::default(); count],
            answers_at_once,
            wakes_ns: vec![u64::MAX; count],
            touched: Vec::with_capacity(count),
            is_touched: vec![false; count],
        }
    }

    #[inline]
    fn count(&mut self, drive: usize, command: &DiskCommand) {
        self.traffic[drive].count(command.direction, u64::from(command.length_bytes));
    }

    /// From now on a drive takes so many thousandths of its time.
    pub fn slow_down(&mut self, drive: u32, slowness: Slowness) {
        self.disks[drive as usize].slow_down(slowness);
    }

    /// Returns how slow a drive is at present.
    pub fn slowness(&self, drive: u32) -> Slowness {
        self.disks[drive as usize].slowness()
    }

    /// Serves a command and returns when it is done, where drives answer at once.
    #[inline(always)]
    pub fn serve(&mut self, now_ns: u64, drive: u32, command: DiskCommand) -> u64 {
        self.count(drive as usize, &command);
        self.disks[drive as usize].serve_in_order(now_ns, command)
    }

    /// Hands a command over, where drives queue.
    #[inline]
    pub fn submit(&mut self, now_ns: u64, drive: u32, task: u32, command: DiskCommand) {
        self.count(drive as usize, &command);
        self.disks[drive as usize].submit(now_ns, task, command);
        self.touch(drive);
    }

    #[inline]
    fn touch(&mut self, drive: u32) {
        if !self.is_touched[drive as usize] {
            self.is_touched[drive as usize] = true;
            self.touched.push(drive);
        }
    }

    /// Asks every drive that was touched when it has something to say; `wake` is told what is new. Asked as late as
    /// possible, so that whatever arrives at the moment a drive becomes free takes part in its choice.
    #[inline]
    pub fn ask_touched(&mut self, mut wake: impl FnMut(u32, u64)) {
        while let Some(drive) = self.touched.pop() {
            let index = drive as usize;
            self.is_touched[index] = false;
            let next_ns = self.disks[index].next_event_ns().unwrap_or(u64::MAX);
            if next_ns != self.wakes_ns[index] {
                self.wakes_ns[index] = next_ns;
                if next_ns != u64::MAX {
                    wake(drive, next_ns);
                }
            }
        }
    }

    /// Returns what a drive has done by now, if this is the moment it is awaited for.
    #[inline]
    pub fn wakes(&mut self, now_ns: u64, drive: u32) -> Option<DiskCompletion> {
        let index = drive as usize;
        if self.wakes_ns[index] != now_ns {
            // It was put in the queue for another moment since.
            return None;
        }
        self.wakes_ns[index] = u64::MAX;
        self.touch(drive);
        self.disks[index].advance(now_ns)
    }

    /// By drive: its own counts, and the commands it was given.
    pub fn counters(&self) -> impl Iterator<Item = (DiskCounters, Traffic)> {
        self.disks.iter().map(HardDisk::counters).zip(self.traffic.iter().copied())
    }
}

//! The steps of an I/O: each takes its time of a die, a channel or the bus, and tells how long it had to wait.

use super::FlashDrive;
use super::costs::FS_PER_NS;
use crate::drive::flash::sample::ONE;
use crate::drive::flash::translation::Temperature;

/// A resource that serves in order.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Server {
    pub free_at_ns: u64,
}

impl Server {
    /// Takes `busy_ns` of the server; returns how long that has to wait.
    #[inline]
    pub fn take(&mut self, now_ns: u64, busy_ns: u64) -> u64 {
        let start_ns = self.free_at_ns.max(now_ns);
        self.free_at_ns = start_ns + busy_ns;
        start_ns - now_ns
    }
}

/// A die, a channel or the bus: everything waits behind `all`; with suspension or priority, reads of the host wait behind `reads` only.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Shared {
    pub all: Server,
    pub reads: Server,
}

impl Shared {
    /// Takes `busy_ns` for a host's read; returns how long that has to wait.
    #[inline(always)]
    fn take_read(&mut self, now_ns: u64, busy_ns: u64, goes_first: bool) -> u64 {
        let wait_ns = self.all.take(now_ns, busy_ns);
        if goes_first { self.reads.take(now_ns, busy_ns) } else { wait_ns }
    }
}

impl FlashDrive {
    #[inline]
    pub(super) fn write_unit(&mut self, now_ns: u64, unit: u32, temperature: Temperature) -> u64 {
        self.counters.host_units += 1;
        let charged = self.sampled.write(unit, temperature);
        let moved = if self.collection_is_free { 0 } else { charged };
        // The host's unit crosses the bus once, a collected unit comes and goes.
        let bus_ns = self.costs.bus_unit_ns + ((moved * self.costs.bus_moved_ns) >> ONE.trailing_zeros());
        self.counters.bus_busy_ns += bus_ns;
        let bus_wait_ns = self.bus.all.take(now_ns, bus_ns);
        self.moved_reads_pending += moved;
        while self.moved_reads_pending >= self.units_per_page {
            self.moved_reads_pending -= self.units_per_page;
            self.counters.moved_units += self.units_per_page / ONE;
            self.collection_read(now_ns);
        }
        self.moved_pending += moved;
        while self.moved_pending >= self.units_per_program {
            self.moved_pending -= self.units_per_program;
            self.program(now_ns);
        }
        let room_ns = self.buffered_programs[self.next_buffered];
        self.host_pending += ONE;
        if self.host_pending >= self.units_per_program {
            self.host_pending -= self.units_per_program;
            let programmed_ns = self.program(now_ns);
            let done_ns = match self.costs.reads_go_first {
                // While the unit waits for the bus, the die works off what it has: the longer wait counts.
                true => programmed_ns.max(now_ns + bus_wait_ns + self.costs.program_ns),
                // Drives that serve in order were fitted with the sum.
                false => programmed_ns + bus_wait_ns,
            } + self.costs.bus_unit_ns;
            self.buffered_programs[self.next_buffered] = done_ns;
            self.next_buffered += 1;
            if self.next_buffered == self.buffered_programs.len() {
                self.next_buffered = 0;
            }
        }
        room_ns.max(now_ns) + self.costs.bus_unit_ns
    }

    /// The rest of a mapping unit of which a part is written.
    pub(super) fn merge(&mut self, now_ns: u64, unit: u32) {
        let page = (u64::from(unit) << self.unit_shift) >> self.page_shift;
        let die = self.die_of(page);
        self.read_page(now_ns, die, 0);
        if self.merge_over_bus {
            self.cross_bus_to_host(now_ns, self.costs.bus_unit_ns);
        }
    }

    /// Takes the bus for what is read; returns how long that has to wait.
    #[inline]
    pub(super) fn cross_bus_to_host(&mut self, now_ns: u64, bus_ns: u64) -> u64 {
        self.counters.bus_busy_ns += bus_ns;
        self.bus.take_read(now_ns, bus_ns, self.costs.reads_go_first)
    }

    /// Reads a page; returns the time from `now_ns` until it is out of its channel.
    #[inline(always)]
    pub(super) fn read_page(&mut self, now_ns: u64, die: u32, channel_ns: u64) -> u64 {
        let read_ns = self.costs.read_ns;
        let slot = &mut self.dies[die as usize];
        self.counters.dies_busy_ns += read_ns;
        let wait_ns = match self.costs.suspend_ns {
            None => slot.all.take(now_ns, read_ns),
            Some(suspend_ns) => {
                let interrupts = slot.all.free_at_ns > slot.reads.free_at_ns.max(now_ns);
                // Nothing foresees it, so there is no branch.
                let extra_ns = suspend_ns * u64::from(interrupts);
                self.counters.dies_busy_ns += extra_ns;
                slot.all.take(now_ns, read_ns + extra_ns);
                slot.reads.take(now_ns, read_ns + extra_ns) + extra_ns
            }
        };
        let channel = self.channel_of(die);
        let channel = &mut self.channels[channel];
        let goes_first = self.costs.reads_go_first;
        wait_ns + read_ns + channel.take_read(now_ns, channel_ns, goes_first) + channel_ns
    }

    /// Reads a range of several pages; returns the time from `now_ns` until the last is out of its channel.
    pub(super) fn read_pages(&mut self, now_ns: u64, offset_bytes: u64, end_bytes: u64) -> u64 {
        let (first_page, last_page) = (offset_bytes >> self.page_shift, (end_bytes - 1) >> self.page_shift);
        (first_page..=last_page).fold(0, |flash_ns, page| {
            let begin = offset_bytes.max(page << self.page_shift);
            let end = end_bytes.min((page + 1) << self.page_shift);
            let channel_ns = (end - begin) * self.costs.channel_fs_per_byte / FS_PER_NS;
            flash_ns.max(self.read_page(now_ns, self.die_of(page), channel_ns))
        })
    }

    fn collection_read(&mut self, now_ns: u64) {
        self.counters.collection_reads += 1;
        self.counters.dies_busy_ns += self.costs.read_ns;
        self.next_read_die = next_of(self.next_read_die, self.dies.len());
        let die = self.next_read_die;
        self.dies[die as usize].all.take(now_ns, self.costs.read_ns);
        let channel = self.channel_of(die);
        self.channels[channel].all.take(now_ns, self.costs.channel_page_ns);
    }

    /// Programs one page on all planes of the next die; returns when it is done.
    fn program(&mut self, now_ns: u64) -> u64 {
        self.counters.programs += 1;
        self.counters.dies_busy_ns += self.costs.program_ns;
        self.next_die = next_of(self.next_die, self.dies.len());
        let die = self.next_die;
        let channel = self.channel_of(die);
        let channel_wait_ns = self.channels[channel].all.take(now_ns, self.costs.channel_program_ns);
        let die_wait_ns = self.dies[die as usize].all.take(now_ns, self.costs.program_ns);
        self.programs_until_erase -= 1;
        if self.programs_until_erase == 0 {
            self.programs_until_erase = self.pages_per_block;
            self.counters.erases += 1;
            self.counters.dies_busy_ns += self.costs.erase_ns;
            self.next_erase_die = next_of(self.next_erase_die, self.dies.len());
            self.dies[self.next_erase_die as usize].all.take(now_ns, self.costs.erase_ns);
        }
        now_ns + channel_wait_ns + self.costs.channel_program_ns + die_wait_ns + self.costs.program_ns
    }

    /// Neighbouring pages lie on neighbouring dies; each round over the dies is turned, so that strides of a power of two use
    /// all dies.
    #[inline]
    pub(super) fn die_of(&self, page: u64) -> u32 {
        let dies = self.dies.len() as u32;
        let page = page as u32;
        let (round, place) = self.by_dies.divide(u64::from(page));
        let turn = (u64::from((round as u32).wrapping_mul(0x9e37_79b9)) * u64::from(dies)) >> 32;
        let die = place as u32 + turn as u32;
        if die >= dies { die - dies } else { die }
    }

    #[inline]
    fn channel_of(&self, die: u32) -> usize {
        self.by_channels.divide(u64::from(die)).1 as usize
    }
}

#[inline]
fn next_of(index: u32, count: usize) -> u32 {
    if index as usize + 1 == count { 0 } else { index + 1 }
}

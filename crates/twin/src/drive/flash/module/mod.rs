//! Timing of a flash drive: next-free-time resources for dies, channels, the shared bus and the controller.
//!
//! An I/O is answered at submission. Each resource is charged at that moment and the waits are added up, rather than
//! booking a channel for the moment at which a die will be done: a booking in the future would keep others from using the time before it. At
//! depth 1 this is the sum of the parts, at saturation the rate of the busiest resource; both are exact.

mod costs;
mod counters;
mod steps;

pub use counters::FlashCounters;

use super::super::description::DescriptionError;
use super::description::FlashDescription;
use super::sample::{ONE, SampledTranslation};
use super::translation::{Temperature, Translation, TranslationCounters};
use crate::drive::Slowness;
use costs::{Costs, FS_PER_NS};
use layout::Divisor;
use load::Random;
use steps::{Server, Shared};

/// The stream of chance for time that is not simulated; collection has the seed's own.
const CARRY_STREAM: u64 = 1;
/// Share of small random writes that goes to parity: each write to data writes its parity too.
const PARITY_SHARE_OF_WRITES: f64 = 0.5;
/// Drive writes from the state of uniform rewriting to that with hot parity. What remained of the change after one was
/// within 1 % of the write amplification when this was chosen; no test holds it.
const AGEING_DRIVE_WRITES: f64 = 1.0;

/// Condition in which a drive starts.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Condition {
    /// Erased.
    Fresh,
    /// This share of the capacity (0 to 1) written once, in order.
    Filled(f64),
    /// This share of the capacity (0 to 1) rewritten at random for so long that nothing changes any more.
    Steady(f64),
}

/// A solid-state drive or flash module.
#[derive(Debug, Clone)]
pub struct FlashDrive {
    sampled: SampledTranslation,
    dies: Vec<Shared>,
    channels: Vec<Shared>,
    bus: Shared,
    controller: Server,
    /// Ends of the programs that fill the buffer, oldest next.
    buffered_programs: Vec<u64>,
    next_buffered: usize,
    next_die: u32,
    next_read_die: u32,
    next_erase_die: u32,
    /// Units (2^-20) that wait for a whole program, and moved units that wait for a whole page read.
    host_pending: u64,
    moved_pending: u64,
    moved_reads_pending: u64,
    programs_until_erase: u32,
    // Constants of the description, in integers.
    by_dies: Divisor,
    by_channels: Divisor,
    capacity_units: u32,
    unit_shift: u32,
    page_shift: u32,
    units_per_program: u64,
    units_per_page: u64,
    pages_per_block: u32,
    costs: Costs,
    /// As described; `costs` is a multiple of it where the drive has become slow.
    described_costs: Costs,
    slowness: Slowness,
    reserve_units: u64,
    random: Random,
    merge_over_bus: bool,
    collection_is_free: bool,
    /// With the busy time of all dies together.
    counters: FlashCounters,
}

impl FlashDrive {
    /// A drive in the given condition. `seed` decides ties of chance in collection and in the initial state.
    pub fn new(
        description: &FlashDescription,
        condition: Condition,
        seed: u64,
    ) -> Result<FlashDrive, DescriptionError> {
        description.check()?;
        let (geometry, stride) = description.geometry();
        let translation =
            Translation::fresh(geometry, description.collection(), description.frontiers(), seed)
                .map_err(|error| DescriptionError { key: "superblocks", reason: error.to_string() })?;
        let unit_bytes = description.mapping_unit.0;
        let capacity_units = (description.capacity.0 / unit_bytes) as u32;
        let sampled = SampledTranslation::new(translation, stride);
        let page_bytes = description.page.0;
        let program_bytes = page_bytes * u64::from(description.planes);
        let dies = description.channels * description.dies_per_channel;
        let costs = Costs::of(description);
        let mut drive = FlashDrive {
            sampled,
            dies: vec![Shared::default(); dies as usize],
            channels: vec![Shared::default(); description.channels as usize],
            bus: Shared::default(),
            controller: Server::default(),
            buffered_programs: vec![0; (description.write_buffer.0 / program_bytes) as usize],
            next_buffered: 0,
            next_die: 0,
            next_read_die: 0,
            next_erase_die: 0,
            host_pending: 0,
            moved_pending: 0,
            moved_reads_pending: 0,
            programs_until_erase: description.pages_per_block,
            by_dies: Divisor::new(u64::from(dies), u64::from(u32::MAX)),
            by_channels: Divisor::new(u64::from(description.channels), u64::from(dies)),
            capacity_units,
            unit_shift: unit_bytes.trailing_zeros(),
            page_shift: page_bytes.trailing_zeros(),
            units_per_program: program_bytes * ONE / unit_bytes,
            units_per_page: page_bytes * ONE / unit_bytes,
            pages_per_block: description.pages_per_block,
            costs,
            described_costs: costs,
            slowness: Slowness::NONE,
            reserve_units: description.erased_reserve.0 / unit_bytes,
            random: Random::from_seed_and_stream(seed, CARRY_STREAM),
            merge_over_bus: description.merge_over_bus,
            collection_is_free: false,
            counters: FlashCounters::default(),
        };
        drive.put_in(condition);
        Ok(drive)
    }

    /// Brings a fresh drive into another condition.
    pub fn put_in(&mut self, condition: Condition) {
        let share = |share: f64| (f64::from(self.capacity_units) * share.clamp(0.0, 1.0)) as u32;
        match condition {
            Condition::Fresh => {}
            Condition::Filled(filled) => self.sampled.fill(share(filled), false),
            Condition::Steady(filled) => self.sampled.fill(share(filled), true),
        }
    }

    /// Another drive of the same make: chance goes its own way from here.
    pub fn reseed(&mut self, seed: u64) {
        self.sampled.reseed(seed);
        self.random = Random::from_seed_and_stream(seed, CARRY_STREAM);
    }

    /// Switches the mechanism off: collection goes on, but takes no time from now on.
    pub fn make_collection_free(&mut self) {
        self.collection_is_free = true;
    }

    /// From now on every step takes so many thousandths of the time that is described.
    pub fn slow_down(&mut self, slowness: Slowness) {
        self.slowness = slowness;
        self.costs = self.described_costs.times(slowness);
    }

    /// Returns how slow it is at present.
    pub fn slowness(&self) -> Slowness {
        self.slowness
    }

    /// Units that it offers.
    pub fn capacity_units(&self) -> u32 {
        self.capacity_units
    }

    /// Bytes that are mapped as one.
    pub fn unit_bytes(&self) -> u32 {
        1 << self.unit_shift
    }

    /// Returns what a read takes at the least that begins and ends at multiples of `grain_bytes`, a power of two.
    pub fn quickest_read_ns(&self, grain_bytes: u32) -> u64 {
        let bytes = u64::from(grain_bytes).min(1 << self.page_shift);
        let costs = &self.costs;
        let channel_ns = bytes * costs.channel_fs_per_byte / FS_PER_NS;
        costs.read_command_ns + costs.read_ns + channel_ns + bytes * costs.bus_fs_per_byte / FS_PER_NS
    }

    /// Reads; returns when the data are at the interface.
    #[inline(always)]
    pub fn read(&mut self, now_ns: u64, offset_bytes: u64, length_bytes: u32) -> u64 {
        self.counters.reads += 1;
        self.counters.commands_busy_ns += self.costs.read_command_ns;
        let length = u64::from(length_bytes.max(1));
        let first_page = offset_bytes >> self.page_shift;
        let last_page = (offset_bytes + length - 1) >> self.page_shift;
        let ready_ns =
            now_ns + self.controller.take(now_ns, self.costs.read_command_ns) + self.costs.read_command_ns;
        let flash_ns = if first_page == last_page {
            let channel_ns = length * self.costs.channel_fs_per_byte / FS_PER_NS;
            self.read_page(now_ns, self.die_of(first_page), channel_ns)
        } else {
            self.read_pages(now_ns, offset_bytes, offset_bytes + length)
        };
        let bus_ns = length * self.costs.bus_fs_per_byte / FS_PER_NS;
        ready_ns + flash_ns + self.cross_bus_to_host(now_ns, bus_ns) + bus_ns
    }

    /// Writes; returns when the data are in the buffer, which is when the drive acknowledges. `temperature` matters with
    /// hot and cold frontiers only.
    #[inline]
    pub fn write(
        &mut self,
        now_ns: u64,
        offset_bytes: u64,
        length_bytes: u32,
        temperature: Temperature,
    ) -> u64 {
        self.counters.writes += 1;
        self.counters.commands_busy_ns += self.costs.write_command_ns;
        let length = u64::from(length_bytes.max(1));
        let mut entered_ns =
            now_ns + self.controller.take(now_ns, self.costs.write_command_ns) + self.costs.write_command_ns;
        let first = (offset_bytes >> self.unit_shift) as u32;
        let last = ((offset_bytes + length - 1) >> self.unit_shift) as u32;
        let unit_mask = (1 << self.unit_shift) - 1;
        if offset_bytes & unit_mask != 0 {
            self.merge(now_ns, first);
        }
        if (offset_bytes + length) & unit_mask != 0 && (first != last || offset_bytes & unit_mask == 0) {
            self.merge(now_ns, last);
        }
        for unit in first..=last.min(self.capacity_units - 1) {
            entered_ns = entered_ns.max(self.write_unit(now_ns, unit, temperature));
        }
        entered_ns
    }

    /// Gives up whole mapping units inside a range.
    pub fn trim(&mut self, offset_bytes: u64, length_bytes: u64) {
        let first = offset_bytes.div_ceil(1 << self.unit_shift) as u32;
        let end =
            ((offset_bytes + length_bytes) >> self.unit_shift).min(u64::from(self.capacity_units)) as u32;
        for unit in first..end {
            self.sampled.trim(unit);
        }
    }

    /// Marks the mapping units that are rewritten more often than others, for [`FlashDrive::age`] and
    /// [`FlashDrive::apply_skipped_writes`].
    pub fn mark_hot(&mut self, is_hot: impl Fn(u32) -> bool) {
        self.sampled.mark_hot(is_hot);
    }

    /// Rewrites what is mapped at random, in no time, hot units as parity is: the state that long small writes leave.
    pub fn age(&mut self) {
        self.sampled.age(AGEING_DRIVE_WRITES, PARITY_SHARE_OF_WRITES, &mut self.random);
    }

    /// Rewrites a range of bytes at random, in no time, hot units as parity is, for `drive_writes` times the drive.
    pub fn rewrite_at_random(&mut self, offset_bytes: u64, length_bytes: u64, drive_writes: f64) {
        let units = self.units_of(offset_bytes, length_bytes);
        self.sampled.rewrite_at_random(units, drive_writes, PARITY_SHARE_OF_WRITES, &mut self.random);
    }

    /// Returns whether its translation goes on as another drive's does from the same state.
    pub fn translates_like(&self, other: &FlashDrive) -> bool {
        self.sampled.translation().is_like(other.sampled.translation())
            && (self.unit_shift, self.sampled.stride()) == (other.unit_shift, other.sampled.stride())
    }

    /// Takes over the state of the translation of a drive that [translates like](FlashDrive::translates_like) it.
    pub fn copy_translation(&mut self, of: &FlashDrive) {
        self.sampled.clone_from(&of.sampled);
        self.random = of.random.clone();
    }

    /// Lets the drive rest for as long as it likes: it collects until `erased_reserve` is erased.
    pub fn rest(&mut self) {
        self.sampled.rest(self.reserve_units);
    }

    /// Applies `units` host writes of skipped time, which go where the last ones went.
    pub fn apply_skipped_writes(&mut self, units: u64) {
        self.sampled.apply_skipped_writes(units, &mut self.random);
    }

    /// Applies sequential host writes of skipped time to a range of bytes.
    pub fn apply_skipped_sequential(&mut self, offset_bytes: u64, length_bytes: u64) {
        let (first, end) = self.units_of(offset_bytes, length_bytes);
        self.sampled.apply_skipped_sequential(first, end);
    }

    /// The first mapping unit that a range of bytes touches, and the one after its last.
    fn units_of(&self, offset_bytes: u64, length_bytes: u64) -> (u32, u32) {
        let end =
            (offset_bytes + length_bytes).div_ceil(1 << self.unit_shift).min(u64::from(self.capacity_units));
        ((offset_bytes >> self.unit_shift) as u32, end as u32)
    }

    /// True where host writes pay for collection at present.
    pub fn is_collecting(&self) -> bool {
        self.sampled.is_collecting()
    }

    /// Sums so far.
    pub fn counters(&self) -> FlashCounters {
        let dies_busy_ns = self.counters.dies_busy_ns / self.dies.len() as u64;
        FlashCounters { dies_busy_ns, ..self.counters }
    }

    /// Sums of the sampled translation, for write amplification; each unit stands for [`FlashDrive::sample_stride`].
    pub fn translation_counters(&self) -> TranslationCounters {
        self.sampled.translation().counters()
    }

    /// Returns how many units of the drive one unit of the sampled translation stands for.
    pub fn sample_stride(&self) -> u32 {
        self.sampled.stride()
    }

    /// Bytes that can be written before collection must start.
    pub fn free_reserve_bytes(&self) -> u64 {
        (self.sampled.translation().free_units() * u64::from(self.sampled.stride())) << self.unit_shift
    }
}

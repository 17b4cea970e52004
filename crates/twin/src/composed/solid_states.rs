//! Solid-state drives of a group: brought into their condition at first use, replaced, and written to in skipped time.

use load::Random;

use super::settings::{Condition, Settings};
use super::wear::Written;
use crate::DescriptionError;
use crate::drive::flash::{
    CollectionPolicy, Condition as FlashCondition, FlashCounters, FlashDescription, FlashDrive,
    WriteFrontiers,
};
use crate::part::{Counters, count_flash, no_flash_drive};

/// Solid-state drives of a group from which the translation of each is sampled at a quarter of the units.
const MANY_DRIVES: u32 = 256;

/// Places of a set's parity, for drives that were rewritten by small writes.
#[derive(Debug, Clone)]
pub(crate) struct HotParity {
    layout: layout::Layout,
    /// Drives of the group that each set has, spares included.
    drives_of_set: u32,
}

impl HotParity {
    /// Returns whether a unit of the drive in a place of the set holds parity.
    fn is_hot(&self, place: u32, unit: u32, unit_bytes: u32) -> bool {
        let units_per_segment = (self.layout.segment_bytes() / unit_bytes).max(1);
        let stripe = u64::from(unit / units_per_segment);
        let data = self.layout.data_members();
        (data..self.layout.members())
            .any(|member| u32::from(self.layout.place(stripe, member).drive) == place)
    }
}

/// Solid-state drives of one group: brought into their condition at first use.
#[derive(Debug, Clone)]
pub(crate) struct SolidStates {
    /// An erased drive, of which all others are made.
    erased: Box<FlashDrive>,
    condition: Condition,
    /// Small writes have rewritten the drives, not writes in order.
    has_small_writes: bool,
    /// None where no parity is rewritten more often than data.
    hot: Option<Box<HotParity>>,
    /// By drive: the share of it that holds data; `None` where all of each does.
    fills: Option<Box<[f64]>>,
    seed: u64,
    /// Number of the first among all drives of the array.
    first: u32,
    count: u32,
    pub drives: Vec<FlashDrive>,
    /// Counters of drives that were replaced, with their numbers.
    retired: Vec<(u32, FlashCounters)>,
    /// Host units that each had written when the window began.
    at_window: Vec<u64>,
}

impl SolidStates {
    /// So many drives of a description, numbered among all drives of the array from the first on.
    pub fn new(
        drive: &array::SolidState,
        (first, count): (u32, u32),
        settings: &Settings,
        seed: u64,
    ) -> Result<SolidStates, DescriptionError> {
        let mut flash = solid_state(drive, count);
        if !settings.on.reserve {
            flash.erased_reserve.0 = 0;
        }
        let mut erased = FlashDrive::new(&flash, FlashCondition::Fresh, 0).map_err(no_flash_drive)?;
        if !settings.on.gc {
            erased.make_collection_free();
        }
        Ok(SolidStates {
            erased: Box::new(erased),
            condition: settings.condition,
            has_small_writes: drive.history.get() == 1,
            hot: None,
            fills: None,
            seed,
            first,
            count,
            drives: Vec::new(),
            retired: Vec::new(),
            at_window: Vec::new(),
        })
    }

    /// Brings the drives into their condition, once.
    pub fn prepare(&mut self) {
        if !self.drives.is_empty() {
            return;
        }
        if let Some(fills) = &self.fills {
            self.drives = fills.iter().zip(0..).map(|(&fill, number)| self.filled(fill, number)).collect();
            return;
        }
        if self.has_small_writes {
            self.drives = (0..self.count).map(|number| self.rewritten(number, number)).collect();
            return;
        }
        let mut template = self.erased.clone();
        match self.condition {
            Condition::Fresh => {}
            Condition::Filled | Condition::Written => template.put_in(FlashCondition::Filled(1.0)),
            Condition::Steady => template.put_in(FlashCondition::Steady(1.0)),
        }
        self.drives = (0..self.count).map(|number| self.seeded(&template, number)).collect();
    }

    /// So much of each drive holds data; the rest was never written, or given up.
    pub fn fill(&mut self, shares: Box<[f64]>) {
        self.fills = Some(shares);
    }

    /// A drive of which a share holds data, written over often but where it was written once.
    fn filled(&self, share: f64, number: u32) -> FlashDrive {
        let mut drive = self.seeded(&self.erased, number);
        match self.condition {
            Condition::Fresh => {}
            Condition::Written => drive.put_in(FlashCondition::Filled(share)),
            Condition::Filled if !self.has_small_writes => drive.put_in(FlashCondition::Filled(share)),
            Condition::Filled | Condition::Steady => drive.put_in(FlashCondition::Steady(share)),
        }
        drive
    }

    /// Counts of all drives, in order.
    pub fn counts(&self) -> impl Iterator<Item = FlashCounters> {
        (0..self.count).map(|number| self.counters(number))
    }

    /// The parity of the group's sets, each over so many of its drives, is rewritten more often than their data.
    pub fn has_parity(&mut self, layout: &layout::Layout, drives_of_set: u32) {
        if self.has_small_writes && matches!(layout.redundancy(), layout::Redundancy::Parity(1..)) {
            self.hot = Some(Box::new(HotParity { layout: layout.clone(), drives_of_set }));
        }
    }

    /// A drive for a place of the group that small random writes have rewritten, each with its parity.
    fn rewritten(&self, number: u32, place: u32) -> FlashDrive {
        let mut drive = self.seeded(&self.erased, number);
        self.mark_hot(&mut drive, place);
        match self.condition {
            Condition::Fresh => {}
            Condition::Written => drive.put_in(FlashCondition::Filled(1.0)),
            Condition::Filled | Condition::Steady => {
                drive.put_in(FlashCondition::Steady(1.0));
                if self.hot.is_some() {
                    drive.age();
                }
                if self.condition == Condition::Filled {
                    drive.rest();
                }
            }
        }
        drive
    }

    fn mark_hot(&self, drive: &mut FlashDrive, place: u32) {
        if let Some(hot) = &self.hot {
            let unit_bytes = drive.unit_bytes();
            let place = place % hot.drives_of_set;
            drive.mark_hot(|unit| hot.is_hot(place, unit, unit_bytes));
        }
    }

    /// Returns what a read that nothing keeps waiting takes at the least if it begins and ends at multiples of
    /// `grain_bytes`.
    pub fn quickest_read_ns(&self, grain_bytes: u32) -> u64 {
        self.erased.quickest_read_ns(grain_bytes)
    }

    /// Bytes that each of them offers.
    pub fn capacity_bytes(&self) -> u64 {
        u64::from(self.erased.capacity_units()) * u64::from(self.erased.unit_bytes())
    }

    /// Returns whether there are as many drives as in another group, whose translations go on as theirs do from the same state.
    pub fn translate_like(&self, other: &SolidStates) -> bool {
        self.count == other.count && self.erased.translates_like(&other.erased)
    }

    /// Takes over the states of the drives of a group that [translate like](SolidStates::translate_like) these.
    pub fn copy_translations(&mut self, of: &SolidStates) {
        self.drives.iter_mut().zip(&of.drives).for_each(|(own, other)| own.copy_translation(other));
    }

    /// Carries a drive over writes in order.
    pub fn apply_skipped_sequential(&mut self, drive: u32, offset_bytes: u64, length_bytes: u64) {
        self.drives[drive as usize].apply_skipped_sequential(offset_bytes, length_bytes);
    }

    /// Rewrites a range of a drive at random, for `drive_writes` times the drive.
    pub fn rewrite_at_random(
        &mut self,
        drive: u32,
        (offset_bytes, length_bytes): (u64, u64),
        drive_writes: f64,
    ) {
        self.drives[drive as usize].rewrite_at_random(offset_bytes, length_bytes, drive_writes);
    }

    /// A drive like another, on which chance goes its own way.
    fn seeded(&self, template: &FlashDrive, number: u32) -> FlashDrive {
        let mut drive = template.clone();
        drive.reseed(Random::from_seed_and_stream(self.seed, u64::from(self.first + number)).next_u64());
        drive
    }

    /// A drive takes a place of the set: an erased one, or one that was filled long ago and is as the others.
    pub fn replace(&mut self, number: u32, place: u32, is_filled: bool) {
        self.prepare();
        let mut fresh = self.seeded(&self.erased, number);
        if is_filled && self.has_small_writes {
            fresh = self.rewritten(number, place);
        } else {
            self.mark_hot(&mut fresh, place);
        }
        let lost = std::mem::replace(&mut self.drives[number as usize], fresh);
        self.retired.push((number, lost.counters()));
        if let Some(units) = self.at_window.get_mut(number as usize) {
            *units = 0;
        }
    }

    /// Counts of a drive and of those whose place it took.
    fn counters(&self, number: u32) -> FlashCounters {
        let own = self.drives.get(number as usize).map(FlashDrive::counters).unwrap_or_default();
        let retired = self.retired.iter().filter(|(retired, _)| *retired == number);
        retired.fold(own, |sum, (_, counters)| sum.plus(counters))
    }

    /// Notes what each has written when a window begins.
    pub fn begin_window(&mut self) {
        self.prepare();
        self.at_window = self.drives.iter().map(|drive| drive.counters().host_units).collect();
    }

    /// Bytes that the drives were given, and those that their flash programmed, in whole mapping units.
    pub fn written(&self) -> Written {
        let unit_bytes = u64::from(self.erased.unit_bytes());
        (0..self.count).map(|number| self.counters(number)).fold(Written::default(), |sum, counted| Written {
            given: sum.given + counted.host_units * unit_bytes,
            programmed: sum.programmed + (counted.host_units + counted.moved_units) * unit_bytes,
        })
    }

    /// Counts of the drives, numbered from `first`.
    pub fn count_into(&self, counters: &mut Counters, noun: &str, first: u32) {
        for index in 0..self.count {
            let entity = format!("{noun}-{}", first + index);
            let drive = self.drives.get(index as usize);
            let counted = self.counters(index);
            counters.add(&entity, "reads", counted.reads);
            counters.add(&entity, "writes", counted.writes);
            counters.add(&entity, "host_units", counted.host_units);
            counters.add(&entity, "moved_units", counted.moved_units);
            count_flash(&counted, counters, &entity);
            counters.add(&entity, "fill_erased_bytes", drive.map_or(0, FlashDrive::free_reserve_bytes));
        }
    }

    fn units_in_window(&self) -> impl Iterator<Item = (&FlashDrive, u64)> {
        self.drives.iter().zip(&self.at_window).map(|(drive, &at)| (drive, drive.counters().host_units - at))
    }

    /// Returns how long the load of the window may go on before a drive must begin to collect.
    pub fn steady_for_ns(&self, window_ns: u64) -> u64 {
        let left_ns = |(drive, units): (&FlashDrive, u64)| {
            let free_units = drive.free_reserve_bytes() / u64::from(drive.unit_bytes());
            (u128::from(free_units) * u128::from(window_ns) / u128::from(units)) as u64
        };
        let is_filling = |(drive, units): &(&FlashDrive, u64)| !drive.is_collecting() && *units > 0;
        self.units_in_window().filter(is_filling).map(left_ns).min().unwrap_or(u64::MAX)
    }

    pub fn skip_time(&mut self, duration_ns: u64, window_ns: u64) {
        for (drive, &at) in self.drives.iter_mut().zip(&self.at_window) {
            let units = u128::from(drive.counters().host_units - at);
            drive.apply_skipped_writes(
                (units * u128::from(duration_ns) / u128::from(window_ns.max(1))) as u64,
            );
        }
    }
}

fn solid_state(drive: &array::SolidState, count: u32) -> FlashDescription {
    use units::{Bytes, Nanos};
    let scale = if count > MANY_DRIVES { 2 } else { 1 };
    FlashDescription {
        capacity: Bytes(drive.capacity.get() / drive.mapping_unit.get() * drive.mapping_unit.get()),
        over_provisioning: drive.over_provisioning.share(),
        mapping_unit: Bytes(drive.mapping_unit.get()),
        superblocks: drive.superblocks.count() / scale,
        units_per_superblock: drive.superblock_units.count() / scale,
        collection: CollectionPolicy::Greedy,
        frontiers: if drive.frontiers.get() == 1 {
            WriteFrontiers::One
        } else {
            WriteFrontiers::HostAndCollection
        },
        channels: drive.channels.count(),
        dies_per_channel: drive.dies_per_channel.count(),
        planes: drive.planes.count(),
        page: Bytes(drive.page.get()),
        pages_per_block: drive.pages_per_block.count(),
        read: Nanos(drive.read.get()),
        program: Nanos(drive.program.get()),
        erase: Nanos(drive.erase.get()),
        channel_bytes_per_s: drive.channel.get(),
        bus_bytes_per_s: drive.bus.get(),
        read_command: Nanos(drive.read_command.get()),
        write_command: Nanos(drive.write_command.get()),
        write_buffer: Bytes(drive.write_buffer.get()),
        suspend: Some(Nanos(drive.suspend.get())),
        read_priority: drive.read_priority.get() == 1,
        relocation: Nanos(drive.relocation.get()),
        erased_reserve: Bytes(drive.reserve.get()),
        merge_over_bus: false,
    }
}

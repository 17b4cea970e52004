//! Solid-state drives of a group: brought into their condition at first use, replaced, and written to in skipped time.

use load::Random;

use super::settings::{Condition, Settings};
use crate::DescriptionError;
use crate::drive::flash::{
    CollectionPolicy, Condition as FlashCondition, FlashCounters, FlashDescription, FlashDrive,
    WriteFrontiers,
};
use crate::part::{Counters, SUPERBLOCKS, UNITS_PER_SUPERBLOCK, no_flash_drive};

/// Solid-state drives of a group from which the translation of each is sampled at a quarter of the units.
const MANY_DRIVES: u32 = 256;

/// Solid-state drives of one group: brought into their condition at first use.
#[derive(Debug, Clone)]
pub(crate) struct SolidStates {
    /// An erased drive, of which all others are made.
    erased: Box<FlashDrive>,
    condition: Condition,
    seed: u64,
    count: u32,
    pub drives: Vec<FlashDrive>,
    /// What drives have counted that were replaced, with their numbers.
    retired: Vec<(u32, FlashCounters)>,
    /// Host units that each had written when the window began.
    at_window: Vec<u64>,
}

impl SolidStates {
    /// So many drives of a description.
    pub fn new(
        drive: &array::SolidState,
        count: u32,
        settings: &Settings,
        seed: u64,
    ) -> Result<SolidStates, DescriptionError> {
        let flash = solid_state(drive, count);
        let mut erased = FlashDrive::new(&flash, FlashCondition::Fresh, 0).map_err(no_flash_drive)?;
        if !settings.on.gc {
            erased.make_collection_free();
        }
        Ok(SolidStates {
            erased: Box::new(erased),
            condition: settings.condition,
            seed,
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
        let mut template = self.erased.clone();
        match self.condition {
            Condition::Fresh => {}
            Condition::Filled => template.put_in(FlashCondition::Filled(1.0)),
            Condition::Steady => template.put_in(FlashCondition::Steady(1.0)),
        }
        self.drives = (0..self.count).map(|number| self.seeded(&template, number)).collect();
    }

    /// A drive like another, on which chance goes its own way.
    fn seeded(&self, template: &FlashDrive, number: u32) -> FlashDrive {
        let mut drive = template.clone();
        drive.reseed(Random::from_seed_and_stream(self.seed, u64::from(number)).next_u64());
        drive
    }

    /// An erased drive takes the place of one that is lost.
    pub fn replace(&mut self, number: u32) {
        self.prepare();
        let fresh = self.seeded(&self.erased, number);
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
            counters.add(&entity, "programs", counted.programs);
            counters.add(&entity, "erases", counted.erases);
            counters.add(&entity, "bus_busy_ns", counted.bus_busy_ns);
            counters.add(&entity, "fill_erased_bytes", drive.map_or(0, FlashDrive::free_reserve_bytes));
        }
    }

    fn units_in_window(&self) -> impl Iterator<Item = (&FlashDrive, u64)> {
        self.drives.iter().zip(&self.at_window).map(|(drive, &at)| (drive, drive.counters().host_units - at))
    }

    /// How long the load of the window may go on before a drive must begin to collect.
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
    FlashDescription {
        capacity: Bytes(drive.capacity.get() / drive.mapping_unit.get() * drive.mapping_unit.get()),
        over_provisioning: drive.over_provisioning.share(),
        mapping_unit: Bytes(drive.mapping_unit.get()),
        superblocks: if count > MANY_DRIVES { SUPERBLOCKS / 2 } else { SUPERBLOCKS },
        units_per_superblock: if count > MANY_DRIVES {
            UNITS_PER_SUPERBLOCK / 2
        } else {
            UNITS_PER_SUPERBLOCK
        },
        collection: CollectionPolicy::Greedy,
        frontiers: WriteFrontiers::HostAndCollection,
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
        relocation: Nanos(0),
        erased_reserve: Bytes(drive.reserve.get()),
        merge_over_bus: false,
    }
}

//! Drives of the groups: each kind behind the same calls.

use layout::Role;
use load::{Direction, Random};

use super::settings::{Condition, Settings};
use crate::drive::Slowness;
use crate::drive::disk::{DiskCommand, HardDiskDescription};
use crate::drive::flash::translation::Temperature;
use crate::drive::flash::{
    CollectionPolicy, Condition as FlashCondition, FlashCounters, FlashDescription, FlashDrive,
    WriteFrontiers,
};
use crate::engine::Rate;
use crate::part::{
    Counters, DiskSwitches, Disks, ModuleTiming, Modules, SUPERBLOCKS, UNITS_PER_SUPERBLOCK, count_arm,
    no_flash_drive, switched_hard_disk,
};
use crate::{DescriptionError, TwinError};

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
    drives: Vec<FlashDrive>,
    /// What drives have counted that were replaced, with their numbers.
    retired: Vec<(u32, FlashCounters)>,
    /// Host units that each had written when the window began.
    at_window: Vec<u64>,
}

impl SolidStates {
    fn prepare(&mut self) {
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
    fn replace(&mut self, number: u32) {
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

    fn units_in_window(&self) -> impl Iterator<Item = (&FlashDrive, u64)> {
        self.drives.iter().zip(&self.at_window).map(|(drive, &at)| (drive, drive.counters().host_units - at))
    }

    /// How long the load of the window may go on before a drive must begin to collect.
    fn steady_for_ns(&self, window_ns: u64) -> u64 {
        let left_ns = |(drive, units): (&FlashDrive, u64)| {
            let free_units = drive.free_reserve_bytes() / u64::from(drive.unit_bytes());
            (u128::from(free_units) * u128::from(window_ns) / u128::from(units)) as u64
        };
        let is_filling = |(drive, units): &(&FlashDrive, u64)| !drive.is_collecting() && *units > 0;
        self.units_in_window().filter(is_filling).map(left_ns).min().unwrap_or(u64::MAX)
    }

    fn skip_time(&mut self, duration_ns: u64, window_ns: u64) {
        for (drive, &at) in self.drives.iter_mut().zip(&self.at_window) {
            let units = u128::from(drive.counters().host_units - at);
            drive.apply_skipped_writes(
                (units * u128::from(duration_ns) / u128::from(window_ns.max(1))) as u64,
            );
        }
    }
}

/// Drives of one group.
#[derive(Debug, Clone)]
pub(crate) enum GroupDrives {
    HardDisks(Box<Disks>),
    SolidStates(SolidStates),
    Modules(Box<Modules>),
}

/// Answer of a drive to an I/O.
pub(crate) enum DriveAnswer {
    /// Done at this moment.
    At(u64),
    /// A hard disk will say when.
    Later,
}

/// I/O of a drive of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DriveCommand {
    pub drive: u32,
    pub direction: Direction,
    pub offset_bytes: u64,
    pub length_bytes: u32,
    pub role: Role,
    /// Command that it is for.
    pub command: u32,
}

impl GroupDrives {
    /// The drives of a group, `count` on all nodes.
    pub fn new(group: &array::Group, count: u32, settings: &Settings, seed: u64) -> Result<Self, TwinError> {
        let refused = |error: DescriptionError| TwinError::Description(error.under(group.name()));
        Ok(match &group.drives {
            array::Drives::HardDisk(disk) => {
                let switches = DiskSwitches {
                    seek: settings.on.seek,
                    rotation: settings.on.rotation,
                    reordering: settings.on.reordering,
                    buffer: settings.on.drive_buffer,
                };
                let first = switched_hard_disk(hard_disk(disk), switches).map_err(refused)?;
                GroupDrives::HardDisks(Box::new(Disks::new(first, count as usize)))
            }
            array::Drives::SolidState(drive) => {
                let flash = solid_state(drive, count);
                let mut erased = FlashDrive::new(&flash, FlashCondition::Fresh, 0)
                    .map_err(|error| refused(no_flash_drive(error)))?;
                if !settings.on.gc {
                    erased.make_collection_free();
                }
                GroupDrives::SolidStates(SolidStates {
                    erased: Box::new(erased),
                    condition: settings.condition,
                    seed,
                    count,
                    drives: Vec::new(),
                    retired: Vec::new(),
                    at_window: Vec::new(),
                })
            }
            array::Drives::FlashModule(module) => {
                GroupDrives::Modules(Box::new(Modules::new(module_timing(module, settings), count)))
            }
        })
    }

    /// Brings the drives into their condition, once.
    pub fn prepare(&mut self) {
        if let GroupDrives::SolidStates(drives) = self {
            drives.prepare();
        }
    }

    /// A drive carries out an I/O.
    #[inline]
    pub fn carry_out(&mut self, now_ns: u64, io: DriveCommand) -> DriveAnswer {
        match self {
            GroupDrives::HardDisks(disks) => {
                let command = DiskCommand {
                    direction: io.direction,
                    offset_bytes: io.offset_bytes,
                    length_bytes: io.length_bytes,
                };
                if disks.answers_at_once {
                    return DriveAnswer::At(disks.serve(now_ns, io.drive, command));
                }
                disks.submit(now_ns, io.drive, io.command, command);
                DriveAnswer::Later
            }
            GroupDrives::SolidStates(group) => {
                let drive = &mut group.drives[io.drive as usize];
                DriveAnswer::At(match io.direction {
                    Direction::Read => drive.read(now_ns, io.offset_bytes, io.length_bytes),
                    Direction::Write | Direction::Trim => {
                        let temperature = match io.role {
                            Role::P | Role::Q => Temperature::Hot,
                            _ => Temperature::Cold,
                        };
                        drive.write(now_ns, io.offset_bytes, io.length_bytes, temperature)
                    }
                })
            }
            GroupDrives::Modules(modules) => DriveAnswer::At(match io.direction {
                Direction::Read => modules.read(now_ns, io.drive, u64::from(io.length_bytes), false),
                Direction::Write | Direction::Trim => {
                    modules.write(now_ns, io.drive, u64::from(io.length_bytes))
                }
            }),
        }
    }

    /// Gives a range up.
    pub fn trim(&mut self, drive: u32, offset_bytes: u64, length_bytes: u64) {
        if let GroupDrives::SolidStates(group) = self {
            group.drives[drive as usize].trim(offset_bytes, length_bytes);
        }
    }

    /// An erased drive takes the place of one that is lost.
    pub fn replace(&mut self, drive: u32) {
        match self {
            GroupDrives::HardDisks(disks) => disks.slow_down(drive, Slowness::NONE),
            GroupDrives::Modules(modules) => modules.slow_down(drive, Slowness::NONE),
            GroupDrives::SolidStates(group) => group.replace(drive),
        }
    }

    pub fn slow_down(&mut self, drive: u32, slowness: Slowness) {
        match self {
            GroupDrives::HardDisks(disks) => disks.slow_down(drive, slowness),
            GroupDrives::Modules(modules) => modules.slow_down(drive, slowness),
            GroupDrives::SolidStates(group) => {
                group.prepare();
                group.drives[drive as usize].slow_down(slowness);
            }
        }
    }

    pub fn slowness(&self, drive: u32) -> Slowness {
        match self {
            GroupDrives::HardDisks(disks) => disks.slowness(drive),
            GroupDrives::Modules(modules) => modules.slowness(drive),
            GroupDrives::SolidStates(group) => {
                group.drives.get(drive as usize).map_or(Slowness::NONE, FlashDrive::slowness)
            }
        }
    }

    pub fn begin_window(&mut self) {
        if let GroupDrives::SolidStates(group) = self {
            group.prepare();
            group.at_window = group.drives.iter().map(|drive| drive.counters().host_units).collect();
        }
    }

    /// How long time may be skipped; hard disks hold positions and queues that are always simulated.
    pub fn steady_for_ns(&self, window_ns: u64) -> u64 {
        match self {
            GroupDrives::HardDisks(_) => 0,
            GroupDrives::SolidStates(group) => group.steady_for_ns(window_ns),
            GroupDrives::Modules(_) => u64::MAX,
        }
    }

    pub fn skip_time(&mut self, duration_ns: u64, window_ns: u64) {
        if let GroupDrives::SolidStates(group) = self {
            group.skip_time(duration_ns, window_ns);
        }
    }

    /// Whether collection decides what writes cost.
    pub fn are_collecting(&self) -> bool {
        match self {
            GroupDrives::SolidStates(group) => group.drives.iter().any(FlashDrive::is_collecting),
            GroupDrives::HardDisks(_) | GroupDrives::Modules(_) => false,
        }
    }

    /// Counts of the drives, numbered from `first`.
    pub fn count_into(&self, counters: &mut Counters, first: u32) {
        match self {
            GroupDrives::HardDisks(disks) => {
                for (index, (disk, traffic)) in disks.counters().enumerate() {
                    let entity = format!("drive-{}", first as usize + index);
                    traffic.count_into(counters, &entity);
                    counters.add(&entity, "buffer_hits", disk.buffer_hits);
                    count_arm(&disk, counters, &entity);
                }
            }
            GroupDrives::SolidStates(group) => {
                for index in 0..group.count {
                    let entity = format!("drive-{}", first + index);
                    let drive = group.drives.get(index as usize);
                    let counted = group.counters(index);
                    counters.add(&entity, "reads", counted.reads);
                    counters.add(&entity, "writes", counted.writes);
                    counters.add(&entity, "host_units", counted.host_units);
                    counters.add(&entity, "moved_units", counted.moved_units);
                    counters.add(&entity, "programs", counted.programs);
                    counters.add(&entity, "erases", counted.erases);
                    counters.add(&entity, "bus_busy_ns", counted.bus_busy_ns);
                    counters.add(
                        &entity,
                        "fill_erased_bytes",
                        drive.map_or(0, FlashDrive::free_reserve_bytes),
                    );
                }
            }
            GroupDrives::Modules(modules) => {
                for (index, module) in modules.iter().enumerate() {
                    let entity = format!("drive-{}", first as usize + index);
                    let [commands_ns, read_path_ns, write_path_ns] = module.busy_ns();
                    module.traffic.count_into(counters, &entity);
                    counters.add(&entity, "commands_busy_ns", commands_ns);
                    counters.add(&entity, "read_path_busy_ns", read_path_ns);
                    counters.add(&entity, "write_path_busy_ns", write_path_ns);
                }
            }
        }
    }
}

fn hard_disk(disk: &array::HardDisk) -> HardDiskDescription {
    use units::{Bytes, Nanos};
    HardDiskDescription {
        capacity: Bytes(disk.capacity.get()),
        rpm: disk.rpm.count(),
        heads: disk.heads.count(),
        zones: 24,
        outer_bytes_per_s: disk.outer.get(),
        inner_bytes_per_s: disk.inner.get(),
        seek_min: Nanos(disk.seek_min.get()),
        seek_average: Nanos(disk.seek_average.get()),
        write_settle: Nanos(disk.write_settle.get()),
        seek_linear_from: 1.0,
        head_switch: Nanos(0),
        command_overhead: Nanos(disk.command.get()),
        interface_bytes_per_s: 600_000_000,
        queue_window: disk.queue.count(),
        plans_ahead: false,
        queue_age_limit: Nanos(disk.age_limit.get()),
        segments: disk.segments.count(),
        segment_bytes: Bytes(disk.segment.get()),
        write_cache: false,
        write_cache_bytes: Bytes(0),
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

fn module_timing(module: &array::FlashModule, settings: &Settings) -> ModuleTiming {
    let rate = |bytes_per_s: u64| Rate::from_mb_per_s(bytes_per_s as f64 / 1e6);
    ModuleTiming {
        command_ns: module.command.get(),
        read_ns: module.read.get(),
        random_read: rate(module.read_rate.get()),
        sequential_read: rate(module.read_rate.get()),
        write: rate(module.write_rate.get()),
        interference_scaled: if settings.on.interference {
            ModuleTiming::scaled(module.write_interference.share())
        } else {
            0
        },
        read_latency_ns: module.read_latency.get(),
        write_latency_ns: module.write_latency.get(),
    }
}

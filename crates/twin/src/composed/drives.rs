//! Drives of the groups: each kind behind the same calls.

use layout::Role;
use load::Direction;

use super::rates::rate;
use super::settings::Settings;
use super::solid_states::SolidStates;
use super::wear::Written;
use crate::drive::Slowness;
use crate::drive::disk::{DiskCommand, HardDiskDescription};
use crate::drive::flash::FlashDrive;
use crate::drive::flash::translation::Temperature;
use crate::part::{Counters, DiskSwitches, Disks, ModuleTiming, Modules, count_arm, switched_hard_disk};
use crate::{DescriptionError, TwinError};

/// Noun of drives among counters and in notes.
const DRIVE: &str = "drive";
/// Noun of flash modules.
const MODULE: &str = "module";

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
    /// It follows others of a stream.
    pub is_sequential: bool,
}

impl GroupDrives {
    /// The drives of a group: the number of the first among all drives of the array, and how many there are on all nodes.
    pub fn new(
        group: &array::Group,
        (first, count): (u32, u32),
        settings: &Settings,
        seed: u64,
    ) -> Result<Self, TwinError> {
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
            array::Drives::SolidState(drive) => GroupDrives::SolidStates(
                SolidStates::new(drive, (first, count), settings, seed).map_err(refused)?,
            ),
            array::Drives::FlashModule(module) => {
                GroupDrives::Modules(Box::new(Modules::new(module_timing(module, settings), count)))
            }
        })
    }

    /// Returns whether drives choose among the commands that wait for them, and say later when one is done.
    pub fn has_queues(&self) -> bool {
        matches!(self, GroupDrives::HardDisks(disks) if !disks.answers_at_once)
    }

    /// Noun of the drives of a group among counters and in notes.
    pub fn noun(group: &array::Group) -> &'static str {
        match group.drives {
            array::Drives::FlashModule(_) => MODULE,
            array::Drives::HardDisk(_) | array::Drives::SolidState(_) => DRIVE,
        }
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
                Direction::Read => {
                    modules.read(now_ns, io.drive, u64::from(io.length_bytes), io.is_sequential)
                }
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

    /// A drive takes a place of the set: an erased one, or one that was filled long ago.
    pub fn replace(&mut self, drive: u32, place: u32, is_filled: bool) {
        match self {
            GroupDrives::HardDisks(disks) => disks.slow_down(drive, Slowness::NONE),
            GroupDrives::Modules(modules) => modules.slow_down(drive, Slowness::NONE),
            GroupDrives::SolidStates(group) => group.replace(drive, place, is_filled),
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
            group.begin_window();
        }
    }

    /// Returns how long time may be skipped, as far as drives decide that.
    pub fn steady_for_ns(&self, window_ns: u64) -> u64 {
        match self {
            GroupDrives::SolidStates(group) => group.steady_for_ns(window_ns),
            GroupDrives::HardDisks(_) | GroupDrives::Modules(_) => u64::MAX,
        }
    }

    pub fn skip_time(&mut self, duration_ns: u64, window_ns: u64) {
        if let GroupDrives::SolidStates(group) = self {
            group.skip_time(duration_ns, window_ns);
        }
    }

    /// Returns how many drives pay for collection at present.
    pub fn collecting(&self) -> u64 {
        match self {
            GroupDrives::SolidStates(group) => {
                group.drives.iter().filter(|drive| drive.is_collecting()).count() as u64
            }
            GroupDrives::HardDisks(_) | GroupDrives::Modules(_) => 0,
        }
    }

    /// Bytes that the drives were given so far, and those that their flash programmed.
    pub fn written(&self) -> Written {
        match self {
            GroupDrives::SolidStates(group) => group.written(),
            GroupDrives::HardDisks(disks) => Written {
                given: disks.counters().map(|(_, traffic)| traffic.written_bytes).sum(),
                programmed: 0,
            },
            // Their model has no collection: what they program is what they are given.
            GroupDrives::Modules(modules) => {
                let given = modules.iter().map(|module| module.traffic.written_bytes).sum();
                Written { given, programmed: given }
            }
        }
    }

    /// Counts of the drives, numbered from `first`.
    pub fn count_into(&self, counters: &mut Counters, first: u32) {
        match self {
            GroupDrives::HardDisks(disks) => {
                for (index, (disk, traffic)) in disks.counters().enumerate() {
                    let entity = format!("{DRIVE}-{}", first as usize + index);
                    traffic.count_into(counters, &entity);
                    counters.add(&entity, "buffer_hits", disk.buffer_hits);
                    count_arm(&disk, counters, &entity);
                }
            }
            GroupDrives::SolidStates(group) => group.count_into(counters, DRIVE, first),
            GroupDrives::Modules(modules) => {
                for (index, module) in modules.iter().enumerate() {
                    let entity = format!("{MODULE}-{}", first as usize + index);
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
        seek_linear_from: disk.linear_from.share(),
        head_switch: Nanos(disk.head_switch.get()),
        command_overhead: Nanos(disk.command.get()),
        interface_bytes_per_s: disk.interface.get(),
        queue_window: disk.queue.count(),
        plans_ahead: disk.plans_ahead.is_on(),
        queue_age_limit: Nanos(disk.age_limit.get()),
        segments: disk.segments.count(),
        segment_bytes: Bytes(disk.segment.get()),
        write_cache: disk.write_buffer.get() > 0,
        write_cache_bytes: Bytes(disk.write_buffer.get()),
    }
}

fn module_timing(module: &array::FlashModule, settings: &Settings) -> ModuleTiming {
    let on = settings.on;
    let random_read = rate(module.read_rate.get(), on.bandwidth);
    ModuleTiming {
        command_ns: module.command.get(),
        read_ns: module.read.get(),
        random_read,
        sequential_read: if on.prefetch {
            rate(module.sequential_rate.get(), on.bandwidth)
        } else {
            random_read
        },
        write: rate(module.write_rate.get(), on.bandwidth),
        interference_scaled: if on.interference {
            ModuleTiming::scaled(module.write_interference.share())
        } else {
            0
        },
        read_latency_ns: module.read_latency.get(),
        write_latency_ns: module.write_latency.get(),
    }
}

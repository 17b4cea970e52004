//! Description of a flash module array: the keys under `flash_modules:`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::settings::Settings;
use crate::engine::{Rate, nanos_of_us};
use crate::part::{Links, ModuleTiming};
use crate::{FirmwareUpdate, Parameter, Rebuild, Topology, TopologyPart};

/// Hosts, links, controllers and flash modules in RAID 5.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "FlashModuleArray")]
pub struct Description {
    /// The machines that issue the load.
    pub hosts: Hosts,
    /// The paths between hosts and controllers, dealt to hosts first.
    pub links: Links,
    /// What takes commands in and looks after the drives.
    pub controllers: Controllers,
    /// How data lies over the drives.
    pub layout: Layout,
    /// What holds the data.
    pub drives: FlashModules,
    /// How a firmware update goes, where the array can do one under load.
    #[serde(default)]
    pub firmware_update: Option<FirmwareUpdate>,
    /// How a spare or a new module is filled; left out where lost modules stay lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<Rebuild>,
}

impl Description {
    /// The RAID set over its members. Its controllers update parity by reading it and what it is changed by.
    pub(super) fn set(&self) -> Result<layout::Layout, layout::LayoutError> {
        let raid = layout::Raid {
            drives: self.layout.members.get(),
            drive_capacity_bytes: self.drives.capacity_bytes.get(),
            segment_bytes: self.layout.segment_bytes.get(),
        };
        Ok(layout::Layout::raid5(raid, layout::Rotation::LeftSymmetric)?.modifying_always())
    }

    /// The parts, counted and labelled for a drawing.
    pub fn bench(&self) -> Topology {
        let members = self.layout.members.get();
        let mut drives = vec![TopologyPart::new(
            &format!("{}, RAID {}", self.drives.label, self.layout.raid.get()),
            members,
        )];
        let spares = self.drives.count.get().saturating_sub(members);
        if spares > 0 {
            drives.push(TopologyPart::new(&format!("{}, hot spare", self.drives.label), spares));
        }
        Topology {
            hosts: vec![TopologyPart::new(&self.hosts.label, self.hosts.count.get())],
            links: vec![TopologyPart::new(&self.links.label, self.links.count.get())],
            controllers: vec![TopologyPart::new(&self.controllers.label, self.controllers.count.get())],
            drives,
        }
    }
}

/// The machines that issue the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// What they are, for drawings.
    pub label: String,
    /// How many; jobs are dealt to them in turn.
    pub count: Parameter<u32>,
    /// Microseconds between a thread's decision to issue an I/O and the moment it goes out on a link: application,
    /// file system, volume manager, virtual I/O server. It takes part in the closed loop but is no part of the
    /// latency that a device's counters show; in fio's terms it is submission latency.
    pub submission_us: Parameter<f64>,
}

/// What takes commands in and looks after the drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Controllers {
    /// What they are, for drawings.
    pub label: String,
    /// How many; each has its share of the links.
    pub count: Parameter<u32>,
    /// Processors (or command pipelines) of one controller.
    pub processors: Parameter<u32>,
    /// Microseconds of a processor for one host command.
    pub command_us: Parameter<f64>,
    /// Host commands that one controller has under way in the drives. Later ones wait in one queue, in order.
    pub window_commands: Parameter<u32>,
    /// Bytes of host commands that one controller has under way in the drives.
    pub window_bytes: Parameter<u64>,
    /// Rate at which one controller takes written data into its protected buffer, in 10^6 bytes a second.
    pub write_buffer_mb_per_s: Parameter<f64>,
    /// Microseconds from a write's entry into the window to its answer: the buffer's own time, which holds up nobody
    /// else.
    pub write_answer_us: Parameter<f64>,
    /// Sequential streams that a controller can follow at once, for prefetch and whole-stripe writes.
    pub sequential_streams: Parameter<u32>,
}

/// How data lies over the drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// RAID level; 5 is what this engine knows so far.
    pub raid: Parameter<u8>,
    /// Drives that the RAID set lies over, parity included. Drives beyond them are hot spares.
    pub members: Parameter<u32>,
    /// Bytes that lie together on one drive before the next drive follows.
    pub segment_bytes: Parameter<u64>,
}

/// Drives: flash modules, each with its own controller between flash and array.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlashModules {
    /// What they are, for drawings.
    pub label: String,
    /// How many are fitted, hot spares included.
    pub count: Parameter<u32>,
    /// Usable bytes of one.
    pub capacity_bytes: Parameter<u64>,
    /// Microseconds of a module's command processor for one command, read or write.
    pub command_us: Parameter<f64>,
    /// Microseconds that a random read holds the module's read path, beside its bytes.
    pub read_us: Parameter<f64>,
    /// Rate of the module's read path for random reads, in 10^6 bytes a second.
    pub read_mb_per_s: Parameter<f64>,
    /// Rate of the module's read path where reads follow one another (prefetch, whole pages of all planes).
    pub sequential_read_mb_per_s: Parameter<f64>,
    /// Rate of the module's write path, in 10^6 bytes a second.
    pub write_mb_per_s: Parameter<f64>,
    /// Share of a write's size, in percent, that programming and collection take from the read path as a read of
    /// that size would.
    pub write_interference_percent: Parameter<f64>,
    /// Microseconds from a read's turn to its data that hold up nobody else: the flash array's own read time.
    pub read_latency_us: Parameter<f64>,
    /// Microseconds until a write is safe in the module, which hold up nobody else.
    pub write_latency_us: Parameter<f64>,
}

impl FlashModules {
    /// Times and rates of a module without what is switched off.
    pub(super) fn timing(&self, settings: Settings) -> ModuleTiming {
        let rate = |mb_per_s: f64| {
            if settings.bandwidth { Rate::from_mb_per_s(mb_per_s) } else { Rate::UNLIMITED }
        };
        let random_read = rate(self.read_mb_per_s.get());
        let interference = self.write_interference_percent.get() / 100.0;
        ModuleTiming {
            command_ns: nanos_of_us(self.command_us.get()),
            read_ns: nanos_of_us(self.read_us.get()),
            random_read,
            sequential_read: if settings.prefetch {
                rate(self.sequential_read_mb_per_s.get())
            } else {
                random_read
            },
            write: rate(self.write_mb_per_s.get()),
            interference_scaled: if settings.interference { ModuleTiming::scaled(interference) } else { 0 },
            read_latency_ns: nanos_of_us(self.read_latency_us.get()),
            write_latency_ns: nanos_of_us(self.write_latency_us.get()),
        }
    }
}

//! Description of an SSD array: the keys under `ssd_array:`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::Bytes;

use crate::description::{STEP_LIMIT_US, whole, within};
use crate::drive::flash::{CollectionPolicy, FlashDescription, WriteFrontiers};
use crate::part::{Links, flash_drives, nanos_of_us, no_flash_drive};
use crate::{DescriptionError, FirmwareUpdate, Parameter, Rebuild, Topology, TopologyPart};

/// The most drives: parity is computed over all of them.
const DRIVE_LIMIT: u32 = layout::PARITY_WIDTH_LIMIT;

/// A host with a stripe over LUNs, links, two or more controllers that own the LUNs, and solid-state drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SsdArray")]
pub struct Description {
    /// The machine that issues the load.
    pub host: Host,
    /// The paths between host and controllers.
    pub links: Links,
    /// What takes commands in, owns LUNs and makes parity.
    pub controllers: Controllers,
    /// The write cache.
    pub cache: Cache,
    /// What the host sees, and how it lies over the drives.
    pub layout: Layout,
    /// What holds the data.
    pub drives: Drives,
    /// How a spare or a new drive is filled; left out where lost drives stay lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<Rebuild>,
    /// How controllers leave for new firmware or fail over, where the array can do that under load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware_update: Option<FirmwareUpdate>,
}

/// The machine that issues the load. Its stripe over the LUNs is what a case's range is a range of.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SsdArrayHost")]
pub struct Host {
    /// What it is, for drawings.
    pub label: String,
    /// Microseconds of a job's thread for an I/O, submission and reaping; a job has one thread.
    pub job_us: Parameter<f64>,
    /// Microseconds of a job's thread for each KiB of an I/O: pages are pinned and mapped one by one.
    pub job_us_per_kib: Parameter<f64>,
    /// Bytes of a LUN before the host's stripe moves on to the next.
    pub stripe_unit_bytes: Parameter<u64>,
    /// Commands that the adapter has under way to one LUN over one link; more wait in the host.
    pub queue_depth: Parameter<u32>,
    /// What the adapter behind one link moves in both directions together, in 10^6 bytes a second.
    pub adapter_mb_per_s: Parameter<f64>,
}

/// What takes commands in, owns LUNs and makes parity. LUNs are dealt to controllers in turn; a command goes to the
/// controller that owns its LUN.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SsdArrayControllers")]
pub struct Controllers {
    /// What they are, for drawings.
    pub label: String,
    /// How many.
    pub count: Parameter<u32>,
    /// Processors of one controller.
    pub processors: Parameter<u32>,
    /// Microseconds of a processor for a command, by the code path that it takes.
    pub command_us: CodePaths,
    /// Share by which the work on a command and its parity grows with each 1000 commands that the controllers have under
    /// way together: they share the RAID set, so lists are searched and stripes are locked among all of them.
    pub crowding_per_1000_commands: Parameter<f64>,
    /// Rate of one controller's parity engine, in 10^6 bytes a second: all bytes that a change of parity reads from and
    /// writes to the drives go through it.
    pub parity_engine_mb_per_s: Parameter<f64>,
    /// Rate at which one controller computes parity, in 10^6 bytes of parity a second, beside moving the bytes.
    pub parity_mb_per_s: Parameter<f64>,
    /// Changes of parity that one controller has under way at once, from the first read of old data to the last write; more
    /// wait in order. `null` where nothing limits them.
    pub parity_updates: Option<Parameter<u32>>,
    /// Microseconds of a read that hold up nobody else.
    pub read_answer_us: Parameter<f64>,
    /// Microseconds of a write that hold up nobody else, where the drives have it before it is answered.
    pub write_answer_us: Parameter<f64>,
    /// Microseconds that a write which changes parity takes longer, because the change is logged outside its controller before
    /// the drives are written: without a log a crash between data and parity leaves them apart (the write hole; Linux md closes
    /// it with a journal or a partial parity log). They hold up nobody else. `null` where there is no log.
    #[serde(default)]
    pub parity_log_us: Option<Parameter<f64>>,
}

/// Microseconds of a processor for a command on each code path of the firmware.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CodePaths {
    /// Reads of a RAID set without parity.
    pub plain_read: Parameter<f64>,
    /// Writes to a RAID set without parity.
    pub plain_write: Parameter<f64>,
    /// Reads of a RAID set with parity.
    pub parity_read: Parameter<f64>,
    /// Writes to a RAID set with parity.
    pub parity_write: Parameter<f64>,
}

/// The write cache: written data is mirrored to the peer and answered, then goes to the drives at once.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SsdArrayCache")]
pub struct Cache {
    /// Written bytes of one controller that may be answered and not yet in the drives. Writes beyond wait.
    pub dirty_limit_bytes: Parameter<u64>,
    /// Rate of the mirror link out of one controller, in 10^6 bytes a second.
    pub mirror_mb_per_s: Parameter<f64>,
    /// Microseconds of a cached write that hold up nobody else.
    pub answer_us: Parameter<f64>,
    /// Commands of one controller that go to the drives at once.
    pub destage_commands: Parameter<u32>,
}

/// What the host sees, and how it lies over the drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "SsdArrayLayout")]
pub struct Layout {
    /// RAID level unless set: 0 or 5, over all drives.
    pub raid: Parameter<u8>,
    /// LUNs of equal size.
    pub luns: Parameter<u32>,
    /// Bytes that lie together on one drive before the next drive follows.
    pub segment_bytes: Parameter<u64>,
}

flash_drives! {
    /// Solid-state drives. What their times mean is in `docs/models/flash.md`.
    Drives {
        /// Hot spares beside them.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        pub spares: Option<Parameter<u32>>,
        /// Flash that is kept erased where there is time to collect.
        pub erased_reserve_bytes: Parameter<u64>,
        /// Policy by which the block to collect is chosen.
        pub collection: Parameter<CollectionPolicy>,
        /// Write frontiers: which writes share an open block.
        pub frontiers: Parameter<WriteFrontiers>,
        /// Superblocks that collection is simulated with.
        pub superblocks: Parameter<u32>,
        /// Mapping units of a simulated superblock.
        pub units_per_superblock: Parameter<u32>,
        /// Microseconds of bus and controller to relocate a collected unit, beside its two crossings.
        pub relocation_us: Parameter<f64>,
    }
}

impl Drives {
    /// Drives in all, hot spares included.
    pub(super) fn fitted(&self) -> u32 {
        self.count.get() + self.spares.as_ref().map_or(0, Parameter::get)
    }

    /// One drive, as the flash model takes it.
    pub(super) fn flash(&self) -> FlashDescription {
        FlashDescription {
            superblocks: self.superblocks.get(),
            units_per_superblock: self.units_per_superblock.get(),
            collection: self.collection.get(),
            frontiers: self.frontiers.get(),
            relocation: nanos_of_us(&self.relocation_us),
            erased_reserve: Bytes(self.erased_reserve_bytes.get()),
            ..self.common_drive()
        }
    }

    /// Refuses what no drives can be, naming the key.
    pub(super) fn check(&self) -> Result<(), DescriptionError> {
        whole("count", &self.count, 3, u64::from(DRIVE_LIMIT))?;
        if let Some(spares) = &self.spares {
            whole("spares", spares, 0, u64::from(DRIVE_LIMIT))?;
        }
        self.check_common()?;
        within("relocation_us", &self.relocation_us, 0.0, STEP_LIMIT_US)?;
        self.flash().check().map_err(no_flash_drive)
    }
}

impl Description {
    /// The same parts with so many times less room: what fills, fills so many times sooner, and nothing takes longer or
    /// shorter. Drives stay a whole number of segments.
    pub fn shrunk(&self, times: u32) -> Description {
        let mut small = self.clone();
        let times = u64::from(times.max(1));
        let segment_bytes = self.layout.segment_bytes.get().max(1);
        let drives = &mut small.drives;
        drives.capacity_bytes.value = drives.capacity_bytes.get() / times / segment_bytes * segment_bytes;
        drives.erased_reserve_bytes.value /= times;
        // As many seconds of writes as before.
        small.cache.dirty_limit_bytes.value /= times;
        if let Some(update) = &mut small.firmware_update {
            let verified_bytes = update.verification_bytes.get() / times;
            update.verification_bytes.value = verified_bytes.min(drives.capacity_bytes.get());
        }
        small
    }

    /// The parts, counted and labelled for a drawing.
    pub fn bench(&self) -> Topology {
        let label = format!("{}, RAID {}", self.drives.label, self.layout.raid.get());
        let mut drives = vec![TopologyPart::new(&label, self.drives.count.get())];
        let spares = self.drives.fitted() - self.drives.count.get();
        if spares > 0 {
            drives.push(TopologyPart::new(&format!("{}, hot spare", self.drives.label), spares));
        }
        Topology {
            hosts: vec![TopologyPart::new(&self.host.label, 1)],
            links: vec![TopologyPart::new(&self.links.label, self.links.count.get())],
            controllers: vec![TopologyPart::new(&self.controllers.label, self.controllers.count.get())],
            drives,
        }
    }
}

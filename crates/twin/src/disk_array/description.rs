//! Description of an array of hard disks: its parts and their parameters.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use units::Bytes;

use crate::cache::DestageOrder;
use crate::description::{DRIVE_LIMIT, rate, whole, within};
use crate::drive::disk::HardDiskDescription;
use crate::part::{Links, bytes_per_s, check_hard_disk, hard_disks, nanos_of_ms};
use crate::{DescriptionError, FirmwareUpdate, Parameter, Rebuild};

/// An array of hard disks: hosts, links, controllers with a cache, a layout, and drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Description {
    /// The machines that issue the load.
    pub hosts: Hosts,
    /// The paths between hosts and controllers. The I/Os of a volume take turns over the links of the controller that
    /// owns it.
    pub links: Links,
    /// What takes commands in and looks after the drives.
    pub controllers: Controllers,
    /// The controllers' memory.
    pub cache: Cache,
    /// How data lies over the drives, unless a case sets it otherwise.
    pub layout: Layout,
    /// What hosts see.
    pub volumes: Volumes,
    /// The path between controllers and drives.
    pub drive_links: DriveLinks,
    /// What holds the data.
    pub drives: Drives,
    /// How a lost drive is rebuilt; without it, a lost drive stays lost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rebuild: Option<Rebuild>,
    /// How controllers leave for new firmware or fail over, where the array can do that under load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub firmware_update: Option<FirmwareUpdate>,
}

/// The machines that issue the load.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Hosts {
    /// What they are, for drawings.
    pub label: String,
    /// How many; jobs are dealt to them in turn.
    pub count: Parameter<u32>,
    /// Microseconds between a thread's decision to issue an I/O and the moment it goes out on a link; in fio's
    /// terms submission latency.
    pub submission_us: Parameter<f64>,
    /// What an I/O costs beside it when it goes through a file system (setting `filesystem`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub file_systems: Vec<FileSystem>,
}

/// What a file system adds to each I/O.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FileSystem {
    /// Its name, as in the setting `filesystem`.
    pub name: String,
    /// Microseconds for mapping and locks before an I/O goes out.
    pub submission_us: Parameter<f64>,
    /// Microseconds of a host's processor after an answer before the application has it, for an I/O of no size.
    /// Completions of one host wait for each other.
    pub completion_us: Parameter<f64>,
    /// Rate at which completions pass blocks, in 10^6 bytes a second.
    pub completion_mb_per_s: Parameter<f64>,
}

/// What takes commands in and looks after the drives. Each owns every n-th volume.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Controllers {
    /// What they are, for drawings.
    pub label: String,
    /// How many serve.
    pub count: Parameter<u32>,
    /// Processors of one controller.
    pub processors: Parameter<u32>,
    /// Code path of a host read: microseconds of a processor.
    pub read_us: Parameter<f64>,
    /// Code path of a host write: microseconds of a processor.
    pub write_us: Parameter<f64>,
    /// Code path of an update of parity, host's or cache's: microseconds of a processor.
    pub parity_us: Parameter<f64>,
    /// Rate at which one controller moves host data through its memory, in 10^6 bytes a second.
    pub data_mb_per_s: Parameter<f64>,
    /// Rate at which one processor computes parity over what is written, in 10^6 bytes of data and parity a second.
    pub parity_mb_per_s: Parameter<f64>,
}

/// The memory of one controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cache {
    /// Whether writes are answered from it, unless a case sets `write_cache`.
    pub write_back: Parameter<bool>,
    /// Whether it keeps what was read, unless a case sets `read_cache`.
    pub keep_reads: Parameter<bool>,
    /// Whether it reads ahead of sequential reads, unless a case sets `read_ahead`.
    pub read_ahead: Parameter<bool>,
    /// Bytes for written data.
    pub write_bytes: Parameter<u64>,
    /// Bytes for what was read.
    pub read_bytes: Parameter<u64>,
    /// Unit of allocation: an extent occupies whole blocks.
    pub block_bytes: Parameter<u64>,
    /// Share of `write_bytes` from which data is put on the drives.
    pub destage_from_percent: Parameter<f64>,
    /// In which order stripes are put on the drives.
    pub destage_order: Parameter<DestageOrder>,
    /// Stripes that are put on the drives at the same time.
    pub destage_stripes: Parameter<u32>,
    /// Rate at which written data is copied to the other controller before it is answered, in 10^6 bytes a
    /// second; `null` where there is no other.
    pub mirror_mb_per_s: Option<Parameter<f64>>,
    /// How far ahead of a sequential reader is read.
    pub read_ahead_bytes: Parameter<u64>,
}

/// RAID levels and the pool.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// Striped, nothing twice.
    Raid0,
    /// Every drive holds everything.
    Raid1,
    /// One rotating parity.
    Raid5,
    /// Two rotating parities.
    Raid6,
    /// Striped over mirrored pairs.
    Raid10,
    /// A declustered pool of RAID 6 D-stripes.
    Ddp,
}

/// How a controller updates parity where only a part of a stripe is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ParityUpdate {
    /// By read-modify-write or by reconstruct-write, whichever reads less.
    Cheapest,
    /// By read-modify-write always.
    Modify,
}

/// How data lies over the drives, unless a case sets it otherwise.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Layout {
    /// RAID level or pool (settings `raid` and `layout`).
    pub level: Parameter<Level>,
    /// How parity is updated.
    pub parity_update: Parameter<ParityUpdate>,
    /// Drives of the set, the first of those fitted (setting `disks`).
    pub disks: Parameter<u32>,
    /// Bytes that lie together on one drive (setting `segment`).
    pub segment_bytes: Parameter<u64>,
    /// The smallest segment that the controller makes.
    pub segment_bytes_least: Parameter<u64>,
    /// The largest segment that the controller makes.
    pub segment_bytes_most: Parameter<u64>,
    /// How the pool is laid out, where the controller can make one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pool: Option<Pool>,
}

/// A declustered pool.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Pool {
    /// Segment of its stripes; fixed.
    pub segment_bytes: Parameter<u64>,
    /// What a D-stripe takes of one drive.
    pub piece_bytes: Parameter<u64>,
    /// Data pieces of a D-stripe.
    pub data: Parameter<u32>,
    /// Parity pieces of a D-stripe.
    pub parity: Parameter<u32>,
    /// Capacity kept free for reconstruction, in drives.
    pub preservation_disks: Parameter<u32>,
}

/// What hosts see: volumes one after the other, from the outer edge of the drives.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Volumes {
    /// How many.
    pub count: Parameter<u32>,
    /// Bytes of each (setting `volume_size`); 0 is all that the drives hold.
    pub bytes: Parameter<u64>,
}

/// The path between controllers and drives, full duplex, shared by all.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DriveLinks {
    /// What they are, for drawings.
    pub label: String,
    /// What they carry together in each direction, in 10^6 bytes a second.
    pub mb_per_s: Parameter<f64>,
}

hard_disks! {
    /// Hard disks, all alike. `docs/models/hard-disk.md` has the model.
    Drives {
        /// Share of the stroke from which seeks grow in proportion to distance; 1 for a square root throughout.
        pub seek_linear_from: Parameter<f64>,
        /// Switch of heads or to the next cylinder, in milliseconds.
        pub head_switch_ms: Parameter<f64>,
        /// Rate of the interface for buffered data, in 10^6 bytes a second.
        pub interface_mb_per_s: Parameter<f64>,
        /// The drive chooses its next command when it begins the one before; what arrives meanwhile takes no part.
        pub plans_ahead: Parameter<bool>,
        /// Bytes of written data that the drive acknowledges before they are on the media; 0 for none.
        pub write_buffer_bytes: Parameter<u64>,
    }
}

impl Drives {
    /// One drive, as the disk model takes it.
    pub(crate) fn hard_disk(&self) -> HardDiskDescription {
        HardDiskDescription {
            seek_linear_from: self.seek_linear_from.get(),
            head_switch: nanos_of_ms(&self.head_switch_ms),
            interface_bytes_per_s: bytes_per_s(&self.interface_mb_per_s),
            plans_ahead: self.plans_ahead.get(),
            write_cache: self.write_buffer_bytes.get() > 0,
            write_cache_bytes: Bytes(self.write_buffer_bytes.get()),
            ..self.common_disk()
        }
    }

    /// Refuses what no drives can be, naming the key.
    pub(crate) fn check(&self) -> Result<(), DescriptionError> {
        whole("count", &self.count, 1, u64::from(DRIVE_LIMIT))?;
        self.check_common()?;
        rate("interface_mb_per_s", &self.interface_mb_per_s)?;
        within("seek_linear_from", &self.seek_linear_from, 0.01, 1.0)?;
        within("head_switch_ms", &self.head_switch_ms, 0.0, 100.0)?;
        check_hard_disk(&self.hard_disk())
    }
}

//! Description of a flash drive or flash module.

use super::super::description::{DescriptionError, require};
use super::sample::SampledTranslation;
use super::translation::{Collection, Frontiers, Geometry, UNITS_PER_BLOCK_LIMIT};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use units::{Bytes, Nanos};

/// No drive may be larger.
pub const CAPACITY_LIMIT_BYTES: u64 = 1 << 47;
/// No drive may have more dies in all.
pub const DIES_LIMIT: u32 = 4096;

/// Erased superblocks held back from collection; they come on top of the spare, so their number hardly matters.
const RESERVE_BLOCKS: u32 = 3;

/// How collection chooses the block to empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum CollectionPolicy {
    /// The block with the fewest valid units.
    Greedy,
    /// The emptiest of this many drawn at random.
    Choices(u32),
    /// The block closed longest ago.
    Oldest,
}

/// Which writes share an open block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum WriteFrontiers {
    /// Host writes and collected units together.
    One,
    /// Collected units apart.
    HostAndCollection,
    /// Hot and cold units apart.
    HotAndCold,
}

/// A solid-state drive or flash module. Durations are in seconds or with a suffix (`75us`), sizes in bytes or with a suffix.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FlashDescription {
    /// Bytes that the host may address.
    pub capacity: Bytes,
    /// Spare flash as a share of `capacity`: (physical − addressable) ÷ addressable.
    pub over_provisioning: f64,
    /// Bytes that are mapped and collected as one.
    pub mapping_unit: Bytes,
    /// Superblocks that collection is simulated with, 256 to 4096, whatever the capacity.
    #[serde(default = "default_blocks")]
    pub superblocks: u32,
    /// Mapping units in a simulated superblock.
    #[serde(default = "default_units_per_block")]
    pub units_per_superblock: u32,
    /// How the block to collect is chosen.
    #[serde(default = "greedy")]
    pub collection: CollectionPolicy,
    /// Which writes share an open block.
    #[serde(default = "one_frontier")]
    pub frontiers: WriteFrontiers,
    /// Channels.
    pub channels: u32,
    /// Dies on each channel.
    pub dies_per_channel: u32,
    /// Planes of a die that program together.
    pub planes: u32,
    /// Bytes of a flash page.
    pub page: Bytes,
    /// Pages of an erase block in one plane.
    pub pages_per_block: u32,
    /// Array read time of a page (tR).
    pub read: Nanos,
    /// Program time of a page on all planes (tPROG).
    pub program: Nanos,
    /// Erase time of a block on all planes (tBERS).
    pub erase: Nanos,
    /// Rate of one channel, in bytes a second.
    pub channel_bytes_per_s: u64,
    /// Rate of the bus between channels, buffer and interface, in bytes a second, shared by all: a collected unit crosses it twice.
    pub bus_bytes_per_s: u64,
    /// Controller time for each read command.
    pub read_command: Nanos,
    /// Controller time for each write command.
    pub write_command: Nanos,
    /// Bytes of writes that are acknowledged before they are programmed.
    pub write_buffer: Bytes,
    /// A read interrupts a program or an erase of its die at this cost; without it, reads wait for them.
    #[serde(default)]
    pub suspend: Option<Nanos>,
    /// Reads go before writes and collection on channels and bus; without it, they wait for all that the buffer holds.
    #[serde(default)]
    pub read_priority: bool,
    /// Time of the bus and the drive's controller to relocate a collected unit, beside its two crossings: finding out
    /// whether it is still valid, checking it, changing the map.
    #[serde(default)]
    pub relocation: Nanos,
    /// Flash that the drive keeps erased where it has time to: in pauses it collects until so much can be written
    /// without collection. 0 is a drive that collects only when it must.
    #[serde(default)]
    pub erased_reserve: Bytes,
    /// A write of part of a mapping unit reads the rest over the bus; without it, inside the die.
    #[serde(default)]
    pub merge_over_bus: bool,
}

fn default_blocks() -> u32 {
    1024
}

fn default_units_per_block() -> u32 {
    256
}

fn greedy() -> CollectionPolicy {
    CollectionPolicy::Greedy
}

fn one_frontier() -> WriteFrontiers {
    WriteFrontiers::One
}

impl FlashDescription {
    /// Refuses what no drive can be, naming the key.
    pub fn check(&self) -> Result<(), DescriptionError> {
        let unit = self.mapping_unit.0;
        require(unit.is_power_of_two() && (512..=1 << 20).contains(&unit), "mapping_unit", || {
            format!("a power of two from 512 to 1 MiB, not {unit}")
        })?;
        let capacity = self.capacity.0;
        let fits = capacity >= 64 * unit && capacity <= CAPACITY_LIMIT_BYTES && capacity / unit < 1 << 32;
        require(fits, "capacity", || {
            format!("64 to 2^32 mapping units and at most {CAPACITY_LIMIT_BYTES} bytes, not {capacity}")
        })?;
        require((0.005..=10.0).contains(&self.over_provisioning), "over_provisioning", || {
            format!("a share of the capacity from 0.005 to 10, not {}", self.over_provisioning)
        })?;
        require((64..=65_536).contains(&self.superblocks), "superblocks", || {
            format!("64 to 65,536, not {}", self.superblocks)
        })?;
        require(
            (16..=UNITS_PER_BLOCK_LIMIT).contains(&self.units_per_superblock),
            "units_per_superblock",
            || format!("16 to {UNITS_PER_BLOCK_LIMIT}, not {}", self.units_per_superblock),
        )?;
        require(!matches!(self.collection, CollectionPolicy::Choices(0 | 1025..)), "collection", || {
            "1 to 1,024 choices".to_owned()
        })?;
        require(self.over_provisioning * f64::from(self.superblocks) >= 8.0, "superblocks", || {
            "too few for this `over_provisioning`: 8 or more of them must be spare".to_owned()
        })?;
        let dies = u64::from(self.channels) * u64::from(self.dies_per_channel);
        require(self.channels >= 1 && dies <= u64::from(DIES_LIMIT), "channels", || {
            format!("at least 1, and at most {DIES_LIMIT} dies in all, not {} channels", self.channels)
        })?;
        require(self.dies_per_channel >= 1, "dies_per_channel", || "at least 1, not 0".to_owned())?;
        require((1..=16).contains(&self.planes), "planes", || format!("1 to 16, not {}", self.planes))?;
        let page = self.page.0;
        require(page.is_power_of_two() && (512..=1 << 20).contains(&page), "page", || {
            format!("a power of two from 512 to 1 MiB, not {page}")
        })?;
        require(page * u64::from(self.planes) >= unit, "page", || {
            "all planes together hold at least one mapping unit".to_owned()
        })?;
        require((1..=65_536).contains(&self.pages_per_block), "pages_per_block", || {
            format!("1 to 65,536, not {}", self.pages_per_block)
        })?;
        for (key, duration) in [
            ("read", self.read),
            ("program", self.program),
            ("erase", self.erase),
            ("read_command", self.read_command),
            ("write_command", self.write_command),
            ("suspend", self.suspend.unwrap_or_default()),
            ("relocation", self.relocation),
        ] {
            require(duration.0 <= 10_000_000_000, key, || format!("at most 10 s, not {duration}"))?;
        }
        for (key, rate) in
            [("channel_bytes_per_s", self.channel_bytes_per_s), ("bus_bytes_per_s", self.bus_bytes_per_s)]
        {
            require(rate >= 1_000_000, key, || format!("at least 1 MB/s, not {rate} bytes a second"))?;
        }
        let spare_bytes = capacity as f64 * self.over_provisioning;
        require((self.erased_reserve.0 as f64) <= 0.75 * spare_bytes, "erased_reserve", || {
            format!(
                "at most three quarters of the spare flash, {:.0} bytes, not {}",
                0.75 * spare_bytes,
                self.erased_reserve
            )
        })?;
        let program_bytes = page * u64::from(self.planes);
        require((program_bytes..=1 << 34).contains(&self.write_buffer.0), "write_buffer", || {
            format!("from one program ({program_bytes} bytes) to 16 GiB, not {}", self.write_buffer.0)
        })
    }

    /// The sampled translation: one unit in `stride` is followed, and the spare is `over_provisioning` of those. Blocks come as near
    /// `superblocks` and `units_per_superblock` as gives the spare to a few units: whole blocks alone would
    /// miss it by up to 3 % where it is small.
    pub(super) fn geometry(&self) -> (Geometry, u32) {
        let drive_units = (self.capacity.0 / self.mapping_unit.0) as u32;
        let nominal =
            Geometry::scaled(self.superblocks, self.units_per_superblock, self.over_provisioning, 0);
        let stride = SampledTranslation::stride_for(drive_units, nominal.user_units);
        let user_units = drive_units.div_ceil(stride);
        let physical = (f64::from(user_units) * (1.0 + self.over_provisioning)).round() as u32;
        let nearest = (physical / self.units_per_superblock).max(1);
        let physical_with = |blocks: u32| (physical + blocks / 2) / blocks * blocks;
        let blocks = (nearest..=nearest + nearest / 8)
            .min_by_key(|&blocks| physical_with(blocks).abs_diff(physical))
            .unwrap_or(nearest);
        let units_per_block = (physical + blocks / 2) / blocks;
        let blocks = blocks + RESERVE_BLOCKS;
        (Geometry { blocks, units_per_block, user_units, reserve_blocks: RESERVE_BLOCKS }, stride)
    }

    pub(super) fn collection(&self) -> Collection {
        match self.collection {
            CollectionPolicy::Greedy => Collection::Greedy,
            CollectionPolicy::Choices(choices) => Collection::Choices(choices),
            CollectionPolicy::Oldest => Collection::Oldest,
        }
    }

    pub(super) fn frontiers(&self) -> Frontiers {
        match self.frontiers {
            WriteFrontiers::One => Frontiers::One,
            WriteFrontiers::HostAndCollection => Frontiers::HostAndCollection,
            WriteFrontiers::HotAndCold => Frontiers::HotAndCold { hot_spare_permille: None },
        }
    }
}

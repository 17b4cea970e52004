//! From a level, a number of drives and a segment to a layout, or to the reason why there is none.

use layout::{Layout, LayoutError, PoolSpec, Raid, Rotation};
use serde_json::Value;

use super::description::{Description, Level, ParityUpdate};
use super::settings::Settings;
use crate::TwinError;
use crate::settings::bad;

/// Placement in a pool is part of the array, not of the run.
const POOL_SEED: u64 = 1;

/// The layout and what hosts see of it.
#[derive(Debug, Clone)]
pub(crate) struct Arrangement {
    pub layout: Layout,
    pub volume_bytes: u64,
    pub volume_count: u32,
}

impl Arrangement {
    /// Arranges the drives as the settings say; refuses what the controller would refuse.
    pub fn new(description: &Description, settings: &Settings) -> Result<Arrangement, TwinError> {
        let fitted = description.drives.count.get();
        if settings.disks > fitted {
            return Err(bad(
                "disks",
                &settings.disks.into(),
                &format!("at most the {fitted} drives that are fitted"),
            ));
        }
        let mut layout = layout(description, settings)?;
        if description.layout.parity_update.get() == ParityUpdate::Modify {
            layout = layout.modifying_always();
        }
        let count = description.volumes.count.get();
        let room = layout.capacity_bytes() / u64::from(count);
        let volume_bytes = if settings.volume_bytes == 0 { room } else { settings.volume_bytes };
        if volume_bytes > room {
            return Err(bad(
                "volume_size",
                &volume_bytes.into(),
                &format!("at most {room} bytes on {} drives in this layout", settings.disks),
            ));
        }
        Ok(Arrangement { layout, volume_bytes, volume_count: count })
    }

    pub fn capacity_bytes(&self) -> u64 {
        self.volume_bytes * u64::from(self.volume_count)
    }
}

fn layout(description: &Description, settings: &Settings) -> Result<Layout, TwinError> {
    let (least, most) =
        (description.layout.segment_bytes_least.get(), description.layout.segment_bytes_most.get());
    let segment_bytes = settings.segment_bytes;
    if !segment_bytes.is_power_of_two() || segment_bytes < least || segment_bytes > most {
        return Err(bad(
            "segment",
            &segment_bytes.into(),
            &format!("a power of two from {least} to {most} bytes"),
        ));
    }
    let raid = Raid {
        drives: settings.disks,
        drive_capacity_bytes: description.drives.capacity_bytes.get(),
        segment_bytes,
    };
    let made = match settings.level {
        Level::Raid0 => Layout::raid0(raid),
        Level::Raid1 => Layout::raid1(raid),
        Level::Raid5 => Layout::raid5(raid, Rotation::LeftSymmetric),
        Level::Raid6 => Layout::raid6(raid, Rotation::LeftSymmetric),
        Level::Raid10 => Layout::raid10(raid),
        Level::Ddp => return pool(description, settings),
    };
    made.map_err(|error| refused(settings, &error))
}

fn pool(description: &Description, settings: &Settings) -> Result<Layout, TwinError> {
    let Some(pool) = &description.layout.pool else {
        return Err(bad("layout", &Value::from("ddp"), "a RAID level: this controller makes no pools"));
    };
    let segment_bytes = pool.segment_bytes.get();
    if settings.is_segment_set && settings.segment_bytes != segment_bytes {
        return Err(bad(
            "segment",
            &settings.segment_bytes.into(),
            &format!("{segment_bytes} in a pool, whose segment is fixed"),
        ));
    }
    let spec = PoolSpec {
        drives: settings.disks,
        drive_capacity_bytes: description.drives.capacity_bytes.get(),
        segment_bytes,
        piece_bytes: pool.piece_bytes.get(),
        data: pool.data.get(),
        parity: pool.parity.get(),
        preservation_drives: pool.preservation_disks.get(),
        seed: POOL_SEED,
    };
    Layout::pool(&spec).map_err(|error| refused(settings, &error))
}

/// The controller's refusal of a set of drives.
fn refused(settings: &Settings, error: &LayoutError) -> TwinError {
    bad("disks", &settings.disks.into(), &format!("what its layout allows ({error})"))
}

//! Hard disks: what of them can be switched off.

use units::Nanos;

use crate::DescriptionError;
use crate::drive::disk::{HardDisk, HardDiskDescription};

/// Mechanism switches of a disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DiskSwitches {
    /// Arms take time to move.
    pub seek: bool,
    /// Sectors must come under the head.
    pub rotation: bool,
    /// The disk may choose among its commands.
    pub reordering: bool,
    /// It reads ahead, and answers writes early where it is described to.
    pub buffer: bool,
}

/// Builds a disk without what is switched off.
pub(crate) fn switched_hard_disk(
    mut disk: HardDiskDescription,
    switches: DiskSwitches,
) -> Result<HardDisk, DescriptionError> {
    if !switches.seek {
        disk.seek_min = Nanos(0);
        disk.seek_average = Nanos(0);
        disk.write_settle = Nanos(0);
    }
    if !switches.reordering {
        disk.queue_window = 1;
    }
    if !switches.buffer {
        disk.segments = 0;
        disk.write_cache = false;
    }
    let mut built = hard_disk(&disk)?;
    if !switches.rotation {
        built.stop_waiting_for_rotation();
    }
    Ok(built)
}

fn hard_disk(disk: &HardDiskDescription) -> Result<HardDisk, DescriptionError> {
    HardDisk::new(disk).map_err(|error| DescriptionError {
        path: error.key.to_owned(),
        problem: "no disk has this".into(),
        hint: error.reason,
    })
}

//! Journal replay.

use crate::VolumeError;
use crate::drive::{Drive, DriveCondition};
use crate::error::ErrorContext;
use crate::journal_record::Change;
use layout::Layout;

/// Does to the drives what the journal says; durable, checksums included, after [`sync_drives`]. Doing it again changes
/// nothing.
pub(crate) fn carry_out(layout: &Layout, drives: &[Drive], change: &Change<'_>) -> Result<(), VolumeError> {
    match *change {
        Change::Image { drive, offset_bytes, sums, bytes } => match drives.get(usize::from(drive)) {
            Some(drive) if !drive.holds(offset_bytes, bytes.len()) => Err(VolumeError::Damaged {
                path: "the journal".to_owned(),
                problem: format!("{} bytes at {offset_bytes} lie on no drive", bytes.len()),
            }),
            Some(drive) if drive.takes_writes() => {
                drive.write_journalled(offset_bytes, sums, bytes).context("write to a drive")
            }
            _ => Ok(()),
        },
        Change::StaleStripes { drive, stripe } => {
            let drive = drives.get(usize::from(drive));
            let drive = drive.filter(|drive| {
                matches!(drive.condition, DriveCondition::Stopped | DriveCondition::CatchingUp)
            });
            if let Some(drive) = drive {
                drive.missed.add(stripe);
            }
            Ok(())
        }
        Change::ZeroStripes { first, end } => {
            let segment_bytes = u64::from(layout.segment_bytes());
            for stripe in first..end.min(layout.stripes()) {
                for member in 0..layout.members() {
                    let place = layout.place(stripe, member);
                    let drive = &drives[usize::from(place.drive)];
                    if drive.takes_writes() {
                        drive.zero(place.offset_bytes, segment_bytes).context("free a drive's space")?;
                    }
                }
            }
            Ok(())
        }
    }
}

pub(crate) fn sync_drives(drives: &[Drive]) -> Result<(), VolumeError> {
    for drive in drives.iter().filter(|drive| drive.takes_writes()) {
        drive.sync().context("flush a drive")?;
    }
    Ok(())
}

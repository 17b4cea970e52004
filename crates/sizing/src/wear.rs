//! Wear of drives: bytes that a workload writes to them, against what they are rated for.
//!
//! A rating in bytes or drive writes a day counts what the drive is given, under a random workload that the standard sets
//! (JEDEC JESD218, JESD219): what garbage collection writes on top is in the rating. What an array writes on top (parity, mirrors) is
//! not, and is counted in the simulation.

use crate::simulation::{DriveWrites, Level};
use array::{Array, Drives};

/// Seconds of a day.
const DAY_S: f64 = 86_400.0;
/// Days of a year.
const YEAR_DAYS: f64 = 365.0;

/// Wear under a workload.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Wear {
    /// Bytes that drives are given for a byte of the workload; `None` where nothing is written, or the level is not steady: caches may
    /// keep what the drives are still to be given.
    pub write_amplification: Option<f64>,
    /// Units that flash programs for a unit that a drive is given; `None` without a flash translation layer.
    pub flash_write_amplification: Option<f64>,
    /// Years until the group that wears fastest has taken its rated writes; `None` where solid-state drives that are written
    /// have no rating, none are written, or the level is not steady.
    pub endurance_years: Option<f64>,
}

/// Computes the wear at a simulated level that is `times` the workload, from the bytes written in a day, or from its rate
/// all day long.
pub(crate) fn wear(array: &Array, level: &Level, times: f64, written_bytes_per_day: Option<u64>) -> Wear {
    let host_bytes = level.write.bytes as f64;
    // What a cache still keeps has worn nothing out yet, and will.
    if host_bytes <= 0.0 || !level.is_steady {
        return Wear::default();
    }
    let seconds = level.counted_ns as f64 / 1e9 * times;
    let bytes_per_day = written_bytes_per_day.map_or(host_bytes / seconds * DAY_S, |bytes| bytes as f64);
    let mut given_bytes = 0.0;
    let mut flash = DriveWrites::default();
    let mut years: Option<f64> = None;
    let mut is_rated = true;
    let mut first = 0;
    for group in &array.groups {
        let count = u64::from(array.drives_of(group));
        let own = writes_of(level, first..first + count);
        first += count;
        let unit_bytes = match &group.drives {
            Drives::SolidState(drive) => drive.mapping_unit.get(),
            Drives::HardDisk(_) | Drives::FlashModule(_) => 0,
        };
        let bytes = (own.bytes + own.units * unit_bytes) as f64;
        given_bytes += bytes;
        flash.add(own);
        let spares = group.keys.spares.get().min(count - 1);
        let per_day = bytes / host_bytes * bytes_per_day / (count - spares) as f64;
        match group.drives.rated_bytes() {
            _ if bytes <= 0.0 => {}
            Some(rated) => {
                let own_years = rated / per_day / YEAR_DAYS;
                years = Some(years.map_or(own_years, |years| years.min(own_years)));
            }
            // Writing does not wear out a disk.
            None => is_rated &= matches!(group.drives, Drives::HardDisk(_)),
        }
    }
    let programmed = (flash.units + flash.moved_units) as f64;
    Wear {
        write_amplification: Some(given_bytes / host_bytes),
        flash_write_amplification: (flash.units > 0).then(|| programmed / flash.units as f64),
        endurance_years: years.filter(|_| is_rated),
    }
}

/// Writes of the drives with these numbers, which end their names among the twin's counters.
fn writes_of(level: &Level, numbers: std::ops::Range<u64>) -> DriveWrites {
    let mut sum = DriveWrites::default();
    for (entity, writes) in &level.drive_writes {
        let number = entity.strip_prefix("drive-").or_else(|| entity.strip_prefix("module-"));
        if number.and_then(|number| number.parse().ok()).is_some_and(|number: u64| numbers.contains(&number))
        {
            sum.add(*writes);
        }
    }
    sum
}

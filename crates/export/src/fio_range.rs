//! Range of a load in fio's `offset`, `size` and `offset_increment`.
//!
//! In a plan, sequential jobs (and jobs that verify) have equal parts of the range. fio has that with
//! `offset_increment` equal to `size`. Without a size in the plan, fio's percents of the device say the same.

use crate::fio_option_list::FioOptions;
use crate::load_settings::LoadSettings;
use units::Bytes;

/// Values of the range that other options depend on.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct FioRange {
    /// Bytes that are used by all jobs together, where the settings say so.
    pub bytes: Option<u64>,
    /// Each job has a part of its own.
    pub is_in_parts: bool,
}

/// Shares of a device that lie on block boundaries of any usual device, in percent.
const EVEN_SHARES: [u64; 2] = [50, 25];

/// Writes the options of the range.
pub(crate) fn range(read: LoadSettings<'_>, fio: &mut FioOptions) -> FioRange {
    let numjobs = read.numjobs();
    let offset_bytes = read.number("offset").unwrap_or(0);
    if offset_bytes > 0 {
        fio.set("offset", Bytes(offset_bytes).to_string());
    }
    // A single job has nobody to keep a distance from.
    let increment = read.number("offset_increment").filter(|_| numjobs > 1);
    let is_in_parts = numjobs > 1 && increment.is_none() && (!read.is_random() || read.verifies());
    let share = match read.number("working_set") {
        None | Some(0) => 100,
        Some(share) => share,
    };
    let Some(size_bytes) = read.number("size") else {
        return of_device(read, fio, share, increment, is_in_parts);
    };
    let [block_bytes, largest_bytes] = read.block_bytes();
    let used = (u128::from(size_bytes) * u128::from(share) / 100) as u64;
    let used_bytes = if share == 100 { used } else { used - used % block_bytes };
    if used_bytes < largest_bytes {
        fio.leave_out("size", "the range that is used has no block");
    }
    if let Some(step_bytes) = increment {
        fio.set("offset_increment", Bytes(step_bytes).to_string());
        let each_bytes = used_bytes.saturating_sub(step_bytes.saturating_mul(numjobs - 1));
        if each_bytes < largest_bytes {
            fio.leave_out("offset_increment", "the last of its jobs would have no block to use in fio");
        }
        if step_bytes > 0 {
            fio.lose(
                "offset_increment",
                "fio's jobs use ranges of one length; in the plan each goes on to the end of the range",
            );
        }
        fio.set("size", Bytes(each_bytes).to_string());
    } else if is_in_parts {
        let each_bytes = used_bytes / numjobs / block_bytes * block_bytes;
        if each_bytes < largest_bytes {
            fio.leave_out("numjobs", "the range has no block for each of its jobs");
        } else if each_bytes * numjobs != used_bytes {
            fio.lose("size", "the range is cut to whole blocks for each job");
        }
        fio.set("offset_increment", Bytes(each_bytes).to_string());
        fio.set("size", Bytes(each_bytes).to_string());
    } else {
        fio.set("size", Bytes(used_bytes).to_string());
    }
    FioRange { bytes: Some(used_bytes), is_in_parts }
}

/// The range of a load whose plan gives no size: all of the target, or a share of it.
fn of_device(
    read: LoadSettings<'_>,
    fio: &mut FioOptions,
    share: u64,
    increment: Option<u64>,
    is_in_parts: bool,
) -> FioRange {
    let numjobs = read.numjobs();
    let offset_bytes = read.number("offset").unwrap_or(0);
    if let Some(step_bytes) = increment {
        fio.set("offset_increment", Bytes(step_bytes).to_string());
    }
    let part = share / numjobs;
    if share < 100 && (offset_bytes > 0 || increment.is_some()) {
        fio.lose(
            "working_set",
            "fio's share is one of the whole target, not of the rest behind a job's start: give `size`",
        );
    } else if is_in_parts && offset_bytes == 0 && share.is_multiple_of(numjobs) && EVEN_SHARES.contains(&part)
    {
        fio.set("offset_increment", format!("{part}%"));
        fio.set("size", format!("{part}%"));
        return FioRange { bytes: None, is_in_parts };
    } else if share < 100 {
        fio.set("size", format!("{share}%"));
    }
    if is_in_parts {
        fio.lose(
            "numjobs",
            "without `size` all jobs begin at the same place in fio; in the plan each has a part of its own: give `size`",
        );
    }
    FioRange { bytes: None, is_in_parts: false }
}

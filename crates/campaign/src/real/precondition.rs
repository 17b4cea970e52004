//! Preconditioning writes before a case.

use crate::real::loads::RealLoad;
use diagnostic::Problem;
use load::{LoadShape, LoadSpec, Pattern};
use plan::Preconditioning;
use storage_target::Address;

/// A target that takes less than this is broken: preconditioning ends as failed after the time that this rate needs.
const SLOWEST_BYTES_PER_S: u64 = 5_000_000;
/// However small the target, it has so long.
const TIME_AT_LEAST_NS: u64 = 60 * units::NANOS_PER_SECOND;
/// fio keeps a histogram of 15 KiB for each job and interval until it ends; with so many of both it takes 300 MB.
const HISTOGRAMS_LIMIT: u64 = 20_000;

/// The writes of a preconditioning on a range of a target: its first byte and its length.
pub(crate) fn load_of(
    wanted: &Preconditioning,
    (offset_bytes, capacity_bytes): (u64, u64),
    interval_ns: u64,
    seed: u64,
) -> (LoadSpec, u64) {
    let bytes = capacity_bytes.saturating_mul(u64::from(wanted.times));
    let runtime_ns = (u128::from(bytes) * u128::from(units::NANOS_PER_SECOND)
        / u128::from(SLOWEST_BYTES_PER_S))
    .min(u128::from(u64::MAX / 4)) as u64;
    let runtime_ns = runtime_ns.max(TIME_AT_LEAST_NS);
    let intervals_most = (HISTOGRAMS_LIMIT / u64::from(wanted.numjobs)).max(1);
    let load = LoadSpec {
        pattern: wanted.pattern,
        rwmixread: 0,
        bs_bytes: wanted.bs_bytes,
        numjobs: wanted.numjobs,
        iodepth: wanted.iodepth,
        offset_bytes,
        // An NBD address does not tell fio its size, and jobs that write in order need to share it.
        size_bytes: Some(capacity_bytes - capacity_bytes % u64::from(wanted.bs_bytes)),
        rate_iops: None,
        ramp_ns: 0,
        runtime_ns,
        interval_ns: interval_ns.max(runtime_ns.div_ceil(intervals_most)),
        seed,
        shape: LoadShape::default(),
    };
    (load, bytes)
}

/// The writes that fill a file of a file system before it is loaded.
pub(crate) fn filling(capacity_bytes: u64, interval_ns: u64, seed: u64) -> (LoadSpec, u64) {
    const BS_BYTES: u32 = 1 << 20;
    let bs_bytes = if capacity_bytes >= u64::from(BS_BYTES) { BS_BYTES } else { 4096 };
    let wanted = Preconditioning {
        purge: false,
        pattern: Pattern::Write,
        bs_bytes,
        numjobs: 1,
        iodepth: 16,
        times: 1,
        after_change_of: None,
    };
    load_of(&wanted, (0, capacity_bytes), interval_ns, seed)
}

/// Discards all data of a range (first byte, length) behind an address, so that it is as if never written.
pub(crate) fn purge(address: &Address, (offset_bytes, length_bytes): (u64, u64)) -> Result<(), Problem> {
    let path = match address {
        Address::Path(path) => path,
        Address::NbdUri(_) => return Err("an NBD address takes no purge here".into()),
        Address::Null => return Err("a null target has nothing to purge".into()),
    };
    let file = std::fs::OpenOptions::new()
        .write(true)
        .open(path)
        .map_err(|error| Problem::new(format!("{} cannot be opened", path.display())).caused_by(error))?;
    load_engine::discard(&file, offset_bytes, length_bytes)
        .map_err(|error| Problem::new("it takes no discards").caused_by(error))
}

/// Returns true if less was written than requested; jobs end with whole blocks.
pub(crate) fn is_short(load: &RealLoad, written_bytes: u64) -> bool {
    load.io_size_bytes.is_some_and(|wanted_bytes| {
        let slack_bytes = u64::from(load.load.numjobs) * u64::from(load.load.bs_bytes);
        written_bytes.saturating_add(slack_bytes) < wanted_bytes
    })
}

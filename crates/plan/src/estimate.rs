//! Estimate of a case's duration and written bytes.

use crate::part::Amount;
use load::LoadSpec;

/// The I/Os a second that an estimate assumes where nothing limits them: a middling flash array.
pub const ASSUMED_IOPS: f64 = 100_000.0;
/// The bytes a second that an estimate assumes where nothing limits them: a little over one 8 Gb FC port.
pub const ASSUMED_BYTES_PER_S: f64 = 1e9;

/// Ramp, runtime and the pause after it. Preconditioning is not in it: a plan does not know how large its target
/// is.
pub(crate) fn duration_ns(load: &LoadSpec, pause_ns: u64) -> u64 {
    load.ramp_ns.saturating_add(load.runtime_ns).saturating_add(pause_ns)
}

/// The bytes that a case writes in ramp and runtime at the assumed rate, the lower of [`ASSUMED_IOPS`] and
/// [`ASSUMED_BYTES_PER_S`], or at the rate to which the load is held, where that is lower. A fast array is
/// written more, a slow one less. A load that ends after some bytes writes no more than its share of them; a share of
/// the target is not known here.
pub(crate) fn write_bytes(load: &LoadSpec, ends_after: Option<Amount>) -> u64 {
    let block_bytes = load.shape.mean_bytes(load.bs_bytes);
    let assumed_iops = ASSUMED_IOPS.min(ASSUMED_BYTES_PER_S / block_bytes);
    let arriving = load.shape.arrival.as_ref().map(|arrival| arrival.rate.peak_iops());
    let iops = load.rate_iops.or(arriving).map_or(assumed_iops, |rate| rate.min(assumed_iops));
    let seconds = units::Nanos(load.ramp_ns.saturating_add(load.runtime_ns)).as_secs_f64();
    let not_trimmed = f64::from(100 - load.shape.trim_percent.min(100)) / 100.0;
    let write_share = f64::from(100 - load.rwmixread.min(100)) / 100.0 * not_trimmed;
    let in_time = ((iops * seconds * write_share) as u64 as f64 * block_bytes) as u64;
    match ends_after {
        Some(Amount::Bytes { bytes }) => in_time.min((bytes as f64 * write_share) as u64),
        _ => in_time,
    }
}

/// Returns the bytes that a case writes at a share of its full rate; over 100 % counts as full rate.
pub(crate) fn at_share(bytes: u64, percent: u32) -> u64 {
    (u128::from(bytes) * u128::from(percent.min(100)) / 100) as u64
}

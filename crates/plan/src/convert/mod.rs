//! Conversion of case settings to the load specification.

mod shape;

pub(crate) use shape::{COURSES_OF_RATES, Profiles};

use crate::matrix::SettingValues;
use load::{LoadSpec, Pattern, SpecError};
use serde_json::Value;
use units::NANOS_PER_SECOND;

/// The load of a case whose settings are complete and each within its range, as [`crate::Setting::parse`] leaves
/// them. The result still has to pass [`LoadSpec::check`], which knows the limits that span several settings.
pub(crate) fn load_spec(
    settings: &SettingValues,
    profiles: &Profiles,
    interval_ns: u64,
    seed: u64,
) -> Result<LoadSpec, SpecError> {
    let number = |name: &str| settings.get(name).and_then(Value::as_u64);
    let small = |name: &str| number(name).and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
    // A case that lacks one of these is refused, not given a load that nobody asked for.
    let absent = |setting: &'static str, allowed: &str| SpecError::OutOfRange {
        setting,
        value: settings.get(setting).map_or_else(|| "absent".to_owned(), Value::to_string),
        allowed: allowed.to_owned(),
    };
    let numjobs = small("numjobs");
    Ok(LoadSpec {
        pattern: settings
            .get("rw")
            .and_then(pattern)
            .ok_or_else(|| absent("rw", "read, write, rw, randread, randwrite or randrw"))?,
        rwmixread: number("rwmixread")
            .and_then(|share| u8::try_from(share).ok())
            .ok_or_else(|| absent("rwmixread", "0 to 100"))?,
        bs_bytes: small("bs"),
        numjobs,
        iodepth: small("iodepth"),
        offset_bytes: number("offset").unwrap_or_default(),
        size_bytes: number("size"),
        // fio's rate_iops is that of each job; a load's rate is that of all of them.
        // In open loop it is the rate of arrivals, which holds nothing back.
        rate_iops: shape::rate_of(settings, "rate_iops", numjobs).filter(|_| !shape::is_open(settings)),
        ramp_ns: time_ns(settings, "ramp_time"),
        runtime_ns: time_ns(settings, "runtime"),
        interval_ns,
        seed,
        shape: shape::shape(settings, profiles, numjobs)?,
    })
}

/// A setting of kind `Duration`, which is kept in seconds; 0 where a case does not have it.
pub(crate) fn time_ns(settings: &SettingValues, name: &str) -> u64 {
    let seconds = settings.get(name);
    match seconds.and_then(Value::as_u64) {
        Some(whole) => whole.saturating_mul(NANOS_PER_SECOND),
        None => seconds.and_then(Value::as_f64).map_or(0, |s| (s * NANOS_PER_SECOND as f64).round() as u64),
    }
}

pub(crate) fn pattern(value: &Value) -> Option<Pattern> {
    serde_json::from_value(value.clone()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that settings without a direction, or without the share of reads, give no load.
    #[test]
    fn nothing_is_assumed() {
        let whole = serde_json::json!({
            "rw": "randrw", "rwmixread": 70, "bs": 4096, "numjobs": 1, "iodepth": 1, "runtime": 1
        });
        let load = |lacking: &str| {
            let mut settings = whole.as_object().cloned().unwrap_or_default();
            settings.remove(lacking);
            load_spec(&settings, &Profiles::default(), NANOS_PER_SECOND, 1).and_then(|spec| spec.check())
        };
        assert_eq!(load(""), Ok(()));
        for lacking in ["rw", "rwmixread", "bs", "numjobs", "iodepth", "runtime"] {
            let refusal = load(lacking).expect_err(lacking).to_string();
            assert!(refusal.contains(&format!("`{lacking}`")), "{lacking}: {refusal}");
        }
    }
}

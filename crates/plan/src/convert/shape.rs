//! The settings beyond the basic ones: when I/Os arrive, where they go, how large they are, what they hold.

use super::time_ns;
use crate::matrix::SettingValues;
use crate::setting::{parse_distribution, parse_sizes};
use load::{Arrival, ArrivalProcess, Content, DirectionRates, Distribution, LoadShape, RateCurve, SpecError};
use serde_json::Value;
use std::collections::BTreeMap;

/// The rates over time that a plan names.
pub(crate) type Profiles = BTreeMap<String, RateCurve>;

/// The settings that make a load an open one: I/Os arrive whatever is answered.
pub(crate) const COURSES_OF_RATES: [&str; 4] =
    ["rate_process", "rate_burst_iops", "rate_ramp_from", "rate_profile"];

/// The shape of a case's load; rates of the settings are those of each of `numjobs` jobs, as in fio.
pub(super) fn shape(
    settings: &SettingValues,
    profiles: &Profiles,
    numjobs: u32,
) -> Result<LoadShape, SpecError> {
    let word = |name: &str| settings.get(name).and_then(Value::as_str);
    let number = |name: &str| settings.get(name).and_then(Value::as_u64);
    let percent = |name: &str| number(name).and_then(|share| u8::try_from(share).ok()).unwrap_or_default();
    let rate = |name: &str| rate_of(settings, name, numjobs);
    let distribution = match word("random_distribution").and_then(parse_distribution) {
        Some(Distribution::Uniform) | None if number("norandommap") == Some(0) => Distribution::NoRepeat,
        None => Distribution::Uniform,
        Some(chosen) => chosen,
    };
    Ok(LoadShape {
        arrival: arrival(settings, profiles, numjobs)?,
        sizes: word("bssplit").and_then(parse_sizes).unwrap_or_default(),
        trim_percent: percent("rwmixtrim"),
        distribution,
        working_set_percent: percent("working_set"),
        streams: number("streams").and_then(|streams| u32::try_from(streams).ok()).unwrap_or_default(),
        offset_increment_bytes: number("offset_increment"),
        rates: DirectionRates {
            read_iops: rate("rate_iops_read"),
            write_iops: rate("rate_iops_write"),
            trim_iops: rate("rate_iops_trim"),
        },
        content: Content {
            compress_percent: percent("buffer_compress_percentage"),
            dedupe_percent: percent("dedupe_percentage"),
        },
        verify: word("verify").is_some_and(|check| check != "none"),
        replay: None,
    })
}

/// The rate of all jobs together, where each has the rate of this setting.
pub(super) fn rate_of(settings: &SettingValues, name: &str, numjobs: u32) -> Option<f64> {
    settings.get(name).and_then(Value::as_f64).map(|rate| rate * f64::from(numjobs))
}

/// True where a setting makes the load an open one.
pub(super) fn is_open(settings: &SettingValues) -> bool {
    COURSES_OF_RATES.iter().any(|name| settings.contains_key(*name))
}

fn arrival(
    settings: &SettingValues,
    profiles: &Profiles,
    numjobs: u32,
) -> Result<Option<Arrival>, SpecError> {
    if !is_open(settings) {
        return Ok(None);
    }
    let process = match settings.get("rate_process").and_then(Value::as_str) {
        Some("poisson") => ArrivalProcess::Poisson,
        _ => ArrivalProcess::Regular,
    };
    let rate = |name: &str| rate_of(settings, name, numjobs);
    let wrong = |setting: &'static str, value: &str, allowed: &str| {
        Err(SpecError::OutOfRange { setting, value: value.to_owned(), allowed: allowed.to_owned() })
    };
    let courses: Vec<&'static str> =
        COURSES_OF_RATES[1..].iter().copied().filter(|name| settings.contains_key(*name)).collect();
    let iops = rate("rate_iops");
    let curve = match (&courses[..], iops) {
        ([], Some(iops)) => RateCurve::Constant { iops },
        ([], None) => {
            return wrong("rate_process", "given without a rate", "given with `rate_iops` or `rate_profile`");
        }
        (["rate_burst_iops"], base) => RateCurve::Bursts {
            base_iops: base.unwrap_or(0.0),
            burst_iops: rate("rate_burst_iops").unwrap_or_default(),
            burst_ns: time_ns(settings, "rate_burst_time"),
            period_ns: time_ns(settings, "rate_burst_period"),
        },
        (["rate_ramp_from"], Some(to_iops)) => RateCurve::Ramp {
            from_iops: rate("rate_ramp_from").unwrap_or_default(),
            to_iops,
            over_ns: time_ns(settings, "rate_ramp_time"),
        },
        (["rate_ramp_from"], None) => {
            return wrong("rate_ramp_from", "given alone", "given with `rate_iops`, where the ramp ends");
        }
        (["rate_profile"], None) => {
            let name = settings.get("rate_profile").and_then(Value::as_str).unwrap_or_default();
            match profiles.get(name) {
                Some(curve) => curve.clone(),
                None => return wrong("rate_profile", name, "the name of one of the plan's `profiles`"),
            }
        }
        (["rate_profile"], Some(_)) => {
            return wrong(
                "rate_profile",
                "given with `rate_iops`",
                "the only rate: a profile says all of it",
            );
        }
        (several, _) => {
            return wrong(
                several[several.len() - 1],
                &format!("given with `{}`", several[0]),
                "the only course of the rate",
            );
        }
    };
    Ok(Some(Arrival { process, rate: curve }))
}

//! Rows of vdbench outputs as samples and settings.

use super::{MeasuredCase, MeasuredLoad, time_text};
use crate::draft::Settings;
use crate::vdbench::{Rate, rate_of};
use load::{DirectionSample, Sample};
use store::LoadOutcome;

/// The name of a run's only load.
const ONLY_LOAD: &str = "load";
/// More than an interval can hold; beyond, a figure is damaged.
const FIGURE_LIMIT: f64 = 1e15;

/// One row: means over an interval or a run.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Row {
    pub iops: f64,
    pub bytes_per_io: f64,
    pub read_percent: f64,
    /// Milliseconds.
    pub resp_ms: f64,
    pub read_resp_ms: Option<f64>,
    pub write_resp_ms: Option<f64>,
    pub resp_max_ms: Option<f64>,
    pub read_max_ms: Option<f64>,
    pub write_max_ms: Option<f64>,
}

impl Row {
    /// The sample of a row. vdbench prints means and a maximum: there are no percentiles in it.
    pub fn sample(&self, start_ns: u64, end_ns: u64, is_ramp: bool) -> Sample {
        let seconds = (end_ns - start_ns) as f64 / 1e9;
        let ios = bounded(self.iops * seconds).round();
        let reads = (ios * self.read_percent.clamp(0.0, 100.0) / 100.0).round();
        // A maximum over both directions is that of the only one.
        let read_max = self.read_max_ms.or(self.resp_max_ms.filter(|_| reads == ios));
        let write_max = self.write_max_ms.or(self.resp_max_ms.filter(|_| reads == 0.0));
        let part = |ios: f64, mean: Option<f64>, max: Option<f64>| {
            let mut part = DirectionSample {
                ios: ios as u64,
                bytes: bounded(ios * self.bytes_per_io).round() as u64,
                ..DirectionSample::default()
            };
            let mean_ns = bounded(mean.unwrap_or(self.resp_ms) * 1e6);
            let max_ns = max.map(|ms| bounded(ms * 1e6) as u64).filter(|ns| *ns > 0);
            part.latency.add_unbinned(part.ios, (mean_ns * ios) as u128, None, max_ns);
            part
        };
        Sample {
            start_ns,
            end_ns,
            is_ramp,
            read: part(reads, self.read_resp_ms, read_max),
            write: part(ios - reads, self.write_resp_ms, write_max),
            ..Sample::default()
        }
    }
}

fn bounded(figure: f64) -> f64 {
    if figure.is_finite() { figure.clamp(0.0, FIGURE_LIMIT) } else { 0.0 }
}

/// Known settings of a run.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct RunSettings {
    pub xfersize: Option<f64>,
    pub threads: Option<f64>,
    pub rdpct: Option<f64>,
    pub seekpct: Option<f64>,
    /// Requested rate, as vdbench prints it.
    pub iorate: Option<f64>,
}

/// Makes the case of a run. `samples` are its intervals; those of the ramp are not counted.
pub(super) fn case(
    name: String,
    known: &RunSettings,
    samples: Vec<Sample>,
    warnings: Vec<String>,
) -> MeasuredCase {
    let mut outcome = LoadOutcome { name: ONLY_LOAD.into(), ..LoadOutcome::default() };
    let (mut counted_ns, mut ramp_ns) = (0u64, 0u64);
    for sample in &samples {
        outcome.add(sample);
        if sample.is_ramp {
            ramp_ns = ramp_ns.saturating_add(sample.duration_ns());
        } else {
            counted_ns = counted_ns.saturating_add(sample.duration_ns());
        }
    }
    let reads = outcome.read.as_ref().map_or(0, |part| part.ios);
    let writes = outcome.write.as_ref().map_or(0, |part| part.ios);
    let bytes: u64 = [&outcome.read, &outcome.write].into_iter().flatten().map(|part| part.bytes).sum();
    let mut warnings = warnings;
    warnings.push("vdbench prints means and a maximum an interval: there are no percentiles".into());
    let ios = reads + writes;
    let share =
        known.rdpct.unwrap_or(if ios == 0 { 100.0 } else { (reads as f64 * 100.0 / ios as f64).round() });
    let share = share.clamp(0.0, 100.0).round() as u32;
    let is_random = known.seekpct.is_none_or(|seek| seek > 0.0);
    if known.seekpct.is_none() {
        warnings
            .push("whether addresses were random is not said; vdbench's default, random, is shown".into());
    }
    let mut settings = Settings::default();
    settings.set(
        "rw",
        match (is_random, share) {
            (true, 100) => "randread",
            (true, 0) => "randwrite",
            (true, _) => "randrw",
            (false, 100) => "read",
            (false, 0) => "write",
            (false, _) => "rw",
        },
    );
    let mean_bytes = bytes.checked_div(ios).unwrap_or(4096) as f64;
    let bs = (bounded(known.xfersize.unwrap_or(mean_bytes)) as u64).div_ceil(512).saturating_mul(512);
    settings.set("bs", bs.clamp(512, plan::BS_BYTES_LIMIT).to_string());
    if share != 0 && share != 100 {
        settings.set("rwmixread", share.to_string());
    }
    match known.threads {
        Some(threads) => settings
            .set("iodepth", bounded(threads).clamp(1.0, f64::from(load::IODEPTH_LIMIT)).round().to_string()),
        None => {
            settings.set("iodepth", "8");
            warnings.push("how many threads there were is not said; vdbench's default of 8 is shown".into());
        }
    }
    if let Some(Rate::Fixed(rate)) = known.iorate.map(rate_of).filter(|rate| *rate != Rate::Fixed(0.0)) {
        settings.set("rate_iops", format!("{}", bounded(rate)));
    }
    settings.set("runtime", time_text(counted_ns.max(1_000_000)));
    settings.set("ramp_time", if ramp_ns == 0 { "0".into() } else { time_text(ramp_ns) });
    MeasuredCase {
        name,
        settings,
        target: "(not said)".into(),
        duration_ns: counted_ns,
        loads: vec![MeasuredLoad { outcome, samples }],
        warnings,
        error: None,
    }
}

/// The intervals that the row `avg_N-M` stands for.
pub(super) fn averaged(text: &str) -> Option<(u64, u64)> {
    let (from, to) = text.strip_prefix("avg_")?.split_once('-')?;
    Some((from.parse().ok()?, to.parse().ok()?))
}

/// `11:18:42.014` in milliseconds since midnight.
pub(super) fn time_of_day_ms(text: &str) -> Option<u64> {
    let mut parts = text.splitn(3, ':');
    let hours: u64 = parts.next()?.parse().ok()?;
    let minutes: u64 = parts.next()?.parse().ok()?;
    let seconds: f64 = parts.next()?.parse().ok()?;
    (hours < 24 && minutes < 60 && (0.0..61.0).contains(&seconds))
        .then(|| (hours * 60 + minutes) * 60_000 + (seconds * 1000.0) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a time of day is read to the millisecond, and that damaged digits are no time and no overflow.
    #[test]
    fn times_of_day() {
        assert_eq!(time_of_day_ms("11:18:42.014"), Some(40_722_014));
        for damaged in
            ["24:00:00.0", "18446744073709551615:0:0", "0:18446744073709551615:0", "0:0:61", "0:0", "0:0:nan"]
        {
            assert_eq!(time_of_day_ms(damaged), None, "{damaged}");
        }
    }
}

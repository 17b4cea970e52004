//! Samples and totals as messages carry them: histograms in the store's encoding, in base64.
//!
//! Whatever another host says is checked before it is added to anything: numbers have limits, so that sums over all hosts
//! and intervals cannot overflow.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use diagnostic::Problem;
use load::{DirectionSample, Histogram, Sample};
use serde::{Deserialize, Serialize};
use store::{DirectionTotals, LoadOutcome, decode_histogram, encode_histogram};

/// The most I/Os that a message may speak of: a day at ten million a second has fewer by far.
const IOS_LIMIT: u64 = 1 << 44;
/// The most bytes that a message may speak of: 36 PB.
const BYTES_LIMIT: u64 = 1 << 55;
/// The longest sum of latencies: 2^44 I/Os of 18 minutes.
const SUM_LIMIT_NS: u128 = 1 << 84;
/// The longest time that a message may speak of: a year.
const TIME_LIMIT_NS: u64 = 366 * 86_400 * 1_000_000_000;

/// Counts and latencies of one direction.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireTotals {
    /// Operations that completed without error.
    pub ios: u64,
    /// Bytes that they moved.
    pub bytes: u64,
    /// Operations that failed.
    pub errors: u64,
    /// Completion latency.
    pub latency: String,
    /// Service latency of an open loop, from issue to completion.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
}

/// One interval of a load.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireSample {
    /// Start of the interval, since the common start.
    pub start_ns: u64,
    /// Its end.
    pub end_ns: u64,
    /// True if the sample belongs to the ramp.
    pub is_ramp: bool,
    /// Reads, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read: Option<WireTotals>,
    /// Writes, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub write: Option<WireTotals>,
    /// Trims, where there were any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trim: Option<WireTotals>,
}

/// Totals of a load on one host.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireLoad {
    /// Its name.
    pub name: String,
    /// Its target there.
    pub target: Option<String>,
    /// Its counted time, where that is not the case's.
    pub duration_ns: Option<u64>,
    /// Processor time of the engine.
    pub cpu_ns: Option<u64>,
    /// Reads.
    pub read: Option<WireTotals>,
    /// Writes.
    pub write: Option<WireTotals>,
    /// Trims.
    pub trim: Option<WireTotals>,
}

/// A counter of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WireCounter {
    /// Telemetry source.
    pub source: String,
    /// Entity that the counter belongs to.
    pub entity: String,
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
}

fn encode(histogram: &Histogram) -> String {
    STANDARD.encode(encode_histogram(histogram))
}

fn not_histogram(error: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Problem {
    Problem::new("a histogram is not readable").caused_by(error)
}

fn decode(text: &str) -> Result<Histogram, Problem> {
    let bytes = STANDARD.decode(text).map_err(not_histogram)?;
    let histogram = decode_histogram(&bytes).map_err(not_histogram)?;
    if histogram.count() > IOS_LIMIT || histogram.sum_ns() > SUM_LIMIT_NS {
        return Err("a histogram counts more than any load can do".into());
    }
    Ok(histogram)
}

fn within(what: &str, value: u64, limit: u64) -> Result<u64, Problem> {
    if value <= limit { Ok(value) } else { Err(format!("{what} of {value} are more than {limit}").into()) }
}

impl WireTotals {
    fn new(
        (ios, bytes, errors): (u64, u64, u64),
        latency: &Histogram,
        service: Option<&Histogram>,
    ) -> WireTotals {
        WireTotals { ios, bytes, errors, latency: encode(latency), service: service.map(encode) }
    }

    fn of_sample(sample: &DirectionSample) -> Option<WireTotals> {
        let counts = (sample.ios, sample.bytes, sample.errors);
        (!sample.is_empty()).then(|| WireTotals::new(counts, &sample.latency, sample.service.as_ref()))
    }

    fn of_totals(totals: &DirectionTotals) -> WireTotals {
        let counts = (totals.ios, totals.bytes, totals.errors);
        WireTotals::new(counts, &totals.latency, totals.service.as_ref())
    }

    fn to_sample(&self) -> Result<DirectionSample, Problem> {
        Ok(DirectionSample {
            ios: within("I/Os", self.ios, IOS_LIMIT)?,
            bytes: within("bytes", self.bytes, BYTES_LIMIT)?,
            errors: within("errors", self.errors, IOS_LIMIT)?,
            latency: decode(&self.latency)?,
            service: self.service.as_deref().map(decode).transpose()?,
        })
    }

    fn to_totals(&self) -> Result<DirectionTotals, Problem> {
        let DirectionSample { ios, bytes, errors, latency, service } = self.to_sample()?;
        Ok(DirectionTotals { ios, bytes, errors, latency, service })
    }
}

impl WireSample {
    /// A sample to send.
    pub fn new(sample: &Sample) -> WireSample {
        WireSample {
            start_ns: sample.start_ns,
            end_ns: sample.end_ns,
            is_ramp: sample.is_ramp,
            read: WireTotals::of_sample(&sample.read),
            write: WireTotals::of_sample(&sample.write),
            trim: WireTotals::of_sample(&sample.trim),
        }
    }

    /// The sample that was received, or what is wrong with it.
    pub fn to_sample(&self) -> Result<Sample, Problem> {
        if self.end_ns < self.start_ns || self.end_ns > TIME_LIMIT_NS {
            return Err(format!("an interval from {} ns to {} ns", self.start_ns, self.end_ns).into());
        }
        let part = |part: &Option<WireTotals>| {
            part.as_ref().map_or(Ok(DirectionSample::default()), WireTotals::to_sample)
        };
        Ok(Sample {
            start_ns: self.start_ns,
            end_ns: self.end_ns,
            is_ramp: self.is_ramp,
            read: part(&self.read)?,
            write: part(&self.write)?,
            trim: part(&self.trim)?,
            ..Sample::default()
        })
    }
}

impl WireLoad {
    /// Totals to send.
    pub fn new(load: &LoadOutcome) -> WireLoad {
        WireLoad {
            name: load.name.clone(),
            target: load.target.clone(),
            duration_ns: load.duration_ns,
            cpu_ns: load.cpu_ns,
            read: load.read.as_ref().map(WireTotals::of_totals),
            write: load.write.as_ref().map(WireTotals::of_totals),
            trim: load.trim.as_ref().map(WireTotals::of_totals),
        }
    }

    /// The totals that were received, or what is wrong with them.
    pub fn to_load(&self) -> Result<LoadOutcome, Problem> {
        let part = |part: &Option<WireTotals>| part.as_ref().map(WireTotals::to_totals).transpose();
        let time = |time: Option<u64>| time.map(|ns| within("nanoseconds", ns, TIME_LIMIT_NS)).transpose();
        Ok(LoadOutcome {
            name: self.name.clone(),
            target: self.target.clone(),
            duration_ns: time(self.duration_ns)?,
            cpu_ns: self.cpu_ns.map(|ns| within("nanoseconds", ns, u64::MAX >> 8)).transpose()?,
            read: part(&self.read)?,
            write: part(&self.write)?,
            trim: part(&self.trim)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn direction(latencies: &[u64], errors: u64) -> DirectionSample {
        let mut latency = Histogram::new();
        latencies.iter().for_each(|&ns| latency.record(ns));
        let ios = latencies.len() as u64;
        DirectionSample {
            ios,
            bytes: ios * 4096,
            errors,
            service: (ios % 2 == 1).then(|| latency.clone()),
            latency,
        }
    }

    proptest! {
        /// Proves that a sample and totals come back through JSON as they were, to the last bin.
        #[test]
        fn samples_come_back(
            reads in prop::collection::vec(0u64..2_000_000_000_000, 0..40),
            writes in prop::collection::vec(0u64..1_000_000, 0..40),
            errors in 0u64..5,
            start in 0u64..1_000_000_000_000,
        ) {
            let sample = Sample {
                start_ns: start,
                end_ns: start + 1_000_000_000,
                is_ramp: errors == 1,
                read: direction(&reads, errors),
                write: direction(&writes, 0),
                ..Sample::default()
            };
            let text = serde_json::to_string(&WireSample::new(&sample)).unwrap();
            let back: WireSample = serde_json::from_str(&text).unwrap();
            let back = back.to_sample().unwrap();
            prop_assert_eq!(&back.write, &sample.write);
            // Nothing is sent of a direction in which nothing happened.
            if !sample.read.is_empty() {
                prop_assert_eq!(&back.read, &sample.read);
            }
            prop_assert_eq!((back.start_ns, back.end_ns, back.is_ramp), (sample.start_ns, sample.end_ns, sample.is_ramp));
        }

        /// Proves that any text in the place of a histogram is an error or a histogram, and no panic.
        #[test]
        fn any_text_is_taken(text in "\\PC{0,80}", ios in any::<u64>(), bytes in any::<u64>()) {
            let totals = WireTotals { ios, bytes, latency: text, ..WireTotals::default() };
            let sample = WireSample { end_ns: 1, read: Some(totals), ..WireSample::default() };
            if let Ok(sample) = sample.to_sample() {
                prop_assert!(sample.read.ios <= IOS_LIMIT && sample.read.bytes <= BYTES_LIMIT);
            }
        }
    }

    /// Proves that numbers which would overflow a sum, and intervals that end before they begin, are refused.
    #[test]
    fn numbers_have_limits() {
        let empty = encode(&Histogram::new());
        let with = |ios, bytes, start_ns, end_ns| WireSample {
            start_ns,
            end_ns,
            read: Some(WireTotals { ios, bytes, latency: empty.clone(), ..WireTotals::default() }),
            ..WireSample::default()
        };
        assert!(with(IOS_LIMIT, BYTES_LIMIT, 0, 1).to_sample().is_ok());
        assert!(with(IOS_LIMIT + 1, 0, 0, 1).to_sample().is_err());
        assert!(with(0, BYTES_LIMIT + 1, 0, 1).to_sample().is_err());
        assert!(with(0, 0, 2, 1).to_sample().is_err());
        assert!(with(0, 0, 0, u64::MAX).to_sample().is_err());
    }
}

//! Load shape beyond fio's basic settings: arrivals, addresses, sizes, content.
//!
//! The default is the plain load: closed loop, one block size, uniform addresses.

use crate::arrival::{Arrival, RateCurve};
use crate::error::out_of_range;
use crate::replay::Replay;
use crate::{LoadSpec, SpecError};
use serde::{Deserialize, Serialize};

/// The most block sizes of a mix.
pub const SIZE_CLASSES_LIMIT: usize = 64;
/// The most bands of a hot-band distribution.
pub const BANDS_LIMIT: usize = 256;
/// The most sequential streams of a job.
pub const STREAMS_LIMIT: u32 = 65_536;

/// One block size of a mix, as in fio's `bssplit`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SizeShare {
    /// Bytes of such an I/O; a multiple of 512.
    pub bs_bytes: u32,
    /// Its share of the I/Os; shares need not add up to 100.
    pub weight: u32,
}

/// One band of the range, as in fio's `random_distribution=zoned`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Band {
    /// Share of the I/Os that go there, in percent.
    pub access_percent: u32,
    /// Share of the range that it spans, in percent.
    pub size_percent: u32,
}

/// Distribution of random addresses, as fio's `random_distribution`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distribution {
    /// Each block as likely as any other, drawn anew each time (fio with `norandommap`).
    #[default]
    Uniform,
    /// Random order without repetition: every block once before any block comes again (fio's default, its random
    /// map). Each job covers the whole range independently.
    NoRepeat,
    /// Block of rank k with a probability proportional to k^-theta; hot blocks lie scattered over the range.
    Zipf {
        /// Skew; above 0.
        theta: f64,
    },
    /// Self-similar: a share `h` of the blocks gets a share `1 - h` of the I/Os, and so on within that share (fio's
    /// `pareto:h`); hot blocks lie scattered over the range.
    Pareto {
        /// The small share, above 0 and below 0.5; 0.2 is the 80/20 rule.
        h: f64,
    },
    /// Bands from the start of the range, uniform within each (fio's `zoned`).
    Bands(Vec<Band>),
}

/// Rate limits for each direction, in I/Os a second over all jobs. A direction without a limit has only that of the load.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct DirectionRates {
    /// Limit of reads.
    pub read_iops: Option<f64>,
    /// Limit of writes.
    pub write_iops: Option<f64>,
    /// Limit of trims.
    pub trim_iops: Option<f64>,
}

/// Content of written blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Content {
    /// Share by which a compressor can shrink a block, in percent (fio's `buffer_compress_percentage`).
    pub compress_percent: u8,
    /// Share of blocks that equal one written before, in percent (fio's `dedupe_percentage`).
    pub dedupe_percent: u8,
}

/// The shape of a load, beside its basic settings.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadShape {
    /// Arrivals of an open loop, independent of completions; `None` is the closed loop.
    pub arrival: Option<Arrival>,
    /// Block sizes; empty is `bs` always.
    pub sizes: Vec<SizeShare>,
    /// Share of trims among all I/Os, in percent; `rwmixread` splits the others.
    pub trim_percent: u8,
    /// Distribution of random addresses.
    pub distribution: Distribution,
    /// Share of the range that is used, from its start, in percent; 0 and 100 are all of it.
    pub working_set_percent: u8,
    /// Sequential streams of a job, served in turn; 0 and 1 are one.
    pub streams: u32,
    /// Distance between the starts of neighbouring jobs (fio's `offset_increment`); `None` gives sequential jobs
    /// disjoint slices.
    pub offset_increment_bytes: Option<u64>,
    /// Limits for each direction.
    pub rates: DirectionRates,
    /// Content of written blocks.
    pub content: Content,
    /// Every written block carries its address, generation and checksum, so that it can be verified. Each job then
    /// has a slice of its own, also with random addresses, so that no two jobs write the same block.
    pub verify: bool,
    /// A recorded trace that says what is issued and when, in place of all settings but `numjobs`, `iodepth`, the range,
    /// the times of the run, and what written blocks hold.
    #[serde(skip)]
    pub replay: Option<Replay>,
}

impl LoadShape {
    /// True where the load is plain as far as addresses, sizes, mixes and moments go, so that the short loop serves.
    pub(crate) fn is_plain(&self) -> bool {
        self.arrival.is_none()
            && self.sizes.is_empty()
            && self.trim_percent == 0
            && self.distribution == Distribution::Uniform
            && matches!(self.working_set_percent, 0 | 100)
            && self.streams <= 1
            && self.offset_increment_bytes.is_none()
            && self.rates == DirectionRates::default()
            && !self.verify
            && self.replay.is_none()
    }

    /// True where the load asks for the same all the time, so that some of it can be skipped in simulated time: addresses are
    /// random or plain, arrivals have one rate, and nothing is replayed, verified or discarded.
    pub(crate) fn can_be_skipped(&self, spec: &LoadSpec) -> bool {
        let has_one_rate = |arrival: &Arrival| matches!(arrival.rate, RateCurve::Constant { .. });
        self.is_plain()
            || (spec.pattern.is_random()
                && self.arrival.as_ref().is_none_or(has_one_rate)
                && self.trim_percent == 0
                && spec.rate_iops.is_none()
                && self.distribution != Distribution::NoRepeat
                && self.rates == DirectionRates::default()
                && !self.verify
                && self.replay.is_none())
    }

    pub(crate) fn check(&self, spec: &LoadSpec) -> Result<(), SpecError> {
        let percent = |setting: &'static str, value: u8| {
            if value > 100 { Err(out_of_range(setting, value, "0 to 100")) } else { Ok(()) }
        };
        percent("rwmixtrim", self.trim_percent)?;
        percent("working_set", self.working_set_percent)?;
        percent("buffer_compress_percentage", self.content.compress_percent)?;
        percent("dedupe_percentage", self.content.dedupe_percent)?;
        if self.sizes.len() > SIZE_CLASSES_LIMIT {
            return Err(out_of_range(
                "bssplit",
                format!("{} sizes", self.sizes.len()),
                format!("at most {SIZE_CLASSES_LIMIT}"),
            ));
        }
        for size in &self.sizes {
            if size.bs_bytes == 0 || !size.bs_bytes.is_multiple_of(512) || size.weight == 0 {
                return Err(out_of_range(
                    "bssplit",
                    format!("{}/{}", size.bs_bytes, size.weight),
                    "a multiple of 512 with a weight above 0",
                ));
            }
        }
        if self.streams > STREAMS_LIMIT {
            return Err(out_of_range("streams", self.streams, format!("at most {STREAMS_LIMIT}")));
        }
        self.check_distribution()?;
        if let Some(replay) = &self.replay {
            replay.check(spec)?;
        }
        for (setting, rate) in [
            ("rate_iops_read", self.rates.read_iops),
            ("rate_iops_write", self.rates.write_iops),
            ("rate_iops_trim", self.rates.trim_iops),
        ] {
            if rate.is_some_and(|rate| !(rate > 0.0 && rate <= 1e9)) {
                return Err(out_of_range(setting, format!("{rate:?}"), "above 0, at most 10^9"));
            }
        }
        if let Some(arrival) = &self.arrival {
            arrival.check()?;
            if spec.rate_iops.is_some() || self.rates != DirectionRates::default() {
                return Err(out_of_range(
                    "rate_process",
                    "given with a rate limit",
                    "the only rate: in open loop nothing holds I/Os back",
                ));
            }
        }
        if self.verify {
            let unit = self.smallest_bytes(spec.bs_bytes);
            if self.sizes.iter().any(|size| !size.bs_bytes.is_multiple_of(unit)) {
                return Err(out_of_range(
                    "bssplit",
                    format!("{:?}", self.sizes.iter().map(|size| size.bs_bytes).collect::<Vec<_>>()),
                    "multiples of its smallest size, where blocks are verified",
                ));
            }
            if self.trim_percent > 0 {
                return Err(out_of_range(
                    "rwmixtrim",
                    self.trim_percent,
                    "0 where blocks are verified: what a discarded block holds is not defined",
                ));
            }
            if self.offset_increment_bytes.is_some() {
                return Err(out_of_range(
                    "offset_increment",
                    "given",
                    "left out where blocks are verified: jobs must not share blocks",
                ));
            }
        }
        Ok(())
    }

    fn check_distribution(&self) -> Result<(), SpecError> {
        const SETTING: &str = "random_distribution";
        match &self.distribution {
            Distribution::Uniform => Ok(()),
            Distribution::NoRepeat if self.sizes.len() > 1 => Err(out_of_range(
                SETTING,
                "no-repeat with several block sizes",
                "no-repeat with one block size",
            )),
            Distribution::NoRepeat => Ok(()),
            Distribution::Zipf { theta } if *theta > 0.0 && *theta <= 100.0 => Ok(()),
            Distribution::Zipf { theta } => {
                Err(out_of_range(SETTING, format!("zipf:{theta}"), "zipf with a theta above 0, at most 100"))
            }
            Distribution::Pareto { h } if *h > 0.0 && *h < 0.5 => Ok(()),
            Distribution::Pareto { h } => {
                Err(out_of_range(SETTING, format!("pareto:{h}"), "pareto with an h above 0 and below 0.5"))
            }
            Distribution::Bands(bands) => {
                let sum =
                    |share: fn(&Band) -> u32| bands.iter().map(|band| u64::from(share(band))).sum::<u64>();
                if bands.len() > BANDS_LIMIT
                    || sum(|band| band.access_percent) != 100
                    || sum(|band| band.size_percent) != 100
                    || bands.iter().any(|band| band.access_percent > 0 && band.size_percent == 0)
                {
                    return Err(out_of_range(
                        SETTING,
                        format!("{} bands", bands.len()),
                        format!(
                            "at most {BANDS_LIMIT} bands whose accesses and sizes each add up to 100 percent"
                        ),
                    ));
                }
                Ok(())
            }
        }
    }

    /// The smallest I/O of the load.
    pub fn smallest_bytes(&self, bs_bytes: u32) -> u32 {
        self.sizes.iter().map(|size| size.bs_bytes).min().unwrap_or(bs_bytes)
    }

    /// The mean size of an I/O.
    pub fn mean_bytes(&self, bs_bytes: u32) -> f64 {
        let total: u64 = self.sizes.iter().map(|size| u64::from(size.weight)).sum();
        let bytes = |size: &SizeShare| u64::from(size.bs_bytes) * u64::from(size.weight);
        match total {
            0 => f64::from(bs_bytes),
            total => self.sizes.iter().map(bytes).sum::<u64>() as f64 / total as f64,
        }
    }

    /// The largest I/O of the load.
    pub fn largest_bytes(&self, bs_bytes: u32) -> u32 {
        if let Some(replay) = &self.replay {
            return replay.trace.largest_bytes();
        }
        self.sizes.iter().map(|size| size.bs_bytes).max().unwrap_or(bs_bytes)
    }
}

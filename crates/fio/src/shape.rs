//! A load's shape in fio's options. What fio cannot issue or count as arraylab means it is refused, never left out.

use load::{Distribution, LoadShape, LoadSpec, Pattern};

use crate::FioError;

/// The rate in each direction over all jobs (reads, writes, trims); `None` has no limit.
pub(crate) type Rates = [Option<u64>; 3];

fn refused<T>(what: &str, why: &str) -> Result<T, FioError> {
    Err(FioError::Refused { reason: format!("{what}: {why}; use `--engine ring`") })
}

/// fio's `rw`. A mix with a share of 0 or 100 % is a pure pattern: so the target is not even opened for what never
/// happens.
pub(crate) fn rw(load: &LoadSpec) -> Result<&'static str, FioError> {
    match load.shape.trim_percent {
        0 => Ok(effective_pattern(load).name()),
        100 if load.pattern.is_random() => Ok("randtrim"),
        100 => Ok("trim"),
        share => refused(&format!("`rwmixtrim` is {share}"), "fio mixes trims with nothing else"),
    }
}

pub(crate) fn effective_pattern(load: &LoadSpec) -> Pattern {
    match (load.pattern, load.rwmixread) {
        (Pattern::Rw, 100) => Pattern::Read,
        (Pattern::Rw, 0) => Pattern::Write,
        (Pattern::Randrw, 100) => Pattern::Randread,
        (Pattern::Randrw, 0) => Pattern::Randwrite,
        (pattern, _) => pattern,
    }
}

/// Checks that fio can issue a load of this shape and count it as arraylab does.
pub fn check_shape(load: &LoadSpec) -> Result<(), FioError> {
    let mut warnings = Vec::new();
    rw(load)?;
    rates(load, &mut warnings)?;
    options(load, &mut warnings).map(|_| ())
}

/// The options of all jobs that come from the shape, and what they do not carry out to the letter.
pub(crate) fn options(
    load: &LoadSpec,
    warnings: &mut Vec<String>,
) -> Result<Vec<(&'static str, String)>, FioError> {
    // Named one by one, so that a new field of a shape cannot be forgotten here.
    let LoadShape {
        arrival,
        sizes,
        trim_percent: _,
        distribution,
        working_set_percent: _,
        streams,
        offset_increment_bytes: _,
        rates: _,
        content,
        verify,
        replay,
    } = &load.shape;
    if replay.is_some() {
        return refused("the load is a trace", "fio would pace and count it otherwise");
    }
    if arrival.is_some() {
        return refused(
            "the load is open (`rate_process`, `rate_burst_iops`, `rate_profile`)",
            "fio counts latency from the moment when it issues an I/O, not from its intended arrival",
        );
    }
    if *streams > 1 {
        return refused(&format!("`streams` is {streams}"), "a job of fio has one sequential stream");
    }
    if *verify {
        return refused("`verify` is set", "fio does not stamp blocks as arraylab does");
    }
    let mut options = Vec::new();
    if load.pattern.is_random() {
        options.extend(addresses(distribution)?);
    }
    if let [first, rest @ ..] = &sizes[..] {
        let total: u64 = sizes.iter().map(|size| u64::from(size.weight)).sum();
        if total != 100 {
            return refused(
                &format!("the shares of `bssplit` add up to {total}"),
                "fio takes whole percents that add up to 100",
            );
        }
        let mut split = format!("{}/{}", first.bs_bytes, first.weight);
        for size in rest {
            split.push_str(&format!(":{}/{}", size.bs_bytes, size.weight));
        }
        options.push(("bssplit", split));
        if !rest.is_empty() && load.pattern.is_random() {
            warnings.push(
                "fio aligns each I/O of `bssplit` to the smallest size; arraylab's own engine aligns it to its own size"
                    .to_owned(),
            );
        }
    }
    if content.compress_percent > 0 {
        options.push(("buffer_compress_percentage", content.compress_percent.to_string()));
    }
    if content.dedupe_percent > 0 {
        options.push(("dedupe_percentage", content.dedupe_percent.to_string()));
    }
    Ok(options)
}

fn addresses(distribution: &Distribution) -> Result<Option<(&'static str, String)>, FioError> {
    const SETTING: &str = "random_distribution";
    Ok(match distribution {
        // Addresses are drawn independently; with fio's map every block would be hit once a pass, and a large device
        // would need memory for the map.
        Distribution::Uniform => Some(("norandommap", "1".to_owned())),
        Distribution::NoRepeat => Some(("norandommap", "0".to_owned())),
        // `filesetup.c`: fio's sum of the series has no value there.
        Distribution::Zipf { theta } if *theta == 1.0 => {
            return refused("`random_distribution` is zipf:1", "fio refuses a theta of exactly 1");
        }
        Distribution::Zipf { theta } => Some((SETTING, format!("zipf:{theta}"))),
        Distribution::Pareto { h } => Some((SETTING, format!("pareto:{h}"))),
        Distribution::Bands(bands) => {
            let parts: Vec<String> =
                bands.iter().map(|band| format!("{}/{}", band.access_percent, band.size_percent)).collect();
            Some((SETTING, format!("zoned:{}", parts.join(":"))))
        }
    })
}

/// The bytes of a range of `size_bytes` that are used, as `load::Schedule` uses them.
pub(crate) fn used_bytes(load: &LoadSpec, size_bytes: u64) -> u64 {
    let share = match load.shape.working_set_percent {
        0 => 100,
        share => u128::from(share),
    };
    let used = (u128::from(size_bytes) * share / 100) as u64;
    used - used % block_bytes(load)
}

/// The unit in which a range is split up.
pub(crate) fn block_bytes(load: &LoadSpec) -> u64 {
    u64::from(load.shape.smallest_bytes(load.bs_bytes))
}

/// Limits of each direction. Under a total rate each direction has its share of it.
pub(crate) fn rates(load: &LoadSpec, warnings: &mut Vec<String>) -> Result<Option<Rates>, FioError> {
    let limits = load.shape.rates;
    let limits = [limits.read_iops, limits.write_iops, limits.trim_iops];
    let has_limits = limits.iter().any(Option::is_some);
    let mut whole = |rate: f64| {
        let whole = rate.round() as u64;
        if (whole as f64 - rate).abs() > 1e-9 {
            warnings.push(format!("fio takes whole I/Os a second: rate_iops {rate} became {whole}"));
        }
        whole
    };
    match load.rate_iops {
        Some(_) if has_limits => {
            refused("`rate_iops` is given with limits of a direction", "fio takes one or the other")
        }
        None if has_limits => Ok(Some(limits.map(|limit| limit.map(&mut whole)))),
        None => Ok(None),
        Some(rate) => {
            let rate = whole(rate);
            if load.shape.trim_percent > 0 {
                return Ok(Some([None, None, Some(rate)]));
            }
            let share = u64::from(effective_pattern(load).fixed_read_share().unwrap_or(load.rwmixread));
            let read = (rate * share + 50) / 100;
            Ok(Some([(share > 0).then_some(read), (share < 100).then_some(rate - read), None]))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::{Arrival, ArrivalProcess, Band, Content, DirectionRates, RateCurve, SizeShare};

    fn shaped(pattern: Pattern, shape: LoadShape) -> LoadSpec {
        LoadSpec { shape, ..crate::outcome::tests::load(pattern) }
    }

    fn written(pattern: Pattern, shape: LoadShape) -> Result<String, String> {
        let options = options(&shaped(pattern, shape), &mut Vec::new()).map_err(|error| error.to_string())?;
        Ok(options.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" "))
    }

    /// Proves that every shape that fio has becomes fio's option of that name.
    #[test]
    fn what_fio_has_is_translated() {
        let random = |distribution| {
            written(Pattern::Randwrite, LoadShape { distribution, ..LoadShape::default() }).unwrap()
        };
        assert_eq!(random(Distribution::Uniform), "norandommap=1");
        assert_eq!(random(Distribution::NoRepeat), "norandommap=0");
        assert_eq!(random(Distribution::Zipf { theta: 1.1 }), "random_distribution=zipf:1.1");
        assert_eq!(random(Distribution::Pareto { h: 0.2 }), "random_distribution=pareto:0.2");
        let band = |access_percent, size_percent| Band { access_percent, size_percent };
        assert_eq!(
            random(Distribution::Bands(vec![band(60, 10), band(40, 90)])),
            "random_distribution=zoned:60/10:40/90"
        );
        let size = |bs_bytes, weight| SizeShare { bs_bytes, weight };
        let shape = LoadShape {
            sizes: vec![size(4096, 25), size(65536, 75)],
            content: Content { compress_percent: 40, dedupe_percent: 30 },
            ..LoadShape::default()
        };
        assert_eq!(
            written(Pattern::Write, shape).unwrap(),
            "bssplit=4096/25:65536/75 buffer_compress_percentage=40 dedupe_percentage=30"
        );
        let trims = |pattern, trim_percent| {
            rw(&shaped(pattern, LoadShape { trim_percent, ..LoadShape::default() }))
                .map_err(|error| error.to_string())
        };
        assert_eq!(trims(Pattern::Randwrite, 100).unwrap(), "randtrim");
        assert_eq!(trims(Pattern::Write, 100).unwrap(), "trim");
        assert!(trims(Pattern::Randwrite, 30).unwrap_err().contains("mixes trims"));
    }

    /// Proves that what fio would issue or count otherwise is refused, and that the way out is named.
    #[test]
    fn what_fio_has_not_is_refused() {
        let arrival =
            Some(Arrival { process: ArrivalProcess::Poisson, rate: RateCurve::Constant { iops: 100.0 } });
        let size = |bs_bytes, weight| SizeShare { bs_bytes, weight };
        for (shape, says) in [
            (LoadShape { arrival, ..LoadShape::default() }, "intended arrival"),
            (LoadShape { streams: 2, ..LoadShape::default() }, "one sequential stream"),
            (LoadShape { verify: true, ..LoadShape::default() }, "stamp"),
            (
                LoadShape { distribution: Distribution::Zipf { theta: 1.0 }, ..LoadShape::default() },
                "exactly 1",
            ),
            (LoadShape { sizes: vec![size(4096, 1), size(8192, 2)], ..LoadShape::default() }, "add up"),
        ] {
            let message = written(Pattern::Randwrite, shape).unwrap_err();
            assert!(message.contains(says) && message.contains("--engine ring"), "{message}");
        }
        let both = LoadSpec {
            rate_iops: Some(100.0),
            ..shaped(
                Pattern::Randrw,
                LoadShape {
                    rates: DirectionRates { read_iops: Some(50.0), ..DirectionRates::default() },
                    ..LoadShape::default()
                },
            )
        };
        assert!(rates(&both, &mut Vec::new()).is_err());
    }

    /// Shares of the I/Os that fall on the busiest 1, 10 and 50 % of 4,096 blocks.
    fn concentration(blocks: impl Iterator<Item = u64>) -> [f64; 3] {
        let mut counts = vec![0u64; 4096];
        blocks.for_each(|block| counts[block as usize] += 1);
        counts.sort_unstable_by(|one, other| other.cmp(one));
        let total: u64 = counts.iter().sum();
        [41, 410, 2048].map(|most| counts[..most].iter().sum::<u64>() as f64 / total as f64)
    }

    /// Proves that fio, told by these options, spreads its addresses as arraylab's own schedule does: the busiest blocks
    /// get the same shares of the I/Os, to a few percent.
    #[test]
    fn addresses_are_spread_alike() {
        const IOS: usize = 100_000;
        let band = |access_percent, size_percent| Band { access_percent, size_percent };
        for distribution in [
            Distribution::Uniform,
            Distribution::NoRepeat,
            Distribution::Zipf { theta: 1.1 },
            Distribution::Pareto { h: 0.2 },
            Distribution::Bands(vec![band(80, 20), band(20, 80)]),
        ] {
            let load = LoadSpec {
                size_bytes: Some(4096 * 4096),
                numjobs: 1,
                ..shaped(Pattern::Randread, LoadShape { distribution, ..LoadShape::default() })
            };
            let mut schedule = load::Schedule::new(&load, 4096 * 4096).unwrap();
            let ours = concentration((0..IOS).map(|_| schedule.next(0).operation.offset_bytes / 4096));
            let directory = tempfile::tempdir().unwrap();
            let trace = directory.path().join("trace");
            let output = std::process::Command::new("fio")
                .args(["--name=t", "--ioengine=null", "--rw=randread", "--bs=4k", "--size=16m", "--thread=1"])
                .args(["--io_size=400000k", "--randseed=5", &format!("--write_iolog={}", trace.display())])
                .args(
                    options(&load, &mut Vec::new())
                        .unwrap()
                        .iter()
                        .map(|(name, value)| format!("--{name}={value}")),
                )
                .current_dir(directory.path())
                .output()
                .expect("fio is needed (scripts/install-test-clients.sh installs it)");
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
            let text = std::fs::read_to_string(&trace).unwrap();
            let reads = text.lines().filter_map(|line| {
                let mut words = line.split_whitespace().skip_while(|word| *word != "read").skip(1);
                words.next()?.parse::<u64>().ok()
            });
            let theirs = concentration(reads.map(|offset_bytes| offset_bytes / 4096));
            for (ours, theirs) in ours.into_iter().zip(theirs) {
                assert!(
                    (ours - theirs).abs() < 0.03,
                    "{:?}: {ours} for fio's {theirs}",
                    load.shape.distribution
                );
            }
        }
    }
}

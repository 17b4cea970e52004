//! Open-loop arrivals: a rate over time, with regular or Poisson arrivals.
//!
//! Every process is made from one of rate 1 by stretching time: the n-th arrival falls where the integral of the
//! rate reaches the n-th value of the unit process (Çinlar 1975, inversion of the integrated rate). So a burst, a
//! ramp and a day share one piece of code, and moments depend on the seed alone, never on answers.

use crate::error::out_of_range;
use crate::{Random, SpecError};
use serde::{Deserialize, Serialize};

/// The most points of a profile: one a second of a day.
pub const PROFILE_POINTS_LIMIT: usize = 86_400;
/// The highest rate, in I/Os a second.
const RATE_LIMIT: f64 = 1e9;
/// Streams of random numbers for arrivals, far from those of addresses.
const ARRIVAL_STREAMS: u64 = 1 << 40;

/// Distribution of interarrival times around the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ArrivalProcess {
    /// Evenly.
    #[default]
    Regular,
    /// Independently of one another: exponential distances.
    Poisson,
}

/// The total rate of all jobs over time.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RateCurve {
    /// Always the same.
    Constant {
        /// I/Os a second.
        iops: f64,
    },
    /// A base rate, with bursts that come again and again; each period begins with the base.
    Bursts {
        /// I/Os a second between bursts; may be 0.
        base_iops: f64,
        /// I/Os a second in a burst.
        burst_iops: f64,
        /// Length of a burst.
        burst_ns: u64,
        /// Time from the start of one burst to the start of the next.
        period_ns: u64,
    },
    /// Linear change from one rate to another, which then holds.
    Ramp {
        /// I/Os a second at the start.
        from_iops: f64,
        /// I/Os a second at the end.
        to_iops: f64,
        /// Duration of the change.
        over_ns: u64,
    },
    /// Steps that repeat, such as those of a day: each rate holds until the next point.
    Profile {
        /// Moment within the period, ascending from 0, and I/Os a second from there.
        points: Vec<(u64, f64)>,
        /// Time after which the profile begins again.
        period_ns: u64,
    },
}

/// Open loop: when I/Os arrive.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Arrival {
    /// Distribution of interarrival times.
    pub process: ArrivalProcess,
    /// Rate over time.
    pub rate: RateCurve,
}

/// A stretch in which the rate changes in a straight line.
#[derive(Debug, Clone, Copy)]
struct Segment {
    start_ns: f64,
    duration_ns: f64,
    /// I/Os a nanosecond.
    from_rate: f64,
    to_rate: f64,
    /// Arrivals since the start of the period, at this segment's start.
    count_before: f64,
    count: f64,
}

/// The rate as segments, with what follows the last one.
#[derive(Debug, Clone)]
struct Integral {
    segments: Vec<Segment>,
    /// Length and arrivals of a period; `None` where the last segment goes on for ever.
    period: Option<(u64, f64)>,
}

impl RateCurve {
    /// Reads a profile from CSV: a moment and a rate a line. A moment is seconds or `HH:MM[:SS]`; lines that begin
    /// with `#` and a first line of names are passed over. `speedup` shortens time: 24 turns a day into an hour.
    pub fn profile_from_csv(text: &str, period_ns: u64, speedup: f64) -> Result<RateCurve, SpecError> {
        let wrong = |line: usize, value: &str, allowed: &str| {
            out_of_range("rate_profile", format!("`{value}` in line {line}"), allowed)
        };
        if !(speedup > 0.0 && speedup <= 1e6) {
            return Err(out_of_range("speedup", speedup, "above 0, at most 10^6"));
        }
        let mut points = Vec::new();
        let mut may_be_names = true;
        for (index, line) in text.lines().enumerate() {
            let line = line.trim();
            if line.is_empty() || line.starts_with('#') {
                continue;
            }
            let first = std::mem::replace(&mut may_be_names, false);
            let parsed = line
                .split_once([',', ';', '\t'])
                .and_then(|(moment, rate)| Some((seconds(moment.trim())?, rate.trim().parse::<f64>().ok()?)));
            match parsed {
                Some((moment_s, rate)) => {
                    points.push(((moment_s / speedup * 1e9).round() as u64, rate));
                }
                None if first => {}
                None => {
                    return Err(wrong(
                        index + 1,
                        line,
                        "a moment (seconds or HH:MM) and a rate, as in `08:00,5000`",
                    ));
                }
            }
        }
        let period_ns = (period_ns as f64 / speedup).round() as u64;
        let curve = RateCurve::Profile { points, period_ns };
        curve.check()?;
        Ok(curve)
    }

    /// The highest rate.
    pub fn peak_iops(&self) -> f64 {
        match self {
            RateCurve::Constant { iops } => *iops,
            RateCurve::Bursts { base_iops, burst_iops, .. } => base_iops.max(*burst_iops),
            RateCurve::Ramp { from_iops, to_iops, .. } => from_iops.max(*to_iops),
            RateCurve::Profile { points, .. } => points.iter().map(|point| point.1).fold(0.0, f64::max),
        }
    }

    fn check(&self) -> Result<(), SpecError> {
        let rate = |value: f64, may_be_zero: bool| {
            if value <= RATE_LIMIT && (value > 0.0 || (may_be_zero && value == 0.0)) {
                Ok(())
            } else {
                Err(out_of_range("rate_iops", value, format!("above 0, at most {RATE_LIMIT}")))
            }
        };
        match self {
            RateCurve::Constant { iops } => rate(*iops, false),
            RateCurve::Bursts { base_iops, burst_iops, burst_ns, period_ns } => {
                rate(*base_iops, true)?;
                rate(*burst_iops, false)?;
                if *burst_ns == 0 || burst_ns > period_ns {
                    return Err(out_of_range(
                        "rate_burst_time",
                        burst_ns,
                        "above 0 and not longer than the period",
                    ));
                }
                Ok(())
            }
            RateCurve::Ramp { from_iops, to_iops, over_ns } => {
                rate(*from_iops, true)?;
                rate(*to_iops, false)?;
                if *over_ns == 0 {
                    return Err(out_of_range("rate_ramp_time", 0, "longer than 0"));
                }
                Ok(())
            }
            RateCurve::Profile { points, period_ns } => {
                if points.is_empty() || points.len() > PROFILE_POINTS_LIMIT {
                    return Err(out_of_range(
                        "rate_profile",
                        format!("{} points", points.len()),
                        format!("1 to {PROFILE_POINTS_LIMIT} points"),
                    ));
                }
                if points[0].0 != 0 {
                    return Err(out_of_range(
                        "rate_profile",
                        format!("first point at {} ns", points[0].0),
                        "a first point at 0",
                    ));
                }
                for pair in points.windows(2) {
                    if pair[1].0 <= pair[0].0 {
                        return Err(out_of_range(
                            "rate_profile",
                            format!("point at {} ns", pair[1].0),
                            "ascending",
                        ));
                    }
                }
                for point in points {
                    rate(point.1, true)?;
                }
                if points[points.len() - 1].0 >= *period_ns {
                    return Err(out_of_range(
                        "rate_profile",
                        format!("period {period_ns} ns"),
                        "beyond the last point",
                    ));
                }
                if points.iter().all(|point| point.1 == 0.0) {
                    return Err(out_of_range("rate_profile", "no rate above 0", "at least one rate above 0"));
                }
                Ok(())
            }
        }
    }

    fn integral(&self) -> Integral {
        let mut integral = Integral { segments: Vec::new(), period: None };
        let mut add = |start_ns: u64, end_ns: u64, from_iops: f64, to_iops: f64| {
            let duration_ns = (end_ns - start_ns) as f64;
            let (from_rate, to_rate) = (from_iops / 1e9, to_iops / 1e9);
            let count_before = integral.segments.last().map_or(0.0, |last| last.count_before + last.count);
            let count = (from_rate + to_rate) / 2.0 * duration_ns;
            let start_ns = start_ns as f64;
            integral.segments.push(Segment {
                start_ns,
                duration_ns,
                from_rate,
                to_rate,
                count_before,
                count,
            });
            count_before + count
        };
        match self {
            RateCurve::Constant { iops } => {
                add(0, u64::MAX, *iops, *iops);
            }
            RateCurve::Ramp { from_iops, to_iops, over_ns } => {
                add(0, *over_ns, *from_iops, *to_iops);
                add(*over_ns, u64::MAX, *to_iops, *to_iops);
            }
            RateCurve::Bursts { base_iops, burst_iops, burst_ns, period_ns } => {
                let base_ns = period_ns - burst_ns;
                if base_ns > 0 {
                    add(0, base_ns, *base_iops, *base_iops);
                }
                let count = add(base_ns, *period_ns, *burst_iops, *burst_iops);
                integral.period = Some((*period_ns, count));
            }
            RateCurve::Profile { points, period_ns } => {
                let ends = points.iter().skip(1).map(|point| point.0).chain([*period_ns]);
                let mut count = 0.0;
                for (&(start_ns, rate), end_ns) in points.iter().zip(ends) {
                    count = add(start_ns, end_ns, rate, rate);
                }
                integral.period = Some((*period_ns, count));
            }
        }
        integral
    }
}

/// Seconds, or hours, minutes and seconds of a day.
fn seconds(text: &str) -> Option<f64> {
    let mut parts = text.split(':');
    let first: f64 = parts.next()?.parse().ok()?;
    let total = match (parts.next(), parts.next(), parts.next()) {
        (None, _, _) => first,
        (Some(minutes), seconds, None) => {
            let seconds: f64 = seconds.map_or(Some(0.0), |text| text.parse().ok())?;
            first * 3600.0 + minutes.parse::<f64>().ok()? * 60.0 + seconds
        }
        _ => return None,
    };
    (0.0..=1e9).contains(&total).then_some(total)
}

impl Integral {
    /// The moment at which the integral of the rate reaches `count`. `cursor` remembers the segment: counts ascend.
    fn moment_ns(&self, count: f64, cursor: &mut (u64, usize)) -> u64 {
        let (period_ns, period_count) = self.period.unwrap_or((0, f64::INFINITY));
        // Periods first; whole ones are exact in integers.
        let mut rest = count - cursor.0 as f64 * period_count_or_zero(period_count);
        while rest >= period_count {
            let skipped = ((rest / period_count) as u64).max(1);
            cursor.0 += skipped;
            cursor.1 = 0;
            rest = count - cursor.0 as f64 * period_count;
        }
        while cursor.1 + 1 < self.segments.len()
            && rest >= self.segments[cursor.1].count_before + self.segments[cursor.1].count
        {
            cursor.1 += 1;
        }
        let segment = &self.segments[cursor.1];
        let wanted = (rest - segment.count_before).max(0.0);
        let slope = (segment.to_rate - segment.from_rate) / segment.duration_ns;
        // Root of rate·t + slope·t²/2 = wanted, in the form that does not cancel.
        let discriminant = (segment.from_rate * segment.from_rate + 2.0 * slope * wanted).max(0.0);
        let denominator = segment.from_rate + discriminant.sqrt();
        let within_ns = if wanted == 0.0 { 0.0 } else { 2.0 * wanted / denominator };
        let within_ns = within_ns.min(segment.duration_ns);
        cursor.0.saturating_mul(period_ns).saturating_add((segment.start_ns + within_ns) as u64)
    }

    /// Arrivals expected before `moment_ns`.
    fn count_before(&self, moment_ns: u64) -> f64 {
        let (whole, rest_ns) = match self.period {
            Some((period_ns, count)) => {
                ((moment_ns / period_ns) as f64 * count, (moment_ns % period_ns) as f64)
            }
            None => (0.0, moment_ns as f64),
        };
        let within: f64 = self
            .segments
            .iter()
            .map(|segment| {
                let inside_ns = (rest_ns - segment.start_ns).clamp(0.0, segment.duration_ns);
                let slope = (segment.to_rate - segment.from_rate) / segment.duration_ns;
                segment.from_rate * inside_ns + slope * inside_ns * inside_ns / 2.0
            })
            .sum();
        whole + within
    }
}

fn period_count_or_zero(period_count: f64) -> f64 {
    if period_count.is_finite() { period_count } else { 0.0 }
}

impl Arrival {
    /// Regular arrivals at a constant rate.
    pub fn regular(iops: f64) -> Arrival {
        Arrival { process: ArrivalProcess::Regular, rate: RateCurve::Constant { iops } }
    }

    /// Poisson arrivals at a constant rate.
    pub fn poisson(iops: f64) -> Arrival {
        Arrival { process: ArrivalProcess::Poisson, rate: RateCurve::Constant { iops } }
    }

    pub(crate) fn check(&self) -> Result<(), SpecError> {
        self.rate.check()
    }

    /// Returns the number of I/Os that the rate gives between two times.
    pub fn expected_between(&self, from_ns: u64, to_ns: u64) -> f64 {
        let integral = self.rate.integral();
        integral.count_before(to_ns) - integral.count_before(from_ns)
    }
}

/// The arrivals of one job: its share of the total. Regular arrivals go to the jobs in turn; Poisson arrivals are
/// independent for each job, which together are Poisson again.
#[derive(Debug, Clone)]
pub struct ArrivalStream {
    integral: Integral,
    cursor: (u64, usize),
    process: ArrivalProcess,
    numjobs: f64,
    random: Random,
    /// Value of the unit process of the next arrival.
    next: f64,
    /// Arrivals so far, for regular ones: a product of exact integers does not drift.
    place: u64,
    job: u64,
}

impl ArrivalStream {
    /// The arrivals of `job` of `numjobs`, from a checked [`Arrival`].
    pub fn new(arrival: &Arrival, job: u32, numjobs: u32, seed: u64) -> Self {
        let mut stream = ArrivalStream {
            integral: arrival.rate.integral(),
            cursor: (0, 0),
            process: arrival.process,
            numjobs: f64::from(numjobs),
            random: Random::from_seed_and_stream(seed, ARRIVAL_STREAMS + u64::from(job)),
            next: 0.0,
            place: 0,
            job: u64::from(job),
        };
        if stream.process == ArrivalProcess::Poisson {
            stream.next = stream.random.exponential(stream.numjobs);
        } else {
            stream.next = job.into();
        }
        stream
    }

    /// Draws the arrivals before a moment and counts them.
    pub(crate) fn skip_until(&mut self, end_ns: u64) -> u64 {
        let end = self.integral.count_before(end_ns);
        let before = self.place;
        match self.process {
            ArrivalProcess::Poisson => {
                while self.next < end {
                    self.next += self.random.exponential(self.numjobs);
                    self.place += 1;
                }
            }
            ArrivalProcess::Regular if self.next < end => {
                self.place = ((end - self.job as f64) / self.numjobs).ceil() as u64;
                self.next = self.place as f64 * self.numjobs + self.job as f64;
            }
            ArrivalProcess::Regular => {}
        }
        self.place - before
    }

    /// The next arrival, in nanoseconds since the start of the load.
    #[inline]
    pub fn next_ns(&mut self) -> u64 {
        let moment_ns = self.integral.moment_ns(self.next, &mut self.cursor);
        self.place += 1;
        self.next = match self.process {
            ArrivalProcess::Poisson => self.next + self.random.exponential(self.numjobs),
            ArrivalProcess::Regular => self.place as f64 * self.numjobs + self.job as f64,
        };
        moment_ns
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(arrival: &Arrival, numjobs: u32, until_ns: u64, seed: u64) -> Vec<u64> {
        let mut moments = Vec::new();
        for job in 0..numjobs {
            let mut stream = ArrivalStream::new(arrival, job, numjobs, seed);
            moments
                .extend(std::iter::from_fn(|| Some(stream.next_ns())).take_while(|&at_ns| at_ns < until_ns));
        }
        moments.sort_unstable();
        moments
    }

    /// Proves that passing over arrivals counts those that drawing them one by one gives, and goes on with the same one.
    #[test]
    fn skipped_arrivals_are_those_that_would_have_come() {
        for arrival in [Arrival::poisson(12_345.6), Arrival::regular(12_345.6)] {
            for job in 0..3 {
                let mut drawn = ArrivalStream::new(&arrival, job, 3, 7);
                let mut skipped = drawn.clone();
                for until_ns in [0, 1, 100_000_000, 100_000_001, 2_345_678_901] {
                    let mut count = 0;
                    let next_ns = loop {
                        let mut ahead = drawn.clone();
                        let next_ns = ahead.next_ns();
                        if next_ns >= until_ns {
                            break next_ns;
                        }
                        drawn = ahead;
                        count += 1;
                    };
                    assert_eq!(skipped.skip_until(until_ns), count, "{arrival:?} job {job} until {until_ns}");
                    assert_eq!(skipped.clone().next_ns(), next_ns);
                }
            }
        }
    }

    /// The largest distance between the share of values below x and the exponential distribution's.
    fn kolmogorov_smirnov(mut distances: Vec<f64>, mean: f64) -> f64 {
        distances.sort_by(f64::total_cmp);
        let count = distances.len() as f64;
        distances.iter().enumerate().fold(0.0, |worst: f64, (index, &distance)| {
            let expected = 1.0 - libm::exp(-distance / mean);
            worst
                .max((expected - index as f64 / count).abs())
                .max((expected - (index + 1) as f64 / count).abs())
        })
    }

    /// Proves that intended Poisson arrivals, merged over jobs, pass a Kolmogorov–Smirnov test against the
    /// exponential distribution at the 1 % level, for several seeds, rates and numbers of jobs.
    #[test]
    fn poisson_passes_kolmogorov_smirnov() {
        for (seed, iops, numjobs) in [(1, 1_000.0, 1), (2, 250_000.0, 4), (3, 50.0, 64), (4, 20_000.0, 3)] {
            let until_ns = (100_000.0 / iops * 1e9) as u64;
            let moments = merged(&Arrival::poisson(iops), numjobs, until_ns, seed);
            let distances: Vec<f64> = moments.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
            let distance = kolmogorov_smirnov(distances.clone(), 1e9 / iops);
            // Critical value of the two-sided test at 1 %: 1.628 / sqrt(n).
            let critical = 1.628 / (distances.len() as f64).sqrt();
            assert!(distance < critical, "seed {seed}: {distance} ≥ {critical}");
            assert!((moments.len() as f64 / 100_000.0 - 1.0).abs() < 0.016, "{}", moments.len());
        }
        let regular = merged(&Arrival::regular(1_000.0), 1, 10_000_000_000, 1);
        let distances: Vec<f64> = regular.windows(2).map(|pair| (pair[1] - pair[0]) as f64).collect();
        assert!(kolmogorov_smirnov(distances, 1e6) > 0.3, "the test must tell regular arrivals apart");
    }

    /// Proves that regular arrivals are even over all jobs and do not drift in an hour.
    #[test]
    fn regular_arrivals_do_not_drift() {
        let moments = merged(&Arrival::regular(333.0), 7, 3_600_000_000_000, 1);
        assert_eq!(moments.len(), 333 * 3600);
        for (index, &at_ns) in moments.iter().enumerate() {
            let exact = index as f64 * 1e9 / 333.0;
            assert!((at_ns as f64 - exact).abs() <= 2.0, "{index}: {at_ns}");
        }
    }

    /// Proves that the arrivals of each curve in each window are as many as the integral of its rate says.
    #[test]
    fn curves_have_their_counts() {
        let second = 1_000_000_000u64;
        let profile = RateCurve::profile_from_csv(
            "time,iops\n# a short day\n00:00,1000\n00:00:03,0\n4,5000\n",
            10 * second,
            2.0,
        )
        .unwrap();
        assert_eq!(
            profile,
            RateCurve::Profile {
                points: vec![(0, 1000.0), (3 * second / 2, 0.0), (2 * second, 5000.0)],
                period_ns: 5 * second
            }
        );
        let curves = [
            (
                RateCurve::Bursts {
                    base_iops: 100.0,
                    burst_iops: 10_000.0,
                    burst_ns: second / 5,
                    period_ns: second,
                },
                2080.0 * 8.0,
            ),
            (RateCurve::Ramp { from_iops: 0.0, to_iops: 4000.0, over_ns: 4 * second }, 8000.0 + 4.0 * 4000.0),
            (profile, 16_500.0 + 1500.0 + 1.0 * 5000.0),
        ];
        for (rate, total) in curves {
            for process in [ArrivalProcess::Regular, ArrivalProcess::Poisson] {
                let arrival = Arrival { process, rate: rate.clone() };
                arrival.check().unwrap();
                let moments = merged(&arrival, 3, 8 * second, 9);
                let expected_total = arrival.expected_between(0, 8 * second);
                for window in 0..16 {
                    let (from, to) = (window * second / 2, (window + 1) * second / 2);
                    let expected = arrival.expected_between(from, to);
                    let count = moments.iter().filter(|&&at| at >= from && at < to).count() as f64;
                    let tolerance =
                        if process == ArrivalProcess::Regular { 2.0 } else { 4.5 * expected.sqrt() + 1.0 };
                    assert!(
                        (count - expected).abs() <= tolerance,
                        "{arrival:?} {window}: {count} for {expected}"
                    );
                }
                assert!((expected_total - total).abs() < 1e-6, "{rate:?}: {expected_total}");
            }
        }
    }

    /// Proves that unusable curves are refused, with the line of a CSV named.
    #[test]
    fn unusable_curves_are_refused() {
        for (text, says) in [
            ("0,100\n1,x\n", "line 2"),
            ("1,100\n", "first point"),
            ("0,100\n0,100\n", "ascending"),
            ("0,0\n", "at least one rate"),
            ("", "0 points"),
            ("0,-1\n", "rate_iops"),
            ("0,NaN\n", "rate_iops"),
            ("0,1\n90000,2\n", "beyond the last point"),
        ] {
            let error = RateCurve::profile_from_csv(text, 86_400_000_000_000, 1.0).unwrap_err().to_string();
            assert!(error.contains(says), "{text:?}: {error}");
        }
        assert!(Arrival::regular(0.0).check().is_err());
        assert!(Arrival::poisson(f64::INFINITY).check().is_err());
    }
}

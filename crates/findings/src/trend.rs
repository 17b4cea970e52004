//! Trend over runs of the same plan: each headline and each case with its noise band, and where its level changes.
//!
//! Noise of a run is what its own intervals show, or the scatter of runs about their level, whichever is more: two runs of one
//! array differ by more than their intervals tell. For each number of changes the places are sought that leave the least scatter,
//! and an F test holds that scatter against that without a change. The test counts all places (Bonferroni), all numbers of changes
//! and all series of a family, so that a family (headlines, cases) raises a false alarm in at most 1 % of trends.

mod inventory;

pub use inventory::{InventoryChange, inventory_changes};

use crate::compare::{FALSE_ALARM, SMALLEST_CHANGE, Within, places, within};
use crate::observation::ObservedCase;
use crate::statistics::{f_upper_p, mean, t_quantile, t_two_sided_p, variance};
use crate::{Finding, Findings, Metric};
use serde::Serialize;

/// Confidence of noise bands.
pub const BAND_CONFIDENCE: f64 = 0.95;

/// Trend of one quantity over runs; serialises as a line of `arraylab compare --trend --json`.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Trend {
    /// `peak-iops`, `peak-bandwidth`, `lowest-latency`, or a metric of a case: `iops`, `read_latency_ns`, `write_latency_ns`.
    pub quantity: String,
    /// The stage; null for a headline.
    pub stage: Option<String>,
    /// The case; null for a headline.
    pub case: Option<String>,
    /// In the order of the runs; null where a run has no such value.
    pub values: Vec<Option<TrendValue>>,
    /// Half the width of the 95 % band of a single run about its level, in percent of the level; null where nothing tells.
    pub noise_percent: Option<f64>,
    /// Changes of the level, in the order of the runs.
    pub changes: Vec<TrendChange>,
    /// True if more is better.
    pub more_is_better: bool,
}

/// Value of one run in a trend.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendValue {
    /// The value.
    pub value: f64,
    /// Its case, where the quantity is a headline.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// Mean of the runs between two changes.
    pub level: f64,
    /// Interval in which a run of this level lies with 95 % confidence; null where nothing tells.
    pub band: Option<[f64; 2]>,
}

/// Change of a level between two runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TrendChange {
    /// Place of the first run after the change, from 1.
    pub run: usize,
    /// Mean of the runs before, back to the change before.
    pub before: f64,
    /// Mean of the runs after, up to the next change.
    pub after: f64,
    /// Second less first, in percent of the first.
    pub change_percent: f64,
    /// Probability of a step this large by noise alone, at this place.
    pub p: f64,
    /// True if it is for the better.
    pub is_better: bool,
}

/// One value with its noise within the run.
#[derive(Debug, Clone, Copy)]
struct Sample {
    value: f64,
    within: Option<Within>,
}

/// The trends of the headlines, then those of each case that at least two runs have.
pub fn trends(runs: &[Findings]) -> Vec<Trend> {
    let headlines: Vec<Series<'_>> = headlines(runs).into_iter().filter(Series::is_trend).collect();
    let cases: Vec<Series<'_>> = cases(runs).into_iter().filter(Series::is_trend).collect();
    [headlines, cases]
        .into_iter()
        .flat_map(|family| {
            let count = family.len();
            family.into_iter().map(move |series| series.trend(count))
        })
        .collect()
}

/// Values of a quantity by run.
struct Series<'a> {
    quantity: &'static str,
    of: Option<(&'a str, &'a str)>,
    values: Vec<Option<(Sample, Option<String>)>>,
    more_is_better: bool,
}

/// A headline: its name, the finding that has it, its value, and whether more is better.
type Headline = (&'static str, HeadlineOf, fn(&crate::Level) -> f64, bool);

/// A headline of a run: the finding that has it.
type HeadlineOf = fn(&Findings) -> Option<(&Finding, &crate::Level)>;

fn headlines(runs: &[Findings]) -> Vec<Series<'_>> {
    let all: [Headline; 3] = [
        ("peak-iops", Findings::peak_iops, |level| level.iops, true),
        ("peak-bandwidth", Findings::peak_bandwidth, |level| level.bw_bytes_per_s, true),
        ("lowest-latency", Findings::lowest_latency, |level| level.mean_latency_ns, false),
    ];
    let of = |(quantity, headline, value, more_is_better): Headline| {
        let one = |found: &Findings| {
            let (finding, level) = headline(found)?;
            let value = value(level);
            // Of a rate and of a latency at a fixed depth the relative noise is that of the I/Os a second.
            let case = finding.case.as_deref().and_then(|case| found.case(&finding.stage, case))?;
            let within = within(Metric::Iops, case).map(|noise| Within {
                standard_error: noise.standard_error / case.result.iops.max(f64::MIN_POSITIVE) * value,
                ..noise
            });
            Some((Sample { value, within }, Some(case.path())))
        };
        Series { quantity, of: None, values: runs.iter().map(one).collect(), more_is_better }
    };
    all.into_iter().map(of).collect()
}

fn cases(runs: &[Findings]) -> Vec<Series<'_>> {
    let places: Vec<_> = runs.iter().map(|found| places(&found.observation.cases)).collect();
    let mut known = std::collections::BTreeSet::new();
    let mut all = Vec::new();
    for case in runs.iter().flat_map(|found| &found.observation.cases) {
        let key = (case.stage.as_str(), case.name.as_str());
        if !known.insert(key) {
            continue;
        }
        for metric in Metric::ALL.into_iter().filter(|metric| *metric != Metric::Errors) {
            let value = |case: &ObservedCase| {
                let value = metric.total(case)?;
                Some((Sample { value, within: within(metric, case) }, None))
            };
            let values = runs
                .iter()
                .zip(&places)
                .map(|(found, places)| value(&found.observation.cases[*places.get(&key)?]));
            let values = values.collect();
            all.push(Series {
                quantity: metric.name(),
                of: Some(key),
                values,
                more_is_better: metric.more_is_better(),
            });
        }
    }
    all
}

impl Series<'_> {
    fn is_trend(&self) -> bool {
        self.values.iter().flatten().count() >= 2
    }

    fn trend(self, family: usize) -> Trend {
        let present: Vec<(usize, Sample)> = self
            .values
            .iter()
            .enumerate()
            .filter_map(|(run, value)| Some((run, value.as_ref()?.0)))
            .collect();
        let samples: Vec<Sample> = present.iter().map(|(_, sample)| *sample).collect();
        let mut edges = vec![0];
        edges.extend(change_points(&samples, family));
        edges.push(samples.len());
        let level = |span: &[usize]| mean(&values_of(&samples[span[0]..span[1]]));
        let levels: Vec<f64> = edges.windows(2).map(level).collect();
        let noise = noise(&samples, &edges);
        let half = noise.map(|(sigma, freedom)| t_quantile(BAND_CONFIDENCE, freedom) * sigma);
        let mut values: Vec<Option<TrendValue>> = vec![None; self.values.len()];
        for (place, (run, sample)) in present.iter().enumerate() {
            let span = edges.partition_point(|edge| *edge <= place) - 1;
            let level = levels[span.min(levels.len() - 1)];
            values[*run] = Some(TrendValue {
                value: sample.value,
                at: self.values[*run].as_ref().and_then(|(_, at)| at.clone()),
                level,
                band: half.map(|half| [level - half, level + half]),
            });
        }
        let changes = edges[1..edges.len() - 1]
            .iter()
            .enumerate()
            .map(|(place, at)| TrendChange {
                run: present[*at].0 + 1,
                before: levels[place],
                after: levels[place + 1],
                change_percent: 100.0 * (levels[place + 1] - levels[place])
                    / levels[place].abs().max(f64::MIN_POSITIVE),
                p: p_of_change(&edges[place..place + 3], &levels[place..place + 2], noise),
                is_better: (levels[place + 1] > levels[place]) == self.more_is_better,
            })
            .collect();
        let middle = mean(&values_of(&samples)).abs().max(f64::MIN_POSITIVE);
        Trend {
            quantity: self.quantity.to_owned(),
            stage: self.of.map(|(stage, _)| stage.to_owned()),
            case: self.of.map(|(_, case)| case.to_owned()),
            values,
            noise_percent: half.map(|half| 100.0 * half / middle),
            changes,
            more_is_better: self.more_is_better,
        }
    }
}

fn values_of(samples: &[Sample]) -> Vec<f64> {
    samples.iter().map(|sample| sample.value).collect()
}

/// Most changes that are sought in a series.
const CHANGES_LIMIT: usize = 6;

/// Change points: the number of changes and their places that noise alone explains the least; none where it may explain
/// them all.
fn change_points(samples: &[Sample], family: usize) -> Vec<usize> {
    let values = values_of(samples);
    let count = values.len();
    // Without a run to spare between changes nothing would tell scatter from change.
    let most = CHANGES_LIMIT.min(count.saturating_sub(2).max(usize::from(count == 2)));
    let best = least_scatter(&values, most);
    let all = best[0].0;
    let mut ways = 1.0;
    let mut chosen: Option<(f64, f64, &[usize])> = None;
    for (changes, (scatter, places)) in best.iter().enumerate().skip(1) {
        ways *= (count - changes) as f64 / changes as f64;
        let edges: Vec<usize> = [0].into_iter().chain(places.iter().copied()).chain([count]).collect();
        let Some((sigma, freedom)) = noise(samples, &edges) else { continue };
        let f = (all - scatter) / changes as f64 / (sigma * sigma);
        let f = if f.is_nan() { 0.0 } else { f };
        let p = f_upper_p(f, (changes as f64, freedom)) * ways * (most * family) as f64;
        // Of equals the larger statistic: without any noise every step is sure.
        if chosen.is_none_or(|(known, statistic, _)| p < known || (p == known && f > statistic)) {
            chosen = Some((p, f, places));
        }
    }
    let Some((_, _, places)) = chosen.filter(|(p, _, _)| *p < FALSE_ALARM) else { return Vec::new() };
    // A step too small to matter is none: the runs on both sides are one level.
    let mut kept: Vec<usize> = Vec::new();
    for (place, at) in places.iter().enumerate() {
        let before = mean(&values[kept.last().copied().unwrap_or(0)..*at]);
        let after = mean(&values[*at..places.get(place + 1).copied().unwrap_or(count)]);
        if (after - before).abs() >= SMALLEST_CHANGE * before.abs().min(after.abs()) {
            kept.push(*at);
        }
    }
    kept
}

/// For 0, 1, … changes the least sum of squared distances from the levels between them, and the places that leave it.
fn least_scatter(values: &[f64], most: usize) -> Vec<(f64, Vec<usize>)> {
    let count = values.len();
    let scatter = |from: usize, to: usize| {
        let level = mean(&values[from..to]);
        values[from..to].iter().map(|value| (value - level) * (value - level)).sum::<f64>()
    };
    // best[end] of the round before: the least scatter of the first `end` values with one change fewer, and its places.
    let mut best: Vec<(f64, Vec<usize>)> = (0..=count).map(|end| (scatter(0, end), Vec::new())).collect();
    let mut found = vec![best[count].clone()];
    for changes in 1..=most {
        let mut next = vec![(f64::INFINITY, Vec::new()); count + 1];
        for (end, least) in next.iter_mut().enumerate().skip(changes + 1) {
            for (at, (before, places)) in best.iter().enumerate().take(end).skip(changes) {
                let total = before + scatter(at, end);
                if total < least.0 {
                    *least = (total, places.iter().copied().chain([at]).collect());
                }
            }
        }
        best = next;
        found.push(best[count].clone());
    }
    found
}

/// Probability of a step this large between two neighbouring levels by noise alone.
fn p_of_change(edges: &[usize], levels: &[f64], noise: Option<(f64, f64)>) -> f64 {
    let Some((sigma, freedom)) = noise else { return 0.0 };
    let counts = [edges[1] - edges[0], edges[2] - edges[1]].map(|count| count as f64);
    let error = sigma * (1.0 / counts[0] + 1.0 / counts[1]).sqrt();
    if error > 0.0 { t_two_sided_p((levels[1] - levels[0]) / error, freedom) } else { 0.0 }
}

/// Standard deviation of a single run about its level, with degrees of freedom: the scatter of runs between two edges, or what
/// the runs' own intervals show, whichever is more. `None` where nothing tells.
fn noise(samples: &[Sample], edges: &[usize]) -> Option<(f64, f64)> {
    let freedom = samples.len() + 1 - edges.len();
    let squares: f64 = edges
        .windows(2)
        .map(|edge| {
            let values = values_of(&samples[edge[0]..edge[1]]);
            variance(&values) * values.len().saturating_sub(1) as f64
        })
        .sum();
    let between = (freedom > 0).then(|| (squares / freedom as f64, freedom as f64));
    let known: Option<Vec<Within>> = samples.iter().map(|sample| sample.within).collect();
    let within = known.map(|all| {
        let variances: Vec<f64> = all.iter().map(|one| one.standard_error.powi(2)).collect();
        (mean(&variances), all.iter().map(|one| one.freedom).sum::<f64>())
    });
    let (variance, freedom) = match (between, within) {
        // Freedom stays that of the runs: their intervals cannot tell how far runs scatter.
        (Some(between), Some(within)) => (between.0.max(within.0), between.1),
        (between, within) => between.or(within)?,
    };
    Some((variance.sqrt(), freedom.max(1.0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::Random;

    fn series(values: &[f64], noise: f64) -> Series<'static> {
        let sample = |value: &f64| {
            Some((
                Sample { value: *value, within: Some(Within { standard_error: noise, freedom: 20.0 }) },
                None,
            ))
        };
        Series {
            quantity: "iops",
            of: None,
            values: values.iter().map(sample).collect(),
            more_is_better: true,
        }
    }

    /// Nearly normal: the sum of twelve even numbers.
    fn normal(random: &mut Random) -> f64 {
        (0..12).map(|_| (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64).sum::<f64>() - 6.0
    }

    /// Proves that a trend finds each step where it is, with the levels on both sides, and tells better from worse.
    #[test]
    fn steps_are_found_where_they_are() {
        let values = [100.0, 101.0, 99.5, 90.0, 90.5, 89.5, 110.0, 111.0];
        let trend = series(&values, 0.5).trend(1);
        let reported: Vec<(usize, bool)> = trend.changes.iter().map(|one| (one.run, one.is_better)).collect();
        assert_eq!(reported, [(4, false), (7, true)]);
        assert!((trend.changes[0].change_percent + 10.1).abs() < 0.1, "{:?}", trend.changes);
        let levels: Vec<f64> = trend.values.iter().flatten().map(|one| (one.level * 10.0).round()).collect();
        assert_eq!(levels, [1002.0, 1002.0, 1002.0, 900.0, 900.0, 900.0, 1105.0, 1105.0]);
        assert!(
            trend
                .values
                .iter()
                .flatten()
                .all(|one| one.band.is_some_and(|[low, high]| low < one.level && one.level < high))
        );
    }

    /// Proves that a run that is missing leaves a gap and moves no change.
    #[test]
    fn missing_runs_leave_a_gap() {
        let mut own = series(&[100.0, 100.2, 0.0, 80.0, 80.1], 0.1);
        own.values[2] = None;
        let trend = own.trend(1);
        assert!(trend.values[2].is_none());
        assert_eq!(trend.changes.iter().map(|one| one.run).collect::<Vec<_>>(), [4]);
    }

    /// Proves that scatter of runs beyond what their intervals show counts as noise: of 2,000 series without a change at most
    /// 1 % get one, with 2 to 24 runs, and a step of eight times the noise among twelve runs is nearly always found.
    #[test]
    fn noise_alone_seldom_changes_a_level() {
        let mut random = Random::from_seed(7);
        let mut alarms = 0;
        for round in 0..2000 {
            let runs = 3 + round % 22;
            let values: Vec<f64> = (0..runs).map(|_| 1000.0 + 20.0 * normal(&mut random)).collect();
            // Intervals show half of the noise that runs have.
            alarms += usize::from(!series(&values, 10.0).trend(1).changes.is_empty());
        }
        assert!(alarms <= 20, "{alarms} of 2,000");
        let mut missed = 0;
        for round in 0..500 {
            let at = 2 + round % 9;
            let step = |run| if run < at { 0.0 } else { 160.0 };
            let values: Vec<f64> =
                (0..12).map(|run| 1000.0 + step(run) + 20.0 * normal(&mut random)).collect();
            let changes = series(&values, 10.0).trend(1).changes;
            missed += usize::from(!changes.iter().any(|one| one.run == at + 1));
        }
        assert!(missed <= 25, "{missed} of 500");
    }
}

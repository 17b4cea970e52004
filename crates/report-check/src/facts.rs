//! Findings recomputed from samples by the definitions of `docs/findings.md`.

use crate::expression::median;
use crate::run::{Case, Counter, Interval, Run};
use serde_json::{Map, Value};

/// Rounding of sums in another order.
const EXACT: f64 = 1e-6;
/// Levels about a fall: the outliers that the search leaves out are not known here.
const LEVEL: f64 = 0.10;
/// A median absolute deviation as a standard deviation of normal noise.
const MAD_TO_SIGMA: f64 = 1.482_602_218_505_602;

/// What is wrong with a finding.
pub struct Facts<'a> {
    /// The run.
    pub run: &'a Run,
}

type Fields = Map<String, Value>;

fn number(fields: &Fields, path: &str) -> Option<f64> {
    let mut steps = path.split('.');
    let mut value = fields.get(steps.next()?)?;
    for step in steps {
        value = match step.parse::<usize>() {
            Ok(place) => value.get(place)?,
            Err(_) => value.get(step)?,
        };
    }
    value.as_f64()
}

fn text<'f>(fields: &'f Fields, name: &str) -> &'f str {
    fields.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// Collects what does not agree.
struct Differences<'f> {
    fields: &'f Fields,
    found: Vec<String>,
}

impl Differences<'_> {
    fn expect(&mut self, path: &str, value: Option<f64>, tolerance: f64) {
        let reported = number(self.fields, path);
        match (reported, value) {
            (None, None) => {}
            (Some(reported), Some(value)) if close(reported, value, tolerance) => {}
            // A field that is absent, or null, says nothing.
            (None, Some(_)) if path.contains("variation") || path.contains('.') => {}
            (reported, value) => self.found.push(format!(
                "{} {path} is {}, recomputed {}",
                text(self.fields, "id"),
                reported.map_or("absent".to_owned(), |reported| reported.to_string()),
                value.map_or("absent".to_owned(), |value| value.to_string())
            )),
        }
    }

    fn require(&mut self, is_so: bool, what: &str) {
        if !is_so {
            self.found.push(format!("{}: {what}", text(self.fields, "id")));
        }
    }
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs()) + 1e-9
}

/// I/Os and bytes a second of some intervals, of one direction or of both.
fn rates<'i>(intervals: impl Iterator<Item = &'i Interval>, direction: Option<usize>) -> Option<(f64, f64)> {
    let (mut ios, mut bytes, mut time_s) = (0.0, 0.0, 0.0);
    for one in intervals {
        let flow = direction.map_or_else(|| one.all(), |place| one.flows[place]);
        ios += flow.ios;
        bytes += flow.bytes;
        time_s += one.length_s();
    }
    (time_s > 0.0).then(|| (ios / time_s, bytes / time_s))
}

impl Facts<'_> {
    /// Everything in a finding that its samples do not show.
    pub fn differences(&self, fields: &Fields) -> Vec<String> {
        let mut differences = Differences { fields, found: Vec::new() };
        let case = self.run.case(text(fields, "stage"), text(fields, "case"));
        let kind = text(fields, "kind");
        match (kind, case) {
            ("level", Some(case)) => level(&mut differences, case),
            ("write-cliff", _) => self.write_cliff(&mut differences),
            ("no-write-cliff", _) => {
                let Some(case) = self.case_or_stage(fields) else {
                    return vec![format!("{}: about no case of the run", text(fields, "id"))];
                };
                let counted = case.counted();
                let length = counted.last().map_or(0.0, |last| last.end_s - counted[0].start_s);
                differences.expect("intervals", Some(counted.len() as f64), EXACT);
                differences.expect("length_s", Some(length), EXACT);
                differences.require(
                    case.intervals.iter().any(|one| one.flows[1].ios > 0.0),
                    "a case that writes nothing says nothing of write cliffs",
                );
            }
            ("maximum" | "maximum-under-latency" | "minimal-latency", Some(case)) => {
                self.extreme(&mut differences, kind, case);
            }
            ("saturation", Some(_)) => self.saturation(&mut differences),
            ("best-block-size" | "flattening", _) => self.blocks(&mut differences, kind),
            ("write-penalty", _) => self.penalty(&mut differences),
            ("disruption", Some(case)) => disruption(&mut differences, case),
            ("conformance", Some(case)) => conformance(&mut differences, case),
            ("limit", Some(case)) => {
                differences.expect("iops", Some(case.iops()), EXACT);
                differences.expect("bw_bytes_per_s", Some(case.bytes_per_s()), EXACT);
                uses(&mut differences, case);
            }
            ("steady-state", Some(case)) => steady(&mut differences, case),
            ("steady-rounds", _) => self.rounds(&mut differences),
            ("found-load", Some(case)) => found_load(&mut differences, case),
            ("path-balance", Some(case)) => path_balance(&mut differences, case),
            // No sentence cites it.
            ("effect", _) => {}
            (other, None) => differences.require(false, &format!("{other} about no case of the run")),
            (other, _) => differences.require(false, &format!("unknown kind {other}")),
        }
        differences.found
    }

    /// The cases of a finding's stage with the settings of its group.
    fn group(&self, fields: &Fields) -> Vec<&Case> {
        let empty = Map::new();
        let of = fields.get("of").and_then(Value::as_object).unwrap_or(&empty);
        let stage = text(fields, "stage");
        let is_of = |case: &&Case| {
            case.stage == stage && of.iter().all(|(name, value)| case.settings.get(name) == Some(value))
        };
        self.run.done().filter(is_of).collect()
    }

    /// The cases that a finding rests on.
    fn rests_on(&self, fields: &Fields) -> Vec<&Case> {
        let all = fields.get("rests_on").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        all.iter().filter_map(|one| self.run.case(one["stage"].as_str()?, one["case"].as_str()?)).collect()
    }

    fn extreme(&self, differences: &mut Differences<'_>, kind: &str, case: &Case) {
        let fields = differences.fields;
        let group = self.group(fields);
        differences
            .require(group.iter().any(|one| one.name == case.name), "its case is not one of its group");
        differences.expect("mean_latency_ns", Some(case.mean_latency_ns()), EXACT);
        let moving = || group.iter().filter(|one| one.iops() > 0.0);
        match kind {
            "maximum" => {
                let by = |one: &Case| {
                    if text(fields, "quantity") == "iops" { one.iops() } else { one.bytes_per_s() }
                };
                let most = moving().map(|one| by(one)).fold(0.0, f64::max);
                differences.expect("value", Some(most), EXACT);
                differences.expect("iops", Some(case.iops()), EXACT);
                differences.expect("bw_bytes_per_s", Some(case.bytes_per_s()), EXACT);
            }
            "maximum-under-latency" => {
                let bound = number(fields, "bound_ns").unwrap_or(0.0);
                let within = moving().filter(|one| one.mean_latency_ns() <= bound).map(|one| one.iops());
                differences.expect("iops", within.reduce(f64::max), EXACT);
            }
            _ => {
                let least = moving().map(|one| one.mean_latency_ns()).fold(f64::INFINITY, f64::min);
                differences.expect("mean_latency_ns", Some(least), EXACT);
                differences.expect("iops", Some(case.iops()), EXACT);
            }
        }
        differences.expect("among", Some(moving().count() as f64), EXACT);
    }

    fn saturation(&self, differences: &mut Differences<'_>) {
        let fields = differences.fields;
        let setting = text(fields, "setting");
        let mut points: Vec<(f64, &Case)> = self
            .rests_on(fields)
            .into_iter()
            .filter_map(|case| Some((case.number(setting)?, case)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        for (place, (value, case)) in points.iter().enumerate() {
            differences.expect(&format!("points.{place}.0"), Some(*value), EXACT);
            differences.expect(&format!("points.{place}.1"), Some(case.iops()), EXACT);
        }
        let [.., before, last] = points[..] else { return };
        let most = points.iter().map(|(_, case)| case.iops()).fold(0.0, f64::max);
        let is_rising = last.1.iops() >= most && last.1.iops() > 1.1 * before.1.iops();
        let knee = points.iter().find(|(_, case)| case.iops() >= 0.9 * most).copied().unwrap_or(last);
        let at = if is_rising { last } else { knee };
        differences.expect("maximum_iops", Some(most), EXACT);
        differences.expect("at", (!is_rising).then_some(at.0), EXACT);
        differences.expect("at_least", Some(at.0), EXACT);
        differences.expect("iops", Some(at.1.iops()), EXACT);
        differences.expect("mean_latency_ns", Some(at.1.mean_latency_ns()), EXACT);
    }

    fn blocks(&self, differences: &mut Differences<'_>, kind: &str) {
        let mut points: Vec<(f64, &Case)> = self
            .rests_on(differences.fields)
            .into_iter()
            .filter_map(|case| Some((case.number("bs")?, case)))
            .collect();
        points.sort_by(|a, b| a.0.total_cmp(&b.0));
        points.dedup_by(|a, b| a.0 == b.0);
        if points.len() < 3 {
            return differences.require(false, "fewer than three block sizes");
        }
        if kind == "best-block-size" {
            let most = points.iter().map(|(_, case)| case.iops()).fold(0.0, f64::max);
            let most_bytes = points.iter().map(|(_, case)| case.bytes_per_s()).fold(0.0, f64::max);
            let best = points.iter().rev().find(|(_, case)| case.iops() >= 0.9 * most);
            let for_bytes = points.iter().find(|(_, case)| case.bytes_per_s() >= 0.9 * most_bytes);
            differences.expect("best_bs", best.map(|best| best.0), EXACT);
            differences.expect("iops_share_percent", best.map(|best| 100.0 * best.1.iops() / most), EXACT);
            differences.expect("bw_bytes_per_s", best.map(|best| best.1.bytes_per_s()), EXACT);
            differences.expect("best_bs_for_bandwidth", for_bytes.map(|best| best.0), EXACT);
            return;
        }
        let bytes: Vec<f64> = points.iter().map(|(_, case)| case.bytes_per_s()).collect();
        let about = |tail: &[f64]| {
            let mean = tail.iter().sum::<f64>() / tail.len() as f64;
            (mean, tail.iter().map(|value| (value - mean).abs() / mean).fold(0.0, f64::max))
        };
        let from = (0..=bytes.len() - 3).find(|from| about(&bytes[*from..]).1 <= 0.1);
        let (mean, off) = about(&bytes[from.unwrap_or(bytes.len() - 3)..]);
        differences.expect("from_bs", from.map(|from| points[from].0), EXACT);
        differences.expect("bw_bytes_per_s", Some(mean), EXACT);
        differences.expect("deviation_percent", Some(100.0 * off), EXACT);
    }

    fn penalty(&self, differences: &mut Differences<'_>) {
        let cases = self.rests_on(differences.fields);
        let [reads, writes] = cases[..] else {
            return differences.require(false, "it rests on other than a case of reads and one of writes");
        };
        let are_pure = reads.totals[1].ios == 0 && writes.totals[0].ios == 0;
        differences.require(are_pure, "its cases are not of pure reads and pure writes");
        differences.expect("read_iops", Some(reads.iops()), EXACT);
        differences.expect("write_iops", Some(writes.iops()), EXACT);
        differences.expect("ratio", Some(writes.iops() / reads.iops()), EXACT);
        differences.expect("raid", reads.number("raid"), EXACT);
        let rule = match reads.number("raid").map(|raid| raid as u64) {
            Some(0) => Some(1.0),
            Some(1 | 10) => Some(0.5),
            Some(5) => Some(0.25),
            Some(6) => Some(1.0 / 6.0),
            _ => None,
        };
        differences.expect("rule_of_thumb", rule, EXACT);
    }

    /// A fall of the write rate. Of a stage of rounds it is that of all rounds one after another.
    fn write_cliff(&self, differences: &mut Differences<'_>) {
        let fields = differences.fields;
        let Some(case) = self.case_or_stage(fields) else {
            return differences.require(false, "about no case of the run");
        };
        let counted = case.counted();
        let Some(onset_s) = number(fields, "onset_s") else {
            return differences.require(false, "without an onset");
        };
        let is_edge = counted.iter().any(|one| (one.start_s - onset_s).abs() < 1e-6);
        differences.require(is_edge, "its onset is at no beginning of an interval");
        let written: f64 = case
            .intervals
            .iter()
            .filter(|one| one.end_s <= onset_s + 1e-9)
            .map(|one| one.flows[1].bytes)
            .sum();
        differences.expect("bytes_written", Some(written), EXACT);
        let fall_s = number(fields, "fall_s").unwrap_or(0.0);
        let further: Vec<f64> =
            (0..).map_while(|place| number(fields, &format!("further_falls.{place}.onset_s"))).collect();
        let recovered = number(fields, "recovery.at_s");
        let end = further.iter().copied().chain(recovered).fold(f64::INFINITY, f64::min);
        let before = rates(counted.iter().filter(|one| one.end_s <= onset_s + 1e-9), Some(1));
        let settled = onset_s + fall_s;
        let in_after = |one: &&Interval| one.start_s >= settled - 1e-9 && one.end_s <= end + 1e-9;
        let after = rates(counted.iter().filter(in_after), Some(1));
        for (name, level) in [("before", before), ("after", after)] {
            differences.expect(&format!("{name}.iops"), level.map(|level| level.0), LEVEL);
            differences.expect(&format!("{name}.bw_bytes_per_s"), level.map(|level| level.1), LEVEL);
        }
        let field = |path: &str| number(fields, path).unwrap_or(f64::NAN);
        let depth = 100.0 * (1.0 - field("after.bw_bytes_per_s") / field("before.bw_bytes_per_s"));
        differences.expect("depth_percent", Some(depth), EXACT);
        let reserve = written - field("after.bw_bytes_per_s") * onset_s;
        differences.expect("reserve_bytes", Some(reserve), LEVEL);
        let last_settled = match further.last() {
            Some(last) => {
                last + number(fields, &format!("further_falls.{}.fall_s", further.len() - 1)).unwrap_or(0.0)
            }
            None => settled,
        };
        let rest: Vec<&Interval> = counted.iter().filter(|one| one.start_s >= last_settled - 1e-9).collect();
        let sustained = rates(rest[rest.len() / 2..].iter().copied(), None);
        differences.expect("sustained.iops", sustained.map(|level| level.0), LEVEL);
        differences.expect("sustained.bw_bytes_per_s", sustained.map(|level| level.1), LEVEL);
        if let Some(at_s) = recovered {
            differences.require(at_s > onset_s, "it recovers before it falls");
            let share = 100.0 * field("recovery.to.bw_bytes_per_s") / field("before.bw_bytes_per_s");
            differences.expect("recovery.share_percent", Some(share), EXACT);
        }
    }

    /// The case of a finding; of a stage of rounds all rounds one after another.
    fn case_or_stage(&self, fields: &Fields) -> Option<Case> {
        let (stage, name) = (text(fields, "stage"), text(fields, "case"));
        let own = self.run.case(stage, name).cloned();
        own.or_else(|| (stage == name).then(|| self.whole(stage)))
    }

    /// The cases of a stage as one after another.
    fn whole(&self, stage: &str) -> Case {
        let mut whole = Case { stage: stage.to_owned(), name: stage.to_owned(), ..Case::default() };
        let mut from_s = 0.0;
        for case in self.run.done().filter(|case| case.stage == stage) {
            whole.intervals.extend(case.intervals.iter().map(|one| Interval {
                start_s: one.start_s + from_s,
                end_s: one.end_s + from_s,
                ..*one
            }));
            from_s += case.intervals.last().map_or(0.0, |last| last.end_s);
        }
        whole
    }

    fn rounds(&self, differences: &mut Differences<'_>) {
        let fields = differences.fields;
        let variables = fields.get("variables").and_then(Value::as_array).map_or(0, Vec::len);
        for place in 0..variables {
            let window: Vec<f64> =
                (0..).map_while(|at| number(fields, &format!("variables.{place}.window.{at}"))).collect();
            if window.is_empty() {
                continue;
            }
            let mean = window.iter().sum::<f64>() / window.len() as f64;
            let (low, high) = ends(&window);
            differences.expect(&format!("variables.{place}.average"), Some(mean), EXACT);
            let range = 100.0 * (high - low) / mean;
            differences.expect(&format!("variables.{place}.range_percent"), Some(range), EXACT);
            differences.expect(&format!("variables.{place}.slope_percent"), Some(excursion(&window)), 1e-4);
            let path = fields["variables"][place]["quantity"].as_str().unwrap_or_default();
            let rounds: Vec<f64> =
                (0..).map_while(|at| number(fields, &format!("window_rounds.{at}"))).collect();
            for (round, value) in rounds.iter().zip(&window) {
                let has = self.run.done().any(|case| {
                    case.stage == text(fields, "stage")
                        && case.number("repeat") == Some(*round)
                        && case.quantity(path).is_some_and(|own| close(own, *value, EXACT))
                });
                differences.require(has, &format!("round {round} has no case with {path} of {value}"));
            }
        }
    }
}

fn ends(values: &[f64]) -> (f64, f64) {
    let low = values.iter().copied().fold(f64::INFINITY, f64::min);
    (low, values.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

/// The excursion of the fitted line over a window, in percent of the mean.
fn excursion(window: &[f64]) -> f64 {
    let count = window.len() as f64;
    let mean = window.iter().sum::<f64>() / count;
    let middle = (count - 1.0) / 2.0;
    let (mut over, mut under) = (0.0, 0.0);
    for (place, value) in window.iter().enumerate() {
        let x = place as f64 - middle;
        over += x * (value - mean);
        under += x * x;
    }
    100.0 * (over / under * (count - 1.0)).abs() / mean
}

fn level(differences: &mut Differences<'_>, case: &Case) {
    differences.expect("iops", Some(case.iops()), EXACT);
    differences.expect("bw_bytes_per_s", Some(case.bytes_per_s()), EXACT);
    differences.expect("mean_latency_ns", Some(case.mean_latency_ns()), EXACT);
    differences.expect("outstanding", Some(case.iops() * case.mean_latency_ns() / 1e9), EXACT);
    for (name, direction) in ["read", "write"].iter().zip(&case.totals) {
        let has_any = direction.ios > 0;
        let of = |value: f64| has_any.then_some(value);
        differences.expect(&format!("{name}.iops"), of(direction.ios as f64 / case.duration_s), EXACT);
        differences.expect(&format!("{name}.mean_latency_ns"), of(direction.latency.mean_ns()), EXACT);
        let bytes = of(direction.bytes as f64 / case.duration_s);
        differences.expect(&format!("{name}.bw_bytes_per_s"), bytes, EXACT);
    }
}

/// The median, and how far a value may be from it without being an excursion.
fn middle(values: &[f64], least: f64) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = median(&sorted);
    let mut away: Vec<f64> = values.iter().map(|value| (value - middle).abs()).collect();
    away.sort_by(f64::total_cmp);
    (middle, (4.0 * MAD_TO_SIGMA * median(&away)).max(least * middle))
}

/// A level before an event: its middle, and how far a value may be from it.
#[derive(Clone, Copy)]
struct Level {
    middle: f64,
    tolerance: f64,
}

impl Level {
    fn of(values: &[f64], least: f64) -> Level {
        let (middle, tolerance) = middle(values, least);
        Level { middle, tolerance }
    }

    fn side(&self, value: f64) -> i8 {
        if value < self.middle - self.tolerance { -1 } else { i8::from(value > self.middle + self.tolerance) }
    }
}

/// The level of an interval's rate or latency.
type ValueOf = fn(&Interval) -> Option<f64>;

/// The place from which on a quantity stays on another side of its level to the end of the case, with the median from there to the
/// next event.
fn changed(intervals: &[&Interval], here: usize, level: Level, value: ValueOf) -> Option<(usize, f64)> {
    let sides: Vec<i8> =
        intervals.iter().map(|one| value(one).map_or(0, |value| level.side(value))).collect();
    let side = sides.last().copied().filter(|side| *side != 0)?;
    let from = (0..sides.len()).find(|from| {
        let rest = &sides[*from..];
        let others = rest.iter().filter(|one| **one != side).count();
        rest[0] == side && others as f64 <= 0.1 * rest.len() as f64
    })?;
    if from >= here || sides.len() - from < 4 {
        return None;
    }
    let mut after: Vec<f64> = intervals[from..here].iter().filter_map(|one| value(one)).collect();
    after.sort_by(f64::total_cmp);
    let after = median(&after);
    (level.side(after) == side).then_some((from, after))
}

/// What an event did. Each is held against the level before it: that before the first event, or that to which an earlier one
/// changed.
fn disruption(differences: &mut Differences<'_>, case: &Case) {
    let fields = differences.fields;
    let (Some(at_s), Some(until_s)) = (number(fields, "at_s"), number(fields, "until_s")) else {
        return differences.require(false, "without a time");
    };
    let event = text(fields, "event");
    let moments: Vec<(f64, &str)> = case
        .moments
        .iter()
        .filter(|moment| !is_record(&moment.kind))
        .filter_map(|moment| Some((moment.at_s?, moment.text.as_str())))
        .collect();
    let Some(first) = moments.first() else { return differences.require(false, "a case without events") };
    let counted = case.counted();
    let before: Vec<&Interval> = counted.iter().filter(|one| one.end_s <= first.0 + 1e-9).collect();
    let iops: Vec<f64> = before.iter().map(|one| one.iops()).collect();
    let latencies: Vec<f64> = before.iter().filter_map(|one| one.latency_ns()).collect();
    let (mut rate, mut latency) = (Level::of(&iops, 0.05), Level::of(&latencies, 0.10));
    let end_s = counted.last().map_or(first.0, |last| last.end_s);
    for (place, (moment_s, name)) in moments.iter().enumerate() {
        let next_s = moments.get(place + 1).map_or(end_s, |next| next.0);
        let from_here: Vec<&Interval> = counted.iter().filter(|one| one.end_s > moment_s + 1e-9).collect();
        let here = from_here.iter().take_while(|one| one.start_s < next_s - 1e-9).count();
        if here == 0 {
            continue;
        }
        let of_rate = changed(&from_here, here, rate, |one| Some(one.iops()));
        let of_latency = changed(&from_here, here, latency, Interval::latency_ns);
        let is_this = (moment_s - at_s).abs() < 1e-6 && (next_s - until_s).abs() < 1e-6 && *name == event;
        if is_this {
            return one_event(differences, &from_here[..here], [rate, latency], [of_rate, of_latency]);
        }
        rate.middle = of_rate.map_or(rate.middle, |change| change.1);
        latency.middle = of_latency.map_or(latency.middle, |change| change.1);
    }
    differences.require(false, "the run has no such event at that time");
}

fn one_event(
    differences: &mut Differences<'_>,
    during: &[&Interval],
    [rate, latency]: [Level; 2],
    [of_rate, of_latency]: [Option<(usize, f64)>; 2],
) {
    differences.expect("level_iops", Some(rate.middle), EXACT);
    differences.expect("level_latency_ns", Some(latency.middle), EXACT);
    let until = |change: Option<(usize, f64)>| change.map_or(during.len(), |change| change.0);
    let is_dip = |one: &Interval| {
        (one.iops() < rate.middle - rate.tolerance).then(|| 100.0 * (one.iops() / rate.middle - 1.0))
    };
    let dips = excursions(differences, "dips", &during[..until(of_rate)], &is_dip);
    let is_bump = |one: &Interval| {
        let own = one.latency_ns()?;
        (own > latency.middle + latency.tolerance).then(|| 100.0 * (own / latency.middle - 1.0))
    };
    let bumps = excursions(differences, "latency_bumps", &during[..until(of_latency)], &is_bump);
    for (name, unit, level, change) in
        [("rate_change", "iops", rate, of_rate), ("latency_change", "ns", latency, of_latency)]
    {
        let is_said = differences.fields.get(name).is_some_and(Value::is_object);
        differences
            .require(is_said == change.is_some(), &format!("{name} is said otherwise than recomputed"));
        let Some((from, after)) = change else { continue };
        differences.expect(&format!("{name}.from_s"), Some(during[from].start_s), EXACT);
        differences.expect(&format!("{name}.before_{unit}"), Some(level.middle), EXACT);
        differences.expect(&format!("{name}.after_{unit}"), Some(after), EXACT);
        let percent = 100.0 * (after / level.middle - 1.0);
        differences.expect(&format!("{name}.change_percent"), Some(percent), EXACT);
    }
    let share = |mut values: Vec<f64>, level: f64| {
        values.sort_by(f64::total_cmp);
        (level > 0.0).then(|| 100.0 * median(&values) / level)
    };
    let of_iops = share(during.iter().map(|one| one.iops()).collect(), rate.middle);
    differences.expect("iops_percent", of_iops, EXACT);
    let medians = share(during.iter().filter_map(|one| one.latency_ns()).collect(), latency.middle);
    differences.expect("latency_percent", medians, EXACT);
    let (sum_ns, ios, errors) = during.iter().fold((0.0, 0.0, 0.0), |(sum_ns, ios, errors), one| {
        let all = one.all();
        (sum_ns + all.latency_sum_ns, ios + all.ios, errors + all.errors)
    });
    let mean = 100.0 * sum_ns / f64::max(ios, 1.0) / latency.middle;
    differences.expect("mean_latency_percent", Some(mean), EXACT);
    differences.expect("errors", Some(errors), EXACT);
    let has_effect = dips + bumps > 0 || of_rate.is_some() || of_latency.is_some() || errors > 0.0;
    let reported = differences.fields.get("has_effect").and_then(Value::as_bool);
    differences.require(reported == Some(has_effect), "its effect is said otherwise than recomputed");
}

/// Events that record what came of a case and did nothing to its load.
fn is_record(kind: &str) -> bool {
    matches!(kind, "max-under-latency" | "content" | "verified" | "rate" | "array")
}

/// Runs of intervals off their level.
fn excursions(
    differences: &mut Differences<'_>,
    field: &str,
    during: &[&Interval],
    off: &dyn Fn(&Interval) -> Option<f64>,
) -> usize {
    // Start, length, extreme.
    let mut found: Vec<(f64, f64, f64)> = Vec::new();
    let mut is_in_one = false;
    for one in during {
        let Some(percent) = off(one) else {
            is_in_one = false;
            continue;
        };
        match found.last_mut().filter(|_| is_in_one) {
            Some(last) => {
                last.1 += one.length_s();
                last.2 = if percent.abs() > last.2.abs() { percent } else { last.2 };
            }
            None => found.push((one.start_s, one.length_s(), percent)),
        }
        is_in_one = true;
    }
    let reported = differences.fields.get(field).and_then(Value::as_array).map_or(0, Vec::len);
    differences.require(reported == found.len(), &format!("{reported} {field}, recomputed {}", found.len()));
    let count = found.len();
    for (place, (start_s, length_s, extreme)) in found.into_iter().enumerate().take(reported) {
        differences.expect(&format!("{field}.{place}.start_s"), Some(start_s), EXACT);
        differences.expect(&format!("{field}.{place}.length_s"), Some(length_s), EXACT);
        differences.expect(&format!("{field}.{place}.extreme_percent"), Some(extreme), EXACT);
    }
    count
}

fn conformance(differences: &mut Differences<'_>, case: &Case) {
    let fields = differences.fields;
    let load = text(fields, "load");
    let intervals = match case.loads.iter().find(|(name, _)| name == load).filter(|_| case.loads.len() > 1) {
        Some((_, intervals)) => crate::run::counted(intervals),
        None => case.counted(),
    };
    let (Some(from_s), Some(to_s)) = (number(fields, "from_s"), number(fields, "to_s")) else { return };
    let rate = |one: &Interval| {
        let all = one.all();
        (if text(fields, "quantity") == "iops" { all.ios } else { all.bytes }) / one.length_s()
    };
    let within: Vec<&Interval> =
        intervals.iter().filter(|one| one.start_s >= from_s - 1e-6 && one.end_s <= to_s + 1e-6).collect();
    let allowed = number(fields, "allowed").unwrap_or(f64::NAN);
    let above = within.iter().filter(|one| rate(one) > allowed * 1.02).count();
    let time_s: f64 = within.iter().map(|one| one.length_s()).sum();
    differences.expect("intervals", Some(within.len() as f64), EXACT);
    differences.expect("intervals_above", Some(above as f64), EXACT);
    let delivered = within.iter().map(|one| rate(one) * one.length_s()).sum::<f64>() / time_s;
    differences.expect("delivered", Some(delivered), EXACT);
    let largest = within.iter().map(|one| rate(one)).fold(0.0, f64::max);
    differences.expect("largest", Some(largest), EXACT);
}

fn steady(differences: &mut Differences<'_>, case: &Case) {
    let fields = differences.fields;
    let counted = case.counted();
    let (Some(first), Some(last)) = (counted.first(), counted.last()) else { return };
    let wanted_s = if last.end_s - first.start_s >= 300.0 { 60.0 } else { 0.0 };
    let (mut rounds, mut from_s, mut ios): (Vec<f64>, f64, f64) = (Vec::new(), first.start_s, 0.0);
    for one in &counted {
        ios += one.all().ios;
        if one.end_s - from_s >= wanted_s - 1e-6 {
            rounds.push(ios / (one.end_s - from_s));
            (from_s, ios) = (one.end_s, 0.0);
        }
    }
    let is_steady = |window: &[f64]| {
        let mean = window.iter().sum::<f64>() / window.len() as f64;
        let (low, high) = ends(window);
        (high - low) <= 0.2 * mean * (1.0 + 1e-9) && excursion(window) <= 10.0 + 1e-9
    };
    let reached = (5..=rounds.len().min(25)).find(|end| is_steady(&rounds[end - 5..*end]));
    differences.expect("round", reached.map(|round| round as f64), EXACT);
    differences.expect("rounds", Some(reached.unwrap_or(rounds.len().min(25)) as f64), EXACT);
    let reported = fields.get("reached").and_then(Value::as_bool).unwrap_or(false);
    differences.require(reported == reached.is_some(), "steady state is said otherwise than recomputed");
}

/// What a search found is kept as an event's data; the last answer counts.
fn found_load(differences: &mut Differences<'_>, case: &Case) {
    let answer = case.moments.iter().rev().find(|moment| moment.kind == "max-under-latency");
    let Some(answer) = answer else {
        return differences.require(false, "the run kept no answer of a search");
    };
    for field in ["load", "below_ns", "holds_at", "iops", "confidence_95.0", "confidence_95.1"] {
        let (first, rest) = field.split_once('.').unwrap_or((field, ""));
        let value = &answer.data[first];
        let value = rest.parse::<usize>().map_or(value, |place| &value[place]);
        differences.expect(field, value.as_f64(), EXACT);
    }
}

/// What of an entity's name says which kind of part it is: `node-0/server-1` is a `server`.
fn part_of(entity: &str) -> &str {
    let part = entity.rsplit('/').next().unwrap_or(entity);
    match part.rsplit_once('-') {
        Some((kind, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => kind,
        _ => part,
    }
}

/// Growth of a cumulative counter over the counted time, and that time.
fn grown(counter: &Counter, ramp_s: f64, began_s: f64) -> Option<(f64, f64)> {
    let points: Vec<(f64, f64)> = counter
        .points
        .iter()
        .filter_map(|(at, value)| Some(((*at)?, *value)))
        .filter(|(at, _)| *at >= ramp_s - 1e-6)
        .collect();
    let last = points.last()?;
    let (from_s, from) = if ramp_s > began_s { *points.first()? } else { (began_s, 0.0) };
    (last.0 > from_s).then_some((last.1 - from, last.0 - from_s))
}

/// When the ramp ended, and when the twin that gave the result began: each point of a search has a twin of its own.
fn times(case: &Case) -> (f64, f64) {
    let ramp_s = case.intervals.iter().filter(|one| one.is_ramp).map(|one| one.end_s).fold(0.0, f64::max);
    let answer = case.moments.iter().rev().find(|moment| moment.kind == "max-under-latency");
    let began_s = answer
        .and_then(|answer| answer.at_s)
        .map_or(0.0, |at_s| at_s - case.number("ramp_time").unwrap_or(0.0));
    (ramp_s, began_s)
}

/// How busy parts were, from their counters.
fn uses(differences: &mut Differences<'_>, case: &Case) {
    let fields = differences.fields;
    let (ramp_s, began_s) = times(case);
    let count = fields.get("uses").and_then(Value::as_array).map_or(0, Vec::len);
    for place in 0..count {
        let one = &fields["uses"][place];
        let (part, resource) =
            (one["part"].as_str().unwrap_or_default(), one["resource"].as_str().unwrap_or_default());
        let mean_of = |counter: &Counter| {
            let after: Vec<f64> = counter
                .points
                .iter()
                .filter(|(at, _)| at.is_some_and(|at| at >= ramp_s - 1e-6))
                .map(|(_, value)| *value)
                .collect();
            (!after.is_empty()).then(|| after.iter().sum::<f64>() / after.len() as f64)
        };
        let servers = |busy: &Counter| {
            let pool = match busy.name.as_str() {
                name if name.starts_with("processors") => "processors",
                "threads_busy_ns" => "fill_threads",
                _ => return Some(1.0),
            };
            let pool = case.counters.iter().find(|other| other.entity == busy.entity && other.name == pool);
            pool.and_then(|pool| pool.points.last()).map(|point| point.1.max(1.0))
        };
        let shares = case.counters.iter().filter_map(|counter| {
            match (counter.source.as_str(), counter.name.as_str()) {
                ("twin", name) if part_of(&counter.entity) == part => {
                    let own = if name == "busy_ns" { "core" } else { name.strip_suffix("_busy_ns")? };
                    let (busy_ns, elapsed_s) = grown(counter, ramp_s, began_s)?;
                    (own == resource).then_some(busy_ns / 1e9 / elapsed_s / servers(counter)?)
                }
                ("disk", "%util") if part == "disk" => mean_of(counter).map(|percent| percent / 100.0),
                ("cpu", "%idle") if part == "cpu" && counter.entity == "all" => {
                    mean_of(counter).map(|idle| 1.0 - idle / 100.0)
                }
                _ => None,
            }
        });
        let used: Vec<f64> = shares
            .filter(|share| (0.0..=1.02).contains(share))
            .map(|share| share.min(1.0))
            .filter(|share| *share > 1e-6)
            .collect();
        let mean = used.iter().sum::<f64>() / used.len().max(1) as f64;
        differences.expect(&format!("uses.{place}.mean_percent"), Some(100.0 * mean), EXACT);
        differences.expect(&format!("uses.{place}.parts"), Some(used.len() as f64), EXACT);
    }
}

/// What each path of a device carried.
fn path_balance(differences: &mut Differences<'_>, case: &Case) {
    let (ramp_s, began_s) = times(case);
    let paths = text(differences.fields, "paths");
    let mut carried: Vec<(&str, f64)> = Vec::new();
    for counter in &case.counters {
        let after = || counter.points.iter().filter(|(at, _)| at.is_some_and(|at| at >= ramp_s - 1e-6));
        let is_its = match counter.source.as_str() {
            "twin" => part_of(&counter.entity) == paths,
            "path" => match (counter.entity.rsplit_once('/'), paths.split_once(" of ")) {
                (Some((device, _)), Some((_, wanted))) => device == wanted,
                (None, None) => paths == "path",
                _ => false,
            },
            source => source == paths,
        };
        let bytes = match (counter.source.as_str(), counter.name.as_str()) {
            _ if !is_its => continue,
            ("twin", "to_array_bytes" | "to_host_bytes") => {
                grown(counter, ramp_s, began_s).map(|grown| grown.0)
            }
            ("path" | "port", "rkB/s" | "wkB/s") => {
                let count = after().count();
                (count > 0).then(|| after().map(|point| point.1).sum::<f64>() / count as f64 * 1024.0)
            }
            _ => continue,
        };
        let Some(bytes) = bytes else { continue };
        match carried.iter_mut().find(|known| known.0 == counter.entity) {
            Some(known) => known.1 += bytes,
            None => carried.push((&counter.entity, bytes)),
        }
    }
    let all: f64 = carried.iter().map(|one| one.1).sum();
    for (place, (_, bytes)) in carried.iter().enumerate() {
        differences.expect(&format!("shares_percent.{place}"), Some(100.0 * bytes / all), EXACT);
    }
}

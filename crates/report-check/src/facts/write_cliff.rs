//! Write cliffs, of a case or of the rounds of a stage.

use super::Facts;
use super::differences::{Differences, EXACT, Fields, close, number, text};
use crate::run::{Case, Interval};

impl Facts<'_> {
    /// A fall of the write rate. Of a stage of rounds it is that of all rounds one after another.
    pub(super) fn write_cliff(&self, differences: &mut Differences<'_>) {
        let fields = differences.fields;
        let Some(case) = self.case_or_stage(fields) else {
            return differences.require(false, "about no case of the run");
        };
        let counted = case.counted();
        let Some(onset_s) = number(fields, "onset_s") else {
            return differences.require(false, "without an onset");
        };
        let written = until_bytes(&case, onset_s);
        differences.expect("bytes_written", Some(written), EXACT);
        let recovered_s = number(fields, "recovery.at_s");
        let further: Vec<f64> =
            (0..).map_while(|place| number(fields, &format!("further_falls.{place}.onset_s"))).collect();
        let next_s = |place: usize| further.get(place).copied().unwrap_or(f64::INFINITY);
        fall(differences, &counted, "", recovered_s.unwrap_or(f64::INFINITY).min(next_s(0)));
        for place in 0..further.len() {
            fall(differences, &counted, &format!("further_falls.{place}."), next_s(place + 1));
        }
        let field = |path: &str| number(fields, path).unwrap_or(f64::NAN);
        let reserve = (written - field("after.bw_bytes_per_s") * onset_s).max(0.0);
        differences.expect("reserve_bytes", Some(reserve), EXACT);
        let settled = onset_s + number(fields, "fall_s").unwrap_or(0.0);
        let last_settled = match further.last() {
            Some(last) => {
                last + number(fields, &format!("further_falls.{}.fall_s", further.len() - 1)).unwrap_or(0.0)
            }
            None => settled,
        };
        let rest: Vec<&Interval> = counted.iter().filter(|one| one.start_s >= last_settled - 1e-9).collect();
        let sustained = rates(rest[rest.len() / 2..].iter().copied(), None);
        expect_level(differences, "sustained", sustained);
        if let Some(at_s) = recovered_s {
            differences.require(at_s > onset_s, "it recovers before it falls");
            let risen = counted.iter().filter(|one| is_within(one, at_s, next_s(0)));
            expect_level(differences, "recovery.to", rates(risen, Some(1)));
            let share = 100.0 * field("recovery.to.bw_bytes_per_s") / field("before.bw_bytes_per_s");
            differences.expect("recovery.share_percent", Some(share), EXACT);
        }
    }

    /// The case of a finding; of a stage of rounds all rounds one after another.
    pub(super) fn case_or_stage(&self, fields: &Fields) -> Option<Case> {
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
}

/// Levels of one fall, of the fields with this prefix: before it, and after it until `end_s`.
fn fall(differences: &mut Differences<'_>, counted: &[Interval], prefix: &str, end_s: f64) {
    let fields = differences.fields;
    let field = |name: &str| number(fields, &format!("{prefix}{name}")).unwrap_or(f64::NAN);
    let onset_s = field("onset_s");
    let is_edge = counted.iter().any(|one| (one.start_s - onset_s).abs() < 1e-6);
    differences.require(is_edge, "an onset is at no beginning of an interval");
    // The level before is of a stretch that ends with the fall; what came earlier may have been another one.
    let until_onset: Vec<&Interval> = counted.iter().filter(|one| one.end_s <= onset_s + 1e-9).collect();
    let of_last = |count: usize| rates(until_onset[until_onset.len() - count..].iter().copied(), Some(1));
    let (iops, bandwidth) = (field("before.iops"), field("before.bw_bytes_per_s"));
    let is_reported = |level: &(f64, f64)| close(iops, level.0, EXACT) && close(bandwidth, level.1, EXACT);
    let stretch = (1..=until_onset.len()).rev().filter_map(of_last).find(is_reported);
    expect_level(differences, &format!("{prefix}before"), stretch.or_else(|| of_last(until_onset.len())));
    let settled_s = onset_s + field("fall_s");
    let after = counted.iter().filter(|one| is_within(one, settled_s, end_s));
    expect_level(differences, &format!("{prefix}after"), rates(after, Some(1)));
    let depth = 100.0 * (1.0 - field("after.bw_bytes_per_s") / bandwidth);
    differences.expect(&format!("{prefix}depth_percent"), Some(depth), EXACT);
}

fn is_within(one: &Interval, from_s: f64, to_s: f64) -> bool {
    one.start_s >= from_s - 1e-9 && one.end_s <= to_s + 1e-9
}

fn expect_level(differences: &mut Differences<'_>, name: &str, level: Option<(f64, f64)>) {
    differences.expect(&format!("{name}.iops"), level.map(|level| level.0), EXACT);
    differences.expect(&format!("{name}.bw_bytes_per_s"), level.map(|level| level.1), EXACT);
}

/// A fall of the write rate within a ramp: the level before ends with its onset and has the highest rate of the ramp in it, the level
/// after is that of the first ten counted intervals.
pub(super) fn ramp_fall(differences: &mut Differences<'_>, case: &Case) {
    let fields = differences.fields;
    let onset_s = number(fields, "onset_s").unwrap_or(f64::NAN);
    let ramp: Vec<&Interval> =
        case.intervals.iter().filter(|one| one.is_ramp && one.length_s() > 0.0).collect();
    let until: Vec<&Interval> = ramp.iter().filter(|one| one.end_s <= onset_s + 1e-9).copied().collect();
    differences.require(
        until.last().is_some_and(|last| (last.end_s - onset_s).abs() < 1e-6),
        "its onset is at no end of an interval of the ramp",
    );
    let rate = |one: &Interval| one.flows[1].bytes / one.length_s();
    let highest = ramp.iter().map(|one| rate(one)).fold(0.0, f64::max);
    let level = until.iter().rev().take_while(|one| rate(one) >= 0.9 * highest);
    let before = rates(level.clone().copied(), Some(1));
    differences.require(
        level.clone().any(|one| rate(one) == highest),
        "the ramp's highest rate is not in the level before",
    );
    let after = rates(case.counted().iter().take(10), Some(1));
    expect_level(differences, "before", before);
    expect_level(differences, "after", after);
    let depth = before.zip(after).map(|(before, after)| 100.0 * (1.0 - after.1 / before.1));
    differences.expect("depth_percent", depth, EXACT);
    differences.require(depth.is_some_and(|depth| depth >= 20.0), "its fall is less than a fifth");
    differences.expect("bytes_written", Some(until_bytes(case, onset_s)), EXACT);
}

/// Bytes written in the intervals that end with a moment.
fn until_bytes(case: &Case, end_s: f64) -> f64 {
    let until = case.intervals.iter().filter(|one| one.end_s <= end_s + 1e-9);
    until.map(|one| one.flows[1].bytes).sum()
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

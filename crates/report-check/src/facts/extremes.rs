//! Findings about groups of cases: extremes, saturation, block sizes and write penalty.

use super::Facts;
use super::differences::{Differences, EXACT, number, text};
use crate::run::Case;

impl Facts<'_> {
    pub(super) fn extreme(&self, differences: &mut Differences<'_>, kind: &str, case: &Case) {
        let fields = differences.fields;
        let group = self.group(fields);
        differences
            .require(group.iter().any(|one| one.name == case.name), "its case is not one of its group");
        differences.expect("mean_latency_ns", Some(case.mean_latency_ns()), EXACT);
        let moving = || group.iter().filter(|one| one.iops() > 0.0 && !one.reads_nothing());
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

    pub(super) fn saturation(&self, differences: &mut Differences<'_>) {
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

    pub(super) fn blocks(&self, differences: &mut Differences<'_>, kind: &str) {
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

    pub(super) fn penalty(&self, differences: &mut Differences<'_>) {
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
}

//! Conclusions on degradation: write cliffs, events, exceeded limits, unsettled means.

use super::{Conclusion, OF_A_KIND_LIMIT, one};
use crate::cited::{Cited, Quantity, Source, Unit};
use crate::finding::{Fact, Finding};
use crate::{Disruption, Excursion, Findings, Kind, NoWriteCliff, WriteCliff, cited};

impl Findings {
    pub(super) fn cliffs(&self) -> Vec<Conclusion> {
        let found = self.ranked(
            Kind::WriteCliff,
            |fact| match fact {
                Fact::WriteCliff(cliff) => Some(&**cliff),
                _ => None,
            },
            |cliff| cliff.depth_percent,
        );
        // What few cases do, such as a cache that fills, is not what the target is like.
        let weight = if self.are_rare(&found) { 46 } else { 100 };
        // The deepest of each workload: other block sizes of it fall alike.
        let mut listed_workloads: Vec<String> = Vec::new();
        let mut is_another = |finding: &Finding| {
            let kind = self.workload_but_size(finding);
            let is_new = !listed_workloads.contains(&kind);
            if is_new {
                listed_workloads.push(kind);
            }
            is_new
        };
        let mut sentences: Vec<Conclusion> = found
            .iter()
            .filter(|(finding, _)| is_another(finding))
            .take(OF_A_KIND_LIMIT)
            .map(|(finding, cliff)| one(weight, finding, self.fall(finding, cliff)))
            .collect();
        if found.len() > sentences.len() {
            sentences.extend(several(&found, weight - 1));
        }
        if found.is_empty() {
            sentences.extend(self.no_cliff());
        }
        sentences.extend(self.ramp_fall());
        sentences
    }

    /// Conclusion on falls within a ramp, the deepest of them told.
    fn ramp_fall(&self) -> Option<Conclusion> {
        let found = self.ramp_falls();
        let (deepest, _) = found.first()?;
        let number = |field: &str| deepest.number(field);
        let own = cited!(
            "by {} after {} and {} written: from {} ({}) to {} ({})",
            number("depth_percent").percent_of_all(),
            number("onset_s").duration(),
            number("bytes_written").gigabytes(),
            number("before.iops").iops(),
            number("before.bw_bytes_per_s").bandwidth(),
            number("after.iops").iops(),
            number("after.bw_bytes_per_s").bandwidth()
        );
        let all: Vec<Source> =
            found.iter().map(|(finding, _)| Source::finding(&finding.id, "onset_s")).collect();
        let text = match found.len() {
            1 => cited!(
                "Within the ramp, which is not counted, writes fall {} ({}).",
                own,
                self.load_of(deepest)
            ),
            _ => cited!(
                "Within the ramp, which is not counted, writes fall in {}, most {} ({}).",
                Quantity::count_of(&all).count("case"),
                own,
                self.load_of(deepest)
            ),
        };
        Some(Conclusion {
            weight: 41,
            text,
            findings: found.iter().map(|(finding, _)| finding.id.clone()).collect(),
        })
    }

    fn fall(&self, finding: &Finding, cliff: &WriteCliff) -> Cited {
        let number = |field: &str| finding.number(field);
        let recovers = match &cliff.recovery {
            Some(_) => cited!(
                " After {} the rate is back at {} of what it was.",
                number("recovery.at_s").duration(),
                number("recovery.share_percent").percent()
            ),
            None => Cited::default(),
        };
        let further: Vec<Source> = (0..cliff.further_falls.len())
            .map(|place| Source::finding(&finding.id, &format!("further_falls.{place}.onset_s")))
            .collect();
        let falls = match further.len() {
            0 => Cited::default(),
            1 => cited!(" It falls once more."),
            _ => cited!(" It falls {} times more.", Quantity::count_of(&further).plain(0)),
        };
        cited!(
            "Writes fall by {} after {} and {} written, of which about {} used up a reserve: from {} ({}) to {} ({}). \
             In the long run {}{} remain ({}).{}{}",
            number("depth_percent").percent_of_all(),
            number("onset_s").duration(),
            number("bytes_written").gigabytes(),
            number("reserve_bytes").gigabytes(),
            number("before.iops").iops(),
            number("before.bw_bytes_per_s").bandwidth(),
            number("after.iops").iops(),
            number("after.bw_bytes_per_s").bandwidth(),
            number("sustained.iops").iops(),
            if cliff.reads_after.is_some() { " of reads and writes together" } else { "" },
            self.load_of(finding),
            recovers,
            falls
        )
    }

    /// Conclusion where no write cliff was found: that it could have been seen, or why it could not.
    fn no_cliff(&self) -> Option<Conclusion> {
        let none: Vec<(&Finding, &NoWriteCliff)> = self
            .of_kind(Kind::NoWriteCliff)
            .filter_map(|finding| match &finding.fact {
                Fact::NoWriteCliff(fact) => Some((finding, &**fact)),
                _ => None,
            })
            .collect();
        let could = none.iter().filter(|(_, fact)| fact.could_show());
        let longest = could.max_by(|a, b| a.1.length_s.total_cmp(&b.1.length_s));
        let findings = none.iter().map(|(finding, _)| finding.id.clone()).collect();
        let all: Vec<Source> =
            none.iter().map(|(finding, _)| Source::finding(&finding.id, "length_s")).collect();
        let cases = Quantity::count_of(&all);
        let text = match longest {
            Some((finding, fact)) => cited!(
                "No write cliff was found{} in {} with writes, the longest of {}: {}. Whether longer load would bring one is not \
                 proven.",
                self.beyond_ramp(),
                cases.count("case"),
                finding.number("length_s").duration(),
                reason(finding, fact)
            ),
            None => {
                let (finding, fact) = none.iter().max_by(|a, b| a.1.length_s.total_cmp(&b.1.length_s))?;
                cited!(
                    "Whether writes fall{} is not shown by any of {} with writes; of the longest, {}: {}.",
                    self.beyond_ramp(),
                    cases.count("case"),
                    finding.number("length_s").duration(),
                    reason(finding, fact)
                )
            }
        };
        Some(Conclusion { weight: 40, text, findings })
    }

    pub(super) fn disruptions(&self) -> Vec<Conclusion> {
        let found = self.ranked(
            Kind::Disruption,
            |fact| match fact {
                Fact::Disruption(disruption) => Some(&**disruption),
                _ => None,
            },
            Disruption::extent,
        );
        let (felt, unfelt): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(_, disruption)| disruption.has_effect);
        let mut sentences: Vec<Conclusion> = felt
            .iter()
            .take(OF_A_KIND_LIMIT)
            .map(|(finding, disruption)| {
                // A limit that was set is meant to take the rate down.
                let weight = if self.is_limited(finding) { 48 } else { 70 };
                one(weight, finding, disruption.sentence(finding))
            })
            .collect();
        // What changed nothing is worth one line, whatever it was.
        let unfelt: Vec<_> = unfelt.into_iter().take(OF_A_KIND_LIMIT).collect();
        if !unfelt.is_empty() {
            let events = unfelt.iter().map(|(finding, disruption)| {
                cited!("“{}” (at {})", disruption.name(finding), finding.number("at_s").duration())
            });
            sentences.push(Conclusion {
                weight: 26,
                text: cited!(
                    "Neither the rate nor latency leaves its level beyond noise after {}.",
                    Cited::join(events, ", ")
                ),
                findings: unfelt.iter().map(|(finding, _)| finding.id.clone()).collect(),
            });
        }
        sentences
    }

    pub(super) fn conformances(&self) -> Option<Conclusion> {
        let all: Vec<&Finding> = self.of_kind(Kind::Conformance).collect();
        let numbers =
            |field: &str| all.iter().map(|finding| finding.number(field)).collect::<Vec<Quantity>>();
        let intervals = Quantity::sum(&numbers("intervals"))?;
        let above = Quantity::sum(&numbers("intervals_above"))?;
        let limits: Vec<Source> = all.iter().map(|finding| Source::finding(&finding.id, "allowed")).collect();
        Some(Conclusion {
            weight: 52,
            text: cited!(
                "Limits were kept in {} of {} under {}.",
                intervals.clone().minus(&above).plain(0),
                intervals.count("interval"),
                Quantity::count_of(&limits).count("limit")
            ),
            findings: all.iter().map(|finding| finding.id.clone()).collect(),
        })
    }

    /// Means of cases that never settled are no levels that last.
    pub(super) fn unsteady(&self) -> Option<Conclusion> {
        let unsteady: Vec<&Finding> = self
            .of_kind(Kind::SteadyState)
            .filter(|finding| matches!(&finding.fact, Fact::SteadyState(state) if !state.reached))
            .collect();
        let first = unsteady.first()?;
        let cases: Vec<Source> =
            unsteady.iter().map(|finding| Source::finding(&finding.id, "rounds")).collect();
        Some(Conclusion {
            weight: 30,
            text: if unsteady.len() == 1 {
                cited!(
                    "{} did not reach SNIA’s steady state ({}): that its mean would last is not proven.",
                    Quantity::count_of(&cases).count("case"),
                    self.load_of(first)
                )
            } else {
                cited!(
                    "{} did not reach SNIA’s steady state ({} among them): that their means would last is not proven.",
                    Quantity::count_of(&cases).count("case"),
                    self.load_of(first)
                )
            },
            findings: unsteady.iter().map(|finding| finding.id.clone()).collect(),
        })
    }
}

fn reason(finding: &Finding, fact: &NoWriteCliff) -> Cited {
    Cited::quote(&fact.reason, Source::finding(&finding.id, "reason"))
}

impl NoWriteCliff {
    /// Returns true if a fall would have been seen, had there been one.
    pub(crate) fn could_show(&self) -> bool {
        self.smallest_visible_percent.is_some()
    }
}

/// Conclusion about writes that fall in several cases.
fn several(found: &[(&Finding, &WriteCliff)], weight: u32) -> Option<Conclusion> {
    let onsets = || found.iter().map(|(finding, _)| finding.number("onset_s")).collect::<Vec<_>>();
    let cases: Vec<Source> =
        found.iter().map(|(finding, _)| Source::finding(&finding.id, "onset_s")).collect();
    let [half_from, half_to] = Quantity::middle_half(&onsets())?;
    let (from, to) = (half_from.duration(), half_to.duration());
    let half = match from.text() == to.text() {
        // Most fall at about one moment: a range from it to itself would say nothing.
        true => Cited::default(),
        false => cited!("; half of them after {} to {}", from, to),
    };
    Some(Conclusion {
        weight,
        text: cited!(
            "In {} writes fall, after {} to {}{}.",
            Quantity::count_of(&cases).count("case"),
            Quantity::smallest(&onsets())?.duration(),
            Quantity::largest(&onsets())?.duration(),
            half
        ),
        findings: found.iter().map(|(finding, _)| finding.id.clone()).collect(),
    })
}

/// From here on a change is easier read as so many times than in percent.
const TIMES_PERCENT: f64 = 1000.0;

/// A mean that moved by less than this is told as unchanged.
const UNCHANGED_PERCENT: f64 = 0.5;

/// Words for a quantity that an event moves.
struct QuantityText {
    /// `IOPS`, `mean latency`.
    what: &'static str,
    /// It goes this way for a while.
    moves: &'static str,
    /// It stays where it went.
    stays: &'static str,
    /// It does not leave its level.
    keeps: &'static str,
    /// Fields of its excursions and of its change.
    excursions: &'static str,
    change: &'static str,
    before: &'static str,
    after: &'static str,
    print: fn(Quantity) -> Cited,
}

const RATE: QuantityText = QuantityText {
    what: "IOPS",
    moves: "fall",
    stays: "stay",
    keeps: "do not leave their level beyond noise",
    excursions: "dips",
    change: "rate_change",
    before: "before_iops",
    after: "after_iops",
    print: Quantity::iops,
};

const LATENCY: QuantityText = QuantityText {
    what: "mean latency",
    moves: "rises",
    stays: "stays",
    keeps: "does not leave its level beyond noise",
    excursions: "latency_bumps",
    change: "latency_change",
    before: "before_ns",
    after: "after_ns",
    print: Quantity::latency,
};

impl Disruption {
    /// Extent of a change, for ordering: the area between the levels and what was measured.
    fn extent(&self) -> f64 {
        let area =
            |all: &[Excursion]| all.iter().map(|one| one.length_s * one.mean_percent.abs()).sum::<f64>();
        let persistent = |change: Option<(f64, f64)>| {
            change.map_or(0.0, |(from_s, percent)| (self.until_s - from_s).max(0.0) * percent.abs())
        };
        area(&self.dips)
            + area(&self.latency_bumps)
            + persistent(self.rate_change.map(|change| (change.from_s, change.change_percent)))
            + persistent(self.latency_change.map(|change| (change.from_s, change.change_percent)))
    }

    fn name(&self, finding: &Finding) -> Cited {
        Cited::quote(&self.event, Source::finding(&finding.id, "event"))
    }

    /// Effect of the event in words: how far rate and latency went, for how long, what stays changed, and the mean over all I/Os, which
    /// a short bump moves where the median does not.
    fn sentence(&self, finding: &Finding) -> Cited {
        let rate_change = self.rate_change.map(|change| (change.change_percent, change.held_s));
        let latency_change = self.latency_change.map(|change| (change.change_percent, change.held_s));
        let errors = match self.errors {
            0 => cited!("no I/O failed"),
            _ => cited!("{} failed", finding.number("errors").count("I/O")),
        };
        cited!(
            "“{}” (at {}): {}; {}; over all I/Os from then on mean latency is {}; {}.",
            self.name(finding),
            finding.number("at_s").duration(),
            trend(finding, &RATE, &self.dips, rate_change),
            trend(finding, &LATENCY, &self.latency_bumps, latency_change),
            change(finding, "mean_latency_percent", self.mean_latency_percent),
            errors
        )
    }
}

/// A level that held for longer than this after an event changes for another reason, as far as one can tell: paths and drives are
/// given up within a minute.
pub(crate) const HELD_MOST_S: f64 = 60.0;

/// Excursions of a quantity, and the level to which it changed.
fn trend(finding: &Finding, spoken: &QuantityText, all: &[Excursion], changed: Option<(f64, f64)>) -> Cited {
    let stays = changed.map(|(percent, held_s)| {
        let number = |field: &str| finding.number(&format!("{}.{field}", spoken.change));
        let by = number("change_percent").abs();
        let held = match held_s > HELD_MOST_S {
            true => {
                let held = number("held_s").duration();
                cited!(", having held for {} after the event, so that it may have another cause", held)
            }
            false => Cited::default(),
        };
        cited!(
            "{} {} {} from {} on ({} before, {} after){}",
            spoken.stays,
            by.percent_of_all(),
            if percent < 0.0 { "lower" } else { "higher" },
            number("from_s").duration(),
            (spoken.print)(number(spoken.before)),
            (spoken.print)(number(spoken.after)),
            held
        )
    });
    let moves = excursions(finding, spoken, all);
    let says = match (moves, stays) {
        (Some(moves), Some(stays)) => cited!("{} and {}", moves, stays),
        (Some(one), None) | (None, Some(one)) => one,
        (None, None) => Cited::from(spoken.keeps),
    };
    cited!("{} {}", spoken.what, says)
}

fn excursions(finding: &Finding, spoken: &QuantityText, all: &[Excursion]) -> Option<Cited> {
    let place_of = |value: fn(&Excursion) -> f64| {
        all.iter().enumerate().max_by(|a, b| value(a.1).total_cmp(&value(b.1))).map(|one| one.0)
    };
    let farthest = place_of(|one| one.extreme_percent.abs())?;
    let longest = place_of(|one| one.length_s)?;
    let number = |place: usize, of: &str| finding.number(&format!("{}.{place}.{of}", spoken.excursions));
    let size = number(farthest, "extreme_percent");
    let size = if all[farthest].extreme_percent < TIMES_PERCENT {
        cited!("by up to {}", size.abs().percent_of_all())
    } else {
        let whole = Quantity::constant("whole", 1.0);
        let times = Quantity::sum(&[size, whole]).map(|times| times.plain(0)).unwrap_or_default();
        cited!("to up to {} times the level before", times)
    };
    // An excursion that is not over when the case ends may last for ever.
    let is_over = all.last().is_none_or(|last| last.is_over);
    let length = number(longest, "length_s").duration();
    let how_long = match (all.len(), is_over) {
        (1, true) => cited!(", for {}", length),
        (1, false) => cited!(" and had not recovered when the case ended after {}", length),
        (_, is_over) => {
            let each: Vec<Source> = (0..all.len())
                .map(|place| Source::finding(&finding.id, &format!("{}.{place}.length_s", spoken.excursions)))
                .collect();
            cited!(
                ", {} times, for {} at the longest{}",
                Quantity::count_of(&each).plain(0),
                length,
                if is_over { "" } else { ", and had not recovered when the case ended" }
            )
        }
    };
    Some(cited!("{} {}{}", spoken.moves, size, how_long))
}

/// A share of the level before as a change against it.
fn change(finding: &Finding, field: &str, percent: f64) -> Cited {
    let share = finding.number(field);
    let more = percent - 100.0;
    if more.abs() < UNCHANGED_PERCENT {
        return cited!("as before");
    }
    if percent >= TIMES_PERCENT {
        return cited!("{} times that before", share.with_unit(Unit::Ratio).plain(0));
    }
    let moved = share.minus(&Quantity::constant("whole", 1.0)).abs();
    let decimals = usize::from(more.abs() < 10.0);
    cited!("{} {} than before", moved.percent_with(decimals), if more > 0.0 { "higher" } else { "lower" })
}

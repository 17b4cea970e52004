//! Sentences on events, limits that were set, and means that did not settle.

use super::{OF_A_KIND_LIMIT, Sentence, Sentences, one};
use findings::{Cited, Disruption, Excursion, Fact, Finding, Kind, Quantity, Source, Unit, cited};

impl Sentences<'_> {
    pub(super) fn disruptions(&self) -> Vec<Sentence> {
        let found = self.found.ranked(
            Kind::Disruption,
            |fact| match fact {
                Fact::Disruption(disruption) => Some(&**disruption),
                _ => None,
            },
            Disruption::extent,
        );
        let (felt, unfelt): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|(_, disruption)| disruption.has_effect);
        let mut sentences: Vec<Sentence> = felt
            .iter()
            .take(OF_A_KIND_LIMIT)
            .map(|(finding, disruption)| {
                // A limit that was set is meant to take the rate down.
                let weight = if self.found.is_limited(finding) { 48 } else { 70 };
                one(weight, finding, sentence(finding, disruption))
            })
            .collect();
        // What changed nothing is worth one line, whatever it was.
        let unfelt: Vec<_> = unfelt.into_iter().take(OF_A_KIND_LIMIT).collect();
        if !unfelt.is_empty() {
            let events = unfelt.iter().map(|(finding, disruption)| {
                cited!("“{}” (at {})", name(finding, disruption), finding.number("at_s").duration())
            });
            sentences.push(Sentence {
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

    pub(super) fn conformances(&self) -> Option<Sentence> {
        let all: Vec<&Finding> = self.found.of_kind(Kind::Conformance).collect();
        let numbers =
            |field: &str| all.iter().map(|finding| finding.number(field)).collect::<Vec<Quantity>>();
        let intervals = Quantity::sum(&numbers("intervals"))?;
        let above = Quantity::sum(&numbers("intervals_above"))?;
        let limits: Vec<Source> = all.iter().map(|finding| Source::finding(&finding.id, "allowed")).collect();
        Some(Sentence {
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
    pub(super) fn unsteady(&self) -> Option<Sentence> {
        let unsteady: Vec<&Finding> = self
            .found
            .of_kind(Kind::SteadyState)
            .filter(|finding| matches!(&finding.fact, Fact::SteadyState(state) if !state.reached))
            .collect();
        let first = unsteady.first()?;
        let cases: Vec<Source> =
            unsteady.iter().map(|finding| Source::finding(&finding.id, "rounds")).collect();
        Some(Sentence {
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

fn name(finding: &Finding, of: &Disruption) -> Cited {
    Cited::quote(&of.event, Source::finding(&finding.id, "event"))
}

/// Effect of the event in words: how far rate and latency went, for how long, what stays changed, and the mean over all I/Os, which
/// a short bump moves where the median does not.
fn sentence(finding: &Finding, of: &Disruption) -> Cited {
    let rate_change = of.rate_change.map(|change| (change.change_percent, change.held_s));
    let latency_change = of.latency_change.map(|change| (change.change_percent, change.held_s));
    let errors = match of.errors {
        0 => cited!("no I/O failed"),
        _ => cited!("{} failed", finding.number("errors").count("I/O")),
    };
    cited!(
        "“{}” (at {}): {}; {}; over all I/Os from then on mean latency is {}; {}.",
        name(finding, of),
        finding.number("at_s").duration(),
        trend(finding, &RATE, &of.dips, rate_change),
        trend(finding, &LATENCY, &of.latency_bumps, latency_change),
        change(finding, "mean_latency_percent", of.mean_latency_percent),
        errors
    )
}

/// A level that held for longer than this after an event changes for another reason, as far as one can tell: paths and drives are
/// given up within a minute.
pub(super) const HELD_MOST_S: f64 = 60.0;

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

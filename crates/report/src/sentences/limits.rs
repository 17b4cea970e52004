//! Sentences on bottlenecks and path balance.

use super::{OF_A_KIND_LIMIT, Sentence, Sentences, one};
use findings::{Cited, Fact, Kind, Limit, Quantity, Source, cited};

/// Paths of which none carries more than this many times the mean are even: published multipath figures lie within.
const EVEN: f64 = 1.1;

impl Sentences<'_> {
    pub(super) fn limits(&self) -> Vec<Sentence> {
        let found = self.found.ranked(
            Kind::Limit,
            |fact| match fact {
                Fact::Limit(limit) => Some(&**limit),
                _ => None,
            },
            |limit| limit.iops,
        );
        // Which part happens to be busiest says nothing where too little is outstanding.
        let kind = |limit: &Limit| {
            let part = if limit.by == "concurrency" { String::new() } else { limit.part.clone() };
            (limit.by.clone(), part)
        };
        let mut by: Vec<(String, String)> = Vec::new();
        for (_, limit) in &found {
            if !by.contains(&kind(limit)) {
                by.push(kind(limit));
            }
        }
        by.into_iter()
            .take(OF_A_KIND_LIMIT)
            .filter_map(|which| {
                let all: Vec<_> = found.iter().filter(|(_, limit)| kind(limit) == which).collect();
                let (finding, limit) = all.first()?;
                let load = self.load_of(finding);
                let (what, is_plural) = limiter(&which.0);
                let verb = if is_plural { "limit" } else { "limits" };
                let because = limit.because.clone();
                let ids: Vec<Source> =
                    all.iter().map(|(finding, _)| Source::finding(&finding.id, "by")).collect();
                let kinds = Quantity::count_of(&ids).count("workload");
                let text = match (which.0.as_str(), all.len()) {
                    ("unknown", 1) => cited!("What limits {} is not proven: {}.", load, because),
                    ("unknown", _) => {
                        cited!("What limits {} is not proven. At {}: {}.", kinds, load, because)
                    }
                    (_, 1) => cited!("{} {} {}: {}.", what, verb, load, because),
                    (_, _) => cited!("{} {} {}. At {}: {}.", what, verb, kinds, load, because),
                };
                Some(Sentence {
                    weight: if which.0 == "unknown" { 45 } else { 80 },
                    text: text.capitalised(),
                    findings: all.iter().map(|(finding, _)| finding.id.clone()).collect(),
                })
            })
            .collect()
    }

    /// Division of the load over a real host's paths. A twin's links are part of what bounds it, and said there.
    pub(super) fn paths(&self) -> Option<Sentence> {
        let ranked = self.found.ranked(
            Kind::PathBalance,
            |fact| match fact {
                Fact::PathBalance(balance) if balance.paths != "link" => Some(&**balance),
                _ => None,
            },
            |balance| balance.largest_over_mean,
        );
        let (finding, worst) = ranked.first()?;
        let name = Cited::quote(&worst.paths, Source::finding(&finding.id, "paths"));
        let paths = match worst.paths.split_once(" of ") {
            Some((_, device)) => {
                cited!("The paths of {}", Cited::quote(device, Source::finding(&finding.id, "paths")))
            }
            None => cited!("The {}s of the host", name),
        };
        let shares = (0..worst.shares_percent.len())
            .map(|place| finding.number(&format!("shares_percent.{place}")).of_percent().percent_with(1));
        let shares = Cited::join(shares, " : ");
        let says = if worst.largest_over_mean > EVEN {
            cited!("{} do not share the load evenly: {} ({}).", paths, shares, self.load_of(finding))
        } else {
            cited!(
                "{} share the load evenly: {} where they differ most ({}).",
                paths,
                shares,
                self.load_of(finding)
            )
        };
        Some(one(if worst.largest_over_mean > EVEN { 45 } else { 20 }, finding, says))
    }
}

/// A kind of limit, and whether it is several things.
pub(super) fn limiter(by: &str) -> (&'static str, bool) {
    match by {
        "link" => ("the links", true),
        "controller" => ("the controllers", true),
        "drive" => ("the drives", true),
        "generator" => ("the host that made the load", false),
        "rate" => ("the rate that was asked for", false),
        "concurrency" => ("the number of I/Os outstanding", false),
        _ => ("what cannot be seen from outside", false),
    }
}

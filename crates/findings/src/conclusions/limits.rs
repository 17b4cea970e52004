//! What bounds the target, and how its paths share the load.

use super::{Conclusion, OF_A_KIND_LIMIT, capitalised, one};
use crate::finding::Fact;
use crate::{Findings, Kind, words};

/// Paths of which none carries more than this many times the mean are even: published multipath figures lie within.
const EVEN: f64 = 1.1;

impl Findings {
    pub(super) fn limits(&self) -> Vec<Conclusion> {
        let found = self.ranked(
            Kind::Limit,
            |fact| match fact {
                Fact::Limit(limit) => Some(limit),
                _ => None,
            },
            |limit| limit.iops,
        );
        let mut by: Vec<(&str, &str)> = Vec::new();
        for (_, limit) in &found {
            if !by.contains(&(limit.by.as_str(), limit.part.as_str())) {
                by.push((&limit.by, &limit.part));
            }
        }
        by.into_iter()
            .take(OF_A_KIND_LIMIT)
            .filter_map(|which| {
                let all: Vec<_> = found
                    .iter()
                    .filter(|(_, limit)| (limit.by.as_str(), limit.part.as_str()) == which)
                    .collect();
                let (finding, limit) = all.first()?;
                let load = self.load_of(finding);
                let (what, is_plural) = words::limiter(which.0);
                let verb = if is_plural { "limit" } else { "limits" };
                let because = &limit.because;
                let text = match (which.0, all.len()) {
                    ("unknown", 1) => format!("What limits {load} is not proven: {because}."),
                    ("unknown", kinds) => {
                        format!("What limits {kinds} kinds of load is not proven. At {load}: {because}.")
                    }
                    (_, 1) => format!("{what} {verb} {load}: {because}."),
                    (_, kinds) => format!("{what} {verb} {kinds} kinds of load. At {load}: {because}."),
                };
                Some(Conclusion {
                    weight: if which.0 == "unknown" { 45 } else { 80 },
                    text: capitalised(&text),
                    findings: all.iter().map(|(finding, _)| finding.id.clone()).collect(),
                })
            })
            .collect()
    }

    /// How a real host's paths share the load. A twin's links are part of what bounds it, and said there.
    pub(super) fn paths(&self) -> Option<Conclusion> {
        let ranked = self.ranked(
            Kind::PathBalance,
            |fact| match fact {
                Fact::PathBalance(balance) if balance.paths != "link" => Some(balance),
                _ => None,
            },
            |balance| balance.largest_over_mean,
        );
        let (finding, worst) = ranked.first()?;
        let paths = match worst.paths.split_once(" of ") {
            Some((_, device)) => format!("The paths of {device}"),
            None => format!("The {}s of the host", worst.paths),
        };
        let shares: Vec<String> = worst.shares_percent.iter().map(|share| format!("{share:.1}")).collect();
        let shares = format!("{} %", shares.join(" : "));
        let says = if worst.largest_over_mean > EVEN {
            format!("{paths} do not share the load evenly: {shares} ({}).", self.load_of(finding))
        } else {
            format!(
                "{paths} share the load evenly: {shares} where they differ most ({}).",
                self.load_of(finding)
            )
        };
        Some(one(if worst.largest_over_mean > EVEN { 45 } else { 20 }, finding, says))
    }
}

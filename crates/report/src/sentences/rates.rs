//! Sentences on peak rates, block sizes, saturation and write penalties.

use super::{Sentence, Sentences, one};
use findings::{Cited, Fact, Finding, Kind, Quantity, Source, Unit, cited};

impl Sentences<'_> {
    pub(super) fn highest(&self) -> Vec<Sentence> {
        let mut sentences = Vec::new();
        if let Some((finding, level)) = self.found.peak_iops() {
            let is_mixed = level.read.is_some() && level.write.is_some();
            sentences.push(one(
                95,
                finding,
                cited!(
                    "At most {} were reached, at {} mean latency{} ({}).",
                    finding.number("iops").iops(),
                    finding.number("mean_latency_ns").latency(),
                    if is_mixed { " over reads and writes" } else { "" },
                    self.load_of(finding)
                ),
            ));
        }
        if let Some((finding, _)) = self.found.peak_bandwidth()
            && self.found.levels().nth(1).is_some()
        {
            sentences.push(one(
                85,
                finding,
                cited!(
                    "At most {} were moved ({}).",
                    finding.number("bw_bytes_per_s").bandwidth(),
                    self.load_of(finding)
                ),
            ));
        }
        sentences
    }

    pub(super) fn blocks(&self) -> Vec<Sentence> {
        let found = self.found.ranked(
            Kind::BestBlockSize,
            |fact| match fact {
                Fact::BestBlockSize(best) => Some(&**best),
                _ => None,
            },
            |best| best.points.iter().map(|point| point[1]).fold(0.0, f64::max),
        );
        let best = found.first().map(|(finding, _)| {
            one(
                65,
                finding,
                cited!(
                    "Blocks of {} suit it best: {} of the largest IOPS and {}; from {} on, bandwidth is within {} of the largest ({}).",
                    finding.number("best_bs").block(),
                    finding.number("iops_share_percent").percent(),
                    finding.number("bw_bytes_per_s").bandwidth(),
                    finding.number("best_bs_for_bandwidth").block(),
                    Quantity::constant("knee-tolerance", 0.10).percent(),
                    self.load_but_size(finding)
                ),
            )
        });
        let flattening = self.found.of_kind(Kind::Flattening).find_map(|finding| match &finding.fact {
            Fact::Flattening(flat) if flat.flattens && flat.from_bs.is_some() => Some(one(
                60,
                finding,
                cited!(
                    "From {} on the same bytes move each second, {} (± {}): larger blocks are as many fewer operations ({}).",
                    finding.number("from_bs").block(),
                    finding.number("bw_bytes_per_s").bandwidth(),
                    finding.number("deviation_percent").percent_with(1),
                    self.load_but_size(finding)
                ),
            )),
            _ => None,
        });
        best.into_iter().chain(flattening).collect()
    }

    pub(super) fn saturations(&self) -> Option<Sentence> {
        let found = self.found.ranked(
            Kind::Saturation,
            |fact| match fact {
                Fact::Saturation(saturation) => Some(&**saturation),
                _ => None,
            },
            |saturation| saturation.maximum_iops,
        );
        let (finding, saturation) = found.first()?;
        let setting = Cited::quote(&saturation.setting, Source::finding(&finding.id, "setting"));
        let host = self.host_limit(finding);
        let text = match saturation.at {
            Some(_) => cited!(
                "{} at {} = {}, with {} at {} ({}){}.",
                if host.is_some() { "The host that made the load saturates" } else { "It saturates" },
                setting,
                finding.number("at").with_unit(Unit::Setting).plain(0),
                finding.number("iops").iops(),
                finding.number("mean_latency_ns").latency(),
                self.load_of(finding),
                if host.is_some() { ": where the target does is not shown" } else { "" }
            ),
            None => cited!(
                "It does not saturate within the {} tested: the last step still gains ({}).",
                setting,
                self.load_of(finding)
            ),
        };
        let ids = [*finding].into_iter().chain(host).map(|finding| finding.id.clone()).collect();
        Some(Sentence { weight: 55, text, findings: ids })
    }

    /// The finding that the host limits one of the cases that a finding rests on: then no more load would say anything of the target.
    fn host_limit(&self, of: &Finding) -> Option<&Finding> {
        let is_of = |case: &str| of.rests_on.iter().any(|basis| &*basis.case == case);
        self.found.of_kind(Kind::Limit).find(|finding| {
            let is_host = matches!(&finding.fact, Fact::Limit(limit) if limit.by == "generator");
            is_host && finding.stage == of.stage && finding.case.as_deref().is_some_and(is_of)
        })
    }

    pub(super) fn penalties(&self) -> Vec<Sentence> {
        let found = self.found.ranked(
            Kind::WritePenalty,
            |fact| match fact {
                Fact::WritePenalty(penalty) => Some(&**penalty),
                _ => None,
            },
            |penalty| penalty.disks.unwrap_or(0) as f64,
        );
        let mut levels: Vec<u64> = found.iter().map(|(_, penalty)| penalty.raid).collect();
        levels.sort_unstable();
        levels.dedup();
        levels
            .into_iter()
            .filter_map(|raid| {
                let all: Vec<_> = found.iter().filter(|(_, penalty)| penalty.raid == raid).collect();
                let ratios = || all.iter().map(|(finding, _)| finding.number("ratio")).collect::<Vec<_>>();
                let (low, high) = (Quantity::smallest(&ratios())?, Quantity::largest(&ratios())?);
                let ids: Vec<Source> =
                    all.iter().map(|(finding, _)| Source::finding(&finding.id, "ratio")).collect();
                let first = &all.first()?.0;
                Some(Sentence {
                    weight: 58,
                    text: cited!(
                        "RAID {}: random writes reach {} to {} of reads over {}; the rule of thumb says {}.",
                        first.number("raid").with_unit(Unit::Setting).plain(0),
                        low.percent(),
                        high.percent(),
                        Quantity::count_of(&ids).count("set"),
                        first.number("rule_of_thumb").percent()
                    ),
                    findings: all.iter().map(|(finding, _)| finding.id.clone()).collect(),
                })
            })
            .collect()
    }
}

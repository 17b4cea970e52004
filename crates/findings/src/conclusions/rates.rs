//! What the target reaches, at which sizes, and where more load stops to give more.

use super::{Conclusion, one};
use crate::finding::Fact;
use crate::text::{bandwidth, block, count, iops, latency};
use crate::{Findings, Kind};

impl Findings {
    pub(super) fn highest(&self) -> Vec<Conclusion> {
        let found = self.ranked(
            Kind::Level,
            |fact| match fact {
                Fact::Level(level) => Some(level),
                _ => None,
            },
            |level| level.iops,
        );
        let mut sentences = Vec::new();
        if let Some((finding, level)) = found.first() {
            sentences.push(one(
                95,
                finding,
                format!(
                    "At most {} were reached, at {} mean latency ({}).",
                    iops(level.iops),
                    latency(level.mean_latency_ns),
                    self.load_of(finding)
                ),
            ));
        }
        let by_bytes = found.iter().max_by(|a, b| a.1.bw_bytes_per_s.total_cmp(&b.1.bw_bytes_per_s));
        if let Some((finding, level)) = by_bytes
            && found.len() > 1
        {
            sentences.push(one(
                85,
                finding,
                format!(
                    "At most {} were moved ({}).",
                    bandwidth(level.bw_bytes_per_s),
                    self.load_of(finding)
                ),
            ));
        }
        sentences
    }

    pub(super) fn blocks(&self) -> Vec<Conclusion> {
        let found = self.ranked(
            Kind::BestBlockSize,
            |fact| match fact {
                Fact::BestBlockSize(best) => Some(best),
                _ => None,
            },
            |best| best.points.iter().map(|point| point[1]).fold(0.0, f64::max),
        );
        let best = found.first().map(|(finding, best)| {
            one(
                65,
                finding,
                format!(
                    "Blocks of {} suit it best: {:.0} % of the largest IOPS and {}; from {} on, bandwidth is within 10 % of \
                     the largest.",
                    block(best.best_bs),
                    best.iops_share_percent,
                    bandwidth(best.bw_bytes_per_s),
                    block(best.best_bs_for_bandwidth)
                ),
            )
        });
        let flattening = self.of_kind(Kind::Flattening).find_map(|finding| match &finding.fact {
            Fact::Flattening(flat) if flat.flattens => Some(one(
                60,
                finding,
                format!(
                    "From {} on the same bytes move each second, {} (± {:.1} %): larger blocks are as many fewer operations.",
                    block(flat.from_bs?),
                    bandwidth(flat.bw_bytes_per_s),
                    flat.deviation_percent
                ),
            )),
            _ => None,
        });
        best.into_iter().chain(flattening).collect()
    }

    pub(super) fn saturations(&self) -> Option<Conclusion> {
        let found = self.ranked(
            Kind::Saturation,
            |fact| match fact {
                Fact::Saturation(saturation) => Some(saturation),
                _ => None,
            },
            |saturation| saturation.maximum_iops,
        );
        let (finding, saturation) = found.first()?;
        let text = match saturation.at {
            Some(at) => format!(
                "It saturates at {} = {at:.0}, with {} at {} ({}).",
                saturation.setting,
                iops(saturation.iops),
                latency(saturation.mean_latency_ns),
                self.load_of(finding)
            ),
            None => format!(
                "It does not saturate within the {} tested: the last step still gains ({}).",
                saturation.setting,
                self.load_of(finding)
            ),
        };
        Some(one(55, finding, text))
    }

    pub(super) fn penalties(&self) -> Vec<Conclusion> {
        let found = self.ranked(
            Kind::WritePenalty,
            |fact| match fact {
                Fact::WritePenalty(penalty) => Some(penalty),
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
                let ratios = || all.iter().map(|(_, penalty)| penalty.ratio);
                let (low, high) = (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max));
                Some(Conclusion {
                    weight: 58,
                    text: format!(
                        "RAID {raid}: random writes reach {:.0} to {:.0} % of reads over {}; the rule of thumb says {:.0} %.",
                        100.0 * low,
                        100.0 * high,
                        count(all.len(), "set"),
                        100.0 * all.first()?.1.rule_of_thumb
                    ),
                    findings: all.iter().map(|(finding, _)| finding.id.clone()).collect(),
                })
            })
            .collect()
    }
}

//! Prometheus metrics of a served array: volumes and every part of the model.

use crate::array_view::{Entity, entity_of};
use crate::chains::chains_of;
use crate::controlled::Controlled;
use crate::paced::PacingErrorReport;
use crate::page::Page;
use crate::thin::allocated_bytes;
use diagnostic::Problem;
use metrics::{Labels, Source, counters, exposition, gauges, sums};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
use twin::{Limit, TwinCounter};
use volume::DriveCondition;

const SECOND_NS: f64 = 1e9;
/// Levels of a twin's counters, as opposed to counts.
const LEVEL: &str = "fill_";

/// Source of metrics and of the page.
pub(crate) struct Monitoring {
    pub controlled: Arc<Controlled>,
    pub page: Page,
}

/// Figures of the model at one moment.
struct Moment {
    lateness: PacingErrorReport,
    limits: Vec<(String, Limit, u64)>,
    counters: Vec<TwinCounter>,
}

/// A part of the model: what it is, and which.
struct Part<'a> {
    /// `drive`, `link`, `controller`, `service` or `node`.
    kind: &'static str,
    labels: Labels<'a>,
}

impl Source for Monitoring {
    fn exposition(&self) -> String {
        let moment = self.controlled.pacer.as_ref().and_then(|pacer| {
            let requested = pacer.ask(|paced| Moment {
                lateness: paced.lateness,
                limits: paced.model.limits(),
                counters: paced.model.counters(),
            });
            requested.ok()
        });
        exposition(Scrape { controlled: self.controlled.clone(), moment })
    }

    fn state(&self) -> String {
        self.page.state()
    }

    fn command(&self, body: &[u8]) -> Result<Value, Problem> {
        self.page.command(body)
    }
}

/// One scrape.
struct Scrape {
    controlled: Arc<Controlled>,
    moment: Option<Moment>,
}

impl fmt::Debug for Scrape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.controlled.live.array.name)
    }
}

impl Collector for Scrape {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        self.encode_array(&mut encoder)?;
        self.encode_volumes(&mut encoder)?;
        self.encode_pool(&mut encoder)?;
        self.encode_services(&mut encoder)?;
        match &self.moment {
            Some(moment) => encode_moment(&mut encoder, moment),
            None => Ok(()),
        }
    }
}

impl Scrape {
    fn encode_array(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let live = &self.controlled.live;
        let labels = vec![("array", live.array.name.as_str()), ("title", live.array.title.as_str())];
        gauges(encoder, "array_info", "The array that is served", [(labels, 1.0)])?;
        let connections = self.controlled.server.connections() as f64;
        gauges(encoder, "array_connections", "NBD connections", [(vec![], connections)])?;
        let background = live.background().clone();
        let rebuild = background
            .rebuild
            .map(|rebuild| (vec![], rebuild.done_stripes as f64 / (rebuild.stripes as f64).max(1.0)));
        gauges(encoder, "rebuild_progress_ratio", "Share of the last rebuild that is done", rebuild)?;
        let Some(volume) = live.volume() else { return Ok(()) };
        let drives = volume.status().drives;
        let names: Vec<String> = drives.iter().map(|drive| format!("drive-{}", drive.drive)).collect();
        let present = drives.iter().zip(&names).map(|(drive, name)| {
            let is_present = drive.condition == DriveCondition::Present;
            (vec![("drive", name.as_str())], f64::from(u8::from(is_present)))
        });
        gauges(encoder, "array_drive_present", "1 where a drive of the layout holds all of its data", present)
    }

    /// Encodes what each service of the nodes of an array of chains may use.
    fn encode_services(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some(array) = chains_of(&self.controlled.live.array) else { return Ok(()) };
        let nodes: Vec<String> = (0..array.node_count()).map(|node| format!("node-{node}")).collect();
        let of = |value: fn(&array::Service) -> f64| {
            nodes.iter().flat_map(move |node| {
                array.services.iter().map(move |service| {
                    let labels = vec![
                        ("node", node.as_str()),
                        ("service", service.name.text.as_str()),
                        ("slice", service.slice.text.as_str()),
                    ];
                    (labels, value(service) * service.instances.get() as f64)
                })
            })
        };
        let help = "Processors that all instances of a service ask of their slice";
        gauges(encoder, "service_processors", help, of(|service| service.processors.share()))?;
        let help = "Memory that all instances of a service ask of their slice";
        gauges(encoder, "service_memory_bytes", help, of(|service| service.memory.get() as f64))
    }

    fn encode_volumes(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let volumes = self.controlled.exports.volumes();
        let tallied: Vec<_> = volumes.iter().map(|volume| (volume, volume.tally.read())).collect();
        let directions = || {
            tallied.iter().flat_map(|(volume, tallied)| {
                [("read", tallied.read), ("write", tallied.write)].map(|(direction, counted)| {
                    (vec![("volume", volume.name.as_str()), ("direction", direction)], counted)
                })
            })
        };
        let ios = directions().map(|(labels, counted)| (labels, counted.ios));
        counters(encoder, "volume_ios", "I/Os that were answered", ios)?;
        let bytes = directions().map(|(labels, counted)| (labels, counted.bytes));
        counters(encoder, "volume_bytes", "Bytes that were moved", bytes)?;
        let seconds = directions().map(|(labels, counted)| (labels, counted.latency_ns as f64 / SECOND_NS));
        sums(encoder, "volume_latency_seconds", "Sum of the latencies of all I/Os", seconds)?;
        let of = |name: &'static str| move |(labels, value)| (vec![(name, labels)], value);
        let under_way = tallied
            .iter()
            .map(|(volume, tallied)| (volume.name.as_str(), tallied.under_way as f64))
            .map(of("volume"));
        gauges(encoder, "volume_queue", "I/Os that have arrived and are not answered", under_way)?;
        let sizes =
            volumes.iter().map(|volume| (volume.name.as_str(), volume.size_bytes() as f64)).map(of("volume"));
        gauges(encoder, "volume_size_bytes", "Size of the volume", sizes)
    }
}

impl Scrape {
    fn encode_pool(&self, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let Some(volume) = self.controlled.live.volume() else { return Ok(()) };
        let Some(pool) = volume.thin_pool() else { return Ok(()) };
        let provisioned_bytes = volume.volume_map().map_or(0, |map| map.provisioned_bytes());
        for (name, help, bytes) in [
            ("thin_pool_size_bytes", "Bytes that the thin pool can give to volumes", pool.size_bytes),
            ("thin_pool_used_bytes", "Bytes of the units that volumes have", pool.used_bytes),
            ("thin_pool_free_bytes", "Bytes of the units that nobody has", pool.free_bytes),
            ("thin_pool_provisioned_bytes", "Sizes of all thin volumes together", provisioned_bytes),
        ] {
            gauges(encoder, name, help, [(vec![], bytes as f64)])?;
        }
        let help = "Writes that the full thin pool had too few units for (ENOSPC)";
        counters(encoder, "thin_pool_refused_writes", help, [(vec![], pool.refused_writes)])?;
        let allocated: Vec<(String, u64)> = volume
            .volume_map()
            .iter()
            .flat_map(|map| map.volumes())
            .filter_map(|mapped| Some((mapped.name.clone(), allocated_bytes(&volume, mapped)?)))
            .collect();
        let allocated =
            allocated.iter().map(|(name, bytes)| (vec![("volume", name.as_str())], *bytes as f64));
        gauges(encoder, "volume_allocated_bytes", "Bytes of the units that a thin volume has", allocated)
    }
}

fn encode_moment(encoder: &mut DescriptorEncoder<'_>, moment: &Moment) -> fmt::Result {
    let late = &moment.lateness;
    let quantiles =
        [("0.5", late.p50_ns), ("0.99", late.p99_ns), ("0.999", late.p999_ns), ("1", late.max_ns)]
            .map(|(quantile, ns)| (vec![("q", quantile)], ns as f64 / SECOND_NS));
    gauges(encoder, "lateness_seconds", "How late replies left, of all so far", quantiles)?;
    counters(encoder, "paced_replies", "Replies that left at the model's moment", [(vec![], late.replies)])?;
    counters(encoder, "late_bytes", "Replies that waited for their bytes", [(vec![], late.bytes_late)])?;
    let limits = |part: fn(&Limit) -> Option<f64>| {
        moment
            .limits
            .iter()
            .filter_map(move |(name, limit, _)| Some((vec![("volume", name.as_str())], part(limit)?)))
    };
    let help = "Limit of the volume, where it has one";
    gauges(encoder, "volume_limit_iops", help, limits(|limit| limit.iops))?;
    gauges(encoder, "volume_limit_bytes_per_second", help, limits(|limit| limit.bw_bytes_per_s))?;
    let held = moment.limits.iter().map(|(name, _, held)| (vec![("volume", name.as_str())], *held as f64));
    gauges(encoder, "volume_held_back", "I/Os that the served array's limit holds back", held)?;
    let mut levels: BTreeMap<String, Vec<(Labels<'_>, f64)>> = BTreeMap::new();
    let mut counts: BTreeMap<String, Vec<(Labels<'_>, u64)>> = BTreeMap::new();
    let mut times: BTreeMap<String, Vec<(Labels<'_>, f64)>> = BTreeMap::new();
    for counter in &moment.counters {
        let Some(Part { kind, labels }) = part_of(&counter.entity) else { continue };
        if let Some(level) = counter.name.strip_prefix(LEVEL) {
            levels.entry(format!("{kind}_{level}")).or_default().push((labels, counter.value as f64));
        } else if let Some(time) = counter.name.strip_suffix("_ns") {
            let value = counter.value as f64 / SECOND_NS;
            times.entry(format!("{kind}_{time}_seconds")).or_default().push((labels, value));
        } else {
            counts.entry(format!("{kind}_{}", counter.name)).or_default().push((labels, counter.value));
        }
    }
    for (name, values) in levels {
        gauges(encoder, &name, "A level of this part of the model", values)?;
    }
    for (name, values) in counts {
        counters(encoder, &name, "A count of this part of the model", values)?;
    }
    for (name, values) in times {
        sums(encoder, &name, "Time that this part of the model has spent so", values)?;
    }
    Ok(())
}

/// Returns a counter's entity as a family and its labels. Volumes are left out: they are counted as they are served.
fn part_of(entity: &str) -> Option<Part<'_>> {
    let Entity { kind, node, name } = entity_of(entity).filter(|place| place.kind != "volume")?;
    let mut labels: Labels<'_> = node.map(|node| ("node", node)).into_iter().collect();
    // A drive's number says nothing without its node; services are the same on every node.
    labels.push((kind, if kind == "drive" { entity } else { name }));
    Some(Part { kind, labels })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that each kind of part gets its own family, and volumes none.
    #[test]
    fn parts_are_told_apart() {
        for (entity, expected) in [
            ("node-0/nvme-3", Some(("drive", 2))),
            ("node-1/hdd-0", Some(("drive", 2))),
            ("node-1/server-0", Some(("service", 2))),
            ("node-2", Some(("node", 1))),
            ("client-0/block", Some(("service", 2))),
            ("drive-links", Some(("link", 1))),
            ("drive-7", Some(("drive", 1))),
            ("module-7", Some(("drive", 1))),
            ("controller-1", Some(("controller", 1))),
            ("volume-nvme", None),
        ] {
            assert_eq!(part_of(entity).map(|part| (part.kind, part.labels.len())), expected, "{entity}");
        }
    }
}

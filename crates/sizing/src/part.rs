//! Parts of an array as answers name them, and arrays with more of one part.

use array::{Array, Kind, Parameter, Section, UNLIMITED};
use serde::Serialize;
use twin::ArrayDescription;

/// Part of an array, or of what is before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// Machines that issue the load.
    Hosts,
    /// Links between hosts and array.
    Links,
    /// Processors and memory of controllers, nodes and their services.
    Controllers,
    /// Parity computation.
    Parity,
    /// Caches and their mirroring.
    Cache,
    /// Commands that may be at the drives at once.
    Window,
    /// Network between nodes.
    Network,
    /// Links to a second array.
    Mirror,
    /// Links between controllers and drives.
    Backend,
    /// Drives.
    Drives,
    /// Limits of volumes.
    Limits,
}

impl Part {
    /// All of them, from the host to the drives.
    pub const ALL: [Part; 11] = [
        Part::Hosts,
        Part::Links,
        Part::Controllers,
        Part::Parity,
        Part::Cache,
        Part::Window,
        Part::Network,
        Part::Mirror,
        Part::Backend,
        Part::Drives,
        Part::Limits,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Part::Hosts => "hosts",
            Part::Links => "links",
            Part::Controllers => "controllers",
            Part::Parity => "parity",
            Part::Cache => "cache",
            Part::Window => "window",
            Part::Network => "network",
            Part::Mirror => "mirror",
            Part::Backend => "backend",
            Part::Drives => "drives",
            Part::Limits => "limits",
        }
    }

    /// `link-3` is a `link`, `node-0/server-1` a `server`.
    pub(crate) fn kind_of(entity: &str) -> &str {
        let last = entity.rsplit('/').next().unwrap_or(entity);
        last.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('-')
    }

    /// Part that a twin counts the busy time of: `link-3`, `to_host_busy_ns`.
    pub(crate) fn of_counter(entity: &str, name: &str) -> Part {
        match (array::without_group(Part::kind_of(entity)), name) {
            (_, "parity_engine_busy_ns") => Part::Parity,
            (_, "mirror_busy_ns" | "write_buffer_busy_ns") | ("cache" | "write-buffer", _) => Part::Cache,
            ("mirror" | "replication", _) => Part::Mirror,
            ("drive-links", _) => Part::Backend,
            ("network" | "nic", _)
            | (_, "sent_busy_ns" | "received_busy_ns" | "send_busy_ns" | "receive_busy_ns") => Part::Network,
            ("link" | "port", _) => Part::Links,
            ("controller" | "server" | "node" | "driver" | "nvmed", _) => Part::Controllers,
            ("host" | "hosts" | "client" | "initiator" | "block", _) => Part::Hosts,
            _ => Part::Drives,
        }
    }

    /// Returns the array with a multiple of this part: its rates multiplied, its service times divided, its capacity
    /// multiplied. Latencies that occupy no resource stay: no link is shorter for being faster. `None` where the array has no
    /// such part.
    pub fn scaled(self, array: &ArrayDescription, factor: f64) -> Option<ArrayDescription> {
        let mut scaled = array.parts.as_ref().clone();
        self.scale_parts(&mut scaled, factor).then_some(())?;
        Some(ArrayDescription::of_parts(array.name.clone(), scaled))
    }

    fn scale_parts(self, array: &mut Array, factor: f64) -> bool {
        match self {
            Part::Hosts => scale(&mut array.hosts, factor, |key| !matches!(key, "count" | "queue")),
            // Chains of replicas are reached over the ports of the network.
            Part::Links => !array.has_chains() && scale(&mut array.fabric, factor, |_| true),
            Part::Controllers => {
                let is_changed = scale(&mut array.controllers, factor, |key| {
                    !matches!(
                        key,
                        "parity" | "new_parity" | "parity_updates" | "window" | "window_bytes" | "index"
                    )
                });
                let keys = array.groups.iter_mut().map(|group| &mut group.keys);
                keys.fold(is_changed, |any, keys| {
                    scale(keys, factor, |key| matches!(key, "write" | "command")) | any
                })
            }
            Part::Parity => {
                scale(&mut array.controllers, factor, |key| matches!(key, "parity" | "new_parity"))
            }
            Part::Window => {
                scale(&mut array.controllers, factor, |key| matches!(key, "window" | "window_bytes"))
            }
            Part::Cache => {
                let is_changed = scale(&mut array.cache, factor, |key| key != "block");
                let journals = array.groups.iter_mut().filter_map(|group| group.journal.as_mut());
                journals.fold(is_changed, |any, journal| {
                    scale(journal, factor, |key| matches!(key, "buffer" | "command" | "rate")) | any
                })
            }
            Part::Network => {
                array.network.as_mut().is_some_and(|network| scale(network, factor, |key| key != "header"))
            }
            Part::Mirror => match (&mut array.mirror, &mut array.replication) {
                (Some(mirror), _) => scale(mirror, factor, |_| true),
                (None, Some(replication)) => {
                    scale(replication, factor, |key| key != "every" && key != "unit")
                }
                (None, None) => false,
            },
            Part::Backend => {
                let backends = array.groups.iter_mut().filter_map(|group| group.backend.as_mut());
                backends.fold(false, |any, backend| scale(backend, factor, |_| true) | any)
            }
            Part::Drives => array.groups.iter_mut().fold(false, |any, group| {
                any | match &mut group.drives {
                    array::Drives::HardDisk(drive) => scale(drive.as_mut(), factor, |key| !is_geometry(key)),
                    array::Drives::SolidState(drive) => {
                        scale(drive.as_mut(), factor, |key| !is_geometry(key))
                    }
                    array::Drives::FlashModule(drive) => {
                        scale(drive.as_mut(), factor, |key| !is_geometry(key))
                    }
                }
            }),
            Part::Limits => {
                let limits = array.volumes.iter_mut().filter_map(|volume| volume.limit.as_mut());
                limits.fold(false, |any, limit| scale(limit, factor, |_| true) | any)
            }
        }
    }
}

/// Keys that say how a drive is made or chooses, not how fast it is.
fn is_geometry(key: &str) -> bool {
    matches!(key, "capacity" | "mapping_unit" | "page" | "reserve" | "write_buffer" | "segment" | "age_limit")
}

/// Times that keep nobody waiting.
fn keeps_nobody_waiting(key: &str) -> bool {
    matches!(key, "latency" | "answer" | "buffer_answer" | "parity_log" | "read_latency" | "write_latency")
}

/// Scales the values of a section; whether one changed.
fn scale<S: Section>(section: &mut S, factor: f64, has: impl Fn(&str) -> bool) -> bool {
    let mut is_changed = false;
    for (key, value) in S::KEYS.iter().zip(section.values_mut()) {
        if !has(key.name) || keeps_nobody_waiting(key.name) || value.value == UNLIMITED {
            continue;
        }
        let scaled = match key.kind {
            Kind::Time => value.value as f64 / factor,
            Kind::Rate | Kind::Limit | Kind::Bytes => value.value as f64 * factor,
            Kind::Count if matches!(key.name, "rpm" | "iops" | "window") => value.value as f64 * factor,
            _ => continue,
        };
        is_changed |= set(value, key, scaled);
    }
    is_changed
}

fn set(value: &mut Parameter, key: &array::Key, scaled: f64) -> bool {
    let scaled = scaled.round().clamp(key.least as f64, key.most as f64) as u64;
    let is_changed = scaled != value.value;
    value.value = scaled;
    value.text = key.kind.print_exactly(scaled);
    is_changed
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every shipped array can have more of its links and drives, and that more changes something and can be built.
    #[test]
    fn shipped_arrays_can_have_more_of_their_parts() {
        for shipped in plan::shipped_arrays() {
            let array = plan::load_array(shipped.name).unwrap().description;
            let scaled: Vec<Part> = Part::ALL
                .into_iter()
                .filter(|part| {
                    part.scaled(&array, 1.25).is_some_and(|scaled| {
                        scaled.check().unwrap();
                        scaled != array
                    })
                })
                .collect();
            assert!(scaled.contains(&Part::Drives), "{}: {scaled:?}", shipped.name);
            assert!(
                scaled.contains(&Part::Hosts) || shipped.name.starts_with("st"),
                "{}: {scaled:?}",
                shipped.name
            );
        }
    }

    /// Proves that the links to the drives and the write buffers of one of several groups belong to what those of an array of one group
    /// do.
    #[test]
    fn parts_of_a_group_are_told_as_those_of_the_array() {
        for (entity, part) in [
            ("drive-links", Part::Backend),
            ("drive-links-1-0", Part::Backend),
            ("node-0/write-buffer", Part::Cache),
            ("node-0/write-buffer-ssd2", Part::Cache),
            ("drive-3", Part::Drives),
        ] {
            assert_eq!(Part::of_counter(entity, "busy_ns"), part, "{entity}");
        }
    }

    /// Proves that twice the half of a part is the part, within what rounding to whole units does.
    #[test]
    fn scaling_back_restores_an_array() {
        let array = plan::load_array("flashsystem-840").unwrap().description;
        for part in Part::ALL {
            let Some(half) = part.scaled(&array, 0.5) else { continue };
            let whole = part.scaled(&half, 2.0).unwrap();
            let values = |array: &ArrayDescription| -> Vec<u64> {
                array
                    .parts
                    .sections()
                    .iter()
                    .flat_map(|(_, _, values)| values.iter().map(|v| v.value))
                    .collect()
            };
            for (before, after) in values(&array).into_iter().zip(values(&whole)) {
                assert!(before.abs_diff(after) <= 1 + before / 500, "{part:?}: {before} {after}");
            }
        }
    }
}

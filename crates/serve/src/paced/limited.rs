//! Rate-limited volumes: queues of I/Os that a limit holds back where the twin models no volumes.

use super::Model;
use super::twin_spec::KnownVolume;
use crate::event_names::LIMIT;
use diagnostic::Problem;
use load::{Device as _, Operation};
use serde_json::{Map, Value};
use std::collections::VecDeque;
use twin::{Limit, Limiter};

/// A volume as the model sees it.
#[derive(Debug, Clone)]
pub(super) struct Volume {
    pub(super) known: KnownVolume,
    pub(super) limiter: Limiter,
    /// Requests that the limit holds back.
    pub(super) waiting: VecDeque<(u32, Operation)>,
}

impl Volume {
    pub(super) fn new(known: KnownVolume) -> Volume {
        let mut volume = Volume { known, limiter: Limiter::default(), waiting: VecDeque::new() };
        volume.set_limiter();
        volume
    }

    fn limit(&self) -> Limit {
        self.known.limit.unwrap_or_default()
    }

    pub(super) fn set_limiter(&mut self) {
        self.limiter.set(&self.limit(), self.known.size_bytes);
    }
}

impl Model {
    /// Lets in what a volume's limit allows at a moment.
    pub(super) fn admit(&mut self, index: usize, now_ns: u64) {
        let now_ns = self.twin_ns(now_ns);
        let volume = &mut self.volumes[index];
        while let Some(&(tag, operation)) = volume.waiting.front() {
            if volume.limiter.ready_ns() > now_ns {
                return;
            }
            volume.limiter.take(now_ns, u64::from(operation.length_bytes));
            volume.waiting.pop_front();
            self.twin.submit(now_ns, tag, operation);
        }
    }

    /// A volume gets another limit, whichever side keeps it: the twin or the served array.
    pub(super) fn limit(&mut self, now_ns: u64, arguments: &Map<String, Value>) -> Result<(), Problem> {
        // Checked by name before the twin is told.
        let (index, limit) = self.limit_of(arguments)?;
        if self.has_volumes {
            self.act_on_twin(now_ns, LIMIT, arguments)?;
            self.volumes[index].known.limit = Some(limit);
            return Ok(());
        }
        let volume = &mut self.volumes[index];
        volume.known.limit = Some(limit);
        volume.set_limiter();
        self.admit(index, now_ns);
        Ok(())
    }

    /// Returns which volume gets which limit.
    fn limit_of(&self, arguments: &Map<String, Value>) -> Result<(usize, Limit), Problem> {
        let index = match arguments.get("volume") {
            None => 0,
            Some(name) => {
                let named = |volume: &Volume| Some(volume.known.name.as_str()) == name.as_str();
                self.volumes.iter().position(named).ok_or_else(|| {
                    let names: Vec<&str> =
                        self.volumes.iter().map(|volume| volume.known.name.as_str()).collect();
                    Problem::new(format!("there is no volume {name}; there are {}", names.join(", ")))
                })?
            }
        };
        let volume = self.volumes.get(index).ok_or("this array has no volumes")?;
        let parts = arguments.iter().filter(|(name, _)| name.as_str() != "volume");
        Ok((index, volume.limit().changed(parts).map_err(|error| Problem::from(error.to_string()))?))
    }

    /// The limit of a volume, where it is another than the description's.
    pub(crate) fn limit_set(&self, name: &str) -> Option<Limit> {
        self.volumes.iter().find(|volume| volume.known.name == name)?.known.limit
    }

    /// By volume: its name and limit, and how many requests that holds back.
    pub(crate) fn limits(&self) -> Vec<(String, Limit, u64)> {
        let in_twin: Vec<u64> = if self.has_volumes {
            let counters = self.twin.counters().into_iter();
            counters.filter(|counter| counter.name == "fill_held_back").map(|counter| counter.value).collect()
        } else {
            Vec::new()
        };
        let of = |(index, volume): (usize, &Volume)| {
            let held_back = volume.waiting.len() as u64 + in_twin.get(index).copied().unwrap_or(0);
            (volume.known.name.clone(), volume.limit(), held_back)
        };
        self.volumes.iter().enumerate().map(of).collect()
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::{RequestTarget, TwinSpec};
    use super::*;
    use load::Direction;

    const SECOND_NS: u64 = 1_000_000_000;
    const VOLUME_BYTES: u64 = 64 << 20;

    /// A block of a volume.
    pub(in crate::paced) fn at(volume: u32, volume_bytes: u64) -> RequestTarget {
        let array_bytes = u64::from(volume) * VOLUME_BYTES + volume_bytes;
        RequestTarget { volume: Some(volume), volume_bytes, array_bytes }
    }

    pub(in crate::paced) fn model(array: &str, volumes: &[&str]) -> Model {
        let path = format!("{}/../../arrays/{array}.yaml", env!("CARGO_MANIFEST_DIR"));
        let description = plan::load_array(&path).unwrap().description;
        let volumes: Vec<KnownVolume> = volumes
            .iter()
            .enumerate()
            .map(|(number, name)| KnownVolume {
                number: number as u32,
                name: (*name).to_owned(),
                size_bytes: VOLUME_BYTES,
                modelled_bytes: VOLUME_BYTES,
                template: None,
                limit: None,
            })
            .collect();
        Model::new(
            TwinSpec { description, settings: Map::new(), seed: 1 },
            &volumes,
            &twin::Faults::default(),
        )
        .unwrap()
    }

    fn limit(model: &mut Model, now_ns: u64, volume: &str, iops: u64) {
        let arguments = Map::from_iter([
            ("volume".to_owned(), Value::from(volume)),
            ("iops".to_owned(), Value::from(iops)),
        ]);
        model.act(now_ns, LIMIT, &arguments).unwrap();
    }

    /// Proves that a limit is kept to 1 % in every second from the first, that a change acts within 100 ms, and that a
    /// neighbour on the same array is not held back, whichever side keeps the limit: the twin or the served array.
    #[test]
    fn a_limit_is_exact_in_the_models_time() {
        for (array, volumes) in [("storpool", ["nvme", "hybrid", "hdd"]), ("e2700", ["vol0", "vol1", "vol2"])]
        {
            // Hard disks alone would not reach 1,000.
            let (rate, lower) = if array == "storpool" { (1000, 400) } else { (100, 40) };
            let mut model = model(array, &volumes);
            limit(&mut model, 0, volumes[0], rate);
            let address = |tag: u32| u64::from(tag * 37 % 4096) * 4096;
            for tag in 0..64 {
                model.submit(0, tag, Direction::Read, (at(0, address(tag)), 4096), 0);
                model.submit(0, 64 + tag, Direction::Read, (at(1, address(tag)), 4096), 0);
            }
            let mut counts = [[0u64; 40]; 2];
            let mut now_ns = 0;
            let mut is_lowered = false;
            while now_ns < 4 * SECOND_NS {
                let until_ns = if is_lowered { 4 * SECOND_NS } else { 2 * SECOND_NS };
                let Some((tag, at_ns)) = model.next_completion(until_ns) else {
                    now_ns = until_ns;
                    if !is_lowered {
                        is_lowered = true;
                        limit(&mut model, now_ns, volumes[0], lower);
                    }
                    continue;
                };
                now_ns = at_ns;
                let volume = tag / 64;
                counts[volume as usize][(at_ns * 10 / SECOND_NS).min(39) as usize] += 1;
                model.submit(at_ns, tag, Direction::Read, (at(volume, address(tag)), 4096), 0);
            }
            let [limited, neighbour] = counts;
            let in_second = |second: usize| limited[second * 10..][..10].iter().sum::<u64>();
            for (second, expected) in [(0, rate), (1, rate), (3, lower)] {
                let slack = (expected / 100).max(1);
                assert!(in_second(second).abs_diff(expected) <= slack, "{array}, {second}: {limited:?}");
            }
            // From a tenth of a second after the change on, tenths of a second have the new rate.
            assert!(
                limited[21..30].iter().all(|&tenth| tenth.abs_diff(lower / 10) <= 1),
                "{array}: {limited:?}"
            );
            assert!(neighbour.iter().sum::<u64>() > limited.iter().sum(), "{array}: {neighbour:?}");
        }
    }

    /// Proves that a limit holds back what waits when it is set, and lets it go when it is lifted.
    #[test]
    fn a_lifted_limit_lets_go() {
        let mut model = model("flashsystem-840", &["vol0"]);
        limit(&mut model, 0, "vol0", 1);
        for tag in 0..3 {
            model.submit(0, tag, Direction::Read, (at(0, 0), 4096), 0);
        }
        assert!(model.next_completion(SECOND_NS / 2).is_some_and(|(_, at_ns)| at_ns < 1_000_000));
        assert_eq!(model.next_completion(SECOND_NS / 2), None);
        assert_eq!(model.wakes_at_ns(), SECOND_NS);
        let lifted = Map::from_iter([("iops".to_owned(), Value::from("none"))]);
        model.act(SECOND_NS / 2, LIMIT, &lifted).unwrap();
        assert!(model.next_completion(SECOND_NS).is_some() && model.next_completion(SECOND_NS).is_some());
    }
}

//! The twin of a served array, its volumes and their limits.

use super::known::{KnownVolume, TwinSpec, described, limit_arguments};
use super::lasting::Lasting;
use crate::ServeError;
use load::{Completion, Device as _, Direction, Operation};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use twin::{Limit, Limiter, Twin, TwinCounter, TwinNote};

/// Connections are the twin's jobs: so many of each volume differ.
const JOBS_OF_VOLUME: u32 = 1024;

/// The event that sets a limit.
const LIMIT: &str = "limit";
/// The event that gives a volume another template, and what tells which.
const TEMPLATE: &str = "template";
/// The last so many notes are kept.
const NOTES_LIMIT: usize = 64;

/// A volume as the model sees it.
#[derive(Debug, Clone)]
struct Volume {
    known: KnownVolume,
    limiter: Limiter,
    /// Requests that the limit holds back.
    waiting: VecDeque<(u32, Operation)>,
}

impl Volume {
    fn new(known: KnownVolume) -> Volume {
        let mut volume = Volume { known, limiter: Limiter::default(), waiting: VecDeque::new() };
        volume.set_limiter();
        volume
    }

    fn limit(&self) -> Limit {
        self.known.limit.unwrap_or_default()
    }

    fn set_limiter(&mut self) {
        self.limiter.set(&self.limit(), self.known.size_bytes);
    }
}

/// Where a request goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct At {
    /// Whose it is, by number.
    pub volume: Option<u32>,
    /// Its place in the volume.
    pub volume_bytes: u64,
    /// Its place on the array.
    pub array_bytes: u64,
}

/// A twin that is used as an array of volumes.
pub(crate) struct Model {
    twin: Twin,
    spec: TwinSpec,
    volumes: Vec<Volume>,
    has_volumes: bool,
    /// Time that the twins before this one had.
    began_at_ns: u64,
    notes: VecDeque<TwinNote>,
    /// Completions that came up while something else was asked of the twin.
    completed: VecDeque<(u32, u64)>,
    /// What has happened to parts of the array and lasts.
    lasting: Lasting,
}

impl Model {
    pub(crate) fn new(spec: TwinSpec, volumes: &[KnownVolume]) -> Result<Model, ServeError> {
        let has_volumes = spec.has_volumes();
        let twin = described(&spec, volumes).build()?;
        let volumes = volumes.iter().cloned().map(Volume::new).collect();
        let mut model = Model {
            twin,
            has_volumes,
            spec,
            volumes,
            began_at_ns: 0,
            notes: VecDeque::new(),
            completed: VecDeque::new(),
            lasting: Lasting::default(),
        };
        model.restore(0)?;
        Ok(model)
    }

    /// Brings a twin that is new into the state that the one before it had.
    fn restore(&mut self, now_ns: u64) -> Result<(), ServeError> {
        self.attach()?;
        let limits: Vec<_> =
            self.volumes.iter().filter_map(|volume| limit_arguments(&volume.known)).collect();
        let limits = limits.into_iter().filter(|_| self.has_volumes).map(|told| (LIMIT.to_owned(), told));
        for (action, arguments) in limits.chain(self.lasting.actions()).collect::<Vec<_>>() {
            // What this kind of array cannot do it could not do before.
            let _ = self.act_on_twin(now_ns, &action, &arguments);
        }
        Ok(())
    }

    /// Where the twin has volumes of its own, each gets a range of jobs.
    fn attach(&mut self) -> Result<(), ServeError> {
        if !self.has_volumes {
            return Ok(());
        }
        for (index, volume) in self.volumes.iter().enumerate() {
            let settings = Map::from_iter([("volume".to_owned(), Value::from(volume.known.name.as_str()))]);
            self.twin.attach(index as u32 * JOBS_OF_VOLUME, &settings).map_err(|error| {
                ServeError::Array {
                    problem: error.to_string(),
                    hint: "a volume of the served array is none of its model",
                }
            })?;
        }
        Ok(())
    }

    fn position(&self, number: u32) -> Option<usize> {
        self.volumes.iter().position(|volume| volume.known.number == number)
    }

    /// Hands over a request at a moment that is not before the last one.
    pub(crate) fn submit(
        &mut self,
        now_ns: u64,
        tag: u32,
        direction: Direction,
        (at, length_bytes): (At, u32),
        connection: u64,
    ) {
        let index = at.volume.and_then(|number| self.position(number));
        let connection = (connection % u64::from(JOBS_OF_VOLUME)) as u32;
        let (mut offset_bytes, mut job) = (at.array_bytes, connection);
        let mut capacity_bytes = self.twin.capacity_bytes();
        if self.has_volumes {
            // What has just been taken away goes as the first volume.
            let index = index.unwrap_or(0);
            offset_bytes = at.volume_bytes;
            job += index as u32 * JOBS_OF_VOLUME;
            capacity_bytes = self.volumes.get(index).map_or(capacity_bytes, |volume| volume.known.size_bytes);
        }
        // Beyond what the model has it begins anew: drives that were made larger than described.
        let length_bytes = u64::from(length_bytes).min(capacity_bytes);
        let offset_bytes = (offset_bytes % capacity_bytes).min(capacity_bytes - length_bytes);
        let operation = Operation { direction, offset_bytes, length_bytes: length_bytes as u32, job };
        let volume = index.map(|index| (index, &mut self.volumes[index]));
        match volume {
            Some((index, volume))
                if !self.has_volumes && (volume.limiter.is_limited() || !volume.waiting.is_empty()) =>
            {
                volume.waiting.push_back((tag, operation));
                self.admit(index, now_ns);
            }
            _ => self.twin.submit(self.twin_ns(now_ns), tag, operation),
        }
    }

    /// The twin's clock at a moment of the array's. It never goes back: the twin may have looked ahead to the moment
    /// when a request came in.
    fn twin_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.began_at_ns).max(self.twin.now_ns())
    }

    fn admit(&mut self, index: usize, now_ns: u64) {
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

    /// The next completion up to a moment.
    pub(crate) fn next_completion(&mut self, until_ns: u64) -> Option<(u32, u64)> {
        if let Some(completed) = self.completed.pop_front() {
            return Some(completed);
        }
        let until_twin_ns = until_ns.saturating_sub(self.began_at_ns);
        loop {
            // Held back requests begin on time, even where the clock has gone further meanwhile.
            let first = self.volumes.iter().enumerate().filter(|(_, volume)| !volume.waiting.is_empty());
            let first = first.map(|(index, volume)| (volume.limiter.ready_ns(), index)).min();
            let (stop_ns, index) = match first {
                Some((ready_ns, index)) if ready_ns <= until_twin_ns => (ready_ns, Some(index)),
                _ => (until_twin_ns, None),
            };
            if let Some(Completion { tag, at_ns, .. }) =
                self.twin.next_completion(stop_ns.max(self.twin.now_ns()))
            {
                return Some((tag, at_ns + self.began_at_ns));
            }
            self.admit(index?, stop_ns + self.began_at_ns);
        }
    }

    /// When something happens next by itself; right after [`Model::next_completion`] has returned none.
    pub(crate) fn wakes_at_ns(&self) -> u64 {
        let held = self.volumes.iter().filter(|volume| !volume.waiting.is_empty());
        let ready_ns = held.map(|volume| volume.limiter.ready_ns()).min().unwrap_or(u64::MAX);
        ready_ns.min(self.twin.wakes_at_ns()).saturating_add(self.began_at_ns)
    }

    /// Lets something happen now.
    pub(crate) fn act(
        &mut self,
        now_ns: u64,
        action: &str,
        arguments: &Map<String, Value>,
    ) -> Result<(), String> {
        if action == LIMIT {
            // Checked by name before the twin is told.
            let (index, limit) = self.limit_of(arguments)?;
            if self.has_volumes {
                self.act_on_twin(now_ns, action, arguments)?;
                self.volumes[index].known.limit = Some(limit);
                return Ok(());
            }
            let volume = &mut self.volumes[index];
            volume.known.limit = Some(limit);
            volume.set_limiter();
            self.admit(index, now_ns);
            return Ok(());
        }
        self.act_on_twin(now_ns, action, arguments)?;
        let name = |key: &str| arguments.get(key).and_then(Value::as_str);
        if let (TEMPLATE, Some(template)) = (action, name(TEMPLATE)) {
            let volume =
                self.volumes.iter_mut().find(|volume| Some(volume.known.name.as_str()) == name("volume"));
            if let Some(volume) = volume {
                volume.known.template = Some(template.to_owned());
            }
        }
        self.lasting.note(action, arguments);
        Ok(())
    }

    fn act_on_twin(
        &mut self,
        now_ns: u64,
        action: &str,
        arguments: &Map<String, Value>,
    ) -> Result<(), String> {
        let at_ns = self.twin_ns(now_ns);
        self.twin.act(at_ns, action, arguments).map_err(|error| error.to_string())?;
        // It takes place before whatever comes in at the same moment.
        while let Some(completion) = self.twin.next_completion(at_ns) {
            self.completed.push_back((completion.tag, completion.at_ns + self.began_at_ns));
        }
        Ok(())
    }

    /// Which volume gets which limit.
    fn limit_of(&self, arguments: &Map<String, Value>) -> Result<(usize, Limit), String> {
        let index = match arguments.get("volume") {
            None => 0,
            Some(name) => {
                let named = |volume: &Volume| Some(volume.known.name.as_str()) == name.as_str();
                self.volumes.iter().position(named).ok_or_else(|| {
                    let names: Vec<&str> =
                        self.volumes.iter().map(|volume| volume.known.name.as_str()).collect();
                    format!("there is no volume {name}; there are {}", names.join(", "))
                })?
            }
        };
        let volume = self.volumes.get(index).ok_or("this array has no volumes")?;
        let parts = arguments.iter().filter(|(name, _)| name.as_str() != "volume");
        Ok((index, volume.limit().changed(parts).map_err(|error| error.to_string())?))
    }

    /// The limit of a volume, where it is another than the description's.
    pub(crate) fn limit_set(&self, name: &str) -> Option<Limit> {
        self.volumes.iter().find(|volume| volume.known.name == name)?.known.limit
    }

    /// Puts a twin with other settings in this one's place, in the state that this one has: its limits, templates and
    /// stopped services, its slow drives, and of those it has lost `lost`, by name or number; the others have been replaced
    /// meanwhile. What was under way is forgotten; the caller answers it.
    pub(crate) fn rebuild(
        &mut self,
        settings: Map<String, Value>,
        lost: &[Value],
        now_ns: u64,
    ) -> Result<(), ServeError> {
        let spec = TwinSpec { settings, ..self.spec.clone() };
        let known: Vec<KnownVolume> = self.volumes.iter().map(|volume| volume.known.clone()).collect();
        let twin = described(&spec, &known).build()?;
        self.lasting.lost(lost);
        self.spec = spec;
        self.replace_twin(twin, known, now_ns)
    }

    fn replace_twin(&mut self, twin: Twin, known: Vec<KnownVolume>, now_ns: u64) -> Result<(), ServeError> {
        // What the one before has said last is kept.
        self.recent_notes();
        self.twin = twin;
        self.began_at_ns = now_ns;
        self.completed.clear();
        self.volumes = known.into_iter().map(Volume::new).collect();
        self.restore(now_ns)
    }

    /// The array has other volumes from now on. `true` where a new twin has taken the place of this one, so that what is
    /// under way is to be answered.
    pub(crate) fn volumes_are(
        &mut self,
        now_ns: u64,
        known: Vec<KnownVolume>,
        lost: &[Value],
    ) -> Result<bool, ServeError> {
        if self.has_volumes {
            let twin = described(&self.spec, &known).build()?;
            self.lasting.lost(lost);
            self.replace_twin(twin, known, now_ns)?;
            return Ok(true);
        }
        let mut before = std::mem::take(&mut self.volumes);
        for known in known {
            let place = before.iter().position(|volume| volume.known.number == known.number);
            self.volumes.push(match place {
                Some(place) => {
                    let mut volume = before.swap_remove(place);
                    volume.known = known;
                    volume.set_limiter();
                    volume
                }
                None => Volume::new(known),
            });
        }
        let at_ns = self.twin_ns(now_ns);
        for (tag, operation) in before.into_iter().flat_map(|gone| gone.waiting) {
            self.twin.submit(at_ns, tag, operation);
        }
        Ok(false)
    }

    pub(crate) fn settings(&self) -> &Map<String, Value> {
        &self.spec.settings
    }

    pub(crate) fn counters(&self) -> Vec<TwinCounter> {
        self.twin.counters()
    }

    /// What has happened last, by the array's clock.
    pub(crate) fn recent_notes(&mut self) -> Vec<Value> {
        for note in self.twin.take_notes() {
            if self.notes.len() == NOTES_LIMIT {
                self.notes.pop_front();
            }
            self.notes.push_back(TwinNote { at_ns: note.at_ns + self.began_at_ns, ..note });
        }
        self.notes.iter().map(|note| json!({"at_ns": note.at_ns, "says": note.says})).collect()
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
mod tests {
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;
    const VOLUME_BYTES: u64 = 64 << 20;

    /// A block of a volume.
    fn at(volume: u32, volume_bytes: u64) -> At {
        let array_bytes = u64::from(volume) * VOLUME_BYTES + volume_bytes;
        At { volume: Some(volume), volume_bytes, array_bytes }
    }

    fn model(array: &str, volumes: &[&str]) -> Model {
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
        Model::new(TwinSpec { description, settings: Map::new(), seed: 1 }, &volumes).unwrap()
    }

    fn limit(model: &mut Model, now_ns: u64, volume: &str, iops: u64) {
        let arguments = Map::from_iter([
            ("volume".to_owned(), Value::from(volume)),
            ("iops".to_owned(), Value::from(iops)),
        ]);
        model.act(now_ns, "limit", &arguments).unwrap();
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
        model.act(SECOND_NS / 2, "limit", &lifted).unwrap();
        assert!(model.next_completion(SECOND_NS).is_some() && model.next_completion(SECOND_NS).is_some());
    }
}

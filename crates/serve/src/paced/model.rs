//! The twin of a served array, its volumes and their limits.

use crate::ServeError;
use load::{Completion, Device as _, Direction, Operation};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use twin::{ArrayDescription, Limit, Limiter, Twin, TwinCounter, TwinNote};

/// Connections are the twin's jobs: so many of each volume differ.
const JOBS_OF_VOLUME: u32 = 1024;

/// The last so many notes are kept.
const NOTES_LIMIT: usize = 64;

/// What a twin is built from.
#[derive(Debug, Clone)]
pub struct TwinSpec {
    /// The array.
    pub description: ArrayDescription,
    /// Its settings and switches, as `Twin::build` takes them.
    pub settings: Map<String, Value>,
    /// Of the parts that chance acts on.
    pub seed: u64,
}

impl TwinSpec {
    pub(crate) fn build(&self) -> Result<Twin, ServeError> {
        Twin::build(&self.description, &self.settings, self.seed).map_err(|error| ServeError::Array {
            problem: error.to_string(),
            hint: "settings of the model are listed by `arraylab show array NAME`",
        })
    }

    /// Whether the twin itself has volumes, each with addresses and a limit of its own.
    fn has_volumes(&self) -> bool {
        self.description.replicated.is_some()
    }
}

/// A volume as the model sees it.
#[derive(Debug, Clone)]
struct Volume {
    name: String,
    /// Where it begins in the array.
    start_bytes: u64,
    size_bytes: u64,
    limit: Limit,
    limiter: Limiter,
    /// Requests that the limit holds back.
    waiting: VecDeque<(u32, Operation)>,
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
}

impl Model {
    /// `volumes`: names and sizes, one after the other from the start of the array.
    pub(crate) fn new(spec: TwinSpec, volumes: &[(String, u64)]) -> Result<Model, ServeError> {
        let mut start_bytes = 0;
        let volumes = volumes.iter().map(|(name, size_bytes)| {
            let volume = Volume {
                name: name.clone(),
                start_bytes,
                size_bytes: *size_bytes,
                limit: Limit::default(),
                limiter: Limiter::default(),
                waiting: VecDeque::new(),
            };
            start_bytes += size_bytes;
            volume
        });
        let volumes = volumes.collect();
        let mut model = Model {
            twin: spec.build()?,
            has_volumes: spec.has_volumes(),
            spec,
            volumes,
            began_at_ns: 0,
            notes: VecDeque::new(),
        };
        model.attach()?;
        Ok(model)
    }

    /// Where the twin has volumes of its own, each gets a range of jobs.
    fn attach(&mut self) -> Result<(), ServeError> {
        if !self.has_volumes {
            return Ok(());
        }
        for (index, volume) in self.volumes.iter().enumerate() {
            let settings = Map::from_iter([("volume".to_owned(), Value::from(volume.name.as_str()))]);
            self.twin.attach(index as u32 * JOBS_OF_VOLUME, &settings).map_err(|error| {
                ServeError::Array {
                    problem: error.to_string(),
                    hint: "a volume of the served array is none of its model",
                }
            })?;
        }
        Ok(())
    }

    /// The volume that holds an address of the array.
    pub(crate) fn volume_at(&self, offset_bytes: u64) -> usize {
        self.volumes.partition_point(|volume| volume.start_bytes <= offset_bytes).saturating_sub(1)
    }

    /// Hands over a request for an address of the array at a moment that is not before the last one.
    pub(crate) fn submit(
        &mut self,
        now_ns: u64,
        tag: u32,
        direction: Direction,
        range: (u64, u32),
        connection: u64,
    ) {
        let (offset_bytes, length_bytes) = range;
        let index = self.volume_at(offset_bytes);
        let connection = (connection % u64::from(JOBS_OF_VOLUME)) as u32;
        let (mut offset_bytes, mut job) = (offset_bytes, connection);
        let mut capacity_bytes = self.twin.capacity_bytes();
        if let (true, Some(volume)) = (self.has_volumes, self.volumes.get(index)) {
            offset_bytes -= volume.start_bytes;
            job += index as u32 * JOBS_OF_VOLUME;
            capacity_bytes = volume.size_bytes;
        }
        // Beyond what the model has it begins anew: drives that were made larger than described.
        let length_bytes = u64::from(length_bytes).min(capacity_bytes);
        let offset_bytes = (offset_bytes % capacity_bytes).min(capacity_bytes - length_bytes);
        let operation = Operation { direction, offset_bytes, length_bytes: length_bytes as u32, job };
        match self.volumes.get_mut(index) {
            Some(volume) if volume.limiter.is_limited() || !volume.waiting.is_empty() => {
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
        if action == "limit" && !self.has_volumes {
            return self.limit(now_ns, arguments);
        }
        let at_ns = self.twin_ns(now_ns);
        self.twin.act(at_ns, action, arguments).map_err(|error| error.to_string())
    }

    fn limit(&mut self, now_ns: u64, arguments: &Map<String, Value>) -> Result<(), String> {
        let index = match arguments.get("volume") {
            None => 0,
            Some(name) => {
                let named = |volume: &Volume| Some(volume.name.as_str()) == name.as_str();
                self.volumes.iter().position(named).ok_or_else(|| {
                    let names: Vec<&str> = self.volumes.iter().map(|volume| volume.name.as_str()).collect();
                    format!("there is no volume {name}; there are {}", names.join(", "))
                })?
            }
        };
        let Some(volume) = self.volumes.get_mut(index) else {
            return Err("this array has no volumes".to_owned());
        };
        let parts = arguments.iter().filter(|(name, _)| name.as_str() != "volume");
        volume.limit = volume.limit.changed(parts).map_err(|error| error.to_string())?;
        volume.limiter.set(&volume.limit, volume.size_bytes);
        self.admit(index, now_ns);
        Ok(())
    }

    /// Puts a twin with other settings in this one's place. What was under way is forgotten; the caller answers it.
    pub(crate) fn rebuild(&mut self, settings: Map<String, Value>, now_ns: u64) -> Result<(), ServeError> {
        let spec = TwinSpec { settings, ..self.spec.clone() };
        self.twin = spec.build()?;
        self.spec = spec;
        self.began_at_ns = now_ns;
        self.volumes.iter_mut().for_each(|volume| {
            volume.waiting.clear();
            volume.limiter.set(&volume.limit, volume.size_bytes);
        });
        self.attach()
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
    pub(crate) fn limits(&self) -> impl Iterator<Item = (&str, &Limit, usize)> {
        self.volumes.iter().map(|volume| (volume.name.as_str(), &volume.limit, volume.waiting.len()))
    }
}

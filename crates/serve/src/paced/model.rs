//! Twin of a served array, with its volumes and limits.

use super::limited::Volume;
use super::persistent_faults::PersistentFaults;
use super::twin_spec::{KnownVolume, TwinSpec, described};
use crate::ServeError;
use crate::event_names::{LIMIT, TEMPLATE};
use diagnostic::Problem;
use load::{Completion, Device as _, Direction, Operation};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;
use twin::{Faults, Twin, TwinCounter, TwinNote};

/// Connections are the twin's jobs: so many of each volume differ.
pub(super) const JOBS_OF_VOLUME: u32 = 1024;

/// Name of the argument that tells which drive an event is about.
const DRIVE: &str = "drive";
/// The last so many notes are kept.
const NOTES_LIMIT: usize = 64;

/// Volume and address of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RequestTarget {
    /// Number of the volume that it belongs to.
    pub volume: Option<u32>,
    /// Its place in the volume.
    pub volume_bytes: u64,
    /// Its place on the array.
    pub array_bytes: u64,
}

/// A twin that is used as an array of volumes.
pub(crate) struct Model {
    pub(super) twin: Twin,
    pub(super) spec: TwinSpec,
    pub(super) volumes: Vec<Volume>,
    /// True where the twin has them itself.
    pub(super) has_volumes: bool,
    /// Time that the twins before this one had.
    pub(super) began_at_ns: u64,
    notes: VecDeque<TwinNote>,
    /// Completions that came up while something else was asked of the twin.
    pub(super) completed: VecDeque<(u32, u64)>,
    /// Faults of parts of the array, which last.
    pub(super) persistent_faults: PersistentFaults,
    /// Arrivals so far, where they are kept.
    arrivals: Option<Vec<(u64, Operation)>>,
}

impl Model {
    /// A model that begins with the faults that another one left.
    pub(crate) fn new(spec: TwinSpec, volumes: &[KnownVolume], faults: &Faults) -> Result<Model, ServeError> {
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
            persistent_faults: PersistentFaults::default(),
            arrivals: None,
        };
        model.restore(0, faults)?;
        Ok(model)
    }

    fn position(&self, number: u32) -> Option<usize> {
        self.volumes.iter().position(|volume| volume.known.number == number)
    }

    /// From now on what comes in is kept, with its moment; room is made for so many.
    pub(crate) fn keep_arrivals(&mut self, expected: usize) {
        self.arrivals = Some(Vec::with_capacity(expected));
    }

    /// Takes the arrivals that were kept, by the twin's clock.
    pub(crate) fn take_arrivals(&mut self) -> Vec<(u64, Operation)> {
        self.arrivals.take().unwrap_or_default()
    }

    /// Hands over a request at a moment that is not before the last one.
    pub(crate) fn submit(
        &mut self,
        now_ns: u64,
        tag: u32,
        direction: Direction,
        (at, length_bytes): (RequestTarget, u32),
        connection: u64,
    ) {
        self.run_until(self.twin_ns(now_ns));
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
        if let Some(arrivals) = &mut self.arrivals {
            arrivals.push((now_ns, operation));
        }
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
    pub(super) fn twin_ns(&self, now_ns: u64) -> u64 {
        now_ns.saturating_sub(self.began_at_ns).max(self.twin.now_ns())
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
            if let Some(Completion { tag, at_ns, .. }) = self.twin_completion(stop_ns) {
                return Some((tag, at_ns + self.began_at_ns));
            }
            self.admit(index?, stop_ns + self.began_at_ns);
        }
    }

    /// The twin's next completion up to a moment of its clock, which goes no further than to the last thing that happens by then:
    /// a request that came in before that moment and is handed over late is then taken at its own, unless something has
    /// happened since.
    fn twin_completion(&mut self, until_ns: u64) -> Option<Completion> {
        let mut at_ns = self.twin.now_ns();
        loop {
            let completion = self.twin.next_completion(at_ns);
            let next_ns = self.twin.wakes_at_ns();
            if completion.is_some() || next_ns > until_ns || next_ns <= at_ns {
                return completion;
            }
            at_ns = next_ns;
        }
    }

    /// Everything that the twin does up to a moment of its clock; what completes is kept for [`Model::next_completion`].
    fn run_until(&mut self, at_ns: u64) {
        while let Some(completion) = self.twin.next_completion(at_ns) {
            self.completed.push_back((completion.tag, completion.at_ns + self.began_at_ns));
        }
    }

    /// Returns when something happens next by itself; right after [`Model::next_completion`] has returned none.
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
    ) -> Result<(), Problem> {
        if action == LIMIT {
            return self.limit(now_ns, arguments);
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
        self.persistent_faults.note(action, arguments);
        Ok(())
    }

    pub(super) fn act_on_twin(
        &mut self,
        now_ns: u64,
        action: &str,
        arguments: &Map<String, Value>,
    ) -> Result<(), Problem> {
        let at_ns = self.twin_ns(now_ns);
        let mut arguments = arguments.clone();
        // Drives of the bytes are places of the set; the twin's are the drives themselves, spares among them.
        if let Some(drive) = arguments.get_mut(DRIVE)
            && let Some(place) = drive.as_u64().and_then(|place| u32::try_from(place).ok())
        {
            *drive = self.twin.drive_in(place).into();
        }
        self.twin.act(at_ns, action, &arguments).map_err(|error| Problem::from(error.to_string()))?;
        // It takes place before whatever comes in at the same moment.
        self.run_until(at_ns);
        Ok(())
    }

    /// Faults that last, as another model of the array is to begin with them.
    pub(crate) fn faults(&self) -> Faults {
        self.twin.faults()
    }

    /// By drive of the bytes: the name of the part that it is at present.
    pub(crate) fn parts_of_drives(&self, drives: u32) -> Vec<String> {
        (0..drives).map(|place| self.twin.part_in(place)).collect()
    }

    pub(crate) fn settings(&self) -> &Map<String, Value> {
        &self.spec.settings
    }

    pub(crate) fn counters(&self) -> Vec<TwinCounter> {
        self.twin.counters()
    }

    /// Returns the latest notes, by the array's clock.
    pub(crate) fn recent_notes(&mut self) -> Vec<Value> {
        for note in self.twin.take_notes() {
            if self.notes.len() == NOTES_LIMIT {
                self.notes.pop_front();
            }
            self.notes.push_back(TwinNote { at_ns: note.at_ns + self.began_at_ns, ..note });
        }
        self.notes.iter().map(|note| json!({"at_ns": note.at_ns, "says": note.says})).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::limited::tests::{at, model};
    use super::*;

    const MS: u64 = 1_000_000;

    /// Reads of 4K, each at its moment and handed over so much later, while the model is asked for completions all the time.
    fn latencies_ns(late_ns: u64, step_ns: u64) -> Vec<u64> {
        let mut model = model("raid-levels", &["vol0"]);
        let (mut latencies, mut asked_ns) = (Vec::new(), 0);
        let mut ask_until = |model: &mut Model, until_ns: u64| {
            while asked_ns < until_ns {
                asked_ns = (asked_ns + step_ns).min(until_ns);
                while let Some((tag, at_ns)) = model.next_completion(asked_ns) {
                    latencies.push(at_ns - u64::from(tag) * 40 * MS);
                }
            }
        };
        for tag in 1..20u32 {
            let moment_ns = u64::from(tag) * 40 * MS;
            ask_until(&mut model, moment_ns + late_ns);
            let place = at(0, u64::from(tag * 7919 % 4096) * 4096);
            model.submit(moment_ns, tag, Direction::Read, (place, 4096), 0);
        }
        ask_until(&mut model, 2000 * MS);
        latencies
    }

    /// Proves that a request which is handed over late takes as long from its own moment as one that is handed over in time,
    /// where nothing has happened in between, and that it does not matter how often the model is asked.
    #[test]
    fn a_request_counts_from_its_own_moment() {
        let in_time = latencies_ns(0, MS);
        assert_eq!(in_time.len(), 19);
        for (late_ns, step_ns) in [(3 * MS, MS), (7 * MS, MS / 8), (0, 40 * MS), (10 * MS, 13 * MS)] {
            assert_eq!(latencies_ns(late_ns, step_ns), in_time, "{late_ns} late, asked every {step_ns}");
        }
    }
}

//! Replacement of a running twin by one with other settings or volumes.

use super::Model;
use super::limited::Volume;
use super::model::JOBS_OF_VOLUME;
use super::twin_spec::{KnownVolume, TwinSpec, described, limit_arguments};
use crate::ServeError;
use crate::event_names::LIMIT;
use load::Device as _;
use serde_json::{Map, Value};
use twin::{Faults, Twin};

impl Model {
    /// Brings a twin that is new into the state that the one before it had, which left these faults.
    pub(super) fn restore(&mut self, now_ns: u64, faults: &Faults) -> Result<(), ServeError> {
        self.attach()?;
        let with_losses = !self.twin.begin_with(faults);
        let limits: Vec<_> =
            self.volumes.iter().filter_map(|volume| limit_arguments(&volume.known)).collect();
        let limits =
            limits.into_iter().filter(|_| self.has_volumes).map(|arguments| (LIMIT.to_owned(), arguments));
        for (action, arguments) in
            limits.chain(self.persistent_faults.actions(with_losses)).collect::<Vec<_>>()
        {
            // What this array cannot do it could not do before.
            let _ = self.act_on_twin(now_ns, &action, &arguments);
        }
        Ok(())
    }

    /// Gives each volume a range of jobs, where the twin has volumes of its own.
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
        self.spec = spec;
        self.replace_twin(twin, known, lost, now_ns)
    }

    fn replace_twin(
        &mut self,
        twin: Twin,
        known: Vec<KnownVolume>,
        lost: &[Value],
        now_ns: u64,
    ) -> Result<(), ServeError> {
        // What the one before has said last is kept.
        self.recent_notes();
        let mut faults = self.faults();
        faults.forget_replaced(|place| lost.contains(&Value::from(place)));
        self.persistent_faults.lost(lost);
        self.twin = twin;
        self.began_at_ns = now_ns;
        self.completed.clear();
        self.volumes = known.into_iter().map(Volume::new).collect();
        self.restore(now_ns, &faults)
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
            self.replace_twin(twin, known, lost, now_ns)?;
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
}

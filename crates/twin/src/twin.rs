//! The one device that all kinds of arrays are behind.

use load::{Completion, Device, Operation};
use serde_json::{Map, Value};

use crate::description::Kind;
use crate::settings::{Setting, unknown};
use crate::{
    ArrayDescription, Event, TwinCounter, TwinError, TwinNote, disk_array, flash_module_array, replicated,
    ssd_array,
};

/// What every kind of array brings.
pub(crate) trait ArrayModel: Device + Sized {
    /// Its part of an [`ArrayDescription`].
    type Description;

    /// What can be set on it.
    const SETTINGS: &'static [Setting];

    /// Builds it from a description that has been checked.
    fn build(
        description: &Self::Description,
        settings: &Map<String, Value>,
        seed: u64,
    ) -> Result<Self, TwinError>;

    /// Lets something happen at a moment of its clock.
    fn schedule(&mut self, at_ns: u64, event: Event) -> Result<(), TwinError>;

    /// Lets an action happen that is told something, as plans name it.
    fn act(&mut self, _at_ns: u64, action: &str, arguments: &Map<String, Value>) -> Result<(), TwinError> {
        let event = action.to_owned();
        match (Event::from_name(action), arguments.keys().next()) {
            (Some(_), Some(argument)) => {
                Err(TwinError::UnknownArgument { event, argument: argument.clone() })
            }
            _ => Err(TwinError::UnknownEvent { event, known: Event::ALL.map(Event::name).join(", ") }),
        }
    }

    /// Makes jobs from `first_job` on be for the volume and host that `settings` name.
    fn attach(&mut self, _first_job: u32, settings: &Map<String, Value>) -> Result<(), TwinError> {
        match settings.keys().next() {
            Some(name) => Err(unknown(name, &[])),
            None => Ok(()),
        }
    }

    /// What has happened since this was last asked.
    fn take_notes(&mut self) -> Vec<TwinNote>;

    /// Cumulative counts of every part.
    fn counters(&self) -> Vec<TwinCounter>;
}

/// An array brought to life in simulated time.
#[derive(Debug, Clone)]
pub struct Twin {
    model: Model,
}

/// A twin has one kind for life, so the branch on it is foreseen; an I/O goes through it three times
/// (`docs/models/engine.md` has its cost).
#[derive(Debug, Clone)]
enum Model {
    FlashModules(Box<flash_module_array::Model>),
    Replicated(Box<replicated::Model>),
    SsdArray(Box<ssd_array::Model>),
    DiskArray(Box<disk_array::Model>),
}

/// The same on whatever kind it is.
macro_rules! on_model {
    ($twin:expr, $model:ident => $do:expr) => {
        match $twin {
            Model::FlashModules($model) => $do,
            Model::Replicated($model) => $do,
            Model::SsdArray($model) => $do,
            Model::DiskArray($model) => $do,
        }
    };
}

fn build<M: ArrayModel>(
    description: &M::Description,
    settings: &Map<String, Value>,
    seed: u64,
) -> Result<Box<M>, TwinError> {
    M::build(description, settings, seed).map(Box::new)
}

impl Twin {
    /// Builds a twin. `settings` are array settings and mechanism switches ([`Twin::settings`]); what this kind of array
    /// does not have is refused. `seed` is for the parts of an array that chance acts on; a twin built of
    /// deterministic parts alone is the same with every seed.
    pub fn build(
        description: &ArrayDescription,
        settings: &Map<String, Value>,
        seed: u64,
    ) -> Result<Twin, TwinError> {
        description.check()?;
        let model = match description.kind()? {
            Kind::FlashModules(description) => Model::FlashModules(build(description, settings, seed)?),
            Kind::Replicated(description) => Model::Replicated(build(description, settings, seed)?),
            Kind::SsdArray(description) => Model::SsdArray(build(description, settings, seed)?),
            Kind::DiskArray(description) => Model::DiskArray(build(description, settings, seed)?),
        };
        Ok(Twin { model })
    }

    /// What can be set on a twin of this description; nothing where it gives no kind.
    pub fn settings(description: &ArrayDescription) -> &'static [Setting] {
        match description.kind() {
            Ok(Kind::FlashModules(_)) => flash_module_array::Model::SETTINGS,
            Ok(Kind::Replicated(_)) => replicated::Model::SETTINGS,
            Ok(Kind::DiskArray(_)) => disk_array::Model::SETTINGS,
            Ok(Kind::SsdArray(_)) => ssd_array::Model::SETTINGS,
            Err(_) => &[],
        }
    }

    /// Lets something happen at a moment of the twin's clock.
    pub fn schedule(&mut self, at_ns: u64, event: Event) -> Result<(), TwinError> {
        let now_ns = self.now_ns();
        if at_ns < now_ns {
            return Err(TwinError::Late { event: event.name().to_owned(), at_ns, now_ns });
        }
        on_model!(&mut self.model, model => model.schedule(at_ns, event))
    }

    /// The same for an action as plans name it, with what it is told: `limit` with `iops: 1000`.
    pub fn act(&mut self, at_ns: u64, action: &str, arguments: &Map<String, Value>) -> Result<(), TwinError> {
        if let Some(event) = Event::from_name(action).filter(|_| arguments.is_empty()) {
            return self.schedule(at_ns, event);
        }
        let now_ns = self.now_ns();
        if at_ns < now_ns {
            return Err(TwinError::Late { event: action.to_owned(), at_ns, now_ns });
        }
        on_model!(&mut self.model, model => model.act(at_ns, action, arguments))
    }

    /// Makes operations of jobs from `first_job` on go to the volume and come from the host that `settings` name
    /// (`volume`, `host`), where an array has several: this is how several loads share a twin, each with a range of
    /// jobs of its own. What is not named is as for the jobs before.
    pub fn attach(&mut self, first_job: u32, settings: &Map<String, Value>) -> Result<(), TwinError> {
        on_model!(&mut self.model, model => model.attach(first_job, settings))
    }

    /// What has happened to the twin since this was last asked, for the run's record of events.
    pub fn take_notes(&mut self) -> Vec<TwinNote> {
        on_model!(&mut self.model, model => model.take_notes())
    }

    /// Cumulative counts of every part since the twin was built; `fill_…` are levels at this moment.
    pub fn counters(&self) -> Vec<TwinCounter> {
        on_model!(&self.model, model => model.counters())
    }
}

impl Device for Twin {
    fn capacity_bytes(&self) -> u64 {
        on_model!(&self.model, model => model.capacity_bytes())
    }

    fn now_ns(&self) -> u64 {
        on_model!(&self.model, model => model.now_ns())
    }

    #[inline]
    fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation) {
        on_model!(&mut self.model, model => model.submit(at_ns, tag, operation));
    }

    #[inline]
    fn next_completion(&mut self, until_ns: u64) -> Option<Completion> {
        on_model!(&mut self.model, model => model.next_completion(until_ns))
    }
}

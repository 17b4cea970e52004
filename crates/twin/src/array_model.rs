//! Operations that every kind of array model provides.

use load::Device;
use serde_json::{Map, Value};

use crate::drive::Slowness;
use crate::settings::{Setting, unknown};
use crate::{Faults, TwinCounter, TwinError, TwinNote};

/// Array model: a device with settings, events, drives and fast-forward.
pub(crate) trait ArrayModel: Device + Sized {
    /// Its part of an [`ArrayDescription`].
    type Description;

    /// Settings that it takes.
    const SETTINGS: &'static [Setting];

    /// Builds it from a description that has been checked.
    fn build(
        description: &Self::Description,
        settings: &Map<String, Value>,
        seed: u64,
    ) -> Result<Self, TwinError>;

    /// Returns whether it can do an event or another action, as plans name it, with what it is told.
    fn can_act(&self, action: &str, arguments: &Map<String, Value>) -> Result<(), TwinError>;

    /// Lets an action that it can do happen at a moment of its clock.
    fn act(&mut self, at_ns: u64, action: &str, arguments: &Map<String, Value>);

    /// The drive that a value names.
    fn find_drive(&self, value: &Value) -> Option<u32>;

    /// The number by which events name the drive that is fitted in a place of the first set.
    fn drive_in(&self, place: u32) -> u32 {
        place
    }

    /// Faults that last.
    fn faults(&self) -> Faults;

    /// Begins with the faults of another model of the same array; false where they cannot be this one's, or it has no way to.
    fn begin_with(&mut self, faults: &Faults) -> bool;

    /// The name of a drive among the counters.
    fn drive_entity(&self, drive: u32) -> String;

    /// From now on a drive takes so many thousandths of its time.
    fn slow_drive(&mut self, drive: u32, slowness: Slowness);

    /// Returns how slow the drive that is fitted there is now: another may have taken its place.
    fn slowness(&self, drive: u32) -> Slowness;

    /// Makes jobs from `first_job` on be for the volume and host that `settings` name.
    fn attach(&mut self, _first_job: u32, settings: &Map<String, Value>) -> Result<(), TwinError> {
        match settings.keys().next() {
            Some(name) => Err(unknown(name, &[])),
            None => Ok(()),
        }
    }

    /// The size of what a job addresses.
    fn capacity_of_job_bytes(&self, _job: u32) -> u64 {
        self.capacity_bytes()
    }

    /// Returns when something happens next by itself, if nothing is submitted; `u64::MAX` for never. Right after
    /// `next_completion` has returned none.
    fn wakes_at_ns(&self) -> u64;

    /// Returns what has happened since this was last asked.
    fn take_notes(&mut self) -> Vec<TwinNote>;

    /// Cumulative counts of every part.
    fn counters(&self) -> Vec<TwinCounter>;

    /// Share of a rebuild that is done; `None` where none runs, or a kind does not say.
    fn rebuilt_share(&self) -> Option<f64> {
        None
    }

    /// As [`load::FastForward::begin_window`]; a kind without fast-forward does nothing.
    fn begin_window(&mut self) {}

    /// As [`load::FastForward::can_skip_sequential`].
    fn can_skip_sequential(&self) -> bool {
        true
    }

    /// As [`load::FastForward::knows_skipped_streams`].
    fn knows_skipped_streams(&self) -> bool {
        true
    }

    /// As [`load::FastForward::begin_level`].
    fn begin_level(&mut self) {}

    /// Changes inside the model that a level does not outlast, as [`load::FastForward::change_count`].
    fn change_count(&self) -> u64 {
        0
    }

    /// As [`load::FastForward::steady_for_ns`]; a kind without fast-forward is always simulated.
    fn steady_for_ns(&self, _window_ns: u64, _left_ns: u64) -> u64 {
        0
    }

    /// Returns whether what a load does after an action depends for minutes on the state in which the action finds the
    /// array, queue by queue. No time is skipped while such an action lies ahead.
    fn is_chaotic_after(&self, _action: &str) -> bool {
        false
    }

    /// As [`load::FastForward::skip_time`].
    fn skip_time(&mut self, _duration_ns: u64, _window_ns: u64) {}

    /// As [`load::FastForward::keeps_random_writes`].
    fn keeps_random_writes(&self, _window_ns: u64, _left_ns: u64) -> bool {
        false
    }

    /// As [`load::FastForward::apply_skipped_write`].
    fn apply_skipped_write(&mut self, _offset_bytes: u64, _length_bytes: u64) {}
}

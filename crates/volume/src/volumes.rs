//! Volume creation, resizing and deletion under I/O.
//!
//! The map is part of the array's record, which is replaced whole: after a crash at any moment it is the one before or the
//! one after. What a volume gets is made zero before the record says so; what one leaves is given back
//! afterwards, and where a crash prevents that it is made zero when it is next given out.

use crate::VolumeError;
use crate::map::{MapError, Run, VolumeMap};
use crate::volume::Volume;
use serde_json::{Map, Value};

/// Change of a volume.
#[derive(Debug, Clone, PartialEq)]
pub enum VolumeChange {
    /// A new one, all zeros.
    Create {
        /// Its name.
        name: String,
        /// Its size.
        size_bytes: u64,
        /// Attributes that are kept with it.
        attributes: Map<String, Value>,
    },
    /// Another size: what is added reads as zeros, what is cut off is gone.
    Resize {
        /// Name.
        name: String,
        /// Its new size.
        size_bytes: u64,
    },
    /// It and its data are gone.
    Delete {
        /// Name.
        name: String,
    },
    /// Something else is kept with it.
    Keep {
        /// Name.
        name: String,
        /// Under which key.
        key: String,
        /// Value; null for nothing.
        value: Value,
    },
}

/// A change with the map that it leads to.
#[derive(Debug, Clone)]
pub struct PlannedChange {
    map: VolumeMap,
    got: Vec<Run>,
    freed: Vec<Run>,
    /// The same of a thin volume, of which only what is allocated counts.
    thin_got: Option<ThinRange>,
    thin_freed: Option<ThinRange>,
}

/// Range of a thin volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ThinRange {
    number: u32,
    start_bytes: u64,
    end_bytes: u64,
}

impl PlannedChange {
    /// The map after the change.
    pub fn map(&self) -> &VolumeMap {
        &self.map
    }

    /// Returns what takes a change that gave ranges out back; `before` is the map that it was planned on.
    pub fn undo(&self, before: VolumeMap) -> PlannedChange {
        // What a thin volume got was made zero, and holds nothing.
        let (thin_got, thin_freed) = (None, None);
        PlannedChange { map: before, got: Vec::new(), freed: self.got.clone(), thin_got, thin_freed }
    }
}

impl VolumeMap {
    /// Plans a change: what it would lead to.
    pub fn plan(&self, change: &VolumeChange) -> Result<PlannedChange, MapError> {
        let mut map = self.clone();
        let (mut got, mut freed) = (Vec::new(), Vec::new());
        let (mut thin_got, mut thin_freed) = (None, None);
        match change {
            VolumeChange::Create { name, size_bytes, attributes } => {
                got = map.create(name, *size_bytes, attributes.clone())?;
            }
            VolumeChange::Resize { name, size_bytes } => {
                let before = map.find(name)?.clone();
                (got, freed) = map.resize(name, *size_bytes)?;
                if let Some(number) = before.thin {
                    let ends = [before.size_bytes, *size_bytes].map(|bytes| self.thin_end_bytes(bytes));
                    if *size_bytes > before.size_bytes {
                        // Also where giving back has failed when it was made smaller.
                        let (start_bytes, end_bytes) = (before.size_bytes, ends[1]);
                        thin_got = Some(ThinRange { number, start_bytes, end_bytes });
                    } else {
                        let (start_bytes, end_bytes) = (ends[1], ends[0]);
                        thin_freed = Some(ThinRange { number, start_bytes, end_bytes });
                    }
                }
                // The rest of the last unit is the volume's already, and may hold what it held before it was made smaller.
                if *size_bytes > before.size_bytes {
                    got.extend(tail(&before.runs, before.size_bytes));
                }
            }
            VolumeChange::Delete { name } => {
                let before = map.find(name)?;
                let end_bytes = self.thin_end_bytes(before.size_bytes);
                thin_freed = before.thin.map(|number| ThinRange { number, start_bytes: 0, end_bytes });
                freed = map.delete(name)?;
            }
            VolumeChange::Keep { name, key, value } => {
                let attributes = map.attributes_mut(name)?;
                if value.is_null() {
                    attributes.remove(key);
                } else {
                    attributes.insert(key.clone(), value.clone());
                }
            }
        }
        Ok(PlannedChange { map, got, freed, thin_got, thin_freed })
    }

    /// End of the last unit of a thin volume of so many bytes.
    fn thin_end_bytes(&self, size_bytes: u64) -> u64 {
        self.thin_units().map_or(size_bytes, |units| size_bytes.next_multiple_of(units.unit_bytes))
    }
}

/// The part of runs behind their first so many bytes.
fn tail(runs: &[Run], mut skip_bytes: u64) -> Vec<Run> {
    let mut rest = Vec::new();
    for run in runs {
        let skipped = skip_bytes.min(run.length_bytes);
        skip_bytes -= skipped;
        if skipped < run.length_bytes {
            rest.push(Run {
                start_bytes: run.start_bytes + skipped,
                length_bytes: run.length_bytes - skipped,
            });
        }
    }
    rest
}

impl Volume {
    /// The volumes, if the array was ever told of some.
    pub fn volume_map(&self) -> Option<VolumeMap> {
        self.map().clone()
    }

    /// Carries out a change that was planned on the present map; durable when this returns. Nobody uses what it frees
    /// any more, and one change is made at a time: both are up to the caller.
    pub fn change_volumes(&self, planned: &PlannedChange) -> Result<(), VolumeError> {
        for run in &planned.got {
            self.clear(run)?;
        }
        if let Some(ThinRange { number, start_bytes, end_bytes }) = planned.thin_got {
            let thin = self.thin_volume(number, end_bytes)?;
            thin.write_zeroes(start_bytes, end_bytes - start_bytes, true, false)?;
        }
        if !planned.got.is_empty() || planned.thin_got.is_some() {
            self.flush()?;
        }
        self.record_map(Some(planned.map.clone()))?;
        // Done already: what is not given back now is made zero when it is next given out.
        for run in &planned.freed {
            let _ = self.clear(run);
        }
        if let Some(ThinRange { number, start_bytes, end_bytes }) = planned.thin_freed {
            let _ = self.thin_volume(number, end_bytes)?.trim(start_bytes, end_bytes - start_bytes, false);
        }
        Ok(())
    }

    /// Records the volumes that an array begins with.
    pub fn begin_map(&self, map: VolumeMap) -> Result<(), VolumeError> {
        self.record_map(Some(map))?;
        self.open_pool()
    }

    /// Returns what is kept with the array under a key.
    pub fn kept(&self, key: &str) -> Option<Value> {
        self.attributes().get(key).cloned()
    }

    /// Keeps something with the array; null for nothing. Durable when this returns.
    pub fn keep(&self, key: &str, value: Value) -> Result<(), VolumeError> {
        let array = self.array_alone();
        let before = self.attributes().clone();
        match value {
            Value::Null => drop(self.attributes().remove(key)),
            value => drop(self.attributes().insert(key.to_owned(), value)),
        }
        if before == *self.attributes() {
            return Ok(());
        }
        let outcome = self.write_record(&array);
        if outcome.is_err() {
            *self.attributes() = before;
        }
        outcome
    }

    /// Makes a range zero where it is not, and gives its space back.
    pub fn clear(&self, run: &Run) -> Result<(), VolumeError> {
        let end_bytes = run.start_bytes + run.length_bytes;
        let mut at_bytes = run.start_bytes;
        while at_bytes < end_bytes {
            for extent in self.block_status(at_bytes, end_bytes - at_bytes)? {
                if extent.is_allocated {
                    self.write_zeroes(at_bytes, extent.length_bytes, true, false)?;
                }
                at_bytes += extent.length_bytes;
            }
        }
        Ok(())
    }

    fn record_map(&self, map: Option<VolumeMap>) -> Result<(), VolumeError> {
        let array = self.array_alone();
        let before = std::mem::replace(&mut *self.map(), map);
        let outcome = self.write_record(&array);
        if outcome.is_err() {
            *self.map() = before;
        }
        outcome
    }
}

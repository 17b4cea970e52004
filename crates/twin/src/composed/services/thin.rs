//! Thin provisioning: a unit is allocated with the first write to it.

use super::metadata::{Metadata, share_in_memory};
use super::request::{Served, Stage};
use super::sparse::Sparse;
use crate::part::Counters;

/// Units of an array, by address.
#[derive(Debug, Clone)]
pub(crate) struct Thin {
    unit_bytes: u64,
    allocate_ns: u64,
    lookup_ns: u64,
    record_bytes: u32,
    /// Share of the map that is in memory.
    in_memory: f64,
    /// Units that differ from the condition in which the array began: 1.
    changed: Sparse,
    /// True where all units were allocated beforehand.
    began_allocated: bool,
    units: u64,
    allocated: u64,
    allocations: u64,
    freed: u64,
    unallocated_reads: u64,
    map_reads: u64,
}

impl Thin {
    /// Of so many bytes of volumes.
    pub fn new(thin: &array::Thin, volume_bytes: u64, began_allocated: bool) -> Thin {
        let units = volume_bytes / thin.unit.get();
        let map_bytes = units as f64 * thin.entry.get() as f64;
        Thin {
            unit_bytes: thin.unit.get(),
            allocate_ns: thin.allocate.get(),
            lookup_ns: thin.lookup.get(),
            record_bytes: thin.record.get() as u32,
            in_memory: share_in_memory(thin.map_cache.get(), map_bytes),
            changed: Sparse::default(),
            began_allocated,
            units,
            allocated: if began_allocated { units } else { 0 },
            allocations: 0,
            freed: 0,
            unallocated_reads: 0,
            map_reads: 0,
        }
    }

    /// Returns whether the unit of an address is allocated.
    fn is_allocated(&self, address: u64) -> bool {
        (self.changed.get(address / self.unit_bytes) == 0) == self.began_allocated
    }

    /// Returns whether nothing of a range is allocated.
    pub fn is_empty(&self, address: u64, length: u64) -> bool {
        !self.units_of(address, length).any(|unit| self.is_allocated(unit * self.unit_bytes))
    }

    fn set_allocated(&mut self, unit: u64, is_allocated: bool) {
        self.changed.set(unit, u32::from(is_allocated != self.began_allocated));
    }

    fn units_of(&self, address: u64, length: u64) -> std::ops::RangeInclusive<u64> {
        address / self.unit_bytes..=(address + length - 1) / self.unit_bytes
    }

    /// Looks a unit up; the part of the map that is not in memory is read first. Returns the processor time.
    fn look_up(&mut self, set: u16, served: &mut Served, metadata: &mut Metadata) -> u64 {
        if metadata.misses(self.in_memory) {
            self.map_reads += 1;
            served.add(Stage::Before, metadata.read(set));
        }
        self.lookup_ns
    }

    /// A read of a range: its processor time, and whether nothing of it is allocated, so that no drive is asked.
    pub fn read(
        &mut self,
        (address, length): (u64, u64),
        set: u16,
        served: &mut Served,
        metadata: &mut Metadata,
    ) -> (u64, bool) {
        let is_empty = self.is_empty(address, length);
        self.unallocated_reads += u64::from(is_empty);
        let units = self.units_of(address, length);
        (units.map(|_| self.look_up(set, served, metadata)).sum(), is_empty)
    }

    /// A write to a range: units that are not allocated become so, each with its record. Returns the processor time.
    pub fn write(
        &mut self,
        (address, length): (u64, u64),
        set: u16,
        served: &mut Served,
        metadata: &mut Metadata,
    ) -> u64 {
        let mut time_ns = 0;
        for unit in self.units_of(address, length) {
            if self.is_allocated(unit * self.unit_bytes) {
                time_ns += self.look_up(set, served, metadata);
                continue;
            }
            self.set_allocated(unit, true);
            self.allocations += 1;
            self.allocated += 1;
            time_ns += self.allocate_ns;
            if self.record_bytes > 0 {
                served.add(Stage::Record, metadata.write(set, self.record_bytes));
            }
        }
        time_ns
    }

    /// Units that a trim covers whole are free again.
    pub fn trim(&mut self, address: u64, length: u64) {
        for unit in address.div_ceil(self.unit_bytes)..(address + length) / self.unit_bytes {
            if self.is_allocated(unit * self.unit_bytes) {
                self.set_allocated(unit, false);
                self.freed += 1;
                self.allocated -= 1;
            }
        }
    }

    /// Returns whether no write can be a first one.
    pub fn is_steady(&self) -> bool {
        self.allocated == self.units
    }

    pub fn count_into(&self, counters: &mut Counters) {
        for (name, value) in [
            ("allocations", self.allocations),
            ("freed_units", self.freed),
            ("unallocated_reads", self.unallocated_reads),
            ("map_reads", self.map_reads),
            ("fill_allocated_bytes", self.allocated * self.unit_bytes),
        ] {
            counters.add("thin", name, value);
        }
    }
}

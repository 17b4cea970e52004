//! Counters of a flash drive.

/// Sums since the drive was built, in units of the drive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FlashCounters {
    /// Read commands.
    pub reads: u64,
    /// Write commands.
    pub writes: u64,
    /// Mapping units written by the host.
    pub host_units: u64,
    /// Mapping units that collection moved.
    pub moved_units: u64,
    /// Page programs over all planes.
    pub programs: u64,
    /// Page reads for collection.
    pub collection_reads: u64,
    /// Block erases over all planes.
    pub erases: u64,
    /// Time that the shared bus was busy: what bounds a drive that collects.
    pub bus_busy_ns: u64,
    /// Time that a die was busy with reads, programs and erases, the mean over the dies.
    pub dies_busy_ns: u64,
    /// Time that the drive's processor was busy with commands.
    pub commands_busy_ns: u64,
}

impl FlashCounters {
    /// These and others together.
    pub fn plus(&self, other: &FlashCounters) -> FlashCounters {
        FlashCounters {
            reads: self.reads + other.reads,
            writes: self.writes + other.writes,
            host_units: self.host_units + other.host_units,
            moved_units: self.moved_units + other.moved_units,
            programs: self.programs + other.programs,
            collection_reads: self.collection_reads + other.collection_reads,
            erases: self.erases + other.erases,
            bus_busy_ns: self.bus_busy_ns + other.bus_busy_ns,
            dies_busy_ns: self.dies_busy_ns + other.dies_busy_ns,
            commands_busy_ns: self.commands_busy_ns + other.commands_busy_ns,
        }
    }
}

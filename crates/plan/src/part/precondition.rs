//! Writes before a case.

/// Writes that bring a target into the state in which it is tested.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Preconditioning {
    /// Everything is discarded first (SNIA's purge), so that the target is as if never written.
    pub purge: bool,
    /// Order of the writes.
    pub pattern: load::Pattern,
    /// Bytes of one write.
    pub bs_bytes: u32,
    /// Jobs that write.
    pub numjobs: u32,
    /// Writes that each job keeps outstanding.
    pub iodepth: u32,
    /// Number of times that the size of the target is written; 0 where it is purged only.
    pub times: u32,
    /// The settings whose change asks for the writes. `None`: any array setting, and the beginning of a stage.
    pub after_change_of: Option<Vec<&'static str>>,
}

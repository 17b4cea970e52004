//! What a drawing of the test bench shows.

/// A group of like parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BenchPart {
    /// What they are.
    pub label: String,
    /// How many.
    pub count: u32,
}

impl BenchPart {
    pub(crate) fn new(label: &str, count: u32) -> Self {
        BenchPart { label: label.to_owned(), count }
    }
}

/// The parts of a bench, from the hosts down to the drives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Bench {
    /// Machines that issue the load.
    pub hosts: Vec<BenchPart>,
    /// Paths between hosts and controllers.
    pub links: Vec<BenchPart>,
    /// Controllers.
    pub controllers: Vec<BenchPart>,
    /// Drives, in the groups that the layout makes of them.
    pub drives: Vec<BenchPart>,
}

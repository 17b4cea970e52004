//! Parsed parameter file: targets, patterns and phases, with vdbench's defaults.

use super::lex::Parameter;
use super::phase::Phase;
use crate::{ImportWarning, NotCarried};

/// I/Os that vdbench keeps outstanding on a target by default.
pub(crate) const DEFAULT_THREADS: u64 = 8;
/// The part of a target that hits are taken from.
const DEFAULT_HITAREA_BYTES: u64 = 1 << 20;
/// Bytes of one I/O.
pub(crate) const DEFAULT_XFERSIZE_BYTES: u64 = 4096;

/// A parameter file, understood.
#[derive(Debug, Clone, Default)]
pub struct Parameters {
    /// `sd=`: what is loaded.
    pub targets: Vec<StorageDefinition>,
    /// `wd=`: how.
    pub patterns: Vec<WorkloadDefinition>,
    /// `rd=`: in which order, how fast and how long.
    pub phases: Vec<Phase>,
    /// Parameters that none of these definitions holds.
    pub not_carried: Vec<NotCarried>,
    /// Warnings of probable mistakes.
    pub warnings: Vec<ImportWarning>,
}

/// A storage definition: a device or file.
#[derive(Debug, Clone, PartialEq)]
pub struct StorageDefinition {
    /// Its label.
    pub name: String,
    /// The line that defines it.
    pub line: usize,
    /// Its path; empty where the file gives none.
    pub lun: String,
    /// Size of the part that is used, in bytes.
    pub size_bytes: Option<u64>,
    /// Offset of the part that is used, in bytes.
    pub offset_bytes: u64,
    /// I/Os outstanding on it.
    pub threads: u64,
    /// The part that hits of `rhpct` and `whpct` are taken from.
    pub hitarea_bytes: u64,
    /// Flags with which it is opened.
    pub openflags: Vec<String>,
    /// The share of it that is used, in percent.
    pub range: Option<(f64, f64)>,
}

impl StorageDefinition {
    pub(crate) fn new(name: &str, line: usize) -> StorageDefinition {
        StorageDefinition {
            name: name.to_owned(),
            line,
            lun: String::new(),
            size_bytes: None,
            offset_bytes: 0,
            threads: DEFAULT_THREADS,
            hitarea_bytes: DEFAULT_HITAREA_BYTES,
            openflags: Vec::new(),
            range: None,
        }
    }
}

/// Bytes of one I/O.
#[derive(Debug, Clone, PartialEq)]
pub enum TransferSize {
    /// Always the same.
    Fixed(u64),
    /// Several, each with its share in percent.
    Mix(Vec<(u64, f64)>),
    /// Any between two, in steps.
    Random {
        /// The smallest.
        least_bytes: u64,
        /// The largest.
        most_bytes: u64,
        /// The step.
        align_bytes: u64,
    },
}

/// Address pattern.
#[derive(Debug, Clone, PartialEq)]
pub enum Seek {
    /// Random for this share of the I/Os in percent, sequential for the others.
    Random(f64),
    /// Each behind the one before.
    Sequential,
    /// Sequential until the end of the target is reached.
    ToEnd,
    /// Around a middle that moves.
    Poisson,
}

/// A workload definition: an access pattern.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkloadDefinition {
    /// Its label.
    pub name: String,
    /// The line that defines it.
    pub line: usize,
    /// Numbers of its targets.
    pub targets: Vec<usize>,
    /// Its share of the rate, in percent.
    pub skew: Option<f64>,
    /// Bytes of one I/O.
    pub xfersize: TransferSize,
    /// Share of reads, in percent.
    pub rdpct: f64,
    /// Order.
    pub seek: Seek,
    /// Share of reads that go to the hit area, in percent.
    pub rhpct: f64,
    /// Share of writes that go to the hit area, in percent.
    pub whpct: f64,
    /// The share of the target that is used, in percent.
    pub range: Option<(f64, f64)>,
    /// A rate of its own, whatever the phase says.
    pub iorate: Option<f64>,
    /// Flags with which its targets are opened, beside their own.
    pub openflags: Vec<String>,
}

impl WorkloadDefinition {
    pub(crate) fn new(name: &str, line: usize) -> WorkloadDefinition {
        WorkloadDefinition {
            name: name.to_owned(),
            line,
            targets: Vec::new(),
            skew: None,
            xfersize: TransferSize::Fixed(DEFAULT_XFERSIZE_BYTES),
            rdpct: 100.0,
            seek: Seek::Random(100.0),
            rhpct: 0.0,
            whpct: 0.0,
            range: None,
            iorate: None,
            openflags: Vec::new(),
        }
    }
}

impl Parameter {
    pub(crate) fn not_carried(&self, why: impl Into<String>) -> NotCarried {
        NotCarried { file: self.file.clone(), line: self.line, what: self.written(), why: why.into() }
    }
}

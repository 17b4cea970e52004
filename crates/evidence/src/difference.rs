//! Differences between a bundle and what it should be.

use serde::Serialize;

/// Kind of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum DifferenceKind {
    /// A listed member that is not there.
    Missing,
    /// A member that is not listed, or may not be there.
    Extra,
    /// A member whose size or hash is another.
    Hash,
    /// An archive that ends early or cannot be read further.
    Truncated,
    /// A member beyond a limit of the reader.
    OverLimit,
    /// A copy that differs from its original: the plan from the manifest's, a published table from the shipped one.
    Copy,
    /// A member that cannot be read as its kind of file.
    Unreadable,
    /// A number, or the words around it, that the samples contradict.
    Number,
    /// A text of the report's JSON that its page does not have.
    Page,
    /// A report that this arraylab writes otherwise from the same samples.
    Rendered,
}

/// Difference between a bundle and what it should be.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BundleDifference {
    /// Its kind.
    pub kind: DifferenceKind,
    /// The member, or the part of the report.
    pub place: String,
    /// The difference.
    pub says: String,
}

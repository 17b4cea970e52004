//! Evidence: a run with its report and hashes in one file, and the verification of such a file.
//!
//! A bundle is a gzip-compressed tar archive whose first member, `bundle.json`, lists the others with their sizes and hashes.
//! The same run gives the same bytes. A bundle comes from outside: every size has a limit, member names have one form, and
//! nothing is written but into a directory of the verifier's own.

#![doc = include_str!("../README.md")]

mod archive;
mod bundle;
mod difference;
mod error;
mod hash;
mod html_text;
mod limits;
mod members;
mod patterns;
mod redact;
mod verify;

pub use bundle::{BundleSummary, write_bundle};
pub use difference::{BundleDifference, DifferenceKind};
pub use error::EvidenceError;
pub use limits::{LIST_BYTES_LIMIT, MEMBER_BYTES_LIMIT, MEMBERS_LIMIT, TEXT_BYTES_LIMIT, TOTAL_BYTES_LIMIT};
pub use members::{BUNDLE_VERSION, Contents, Member};
pub use redact::{redacted_copies, redacted_copy};
pub use verify::{Verification, verify};

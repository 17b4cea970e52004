//! Import notes: content of a file that the plan or run does not represent.

use std::fmt;
use std::path::PathBuf;

/// Content of a file that the plan or run does not represent.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NotCarried {
    /// The file; an included one where the line is there.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The option as written, or the job or run.
    pub what: String,
    /// Reason, and the replacement in the plan.
    pub why: String,
}

impl fmt::Display for NotCarried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: `{}` is not carried over: {}", self.file.display(), self.line, self.what, self.why)
    }
}

/// Warning about a file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ImportWarning {
    /// The file.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column, from 1.
    pub column: usize,
    /// Text of the warning.
    pub text: String,
}

impl fmt::Display for ImportWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}", self.file.display(), self.line, self.column, self.text)
    }
}

/// A device or file that the other tool's file loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedTarget {
    /// Its name in the file: fio's `filename`, vdbench's SD label.
    pub name: String,
    /// Its path or address.
    pub path: String,
    /// The line that names it.
    pub line: usize,
}

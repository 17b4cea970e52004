//! Notices on stderr.

use std::io::Write;

/// Prints a line that is not a result.
pub fn print_notice(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

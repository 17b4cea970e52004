//! Text files of bounded size.

use crate::{PlanError, PlanErrorKind};
use std::io::Read;
use std::path::Path;

/// Reads a text file, but never more than `limit_bytes` of it.
pub fn read_text(path: &Path, limit_bytes: u64) -> Result<String, PlanError> {
    let shown = path.display();
    let unreadable = |error: std::io::Error| {
        PlanError::new(PlanErrorKind::Unreadable, format!("`{shown}` cannot be read: {error}"))
            .caused_by(error)
    };
    let metadata = std::fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(PlanError::new(
            PlanErrorKind::Unreadable,
            format!("`{shown}` is a directory, not a file"),
        ));
    }
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(unreadable)?;
    file.take(limit_bytes + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limit_bytes {
        return Err(PlanError::new(
            PlanErrorKind::OverLimit,
            format!("`{shown}` is larger than {}", units::human_bytes(limit_bytes)),
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = error.as_bytes()[..at].iter().filter(|&&byte| byte == b'\n').count() + 1;
        PlanError::new(
            PlanErrorKind::Unreadable,
            format!("`{shown}` is not UTF-8 text: byte {at}, on line {line}, begins no character"),
        )
        .caused_by(error)
    })
}

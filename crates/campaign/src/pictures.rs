//! Pictures of the plan, stored with the run, so that a report does not need the plan's directory.

use plan::LoadedPlan;
use std::fs;
use std::io;
use std::path::Path;
use store::{PICTURES_DIRECTORY, Run};

/// A larger picture is left where it is; no report holds it.
const PICTURE_LIMIT_BYTES: u64 = 8 << 20;

/// Copies the pictures that lie beside the plan, and says which are not there: they change no result, and the report says
/// so again.
pub(crate) fn keep(run: &Run, loaded: &LoadedPlan) -> Vec<String> {
    let beside = Path::new(&loaded.source).parent().unwrap_or(Path::new(""));
    let mut missing = Vec::new();
    for image in &loaded.plan.images {
        let to = run.directory().join(PICTURES_DIRECTORY).join(&image.file);
        if let Err(error) = copy(&beside.join(&image.file), &to) {
            missing.push(format!(
                "warning: the plan's picture {} is not kept with the run: {error}",
                image.file
            ));
        }
    }
    missing
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let found = fs::metadata(from)?;
    if !found.is_file() || found.len() > PICTURE_LIMIT_BYTES {
        return Err(io::Error::other(format!("it is no file of at most {PICTURE_LIMIT_BYTES} bytes")));
    }
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::copy(from, to).map(drop)
}

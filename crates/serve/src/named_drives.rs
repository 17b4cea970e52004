//! Files and devices named as drives, checked by the data guard.

use crate::{Options, ServeError};
use diagnostic::Problem;
use storage_target::{Guard, Roots, StorageSpec, inspect};
use volume::NamedDrive;

/// Returns what `--drive` names. Whatever may hold data needs its ID when the array is made; later its superblock tells
/// that it belongs to the array.
pub(crate) fn named_drives(options: &Options) -> Result<Vec<NamedDrive>, ServeError> {
    let exists = options.data.join("array.json").exists();
    let named = options.drives.iter().map(|path| {
        if exists || !path.exists() {
            return Ok(NamedDrive { path: path.clone(), overwrite: false });
        }
        let refused = |source: Problem| ServeError::Drive { path: path.clone(), source };
        let roots = Roots::system();
        let inspected = inspect(&roots, &StorageSpec::Path(path.clone()))
            .map_err(|error| refused(Problem::of(&error)))?;
        Guard::new(roots)
            .check_write(&inspected, &options.overwrite_data)
            .map_err(|refusal| refused(Problem::of(&refusal)))?;
        Ok(NamedDrive { path: path.clone(), overwrite: true })
    });
    named.collect()
}

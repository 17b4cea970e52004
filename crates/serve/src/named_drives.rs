//! Files and devices named as drives, checked by the data guard.

use crate::{Options, ServeError};
use target::{Guard, Roots, StorageSpec, inspect};
use volume::NamedDrive;

/// Returns what `--drive` names. Whatever may hold data needs its ID when the array is made; later its superblock tells
/// that it belongs to the array.
pub(crate) fn named_drives(options: &Options) -> Result<Vec<NamedDrive>, ServeError> {
    let exists = options.data.join("array.json").exists();
    let named = options.drives.iter().map(|path| {
        if exists || !path.exists() {
            return Ok(NamedDrive { path: path.clone(), overwrite: false });
        }
        let refused = |problem: String| ServeError::Drive { path: path.clone(), problem };
        let roots = Roots::system();
        let inspected =
            inspect(&roots, &StorageSpec::Path(path.clone())).map_err(|error| refused(error.to_string()))?;
        Guard::new(roots)
            .check_write(&inspected, &options.overwrite_data)
            .map_err(|refusal| refused(refusal.to_string()))?;
        Ok(NamedDrive { path: path.clone(), overwrite: true })
    });
    named.collect()
}

//! Thin pool of a served array: the settings that make one, and its use for people and programs.

use crate::ServeError;
use crate::array_settings::{refused, text_of};
use array::{Origin, Parameter, Section as _, SetBy, Thin};
use serde_json::{Map, Value, json};
use twin::ArrayDescription;
use volume::{MappedVolume, ThinPoolStatus, VOLUME_ALIGNMENT_BYTES, Volume, VolumeMap, thin_pool_bytes};

/// Setting that makes the volumes of any array of parts thin, with units of so many bytes.
pub(crate) const THIN_UNIT: &str = "thin_unit";
/// Setting that gives each thin volume a size, whatever the pool holds.
pub(crate) const THIN_SIZE: &str = "thin_size";

/// The description with the thin provisioning that a setting asks for, in the model as in the bytes.
pub(crate) fn provisioned(
    description: &ArrayDescription,
    settings: &Map<String, Value>,
) -> Result<ArrayDescription, ServeError> {
    let Some(value) = settings.get(THIN_UNIT) else { return Ok(description.clone()) };
    let text = text_of(value);
    let bad = |why: &str| refused(format!("`{THIN_UNIT}={text}`: {why}"));
    let unit_bytes = units::parse_bytes(&text).map_err(|_| bad("no size in bytes, as 64k"))?;
    let mut description = description.clone();
    if description.parts.thin.is_none() {
        description.parts.thin = as_nothing_is_said();
    }
    let made = description.parts.with_value("thin.unit", unit_bytes);
    *description.parts = made.map_err(|problem| bad(&format!("{}; {}", problem.message, problem.hint)))?;
    Ok(description)
}

/// Thin provisioning where nothing is said of it.
fn as_nothing_is_said() -> Option<Thin> {
    let values = Thin::KEYS.iter().map(|key| {
        let text = key.default?.to_owned();
        let value = key.kind.parse(&text)?;
        Some(Parameter { value, text, origin: Origin::Assumed, from: String::new(), set_by: SetBy::Default })
    });
    Thin::from_values(values.collect::<Option<Vec<Parameter>>>()?)
}

/// Sizes of the volumes of a thin pool of an array of `capacity_bytes`: those described, as far as the pool holds them, or
/// what the setting says.
pub(crate) fn volume_bytes(
    (capacity_bytes, unit_bytes): (u64, u64),
    (described_bytes, volumes): (u64, u32),
    settings: &Map<String, Value>,
) -> Result<u64, ServeError> {
    let pool_bytes = thin_pool_bytes(capacity_bytes, unit_bytes);
    let units = pool_bytes / unit_bytes / u64::from(volumes.max(1));
    if units == 0 {
        return Err(refused(format!(
            "a thin pool of {pool_bytes} bytes has less than one unit of {unit_bytes} bytes for each of {volumes} volumes"
        )));
    }
    let Some(value) = settings.get(THIN_SIZE) else { return Ok(described_bytes.min(units * unit_bytes)) };
    let text = text_of(value);
    let size_bytes = units::parse_bytes(&text).ok();
    let is_size = |bytes: &u64| {
        bytes.is_multiple_of(VOLUME_ALIGNMENT_BYTES)
            && (VOLUME_ALIGNMENT_BYTES..=volume::THIN_VOLUME_BYTES_LIMIT).contains(bytes)
    };
    size_bytes.filter(is_size).ok_or_else(|| {
        refused(format!(
            "`{THIN_SIZE}={text}` is no size of a thin volume: a multiple of {VOLUME_ALIGNMENT_BYTES} of at most {} bytes",
            volume::THIN_VOLUME_BYTES_LIMIT
        ))
    })
}

/// State of a pool, in a word.
fn state(pool: &ThinPoolStatus) -> &'static str {
    if pool.is_full() {
        "full"
    } else if pool.is_nearly_full() {
        "nearly-full"
    } else {
        "ok"
    }
}

/// Bytes that nobody has: of a thin pool, or between the volumes.
pub(crate) fn free_bytes(volume: &Volume, map: &VolumeMap) -> u64 {
    volume.thin_pool().map_or_else(|| map.free_bytes(), |pool| pool.free_bytes)
}

/// Bytes of the units that a volume has; none where it is not thin.
pub(crate) fn allocated_bytes(volume: &Volume, mapped: &MappedVolume) -> Option<u64> {
    Some(volume.thin_volume(mapped.thin?, mapped.size_bytes).ok()?.allocated_bytes())
}

/// The thin pool as `status` has it; null where the volumes are not thin.
pub(crate) fn pool_status(volume: &Volume, map: &VolumeMap) -> Value {
    let Some(pool) = volume.thin_pool() else { return Value::Null };
    let provisioned_bytes = map.provisioned_bytes();
    json!({
        "unit_bytes": pool.unit_bytes,
        "size_bytes": pool.size_bytes,
        "used_bytes": pool.used_bytes,
        "free_bytes": pool.free_bytes,
        "lost_bytes": pool.lost_bytes,
        "used_share": pool.used_share(),
        "provisioned_bytes": provisioned_bytes,
        "overcommit": provisioned_bytes as f64 / (pool.size_bytes as f64).max(1.0),
        "state": state(&pool),
        "refused_writes": pool.refused_writes,
        "warning": warning(&pool, provisioned_bytes),
    })
}

/// Warning about a pool with the remedy; nothing where all is well.
fn warning(pool: &ThinPoolStatus, provisioned_bytes: u64) -> Option<String> {
    let remedy = "delete or shrink volumes, or discard in them what is not used (fstrim)";
    let lost = match pool.lost_bytes {
        0 => String::new(),
        bytes => format!(
            "; the map of {} is lost with more drives than the redundancy covers",
            units::human_bytes(bytes)
        ),
    };
    if pool.is_full() {
        let refused = match pool.refused_writes {
            0 => "writes that need a unit will get ENOSPC".to_owned(),
            1 => "1 write got ENOSPC".to_owned(),
            writes => format!("{writes} writes got ENOSPC"),
        };
        return Some(format!("the thin pool is full: {refused}; {remedy}{lost}"));
    }
    if pool.is_nearly_full() && provisioned_bytes > pool.size_bytes {
        return Some(format!(
            "the thin pool is {:.0} % full: {} are free, and volumes of {} are provisioned on {}; {remedy}{lost}",
            // Not 100 while something is free.
            (pool.used_share() * 100.0).floor(),
            units::human_bytes(pool.free_bytes),
            units::human_bytes(provisioned_bytes),
            units::human_bytes(pool.size_bytes),
        ));
    }
    lost.strip_prefix("; ").map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pool(used: u64, refused_writes: u64) -> ThinPoolStatus {
        let unit_bytes = 1 << 20;
        ThinPoolStatus {
            unit_bytes,
            size_bytes: 100 * unit_bytes,
            used_bytes: used * unit_bytes,
            free_bytes: (100 - used) * unit_bytes,
            lost_bytes: 0,
            refused_writes,
        }
    }

    /// Proves that a pool is warned of from 80 % on where more is provisioned than it holds, always when it is full, and that what
    /// cannot run full while it fills is not.
    #[test]
    fn pools_are_warned_of_in_time() {
        let (overcommitted, fits) = (200 << 20, 100 << 20);
        assert_eq!((state(&pool(79, 0)), warning(&pool(79, 0), overcommitted)), ("ok", None));
        let nearly = warning(&pool(80, 0), overcommitted).unwrap();
        assert!(nearly.contains("80 % full: 20 MiB are free, and volumes of 200 MiB"), "{nearly}");
        assert_eq!((state(&pool(80, 0)), warning(&pool(80, 0), fits)), ("nearly-full", None));
        let full = warning(&pool(100, 3), fits).unwrap();
        assert!(full.contains("3 writes got ENOSPC"), "{full}");
        assert_eq!(state(&pool(100, 3)), "full");
        let lost = ThinPoolStatus { lost_bytes: 32 << 20, ..pool(10, 0) };
        assert!(warning(&lost, fits).unwrap().starts_with("the map of 32 MiB is lost"));
    }
}

//! The map of an array's volumes: which ranges of the array's bytes are whose. A pure value; `volumes.rs` keeps it.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// The most volumes of an array.
pub const VOLUMES_LIMIT: usize = 256;
/// The longest name.
pub const VOLUME_NAME_BYTES_LIMIT: usize = 64;
/// The most ranges that one volume may consist of.
pub const VOLUME_RUNS_LIMIT: usize = 4096;
/// The largest thin volume: 64 PiB.
pub const THIN_VOLUME_BYTES_LIMIT: u64 = 1 << 56;
/// Thin volumes that an array may ever have.
const THIN_NUMBERS_LIMIT: u32 = u32::MAX - 1;
/// Sizes are multiples of this.
pub const VOLUME_ALIGNMENT_BYTES: u64 = 4096;

/// A range of the array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// Its first byte on the array.
    pub start_bytes: u64,
    /// Length.
    pub length_bytes: u64,
}

impl Run {
    fn end_bytes(&self) -> u64 {
        self.start_bytes + self.length_bytes
    }
}

/// A volume: the ranges it consists of, in order, and what others keep with it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MappedVolume {
    /// Its name; no other volume has it.
    pub name: String,
    /// Size that can be read and written.
    pub size_bytes: u64,
    /// Places of the volume: at least `size_bytes`, as allocation is in units. A thin volume has none of its own.
    pub runs: Vec<Run>,
    /// Number of a thin volume, by which the unit map of the pool knows it; no two volumes of an array ever have the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thin: Option<u32>,
    /// Whatever is to stay with the volume; nothing here reads it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub attributes: Map<String, Value>,
}

/// Units of a thin pool, and the number of the thin volume that is made next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThinUnits {
    /// Bytes that are allocated at once.
    pub unit_bytes: u64,
    /// Number of the next volume.
    pub next_number: u32,
}

/// Reasons why a map cannot be changed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MapError {
    /// Not a name for a volume.
    #[error(
        "`{0}` is no name for a volume: 1 to {VOLUME_NAME_BYTES_LIMIT} letters, digits, `.`, `_` and `-`, beginning with a letter or digit"
    )]
    BadName(String),
    /// Another volume has it.
    #[error("there is a volume `{0}` already")]
    NameTaken(String),
    /// No volume has it.
    #[error("there is no volume `{name}`; there are {known}")]
    NoSuchVolume {
        /// As given.
        name: String,
        /// All there are.
        known: String,
    },
    /// Not a size for a volume.
    #[error("{0} bytes are no size for a volume: a multiple of {VOLUME_ALIGNMENT_BYTES}, at least one")]
    BadSize(u64),
    /// More than a thin volume may have.
    #[error("{0} bytes are too many for a thin volume: at most {THIN_VOLUME_BYTES_LIMIT}")]
    TooLarge(u64),
    /// No room.
    #[error("{wanted_bytes} bytes more do not fit: {free_bytes} are free")]
    NoRoom {
        /// Bytes that were asked for.
        wanted_bytes: u64,
        /// Bytes that are free.
        free_bytes: u64,
    },
    /// A limit.
    #[error("no more than {limit} {what}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// The limit.
        limit: usize,
    },
}

/// All volumes of an array.
#[derive(Debug, Clone, PartialEq)]
pub struct VolumeMap {
    volumes: Vec<MappedVolume>,
    capacity_bytes: u64,
    /// Ranges begin and end at multiples of this.
    unit_bytes: u64,
    /// Units of the pool that takes all of the array, where the volumes are thin.
    thin: Option<ThinUnits>,
}

impl VolumeMap {
    /// A map without volumes. `unit_bytes` is a multiple of [`VOLUME_ALIGNMENT_BYTES`].
    pub fn new(capacity_bytes: u64, unit_bytes: u64) -> VolumeMap {
        VolumeMap { volumes: Vec::new(), capacity_bytes, unit_bytes, thin: None }
    }

    /// A map without volumes, of a thin pool with units of `unit_bytes`, a multiple of [`VOLUME_ALIGNMENT_BYTES`].
    pub fn thin(capacity_bytes: u64, unit_bytes: u64) -> VolumeMap {
        let thin = Some(ThinUnits { unit_bytes, next_number: 0 });
        VolumeMap { thin, ..VolumeMap::new(capacity_bytes, VOLUME_ALIGNMENT_BYTES) }
    }

    /// A map with these thin volumes; `None` where they could not have been made here.
    pub(crate) fn with_thin(
        capacity_bytes: u64,
        thin: ThinUnits,
        volumes: Vec<MappedVolume>,
    ) -> Option<VolumeMap> {
        if thin.unit_bytes == 0 || !thin.unit_bytes.is_multiple_of(VOLUME_ALIGNMENT_BYTES) {
            return None;
        }
        let mut map =
            VolumeMap { thin: Some(thin), ..VolumeMap::new(capacity_bytes, VOLUME_ALIGNMENT_BYTES) };
        for volume in volumes {
            map.check_new(&volume.name, volume.size_bytes).ok()?;
            let is_known = |number: u32| map.volumes.iter().any(|other| other.thin == Some(number));
            let number = volume.thin.filter(|&number| number < thin.next_number && !is_known(number));
            if number.is_none() || !volume.runs.is_empty() {
                return None;
            }
            map.volumes.push(volume);
        }
        Some(map)
    }

    /// Units of the thin pool, where the volumes are thin.
    pub fn thin_units(&self) -> Option<ThinUnits> {
        self.thin
    }

    /// Sizes of all volumes together.
    pub fn provisioned_bytes(&self) -> u64 {
        self.volumes.iter().fold(0, |sum, volume| sum.saturating_add(volume.size_bytes))
    }

    /// A map with these volumes; `None` where they overlap, leave the array, or could not have been made here.
    pub fn with(capacity_bytes: u64, unit_bytes: u64, volumes: Vec<MappedVolume>) -> Option<VolumeMap> {
        let mut map = VolumeMap::new(capacity_bytes, unit_bytes);
        for volume in volumes {
            map.check_new(&volume.name, volume.size_bytes).ok()?;
            let has_room = total(&volume.runs)? >= volume.size_bytes;
            if volume.runs.len() > VOLUME_RUNS_LIMIT || !has_room || volume.thin.is_some() {
                return None;
            }
            for (index, run) in volume.runs.iter().enumerate() {
                let end_bytes = run.start_bytes.checked_add(run.length_bytes)?;
                let overlaps =
                    |other: &Run| run.start_bytes < other.end_bytes() && other.start_bytes < end_bytes;
                let others = map.volumes.iter().flat_map(|other| &other.runs).chain(&volume.runs[..index]);
                if run.length_bytes == 0 || end_bytes > capacity_bytes || others.into_iter().any(overlaps) {
                    return None;
                }
            }
            map.volumes.push(volume);
        }
        Some(map)
    }

    /// Ranges begin and end at multiples of this.
    pub(crate) fn unit_bytes(&self) -> u64 {
        self.unit_bytes
    }

    /// The volumes, in the order in which they were made.
    pub fn volumes(&self) -> &[MappedVolume] {
        &self.volumes
    }

    /// The volume of a name.
    pub fn find(&self, name: &str) -> Result<&MappedVolume, MapError> {
        self.position(name).map(|index| &self.volumes[index])
    }

    /// Bytes that belong to no volume. Of a thin pool [`crate::Volume::thin_pool`] knows.
    pub fn free_bytes(&self) -> u64 {
        self.free().iter().map(|run| run.length_bytes).sum()
    }

    /// A name that no volume has: `vol` and the lowest number.
    pub fn free_name(&self) -> String {
        let taken = |name: &String| self.volumes.iter().any(|volume| volume.name == *name);
        let mut names = (0..=VOLUMES_LIMIT).map(|number| format!("vol{number}"));
        // Of one name more than there may be volumes one is free.
        names.find(|name| !taken(name)).unwrap_or_default()
    }

    /// Adds a volume; the ranges it got.
    pub fn create(
        &mut self,
        name: &str,
        size_bytes: u64,
        attributes: Map<String, Value>,
    ) -> Result<Vec<Run>, MapError> {
        self.check_new(name, size_bytes)?;
        let name = name.to_owned();
        if let Some(units) = &mut self.thin {
            if units.next_number == THIN_NUMBERS_LIMIT {
                return Err(MapError::TooMany {
                    what: "volumes ever made",
                    limit: THIN_NUMBERS_LIMIT as usize,
                });
            }
            let thin = Some(units.next_number);
            units.next_number += 1;
            self.volumes.push(MappedVolume { name, size_bytes, runs: Vec::new(), thin, attributes });
            return Ok(Vec::new());
        }
        let runs = self.allocate(size_bytes)?;
        self.volumes.push(MappedVolume { name, size_bytes, runs: runs.clone(), thin: None, attributes });
        Ok(runs)
    }

    /// Takes a volume away; the ranges that are free now.
    pub fn delete(&mut self, name: &str) -> Result<Vec<Run>, MapError> {
        let index = self.position(name)?;
        Ok(self.volumes.remove(index).runs)
    }

    /// Gives a volume another size; the ranges that it got, and those that are free now.
    pub fn resize(&mut self, name: &str, size_bytes: u64) -> Result<(Vec<Run>, Vec<Run>), MapError> {
        self.check_size(size_bytes)?;
        let index = self.position(name)?;
        if self.thin.is_some() {
            self.volumes[index].size_bytes = size_bytes;
            return Ok((Vec::new(), Vec::new()));
        }
        let allocated = total(&self.volumes[index].runs).unwrap_or(0);
        let wanted = self.in_units(size_bytes);
        if wanted >= allocated {
            let got = self.allocate(wanted - allocated)?;
            let volume = &mut self.volumes[index];
            if volume.runs.len() + got.len() > VOLUME_RUNS_LIMIT {
                return Err(MapError::TooMany { what: "ranges of one volume", limit: VOLUME_RUNS_LIMIT });
            }
            for run in &got {
                match volume.runs.last_mut() {
                    Some(last) if last.end_bytes() == run.start_bytes => {
                        last.length_bytes += run.length_bytes;
                    }
                    _ => volume.runs.push(*run),
                }
            }
            volume.size_bytes = size_bytes;
            return Ok((got, Vec::new()));
        }
        let volume = &mut self.volumes[index];
        volume.size_bytes = size_bytes;
        let mut freed = Vec::new();
        let mut surplus = allocated - wanted;
        while let Some(last) = volume.runs.last_mut().filter(|_| surplus > 0) {
            let cut = surplus.min(last.length_bytes);
            surplus -= cut;
            last.length_bytes -= cut;
            freed.push(Run { start_bytes: last.end_bytes(), length_bytes: cut });
            if last.length_bytes == 0 {
                volume.runs.pop();
            }
        }
        Ok((Vec::new(), freed))
    }

    /// Returns what is kept with a volume.
    pub fn attributes_mut(&mut self, name: &str) -> Result<&mut Map<String, Value>, MapError> {
        let index = self.position(name)?;
        Ok(&mut self.volumes[index].attributes)
    }

    fn position(&self, name: &str) -> Result<usize, MapError> {
        self.volumes.iter().position(|volume| volume.name == name).ok_or_else(|| {
            let known: Vec<&str> = self.volumes.iter().map(|volume| volume.name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            MapError::NoSuchVolume { name: name.to_owned(), known }
        })
    }

    fn check_new(&self, name: &str, size_bytes: u64) -> Result<(), MapError> {
        let is_ordinary = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        if !(1..=VOLUME_NAME_BYTES_LIMIT).contains(&name.len())
            || !name.as_bytes()[0].is_ascii_alphanumeric()
            || !name.bytes().all(is_ordinary)
        {
            return Err(MapError::BadName(name.to_owned()));
        }
        if self.volumes.iter().any(|volume| volume.name == name) {
            return Err(MapError::NameTaken(name.to_owned()));
        }
        if self.volumes.len() == VOLUMES_LIMIT {
            return Err(MapError::TooMany { what: "volumes", limit: VOLUMES_LIMIT });
        }
        self.check_size(size_bytes)
    }

    fn check_size(&self, size_bytes: u64) -> Result<(), MapError> {
        if size_bytes == 0 || !size_bytes.is_multiple_of(VOLUME_ALIGNMENT_BYTES) {
            return Err(MapError::BadSize(size_bytes));
        }
        if self.thin.is_some() && size_bytes > THIN_VOLUME_BYTES_LIMIT {
            return Err(MapError::TooLarge(size_bytes));
        }
        Ok(())
    }

    fn in_units(&self, size_bytes: u64) -> u64 {
        size_bytes.div_ceil(self.unit_bytes).saturating_mul(self.unit_bytes)
    }

    /// Free ranges, in order.
    fn free(&self) -> Vec<Run> {
        let mut taken: Vec<Run> =
            self.volumes.iter().flat_map(|volume| volume.runs.iter().copied()).collect();
        taken.sort_by_key(|run| run.start_bytes);
        let end_bytes = self.capacity_bytes / self.unit_bytes * self.unit_bytes;
        taken.push(Run { start_bytes: end_bytes, length_bytes: 0 });
        let mut free = Vec::new();
        let mut at_bytes = 0u64;
        for run in taken {
            let start_bytes = at_bytes.div_ceil(self.unit_bytes) * self.unit_bytes;
            let length_bytes =
                run.start_bytes.saturating_sub(start_bytes) / self.unit_bytes * self.unit_bytes;
            if length_bytes > 0 {
                free.push(Run { start_bytes, length_bytes });
            }
            at_bytes = run.end_bytes();
        }
        free
    }

    /// Free ranges of so many bytes: the first that holds all of it, otherwise from the start on.
    fn allocate(&self, length_bytes: u64) -> Result<Vec<Run>, MapError> {
        let wanted_bytes = self.in_units(length_bytes);
        let free = self.free();
        if let Some(run) = free.iter().find(|run| run.length_bytes >= wanted_bytes) {
            let whole = Run { start_bytes: run.start_bytes, length_bytes: wanted_bytes };
            return Ok(if wanted_bytes == 0 { Vec::new() } else { vec![whole] });
        }
        let free_bytes = free.iter().map(|run| run.length_bytes).sum();
        if wanted_bytes == 0 {
            return Ok(Vec::new());
        }
        if free_bytes < wanted_bytes {
            return Err(MapError::NoRoom { wanted_bytes, free_bytes });
        }
        let mut left_bytes = wanted_bytes;
        let mut runs = Vec::new();
        for run in free {
            let length_bytes = run.length_bytes.min(left_bytes);
            runs.push(Run { start_bytes: run.start_bytes, length_bytes });
            left_bytes -= length_bytes;
            if left_bytes == 0 {
                break;
            }
        }
        if runs.len() > VOLUME_RUNS_LIMIT {
            return Err(MapError::TooMany { what: "ranges of one volume", limit: VOLUME_RUNS_LIMIT });
        }
        Ok(runs)
    }
}

fn total(runs: &[Run]) -> Option<u64> {
    runs.iter().try_fold(0u64, |sum, run| sum.checked_add(run.length_bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: u64 = 8192;

    fn no_overlap(map: &VolumeMap) {
        let volumes = map.volumes().to_vec();
        assert!(VolumeMap::with(map.capacity_bytes, map.unit_bytes, volumes).is_some(), "{map:?}");
        let taken: u64 = map.volumes().iter().filter_map(|volume| total(&volume.runs)).sum();
        assert_eq!(taken + map.free_bytes(), map.capacity_bytes);
    }

    /// Proves that after any thousand changes no range has two owners, every volume has room for its size, and nothing
    /// is lost of what is free.
    #[test]
    fn no_range_has_two_owners() {
        let mut map = VolumeMap::new(100 * UNIT, UNIT);
        let mut state = 1u64;
        let mut below = |bound: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % bound
        };
        for _ in 0..1000 {
            let name = format!("v{}", below(12));
            let size_bytes = (1 + below(40)) * VOLUME_ALIGNMENT_BYTES;
            // Refused changes change nothing.
            let before = map.clone();
            let is_done = match below(3) {
                0 => map.create(&name, size_bytes, Map::new()).is_ok(),
                1 => map.resize(&name, size_bytes).is_ok(),
                _ => map.delete(&name).is_ok(),
            };
            assert!(is_done || map == before);
            no_overlap(&map);
        }
    }

    /// Proves that what makes no volume is refused by name, and that a map read from elsewhere is not believed where
    /// ranges overlap or leave the array.
    #[test]
    fn impossible_volumes_are_refused() {
        let mut map = VolumeMap::new(10 * UNIT, UNIT);
        map.create("a", UNIT, Map::new()).unwrap();
        let long = "x".repeat(65);
        for name in ["", "-a", "../a", "a b", long.as_str(), "ä"] {
            assert!(matches!(map.create(name, UNIT, Map::new()), Err(MapError::BadName(_))), "{name}");
        }
        assert!(matches!(map.create("a", UNIT, Map::new()), Err(MapError::NameTaken(_))));
        for size_bytes in [0, 100, 4097] {
            assert!(matches!(map.create("b", size_bytes, Map::new()), Err(MapError::BadSize(_))));
        }
        let wanted = map.create("b", 10 * UNIT, Map::new());
        assert_eq!(wanted, Err(MapError::NoRoom { wanted_bytes: 10 * UNIT, free_bytes: 9 * UNIT }));
        assert!(matches!(map.create("b", u64::MAX / 4096 * 4096, Map::new()), Err(MapError::NoRoom { .. })));
        assert!(matches!(map.delete("b"), Err(MapError::NoSuchVolume { .. })));
        assert_eq!(map.free_name(), "vol0");
        let volume = |start_bytes| MappedVolume {
            name: format!("v{start_bytes}"),
            size_bytes: UNIT,
            runs: vec![Run { start_bytes, length_bytes: UNIT }],
            thin: None,
            attributes: Map::new(),
        };
        assert!(VolumeMap::with(10 * UNIT, UNIT, vec![volume(0), volume(UNIT)]).is_some());
        assert!(VolumeMap::with(10 * UNIT, UNIT, vec![volume(0), volume(4096)]).is_none());
        assert!(VolumeMap::with(10 * UNIT, UNIT, vec![volume(10 * UNIT)]).is_none());
        let mut many = VolumeMap::new(1000 * UNIT, UNIT);
        for number in 0..VOLUMES_LIMIT {
            many.create(&format!("v{number}"), UNIT, Map::new()).unwrap();
        }
        assert!(matches!(many.create("more", UNIT, Map::new()), Err(MapError::TooMany { .. })));
    }
}

//! Served array built from a description and settings: layout, drives, volumes and spares.

pub use crate::served_array::ServedArray;

use crate::array_settings::{MODEL_SEED, is_of_model, refused, text_of, typed};
use crate::paced::TwinSpec;
use crate::thin::{self, THIN_SIZE, THIN_UNIT};
use crate::{ServeError, chains};
use layout::{Layout, LayoutError, PoolSpec, Raid, Rotation};
use serde_json::{Map, Value};
use storage_target::TargetSpec;
use twin::{ArrayDescription, SHRINK_LIMIT};
use volume::{VOLUME_ALIGNMENT_BYTES, VolumeSpec};

/// Placement in a pool is part of the array; the twin's is the same.
const POOL_SEED: u64 = 1;
/// Settings of a model that the bytes have as well.
pub(crate) const SHAPING: [&str; 7] = ["raid", "layout", "disks", "segment", SHRINK, THIN_UNIT, THIN_SIZE];
/// Those of them that say the level.
const LEVEL: [&str; 2] = ["raid", "layout"];
/// The setting by which an array has less room than described.
const SHRINK: &str = "shrink";
/// A pool on drives that were made smaller has at least so many pieces on each, by making them smaller as well.
const POOL_PIECES_MINIMUM: u64 = 32;

/// RAID levels and the pool. The names are in the identity of stored bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    Raid0,
    Raid1,
    Raid5,
    Raid6,
    Raid10,
    Ddp,
}

/// Facts that an array states about its layout.
struct Shape {
    level: Level,
    drives: u32,
    capacity_bytes: u64,
    segment_bytes: u64,
    volumes: u32,
    /// 0: all there is, shared evenly.
    volume_bytes: u64,
    spares: u32,
    pool: Option<PoolShape>,
    /// Other levels than the description's own may be set.
    levels: Vec<Level>,
}

struct PoolShape {
    segment_bytes: u64,
    piece_bytes: u64,
    data: u32,
    parity: u32,
    preservation_drives: u32,
}

impl ServedArray {
    /// `NAME[,key=value]…`: a shipped array or an array file. Settings: `raid`, `layout`, `disks`, `segment`, and
    /// `capacity`, the bytes of each drive (the description's otherwise).
    pub fn parse(text: &str) -> Result<ServedArray, ServeError> {
        let spec = TargetSpec::parse(&format!("twin:{text}")).map_err(|error| ServeError::Options {
            problem: error.to_string(),
            hint: "the form is ARRAY[,key=value]…, for example raid-levels,raid=6,capacity=1g",
        })?;
        let TargetSpec::Twin(spec) = spec else {
            return Err(refused(format!("`{text}` is no array")));
        };
        let loaded = plan::load_array(&spec.name)?;
        let settings =
            spec.settings.iter().map(|(key, value)| (key.clone(), Value::from(value.as_str()))).collect();
        ServedArray::of(&loaded.description, &settings)
    }

    /// The array of a description under settings.
    pub fn of(
        description: &ArrayDescription,
        settings: &Map<String, Value>,
    ) -> Result<ServedArray, ServeError> {
        let made_from = description;
        if description.parts.has_chains() {
            return chains::served(description, settings);
        }
        let description = &thin::provisioned(&shrunk(description, settings)?, settings)?;
        let thin_unit_bytes = description.parts.thin.as_ref().map(|thin| thin.unit.get());
        let mut shape = shape_of_parts(&description.parts)?;
        let mut of_model = Map::new();
        let is_done =
            |key: &str| [SHRINK, THIN_UNIT].contains(&key) || (key == THIN_SIZE && thin_unit_bytes.is_some());
        for (key, value) in settings.iter().filter(|(key, _)| !is_done(key)) {
            let is_of_model = is_of_model(description, key);
            if is_of_model {
                of_model.insert(key.clone(), typed(key, &text_of(value)));
            }
            if !is_of_model || SHAPING.contains(&key.as_str()) {
                shape.set(key, &text_of(value))?;
            }
        }
        // The drives of the level that is described, with parity or none.
        if is_unarranged(description) && shape.levels.contains(&Level::Raid0) && shape.level == Level::Raid0 {
            of_model.insert("parity".to_owned(), Value::from("off"));
        }
        let mut identity = format!(
            "{} {:?} drives={} capacity={} segment={}",
            description.name, shape.level, shape.drives, shape.capacity_bytes, shape.segment_bytes
        );
        if let Some(unit_bytes) = thin_unit_bytes {
            identity += &format!(" thin={unit_bytes}");
        }
        let layout = shape.layout().map_err(|error| refused(error.to_string()))?;
        let room = layout.capacity_bytes() / u64::from(shape.volumes.max(1));
        let wanted = match (shape.volume_bytes, layout.stripe_bytes()) {
            // As in the twin, volumes that share all there is have whole stripes.
            (0, stripe_bytes) if room >= stripe_bytes => room / stripe_bytes * stripe_bytes,
            (0, _) => room,
            (bytes, _) => bytes.min(room),
        };
        let mut volume_bytes = wanted / VOLUME_ALIGNMENT_BYTES * VOLUME_ALIGNMENT_BYTES;
        if let Some(unit_bytes) = thin_unit_bytes {
            let described = (volume_bytes, shape.volumes);
            volume_bytes = thin::volume_bytes((layout.capacity_bytes(), unit_bytes), described, settings)?;
        }
        of_model.entry("host").or_insert_with(|| Value::from("off"));
        Ok(ServedArray {
            name: description.name.clone(),
            title: description.title.clone(),
            settings: settings.clone(),
            spec: VolumeSpec {
                layout,
                drive_capacity_bytes: vec![shape.capacity_bytes; shape.drives as usize],
                identity,
            },
            volumes_bytes: vec![volume_bytes; shape.volumes as usize],
            thin_unit_bytes,
            spares: shape.spares,
            twin: Some(TwinSpec { description: description.clone(), settings: of_model, seed: MODEL_SEED }),
            description: made_from.clone(),
        })
    }

    /// The same array with other settings of [`SHAPING`], in the place of its own.
    pub(crate) fn reshaped(&self, changes: &Map<String, Value>) -> Result<ServedArray, ServeError> {
        let mut settings = self.settings.clone();
        // Each of the two decides the level.
        if LEVEL.iter().any(|key| changes.contains_key(*key)) {
            LEVEL.iter().for_each(|key| drop(settings.shift_remove(*key)));
        }
        settings.extend(changes.clone());
        ServedArray::of(&self.description, &settings)
    }

    /// Returns whether another array's bytes would lie as this one's do.
    pub(crate) fn is_laid_out_as(&self, other: &ServedArray) -> bool {
        (&self.spec.identity, &self.volumes_bytes) == (&other.spec.identity, &other.volumes_bytes)
    }

    /// As it is named on the command line, where it was read from `named`.
    pub(crate) fn in_words(&self, named: &str) -> String {
        let settings = self.settings.iter().map(|(key, value)| format!(",{key}={}", text_of(value)));
        let name = named.split(',').next().filter(|name| !name.is_empty()).unwrap_or(&self.name);
        name.to_owned() + &settings.collect::<String>()
    }

    /// Returns whether its volumes are the description's own, with names.
    pub(crate) fn has_named_volumes(&self) -> bool {
        chains::chains_of(self).is_some()
    }

    /// Ranges of volumes begin and end at multiples of this.
    pub(crate) fn volume_unit_bytes(&self) -> u64 {
        // An object belongs to one volume, whose pool it follows.
        if self.has_named_volumes() { self.spec.layout.stripe_bytes() } else { VOLUME_ALIGNMENT_BYTES }
    }

    /// Names and sizes of the volumes.
    pub(crate) fn volumes(&self) -> Vec<(String, u64)> {
        let chains = chains::chains_of(self);
        let named = self.volumes_bytes.iter().enumerate().map(|(index, &size_bytes)| {
            let own = chains.and_then(|array| array.volumes.get(index));
            (own.map_or_else(|| format!("vol{index}"), |volume| volume.keys.name.text.clone()), size_bytes)
        });
        named.collect()
    }
}

/// The description with as much less room as the settings say: in the model and in bytes.
fn shrunk(
    description: &ArrayDescription,
    settings: &Map<String, Value>,
) -> Result<ArrayDescription, ServeError> {
    let Some(value) = settings.get(SHRINK) else { return Ok(description.clone()) };
    let text = text_of(value);
    let Ok(times @ 1..=SHRINK_LIMIT) = text.parse() else {
        return Err(refused(format!("`{SHRINK}={text}` is not 1 to {SHRINK_LIMIT}")));
    };
    description.shrunk(times).ok_or_else(|| {
        refused(format!("`{SHRINK}` is for arrays of solid-state drives; `capacity` makes drives smaller"))
    })
}

/// Returns whether it is an array of parts whose layout no setting of its model changes.
fn is_unarranged(description: &ArrayDescription) -> bool {
    description.parts.groups[0].layouts().is_empty()
}

fn level_of_parts(layout: array::LayoutKind) -> Level {
    match layout {
        array::LayoutKind::Single | array::LayoutKind::Raid0 => Level::Raid0,
        array::LayoutKind::Raid1 => Level::Raid1,
        array::LayoutKind::Raid10 => Level::Raid10,
        array::LayoutKind::Raid5 => Level::Raid5,
        array::LayoutKind::Raid6 => Level::Raid6,
        array::LayoutKind::Pool => Level::Ddp,
    }
}

/// Shape of an array of parts with one group of drives; the volumes are those of the first entry.
fn shape_of_parts(array: &array::Array) -> Result<Shape, ServeError> {
    let without_bytes = |part: String| {
        Err(ServeError::Array {
            problem: format!("{part}: their bytes are not served"),
            hint: "arrays of parts with one group of drives under a RAID level or a pool can be served",
        })
    };
    // Thin provisioning has bytes of its own: a pool and its unit map.
    if let Some(service) = array.services().into_iter().find(|service| *service != "thin") {
        return without_bytes(format!("`{service}`"));
    }
    if let Some(pool) = array.pools.first() {
        return without_bytes(format!("`pools` over nodes, as `{}`", pool.keys.name.text));
    }
    let [group] = array.groups.as_slice() else {
        let names: Vec<&str> = array.groups.iter().map(array::Group::name).collect();
        return without_bytes(format!("several `groups` ({})", names.join(", ")));
    };
    if group.is_per_node {
        return without_bytes(format!("`groups` in nodes, as `{}`", group.name()));
    }
    let (sets, places) = array::sets(array);
    let (Some(set), Some(place)) = (sets.first(), places.first()) else {
        return without_bytes(format!("`{}` has no volumes", group.name()));
    };
    let layouts = group.layouts();
    let has_pool = group.layout() == array::LayoutKind::Pool || layouts.contains(&array::LayoutKind::Pool);
    let pool = group.pool_stripe().filter(|_| has_pool).map(|stripe| PoolShape {
        segment_bytes: group.segment_of(array::LayoutKind::Pool, group.keys.segment.get()),
        piece_bytes: group.keys.piece.get(),
        data: stripe.data,
        parity: stripe.parity,
        preservation_drives: group.keys.preserved.count(),
    });
    let level = level_of_parts(group.layout());
    // Where the model has no other layouts, another level would be that of the bytes alone, but for leaving parity alone.
    let levels = match (layouts.is_empty(), level) {
        (false, _) => layouts.into_iter().map(level_of_parts).collect(),
        (true, Level::Raid5) => vec![Level::Raid0, Level::Raid5],
        (true, _) => Vec::new(),
    };
    // An equal share of all that is left is another in another layout.
    let shares_all = array.volumes[place.entry].keys.size.get() == 0 && array.volumes.len() == 1;
    Ok(Shape {
        level,
        drives: set.layout.drives(),
        capacity_bytes: group.drives.capacity_bytes() / 4096 * 4096,
        segment_bytes: group.keys.segment.get(),
        volumes: places.iter().filter(|other| other.entry == place.entry).count() as u32,
        volume_bytes: if shares_all && !group.layouts().is_empty() { 0 } else { place.bytes },
        spares: set.spares.len() as u32,
        pool,
        levels,
    })
}

impl Shape {
    fn set(&mut self, key: &str, value: &str) -> Result<(), ServeError> {
        let bad = || refused(format!("`{key}={value}` is not possible on this array"));
        match key {
            "raid" | "layout" => {
                let level = match (key, value) {
                    ("raid", "0") => Level::Raid0,
                    ("raid", "1") => Level::Raid1,
                    ("raid", "5") => Level::Raid5,
                    ("raid", "6") | ("layout", "raid6") => Level::Raid6,
                    ("raid", "10") | ("layout", "raid10") => Level::Raid10,
                    ("layout", "ddp") if self.pool.is_some() => Level::Ddp,
                    _ => return Err(bad()),
                };
                if !self.levels.contains(&level) {
                    return Err(bad());
                }
                self.level = level;
            }
            "disks" => {
                let drives: u32 = value.parse().map_err(|_| bad())?;
                let fitted = self.drives + self.spares;
                if drives == 0 || drives > fitted {
                    return Err(refused(format!("`disks={value}`: the array has {fitted} drives")));
                }
                (self.drives, self.spares) = (drives, fitted - drives);
            }
            "segment" => self.segment_bytes = units::parse_bytes(value).map_err(|_| bad())?,
            "capacity" => self.capacity_bytes = units::parse_bytes(value).map_err(|_| bad())?,
            _ => return Err(refused(format!("`{key}` is no setting of a served array"))),
        }
        Ok(())
    }

    fn layout(&self) -> Result<Layout, LayoutError> {
        let raid = Raid {
            drives: self.drives,
            drive_capacity_bytes: self.capacity_bytes,
            segment_bytes: self.segment_bytes,
        };
        match (self.level, &self.pool) {
            (Level::Raid0, _) => Layout::raid0(raid),
            (Level::Raid1, _) => Layout::raid1(raid),
            (Level::Raid6, _) => Layout::raid6(raid, Rotation::LeftSymmetric),
            (Level::Raid10, _) => Layout::raid10(raid),
            (Level::Ddp, Some(pool)) => Layout::pool(&PoolSpec {
                drives: self.drives,
                drive_capacity_bytes: self.capacity_bytes,
                segment_bytes: pool.segment_bytes,
                piece_bytes: self.piece_bytes(pool),
                data: pool.data,
                parity: pool.parity,
                preservation_drives: pool.preservation_drives,
                seed: POOL_SEED,
            }),
            (Level::Raid5, _) | (Level::Ddp, None) => Layout::raid5(raid, Rotation::LeftSymmetric),
        }
    }

    /// As described, or smaller where drives were made so small that a pool would have no pieces to spread.
    fn piece_bytes(&self, pool: &PoolShape) -> u64 {
        let most = self.capacity_bytes / POOL_PIECES_MINIMUM / pool.segment_bytes * pool.segment_bytes;
        pool.piece_bytes.min(most).max(pool.segment_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use load::{Device as _, Direction, Operation};

    fn parse(text: &str) -> Result<ServedArray, ServeError> {
        let (name, settings) = text.split_once(',').unwrap_or((text, "capacity=1g"));
        let path = format!("{}/../../arrays/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
        ServedArray::parse(&format!("{path},{settings}"))
    }

    /// Proves that each shipped array, and each layout that can be set on it, is served with the drives, volumes
    /// and spares of its description.
    #[test]
    fn shipped_arrays_can_be_served() {
        for (text, drives, volumes, spares) in [
            ("flashsystem-840", 7, 1, 1),
            ("dorado-2100-g2,capacity=64m", 25, 8, 0),
            ("dorado-2100-g2,raid=0,capacity=64m", 25, 8, 0),
            ("dorado-2100-g2,shrink=400", 25, 8, 0),
            ("raid-levels,raid=5,disks=3", 3, 1, 9),
            ("raid-levels,raid=10,capacity=16m", 12, 1, 0),
            ("e2700,capacity=64m", 24, 2, 0),
            ("e2700,layout=ddp,capacity=64m", 24, 2, 0),
            ("e2700,layout=raid10,segment=64k,capacity=64m", 24, 2, 0),
            ("examples/all-nvme-raid6,capacity=64m", 23, 8, 1),
            ("examples/server-raid-card,capacity=64m", 8, 1, 0),
            ("examples/nas-raid5,capacity=64m", 4, 1, 0),
            ("examples/pool-60-disks,capacity=64m", 60, 4, 0),
        ] {
            let array = parse(text).unwrap();
            assert_eq!(array.spec.drive_capacity_bytes.len(), drives, "{text}");
            assert_eq!((array.volumes_bytes.len(), array.spares), (volumes, spares), "{text}");
            let total: u64 = array.volumes_bytes.iter().sum();
            assert!(total > 0 && total <= array.spec.layout.capacity_bytes(), "{text}");
        }
    }

    /// Proves that an array of parts whose bytes are not served is refused with the part that has none, and that a level which its
    /// model does not have is refused.
    #[test]
    fn parts_without_bytes_are_named() {
        for (text, part) in [
            ("examples/replicas-12-nodes", "`pools` over nodes"),
            ("examples/erasure-12-nodes", "`pools` over nodes"),
            ("examples/flash-and-disks", "several `groups` (fast, bulk)"),
            ("examples/server-raid-card,raid=6", "raid=6"),
        ] {
            let message = diagnostic::full_text(&parse(text).unwrap_err());
            assert!(message.contains(part), "{text}: {message}");
        }
    }

    /// Proves that a served array's time is the array's alone: a read takes from its arrival to its answer what the twin
    /// with its host takes from the moment the host lets it go, which is the completion latency that it reports.
    #[test]
    fn the_host_is_left_out() {
        for name in ["flashsystem-840", "raid-levels", "e2700", "dorado-2100-g2"] {
            let served = parse(name).unwrap().twin.unwrap();
            let path = format!("{}/../../arrays/{name}.yaml", env!("CARGO_MANIFEST_DIR"));
            let description = plan::load_array(&path).unwrap().description;
            let mut settings = served.settings.clone();
            // What leaves the host of a solid-state array out is a setting.
            settings.remove("host");
            let whole = TwinSpec { description, settings, seed: served.seed };
            let [served, whole] = [served, whole].map(|spec| {
                let mut twin = spec.build().unwrap();
                let operation =
                    Operation { direction: Direction::Read, offset_bytes: 0, length_bytes: 4096, job: 0 };
                twin.submit(0, 0, operation);
                twin.next_completion(u64::MAX).unwrap()
            });
            assert_eq!(served.issued_at_ns, 0, "{name}");
            assert!(whole.issued_at_ns > 10_000, "{name}: its host takes no time");
            // Where a disk stands when the command comes is a matter of when it comes.
            if name == "flashsystem-840" {
                assert_eq!(served.at_ns, whole.at_ns - whole.issued_at_ns, "{name}");
            }
        }
    }

    /// Proves that an array with less room has as many bytes as its twin has addresses, and that an explicit capacity
    /// stands, wherever it is said.
    #[test]
    fn a_shrunk_array_is_as_large_as_its_twin() {
        let array = parse("dorado-2100-g2,shrink=100").unwrap();
        let twin = array.twin.unwrap().build().unwrap();
        let served: u64 = array.volumes_bytes.iter().sum();
        // The twin's LUNs end at whole stripe units of its host.
        assert!((served - (8 << 20)..=served).contains(&twin.capacity_bytes()), "{served}");
        assert!(served < 36_000_000_000, "{served}");
        for text in ["dorado-2100-g2,shrink=100,capacity=64m", "dorado-2100-g2,capacity=64m,shrink=100"] {
            let array = parse(text).unwrap();
            assert_eq!(array.spec.drive_capacity_bytes[0], 64 << 20, "{text}");
        }
    }

    /// Proves that volumes with a size keep it, though they end within a stripe.
    #[test]
    fn a_described_size_is_kept() {
        let path = format!("{}/../../arrays/examples/all-nvme-raid6.yaml", env!("CARGO_MANIFEST_DIR"));
        let array = ServedArray::parse(&path).unwrap();
        assert_ne!((4u64 << 40) % array.spec.layout.stripe_bytes(), 0);
        assert_eq!(array.volumes_bytes, [4 << 40; 8]);
    }

    /// Proves that what an array cannot be is refused by name.
    #[test]
    fn impossible_settings_are_refused() {
        for (text, words) in [
            ("raid-levels,disks=13", "has 12 drives"),
            ("raid-levels,layout=ddp", "layout=ddp"),
            ("dorado-2100-g2,raid=6", "raid=6"),
            ("raid-levels,colour=red", "no setting"),
            ("raid-levels,shrink=10", "shrink"),
            ("dorado-2100-g2,shrink=0", "shrink=0"),
            ("dorado-2100-g2,shrink=some", "shrink=some"),
            ("raid-levels,capacity=many", "capacity=many"),
            ("raid-levels,raid=10,disks=5", "5"),
        ] {
            let message = diagnostic::full_text(&parse(text).unwrap_err());
            assert!(message.contains(words), "{text}: {message}");
        }
    }
}

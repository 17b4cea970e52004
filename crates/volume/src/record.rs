//! Condition record of an array: persistent state besides the bytes.

use crate::block_store::BackingStore;
use crate::drive::{DriveCondition, FORMAT_VERSION};
use crate::error::{ErrorContext, VolumeError};
use crate::map::{MappedVolume, ThinUnits, VolumeMap};
use layout::{Move, Piece};
use serde_json::{Map, Value};

/// One drive's condition.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct DriveRecord {
    pub condition: DriveCondition,
    pub generation: u32,
    pub rebuilt_below_stripe: u64,
    /// Stripes that it has missed writes of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missed: Vec<u64>,
}

/// The whole array's.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ArrayRecord {
    pub format: u32,
    pub volume: String,
    /// Whatever makes two arrays the same; a volume is opened only under the identity it was made with.
    pub identity: String,
    pub drive_capacity_bytes: Vec<u64>,
    pub drives: Vec<DriveRecord>,
    /// Pieces that have moved since the array was laid out, in order.
    pub moves: Vec<MoveRecord>,
    /// The volumes and the unit of their ranges; nothing where the array was never told of any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub volumes: Option<MapRecord>,
    /// Whatever is to stay with the array; nothing here reads it.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub attributes: Map<String, Value>,
}

/// The map of volumes.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct MapRecord {
    pub unit_bytes: u64,
    pub volumes: Vec<MappedVolume>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thin: Option<ThinUnits>,
}

impl From<&VolumeMap> for MapRecord {
    fn from(map: &VolumeMap) -> Self {
        MapRecord { unit_bytes: map.unit_bytes(), volumes: map.volumes().to_vec(), thin: map.thin_units() }
    }
}

impl MapRecord {
    /// The map that it describes, of an array of so many bytes; `None` where it could not have been made there.
    pub(crate) fn map(&self, capacity_bytes: u64) -> Option<VolumeMap> {
        let volumes = self.volumes.clone();
        match self.thin {
            Some(thin) => VolumeMap::with_thin(capacity_bytes, thin, volumes),
            None if self.unit_bytes == 0 => None,
            None => VolumeMap::with(capacity_bytes, self.unit_bytes, volumes),
        }
    }
}

/// One move: group, entry, drive and slot it left, drive and slot it went to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) struct MoveRecord(u64, u32, u16, u32, u16, u32);

impl From<Move> for MoveRecord {
    fn from(moved: Move) -> Self {
        let Move { group, entry, from, to } = moved;
        MoveRecord(group, entry, from.drive, from.slot, to.drive, to.slot)
    }
}

impl From<MoveRecord> for Move {
    fn from(record: MoveRecord) -> Self {
        let MoveRecord(group, entry, from_drive, from_slot, to_drive, to_slot) = record;
        let (from, to) =
            (Piece { drive: from_drive, slot: from_slot }, Piece { drive: to_drive, slot: to_slot });
        Move { group, entry, from, to }
    }
}

impl ArrayRecord {
    pub(crate) fn read(store: &dyn BackingStore) -> Result<Option<ArrayRecord>, VolumeError> {
        let Some(bytes) = store.read_record().context("read the array's record")? else {
            return Ok(None);
        };
        let damaged = |problem: String| VolumeError::Damaged {
            path: format!("the record of {}", store.name()),
            problem,
        };
        // The version first: another version may have other fields.
        let value: Value = serde_json::from_slice(&bytes).map_err(|error| damaged(error.to_string()))?;
        match value.get("format").and_then(Value::as_u64) {
            Some(format) if format == u64::from(FORMAT_VERSION) => {}
            Some(format) => {
                return Err(VolumeError::Foreign {
                    path: store.name(),
                    problem: format!(
                        "it was written in format {format}, and this is format {FORMAT_VERSION}"
                    ),
                });
            }
            None => return Err(damaged("it names no format".to_owned())),
        }
        let record: ArrayRecord =
            serde_json::from_value(value).map_err(|error| damaged(error.to_string()))?;
        if record.drives.len() != record.drive_capacity_bytes.len() {
            return Err(damaged("it names another number of drives than of capacities".to_owned()));
        }
        Ok(Some(record))
    }

    pub(crate) fn write(&self, store: &dyn BackingStore) -> Result<(), VolumeError> {
        let bytes = serde_json::to_vec_pretty(self).map_err(|error| VolumeError::Damaged {
            path: "the array's record".to_owned(),
            problem: error.to_string(),
        })?;
        store.write_record(&bytes).context("write the array's record")
    }

    pub(crate) fn volume_bytes(&self) -> Option<[u8; 16]> {
        let mut bytes = [0; 16];
        if self.volume.len() != 32 || !self.volume.is_ascii() {
            return None;
        }
        for (index, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&self.volume[index * 2..index * 2 + 2], 16).ok()?;
        }
        Some(bytes)
    }
}

pub(crate) fn hexadecimal(bytes: &[u8; 16]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

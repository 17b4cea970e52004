//! Arrangement of a group that a case sets: RAID level or pool, drives of the set, segment, size of volumes.

use array::{Array, LayoutKind};
use serde_json::Value;

use crate::TwinError;
use crate::settings::bad;

/// Settings of a case for the group that its volumes lie on; `None` is as described.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Arrangement {
    pub layout: Option<LayoutKind>,
    /// Drives of the set; the others of the group are spares.
    pub drives: Option<u32>,
    pub segment_bytes: Option<u64>,
    /// Bytes of each volume; 0 for all that the drives hold.
    pub volume_bytes: Option<u64>,
}

impl Arrangement {
    /// Returns whether an array has a group that cases arrange.
    pub fn is_of(array: &Array) -> bool {
        matches!(array.groups.as_slice(), [group] if !group.is_per_node && !group.layouts().is_empty())
    }

    /// The array as a case arranges it, whose volumes are those of an entry; refuses what the controllers would refuse. The array has
    /// such a group where anything is set.
    pub fn apply(self, array: &Array, entry: usize) -> Result<Array, TwinError> {
        let mut arranged = array.clone();
        if self == Arrangement::default() {
            return Ok(arranged);
        }
        let group = &mut arranged.groups[0];
        let fitted = group.count.count.count();
        let layout = self.layout(group)?;
        let drives = self.drives.unwrap_or_else(|| fitted.saturating_sub(group.keys.spares.count()));
        if drives == 0 || drives > fitted {
            let allowed = format!("at least 1 and at most the {fitted} drives that are fitted");
            return Err(bad("disks", &drives.into(), &allowed));
        }
        let segment_bytes = self.segment(group, layout)?;
        let place = LayoutKind::ALL.iter().position(|kind| *kind == layout).unwrap_or_default();
        group.keys.layout.value = place as u64;
        group.keys.segment.value = segment_bytes;
        // A pool keeps capacity free where others have spares: what is not of it lies idle.
        if layout == LayoutKind::Pool {
            group.count.count.value = u64::from(drives);
            group.keys.spares.value = 0;
        } else {
            group.keys.spares.value = u64::from(fitted - drives);
        }
        let volume = &mut arranged.volumes[entry].keys;
        if let Some(bytes) = self.volume_bytes {
            volume.size.value = bytes;
        }
        let (volume_bytes, count) = (volume.size.get(), volume.count.get());
        arranged.check().map_err(|problem| {
            if problem.path.starts_with("volumes") {
                let sizes = Arrangement { volume_bytes: Some(0), ..self };
                let room = sizes.apply(array, entry).map(|array| {
                    let set = array::sets(&array).0.into_iter().next();
                    set.map_or(0, |set| array::volume_bytes(&array, &set) / count.max(1))
                });
                let room_bytes = room.unwrap_or_default();
                let allowed = format!("at most {room_bytes} bytes on {drives} drives in this layout");
                return bad("volume_size", &volume_bytes.into(), &allowed);
            }
            bad("disks", &drives.into(), &format!("what its layout allows ({})", problem.message))
        })?;
        Ok(arranged)
    }

    fn layout(self, group: &array::Group) -> Result<LayoutKind, TwinError> {
        let Some(layout) = self.layout else { return Ok(group.layout()) };
        let known = group.layouts();
        if !known.contains(&layout) {
            let words: Vec<&str> = known.iter().map(|kind| kind.word()).collect();
            return Err(bad("layout", &Value::from(layout.word()), &words.join(", ")));
        }
        Ok(layout)
    }

    fn segment(self, group: &array::Group, layout: LayoutKind) -> Result<u64, TwinError> {
        let described_bytes = group.keys.segment.get();
        let Some(segment_bytes) = self.segment_bytes else { return Ok(described_bytes) };
        let fixed_bytes = group.segment_of(layout, segment_bytes);
        if fixed_bytes != segment_bytes {
            let allowed = format!("{fixed_bytes} in a pool, whose segment is fixed");
            return Err(bad("segment", &segment_bytes.into(), &allowed));
        }
        let (least, most) = (group.keys.segment_least.get(), group.keys.segment_most.get());
        if !segment_bytes.is_power_of_two() || segment_bytes < least || segment_bytes > most {
            let allowed = format!("a power of two from {least} to {most} bytes");
            return Err(bad("segment", &segment_bytes.into(), &allowed));
        }
        Ok(segment_bytes)
    }
}

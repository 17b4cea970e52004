//! The volume group that an LVM physical volume belongs to, read from the label and the metadata on the device
//! (LVM2, lib/format_text/layout.h). No tool of LVM is needed.

use crate::roots::Roots;
use crate::sysfs::{attribute, entries};
use serde::Serialize;
use std::fs::File;
use std::os::unix::fs::FileExt as _;

/// A volume group of LVM, as one of its physical volumes describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct VolumeGroup {
    /// Its name.
    pub name: String,
    /// Its UUID, without hyphens.
    pub uuid: String,
    /// Names of its logical volumes that are active, wherever their data lies.
    pub active_volumes: Vec<String>,
}

/// LVM writes its label into one of the first four sectors.
const LABEL_SECTORS: u64 = 4;
const SECTOR_BYTES: u64 = 512;
const METADATA_MAGIC: &[u8; 16] = b"\x20LVM2\x20x[5A%r0N*>";
/// Metadata wraps round to the byte behind its header of one sector.
const METADATA_HEADER_BYTES: u64 = 512;
/// Set where LVM keeps no metadata in an area (`pvchange --metadataignore y`).
const IGNORED: u32 = 1;
/// Areas of one list; LVM makes at most two.
const MOST_AREAS: u64 = 8;
/// Name and UUID of the group stand at the beginning of its metadata.
const TEXT_BYTES: u64 = 4096;

/// Reads the volume group of the physical volume `device`; none without a label or without metadata.
pub(crate) fn volume_group(device: &File) -> Option<VolumeGroup> {
    let label = (0..LABEL_SECTORS).map(|sector| sector * SECTOR_BYTES).find(|at| {
        read::<32>(device, *at).is_some_and(|l| l.starts_with(b"LABELONE") && l.ends_with(b"LVM2 001"))
    })?;
    let header = label + u64::from(number(&read::<4>(device, label + 20)?) as u32);
    // UUID of the physical volume (32 bytes) and its size, then the areas of data, then those of metadata.
    let (_, metadata) = areas(device, header.checked_add(40)?)?;
    let (areas, _) = areas(device, metadata)?;
    areas.into_iter().find_map(|(offset, size)| group_in(device, offset, size))
}

/// The areas of a list that ends with a pair of zeros, and where the next list begins.
fn areas(device: &File, mut at: u64) -> Option<(Vec<(u64, u64)>, u64)> {
    let mut found = Vec::new();
    for _ in 0..MOST_AREAS {
        let pair = read::<16>(device, at)?;
        at = at.checked_add(16)?;
        match (number(&pair[..8]), number(&pair[8..])) {
            (0, _) => return Some((found, at)),
            area => found.push(area),
        }
    }
    None
}

/// The group that the metadata area of `size` bytes at `start` describes.
fn group_in(device: &File, start: u64, size: u64) -> Option<VolumeGroup> {
    // Checksum, magic number, version, start and size of the area; then where the text is.
    let header = read::<64>(device, start)?;
    if &header[4..20] != METADATA_MAGIC {
        return None;
    }
    let (offset, length) = (number(&header[40..48]), number(&header[48..56]));
    if offset < METADATA_HEADER_BYTES || offset >= size || number(&header[60..64]) as u32 & IGNORED != 0 {
        return None;
    }
    let until_end = (size - offset).min(length).min(TEXT_BYTES);
    let mut text = vec![0; until_end as usize];
    device.read_exact_at(&mut text, start.checked_add(offset)?).ok()?;
    let wrapped = length.min(TEXT_BYTES) - until_end;
    if wrapped > 0 {
        let mut rest = vec![0; wrapped as usize];
        device.read_exact_at(&mut rest, start + METADATA_HEADER_BYTES).ok()?;
        text.extend(rest);
    }
    parse(&String::from_utf8_lossy(&text))
}

/// `vg0 {⏎id = "pTqCeo-…"⏎…`
fn parse(text: &str) -> Option<VolumeGroup> {
    let (name, body) = text.split_once('{')?;
    let (_, id) = body.split_once("id = \"")?;
    let uuid: String = id.split('"').next()?.chars().filter(|c| *c != '-').collect();
    let is_uuid = uuid.len() == 32 && uuid.bytes().all(|byte| byte.is_ascii_alphanumeric());
    is_uuid.then(|| VolumeGroup { name: name.trim().to_owned(), uuid, active_volumes: Vec::new() })
}

/// Names of the group's logical volumes that device mapper has: `LVM-` and both UUIDs is the UUID of such a device.
pub(crate) fn active_volumes(roots: &Roots, uuid: &str) -> Vec<String> {
    let prefix = format!("LVM-{uuid}");
    let block = roots.sysfs.join("block");
    entries(&block)
        .into_iter()
        .map(|name| block.join(name))
        .filter(|device| attribute(device, "dm/uuid").is_some_and(|uuid| uuid.starts_with(&prefix)))
        .filter_map(|device| attribute(&device, "dm/name"))
        .collect()
}

fn read<const BYTES: usize>(device: &File, at: u64) -> Option<[u8; BYTES]> {
    let mut bytes = [0; BYTES];
    device.read_exact_at(&mut bytes, at).ok().map(|()| bytes)
}

/// A little-endian number of at most eight bytes.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    const UUID: &str = "pTqCeo-Ab12-Cd34-Ef56-Gh78-Ij90-Klmnop";

    /// A physical volume as `pvcreate` and `vgcreate` write it, its text at `offset` of an area of `area` bytes.
    fn physical_volume(offset: u64, area: u64, flags: u32) -> (tempfile::TempDir, File) {
        let mut bytes = vec![0_u8; 4096 + area as usize];
        let mut put = |at: usize, part: &[u8]| bytes[at..at + part.len()].copy_from_slice(part);
        put(512, b"LABELONE");
        put(512 + 20, &32_u32.to_le_bytes());
        put(512 + 24, b"LVM2 001");
        let header = 512 + 32;
        for (index, value) in [1 << 20, 0, 0, 0, 4096, area, 0, 0_u64].into_iter().enumerate() {
            put(header + 40 + 8 * index, &value.to_le_bytes());
        }
        let text = format!("vg0 {{\nid = \"{UUID}\"\nseqno = 2\n}}\n");
        put(4096 + 4, METADATA_MAGIC);
        put(4096 + 40, &offset.to_le_bytes());
        put(4096 + 48, &(text.len() as u64).to_le_bytes());
        put(4096 + 60, &flags.to_le_bytes());
        for (index, byte) in text.bytes().enumerate() {
            let at = offset + index as u64;
            let at = if at < area { at } else { at - area + METADATA_HEADER_BYTES };
            put(4096 + at as usize, &[byte]);
        }
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("pv");
        fs::write(&path, bytes).unwrap();
        (directory, File::open(path).unwrap())
    }

    /// Proves that name and UUID of the group are found, also where its text wraps round the end of its area.
    #[test]
    fn the_group_is_read_from_its_metadata() {
        for offset in [512, 1024, 8192 - 10, 8192 - 1] {
            let (_directory, file) = physical_volume(offset, 8192, 0);
            let group = volume_group(&file).unwrap_or_else(|| panic!("offset {offset}"));
            assert_eq!((group.name.as_str(), group.uuid), ("vg0", UUID.replace('-', "")));
        }
    }

    /// Proves that damaged, ignored and missing metadata gives no group and no panic.
    #[test]
    fn damaged_metadata_is_no_group() {
        assert_eq!(volume_group(&physical_volume(1024, 8192, IGNORED).1), None);
        let (directory, file) = physical_volume(1024, 8192, 0);
        let whole = fs::read(directory.path().join("pv")).unwrap();
        drop(file);
        for cut in [0, 511, 530, 560, 600, 4096, 4150, 5000] {
            let path = directory.path().join("cut");
            fs::write(&path, &whole[..cut]).unwrap();
            assert_eq!(volume_group(&File::open(&path).unwrap()), None, "{cut} bytes");
        }
        // Every byte of label, headers and text set to 255 in turn.
        for at in (512..704).chain(4096..4160).chain(5120..5140) {
            let mut bytes = whole.clone();
            bytes[at] = 255;
            let path = directory.path().join("damaged");
            fs::write(&path, bytes).unwrap();
            let _ = volume_group(&File::open(&path).unwrap());
        }
    }
}

//! Content detection on a device by magic numbers.
//!
//! Every block device needs consent whatever this finds: it makes the refusal say what would be lost, and it finds
//! partition tables that the kernel has not read, as on a loop device without partition scan.

use crate::lvm::{self, VolumeGroup};
use serde::Serialize;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

/// Recognised signature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[allow(missing_docs, reason = "each variant is the name of a format")]
pub enum Signature {
    GptPartitionTable,
    MbrPartitionTable,
    LvmPhysicalVolume,
    MdMember,
    Luks,
    Ext,
    Xfs,
    Btrfs,
    Zfs,
    Bcache,
    Swap,
    Ntfs,
    Exfat,
    Fat,
    Vmfs,
    Bluestore,
}

impl Signature {
    /// Returns the noun for a sentence.
    pub fn noun(self) -> &'static str {
        match self {
            Signature::GptPartitionTable => "a GPT partition table",
            Signature::MbrPartitionTable => "an MBR partition table",
            Signature::LvmPhysicalVolume => "an LVM physical volume",
            Signature::MdMember => "a member of an md RAID",
            Signature::Luks => "a LUKS container",
            Signature::Ext => "an ext2/3/4 file system",
            Signature::Xfs => "an XFS file system",
            Signature::Btrfs => "a btrfs file system",
            Signature::Zfs => "a member of a ZFS pool",
            Signature::Bcache => "a bcache device",
            Signature::Swap => "swap space",
            Signature::Ntfs => "an NTFS file system",
            Signature::Exfat => "an exFAT file system",
            Signature::Fat => "a FAT file system",
            Signature::Vmfs => "a VMFS volume",
            Signature::Bluestore => "a Ceph BlueStore device",
        }
    }

    /// The device is divided into partitions, known to the kernel or not.
    pub fn is_partition_table(self) -> bool {
        matches!(self, Signature::GptPartitionTable | Signature::MbrPartitionTable)
    }
}

/// Content found in the first bytes (and, for old md metadata, the last).
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Content {
    /// Formats recognised.
    pub signatures: Vec<Signature>,
    /// True if every byte that was read is zero. A blank beginning does not prove an empty device.
    pub begins_with_zeros: bool,
    /// Volume group of a physical volume of LVM.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub volume_group: Option<VolumeGroup>,
}

/// VMFS, the farthest magic number from the start, lies at 1 MiB.
const HEAD_BYTES: u64 = (1 << 20) + 4096;
/// md 0.90 and 1.0 keep their superblock in the last 128 KiB.
const TAIL_BYTES: u64 = 128 << 10;

/// Magic numbers at fixed offsets: as listed in blkid's probes and the formats' own documents.
const FIXED: [(Signature, usize, &[u8]); 18] = [
    (Signature::GptPartitionTable, 512, b"EFI PART"),
    (Signature::GptPartitionTable, 4096, b"EFI PART"),
    (Signature::LvmPhysicalVolume, 512 + 24, b"LVM2 001"),
    (Signature::LvmPhysicalVolume, 24, b"LVM2 001"),
    (Signature::LvmPhysicalVolume, 1024 + 24, b"LVM2 001"),
    (Signature::MdMember, 0, &MD_MAGIC),
    (Signature::MdMember, 4096, &MD_MAGIC),
    (Signature::Luks, 0, b"LUKS\xba\xbe"),
    (Signature::Ext, 1024 + 56, b"\x53\xef"),
    (Signature::Xfs, 0, b"XFSB"),
    (Signature::Btrfs, 0x1_0040, b"_BHRfS_M"),
    (Signature::Bcache, 4096 + 24, b"\xc6\x85\x73\xf6\x4e\x1a\x45\xca\x82\x65\xf5\x7f\x48\xba\x6d\x81"),
    (Signature::Swap, 4096 - 10, b"SWAPSPACE2"),
    (Signature::Ntfs, 3, b"NTFS    "),
    (Signature::Exfat, 3, b"EXFAT   "),
    (Signature::Fat, 82, b"FAT32   "),
    (Signature::Vmfs, 0x10_0000, b"\x0d\xd0\x01\xc0"),
    (Signature::Bluestore, 0, b"bluestore block device"),
];

const MD_MAGIC: [u8; 4] = 0xa92b_4efc_u32.to_le_bytes();
/// ZFS keeps its uberblocks in the second 128 KiB of each label, one every 1 KiB at least.
const ZFS_UBERBLOCK: u64 = 0x00ba_b10c;

/// Looks at an open device or file of `size_bytes`.
pub fn scan_content(file: &File, size_bytes: u64) -> io::Result<Content> {
    let mut head = vec![0; size_bytes.min(HEAD_BYTES) as usize];
    file.read_exact_at(&mut head, 0)?;
    let mut tail = vec![0; size_bytes.min(TAIL_BYTES) as usize];
    let tail_start = size_bytes - tail.len() as u64;
    file.read_exact_at(&mut tail, tail_start)?;
    let mut signatures = Vec::new();
    for (signature, offset, magic) in FIXED {
        if head.get(offset..).is_some_and(|rest| rest.starts_with(magic)) {
            signatures.push(signature);
        }
    }
    if [54, 82].iter().any(|offset| head.get(*offset..offset + 3) == Some(b"FAT")) {
        signatures.push(Signature::Fat);
    }
    if has_zfs_uberblock(&head) {
        signatures.push(Signature::Zfs);
    }
    if tail.len() as u64 == TAIL_BYTES && has_md_superblock_at_end(&tail, size_bytes) {
        signatures.push(Signature::MdMember);
    }
    // The boot sectors of file systems end like an MBR, and a GPT stands behind a protective one.
    let ends_like_mbr = [Signature::GptPartitionTable, Signature::Fat, Signature::Ntfs, Signature::Exfat];
    if !signatures.iter().any(|signature| ends_like_mbr.contains(signature)) && has_mbr(&head, size_bytes) {
        signatures.push(Signature::MbrPartitionTable);
    }
    signatures.sort();
    signatures.dedup();
    let is_physical_volume = signatures.contains(&Signature::LvmPhysicalVolume);
    let volume_group = is_physical_volume.then(|| lvm::volume_group(file)).flatten();
    Ok(Content { signatures, begins_with_zeros: head.iter().all(|byte| *byte == 0), volume_group })
}

fn has_zfs_uberblock(head: &[u8]) -> bool {
    (128 << 10..256 << 10).step_by(1 << 10).filter_map(|offset| head.get(offset..offset + 8)).any(|bytes| {
        let number = u64::from_le_bytes(bytes.try_into().expect("eight bytes"));
        number == ZFS_UBERBLOCK || number.swap_bytes() == ZFS_UBERBLOCK
    })
}

/// Places from Documentation/admin-guide/md.rst: 0.90 at the last 64 KiB boundary that leaves 64 KiB; 1.0 at the
/// last 4 KiB boundary that leaves 8 KiB.
fn has_md_superblock_at_end(tail: &[u8], size_bytes: u64) -> bool {
    let old = (size_bytes & !0xffff).checked_sub(0x1_0000);
    let new = size_bytes.checked_sub(8 << 10).map(|offset| offset & !0xfff);
    let tail_start = size_bytes - tail.len() as u64;
    [old, new]
        .into_iter()
        .flatten()
        .filter_map(|offset| offset.checked_sub(tail_start))
        .any(|offset| tail.get(offset as usize..).is_some_and(|rest| rest.starts_with(&MD_MAGIC)))
}

/// A boot signature alone is no table: test data ends with it once in 65,536. At least one entry must be used and
/// all of them plausible.
fn has_mbr(head: &[u8], size_bytes: u64) -> bool {
    let Some(sector) = head.get(..512) else { return false };
    if sector[510..] != [0x55, 0xaa] {
        return false;
    }
    let mut used = 0;
    for entry in sector[446..510].chunks_exact(16) {
        let word =
            |at: usize| u64::from(u32::from_le_bytes(entry[at..at + 4].try_into().expect("four bytes")));
        let (status, kind, start, sectors) = (entry[0], entry[4], word(8), word(12));
        if entry.iter().all(|byte| *byte == 0) {
            continue;
        }
        // 0xee is the protective entry of a GPT, which may claim more than the device holds.
        let inside = kind == 0xee || start * 512 < size_bytes;
        if !matches!(status, 0 | 0x80) || kind == 0 || start == 0 || sectors == 0 || !inside {
            return false;
        }
        used += 1;
    }
    used > 0
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn scan(size_bytes: u64, parts: &[(u64, &[u8])]) -> Content {
        let file = tempfile::tempfile().unwrap();
        file.set_len(size_bytes).unwrap();
        for (offset, bytes) in parts {
            file.write_all_at(bytes, *offset).unwrap();
        }
        scan_content(&file, size_bytes).unwrap()
    }

    /// Proves that each magic number is found at its place, and nothing on a blank device.
    #[test]
    fn every_fixed_magic_is_found() {
        assert_eq!(
            scan(4 << 20, &[]),
            Content { signatures: vec![], begins_with_zeros: true, volume_group: None }
        );
        for (signature, offset, magic) in FIXED {
            let content = scan(4 << 20, &[(offset as u64, magic)]);
            assert_eq!(content.signatures, [signature], "at {offset}");
            assert!(!content.begins_with_zeros);
        }
    }

    /// Proves that metadata outside the first sectors is found: ZFS labels, md 0.90 and md 1.0 at the end.
    #[test]
    fn metadata_elsewhere_is_found() {
        let uberblock = ZFS_UBERBLOCK.to_be_bytes();
        assert_eq!(scan(4 << 20, &[(130 << 10, &uberblock)]).signatures, [Signature::Zfs]);
        let size = (4 << 20) + 20 * 1024;
        assert_eq!(scan(size, &[((4 << 20) - (64 << 10), &MD_MAGIC)]).signatures, [Signature::MdMember]);
        assert_eq!(scan(size, &[(size - (8 << 10), &MD_MAGIC)]).signatures, [Signature::MdMember]);
    }

    /// Proves that an MBR needs a plausible entry: a boot sector or random data is none.
    #[test]
    fn a_boot_signature_alone_is_no_partition_table() {
        let mut sector = [0u8; 512];
        sector[510..].copy_from_slice(&[0x55, 0xaa]);
        assert_eq!(scan(4 << 20, &[(0, &sector)]).signatures, []);
        sector[446 + 4] = 0x83;
        sector[446 + 8] = 1;
        sector[446 + 12] = 8;
        assert_eq!(scan(4 << 20, &[(0, &sector)]).signatures, [Signature::MbrPartitionTable]);
        sector[446] = 0x17;
        assert_eq!(scan(4 << 20, &[(0, &sector)]).signatures, []);
        sector[446] = 0x80;
        sector[54..59].copy_from_slice(b"FAT16");
        assert_eq!(scan(4 << 20, &[(0, &sector)]).signatures, [Signature::Fat]);
    }

    proptest! {
        /// Proves that no content and no size makes the scan panic.
        #[test]
        fn no_content_panics(size in 0u64..400_000, offset in 0u64..399_000, bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let kept = &bytes[..bytes.len().min(size.saturating_sub(offset) as usize)];
            scan(size, &[(offset, kept)]);
        }
    }
}

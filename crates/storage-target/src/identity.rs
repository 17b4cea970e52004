//! Consent IDs: short names for one device, one file, one export.

/// The ID that permits writing: a readable part and a hash of everything that identifies the thing, so that another
/// device under the same name has another ID.
pub(crate) fn consent_id(name: &str, identity: &str) -> String {
    let readable: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '_') { c } else { '_' })
        .take(NAME_LIMIT_CHARS)
        .collect();
    // 40 bits, so that it can be typed. An ID protects from a mistake, not from an adversary: the question is
    // whether one device that was swapped for another has the same hash by chance.
    let hash = fnv1a(format!("{name}\n{identity}").as_bytes());
    let folded = (hash >> 40 ^ hash) & ((1 << 40) - 1);
    format!("{readable}-{folded:010x}")
}

const NAME_LIMIT_CHARS: usize = 24;

/// FNV-1a, 64 bits (draft-eastlake-fnv): stable over versions and machines, which `std`'s hashes are not.
fn fnv1a(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves the hash against the vectors published with FNV.
    #[test]
    fn the_hash_is_fnv_1a() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
    }

    /// Proves that an ID can be typed in a shell without quotes and depends on name and identity.
    #[test]
    fn ids_are_short_and_plain() {
        let id = consent_id("my disk;rm", "serial=1");
        assert!(id.starts_with("my_disk_rm-") && id.len() == 21, "{id}");
        assert_ne!(id, consent_id("my disk;rm", "serial=2"));
        assert_ne!(consent_id("sda", "serial=1")[3..], consent_id("sdb", "serial=1")[3..]);
    }
}

//! SHA-256 in hexadecimal digits.

use sha2::{Digest, Sha256};
use std::io::{self, Read};

pub(crate) fn hash_of(bytes: &mut dyn Read) -> io::Result<String> {
    let mut hash = Sha256::new();
    io::copy(bytes, &mut hash)?;
    Ok(hex(&hash.finalize()))
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

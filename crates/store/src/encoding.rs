//! Histogram encoding: filled bins only, as differences in variable-length integers.
//!
//! ```text
//! format version   varint, 1; 2 where latencies are in no bin
//! in no bin u      varint, only in version 2, at least 1
//! filled bins n    varint
//! when n or u > 0:
//!   sum_ns         varint (up to 128 bits)
//!   min_ns         varint
//!   max_ns         varint
//!   n times:
//!     bin          varint: the first bin's index, then the distance to the bin before, at least 1
//!     count        varint, at least 1
//! ```
//!
//! A varint is LEB128: seven bits a byte, the lowest first, the top bit set on all but the last byte.

use load::{BIN_COUNT, Histogram};

const FORMAT_VERSION: u128 = 1;
/// The version of histograms that hold latencies without bins; all others stay as they were.
const UNBINNED_FORMAT_VERSION: u128 = 2;

/// Errors of histogram bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The bytes end too early.
    #[error("the histogram is cut short")]
    Short,
    /// Bytes are left over.
    #[error("the histogram is followed by other bytes")]
    TrailingBytes,
    /// An integer is too large for its field.
    #[error("a number in the histogram is too large")]
    TooLarge,
    /// Another format.
    #[error("the histogram has an unknown format version")]
    UnknownVersion,
    /// A bin that does not exist, comes twice, or is empty.
    #[error("a bin of the histogram is out of order or range")]
    BadBin,
    /// The smallest latency is larger than the largest.
    #[error("the histogram's smallest latency exceeds its largest")]
    BadExtremes,
}

/// The bytes of a histogram.
pub fn encode_histogram(histogram: &Histogram) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(256);
    if histogram.unbinned_count() == 0 {
        put(&mut bytes, FORMAT_VERSION);
    } else {
        put(&mut bytes, UNBINNED_FORMAT_VERSION);
        put(&mut bytes, u128::from(histogram.unbinned_count()));
    }
    put(&mut bytes, histogram.filled_bins().count() as u128);
    if histogram.count() == 0 {
        return bytes;
    }
    put(&mut bytes, histogram.sum_ns());
    put(&mut bytes, u128::from(histogram.min_ns()));
    put(&mut bytes, u128::from(histogram.max_ns()));
    let mut before = 0;
    for (index, count) in histogram.filled_bins() {
        put(&mut bytes, (index - before) as u128);
        put(&mut bytes, u128::from(count));
        before = index;
    }
    bytes
}

/// The histogram that the bytes stand for; any other bytes are an error, never a panic.
pub fn decode_histogram(bytes: &[u8]) -> Result<Histogram, DecodeError> {
    let mut rest = bytes;
    let unbinned = match take(&mut rest)? {
        FORMAT_VERSION => 0,
        UNBINNED_FORMAT_VERSION => match take_u64(&mut rest)? {
            0 => return Err(DecodeError::BadBin),
            unbinned => unbinned,
        },
        _ => return Err(DecodeError::UnknownVersion),
    };
    let filled = take(&mut rest)?;
    if filled > BIN_COUNT as u128 {
        return Err(DecodeError::BadBin);
    }
    let mut histogram = Histogram::new();
    if filled > 0 || unbinned > 0 {
        let sum_ns = take(&mut rest)?;
        let min_ns = take_u64(&mut rest)?;
        let max_ns = take_u64(&mut rest)?;
        // Percentiles are clamped between the two, which only an ordered pair allows.
        if min_ns > max_ns {
            return Err(DecodeError::BadExtremes);
        }
        let mut index = 0usize;
        let mut total = unbinned;
        let mut bins = Vec::with_capacity(filled as usize);
        for bin in 0..filled {
            let step = usize::try_from(take_u64(&mut rest)?).map_err(|_| DecodeError::BadBin)?;
            if step == 0 && bin > 0 {
                return Err(DecodeError::BadBin);
            }
            index = index.checked_add(step).filter(|&index| index < BIN_COUNT).ok_or(DecodeError::BadBin)?;
            let count = take_u64(&mut rest)?;
            if count == 0 {
                return Err(DecodeError::BadBin);
            }
            total = total.checked_add(count).ok_or(DecodeError::TooLarge)?;
            bins.push((index as u16, count));
        }
        // Straight into the form in which it is kept: a place for every bin costs more than all the rest.
        histogram = Histogram::of_filled(bins, unbinned, (sum_ns, min_ns, max_ns));
    }
    if rest.is_empty() { Ok(histogram) } else { Err(DecodeError::TrailingBytes) }
}

fn put(bytes: &mut Vec<u8>, mut value: u128) {
    while value >= 0x80 {
        bytes.push(value as u8 | 0x80);
        value >>= 7;
    }
    bytes.push(value as u8);
}

fn take(bytes: &mut &[u8]) -> Result<u128, DecodeError> {
    let mut value = 0u128;
    let mut shift = 0u32;
    loop {
        let (&byte, rest) = bytes.split_first().ok_or(DecodeError::Short)?;
        *bytes = rest;
        let bits = u128::from(byte & 0x7f);
        // The 19th byte may hold the top two bits of 128 and no more.
        if shift > 126 || (shift == 126 && bits > 3) {
            return Err(DecodeError::TooLarge);
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            return Ok(value);
        }
        shift += 7;
    }
}

fn take_u64(bytes: &mut &[u8]) -> Result<u64, DecodeError> {
    u64::try_from(take(bytes)?).map_err(|_| DecodeError::TooLarge)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn histogram() -> impl Strategy<Value = Histogram> {
        let bins = proptest::collection::vec((0..BIN_COUNT, 1u64..1 << 40), 0..100);
        let unbinned = prop_oneof![Just(0), 1u64..1 << 40];
        let figures = (any::<u128>(), any::<u64>(), any::<u64>());
        (bins, unbinned, figures).prop_map(|(bins, unbinned, (sum_ns, one, other))| {
            let mut histogram = Histogram::new();
            for (index, count) in &bins {
                histogram.add_bin(*index, *count);
            }
            histogram.add_unbinned(unbinned, 0, None, None);
            if !bins.is_empty() || unbinned > 0 {
                histogram.set_exact(sum_ns, one.min(other), one.max(other));
            }
            histogram
        })
    }

    proptest! {
        /// Proves that a histogram comes back as it was, with its sum and extremes, however large.
        #[test]
        fn histograms_come_back(histogram in histogram()) {
            prop_assert_eq!(decode_histogram(&encode_histogram(&histogram)), Ok(histogram));
        }

        /// Proves that no bytes make the decoder panic, and that what it accepts is a histogram that encodes to a
        /// decodable one.
        #[test]
        fn any_bytes_are_decoded_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            if let Ok(histogram) = decode_histogram(&bytes) {
                let _ = histogram.percentile_ns(990_000);
                prop_assert_eq!(decode_histogram(&encode_histogram(&histogram)), Ok(histogram));
            }
        }

        /// Proves that a damaged histogram is refused or stays within bounds, and a cut one is always refused.
        #[test]
        fn damage_is_contained(histogram in histogram(), at in any::<prop::sample::Index>(), bit in 0u8..8) {
            let bytes = encode_histogram(&histogram);
            let at = at.index(bytes.len());
            prop_assert!(decode_histogram(&bytes[..at]).is_err());
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            if let Ok(histogram) = decode_histogram(&damaged) {
                let _ = histogram.percentile_ns(990_000);
            }
        }
    }

    /// Proves that each rule of the format is enforced, one bad blob for each.
    #[test]
    fn each_rule_is_enforced() {
        assert_eq!(decode_histogram(&[]), Err(DecodeError::Short));
        assert_eq!(decode_histogram(&[3, 0]), Err(DecodeError::UnknownVersion));
        assert_eq!(decode_histogram(&[2, 0, 0]), Err(DecodeError::BadBin));
        assert!(decode_histogram(&[2, 7, 0, 9, 0, 2]).is_ok());
        assert_eq!(decode_histogram(&[1, 0, 0]), Err(DecodeError::TrailingBytes));
        assert_eq!(decode_histogram(&[1, 0xff, 0x7f]), Err(DecodeError::BadBin));
        assert_eq!(decode_histogram(&[1, 1, 9, 2, 1, 5, 1]), Err(DecodeError::BadExtremes));
        assert_eq!(decode_histogram(&[1, 1, 9, 1, 2, 5, 0]), Err(DecodeError::BadBin));
        assert_eq!(decode_histogram(&[1, 2, 9, 1, 2, 5, 1, 0, 1]), Err(DecodeError::BadBin));
        assert_eq!(decode_histogram(&[1, 1, 9, 1, 2, 0xc0, 0x11, 1]), Err(DecodeError::BadBin));
        assert_eq!(decode_histogram(&[0xff; 30]), Err(DecodeError::TooLarge));
        assert!(decode_histogram(&[1, 2, 9, 1, 2, 0, 1, 1, 1]).is_ok());
    }
}

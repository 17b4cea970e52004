//! Read-back of a verified load.

use std::os::unix::fs::FileExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use load::{Written, WrongBlock};

use crate::arena::Arena;
use crate::striping::Striping;
use crate::{OpenTarget, RingError};

/// Bytes that are read at once.
const READ_BYTES: u64 = 1 << 20;
/// Wrong blocks that are named; all are counted.
const NAMED_LIMIT: usize = 100;

/// Result of a verification.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct VerifyReport {
    /// Blocks that were checked.
    pub checked: u64,
    /// Blocks that are wrong.
    pub wrong: u64,
    /// The first of them, by address, with what was expected.
    pub named: Vec<WrongBlock>,
}

/// Reads every block that `written` knows and checks it. `stop` ends it early.
pub fn verify(
    targets: &[OpenTarget],
    stripe_chunk_bytes: u64,
    written: &[Written],
    stop: &AtomicBool,
) -> Result<VerifyReport, RingError> {
    let striping = Striping::new(targets, stripe_chunk_bytes)?;
    let mut parts: Vec<&Written> = written.iter().collect();
    parts.sort_by_key(|part| part.range().start);
    let mut report = VerifyReport::default();
    let arena = Arena::new(1, READ_BYTES as usize * 2)?;
    for part in parts {
        let range = part.range();
        let unit = u64::from(part.unit_bytes());
        let step = (READ_BYTES / unit).max(1) * unit;
        if step > READ_BYTES * 2 {
            return Err(RingError::refused(
                format!("blocks of {unit} bytes are too large to verify"),
                "use a smaller `bs`",
            ));
        }
        let mut at = range.start;
        while at < range.end && !stop.load(Ordering::Relaxed) {
            let length = step.min(range.end - at);
            // SAFETY: the only reference to this memory; reads below end before it is used again.
            let buffer = unsafe { arena.slot(0, length as usize) };
            let mut failed = Ok(());
            striping.extents(at, length as u32, |extent| {
                let target = &targets[extent.target as usize];
                let piece = &mut buffer[extent.within_bytes as usize..][..extent.length_bytes as usize];
                if failed.is_ok() {
                    failed = target.file().read_exact_at(piece, extent.offset_bytes).map_err(|source| {
                        RingError::Target {
                            action: "read back",
                            target: target.name().to_owned(),
                            source,
                            hint: "dmesg may say more",
                        }
                    });
                }
            });
            failed?;
            report.checked += part.check(at, buffer, &mut |wrong| {
                report.wrong += 1;
                if report.named.len() < NAMED_LIMIT {
                    report.named.push(wrong);
                }
            });
            at += length;
        }
    }
    Ok(report)
}

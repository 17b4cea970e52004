//! Claims of which it is known why they are refuted: the publication contradicts them itself, or the twin's model lacks
//! what makes them.

use serde::Serialize;

/// What kind of reason it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// The publication's own figures, or arithmetic on its own words, contradict it.
    PublishedInconsistency,
    /// The twin's model has no part that makes it so; says nothing of a device.
    LimitOfTheModel,
}

impl Reason {
    /// Its words.
    pub fn words(self) -> &'static str {
        match self {
            Reason::PublishedInconsistency => "published inconsistency",
            Reason::LimitOfTheModel => "limit of the model",
        }
    }
}

/// Why a claim is refuted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Known {
    /// Of what kind the reason is.
    pub reason: Reason,
    /// The reason.
    pub says: &'static str,
}

const KNOWN: [(&str, Reason, &str); 8] = [
    (
        "D10",
        Reason::PublishedInconsistency,
        "RAID 5 shows it. In RAID 0 the published 3,160 MB/s at 1M are the links' limit, so that 16K would have to stay at 1,580 \
         MB/s or 96,000 IOPS, beside a published 311,000 at 4K",
    ),
    (
        "D11",
        Reason::PublishedInconsistency,
        "the published 1,000 MB/s of 16K writes are 61,000 IOPS, not a little less than 110,000; reads and mixed load show it",
    ),
    (
        "R2",
        Reason::PublishedInconsistency,
        "the published rows contradict it: at equal disks random reads hardly depend on the level, and 8 I/Os outstanding do not \
         keep 12 disks busy (RAID 0 over 12 disks reads 1,336 IOPS, not 6 × the 514 of two)",
    ),
    (
        "N3",
        Reason::LimitOfTheModel,
        "a 4 to 16 KB I/O touches one segment of either size. The vendor advises small segments for small random load and documents \
         no part that works in whole segments; it says that random access causes no prefetch. Did everything move whole \
         segments, the twin would gain 1.1 in reads and 1.2 to 1.3 in writes",
    ),
    (
        "N4",
        Reason::LimitOfTheModel,
        "for random load as N3; for streams large segments do suit large blocks on the twin",
    ),
    (
        "N9",
        Reason::PublishedInconsistency,
        "in a closed loop the same I/Os outstanding at the same bandwidth have the same latency (Little's law), so one of both \
         cannot be as published",
    ),
    (
        "N10",
        Reason::LimitOfTheModel,
        "whatever is read or written for parity, 16K never takes less than 4K; what would make a small block the slower one is not \
         documented",
    ),
    (
        "N11",
        Reason::LimitOfTheModel,
        "half of the mix is answered from the cache, so its IOPS lie above what reads and destaged writes reach by themselves; reads do \
         wait behind destaging (RAID 6 at 16 outstanding: 8.7 ms in the mix, 6.4 ms alone)",
    ),
];

/// Why a claim is refuted on a run, where that is known.
pub(super) fn reason(id: &str, is_of_twin: bool) -> Option<Known> {
    let (_, reason, says) = KNOWN.iter().find(|(known, _, _)| *known == id)?;
    let applies = is_of_twin || *reason == Reason::PublishedInconsistency;
    applies.then_some(Known { reason: *reason, says })
}

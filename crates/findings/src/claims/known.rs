//! Claims of which it is known why they are refuted: the publication contradicts them itself, or the twin's model lacks
//! what makes them.

use super::Claim;
use plan::claim::Reason;
use serde::Serialize;

/// Why a claim is refuted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Known {
    /// Of what kind the reason is.
    pub reason: Reason,
    /// The reason.
    pub says: String,
}

impl Known {
    /// The kind of the reason in words.
    pub(super) fn words(&self) -> &'static str {
        match self.reason {
            Reason::PublishedInconsistency => "published inconsistency",
            Reason::LimitOfTheModel => "limit of the model",
        }
    }
}

const KNOWN: [(&str, Reason, &str); 9] = [
    (
        "D2",
        Reason::LimitOfTheModel,
        "at 4K and 8K the twin falls after 123 s as published. Its erased reserve is one number of bytes for all block sizes, so that \
         larger blocks, which write more bytes a second, use it up sooner (93 s at 1M)",
    ),
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
pub(super) fn reason(claim: &Claim<'_>, is_of_twin: bool) -> Option<Known> {
    let (reason, says) = match claim {
        Claim::Coded(coded) => {
            let (_, reason, says) = KNOWN.iter().find(|(known, _, _)| *known == coded.id)?;
            (*reason, (*says).to_owned())
        }
        Claim::Written(written) => written.known.clone()?,
    };
    (is_of_twin || reason == Reason::PublishedInconsistency).then_some(Known { reason, says })
}

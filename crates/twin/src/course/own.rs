//! What an array does about its drives on its own account: it loses them, gets new ones, and rebuilds stripe by stripe.

use layout::DriveIndex;

use super::refill::{Rebuilds, Refill, Refilling};
use crate::engine::{EventQueue, Slab};

/// Something that an array does on its own account.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Own {
    /// A drive is lost.
    DriveFails(DriveIndex),
    /// A new drive takes the place of a lost one.
    DriveIsReplaced(DriveIndex),
    /// The rebuild may go on.
    Rebuild,
    /// What is left of a stripe has been read.
    StripeRead(u64),
    /// What the stripe had lost is computed.
    StripeComputed(u64),
    /// A stripe is whole again.
    StripeWritten,
}

/// Where an array keeps what it is going to do, borrowed from it.
pub(crate) struct Agenda<'a> {
    /// By the number under which it is in the queue.
    pub own: &'a mut Slab<Own>,
    pub queue: &'a mut EventQueue,
    /// What such a number is among the queue's payloads.
    pub payload_of: fn(u32) -> u32,
}

/// An array whose rebuild takes each stripe through steps: what is left is read, what was lost is computed and written.
pub(crate) trait OwnAccount: Refill {
    /// Its own.
    fn agenda(&mut self) -> Agenda<'_>;

    /// Reads what is left of the stripe that is planned; returns when it is there.
    fn read_left(&mut self) -> u64;

    /// Computes what a stripe had lost; returns when that is done. None where it is no step: the array's hardware computes as
    /// the data passes.
    fn compute_lost(&mut self, _stripe: u64) -> Option<u64> {
        None
    }

    /// Writes what the stripe that is planned had lost to drives that are there; returns when it is in them.
    fn write_lost(&mut self) -> u64;

    /// Something of the array's own happens at a moment.
    fn plan_own(&mut self, at_ns: u64, own: Own) {
        let Agenda { own: kept, queue, payload_of } = self.agenda();
        queue.push(at_ns, payload_of(kept.keep(own)));
    }

    /// Something of the array's own happens now.
    fn own_happens(&mut self, index: u32) {
        match self.agenda().own.take(index) {
            Own::DriveFails(drive) => self.drive_is_lost(drive),
            Own::DriveIsReplaced(drive) => self.drive_is_new(drive),
            Own::Rebuild => self.rebuild_is_due(),
            Own::StripeRead(stripe) => match self.compute_lost(stripe) {
                Some(done_ns) => self.plan_own(done_ns, Own::StripeComputed(stripe)),
                None => self.write_stripe(stripe),
            },
            Own::StripeComputed(stripe) => self.write_stripe(stripe),
            Own::StripeWritten => self.stripe_is_whole(),
        }
    }

    /// The last step of a stripe.
    fn write_stripe(&mut self, stripe: u64) {
        let done_ns = self.in_stripe(stripe, Self::write_lost);
        self.plan_own(done_ns, Own::StripeWritten);
    }

    /// Takes a step with a stripe and returns when it is done: at once where the stripe cannot be planned, since too much is lost.
    fn in_stripe(&mut self, stripe: u64, step: impl FnOnce(&mut Self) -> u64) -> u64 {
        let Refilling { now_ns, recovery, set, plan, .. } = self.refilling();
        if recovery.plan_stripe(stripe, set, plan) { step(self) } else { now_ns }
    }
}

impl<Array: OwnAccount> Rebuilds for Array {
    fn rebuild_at(&mut self, at_ns: u64) {
        self.plan_own(at_ns, Own::Rebuild);
    }

    /// The first step of a stripe.
    fn rebuild_stripe(&mut self, stripe: u64) {
        let done_ns = self.in_stripe(stripe, Self::read_left);
        self.plan_own(done_ns, Own::StripeRead(stripe));
    }
}

//! Background tasks of an array: drive loss, drive replacement, and rebuild stripe by stripe.

use layout::DriveIndex;

use super::refill::{Rebuilds, Refill, Refilling};
use crate::engine::{EventQueue, Slab};

/// Background task of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BackgroundTask {
    /// A drive is lost.
    DriveFails(DriveIndex),
    /// A new drive takes the place of a lost one.
    DriveIsReplaced(DriveIndex),
    /// The rebuild may go on.
    Rebuild,
    /// The rest of a stripe has been read.
    StripeRead(u64),
    /// The lost part of a stripe is computed.
    StripeComputed(u64),
    /// A stripe is whole again.
    StripeWritten,
}

/// Pending background tasks and their queue, borrowed from the array.
pub(crate) struct BackgroundSchedule<'a> {
    /// By the number under which it is in the queue.
    pub own: &'a mut Slab<BackgroundTask>,
    pub queue: &'a mut EventQueue,
    /// Payload of such a number among those of the queue.
    pub payload_of: fn(u32) -> u32,
}

/// Array whose rebuild takes each stripe through three steps: read the survivors, compute the lost data, write it.
pub(crate) trait BackgroundRebuild: Refill {
    /// The array's pending tasks.
    fn background_schedule(&mut self) -> BackgroundSchedule<'_>;

    /// Reads what is left of the stripe that is planned; returns when it is there.
    fn read_left(&mut self) -> u64;

    /// Computes what a stripe had lost; returns when that is done. None where it is no step: the array's hardware computes as
    /// the data passes.
    fn compute_lost(&mut self, _stripe: u64) -> Option<u64> {
        None
    }

    /// Writes what the stripe that is planned had lost to drives that are there; returns when it is in them.
    fn write_lost(&mut self) -> u64;

    /// Schedules a background task.
    fn schedule_task(&mut self, at_ns: u64, own: BackgroundTask) {
        let BackgroundSchedule { own: kept, queue, payload_of } = self.background_schedule();
        queue.push(at_ns, payload_of(kept.keep(own)));
    }

    /// Runs a background task that is due.
    fn run_task(&mut self, index: u32) {
        match self.background_schedule().own.take(index) {
            BackgroundTask::DriveFails(drive) => self.drive_is_lost(drive),
            BackgroundTask::DriveIsReplaced(drive) => self.drive_is_new(drive),
            BackgroundTask::Rebuild => self.rebuild_is_due(),
            BackgroundTask::StripeRead(stripe) => match self.compute_lost(stripe) {
                Some(done_ns) => self.schedule_task(done_ns, BackgroundTask::StripeComputed(stripe)),
                None => self.write_stripe(stripe),
            },
            BackgroundTask::StripeComputed(stripe) => self.write_stripe(stripe),
            BackgroundTask::StripeWritten => self.stripe_is_whole(),
        }
    }

    /// The last step of a stripe.
    fn write_stripe(&mut self, stripe: u64) {
        let done_ns = self.in_stripe(stripe, Self::write_lost);
        self.schedule_task(done_ns, BackgroundTask::StripeWritten);
    }

    /// Takes a step with a stripe and returns when it is done: at once where the stripe cannot be planned, since too much is lost.
    fn in_stripe(&mut self, stripe: u64, step: impl FnOnce(&mut Self) -> u64) -> u64 {
        let Refilling { now_ns, recovery, set, plan, .. } = self.refilling();
        if recovery.plan_stripe(stripe, set, plan) { step(self) } else { now_ns }
    }
}

impl<Array: BackgroundRebuild> Rebuilds for Array {
    fn rebuild_at(&mut self, at_ns: u64) {
        self.schedule_task(at_ns, BackgroundTask::Rebuild);
    }

    /// The first step of a stripe.
    fn rebuild_stripe(&mut self, stripe: u64) {
        let done_ns = self.in_stripe(stripe, Self::read_left);
        self.schedule_task(done_ns, BackgroundTask::StripeRead(stripe));
    }
}

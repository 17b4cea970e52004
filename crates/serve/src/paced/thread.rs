//! Pacer thread, which owns the twin.

use super::inbox::{ArrivedRequest, Inbox, Messages};
use super::pacing_error::PacingError;
use super::send_cost::SendCost;
use super::wake_lead::WakeLead;
use super::{Model, Paced, PacingErrorReport, Tally};
use load::{Clock as _, Direction, WallClock};
use nbd::{Access, HeldReply};
use std::num::NonZeroU64;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// A sleep ends within so many nanoseconds of its time, if the kernel can (the default is 50 µs).
const TIMER_SLACK_NS: NonZeroU64 = NonZeroU64::new(1).expect("is not 0");
/// The thread goes before others where that is allowed: it decides when they are answered.
const PRIORITY: i32 = -15;

/// A request under way.
struct Slot {
    access: Access,
    arrived_at: Instant,
    length_bytes: u32,
    tally: Arc<Tally>,
    due: Option<Instant>,
    reply: Option<HeldReply>,
}

/// Replies to one client that leave together.
struct DepartingReplies {
    reply: HeldReply,
    slots: Vec<Slot>,
}

pub(super) struct Pacing {
    inbox: Arc<Inbox>,
    model: Model,
    clock: WallClock,
    slots: Vec<Option<Slot>>,
    under_way: usize,
    leaving: Vec<DepartingReplies>,
    free: Vec<u32>,
    messages: Messages,
    lateness: PacingError,
    waking: WakeLead,
    sending: SendCost,
    started_at: Instant,
}

impl Pacing {
    pub(super) fn new(inbox: Arc<Inbox>, model: Model, speed_millionths: u64) -> Self {
        Pacing {
            inbox,
            model,
            clock: WallClock::start(speed_millionths),
            slots: Vec::new(),
            under_way: 0,
            leaving: Vec::new(),
            free: Vec::new(),
            messages: Messages::default(),
            lateness: PacingError::default(),
            waking: WakeLead::new(),
            sending: SendCost::new(),
            started_at: Instant::now(),
        }
    }

    /// Runs until it is told to stop; then, or if the model panics, nothing is paced any more.
    pub(super) fn run(mut self) -> PacingErrorReport {
        // Without them replies are a little later.
        let _ = rustix::thread::set_current_timer_slack(Some(TIMER_SLACK_NS));
        let _ = rustix::process::setpriority_process(None, PRIORITY);
        let outcome = catch_unwind(AssertUnwindSafe(|| while !self.turn() {}));
        if outcome.is_err() {
            self.inbox.stop();
        }
        // Whatever has come since the last turn leaves with what waits.
        self.inbox.take(&mut self.messages, &mut self.free);
        self.messages.held.clear();
        self.slots.clear();
        self.lateness.report()
    }

    /// Everything there is to do now, then the wait for more; `true` at the end.
    fn turn(&mut self) -> bool {
        let is_stopped = self.inbox.take(&mut self.messages, &mut self.free);
        if is_stopped {
            return true;
        }
        self.answer_questions();
        // Both lists keep their room.
        let (mut arrived, mut held) =
            (std::mem::take(&mut self.messages.arrived), std::mem::take(&mut self.messages.held));
        // Connections are read by several threads.
        arrived.sort_by_key(|arrived| arrived.at);
        arrived.drain(..).for_each(|arrived| self.submit(arrived));
        held.drain(..).for_each(|(number, reply)| self.bytes_are_done(number, reply));
        (self.messages.arrived, self.messages.held) = (arrived, held);
        let until_ns = self.clock.at(Instant::now() + self.sending.ahead(self.under_way));
        while let Some((tag, at_ns)) = self.model.next_completion(until_ns) {
            self.complete(tag, at_ns);
        }
        self.let_go();
        self.wait(self.model.wakes_at_ns(), self.sending.ahead(self.under_way));
        false
    }

    fn answer_questions(&mut self) {
        for query in std::mem::take(&mut self.messages.queries) {
            let mut forget = false;
            query(&mut Paced {
                model: &mut self.model,
                now_ns: self.clock.now_ns(),
                lateness: self.lateness.report(),
                under_way: self.under_way,
                forget: &mut forget,
            });
            if forget {
                let now_ns = self.clock.now_ns();
                for tag in 0..self.slots.len() as u32 {
                    if self.slots[tag as usize].as_ref().is_some_and(|slot| slot.due.is_none()) {
                        self.complete(tag, now_ns);
                    }
                }
            }
        }
    }

    fn submit(&mut self, arrived: ArrivedRequest) {
        let ArrivedRequest { number, at, access, place, length_bytes, connection, tally } = arrived;
        if number as usize >= self.slots.len() {
            self.slots.resize_with(number as usize + 1, || None);
        }
        self.slots[number as usize] =
            Some(Slot { access, arrived_at: at, length_bytes, tally, due: None, reply: None });
        self.under_way += 1;
        let direction = match access {
            Access::Read => Direction::Read,
            Access::Write => Direction::Write,
        };
        let at_ns = self.clock.at(at);
        self.model.submit(at_ns, number, direction, (place, length_bytes), connection);
    }

    fn bytes_are_done(&mut self, number: u32, reply: HeldReply) {
        let Some(slot) = self.slots.get_mut(number as usize).and_then(Option::as_mut) else { return };
        slot.reply = Some(reply);
        if slot.due.is_some() {
            self.inbox.overdue.fetch_sub(1, Ordering::SeqCst);
            self.lateness.count_late_bytes();
            self.leave(number);
        }
    }

    fn complete(&mut self, number: u32, at_ns: u64) {
        let due = self.clock.moment(at_ns);
        let Some(slot) = self.slots.get_mut(number as usize).and_then(Option::as_mut) else { return };
        slot.due = due;
        if slot.reply.is_some() {
            self.leave(number);
        } else {
            self.inbox.overdue.fetch_add(1, Ordering::SeqCst);
        }
    }

    /// Puts a reply to those for the same client that leave now.
    fn leave(&mut self, number: u32) {
        let Some(mut slot) = self.slots[number as usize].take() else { return };
        self.under_way -= 1;
        self.free.push(number);
        let Some(mut reply) = slot.reply.take() else { return };
        for leaving in &mut self.leaving {
            match leaving.reply.join(reply) {
                None => {
                    leaving.slots.push(slot);
                    return;
                }
                Some(other) => reply = other,
            }
        }
        self.leaving.push(DepartingReplies { reply, slots: vec![slot] });
    }

    fn let_go(&mut self) {
        for DepartingReplies { reply, slots } in std::mem::take(&mut self.leaving) {
            let began = Instant::now();
            drop(reply);
            let left_at = Instant::now();
            if slots.len() == 1 {
                self.sending.took(left_at - began);
            }
            for slot in slots {
                if let Some(due) = slot.due {
                    self.lateness.count(
                        left_at.saturating_duration_since(due),
                        due.saturating_duration_since(slot.arrived_at),
                    );
                }
                let latency = left_at.saturating_duration_since(slot.arrived_at);
                slot.tally.end(slot.access, u64::from(slot.length_bytes), latency);
            }
        }
    }

    /// Until so long before the moment comes, or there is mail.
    fn wait(&mut self, until_ns: u64, ahead: Duration) {
        // Where nobody waits for a reply, what the model does by itself may be looked at late.
        let lead = match self.under_way {
            0 => Duration::ZERO,
            _ => self.waking.lead(self.started_at.elapsed()),
        };
        let mut polls_since = None;
        let clock = self.clock;
        // Broken off by mail, or because the moment is near enough.
        let _ = clock.wait_until(until_ns, |left| {
            let left = left.map(|left| left.saturating_sub(ahead));
            if self.inbox.has_messages() || left.is_some_and(|left| left.is_zero()) {
                return ControlFlow::Break(());
            }
            match left {
                Some(left) if left <= lead => {
                    polls_since.get_or_insert_with(Instant::now);
                    std::hint::spin_loop();
                }
                _ => self.sleep(left.map(|left| left - lead)),
            }
            ControlFlow::Continue(())
        });
        if let Some(since) = polls_since {
            self.waking.polled(since.elapsed());
        }
    }

    fn sleep(&mut self, at_most: Option<Duration>) {
        if !self.inbox.fall_asleep() {
            return;
        }
        let asleep_since = Instant::now();
        match at_most {
            None => std::thread::park(),
            Some(at_most) => std::thread::park_timeout(at_most),
        }
        let has_slept_out = self.inbox.wake_up();
        if let (Some(at_most), true) = (at_most, has_slept_out) {
            self.waking.woke_late(asleep_since.elapsed().saturating_sub(at_most));
        }
    }
}

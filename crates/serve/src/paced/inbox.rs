//! What others tell the thread that owns the twin, and how they wake it.

use super::{At, Paced, Tally};
use nbd::{Access, HeldReply};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Instant;

/// A question for the thread.
pub(super) type Order = Box<dyn FnOnce(&mut Paced<'_>) + Send>;

/// A request that has arrived.
pub(super) struct Arrived {
    pub number: u32,
    pub at: Instant,
    pub access: Access,
    pub place: At,
    pub length_bytes: u32,
    pub connection: u64,
    pub tally: Arc<Tally>,
}

/// What lies in the inbox.
#[derive(Default)]
pub(super) struct Mail {
    pub arrived: Vec<Arrived>,
    pub held: Vec<(u32, HeldReply)>,
    pub orders: Vec<Order>,
    /// Numbers that are free again.
    pub free: Vec<u32>,
    next_number: u32,
    pub is_stopped: bool,
}

#[derive(Default)]
pub(super) struct Inbox {
    mail: Mutex<Mail>,
    has_mail: AtomicBool,
    is_asleep: AtomicBool,
    /// Replies whose moment came before their bytes were ready.
    pub overdue: AtomicUsize,
    thread: OnceLock<Thread>,
}

impl Inbox {
    pub(super) fn belongs_to(&self, thread: Thread) {
        // Set once, by whoever started it.
        let _ = self.thread.set(thread);
    }

    pub(super) fn arrive(&self, arrived: impl FnOnce(u32) -> Arrived) -> Option<u32> {
        let mut mail = self.mail();
        if mail.is_stopped {
            return None;
        }
        let number = mail.free.pop().unwrap_or_else(|| {
            mail.next_number += 1;
            mail.next_number - 1
        });
        let arrived = arrived(number);
        arrived.tally.begin();
        mail.arrived.push(arrived);
        drop(mail);
        self.has_mail.store(true, Ordering::SeqCst);
        self.wake();
        Some(number)
    }

    pub(super) fn hold(&self, number: u32, reply: HeldReply) {
        let mut mail = self.mail();
        if mail.is_stopped {
            drop(mail);
            // It leaves now.
            drop(reply);
            return;
        }
        mail.held.push((number, reply));
        drop(mail);
        self.has_mail.store(true, Ordering::SeqCst);
        // Otherwise the thread finds it when the reply's moment wakes it.
        if self.overdue.load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    pub(super) fn order(&self, order: Order) {
        let mut mail = self.mail();
        if mail.is_stopped {
            // Dropped, so that whoever asked stops waiting.
            return;
        }
        mail.orders.push(order);
        drop(mail);
        self.has_mail.store(true, Ordering::SeqCst);
        self.wake();
    }

    pub(super) fn stop(&self) {
        self.mail().is_stopped = true;
        self.has_mail.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Takes what there is, in exchange for an emptied mail.
    pub(super) fn take(&self, empty: &mut Mail, free: &mut Vec<u32>) -> bool {
        if !self.has_mail.swap(false, Ordering::SeqCst) && free.is_empty() {
            return false;
        }
        let mut mail = self.mail();
        std::mem::swap(&mut mail.arrived, &mut empty.arrived);
        std::mem::swap(&mut mail.held, &mut empty.held);
        std::mem::swap(&mut mail.orders, &mut empty.orders);
        mail.free.append(free);
        mail.is_stopped
    }

    pub(super) fn has_mail(&self) -> bool {
        self.has_mail.load(Ordering::SeqCst)
    }

    /// The thread is about to park; `false` where there is something to do instead.
    pub(super) fn fall_asleep(&self) -> bool {
        self.is_asleep.store(true, Ordering::SeqCst);
        !self.has_mail() || !self.is_asleep.swap(false, Ordering::SeqCst)
    }

    /// The thread is awake; `true` where nobody woke it.
    pub(super) fn wake_up(&self) -> bool {
        self.is_asleep.swap(false, Ordering::SeqCst)
    }

    fn wake(&self) {
        if self.is_asleep.swap(false, Ordering::SeqCst)
            && let Some(thread) = self.thread.get()
        {
            thread.unpark();
        }
    }

    fn mail(&self) -> MutexGuard<'_, Mail> {
        self.mail.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

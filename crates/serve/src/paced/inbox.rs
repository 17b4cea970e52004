//! Inbox of the thread that owns the twin.

use super::{Paced, RequestTarget, Tally};
use nbd::{Access, HeldReply};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::Thread;
use std::time::Instant;

/// A question for the thread.
pub(super) type ModelQuery = Box<dyn FnOnce(&mut Paced<'_>) + Send>;

/// A request that has arrived.
pub(super) struct ArrivedRequest {
    pub number: u32,
    pub at: Instant,
    pub access: Access,
    pub place: RequestTarget,
    pub length_bytes: u32,
    pub connection: u64,
    pub tally: Arc<Tally>,
}

/// What lies in the inbox.
#[derive(Default)]
pub(super) struct Messages {
    pub arrived: Vec<ArrivedRequest>,
    pub held: Vec<(u32, HeldReply)>,
    pub queries: Vec<ModelQuery>,
    /// Numbers that are free again.
    pub free: Vec<u32>,
    next_number: u32,
    pub is_stopped: bool,
}

#[derive(Default)]
pub(super) struct Inbox {
    messages: Mutex<Messages>,
    has_messages: AtomicBool,
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

    pub(super) fn arrive(&self, arrived: impl FnOnce(u32) -> ArrivedRequest) -> Option<u32> {
        let mut messages = self.messages();
        if messages.is_stopped {
            return None;
        }
        let number = messages.free.pop().unwrap_or_else(|| {
            messages.next_number += 1;
            messages.next_number - 1
        });
        let arrived = arrived(number);
        arrived.tally.begin();
        messages.arrived.push(arrived);
        drop(messages);
        self.has_messages.store(true, Ordering::SeqCst);
        self.wake();
        Some(number)
    }

    pub(super) fn hold(&self, number: u32, reply: HeldReply) {
        let mut messages = self.messages();
        if messages.is_stopped {
            drop(messages);
            // It leaves now.
            drop(reply);
            return;
        }
        messages.held.push((number, reply));
        drop(messages);
        self.has_messages.store(true, Ordering::SeqCst);
        // Otherwise the thread finds it when the reply's moment wakes it.
        if self.overdue.load(Ordering::SeqCst) > 0 {
            self.wake();
        }
    }

    pub(super) fn query(&self, query: ModelQuery) {
        let mut messages = self.messages();
        if messages.is_stopped {
            // Dropped, so that whoever asked stops waiting.
            return;
        }
        messages.queries.push(query);
        drop(messages);
        self.has_messages.store(true, Ordering::SeqCst);
        self.wake();
    }

    pub(super) fn stop(&self) {
        self.messages().is_stopped = true;
        self.has_messages.store(true, Ordering::SeqCst);
        self.wake();
    }

    /// Takes what there is, in exchange for an emptied mail.
    pub(super) fn take(&self, empty: &mut Messages, free: &mut Vec<u32>) -> bool {
        if !self.has_messages.swap(false, Ordering::SeqCst) && free.is_empty() {
            return false;
        }
        let mut messages = self.messages();
        std::mem::swap(&mut messages.arrived, &mut empty.arrived);
        std::mem::swap(&mut messages.held, &mut empty.held);
        std::mem::swap(&mut messages.queries, &mut empty.queries);
        messages.free.append(free);
        messages.is_stopped
    }

    pub(super) fn has_messages(&self) -> bool {
        self.has_messages.load(Ordering::SeqCst)
    }

    /// The thread is about to park; `false` where there is something to do instead.
    pub(super) fn fall_asleep(&self) -> bool {
        self.is_asleep.store(true, Ordering::SeqCst);
        !self.has_messages() || !self.is_asleep.swap(false, Ordering::SeqCst)
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

    fn messages(&self) -> MutexGuard<'_, Messages> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

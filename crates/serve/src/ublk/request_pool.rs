//! Request pool: threads that execute block device requests on an export and complete them at the export's
//! time.

use super::request::{Request, failure};
use nbd::{Arrival, Errno, Export, ExportError, HeldReply};
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::Instant;

/// Threads of a device. They wait for drives most of the time.
const WORKERS: usize = 16;
const STACK_BYTES: usize = 512 << 10;

/// Takes the bytes of a request and what the kernel is to be told: bytes moved, or an error below zero.
pub(super) type Answer = Box<dyn FnOnce(Vec<u8>, i32) + Send>;

struct Task {
    request: Request,
    payload: Vec<u8>,
    /// By which the export holds the reply back.
    held_as: Option<u32>,
    answer: Answer,
}

#[derive(Default)]
struct Queue {
    tasks: VecDeque<Task>,
    is_stopping: bool,
}

struct Shared {
    export: Arc<dyn Export>,
    queue: Mutex<Queue>,
    wake: Condvar,
}

/// Pool of threads for block device requests.
pub(super) struct RequestPool {
    shared: Arc<Shared>,
    workers: Vec<JoinHandle<()>>,
}

impl RequestPool {
    pub fn open(export: Arc<dyn Export>) -> io::Result<RequestPool> {
        let shared = Arc::new(Shared { export, queue: Mutex::default(), wake: Condvar::new() });
        // Made first, so that those that started end with it where another does not.
        let mut request_pool = RequestPool { shared, workers: Vec::with_capacity(WORKERS) };
        for _ in 0..WORKERS {
            let shared = request_pool.shared.clone();
            let worker = Builder::new().name("ublk-worker".into()).stack_size(STACK_BYTES);
            request_pool.workers.push(worker.spawn(move || shared.work())?);
        }
        Ok(request_pool)
    }

    /// Takes a request in, with its bytes or room for them. `connection` tells the device's queues apart.
    pub fn take(&self, request: Request, payload: Vec<u8>, connection: u64, answer: Answer) {
        let export = &*self.shared.export;
        if let Err(error) = request.check(export) {
            return answer(payload, failure(&error));
        }
        let held_as = request.access().and_then(|access| {
            export.arrive(&Arrival {
                at: Instant::now(),
                access,
                offset_bytes: request.offset_bytes,
                // The payload of a request is an `i32` of bytes at most.
                length_bytes: request.length_bytes as u32,
                connection,
            })
        });
        self.shared.queue().tasks.push_back(Task { request, payload, held_as, answer });
        self.shared.wake.notify_one();
    }
}

impl Drop for RequestPool {
    /// Carries out what was taken in before.
    fn drop(&mut self) {
        self.shared.queue().is_stopping = true;
        self.shared.wake.notify_all();
        for worker in self.workers.drain(..) {
            // It has nothing to say.
            let _ = worker.join();
        }
    }
}

impl Shared {
    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn work(&self) {
        while let Some(task) = self.next() {
            self.carry_out(task);
        }
    }

    fn next(&self) -> Option<Task> {
        let mut queue = self.queue();
        loop {
            if let Some(task) = queue.tasks.pop_front() {
                return Some(task);
            }
            if queue.is_stopping {
                return None;
            }
            queue = self.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn carry_out(&self, task: Task) {
        let Task { request, mut payload, held_as, answer } = task;
        // A panic of the export is an error of that request, not the end of the device.
        let outcome = catch_unwind(AssertUnwindSafe(|| request.carry_out(&*self.export, &mut payload)));
        let result = outcome.unwrap_or_else(|_| {
            failure(&ExportError::new(Errno::Io, "the server failed within this request"))
        });
        match held_as {
            None => answer(payload, result),
            Some(number) => {
                self.export.hold(number, HeldReply::calling(move || answer(payload, result)));
            }
        }
    }
}

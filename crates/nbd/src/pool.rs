//! Threads that carry out the requests that may take long, for all connections, each connection in its turn.

use crate::connection::Connection;
use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Threads of a server. They wait for drives most of the time.
const WORKERS: usize = 32;
const STACK_BYTES: usize = 512 << 10;

#[derive(Default)]
struct Queue {
    connections: VecDeque<Arc<Connection>>,
    is_stopping: bool,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    wake: Condvar,
}

pub(crate) struct Pool {
    shared: Arc<Shared>,
    workers: Mutex<Vec<JoinHandle<()>>>,
}

impl Pool {
    pub(crate) fn start() -> io::Result<Self> {
        let shared = Arc::new(Shared::default());
        let mut workers = Vec::with_capacity(WORKERS);
        for _ in 0..WORKERS {
            let shared = shared.clone();
            let worker = Builder::new().name("nbd-worker".into()).stack_size(STACK_BYTES);
            workers.push(worker.spawn(move || work(&shared))?);
        }
        Ok(Pool { shared, workers: Mutex::new(workers) })
    }

    /// A connection has a task and may use one more worker.
    pub(crate) fn push(&self, connection: Arc<Connection>) {
        let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.connections.push_back(connection);
        drop(queue);
        self.shared.wake.notify_one();
    }

    /// Ends the workers once nothing waits for them.
    pub(crate) fn stop(&self) {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).is_stopping = true;
        self.shared.wake.notify_all();
        for worker in self.workers.lock().unwrap_or_else(PoisonError::into_inner).drain(..) {
            // A worker catches the panics of an export.
            let _ = worker.join();
        }
    }
}

fn work(shared: &Shared) {
    let mut queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
    loop {
        if let Some(connection) = queue.connections.pop_front() {
            drop(queue);
            let goes_on = connection.work_once();
            queue = shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
            if goes_on {
                queue.connections.push_back(connection);
            }
        } else if queue.is_stopping {
            return;
        } else {
            queue = shared.wake.wait(queue).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

//! Connection after its handshake, shared by its reader and the workers.

use crate::budget::{Budget, Claim, SharedBudget};
use crate::decode::{Command, Request};
use crate::execute::{execute, refuse};
use crate::export::{Access, Arrival, Errno, ExportError};
use crate::held_reply::{HeldReply, ReplySink};
use crate::negotiate::Negotiated;
use crate::outbox::{Outbox, Reply, Sender};
use crate::socket::Socket;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Workers that one connection may use at a time, so that others get theirs.
const CONNECTION_WORKERS: u32 = 8;
const SENDER_STACK_BYTES: usize = 128 << 10;

/// A request for a worker.
pub(crate) struct Task {
    pub request: Request,
    pub payload: Vec<u8>,
    pub claim: Claim,
    /// Number by which its reply is held.
    pub held_as: Option<u32>,
}

#[derive(Default)]
struct Tasks {
    queue: VecDeque<Task>,
    workers: u32,
}

pub(crate) struct Connection {
    /// Number of the connection among all of the server.
    pub number: u64,
    pub socket: Arc<Socket>,
    pub negotiated: Negotiated,
    pub budget: Budget,
    pub shared_budget: Arc<SharedBudget>,
    outbox: Outbox,
    tasks: Mutex<Tasks>,
}

impl ReplySink for Connection {
    fn send_held(self: Arc<Self>, reply: Reply) {
        self.send(reply, Sender::Worker);
    }
}

impl Connection {
    pub(crate) fn new(
        number: u64,
        socket: Arc<Socket>,
        negotiated: Negotiated,
        shared_budget: Arc<SharedBudget>,
    ) -> Arc<Self> {
        Arc::new(Connection {
            number,
            socket,
            negotiated,
            budget: Budget::default(),
            shared_budget,
            outbox: Outbox::default(),
            tasks: Mutex::default(),
        })
    }

    /// Leaves a task to the workers; `true` if the connection is to be put into their queue.
    pub(crate) fn add_task(&self, task: Task) -> bool {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        tasks.queue.push_back(task);
        let wants_worker = tasks.workers < CONNECTION_WORKERS;
        tasks.workers += u32::from(wants_worker);
        wants_worker
    }

    /// Carries out one task; `true` if there are more for this worker.
    pub(crate) fn work_once(self: &Arc<Self>) -> bool {
        let task = {
            let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
            match tasks.queue.pop_front() {
                Some(task) => task,
                None => {
                    tasks.workers -= 1;
                    return false;
                }
            }
        };
        let mut bytes = Vec::new();
        self.carry_out(&task.request, &task.payload, &mut bytes);
        drop(task.payload);
        let reply = Reply { bytes, claim: task.claim };
        match task.held_as {
            None => self.send(reply, Sender::Worker),
            Some(number) => self.hold(number, reply),
        }
        true
    }

    /// Tells the export of a request that has arrived; the number by which its reply is held, if it is.
    pub(crate) fn arrive(&self, request: &Request, at: Instant) -> Option<u32> {
        let access = match request.command {
            Command::Read | Command::Cache => Access::Read,
            Command::Write => Access::Write,
            // They move no data, and leave when they are done.
            _ => return None,
        };
        self.negotiated.export.arrive(&Arrival {
            at,
            access,
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            connection: self.number,
        })
    }

    /// Leaves a reply to the export, which lets go of it in its own time.
    pub(crate) fn hold(self: &Arc<Self>, number: u32, reply: Reply) {
        self.negotiated.export.hold(number, HeldReply::new(self.clone(), reply));
    }

    /// Carries out a request, unless the client was cut off. A panic of the export is an error of that request, not the
    /// end of the server.
    pub(crate) fn carry_out(&self, request: &Request, payload: &[u8], reply: &mut Vec<u8>) {
        let Some(_passed) = self.socket.pass() else {
            let error = ExportError::new(Errno::Shutdown, "the connection has been cut off");
            return refuse(request, &self.negotiated, &error, reply);
        };
        let start = reply.len();
        let outcome = catch_unwind(AssertUnwindSafe(|| execute(request, payload, &self.negotiated, reply)));
        if outcome.is_err() {
            reply.truncate(start);
            let error = ExportError::new(Errno::Io, "the server failed within this request");
            refuse(request, &self.negotiated, &error, reply);
        }
    }

    pub(crate) fn send(self: &Arc<Self>, reply: Reply, sender: Sender) {
        let release = |claim| self.budget.release(&self.shared_budget, claim);
        if self.outbox.put(&self.socket, reply, sender, &release) {
            let connection = self.clone();
            let thread = std::thread::Builder::new().name("nbd-sender".into()).stack_size(SENDER_STACK_BYTES);
            let started = thread.spawn(move || {
                let release = |claim| connection.budget.release(&connection.shared_budget, claim);
                connection.outbox.send_when_handed_over(&connection.socket, &release);
            });
            if started.is_err() {
                // No thread, no memory: this client has to come again.
                self.close();
            }
        }
    }

    /// Waits for what is under way and sends its replies.
    pub(crate) fn drain(&self) {
        self.budget.drain();
    }

    /// Ends the connection; replies that wait are thrown away.
    pub(crate) fn close(&self) {
        self.socket.shut_down();
        self.budget.close();
        self.outbox.close(&|claim| self.budget.release(&self.shared_budget, claim));
    }
}

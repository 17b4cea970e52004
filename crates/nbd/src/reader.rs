//! The thread that reads a connection's requests. Small reads and writes it carries out itself, while what it
//! serves is quick, and sends the replies of everything it received at once together: at depth 64 that is a
//! receive and a send for dozens of requests. The rest goes to the workers, so that nobody waits for a flush.

use crate::budget::Claim;
use crate::connection::{Connection, Task};
use crate::decode::{Command, REQUEST_BYTES, Request};
use crate::execute::{check, refuse};
use crate::export::{Errno, ExportError};
use crate::outbox::{Reply, Sender};
use crate::pool::Pool;
use crate::protocol::command_flag;
use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Largest number of bytes received at once.
const INPUT_BYTES: usize = 256 << 10;
/// Larger reads and writes are the workers'.
const INLINE_BYTES_LIMIT: u32 = 64 << 10;
/// Replies are sent when they are this much, even if there are more requests.
const BATCH_BYTES: usize = 256 << 10;
/// A request that has begun must arrive within this time without a pause as long.
const STALL_LIMIT: Duration = Duration::from_secs(30);
/// While requests take longer on average, they are left to the workers.
const INLINE_LIMIT_NS: u64 = 100_000;
/// One slow request counts no more than this.
const SAMPLE_LIMIT_NS: u64 = 1_000_000;
/// Of the requests left to workers every so many is tried, to see whether they have become quick.
const PROBE_EVERY: u32 = 32;

/// Reads requests until the client ends or breaks the protocol.
pub(crate) fn read_requests(connection: &Arc<Connection>, pool: &Pool) {
    let mut reader = Reader {
        connection,
        pool,
        input: vec![0; INPUT_BYTES],
        start: 0,
        end: 0,
        batch: Vec::new(),
        pace: Pace::default(),
        received_at: Instant::now(),
    };
    // How it ended is the client's business; what it had sent whole is carried out.
    let _ = reader.run();
    reader.send_batch();
    connection.drain();
    connection.close();
}

/// Mean time of requests, by which the reader decides whether to carry them out itself.
#[derive(Default)]
struct Pace {
    average_ns: u64,
    since_probe: u32,
}

impl Pace {
    fn is_quick(&mut self) -> bool {
        if self.average_ns < INLINE_LIMIT_NS {
            return true;
        }
        self.since_probe += 1;
        self.since_probe.is_multiple_of(PROBE_EVERY)
    }

    fn add(&mut self, took: Duration) {
        let sample_ns = (took.as_nanos() as u64).min(SAMPLE_LIMIT_NS);
        self.average_ns = (self.average_ns * 7 + sample_ns) / 8;
    }
}

struct Reader<'a> {
    connection: &'a Arc<Connection>,
    pool: &'a Pool,
    input: Vec<u8>,
    start: usize,
    end: usize,
    batch: Vec<u8>,
    pace: Pace,
    /// Time at which the last bytes were received.
    received_at: Instant,
}

impl Reader<'_> {
    fn run(&mut self) -> io::Result<()> {
        loop {
            let Some(header) = self.input[self.start..self.end].first_chunk::<REQUEST_BYTES>() else {
                self.send_batch();
                if !self.receive(self.start < self.end)? {
                    return Ok(());
                }
                continue;
            };
            // After bytes that are no request nobody knows where the next one begins.
            let request = Request::decode(header).map_err(|error| io::Error::other(error.0))?;
            self.start += REQUEST_BYTES;
            match (request.command, check(&request, &self.connection.negotiated)) {
                (Command::Disconnect, _) => return Ok(()),
                (Command::Write, Err(error)) => {
                    self.refuse(&request, &error);
                    self.discard(u64::from(request.length_bytes))?;
                }
                (_, Err(error)) => self.refuse(&request, &error),
                (Command::Write, Ok(())) => self.write(&request)?,
                (_, Ok(())) => self.other(&request),
            }
            if self.batch.len() >= BATCH_BYTES {
                self.send_batch();
            }
        }
    }

    fn write(&mut self, request: &Request) -> io::Result<()> {
        let length = request.length_bytes as usize;
        if request.length_bytes <= INLINE_BYTES_LIMIT {
            while self.end - self.start < length {
                self.send_batch();
                if !self.receive(true)? {
                    return Err(io::ErrorKind::UnexpectedEof.into());
                }
            }
            if self.may_inline(request) {
                let (from, to) = (self.start, self.start + length);
                self.start = to;
                let held_as = self.connection.arrive(request, self.received_at);
                self.carry_out(request, held_as, from..to);
                return Ok(());
            }
        }
        self.send_batch();
        let Some(claim) = self.connection.budget.claim(&self.connection.shared_budget, length as u64) else {
            self.refuse(request, &ExportError::new(Errno::NoMemory, "too many large requests are under way"));
            return self.discard(length as u64);
        };
        match self.receive_payload(length) {
            Ok(payload) => {
                let held_as = self.connection.arrive(request, self.received_at);
                self.dispatch(Task { request: *request, payload, claim, held_as });
                Ok(())
            }
            Err(error) => {
                self.connection.budget.release(&self.connection.shared_budget, claim);
                Err(error)
            }
        }
    }

    fn other(&mut self, request: &Request) {
        let held_as = self.connection.arrive(request, self.received_at);
        if self.may_inline(request) {
            self.carry_out(request, held_as, 0..0);
            return;
        }
        self.send_batch();
        match self.claim_reply(request) {
            Some(claim) => self.dispatch(Task { request: *request, payload: Vec::new(), claim, held_as }),
            None => self.refuse_for_memory(request, held_as),
        }
    }

    /// Carries out a small request with its payload in the input.
    fn carry_out(&mut self, request: &Request, held_as: Option<u32>, payload: Range<usize>) {
        let Some(number) = held_as else {
            let began = Instant::now();
            self.connection.carry_out(request, &self.input[payload], &mut self.batch);
            self.pace.add(began.elapsed());
            return;
        };
        // Others that have arrived are not to wait for the place of this one.
        self.send_batch();
        let Some(claim) = self.claim_reply(request) else {
            return self.refuse_for_memory(request, held_as);
        };
        let began = Instant::now();
        let mut bytes = Vec::new();
        self.connection.carry_out(request, &self.input[payload], &mut bytes);
        self.pace.add(began.elapsed());
        self.connection.hold(number, Reply { bytes, claim });
    }

    fn claim_reply(&self, request: &Request) -> Option<Claim> {
        let reply_bytes = if request.command == Command::Read { u64::from(request.length_bytes) } else { 0 };
        self.connection.budget.claim(&self.connection.shared_budget, reply_bytes)
    }

    fn refuse_for_memory(&mut self, request: &Request, held_as: Option<u32>) {
        let error = ExportError::new(Errno::NoMemory, "too many large requests are under way");
        let Some(number) = held_as else { return self.refuse(request, &error) };
        let mut bytes = Vec::new();
        refuse(request, &self.connection.negotiated, &error, &mut bytes);
        self.connection.hold(number, Reply { bytes, claim: Claim::default() });
    }

    fn may_inline(&mut self, request: &Request) -> bool {
        matches!(request.command, Command::Read | Command::Write)
            && request.length_bytes <= INLINE_BYTES_LIMIT
            && request.flags & command_flag::FUA == 0
            && self.pace.is_quick()
    }

    fn dispatch(&self, task: Task) {
        if self.connection.add_task(task) {
            self.pool.push(self.connection.clone());
        }
    }

    fn refuse(&mut self, request: &Request, error: &ExportError) {
        refuse(request, &self.connection.negotiated, error, &mut self.batch);
    }

    fn send_batch(&mut self) {
        if !self.batch.is_empty() {
            let bytes = std::mem::take(&mut self.batch);
            self.connection.send(Reply { bytes, claim: Claim::default() }, Sender::Reader);
        }
    }

    /// Receives more behind what is there; `false` at the end of the stream.
    fn receive(&mut self, is_within_request: bool) -> io::Result<bool> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.input.len() {
            self.input.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let count = receive_patiently(self.connection, &mut self.input[self.end..], is_within_request)?;
        self.end += count;
        self.received_at = Instant::now();
        Ok(count > 0)
    }

    fn receive_payload(&mut self, length: usize) -> io::Result<Vec<u8>> {
        let mut payload = vec![0; length];
        let here = length.min(self.end - self.start);
        payload[..here].copy_from_slice(&self.input[self.start..self.start + here]);
        self.start += here;
        let mut done = here;
        while done < length {
            match receive_patiently(self.connection, &mut payload[done..], true)? {
                0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                count => done += count,
            }
        }
        self.received_at = Instant::now();
        Ok(payload)
    }

    /// Throws away the payload of a write that was refused.
    fn discard(&mut self, length: u64) -> io::Result<()> {
        self.send_batch();
        let mut left = length;
        loop {
            let here = left.min((self.end - self.start) as u64);
            self.start += here as usize;
            left -= here;
            if left == 0 {
                return Ok(());
            }
            if !self.receive(true)? {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
        }
    }
}

/// Receives something. Between requests a client may be silent as long as it likes.
fn receive_patiently(
    connection: &Connection,
    buffer: &mut [u8],
    is_within_request: bool,
) -> io::Result<usize> {
    loop {
        match connection.socket.receive(buffer) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock && !is_within_request => {}
            outcome => return outcome,
        }
    }
}

/// The limits of a connection's socket after the handshake.
pub(crate) fn set_limits(connection: &Connection) -> io::Result<()> {
    connection.socket.set_timeouts(STALL_LIMIT, STALL_LIMIT)
}

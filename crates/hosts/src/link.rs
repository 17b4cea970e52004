//! Link to one agent: a process, its messages, its signs of life, and its clock.
//!
//! A link has three threads: one writes, one reads, one pings. An agent that says nothing for [`SILENCE_LIMIT`] is lost,
//! whatever the state of its connection: TCP itself takes minutes to notice that a cable was pulled.

use crate::clock::{ClockEstimate, ClockOffset};
use crate::frame::{read_frame, write_frame};
use crate::protocol::{Hello, PROTOCOL, Reply, Request, decode_reply};
use crate::ssh::{AgentCommand, last_line};
use crate::{HostError, HostSpec};
use diagnostic::text_with_causes;
use std::collections::VecDeque;
use std::io::Read;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Time between two pings.
pub const PING_INTERVAL: Duration = Duration::from_millis(200);
/// Time without a message after which the other side is lost: agent and coordinator have the same limit, so that the load
/// stops everywhere within 2 s.
pub const SILENCE_LIMIT: Duration = Duration::from_millis(1_400);
/// Timeout of an agent's first message: `ssh` connects, asks keys and starts a program.
const HELLO_LIMIT: Duration = Duration::from_secs(20);
/// Limit on the kept output of `ssh`'s standard error, in bytes.
const STDERR_LIMIT_BYTES: usize = 4 << 10;
/// Round trips of a measurement of the clock, and the time between them.
const SYNC_TRIPS: u64 = 40;
/// So often at most: a network whose round trips are all longer than twice [`SYNC_ERROR_NS`] is as good as it gets.
const SYNC_ROUNDS: u32 = 4;
/// A clock that is known to within this is known well enough.
const SYNC_ERROR_NS: u64 = 250_000;
const SYNC_PAUSE: Duration = Duration::from_millis(2);
/// Timeout of a measurement of the clock.
const SYNC_LIMIT: Duration = Duration::from_secs(2);
/// Pings whose answers are waited for.
const PENDING_LIMIT: usize = 1_024;

/// News of a link.
#[derive(Debug)]
pub enum LinkEvent {
    /// A message.
    Reply(Reply),
    /// The agent is lost, and why. Nothing comes after it.
    Lost(String),
}

enum Outgoing {
    Body(Vec<u8>),
    /// A ping is stamped just before it is written.
    Ping,
    /// The agent's input is closed.
    Close,
}

#[derive(Debug)]
struct Shared {
    begun: Instant,
    clock: Mutex<ClockOffset>,
    pending: Mutex<VecDeque<(u64, u64)>>,
    received_ns: AtomicU64,
    is_over: AtomicBool,
    now_ns: fn() -> u64,
}

impl Shared {
    fn note_received(&self) {
        self.received_ns.store(self.begun.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }

    fn silence(&self) -> Duration {
        let received = Duration::from_nanos(self.received_ns.load(Ordering::Relaxed));
        self.begun.elapsed().saturating_sub(received)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Link to one agent.
#[derive(Debug)]
pub struct Link {
    host: String,
    child: Child,
    hello: Hello,
    tx: Sender<OutgoingBox>,
    shared: Arc<Shared>,
    threads: Vec<JoinHandle<()>>,
}

/// Hides the kind of outgoing messages from `Debug`.
struct OutgoingBox(Outgoing);

impl std::fmt::Debug for OutgoingBox {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("message")
    }
}

impl Link {
    /// Starts an agent on a host and waits for its first word. News go to `on_event`, on the link's own threads; `now_ns` is
    /// the clock of moments.
    pub fn open(
        host: &HostSpec,
        agent: &AgentCommand,
        version: &str,
        now_ns: fn() -> u64,
        on_event: impl Fn(LinkEvent) + Send + 'static,
    ) -> Result<Link, HostError> {
        Link::open_command(host, agent.command(host)?, version, now_ns, on_event)
    }

    fn open_command(
        host: &HostSpec,
        mut command: Command,
        version: &str,
        now_ns: fn() -> u64,
        on_event: impl Fn(LinkEvent) + Send + 'static,
    ) -> Result<Link, HostError> {
        use std::os::unix::process::CommandExt as _;
        // A group of its own: Ctrl-C is for the coordinator, which ends agents in order.
        let started = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn();
        let failed = |problem: String, hint: &str| HostError::failed(&host.name, problem, hint);
        let mut child = started.map_err(|error| {
            let program = command.get_program().to_string_lossy().into_owned();
            failed(format!("{program} cannot be started: {error}"), "install OpenSSH's client")
        })?;
        let (Some(mut stdin), Some(mut stdout), Some(stderr)) =
            (child.stdin.take(), child.stdout.take(), child.stderr.take())
        else {
            return Err(failed("it has no pipes".into(), ""));
        };
        let printed = Arc::new(Mutex::new(Vec::new()));
        let stderr_thread = std::thread::spawn({
            let printed = Arc::clone(&printed);
            move || keep_end(stderr, &printed)
        });
        // The first word is read apart, so that a program which says nothing is given up.
        let (first_tx, first_rx) = channel();
        let first = std::thread::spawn(move || {
            let frame = read_frame(&mut stdout);
            let _ = first_tx.send(frame);
            stdout
        });
        let hello = match first_rx.recv_timeout(HELLO_LIMIT) {
            Ok(Ok(Some(body))) => serde_json::from_slice::<Hello>(&body)
                .map_err(|error| failed(format!("it is no agent: {error}"), "is it the same program there?")),
            Ok(Ok(None) | Err(_)) => {
                let _ = child.kill();
                let status = child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
                // What it printed last may still be on its way.
                std::thread::sleep(Duration::from_millis(20));
                Err(failed(
                    format!("no agent started ({status}): {}", last_line(&lock(&printed))),
                    "check `ssh HOST arraylab --version`; --push-binary copies this program there",
                ))
            }
            Err(_) => Err(failed(
                format!("no agent answered within {} s", HELLO_LIMIT.as_secs()),
                "check `ssh -o BatchMode=yes HOST arraylab agent`",
            )),
        };
        let hello = hello.and_then(|hello| match hello.protocol == PROTOCOL && hello.version == version {
            true => Ok(hello),
            false => Err(failed(
                format!(
                    "its arraylab is {} (protocol {}), and this one is {version} (protocol {PROTOCOL})",
                    hello.version, hello.protocol
                ),
                "--push-binary copies this program there",
            )),
        });
        let (hello, mut stdout) = match (hello, first) {
            (Ok(hello), first) => match first.join() {
                Ok(stdout) => (hello, stdout),
                Err(_) => return Err(failed("the thread that reads it panicked".into(), "")),
            },
            (Err(error), _) => {
                let _ = child.kill();
                let _ = child.wait();
                return Err(error);
            }
        };
        let shared = Arc::new(Shared {
            begun: Instant::now(),
            clock: Mutex::default(),
            pending: Mutex::default(),
            received_ns: AtomicU64::new(0),
            is_over: AtomicBool::new(false),
            now_ns,
        });
        let (tx, rx) = channel::<OutgoingBox>();
        let writer = std::thread::spawn({
            let shared = Arc::clone(&shared);
            // Its end closes the pipe.
            move || write_all(&mut stdin, &rx, &shared)
        });
        let on_event = Arc::new(Mutex::new(Some(on_event)));
        let reader = std::thread::spawn({
            let (shared, on_event, printed) =
                (Arc::clone(&shared), Arc::clone(&on_event), Arc::clone(&printed));
            move || {
                let why = read_all(&mut stdout, &shared, &on_event);
                if !shared.is_over.swap(true, Ordering::Relaxed) {
                    // `ssh` says why it ends a moment later.
                    std::thread::sleep(Duration::from_millis(20));
                    let why = why.unwrap_or_else(|| match lock(&printed).as_slice() {
                        [] => "its agent has ended".to_owned(),
                        end => format!("its agent has ended: {}", last_line(end)),
                    });
                    report_lost(&on_event, why);
                }
            }
        });
        let pinger = std::thread::spawn({
            let (shared, tx) = (Arc::clone(&shared), tx.clone());
            move || {
                while !shared.is_over.load(Ordering::Relaxed) {
                    let silence = shared.silence();
                    if silence > SILENCE_LIMIT {
                        if !shared.is_over.swap(true, Ordering::Relaxed) {
                            let why = format!("it has sent nothing for {:.1} s", silence.as_secs_f64());
                            report_lost(&on_event, why);
                        }
                        return;
                    }
                    let _ = tx.send(OutgoingBox(Outgoing::Ping));
                    std::thread::sleep(PING_INTERVAL);
                }
            }
        });
        let threads = vec![writer, reader, pinger, stderr_thread];
        Ok(Link { host: host.name.clone(), child, hello, tx, shared, threads })
    }

    /// The host's name.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// Returns the agent's introduction of itself.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Sends a message; one to an agent that is lost goes nowhere.
    pub fn send(&self, request: &Request) {
        if let Ok(body) = serde_json::to_vec(request) {
            let _ = self.tx.send(OutgoingBox(Outgoing::Body(body)));
        }
    }

    /// Measures the clock over many round trips, and again where a busy host delayed all of them.
    pub fn sync_clock(&self) -> Option<ClockEstimate> {
        let begun = Instant::now();
        for _ in 0..SYNC_ROUNDS {
            let added = || lock(&self.shared.clock).added();
            let wanted = added() + SYNC_TRIPS;
            for _ in 0..SYNC_TRIPS {
                let _ = self.tx.send(OutgoingBox(Outgoing::Ping));
                std::thread::sleep(SYNC_PAUSE);
            }
            while added() < wanted
                && begun.elapsed() < SYNC_LIMIT
                && !self.shared.is_over.load(Ordering::Relaxed)
            {
                std::thread::sleep(SYNC_PAUSE);
            }
            if self.clock().is_some_and(|clock| clock.error_ns <= SYNC_ERROR_NS)
                || begun.elapsed() > SYNC_LIMIT
            {
                break;
            }
        }
        self.clock()
    }

    /// The clock by the round trips of late.
    pub fn clock(&self) -> Option<ClockEstimate> {
        lock(&self.shared.clock).estimate((self.shared.now_ns)())
    }

    /// Closes the agent's input, so that it puts everything back and ends; waits up to `limit`, then kills it. Returns
    /// true if it ended by itself.
    pub fn close(mut self, limit: Duration) -> bool {
        self.shared.is_over.store(true, Ordering::Relaxed);
        let _ = self.tx.send(OutgoingBox(Outgoing::Close));
        let begun = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(_)) => break,
                Ok(None) if begun.elapsed() < limit => std::thread::sleep(Duration::from_millis(5)),
                _ => {
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    return false;
                }
            }
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
        true
    }
}

impl Drop for Link {
    /// A link that is dropped without being closed leaves no process behind.
    fn drop(&mut self) {
        self.shared.is_over.store(true, Ordering::Relaxed);
        if !matches!(self.child.try_wait(), Ok(Some(_))) {
            let _ = self.child.kill();
            let _ = self.child.wait();
        }
    }
}

fn report_lost(on_event: &Mutex<Option<impl Fn(LinkEvent)>>, why: String) {
    if let Some(on_event) = lock(on_event).take() {
        on_event(LinkEvent::Lost(why));
    }
}

/// Writes until the last sender has gone or the pipe is closed; closing it tells the agent to end.
fn write_all(stdin: &mut impl std::io::Write, rx: &Receiver<OutgoingBox>, shared: &Shared) {
    let mut next_id = 0u64;
    while let Ok(OutgoingBox(outgoing)) = rx.recv() {
        let written = match outgoing {
            Outgoing::Close => return,
            Outgoing::Body(body) => write_frame(stdin, &body),
            Outgoing::Ping => {
                next_id += 1;
                let Ok(body) = serde_json::to_vec(&Request::Ping { id: next_id }) else { continue };
                {
                    let mut pending = lock(&shared.pending);
                    if pending.len() == PENDING_LIMIT {
                        pending.pop_front();
                    }
                    pending.push_back((next_id, (shared.now_ns)()));
                }
                write_frame(stdin, &body)
            }
        };
        if written.is_err() {
            return;
        }
    }
}

/// Reads until the end; why it ended, where that is not the end of the stream.
fn read_all(
    stdout: &mut impl Read,
    shared: &Shared,
    on_event: &Mutex<Option<impl Fn(LinkEvent)>>,
) -> Option<String> {
    loop {
        let body = match read_frame(stdout) {
            Ok(Some(body)) => body,
            Ok(None) => return None,
            Err(error) => return Some(error.to_string()),
        };
        // Stamped before it is looked into: a large message takes time.
        let now_ns = (shared.now_ns)();
        shared.note_received();
        match decode_reply(&body) {
            Ok(Reply::Pong { id, at_ns }) => {
                let mut pending = lock(&shared.pending);
                while let Some((known, sent_ns)) = pending.pop_front() {
                    if known == id {
                        lock(&shared.clock).add(sent_ns, at_ns, now_ns);
                        break;
                    }
                }
            }
            Ok(reply) => {
                if let Some(on_event) = &*lock(on_event) {
                    on_event(LinkEvent::Reply(reply));
                }
            }
            Err(problem) => {
                return Some(format!(
                    "its agent says what nobody understands: {}",
                    text_with_causes(&problem)
                ));
            }
        }
    }
}

/// Keeps the end of what is printed.
fn keep_end(mut stderr: impl Read, printed: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(bytes @ 1..) = stderr.read(&mut buffer) {
        let mut printed = lock(printed);
        printed.extend_from_slice(&buffer[..bytes]);
        let excess = printed.len().saturating_sub(STDERR_LIMIT_BYTES);
        printed.drain(..excess);
    }
}

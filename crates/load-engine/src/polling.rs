//! Polling in place of interrupts and system calls, and what to do where the kernel or the device refuses it.

use std::time::{Duration, Instant};

use diagnostic::{Problem, text_with_causes};
use io_uring::types::Fd;
use io_uring::{IoUring, cqueue, opcode, squeue};

use crate::arena::Arena;
use crate::uring::SQPOLL_IDLE_MS;
use crate::{Interface, OpenTarget, RingOptions, RingTargets};

/// The options as they can be carried out here, with a word about each that cannot.
pub(crate) fn possible(
    options: &RingOptions,
    targets: RingTargets,
    interface: Interface,
) -> (RingOptions, Vec<String>) {
    let mut options = options.clone();
    let mut notes = Vec::new();
    if !options.poll && !options.sqpoll {
        return (options, notes);
    }
    let has_ring = interface == Interface::IoUring && !matches!(targets, RingTargets::Null { .. });
    if options.sqpoll
        && let Some(why) = refuses_sqpoll(has_ring)
    {
        options.sqpoll = false;
        notes.push(format!("no thread of the kernel takes submissions ({why}): each batch is a system call"));
    }
    if options.poll
        && let Some(why) = refuses_poll(has_ring, targets)
    {
        options.poll = false;
        notes.push(format!("completions cannot be polled for ({why}): they are waited for"));
    }
    (options, notes)
}

const NO_RING: &str = "there is no ring";

fn refuses_sqpoll(has_ring: bool) -> Option<String> {
    if !has_ring {
        return Some(NO_RING.to_owned());
    }
    IoUring::<squeue::Entry, cqueue::Entry>::builder()
        .setup_sqpoll(SQPOLL_IDLE_MS)
        .build(2)
        .err()
        .map(|error| error.to_string())
}

/// A device says whether it has queues to poll only when it is asked to read.
fn refuses_poll(has_ring: bool, targets: RingTargets) -> Option<String> {
    let RingTargets::Open(targets) = targets else { return Some("there is no device".to_owned()) };
    if !has_ring {
        return Some(NO_RING.to_owned());
    }
    targets.iter().find_map(|target| {
        polled_read(target).err().map(|why| format!("{}: {}", target.name(), text_with_causes(&why)))
    })
}

/// Time that a device may take for its first polled read; a disk that spins up needs seconds.
const POLL_LIMIT: Duration = Duration::from_secs(10);

/// Reads the first block of a target, polled.
fn polled_read(target: &OpenTarget) -> Result<(), Problem> {
    let text_of = |error: std::io::Error| Problem::from(error.to_string());
    let mut ring =
        IoUring::<squeue::Entry, cqueue::Entry>::builder().setup_iopoll().build(2).map_err(text_of)?;
    let length_bytes = target.alignment_bytes().max(512);
    let arena = Arena::new(1, length_bytes as usize).map_err(|error| Problem::of(&error))?;
    let read = opcode::Read::new(Fd(target.raw_fd()), arena.pointer(0), length_bytes).build();
    // SAFETY: the buffer outlives the read, whose answer is waited for below.
    unsafe { ring.submission().push(&read) }.map_err(|error| Problem::from(error.to_string()))?;
    let deadline = Instant::now() + POLL_LIMIT;
    loop {
        // Polling ends early, without an answer, when the processor is wanted for something else (`io_iopoll_check`).
        let waited = ring.submit_and_wait(1);
        if let Some(result) = ring.completion().next().map(|entry| entry.result()) {
            return match result {
                0.. => Ok(()),
                _ => Err(text_of(std::io::Error::from_raw_os_error(-result))),
            };
        }
        let why = match waited {
            Err(error) if error.kind() != std::io::ErrorKind::Interrupted => text_of(error),
            _ if Instant::now() >= deadline => "no answer".into(),
            _ => continue,
        };
        // Without an answer the kernel may still write to the buffer.
        std::mem::forget(arena);
        return Err(why);
    }
}

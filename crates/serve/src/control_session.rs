//! Control socket sessions: JSON lines as in `driver::protocol`, for the owner only.

use crate::controlled::{Controlled, refuse};
use driver::protocol::{ErrorKind, Request, Response, ResponseResult, read_line, to_line};
use rustix::event::{PollFd, PollFlags, poll};
use std::io::{self, BufReader, Write as _};
use std::os::unix::net::{UnixListener, UnixStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

/// The most control connections at a time; more are hung up on.
const CONNECTIONS_LIMIT: usize = 32;
/// A control connection may be silent for so long.
const SILENCE_LIMIT: Duration = Duration::from_secs(600);
/// Time for which the acceptor leaves a system alone that has nothing left for another connection.
const RELIEF: Duration = Duration::from_millis(20);

/// Answers control connections until the other end of `stopped` is closed.
pub(crate) fn accept(listener: &UnixListener, controlled: &Arc<Controlled>, stopped: &UnixStream) {
    let connections = Arc::new(AtomicUsize::new(0));
    // Whoever connected may have left again before it is accepted.
    let _ = listener.set_nonblocking(true);
    while is_called(listener, stopped) {
        let stream = match listener.accept() {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Without descriptors it would be called again at once.
                if error.kind() != io::ErrorKind::WouldBlock {
                    std::thread::sleep(RELIEF);
                }
                continue;
            }
        };
        if connections.load(Ordering::Acquire) >= CONNECTIONS_LIMIT {
            continue;
        }
        connections.fetch_add(1, Ordering::AcqRel);
        let (controlled, counted) = (controlled.clone(), connections.clone());
        let started = std::thread::Builder::new().name("control".into()).spawn(move || {
            // Whoever breaks off has nothing to be told.
            let _ = converse(stream, &controlled);
            counted.fetch_sub(1, Ordering::AcqRel);
        });
        if started.is_err() {
            connections.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Waits until somebody connects; `false` where nobody is to be answered any more.
fn is_called(listener: &UnixListener, stopped: &UnixStream) -> bool {
    loop {
        let mut watched = [PollFd::new(listener, PollFlags::IN), PollFd::new(stopped, PollFlags::IN)];
        match poll(&mut watched, None) {
            Err(rustix::io::Errno::INTR) => {}
            Err(_) => return false,
            Ok(_) => return watched[1].revents().is_empty(),
        }
    }
}

fn converse(stream: UnixStream, controlled: &Controlled) -> io::Result<()> {
    stream.set_nonblocking(false)?;
    stream.set_read_timeout(Some(SILENCE_LIMIT))?;
    stream.set_write_timeout(Some(SILENCE_LIMIT))?;
    let mut reader = BufReader::new(stream);
    while let Some(line) = read_line(&mut reader)? {
        let (id, result) = match Request::parse(&line) {
            Ok(request) => (Some(request.id), controlled.answer(&request.verb)),
            Err(error) => (None, Err(refuse(ErrorKind::BadRequest, error.to_string()))),
        };
        let result = match result {
            Ok(value) => ResponseResult::Ok(value),
            Err(error) => ResponseResult::Error(error),
        };
        let line = to_line(&Response { id, result }).map_err(io::Error::other)?;
        reader.get_mut().write_all(&line)?;
    }
    Ok(())
}

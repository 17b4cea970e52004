//! Panics of a server's threads. A thread that is missing would leave clients waiting for ever, so the first panic of any
//! thread stops the server and makes it end with an error.

use crate::failure::FAILED;
use std::any::Any;
use std::panic;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

/// Time limit of an orderly end after a panic; it may wait for the thread that has gone.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(10);

/// The first panic since [`stop_on_panic`].
#[derive(Clone, Default)]
pub struct FirstPanic(Arc<Mutex<Option<String>>>);

impl FirstPanic {
    /// Returns the message of the first panic, if there was one.
    pub fn message(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Keeps a message; whether it is the first.
    fn keep(&self, message: String) -> bool {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = first.is_none();
        first.get_or_insert(message);
        is_first
    }
}

/// Installs a panic hook that keeps the first panic of any thread and sets `stop`; a process that has not ended
/// [`SHUTDOWN_LIMIT`] later is ended.
pub fn stop_on_panic(stop: Arc<AtomicBool>) -> FirstPanic {
    stop_and(stop, || {
        // Without memory for a thread there is only the orderly end.
        let _ = thread::Builder::new().name("shutdown-limit".into()).spawn(|| {
            thread::sleep(SHUTDOWN_LIMIT);
            eprintln!("error: the server did not end within {} s", SHUTDOWN_LIMIT.as_secs());
            std::process::exit(i32::from(FAILED));
        });
    })
}

fn stop_and(stop: Arc<AtomicBool>, limit_shutdown: impl Fn() + Send + Sync + 'static) -> FirstPanic {
    let first = FirstPanic::default();
    let kept = first.clone();
    let print = panic::take_hook();
    panic::set_hook(Box::new(move |panicked| {
        print(panicked);
        let thread = thread::current();
        let name = thread.name().unwrap_or("without a name");
        let is_first = kept.keep(format!("the thread `{name}` panicked: {}", text_of(panicked.payload())));
        stop.store(true, Ordering::Release);
        if is_first {
            limit_shutdown();
        }
    }));
    first
}

fn text_of(payload: &(dyn Any + Send)) -> &str {
    let formatted = payload.downcast_ref::<String>().map(String::as_str);
    formatted.or_else(|| payload.downcast_ref::<&str>().copied()).unwrap_or("no message")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::AtomicU32;

    /// Proves that the first panic of any thread stops the server and is what its end says, and later ones are not.
    #[test]
    fn the_first_panic_stops_the_server() {
        let stop = Arc::new(AtomicBool::new(false));
        let limits = Arc::new(AtomicU32::new(0));
        let counted = Arc::clone(&limits);
        let first = stop_and(Arc::clone(&stop), move || {
            counted.fetch_add(1, Ordering::AcqRel);
        });
        assert_eq!(first.message(), None);
        for number in 1..=2 {
            let queue = thread::Builder::new().name("queue".into());
            let ended = queue.spawn(move || panic!("ring {number} is not open")).unwrap().join();
            assert!(ended.is_err());
        }
        let _ = panic::take_hook();
        assert!(stop.load(Ordering::Acquire));
        assert_eq!(limits.load(Ordering::Acquire), 1);
        assert_eq!(first.message().unwrap(), "the thread `queue` panicked: ring 1 is not open");
    }
}

//! Snapshot shared by concurrent readers, rendered at most once every 50 ms and never older than the request.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// It is said anew at most so often: what is asked of a served array costs its clients time.
const INTERVAL: Duration = Duration::from_millis(50);

/// Says the same to everyone who asked before it began to be said, and never anything older.
#[derive(Default)]
pub(crate) struct CachedSnapshot(Mutex<Option<(Instant, Arc<str>)>>);

impl CachedSnapshot {
    pub(crate) fn get(&self, render: impl FnOnce() -> String) -> Arc<str> {
        let requested_at = Instant::now();
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((began_at, rendered)) = &*last {
            if *began_at >= requested_at {
                return Arc::clone(rendered);
            }
            // Whoever asks meanwhile waits at the lock, and shares what is said then.
            thread::sleep(INTERVAL.saturating_sub(began_at.elapsed()));
        }
        let began_at = Instant::now();
        let rendered: Arc<str> = render().into();
        *last = Some((began_at, Arc::clone(&rendered)));
        rendered
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// Proves that many who ask at once cost no more than one each interval, and that none hears what was said before
    /// it asked.
    #[test]
    fn many_share_one_answer() {
        let (snapshot, rendered) = (CachedSnapshot::default(), AtomicU64::new(0));
        let began = Instant::now();
        thread::scope(|scope| {
            for _ in 0..16 {
                scope.spawn(|| {
                    for _ in 0..5 {
                        let before = rendered.load(Ordering::SeqCst);
                        let received =
                            snapshot.get(|| (rendered.fetch_add(1, Ordering::SeqCst) + 1).to_string());
                        assert!(received.parse::<u64>().unwrap() > before, "an old answer");
                    }
                });
            }
        });
        let intervals = began.elapsed().as_millis() as u64 / INTERVAL.as_millis() as u64 + 1;
        let rendered = rendered.load(Ordering::SeqCst);
        assert!((5..=intervals).contains(&rendered), "{rendered} in {intervals} intervals");
    }
}

//! Time of rough answers: `ARRAYLAB_LONG=1 cargo test --release -p explore --test latency -- --nocapture` prints it.

use std::time::{Duration, Instant};

/// Questions to each array, each another number of I/Os under way: nine, a tenth of them unless `ARRAYLAB_LONG` is set.
fn questions() -> u32 {
    if test_support::is_long() { 9 } else { 1 }
}

/// No answer may take longer, on any machine that runs the tests.
const LONGEST: Duration = Duration::from_secs(60);

/// Proves that each array that ships is answered about in bounded time, and prints the median and the longest.
#[test]
fn rough_answers_take_bounded_time() {
    for array in plan::shipped_arrays() {
        // As the page asks: the array was there before its load was changed.
        let twins = sizing::TwinCache::default();
        let mut times: Vec<Duration> = (1..=questions())
            .map(|number| {
                let question = format!(r#"{{"array":"{}","load":{{"iodepth":{}}}}}"#, array.name, 4 * number);
                let begun = Instant::now();
                explore::answer(question.as_bytes(), &twins).unwrap();
                begun.elapsed()
            })
            .collect();
        times.sort();
        let longest = times[times.len() - 1];
        println!("{}: median {:.0?}, longest {longest:.0?}", array.name, times[times.len() / 2]);
        assert!(longest < LONGEST, "{}: {longest:?}", array.name);
    }
}

//! Several loads at once, each by a fio of its own.

use fio::{Engine, FioCase, FioError, FioOutcome, Target};
use load::LoadSpec;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Between two looks at whether a load shall begin or the run shall stop.
const POLL: Duration = Duration::from_millis(10);

/// One load for fio.
#[derive(Debug, Clone)]
pub(crate) struct FioLoad {
    /// Its name in results.
    pub name: String,
    /// Where it goes.
    pub target: Target,
    /// That, as on the command line.
    pub target_text: String,
    pub load: LoadSpec,
    /// Bytes after which it ends.
    pub io_size_bytes: Option<u64>,
    /// Settings of fio's own.
    pub options: Vec<(String, String)>,
    /// When it begins, since the start of the case.
    pub start_ns: u64,
}

/// Runs all loads at once and waits for all of them. With one load, fio's files go to `directory`, with several each
/// has a directory of its name there. Samples count from the start of the case.
pub(crate) fn run_at_once(
    engine: &Engine,
    loads: &[FioLoad],
    directory: &Path,
    on_progress: &mut (dyn FnMut(f64) + Send),
    stop: &AtomicBool,
) -> Vec<Result<FioOutcome, FioError>> {
    let started = Instant::now();
    let on_progress = Mutex::new(on_progress);
    let run_one = |load: &FioLoad| -> Result<FioOutcome, FioError> {
        let own_directory = own_directory(directory, loads.len(), &load.name)?;
        while started.elapsed() < Duration::from_nanos(load.start_ns) {
            if stop.load(Ordering::Relaxed) {
                return Err(FioError::Interrupted { partial: None });
            }
            std::thread::sleep(POLL);
        }
        let case = FioCase {
            target: &load.target,
            load: &load.load,
            io_size_bytes: load.io_size_bytes,
            options: &load.options,
            directory: &own_directory,
        };
        let told = &mut |progress: fio::Progress| {
            let share = progress.elapsed_ns as f64 / progress.expected_ns.max(1) as f64;
            if let Ok(mut on_progress) = on_progress.lock() {
                on_progress(share);
            }
        };
        let mut outcome = engine.run(&case, told, stop)?;
        for sample in &mut outcome.samples {
            sample.start_ns += load.start_ns;
            sample.end_ns += load.start_ns;
        }
        Ok(outcome)
    };
    // fio dies with the thread that started it, so every thread stays until its fio has ended.
    std::thread::scope(|scope| {
        let running: Vec<_> = loads.iter().map(|load| scope.spawn(|| run_one(load))).collect();
        running
            .into_iter()
            .map(|thread| {
                thread.join().unwrap_or_else(|_| {
                    Err(FioError::Failed { cause: "its thread panicked".into(), errno: None, partial: None })
                })
            })
            .collect()
    })
}

fn own_directory(directory: &Path, loads: usize, name: &str) -> Result<PathBuf, FioError> {
    if loads == 1 {
        return Ok(directory.to_owned());
    }
    let own = directory.join(name);
    std::fs::create_dir_all(&own).map_err(|source| FioError::Io {
        doing: "cannot create",
        path: own.clone(),
        source,
    })?;
    Ok(own)
}

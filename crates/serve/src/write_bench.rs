//! Write benchmark: small writes into the bytes of an array, without a client.

use crate::bench::{ARRAY, median, processor_ns, quick_directory};
use crate::opening::open;
use crate::power::PowerCutStore;
use crate::{ServeError, ServedArray};
use load::Random;
use rustix::time::ClockId;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};
use volume::{Directory, Volume, VolumeError};

/// The names of what [`bench_writes`] measures, and how many threads write.
pub const WRITE_SCENARIOS: [(&str, u64); 2] =
    [("raid5-write-4k-1-thread", 1), ("raid5-write-4k-2-threads", 2)];
const WRITE_BYTES: u64 = 4096;
/// Of a round: a GiB, which fills the journal's halves many times.
const WRITES: u64 = 262_144;
const ROUNDS: usize = 5;

/// One line of `bench serve --json`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct WriteRow {
    /// Name of the scenario.
    pub scenario: String,
    /// Writes a second, the median of the rounds.
    pub writes_per_s: f64,
    /// Processor time a write with everything that it causes later, the median of the rounds.
    pub processor_us: f64,
    /// The least and the most of the rounds.
    pub processor_us_spread: [f64; 2],
    /// The longest that a write took in any round.
    pub longest_ns: u64,
}

/// Random writes of 4 KiB by one thread and by two, in a directory in memory; of the scenarios those that `is_wanted`
/// names.
pub fn bench_writes(is_wanted: &dyn Fn(&str) -> bool) -> Result<Vec<WriteRow>, ServeError> {
    let scenarios: Vec<_> = WRITE_SCENARIOS.into_iter().filter(|(scenario, _)| is_wanted(scenario)).collect();
    if scenarios.is_empty() {
        return Ok(Vec::new());
    }
    let directory = quick_directory().map_err(ServeError::io("make a directory"))?;
    bench_in(directory.path(), &ServedArray::parse(ARRAY)?, &scenarios)
        .map_err(|source| ServeError::Volume { data: directory.path().to_owned(), source })
}

fn bench_in(
    directory: &Path,
    array: &ServedArray,
    scenarios: &[(&str, u64)],
) -> Result<Vec<WriteRow>, VolumeError> {
    let store = PowerCutStore::new(Directory::lock(directory, Vec::new())?);
    let (volume, _) = open(store, array)?;
    std::thread::scope(|scope| {
        // As a server gives it.
        let destaging = scope.spawn(|| volume.destage_for(Duration::MAX));
        let rows = measure_all(&volume, scenarios);
        volume.end_destaging();
        match destaging.join() {
            Ok(outcome) => outcome.and(rows),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

fn measure_all(volume: &Volume, scenarios: &[(&str, u64)]) -> Result<Vec<WriteRow>, VolumeError> {
    let fill = vec![0x5a; 1 << 20];
    for offset_bytes in (0..volume.capacity_bytes() >> 20).map(|index| index << 20) {
        volume.write_at(offset_bytes, &fill, false)?;
    }
    scenarios.iter().map(|&(scenario, threads)| measure(volume, scenario, threads)).collect()
}

fn measure(volume: &Volume, scenario: &str, threads: u64) -> Result<WriteRow, VolumeError> {
    let (mut rates, mut costs) = (Vec::new(), Vec::new());
    let longest_ns = AtomicU64::new(0);
    for round in 0..ROUNDS as u64 {
        let (began, began_ns) = (Instant::now(), processor_ns(ClockId::ProcessCPUTime));
        std::thread::scope(|scope| {
            let writers: Vec<_> = (0..threads)
                .map(|thread| {
                    let longest_ns = &longest_ns;
                    scope.spawn(move || {
                        let seed = round * threads + thread + 1;
                        write(volume, WRITES / threads, seed, longest_ns)
                    })
                })
                .collect();
            writers.into_iter().try_for_each(|writer| match writer.join() {
                Ok(outcome) => outcome,
                Err(panic) => std::panic::resume_unwind(panic),
            })
        })?;
        rates.push(WRITES as f64 / began.elapsed().as_secs_f64());
        costs.push((processor_ns(ClockId::ProcessCPUTime) - began_ns) as f64 / 1e3 / WRITES as f64);
    }
    costs.sort_by(f64::total_cmp);
    Ok(WriteRow {
        scenario: scenario.to_owned(),
        writes_per_s: median(rates),
        processor_us_spread: [costs[0], costs[ROUNDS - 1]],
        processor_us: median(costs),
        longest_ns: longest_ns.into_inner(),
    })
}

fn write(volume: &Volume, writes: u64, seed: u64, longest_ns: &AtomicU64) -> Result<(), VolumeError> {
    let places = volume.capacity_bytes() / WRITE_BYTES;
    let mut bytes = [0; WRITE_BYTES as usize];
    let mut random = Random::from_seed(seed);
    for _ in 0..writes {
        let drawn = random.next_u64();
        bytes[..8].copy_from_slice(&drawn.to_le_bytes());
        let began = Instant::now();
        volume.write_at(drawn % places * WRITE_BYTES, &bytes, false)?;
        longest_ns.fetch_max(began.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
    Ok(())
}

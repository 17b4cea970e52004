//! Benchmark of the pacing error of a served array: fio on it in real time beside the same load on its twin in simulated time.

use crate::bench::{quick_directory, served_meanwhile, wait_for_fio};
use crate::ctl;
use crate::event_names::LIMIT;
use crate::run::bench_error;
use crate::{Options, PacingErrorReport, ServeError, ServedArray, TwinSpec};
use load::{
    Arrival, ArrivalProcess, Device as _, LoadShape, LoadSpec, NEVER_STOPPED, Operation, Pattern, RateCurve,
};
use serde_json::Map;
use std::ops::ControlFlow;
use std::path::Path;
use std::process::Command;
use twin::Twin;

/// A point does about so many I/Os a second at most; more take a moment to be given room.
const RATE_EXPECTED: usize = 50_000;
/// Requests that come so soon after one another were sent together.
const CLOSE_NS: u64 = 10_000;

/// An operating point: an array and a load that it bears at less than 50,000 I/Os a second.
#[derive(Debug, Clone, Copy)]
pub struct PacedPoint {
    /// Its name in the output.
    pub scenario: &'static str,
    array: &'static str,
    rwmixread: u8,
    bs_bytes: u32,
    iodepth: u32,
    /// Rate, and who decides it.
    rate: Rate,
    size_bytes: u64,
}

/// Bound that holds a load back.
#[derive(Debug, Clone, Copy)]
enum Rate {
    /// The array: `iodepth` I/Os are always under way.
    Closed,
    /// The same on a volume that is limited to so many I/Os a second.
    Limited { volume: &'static str, iops: u32 },
    /// The client: Poisson arrivals at so many I/Os a second, of which `iodepth` may be under way.
    Poisson { iops: u32 },
}

/// The points, slow ones first: hard disks at queue depth 1, at depth and in a pool; flash behind a volume's limit; and
/// beyond what fio can see within 5 %, solid-state drives in their steady state, whose bytes are written in bursts, and
/// flash modules at the highest rate, where a client's own way is most of what it sees and the lateness is what counts.
pub const PACED_POINTS: [PacedPoint; 8] = [
    PacedPoint {
        scenario: "raid5-5hdd-randread-4k-qd1",
        array: "raid-levels,raid=5,disks=5",
        rwmixread: 100,
        bs_bytes: 4096,
        iodepth: 1,
        rate: Rate::Closed,
        size_bytes: 12_000_000_000,
    },
    PacedPoint {
        scenario: "raid10-12hdd-randrw70-4k-qd8",
        array: "raid-levels,raid=10,disks=12",
        rwmixread: 70,
        bs_bytes: 4096,
        iodepth: 8,
        rate: Rate::Closed,
        size_bytes: 12_000_000_000,
    },
    PacedPoint {
        scenario: "ddp-24hdd-randread-16k-qd8",
        array: "e2700,layout=ddp",
        rwmixread: 100,
        bs_bytes: 16384,
        iodepth: 8,
        rate: Rate::Closed,
        size_bytes: 1 << 40,
    },
    PacedPoint {
        scenario: "nvme-replicas-limit20k-randread-4k-qd32",
        array: "storpool",
        rwmixread: 100,
        bs_bytes: 4096,
        iodepth: 32,
        rate: Rate::Limited { volume: "nvme", iops: 20_000 },
        size_bytes: 1 << 30,
    },
    PacedPoint {
        scenario: "nvme-replicas-limit45k-randread-4k-qd64",
        array: "storpool",
        rwmixread: 100,
        bs_bytes: 4096,
        iodepth: 64,
        rate: Rate::Limited { volume: "nvme", iops: 45_000 },
        size_bytes: 1 << 30,
    },
    PacedPoint {
        scenario: "ssd-raid5-steady-randwrite-8k-qd32",
        array: "dorado-2100-g2,condition=steady",
        rwmixread: 0,
        bs_bytes: 8192,
        iodepth: 32,
        rate: Rate::Closed,
        // What is written stays in memory.
        size_bytes: 1 << 30,
    },
    PacedPoint {
        scenario: "ssd-raid5-steady-randrw20-4k-qd64",
        array: "dorado-2100-g2,condition=steady",
        rwmixread: 20,
        bs_bytes: 4096,
        iodepth: 64,
        rate: Rate::Closed,
        size_bytes: 1 << 30,
    },
    PacedPoint {
        scenario: "flash-modules-randread-4k-poisson-50000",
        array: "flashsystem-840",
        rwmixread: 100,
        bs_bytes: 4096,
        iodepth: 64,
        rate: Rate::Poisson { iops: 50_000 },
        size_bytes: 1 << 36,
    },
];

/// Measurement at one point.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct PacedRow {
    /// Name of the point.
    pub scenario: String,
    /// I/Os a second that fio did.
    pub iops: f64,
    /// Of the twin in simulated time.
    pub twin_iops: f64,
    /// Mean completion latency that fio saw.
    pub mean_ns: f64,
    /// Of the twin in simulated time.
    pub twin_mean_ns: f64,
    /// The first by the second.
    pub ratio: f64,
    /// Mean from arrival to the moment that the model gave for the reply: what the served array adds to its twin's
    /// time is lateness, and what the client needs.
    pub modelled_mean_ns: u64,
    /// The same of a twin in simulated time that was given the very requests at the very moments at which they came to
    /// the served array: what the served array makes of its client's arrivals.
    pub replayed_mean_ns: f64,
    /// Of the requests, percent that came within 10 µs after the one before, as a client that sends several at once makes
    /// them come.
    pub close_arrivals_percent: f64,
    /// Delay of replies after their moment, in the mean.
    pub late_mean_ns: u64,
    /// Half of the replies left no later than this after their moment.
    pub late_p50_ns: u64,
    /// 99 of 100.
    pub late_p99_ns: u64,
}

/// Runs fio for so many seconds on each of the points, `arrays` being the directory of array files if not the
/// shipped ones.
pub fn bench_paced(
    points: &[PacedPoint],
    arrays: Option<&Path>,
    seconds: u32,
) -> Result<Vec<PacedRow>, ServeError> {
    points.iter().map(|point| measure(point, arrays, seconds)).collect()
}

fn measure(point: &PacedPoint, arrays: Option<&Path>, seconds: u32) -> Result<PacedRow, ServeError> {
    let text = match arrays {
        Some(directory) => {
            let (name, settings) = point.array.split_once(',').unwrap_or((point.array, ""));
            let path = directory.join(format!("{name}.yaml"));
            format!("{},{settings}", path.display()).trim_end_matches(',').to_owned()
        }
        None => point.array.to_owned(),
    };
    let array = ServedArray::parse(&text)?;
    let Some(twin) = array.twin.clone() else {
        return Err(bench_error("find the model", "the array has none"));
    };
    let directory = quick_directory().map_err(ServeError::io("make a directory"))?;
    let options = Options {
        speed_millionths: crate::parse_speed(false, None)?,
        kept_arrivals: (seconds as usize + 2) * RATE_EXPECTED,
        ..Options::untimed(text, directory.path())
    };
    let socket = directory.path().join("nbd");
    let control = options.control_path();
    let ((iops, mean_ns), served) = served_meanwhile(array, &options, || {
        if let Rate::Limited { volume, iops } = point.rate {
            ctl(&control, &[LIMIT, volume, &format!("iops={iops}")].map(str::to_owned))?;
        }
        fio(point, &socket, seconds)
    })?;
    let (twin_iops, twin_mean_ns) = simulate(point, &twin, seconds)?;
    let lateness: PacingErrorReport = served.lateness.unwrap_or_default();
    Ok(PacedRow {
        scenario: point.scenario.to_owned(),
        iops,
        twin_iops,
        mean_ns,
        twin_mean_ns,
        ratio: mean_ns / twin_mean_ns,
        modelled_mean_ns: lateness.modelled_mean_ns,
        replayed_mean_ns: replay(point, &twin, &served.arrivals)?,
        close_arrivals_percent: close_percent(&served.arrivals),
        late_mean_ns: lateness.mean_ns,
        late_p50_ns: lateness.p50_ns,
        late_p99_ns: lateness.p99_ns,
    })
}

/// I/Os a second and mean completion latency that fio sees.
fn fio(point: &PacedPoint, socket: &Path, seconds: u32) -> Result<(f64, f64), ServeError> {
    let mut command = Command::new("fio");
    let volume = if let Rate::Limited { volume, .. } = point.rate { volume } else { "" };
    command
        .args(["--name=paced", "--ioengine=nbd", "--output-format=json", "--randrepeat=0", "--norandommap"])
        .arg(format!("--uri=nbd+unix:///{volume}?socket={}", socket.display()))
        .args(["--time_based", "--ramp_time=1"])
        .arg(format!("--size={}", point.size_bytes))
        .args(["--rw=randrw", &format!("--rwmixread={}", point.rwmixread)])
        .arg(format!("--bs={}", point.bs_bytes))
        .arg(format!("--iodepth={}", point.iodepth))
        .arg(format!("--runtime={seconds}"));
    if let Rate::Poisson { iops } = point.rate {
        command.args(["--rate_process=poisson", &format!("--rate_iops={iops}")]);
    }
    let report = wait_for_fio(&mut command)?;
    let job = &report["jobs"][0];
    let (mut iops, mut sum_ns) = (0.0, 0.0);
    for direction in ["read", "write"] {
        let rate = job[direction]["iops"].as_f64().unwrap_or(0.0);
        iops += rate;
        sum_ns += rate * job[direction]["clat_ns"]["mean"].as_f64().unwrap_or(0.0);
    }
    Ok((iops, sum_ns / iops))
}

/// The twin of a point, limited as the served array is.
fn build(point: &PacedPoint, twin: &TwinSpec) -> Result<Twin, ServeError> {
    let mut twin = twin.clone();
    if let Rate::Limited { volume, .. } = point.rate {
        twin.settings.insert("volume".to_owned(), volume.into());
    }
    let mut twin = twin.build()?;
    if let Rate::Limited { iops, .. } = point.rate {
        let limit = Map::from_iter([("iops".to_owned(), iops.into())]);
        twin.act(0, LIMIT, &limit).map_err(|error| bench_error("run the twin", error.to_string()))?;
    }
    Ok(twin)
}

/// Mean latency of a twin that is given requests at their moments.
fn replay(point: &PacedPoint, twin: &TwinSpec, arrivals: &[(u64, Operation)]) -> Result<f64, ServeError> {
    let mut arrivals = arrivals.to_vec();
    // Connections are read by several threads.
    arrivals.sort_by_key(|(at_ns, _)| *at_ns);
    let mut twin = build(point, twin)?;
    let (mut free, mut began): (Vec<u32>, Vec<u64>) = (Vec::new(), Vec::new());
    let (mut sum_ns, mut ios) = (0, 0u64);
    for (at_ns, operation) in arrivals {
        while let Some(done) = twin.next_completion(at_ns) {
            sum_ns += done.at_ns - began[done.tag as usize];
            ios += 1;
            free.push(done.tag);
        }
        let tag = free.pop().unwrap_or_else(|| {
            began.push(0);
            began.len() as u32 - 1
        });
        began[tag as usize] = at_ns;
        twin.submit(at_ns, tag, operation);
    }
    Ok(sum_ns as f64 / ios.max(1) as f64)
}

fn close_percent(arrivals: &[(u64, Operation)]) -> f64 {
    let pairs = arrivals.windows(2);
    let close = pairs.filter(|pair| pair[1].0.saturating_sub(pair[0].0) <= CLOSE_NS).count();
    100.0 * close as f64 / arrivals.len().max(1) as f64
}

/// The same of the twin, which gets the same load for as long.
fn simulate(point: &PacedPoint, twin: &TwinSpec, seconds: u32) -> Result<(f64, f64), ServeError> {
    let runtime_ns = u64::from(seconds) * 1_000_000_000;
    let arrival = match point.rate {
        Rate::Poisson { iops } => Some(Arrival {
            process: ArrivalProcess::Poisson,
            rate: RateCurve::Constant { iops: f64::from(iops) },
        }),
        Rate::Closed | Rate::Limited { .. } => None,
    };
    let spec = LoadSpec {
        pattern: Pattern::Randrw,
        rwmixread: point.rwmixread,
        bs_bytes: point.bs_bytes,
        numjobs: 1,
        iodepth: point.iodepth,
        offset_bytes: 0,
        size_bytes: Some(point.size_bytes),
        rate_iops: None,
        ramp_ns: 1_000_000_000,
        runtime_ns,
        interval_ns: runtime_ns,
        seed: 1,
        shape: LoadShape { arrival, ..LoadShape::default() },
    };
    let (mut ios, mut sum_ns) = (0, 0);
    let problem = |error: &dyn std::fmt::Display| bench_error("run the twin", error.to_string());
    let mut twin = build(point, twin)?;
    let outcome = load::run_simulated(&mut twin, &spec, &NEVER_STOPPED, &mut |_, sample| {
        if sample.is_ramp {
            return ControlFlow::Continue(());
        }
        for direction in [&sample.read, &sample.write] {
            ios += direction.ios;
            sum_ns += direction.latency.sum_ns();
        }
        ControlFlow::Continue(())
    });
    outcome.map_err(|error| problem(&error))?;
    Ok((ios as f64 / f64::from(seconds), sum_ns as f64 / ios as f64))
}

//! Runs like the published test of StorPool.

use crate::synthetic::{Run, Series, limit, moment, settings};
use findings::Observation;

#[derive(Clone, Copy, Default)]
pub struct Pool {
    pub cached_disks: bool,
    pub fast_replicas: bool,
    pub no_limits: bool,
    pub neighbour_unlimited: bool,
}

pub fn picture(off: Pool) -> Observation {
    let mut run = Run::new("storpool");
    for (host, hop) in [("node", 0.0), ("client", 30e3)] {
        for (volume, read_ns, write_ns, reads, writes, bulk) in [
            ("nvme", 140e3, 140e3, 100e3, 100e3, 1.0e9),
            ("hybrid", 138e3, 300e3, 101e3, 40e3, 0.8e9),
            ("hdd", 7.1e6, 300e3, 1500.0, 6000.0, 0.3e9),
        ] {
            let read_ns = if off.cached_disks && volume == "hdd" { 200e3 } else { read_ns };
            let writes = if off.fast_replicas { 100e3 } else { writes };
            let with =
                |rw: &str, bs: &str| settings(&[("rw", rw), ("bs", bs), ("volume", volume), ("host", host)]);
            let name = |rw: &str| format!("volume={volume},host={host},rw={rw}");
            // Published: 7.10 ms on a node, 8.46 ms on the client, which a network hop alone does not explain.
            let hop = if volume == "hdd" && host == "client" { 1.36e6 } else { hop };
            let (read, write) = (read_ns + hop, write_ns + hop);
            run.add(
                "latency",
                &name("randread"),
                with("randread", "4k"),
                &Series::level(1e9 / read, 1.0, read, write, 4096.0),
            );
            run.add(
                "latency",
                &name("randwrite"),
                with("randwrite", "4k"),
                &Series::level(1e9 / write, 0.0, read, write, 4096.0),
            );
            run.add(
                "iops",
                &name("randread"),
                with("randread", "4k"),
                &Series::level(reads, 1.0, 1e6, 1e6, 4096.0),
            );
            run.add(
                "iops",
                &name("randwrite"),
                with("randwrite", "4k"),
                &Series::level(writes, 0.0, 1e6, 1e6, 4096.0),
            );
            run.add(
                "mixed",
                &name("randrw"),
                with("randrw", "4k"),
                &Series::level(bulk / 2e4, 0.5, 1e6, 1e6, 4096.0),
            );
            for rw in ["read", "write"] {
                let share = if rw == "read" { 1.0 } else { 0.0 };
                run.add(
                    "bandwidth",
                    &name(rw),
                    with(rw, "1m"),
                    &Series::level(bulk / 1_048_576.0, share, 1e6, 1e6, 1_048_576.0),
                );
            }
        }
    }
    for (volume, free) in [("nvme", 100e3), ("hybrid", 101e3), ("hdd", 1500.0)] {
        let point = |second: usize| {
            let allowed: f64 =
                if (48..72).contains(&second) && !off.no_limits { 1000.0 } else { f64::INFINITY };
            (allowed.min(free), 0.0, 1e6, 0.0)
        };
        let all = settings(&[("rw", "randread"), ("bs", "4k"), ("volume", volume)]);
        let case = run.add(
            "limits",
            &format!("volume={volume}"),
            all,
            &Series::of((0..120).map(point), 1.0, 4096.0),
        );
        case.limits = vec![limit(48.0, Some(1000.0), None), limit(72.0, None, None)];
    }
    let victim = |second: usize| {
        let held = second >= 60 && !off.neighbour_unlimited;
        let rate = if second < 30 || held { 50e3 } else { 20e3 };
        (rate, 0.0, 3e5, 0.0)
    };
    let noisy = |second: usize| {
        let rate = match second {
            0..30 => 0.0,
            60..90 if !off.neighbour_unlimited => 500.0,
            _ => 8000.0,
        };
        (0.0, rate, 0.0, 1e7)
    };
    let (victim, noisy) =
        (Series::of((0..120).map(victim), 1.0, 4096.0), Series::of((0..120).map(noisy), 1.0, 65_536.0));
    let mut both = victim.clone();
    for (all, other) in both.intervals.iter_mut().zip(&noisy.intervals) {
        all.write = other.write;
    }
    let case = run.add(
        "neighbour",
        "neighbour",
        settings(&[("rw", "randread"), ("bs", "4k"), ("volume", "nvme")]),
        &both,
    );
    case.loads = vec![("victim".into(), victim.intervals), ("noisy".into(), noisy.intervals)];
    case.limits = vec![limit(60.0, Some(500.0), None), limit(90.0, None, None)];
    for change in &mut case.limits {
        change.load = Some("noisy".into());
    }
    let moved = |second: usize| {
        let rate = if second < 60 { 1500.0 } else { 1500.0 + 60.0 * second as f64 };
        (0.7 * rate, 0.3 * rate, 5e6, 5e6)
    };
    let case = run.add(
        "template",
        "template",
        settings(&[("rw", "randrw"), ("bs", "4k"), ("volume", "hdd")]),
        &Series::of((0..600).map(moved), 1.0, 4096.0),
    );
    case.moments = vec![moment(60.0, "template nvme")];
    run.observation()
}

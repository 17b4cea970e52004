//! Runs like the published test of the Dorado 2100 G2.

use crate::synthetic::{Run, Series, settings};
use findings::Observation;

/// Mechanisms of the Dorado that are switched off.
#[derive(Clone, Copy, Default)]
pub struct Dorado {
    pub no_collection: bool,
    pub no_units: bool,
    pub reads_go_on: bool,
    pub no_parity: bool,
    pub wide_links: bool,
}

const SIZES: [(u32, &str, f64, f64); 6] = [
    (4096, "4k", 110_000.0, 45_000.0),
    (8192, "8k", 110_000.0, 43_000.0),
    (16_384, "16k", 61_000.0, 21_400.0),
    (32_768, "32k", 30_500.0, 10_700.0),
    (65_536, "64k", 15_200.0, 5_300.0),
    (1_048_576, "1m", 2_030.0, 763.0),
];

pub fn picture(off: Dorado) -> Observation {
    let mut run = Run::new("dorado-2100-g2");
    for (pass, iops) in [("1", 30_000.0), ("2", 40_000.0)] {
        let series = Series::level(iops, 0.0, 0.0, 5e6, 16_384.0);
        run.add(
            "fill",
            &format!("pass={pass}"),
            settings(&[("rw", "write"), ("bs", "16k"), ("pass", pass)]),
            &series,
        );
    }
    for (scenario, reads, raid) in
        [("1", 0.0, "5"), ("2", 0.0, "5"), ("3", 0.0, "5"), ("4", 0.5, "5"), ("5", 0.3, "5"), ("6", 0.0, "0")]
    {
        for (bytes, bs, before, after) in SIZES {
            let after = if off.no_units { 180e6 / f64::from(bytes) } else { after };
            let faster = if raid == "0" && !off.no_parity { 2.8 } else { 1.0 };
            let (before, after) = (before * faster / (1.0 - reads), after * faster / (1.0 - reads));
            let after = if off.no_collection { before } else { after };
            let mut series = Series::cliff(before, after, reads, 28, 240, f64::from(bytes));
            if off.reads_go_on && reads > 0.0 {
                for interval in &mut series.intervals {
                    interval.read.ios = before * reads * 5.0;
                }
            }
            let name = format!("scenario={scenario},bs={bytes}");
            let all = settings(&[("rw", "randwrite"), ("bs", bs), ("scenario", scenario), ("raid", raid)]);
            run.add("group-1", &name, all, &series);
        }
    }
    for (stage, raid) in [("group-2", "5"), ("group-3", "0")] {
        for (share, limit_bytes) in [(0u32, 2.13e9), (70, 4.1e9), (100, 3.16e9)] {
            for (bytes, bs, writes, _) in SIZES {
                for (engine, depth) in [("libaio", "32"), ("sync", "1")] {
                    for jobs in [1u32, 2, 4, 8, 16, 32, 64, 128, 256] {
                        let most = match share {
                            0 => writes,
                            70 => 132_000.0,
                            _ => 140_000.0,
                        };
                        let limit = if off.wide_links { 9e9 } else { limit_bytes };
                        let most = most.min(limit / f64::from(bytes));
                        let outstanding = f64::from(jobs) * depth.parse::<f64>().expect("a number");
                        let full = match (engine, bytes >= 32_768) {
                            ("sync", _) => 128.0,
                            (_, true) => 96.0,
                            _ => 256.0,
                        };
                        let iops = most * (outstanding / full).min(1.0);
                        let latency = outstanding * 1e9 / iops;
                        let reads = f64::from(share) / 100.0;
                        let name = format!(
                            "rwmixread={share},ioengine={engine},iodepth={depth},bs={bytes},numjobs={jobs}"
                        );
                        let (jobs, share) = (jobs.to_string(), share.to_string());
                        let all = settings(&[
                            ("rw", "randrw"),
                            ("bs", bs),
                            ("numjobs", &jobs),
                            ("iodepth", depth),
                            ("rwmixread", &share),
                            ("ioengine", engine),
                            ("raid", raid),
                        ]);
                        run.add(
                            stage,
                            &name,
                            all,
                            &Series::level(iops, reads, latency, latency, f64::from(bytes)),
                        );
                    }
                }
            }
        }
    }
    run.observation()
}

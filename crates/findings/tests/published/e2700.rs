//! Runs like the published test of the E2700.

use crate::synthetic::{self, Run, Series, settings};
use findings::Observation;

pub fn picture(cached: bool, no_segments: bool, cheap_mirror: bool) -> Observation {
    let mut run = Run::new("e2700");
    for (layout, factor) in [("ddp", 0.9), ("raid6", 1.0), ("raid10", 1.1)] {
        for (rw, bytes_per_s, latency) in [("read", 1.1e9, 3e6), ("write", 1.45e9, 2e6), ("rw", 1.2e9, 3e6)] {
            for bs in [262_144u32, 524_288, 1_048_576] {
                let text = bs.to_string();
                let mirror = if layout == "raid10" && !cheap_mirror { 0.7 } else { 1.0 };
                let reads = match rw {
                    "read" => 1.0,
                    "write" => 0.0,
                    _ => 0.5,
                };
                let series = Series::level(
                    bytes_per_s * mirror / f64::from(bs),
                    reads,
                    latency,
                    latency,
                    f64::from(bs),
                );
                run.add(
                    "patterns",
                    &format!("layout={layout},rw={rw},bs={bs}"),
                    settings(&[("rw", rw), ("bs", &text), ("layout", layout)]),
                    &series,
                );
            }
        }
        for (rw, iops) in [("randread", 1500.0), ("randwrite", 900.0), ("randrw", 700.0)] {
            for bs in [4096u32, 8192, 16_384] {
                let text = bs.to_string();
                let growth = f64::from(bs) / 4096.0;
                let change = if layout == "raid10" { 1.0 + 0.01 * growth } else { 1.0 - 0.01 * growth };
                let latency = if cached && rw == "randread" { 3e5 } else { 8e6 * change / factor };
                let reads = match rw {
                    "randread" => 1.0,
                    "randwrite" => 0.0,
                    _ => 0.5,
                };
                let series = Series::level(iops * factor, reads, latency, latency, f64::from(bs));
                run.add(
                    "patterns",
                    &format!("layout={layout},rw={rw},bs={bs}"),
                    settings(&[("rw", rw), ("bs", &text), ("layout", layout)]),
                    &series,
                );
            }
        }
    }
    for layout in ["raid6", "raid10"] {
        for kib in [32u32, 64, 128, 256, 512, 1024] {
            let doubling = libm::log2(f64::from(kib) / 32.0);
            for (rw, bs) in [
                ("write", 262_144u32),
                ("write", 524_288),
                ("write", 1_048_576),
                ("randread", 4096),
                ("randwrite", 8192),
                ("randrw", 16_384),
            ] {
                let (segment, text) = (format!("{kib}k"), bs.to_string());
                let is_random = bs < 100_000;
                let equal = if bs == kib * 1024 { 1.05 } else { 1.0 };
                let factor = match (no_segments, is_random) {
                    (true, _) => 1.0,
                    (_, true) => 1.4 - 0.12 * doubling,
                    (_, false) => (1.0 + 0.02 * doubling) * equal,
                };
                let slower = if kib == 1024 { 1.1 } else { 1.0 };
                let iops = if is_random { 900.0 } else { 1.2e9 / f64::from(bs) } * factor;
                let reads = match rw {
                    "randread" => 1.0,
                    "randrw" => 0.5,
                    _ => 0.0,
                };
                let series = Series::level(iops, reads, 9e6 * slower, 9e6 * slower, f64::from(bs));
                let all = settings(&[("rw", rw), ("bs", &text), ("layout", layout), ("segment", &segment)]);
                run.add("segments", &format!("layout={layout},segment={kib}k,rw={rw},bs={bs}"), all, &series);
            }
        }
    }
    for (kind, latency) in [("raw", 10e6), ("ext4", 11.8e6)] {
        let series = Series::level(1200.0, 0.0, 0.0, latency, 1_048_576.0);
        run.add(
            "file-system",
            &format!("filesystem={kind}"),
            settings(&[("rw", "write"), ("bs", "1m"), ("filesystem", kind)]),
            &series,
        );
    }
    let mut observation = run.observation();
    for case in &mut observation.cases {
        // 900 s a case, as published.
        let longer = 900.0 / case.intervals.last().map_or(900.0, |last| last.end_s);
        for interval in &mut case.intervals {
            interval.start_s *= longer;
            interval.end_s *= longer;
            for flow in [&mut interval.read, &mut interval.write] {
                flow.ios *= longer;
                flow.bytes *= longer;
                flow.latency_sum_ns *= longer;
            }
        }
        case.carried =
            vec![synthetic::carried("link", "link-0", 5.02e9), synthetic::carried("link", "link-1", 4.98e9)];
    }
    observation
}

//! Prints how many I/Os a second of one core's time the FlashSystem 840 twin simulates, by share of reads:
//! `cargo run --release -p twin --example speed`.

use std::ops::ControlFlow;
use std::time::Instant;

use load::{LoadSpec, Pattern, run_simulated};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../arrays/flashsystem-840.yaml");
    let description: twin::ArrayDescription = serde_saphyr::from_str(&std::fs::read_to_string(path)?)?;
    for rwmixread in [100, 70, 0] {
        let mut twin = twin::Twin::build(&description, &serde_json::Map::new(), 1)?;
        let spec = LoadSpec {
            pattern: Pattern::Randrw,
            rwmixread,
            bs_bytes: 8192,
            numjobs: 64,
            iodepth: 13,
            offset_bytes: 0,
            size_bytes: None,
            rate_iops: None,
            ramp_ns: 0,
            runtime_ns: 20_000_000_000,
            interval_ns: 1_000_000_000,
            seed: 1,
            shape: load::LoadShape::default(),
        };
        let started = Instant::now();
        let mut ios = 0;
        run_simulated(&mut twin, &spec, &mut |_, sample| {
            ios += sample.read.ios + sample.write.ios;
            ControlFlow::Continue(())
        })?;
        let millions_per_s = ios as f64 / started.elapsed().as_secs_f64() / 1e6;
        println!("{rwmixread} % reads: {millions_per_s:.2} million I/Os a second");
    }
    Ok(())
}

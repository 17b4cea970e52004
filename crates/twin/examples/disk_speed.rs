//! Prints how many I/Os a second of one core's time arrays of hard disks simulate:
//! `cargo run --release -p twin --example disk_speed`.
//!
//! `hdd1` is one disk, `raid5-12hdd-70` RAID 5 over twelve at 70 % reads, both served in order of arrival and without
//! what surrounds the drives; the lines after them are the same arrays with everything on.

use std::ops::ControlFlow;

use load::{LoadSpec, Pattern, run_simulated};
use serde_json::{Map, Value};

/// What is left are layouts, seeks and rotation.
const BARE: [(&str, &str); 4] =
    [("reordering", "off"), ("drive_buffer", "off"), ("links", "off"), ("processors", "off")];

/// Time on a processor so far: on a busy machine the clock on the wall says little.
fn processor_ns() -> Result<u64, Box<dyn std::error::Error>> {
    let text = std::fs::read_to_string("/proc/self/schedstat")?;
    Ok(text.split(' ').next().unwrap_or_default().parse()?)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (scenario, array, rwmixread, numjobs, settings) in [
        ("hdd1", "st1000nm0023", 100, 1, &BARE[..]),
        ("raid5-12hdd-70", "raid-levels", 70, 32, &BARE[..]),
        ("hdd1, depth 8, everything on", "st1000nm0023", 100, 8, &[]),
        ("raid5-12hdd-70, depth 8, everything on", "raid-levels", 70, 8, &[]),
    ] {
        let path = format!("{}/../../arrays/{array}.yaml", env!("CARGO_MANIFEST_DIR"));
        let description: twin::ArrayDescription = serde_saphyr::from_str(&std::fs::read_to_string(path)?)?;
        let settings: Map<String, Value> =
            settings.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect();
        let mut twin = twin::Twin::build(&description, &settings, 1)?;
        let spec = LoadSpec {
            pattern: Pattern::Randrw,
            rwmixread,
            bs_bytes: 4096,
            numjobs,
            iodepth: 1,
            offset_bytes: 0,
            size_bytes: None,
            rate_iops: None,
            ramp_ns: 0,
            runtime_ns: u64::MAX / 2,
            interval_ns: 1_000_000_000_000,
            seed: 1,
            shape: load::LoadShape::default(),
        };
        let started_ns = processor_ns()?;
        let mut ios = 0;
        run_simulated(&mut twin, &spec, &mut |_, sample| {
            ios += sample.read.ios + sample.write.ios;
            if ios < 20_000_000 { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
        })?;
        let millions_per_s = ios as f64 * 1000.0 / (processor_ns()? - started_ns) as f64;
        println!("{scenario}: {millions_per_s:.2} million I/Os a second");
    }
    Ok(())
}

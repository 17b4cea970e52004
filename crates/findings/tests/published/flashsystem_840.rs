//! Runs like the published test of the FlashSystem 840.

use crate::synthetic::{Run, Series, moment, settings};
use findings::Observation;

/// Mechanisms of the FlashSystem that are switched off.
#[derive(Clone, Copy, Default)]
pub struct Flash {
    pub free_bytes: bool,
    pub no_window: bool,
    pub no_links: bool,
    pub cheap_writes: bool,
    pub no_failover: bool,
}

pub fn picture(off: Flash) -> Observation {
    let mut run = Run::new("flashsystem-840");
    let level = |iops: f64, reads: f64, bs: f64| Series::level(iops, reads, 1.2e6, 0.6e6, bs);
    run.add(
        "seq-read",
        "seq-read",
        settings(&[("rw", "read"), ("bs", "256k")]),
        &level(20_000.0, 1.0, 262_144.0),
    );
    run.add(
        "seq-write",
        "seq-write",
        settings(&[("rw", "write"), ("bs", "256k")]),
        &level(7_450.0, 0.0, 262_144.0),
    );
    run.add(
        "peak-4k",
        "peak-4k",
        settings(&[("rw", "randrw"), ("bs", "4k")]),
        &level(507_724.0, 0.8, 4096.0),
    );
    for (bs, iops, read, write) in [
        (4096, 507_724.0, 1.2e6, 0.6e6),
        (16_384, 174_311.0, 4.8e6, 2.9e6),
        (32_768, 90_000.0, 9.5e6, 6.9e6),
        (65_536, 45_839.0, 18.8e6, 16.2e6),
        (131_072, 22_500.0, 37.0e6, 33.0e6),
    ] {
        let iops = if off.free_bytes { 400_000.0 } else { iops };
        let write = if off.no_window { read * 1.01 } else { write };
        let text = bs.to_string();
        let series = Series::level(iops, 0.8, read, write, f64::from(bs));
        run.add("block-size", &format!("bs={bs}"), settings(&[("rw", "randrw"), ("bs", &text)]), &series);
    }
    for (share, iops) in
        [(0, 187_480.0), (30, 226_443.0), (50, 257_174.0), (70, 296_792.0), (90, 385_369.0), (100, 378_269.0)]
    {
        let iops = match share {
            100 if off.no_links => 450_000.0,
            0 if off.cheap_writes => 370_000.0,
            _ => iops,
        };
        let text = share.to_string();
        let series = level(iops, f64::from(share) / 100.0, 8192.0);
        run.add(
            "read-share",
            &format!("rwmixread={share}"),
            settings(&[("rw", "randrw"), ("bs", "8k"), ("rwmixread", &text)]),
            &series,
        );
    }
    let point = |index: usize| {
        let dips = !off.no_failover && (index == 200 || index == 280);
        let slower = if (360..1400).contains(&index) { 1.06 } else { 1.0 };
        let iops = if dips { 60_000.0 } else { 100_000.0 + (index % 3) as f64 * 100.0 };
        (0.8 * iops, 0.2 * iops, 1.2e6 * slower, 0.7e6 * slower)
    };
    let series = Series::of((0..2160).map(point), 5.0, 8192.0);
    let case = run.add(
        "firmware-update",
        "firmware-update",
        settings(&[("rw", "randrw"), ("rate_iops", "100000")]),
        &series,
    );
    case.moments = vec![
        moment(1000.0, "controller 0 leaves"),
        moment(1300.0, "controller 0 is back"),
        moment(1400.0, "controller 1 leaves"),
        moment(1700.0, "controller 1 is back"),
        moment(1800.0, "verification of the RAID stripes begins"),
        moment(7000.0, "verification of the RAID stripes is done"),
    ];
    run.observation()
}

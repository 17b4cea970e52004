//! Runs like the published test of RAID levels.

use crate::synthetic::{Run, Series, settings};
use findings::Observation;

pub fn picture(proportional: bool, no_penalty: bool) -> Observation {
    let mut run = Run::new("raid-levels");
    for (raid, least, share) in [(0u32, 2u32, 1.0), (10, 4, 0.55), (5, 3, 0.26), (6, 4, 0.20)] {
        for disks in least..=12 {
            let n = f64::from(disks);
            let reads = if proportional { 257.0 * n } else { 514.0 * libm::pow(n / 2.0, 0.53) };
            let narrowing = if raid == 6 { 0.9 + 0.1 * n / 12.0 } else { 1.0 };
            let writes = if no_penalty { reads } else { reads * share * narrowing };
            for (mix, iops) in [(100u32, reads), (0, writes), (70, 1.0 / (0.7 / reads + 0.3 / writes))] {
                for (bs, cache, gain) in [("512", "off", 1.0), ("4096", "off", 0.98), ("512", "on", 1.1)] {
                    let (raid, disks, mix_text) = (raid.to_string(), disks.to_string(), mix.to_string());
                    let name =
                        format!("raid={raid},disks={disks},rwmixread={mix},bs={bs},write_cache={cache}");
                    let all = settings(&[
                        ("rw", "randrw"),
                        ("bs", bs),
                        ("raid", &raid),
                        ("disks", &disks),
                        ("rwmixread", &mix_text),
                        ("write_cache", cache),
                    ]);
                    run.add(
                        "sets",
                        &name,
                        all,
                        &Series::level(iops * gain, f64::from(mix) / 100.0, 8e6, 2e7, 512.0),
                    );
                }
            }
        }
    }
    run.observation()
}

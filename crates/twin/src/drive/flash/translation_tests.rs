//! Translation against the figures of Xiang and Kurkoski, Desnoyers and Van Houdt, and against trial simulations
//! of the same mechanisms (`docs/models/flash.md` lists them side by side).

use super::analytic;
use super::translation::{Collection, Frontiers, Geometry, Temperature, Translation};
use load::Random;
use proptest::prelude::*;

const RESERVE: u32 = 3;

/// Physical blocks as given, reserve included in them, as the reference counts.
fn geometry(blocks: u32, units_per_block: u32, over_provisioning: f64) -> Geometry {
    let physical = f64::from(blocks) * f64::from(units_per_block);
    let user_units = (physical / (1.0 + over_provisioning)) as u32;
    Geometry { blocks, units_per_block, user_units, reserve_blocks: RESERVE }
}

fn long() -> bool {
    std::env::var_os("ARRAYLAB_LONG").is_some_and(|value| value == "1")
}

/// Rewrites at random for `drive_writes` times the user's units; the amplification over that.
fn rewrite(translation: &mut Translation, random: &mut Random, drive_writes: f64) -> f64 {
    let units = u64::from(translation.geometry().user_units);
    translation.reset_counters();
    for _ in 0..(units as f64 * drive_writes) as u64 {
        translation.write(random.below(units) as u32, Temperature::Cold);
    }
    translation.counters().write_amplification()
}

fn steady(geometry: Geometry, collection: Collection) -> (f64, f64) {
    let units = geometry.user_units;
    let mut translation = Translation::fresh(geometry, collection, Frontiers::One, 1).unwrap();
    let mut random = Random::from_seed(2);
    let (settle, measure) = if long() {
        translation.fill_in_order(units);
        (4.0, 4.0)
    } else {
        translation.fill_steady(units);
        (0.6, 1.0)
    };
    let started = std::time::Instant::now();
    let writes = f64::from(units) * (settle + measure);
    rewrite(&mut translation, &mut random, settle);
    let amplification = rewrite(&mut translation, &mut random, measure);
    (amplification, writes / started.elapsed().as_secs_f64() / 1e6)
}

#[test]
fn trial() {
    for (op, greedy, fifo, d2, d10) in [
        (0.07, 7.664, 7.885, 10.68, 7.893),
        (0.28, 2.466, 2.486, 3.280, 2.525),
        (1.0, 1.251, 1.256, 1.530, 1.271),
    ] {
        for (c, want) in [
            (Collection::Greedy, greedy),
            (Collection::Oldest, fifo),
            (Collection::Choices(1), analytic::random_block(op)),
            (Collection::Choices(2), d2),
            (Collection::Choices(10), d10),
        ] {
            let (got, rate) = steady(geometry(4096, 256, op), c);
            let model = analytic::stationary(c, 256, 4096, op).write_amplification;
            println!("{op} {c:?} want {want} got {got:.3} ({:+.2}%) model {model:.3} {rate:.1} M/s", (got / want - 1.0) * 100.0);
        }
    }
}

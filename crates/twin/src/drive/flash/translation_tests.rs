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
    test_support::is_long()
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
    let (flush_deferred, measure) = if long() {
        translation.fill_in_order(units);
        (4.0, 4.0)
    } else {
        translation.fill_steady(units);
        (0.6, 1.0)
    };
    let started = std::time::Instant::now();
    let writes = f64::from(units) * (flush_deferred + measure);
    rewrite(&mut translation, &mut random, flush_deferred);
    let amplification = rewrite(&mut translation, &mut random, measure);
    (amplification, writes / started.elapsed().as_secs_f64() / 1e6)
}

fn assert_near(what: &str, got: f64, want: f64, tolerance: f64) {
    let error = got / want - 1.0;
    println!("{what}: {got:.3}, reference {want:.3} ({:+.2} %)", error * 100.0);
    assert!(error.abs() <= tolerance, "{what}: {got:.4} against {want:.4}, more than {tolerance} apart");
}

const OVER_PROVISIONINGS: [f64; 10] = [0.07, 0.125, 0.15, 0.20, 0.28, 0.30, 0.40, 0.50, 0.75, 1.00];

/// Proves that greedy collection amplifies writes as trial simulations at 4096 blocks of 256 found, within 1 %.
#[test]
fn greedy_matches_the_reference_table() {
    let reference = [7.664, 4.624, 3.974, 3.162, 2.466, 2.350, 1.947, 1.709, 1.399, 1.251];
    for (over_provisioning, want) in OVER_PROVISIONINGS.into_iter().zip(reference) {
        let (got, rate) = steady(geometry(4096, 256, over_provisioning), Collection::Greedy);
        assert_near(&format!("greedy, op {over_provisioning}, {rate:.1} M writes/s"), got, want, 0.01);
    }
}

/// Proves that oldest-first collection matches the closed form (Lambert W) within 1 %.
#[test]
fn oldest_first_matches_the_closed_form() {
    let reference = [7.817, 4.680, 4.016, 3.188, 2.481, 2.364, 1.957, 1.716, 1.403, 1.255];
    for (over_provisioning, want) in OVER_PROVISIONINGS.into_iter().zip(reference) {
        let formula = analytic::oldest_first(over_provisioning);
        assert!((formula - want).abs() < 0.0006, "the formula gives {formula} for {over_provisioning}");
        let (got, _) = steady(geometry(4096, 256, over_provisioning), Collection::Oldest);
        // Three blocks of reserve are 1.1 % of the spare at 0.07; the reference simulation has 7.885 there too.
        assert_near(&format!("oldest first, op {over_provisioning}"), got, formula, 0.011);
    }
}

/// Proves that one, two and ten choices match trial simulations within 2 %, and the mean-field model as well.
#[test]
fn choices_match_the_reference_table_and_the_mean_field() {
    let reference = [
        (1, [15.41, 9.05, 7.70, 6.02, 4.58, 4.34, 3.50, 3.00, 2.33, 2.00]),
        (2, [10.68, 6.335, 5.415, 4.268, 3.280, 3.116, 2.547, 2.204, 1.752, 1.530]),
        (10, [7.893, 4.752, 4.082, 3.243, 2.525, 2.406, 1.991, 1.744, 1.423, 1.271]),
    ];
    for (choices, column) in reference {
        let collection = Collection::Choices(choices);
        for (index, (over_provisioning, want)) in OVER_PROVISIONINGS.into_iter().zip(column).enumerate() {
            let model = analytic::stationary(collection, 256, 4096, over_provisioning).write_amplification;
            assert_near(
                &format!("mean field, {choices} choices, op {over_provisioning}"),
                model,
                want,
                0.015,
            );
            if long() || index % 3 == choices as usize % 3 {
                let (got, _) = steady(geometry(4096, 256, over_provisioning), collection);
                assert_near(&format!("{choices} choices, op {over_provisioning}"), got, want, 0.02);
            }
        }
    }
}

/// Proves that smaller blocks amplify less, as the reference has it, within 1 %.
#[test]
fn smaller_blocks_amplify_less() {
    let reference = [
        (0.07, [5.33, 6.35, 7.02, 7.42, 7.66]),
        (0.15, [3.29, 3.61, 3.80, 3.91, 3.97]),
        (0.28, [2.20, 2.33, 2.40, 2.44, 2.47]),
    ];
    let slots: u32 = if long() { 1 << 20 } else { 1 << 17 };
    for (over_provisioning, row) in reference {
        for (units_per_block, want) in [16, 32, 64, 128, 256].into_iter().zip(row) {
            let geometry =
                Geometry::scaled(slots / units_per_block, units_per_block, over_provisioning, RESERVE);
            let (got, _) = steady(geometry, Collection::Greedy);
            assert_near(&format!("greedy, op {over_provisioning}, b {units_per_block}"), got, want, 0.012);
        }
    }
}

/// Proves that a translation with a few hundred blocks amplifies as one with 65,536 does (2.461 at 0.28), because
/// its reserve comes on top.
#[test]
fn amplification_does_not_depend_on_scale() {
    for blocks in [256, 512, 1024, 4096] {
        let (got, rate) = steady(Geometry::scaled(blocks, 256, 0.28, RESERVE), Collection::Greedy);
        assert_near(&format!("greedy, op 0.28, {blocks} blocks, {rate:.1} M writes/s"), got, 2.461, 0.015);
    }
}

/// Proves the write cliff: amplification in each tenth of a drive write after a sequential fill, within 5 %.
#[test]
fn cliff_after_a_sequential_fill_matches_the_reference() {
    let reference: [(f64, &[f64]); 2] = [
        (0.28, &[1.00, 1.00, 1.46, 3.11, 2.72, 2.45, 2.30, 2.46, 2.52, 2.47, 2.45]),
        (0.07, &[3.61, 7.81, 7.65, 7.61]),
    ];
    let blocks = if long() { 16_384 } else { 4096 };
    for (over_provisioning, row) in reference {
        let geometry = geometry(blocks, 256, over_provisioning);
        let mut translation = Translation::fresh(geometry, Collection::Greedy, Frontiers::One, 1).unwrap();
        translation.fill_in_order(geometry.user_units);
        let mut random = Random::from_seed(3);
        for (tenth, &want) in row.iter().enumerate() {
            let got = rewrite(&mut translation, &mut random, 0.1);
            assert_near(&format!("cliff, op {over_provisioning}, tenth {tenth}"), got, want, 0.05);
        }
    }
}

/// Proves that the initialiser puts a translation where a long run takes it: the spread of valid counts differs by
/// no more than two long runs do, and the amplification of the next tenth of a drive write is the sustained one.
#[test]
fn initial_state_is_that_of_a_long_run() {
    for collection in
        [Collection::Greedy, Collection::Oldest, Collection::Choices(2), Collection::Choices(10)]
    {
        let geometry = Geometry::scaled(2048, 128, 0.2, RESERVE);
        let build = || Translation::fresh(geometry, collection, Frontiers::One, 5).unwrap();
        let mut aged = build();
        aged.fill_in_order(geometry.user_units);
        let mut random = Random::from_seed(6);
        rewrite(&mut aged, &mut random, 4.0);
        let sustained = rewrite(&mut aged, &mut random, 2.0);
        let mut placed = build();
        placed.fill_steady(geometry.user_units);
        let tail = |translation: &Translation| {
            let mut below = 0;
            translation
                .valid_count_histogram()
                .into_iter()
                .map(|blocks| {
                    below += blocks;
                    f64::from(below)
                })
                .collect::<Vec<f64>>()
        };
        let widest = tail(&aged)
            .into_iter()
            .zip(tail(&placed))
            .map(|(aged, placed)| (aged - placed).abs() / 2048.0)
            .fold(0.0, f64::max);
        println!("{collection:?}: distributions differ by {widest:.4} at most");
        assert!(widest < 0.03, "{collection:?}: distributions differ by {widest}");
        let next = rewrite(&mut placed, &mut random, 0.1);
        assert_near(&format!("first tenth after placing, {collection:?}"), next, sustained, 0.03);
    }
}

/// Amplification under two kinds of writes: the share `hot_units` of the units takes the share `hot_writes`.
fn two_kinds(geometry: Geometry, frontiers: Frontiers, hot_units: f64, hot_writes: f64) -> f64 {
    let mut translation = Translation::fresh(geometry, Collection::Greedy, frontiers, 1).unwrap();
    let mut random = Random::from_seed(8);
    let hot = (f64::from(geometry.user_units) * hot_units) as u32;
    let temperature = |unit| if unit < hot { Temperature::Hot } else { Temperature::Cold };
    for unit in 0..geometry.user_units {
        translation.write(unit, temperature(unit));
    }
    let mut run = |drive_writes: u32| {
        translation.reset_counters();
        for _ in 0..drive_writes * geometry.user_units {
            let unit = if random.unit_open() <= hot_writes {
                random.below(u64::from(hot))
            } else {
                u64::from(hot) + random.below(u64::from(geometry.user_units - hot))
            } as u32;
            translation.write(unit, temperature(unit));
        }
        translation.counters().write_amplification()
    };
    run(6);
    run(4)
}

/// Proves what the number of frontiers does to RAID 5's parity (4 % of the units take half of the writes) at
/// over-provisioning 0.28: one frontier costs about 22 % over uniform writes, a frontier for collected units
/// about 9 %, hot and cold apart nothing.
#[test]
fn frontiers_decide_what_parity_costs() {
    let geometry = Geometry::scaled(1024, 256, 0.28, RESERVE);
    for (frontiers, want) in [
        (Frontiers::One, 1.22),
        (Frontiers::HostAndCollection, 1.09),
        (Frontiers::HotAndCold { hot_spare_permille: None }, 1.00),
    ] {
        let got = two_kinds(geometry, frontiers, 0.04, 0.5) / 2.461;
        assert_near(&format!("parity, {frontiers:?}, against uniform"), got, want, 0.03);
    }
}

/// Proves the closed form for kinds apart with the best split of the spare, and that a translation with that split
/// reaches it.
#[test]
fn separated_kinds_with_a_split_spare_reach_the_closed_form() {
    let reference = [
        (0.07, 0.2, 5.25),
        (0.07, 0.1, 3.27),
        (0.07, 0.05, 2.09),
        (0.28, 0.2, 1.87),
        (0.28, 0.1, 1.41),
        (0.28, 0.05, 1.17),
    ];
    for (over_provisioning, hot_units, want) in reference {
        let (split, least) = analytic::best_separated(over_provisioning, hot_units, 1.0 - hot_units);
        assert_near(
            &format!("formula, op {over_provisioning}, hot {hot_units}, split {split}"),
            least,
            want,
            0.005,
        );
        if over_provisioning == 0.28 {
            let frontiers = Frontiers::HotAndCold { hot_spare_permille: Some((split * 1000.0) as u16) };
            let geometry = Geometry::scaled(1024, 256, over_provisioning, RESERVE);
            let got = two_kinds(geometry, frontiers, hot_units, 1.0 - hot_units);
            assert_near(&format!("simulated, op {over_provisioning}, hot {hot_units}"), got, least, 0.05);
        }
    }
}

/// Proves that a trimmed part is spare: a translation of which a fifth is given up amplifies like one that much
/// smaller.
#[test]
fn trimmed_units_are_spare() {
    let geometry = Geometry::scaled(1024, 256, 0.07, RESERVE);
    let mut translation = Translation::fresh(geometry, Collection::Greedy, Frontiers::One, 1).unwrap();
    translation.fill_steady(geometry.user_units);
    let kept = geometry.user_units * 4 / 5;
    for unit in kept..geometry.user_units {
        assert!(translation.trim(unit));
        assert!(!translation.trim(unit) && !translation.is_mapped(unit));
    }
    let mut random = Random::from_seed(4);
    let mut run = |writes: u32| {
        translation.reset_counters();
        for _ in 0..writes {
            translation.write(random.below(u64::from(kept)) as u32, Temperature::Cold);
        }
        translation.counters().write_amplification()
    };
    run(3 * kept);
    let want = analytic::stationary(Collection::Greedy, 256, 1024, 1.07 / 0.8 - 1.0).write_amplification;
    assert_near("a fifth trimmed, op 0.07", run(2 * kept), want, 0.015);
}

/// Proves that a geometry without room for collection is refused rather than built.
#[test]
fn geometries_without_room_are_refused() {
    let good = Geometry { blocks: 16, units_per_block: 32, user_units: 10 * 32, reserve_blocks: 3 };
    assert!(Translation::fresh(good, Collection::Greedy, Frontiers::One, 1).is_ok());
    for bad in [
        Geometry { user_units: 11 * 32, ..good },
        Geometry { user_units: 0, ..good },
        Geometry { reserve_blocks: 1, ..good },
        Geometry { units_per_block: 0, ..good },
        Geometry { units_per_block: 8193, ..good },
        Geometry { blocks: u32::MAX, ..good },
        Geometry { blocks: 2, ..good },
    ] {
        assert!(Translation::fresh(bad, Collection::Greedy, Frontiers::One, 1).is_err(), "{bad:?}");
    }
}

fn any_collection() -> impl Strategy<Value = Collection> {
    prop_oneof![Just(Collection::Greedy), Just(Collection::Oldest), (1u32..12).prop_map(Collection::Choices)]
}

fn any_frontiers() -> impl Strategy<Value = Frontiers> {
    prop_oneof![
        Just(Frontiers::One),
        Just(Frontiers::HostAndCollection),
        prop::option::of(0u16..=1000)
            .prop_map(|hot_spare_permille| Frontiers::HotAndCold { hot_spare_permille })
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    /// Proves that nothing is lost or doubled, whatever is written and given up in whatever order: exactly the
    /// units written last are mapped, as many as the blocks count as valid, and programs equal writes plus moves.
    #[test]
    fn every_unit_has_one_place(
        collection in any_collection(),
        frontiers in any_frontiers(),
        full in prop::bool::ANY,
        seed in 0u64..1000,
        operations in prop::collection::vec((0u32..320, 0u8..8), 0..4000),
    ) {
        let geometry = Geometry { blocks: 16, units_per_block: 32, user_units: 320, reserve_blocks: 3 };
        let mut translation = Translation::fresh(geometry, collection, frontiers, seed).unwrap();
        if full {
            translation.fill_steady(320);
        }
        let mut mapped = vec![full; 320];
        let mut moved = 0;
        let mut host = 0;
        for (unit, kind) in operations {
            if kind == 0 {
                prop_assert_eq!(translation.trim(unit), mapped[unit as usize]);
                mapped[unit as usize] = false;
            } else {
                let temperature = if kind < 4 { Temperature::Hot } else { Temperature::Cold };
                let cost = translation.write(unit, temperature);
                prop_assert_eq!(cost.units_programmed, 1 + cost.units_moved);
                moved += u64::from(cost.units_moved);
                host += 1;
                mapped[unit as usize] = true;
            }
        }
        for unit in 0..320 {
            prop_assert_eq!(translation.is_mapped(unit), mapped[unit as usize]);
        }
        translation.check_consistency();
        prop_assert_eq!(translation.counters().moved_units, moved);
        prop_assert_eq!(translation.counters().host_units, host);
        prop_assert_eq!(translation.mapped_units() as usize, mapped.iter().filter(|&&mapped| mapped).count());
    }
}

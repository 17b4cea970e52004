//! Bottlenecks that are known because the arrays are built to have them.

use sizing::{Bottlenecks, Change, Configuration, Effort, LoadSource, Part, answer, answer_with_elasticity};

/// Quick, because many arrays are tried; predictions have 10 % of room.
const EFFORT: Effort = Effort { ios: 60_000, most_ios: 240_000, ..Effort::FULL };
/// Times by which a part is made scarcer until it is the limit.
const SCARCER: [f64; 5] = [8.0, 64.0, 512.0, 4096.0, 32768.0];

/// Load under which a part can be the limit.
fn load_for(part: Part) -> &'static str {
    match part {
        Part::Links => "fio:rw=randread,bs=64k,iodepth=32,numjobs=16,runtime=20s",
        Part::Parity | Part::Cache => "fio:rw=randwrite,bs=64k,iodepth=32,numjobs=16,runtime=20s",
        _ => "fio:rw=randread,bs=8k,iodepth=32,numjobs=16,runtime=20s",
    }
}

fn scaled(array: &Configuration, part: Part, factor: f64) -> Configuration {
    let description = part.scaled(&array.description, factor).unwrap();
    Configuration { description, ..array.clone() }
}

/// Makes a part scarcer until twice of it doubles the rate or nearly so: then it is the limit, by the simulation alone.
fn limited_by(array: &Configuration, part: Part, case: &plan::Case) -> Option<(Configuration, f64)> {
    SCARCER.into_iter().find_map(|times| {
        let scarce = scaled(array, part, 1.0 / times);
        let of = |configuration: &Configuration| answer(configuration, case, &EFFORT).unwrap().iops;
        let gain = of(&scaled(&scarce, part, 2.0)) / of(&scarce);
        (gain > 1.8).then_some((scarce, gain))
    })
}

fn named_and_predicted(name: &str, parts: &[Part]) {
    let array = Configuration::load(name).unwrap();
    for &part in parts {
        let case = LoadSource::read(load_for(part)).unwrap().case;
        let Some((scarce, gain)) = limited_by(&array, part, &case) else {
            panic!("{name}: {part:?} cannot be made the limit");
        };
        let before = answer_with_elasticity(&scarce, &case, &EFFORT).unwrap();
        let first = Bottlenecks::new(&scarce, &before, &case, &EFFORT).next();
        let first = first.unwrap_or_else(|| panic!("{name}: nothing limits where {part:?} does")).unwrap();
        assert_eq!(first.part, part, "{name}: {:?}", first.answer.elasticity);
        let off = first.doubled / gain - 1.0;
        assert!(off.abs() <= 0.10, "{name}, {part:?}: predicted {:.2}, is {gain:.2}", first.doubled);
    }
}

/// Proves that the limit of an array of solid-state drives in RAID 5 is found, whichever of its parts it is, and that the gain of
/// doubling it is predicted from small steps within a tenth of what a simulation gives.
#[test]
fn limits_of_a_composite_array_are_found() {
    named_and_predicted(
        "composite-flash",
        &[Part::Links, Part::Controllers, Part::Drives, Part::Parity, Part::Hosts],
    );
}

/// Proves the same for a server whose SSDs lie behind a RAID controller.
#[test]
fn limits_of_a_raid_controller_are_found() {
    named_and_predicted("server-raid-card", &[Part::Controllers, Part::Drives]);
}

/// Proves the same for four hard disks in a NAS.
#[test]
fn limits_of_a_nas_are_found() {
    named_and_predicted("nas-raid5", &[Part::Drives, Part::Controllers, Part::Hosts]);
}

/// Proves the same for two controllers whose caches copy every write to one another.
#[test]
fn limits_of_mirrored_caches_are_found() {
    named_and_predicted("pool-60-disks", &[Part::Cache, Part::Drives]);
}

/// Proves the same for a cluster whose network or nodes limit.
#[test]
fn limits_of_a_cluster_are_found() {
    named_and_predicted("erasure-12-nodes", &[Part::Network, Part::Controllers]);
}

/// Proves that a load with one I/O at a time is limited by nothing that is full, and one that asks for little by its rate, which the
/// range does not leave upwards.
#[test]
fn light_loads_are_limited_by_themselves() {
    let array = Configuration::load("composite-flash").unwrap();
    let answer = |load: &str| {
        let case = LoadSource::read(load).unwrap().case;
        answer_with_elasticity(&array, &case, &EFFORT).unwrap()
    };
    let alone = answer("fio:rw=randread,bs=4k,iodepth=1,runtime=5s");
    assert_eq!(alone.limit, "concurrency");
    assert!(alone.iops_95[1] > 1.9 * alone.iops, "{:?}", alone.iops_95);
    let paced = answer("fio:rw=randread,bs=4k,iodepth=16,rate_iops=1000,runtime=5s");
    assert_eq!(paced.limit, "rate");
    assert_eq!(paced.iops_95[1], paced.iops.max(1000.0));
}

/// Proves that two equal questions have equal answers, to the bit, that a change is made where it is said, and that the progress is told at the
/// end of each simulation.
#[test]
fn answers_are_repeatable() {
    let array = Configuration::load("flashsystem-840").unwrap();
    let case =
        LoadSource::read("fio:rw=randrw,rwmixread=70,bs=8k,iodepth=16,numjobs=8,runtime=5s").unwrap().case;
    let changes =
        [Change::parse("links.count=4,16").unwrap(), Change::parse("drives.read_latency=40us").unwrap()];
    let seen = std::sync::Mutex::new(Vec::new());
    let see = |ended, total| seen.lock().unwrap().push((ended, total));
    let ask = || sizing::what_if(&array, &case, &changes, &EFFORT, &see).unwrap();
    let (one, other) = (ask(), ask());
    assert_eq!(one, other);
    let mut seen = seen.into_inner().unwrap();
    seen.sort_unstable();
    let total = one.iter().map(|row| row.answer.points.len() as u64).sum();
    assert_eq!(seen, (0..=total).flat_map(|ended| [(ended, total); 2]).collect::<Vec<_>>());
    assert_eq!(one.len(), 5, "as it is, two, one, all together");
    assert!(one[3].answer.latency_ns.mean < one[0].answer.latency_ns.mean);
    assert_eq!(one[4].change.len(), 2);
}

/// Proves that a walk ends before a part is more than ten times what it was, where more of it would gain for ever.
#[test]
fn a_walk_ends_at_ten_times_a_part() {
    let array = Configuration::load("st1000nm0023").unwrap();
    let case = LoadSource::read("fio:rw=randread,bs=8k,iodepth=16,numjobs=4,runtime=20s").unwrap().case;
    let effort = Effort { ios: 2_000, most_ios: 4_000, ..Effort::FULL };
    let before = answer_with_elasticity(&array, &case, &effort).unwrap();
    let walk: Vec<_> = Bottlenecks::new(&array, &before, &case, &effort)
        .map(|step| step.unwrap().factors[&Part::Drives])
        .collect();
    assert_eq!(walk.len(), 10, "{walk:?}");
    assert!(walk.iter().all(|times| *times <= 10.0), "{walk:?}");
}

/// Proves that the rate of random writes is that of the drives behind a cache which the load has filled, though the cache took a hundred
/// times as many at first.
#[test]
fn writes_count_after_their_cache_has_filled() {
    let array = Configuration::load("pool-60-disks").unwrap();
    let case = LoadSource::read("fio:rw=randwrite,bs=8k,iodepth=16,numjobs=4").unwrap().case;
    let found = answer(&array, &case, &Effort::FULL).unwrap();
    // `arraylab run --exact` for an hour that begins with an empty cache: 5,273 a second in the first five minutes, and 1,626 to 1,713 in
    // the eleven after them, 1,676 in all of those.
    assert!(
        found.is_steady && (found.iops / 1_676.0 - 1.0).abs() < 0.05,
        "{} {:?}",
        found.iops,
        found.is_steady
    );
}

/// Proves that the rate of an array whose cache of flash still takes in what is read is no level, however even it is.
#[test]
fn a_cache_of_drives_that_fills_makes_no_level() {
    let array = Configuration::load("hybrid-read-cache").unwrap();
    let case = LoadSource::read("fio:rw=randread,bs=8k,iodepth=16,numjobs=4,size=200g").unwrap().case;
    // It takes 24 million reads to fill.
    let effort = Effort { ios: 20_000, most_ios: 60_000, most_warming_ios: 1_000_000, ..Effort::FULL };
    assert!(!answer(&array, &case, &effort).unwrap().is_steady);
    // A thousandth of that is read over and over within seconds.
    let case = LoadSource::read("fio:rw=randread,bs=8k,iodepth=16,numjobs=4,size=200m").unwrap().case;
    assert!(answer(&array, &case, &Effort::FULL).unwrap().is_steady);
}

//! Caches and drives of arrays that are asked about: they hold what they hold after hours of the load.

mod common;

use proptest::prelude::*;
use serde_json::json;
use sizing::{Configuration, Effort, LoadSource, answer};

/// I/Os that a cache of some hundred megabytes hardly sees.
const FEW: Effort = Effort { ios: 8_000, most_ios: 16_000, ..Effort::FULL };
/// I/Os that fill it.
const MANY: Effort = Effort { ios: 800_000, most_ios: 1_600_000, most_warming_ios: 0, ..Effort::FULL };

/// Two controllers before disks, each with a read cache of 256 MiB.
fn with_memory() -> Configuration {
    Configuration::load("pool-60-disks").unwrap().with("cache.read", &json!("256MiB")).unwrap()
}

/// Two controllers before disks and a read cache on SSDs which keeps what is read a second time.
fn with_flash() -> Configuration {
    Configuration::load("hybrid-read-cache").unwrap().with("cache.read", &json!("1MiB")).unwrap()
}

/// Proves that an answer of a few thousand I/Os has the hits of caches that have had the load for long: in memory and on drives, of reads
/// spread evenly, of skewed ones and of several sizes; and that the same I/Os alone do not have them.
#[test]
fn answers_have_the_hits_of_warm_caches() {
    for (array, load) in [
        (with_memory(), "rw=randread,size=768m"),
        (with_memory(), "rw=randread,size=2g,random_distribution=zipf:1.1"),
        (with_flash(), "rw=randread,size=256m"),
        (with_memory(), "rw=randread,size=768m,bssplit=4k/60:8k/20:16k/20"),
        (with_flash(), "rw=randread,size=256m,bssplit=8k/60:32k/40"),
    ] {
        let load = format!("fio:bs=8k,iodepth=8,numjobs=4,runtime=3600,{load}");
        let case = LoadSource::read(&load).unwrap().case;
        let long = answer(&array, &case, &MANY).unwrap();
        let [warm, cold] = [FEW, Effort { most_warming_ios: 0, ..FEW }]
            .map(|effort| answer(&array, &case, &effort).unwrap());
        let of_long = |iops: f64| iops / long.iops;
        assert!(long.is_steady && warm.warm_caches.read && !cold.warm_caches.read, "{load}");
        assert!((of_long(warm.iops) - 1.0).abs() < 0.05, "{load}: {} of {}", warm.iops, long.iops);
        assert!(of_long(cold.iops) < 0.9, "{load}: {} of {}", cold.iops, long.iops);
    }
}

/// Proves that beside writes, which take from a cache on drives what a write cache then has, the level is that of a long simulation, and
/// that no few I/Os are taken for it.
#[test]
fn writes_beside_reads_settle() {
    let load = "fio:bs=8k,iodepth=8,numjobs=4,runtime=3600,rw=randrw,rwmixread=90,size=256m";
    let case = LoadSource::read(load).unwrap().case;
    let [few, full, long] =
        [FEW, Effort::FULL, MANY].map(|effort| answer(&with_flash(), &case, &effort).unwrap());
    assert!(!few.is_steady && full.is_steady && long.is_steady);
    assert!((full.iops / long.iops - 1.0).abs() < 0.05, "{} of {}", full.iops, long.iops);
}

/// Proves that a level is none while a cache keeps more and more of what is read, which is only told by what it could still keep.
#[test]
fn caches_that_fill_make_no_level() {
    let array = Configuration::load("reduced-flash").unwrap();
    let effort = Effort { ios: 20_000, most_ios: 40_000, most_warming_ios: 0, ..Effort::FULL };
    let is_steady = |load: &str| {
        let case = LoadSource::read(&format!("fio:bs=8k,iodepth=16,numjobs=4,{load}")).unwrap().case;
        answer(&array, &case, &effort).unwrap().is_steady
    };
    assert!(!is_steady("rw=randread,size=100g"));
    // Of all that the volumes hold a cache of 64 GiB keeps little.
    assert!(is_steady("rw=randread"));
    // Passes over more than it holds find nothing of the pass before, those over less find all.
    assert!(is_steady("rw=read,size=1t"));
    assert!(!is_steady("rw=read,size=60g"));
}

/// Two controllers before disks, each of which holds 256 MiB of writes back.
fn with_writes() -> Configuration {
    Configuration::load("pool-60-disks")
        .unwrap()
        .with_all(&[("cache.write_back", &json!("256MiB")), ("cache.read", &json!("0B"))])
        .unwrap()
}

/// Proves that an answer of some ten thousand I/Os has the level that a long simulation comes to with caches that began empty: of writes that
/// the drives keep up with, and of more than that, where a full cache is waited for.
#[test]
fn answers_have_the_level_of_filled_write_caches() {
    let load =
        |load: &str| LoadSource::read(&format!("fio:bs=8k,runtime=3600,size=100g,{load}")).unwrap().case;
    let few = Effort { ios: 30_000, most_ios: 60_000, ..Effort::FULL };
    let many = Effort { ios: 600_000, most_ios: 1_200_000, most_warming_ios: 0, ..Effort::FULL };
    for case in [
        load("rw=randrw,rwmixread=70,iodepth=8,numjobs=4"),
        load("rw=randwrite,iodepth=8,numjobs=4"),
        load("rw=randrw,rwmixread=70,rate_iops=600,numjobs=4,rate_process=poisson"),
    ] {
        let long = answer(&with_writes(), &case, &many).unwrap();
        let [warm, cold] = [few, Effort { most_warming_ios: 0, ..few }]
            .map(|effort| answer(&with_writes(), &case, &effort).unwrap());
        assert!(long.is_steady && warm.is_steady && warm.warm_caches.write && !cold.warm_caches.write);
        let [warm, cold] = [warm, cold].map(|few| few.latency_ns.mean / long.latency_ns.mean - 1.0);
        println!("against a long simulation: {warm:.3} begun warm, {cold:.3} begun empty");
        assert!(warm.abs() < 0.04 && cold.abs() > 0.1, "{warm} {cold}");
    }
}

/// Solid-state drives of a few gigabytes in a RAID level, so that passes over all of them can be simulated.
fn with_small_drives(name: &str, capacity: &str) -> Configuration {
    Configuration::load(name).unwrap().with("drives.capacity", &json!(capacity)).unwrap()
}

/// Proves that an answer about writes in order has the level at which simulated passes end on drives that were rewritten at random before, over
/// all of each drive or a part; and that drives which are left so are far below it.
#[test]
fn writes_in_order_have_the_level_of_many_passes() {
    let few = Effort { ios: 40_000, most_ios: 80_000, ..Effort::FULL };
    let many = Effort { ios: 800_000, most_ios: 800_000, most_warming_ios: 0, ..Effort::FULL };
    for (array, load, apart, below) in [
        (Configuration::load("small-flash").unwrap(), "rw=write,bs=256k,iodepth=8,numjobs=2", 0.05, 0.75),
        (with_small_drives("host-raid10-nvme", "8GB"), "rw=write,bs=256k,iodepth=8,numjobs=2", 0.05, 0.75),
        (with_small_drives("server-raid-card", "4GB"), "rw=write,bs=256k,iodepth=8,numjobs=1", 0.05, 0.75),
        (with_small_drives("linux-md-nvme", "8GB"), "rw=write,bs=1m,iodepth=8,numjobs=4", 0.05, 0.75),
        (with_small_drives("host-raid10-nvme", "8GB"), "rw=rw,bs=64k,iodepth=32,numjobs=2,size=4g", 0.1, 0.9),
    ] {
        let case = LoadSource::read(&format!("fio:runtime=36000,{load}")).unwrap().case;
        let long = answer(&array, &case, &many).unwrap();
        let own = answer(&array, &case, &few).unwrap();
        let at_random = answer(&array.with("condition", &json!("steady")).unwrap(), &case, &few).unwrap();
        let of_long = |iops: f64| iops / long.iops;
        println!("{} {load}: {:.3}, {:.3}", array.name, of_long(own.iops), of_long(at_random.iops));
        assert!(
            own.preconditioned_by_load && !long.preconditioned_by_load && !at_random.preconditioned_by_load
        );
        assert!((of_long(own.iops) - 1.0).abs() < apart, "{} of {}", own.iops, long.iops);
        assert!(of_long(at_random.iops) < below, "{} of {}", at_random.iops, long.iops);
    }
}

/// Proves that answers about writes that nobody chose, at random or in order, to a part of solid-state drives of several arrays, have the
/// level that a long simulation of every I/O comes to on drives that were rewritten at random all over.
#[test]
fn answers_about_drawn_writes_have_the_level_of_long_simulations() {
    let cases = if test_support::is_long() { 40 } else { 2 };
    let mut runner = common::runner(cases);
    // Arrays with small drives, and bytes that they hold then. Reads in order beside writes in order find them in a write cache, or not, by
    // which of both has come further.
    let arrays = [("host-raid10-nvme", "8GB", 24e9), ("server-raid-card", "6GB", 24e9)];
    let strategy = (
        prop::sample::select(arrays.to_vec()),
        prop::sample::select(vec![
            ("rw=randwrite", [4_u32, 16, 64, 256]),
            ("rw=randrw,rwmixread=50", [4, 16, 64, 256]),
            ("rw=write", [64, 128, 256, 1024]),
        ]),
        (0_usize..4, 1_u32..=4, prop::sample::select(vec![4_u32, 16, 32]), 0.03_f64..0.9),
    );
    let many = Effort { ios: 3_000_000, most_ios: 3_000_000, most_warming_ios: 0, ..Effort::FULL };
    let apart = std::cell::RefCell::new(Vec::new());
    runner
        .run(&strategy, |((name, capacity, bytes), (rw, blocks), (block, jobs, iodepth, share))| {
            let load = format!(
                "fio:{rw},bs={}k,numjobs={jobs},iodepth={iodepth},size={}m,runtime=36000",
                blocks[block],
                (share * bytes / 1e6) as u64
            );
            let array = with_small_drives(name, capacity);
            let case = LoadSource::read(&load).unwrap().case;
            let (own, long) =
                (answer(&array, &case, &Effort::FULL).unwrap(), answer(&array, &case, &many).unwrap());
            let ratio = own.iops / long.iops;
            println!("{name} {load}: {:.0} of {:.0}, {ratio:.3}", own.iops, long.iops);
            apart.borrow_mut().push((ratio - 1.0).abs());
            prop_assert!((ratio - 1.0).abs() < 0.3);
            Ok(())
        })
        .unwrap();
    let mut apart = apart.into_inner();
    apart.sort_by(f64::total_cmp);
    println!(
        "apart by {:.3} in the median, {:.3} at most, of {}",
        apart[apart.len() / 2],
        apart[apart.len() - 1],
        apart.len()
    );
}

/// Proves that drives which are taken over from an answer to another rate, or about another array, are as those that are preconditioned anew,
/// and that drives with more spare space are not taken over.
#[test]
fn drives_that_are_taken_over_are_as_new_ones() {
    let few = Effort { ios: 20_000, most_ios: 20_000, ..Effort::FULL };
    let answer_to = |array: &Configuration, iops: u32| {
        let load = format!("fio:rw=randwrite,bs=64k,size=4g,numjobs=4,rate_process=poisson,rate_iops={iops}");
        let one = answer(array, &LoadSource::read(&load).unwrap().case, &few).unwrap();
        assert!(one.preconditioned_by_load);
        (one.iops, one.latency_ns.mean, one.latency_ns.p99)
    };
    let array = || with_small_drives("host-raid10-nvme", "8GB");
    let (shared, spare) = (array(), json!(0.6));
    let of_first = answer_to(&shared, 5_000);
    let of_second = answer_to(&shared, 50_000);
    assert_eq!((answer_to(&array(), 50_000), answer_to(&shared, 5_000)), (of_second, of_first));
    let of_spare = answer_to(&shared.with("drives.over_provisioning", &spare).unwrap(), 50_000);
    assert_eq!(of_spare, answer_to(&array().with("drives.over_provisioning", &spare).unwrap(), 50_000));
    assert_ne!(of_spare, of_second);
}

/// Proves that drives are left as after random writes where those of the load are uniform over all of each, where nobody knows where writes
/// come to lie, and where whoever asks says the drives' state.
#[test]
fn other_writes_leave_drives_as_after_random_ones() {
    let array = with_small_drives("host-raid10-nvme", "8GB");
    let is_by_load = |array: &Configuration, load: &str| {
        let case = LoadSource::read(&format!("fio:bs=256k,iodepth=8,{load}")).unwrap().case;
        let one = answer(array, &case, &Effort { ios: 4_000, most_ios: 8_000, ..Effort::FULL }).unwrap();
        (one.began_steady, one.preconditioned_by_load)
    };
    assert_eq!(is_by_load(&array, "rw=write"), (true, true));
    assert_eq!(is_by_load(&array, "rw=rw,rwmixread=30"), (true, true));
    assert_eq!(is_by_load(&array, "rw=write,size=6g"), (true, true));
    assert_eq!(is_by_load(&array, "rw=randwrite"), (true, false));
    assert_eq!(is_by_load(&array, "rw=randrw,size=6g"), (true, true));
    assert_eq!(is_by_load(&array, "rw=randwrite,size=6g,random_distribution=zipf:1.1"), (true, false));
    assert_eq!(is_by_load(&array, "rw=write,numjobs=2,offset_increment=4g"), (true, false));
    assert_eq!(is_by_load(&array, "rw=read"), (false, false));
    assert_eq!(is_by_load(&array.with("condition", &json!("fresh")).unwrap(), "rw=write"), (false, false));
    // Data services decide where data comes to lie.
    assert_eq!(is_by_load(&Configuration::load("reduced-flash").unwrap(), "rw=write"), (true, false));
}

//! Search of a space against a look at all of it, and bounds by arithmetic against simulations.

mod common;

use proptest::prelude::*;
use sizing::{
    Axis, Configuration, Effort, LeftOut, LoadSource, Requirement, SizeQuestion, SizeRow, State, designs,
    size, size_front,
};
use std::time::Instant;

fn question(load: &str, require: &str, states: &[State], effort: Effort) -> SizeQuestion {
    SizeQuestion {
        case: LoadSource::read(load).unwrap().case,
        capacity_bytes: None,
        written_bytes_per_day: None,
        requirements: vec![Requirement::parse(require).unwrap()],
        growth: None,
        states: states.to_vec(),
        effort,
    }
}

fn space(array: &str, axes: &[&str]) -> Vec<Configuration> {
    let axes: Vec<Axis> = axes.iter().map(|axis| Axis::parse(axis).unwrap()).collect();
    designs(&Configuration::load(array).unwrap(), &axes).unwrap().0
}

/// Least headroom of each design over its states, with its drives: those on the front.
fn front(rows: &[SizeRow]) -> Vec<(f64, f64)> {
    let mut front: Vec<(&SizeRow, f64)> = Vec::new();
    for row in rows.iter().filter(|row| row.pareto) {
        let Some(headroom) = row.headroom else { continue };
        match front.iter_mut().find(|(known, _)| known.design == row.design) {
            Some((_, least)) => *least = least.min(headroom),
            None => front.push((row, headroom)),
        }
    }
    let cost = |row: &SizeRow| row.cost_usd().or(row.drives.map(|drives| drives as f64)).unwrap();
    front.into_iter().map(|(row, headroom)| (cost(row), headroom)).collect()
}

/// Compares the fronts of both searches: each member of the exhaustive one has its match within 3 %. Returns the seconds of the search.
fn compare(designs: &[Configuration], question: &SizeQuestion) -> (f64, Vec<SizeRow>) {
    let began = Instant::now();
    let searched = size_front(designs, question, &|| ()).unwrap();
    let searched_s = began.elapsed().as_secs_f64();
    let of = |ground: LeftOut| searched.iter().filter(|row| row.left_out == Some(ground)).count();
    println!(
        "{} answers in {searched_s:.1} s; left out: {} by arithmetic, {} by comparison, {} by one point",
        searched.len(),
        of(LeftOut::Arithmetic),
        of(LeftOut::Comparison),
        of(LeftOut::Simulation)
    );
    let began = Instant::now();
    let all = size(designs, question, &|| ()).unwrap();
    let exhaustive_s = began.elapsed().as_secs_f64();
    println!("all of them in {exhaustive_s:.1} s");
    assert_eq!(all.len(), searched.len());
    for (one, other) in all.iter().zip(&searched) {
        assert_eq!((&one.design, one.state), (&other.design, other.state));
        if other.left_out.is_none() {
            assert_eq!(one.headroom, other.headroom, "a headroom that is searched for is the same");
        } else {
            assert!(!other.pareto && !other.because.is_empty(), "{other:?}");
        }
    }
    let found = front(&searched);
    for (cost, headroom) in front(&all) {
        let is_matched =
            found.iter().any(|(other, carried)| *other <= cost * 1.03 && *carried >= headroom * 0.97);
        assert!(is_matched, "{cost} {headroom}: {found:?}");
    }
    (searched_s, searched)
}

const EFFORT: Effort = Effort { ios: 15_000, most_ios: 60_000, ..Effort::FULL };

/// Effort of many answers to one load; in `make test` caches of many gigabytes begin empty.
fn short_effort() -> Effort {
    let most_warming_ios = if test_support::is_long() { Effort::FULL.most_warming_ios } else { 500_000 };
    Effort { ios: 10_000, most_ios: 60_000, most_warming_ios, ..Effort::FULL }
}

/// Proves that the search of a space finds the front of all of it, leaves designs out on both grounds, and gives the same on one thread.
#[test]
fn a_searched_space_has_the_front_of_all_of_it() {
    let (drives, caches) = match test_support::is_long() {
        true => ("drives.count=4..12/2", "cache.read=1GiB,4GiB,8GiB"),
        false => ("drives.count=4..12/4", "cache.read=1GiB,8GiB"),
    };
    let designs = space("nas-raid5", &[drives, "groups[0].layout=raid5,raid6,raid10", caches]);
    let load = "fio:rw=randrw,rwmixread=90,bs=8k,rate_iops=40,numjobs=4,rate_process=poisson,size=100g";
    let question = question(load, "mean<30ms", &[State::Healthy], EFFORT);
    let (searched_s, rows) = compare(&designs, &question);
    assert!(rows.iter().any(|row| row.left_out == Some(LeftOut::Simulation)), "{searched_s}");
    let alone = SizeQuestion { effort: Effort { threads: 1, ..EFFORT }, ..question };
    assert_eq!(size_front(&designs, &alone, &|| ()).unwrap(), rows);
}

/// Proves that designs whose links carry too little are left out without a simulation.
#[test]
fn ceilings_leave_designs_out() {
    let designs = space("all-nvme-raid6", &["links.count=2,4,8", "drives.count=16,24"]);
    let load = "fio:rw=randread,bs=64k,rate_iops=5000,numjobs=8,rate_process=poisson";
    let question = question(load, "mean<2ms", &[State::Healthy], EFFORT);
    let (_, rows) = compare(&designs, &question);
    let few = rows.iter().find(|row| row.design["links.count"] == 2 && row.drives == Some(24)).unwrap();
    assert_eq!(few.left_out, Some(LeftOut::Arithmetic), "{few:?}");
    assert!(few.points.is_empty() && few.headroom_below.is_some(), "{few:?}");
}

/// Proves that the search looks at all states: a design without redundancy is not on the front for its speed, and what cannot be compared
/// is looked at as a whole.
#[test]
fn states_are_searched_too() {
    let all = space("nas-raid5", &["drives.count=4..6/2", "groups[0].layout=raid5,raid0,raid10"]);
    let load = "fio:rw=randread,bs=8k,rate_iops=40,numjobs=4,rate_process=poisson,size=100g";
    let question = question(load, "mean<30ms", &[State::Healthy, State::DriveLost], EFFORT);
    let (_, rows) = compare(&all, &question);
    assert!(rows.iter().filter(|row| row.pareto).all(|row| row.design["groups[0].layout"] != "raid0"));
    let mut question = question;
    question.case = LoadSource::read("fio:rw=randread,bs=8k,rate_iops=40,rate_process=poisson").unwrap().case;
    let kinds = vec![Configuration::load("raid-levels").unwrap()];
    assert_eq!(size_front(&kinds, &question, &|| ()).unwrap(), size(&kinds, &question, &|| ()).unwrap());
}

/// Proves that no array carries more than its bound by arithmetic: a bound that is too low would leave out the best design.
#[test]
fn bounds_lie_above_what_is_simulated() {
    let cases = if test_support::is_long() { 40 } else { 4 };
    let mut runner = common::runner(cases);
    let names = plan::shipped_arrays().into_iter().map(|shipped| shipped.name);
    let arrays: Vec<Configuration> = names.map(|name| Configuration::load(name).unwrap()).collect();
    let strategy = (
        0_u8..=100,
        prop::sample::select(vec![4_u32, 8, 16, 64, 256]),
        any::<bool>(),
        prop::sample::select(vec!["", ",size=2g", ",size=60g"]),
    );
    let (tried, bounded) = (std::cell::Cell::new(0), std::cell::Cell::new(0));
    runner
        .run(&strategy, |(read_percent, bs_kib, is_random, size_text)| {
            // Every other array for each load in `make test`.
            tried.set(tried.get() + 1);
            let step = if test_support::is_long() { 1 } else { 2 };
            for array in arrays.iter().skip(tried.get() % step).step_by(step) {
                let rw = if is_random { "randrw" } else { "rw" };
                let load = format!(
                    "fio:rw={rw},rwmixread={read_percent},bs={bs_kib}k,rate_iops=500,numjobs=4,rate_process=poisson,runtime=600{size_text}"
                );
                let question = question(&load, "mean<10s", &[State::Healthy], short_effort());
                let bound = sizing::most_times(array, &question.case);
                if bound.is_infinite() {
                    continue;
                }
                bounded.set(bounded.get() + 1);
                let row = size(std::slice::from_ref(array), &question, &|| ()).unwrap().remove(0);
                let carried = row.headroom.unwrap();
                prop_assert!(carried <= bound, "{}: {carried} above {bound} at {load}", array.name);
            }
            Ok(())
        })
        .unwrap();
    assert!(bounded.get() > 0);
}

const MIXED: &str = "fio:rw=randrw,rwmixread=70,bs=8k,rate_iops=25,numjobs=4,rate_process=poisson,size=200g";

/// Designs of a NAS with read caches.
fn nas_designs(caches: &str, links: &str) -> Vec<Configuration> {
    let axes = ["drives.count=4..16/2", "groups[0].layout=raid5,raid6,raid10", caches, links];
    space("nas-raid5", &axes)
}

/// Proves that 504 designs of a NAS with read caches are searched in under 3 minutes on two processors with the effort of `arraylab
/// size`. Here, where other tests take the processors, one in 24 of them has a front. Prints the time.
#[test]
fn five_hundred_designs_take_minutes() {
    let (caches, links, count) = match test_support::is_long() {
        true => ("cache.read=1GiB,2GiB,4GiB,8GiB,12GiB,16GiB", "links.count=1,2,3,4", 504),
        false => ("cache.read=1GiB", "links.count=1", 21),
    };
    let designs = nas_designs(caches, links);
    assert_eq!(designs.len(), count);
    let effort = Effort { ios: 150_000, most_ios: 1_500_000, threads: 2, ..Effort::FULL };
    let began = Instant::now();
    let rows =
        size_front(&designs, &question(MIXED, "mean<30ms", &[State::Healthy], effort), &|| ()).unwrap();
    let searched_s = began.elapsed().as_secs_f64();
    let searched = rows.iter().filter(|row| row.left_out.is_none()).count();
    println!("{count} designs in {searched_s:.1} s, {searched} of them searched for their headroom");
    assert!(rows.iter().any(|row| row.pareto));
    assert!(!test_support::is_long() || searched_s < 180.0, "{searched_s:.0} s");
}

/// Proves that the search finds the front of a sixth of those designs, with an eighth of that effort, since all of them with all of it
/// take more than 20 minutes; of two numbers of drives and one cache here.
#[test]
fn a_sixth_of_them_has_the_front_of_all_of_it() {
    let designs = match test_support::is_long() {
        true => nas_designs("cache.read=1GiB,16GiB", "links.count=1,4"),
        false => space(
            "nas-raid5",
            &["drives.count=4..8/4", "groups[0].layout=raid5,raid6,raid10", "cache.read=1GiB"],
        ),
    };
    assert_eq!(designs.len(), if test_support::is_long() { 84 } else { 6 });
    let effort = Effort { ios: 18_750, most_ios: 187_500, ..Effort::FULL };
    compare(&designs, &question(MIXED, "mean<30ms", &[State::Healthy], effort));
}

//! Headroom against a search through every multiple.

mod common;

use proptest::prelude::*;
use serde_json::json;
use sizing::{
    Axis, Configuration, Effort, Growth, LoadSource, Requirement, SizeQuestion, SizeVerdict, State, answer,
    designs, size,
};

const EFFORT: Effort = Effort { ios: 60_000, most_ios: 400_000, ..Effort::FULL };

fn question(load: &str, require: &str, states: &[State]) -> SizeQuestion {
    let load = LoadSource::read(load).unwrap();
    load.check_rate().unwrap();
    SizeQuestion {
        case: load.case,
        capacity_bytes: None,
        written_bytes_per_day: None,
        requirements: vec![Requirement::parse(require).unwrap()],
        growth: Some(Growth::parse("30%/y:3y").unwrap()),
        states: states.to_vec(),
        effort: EFFORT,
    }
}

fn load(read_percent: u8, bs_kib: u32, iops: f64) -> String {
    format!(
        "fio:rw=randrw,rwmixread={read_percent},bs={bs_kib}k,rate_iops={},numjobs=4,rate_process=poisson,runtime=600",
        iops / 4.0
    )
}

/// Largest multiple of a load whose mean stays under a bound and that is delivered, by halving a bracket to a hundredth.
fn by_halving(array: &Configuration, read_percent: u8, bs_kib: u32, iops: f64, bound_ns: f64) -> f64 {
    let holds = |times: f64| {
        let case = LoadSource::read(&load(read_percent, bs_kib, iops * times)).unwrap().case;
        let answer = answer(array, &case, &EFFORT).unwrap();
        answer.iops >= 0.98 * iops * times && answer.latency_ns.mean <= bound_ns
    };
    let (mut low, mut high) = (1.0 / 64.0, 64.0_f64);
    if !holds(low) {
        return 0.0;
    }
    while high / low > 1.01 {
        let middle = (low * high).sqrt();
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low * high).sqrt()
}

/// Proves that the headroom of random workloads is within 3 % of that of a fine search, in at most 15 points.
#[test]
fn headroom_agrees_with_a_fine_search() {
    let cases = if test_support::is_long() { 50 } else { 5 };
    let mut runner = common::runner(cases);
    let arrays =
        ["raid-levels", "flashsystem-840", "server-raid-card"].map(|name| Configuration::load(name).unwrap());
    let strategy = (0_u8..=100, prop::sample::select(vec![4_u32, 8, 16, 64]), 1.2_f64..6.0, 0.05_f64..0.5);
    runner
        .run(&strategy, |(read_percent, bs_kib, over_idle, share)| {
            arrays.iter().try_for_each(|array| agrees(array, read_percent, bs_kib, over_idle, share))
        })
        .unwrap();
}

/// Compares both searches: a bound of some times the latency of one I/O, a rate of some share of what the array can do.
fn agrees(
    array: &Configuration,
    read_percent: u8,
    bs_kib: u32,
    over_idle: f64,
    share: f64,
) -> Result<(), TestCaseError> {
    let of = |rest: &str| {
        let text = format!("fio:rw=randrw,rwmixread={read_percent},bs={bs_kib}k,runtime=600{rest}");
        answer(array, &LoadSource::read(&text).unwrap().case, &EFFORT).unwrap()
    };
    let iops = of(",iodepth=64,numjobs=4").iops * share;
    let bound_ns = (of("").latency_ns.mean * over_idle).floor();
    let question =
        question(&load(read_percent, bs_kib, iops), &format!("mean<{bound_ns}ns"), &[State::Healthy]);
    let row = &size(std::slice::from_ref(array), &question, &|| ()).unwrap()[0];
    prop_assert!(row.points.len() <= 15, "{} points", row.points.len());
    let fine = by_halving(array, read_percent, bs_kib, iops, bound_ns);
    let found = row.headroom.unwrap();
    let off = if fine > 0.0 { found / fine - 1.0 } else { found };
    let points: Vec<String> = row
        .points
        .iter()
        .map(|point| format!("{:.2}: {:.0} ns, {}", point.times, point.mean_ns, point.kept_up))
        .collect();
    prop_assert!(
        off.abs() <= 0.03,
        "{}: {found} against {fine} at {read_percent} % reads of {bs_kib}k, {iops} IOPS, under {bound_ns} ns; {points:?}",
        array.name
    );
    Ok(())
}

/// Proves that no range goes beyond what the links carry at their line rate, however little is known of the array behind them: 147 MB a
/// second over a 1 Gb link fail and are not too close to call; and that a rate which somebody assumes, or fitted, ends no range.
#[test]
fn ranges_end_at_the_line_rate_of_the_links() {
    let nas = Configuration::load("nas-raid5").unwrap();
    let effort = Effort { ios: 5_000, most_ios: 20_000, ..Effort::FULL };
    let requested = 140.0;
    let load = format!("fio:rw=read,bs=1m,numjobs=2,size=100g,rate_iops={},runtime=600", requested / 2.0);
    let question = SizeQuestion { effort, ..question(&load, "mean<100ms", &[State::Healthy]) };
    let of = |array: &Configuration| size(std::slice::from_ref(array), &question, &|| ()).unwrap().remove(0);
    let row = of(&nas);
    assert_eq!(row.links_bytes_per_s, Some(117e6));
    let most = 1.13 * 117e6 / (requested * 1048576.0);
    let [low, high] = row.headroom_95.unwrap();
    assert!((high - most).abs() < 1e-9 && low < row.headroom.unwrap(), "{low} to {high}, {most}");
    assert_eq!(row.verdict, SizeVerdict::Fails, "{row:?}");
    let unpaced =
        LoadSource::read("fio:rw=read,bs=1m,numjobs=2,iodepth=8,size=100g,runtime=600").unwrap().case;
    let closed = answer(&nas, &unpaced, &effort).unwrap();
    assert!((closed.iops_95[1] * 1048576.0 - 1.13 * 117e6).abs() < 1.0, "{:?}", closed.iops_95);
    // Sixteen I/Os are outstanding, whatever they take: one and the same limit in both ranges.
    let outstanding =
        [closed.latency_ns.mean * closed.iops, closed.latency_ns.mean_95[0] * closed.iops_95[1]];
    assert!(outstanding.iter().all(|one| (one / 16e9 - 1.0).abs() < 0.02), "{outstanding:?}");

    let assumed = of(&nas.with("fabric.rate", &json!("117MB/s")).unwrap());
    assert_eq!((assumed.links_bytes_per_s, assumed.verdict), (None, SizeVerdict::TooCloseToCall));
    let dorado = answer(&Configuration::load("dorado-2100-g2").unwrap(), &unpaced, &effort).unwrap();
    assert_eq!(dorado.links_bytes_per_s, None);
    let switched = answer(&nas.with("links", &json!("off")).unwrap(), &unpaced, &effort).unwrap();
    assert!(switched.iops > closed.iops_95[1] && switched.links_bytes_per_s.is_none(), "{switched:?}");
}

/// Proves that latencies far beyond saturation do not mislead the search: here it ended a third too high.
#[test]
fn overload_does_not_mislead_the_search() {
    let array = Configuration::load("server-raid-card").unwrap();
    agrees(&array, 68, 4, 5.549_684_338_010_413_5, 0.05).unwrap();
}

/// Proves that states lower or keep the headroom as they must, that a RAID 0 fails without a drive, and that a state which the model lacks
/// is never called met.
#[test]
fn states_are_judged() {
    let array = Configuration::load("raid-levels").unwrap().with("raid", &json!(6)).unwrap();
    let question = question(&load(70, 8, 400.0), "mean<60ms", &State::ALL);
    let rows = size(&[array], &question, &|| ()).unwrap();
    let of = |state: State| rows.iter().find(|row| row.state == state).unwrap();
    assert_eq!(of(State::Healthy).verdict, SizeVerdict::Meets, "{:?}", of(State::Healthy));
    let healthy = of(State::Healthy).headroom.unwrap();
    assert!(of(State::DriveLost).headroom.unwrap() < healthy, "{:?}", of(State::DriveLost));
    assert!(of(State::Rebuilding).headroom.unwrap() < healthy, "{:?}", of(State::Rebuilding));
    assert_eq!(of(State::NodeLost).verdict, SizeVerdict::NotModelled);
    // It has one controller, without which nothing can be reached.
    assert_eq!(of(State::ControllerLost).verdict, SizeVerdict::Fails);
    let nodes = Configuration::load("replicas-12-nodes").unwrap();
    assert!(!State::of_arrays(std::slice::from_ref(&nodes)).contains(&State::ControllerLost));
    let states = vec![State::Healthy, State::ControllerLost, State::NodeLost];
    let lost = SizeQuestion { states, ..question.clone() };
    let of_nodes = size(&[nodes], &lost, &|| ()).unwrap();
    assert_eq!(of_nodes[1].verdict, SizeVerdict::NotModelled);
    // A twelfth of the replicas is missing, and not written.
    let written = |row: usize| of_nodes[row].write_amplification.unwrap();
    assert!((written(2) / written(0) - 11.0 / 12.0).abs() < 0.01, "{} and {}", written(0), written(2));
    assert_eq!((written(0).round(), of_nodes[2].verdict), (3.0, SizeVerdict::Meets));
    assert!(of(State::Healthy).breaks_in_year.is_some() || healthy > 2.197, "{healthy}");
    let [low, high] = of(State::Healthy).headroom_95.unwrap();
    assert!(low <= healthy && healthy <= high);
    let stripe = Configuration::load("host-raid10-nvme").unwrap().with("layout", &json!("raid0"));
    if let Ok(stripe) = stripe {
        let rows =
            size(&[stripe], &SizeQuestion { states: vec![State::DriveLost], ..question }, &|| ()).unwrap();
        assert_eq!(rows[0].verdict, SizeVerdict::Fails);
        assert_eq!(rows[0].headroom, Some(0.0));
    }
}

/// Proves that a lost drive is one of the group whose loss leaves least: of a read cache on drives only what it kept is lost, which a load
/// that it serves misses, and a load over all of the disks misses one of them.
#[test]
fn a_drive_may_be_lost_of_any_group() {
    let array = Configuration::load("hybrid-read-cache").unwrap().with("cache.read", &json!("1MiB")).unwrap();
    let effort = Effort { ios: 20_000, most_ios: 60_000, ..Effort::FULL };
    let headrooms = |range: &str, lost: State| {
        let load = format!(
            "fio:rw=randread,bs=8k,rate_iops=1000,rate_process=poisson,numjobs=4,runtime=600,{range}"
        );
        let question = SizeQuestion { effort, ..question(&load, "mean<20ms", &[State::Healthy, lost]) };
        let rows = size(std::slice::from_ref(&array), &question, &|| ()).unwrap();
        [0, 1].map(|row: usize| rows[row].headroom.unwrap())
    };
    let [healthy, lost] = headrooms("size=200m", State::DriveLost);
    assert!(lost < healthy / 2.0 && lost > 0.0, "{healthy} {lost}");
    let [healthy, rebuilding] = headrooms("iodepth=1", State::Rebuilding);
    assert!(rebuilding < healthy * 0.97, "{healthy} {rebuilding}");
}

/// Proves that more drives carry more of a load that drives limit, and that the front has no design that another beats.
#[test]
fn a_space_has_its_front() {
    let array = Configuration::load("nas-raid5").unwrap();
    let space = [
        Axis::parse("drives.count=4..8/2").unwrap(),
        Axis::parse("groups[0].layout=raid5,raid6,raid0").unwrap(),
    ];
    let (designs, refused) = designs(&array, &space).unwrap();
    assert_eq!((designs.len(), refused.len()), (9, 0), "{refused:?}");
    let question = question(&load(100, 8, 100.0), "mean<30ms", &[State::Healthy]);
    let rows = size(&designs, &question, &|| ()).unwrap();
    let of = |drives: u64, layout: &str| {
        rows.iter()
            .find(|row| row.drives == Some(drives) && row.design["groups[0].layout"] == layout)
            .unwrap()
    };
    assert!(of(8, "raid5").headroom.unwrap() > 1.5 * of(4, "raid5").headroom.unwrap());
    assert!(rows.iter().any(|row| row.pareto));
    for row in &rows {
        let is_beaten = rows.iter().any(|other| {
            let (drives, headroom) = (other.drives.unwrap(), other.headroom.unwrap());
            drives <= row.drives.unwrap()
                && headroom >= row.headroom.unwrap()
                && (drives < row.drives.unwrap() || headroom > row.headroom.unwrap())
        });
        assert_eq!(row.pareto, !is_beaten, "{row:?}");
    }
}

/// Proves that answers about writes which drives cannot keep up with are those of full buffers: many times as many I/Os give the same
/// level within 3 %.
#[test]
fn levels_are_those_of_full_buffers() {
    let long = Effort { ios: 9_000_000, most_ios: 10_000_000, ..Effort::FULL };
    let loads = [("micron-9550-max", "rw=randwrite"), ("micron-9550-max", "rw=randrw,rwmixread=70")];
    for (array, load) in loads {
        let configuration = Configuration::load(array).unwrap();
        let case =
            LoadSource::read(&format!("fio:{load},bs=4k,numjobs=16,iodepth=32,runtime=60")).unwrap().case;
        let [own, long] =
            [&Effort::FULL, &long].map(|effort| answer(&configuration, &case, effort).unwrap().iops);
        assert!((own / long - 1.0).abs() < 0.03, "{array} {load}: {own}, in the long run {long}");
    }
}

//! Price, power, endurance and rebuild of arrays that are sized.

use serde_json::{Value, json};
use sizing::{
    Axis, Configuration, Effort, LoadSource, Requirement, SizeQuestion, SizeRow, State, designs, size,
};

fn question(load: &str, state: State) -> SizeQuestion {
    let load = LoadSource::read(load).unwrap();
    SizeQuestion {
        case: load.case,
        capacity_bytes: None,
        written_bytes_per_day: None,
        requirements: vec![Requirement::parse("mean<500ms").unwrap()],
        growth: None,
        states: vec![state],
        effort: Effort { ios: 40_000, most_ios: 300_000, ..Effort::FULL },
    }
}

fn row(array: &Configuration, question: &SizeQuestion) -> SizeRow {
    size(std::slice::from_ref(array), question, &|| ()).unwrap().remove(0)
}

fn with(name: &str, values: &[(&str, Value)]) -> Configuration {
    let changes: Vec<(&str, &Value)> = values.iter().map(|(key, value)| (*key, value)).collect();
    Configuration::load(name).unwrap().with_all(&changes).unwrap()
}

/// Proves that endurance is the rating over what mirrors write for a workload's bytes, that a rate without bytes a day is taken to last
/// all day, and that drives without a rating have no endurance.
#[test]
fn endurance_is_the_rating_over_what_is_written() {
    const LOAD: &str =
        "fio:rw=randwrite,bs=16k,rate_iops=5000,numjobs=4,rate_process=poisson,runtime=600,size=200g";
    let rated = with("host-raid10-nvme", &[("drives.endurance", json!("1DWPD/5y"))]);
    let mut question = question(LOAD, State::Healthy);
    question.written_bytes_per_day = Some(1_000_000_000_000);
    let found = row(&rated, &question);
    assert!((found.write_amplification.unwrap() - 2.0).abs() < 0.02, "{found:?}");
    assert!(found.flash_write_amplification.unwrap() >= 1.0, "{found:?}");
    // 1.6 TB a day for five years on each of six drives, two copies of 1 TB a day over them.
    let expected = 1.6 * 5.0 / (2.0 / 6.0);
    assert!((found.endurance_years.unwrap() / expected - 1.0).abs() < 0.02, "{found:?} {expected}");
    question.written_bytes_per_day = None;
    let all_day = row(&rated, &question).endurance_years.unwrap();
    let tb_per_day = 20_000.0 * 16_384.0 * 86_400.0 / 1e12;
    assert!((all_day * tb_per_day / expected - 1.0).abs() < 0.05, "{all_day} {expected} {tb_per_day}");
    let unrated = row(&Configuration::load("host-raid10-nvme").unwrap(), &question);
    assert_eq!((unrated.endurance_years, unrated.cost_usd()), (None, None));
}

/// Proves that drives are not said to be spared what a cache keeps as long as the simulation goes: there is no amplification then, and that
/// of a cache that began as after hours is that of writes that go past it.
#[test]
fn what_a_cache_keeps_is_no_saving() {
    const LOAD: &str = "fio:rw=randwrite,bs=8k,rate_iops=5000,numjobs=4,rate_process=poisson,runtime=600";
    let array = Configuration::load("all-nvme-raid6").unwrap();
    let mut cold = question(LOAD, State::Healthy);
    cold.effort.most_warming_ios = 0;
    assert_eq!(row(&array, &cold).write_amplification, None);
    for state in [State::CacheOff, State::Healthy] {
        let found = row(&array, &question(LOAD, state));
        assert!(found.write_amplification.unwrap() > 2.9, "{found:?}");
    }
}

/// Proves that a simulated rebuild takes as long as arithmetic says where the described rate limits it, and longer where the disks do.
#[test]
fn rebuilds_are_simulated() {
    const LOAD: &str = "fio:rw=randread,bs=8k,rate_iops=2,numjobs=2,rate_process=poisson";
    let simulated = |rate: &str| {
        let array = with("nas-raid5", &[("rebuild.rate", json!(rate))]);
        row(&array, &question(LOAD, State::Rebuilding)).rebuild_s.unwrap()
    };
    let arithmetic = |bytes_per_s: f64| 4e12 / bytes_per_s;
    let (slow, fast) = (simulated("20MB/s"), simulated("2GB/s"));
    assert!((slow / arithmetic(20e6) - 1.0).abs() < 0.1, "{slow}");
    // The outermost track of these disks is written at 180 MB/s.
    assert!(fast > arithmetic(180e6), "{fast}");
    let array = with("nas-raid5", &[("rebuild.rate", json!("2GB/s")), ("rebuild.delay", json!("10s"))]);
    let healthy = row(&array, &question(LOAD, State::Healthy)).rebuild_s.unwrap();
    assert!((healthy - arithmetic(2e9) - 10.0).abs() < 1.0, "{healthy}");
}

/// Proves that the price is the sum over all parts and the front is over it where all designs have one, and that one part without a
/// price leaves both to the number of drives.
#[test]
fn the_front_is_over_prices() {
    let priced = with(
        "nas-raid5",
        &[
            ("fabric.price_usd", json!(0)),
            ("cache.price_usd", json!(0)),
            ("drives.price_usd", json!("99.5")),
            ("controllers.price_usd", json!(500)),
        ],
    );
    let question =
        question("fio:rw=randread,bs=8k,rate_iops=20,numjobs=2,rate_process=poisson", State::Healthy);
    let space = [Axis::parse("controllers.price_usd=500,700").unwrap()];
    let (all, _) = designs(&priced, &space).unwrap();
    let rows = size(&all, &question, &|| ()).unwrap();
    let of = |row: &SizeRow| (row.cost_usd(), row.pareto);
    assert_eq!((of(&rows[0]), of(&rows[1])), ((Some(898.0), true), (Some(1098.0), false)));
    let unpriced = priced.with("drives.price_usd", &json!("unknown")).unwrap();
    let (all, _) = designs(&unpriced, &space).unwrap();
    let rows = size(&all, &question, &|| ()).unwrap();
    assert_eq!((of(&rows[0]), of(&rows[1])), ((None, true), (None, true)));
    assert_eq!(rows[0].bill.as_ref().unwrap().without_price, ["groups[0].drives"]);
}

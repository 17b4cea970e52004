//! Bottlenecks of cases, on synthetic runs with counters of parts.

mod synthetic;

use findings::{Fact, Findings};
use synthetic::{Run, Series, busy};

/// By what the load of many is limited, as (`by`, `because`): beside one I/O alone in 500 µs, writes at this rate and latency on
/// drives that are busy for this share.
fn limit(iops: f64, latency_ns: f64, share: f64) -> (String, String) {
    let alone = Series::level(2_000.0, 1.0, 500_000.0, 0.0, 4096.0);
    let many = Series::level(iops, 0.0, 0.0, latency_ns, 4096.0);
    let run = Run::new("own")
        .case("alone", "alone", &[("rw", "randread"), ("bs", "4k"), ("iodepth", "1")], &alone)
        .case("many", "many", &[("rw", "randwrite"), ("bs", "4k"), ("iodepth", "64")], &many);
    let mut observation = run.observation();
    observation.cases[1].busy =
        (0..24).map(|number| busy("drive", &format!("drive-{number}"), "bus", share)).collect();
    let found = Findings::of(observation);
    let mut limits = found.all.iter().filter(|finding| finding.stage == "many").filter_map(|finding| {
        match &finding.fact {
            Fact::Limit(limit) => Some((limit.by.clone(), limit.because.to_string())),
            _ => None,
        }
    });
    limits.next().unwrap()
}

/// Proves that thousands of I/Os in a queue are not said to be too few: where latency is mostly waiting, the limit is the part that
/// is busy most, though its like are never all full at once, and nobody where none is busy half the time.
#[test]
fn who_waits_is_not_short_of_load() {
    let (by, because) = limit(47_500.0, 86e6, 0.77);
    assert_eq!(by, "drive", "{because}");
    assert!(because.contains("77 %") && because.contains("86 ms") && because.contains("500 µs"), "{because}");
    assert_eq!(limit(47_500.0, 86e6, 0.30).0, "unknown");
}

/// Proves that one full controller of two is the limit, and so are the few drives that do most of the work, though the mean of their
/// like is far from full; and that one full drive among busy ones is neither the limit nor passed over.
#[test]
fn a_load_that_is_not_even_is_told() {
    let limit = |shares: &[f64]| {
        let level = Series::level(60_000.0, 1.0, 1e6, 0.0, 4096.0);
        let settings = [("rw", "randread"), ("bs", "4k"), ("iodepth", "64")];
        let mut observation = Run::new("own").case("one", "one", &settings, &level).observation();
        observation.cases[0].busy = vec![busy("link", "link-0", "to_host", 0.3)];
        observation.cases[0].busy.extend(
            shares
                .iter()
                .enumerate()
                .map(|(number, share)| busy("drive", &format!("drive-{number}"), "bus", *share)),
        );
        let found = Findings::of(observation);
        let limit = found.all.iter().find_map(|finding| match &finding.fact {
            Fact::Limit(limit) => Some((limit.by.clone(), limit.because.to_string())),
            _ => None,
        });
        limit.unwrap()
    };
    let (by, because) = limit(&[0.97, 0.05]);
    assert_eq!(by, "drive", "{because}");
    assert_eq!(
        because,
        "the buses of 2 drives are busy 51 % of the time in the mean, the busiest 97 %: the load is not even"
    );
    let mut few = vec![0.01; 96];
    few[..10].fill(0.93);
    assert_eq!(limit(&few).0, "drive");
    let mut rebuilt = vec![0.3; 24];
    rebuilt[0] = 0.95;
    let (by, because) = limit(&rebuilt);
    assert_eq!(by, "concurrency");
    assert!(because.starts_with("no kind of part is full (at most, "), "{because}");
    assert!(limit(&[0.3; 24]).1.starts_with("no part is full (at most, "));
}

/// Proves that a volume's limit is named before a part that happens to be busy.
#[test]
fn a_limit_that_was_set_limits() {
    let level = Series::level(1_000.0, 1.0, 60e6, 0.0, 4096.0);
    let mut observation =
        Run::new("own").case("one", "one", &[("rw", "randread"), ("bs", "4k")], &level).observation();
    observation.cases[0].busy = vec![busy("controller", "controller-0", "processors", 0.95)];
    observation.cases[0].limits = vec![synthetic::limit(0.0, Some(1_000.0), None)];
    let found = Findings::of(observation);
    let by = found.all.iter().find_map(|finding| match &finding.fact {
        Fact::Limit(limit) => Some(limit.by.as_str()),
        _ => None,
    });
    assert_eq!(by, Some("rate"));
}

/// Proves that more I/Os outstanding are said to do more where hardly any wait, and where there are fewer than parts.
#[test]
fn who_hardly_waits_is() {
    assert_eq!(limit(60_000.0, 1e6, 0.77).0, "concurrency");
    assert_eq!(limit(2_000.0, 8e6, 0.77).0, "concurrency");
    assert_eq!(limit(60_000.0, 1e6, 0.97).0, "drive");
}

/// Proves that threads of hosts which are busy most of the time limit, whether they are full or not, before too few I/Os
/// outstanding do; and that they don't where they are idle most of the time, where a part of the array is busier, or where most of
/// what may be outstanding is in the array.
#[test]
fn a_host_that_takes_most_of_the_time_limits() {
    let limit_at = |read_ns: f64, threads: f64, links: f64| {
        let level = Series::level(2_400.0, 1.0, read_ns, 0.0, 4096.0);
        let settings = [("rw", "randread"), ("bs", "4k"), ("numjobs", "2"), ("iodepth", "1")];
        let mut observation = Run::new("own").case("one", "one", &settings, &level).observation();
        observation.cases[0].busy =
            vec![busy("hosts", "hosts", "threads", threads), busy("link", "link-0", "to_host", links)];
        let found = Findings::of(observation);
        let limit = found.all.iter().find_map(|finding| match &finding.fact {
            Fact::Limit(limit) => Some((limit.by.clone(), limit.part.clone(), limit.because.to_string())),
            _ => None,
        });
        limit.unwrap()
    };
    let limit = |threads, links| limit_at(200_000.0, threads, links);
    for threads in [0.76, 0.99] {
        let (by, part, because) = limit(threads, 0.06);
        assert_eq!((by.as_str(), part.as_str()), ("generator", "hosts threads"));
        assert!(because.starts_with("the threads of the hosts are busy"), "{because}");
    }
    assert!(limit(0.76, 0.06).2.ends_with("no part of the array more than 6 %"));
    assert_eq!(limit(0.30, 0.06).0, "concurrency");
    assert_eq!(limit(0.76, 0.95).0, "link");
    assert_eq!(limit_at(500_000.0, 0.76, 0.06).0, "concurrency");
}

/// Proves that a case which stood still for more than a tenth of the time is not short of load, unless a part is full over all of it;
/// and that intervals in which a slow load completes nothing by chance are no standstill.
#[test]
fn who_stood_still_is_not_short_of_load() {
    let limit = |writes: &[f64], share: f64| {
        let settings = [("rw", "randwrite"), ("bs", "4k"), ("iodepth", "8")];
        let series = Series::of(writes.iter().map(|&iops| (0.0, iops, 0.0, 1e6)), 5.0, 4096.0);
        let mut observation = Run::new("own").case("one", "one", &settings, &series).observation();
        observation.cases[0].busy = vec![busy("drive", "drive-0", "bus", share)];
        let found = Findings::of(observation);
        let limit = found.all.iter().find_map(|finding| match &finding.fact {
            Fact::Limit(limit) => Some((limit.by.clone(), limit.idle_percent, limit.because.to_string())),
            _ => None,
        });
        limit.unwrap()
    };
    let stood_still = [8_000.0, 8_000.0, 0.0, 0.0, 0.0];
    let (by, idle_percent, because) = limit(&stood_still, 0.3);
    assert_eq!((by.as_str(), idle_percent), ("unknown", Some(60.0)));
    assert_eq!(because, "no I/O completed in 60 % of the time; over all of it there are 3,200 IOPS");
    assert_eq!(limit(&stood_still, 0.95).0, "drive");
    let mut hiccup = [8_000.0; 12];
    hiccup[5] = 0.0;
    assert_eq!(limit(&hiccup, 0.3).0, "concurrency");
    assert_eq!(limit(&[0.2, 0.0, 0.4, 0.0, 0.2], 0.3).0, "concurrency");
}

/// Proves that a load is not short of I/Os where the run has the same with half or twice as many outstanding that does as many, and
/// that neither half as much at half the rate, nor another stage, nor a case beside an event shows that.
#[test]
fn a_level_rate_is_not_short_of_load() {
    // Eight drives would have to have more than 16 outstanding each before latency alone shows it.
    let limit = |other: (&str, f64, f64), is_disturbed: bool| {
        let settings = |depth| [("rw", "randwrite"), ("bs", "4k"), ("iodepth", depth)];
        let level =
            |outstanding: f64, iops: f64| Series::level(iops, 0.0, 0.0, outstanding / iops * 1e9, 4096.0);
        let (stage, outstanding, iops) = other;
        let mut observation = Run::new("own")
            .case("sweep", "own", &settings("8"), &level(8.0, 10_000.0))
            .case(stage, "other", &settings("other"), &level(outstanding, iops))
            .observation();
        observation.cases[0].busy =
            (0..8).map(|number| busy("drive", &format!("drive-{number}"), "bus", 0.7)).collect();
        if is_disturbed {
            observation.cases[1].moments = vec![synthetic::moment(10.0, "drive-0 fails")];
        }
        let found = Findings::of(observation);
        let limit =
            found.all.iter().filter(|finding| finding.case.as_deref() == Some("own")).find_map(|finding| {
                match &finding.fact {
                    Fact::Limit(limit) => Some((limit.by.clone(), limit.because.to_string())),
                    _ => None,
                }
            });
        limit.unwrap()
    };
    let (by, because) = limit(("sweep", 4.0, 9_800.0), false);
    assert_eq!(by, "drive", "{because}");
    assert!(because.ends_with(": 8 I/Os outstanding do 10,000 IOPS, 4 I/Os do 9,800 IOPS"), "{because}");
    let (by, because) = limit(("sweep", 15.9, 9_900.0), false);
    assert_eq!(by, "drive", "{because}");
    for (other, is_disturbed) in
        [(("sweep", 4.0, 5_000.0), false), (("other", 4.0, 9_800.0), false), (("sweep", 4.0, 9_800.0), true)]
    {
        assert_eq!(limit(other, is_disturbed).0, "concurrency", "{other:?}");
    }
}

/// Proves that I/Os of which at least half wait for room in the controllers are not said to be too few.
#[test]
fn who_waits_for_room_is_not_short_of_load() {
    let limit = |waiting_commands: f64, share: f64| {
        let settings = [("rw", "randwrite"), ("bs", "4k"), ("iodepth", "16")];
        let level = Series::level(2_000.0, 0.0, 0.0, 8e6, 4096.0);
        let mut observation = Run::new("own").case("one", "one", &settings, &level).observation();
        observation.cases[0].busy = vec![busy("drive", "drive-0", "arm", share)];
        observation.cases[0].waiting_commands = waiting_commands;
        let found = Findings::of(observation);
        let limit = found.all.iter().find_map(|finding| match &finding.fact {
            Fact::Limit(limit) => Some((limit.by.clone(), limit.waiting_commands, limit.because.to_string())),
            _ => None,
        });
        limit.unwrap()
    };
    let (by, waiting_commands, because) = limit(15.8, 0.62);
    assert_eq!((by.as_str(), waiting_commands), ("drive", Some(15.8)));
    assert!(because.ends_with(": of 16 I/Os outstanding 15.8 wait for room in the controllers"), "{because}");
    assert_eq!(limit(15.8, 0.3).0, "unknown");
    assert_eq!(limit(7.5, 0.62).0, "concurrency");
    assert_eq!(limit(0.0, 0.62).1, None);
}

//! The threads of hosts as a counted part.

mod common;

use common::{array, settings};
use load::{LoadShape, LoadSpec, NEVER_STOPPED, Pattern};
use serde_json::Value;
use std::ops::ControlFlow;
use twin::Twin;

const SECOND_NS: u64 = 1_000_000_000;

/// IOPS of a second of 4K random reads, how many threads the hosts had, and what share of the time these were busy.
fn busy(name: &str, host: &str, numjobs: u32, iodepth: u32) -> (f64, u64, f64) {
    let given: &[(&str, Value)] = &[(host, "off".into())];
    let given = if host.is_empty() { &[] } else { given };
    let mut twin = Twin::build(&array(name), &settings(given), 1).unwrap();
    let spec = LoadSpec {
        pattern: Pattern::Randread,
        rwmixread: 100,
        bs_bytes: 4096,
        numjobs,
        iodepth,
        offset_bytes: 0,
        size_bytes: None,
        rate_iops: None,
        ramp_ns: 0,
        runtime_ns: SECOND_NS,
        interval_ns: SECOND_NS,
        seed: 1,
        shape: LoadShape::default(),
    };
    let mut ios = 0;
    twin.run(&spec, &NEVER_STOPPED, &mut |_, sample| {
        ios += sample.read.ios;
        ControlFlow::Continue(())
    })
    .unwrap();
    let counters = twin.counters();
    let counted = |name: &str| {
        let of_hosts = counters.iter().filter(|counter| ["host", "hosts"].contains(&counter.entity.as_str()));
        of_hosts.filter(|counter| counter.name == name).map(|counter| counter.value).sum::<u64>()
    };
    let threads = counted("fill_threads");
    (ios as f64, threads, counted("threads_busy_ns") as f64 / SECOND_NS as f64 / threads as f64)
}

/// Proves that threads are counted by what they take: on the FlashSystem the 620 µs that its hosts delay an I/O, of as many threads
/// as I/Os are outstanding; on the Dorado all of the time of a job that is asked for more than it can do; on hard disks next to
/// nothing. Switched off, they take nothing, and the same load does more where they took most.
#[test]
fn threads_are_counted_by_what_they_take() {
    let (iops, threads, share) = busy("flashsystem-840", "", 2, 1);
    assert_eq!(threads, 2);
    assert!(share > 0.5 && (share - iops * 620e-6 / 2.0).abs() < 0.01, "{share} at {iops} IOPS");
    let (iops_without, _, share) = busy("flashsystem-840", "host", 2, 1);
    assert!(share == 0.0 && iops_without > 2.0 * iops, "{iops_without} for {iops} IOPS");
    assert_eq!(busy("flashsystem-840", "", 2, 3).1, 6);

    let (iops, threads, share) = busy("dorado-2100-g2", "", 2, 64);
    assert_eq!(threads, 2);
    assert!((0.98..1.02).contains(&share), "{share}");
    let (iops_without, _, share) = busy("dorado-2100-g2", "host", 2, 64);
    assert!(share == 0.0 && iops_without > 1.03 * iops, "{iops_without} for {iops} IOPS");

    let (_, threads, share) = busy("raid-levels", "", 2, 4);
    assert!(threads == 8 && share > 0.0 && share < 0.02, "{threads} threads, {share}");
    assert_eq!(busy("raid-levels", "processors", 2, 4).2, 0.0);
}

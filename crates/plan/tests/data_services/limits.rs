//! Limits of volumes with burst credits.

use std::ops::ControlFlow;

use load::{LoadSpec, NEVER_STOPPED, Pattern, Random, Sample, run_simulated};

use super::{ARRAY, count, load, run, twin_of};

/// The small array with a limit of its volume.
fn limited(limit: &str) -> String {
    ARRAY.replace("size: 1GiB }", &format!("size: 1GiB, limit: {{ {limit} }} }}"))
}

/// Proves that bursts go on until the bucket is empty and at its rate, that an empty bucket holds the volume to its limit, that no
/// interval has more than bucket and limit allow, and that an idle bucket fills no higher than its depth.
#[test]
fn credits_never_exceed_their_bucket() {
    let text = limited("iops: 1000, burst_iops: 10000, io_credits: 9000");
    let mut twin = twin_of(&text, &[]);
    // 9,000 credits at 10,000 − 1,000 a second: a second of bursts.
    let mut rates = Vec::new();
    let spec = LoadSpec { interval_ns: 100_000_000, ..load(Pattern::Randread, 4096, 32, 3000) };
    run_simulated(&mut twin, &spec, &NEVER_STOPPED, &mut |_, sample: Sample| {
        rates.push(sample.read.ios * 10);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(rates[..9].iter().all(|rate| (9_900..=10_330).contains(rate)), "{rates:?}");
    assert!(rates[12..].iter().all(|rate| (980..=1_010).contains(rate)), "{rates:?}");
    let total: u64 = rates.iter().sum::<u64>() / 10;
    assert!((11_900..=12_050).contains(&total), "9,000 credits and 3 s at the limit: {total}");
    // Ten seconds fill the bucket to 9,000, an hour does not fill it further.
    for idle_s in [10u64, 3600] {
        let now_ns = load::Device::now_ns(&twin);
        load::Device::next_completion(&mut twin, now_ns + idle_s * 1_000_000_000);
        let total = run(&mut twin, &load(Pattern::Randread, 4096, 32, 3000));
        assert!((11_900..=12_060).contains(&total.ios), "{idle_s}: {total:?}");
    }
}

/// Proves that credits last as the published rule of AWS's `gp2` says for a volume of 100 GiB: 300 I/Os a second, bursts of 3,000, 5.4 million
/// credits (2,000 s with what the bucket takes in meanwhile, 1,800 without), here a hundredth of it, within 1 %.
#[test]
fn credits_last_as_the_published_rule_says() {
    let text = limited("iops: 300, burst_iops: 3000, io_credits: 54000");
    let mut rates = Vec::new();
    let spec = LoadSpec { interval_ns: 100_000_000, ..load(Pattern::Randread, 16_384, 32, 30_000) };
    run_simulated(&mut twin_of(&text, &[]), &spec, &NEVER_STOPPED, &mut |_, sample: Sample| {
        rates.push(sample.read.ios);
        ControlFlow::Continue(())
    })
    .unwrap();
    let burst_s = rates.iter().take_while(|&&ios| ios > 200).count() as f64 / 10.0;
    assert!((burst_s / 20.0 - 1.0).abs() < 0.01, "{burst_s} s");
}

/// Proves that the credits that are left are those of a full bucket and what it took in, less one for each I/O, while the bucket is
/// neither full nor empty, that none are left afterwards, and that the time at the rate of the limit is that since then.
#[test]
fn counters_account_for_every_credit() {
    let mut twin = twin_of(&limited("iops: 1000, burst_iops: 10000, io_credits: 9000"), &[]);
    assert_eq!(count(&twin, "limits", "fill_io_credits"), 9000);
    run(&mut twin, &load(Pattern::Randread, 4096, 32, 500));
    let (ios, left) = (count(&twin, "limits", "ios"), count(&twin, "limits", "fill_io_credits"));
    // The last 32 were handed over before their turn.
    assert!((9000 + 500 - ios).abs_diff(left) <= 32, "{left} left after {ios} I/Os");
    assert_eq!(count(&twin, "limits", "io_base_rate_ns"), 0);
    assert!(count(&twin, "limits", "delayed_ios") > ios / 2);
    run(&mut twin, &load(Pattern::Randread, 4096, 32, 2500));
    assert_eq!(count(&twin, "limits", "fill_io_credits"), 0);
    let at_limit_s = count(&twin, "limits", "io_base_rate_ns") as f64 / 1e9;
    assert!((at_limit_s - 2.0).abs() < 0.04, "{at_limit_s} s of 3 s, of which bursts take one");
}

/// Proves for random limits and loads that no more I/Os begin than bucket and limit allow, that credits never exceed their
/// bucket, that nothing is counted without limits, and that the same seed gives the same counters.
#[test]
fn random_limits_keep_their_buckets() {
    let mut random = Random::from_seed(31);
    for number in 0..30 {
        let (iops, times, credits) = (100 + random.below(5000), 2 + random.below(9), random.below(20_000));
        let text = limited(&format!("iops: {iops}, burst_iops: {}, io_credits: {credits}", iops * times));
        let mut one = twin_of(&text, &[]);
        let mut two = twin_of(&text, &[]);
        let pattern = [Pattern::Randread, Pattern::Randwrite, Pattern::Randrw][random.below(3) as usize];
        let spec = load(pattern, 4096, 1 + random.below(32) as u32, 200 + random.below(800));
        let total = run(&mut one, &spec);
        assert_eq!(run(&mut two, &spec), total, "{number}\n{text}");
        assert_eq!(one.counters(), two.counters(), "{number}\n{text}");
        let allowed = credits as f64 + iops as f64 * spec.runtime_ns as f64 / 1e9;
        assert!(total.ios as f64 <= allowed + 2.0, "{number}: {} of {allowed}\n{text}", total.ios);
        assert!(count(&one, "limits", "fill_io_credits") <= credits, "{number}\n{text}");
        assert!(count(&one, "limits", "ios") >= total.ios, "{number}\n{text}");
        let off = twin_of(&text, &[("limits", "off")]);
        assert!(off.counters().iter().all(|counter| counter.entity != "limits"));
    }
}

/// Proves that `check` has the limits of volumes as a ceiling where all of a group have some, with their bursts, in I/Os or in bytes,
/// whichever is less.
#[test]
fn limits_are_a_ceiling() {
    let of = |text: &str| {
        let parts = *plan::parse_array("array.yaml", text).unwrap().parts;
        let (sets, _) = array::sets(&parts);
        let all = array::ceilings(&parts, &sets);
        let limits = all.into_iter().filter(|one| one.part == "limits" && one.is_read);
        limits.map(|one| (one.block_bytes, one.iops)).collect::<Vec<_>>()
    };
    let two = limited("iops: 1000, burst_iops: 5000, io_credits: 9, bandwidth: 131072000B/s")
        .replace("name: v,", "name: v, count: 2,");
    assert_eq!(of(&two), [(4096, 10_000.0), (131_072, 2000.0), (1_048_576, 250.0)]);
    assert!(of(ARRAY).is_empty());
}

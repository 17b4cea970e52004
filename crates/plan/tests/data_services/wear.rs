//! Wear of rated drives.

use load::{LoadSpec, Pattern};

use super::{count, load, run, twin_of};

/// Six drives of a level, rated for so much, one of them a spare.
fn rated(layout: &str, endurance: &str) -> String {
    format!(
        "title: rated
controllers: {{ use: midrange-2023, count: 2 }}
groups: [{{ name: g, drives: {{ use: nvme-3840-tlc, count: 6{endurance} }}, layout: {layout}, segment: 64KiB, spares: 1 }}]
volumes: {{ name: v, on: g, size: 8GiB }}
"
    )
}

const RATING: &str = ", endurance: 1DWPD/5y";

fn writes(bs_bytes: u32) -> LoadSpec {
    LoadSpec { rwmixread: 0, ..load(Pattern::Randwrite, bs_bytes, 8, 500) }
}

/// Proves that rated drives count what they are given, by level as many times as written, and what flash programs for it, which without
/// collection is the same; that the days left are the rating less what was given at the mean rate; and that nothing is counted
/// without a rating, and nothing worn with the switch off.
#[test]
fn drives_wear_by_what_they_are_given() {
    for (layout, times) in [("raid5", 2.0), ("raid6", 3.0), ("raid0", 1.0)] {
        let text = rated(layout, RATING);
        let mut twin = twin_of(&text, &[("condition", "fresh")]);
        let total = run(&mut twin, &writes(4096));
        let written = total.ios as f64 * 4096.0;
        let given = count(&twin, "wear", "given_bytes");
        // Those under way at the end are counted too.
        assert!((given as f64 / written / times - 1.0).abs() < 0.02, "{layout}: {given} for {written}");
        assert_eq!(count(&twin, "wear", "programmed_bytes"), given, "{layout}");
        // One drive write a day over five years, on the five that hold data.
        let rated_bytes = 3.84e12 * 365.0 * 5.0 * 5.0;
        let per_day = given as f64 / 0.5 * 86_400.0;
        let expected = (rated_bytes - given as f64) / per_day;
        let left = count(&twin, "wear", "fill_days_left") as f64;
        assert!((left - expected).abs() <= 1.0 + 0.01 * expected, "{layout}: {left} of {expected} days");
        let mut off = twin_of(&text, &[("condition", "fresh"), ("wear", "off")]);
        assert_eq!(run(&mut off, &writes(4096)), total, "{layout}: wear changes no time");
        let counted = ["given_bytes", "programmed_bytes"].map(|name| count(&off, "wear", name));
        assert_eq!(counted, [0, 0], "{layout}");
    }
    let mut unrated = twin_of(&rated("raid5", ""), &[]);
    run(&mut unrated, &writes(4096));
    assert!(unrated.counters().iter().all(|counter| counter.entity != "wear"));
}

/// Proves that drives which collect program more than they are given, by what they moved.
#[test]
fn collection_wears_flash() {
    let mut twin = twin_of(&rated("raid5", RATING), &[("condition", "steady")]);
    run(&mut twin, &writes(4096));
    let (given, programmed) = (count(&twin, "wear", "given_bytes"), count(&twin, "wear", "programmed_bytes"));
    let sum = |name: &str| (0..6).map(|drive| count(&twin, &format!("drive-{drive}"), name)).sum::<u64>();
    assert_eq!(given, sum("host_units") * 4096);
    assert_eq!(programmed, (sum("host_units") + sum("moved_units")) * 4096);
    assert!(programmed > given + given / 10, "{programmed} for {given}");
}

//! Loss of a mirror's link and resynchronisation.

use super::{ARRAY, count, load, of_drives, run, twin, twin_of};
use load::{LoadSpec, Pattern, Random};
use serde_json::Map;
use twin::Twin;

const SECOND_NS: u64 = 1_000_000_000;

fn act(twin: &mut Twin, action: &str) {
    let now_ns = load::Device::now_ns(twin);
    twin.act(now_ns, action, &Map::new()).unwrap();
}

/// Lets time pass without load.
fn idle(twin: &mut Twin, seconds: u64) {
    idle_for(twin, seconds * SECOND_NS);
}

fn idle_for(twin: &mut Twin, duration_ns: u64) {
    let now_ns = load::Device::now_ns(twin);
    load::Device::next_completion(twin, now_ns + duration_ns);
}

/// Time from the return of the link to the moment at which the second array had everything; `None` where that has not come.
fn resynchronised_ns(twin: &mut Twin) -> Option<u64> {
    let notes = twin.take_notes();
    let at_ns = |words: &str| notes.iter().find(|note| note.says.contains(words)).map(|note| note.at_ns);
    Some(at_ns("has everything again")? - at_ns("is back")?)
}

/// Proves that each unit that was written without the link is copied once, however often it was written, and that this takes the
/// changed bytes ÷ the rate of the links: never less, and within 5 % beside the crossings, where drives are faster.
#[test]
fn changed_units_are_copied_at_the_rate_of_the_links() {
    let mut random = Random::from_seed(20);
    for number in 0..12 {
        let (ports, mb_per_s) = (1 + random.below(3), 50 + random.below(200));
        let (distance_km, round_trips) = (random.below(300), 1 + random.below(2));
        let unit_kib = 16 << random.below(4);
        let mirror = format!(
            "mirror: {{ ports: {ports}, rate: {mb_per_s}MB/s, command: 0us, distance_km: {distance_km}, round_trips: {round_trips}, \
             resync_unit: {unit_kib}KiB, resync_streams: 1024 }}"
        );
        let mut twin = twin(&mirror, &[]);
        act(&mut twin, "mirror-link-failure");
        let changed = (16 + random.below(48)) << 20;
        let pass = LoadSpec { size_bytes: Some(changed), ..load(Pattern::Write, 16_384, 16, 400) };
        let total = run(&mut twin, &pass);
        assert!(total.errors == 0 && total.ios > 2 * changed / 16_384, "{number}: {total:?}");
        assert_eq!(count(&twin, "mirror", "fill_changed_bytes"), changed, "{number}");
        assert_eq!(of_drives(&twin, 6..12, "host_units"), 0, "{number}: the second array has nothing yet");
        act(&mut twin, "mirror-link-recovery");
        idle(&mut twin, 5);
        assert_eq!(count(&twin, "mirror", "resynchronised_bytes"), changed, "{number}");
        assert_eq!(count(&twin, "mirror", "fill_changed_bytes"), 0, "{number}");
        assert!(of_drives(&twin, 6..12, "host_units") * 4096 >= changed, "{number}");
        let took_ns = resynchronised_ns(&mut twin).unwrap() as f64;
        let link_ns = changed as f64 / (ports * mb_per_s) as f64 * 1e3;
        let crossings_ns = (round_trips * 2 * distance_km * array::FIBRE_NS_PER_KM) as f64;
        assert!(took_ns >= link_ns, "{number}: {took_ns} {link_ns}\n{mirror}");
        assert!(took_ns <= 1.05 * link_ns + crossings_ns + 1e6, "{number}: {took_ns} {link_ns}\n{mirror}");
    }
}

/// Proves that a link which is lost again and again while units are copied leaves none out and copies none twice.
#[test]
fn an_interrupted_copy_goes_on() {
    let mut twin = twin("mirror: { use: fc-16g, ports: 1, resync_streams: 32 }", &[]);
    act(&mut twin, "mirror-link-failure");
    let changed = 1 << 26;
    let pass = LoadSpec { size_bytes: Some(changed), ..load(Pattern::Write, 65_536, 16, 200) };
    run(&mut twin, &pass);
    let mut behind = changed;
    for pause_ns in (0..20).map(|number| 150_000 + 37_000 * number) {
        act(&mut twin, "mirror-link-recovery");
        idle_for(&mut twin, pause_ns);
        act(&mut twin, "mirror-link-failure");
        idle_for(&mut twin, SECOND_NS);
        let left = count(&twin, "mirror", "fill_changed_bytes");
        assert!(left <= behind);
        assert_eq!(left + count(&twin, "mirror", "resynchronised_bytes"), changed);
        behind = left;
    }
    assert!(behind > 0 && behind < changed, "interrupted on the way: {behind}");
    act(&mut twin, "mirror-link-recovery");
    idle(&mut twin, 1);
    assert_eq!(count(&twin, "mirror", "resynchronised_bytes"), changed);
}

/// Proves that `resync` bounds the rate of copying.
#[test]
fn copying_keeps_to_its_rate() {
    let mut twin = twin("mirror: { use: fc-16g, resync: 100MB/s }", &[]);
    act(&mut twin, "mirror-link-failure");
    let pass = LoadSpec { size_bytes: Some(1 << 26), ..load(Pattern::Write, 65_536, 16, 200) };
    run(&mut twin, &pass);
    act(&mut twin, "mirror-link-recovery");
    idle(&mut twin, 5);
    let took_ns = resynchronised_ns(&mut twin).unwrap() as f64;
    assert!((took_ns / (f64::from(1 << 26) * 10.0) - 1.0).abs() < 0.01, "{took_ns}");
}

/// Proves that a write without the link takes what it takes on an array alone, and its round trips again once the link is back.
#[test]
fn writes_do_not_wait_for_a_lost_link() {
    let writes = LoadSpec { size_bytes: Some(1 << 26), ..load(Pattern::Randwrite, 4096, 1, 50) };
    let alone = run(&mut twin("", &[]), &writes);
    let mut mirrored = twin("mirror: { use: fc-16g, distance_km: 100 }", &[]);
    let trips_ns = 2 * 2 * 100 * array::FIBRE_NS_PER_KM;
    assert!(run(&mut mirrored, &writes).least_ns > trips_ns);
    act(&mut mirrored, "mirror-link-failure");
    let without = run(&mut mirrored, &writes);
    assert!((without.mean_ns() / alone.mean_ns() - 1.0).abs() < 0.05, "{without:?} {alone:?}");
    assert!(count(&mirrored, "mirror", "fill_changed_bytes") > 0);
    act(&mut mirrored, "mirror-link-recovery");
    idle(&mut mirrored, 2);
    assert!(run(&mut mirrored, &writes).least_ns > trips_ns);
    assert_eq!(count(&mirrored, "mirror", "fill_changed_bytes"), 0);
}

/// Proves that an array without a mirror refuses both events, and that with the mirror switched off they do nothing.
#[test]
fn only_a_mirror_loses_its_link() {
    for action in ["mirror-link-failure", "mirror-link-recovery"] {
        let mut without = twin("", &[]);
        let refused = without.act(0, action, &Map::new()).unwrap_err().to_string();
        assert!(refused.contains(action) && refused.contains("mirror:"), "{refused}");
        let mut off = twin("mirror: { use: fc-16g }", &[("mirror", "off")]);
        act(&mut off, action);
        idle(&mut off, 1);
        assert!(off.take_notes().iter().any(|note| note.says.contains("`mirror` is off")));
    }
}

/// Proves for random arrays under load that a link which is lost, comes back, and is lost again while it is resynchronised
/// fails no I/O, that in the end the second array has everything, and that the same seed gives the same counters.
#[test]
fn a_link_may_be_lost_at_any_time() {
    let arrays = if test_support::is_long() { 300 } else { 30 };
    let mut random = Random::from_seed(21);
    for number in 0..arrays {
        let layout = ["raid5", "raid6", "raid10"][random.below(3) as usize];
        let cache = ["{}", "{ write_back: 64MiB }", "{ buffered: true }"][random.below(3) as usize];
        let other =
            ["", "thin: { unit: 64KiB }\n", "reduction: { block: 8KiB }\n", "snapshots: { every: 7ms }\n"]
                [random.below(4) as usize];
        let text = ARRAY.replace("layout: raid5", &format!("layout: {layout}"))
            + &format!(
                "cache: {cache}\n{other}mirror: {{ rate: {}MB/s, distance_km: {}, resync_streams: {} }}\n",
                200 + random.below(2000),
                random.below(100),
                1 + random.below(64)
            );
        let pattern = [Pattern::Randwrite, Pattern::Randrw, Pattern::Write][random.below(3) as usize];
        let bs_bytes = [4096, 65_536, 4608][random.below(3) as usize];
        let spec = LoadSpec {
            size_bytes: Some(1 << 26),
            seed: 1 + random.below(1000),
            ..load(pattern, bs_bytes, 1 + random.below(16) as u32, 10)
        };
        let all = |twin: &mut Twin| {
            let mut totals = vec![run(twin, &spec)];
            for action in ["failure", "recovery", "failure", "recovery"] {
                act(twin, &format!("mirror-link-{action}"));
                totals.push(run(twin, &spec));
            }
            totals
        };
        let (mut one, mut two) = (twin_of(&text, &[]), twin_of(&text, &[]));
        let totals = all(&mut one);
        assert!(totals.iter().all(|total| total.errors == 0 && total.ios > 0), "{number}\n{text}");
        assert_eq!(all(&mut two), totals, "{number}\n{text}");
        assert_eq!(one.counters(), two.counters(), "{number}\n{text}");
        idle(&mut one, 5);
        assert_eq!(count(&one, "mirror", "fill_changed_bytes"), 0, "{number}\n{text}");
        assert!(count(&one, "mirror", "resynchronised_bytes") > 0, "{number}\n{text}");
        let last = one.take_notes().pop().unwrap().says;
        assert!(
            other.contains("snapshots") || last.contains("has everything again"),
            "{number}: {last}\n{text}"
        );
    }
}

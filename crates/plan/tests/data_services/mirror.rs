//! Synchronous mirror while its link is there.

use load::Pattern;

use super::{load, of_drives, run, twin};

/// Proves that a mirrored write takes at least its round trips over the fibre and both arrays have it, that reads take no longer, and
/// that a part of the distance is a part of the time.
#[test]
fn a_mirrored_write_takes_the_round_trip() {
    let writes = load(Pattern::Randwrite, 4096, 1, 50);
    let reads = load(Pattern::Randread, 4096, 1, 50);
    let alone = run(&mut twin("", &[]), &writes);
    let mut means = Vec::new();
    for (distance_km, round_trips) in [(0u64, 1u64), (50, 1), (50, 2), (100, 2)] {
        let mut mirrored = twin(
            &format!("mirror: {{ use: fc-16g, distance_km: {distance_km}, round_trips: {round_trips} }}"),
            &[],
        );
        let total = run(&mut mirrored, &writes);
        let trip_ns = round_trips * 2 * distance_km * array::FIBRE_NS_PER_KM;
        assert!(total.least_ns > trip_ns && total.mean_ns() > alone.mean_ns(), "{total:?} {trip_ns}");
        means.push(total.mean_ns());
        let (here, there) =
            (of_drives(&mirrored, 0..6, "host_units"), of_drives(&mirrored, 6..12, "host_units"));
        assert!(here.abs_diff(there) <= 4, "{here} {there}");
        let (own, with) = (run(&mut twin("", &[]), &reads), run(&mut mirrored, &reads));
        assert!((with.mean_ns() / own.mean_ns() - 1.0).abs() < 0.05, "{own:?} {with:?}");
    }
    let km_ns = 2.0 * array::FIBRE_NS_PER_KM as f64;
    assert!(((means[1] - means[0]) / (50.0 * km_ns) - 1.0).abs() < 0.05, "{means:?}");
    assert!(((means[3] - means[2]) / (100.0 * km_ns) - 1.0).abs() < 0.05, "{means:?}");
}

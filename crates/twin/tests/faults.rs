//! Persistent faults: a twin begins with those of another one of the same array.

mod common;

use common::{array, settings};
use load::{Device as _, Direction, Operation};
use serde_json::{Map, Value};
use twin::{Event, Faults, Twin};

const SECOND_NS: u64 = 1_000_000_000;

/// Runs a twin without a load.
fn run_until(twin: &mut Twin, at_ns: u64) {
    assert!(twin.next_completion(at_ns).is_none());
}

/// As it goes through a file.
fn through_json(faults: &Faults) -> Faults {
    serde_json::from_str(&serde_json::to_string(faults).unwrap()).unwrap()
}

fn arrays() -> [(&'static str, Map<String, Value>, &'static str); 3] {
    [
        ("flashsystem-840", Map::new(), "module-7"),
        ("dorado-2100-g2", Map::new(), "drive-0"),
        ("raid-levels", settings(&[("disks", 11.into()), ("raid", 6.into())]), "drive-11"),
    ]
}

/// Proves on each kind of array that a twin which begins with another's faults has the spare or the new drive in its place, no spare
/// left where none was, and goes on with the rebuild where it was: 20 s later both have rebuilt as much, within 2 %.
#[test]
fn a_rebuild_goes_on_in_another_twin() {
    for (name, settings, spare) in arrays() {
        let description = array(name);
        let build = || Twin::build(&description, &settings, 1).unwrap();
        let mut twin = build();
        twin.schedule(0, Event::DriveFailure).unwrap();
        // Where there is no spare.
        twin.schedule(SECOND_NS, Event::DriveReplacement).unwrap();
        run_until(&mut twin, 30 * SECOND_NS);
        let faults = twin.faults();
        let mut other = build();
        assert!(other.faults().is_empty() && !faults.is_empty(), "{name}");
        assert!(other.begin_with(&through_json(&faults)), "{name}: {faults:?}");
        let begun = other.faults();
        assert_eq!(begun.sets, faults.sets, "{name}");
        assert_eq!((other.part_in(0).as_str(), twin.part_in(0).as_str()), (spare, spare), "{name}");
        let stripes = |twin: &Twin| twin.faults().sets[0].rebuilt_below_stripe as f64;
        let before = stripes(&twin);
        assert!(before > 0.0, "{name}: no rebuild");
        run_until(&mut twin, 50 * SECOND_NS);
        run_until(&mut other, 20 * SECOND_NS);
        let (one, two) = (stripes(&twin) - before, stripes(&other) - before);
        assert!(one > 0.0 && (two / one - 1.0).abs() < 0.02, "{name}: {one} and {two} stripes");
        // The spare that was used is not used once more.
        let drive = u64::from(other.drive_in(0));
        other.act(20 * SECOND_NS, "drive-failure", &common::settings(&[("drive", drive.into())])).unwrap();
        run_until(&mut other, 21 * SECOND_NS);
        let sets = other.faults().sets;
        assert_eq!((sets[0].lost.as_slice(), &sets[0].spares), (&[0][..], &Vec::new()), "{name}");
    }
}

/// Proves that a firmware update goes on in another twin at the step where it was: the controllers leave and come back after
/// the same time, in the same words.
#[test]
fn an_update_goes_on_in_another_twin() {
    for name in ["flashsystem-840", "dorado-2100-g2"] {
        let build = || Twin::build(&array(name), &Map::new(), 1).unwrap();
        let mut twin = build();
        twin.schedule(0, Event::FirmwareUpdate).unwrap();
        let at_ns = 3 * SECOND_NS + 17;
        run_until(&mut twin, at_ns);
        twin.take_notes();
        let faults = twin.faults();
        assert!(faults.controllers.is_some(), "{name}");
        let mut other = build();
        other.begin_with(&through_json(&faults));
        // An idle twin's clock is at its last event.
        let now_ns = twin.time_ns();
        run_until(&mut twin, now_ns + 700 * SECOND_NS);
        run_until(&mut other, 700 * SECOND_NS);
        let later: Vec<_> =
            twin.take_notes().into_iter().map(|note| (note.at_ns - now_ns, note.says)).collect();
        let other: Vec<_> = other.take_notes().into_iter().map(|note| (note.at_ns, note.says)).collect();
        assert!(later.len() >= 3, "{name}: {later:?}");
        assert_eq!(later, other, "{name}");
    }
}

/// Proves that faults of another array are refused and change nothing: more places, drives that there are none of.
#[test]
fn faults_of_another_array_are_refused() {
    let build = |name: &str| Twin::build(&array(name), &Map::new(), 1).unwrap();
    let mut foreign = build("dorado-2100-g2").faults();
    let mut twin = build("flashsystem-840");
    let whole = twin.faults();
    assert!(!twin.begin_with(&foreign));
    assert_eq!(twin.faults(), whole);
    foreign.sets[0].fitted = (0..7).map(|place| place * 1000).collect();
    assert!(!twin.begin_with(&foreign));
    foreign.sets = whole.sets.clone();
    foreign.sets[0].lost = vec![900];
    assert!(!twin.begin_with(&foreign));
    assert_eq!(twin.faults(), whole);
    assert!(!build("storpool").begin_with(&whole));
}

/// Proves on each array that ships that drives may be lost and replaced before the first I/O, of every group, and that the array then
/// serves, though it has worked before anybody asked it to; and so does a twin that begins with these faults.
#[test]
fn faults_may_come_before_the_first_io() {
    for shipped in plan::shipped_arrays() {
        // Their rebuilds begin at once, where they have one.
        let at_once =
            plan::replace_values(shipped.name, shipped.text, &[("rebuild.delay", Value::from("0"))]);
        let text = at_once.unwrap_or_else(|_| shipped.text.to_owned());
        let description = plan::parse_array(shipped.name, &text).unwrap();
        let groups = description.parts.groups.len();
        for group in 0..groups {
            let mut twin = Twin::build(&description, &Map::new(), 1).unwrap();
            let drive = settings(&[("drive", description.parts.drives_in(group).start.into())]);
            for (at_ns, action) in [(0, "drive-failure"), (SECOND_NS, "drive-replacement")] {
                // A case's volume may be on other groups.
                let _ = twin.act(at_ns, action, &drive);
            }
            run_until(&mut twin, 3 * SECOND_NS);
            let mut other = Twin::build(&description, &Map::new(), 1).unwrap();
            other.begin_with(&twin.faults());
            run_until(&mut other, 3 * SECOND_NS);
            for twin in [&mut twin, &mut other] {
                for (tag, offset_bytes) in [(0, 0), (1, 1 << 20)] {
                    // What is read twice goes to a cache on drives.
                    for direction in [Direction::Read, Direction::Read, Direction::Write] {
                        let (length_bytes, at_ns) = (8192, twin.now_ns());
                        twin.submit(at_ns, tag, Operation { direction, offset_bytes, length_bytes, job: 0 });
                        assert!(twin.next_completion(u64::MAX).is_some(), "{}, group {group}", shipped.name);
                    }
                }
            }
        }
    }
}

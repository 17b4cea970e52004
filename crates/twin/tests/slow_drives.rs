//! A drive that becomes slow, on every kind of array.

mod common;

use common::{Run, array, counter, measure, settings};
use load::Pattern;
use serde_json::{Value, json};
use twin::{Twin, TwinError};

const READS: Run = Run {
    pattern: Pattern::Randread,
    rwmixread: 100,
    bs_bytes: 4096,
    numjobs: 1,
    iodepth: 4,
    ramp_s: 0,
    runtime_s: 1,
};

fn reported(drive: Value, factor: Value) -> serde_json::Map<String, Value> {
    settings(&[("drive", drive), ("factor", factor)])
}

/// Proves that a drive takes as many times as long as it is told to on every kind of array, that it is among the levels
/// of its part and noted for so long, and that it can be as fast as before.
#[test]
fn a_slow_drive_is_felt_and_forgotten() {
    for (name, drive, entity) in [
        ("flashsystem-840", json!(2), "module-2"),
        ("raid-levels", json!(1), "drive-1"),
        ("e2700", json!(3), "drive-3"),
        ("dorado-2100-g2", json!(4), "drive-4"),
        ("storpool", json!("node-1/nvme-2"), "node-1/nvme-2"),
    ] {
        // The same addresses are read three times.
        let without_memory = [("read_cache", json!("off")), ("drive_buffer", json!("off"))];
        let own = if name == "e2700" { settings(&without_memory) } else { settings(&[]) };
        let mut twin = Twin::build(&array(name), &own, 1).unwrap();
        let before_ms = measure(&mut twin, &READS).mean_ms();
        let at_ns = twin.time_ns();
        twin.act(at_ns, "drive-slow", &reported(drive.clone(), json!(20))).unwrap();
        let slow_ms = measure(&mut twin, &READS).mean_ms();
        assert!(slow_ms > before_ms * 1.12, "{name}: {before_ms} ms, then {slow_ms}");
        assert_eq!(counter(&twin, entity, "fill_slowness_thousandths"), 20_000);
        let again_ns = twin.time_ns();
        twin.act(again_ns, "drive-slow", &reported(drive, json!(1))).unwrap();
        let after_ms = measure(&mut twin, &READS).mean_ms();
        assert!((after_ms / before_ms - 1.0).abs() < 0.1, "{name}: {before_ms} ms, then {after_ms}");
        assert!(!twin.counters().iter().any(|counter| counter.name == "fill_slowness_thousandths"));
        let notes: Vec<_> = twin.take_notes().into_iter().map(|note| (note.at_ns, note.says)).collect();
        assert!(notes.contains(&(at_ns, format!("{entity} takes 20 times as long"))), "{notes:?}");
        assert!(notes.contains(&(again_ns, format!("{entity} is as fast as it was"))), "{notes:?}");
    }
}

/// Proves that what makes no sense of it is refused by name.
#[test]
fn what_is_no_slowness_is_refused() {
    let mut twin = Twin::build(&array("raid-levels"), &settings(&[]), 1).unwrap();
    for (drive, factor) in
        [(json!(0), json!(0.5)), (json!(0), json!("x")), (json!(99), json!(2)), (json!(0), json!(2000))]
    {
        let error = twin.act(0, "drive-slow", &reported(drive, factor)).unwrap_err();
        assert!(matches!(error, TwinError::BadSetting { .. }), "{error}");
    }
    let error = twin.act(0, "drive-slow", &settings(&[("colour", json!(1))])).unwrap_err();
    assert!(matches!(error, TwinError::UnknownArgument { .. }), "{error}");
    let error = twin.act(0, "drive-slow", &settings(&[])).unwrap_err();
    assert!(error.to_string().contains("factor"), "{error}");
}

/// Proves that a new drive in a slow one's place is as fast as described on every kind of array, and that nothing lists it as
/// slow any more.
#[test]
fn a_new_drive_is_not_slow() {
    for (name, drive, entity) in [
        ("flashsystem-840", json!(2), "module-2"),
        ("raid-levels", json!(1), "drive-1"),
        ("dorado-2100-g2", json!(4), "drive-4"),
        ("storpool", json!("node-1/nvme-2"), "node-1/nvme-2"),
    ] {
        let mut description = array(name);
        // A hot spare would take the place.
        description.parts.groups[0].keys.spares.value = 0;
        let mut twin = Twin::build(&description, &settings(&[]), 1).unwrap();
        let act = |twin: &mut Twin, action: &str, arguments: &[(&str, Value)]| {
            let at_ns = twin.time_ns();
            twin.act(at_ns, action, &settings(arguments)).unwrap();
            measure(twin, &READS);
        };
        act(&mut twin, "drive-slow", &[("drive", drive.clone()), ("factor", json!(20))]);
        assert_eq!(counter(&twin, entity, "fill_slowness_thousandths"), 20_000, "{name}");
        act(&mut twin, "drive-failure", &[("drive", drive.clone())]);
        act(&mut twin, "drive-replacement", &[("drive", drive)]);
        assert_eq!(twin.slow_drives().count(), 0, "{name}");
        assert!(!twin.counters().iter().any(|counter| counter.name == "fill_slowness_thousandths"), "{name}");
    }
}

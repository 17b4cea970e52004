//! Mechanisms that can be switched off: that each is in the documentation, and acts where no array's own test says so.

mod common;

use common::{Run, array, measure, settings};
use load::Pattern;
use serde_json::{Value, json};
use twin::Twin;

const ARRAYS: [&str; 8] = [
    "dorado-2100-g2",
    "flashsystem-840",
    "raid-levels",
    "e2700",
    "storpool",
    "composite-flash",
    "small-flash",
    "st1000nm0023",
];

/// Proves that `docs/models/switches.md` has a row for every switch of every shipped array and names the array in it, and has no
/// row of a switch that there is not.
#[test]
fn every_switch_is_in_the_documentation() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/models/switches.md");
    let page = std::fs::read_to_string(path).unwrap();
    let row = |switch: &str| page.lines().find(|line| line.starts_with(&format!("| `{switch}` |")));
    let mut known = Vec::new();
    for name in ARRAYS {
        for setting in Twin::settings(&array(name)).into_iter().filter(|setting| setting.takes == "on or off")
        {
            let row = row(setting.name).unwrap_or_else(|| panic!("{name}: no row for `{}`", setting.name));
            assert!(row.contains(name), "`{}` does not name {name}: {row}", setting.name);
            known.push(setting.name);
        }
    }
    for line in page.lines().filter_map(|line| line.strip_prefix("| `")) {
        let switch = line.split('`').next().unwrap();
        assert!(known.contains(&switch), "`{switch}` is no switch of any array");
    }
}

/// Proves that switches act whose effect no array's own test shows: each changes IOPS by 3 % or more, and most as said.
#[test]
fn switches_without_a_test_of_their_own_act() {
    let load = |pattern, bs_bytes, iodepth, ramp_s, runtime_s| Run {
        pattern,
        rwmixread: 0,
        bs_bytes,
        numjobs: 1,
        iodepth,
        ramp_s,
        runtime_s,
    };
    let hdd = ("volume", json!("hdd"));
    // 4 GiB of which the cache's 2 GiB are half.
    let small = ("volume_size", json!(2u64 << 30));
    type Case<'a> = (&'a str, &'a str, Vec<(&'a str, Value)>, Run, bool);
    let cases: [Case<'_>; 8] = [
        (
            "dorado-2100-g2",
            "volume_manager",
            vec![("host", json!("off"))],
            load(Pattern::Read, 1 << 20, 64, 0, 1),
            false,
        ),
        ("e2700", "read_cache", vec![small], load(Pattern::Randread, 32_768, 16, 60, 10), false),
        (
            "e2700",
            "parity",
            vec![("write_cache", json!("off"))],
            load(Pattern::Randwrite, 4096, 8, 0, 10),
            true,
        ),
        ("e2700", "seek", vec![], load(Pattern::Randread, 4096, 4, 0, 10), true),
        ("e2700", "rotation", vec![], load(Pattern::Randread, 4096, 4, 0, 10), true),
        (
            "raid-levels",
            "write_cache",
            vec![("write_cache", json!("on"))],
            load(Pattern::Randwrite, 512, 8, 30, 10),
            false,
        ),
        ("storpool", "write_cache", vec![hdd.clone()], load(Pattern::Randwrite, 4096, 8, 0, 5), false),
        ("storpool", "copy_on_write", vec![hdd], load(Pattern::Randwrite, 4096, 64, 30, 10), false),
    ];
    for (name, switch, own, load, is_faster_off) in cases {
        let [on, off] = ["on", "off"].map(|value| {
            let mut map = settings(&own);
            map.insert(switch.into(), value.into());
            measure(&mut Twin::build(&array(name), &map, 1).unwrap(), &load).iops()
        });
        println!("{name}: {switch} off: × {:.3}", off / on);
        assert!(
            (off / on - 1.0).abs() > 0.03 && (off > on) == is_faster_off,
            "{name}, {switch}: {on}, {off}"
        );
    }
}

/// Proves that collection slows StorPool's NVMe drives where they are nearly full and neither network nor services hold them up;
/// on the array as it ships they are an eighth full, and it costs nothing.
#[test]
fn collection_costs_full_drives_of_chains() {
    let iops = |capacity_bytes: u64, gc: &str| {
        let mut description = array("storpool");
        let array::Drives::SolidState(drive) = &mut description.parts.groups[0].drives else { panic!() };
        drive.capacity.value = capacity_bytes;
        let own = [("gc", json!(gc)), ("links", json!("off")), ("processors", json!("off"))];
        let load = Run {
            pattern: Pattern::Randwrite,
            rwmixread: 0,
            bs_bytes: 65_536,
            numjobs: 1,
            iodepth: 256,
            ramp_s: 0,
            runtime_s: 2,
        };
        measure(&mut Twin::build(&description, &settings(&own), 1).unwrap(), &load).iops()
    };
    let [full, full_without] = ["on", "off"].map(|gc| iops(112_000_000_000, gc));
    assert!(full < 0.9 * full_without, "{full} and {full_without}");
    let [shipped, without] = ["on", "off"].map(|gc| iops(960_000_000_000, gc));
    assert!((shipped / without - 1.0).abs() < 0.01, "{shipped} and {without}");
}

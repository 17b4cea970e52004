//! Remarks on cases that end before lost drives are rebuilt.

use std::sync::atomic::AtomicBool;

use campaign::{Request, prepare, run_campaign};
use store::Run;

const PLAN: &str = "title: t
defaults: { rw: randread, bs: 8k, runtime: 4 }
stages:
  whole: {}
  lost:
    events: [{ at: 10%, action: drive-failure, with: { drive: 0 } }]
";

/// Warnings of the stages `whole` and `lost`, for an array with this rebuild, group and what stands behind it.
fn warnings(rebuild: &str, group: &str, rest: &str) -> [Vec<String>; 2] {
    let directory = tempfile::tempdir().unwrap();
    let (array, plan) = (directory.path().join("array.yaml"), directory.path().join("plan.yaml"));
    let text = format!(
        "title: t\ncontrollers: {{ use: midrange-2023, count: 1 }}\nrebuild: {{ {rebuild} }}\ngroups: [{{ name: g, {group} }}]\n{rest}\n"
    );
    std::fs::write(&array, text).unwrap();
    std::fs::write(&plan, PLAN).unwrap();
    let campaign = prepare(&Request {
        plan: plan.display().to_string(),
        targets: vec![format!("twin:{}", array.display())],
        directory: directory.path().join("run"),
        seed: 1,
        ..Request::default()
    })
    .unwrap();
    let summary = run_campaign(campaign, &AtomicBool::new(false), &mut ()).unwrap();
    assert_eq!((summary.failed, summary.pending), (0, 0));
    let results = Run::open_read_only(&directory.path().join("run")).unwrap().results().unwrap();
    ["whole", "lost"].map(|stage| {
        let of_stage = results.iter().filter(|result| result.stage == stage);
        of_stage.flat_map(|result| result.warnings.clone()).collect()
    })
}

/// Proves that a case says how far a rebuild had come when its load ended, that a lost drive had no spare, and nothing where the rebuild
/// is done or no drive was lost.
#[test]
fn cases_say_what_of_a_rebuild_was_not_seen() {
    let drives = "drives: { use: nvme-3840-tlc, count: 6 }, layout: raid5";
    let (slow, quick) = ("delay: 1s, rate: 100MB/s", "delay: 1s, rate: 100GB/s, stripes: 64");
    let volume = "volumes: { name: v, on: g, size: 64MiB }";
    let spare = format!("{drives}, spares: 1");
    let [whole, lost] = warnings(slow, &spare, "volumes: { name: v, on: g }");
    assert_eq!(whole, Vec::<String>::new());
    assert_eq!(
        lost,
        ["the rebuild had come to less than 0.1 % when the load ended: what is left of it was not seen"],
        "hours of it are left"
    );
    let [_, without] = warnings(slow, drives, volume);
    assert_eq!(
        without,
        ["1 lost drive had neither a spare nor a replacement when the load ended: no rebuild was seen"]
    );
    let [_, done] = warnings(quick, &spare, volume);
    assert_eq!(done, Vec::<String>::new());
}

//! The shipped drivers against tools that answer as the vendors' do.

use diagnostic::full_text;
use driver::{
    ArrayDriver, DriverError, DriverSpec, Opening, Protection, Readiness, SetOutcome, Settings, WaitLimits,
    wait_until_ready,
};
use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Devices that the fake tools make are files that hold a size and a WWN.
struct FakeProtection {
    directory: std::path::PathBuf,
}

impl Protection for FakeProtection {
    fn check_unused(&self, device: &Path) -> Result<(), DriverError> {
        let used = fs::read_to_string(self.directory.join("used")).unwrap_or_default();
        if used.lines().any(|line| Path::new(line) == device) {
            return Err(DriverError::Protected {
                what: device.display().to_string(),
                source: "it is mounted".into(),
            });
        }
        Ok(())
    }

    fn check_consent(&self, device: &Path, consents: &[String]) -> Result<(), DriverError> {
        let id = format!("id-of-{}", device.file_name().unwrap_or_default().display());
        if consents.contains(&id) {
            return Ok(());
        }
        Err(DriverError::ConsentNeeded { what: device.display().to_string(), holds: "holds data".into(), id })
    }

    fn drive_key(&self, drive: &str) -> String {
        drive.replace("/dev/disk/by-id/", "/dev/")
    }

    fn identity(&self, device: &Path) -> Result<(u64, Option<String>), DriverError> {
        let text = fs::read_to_string(device).map_err(|error| DriverError::Protected {
            what: device.display().to_string(),
            source: error.to_string().into(),
        })?;
        let mut lines = text.lines();
        let size = lines.next().and_then(|size| size.parse().ok()).expect("a size");
        Ok((size, lines.next().filter(|wwn| !wwn.is_empty()).map(|wwn| format!("naa.{wwn}"))))
    }
}

struct FakeTools {
    directory: TempDir,
    spec: String,
    consents: Vec<String>,
}

/// One bench for each driver that makes all RAID levels.
const HARDWARE: [&str; 2] = ["openmanage", "storcli"];
const ALL: [&str; 4] = ["openmanage", "storcli", "mdadm", "lvm"];

impl FakeTools {
    fn new(name: &str) -> FakeTools {
        let directory = TempDir::new().expect("a temporary directory");
        let fake = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake/tool");
        for tool in ["omreport", "omconfig", "storcli64", "mdadm", "lvs", "vgs", "lvcreate", "lvremove"] {
            std::os::unix::fs::symlink(&fake, directory.path().join(tool)).expect("a link");
        }
        let disks: Vec<String> = (0..12).map(|n| format!("/dev/fake{n}")).collect();
        let own = match name {
            "openmanage" => "controller=0,drives=0:0:0-0:0:11".to_owned(),
            "storcli" => "controller=0,drives=252:0-11".to_owned(),
            "mdadm" => format!("drives={}", disks.join("+")),
            _ => format!("group=vg0,drives={}", disks.join("+")),
        };
        let spec = format!(
            "exec:{name},{own},size=12g,segment=64k,settle=0,poll=0.001,device_timeout=0,timeout=20,tools={}",
            directory.path().display()
        );
        let consents = (0..12).map(|n| format!("id-of-fake{n}")).collect();
        FakeTools { directory, spec, consents }
    }

    fn open(&self) -> (Box<dyn ArrayDriver>, WaitLimits) {
        self.try_open().unwrap_or_else(|error| panic!("{}", full_text(&error)))
    }

    fn try_open(&self) -> Result<(Box<dyn ArrayDriver>, WaitLimits), DriverError> {
        DriverSpec::parse(&self.spec)?.open(Opening {
            consents: &self.consents,
            protection: Box::new(FakeProtection { directory: self.directory.path().to_owned() }),
            answers: Box::new(std::io::empty()),
            questions: Box::new(std::io::sink()),
        })
    }

    fn file(&self, name: &str) -> String {
        fs::read_to_string(self.directory.path().join(name)).unwrap_or_default()
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.directory.path().join(name), text).expect("written");
    }

    fn state(&self) -> Value {
        serde_json::from_str(&self.file("state.json")).unwrap_or_else(|_| json!({ "disks": [] }))
    }

    /// Somebody else's virtual disk, over these drives.
    fn add_foreign(&self, name: &str, drives: &[&str]) {
        let device = self.directory.path().join("device-foreign");
        fs::write(&device, "1000204886016\n").expect("written");
        let mut state = self.state();
        state["next"] = json!(1);
        state["disks"] = json!([{
            "id": 0, "name": name, "raid": 5, "drives": drives, "size": 1_000_204_886_016u64, "strip": 65536,
            "policy": "WB", "naa": "600605b000000000000000000000f0f0", "init": null, "device": device,
            "tag": "production",
        }]);
        self.write("state.json", &state.to_string());
    }

    fn names(&self) -> Vec<String> {
        self.state()["disks"]
            .as_array()
            .expect("disks")
            .iter()
            .map(|disk| disk["name"].as_str().unwrap_or_default().to_owned())
            .collect()
    }
}

fn settings(raid: u64, disks: u64) -> Settings {
    let value = json!({ "raid": raid, "disks": disks, "write_cache": "off" });
    value.as_object().expect("an object").clone()
}

/// The 35 sets of the RAID test (systems.md §3).
fn sets() -> Vec<(u64, u64)> {
    let mut sets: Vec<(u64, u64)> = (2..=12).map(|disks| (0, disks)).collect();
    sets.extend([4, 6, 8, 10, 12].map(|disks| (10, disks)));
    sets.extend((3..=12).map(|disks| (5, disks)));
    sets.extend((4..=12).map(|disks| (6, disks)));
    sets
}

fn wait(driver: &mut dyn ArrayDriver, limits: WaitLimits) -> Result<u32, DriverError> {
    let mut reports = 0;
    wait_until_ready(driver, limits, &mut |_| reports += 1, &AtomicBool::new(false))?;
    Ok(reports)
}

fn full_cycle(name: &str, sets: &[(u64, u64)]) {
    let bench = FakeTools::new(name);
    let (mut driver, limits) = bench.open();
    for &(raid, disks) in sets {
        let outcome = driver
            .set(&settings(raid, disks))
            .unwrap_or_else(|error| panic!("{name}: {}", full_text(&error)));
        let SetOutcome::Made { devices, changes, .. } = outcome else {
            panic!("{name}: RAID {raid} over {disks}: {outcome:?}")
        };
        let reports =
            wait(&mut *driver, limits).unwrap_or_else(|error| panic!("{name}: {}", full_text(&error)));
        assert!(reports > 0 || raid == 0, "{name}: never busy after RAID {raid}");
        let state = bench.state();
        let made = &state["disks"][0];
        assert_eq!(state["disks"].as_array().map(Vec::len), Some(1), "{name}: {state}");
        assert_eq!(made["raid"], raid, "{name}");
        assert_eq!(made["drives"].as_array().map(|drives| drives.len() as u64), Some(disks), "{name}");
        assert_eq!(devices.len(), 1, "{name}");
        assert_eq!(devices[0].path, Path::new(made["device"].as_str().unwrap()), "{name}");
        assert!(!changes.is_empty(), "{name}");
    }
    let status = driver.status().expect("a status");
    assert_eq!(status["volumes"][0]["ours"], true);
    assert!(!bench.file("log").contains("vall del"), "{name}");
}

/// All 35 sets for OpenManage, whose test it is; for the others a fifth of them unless `ARRAYLAB_LONG=1`.
fn sets_for(name: &str) -> Vec<(u64, u64)> {
    let every = if name == "openmanage" || test_support::is_long() { 1 } else { 5 };
    let can_make = |&(raid, disks): &(u64, u64)| raid != 6 || disks > 4 || name != "lvm";
    sets().into_iter().filter(can_make).step_by(every).collect()
}

/// Proves that `at_end=delete` deletes the virtual disk that this run made and nobody else's, that a driver which made none deletes
/// none, and that without it the virtual disk stays.
#[test]
fn what_a_run_made_is_deleted_at_its_end() {
    for name in ALL {
        let mut bench = FakeTools::new(name);
        let (mut driver, _) = bench.open();
        driver.set(&settings(0, 4)).unwrap_or_else(|error| panic!("{name}: {}", full_text(&error)));
        assert!(
            driver.finish().unwrap_or_else(|error| panic!("{name}: {}", full_text(&error))).is_empty(),
            "{name}"
        );
        assert_eq!(bench.names().len(), 1, "{name}: it is kept by default");
        bench.spec += ",at_end=delete";
        let (mut driver, _) = bench.open();
        assert!(
            driver.finish().unwrap_or_else(|error| panic!("{name}: {}", full_text(&error))).is_empty(),
            "{name}"
        );
        assert_eq!(bench.names().len(), 1, "{name}: it was made by another run");
        driver.set(&settings(0, 4)).unwrap_or_else(|error| panic!("{name}: {}", full_text(&error)));
        let changes = driver.finish().unwrap_or_else(|error| panic!("{name}: {}", full_text(&error)));
        let raid = changes.iter().find(|change| change.name == "raid").expect("the level");
        assert_eq!((raid.before.as_deref(), raid.after.as_deref()), (Some("0"), None), "{name}");
        assert_eq!(bench.names(), [""; 0], "{name}");
    }
}

/// Proves that a RAID volume of LVM which has lost a drive is an error, and not taken for one that is ready.
#[test]
fn lvm_does_not_wait_for_a_partial_volume() {
    let bench = FakeTools::new("lvm");
    let (mut driver, limits) = bench.open();
    driver.set(&settings(5, 4)).unwrap_or_else(|error| panic!("{}", full_text(&error)));
    bench.write("faults", "error health\n");
    let error = full_text(&wait(&mut *driver, limits).expect_err("it is partial"));
    assert!(error.contains("is partial") && error.contains("look at its drives"), "{error}");
}

/// Proves that a size which is no multiple of an extent on each stripe is made as LVM rounds it, and that the driver says so.
#[test]
fn lvm_rounds_to_whole_extents() {
    let mut bench = FakeTools::new("lvm");
    bench.spec = bench.spec.replace("size=12g", "size=65m");
    let (mut driver, _) = bench.open();
    let outcome = driver.set(&settings(0, 2)).unwrap_or_else(|error| panic!("{}", full_text(&error)));
    let SetOutcome::Made { notices, changes, .. } = outcome else { panic!("{outcome:?}") };
    assert_eq!(notices, ["lvm: size=65 MiB is made as 72 MiB, a multiple of 8 MiB"]);
    assert_eq!(bench.state()["disks"][0]["size"], 72 << 20);
    let size = changes.iter().find(|change| change.name == "size").expect("a size");
    assert_eq!(size.after.as_deref(), Some("75497472"));
}

/// Proves that a virtual disk which differs from what was asked for is an error whose hint is about its own tool.
#[test]
fn hints_belong_to_their_tool() {
    for (name, raid, says) in [("mdadm", 5, "mdadm --detail"), ("lvm", 0, "lvs "), ("storcli", 5, "battery")]
    {
        let bench = FakeTools::new(name);
        bench.write("faults", "smaller size\n");
        let (mut driver, _) = bench.open();
        let error = full_text(&driver.set(&settings(raid, 4)).expect_err("half the size"));
        assert!(error.contains("a size of") && error.contains(says), "{error}");
        assert_eq!(error.contains("battery"), name == "storcli", "{error}");
    }
}

/// Proves that OpenManage makes all 35 sets of the RAID test one after the other, each initialised and ready.
#[test]
fn openmanage_makes_the_35_sets() {
    assert_eq!(sets_for("openmanage").len(), 35);
    full_cycle("openmanage", &sets_for("openmanage"));
}

/// Proves the same of the other drivers; LVM makes the stripes among the sets.
#[test]
fn the_other_drivers_make_the_sets() {
    for name in ["storcli", "mdadm", "lvm"] {
        full_cycle(name, &sets_for(name));
    }
}

/// Proves that a set that the array does not make is refused with its words, leaves nothing, and does not stop the next.
#[test]
fn refused_sets_are_refused_and_the_next_is_made() {
    for name in HARDWARE {
        let bench = FakeTools::new(name);
        let (mut driver, limits) = bench.open();
        for (raid, disks) in [(10, 5), (5, 2), (6, 3), (10, 2)] {
            let outcome = driver
                .set(&settings(raid, disks))
                .unwrap_or_else(|error| panic!("{name}: {}", full_text(&error)));
            let SetOutcome::Refused { reason } = outcome else { panic!("{name}: {outcome:?}") };
            assert!(reason.to_lowercase().contains("number of"), "{name}: {reason}");
            assert_eq!(bench.names(), [""; 0], "{name}");
        }
        assert!(matches!(driver.set(&settings(10, 4)), Ok(SetOutcome::Made { .. })), "{name}");
        wait(&mut *driver, limits).expect("ready");
    }
    for (name, wrong) in [("mdadm", settings(5, 2)), ("lvm", settings(6, 4)), ("lvm", settings(10, 5))] {
        let (mut driver, _) = FakeTools::new(name).open();
        assert!(matches!(driver.set(&wrong), Ok(SetOutcome::Refused { .. })), "{name}");
    }
}

/// Proves that no setting is passed over: one that a driver cannot make refuses the whole set before anything is run.
#[test]
fn settings_that_cannot_be_made_are_refused() {
    for name in ALL {
        let bench = FakeTools::new(name);
        let (mut driver, _) = bench.open();
        for (key, value) in [
            ("coverage", json!(70)),
            ("layout", json!("ddp")),
            ("disks", json!(13)),
            ("disks", json!(0)),
            ("segment", json!(1000)),
            ("write_cache", json!(true)),
            ("raid", json!(3)),
            ("raid", json!("5; rm")),
        ] {
            let mut wanted = settings(0, 4);
            wanted.insert(key.into(), value);
            let outcome = driver.set(&wanted).unwrap_or_else(|error| panic!("{name}: {}", full_text(&error)));
            assert!(matches!(outcome, SetOutcome::Refused { .. }), "{name}: {key}: {outcome:?}");
        }
        assert_eq!(bench.file("log"), "", "{name}");
    }
}

/// Proves that a failure at each step is an error that names the step and what the array looks like afterwards, and
/// that the driver makes the set once the fault is gone.
#[test]
fn a_failure_at_each_step_is_told_with_the_state_it_leaves() {
    for name in ALL {
        for (step, before, says, state) in [
            ("pdisk", false, "looking at the drives", "there is no"),
            ("vdisk", false, "looking for what is on", "could not be read"),
            ("deletevdisk", true, "deleting", "exists now"),
            ("createvdisk", false, "creating", "there is no"),
            ("slowinit", false, "initialising", "exists now"),
        ] {
            let has_step = match step {
                "pdisk" | "slowinit" => HARDWARE.contains(&name),
                _ => true,
            };
            if !has_step {
                continue;
            }
            for kind in ["error", "garbage"] {
                // Software tools say nothing when they succeed, so their garbage there is no failure.
                if kind == "garbage" && !HARDWARE.contains(&name) && step != "vdisk" {
                    continue;
                }
                let bench = FakeTools::new(name);
                let (mut driver, limits) = bench.open();
                if before {
                    driver.set(&settings(0, 2)).expect("made");
                }
                bench.write("faults", &format!("{kind} {step}\n"));
                let error = full_text(&driver.set(&settings(0, 4)).expect_err(name));
                assert!(error.contains(says) && error.contains(state), "{name}, {kind} {step}: {error}");
                assert!(!error.contains('\u{1b}') && !error.contains('\0'), "{name}: {error:?}");
                bench.write("faults", "");
                driver
                    .set(&settings(0, 4))
                    .unwrap_or_else(|error| panic!("{name} after {step}: {}", full_text(&error)));
                wait(&mut *driver, limits).expect("ready");
            }
        }
        let bench = FakeTools::new(name);
        let (mut driver, limits) = bench.open();
        driver.set(&settings(0, 4)).expect("made");
        let step = if name == "lvm" { "vdisk" } else { "progress" };
        bench.write("faults", &format!("error {step}\n"));
        let error = full_text(&wait(&mut *driver, limits).expect_err(name));
        assert!(error.contains("asking whether"), "{name}: {error}");
    }
}

/// Proves that a tool that hangs is stopped after `timeout=`, and that waiting for an array ends after `ready_timeout=`
/// and when the run is interrupted.
#[test]
fn time_limits_hold() {
    for name in HARDWARE {
        let mut bench = FakeTools::new(name);
        bench.spec = bench
            .spec
            // The tools that do not hang answer within this time, also where the host is busy.
            .replace("timeout=20", "timeout=3,ready_timeout=0.2")
            .replace("poll=0.001", "poll=10");
        bench.write("faults", "hang createvdisk\n");
        let (mut driver, limits) = bench.open();
        let started = Instant::now();
        let error = full_text(&driver.set(&settings(0, 4)).expect_err(name));
        assert!(error.contains("gave no answer") && error.contains("there is no"), "{name}: {error}");
        assert!(started.elapsed() < Duration::from_secs(10), "{name}");
        bench.write("faults", "");
        bench.spec = bench.spec.replace("timeout=3,", "timeout=20,");
        let (mut driver, _) = bench.open();
        driver.set(&settings(5, 4)).expect("made");
        let error = wait(&mut *driver, limits).expect_err(name);
        assert!(matches!(error, DriverError::NotReady { .. }), "{name}: {error}");
        driver.set(&settings(5, 4)).expect("made");
        let interrupted =
            wait_until_ready(&mut *driver, WaitLimits::default(), &mut |_| (), &AtomicBool::new(true));
        assert!(matches!(interrupted, Err(DriverError::Interrupted { .. })), "{name}: {interrupted:?}");
    }
}

/// Proves that a virtual disk of somebody else on the same drives is kept, whatever its name, until the user names its
/// ID, and that the ID is not that of a virtual disk that took its place.
#[test]
fn foreign_virtual_disks_are_deleted_only_by_their_id() {
    for (name, drives) in [("openmanage", ["0:0:2", "0:0:3"]), ("storcli", ["252:2", "252:3"])] {
        for foreign in ["production", "arraylab-result", "arraylab-"] {
            let mut bench = FakeTools::new(name);
            bench.add_foreign(foreign, &drives);
            let (mut driver, _) = bench.open();
            // The first two drives are free.
            assert!(matches!(driver.set(&settings(0, 2)), Ok(SetOutcome::Made { .. })), "{name}");
            let error = driver.set(&settings(0, 4)).expect_err(name);
            let DriverError::ConsentNeeded { id, .. } = &error else { panic!("{name}: {error}") };
            assert!(full_text(&error).contains(&format!("--overwrite-data {id}")), "{error}");
            assert!(bench.names().contains(&foreign.to_owned()), "{name}");
            bench.consents.push(format!("{}0", &id[..id.len() - 1]));
            bench.consents.push(id.clone());
            bench.write("used", &bench.directory.path().join("device-foreign").display().to_string());
            let (mut driver, _) = bench.open();
            let error = driver.set(&settings(0, 4)).expect_err(name);
            assert!(matches!(error, DriverError::Protected { .. }), "{name}: mounted, and {error}");
            bench.write("used", "");
            assert!(matches!(driver.set(&settings(0, 4)), Ok(SetOutcome::Made { .. })), "{name}");
            assert!(!bench.names().contains(&foreign.to_owned()), "{name}");
            // The same name again, another virtual disk.
            let mut state = bench.state();
            state["disks"] = json!([]);
            bench.write("state.json", &state.to_string());
            bench.add_foreign(foreign, &[drives[0]]);
            assert!(driver.set(&settings(0, 4)).is_err(), "{name}");
            assert!(bench.names().contains(&foreign.to_owned()), "{name}");
        }
    }
}

/// Proves that an array is known again when its drives are named by other links, and that another's array on them is seen.
#[test]
fn drives_are_known_by_whatever_name() {
    let mut bench = FakeTools::new("mdadm");
    bench.open().0.set(&settings(0, 4)).expect("made");
    let before = bench.names();
    bench.spec = bench.spec.replace("/dev/fake", "/dev/disk/by-id/fake");
    bench.open().0.set(&settings(5, 4)).expect("made again");
    assert_eq!(
        bench.names(),
        before,
        "the array of the same drives was replaced, not joined by a second one"
    );

    // Somebody's array over drives that are asked for by other links needs its own consent.
    let mut bench = FakeTools::new("mdadm");
    bench.add_foreign("arraylab-other", &["/dev/fake2", "/dev/fake3"]);
    bench.spec = bench.spec.replace("/dev/fake", "/dev/disk/by-id/fake");
    let error = full_text(&bench.open().0.set(&settings(0, 4)).expect_err("it is not ours"));
    assert!(error.contains("was not made by this driver"), "{error}");
}

/// Proves that all missing consents are told at once: those of the drives and that of an array that is on them.
#[test]
fn all_missing_consents_are_told_at_once() {
    let mut bench = FakeTools::new("mdadm");
    bench.add_foreign("arraylab-other", &["/dev/fake2", "/dev/fake9"]);
    bench.consents = vec!["id-of-fake1".to_owned()];
    let error = bench.open().0.set(&settings(0, 4)).expect_err("consents are missing");
    let DriverError::ConsentsNeeded { missing } = &error else { panic!("{}", full_text(&error)) };
    let ids: Vec<&str> = missing.iter().map(|one| one.id.as_str()).collect();
    assert_eq!(ids[..3], ["id-of-fake0", "id-of-fake2", "id-of-fake3"], "drives that are asked for");
    assert!(ids[3].starts_with("mdadm.arraylab_other-"), "{ids:?}");
    assert_eq!(ids[4..], ["id-of-fake9"], "a member that loses its superblock with the array");
    let text = full_text(&error);
    assert!(ids.iter().all(|id| text.contains(&format!("--overwrite-data {id}"))), "{text}");
    bench.consents.extend(ids.into_iter().map(str::to_owned));
    assert!(matches!(bench.open().0.set(&settings(0, 4)), Ok(SetOutcome::Made { .. })));
}

/// Proves that our own virtual disk is kept too while somebody uses it.
#[test]
fn our_own_virtual_disk_is_kept_while_it_is_used() {
    for name in ALL {
        let bench = FakeTools::new(name);
        let (mut driver, _) = bench.open();
        let SetOutcome::Made { devices, .. } = driver.set(&settings(0, 4)).expect("made") else {
            panic!("{name}")
        };
        bench.write("used", &devices[0].path.display().to_string());
        let error = driver.set(&settings(0, 2)).expect_err(name);
        assert!(matches!(error, DriverError::Protected { .. }), "{name}: {error}");
        assert_eq!(bench.names().len(), 1, "{name}");
        assert!(matches!(driver.ready(), Ok(Readiness::Ready | Readiness::Busy(_))), "{name}");
    }
}

/// Proves that mdadm touches no member, and stops no array, for which the user has not named the member's ID.
#[test]
fn mdadm_needs_the_consent_for_each_member() {
    let mut bench = FakeTools::new("mdadm");
    let (mut driver, _) = bench.open();
    driver.set(&settings(5, 6)).expect("made");
    bench.consents.retain(|id| id != "id-of-fake5");
    bench.write("log", "");
    let (mut driver, _) = bench.open();
    for disks in [6, 4] {
        let error = driver.set(&settings(5, disks)).expect_err("no consent");
        assert!(full_text(&error).contains("id-of-fake5"), "{error}");
    }
    assert!(
        !bench.file("log").contains("--stop") && !bench.file("log").contains("--zero"),
        "{}",
        bench.file("log")
    );
    assert_eq!(bench.names().len(), 1);
}

/// Proves that a volume with our name and without our tag stays.
#[test]
fn lvm_keeps_what_lacks_the_tag() {
    let bench = FakeTools::new("lvm");
    let (mut driver, _) = bench.open();
    driver.set(&settings(0, 4)).expect("made");
    let mut state = bench.state();
    state["disks"][0]["tag"] = json!("backup");
    bench.write("state.json", &state.to_string());
    let error = full_text(&driver.set(&settings(0, 2)).expect_err("no tag"));
    assert!(error.contains("lacks the tag"), "{error}");
    assert!(!bench.file("log").contains("lvremove"));
}

/// Proves that a write cache that the controller switched off by itself is an error, not a case with a write cache.
#[test]
fn a_setting_that_the_array_changed_by_itself_is_an_error() {
    let bench = FakeTools::new("openmanage");
    bench.write("no-battery", "");
    let (mut driver, _) = bench.open();
    let mut wanted = settings(5, 4);
    wanted.insert("write_cache".into(), json!("on"));
    let error = full_text(&driver.set(&wanted).expect_err("no battery"));
    assert!(error.contains("the write cache off where on was asked for"), "{error}");
}

/// Proves that wrong options are told before anything is run.
#[test]
fn wrong_options_are_told() {
    for (spec, says) in [
        ("exec:openmanage", "gives no drives="),
        ("exec:openmanage,drives=0:0:0-0:0:300", "no range of drives"),
        ("exec:openmanage,drives=0:0:5-0:0:1", "no range of drives"),
        ("exec:openmanage,drives=0:0:0+0:0:0", "twice"),
        ("exec:openmanage,drives=0:0:0;reboot", "no drive"),
        ("exec:openmanage,drives=0:0:0,size=12q", "is not a size"),
        ("exec:openmanage,drives=0:0:0,size=1000", "number of MiB"),
        ("exec:openmanage,drives=0:0:0,color=red", "`color` is not one of its options"),
        ("exec:openmanage,drives=0:0:0,controller=x", "is not a number"),
        ("exec:lvm,drives=/dev/a", "gives no group="),
        ("exec:mdadm,drives=/dev/a,at_end=burn", "not keep or delete"),
        ("exec:lvm,group=-f,drives=/dev/a", "no name of a volume group"),
        ("exec:storcli,drives=252:0,drives=252:1", "twice"),
        ("exec:", "names no program"),
        ("ctl:", "names no socket"),
        ("telnet:x", "no known driver"),
        ("exec:x,\u{1b}=1", "control character"),
    ] {
        let bench = FakeTools { spec: spec.to_owned(), ..FakeTools::new("lvm") };
        let error = full_text(&bench.try_open().err().unwrap_or_else(|| panic!("{spec} was taken")));
        assert!(error.contains(says) && error.contains("\nhint: "), "{spec}: {error}");
    }
}

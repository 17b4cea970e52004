//! Settings of the host on recorded trees.

use diagnostic::full_text;
use driver::Change;
use driver::host::{HostError, HostRoots, HostSetting, HostSettings, recover};
use proptest::prelude::*;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

struct Tree {
    directory: TempDir,
}

impl Tree {
    fn new() -> Tree {
        let tree = Tree { directory: TempDir::new().expect("a directory") };
        for device in ["sda", "sdb", "nvme0n1", "nvme0c0n1", "nvme0c1n1", "nvme1c0n1"] {
            tree.write(&format!("sys/block/{device}/queue/scheduler"), "mq-deadline kyber [bfq] none");
            tree.write(&format!("sys/block/{device}/queue/nr_requests"), "256");
        }
        tree.write("sys/block/dm-0/queue/nr_requests", "128");
        for lower in ["sda", "sdb"] {
            tree.write(&format!("sys/block/dm-0/slaves/{lower}"), "");
        }
        tree.write("proc/sys/vm/swappiness", "60");
        tree.write("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456");
        tree.write("sys/module/qla2xxx/parameters/ql2xmaxqdepth", "32");
        tree.write("sys/module/nvme_core/parameters/multipath", "Y");
        tree
    }

    fn path(&self, path: &str) -> PathBuf {
        self.directory.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
        fs::write(path, format!("{text}\n")).expect("written");
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).expect("read").trim().to_owned()
    }

    fn roots(&self) -> HostRoots {
        HostRoots { sysfs: self.path("sys"), proc: self.path("proc") }
    }

    fn open(&self) -> HostSettings {
        HostSettings::open(self.roots(), &self.path("state"))
            .unwrap_or_else(|error| panic!("{}", full_text(&error)))
            .0
    }
}

fn set(name: &str, value: &str) -> HostSetting {
    HostSetting::parse(name, value).unwrap_or_else(|error| panic!("{}", full_text(&error)))
}

fn devices(names: &[&str]) -> Vec<String> {
    names.iter().map(|&name| name.to_owned()).collect()
}

/// Proves that a scheduler which a device does not take is said to be missing, with those that there are, and that the
/// message of a rounded number is not given for it.
#[test]
fn a_missing_scheduler_is_said_to_be_missing() {
    let tree = Tree::new();
    let scheduler = tree.path("sys/block/sda/queue/scheduler");
    fs::remove_file(&scheduler).expect("removed");
    // A file of the kernel that takes 15 characters and no more (proc(5), /proc/pid/comm).
    std::os::unix::fs::symlink("/proc/self/comm", &scheduler).expect("a link");
    let error = tree.open().apply(&[set("queue.scheduler", "no-such-scheduler-here")], &devices(&["sda"]));
    let error = full_text(&error.expect_err("not taken"));
    assert!(error.contains("there is no scheduler `no-such-scheduler-here`"), "{error}");
    assert!(error.contains("it has `no-such-schedul`"), "{error}");
}

/// Proves that settings are made on a stacked device's members, reported with both values, and put back in reverse.
#[test]
fn settings_are_made_and_put_back() {
    let tree = Tree::new();
    let mut host = tree.open();
    let settings =
        [set("queue.nr_requests", "1024"), set("queue.scheduler", "none"), set("sysctl.vm.swappiness", "1")];
    let applied = host.apply(&settings, &devices(&["dm-0"])).expect("applied");
    let names: Vec<&str> = applied.changes.iter().map(|change| change.name.as_str()).collect();
    assert_eq!(
        names,
        [
            "sda/queue/scheduler",
            "sdb/queue/scheduler",
            "dm-0/queue/nr_requests",
            "sda/queue/nr_requests",
            "sdb/queue/nr_requests",
            "vm.swappiness"
        ]
    );
    assert_eq!(
        applied.changes[0],
        Change::host("sda/queue/scheduler", Some("bfq".into()), Some("none".into()))
    );
    // A device over others may have no scheduler.
    assert_eq!(applied.skipped.len(), 1, "{applied:?}");
    assert_eq!(tree.read("sys/block/sdb/queue/nr_requests"), "1024");
    let back = host.put_back().expect("put back");
    assert!(back.problems.is_empty(), "{back:?}");
    assert_eq!(back.changes[0], Change::host("vm.swappiness", Some("1".into()), Some("60".into())));
    assert_eq!(tree.read("sys/block/sda/queue/scheduler"), "bfq");
    assert_eq!(tree.read("sys/block/sda/queue/nr_requests"), "256");
    assert_eq!(host.put_back().expect("put back"), Default::default());
}

/// Proves that native NVMe multipath sets the namespace's own paths and no other controller's.
#[test]
fn nvme_paths_are_set() {
    let tree = Tree::new();
    let mut host = tree.open();
    host.apply(&[set("queue.nr_requests", "64")], &devices(&["nvme0n1"])).expect("applied");
    for (device, value) in [("nvme0n1", "64"), ("nvme0c0n1", "64"), ("nvme0c1n1", "64"), ("nvme1c0n1", "256")]
    {
        assert_eq!(tree.read(&format!("sys/block/{device}/queue/nr_requests")), value, "{device}");
    }
}

/// Proves that dropping, and an error half-way, put back what was made.
#[test]
fn errors_and_drop_put_back() {
    let tree = Tree::new();
    let mut host = tree.open();
    host.apply(&[set("sysctl.vm.swappiness", "1")], &[]).expect("applied");
    let wrong = [set("queue.nr_requests", "8"), set("queue.no_such_thing", "1")];
    let error = full_text(&host.apply(&wrong, &devices(&["sda"])).expect_err("missing"));
    assert!(error.contains("no_such_thing") && error.contains("\nhint: "), "{error}");
    assert_eq!(tree.read("sys/block/sda/queue/nr_requests"), "256");
    assert_eq!(tree.read("proc/sys/vm/swappiness"), "60");
    host.apply(&[set("sysctl.vm.swappiness", "2"), set("sysctl.net.ipv4.tcp_rmem", "1 2 3")], &[])
        .expect("applied");
    drop(host);
    assert_eq!(tree.read("proc/sys/vm/swappiness"), "60");
    assert_eq!(tree.read("proc/sys/net/ipv4/tcp_rmem"), "4096\t131072\t6291456");
    let left: Vec<_> =
        fs::read_dir(tree.path("state")).expect("a directory").flatten().map(|e| e.file_name()).collect();
    assert_eq!(left, ["lock"]);
}

/// Proves that a value which somebody else has set meanwhile is left, and told.
#[test]
fn what_others_changed_is_left() {
    let tree = Tree::new();
    let mut host = tree.open();
    host.apply(&[set("sysctl.vm.swappiness", "1")], &[]).expect("applied");
    tree.write("proc/sys/vm/swappiness", "33");
    let back = host.put_back().expect("put back");
    assert_eq!(tree.read("proc/sys/vm/swappiness"), "33");
    assert!(back.changes.is_empty() && back.problems.len() == 1, "{back:?}");
    assert!(back.problems[0].contains("33") && back.problems[0].contains("60"), "{back:?}");
}

/// Proves that what the kernel made of the number of requests as the scheduler came or went, where a run was killed at that
/// moment, is put back and is no problem; and that it is one where the scheduler itself is left to somebody else.
#[test]
fn what_the_kernel_reset_with_the_scheduler_is_put_back() {
    for (scheduler, problems, requests) in
        [("mq-deadline kyber [bfq] none", 0, "256"), ("mq-deadline [kyber] bfq none", 2, "64")]
    {
        let tree = Tree::new();
        let mut host = tree.open();
        let settings = [set("queue.scheduler", "none"), set("queue.nr_requests", "16")];
        host.apply(&settings, &devices(&["sda"])).expect("applied");
        tree.write("sys/block/sda/queue/scheduler", scheduler);
        tree.write("sys/block/sda/queue/nr_requests", "64");
        let back = host.put_back().expect("put back");
        assert_eq!(back.problems.len(), problems, "{back:?}");
        assert_eq!(tree.read("sys/block/sda/queue/nr_requests"), requests);
    }
}

/// Proves that a second run neither changes a live run's setting nor puts it back, and may use others.
#[test]
fn a_live_run_keeps_its_settings() {
    let tree = Tree::new();
    let mut first = tree.open();
    first.apply(&[set("sysctl.vm.swappiness", "1")], &[]).expect("applied");
    let mut second = tree.open();
    let error = second.apply(&[set("sysctl.vm.swappiness", "2")], &[]).expect_err("in use");
    assert!(matches!(error, HostError::InUse { .. }), "{error}");
    second.apply(&[set("queue.nr_requests", "2")], &devices(&["sda"])).expect("applied");
    drop(second);
    assert_eq!(tree.read("proc/sys/vm/swappiness"), "1");
    assert_eq!(tree.read("sys/block/sda/queue/nr_requests"), "256");
}

/// Proves that module parameters are told when they differ, and are never written.
#[test]
fn module_parameters_are_checked() {
    let tree = Tree::new();
    let mut host = tree.open();
    let applied = host
        .apply(
            &[
                set("module.qla2xxx.ql2xmaxqdepth", "64"),
                set("module.nvme-core.multipath", "1"),
                set("module.absent.parameter", "1"),
            ],
            &[],
        )
        .expect("checked");
    assert_eq!(applied.mismatches.len(), 2, "{applied:?}");
    assert!(applied.mismatches[0].contains("is 32, not 64"), "{applied:?}");
    assert_eq!(tree.read("sys/module/qla2xxx/parameters/ql2xmaxqdepth"), "32");
}

/// Proves that the journal of an earlier boot changes nothing, and that one which others could have written is not read.
#[test]
fn journals_are_trusted_only_so_far() {
    let tree = Tree::new();
    drop(tree.open());
    let entry = r#"{"attribute":{"sysctl":{"name":"vm.swappiness"}},"before":"99","after":"60"}"#;
    let journal =
        |boot: &str| format!("{{\"version\":1,\"pid\":1,\"boot_id\":\"{boot}\"}}\n{entry}\n{{\"torn");
    fs::write(tree.path("state/1-0.host.jsonl"), journal("another")).expect("written");
    let recovered = recover(&tree.roots(), &tree.path("state")).expect("recovered");
    assert!(recovered.put_back.changes.is_empty(), "{recovered:?}");
    fs::write(tree.path("state/1-0.host.jsonl"), journal("")).expect("written");
    std::os::unix::fs::chown(tree.path("state/1-0.host.jsonl"), Some(65534), None).expect("chown needs root");
    let error = recover(&tree.roots(), &tree.path("state")).expect_err("another user's");
    assert!(matches!(error, HostError::Unsafe { .. }), "{error}");
    assert_eq!(tree.read("proc/sys/vm/swappiness"), "60");
    fs::write(tree.path("state/1-0.host.jsonl"), journal("").replace("vm.swappiness", "../../etc/passwd"))
        .expect("written");
    std::os::unix::fs::chown(tree.path("state/1-0.host.jsonl"), Some(0), None).expect("chown needs root");
    let recovered = recover(&tree.roots(), &tree.path("state")).expect("recovered");
    assert!(recovered.put_back.problems[0].contains("no name of a file"), "{recovered:?}");
    fs::write(tree.path("state/1-0.host.jsonl"), journal("")).expect("written");
    let recovered = recover(&tree.roots(), &tree.path("state")).expect("recovered");
    assert_eq!(recovered.put_back.changes.len(), 1, "{recovered:?}");
    assert_eq!(tree.read("proc/sys/vm/swappiness"), "99");
}

proptest! {
    /// Proves that no name or value leads out of the kernel's directories or panics.
    #[test]
    fn names_lead_nowhere_else(name in "(queue|sysctl|module)?\\.?[a-z./_\\-~ ]{0,24}", value in "\\PC{0,12}") {
        if let Ok(setting) = HostSetting::parse(&name, &value) {
            let text = setting.to_string();
            let name = text.split('=').next().unwrap_or_default();
            prop_assert!(!name.contains("..") && !name.contains("//") && !name.contains(' '), "{}", text);
        }
    }
}

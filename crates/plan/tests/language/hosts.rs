//! Load hosts in plans.

use plan::{HostChoice, JobShare, PlanErrorKind as Kind, Selection, VolumeShare};

const GOOD: &str = "title: t
hosts:
  - { name: h1, address: ssh://root@h1:2222, targets: [/dev/sdb, /dev/sdc] }
  - { name: h2, address: fio://h2 }
  - { name: h3 }
share: parts
jobs: divided
stages:
  one:
    hosts: [h1, h2]
    settings: { rw: read, bs: 4k }
  two:
    settings: { rw: read, bs: 4k }
    loads:
      a: { hosts: h3 }
      b: {}
";

/// Proves that hosts, their addresses and targets, and which loads are for which of them are read as written.
#[test]
fn hosts_are_read() {
    let plan = plan::parse_plan("test", "test.yaml", GOOD).unwrap();
    let addresses: Vec<String> =
        plan.hosts.iter().map(|host| host.address.as_ref().map_or("-".into(), ToString::to_string)).collect();
    assert_eq!(addresses, ["ssh://root@h1:2222", "fio://h2:8765", "-"]);
    assert_eq!(plan.hosts[0].targets, ["/dev/sdb", "/dev/sdc"]);
    assert_eq!(plan.share, Some(VolumeShare::Parts));
    assert_eq!(plan.jobs, JobShare::Divided);
    let cases = plan::expand(&plan, &Selection::default()).unwrap();
    assert_eq!(cases[0].hosts, HostChoice::Named(vec!["h1".into(), "h2".into()]));
    assert_eq!(cases[1].hosts, HostChoice::All);
    assert_eq!(cases[1].loads[0].hosts, Some(HostChoice::Named(vec!["h3".into()])));
    assert_eq!(cases[1].loads[1].hosts, None);
}

/// Proves that mistakes about hosts are refused where they stand.
#[test]
fn mistakes_are_refused_in_their_place() {
    for (from, to, kind, position, word) in [
        ("ssh://root@h1:2222", "ssh://root@h1;x", Kind::OutOfRange, (3, 26), "letters"),
        ("name: h3", "name: h1", Kind::Contradiction, (5, 13), "two hosts"),
        ("name: h3", "name: all", Kind::OutOfRange, (5, 13), "not `all`"),
        ("share: parts", "share: half", Kind::OutOfRange, (6, 8), "`whole`"),
        ("jobs: divided", "jobs: some", Kind::OutOfRange, (7, 7), "`each`"),
        ("hosts: [h1, h2]", "hosts: [h1, h22]", Kind::Contradiction, (10, 17), "did you mean `h2`"),
        ("hosts: h3 }", "hosts: h4 }", Kind::Contradiction, (15, 19), "no host `h4`"),
    ] {
        assert!(GOOD.contains(from));
        let error = plan::parse_plan("test", "test.yaml", &GOOD.replace(from, to)).unwrap_err();
        assert_eq!((error.kind(), error.position()), (kind, Some(position)), "{error}");
        assert!(diagnostic::full_text(&error).contains(word), "{error}");
    }
}

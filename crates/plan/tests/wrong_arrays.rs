//! Wrong arrays of parts: each is refused with its line, its cause and a hint.

/// An array that is right; each case replaces one line of it.
const RIGHT: &str = "\
title: Two controllers, 24 NVMe drives
hosts:       { use: linux-server, count: 2 }
fabric:      { use: fc-32g, ports: 8 }
controllers: { use: midrange-2023, count: 2 }
cache:       { write_back: 1GiB, read: 0B }
groups:
  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, layout: raid6, spares: 1 }
volumes:     { name: lun, count: 8, size: 1TiB, on: flash }
rebuild:     { delay: 10s, stripes: 8, rate: 200MB/s }
";

/// A cluster that is right.
const CLUSTER: &str = "\
title: Twelve nodes
nodes:       { count: 12, network: { use: ethernet-25g, ports: 2 } }
controllers: { use: storage-node-2024 }
groups:
  - { name: nvme, per_node: { use: nvme-7680-tlc, count: 4 }, layout: single }
pools:
  - { name: fast, on: nvme, replicas: 3, across: node, share: 50% }
  - { name: wide, on: nvme, erasure: 8+2, share: 50% }
volumes:
  - { name: a, on: fast, count: 4, size: 1TiB }
  - { name: b, on: wide, count: 4, size: 1TiB }
";

/// Line that is replaced, what by, the line at which the mistake is shown, and words of the message.
const WRONG: &[(&str, usize, &str, usize, &str)] = &[
    (RIGHT, 1, "titel: x", 1, "no key `titel`"),
    (RIGHT, 1, "colour: red", 1, "no key `colour`"),
    (RIGHT, 1, "", 2, "`title` is missing"),
    (RIGHT, 2, "hosts: { use: linux-sever }", 2, "no part `hosts/linux-sever`"),
    (RIGHT, 2, "hosts: { cuont: 2 }", 2, "no key `cuont`"),
    (RIGHT, 2, "hosts: { count: 0 }", 2, "out of range"),
    (RIGHT, 2, "hosts: { count: two }", 2, "cannot be `two`"),
    (RIGHT, 2, "hosts: { count: 2.5 }", 2, "cannot be `2.5`"),
    (RIGHT, 2, "hosts: { submit: 5 }", 2, "cannot be `5`"),
    (RIGHT, 2, "hosts: { submit: -5us }", 2, "cannot be `-5us`"),
    (RIGHT, 2, "hosts: { submit: 5MB }", 2, "cannot be `5MB`"),
    (RIGHT, 2, "hosts: { submit: 2h }", 2, "out of range"),
    (RIGHT, 2, "hosts: linux-server", 2, "a map is expected"),
    (RIGHT, 2, "hosts: { use: [a] }", 2, "name of a part"),
    (RIGHT, 2, "hosts: { count: [1, 2] }", 2, "not a list"),
    (RIGHT, 2, "hosts: { count: }", 2, "a value is missing"),
    (RIGHT, 2, "hosts: { count: { value: 2, orgin: assumed } }", 2, "no key `orgin`"),
    (RIGHT, 2, "hosts: { count: { value: 2, origin: guessed } }", 2, "no origin"),
    (RIGHT, 2, "hosts: { count: { origin: assumed } }", 2, "`value` is missing"),
    (RIGHT, 2, "hosts: { count: 100000 }", 2, "out of range"),
    (RIGHT, 3, "fabric: { use: fc-64g, ports: 8 }", 3, "no part `links/fc-64g`"),
    (RIGHT, 3, "fabric: { use: fc-32g, ports: 1 }", 3, "without one"),
    (RIGHT, 3, "fabric: { rate: 3.2GB }", 3, "cannot be `3.2GB`"),
    (RIGHT, 3, "fabric: { rate: 0MB/s, ports: 8 }", 3, "out of range"),
    (RIGHT, 3, "fabric: { latency: 10s, ports: 8 }", 3, "out of range"),
    (RIGHT, 4, "controllers: { count: 0 }", 4, "out of range"),
    (RIGHT, 4, "controllers: { ownership: both }", 4, "cannot be `both`"),
    (RIGHT, 4, "controllers: { processors: 99999 }", 4, "out of range"),
    (RIGHT, 4, "controllers: { use: midrange-2032 }", 4, "no part"),
    (RIGHT, 5, "cache: { write_back: 2PiB }", 5, "out of range"),
    (RIGHT, 5, "cache: { write_back: 1 }", 5, "cannot be `1`"),
    (RIGHT, 5, "cache: { destage_from: 150% }", 5, "out of range"),
    (RIGHT, 5, "cache: { mirrored: perhaps }", 5, "cannot be `perhaps`"),
    (RIGHT, 7, "  - { name: flash, drives: { use: nvme-3840-tlc, count: 3 }, layout: raid6 }", 7, "RAID 6"),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 10000000 }, layout: raid6 }",
        7,
        "out of range",
    ),
    (RIGHT, 7, "  - { name: flash, drives: { use: nvme-3840-tlc }, layout: raid6 }", 7, "`count` is missing"),
    (RIGHT, 7, "  - { name: flash, drives: { count: 24 }, layout: raid6 }", 7, "`kind` is missing"),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { kind: tape, count: 24, capacity: 1TB } }",
        7,
        "cannot be `tape`",
    ),
    (RIGHT, 7, "  - { name: flash, drives: { kind: hard-disk, count: 24 } }", 7, "`capacity` is missing"),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24, rpm: 7200 } }",
        7,
        "no key `rpm`",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24, mapping_unit: 5KiB } }",
        7,
        "no power of two",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nearline-8tb, count: 24, seek_average: 0.1ms } }",
        7,
        "shorter than the shortest",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nearline-8tb, count: 24, inner: 900MB/s } }",
        7,
        "inner tracks",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, layout: raid7 }",
        7,
        "cannot be `raid7`",
    ),
    (RIGHT, 7, "  - { name: flash, drives: { use: nvme-3840-tlc, count: 25 }, layout: raid10 }", 7, "even"),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, layout: raidz }",
        7,
        "`raidz` is not modelled: each block of ZFS is a stripe",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, layout: raidz1 }",
        7,
        "hint: `layout: raid5` has as much parity",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, layout: { value: raidz2, origin: published } }",
        7,
        "`raidz2` is not modelled",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, layout: raidz3 }",
        7,
        "no layout here has three parities",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, layout: 'draid2:8d:24c:1s' }",
        7,
        "`draid2:8d:24c:1s` is not modelled: ZFS never overwrites a block",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, layout: raid6, spares: 24 }",
        7,
        "spares",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, layout: pool, spares: 1 }",
        7,
        "a pool has no spares",
    ),
    (RIGHT, 7, "  - { name: flash, drives: { use: nvme-3840-tlc, count: 9 }, layout: pool }", 7, "at least"),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, layout: pool, stripe: wide }",
        7,
        "no stripe",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, segment: 100B }",
        7,
        "out of range",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, segment: 1000B }",
        7,
        "no segment",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, layouts: raid0 raid7 }",
        7,
        "`raid7` is no layout",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, segment_least: 1MiB, segment_most: 64KiB }",
        7,
        "more than `segment_most`",
    ),
    (
        RIGHT,
        7,
        "  - { name: flash, drives: { use: nvme-3840-tlc, count: 24 }, pool_segment: 1000B }",
        7,
        "no multiple of 512 bytes",
    ),
    (RIGHT, 7, "  - { name: flash, per_node: { use: nvme-3840-tlc, count: 24 } }", 7, "without nodes"),
    (RIGHT, 7, "  - { name: flash }", 7, "without drives"),
    (RIGHT, 7, "  - flash", 7, "a map is expected"),
    (RIGHT, 8, "volumes: { name: lun, on: falsh }", 8, "no group or pool `falsh`"),
    (RIGHT, 8, "volumes: { name: lun, count: 8, size: 900TiB, on: flash }", 8, "do not fit"),
    (RIGHT, 8, "volumes: { name: lun, count: 100000 }", 8, "out of range"),
    (
        RIGHT,
        8,
        "volumes: { name: lun, count: 2, size: 1MiB, stripe_unit: 2MiB }",
        8,
        "more than a volume has",
    ),
    (RIGHT, 8, "volumes: { name: lun, limit: { iops: 0 } }", 8, "out of range"),
    (RIGHT, 8, "volumes: { name: lun, limit: { burst: 3 } }", 8, "no key `burst`"),
    (RIGHT, 8, "volumes: { name: lun, limit: { burst_iops: many } }", 8, "cannot be `many`"),
    (
        RIGHT,
        8,
        "volumes: { name: lun, limit: { iops: 500, burst_iops: 500, io_credits: 9 } }",
        8,
        "no more than the limit",
    ),
    (
        RIGHT,
        8,
        "volumes: { name: lun, limit: { iops: 500, io_credits: 9 } }",
        8,
        "credits that nothing spends",
    ),
    (
        RIGHT,
        8,
        "volumes: { name: lun, limit: { bandwidth: 5MB/s, byte_credits: 9MB } }",
        8,
        "credits that nothing spends",
    ),
    (RIGHT, 9, "thin: { unit: 48KiB }", 9, "no power of two"),
    (RIGHT, 9, "thin: { unit: 64 }", 9, "cannot be `64`"),
    (RIGHT, 9, "thin: { units: 64KiB }", 9, "no key `units`"),
    (RIGHT, 9, "reduction: { block: 2KiB }", 9, "out of range"),
    (RIGHT, 9, "reduction: { ratio: 3 }", 9, "no key `ratio`"),
    (RIGHT, 9, "snapshots: { method: clone }", 9, "clone"),
    (RIGHT, 9, "snapshots: { reserve: 95% }", 9, "out of range"),
    (RIGHT, 9, "drive_cache: { on: falsh }", 9, "no group `falsh`"),
    (RIGHT, 9, "drive_cache: { on: flash }", 9, "holds the cache, and no data"),
    (RIGHT, 9, "drive_cache: { block: 64KiB }", 9, "`on` is missing"),
    (RIGHT, 9, "tier: { on: falsh }", 9, "no group `falsh`"),
    (RIGHT, 9, "tier: { on: flash }", 9, "is the tier, and no data"),
    (RIGHT, 9, "tier: { extent: 64MiB }", 9, "`on` is missing"),
    (RIGHT, 9, "tier: { on: flash, extent: 48MiB }", 9, "no power of two"),
    (RIGHT, 9, "tier: { on: flash, extent: 4KiB }", 9, "out of range"),
    (RIGHT, 9, "tier: { on: flash, moves: 2000 }", 9, "out of range"),
    (RIGHT, 9, "replication: { every: 1min }", 9, "copies of snapshots without snapshots"),
    (RIGHT, 9, "snapshots: {}\nreplication: {}\nmirror: {}", 10, "a third array"),
    (RIGHT, 9, "snapshots: {}\nreplication: { unit: 48KiB }", 10, "no power of two"),
    (RIGHT, 9, "snapshots: {}\nreplication: { every: 1us }", 10, "out of range"),
    (RIGHT, 9, "snapshots: {}\nreplication: { use: fc-64g }", 10, "no part `links/fc-64g`"),
    (RIGHT, 9, "mirror: { distance_km: 30000 }", 9, "out of range"),
    (RIGHT, 9, "mirror: { use: fc-64g }", 9, "no part `links/fc-64g`"),
    (CLUSTER, 3, "mirror: { distance_km: 50 }", 3, "not modelled for an array of nodes"),
    (RIGHT, 5, "cache: { mode: lazy }", 5, "cannot be `lazy`"),
    (RIGHT, 5, "cache: { destage_order: size }", 5, "cannot be `size`"),
    (RIGHT, 5, "cache: { read_ahead: 2GiB }", 5, "out of range"),
    (RIGHT, 9, "file_system: { complete: 40 }", 9, "cannot be `40`"),
    (RIGHT, 9, "rebuild: { rate: 200 }", 9, "cannot be `200`"),
    (RIGHT, 9, "rebuild: { use: fast }", 9, "no parts for this section"),
    (CLUSTER, 2, "nodes: { count: 12 }", 2, "without a network"),
    (CLUSTER, 2, "nodes: { network: { use: ethernet-25g } }", 2, "`count` is missing"),
    (CLUSTER, 2, "nodes: { count: 6, network: { use: ethernet-25g } }", 8, "on 6 nodes"),
    (
        CLUSTER,
        5,
        "  - { name: nvme, drives: { use: nvme-7680-tlc, count: 4 }, layout: single }",
        5,
        "of no node",
    ),
    (
        CLUSTER,
        5,
        "  - { name: nvme, per_node: { use: nvme-7680-tlc, count: 4 }, layout: raid5 }",
        5,
        "not modelled",
    ),
    (CLUSTER, 7, "  - { name: fast, on: nvem, replicas: 3, share: 50% }", 7, "no group `nvem`"),
    (CLUSTER, 7, "  - { name: fast, on: nvme, share: 50% }", 7, "neither replicas nor"),
    (
        CLUSTER,
        7,
        "  - { name: fast, on: nvme, replicas: 3, erasure: 4+2, share: 50% }",
        7,
        "replicas and an erasure code",
    ),
    (CLUSTER, 7, "  - { name: fast, on: nvme, replicas: 3, across: rack, share: 50% }", 7, "different nodes"),
    (CLUSTER, 7, "  - { name: fast, on: nvme, replicas: 3, share: 80% }", 8, "more than 100%"),
    (CLUSTER, 7, "  - { name: wide, on: nvme, replicas: 3, share: 50% }", 8, "another group or pool"),
    (CLUSTER, 8, "  - { name: wide, on: nvme, erasure: 8x2, share: 50% }", 8, "no erasure code"),
    (CLUSTER, 8, "  - { name: wide, on: nvme, erasure: 12+2, share: 50% }", 8, "on 12 nodes"),
    (CLUSTER, 8, "  - { name: wide, on: nvme, erasure: 6+4, share: 50% }", 8, "not modelled"),
    (
        CLUSTER,
        8,
        "  - { name: wide, on: nvme, erasure: 8+2, segment: 100KB, share: 50% }",
        8,
        "no multiple of 4 KiB",
    ),
    (CLUSTER, 10, "  - { name: a, count: 4, size: 1TiB }", 10, "several groups or pools"),
];

fn with_line(text: &str, number: usize, line: &str) -> String {
    text.lines()
        .enumerate()
        .map(|(index, old)| format!("{}\n", if index + 1 == number { line } else { old }))
        .collect()
}

/// Proves that both arrays are right, so that each refusal is for its one line.
#[test]
fn the_arrays_are_right_otherwise() {
    for text in [RIGHT, CLUSTER] {
        let array = plan::parse_array("right.yaml", text);
        assert!(array.is_ok(), "{}", array.unwrap_err());
    }
}

/// Proves that each wrong array is refused with file, line, column, cause and hint.
#[test]
fn wrong_arrays_are_refused_where_they_are_wrong() {
    assert!(WRONG.len() >= 60);
    let mut faults = Vec::new();
    for &(text, number, line, shown_at, words) in WRONG {
        let wrong = with_line(text, number, line);
        match plan::parse_array("wrong.yaml", &wrong) {
            Ok(_) => faults.push(format!("accepted: {line}")),
            Err(error) => {
                let shown = diagnostic::full_text(&error);
                let at = error.position().map(|(line, _)| line);
                let has_all =
                    shown.starts_with("wrong.yaml:") && shown.contains("\nhint: ") && shown.contains(words);
                if at != Some(shown_at) || !has_all {
                    faults.push(format!("{line}\n{shown}\nat {at:?}, wanted {shown_at}, `{words}`\n"));
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// Proves that a cycle of parts that use each other is refused. The library has none, so one is made.
#[test]
fn parts_that_use_each_other_are_refused() {
    struct Circle;
    impl array::PartSource for Circle {
        fn part(&self, _: &str, name: &str) -> Option<array::Node> {
            let scalar = |text: &str| array::Node {
                content: array::Content::Scalar(text.into()),
                ..Default::default()
            };
            let other = if name == "a" { "b" } else { "a" };
            let entries = vec![("use".to_owned(), array::Place::default(), scalar(other))];
            Some(array::Node { content: array::Content::Map(entries), ..Default::default() })
        }

        fn names(&self, _: &str) -> Vec<String> {
            vec!["a".into(), "b".into()]
        }
    }
    let problem = array::resolve_part("hosts", "a", &Circle).unwrap_err();
    assert!(problem.message.contains("uses itself"), "{problem:?}");
}

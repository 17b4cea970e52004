//! Nodes of clusters that are lost and replaced: replicas, erasure codes and chains.

mod common;

use std::ops::ControlFlow;

use common::{count, load, twin_of};
use load::{LoadSpec, NEVER_STOPPED, Pattern, Sample, run_simulated};
use serde_json::json;
use twin::Twin;

const SECOND_NS: u64 = 1_000_000_000;

/// Six nodes with two small drives each; hosts notice a lost node after 0.2 s.
fn cluster(pools: &str, rebuild: &str) -> String {
    format!(
        "\
title: cluster
hosts:       {{ use: linux-server, count: 4 }}
nodes:       {{ count: 6, network: {{ use: ethernet-25g, ports: 2 }} }}
controllers: {{ use: storage-node-2024 }}
groups:
  - {{ name: nvme, per_node: {{ use: nvme-7680-tlc, count: 2, capacity: 8GiB }}, layout: single }}
pools:
  - {pools}
volumes:     {{ name: v, on: p, count: 4, size: 2GiB }}
failover:    {{ path: 200ms }}
rebuild:     {rebuild}
"
    )
}

const REPLICAS: &str = "{ name: p, on: nvme, replicas: 3, object: 4MiB }";
const ERASURE: &str = "{ name: p, on: nvme, erasure: 4+2, object: 4MiB, segment: 16KiB }";
const NO_REBUILD: &str = "{ delay: 10000s }";
const QUICK: &str = "{ delay: 0, rate: 1GB/s, stripes: 16 }";

fn at_event(twin: &mut Twin, at_s: f64, action: &str, node: u64) {
    let arguments = json!({ "node": node }).as_object().unwrap().clone();
    let at_ns = (at_s * SECOND_NS as f64) as u64;
    twin.act(at_ns, action, &arguments).unwrap_or_else(|error| panic!("{action}: {error}"));
}

/// Samples of 0.1 s of a load of 8 KiB by four jobs of depth 8.
fn samples(twin: &mut Twin, rwmixread: u8, runtime_s: u64) -> Vec<Sample> {
    let spec = LoadSpec {
        numjobs: 4,
        interval_ns: SECOND_NS / 10,
        ..load(Pattern::Randrw, rwmixread, 8192, 8, runtime_s * SECOND_NS)
    };
    let mut samples = Vec::new();
    run_simulated(twin, &spec, &NEVER_STOPPED, &mut |_, sample| {
        samples.push(sample);
        ControlFlow::Continue(())
    })
    .unwrap();
    samples
}

fn ios(samples: &[Sample]) -> u64 {
    samples.iter().map(|sample| sample.read.ios + sample.write.ios).sum()
}

fn errors(samples: &[Sample]) -> u64 {
    samples.iter().map(|sample| sample.read.errors + sample.write.errors).sum()
}

fn commands(twin: &Twin, controller: u32) -> u64 {
    count(twin, &format!("controller-{controller}"), "commands")
}

fn notes(twin: &mut Twin) -> Vec<(f64, String)> {
    twin.take_notes().into_iter().map(|note| (note.at_ns as f64 / 1e9, note.says)).collect()
}

/// Proves that the loss of a node under load costs no I/O of replicas or an erasure code: commands to it wait until hosts notice,
/// and from then on others serve all of them, it none.
#[test]
fn a_lost_node_costs_no_data() {
    for pool in [REPLICAS, ERASURE] {
        let mut twin = twin_of(&cluster(pool, NO_REBUILD), &[]);
        at_event(&mut twin, 1.0, "node-failure", 2);
        let samples = samples(&mut twin, 70, 3);
        assert_eq!(errors(&samples), 0, "{pool}");
        // Each stripe of the code lies on all six nodes.
        let lacks_room = "nothing is rebuilt: no drive that may hold the lost pieces has room".to_owned();
        let mut expected = vec![(1.0, "node-2 fails with its 2 drives".to_owned())];
        expected.extend((pool == ERASURE).then_some((1.0, lacks_room)));
        assert_eq!(notes(&mut twin), expected, "{pool}");
        // All outstanding I/Os come to wait for the lost node.
        let (before, unnoticed, after) = (ios(&samples[..10]), ios(&samples[11..12]), ios(&samples[15..]));
        assert!(unnoticed * 10 < before / 20, "{pool}: {before} a second, {unnoticed} in 0.1 s");
        assert!(after as f64 / 1.5 > before as f64 * 0.4, "{pool}: {before} a second, then {after} in 1.5 s");
        let waits = |sample: &Sample| sample.read.latency.max_ns().max(sample.write.latency.max_ns());
        let longest_ns = samples.iter().map(waits).max().unwrap();
        assert!((200_000_000..220_000_000).contains(&longest_ns), "{pool}: {longest_ns}");
        assert!(samples[15..].iter().all(|sample| waits(sample) < 50_000_000), "{pool}");
        // Controllers count what they take in, background work of their own aside.
        let shares: Vec<u64> = (0..6).map(|controller| commands(&twin, controller)).collect();
        assert!(shares[2] < shares[1] / 2 && shares[2] < shares[3] / 2, "{pool}: {shares:?}");
    }
}

/// Proves that data is lost with one node more than a pool withstands, and not with as many as it does.
#[test]
fn a_pool_withstands_as_many_nodes_as_it_says() {
    for pool in [REPLICAS, ERASURE] {
        let failed = |lost: u64| {
            let mut twin = twin_of(&cluster(pool, NO_REBUILD), &[]);
            (0..lost).for_each(|node| at_event(&mut twin, 0.1, "node-failure", node));
            errors(&samples(&mut twin, 70, 1))
        };
        assert_eq!((failed(1), failed(2)), (0, 0), "{pool}");
        assert!(failed(3) > 0, "{pool}");
    }
}

/// Proves that what a lost node held is made anew on the others: after two losses and their rebuild a third and fourth node are
/// lost without a failed I/O, where without it they cost data.
#[test]
fn lost_nodes_are_made_anew_on_others() {
    let failed = |rebuild: &str| {
        let mut twin = twin_of(&cluster("{ name: p, on: nvme, replicas: 2, object: 4MiB }", rebuild), &[]);
        at_event(&mut twin, 0.0, "node-failure", 0);
        at_event(&mut twin, 40.0, "node-failure", 1);
        let failed = errors(&samples(&mut twin, 100, 42));
        (failed, notes(&mut twin).iter().any(|(_, says)| says == "the rebuild is done"))
    };
    assert_eq!(failed(QUICK), (0, true));
    let (lost, is_rebuilt) = failed(NO_REBUILD);
    assert!(lost > 0 && !is_rebuilt);
}

/// Proves that a rebuild writes what a lost drive held, where pieces of it have hundreds of objects that were dealt to all pieces in turn:
/// a twelfth of the pool's used pieces, and nothing to the lost drive.
#[test]
fn a_rebuild_writes_what_was_lost() {
    let pool = "{ name: p, on: nvme, erasure: 2+1, object: 64KiB, segment: 16KiB }";
    let mut twin = twin_of(&cluster(pool, QUICK), &[]);
    let arguments = json!({ "drive": 3 }).as_object().unwrap().clone();
    twin.act(0, "drive-failure", &arguments).unwrap();
    assert_eq!(errors(&samples(&mut twin, 100, 4)), 0);
    assert!(notes(&mut twin).iter().any(|(_, says)| says == "the rebuild is done"));
    let written = |drive: u32| count(&twin, &format!("drive-{drive}"), "host_units") * 4096;
    let all: u64 = (0..12).map(written).sum();
    // 8 GiB of volumes and half as much of parity on twelve drives.
    let expected = (8u64 << 30) as f64 * 1.5 / 12.0;
    assert!((all as f64 / expected - 1.0).abs() < 0.1, "{all} bytes, {expected} were lost");
    assert_eq!(written(3), 0);
}

/// Proves that a rebuild which finds no room for some pieces says how many, and does not say that it is done: each stripe of 4+2 lies on
/// all six nodes, and the other drive of the lost one's node is full before it has taken all.
#[test]
fn a_rebuild_without_room_is_not_done() {
    let mut twin = twin_of(&cluster(ERASURE, QUICK), &[]);
    let arguments = json!({ "drive": 3 }).as_object().unwrap().clone();
    twin.act(0, "drive-failure", &arguments).unwrap();
    assert_eq!(errors(&samples(&mut twin, 100, 6)), 0);
    let says: Vec<String> = notes(&mut twin).into_iter().map(|(_, says)| says).collect();
    assert_eq!(
        says,
        ["drive-3 fails", "the rebuild ends without 77 pieces: no drive that may hold them has room"]
    );
}

/// Proves that a new node serves again once nothing is missed of the lost one, that losses and replacements which change nothing
/// are noted, and that both are refused where no such node is.
#[test]
fn a_new_node_takes_the_place_of_a_lost_one() {
    let mut twin = twin_of(&cluster(REPLICAS, QUICK), &[]);
    at_event(&mut twin, 1.0, "node-failure", 4);
    at_event(&mut twin, 1.1, "node-failure", 4);
    at_event(&mut twin, 2.0, "node-replacement", 4);
    at_event(&mut twin, 2.1, "node-replacement", 4);
    assert_eq!(errors(&samples(&mut twin, 70, 3)), 0);
    let says: Vec<String> = notes(&mut twin).into_iter().map(|(_, says)| says).collect();
    for message in [
        "node-4 fails with its 2 drives",
        "node-4 is lost already",
        "a new node takes the place of node-4",
        "node-4 is there: it needs no replacement",
    ] {
        assert!(says.iter().any(|says| says == message), "{message}: {says:?}");
    }
    let before = commands(&twin, 4);
    assert_eq!(errors(&samples(&mut twin, 70, 1)), 0);
    assert!(commands(&twin, 4) > before, "the new node serves");

    let arguments = |node: u64| json!({ "node": node }).as_object().unwrap().clone();
    let refused = twin.act(9 * SECOND_NS, "node-failure", &arguments(6)).unwrap_err().to_string();
    assert_eq!(refused, "`node` cannot be 6; it takes the number of a node, 0 to 5");
    let classic = "title: classic\ncontrollers: { use: midrange-2023 }\ngroups: [{ drives: { use: nvme-7680-tlc, count: 8 }, layout: raid5 }]\nvolumes: { name: v, size: 1GiB }\n";
    let refused = twin_of(classic, &[]).act(0, "node-failure", &arguments(0)).unwrap_err().to_string();
    assert!(refused.contains("`node-failure`") && refused.contains("`nodes:`"), "{refused}");
}

/// Proves that a chain of replicas goes on without a lost node, makes its objects anew on others, and refuses the loss of the node
/// that issues the load.
#[test]
fn chains_go_on_without_a_lost_node() {
    let array = plan::load_array("storpool").unwrap().description;
    let settings = json!({ "volume": "nvme", "host": "client" }).as_object().unwrap().clone();
    let mut twin = Twin::build(&array, &settings, 1).unwrap();
    at_event(&mut twin, 0.5, "node-failure", 1);
    let samples = samples(&mut twin, 70, 1);
    assert_eq!(errors(&samples), 0);
    let says = notes(&mut twin);
    assert!(
        says.iter().any(|(at_s, says)| *at_s == 0.5 && says.starts_with("node-1 fails with its ")),
        "{says:?}"
    );
    assert!(says.iter().any(|(_, says)| says.ends_with("objects begin to move")), "{says:?}");

    let settings = json!({ "volume": "nvme", "host": "node-1" }).as_object().unwrap().clone();
    let mut twin = Twin::build(&array, &settings, 1).unwrap();
    let arguments = json!({ "node": 1 }).as_object().unwrap().clone();
    let refused = twin.act(0, "node-failure", &arguments).unwrap_err().to_string();
    assert!(refused.contains("issues the load itself"), "{refused}");
    assert!(twin.act(0, "node-failure", json!({ "node": 2 }).as_object().unwrap()).is_ok());
}

/// Proves that a load of minutes with a lost node is fast-forwarded to within 1 % of the exact rate, before the loss and after it.
#[test]
fn fast_forward_sees_the_loss_of_a_node() {
    let load = load(Pattern::Randread, 100, 65536, 2, 90 * SECOND_NS);
    let spec = LoadSpec { numjobs: 2, interval_ns: SECOND_NS, ..load };
    let built = || {
        let mut twin = twin_of(&cluster(REPLICAS, NO_REBUILD), &[]);
        at_event(&mut twin, 45.5, "node-failure", 0);
        twin
    };
    let (mut fast, mut exact) = (Vec::new(), Vec::new());
    let extrapolation = built()
        .run(&spec, &NEVER_STOPPED, &mut |_, sample| {
            fast.push(sample);
            ControlFlow::Continue(())
        })
        .unwrap();
    run_simulated(&mut built(), &spec, &NEVER_STOPPED, &mut |_, sample| {
        exact.push(sample);
        ControlFlow::Continue(())
    })
    .unwrap();
    assert!(extrapolation.carried_ns > 30 * SECOND_NS, "{extrapolation:?}");
    for range in [0..45, 45..46, 47..90] {
        let ratio = ios(&fast[range.clone()]) as f64 / ios(&exact[range.clone()]) as f64;
        assert!((ratio - 1.0).abs() < 0.01, "{range:?}: {ratio}");
    }
}

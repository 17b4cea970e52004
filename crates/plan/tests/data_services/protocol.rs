//! Processor time of protocols in software.

use load::Pattern;

use super::{ARRAY, count, load, run, twin_of};

/// Proves that every I/O costs its initiator and every command its target what the links say, that both have it in their busy
/// time, and that nothing is counted where the protocol is switched off or costs nothing.
#[test]
fn both_ends_pay_for_every_command() {
    let text = format!("{ARRAY}fabric: {{ ports: 2, initiator: 7us, target: 11us }}\n");
    let reads = load(Pattern::Randread, 4096, 8, 50);
    let (mut with, mut off) = (twin_of(&text, &[]), twin_of(&text, &[("protocol", "off")]));
    let (total, without) = (run(&mut with, &reads), run(&mut off, &reads));
    let issued = count(&with, "protocol", "initiator_ios");
    assert!(issued >= total.ios && issued <= total.ios + 8, "{issued} of {}", total.ios);
    assert_eq!(count(&with, "protocol", "initiator_ns"), issued * 7000);
    let served = count(&with, "protocol", "target_commands");
    assert!(served >= total.ios && served <= issued, "{served} of {issued}");
    assert_eq!(count(&with, "protocol", "target_ns"), served * 11_000);
    let busy_ns = |twin: &twin::Twin| {
        count(twin, "controller-0", "processors_busy_ns") + count(twin, "controller-1", "processors_busy_ns")
    };
    let (each, plain) = (busy_ns(&with) / served, busy_ns(&off) / without.ios);
    assert!((each as f64 - plain as f64 - 11_000.0).abs() < 300.0, "{each} {plain}");
    assert!(off.counters().iter().all(|counter| counter.entity != "protocol"));
    assert!(twin_of(ARRAY, &[]).counters().iter().all(|counter| counter.entity != "protocol"));
}

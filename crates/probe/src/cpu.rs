//! `/proc/stat` and `/proc/loadavg` (proc(5)): the processor shares of `iostat -c`.

use crate::counter::Counter;
use std::sync::Arc;

/// The ten times of a `cpu` line, in clock ticks.
type Times = [u64; 8];

/// The processors at the last reading.
#[derive(Debug, Default)]
pub(crate) struct Cpus {
    known: Vec<(Arc<str>, Times)>,
}

impl Cpus {
    /// Takes a reading in. The line `cpu` is all processors together, `cpu0` and so on each of them.
    pub(crate) fn read(&mut self, text: &str, counters: &mut Vec<Counter>) {
        let mut index = 0;
        for line in text.lines() {
            let Some(name) = line.split_ascii_whitespace().next() else { continue };
            if let Some(which) = name.strip_prefix("cpu") {
                let Some(times) = parse_times(line) else { continue };
                let entity: &str = if which.is_empty() { "all" } else { name };
                match self.known.get_mut(index) {
                    Some((known, before)) if **known == *entity => {
                        push_shares(known, before, &times, counters);
                        *before = times;
                    }
                    // A processor went offline or came back: what follows is compared from the next reading on.
                    _ => {
                        self.known.truncate(index);
                        self.known.push((entity.into(), times));
                    }
                }
                index += 1;
            }
        }
        self.known.truncate(index);
    }
}

/// user, nice, system, idle, iowait, irq, softirq, steal. Guest time is a part of user and nice.
fn parse_times(line: &str) -> Option<Times> {
    let mut times = Times::default();
    let mut words = line.split_ascii_whitespace().skip(1);
    for (index, time) in times.iter_mut().enumerate() {
        *time = match words.next() {
            Some(word) => word.parse().ok()?,
            // Kernels before 2.6.11 have no steal, before 2.6.0 no iowait.
            None if index >= 4 => 0,
            None => return None,
        };
    }
    Some(times)
}

fn push_shares(entity: &Arc<str>, before: &Times, after: &Times, counters: &mut Vec<Counter>) {
    // Idle and iowait of a processor that sleeps without ticks may step back (proc(5)).
    let mut delta = Times::default();
    for (index, time) in delta.iter_mut().enumerate() {
        *time = after[index].saturating_sub(before[index]);
    }
    let total: u64 = delta.iter().sum();
    if total == 0 {
        return;
    }
    let [user, nice, system, idle, iowait, irq, softirq, steal] = delta;
    for (name, ticks) in [
        ("%user", user),
        ("%nice", nice),
        ("%system", system + irq + softirq),
        ("%iowait", iowait),
        ("%steal", steal),
        ("%idle", idle),
    ] {
        let value = 100.0 * ticks as f64 / total as f64;
        counters.push(Counter { source: "cpu", entity: Arc::clone(entity), name, value });
    }
}

/// The three load averages and the processes running and blocked.
pub(crate) fn push_load(loadavg: &str, stat: &str, entity: &Arc<str>, counters: &mut Vec<Counter>) {
    let mut push = |name: &'static str, text: Option<&str>| {
        if let Some(value) = text.and_then(|text| text.trim().parse::<f64>().ok()).filter(|v| v.is_finite()) {
            counters.push(Counter { source: "load", entity: Arc::clone(entity), name, value });
        }
    };
    let mut words = loadavg.split_ascii_whitespace();
    push("load1", words.next());
    push("load5", words.next());
    push("load15", words.next());
    for line in stat.lines() {
        if let Some(count) = line.strip_prefix("procs_running ") {
            push("procs_running", Some(count));
        } else if let Some(count) = line.strip_prefix("procs_blocked ") {
            push("procs_blocked", Some(count));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(cpus: &mut Cpus, text: &str) -> Vec<(String, &'static str, f64)> {
        let mut counters = Vec::new();
        cpus.read(text, &mut counters);
        counters.into_iter().map(|c| (c.entity.to_string(), c.name, c.value)).collect()
    }

    /// Proves the six shares by hand, that they make 100, and that a time which steps back counts as nothing.
    #[test]
    fn shares_are_those_of_iostat() {
        let mut cpus = Cpus::default();
        assert_eq!(at(&mut cpus, "cpu  100 10 50 1000 20 5 5 3 7 0\ncpu0 1 0 0 5 0 0 0 0 0 0\nintr 5\n"), []);
        let shares = at(&mut cpus, "cpu  140 20 60 1100 40 10 10 8 9 0\ncpu0 3 0 0 4 0 0 0 0 0 0\n");
        let all: Vec<_> = shares.iter().filter(|s| s.0 == "all").map(|s| (s.1, s.2)).collect();
        let expected = [
            ("%user", 40.0),
            ("%nice", 10.0),
            ("%system", 20.0),
            ("%iowait", 20.0),
            ("%steal", 5.0),
            ("%idle", 100.0),
        ];
        for ((name, share), (expected_name, ticks)) in all.iter().zip(expected) {
            assert_eq!(*name, expected_name);
            assert!((share - 100.0 * ticks / 195.0).abs() < 1e-9, "{name}");
        }
        assert_eq!(shares.iter().find(|s| s.0 == "cpu0" && s.1 == "%user").unwrap().2, 100.0);
    }

    /// Proves that a processor which goes offline shifts no other's times into its place.
    #[test]
    fn processors_may_come_and_go() {
        let mut cpus = Cpus::default();
        at(&mut cpus, "cpu 9 0 0 9\ncpu0 5 0 0 5\ncpu1 4 0 0 4\n");
        let shares = at(&mut cpus, "cpu 19 0 0 9\ncpu1 14 0 0 4\n");
        assert!(shares.iter().all(|share| share.0 == "all"), "{shares:?}");
        assert_eq!(at(&mut cpus, "cpu 19 0 0 19\ncpu1 14 0 0 14\n").len(), 12);
    }

    /// Proves that malformed lines are passed over.
    #[test]
    fn malformed_lines_are_passed_over() {
        let mut counters = Vec::new();
        Cpus::default().read("cpu x\ncpu\n\ncpu 1 2\n", &mut counters);
        push_load("0.5 nan\n", "procs_running 3\nprocs_blocked -\n", &"all".into(), &mut counters);
        let values: Vec<_> = counters.iter().map(|c| (c.name, c.value)).collect();
        assert_eq!(values, [("load1", 0.5), ("procs_running", 3.0)]);
    }
}

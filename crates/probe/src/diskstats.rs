//! `/proc/diskstats` (Documentation/admin-guide/iostats.rst) and the columns of `iostat -x` (sysstat 12).

use crate::counter::Counter;
use crate::topology::Role;
use std::collections::BTreeMap;
use std::sync::Arc;

/// One line of `/proc/diskstats` behind the name. Sectors are 512 bytes, ticks are milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct DiskStats {
    pub(crate) read: Direction,
    pub(crate) write: Direction,
    pub(crate) discard: Direction,
    pub(crate) flush_ios: u64,
    pub(crate) flush_ticks_ms: u64,
    pub(crate) busy_ticks_ms: u64,
    pub(crate) queue_ticks_ms: u64,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Direction {
    pub(crate) ios: u64,
    pub(crate) merges: u64,
    pub(crate) sectors: u64,
    pub(crate) ticks_ms: u64,
}

/// A line: device number, name, statistics.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Line<'a> {
    pub(crate) number: (u32, u32),
    pub(crate) name: &'a str,
    pub(crate) stats: DiskStats,
}

/// Linux 2.6 wrote 11 numbers, 4.18 added 4 for discards, 5.5 added 2 for flushes.
const FIELDS_AT_LEAST: usize = 11;
const FIELDS_KNOWN: usize = 17;

pub(crate) fn parse_line(line: &str) -> Option<Line<'_>> {
    let mut words = line.split_ascii_whitespace();
    let number = (words.next()?.parse().ok()?, words.next()?.parse().ok()?);
    let name = words.next()?;
    Some(Line { number, name, stats: parse_stats(words)? })
}

/// The `stat` file of a device in sysfs: a line without number and name.
pub(crate) fn parse_stat_file(text: &str) -> Option<DiskStats> {
    parse_stats(text.split_ascii_whitespace())
}

fn parse_stats<'a>(words: impl Iterator<Item = &'a str>) -> Option<DiskStats> {
    let mut fields = [0u64; FIELDS_KNOWN];
    let mut count = 0;
    for (field, word) in fields.iter_mut().zip(words) {
        *field = word.parse().ok()?;
        count += 1;
    }
    if count < FIELDS_AT_LEAST {
        return None;
    }
    let direction = |at: usize| Direction {
        ios: fields[at],
        merges: fields[at + 1],
        sectors: fields[at + 2],
        ticks_ms: fields[at + 3],
    };
    // Field 8 is the number in flight, which is no counter.
    Some(DiskStats {
        read: direction(0),
        write: direction(4),
        busy_ticks_ms: fields[9],
        queue_ticks_ms: fields[10],
        discard: direction(11),
        flush_ios: fields[15],
        flush_ticks_ms: fields[16],
    })
}

/// The devices of the last reading.
#[derive(Debug, Default)]
pub(crate) struct Disks {
    known: BTreeMap<Box<str>, Known>,
    reading: u64,
    changed: bool,
}

#[derive(Debug)]
struct Known {
    number: (u32, u32),
    stats: DiskStats,
    /// Counts between the last two readings, where this is one device's.
    delta: Option<DiskStats>,
    /// Role of the device; `None` for one that was not selected.
    role: Option<Role>,
    reading: u64,
}

impl Disks {
    /// Begins a reading.
    pub(crate) fn begin(&mut self) {
        self.reading += 1;
        self.changed = false;
    }

    /// Takes a device in. One that appears, or starts to count anew, has no interval until the next reading.
    pub(crate) fn take(&mut self, line: &Line<'_>) {
        match self.known.get_mut(line.name) {
            Some(known) if known.number == line.number => {
                known.delta = difference(&known.stats, &line.stats);
                known.stats = line.stats;
                known.reading = self.reading;
            }
            _ => {
                let known = Known {
                    number: line.number,
                    stats: line.stats,
                    delta: None,
                    role: None,
                    reading: self.reading,
                };
                self.known.insert(line.name.into(), known);
                self.changed = true;
            }
        }
    }

    /// True where the device was in this reading.
    pub(crate) fn has_taken(&self, name: &str) -> bool {
        self.known.get(name).is_some_and(|known| known.reading == self.reading)
    }

    /// Ends a reading; true where devices have come or gone since the one before.
    pub(crate) fn end(&mut self) -> bool {
        // What has gone must not be compared with what comes back under its name.
        let (reading, before) = (self.reading, self.known.len());
        self.known.retain(|_, known| known.reading == reading);
        self.changed || self.known.len() != before
    }

    /// Gives each device its role anew.
    pub(crate) fn assign(&mut self, role: impl Fn(&str) -> Option<Role>) {
        for (name, known) in &mut self.known {
            known.role = role(name);
        }
    }

    /// Returns a device's counts between the last two readings.
    pub(crate) fn delta(&self, name: &str) -> Option<&DiskStats> {
        self.known.get(name)?.delta.as_ref()
    }

    /// The columns of every device with a role.
    pub(crate) fn push_counters(&self, elapsed_s: f64, counters: &mut Vec<Counter>) {
        for known in self.known.values() {
            if let (Some(role), Some(delta)) = (&known.role, &known.delta) {
                push_columns(role, delta, elapsed_s, counters);
            }
        }
    }
}

/// Returns the difference of two readings; `None` when the counters started anew.
///
/// Requests and sectors are printed as `unsigned long` and do not wrap on 64-bit hosts: there, less than before
/// means another device. Ticks are printed as 32 bits and wrap after 50 days of summed waiting, which a device with
/// a thousand requests in flight reaches in 72 minutes.
fn difference(before: &DiskStats, after: &DiskStats) -> Option<DiskStats> {
    let direction = |before: &Direction, after: &Direction| {
        Some(Direction {
            ios: after.ios.checked_sub(before.ios)?,
            merges: after.merges.checked_sub(before.merges)?,
            sectors: after.sectors.checked_sub(before.sectors)?,
            ticks_ms: ticks(before.ticks_ms, after.ticks_ms)?,
        })
    };
    Some(DiskStats {
        read: direction(&before.read, &after.read)?,
        write: direction(&before.write, &after.write)?,
        discard: direction(&before.discard, &after.discard)?,
        flush_ios: after.flush_ios.checked_sub(before.flush_ios)?,
        flush_ticks_ms: ticks(before.flush_ticks_ms, after.flush_ticks_ms)?,
        busy_ticks_ms: ticks(before.busy_ticks_ms, after.busy_ticks_ms)?,
        queue_ticks_ms: ticks(before.queue_ticks_ms, after.queue_ticks_ms)?,
    })
}

fn ticks(before: u64, after: u64) -> Option<u64> {
    match (u32::try_from(before), u32::try_from(after)) {
        (Ok(before), Ok(after)) => Some(u64::from(after.wrapping_sub(before))),
        _ => after.checked_sub(before),
    }
}

/// The columns of `iostat -x`, by its names: kB are 1024 bytes, awaits are milliseconds.
fn push_columns(role: &Role, delta: &DiskStats, elapsed_s: f64, counters: &mut Vec<Counter>) {
    let mut push = |name: &'static str, value: f64| {
        counters.push(Counter { source: role.source, entity: Arc::clone(&role.entity), name, value });
    };
    const NAMES: [[&str; 6]; 3] = [
        ["r/s", "rkB/s", "rrqm/s", "%rrqm", "r_await", "rareq-sz"],
        ["w/s", "wkB/s", "wrqm/s", "%wrqm", "w_await", "wareq-sz"],
        ["d/s", "dkB/s", "drqm/s", "%drqm", "d_await", "dareq-sz"],
    ];
    let each = |total: u64, ios: u64| if ios == 0 { 0.0 } else { total as f64 / ios as f64 };
    for (names, one) in NAMES.into_iter().zip([&delta.read, &delta.write, &delta.discard]) {
        let [ios, bandwidth, merges, merged_share, wait, size] = names;
        push(ios, one.ios as f64 / elapsed_s);
        push(bandwidth, one.sectors as f64 / 2.0 / elapsed_s);
        push(merges, one.merges as f64 / elapsed_s);
        push(merged_share, 100.0 * each(one.merges, one.merges + one.ios));
        push(wait, each(one.ticks_ms, one.ios));
        push(size, each(one.sectors, one.ios) / 2.0);
    }
    push("f/s", delta.flush_ios as f64 / elapsed_s);
    push("f_await", each(delta.flush_ticks_ms, delta.flush_ios));
    push("aqu-sz", delta.queue_ticks_ms as f64 / 1000.0 / elapsed_s);
    // The kernel counts busy time in whole ticks, so a full device may show a little more than the interval.
    push("%util", (delta.busy_ticks_ms as f64 / 10.0 / elapsed_s).min(100.0));
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn at(disks: &mut Disks, text: &str) -> Vec<Counter> {
        let mut counters = Vec::new();
        disks.begin();
        text.lines().filter_map(parse_line).for_each(|line| disks.take(&line));
        if disks.end() {
            disks.assign(|name| Some(Role { source: "disk", entity: name.into() }));
        }
        disks.push_counters(5.0, &mut counters);
        counters
    }

    fn value(counters: &[Counter], entity: &str, name: &str) -> f64 {
        counters.iter().find(|c| &*c.entity == entity && c.name == name).expect(name).value
    }

    /// Proves every column against arithmetic done by hand on two recorded readings 5 s apart.
    #[test]
    fn columns_are_those_of_iostat() {
        let mut disks = Disks::default();
        assert_eq!(at(&mut disks, include_str!("../tests/proc/diskstats.before")), []);
        let counters = at(&mut disks, include_str!("../tests/proc/diskstats.after"));
        // sda: 10,000 reads (500 merged) of 160,000 sectors in 20,000 ms; 5,000 writes (5,000 merged) of 80,000
        // sectors in 15,000 ms; 50 flushes in 200 ms; busy 4,000 ms; 35,200 ms of waiting.
        for (name, expected) in [
            ("r/s", 2000.0),
            ("rkB/s", 16_000.0),
            ("rrqm/s", 100.0),
            ("%rrqm", 100.0 * 500.0 / 10_500.0),
            ("r_await", 2.0),
            ("rareq-sz", 8.0),
            ("w/s", 1000.0),
            ("wkB/s", 8000.0),
            ("wrqm/s", 1000.0),
            ("%wrqm", 50.0),
            ("w_await", 3.0),
            ("wareq-sz", 8.0),
            ("d/s", 2.0),
            ("dkB/s", 1024.0),
            ("drqm/s", 0.0),
            ("%drqm", 0.0),
            ("d_await", 1.5),
            ("dareq-sz", 512.0),
            ("f/s", 10.0),
            ("f_await", 4.0),
            ("aqu-sz", 7.04),
            ("%util", 80.0),
        ] {
            assert!((value(&counters, "sda", name) - expected).abs() < 1e-9, "{name}");
        }
        assert_eq!(counters.iter().filter(|c| &*c.entity == "sda").count(), 22);
        // sdb did nothing; sdc has the 11 fields of an old kernel.
        assert!(counters.iter().filter(|c| &*c.entity == "sdb").all(|c| c.value == 0.0));
        assert_eq!(value(&counters, "sdc", "r/s"), 20.0);
    }

    /// Proves that 32-bit ticks wrap, and that more ticks than the interval has never show as over 100 %.
    #[test]
    fn ticks_wrap_at_32_bits() {
        let mut disks = Disks::default();
        at(&mut disks, "8 0 sda 10 0 0 4294967290 0 0 0 0 0 4294967290 4294967290");
        let counters = at(&mut disks, "8 0 sda 20 0 0 14 0 0 0 0 0 5014 994");
        assert_eq!(value(&counters, "sda", "r_await"), 2.0);
        assert_eq!(value(&counters, "sda", "aqu-sz"), 0.2);
        assert_eq!(value(&counters, "sda", "%util"), 100.0);
    }

    /// Proves that a device which appears, vanishes, returns, counts anew or changes its number never gives an
    /// interval made of two devices.
    #[test]
    fn a_device_that_changes_gives_a_gap() {
        let mut disks = Disks::default();
        let line = |ios: u64| format!("8 0 sda {ios} 0 0 0 0 0 0 0 0 0 0");
        assert_eq!(at(&mut disks, &line(100)), []);
        assert_eq!(value(&at(&mut disks, &line(150)), "sda", "r/s"), 10.0);
        assert_eq!(at(&mut disks, &line(10)), [], "counts anew");
        assert_eq!(value(&at(&mut disks, &line(60)), "sda", "r/s"), 10.0);
        assert_eq!(at(&mut disks, ""), []);
        assert_eq!(at(&mut disks, &line(160)), [], "returned");
        assert_eq!(at(&mut disks, "8 16 sda 300 0 0 0 0 0 0 0 0 0 0"), [], "another number");
        assert_eq!(value(&at(&mut disks, "8 16 sda 305 0 0 0 0 0 0 0 0 0 0"), "sda", "r/s"), 1.0);
    }

    proptest! {
        /// Proves that no text panics and that every value is a number not below zero.
        #[test]
        fn no_text_panics(first in "([0-9a-z ]{0,80}\n){0,4}", a in proptest::array::uniform17(any::<u64>()), b in proptest::array::uniform17(any::<u64>())) {
            let line = |f: &[u64]| format!("8 0 sda {}", f.iter().map(u64::to_string).collect::<Vec<_>>().join(" "));
            let mut disks = Disks::default();
            at(&mut disks, &first);
            at(&mut disks, &line(&a));
            for counter in at(&mut disks, &line(&b)) {
                prop_assert!(counter.value.is_finite() && counter.value >= 0.0);
            }
        }
    }
}

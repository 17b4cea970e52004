//! Histograms of VMware's `vscsiStats -p all -c` as a workload: sizes, order and arrivals of each virtual disk, reads and writes apart.
//!
//! Format: sections that begin with a line `Histogram: TITLE,virtual machine worldGroupID,N,virtual disk handleID,M (scsi0:0)`, then `min`, `max`,
//! `mean` (whole numbers) and `count`, then a line `FREQUENCY,LIMIT` for each bucket of values up to its limit; the last one, which
//! repeats the limit before it, holds what is larger. Distances are counted in blocks from the last block of the command before, so that 1 is
//! sequential (I. Ahmad, "Easy and Efficient Disk I/O Workload Characterization in VMware ESX Server", IISWC 2007).

use crate::SizingError;
use crate::counted_stream::{SECTOR_BYTES, counted_stream, orders};
use crate::workload::{Stream, Workload};
use std::collections::BTreeMap;

/// First word of each section.
const SECTION: &str = "Histogram: ";
const HINT: &str = "give the output of `vscsiStats -p all -c`";
/// Share of a histogram's commands that its buckets may lack or have beyond its count: it is printed while it is counted.
const COUNT_TOLERANCE: f64 = 0.01;
/// Most commands of a histogram that are believed.
const COUNT_LIMIT: u64 = 1_000_000_000_000_000;
/// Fewest commands of a disk that make a load of it.
const COMMANDS_LEAST: u64 = 100;
/// Uncertainty of a rate that is worth a word.
const UNCERTAINTY_LEAST: f64 = 0.01;

const INTERARRIVAL: &str = "latency of IO interarrival time in Microseconds (us)";
const SEQUENTIAL_LIMIT: i64 = 1;

/// Titles of one direction's histograms, and its name.
struct DirectionTitles {
    lengths: &'static str,
    distances: &'static str,
    direction: &'static str,
}

const DIRECTIONS: [DirectionTitles; 2] = [
    DirectionTitles {
        lengths: "IO lengths of Read commands",
        distances: "distance (in LBNs) between successive Read commands",
        direction: "read",
    },
    DirectionTitles {
        lengths: "IO lengths of Write commands",
        distances: "distance (in LBNs) between successive Write commands",
        direction: "write",
    },
];

/// Histogram as it was printed.
#[derive(Debug, Default)]
struct Histogram {
    line: usize,
    max: i64,
    mean: i64,
    count: u64,
    /// Values at most so large, and how many have been.
    buckets: Vec<(i64, u64)>,
}

/// Histograms by their titles, of one disk and one time of printing.
type Collection = BTreeMap<String, Histogram>;

/// Returns true if an output begins as that of `vscsiStats` does.
pub(crate) fn is_vscsi_stats(head: &str) -> bool {
    head.trim_start_matches('\u{feff}').trim_start().starts_with(SECTION)
}

/// Workload of the histograms of all virtual disks, or of the one that `unit` names.
pub(crate) fn workload_of_vscsi_stats(
    name: &str,
    text: &str,
    unit: Option<&str>,
) -> Result<Workload, SizingError> {
    let mut disks = collections(name, text)?;
    if let Some(unit) = unit {
        let Some(own) = disks.remove_entry(unit) else {
            return Err(SizingError::no_device(name, unit, disks.keys()));
        };
        disks = BTreeMap::from([own]);
    }
    let mut streams = Vec::new();
    let mut facts = Facts::default();
    for (disk, collections) in &disks {
        facts.most_outputs = facts.most_outputs.max(collections.len());
        let mut busiest: Option<(Arrivals, &Collection)> = None;
        for collection in collections {
            let Some(arrivals) = arrivals(name, disk, collection)? else { continue };
            if busiest.as_ref().is_none_or(|(most, _)| arrivals.iops > most.iops) {
                busiest = Some((arrivals, collection));
            }
        }
        match busiest {
            Some((arrivals, collection)) => {
                streams.extend(streams_of(name, disk, &arrivals, collection, &mut facts)?);
            }
            None => facts.idle_disks += 1,
        }
    }
    if streams.is_empty() {
        return Err(SizingError::question(
            format!("{name}: no virtual disk was given {COMMANDS_LEAST} commands"),
            "collect while there is a load: `vscsiStats -s`, some minutes, `vscsiStats -p all -c`",
        ));
    }
    let (title, source) = (format!("Mean of {name}"), format!("vscsiStats: {name}"));
    Ok(Workload::of_source(title, source, facts.not_known(), streams))
}

/// Facts about an output that make its figures less than exact.
#[derive(Debug, Default)]
struct Facts {
    most_outputs: usize,
    /// Disks with too few commands.
    idle_disks: usize,
    /// Of the rate of a disk, as a share of it.
    most_rate_uncertainty: f64,
    /// Of all commands, by the mean of each histogram, and by the sizes that are taken.
    bytes: f64,
    bytes_taken: f64,
}

impl Facts {
    fn not_known(&self) -> Vec<String> {
        let mut not_known = vec![
            "bursts: rates are means over the time of the collection, without its longest pause".to_owned(),
        ];
        if self.most_rate_uncertainty >= UNCERTAINTY_LEAST {
            not_known.push(format!(
                "rates: up to {:.0} % too high, since means of interarrival times are printed in whole microseconds",
                100.0 * self.most_rate_uncertainty
            ));
        }
        if self.idle_disks > 0 {
            let few =
                format!("disks: {} with fewer than {COMMANDS_LEAST} commands are left out", self.idle_disks);
            not_known.push(few);
        }
        if self.most_outputs > 1 {
            not_known.push(format!(
                "time: of up to {} outputs of a disk the one with its highest rate is taken, whenever that was",
                self.most_outputs
            ));
        }
        not_known.push(format!(
            "sizes: the largest of each bucket, which are {:.0} % more bytes than were moved; those of sequential commands are taken as those of all",
            100.0 * (self.bytes_taken / self.bytes.max(1.0) - 1.0).max(0.0)
        ));
        not_known.push(
            "order: random, but for commands that begin behind the one before of their direction".into(),
        );
        not_known.push("working set: all of the array".into());
        not_known
    }
}

/// Arrivals at one disk.
struct Arrivals {
    iops: f64,
    commands: u64,
    /// Share of the rate by which it may be too high.
    uncertainty: f64,
}

/// Rate of a disk by its interarrival times; `None` where too few commands came. The longest is left out: the first command's is the time
/// since the machine was started, or since the collection before.
fn arrivals(name: &str, disk: &str, collection: &Collection) -> Result<Option<Arrivals>, SizingError> {
    let interarrival = collection.get(INTERARRIVAL).ok_or_else(|| lacks(name, disk, INTERARRIVAL))?;
    if interarrival.count < COMMANDS_LEAST {
        return Ok(None);
    }
    let count = interarrival.count as f64;
    let sum_us = interarrival.mean as f64 * count - interarrival.max as f64;
    let iops = (count - 1.0) / (sum_us / 1e6);
    if !(0.0..=plan::RATE_IOPS_LIMIT as f64).contains(&iops) {
        let message = format!(
            "{name}:{}: mean and longest of the interarrival times of `{disk}` contradict each other",
            interarrival.line
        );
        return Err(SizingError::question(message, HINT));
    }
    // The mean is cut to whole microseconds.
    let uncertainty = count / sum_us;
    Ok(Some(Arrivals { iops, commands: interarrival.count, uncertainty }))
}

fn streams_of(
    name: &str,
    disk: &str,
    arrivals: &Arrivals,
    collection: &Collection,
    facts: &mut Facts,
) -> Result<Vec<Stream>, SizingError> {
    facts.most_rate_uncertainty = facts.most_rate_uncertainty.max(arrivals.uncertainty);
    let mut streams = Vec::new();
    for titles in &DIRECTIONS {
        let lengths = collection.get(titles.lengths).ok_or_else(|| lacks(name, disk, titles.lengths))?;
        if lengths.count == 0 {
            continue;
        }
        let sizes = sizes(lengths);
        facts.bytes += lengths.mean as f64 * lengths.count as f64;
        facts.bytes_taken += sizes.iter().map(|(bytes, count)| *bytes as f64 * *count as f64).sum::<f64>();
        let iops = arrivals.iops * lengths.count as f64 / arrivals.commands as f64;
        let sequential = collection.get(titles.distances).map_or(0.0, sequential_share);
        streams.extend(orders(sequential).map(|(is_sequential, share)| {
            counted_stream(Some(disk), titles.direction, is_sequential, iops * share, &sizes)
        }));
    }
    Ok(streams)
}

/// Sizes in bytes and how many there are, each as large as its bucket allows in whole sectors.
fn sizes(lengths: &Histogram) -> BTreeMap<u64, u64> {
    let mut sizes = BTreeMap::new();
    let largest = u64::try_from(lengths.max).unwrap_or(0).next_multiple_of(SECTOR_BYTES).max(SECTOR_BYTES);
    for (place, &(limit, count)) in lengths.buckets.iter().enumerate().filter(|(_, (_, count))| *count > 0) {
        let is_beyond = place > 0 && lengths.buckets[place - 1].0 == limit;
        let whole = u64::try_from(limit).unwrap_or(0) / SECTOR_BYTES * SECTOR_BYTES;
        let bytes = if is_beyond { largest } else { whole.clamp(SECTOR_BYTES, largest) };
        *sizes.entry(bytes).or_default() += count;
    }
    sizes
}

/// Share of commands that begin right behind the one before.
fn sequential_share(distances: &Histogram) -> f64 {
    let sum: u64 = distances.buckets.iter().map(|(_, count)| count).sum();
    let own =
        distances.buckets.iter().find(|(limit, _)| *limit == SEQUENTIAL_LIMIT).map_or(0, |(_, count)| *count);
    own as f64 / sum.max(1) as f64
}

fn lacks(name: &str, disk: &str, title: &str) -> SizingError {
    SizingError::question(format!("{name}: `{disk}` has no histogram `{title}`"), HINT)
}

/// Collections of each disk in the order of their printing: a histogram that comes again begins another.
fn collections(name: &str, text: &str) -> Result<BTreeMap<String, Vec<Collection>>, SizingError> {
    let mut printed: Vec<(String, String, Histogram)> = Vec::new();
    for (index, line) in text.trim_start_matches('\u{feff}').lines().map(str::trim).enumerate() {
        if let Some(head) = line.strip_prefix(SECTION) {
            let (title, disk) = title_and_disk(head).ok_or_else(|| {
                SizingError::question(
                    format!("{name}:{}: this is no head of a histogram in CSV", index + 1),
                    format!("{HINT}: without -c its lines cannot be told apart"),
                )
            })?;
            let histogram = Histogram { line: index + 1, ..Histogram::default() };
            printed.push((disk, title.to_owned(), histogram));
        } else if let (Some((_, _, histogram)), Some((first, second))) =
            (printed.last_mut(), line.split_once(','))
        {
            // Other lines, such as times of day between outputs, are no pairs of numbers.
            histogram.take(first.trim(), second.trim());
        }
    }
    let mut disks: BTreeMap<String, Vec<Collection>> = BTreeMap::new();
    for (disk, title, histogram) in printed {
        histogram.check(name)?;
        let own = disks.entry(disk).or_default();
        match own.last_mut() {
            Some(last) if !last.contains_key(&title) => drop(last.insert(title, histogram)),
            _ => own.push(Collection::from([(title, histogram)])),
        }
    }
    Ok(disks)
}

/// Title of a histogram, and the disk that it is of by virtual machine and name.
fn title_and_disk(head: &str) -> Option<(&str, String)> {
    let mut fields = head.split(',').map(str::trim);
    let (title, group, world, handle, disk) =
        (fields.next()?, fields.next()?, fields.next()?, fields.next()?, fields.next()?);
    if !group.ends_with("worldGroupID") || !handle.ends_with("handleID") {
        return None;
    }
    let named = disk.split_once('(').map(|(_, rest)| rest.trim_end_matches(')').trim());
    let disk = named.filter(|name| !name.is_empty()).unwrap_or(disk);
    Some((title, format!("{world}-{disk}")))
}

impl Histogram {
    /// Takes a line of two fields: a number of the whole, or a bucket.
    fn take(&mut self, first: &str, second: &str) {
        let Ok(value) = second.parse::<i64>() else { return };
        match first {
            "max" => self.max = value,
            "mean" => self.mean = value,
            "count" => self.count = value.try_into().unwrap_or(0),
            _ => self.buckets.extend(first.parse().ok().map(|frequency| (value, frequency))),
        }
    }

    /// Refuses a histogram whose buckets are not those that it counts: lines are missing, or are not as they were written.
    fn check(&self, name: &str) -> Result<(), SizingError> {
        let sum: u128 = self.buckets.iter().map(|(_, count)| u128::from(*count)).sum();
        let difference = sum.abs_diff(u128::from(self.count)) as f64;
        if difference <= COUNT_TOLERANCE * self.count as f64 && self.count <= COUNT_LIMIT {
            return Ok(());
        }
        let message =
            format!("{name}:{}: the buckets hold {sum} commands, its count is {}", self.line, self.count);
        Err(SizingError::question(message, HINT))
    }
}

#[cfg(test)]
#[path = "vscsi_stats_tests.rs"]
mod tests;

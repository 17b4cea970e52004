//! Workloads from life: recordings of production hosts and traces.
//!
//! A recording is sized by its busiest hour: the 95th percentile of its minutes' rates, each direction of each device as a stream. A trace is sized by its
//! busiest minute.

use crate::SizingError;
use crate::counted_stream::{SECTOR_BYTES, counted_stream, orders};
use crate::tool_output::{OUTPUT_LIMIT_BYTES, read_tool_output};
use crate::vscsi_stats::{is_vscsi_stats, workload_of_vscsi_stats};
use crate::workload::{Workload, name_streams};
use load::{Direction, Trace, TraceRecord};
use probe::{RECORDING_VERSION, RecordedDirection, RecordedMinute, RecordingHead};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, Read};

/// Longest line of a recording.
const LINE_LIMIT_BYTES: u64 = 64 << 10;
/// Most lines of a recording: a week of a hundred disks.
const LINES_LIMIT: usize = 1_100_000;
/// Seconds of the busiest hour.
const HOUR_S: u64 = 3600;
/// Share of the minutes whose rate is not sized for.
const PERCENTILE: f64 = 0.95;
/// Ends of I/Os that a sequential one may follow.
const ENDS: usize = 64;
/// Piece of the working set.
const PIECE_BYTES: u64 = 1 << 20;
/// Busiest time of a trace, in nanoseconds.
const MINUTE_NS: u64 = 60_000_000_000;

/// Workload of a recording that `arraylab record` made.
pub fn workload_of_recording(name: &str, input: &mut dyn BufRead) -> Result<Workload, SizingError> {
    let wrong = |line: usize, message: &str| {
        SizingError::question(
            format!("{name}:{line}: {message}"),
            "recordings are files of `arraylab record`",
        )
    };
    let mut minutes: Vec<RecordedMinute> = Vec::new();
    let mut head: Option<RecordingHead> = None;
    for number in 1.. {
        let mut line = String::new();
        let mut limited = Read::take(&mut *input, LINE_LIMIT_BYTES);
        let read = limited.read_line(&mut line).map_err(|error| wrong(number, &error.to_string()))?;
        if read == 0 {
            break;
        }
        if number > LINES_LIMIT || read as u64 == LINE_LIMIT_BYTES {
            return Err(wrong(number, "the recording is too long"));
        }
        if head.is_none() {
            let first: RecordingHead =
                serde_json::from_str(&line).map_err(|_| wrong(number, "this is no recording"))?;
            if first.recording != RECORDING_VERSION {
                return Err(wrong(
                    number,
                    &format!("version {} of recordings is not known", first.recording),
                ));
            }
            head = Some(first);
            continue;
        }
        match serde_json::from_str(&line) {
            Ok(minute) => minutes.push(minute),
            // The last line of a recording that was killed may be cut.
            Err(_) if !line.ends_with('\n') => break,
            Err(error) => return Err(wrong(number, &error.to_string())),
        }
    }
    let head = head.ok_or_else(|| wrong(1, "the recording is empty"))?;
    let title = format!("Busiest hour of {name}, 95th percentile of its minutes");
    workload_of_minutes(name, title, format!("arraylab record: {name}"), head.not_known, &minutes)
}

/// Workload of the output of a monitoring tool (iostat, sar, sadf, esxtop, perfmon, Prometheus with node_exporter), sized as a recording is, or
/// of the histograms of vscsiStats; of one device where `unit` names it.
pub fn workload_of_tool_output(
    name: &str,
    input: &mut dyn BufRead,
    unit: Option<&str>,
) -> Result<Workload, SizingError> {
    let mut bytes = Vec::new();
    let read = Read::take(input, OUTPUT_LIMIT_BYTES).read_to_end(&mut bytes);
    read.map_err(|error| SizingError::question(format!("{name}: {error}"), "give a file that can be read"))?;
    if bytes.len() as u64 == OUTPUT_LIMIT_BYTES {
        return Err(SizingError::question(
            format!("{name} is larger than {}", units::human_bytes(OUTPUT_LIMIT_BYTES)),
            "give a shorter time, or fewer devices",
        ));
    }
    let text = String::from_utf8_lossy(&bytes);
    if is_vscsi_stats(&text) {
        return workload_of_vscsi_stats(name, &text, unit);
    }
    let output = read_tool_output(name, &text, unit)?;
    let direction = |iops: f64, bytes_per_s: f64, seconds: f64| RecordedDirection {
        ios: (iops * seconds).round() as u64,
        bytes: (bytes_per_s * seconds).round() as u64,
        ..RecordedDirection::default()
    };
    let minutes: Vec<RecordedMinute> = output
        .samples
        .iter()
        .map(|sample| RecordedMinute {
            device: sample.device.clone(),
            at_s: sample.at_s,
            seconds: sample.seconds,
            read: direction(sample.read_iops, sample.read_bytes_per_s, sample.seconds),
            write: direction(sample.write_iops, sample.written_bytes_per_s, sample.seconds),
            flushes: 0,
            busy: 0.0,
            queue_depth: 0.0,
            seconds_by_iops: Vec::new(),
        })
        .collect();
    let title = format!("Busiest hour of {name}, 95th percentile of its reports");
    workload_of_minutes(name, title, format!("{}: {name}", output.tool), output.not_known, &minutes)
}

/// Workload of the busiest hour of minutes, or of reports of another length.
fn workload_of_minutes(
    name: &str,
    title: String,
    source: String,
    mut not_known: Vec<String>,
    minutes: &[RecordedMinute],
) -> Result<Workload, SizingError> {
    let busiest = busiest_hour(minutes);
    let mut streams = Vec::new();
    let mut most_over_mean: f64 = 1.0;
    let devices: BTreeSet<&str> = busiest.iter().map(|minute| minute.device.as_str()).collect();
    for device in devices {
        for (word, of) in
            [("read", direction(|minute| minute.read)), ("write", direction(|minute| minute.write))]
        {
            let own: Vec<(f64, RecordedDirection)> = busiest
                .iter()
                .filter(|minute| minute.device == device)
                .map(|minute| (minute.seconds, of(minute)))
                .collect();
            let (ios, bytes) = own
                .iter()
                .fold((0, 0), |sum, (_, one)| (sum.0 + u128::from(one.ios), sum.1 + u128::from(one.bytes)));
            let iops =
                percentile(own.iter().map(|(seconds, one)| one.ios as f64 / seconds.max(1.0)).collect());
            if ios == 0 || iops <= 0.0 {
                continue;
            }
            most_over_mean = own.iter().map(|(_, one)| one.most_iops / iops).fold(most_over_mean, f64::max);
            let mean_bytes = u64::try_from(bytes / ios).unwrap_or(u64::MAX);
            let sizes = BTreeMap::from([(sectors(mean_bytes), 1)]);
            streams.push(counted_stream(Some(device), word, false, iops, &sizes));
        }
    }
    if streams.is_empty() {
        return Err(SizingError::question(
            format!("{name}: no device did anything"),
            "give a time in which there was a load",
        ));
    }
    not_known.push("order: all is taken as random, which no array does faster".into());
    if most_over_mean > 1.5 {
        not_known.push(format!(
            "bursts: the busiest second had {most_over_mean:.1} times the rate that is sized for"
        ));
    }
    Ok(Workload::of_source(title, source, not_known, streams))
}

fn direction(
    of: impl Fn(&RecordedMinute) -> RecordedDirection + 'static,
) -> Box<dyn Fn(&RecordedMinute) -> RecordedDirection> {
    Box::new(of)
}

/// Lines of the hour with the most I/Os.
fn busiest_hour(minutes: &[RecordedMinute]) -> Vec<&RecordedMinute> {
    // Files of anybody may have numbers whose sums are beyond 64 bits.
    let mut ios: BTreeMap<u64, u128> = BTreeMap::new();
    for minute in minutes {
        *ios.entry(minute.at_s).or_default() += u128::from(minute.read.ios) + u128::from(minute.write.ios);
    }
    let by_time: Vec<(u64, u128)> = ios.into_iter().collect();
    let (mut best, mut best_ios) = (None, 0);
    let (mut end, mut sum) = (0, 0);
    for &(first_s, own) in &by_time {
        while end < by_time.len() && by_time[end].0 < first_s.saturating_add(HOUR_S) {
            sum += by_time[end].1;
            end += 1;
        }
        // Of equals the first.
        if best.is_none() || sum > best_ios {
            (best, best_ios) = (Some((first_s, by_time[end - 1].0)), sum);
        }
        sum -= own;
    }
    let Some((first, last)) = best else { return Vec::new() };
    minutes.iter().filter(|minute| (first..=last).contains(&minute.at_s)).collect()
}

fn percentile(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let place = (values.len() as f64 * PERCENTILE).ceil() as usize;
    values.get(place.saturating_sub(1)).copied().unwrap_or(0.0)
}

/// A size in whole sectors, at least one.
fn sectors(bytes: u64) -> u64 {
    (bytes.saturating_add(SECTOR_BYTES / 2) / SECTOR_BYTES).max(1) * SECTOR_BYTES
}

/// Makes the workload of a trace: its busiest minute, with sequential and random reads and writes apart.
pub fn workload_of_trace(name: &str, trace: &Trace) -> Result<Workload, SizingError> {
    let (records, duration_ns) = busiest_minute(trace.records());
    let sequential = sequential(records);
    let mut streams = Vec::new();
    for (word, direction) in [("read", Direction::Read), ("write", Direction::Write)] {
        let of_direction =
            records.iter().zip(&sequential).filter(|(record, _)| record.direction == direction);
        let all: Vec<(&TraceRecord, &bool)> = of_direction.collect();
        if all.is_empty() {
            continue;
        }
        let in_order = all.iter().filter(|(_, is)| **is).count() as f64 / all.len() as f64;
        for (is_sequential, share) in orders(in_order) {
            let own = all.iter().filter(|(_, is)| share >= 1.0 || **is == is_sequential);
            let own: Vec<&TraceRecord> = own.map(|(record, _)| *record).collect();
            let iops = own.len() as f64 * 1e9 / duration_ns as f64;
            let mut stream = counted_stream(None, word, is_sequential, iops, &sizes(&own));
            stream.settings.insert("size".into(), touched_bytes(&own).into());
            streams.push(stream);
        }
    }
    if streams.is_empty() {
        return Err(SizingError::question(
            format!("{name} has no reads and no writes"),
            "give a trace of a load",
        ));
    }
    let not_known = vec![
        "bursts: arrivals are taken as a Poisson process of one rate".into(),
        "popularity: all of the working set is taken as equally busy".into(),
    ];
    let source = format!("{} trace {name}", trace.format.name());
    Ok(Workload::of_source(format!("Busiest minute of {name}"), source, not_known, streams))
}

/// Records of the minute with the most, and its length: the whole of a shorter trace.
fn busiest_minute(records: &[TraceRecord]) -> (&[TraceRecord], u64) {
    let end_ns = records.last().map_or(0, |record| record.at_ns);
    let begin_ns = records.first().map_or(0, |record| record.at_ns);
    if end_ns - begin_ns <= MINUTE_NS {
        return (records, (end_ns - begin_ns).max(1));
    }
    let (mut best, mut last) = (0..0, 0);
    for first in 0..records.len() {
        while last < records.len() && records[last].at_ns < records[first].at_ns + MINUTE_NS {
            last += 1;
        }
        if last - first > best.len() {
            best = first..last;
        }
    }
    (&records[best], MINUTE_NS)
}

/// Marks the records that begin where one of the last few of their direction ended.
fn sequential(records: &[TraceRecord]) -> Vec<bool> {
    let mut ends: BTreeMap<bool, Vec<u64>> = BTreeMap::new();
    records
        .iter()
        .map(|record| {
            let own = ends.entry(record.direction == Direction::Write).or_default();
            let follows = own.iter().position(|&end| end == record.offset_bytes);
            if let Some(place) = follows {
                own.remove(place);
            } else if own.len() == ENDS {
                own.remove(0);
            }
            own.push(record.offset_bytes + u64::from(record.length_bytes));
            follows.is_some()
        })
        .collect()
}

/// Sizes of records, each with how many there are.
fn sizes(records: &[&TraceRecord]) -> BTreeMap<u64, u64> {
    let mut counts: BTreeMap<u64, u64> = BTreeMap::new();
    for record in records {
        *counts.entry(u64::from(record.length_bytes)).or_default() += 1;
    }
    counts
}

/// Bytes of the pieces that records touch.
fn touched_bytes(records: &[&TraceRecord]) -> u64 {
    let mut pieces = BTreeSet::new();
    for record in records {
        let end = record.offset_bytes + u64::from(record.length_bytes).max(1);
        pieces.extend(record.offset_bytes / PIECE_BYTES..=(end - 1) / PIECE_BYTES);
    }
    pieces.len() as u64 * PIECE_BYTES
}

/// Several workloads as one: all streams at once, their names with the number of their source.
pub fn joined_workload(workloads: Vec<Workload>) -> Option<Workload> {
    let count = workloads.len();
    let mut all = workloads.into_iter();
    let mut first = all.next()?;
    if count > 1 {
        for stream in &mut first.streams {
            stream.name = format!("1-{}", stream.name);
        }
    }
    for (index, mut other) in all.enumerate() {
        for stream in &mut other.streams {
            stream.name = format!("{}-{}", index + 2, stream.name);
        }
        first.title = format!("{}; {}", first.title, other.title);
        first.source = format!("{}; {}", first.source, other.source);
        first.not_known.extend(other.not_known);
        first.streams.extend(other.streams);
    }
    first.not_known.dedup();
    name_streams(&mut first.streams);
    Some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(at_s: u64, reads: u64) -> String {
        let read = RecordedDirection {
            ios: reads,
            bytes: reads * 8192,
            most_iops: reads as f64 / 20.0,
            ..RecordedDirection::default()
        };
        let minute = RecordedMinute {
            device: "disk-1".into(),
            at_s,
            seconds: 60.0,
            read,
            write: RecordedDirection { ios: 60, bytes: 60 * 5000, ..RecordedDirection::default() },
            flushes: 0,
            busy: 0.5,
            queue_depth: 2.0,
            seconds_by_iops: vec![0, 60],
        };
        format!("{}\n", serde_json::to_string(&minute).unwrap())
    }

    const HEAD: &str = "{\"recording\":1,\"interval_s\":1,\"is_redacted\":true,\"not_known\":[\"a\"]}\n";

    /// Proves that the busiest hour is found and its 95th minute sized for, with sizes in whole sectors, and that a cut last line is left.
    #[test]
    fn the_busiest_hour_is_sized_for() {
        let mut text = HEAD.to_owned();
        for index in 0..300 {
            let reads = if (100..160).contains(&index) { 60_000 + 600 * (index - 100) } else { 6_000 };
            text.push_str(&minute(60 * index, reads));
        }
        text.push_str("{\"device\":\"di");
        let workload = workload_of_recording("r", &mut text.as_bytes()).unwrap();
        assert_eq!(workload.streams.len(), 2);
        let read = &workload.streams[0];
        assert_eq!((read.name.as_str(), read.settings["bs"].as_u64()), ("disk-1-reads", Some(8192)));
        assert!((read.iops - (60_000.0 + 600.0 * 56.0) / 60.0).abs() < 1.0, "{}", read.iops);
        assert_eq!(workload.streams[1].settings["bs"], 5120);
        assert!(workload.not_known.iter().any(|one| one.contains("bursts")));
        workload.case("w").unwrap();
        // What is written is read again.
        assert_eq!(Workload::parse("w", &workload.text()).unwrap(), workload);
    }

    /// Proves that what is no recording is refused with its line.
    #[test]
    fn wrong_recordings_are_refused() {
        for (text, expected) in [
            (String::new(), "empty"),
            ("{}\n".into(), "no recording"),
            ("fio-3.33\n".into(), "no recording"),
            (HEAD.replace("\"recording\":1", "\"recording\":9"), "version 9"),
            (format!("{HEAD}{{\"device\":3}}\n{}", minute(0, 1)), "r:2"),
            (HEAD.to_owned(), "did anything"),
        ] {
            let refused =
                diagnostic::full_text(&workload_of_recording("r", &mut text.as_bytes()).unwrap_err());
            assert!(refused.contains(expected), "{refused}");
        }
    }

    /// Proves that a trace becomes streams with its rates, sizes, order and working set.
    #[test]
    fn a_trace_becomes_streams() {
        let mut text = "fio version 2 iolog\n/dev/sda add\n/dev/sda open\n".to_owned();
        for index in 0..1000_u64 {
            text.push_str(&format!("/dev/sda write {} 65536\n", index * 65_536));
            let size = if index % 4 == 0 { 4096 } else { 8192 };
            text.push_str(&format!(
                "/dev/sda read {} {size}\n",
                (index * 7_919 % 512) * PIECE_BYTES + (1 << 30)
            ));
            text.push_str("/dev/sda wait 10000\n");
        }
        let trace = Trace::read("t", &mut text.as_bytes(), None).unwrap();
        let workload = workload_of_trace("t", &trace).unwrap();
        let of = |name: &str| workload.streams.iter().find(|stream| stream.name == name).unwrap();
        assert_eq!(workload.streams.len(), 2, "{workload:?}");
        assert_eq!(of("reads").settings["bssplit"], "4096/25:8192/75");
        assert_eq!(of("reads").settings["size"], 512 * PIECE_BYTES);
        assert_eq!(
            (of("sequential-writes").settings["rw"].as_str(), of("sequential-writes").numjobs),
            (Some("write"), 1)
        );
        workload.case("w").unwrap();
    }
}

//! Output of monitoring tools as samples of devices: iostat, sar, sadf, perfmon, esxtop, Prometheus.
//!
//! Formats: sysstat's manual pages (iostat(1), sar(1), sadf(1)), counter logs of Windows in CSV ("PDH-CSV 4.0", which esxtop's batch mode
//! writes too), `query_range` of Prometheus' HTTP API over the counters of node_exporter's diskstats collector.

use crate::SizingError;
use crate::vscsi_stats::is_vscsi_stats;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Largest output that is read, in bytes.
pub(crate) const OUTPUT_LIMIT_BYTES: u64 = 256 << 20;
/// Most samples of all devices.
const SAMPLES_LIMIT: usize = 4_000_000;
/// Largest rate that is believed, in I/Os or bytes a second.
const RATE_LIMIT: f64 = 1e13;
/// Seconds of a report that does not say when it was made.
const UNTIMED_S: f64 = 3600.0;
const DAY_S: u64 = 86_400;
const SECTOR: f64 = 512.0;
const KIB: f64 = 1024.0;
const MIB: f64 = 1_048_576.0;

/// Mean rates of one device over one report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolSample {
    pub device: String,
    /// Seconds from midnight of the first day, or of another common beginning; 0 where no report says when it was made.
    pub at_s: u64,
    /// Seconds that it covers.
    pub seconds: f64,
    pub read_iops: f64,
    pub write_iops: f64,
    pub read_bytes_per_s: f64,
    pub written_bytes_per_s: f64,
}

/// Samples of an output.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct ToolOutput {
    /// Name of the tool.
    pub tool: &'static str,
    pub samples: Vec<ToolSample>,
    /// Facts that the output does not show.
    pub not_known: Vec<String>,
}

/// Format of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Iostat,
    Sar,
    SysstatJson,
    CounterCsv,
    Prometheus,
}

/// Format of an output by its beginning; `None` where it is none of a tool.
fn format_of(head: &str) -> Option<Format> {
    let head = head.trim_start_matches('\u{feff}').trim_start();
    if head.starts_with("\"(PDH-CSV") || head.starts_with("(PDH-CSV") {
        return Some(Format::CounterCsv);
    }
    if head.starts_with('{') {
        return match (head.contains("\"sysstat\""), head.contains("\"resultType\"")) {
            (true, _) => Some(Format::SysstatJson),
            (_, true) => Some(Format::Prometheus),
            _ => None,
        };
    }
    let mut words = head.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    words.find_map(|line| match line[..] {
        [first, ..] if first.trim_end_matches(':') == "Device" => Some(Format::Iostat),
        [_, "DEV", ..] | [_, "AM" | "PM", "DEV", ..] => Some(Format::Sar),
        _ => None,
    })
}

/// Returns true if a file begins as the output of a tool does.
pub fn is_tool_output(head: &[u8]) -> bool {
    let head = String::from_utf8_lossy(head);
    is_vscsi_stats(&head) || format_of(&head).is_some()
}

/// Reads the output of a tool; of one device where `unit` names it.
pub(crate) fn read_tool_output(
    name: &str,
    text: &str,
    unit: Option<&str>,
) -> Result<ToolOutput, SizingError> {
    let text = text.trim_start_matches('\u{feff}');
    let mut output = match format_of(text) {
        Some(Format::Iostat) => iostat(name, text)?,
        Some(Format::Sar) => sar(name, text)?,
        Some(Format::SysstatJson) => sysstat_json(name, text)?,
        Some(Format::CounterCsv) => counter_csv(name, text)?,
        Some(Format::Prometheus) => prometheus(name, text)?,
        None => {
            return Err(wrong(
                name,
                "this is no output of a known tool",
                "give output of iostat -x, sar -d, sadf -j, esxtop -b, vscsiStats -p all -c, perfmon or Prometheus",
            ));
        }
    };
    choose_devices(name, &mut output, unit)?;
    output.not_known.push("bursts: rates are means over a report".into());
    output.not_known.push("sizes: means of a report; working set: all of the array".into());
    Ok(output)
}

fn wrong(name: &str, message: impl std::fmt::Display, hint: &str) -> SizingError {
    SizingError::question(format!("{name}: {message}"), hint)
}

/// Devices that lie on no other, as far as their names tell, or the one that is named.
fn choose_devices(name: &str, output: &mut ToolOutput, unit: Option<&str>) -> Result<(), SizingError> {
    let devices: BTreeSet<String> = output.samples.iter().map(|sample| sample.device.clone()).collect();
    if let Some(unit) = unit {
        if !devices.contains(unit) {
            return Err(SizingError::no_device(name, unit, devices.iter()));
        }
        output.samples.retain(|sample| sample.device == unit);
        return Ok(());
    }
    let is_part = |device: &str| {
        let whole = device.trim_end_matches(|c: char| c.is_ascii_digit());
        let whole_p = whole.strip_suffix('p').unwrap_or(whole);
        whole != device && (devices.contains(whole) || (whole_p != whole && devices.contains(whole_p)))
    };
    let is_layer = |device: &str| {
        let last = device.rsplit(' ').next().unwrap_or(device);
        ["dm-", "md", "loop", "ram", "zram", "sr"].iter().any(|prefix| {
            last.strip_prefix(prefix).is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()))
        })
    };
    let left_out: BTreeSet<&String> =
        devices.iter().filter(|device| is_part(device) || is_layer(device)).collect();
    if left_out.len() < devices.len() && !left_out.is_empty() {
        let names: Vec<&str> = left_out.iter().take(8).map(|device| device.as_str()).collect();
        output.not_known.push(format!(
            "layers: {} of {} devices are left out, which lie on others by their names ({})",
            left_out.len(),
            devices.len(),
            names.join(", ")
        ));
        output.samples.retain(|sample| !left_out.contains(&sample.device));
    }
    Ok(())
}

/// Number of a text, with a decimal point or comma.
fn number(text: &str) -> Option<f64> {
    let value: f64 = text.trim().replace(',', ".").parse().ok()?;
    (value.is_finite() && (0.0..=RATE_LIMIT).contains(&value)).then_some(value)
}

/// Seconds of the day of the first `HH:MM:SS` in a line, with AM or PM behind it.
fn time_of_day(line: &str) -> Option<u64> {
    let mut words = line.split(|c: char| c.is_whitespace() || c == 'T' || c == '"').peekable();
    while let Some(word) = words.next() {
        let mut parts = word.splitn(3, ':');
        let (Some(hours), Some(minutes), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
            continue;
        };
        let seconds = rest.get(..2).unwrap_or(rest);
        let part = |text: &str, most: u64| {
            let is_digits =
                !text.is_empty() && text.len() <= 2 && text.bytes().all(|byte| byte.is_ascii_digit());
            text.parse::<u64>().ok().filter(|value| is_digits && *value <= most)
        };
        let (Some(hours), Some(minutes), Some(seconds)) =
            (part(hours, 23), part(minutes, 59), part(seconds, 60))
        else {
            continue;
        };
        let hours = match words.peek() {
            Some(&"AM") => hours % 12,
            Some(&"PM") => hours % 12 + 12,
            _ => hours,
        };
        return Some(hours * 3600 + minutes * 60 + seconds);
    }
    None
}

/// Clock over midnights: times of day that go back begin another day.
#[derive(Default)]
struct Clock {
    day: u64,
    last_s: u64,
}

impl Clock {
    fn at(&mut self, time_of_day_s: u64) -> u64 {
        if time_of_day_s < self.last_s {
            self.day += 1;
        }
        self.last_s = time_of_day_s;
        self.day * DAY_S + time_of_day_s
    }
}

/// Report of all devices, at its time where it has one.
struct Report {
    at_s: Option<u64>,
    devices: Vec<(String, [f64; 4])>,
}

/// Samples of reports in their order, each as long as the time since the one before.
fn samples_of(
    name: &str,
    reports: Vec<Report>,
    not_known: &mut Vec<String>,
) -> Result<Vec<ToolSample>, SizingError> {
    let is_timed = !reports.is_empty() && reports.iter().all(|report| report.at_s.is_some());
    if !is_timed {
        not_known
            .push("time: reports do not say when they were made; all are taken as the busiest hour".into());
    }
    let times: Vec<u64> = reports.iter().filter_map(|report| report.at_s).collect();
    let mut samples = Vec::new();
    for (index, report) in reports.into_iter().enumerate() {
        let (at_s, seconds) = match report.at_s {
            Some(at_s) if is_timed => {
                let before = if index > 0 { Some(times[index - 1]) } else { None };
                let since = before.map(|before| at_s.saturating_sub(before));
                let until = times.get(index + 1).map(|after| after.saturating_sub(at_s));
                (at_s, since.or(until).unwrap_or(1).clamp(1, 3600) as f64)
            }
            _ => (0, UNTIMED_S),
        };
        for (device, [read_iops, write_iops, read_bytes_per_s, written_bytes_per_s]) in report.devices {
            samples.push(ToolSample {
                device,
                at_s,
                seconds,
                read_iops,
                write_iops,
                read_bytes_per_s,
                written_bytes_per_s,
            });
        }
        if samples.len() > SAMPLES_LIMIT {
            return Err(wrong(name, "the output is too long", "give a shorter time, or fewer devices"));
        }
    }
    Ok(samples)
}

/// Without the first of several reports, which is of the time since the system was booted.
fn without_first(mut reports: Vec<Report>, not_known: &mut Vec<String>) -> Vec<Report> {
    if reports.len() > 1 {
        reports.remove(0);
        not_known.push("first report: left out, it is of the time since the boot (or run iostat with -y and ask for one more)".into());
    } else {
        not_known.push("time: the only report may be of the time since the boot".into());
    }
    reports
}

/// Positions of columns by their names, each with the factor to bytes.
fn column(names: &[&str], wanted: &[(&str, f64)]) -> Option<(usize, f64)> {
    wanted.iter().find_map(|(name, factor)| Some((names.iter().position(|one| one == name)?, *factor)))
}

const READ_BYTES: [(&str, f64); 3] = [("rkB/s", KIB), ("rMB/s", MIB), ("rsec/s", SECTOR)];
const WRITTEN_BYTES: [(&str, f64); 3] = [("wkB/s", KIB), ("wMB/s", MIB), ("wsec/s", SECTOR)];

fn iostat(name: &str, text: &str) -> Result<ToolOutput, SizingError> {
    let mut reports: Vec<Report> = Vec::new();
    let mut columns: Option<[(usize, f64); 4]> = None;
    let mut clock = Clock::default();
    let mut at_s = None;
    let mut count = 0;
    for (index, line) in text.lines().enumerate() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let Some(first) = words.first() else {
            columns = None;
            continue;
        };
        if first.trim_end_matches(':') == "Device" {
            let of = |wanted: &[(&str, f64)]| {
                column(&words, wanted).ok_or_else(|| {
                    wrong(
                        name,
                        format!("line {}: no column `{}`", index + 1, wanted[0].0),
                        "run `iostat -x -k -t`",
                    )
                })
            };
            columns =
                Some([of(&[("r/s", 1.0)])?, of(&[("w/s", 1.0)])?, of(&READ_BYTES)?, of(&WRITTEN_BYTES)?]);
            reports.push(Report { at_s: at_s.take(), devices: Vec::new() });
            continue;
        }
        match (&columns, reports.last_mut()) {
            (Some(columns), Some(report)) => {
                let mut values = [0.0; 4];
                for (value, (place, factor)) in values.iter_mut().zip(columns) {
                    let read = words.get(*place).and_then(|word| number(word)).ok_or_else(|| {
                        wrong(
                            name,
                            format!("line {}: this is no line of a device", index + 1),
                            "give the output as iostat wrote it, without --human",
                        )
                    })?;
                    *value = read * factor;
                }
                count += 1;
                if count > SAMPLES_LIMIT {
                    return Err(wrong(
                        name,
                        "the output is too long",
                        "give a shorter time, or fewer devices",
                    ));
                }
                report.devices.push(((*first).to_owned(), values));
            }
            _ if !line.starts_with("Linux ") => at_s = time_of_day(line).map(|time| clock.at(time)).or(at_s),
            _ => {}
        }
    }
    let mut not_known = Vec::new();
    let reports = without_first(reports, &mut not_known);
    let samples = samples_of(name, reports, &mut not_known)?;
    Ok(ToolOutput { tool: "iostat", samples, not_known })
}

/// I/Os of both directions, which the tool does not tell apart, by their bytes.
fn split_by_bytes(iops: f64, read_bytes: f64, written_bytes: f64) -> [f64; 4] {
    let all = read_bytes + written_bytes;
    if all <= 0.0 {
        // I/Os without bytes are flushes.
        return [0.0; 4];
    }
    [iops * (read_bytes / all), iops * (written_bytes / all), read_bytes, written_bytes]
}

const SPLIT: &str = "reads and writes: their I/Os are not told apart, and are taken as of one size";

fn sar(name: &str, text: &str) -> Result<ToolOutput, SizingError> {
    const READ: [(&str, f64); 2] = [("rkB/s", KIB), ("rd_sec/s", SECTOR)];
    const WRITTEN: [(&str, f64); 2] = [("wkB/s", KIB), ("wr_sec/s", SECTOR)];
    let mut reports: Vec<Report> = Vec::new();
    let mut columns: Option<[(usize, f64); 3]> = None;
    let mut clock = Clock::default();
    let mut last_s = None;
    for (index, line) in text.lines().enumerate() {
        let Some(time) = line.split_whitespace().next().and_then(time_of_day) else {
            // Averages, headers of the host, empty lines.
            continue;
        };
        let words: Vec<&str> = line.split_whitespace().collect();
        let from = if matches!(words.get(1), Some(&"AM" | &"PM")) { 2 } else { 1 };
        let words = words.get(from..).unwrap_or_default();
        let Some(first) = words.first() else { continue };
        if *first == "DEV" {
            let of = |wanted: &[(&str, f64)]| {
                column(words, wanted).ok_or_else(|| {
                    wrong(name, format!("line {}: no column `{}`", index + 1, wanted[0].0), "run `sar -d`")
                })
            };
            columns = Some([of(&[("tps", 1.0)])?, of(&READ)?, of(&WRITTEN)?]);
            continue;
        }
        let Some(columns) = &columns else { continue };
        let value = |(place, factor): (usize, f64)| Some(number(words.get(place)?)? * factor);
        let values: Option<Vec<f64>> = columns.iter().map(|column| value(*column)).collect();
        // Lines of other activities, and restarts, stand between those of disks.
        let Some([tps, read, written]) = values.as_deref() else { continue };
        let at_s = clock.at(time_of_day(line).unwrap_or(time));
        if last_s != Some(at_s) {
            reports.push(Report { at_s: Some(at_s), devices: Vec::new() });
            last_s = Some(at_s);
        }
        if let Some(report) = reports.last_mut() {
            report.devices.push(((*first).to_owned(), split_by_bytes(*tps, *read, *written)));
        }
    }
    let mut not_known = vec![SPLIT.to_owned()];
    let samples = samples_of(name, reports, &mut not_known)?;
    Ok(ToolOutput { tool: "sar", samples, not_known })
}

fn sysstat_json(name: &str, text: &str) -> Result<ToolOutput, SizingError> {
    const HINT: &str = "give the output of `iostat -x -o JSON -t` or `sadf -j -- -d`";
    let document: Value = serde_json::from_str(text).map_err(|error| wrong(name, error, HINT))?;
    let hosts = document.pointer("/sysstat/hosts").and_then(Value::as_array);
    let statistics =
        hosts.and_then(|hosts| hosts.first()).and_then(|host| host.get("statistics")?.as_array());
    let statistics = statistics.ok_or_else(|| wrong(name, "there are no statistics", HINT))?;
    let mut reports = Vec::new();
    let mut clock = Clock::default();
    let (mut is_iostat, mut is_split) = (false, false);
    for one in statistics {
        let Some(disks) = one.get("disk").and_then(Value::as_array) else { continue };
        let time = match one.get("timestamp") {
            Some(Value::String(text)) => time_of_day(text),
            Some(Value::Object(members)) => members.get("time").and_then(Value::as_str).and_then(time_of_day),
            _ => None,
        };
        let mut devices = Vec::new();
        for disk in disks {
            let value = |names: &[(&str, f64)]| {
                names.iter().find_map(|(name, factor)| Some(disk.get(*name)?.as_f64()? * factor))
            };
            let device = disk.get("disk_device").or_else(|| disk.get("disk-device")).and_then(Value::as_str);
            is_iostat |= disk.get("disk_device").is_some();
            let read = value(&[
                ("rkB/s", KIB),
                ("rMB/s", MIB),
                ("rsec/s", SECTOR),
                ("rkB", KIB),
                ("rMB", MIB),
                ("rd_sec", SECTOR),
                ("rsec", SECTOR),
            ]);
            let written = value(&[
                ("wkB/s", KIB),
                ("wMB/s", MIB),
                ("wsec/s", SECTOR),
                ("wkB", KIB),
                ("wMB", MIB),
                ("wr_sec", SECTOR),
                ("wsec", SECTOR),
            ]);
            let both = value(&[("r/s", 1.0), ("r", 1.0)]).zip(value(&[("w/s", 1.0), ("w", 1.0)]));
            let (Some(device), Some(read), Some(written)) = (device, read, written) else {
                return Err(wrong(name, "a disk without its name or its bytes", HINT));
            };
            let values = match (both, value(&[("tps", 1.0)])) {
                (Some((reads, writes)), _) => [reads, writes, read, written],
                (None, Some(tps)) => {
                    is_split = true;
                    split_by_bytes(tps, read, written)
                }
                (None, None) => return Err(wrong(name, format!("`{device}` has no rate of I/Os"), HINT)),
            };
            if values.iter().any(|value| !(0.0..=RATE_LIMIT).contains(value)) {
                return Err(wrong(name, format!("a rate of `{device}` is out of range"), HINT));
            }
            devices.push((device.to_owned(), values));
        }
        reports.push(Report { at_s: time.map(|time| clock.at(time)), devices });
    }
    let mut not_known = Vec::new();
    if is_iostat {
        reports = without_first(reports, &mut not_known);
    }
    if is_split {
        not_known.push(SPLIT.into());
    }
    let samples = samples_of(name, reports, &mut not_known)?;
    Ok(ToolOutput { tool: if is_iostat { "iostat" } else { "sadf" }, samples, not_known })
}

/// Object, instance and counter of `\\HOST\OBJECT(INSTANCE)\COUNTER`.
fn counter_path(text: &str) -> Option<(String, String, String)> {
    let (_, rest) = text.trim().strip_prefix("\\\\")?.split_once('\\')?;
    let (named, counter) = rest.rsplit_once(")\\")?;
    let (object, instance) = named.split_once('(')?;
    Some((object.to_ascii_lowercase(), instance.to_owned(), counter.to_ascii_lowercase()))
}

/// Returns which of the four rates a counter is, with its factor.
fn rate_of_counter(object: &str, counter: &str) -> Option<(usize, f64)> {
    match (object, counter) {
        ("physicaldisk", "disk reads/sec") => Some((0, 1.0)),
        ("physicaldisk", "disk writes/sec") => Some((1, 1.0)),
        ("physicaldisk", "disk read bytes/sec") => Some((2, 1.0)),
        ("physicaldisk", "disk write bytes/sec") => Some((3, 1.0)),
        ("physical disk scsi device" | "physical disk", "reads/sec") => Some((0, 1.0)),
        ("physical disk scsi device" | "physical disk", "writes/sec") => Some((1, 1.0)),
        ("physical disk scsi device" | "physical disk", "mbytes read/sec") => Some((2, MIB)),
        ("physical disk scsi device" | "physical disk", "mbytes written/sec") => Some((3, MIB)),
        _ => None,
    }
}

fn counter_csv(name: &str, text: &str) -> Result<ToolOutput, SizingError> {
    const HINT: &str = "give a counter log in CSV with reads, writes and their bytes a second of each physical disk, or `esxtop -b -a`";
    let mut reader = csv::ReaderBuilder::new().flexible(true).from_reader(text.as_bytes());
    let headers = reader.headers().map_err(|error| wrong(name, error, HINT))?.clone();
    let mut is_esxtop = false;
    // By device: the columns of its rates.
    let mut devices: BTreeMap<String, [Option<(usize, f64)>; 4]> = BTreeMap::new();
    for (place, header) in headers.iter().enumerate() {
        let Some((object, instance, counter)) = counter_path(header) else { continue };
        let Some((rate, factor)) = rate_of_counter(&object, &counter) else { continue };
        if instance == "_Total" {
            continue;
        }
        is_esxtop |= object != "physicaldisk";
        devices.entry(instance).or_default()[rate] = Some((place, factor));
    }
    let whole: Vec<(&String, Vec<(usize, f64)>)> = devices
        .iter()
        .filter_map(|(device, columns)| Some((device, columns.iter().copied().collect::<Option<Vec<_>>>()?)))
        .collect();
    if whole.is_empty() {
        return Err(wrong(name, "no disk has all of reads, writes and their bytes a second", HINT));
    }
    let mut clock = Clock::default();
    let mut reports = Vec::new();
    let mut count = 0;
    for record in reader.records() {
        let record = record.map_err(|error| wrong(name, error, HINT))?;
        let at_s = record.get(0).and_then(time_of_day).map(|time| clock.at(time));
        let mut report = Report { at_s, devices: Vec::new() };
        for (device, columns) in &whole {
            // The first record of a log has no rates.
            let values: Option<Vec<f64>> =
                columns.iter().map(|(place, factor)| Some(number(record.get(*place)?)? * factor)).collect();
            if let Some([reads, writes, read, written]) = values.as_deref() {
                report.devices.push(((*device).clone(), [*reads, *writes, *read, *written]));
                count += 1;
            }
        }
        if count > SAMPLES_LIMIT {
            return Err(wrong(name, "the log is too long", "give a shorter time, or fewer disks"));
        }
        reports.push(report);
    }
    let mut not_known = Vec::new();
    if is_esxtop {
        not_known.push("megabytes: taken as 2^20 bytes".into());
    }
    let samples = samples_of(name, reports, &mut not_known)?;
    Ok(ToolOutput { tool: if is_esxtop { "esxtop" } else { "perfmon" }, samples, not_known })
}

/// Counters of node_exporter in the order of the four rates.
const NODE_COUNTERS: [&str; 4] = [
    "node_disk_reads_completed_total",
    "node_disk_writes_completed_total",
    "node_disk_read_bytes_total",
    "node_disk_written_bytes_total",
];

/// Rates of one device at one second, with the seconds since the values before.
struct CounterRates {
    of: [Option<f64>; 4],
    seconds: f64,
}

fn prometheus(name: &str, text: &str) -> Result<ToolOutput, SizingError> {
    const HINT: &str = "ask query_range for {__name__=~\"node_disk_(reads_completed|writes_completed|read_bytes|written_bytes)_total\"}, without rate()";
    let document: Value = serde_json::from_str(text).map_err(|error| wrong(name, error, HINT))?;
    let series = document.pointer("/data/result").and_then(Value::as_array);
    let series = series.ok_or_else(|| wrong(name, "there is no result", HINT))?;
    let label = |one: &Value, label: &str| -> Option<String> {
        Some(one.get("metric")?.get(label)?.as_str()?.to_owned())
    };
    let instances: BTreeSet<String> = series.iter().filter_map(|one| label(one, "instance")).collect();
    let mut rates: BTreeMap<(String, u64), CounterRates> = BTreeMap::new();
    for one in series {
        let Some(rate) =
            label(one, "__name__").and_then(|name| NODE_COUNTERS.iter().position(|known| *known == name))
        else {
            continue;
        };
        let Some(device) = label(one, "device") else { continue };
        let device = match label(one, "instance") {
            Some(instance) if instances.len() > 1 => format!("{instance} {device}"),
            _ => device,
        };
        let values = one.get("values").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let points: Vec<(f64, f64)> = values
            .iter()
            .filter_map(|pair| Some((pair.get(0)?.as_f64()?, pair.get(1)?.as_str()?.parse().ok()?)))
            .collect();
        for pair in points.windows(2) {
            let ((before_s, before), (at_s, value)) = (pair[0], pair[1]);
            let seconds = at_s - before_s;
            let per_second = (value - before) / seconds;
            // A counter that went back was reset.
            let is_usable = seconds > 0.0 && at_s >= 0.0 && (0.0..=RATE_LIMIT).contains(&per_second);
            if is_usable {
                let entry = rates
                    .entry((device.clone(), at_s as u64))
                    .or_insert(CounterRates { of: [None; 4], seconds });
                entry.of[rate] = Some(per_second);
            }
        }
        if rates.len() > SAMPLES_LIMIT {
            return Err(wrong(name, "the range is too long", "give a shorter range, or a larger step"));
        }
    }
    let samples: Vec<ToolSample> = rates
        .into_iter()
        .filter_map(|((device, at_s), CounterRates { of, seconds })| {
            let [read_iops, write_iops, read_bytes_per_s, written_bytes_per_s] = of;
            Some(ToolSample {
                device,
                at_s,
                seconds,
                read_iops: read_iops?,
                write_iops: write_iops?,
                read_bytes_per_s: read_bytes_per_s?,
                written_bytes_per_s: written_bytes_per_s?,
            })
        })
        .collect();
    if samples.is_empty() {
        return Err(wrong(name, "no device has all four counters", HINT));
    }
    Ok(ToolOutput { tool: "Prometheus (node_exporter)", samples, not_known: Vec::new() })
}

#[cfg(test)]
#[path = "tool_output_tests.rs"]
mod tests;

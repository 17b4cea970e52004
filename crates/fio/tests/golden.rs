//! Results read from the recorded output of fio 3.33 and 3.42 (`tests/samples`).

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use fio::{Job, JobDirection, Latency, LogKind, read_histogram_log, read_interval_log, read_report};

fn samples() -> Vec<(String, PathBuf)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/samples");
    let mut files: Vec<_> = ["fio-3.33", "fio-3.42"]
        .iter()
        .flat_map(|version| std::fs::read_dir(root.join(version)).unwrap())
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.strip_prefix(&root).unwrap().to_string_lossy().replace(['/', '.'], "-"), path))
        .collect();
    files.sort();
    files
}

fn latency(text: &mut String, name: &str, latency: &Latency) {
    if latency.count == 0 {
        return;
    }
    let _ = write!(
        text,
        "    {name}: N {} sum {} min {} max {}",
        latency.count, latency.sum_ns, latency.min_ns, latency.max_ns
    );
    for (millionths, latency_ns) in
        latency.percentiles.iter().filter(|(share, _)| [500_000, 990_000].contains(share))
    {
        let _ = write!(text, " p{} {latency_ns}", millionths / 10_000);
    }
    if let Some(histogram) = &latency.histogram {
        let _ = write!(text, " bins {} of {}", histogram.filled_bins().count(), histogram.count());
    }
    text.push('\n');
}

fn direction(text: &mut String, name: &str, part: &JobDirection) {
    if part.ios == 0 {
        return;
    }
    let _ = writeln!(
        text,
        "  {name}: ios {} bytes {} runtime {} ms short {} drop {}",
        part.ios, part.bytes, part.runtime_ms, part.short_ios, part.drop_ios
    );
    latency(text, "clat", &part.completion);
    latency(text, "lat", &part.total);
}

fn job(text: &mut String, job: &Job) {
    let _ = writeln!(
        text,
        "job {} host {:?} group {} error {} start {:?} runtime {} ms cpu {:.2} + {:.2} switches {} options {:?}",
        job.name,
        job.hostname,
        job.group_id,
        job.error,
        job.start_unix_ms,
        job.runtime_ms,
        job.user_cpu_percent,
        job.system_cpu_percent,
        job.context_switches,
        job.options
    );
    direction(text, "read", &job.read);
    direction(text, "write", &job.write);
    direction(text, "trim", &job.trim);
    if let Some(steady_state) = &job.steady_state {
        let _ = writeln!(text, "  {steady_state:?}");
    }
}

/// Proves that every recorded report is read, and what is read of it has not changed.
#[test]
fn reports() {
    for (name, path) in
        samples().iter().filter(|(_, path)| path.extension().is_some_and(|extension| extension == "json"))
    {
        let report =
            read_report(&std::fs::read(path).unwrap()).unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut text = format!(
            "{} at {:?}, {} reports, truncated: {}, says {:?}\nglobal {:?}\n",
            report.fio_version,
            report.unix_ms,
            report.report_count,
            report.is_truncated,
            report.text,
            report.global_options
        );
        report.jobs.iter().for_each(|one| job(&mut text, one));
        report.disks.iter().for_each(|disk| {
            let _ = writeln!(text, "{disk:?}");
        });
        insta::assert_snapshot!(name.as_str(), text);
    }
}

/// Proves that every recorded log is read, and what is read of it has not changed.
#[test]
fn logs() {
    for (name, path) in
        samples().iter().filter(|(_, path)| path.extension().is_some_and(|extension| extension == "log"))
    {
        let content = std::fs::read(path).unwrap();
        let mut text = String::new();
        if name.contains("hist") {
            let log = read_histogram_log(&content).unwrap_or_else(|error| panic!("{name}: {error}"));
            let _ = writeln!(text, "coarseness {}", log.coarseness);
            for row in log.rows {
                let count: u64 = row.bins.iter().map(|&(_, count)| count).sum();
                let _ = writeln!(
                    text,
                    "{} {:?} bs {} ios {count} bins {}..={}",
                    row.time_ms,
                    row.direction,
                    row.block_size_bytes,
                    row.bins.first().unwrap().0,
                    row.bins.last().unwrap().0
                );
            }
        } else {
            let kind = match () {
                () if name.contains("_bw-") => LogKind::Bandwidth,
                () if name.contains("_iops-") => LogKind::Iops,
                () => LogKind::Latency { is_microseconds: false },
            };
            let log =
                read_interval_log(&content, kind, None).unwrap_or_else(|error| panic!("{name}: {error}"));
            log.rows.iter().for_each(|row| {
                let _ = writeln!(text, "{row:?}");
            });
        }
        insta::assert_snapshot!(name.as_str(), text);
    }
}

/// Proves that the keys and units of fio before 3.0 (microseconds, KiB, no `N`) are read as what they meant.
#[test]
fn old_units_are_microseconds() {
    let old = br#"fio: some words
{
  "fio version" : "fio-2.21",
  "jobs" : [ { "jobname" : "a", "error" : 0, "read" : {
      "io_bytes" : 4000, "runtime" : 1000, "total_ios" : 1000, "short_ios" : 0, "drop_ios" : 0,
      "clat" : { "min" : 10, "max" : 300, "mean" : 50.5, "stddev" : 1.0,
        "percentile" : { "99.000000" : 250, "0.00" : 0 },
        "bins" : { "50" : 990, "251" : 10, "FIO_IO_U_PLAT_BITS" : 6 } } } } ]
}
"#;
    let report = read_report(old).unwrap();
    let read = &report.jobs[0].read;
    assert_eq!((read.ios, read.bytes), (1000, 4_096_000));
    let latency = &read.completion;
    assert_eq!(
        (latency.count, latency.sum_ns, latency.min_ns, latency.max_ns),
        (1000, 50_500_000, 10_000, 300_000)
    );
    assert!(latency.percentiles.contains(&(990_000, 250_000)));
    assert_eq!(latency.histogram.as_ref().unwrap().count(), 1000);
    assert_eq!(report.text, ["fio: some words"]);
}

/// Proves that the numbers that C prints and JSON does not know cost a zero, not the report.
#[test]
fn nan_is_read_as_zero() {
    let output = b"{\n \"fio version\" : \"fio-3.9\", \"jobs\" : [ { \"usr_cpu\" : -nan, \"sys_cpu\" : inf, \"ctx\" : 7 } ]\n}\n";
    let report = read_report(output).unwrap();
    assert_eq!((report.jobs[0].user_cpu_percent, report.jobs[0].context_switches), (0.0, 7));
}

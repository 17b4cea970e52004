//! fio job file of a case.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use load::LoadSpec;

use crate::align::INTERVAL_LIMIT;
use crate::shape::{self, block_bytes, used_bytes};
use crate::{Engine, FioError};

/// Target of a fio job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A file or block device that exists.
    Path(PathBuf),
    /// An NBD address: `nbd://host/export`, `nbd+unix:///export?socket=path`.
    Nbd(String),
}

/// One case for fio.
#[derive(Debug, Clone, Copy)]
pub struct FioCase<'a> {
    /// Target of the load.
    pub target: &'a Target,
    /// The load.
    pub load: &'a LoadSpec,
    /// Bytes of all jobs together after which the load ends, also when its runtime is not over (fio's `io_size`).
    pub io_size_bytes: Option<u64>,
    /// More options, by fio's names and in fio's units, such as `("ioengine", "io_uring")`. They replace the ones
    /// that are generated; those that would change what is measured or where it is written are refused.
    pub options: &'a [(String, String)],
    /// The case's own directory, which exists: job file, output and logs stay there.
    pub directory: &'a Path,
}

/// Name of the job file in the case's directory.
pub(crate) const JOB_FILE: &str = "jobs.fio";
/// Prefix of the logs' names.
pub(crate) const LOG_PREFIX: &str = "fio";

/// fio keeps a copy of all bins of a job and direction for each interval until the job ends (15 KiB, `stat.c`);
/// a case that needs more than this is refused before it takes the host's memory in the middle of a measurement.
const HISTOGRAM_MEMORY_LIMIT_BYTES: u64 = 4 << 30;

/// Options that the job file sets itself or that act outside the case's target.
const RESERVED: &[&str] = &[
    "bs",
    "blocksize",
    "client",
    "clat_percentiles",
    "create_only",
    "description",
    "directory",
    "disable_clat",
    "exec_postrun",
    "exec_prerun",
    "exit_what",
    "filename",
    "filename_format",
    "filesize",
    "gtod_reduce",
    "gtod_cpu",
    "group_reporting",
    "include",
    "io_limit",
    "io_size",
    "iodepth",
    "lat_percentiles",
    "log_alternate_epoch",
    "log_hist_coarseness",
    "log_hist_msec",
    "log_store_compressed",
    "log_unix_epoch",
    "loops",
    "name",
    "new_group",
    "numjobs",
    "offset",
    "offset_increment",
    "opendir",
    "per_job_logs",
    "percentile_list",
    "ramp_time",
    "randseed",
    "rate_iops",
    "read_iolog",
    "readwrite",
    "replay_redirect",
    "runtime",
    "rw",
    "rwmixread",
    "rwmixwrite",
    "size",
    "stats",
    "stonewall",
    "thread",
    "time_based",
    "timeout",
    "trigger",
    "trigger-file",
    "unlink",
    "unlink_each_loop",
    "uri",
    "wait_for",
    "write_bw_log",
    "write_hist_log",
    "write_iolog",
    "write_iops_log",
    "write_lat_log",
];

/// I/O engines that do something else than I/O on the target.
const REFUSED_ENGINES: &[&str] = &["exec", "filecreate", "filedelete", "filestat", "cpuio"];

/// Error numbers of I/Os that `continue_on_error` goes on after: those of the block layer (`block/blk-core.c`,
/// `blk_errors`) that leave the device where it is. By itself fio goes on after EIO and EILSEQ alone, and a medium error
/// is ENODATA.
const PASSED_OVER: [i32; 12] = [
    libc::EIO,
    libc::EAGAIN,
    libc::ENOMEM,
    libc::EBUSY,
    libc::ENOSPC,
    libc::EBADE,
    libc::ENODATA,
    libc::ENOLINK,
    libc::EILSEQ,
    libc::EOPNOTSUPP,
    libc::ETIMEDOUT,
    libc::EREMOTEIO,
];

/// Options with which I/Os of one case differ in size.
const SIZE_MIXES: &[&str] = &["bssplit", "bsrange", "blocksize_range", "bs_unaligned", "blocksize_unaligned"];

/// A job file, and what must be known to run it and read it back.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct JobFile {
    pub text: String,
    /// Nothing is written: fio is run with `--readonly` as a second lock.
    pub is_read_only: bool,
    /// Bandwidth is logged as well, because bytes do not follow from I/O counts.
    pub has_bandwidth_log: bool,
    /// Settings that the job file carries out only approximately, in words.
    pub warnings: Vec<String>,
}

fn refused<T>(reason: impl Into<String>) -> Result<T, FioError> {
    Err(FioError::Refused { reason: reason.into() })
}

/// Writes the job file of a case.
pub(crate) fn write(engine: &Engine, case: &FioCase) -> Result<JobFile, FioError> {
    let load = case.load;
    load.check().map_err(|error| FioError::Refused { reason: error.to_string() })?;
    for (name, value) in case.options {
        check_option(name, value)?;
    }
    let option =
        |wanted: &str| case.options.iter().rfind(|(name, _)| name == wanted).map(|(_, value)| value.as_str());
    let mut warnings = Vec::new();
    let of_shape = shape::options(load, &mut warnings)?;
    let ioengine = choose_ioengine(engine, case, option("ioengine"))?;
    let has_bandwidth_log = load.shape.sizes.len() > 1
        || case.options.iter().any(|(name, _)| SIZE_MIXES.contains(&name.as_str()));
    check_memory(load)?;

    let mut lines: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: String| {
        if option(name).is_none() {
            lines.push((name.to_owned(), value));
        }
    };
    set("ioengine", ioengine.to_owned());
    set("direct", "1".into());
    set("thread", "1".into());
    set("rw", shape::rw(load)?.into());
    if load.shape.trim_percent == 0 && shape::effective_pattern(load).fixed_read_share().is_none() {
        set("rwmixread", load.rwmixread.to_string());
    }
    set("bs", load.bs_bytes.to_string());
    set("iodepth", load.iodepth.to_string());
    for (name, value) in of_shape {
        set(name, value);
    }
    // fio reads a signed number, and multiplies it by the job's number (`init.c`): with 0 all jobs would be alike.
    set("randseed", (load.seed & (i64::MAX as u64)).max(1).to_string());
    // fio does not look at `io_size` in a load that is based on time.
    if case.io_size_bytes.is_none() {
        set("time_based", "1".into());
    }
    set("runtime", format!("{}us", load.runtime_ns.div_ceil(1000)));
    if load.ramp_ns > 0 {
        set("ramp_time", format!("{}us", load.ramp_ns.div_ceil(1000)));
    }
    set("exitall_on_error", "1".into());
    set("percentile_list", "1:5:10:25:50:75:90:95:99:99.5:99.9:99.95:99.99:99.999".into());
    let interval_ms = interval_ms(load);
    set("write_hist_log", LOG_PREFIX.into());
    set("log_hist_msec", interval_ms.to_string());
    if has_bandwidth_log {
        set("write_bw_log", LOG_PREFIX.into());
        set("log_avg_msec", interval_ms.to_string());
    }
    match case.target {
        Target::Path(path) => {
            set("filename", escape_path(path)?);
            // The guard has looked at the target: a name that is gone by now must not become a new file.
            set("allow_file_create", "0".into());
        }
        Target::Nbd(uri) => set("uri", check_value("the NBD address", uri)?.to_owned()),
    }

    let mut text = String::from(
        "# Written by arraylab; run by fio with this directory as the working directory.\n[global]\n",
    );
    for (name, value) in lines.iter().chain(case.options) {
        let _ = writeln!(text, "{name}={value}");
    }
    if case.options.iter().any(|(name, value)| name == "continue_on_error" && value != "none") {
        let errors = PASSED_OVER.map(|errno| errno.to_string()).join(":");
        // Of reads, of writes, of verification.
        let _ = writeln!(text, "ignore_error={errors},{errors},{errors}");
    }
    write_sections(&mut text, case, &mut warnings)?;
    Ok(JobFile { text, is_read_only: !load.writes(), has_bandwidth_log, warnings })
}

/// The interval of the logs. fio's logs count milliseconds.
pub(crate) fn interval_ms(load: &LoadSpec) -> u64 {
    load.interval_ns.div_ceil(1_000_000)
}

fn choose_ioengine<'a>(
    engine: &Engine,
    case: &FioCase<'a>,
    requested: Option<&'a str>,
) -> Result<&'a str, FioError> {
    let is_nbd = matches!(case.target, Target::Nbd(_));
    let chosen = match requested {
        Some(requested) => requested,
        None if is_nbd => "nbd",
        // One I/O at a time: the plain system call has the least of fio's own time in the latency.
        None if case.load.iodepth == 1 => "psync",
        None if engine.supports("libaio") => "libaio",
        None => "io_uring",
    };
    if REFUSED_ENGINES.contains(&chosen) {
        return refused(format!("`ioengine={chosen}` does no I/O on the target"));
    }
    if is_nbd != (chosen == "nbd") {
        return refused(if is_nbd {
            format!(
                "`ioengine={chosen}` cannot reach an NBD address; leave `ioengine` out or set it to `nbd`"
            )
        } else {
            "`ioengine=nbd` needs an NBD address as target".to_owned()
        });
    }
    if !engine.supports(chosen) {
        let hint = if chosen == "nbd" { " (fio must be built with libnbd)" } else { "" };
        return refused(format!(
            "{} has no `ioengine={chosen}`{hint}; see `fio --enghelp`",
            engine.version_text
        ));
    }
    Ok(chosen)
}

fn check_option(name: &str, value: &str) -> Result<(), FioError> {
    let is_word =
        !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if !is_word {
        return refused(format!("{name:?} is no name of a fio option"));
    }
    if RESERVED.contains(&name) {
        return refused(format!(
            "the fio option `{name}` is set by arraylab itself; use the plan's setting instead"
        ));
    }
    check_value(&format!("the fio option `{name}`"), value).map(|_| ())
}

/// Refuses what fio's reader of job files would not take literally: comments, variables, line ends, outer blanks.
fn check_value<'a>(what: &str, value: &'a str) -> Result<&'a str, FioError> {
    let is_special = |c: char| c.is_control() || matches!(c, '#' | ';' | '"') || c == '\u{fffd}';
    if value.contains(is_special)
        || value.contains("${")
        || value.contains("$(")
        || value.trim() != value
        || value.is_empty()
    {
        return refused(format!(
            "{what} is {value:?}; a fio job file cannot hold an empty value, `#`, `;`, `\"`, `${{`, line ends or outer blanks"
        ));
    }
    Ok(value)
}

/// A file name for `filename=`, where `:` separates names unless escaped.
fn escape_path(path: &Path) -> Result<String, FioError> {
    let Some(text) = path.to_str() else {
        return refused(format!("the target's name {path:?} is not UTF-8; give it a link with a plain name"));
    };
    let absolute = std::path::absolute(path).map_err(FioError::io("cannot resolve", path))?;
    let text = absolute.to_str().unwrap_or(text);
    if text.contains('\\') {
        return refused(format!(
            "the target's name {text:?} has a backslash; give it a link with a plain name"
        ));
    }
    Ok(check_value("the target's name", text)?.replace(':', "\\:"))
}

fn check_memory(load: &LoadSpec) -> Result<(), FioError> {
    let is_pure = shape::effective_pattern(load).fixed_read_share().is_some() || load.shape.trim_percent > 0;
    let directions = if is_pure { 1 } else { 2 };
    let intervals = load.runtime_ns / 1_000_000 / interval_ms(load) + 1;
    if intervals > INTERVAL_LIMIT {
        return refused(format!(
            "{intervals} intervals in one case, but at most {INTERVAL_LIMIT} are kept; set a longer interval or a shorter runtime"
        ));
    }
    let needed_bytes = intervals
        .saturating_mul(u64::from(load.numjobs) * directions)
        .saturating_mul(load::FIO_BIN_COUNT as u64 * 8);
    if needed_bytes > HISTOGRAM_MEMORY_LIMIT_BYTES {
        return refused(format!(
            "{intervals} intervals of {} jobs would take fio {} MiB of memory for histograms (limit {} MiB); \
             set a longer interval, a shorter runtime or fewer jobs",
            load.numjobs,
            needed_bytes >> 20,
            HISTOGRAM_MEMORY_LIMIT_BYTES >> 20
        ));
    }
    Ok(())
}

/// The jobs: one section for each run of consecutive jobs that are alike, mostly just one.
///
/// Random jobs share the range. Sequential jobs each have an equal part of it, as with fio's `offset_increment`:
/// otherwise all jobs would read the same blocks at the same time, and a cache would answer all but the first.
/// Under the plan's own `offset_increment`, each job goes from its own start to the end of the range.
fn write_sections(text: &mut String, case: &FioCase, warnings: &mut Vec<String>) -> Result<(), FioError> {
    let load = case.load;
    let numjobs = u64::from(load.numjobs);
    let step_bytes = load.shape.offset_increment_bytes;
    let share_bytes = if load.pattern.is_random() || numjobs == 1 || step_bytes.is_some() {
        None
    } else {
        Some(sequential_share(case)?)
    };
    let size_bytes = match case.target {
        Target::Path(_) => Some(range_bytes(case)?),
        Target::Nbd(_) => load.size_bytes.map(|size_bytes| used_bytes(load, size_bytes)),
    };
    let rates = JobRates::new(load, warnings)?;
    let mut first = 0;
    while first < numjobs {
        let rate = rates.of(first);
        let alike = |job: &u64| rates.of(*job) == rate && (step_bytes.is_none() || *job == first);
        let count = (first..numjobs).take_while(alike).count() as u64;
        let _ = writeln!(text, "\n[jobs-{first}]\nnumjobs={count}");
        let skipped_bytes = first.saturating_mul(step_bytes.or(share_bytes).unwrap_or(0));
        let offset_bytes = load.offset_bytes.saturating_add(skipped_bytes);
        if offset_bytes > 0 {
            let _ = writeln!(text, "offset={offset_bytes}");
        }
        if let Some(share_bytes) = share_bytes {
            let _ = writeln!(text, "offset_increment={share_bytes}");
        }
        let left_bytes = match step_bytes {
            Some(_) => size_bytes.map(|size_bytes| size_bytes.saturating_sub(skipped_bytes)),
            None => share_bytes.or(size_bytes),
        };
        if let Some(left_bytes) = left_bytes {
            if left_bytes < u64::from(load.shape.largest_bytes(load.bs_bytes)) {
                return refused(format!("`offset_increment` leaves job {first} no block to use"));
            }
            let _ = writeln!(text, "size={left_bytes}");
        }
        if let Some(io_size_bytes) = case.io_size_bytes {
            // A job does no part of a block.
            let block_bytes = u64::from(load.bs_bytes);
            let part_bytes = io_size_bytes.div_ceil(numjobs).div_ceil(block_bytes) * block_bytes;
            let _ = writeln!(text, "io_size={part_bytes}");
        }
        if let Some(rate) = rate {
            let parts = rate.map(|part| part.map_or_else(String::new, |part| part.to_string()));
            // Without the comma, a limit of reads would be one of writes too.
            let parts = if rate[2].is_some() { &parts[..] } else { &parts[..2] };
            let _ = writeln!(text, "rate_iops={}", parts.join(","));
        }
        first += count;
    }
    Ok(())
}

/// The range of a path that is used, checked against what is there: fio would lengthen a file that is too short.
fn range_bytes(case: &FioCase) -> Result<u64, FioError> {
    let Target::Path(path) = case.target else { return refused("an NBD address has no known length here") };
    let load = case.load;
    let length_bytes = length_bytes(path).map_err(FioError::io("cannot find the length of", path))?;
    let rest_bytes = length_bytes.saturating_sub(load.offset_bytes);
    let size_bytes = load.size_bytes.unwrap_or(rest_bytes);
    let is_whole = matches!(load.shape.working_set_percent, 0 | 100);
    let used_bytes = if is_whole { size_bytes } else { used_bytes(load, size_bytes) };
    if size_bytes > rest_bytes || used_bytes < u64::from(load.shape.largest_bytes(load.bs_bytes)) {
        return refused(format!(
            "{} has {length_bytes} bytes, too few for offset {}, size {size_bytes} and bs {}",
            path.display(),
            load.offset_bytes,
            load.bs_bytes
        ));
    }
    Ok(used_bytes)
}

/// The length of a file or block device: where its end is. `metadata` says 0 for a device.
fn length_bytes(path: &Path) -> std::io::Result<u64> {
    use std::io::{Seek, SeekFrom};
    std::fs::File::open(path)?.seek(SeekFrom::End(0))
}

/// A sequential job's part of the range: whole blocks, and the same for all.
fn sequential_share(case: &FioCase) -> Result<u64, FioError> {
    let load = case.load;
    let range_bytes = match (case.target, load.size_bytes) {
        (Target::Path(_), _) => range_bytes(case)?,
        (Target::Nbd(_), Some(size_bytes)) => used_bytes(load, size_bytes),
        (Target::Nbd(_), None) => {
            return refused(
                "several sequential jobs on an NBD address need `size`, so that each gets its part",
            );
        }
    };
    let block_bytes = block_bytes(load);
    let share_bytes = range_bytes / u64::from(load.numjobs) / block_bytes * block_bytes;
    if share_bytes == 0 {
        return refused(format!(
            "{} sequential jobs cannot share {range_bytes} bytes in blocks of {block_bytes}",
            load.numjobs
        ));
    }
    Ok(share_bytes)
}

/// `rate_iops` for each job. LoadSpec's rate is the total; fio's is a whole number for each job and direction, where
/// 0 means no limit. What does not divide goes to the first jobs, so that the total is right.
struct JobRates {
    total: Option<shape::Rates>,
    numjobs: u64,
}

impl JobRates {
    fn new(load: &LoadSpec, warnings: &mut Vec<String>) -> Result<JobRates, FioError> {
        let numjobs = u64::from(load.numjobs);
        let total = shape::rates(load, warnings)?;
        for (direction, limit) in ["read", "write", "trim"].into_iter().zip(total.iter().flatten()) {
            if let Some(limit) = limit.filter(|&limit| limit < numjobs) {
                return refused(format!(
                    "rate_iops leaves {limit} {direction}s a second for {numjobs} jobs, but fio cannot limit a job \
                     below 1; use fewer jobs"
                ));
            }
        }
        Ok(JobRates { total, numjobs })
    }

    fn of(&self, job: u64) -> Option<shape::Rates> {
        let part = |total: u64| total / self.numjobs + u64::from(job < total % self.numjobs);
        self.total.map(|total| total.map(|limit| limit.map(part)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Version;
    use load::Pattern;

    fn engine() -> Engine {
        let ioengines = ["libaio", "psync", "io_uring", "exec"].into_iter().map(str::to_owned).collect();
        Engine {
            path: "fio".into(),
            version_text: "fio-3.33".into(),
            version: Version { major: 3, minor: 33 },
            overtime_limit: std::time::Duration::from_secs(60),
            ioengines,
        }
    }

    fn load(pattern: Pattern) -> LoadSpec {
        crate::outcome::tests::load(pattern)
    }

    fn write_case(target: &Target, load: &LoadSpec, options: &[(&str, &str)]) -> Result<JobFile, FioError> {
        let options: Vec<_> =
            options.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect();
        write(
            &engine(),
            &FioCase {
                target,
                load,
                io_size_bytes: None,
                options: &options,
                directory: Path::new("/nowhere"),
            },
        )
    }

    fn mebibyte() -> (tempfile::NamedTempFile, Target) {
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(1 << 20).unwrap();
        let target = Target::Path(file.path().to_path_buf());
        (file, target)
    }

    fn sections(job: &JobFile) -> &str {
        job.text.split_once("\n\n").unwrap().1
    }

    /// Proves that the whole job file of a mixed load is as documented.
    #[test]
    fn a_mixed_load_becomes_a_job_file() {
        let (_file, target) = mebibyte();
        let Target::Path(path) = &target else { unreachable!() };
        let load =
            LoadSpec { rwmixread: 70, numjobs: 4, iodepth: 8, ramp_ns: 500_000_000, ..load(Pattern::Randrw) };
        let job = write_case(&target, &load, &[("rate_process", "poisson"), ("direct", "0")]).unwrap();
        assert!(!job.is_read_only && !job.has_bandwidth_log);
        insta::assert_snapshot!(job.text.replace(path.to_str().unwrap(), "TARGET"));
    }

    /// Proves that sequential jobs split the range into equal parts of whole blocks.
    #[test]
    fn sequential_jobs_split_the_range() {
        let (_file, target) = mebibyte();
        let load = LoadSpec { numjobs: 3, offset_bytes: 4096, ..load(Pattern::Read) };
        let job = write_case(&target, &load, &[]).unwrap();
        assert!(job.is_read_only);
        assert_eq!(
            sections(&job),
            "[jobs-0]\nnumjobs=3\noffset=4096\noffset_increment=348160\nsize=348160\n"
        );
        let too_many = LoadSpec { numjobs: 300, ..load };
        assert!(write_case(&target, &too_many, &[]).unwrap_err().to_string().contains("cannot share"));
    }

    /// Proves that a rate that does not divide is given to the jobs so that the total is exact.
    #[test]
    fn rates_add_up() {
        let (_file, target) = mebibyte();
        let load = LoadSpec { numjobs: 8, rwmixread: 70, rate_iops: Some(1001.0), ..load(Pattern::Randrw) };
        let job = write_case(&target, &load, &[]).unwrap();
        let (mut read, mut write) = (0, 0);
        let lines: Vec<&str> = job.text.lines().collect();
        for (index, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("numjobs=")) {
            let count: u64 = line["numjobs=".len()..].parse().unwrap();
            let rates = lines[index..].iter().find_map(|line| line.strip_prefix("rate_iops=")).unwrap();
            let (of_read, of_write) = rates.split_once(',').unwrap();
            read += count * of_read.parse::<u64>().unwrap();
            write += count * of_write.parse::<u64>().unwrap();
        }
        assert_eq!((read, write), (701, 300));
        let too_low = LoadSpec { rate_iops: Some(9.0), ..load };
        assert!(
            write_case(&target, &too_low, &[])
                .unwrap_err()
                .to_string()
                .contains("cannot limit a job below 1")
        );
    }

    /// Proves that a limit of reads alone leaves writes without one: to fio, a single number limits every direction.
    #[test]
    fn a_limit_of_one_direction_is_that_directions() {
        let (_file, target) = mebibyte();
        let text = |read_iops, write_iops| {
            let mut load = load(Pattern::Randrw);
            load.shape.rates = load::DirectionRates { read_iops, write_iops, trim_iops: None };
            write_case(&target, &load, &[]).unwrap().text
        };
        assert!(text(Some(100.0), None).ends_with("rate_iops=100,\n"));
        assert!(text(None, Some(100.0)).ends_with("rate_iops=,100\n"));
        assert!(text(Some(70.0), Some(30.0)).ends_with("rate_iops=70,30\n"));
    }

    /// Proves that a mix without writes is a read-only job, so that the target is not opened for writing.
    #[test]
    fn a_mix_without_writes_is_read_only() {
        let (_file, target) = mebibyte();
        let load = LoadSpec { rwmixread: 100, ..load(Pattern::Randrw) };
        let job = write_case(&target, &load, &[]).unwrap();
        assert!(job.is_read_only && job.text.contains("rw=randread\n"));
    }

    /// Proves that what would change the measurement, run programs, leave the target or break the job file is refused.
    #[test]
    fn wrong_cases_are_refused() {
        let (_file, target) = mebibyte();
        let random = load(Pattern::Randread);
        for (name, value, says) in [
            ("filename", "/dev/sda", "set by arraylab itself"),
            ("exec_prerun", "true", "set by arraylab itself"),
            ("ioengine", "exec", "no I/O on the target"),
            ("ioengine", "nbd", "needs an NBD address"),
            ("ioengine", "rbd", "has no `ioengine=rbd`"),
            ("mem", "shm\n[other]", "cannot hold"),
            ("mem", "${HOME}", "cannot hold"),
            ("a b", "1", "no name of a fio option"),
        ] {
            let error = write_case(&target, &random, &[(name, value)]).unwrap_err().to_string();
            assert!(error.contains(says), "{name}={value}: {error}");
        }
        let odd = Target::Path("/tmp/a#b".into());
        assert!(write_case(&odd, &random, &[]).is_err());
        let nbd = Target::Nbd("nbd://localhost".into());
        assert!(write_case(&nbd, &random, &[]).unwrap_err().to_string().contains("libnbd"));
        let too_long = LoadSpec { size_bytes: Some(2 << 20), ..random.clone() };
        assert!(write_case(&target, &too_long, &[]).unwrap_err().to_string().contains("too few"));
        let too_fine = LoadSpec { interval_ns: 1_000_000, runtime_ns: 3_600_000_000_000, ..random.clone() };
        assert!(
            write_case(&target, &too_fine, &[]).unwrap_err().to_string().contains("intervals in one case")
        );
        let too_big = LoadSpec { numjobs: 4096, runtime_ns: 3_600_000_000_000, ..random };
        assert!(
            write_case(&target, &too_big, &[]).unwrap_err().to_string().contains("memory for histograms")
        );
    }
}

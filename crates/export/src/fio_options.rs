//! Settings of a load as fio's options.
//!
//! Every setting of a case passes through [`options`]: it becomes an option, says nothing for this load, or is listed.
//! A setting that no rule knows is listed too, so that a new one cannot be lost.

use crate::fio_option_list::FioOptions;
use crate::fio_range::{FioRange, range};
use crate::fio_rates::rates;
use crate::load_settings::{LoadSettings, plain};
use plan::{LoadSearch, SearchOver, SettingScope, SettingValues};
use serde_json::Value;
use units::Bytes;

/// fio's engines that issue one I/O at a time, whatever `iodepth` says.
const SYNCHRONOUS_ENGINES: [&str; 7] = ["sync", "psync", "vsync", "pvsync", "pvsync2", "mmap", "splice"];
/// Options that fio's io_uring engine alone has.
const RING_OPTIONS: [&str; 5] = ["fixedbufs", "registerfiles", "hipri", "sqthread_poll", "force_async"];

/// A time as fio reads it, rounded up to whole microseconds: fio has none shorter.
pub(crate) fn time_text(time_ns: u64) -> String {
    let micros = time_ns.div_ceil(1000);
    if micros.is_multiple_of(1_000_000) {
        (micros / 1_000_000).to_string()
    } else if micros.is_multiple_of(1000) {
        format!("{}ms", micros / 1000)
    } else {
        format!("{micros}us")
    }
}

/// The options of a load. `seed` is that of its addresses; `find` what a case searches for.
pub(crate) fn options(settings: &SettingValues, seed: Option<u64>, find: Option<&LoadSearch>) -> FioOptions {
    let read = LoadSettings(settings);
    let mut fio = FioOptions::default();
    let engine = ioengine(read, find.is_some());
    fio.set("ioengine", engine.as_str());
    if !read.has("direct") {
        fio.set("direct", "1");
    }
    for (name, value) in settings {
        option(&mut fio, read, name, value, &engine);
    }
    let ranges = range(read, &mut fio);
    amount(read, &ranges, &mut fio);
    rates(read, &mut fio);
    if let Some(find) = find {
        search(find, &mut fio);
    }
    if let Some(seed) = seed {
        // fio reads a signed number, and with 0 all jobs would have the same addresses.
        fio.set("randseed", (seed & (i64::MAX as u64)).max(1).to_string());
    }
    fio
}

/// The engine that a plan asks for; without one, that which `run --engine fio` takes.
fn ioengine(read: LoadSettings<'_>, is_search: bool) -> String {
    if let Some(engine) = read.word("ioengine") {
        return engine.to_owned();
    }
    let needs_ring = RING_OPTIONS.iter().any(|name| read.number(name) == Some(1));
    match read.number("iodepth") {
        _ if needs_ring => "io_uring",
        Some(1) | None if !is_search => "psync",
        _ => "libaio",
    }
    .to_owned()
}

/// One setting that no other rule takes with others.
fn option(fio: &mut FioOptions, read: LoadSettings<'_>, name: &str, value: &Value, engine: &str) {
    let text = plain(value);
    match name {
        "rw" => direction(fio, read, &text),
        "rwmixread" => {
            if read.is_mixed() && !read.trims() {
                fio.set("rwmixread", text);
            }
        }
        "bs" => {
            let sizes = read.sizes();
            let bytes = value.as_u64().unwrap_or_default();
            if sizes.is_empty() || sizes.iter().any(|(size, _)| *size == bytes) {
                fio.set("bs", Bytes(bytes).to_string());
            } else {
                fio.lose("bs", "fio takes every size from `bssplit`");
            }
        }
        "bssplit" => {
            let parts: Vec<String> =
                read.sizes().iter().map(|(size, share)| format!("{}/{share}", Bytes(*size))).collect();
            fio.set("bssplit", parts.join(":"));
        }
        "iodepth" => {
            if SYNCHRONOUS_ENGINES.contains(&engine) && value.as_u64() != Some(1) {
                fio.lose("iodepth", format!("fio's engine `{engine}` issues one I/O at a time"));
            } else {
                fio.set("iodepth", text);
            }
        }
        "numjobs" => {
            if text != "1" {
                fio.set("numjobs", text);
            }
        }
        "runtime" | "ramp_time" => time(fio, read, name),
        "random_distribution" => distribution(fio, read, &text),
        "norandommap" => {
            let spreads = read.word("random_distribution").is_some_and(|word| word != "random");
            if !read.is_random() || (spreads && text == "0") {
                fio.lose("norandommap", "it says nothing for this order of addresses");
            }
        }
        "streams" => {
            if value.as_u64() != Some(1) {
                fio.lose("streams", "a job of fio has one sequential stream");
            }
        }
        "verify" => verify(fio, read, &text),
        "direct" => fio.set("direct", text),
        "buffer_compress_percentage" => fio.set("buffer_compress_percentage", text),
        "dedupe_percentage" => fio.set("dedupe_percentage", text),
        "continue_on_error" => fio.set("continue_on_error", text),
        "fsync" => fio.set("fsync", text),
        "sync" => fio.set("sync", text),
        "iodepth_batch_complete_min" => fio.set("iodepth_batch_complete_min", text),
        "randrepeat" => fio.set("randrepeat", text),
        "thread" => fio.set("thread", text),
        "fixedbufs" | "registerfiles" | "hipri" | "sqthread_poll" | "force_async" => {
            match RING_OPTIONS.iter().find(|known| **known == name) {
                Some(known) if engine == "io_uring" => fio.set(known, text),
                _ if text == "0" => {}
                _ => fio.lose(name, format!("fio's engine `{engine}` has no such option")),
            }
        }
        // fio sets its rings up as the kernel lets it.
        "defer_taskrun" => {}
        "cpus_allowed" => {
            fio.set("cpus_allowed", text.replace(':', ","));
            // A plan pins its threads to one processor each; fio lets every job run on all of them otherwise.
            fio.set("cpus_allowed_policy", "split");
        }
        "trim_by" => {
            if text != "discard" {
                fio.lose("trim_by", "fio's trims discard");
            }
        }
        // fio reads variables and arithmetic in values: only what can be a scheduler's name is written.
        "queue.scheduler" if text.chars().all(|c| c.is_ascii_alphanumeric() || "_-".contains(c)) => {
            fio.set("ioscheduler", text);
        }
        "filesystem" if text == "raw" => {}
        // What tells cases apart stands in the job's description; a pause is the case's, not its load's.
        "repeat" | "scenario" | "pass" | "pause" => {}
        // Taken with others, by `range`, `amount`, `rates` and `ioengine`, or said by the job's `rw`.
        "ioengine" | "offset" | "size" | "working_set" | "offset_increment" | "io_size" | "rwmixtrim" => {}
        name if name.starts_with("rate_") => {}
        _ => fio.lose(name, not_of_fio(name)),
    }
}

/// Returns the reason why fio does not carry out a setting that is no load.
fn not_of_fio(name: &str) -> &'static str {
    match plan::setting(name).map(|setting| setting.scope) {
        Some(SettingScope::Array) => "fio does not set the array: set it before the job",
        Some(SettingScope::Host) => "fio does not set up the host: set it before the job",
        Some(SettingScope::Plan) => "fio runs every job of the file",
        _ => "fio has no such option",
    }
}

fn direction(fio: &mut FioOptions, read: LoadSettings<'_>, rw: &str) {
    match read.number("rwmixtrim").unwrap_or(0) {
        0 => fio.set("rw", rw),
        100 if read.is_random() => fio.set("rw", "randtrim"),
        100 => fio.set("rw", "trim"),
        _ => fio.leave_out("rwmixtrim", "fio mixes trims with nothing else"),
    }
}

fn time(fio: &mut FioOptions, read: LoadSettings<'_>, name: &str) {
    let time_ns = read.time_ns(name).unwrap_or_default();
    if !time_ns.is_multiple_of(1000) {
        fio.lose(name, "fio counts microseconds: it is rounded up");
    }
    match name {
        "runtime" => {
            // fio passes over `io_size` in a load that is based on time.
            if !read.has("io_size") {
                fio.set("time_based", "1");
            }
            fio.set("runtime", time_text(time_ns));
        }
        _ if time_ns > 0 => fio.set("ramp_time", time_text(time_ns)),
        _ => {}
    }
    if name == "runtime" && read.is_random() {
        address_map(fio, read);
    }
}

/// fio's map of used blocks, which is on without a word and which a plan asks for with `norandommap: 0`.
fn address_map(fio: &mut FioOptions, read: LoadSettings<'_>) {
    if read.word("random_distribution").is_none_or(|word| word == "random") {
        fio.set("norandommap", if read.number("norandommap") == Some(0) { "0" } else { "1" });
    }
}

fn distribution(fio: &mut FioOptions, read: LoadSettings<'_>, text: &str) {
    if !read.is_random() {
        fio.lose("random_distribution", "it says nothing for sequential addresses");
    } else if text == "zipf:1" {
        // `filesetup.c`: fio's sum of the series has no value there.
        fio.lose("random_distribution", "fio refuses a theta of exactly 1: 1.0001 stands in its place");
        fio.set("random_distribution", "zipf:1.0001");
    } else if text != "random" {
        fio.set("random_distribution", text);
    }
}

fn verify(fio: &mut FioOptions, read: LoadSettings<'_>, text: &str) {
    if text == "none" {
        return;
    }
    fio.set("verify", text);
    if !read.has("io_size") {
        fio.lose(
            "verify",
            "fio reads back once all is written, which a load that ends by its runtime never is: give `io_size`",
        );
    }
}

/// The bytes after which the load ends. fio counts them for each job.
fn amount(read: LoadSettings<'_>, range: &FioRange, fio: &mut FioOptions) {
    let Some(value) = read.0.get("io_size") else { return };
    let numjobs = read.numjobs();
    let share = value.as_str().and_then(|text| text.strip_suffix('%')?.parse::<u64>().ok());
    let bytes = match (share, range.bytes) {
        (None, _) => value.as_u64(),
        (Some(share), Some(bytes)) => {
            Some(u64::try_from(u128::from(bytes) * u128::from(share) / 100).unwrap_or(u64::MAX))
        }
        (Some(_), None) => None,
    };
    match (bytes, share) {
        (Some(bytes), _) => {
            let [block_bytes, _] = read.block_bytes();
            let each_bytes = bytes.div_ceil(numjobs).div_ceil(block_bytes).saturating_mul(block_bytes);
            if each_bytes.saturating_mul(numjobs) != bytes {
                fio.lose("io_size", "fio's jobs move whole blocks each: it is rounded up");
            }
            fio.set("io_size", Bytes(each_bytes).to_string());
        }
        (None, Some(share)) => {
            // A part of the range that is a job's own is moved as often as the whole range is.
            let parts = if range.is_in_parts { 1 } else { numjobs };
            if share.is_multiple_of(parts) && share / parts <= 100 {
                fio.set("io_size", format!("{}%", share / parts));
            } else {
                fio.lose(
                    "io_size",
                    "fio takes whole percents of 100 at most for each job; the load ends by its runtime: give `size`",
                );
                fio.set("time_based", "1");
            }
        }
        (None, None) => {}
    }
}

/// fio searches for the depth at which a latency is kept; for rates it has no search.
fn search(find: &LoadSearch, fio: &mut FioOptions) {
    if find.over != SearchOver::Iodepth {
        fio.leave_out("find", "fio searches over the depth, not over rates");
        return;
    }
    let percentile = match find.bound.measure {
        load::BoundMeasure::Percentile(millionths) => f64::from(millionths) / 10_000.0,
        load::BoundMeasure::Mean => {
            fio.leave_out("find", "fio searches by a percentile, not by the mean");
            return;
        }
    };
    fio.options.retain(|(name, _)| *name != "iodepth");
    fio.set("iodepth", format!("{:.0}", find.search.limit));
    fio.set("latency_target", format!("{}us", find.bound.latency_ns.div_ceil(1000)));
    fio.set("latency_percentile", percentile.to_string());
    fio.set("latency_window", "5s");
    fio.lose(
        "find",
        "fio varies the depth while the job runs; a plan measures every depth for its whole runtime",
    );
}

//! Settings of a load as vdbench's storage and workload definitions.
//!
//! vdbench has no jobs: `threads` is what `numjobs × iodepth` is in a plan, and sequential threads share one stream.

use crate::load_settings::{LoadSettings, plain};
use plan::{LoadTarget, NamedLoad, SettingScope, SettingValues};
use units::Bytes;

/// The unit of vdbench's hit area.
const PAGE_BYTES: u64 = 4096;

/// Settings with a rule of their own, or that say nothing here.
const KNOWN: [&str; 22] = [
    "rw",
    "bs",
    "bssplit",
    "rwmixread",
    "iodepth",
    "numjobs",
    "runtime",
    "ramp_time",
    "offset",
    "size",
    "working_set",
    "io_size",
    "rate_iops",
    "rate_percent",
    "rate_process",
    "random_distribution",
    "direct",
    "sync",
    "pause",
    "repeat",
    "scenario",
    "pass",
];

/// Values that change nothing in vdbench.
const NEUTRAL: [(&str, &str); 10] = [
    ("rwmixtrim", "0"),
    ("streams", "1"),
    ("verify", "none"),
    ("norandommap", "1"),
    ("continue_on_error", "none"),
    ("fsync", "0"),
    ("trim_by", "discard"),
    ("filesystem", "raw"),
    ("buffer_compress_percentage", "0"),
    ("dedupe_percentage", "0"),
];

/// Settings without which a load is another one: the case is left out.
const NEEDED: [(&str, &str); 7] = [
    ("rwmixtrim", "vdbench has no trims"),
    ("rate_iops_read", "vdbench has one rate for reads and writes"),
    ("rate_iops_write", "vdbench has one rate for reads and writes"),
    ("rate_iops_trim", "vdbench has no trims"),
    ("rate_burst_iops", "vdbench's bursts are written otherwise (`distribution=spike`)"),
    ("rate_ramp_from", "vdbench has no rate that grows in a line"),
    ("rate_profile", "vdbench's rates over time are written otherwise (`distribution=variable`)"),
];

/// A load of a run.
#[derive(Debug, Default)]
pub(crate) struct VdbenchLoad {
    /// `lun=…` and what else belongs to the target.
    pub storage: String,
    /// `xfersize=…` and what else belongs to the pattern.
    pub workload: String,
    /// I/Os outstanding.
    pub threads: u64,
    /// I/Os a second over all jobs.
    pub rate: Option<f64>,
    /// Arrival process of the plan; `None` is the closed loop.
    pub process: Option<&'static str>,
    /// `maxdata`: bytes after which the run ends, or their multiple of the target below 100.
    pub max_data: Option<String>,
    /// Settings that vdbench does not carry out to the letter, and why.
    pub not_exported: Vec<(String, String)>,
    /// Set where what remains would be another kind of load.
    pub left_out: Option<(String, String)>,
}

impl VdbenchLoad {
    fn lose(&mut self, setting: &str, why: impl Into<String>) {
        self.not_exported.push((setting.to_owned(), why.into()));
    }
}

/// The load of complete settings; `named` where several run at once.
pub(crate) fn load_of(settings: &SettingValues, named: Option<&NamedLoad>) -> VdbenchLoad {
    let read = LoadSettings(settings);
    let mut load = VdbenchLoad::default();
    for (name, value) in settings {
        other(name, &plain(value), &mut load);
    }
    let numjobs = read.numjobs();
    load.threads = numjobs.saturating_mul(read.number("iodepth").unwrap_or(1));
    if numjobs > 1 {
        let parts = if read.is_random() { "" } else { ", and all share one sequential stream" };
        load.lose("numjobs", format!("vdbench has threads: jobs × depth{parts}"));
    }
    if read.number("direct") == Some(0) {
        load.lose("direct", "vdbench opens a device in /dev with `openflags=o_direct` only: add it for one");
    }
    if named.is_some_and(|named| named.start_ns > 0) {
        load.lose("start", "vdbench begins all loads of a run at once");
    }
    load.process = match (read.word("rate_process"), read.has("rate_iops") || read.has("rate_percent")) {
        (Some("poisson"), true) => Some("poisson"),
        (Some(_), true) => Some("linear"),
        _ => None,
    };
    load.rate = read.float("rate_iops").map(|rate| rate * numjobs as f64);
    if load.rate.is_some() && load.process.is_none() {
        load.lose("rate_iops", "vdbench's I/Os arrive at the rate, whatever is answered");
    }
    let mut workload = pattern(read, &mut load);
    let mut storage = storage(read, named.and_then(|named| named.target.as_ref()));
    let used_bytes = range(read, &mut storage, &mut workload, &mut load);
    hot_band(read, used_bytes, &mut storage, &mut workload, &mut load);
    amount(read, used_bytes, named.is_some(), &mut load);
    if named.is_some() {
        storage += &format!(",threads={}", load.threads);
        workload.extend(load.rate.iter().map(|rate| format!(",iorate={rate}")));
    }
    (load.storage, load.workload) = (storage, workload);
    load
}

/// A setting without a rule of its own.
fn other(name: &str, text: &str, load: &mut VdbenchLoad) {
    if KNOWN.contains(&name) || NEUTRAL.contains(&(name, text)) {
        return;
    }
    if let Some((needed, why)) = NEEDED.iter().find(|(needed, _)| *needed == name) {
        load.left_out.get_or_insert_with(|| ((*needed).to_owned(), (*why).to_owned()));
        return;
    }
    let why = match (name, plan::setting(name).map(|setting| setting.scope)) {
        ("verify", _) => "vdbench validates with keys of its own: `vdbench -v`",
        ("buffer_compress_percentage" | "dedupe_percentage", _) => {
            "vdbench sets what blocks hold for a whole file (`compratio`, `dedupratio`)"
        }
        ("norandommap", _) => "vdbench draws every random address anew",
        (_, Some(SettingScope::Array)) => "vdbench does not set the array: set it before the run",
        (_, Some(SettingScope::Host)) => "vdbench does not set up the host: set it before the run",
        (_, Some(SettingScope::Plan)) => "vdbench makes every run of the file",
        (_, Some(SettingScope::Engine)) => "vdbench issues I/O in its own way",
        _ => "vdbench has no such parameter",
    };
    load.lose(name, why);
}

/// `xfersize`, `rdpct` and `seekpct`.
fn pattern(read: LoadSettings<'_>, load: &mut VdbenchLoad) -> String {
    let sizes = read.sizes();
    let bs_bytes = read.number("bs").unwrap_or(4096);
    let xfersize = if sizes.is_empty() {
        Bytes(bs_bytes).to_string()
    } else {
        // What a result shows as `bs` is the commonest size of a mix that is read back.
        let commonest = sizes.iter().rev().max_by_key(|(_, share)| *share).map(|(size, _)| *size);
        if commonest != Some(bs_bytes) {
            load.lose("bs", "vdbench takes every size from the mix");
        }
        let parts: Vec<String> =
            sizes.iter().map(|(size, share)| format!("{},{share}", Bytes(*size))).collect();
        format!("({})", parts.join(","))
    };
    let seek = if read.is_random() { "100" } else { "seq" };
    format!("xfersize={xfersize},rdpct={},seekpct={seek}", read.read_share())
}

fn storage(read: LoadSettings<'_>, target: Option<&LoadTarget>) -> String {
    // vdbench replaces text, so that no name may be the beginning of another.
    let lun = match target {
        None => "$target".to_owned(),
        Some(LoadTarget::Number(number)) => format!("$lun_{number}_"),
        Some(LoadTarget::Name(name)) => {
            let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
            format!("$lun_{plain}_")
        }
    };
    let flags = match (read.number("direct") != Some(0), read.word("sync") == Some("dsync")) {
        (true, true) => ",openflags=(o_direct,o_dsync)",
        (true, false) => ",openflags=o_direct",
        (false, true) => ",openflags=o_dsync",
        (false, false) => "",
    };
    format!("lun={lun}{flags}")
}

/// The range that is used, and its bytes where the settings give them.
fn range(
    read: LoadSettings<'_>,
    storage: &mut String,
    workload: &mut String,
    load: &mut VdbenchLoad,
) -> Option<u64> {
    if let Some(offset_bytes) = read.number("offset").filter(|offset_bytes| *offset_bytes > 0) {
        *storage += &format!(",offset={}", Bytes(offset_bytes));
    }
    let share = read.number("working_set").filter(|share| !matches!(share, 0 | 100));
    let Some(size_bytes) = read.number("size") else {
        if let Some(share) = share {
            if read.number("offset").unwrap_or(0) > 0 {
                load.lose("working_set", "vdbench's range is a share of the whole target: give `size`");
            } else {
                *workload += &format!(",range=(0,{share})");
            }
        }
        return None;
    };
    let [block_bytes, largest_bytes] = read.block_bytes();
    let used_bytes = match share {
        None => size_bytes,
        Some(share) => {
            let used = (u128::from(size_bytes) * u128::from(share) / 100) as u64;
            used - used % block_bytes
        }
    };
    if used_bytes < largest_bytes {
        load.left_out
            .get_or_insert_with(|| ("size".to_owned(), "the range that is used has no block".to_owned()));
    }
    *storage += &format!(",size={}", Bytes(used_bytes));
    Some(used_bytes)
}

/// Two zones of `random_distribution=zoned` as vdbench's hits on the first bytes of the target.
fn hot_band(
    read: LoadSettings<'_>,
    used_bytes: Option<u64>,
    storage: &mut String,
    workload: &mut String,
    load: &mut VdbenchLoad,
) {
    let Some(text) = read.word("random_distribution").filter(|text| *text != "random") else { return };
    if !read.is_random() {
        load.lose("random_distribution", "it says nothing for sequential addresses");
        return;
    }
    let zones: Vec<(u64, u64)> = text
        .strip_prefix("zoned:")
        .unwrap_or_default()
        .split(':')
        .filter_map(|zone| zone.split_once('/'))
        .filter_map(|(hits, size)| Some((hits.parse().ok()?, size.parse().ok()?)))
        .collect();
    match (zones.as_slice(), used_bytes) {
        (&[(hits, size), _], Some(used_bytes)) if hits > 0 && (1..100).contains(&size) => {
            let hit_bytes = (u128::from(used_bytes) * u128::from(size) / 100) as u64;
            // Whole pages, which any device takes; a plan's share is in whole percents anyway.
            let aligned = (hit_bytes - hit_bytes % PAGE_BYTES).max(PAGE_BYTES);
            *storage += &format!(",hitarea={}", Bytes(aligned));
            *workload += &format!(",rhpct={hits},whpct={hits}");
        }
        ([_, _], None) => load.lose("random_distribution", "vdbench's hit area is in bytes: give `size`"),
        _ => load.lose("random_distribution", "vdbench has one hot band and uniform addresses beside it"),
    }
}

/// `maxdata`, in bytes, or as a multiple of the target.
fn amount(read: LoadSettings<'_>, used_bytes: Option<u64>, is_of_several: bool, load: &mut VdbenchLoad) {
    let Some(value) = read.0.get("io_size") else { return };
    let share = value.as_str().and_then(|text| text.strip_suffix('%')?.parse::<u64>().ok());
    let bytes = match (share, used_bytes) {
        (None, _) => value.as_u64(),
        (Some(share), Some(used)) => u64::try_from(u128::from(used) * u128::from(share) / 100).ok(),
        (Some(_), None) => None,
    };
    match (bytes, share) {
        _ if is_of_several => load.lose("io_size", "vdbench ends a run, not one load of several"),
        (Some(bytes), _) => load.max_data = Some(bytes.to_string()),
        (None, Some(share)) if share.is_multiple_of(100) && share < 10_000 => {
            load.max_data = Some((share / 100).to_string());
        }
        _ => load.lose("io_size", "vdbench takes bytes or whole multiples of the target: give `size`"),
    }
}

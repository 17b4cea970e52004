//! Plans exported for another tool and imported back: the same loads, but for what the export lists.

use export::{FileLayout, NotExported, PlanExport, PlanFormat, WHOLE_CASE, export_plan};
use load::{Distribution, LoadSpec, Pattern};
use plan::{Amount, Case, Plan, Selection, SettingScope, SettingValues};
use proptest::prelude::*;
use std::collections::BTreeSet;
use std::path::Path;

const FORMATS: [PlanFormat; 2] = [PlanFormat::Fio, PlanFormat::Vdbench];

/// Values that say what holds anyway.
const NEUTRAL: [(&str, &str); 13] = [
    ("sync", "none"),
    ("fsync", "0"),
    ("continue_on_error", "none"),
    ("trim_by", "discard"),
    ("fixedbufs", "0"),
    ("registerfiles", "0"),
    ("hipri", "0"),
    ("sqthread_poll", "0"),
    ("force_async", "0"),
    ("filesystem", "raw"),
    ("direct", "1"),
    ("randrepeat", "1"),
    ("thread", "0"),
];

/// The load as it is issued, however it is written.
fn normal(load: &LoadSpec) -> LoadSpec {
    let mut load = LoadSpec { seed: 0, interval_ns: 1, ..load.clone() };
    load.pattern = match (load.pattern, load.rwmixread) {
        (Pattern::Rw, 100) => Pattern::Read,
        (Pattern::Rw, 0) => Pattern::Write,
        (Pattern::Randrw, 100) => Pattern::Randread,
        (Pattern::Randrw, 0) => Pattern::Randwrite,
        (pattern, _) => pattern,
    };
    if load.shape.trim_percent == 100 {
        // What is no trim does not happen.
        load.pattern = if load.pattern.is_random() { Pattern::Randwrite } else { Pattern::Write };
        load.rwmixread = 0;
    }
    // A mix of one size is that size.
    if let [only] = load.shape.sizes[..] {
        load.bs_bytes = only.bs_bytes;
        load.shape.sizes.clear();
    }
    let block_bytes = u64::from(load.shape.smallest_bytes(load.bs_bytes));
    if let Some(size_bytes) = load.size_bytes
        && !matches!(load.shape.working_set_percent, 0 | 100)
    {
        let used_bytes = size_bytes * u64::from(load.shape.working_set_percent) / 100;
        load.size_bytes = Some(used_bytes - used_bytes % block_bytes);
        load.shape.working_set_percent = 0;
    }
    if load.shape.working_set_percent == 100 {
        load.shape.working_set_percent = 0;
    }
    if !load.pattern.is_random() {
        load.shape.distribution = Distribution::Uniform;
    }
    if load.numjobs == 1 {
        load.shape.offset_increment_bytes = None;
    }
    load.shape.streams = load.shape.streams.max(1);
    // The limit of the only direction is the limit of all.
    let rates = load.shape.rates;
    let only = match load.pattern.fixed_read_share() {
        _ if load.shape.trim_percent == 100 => Some(rates.trim_iops),
        Some(100) => Some(rates.read_iops),
        Some(_) => Some(rates.write_iops),
        None => None,
    };
    if let Some(only) = only {
        load.rate_iops = load.rate_iops.or(only);
        load.shape.rates = load::DirectionRates::default();
    }
    load
}

/// The bytes after which a load ends, where they are known.
fn amount(ends_after: Option<Amount>, load: &LoadSpec) -> Option<Amount> {
    match (ends_after, normal(load).size_bytes) {
        (Some(amount), Some(size_bytes)) => Some(Amount::Bytes { bytes: amount.resolve(size_bytes) }),
        (amount, _) => amount,
    }
}

/// Lists the differences of two loads, as the settings one of which must then be listed.
fn differences(one: &LoadSpec, other: &LoadSpec, is_vdbench: bool) -> Vec<&'static [&'static str]> {
    let (one, other) = (normal(one), normal(other));
    let jobs_differ = match is_vdbench {
        true => {
            u64::from(one.numjobs) * u64::from(one.iodepth)
                != u64::from(other.numjobs) * u64::from(other.iodepth)
        }
        false => one.iodepth != other.iodepth,
    };
    let (a, b) = (&one.shape, &other.shape);
    let rates: &[&str] =
        &["rate_iops", "rate_process", "rate_iops_read", "rate_iops_write", "rate_iops_trim", "rate_percent"];
    let all: [(bool, &[&str]); 18] = [
        (one.pattern != other.pattern, &["rw"]),
        (one.rwmixread != other.rwmixread, &["rwmixread"]),
        (one.bs_bytes != other.bs_bytes, &["bs"]),
        (one.numjobs != other.numjobs, &["numjobs"]),
        (jobs_differ, &["iodepth", "find"]),
        (one.offset_bytes != other.offset_bytes, &["offset"]),
        (one.size_bytes != other.size_bytes, &["size"]),
        (one.rate_iops != other.rate_iops, rates),
        (a.rates != b.rates, rates),
        (a.arrival != b.arrival, rates),
        (one.ramp_ns != other.ramp_ns, &["ramp_time", "start"]),
        (one.runtime_ns != other.runtime_ns, &["runtime", "start"]),
        (a.sizes != b.sizes, &["bssplit"]),
        (a.distribution != b.distribution, &["random_distribution", "norandommap"]),
        (a.working_set_percent != b.working_set_percent, &["working_set"]),
        (
            a.streams != b.streams || a.offset_increment_bytes != b.offset_increment_bytes,
            &["streams", "offset_increment"],
        ),
        (a.content != b.content, &["buffer_compress_percentage", "dedupe_percentage"]),
        (a.verify != b.verify || a.trim_percent != b.trim_percent, &["verify", "rwmixtrim"]),
    ];
    all.into_iter().filter(|(differs, _)| *differs).map(|(_, names)| names).collect()
}

/// Returns the settings that the export lists for a case.
fn listed(export: &PlanExport, case: &Case) -> BTreeSet<String> {
    let concerns = |entry: &&NotExported| match (&entry.stage, entry.cases.as_slice()) {
        (None, _) => true,
        (Some(stage), []) => *stage == case.stage,
        (Some(stage), cases) => *stage == case.stage && cases.contains(&case.name),
    };
    export.not_exported.iter().filter(concerns).map(|entry| entry.what.clone()).collect()
}

/// Settings of the engine, the host, the array and the plan that are neither carried nor listed.
fn lost_settings(
    original: &SettingValues,
    imported: &SettingValues,
    listed: &BTreeSet<String>,
) -> Vec<String> {
    let is_kept = |(name, value): &(&String, &serde_json::Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let scope = plan::setting(name).map(|setting| setting.scope);
        scope == Some(SettingScope::Load)
            || matches!(name.as_str(), "repeat" | "scenario" | "pass" | "pause")
            || imported.get(*name) == Some(*value)
            || NEUTRAL.contains(&(name.as_str(), text.as_str()))
            || listed.contains(*name)
    };
    original.iter().filter(|entry| !is_kept(entry)).map(|(name, value)| format!("{name}={value}")).collect()
}

/// The cases of an imported file, without those that make the state of another.
fn imported_cases(format: PlanFormat, text: &str) -> Result<Vec<Case>, String> {
    let imported =
        import::import_plan(Path::new("exported"), text).map_err(|error| format!("{error}\n{text}"))?;
    let Some(yaml) = imported.text else { return Err(format!("no plan of\n{text}")) };
    let plan = plan::parse_plan("exported", "exported", &yaml).map_err(|error| format!("{error}\n{yaml}"))?;
    let cases = plan::expand(&plan, &Selection::default()).map_err(|error| format!("{error}\n{yaml}"))?;
    let is_fill = |case: &Case| {
        let title = plan.stage(&case.stage).and_then(|stage| stage.title.clone()).unwrap_or_default();
        match format {
            PlanFormat::Fio => title.ends_with("/precondition"),
            PlanFormat::Vdbench => title.contains("_precondition_"),
        }
    };
    Ok(cases.into_iter().filter(|case| !is_fill(case)).collect())
}

fn check(plan: &Plan, cases: &[Case], format: PlanFormat) -> Result<usize, String> {
    let export = match export_plan(plan, cases, format, FileLayout::FilePerStage) {
        Ok(export) => export,
        Err(export::ExportError::NoCases { .. }) => return Ok(0),
        Err(error) => return Err(diagnostic::full_text(&error)),
    };
    let shown: String =
        export.files.iter().map(|file| file.text.chars().take(1500).collect::<String>()).collect();
    let shown: String = shown.chars().take(3000).collect();
    let is_vdbench = format == PlanFormat::Vdbench;
    let mut imported = Vec::new();
    for file in &export.files {
        imported.extend(imported_cases(format, &file.text)?);
    }
    let kept: Vec<&Case> = cases.iter().filter(|case| !listed(&export, case).contains(WHOLE_CASE)).collect();
    if kept.len() != imported.len() {
        return Err(format!("{} cases became {}\n{shown}", kept.len(), imported.len()));
    }
    for (case, found) in kept.iter().zip(&imported) {
        let names = listed(&export, case);
        let fail =
            |what: String| Err(format!("{}/{}: {what}\nlisted: {names:?}\n{shown}", case.stage, case.name));
        let loads: Vec<(&SettingValues, &LoadSpec, Option<Amount>, u64)> = match case.loads.as_slice() {
            [] => vec![(&case.settings, &case.load, case.ends_after, 0)],
            loads => loads.iter().map(|l| (&l.settings, &l.load, l.ends_after, l.start_ns)).collect(),
        };
        let found_loads: Vec<(&SettingValues, &LoadSpec, Option<Amount>, u64)> = match found.loads.as_slice()
        {
            [] => vec![(&found.settings, &found.load, found.ends_after, 0)],
            loads => loads.iter().map(|l| (&l.settings, &l.load, l.ends_after, l.start_ns)).collect(),
        };
        if loads.len() != found_loads.len() {
            return fail(format!("{} loads became {}", loads.len(), found_loads.len()));
        }
        for (one, other) in loads.iter().zip(&found_loads) {
            for alternatives in differences(one.1, other.1, is_vdbench) {
                let is_about_jobs =
                    |name: &&&str| matches!(**name, "size" | "numjobs" | "iodepth" | "offset_increment");
                let jobs_listed =
                    alternatives.iter().any(|name| is_about_jobs(&name)) && names.contains("numjobs");
                if !alternatives.iter().any(|name| names.contains(*name)) && !jobs_listed {
                    return fail(format!(
                        "{alternatives:?} differs and is not listed:\n{:?}\n{:?}",
                        one.1, other.1
                    ));
                }
            }
            if amount(one.2, one.1) != amount(other.2, other.1) && !names.contains("io_size") {
                return fail(format!("io_size differs: {:?} {:?}", one.2, other.2));
            }
            if one.3 != other.3 && !names.contains("start") {
                return fail("start differs".to_owned());
            }
            let lost = lost_settings(one.0, other.0, &names);
            if !lost.is_empty() {
                return fail(format!("lost: {lost:?}"));
            }
        }
        let share = |case: &Case| case.rate_share.as_ref().map(|share| share.percent);
        if share(case) != share(found) {
            return fail("the share of the full rate differs".to_owned());
        }
        for (is_there, name) in [
            (case.pause_ns != found.pause_ns || case.pause_over.is_some(), "pause"),
            (!case.events.is_empty() || !case.conditional_events.is_empty(), "events"),
            (case.stripe.is_some(), "stripe"),
            (case.load_of.is_some(), "load_of"),
            (case.find != found.find, "find"),
            (case.preconditioning.as_ref().is_some_and(|writes| writes.purge), "precondition"),
        ] {
            if is_there && !names.contains(name) {
                return fail(format!("{name} is not listed"));
            }
        }
    }
    Ok(imported.len())
}

/// Proves that every shipped plan, exported and imported back, has the same cases with the same loads, but for settings
/// that the export lists; in `make test` every tenth case of a plan that has more than 100.
#[test]
fn shipped_plans_come_back() {
    for shipped in plan::shipped_plans() {
        let plan = plan::load_plan(shipped.name).unwrap().plan;
        let mut cases = plan::expand(&plan, &Selection::default()).unwrap();
        if cases.len() > 100 && !test_support::is_long() {
            cases = cases.into_iter().step_by(10).collect();
        }
        for format in FORMATS {
            let count = check(&plan, &cases, format).unwrap_or_else(|error| panic!("{format:?}: {error}"));
            assert!(count > 0, "{} {format:?}", shipped.name);
        }
    }
}

/// A setting that a load may have, and some of its values; most are left out of most loads.
fn setting() -> impl Strategy<Value = (&'static str, &'static str)> {
    let choices: [(&'static str, &'static [&'static str]); 39] = [
        ("numjobs", &["1", "2", "3", "4", "8"]),
        ("iodepth", &["1", "2", "32"]),
        ("rwmixread", &["0", "30", "65", "100"]),
        ("runtime", &["1", "60", "90m", "1500ms", "7us", "10ns"]),
        ("ramp_time", &["0", "5", "250ms"]),
        ("offset", &["0", "1m", "512"]),
        ("size", &["1g", "100m", "512k", "10000k"]),
        ("io_size", &["1g", "100%", "50%", "300%", "4096000"]),
        ("rate_iops", &["100", "12.5", "999"]),
        ("rate_iops_read", &["100", "7"]),
        ("rate_iops_write", &["50"]),
        ("rate_iops_trim", &["20"]),
        ("rate_process", &["linear", "poisson"]),
        ("rate_burst_iops", &["1000"]),
        ("bssplit", &["4k/30:64k/70", "4k/50:8k/50", "8k/100", "512/10:1k/20:2k/70"]),
        (
            "random_distribution",
            &["random", "zipf:1.1", "zipf:1", "pareto:0.2", "zoned:80/20:20/80", "zoned:50/5:30/15:20/80"],
        ),
        ("norandommap", &["0", "1"]),
        ("working_set", &["50", "100", "17"]),
        ("streams", &["1", "4"]),
        ("offset_increment", &["0", "1m", "128k"]),
        ("rwmixtrim", &["0", "30", "100"]),
        ("buffer_compress_percentage", &["0", "50"]),
        ("dedupe_percentage", &["30"]),
        ("verify", &["none", "crc32c"]),
        ("ioengine", &["sync", "psync", "libaio", "io_uring"]),
        ("direct", &["0", "1"]),
        ("continue_on_error", &["none", "all"]),
        ("fsync", &["0", "16"]),
        ("sync", &["none", "dsync"]),
        ("iodepth_batch_complete_min", &["1", "4"]),
        ("fixedbufs", &["0", "1"]),
        ("force_async", &["0", "1"]),
        ("cpus_allowed", &["0-3", "0:2"]),
        ("trim_by", &["discard", "zeroes"]),
        ("thread", &["0", "1"]),
        ("filesystem", &["raw", "ext4"]),
        ("raid", &["5"]),
        ("queue.scheduler", &["none", "mq-deadline"]),
        ("pause", &["10", "1500ms"]),
    ];
    prop::sample::select(choices.to_vec()).prop_flat_map(|(name, values)| {
        prop::sample::select(values.to_vec()).prop_map(move |value| (name, value))
    })
}

fn yaml(rw: &str, bs: &str, settings: &[(&str, &str)]) -> String {
    let mut known = BTreeSet::new();
    let pairs: String = settings
        .iter()
        .filter(|(name, _)| known.insert(*name))
        .map(|(name, value)| format!(", {name}: \"{value}\""))
        .collect();
    format!(
        "title: t\nwatch: {{ interval: 2 }}\nstages:\n  a:\n    settings: {{ rw: {rw}, bs: {bs}{pairs} }}\n"
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: if test_support::is_long() { 2000 } else { 200 }, ..ProptestConfig::default() })]

    /// Proves that any load of a plan, exported and imported back, is the same but for settings that the export lists, on 2,000 loads,
    /// in `make test` on 200.
    #[test]
    fn any_load_comes_back(
        rw in prop::sample::select(vec!["read", "write", "rw", "randread", "randwrite", "randrw"]),
        bs in prop::sample::select(vec!["4k", "8k", "1m", "512"]),
        settings in prop::collection::vec(setting(), 0..7),
    ) {
        let text = yaml(rw, bs, &settings);
        // What a plan refuses is no load.
        if let Ok(plan) = plan::parse_plan("p", "p", &text)
            && let Ok(cases) = plan::expand(&plan, &Selection::default())
        {
            for format in FORMATS {
                check(&plan, &cases, format).map_err(|error| TestCaseError::fail(format!("{format:?}: {error}\n{text}")))?;
            }
        }
    }
}

/// Proves that loads that run at once, a late one among them, searches and curves of rates come back.
#[test]
fn stages_of_every_kind_come_back() {
    let stages = [
        "    settings: { rw: randread, bs: 4k, iodepth: 8, runtime: 20 }\n    loads:\n      first: {}\n      second: { start: 50%, settings: { rw: write, bs: 64k, rate_iops: 100 } }\n",
        "    settings: { rw: randread, bs: 4k, runtime: 20 }\n    loads:\n      first: { target: 0 }\n      second: { target: 1, settings: { iodepth: 4 } }\n",
        "    settings: { rw: randrw, bs: 4k, iodepth: 8, ramp_time: 2 }\n    matrix:\n      rate_percent: [max, 10, 50]\n",
        "    settings: { rw: randrw, bs: 4k, iodepth: 8, rate_process: poisson }\n    matrix:\n      rate_percent: [max, 90]\n",
        "    settings: { rw: randread, bs: 4k, ioengine: libaio }\n    find:\n      max-under-latency: { of: p99, below: 1ms, over: iodepth, limit: 64 }\n",
        "    settings: { rw: write, bs: 4k }\n    precondition: { purge: true, times: 2, settings: { rw: write, bs: 128k, numjobs: 2 } }\n    pause: 3\n    matrix:\n      raid: [5, 10]\n",
    ];
    for stage in stages {
        let text = format!("title: t\nstages:\n  a:\n{stage}");
        let plan = plan::parse_plan("p", "p", &text).unwrap_or_else(|error| panic!("{error}"));
        let cases = plan::expand(&plan, &Selection::default()).unwrap();
        for format in FORMATS {
            check(&plan, &cases, format).unwrap_or_else(|error| panic!("{format:?}: {error}\n{text}"));
        }
    }
}

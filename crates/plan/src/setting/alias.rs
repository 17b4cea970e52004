//! Setting aliases: fio's long forms, vdbench, Iometer, diskspd, and common spellings.

use array::nearest;

/// Names of other tools, lower case without `_` and `-`, with the setting that they mean and a remark.
const ALIASES: &[(&str, &str, &str)] = &[
    ("blocksize", "bs", ""),
    ("ioblocksize", "bs", ""),
    ("iosize", "io_size", ", bytes after which a case ends, or `bs`, bytes of an I/O"),
    ("requestsize", "bs", ""),
    ("transferrequestsize", "bs", ""),
    ("transfersize", "bs", ""),
    ("xfersize", "bs", ""),
    ("bsrange", "bssplit", ""),
    ("depth", "iodepth", ""),
    ("oio", "iodepth", ""),
    ("outstanding", "iodepth", ""),
    ("outstandingio", "iodepth", ""),
    ("outstandingios", "iodepth", ""),
    ("qd", "iodepth", ""),
    ("queuedepth", "iodepth", ""),
    ("concurrency", "numjobs", ""),
    ("jobs", "numjobs", ""),
    ("numberofworkers", "numjobs", ""),
    ("processes", "numjobs", ""),
    ("threads", "numjobs", ", jobs side by side? vdbench's `threads` are `iodepth`"),
    ("threadcount", "numjobs", ""),
    ("workers", "numjobs", ""),
    ("accesspattern", "rw", ""),
    ("operation", "rw", ""),
    ("pattern", "rw", ""),
    ("readwrite", "rw", ""),
    ("seekpct", "rw", "? `randrw` and its kin are random, `rw` is sequential"),
    ("percentrandom", "rw", "? `randrw` and its kin are random, `rw` is sequential"),
    ("percentread", "rwmixread", ""),
    ("rdpct", "rwmixread", ""),
    ("readmix", "rwmixread", ""),
    ("readpct", "rwmixread", ""),
    ("readpercent", "rwmixread", ""),
    ("readratio", "rwmixread", ""),
    ("readshare", "rwmixread", ""),
    ("rwmixwrite", "rwmixread", ", 100 less the share of writes"),
    ("writepct", "rwmixread", ", 100 less the share of writes"),
    ("writepercent", "rwmixread", ", 100 less the share of writes"),
    ("duration", "runtime", ""),
    ("elapsed", "runtime", ""),
    ("seconds", "runtime", ""),
    ("testtime", "runtime", ""),
    ("time", "runtime", ""),
    ("timeout", "runtime", ""),
    ("ramp", "ramp_time", ""),
    ("rampuptime", "ramp_time", ""),
    ("warmup", "ramp_time", ""),
    ("warmuptime", "ramp_time", ""),
    ("iops", "rate_iops", ""),
    ("iopslimit", "rate_iops", ""),
    ("iorate", "rate_iops", ""),
    ("maxiops", "rate_iops", ""),
    ("filesize", "size", ""),
    ("range", "offset", " with `size`"),
    ("hitarea", "random_distribution", " (`zoned:80/10:20/90` is a hot band)"),
    ("rhpct", "random_distribution", " (`zoned:80/10:20/90` is a hot band)"),
    ("whpct", "random_distribution", " (`zoned:80/10:20/90` is a hot band)"),
    ("distribution", "random_distribution", ""),
    ("zipf", "random_distribution", " (`zipf:1.1`)"),
    ("compratio", "buffer_compress_percentage", ""),
    ("compression", "buffer_compress_percentage", ""),
    ("dedup", "dedupe_percentage", ""),
    ("dedupe", "dedupe_percentage", ""),
    ("dedupratio", "dedupe_percentage", ""),
    ("directio", "direct", ""),
    ("odirect", "direct", ""),
    ("openflags", "direct", ""),
    ("engine", "ioengine", ""),
    ("raidlevel", "raid", ""),
    ("drives", "disks", ""),
    ("numberofdisks", "disks", ""),
    ("stripesize", "segment", ""),
    ("chunk", "segment", ""),
    ("cache", "write_cache", ""),
    ("writeback", "write_cache", ""),
];

/// Names that are no settings because another part of the plan, or the command line, has them.
const ELSEWHERE: &[(&str, &str)] = &[
    ("filename", "what a plan runs on is named on the command line: `--target`"),
    ("device", "what a plan runs on is named on the command line: `--target`"),
    ("lun", "what a plan runs on is named on the command line: `--target`"),
    ("interval", "the length of an interval is `watch: { interval: 5s }` of the plan"),
    ("logavgmsec", "the length of an interval is `watch: { interval: 5s }` of the plan"),
    ("latencytarget", "a limit on latency is searched for with `find:` of a stage"),
    ("latencypercentile", "a limit on latency is searched for with `find:` of a stage"),
    ("latencywindow", "a limit on latency is searched for with `find:` of a stage"),
    ("ratecycle", "a rate is I/Os a second: `rate_iops`"),
    ("loops", "a stage is repeated with `repeats:` of the stage"),
    ("name", "a stage has its name as its key, and what it is called in reports as `title:`"),
];

/// Returns a hint, as a sentence, on the setting that an unknown name probably means.
pub(super) fn hint<'a>(name: &str, known: impl IntoIterator<Item = &'a str> + Clone) -> String {
    let plain: String = name.to_lowercase().chars().filter(|c| !matches!(c, '_' | '-' | ' ')).collect();
    if let Some((_, meant, remark)) = ALIASES.iter().find(|(alias, ..)| *alias == plain) {
        let closing = if remark.contains('?') { "" } else { "?" };
        return format!("did you mean `{meant}`{remark}{closing}");
    }
    if let Some((_, sentence)) = ELSEWHERE.iter().find(|(alias, _)| *alias == plain) {
        return (*sentence).to_owned();
    }
    if let Some(near) = nearest(name, known) {
        return format!("did you mean `{near}`?");
    }
    "docs/plan-language.md has all settings, and `arraylab schema plan` has them for an editor".to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::setting::{SETTINGS, setting_or_error};

    /// Proves that the names of other tools and slips of the finger get one clear hint, and that a word which is near to
    /// nothing gets no list of all settings.
    #[test]
    fn a_misspelt_setting_gets_one_hint() {
        for (name, hint) in [
            ("queue_depth", "hint: did you mean `iodepth`?"),
            ("QD", "hint: did you mean `iodepth`?"),
            ("blocksize", "hint: did you mean `bs`?"),
            ("block_size", "hint: did you mean `bs`?"),
            ("xfersize", "hint: did you mean `bs`?"),
            ("rdpct", "hint: did you mean `rwmixread`?"),
            ("elapsed", "hint: did you mean `runtime`?"),
            ("rwmixwrite", "hint: did you mean `rwmixread`, 100 less the share of writes?"),
            ("threads", "hint: did you mean `numjobs`, jobs side by side? vdbench's `threads` are `iodepth`"),
            ("iodpeth", "hint: did you mean `iodepth`?"),
            ("latency_target", "hint: a limit on latency is searched for with `find:` of a stage"),
        ] {
            let error = diagnostic::full_text(&setting_or_error(name).unwrap_err());
            assert!(error.ends_with(hint), "{name}: {error}");
        }
        let error = diagnostic::full_text(&setting_or_error("colour").unwrap_err());
        assert!(error.len() < 160 && error.contains("docs/plan-language.md"), "{error}");
    }

    /// Proves that every alias means a setting that there is, and is none itself.
    #[test]
    fn aliases_mean_settings() {
        for (alias, meant, _) in ALIASES {
            assert!(SETTINGS.iter().any(|setting| setting.name == *meant), "{alias}: {meant}");
        }
        let elsewhere = ELSEWHERE.iter().map(|(alias, _)| *alias);
        for alias in ALIASES.iter().map(|(alias, ..)| *alias).chain(elsewhere) {
            let is_plain = |setting: &&super::super::Setting| setting.name.replace('_', "") == alias;
            let own = SETTINGS.iter().find(is_plain).map(|setting| setting.name);
            assert!(own.is_none_or(|own| own.contains('_')), "{alias}");
        }
    }
}

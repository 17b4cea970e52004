//! fio's options as settings of a plan.
//!
//! An option is carried over where the plan language has fio's setting and takes its value; it is passed over where
//! it says what holds anyway; everything else is named, with the reason.

use crate::draft::{DraftSearch, Line, Settings};
use crate::reasons::{BLOCK_ENGINES, NEUTRAL, OTHER_WORK_ENGINES, SYNCHRONOUS_ENGINES, is_usual, reason};
use crate::sizes::{normalized_split, split_of_range};
use crate::{NamedTarget, NotCarried};
use plan::Setting;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// An option, and where it stands.
#[derive(Debug, Clone)]
pub(crate) struct OptionLine {
    /// fio's own name of it.
    pub name: String,
    pub value: Option<String>,
    pub file: PathBuf,
    pub line: usize,
}

impl OptionLine {
    fn value(&self) -> &str {
        self.value.as_deref().unwrap_or_default()
    }

    /// fio's boolean: an option without a value is on.
    pub fn is_on(&self) -> bool {
        !matches!(self.value.as_deref(), Some("0" | "false"))
    }

    fn written(&self) -> String {
        match &self.value {
            Some(value) => format!("{}={value}", self.name),
            None => self.name.clone(),
        }
    }

    fn place(&self) -> Line {
        (self.file.clone(), self.line)
    }

    pub fn not_carried(&self, why: impl Into<String>) -> NotCarried {
        NotCarried { file: self.file.clone(), line: self.line, what: self.written(), why: why.into() }
    }
}

/// A job as a plan sees it.
#[derive(Debug, Default)]
pub(crate) struct MappedJob {
    /// Settings of a plan's load; `None` where the job cannot be one.
    pub settings: Option<Settings>,
    /// Targets of the job.
    pub targets: Vec<NamedTarget>,
    /// fio's `startdelay`.
    pub start: Option<String>,
    /// fio's `latency_target`.
    pub search: Option<DraftSearch>,
    pub not_carried: Vec<NotCarried>,
}

/// The setting of this name and meaning.
fn setting_of(name: &str) -> Option<&'static Setting> {
    plan::setting(name).filter(|setting| setting.is_fio)
}

/// A mapping under way: the options by name, the last of each, as fio takes them.
struct Mapping {
    options: BTreeMap<String, OptionLine>,
    settings: Settings,
    not_carried: Vec<NotCarried>,
    job: NotCarried,
}

/// Maps the options of one job. `place` names the job, for what is not about one option.
pub(crate) fn map_job(options: &[OptionLine], place: NotCarried) -> MappedJob {
    let mut mapping = Mapping {
        options: options.iter().map(|option| (option.name.clone(), option.clone())).collect(),
        settings: Settings::default(),
        not_carried: Vec::new(),
        job: place,
    };
    let mut targets = Vec::new();
    // A later `filename` replaces an earlier one; fio separates several by colons, and escapes colons in a name.
    if let Some(option) = mapping.options.remove("filename") {
        let protected = option.value().replace("\\:", "\u{0}");
        for path in protected.split(':').filter(|path| !path.is_empty()) {
            let path = path.replace('\u{0}', ":");
            targets.push(NamedTarget { name: path.clone(), path, line: option.line });
        }
    }
    // The nbd engine's address is one that `--target` takes.
    if let Some(option) = mapping.options.remove("uri") {
        let path = option.value().to_owned();
        targets.push(NamedTarget { name: path.clone(), path, line: option.line });
    }
    let engine = mapping.engine();
    let is_load = mapping.direction(engine.as_deref());
    let mut start = None;
    let mut search = None;
    if is_load {
        mapping.block_size();
        mapping.depth(engine.as_deref());
        mapping.cache_bypass();
        mapping.rate();
        search = mapping.search(engine.as_deref());
        let has_parts = mapping.range();
        mapping.end(has_parts);
        start = mapping.start();
        mapping.scheduler();
        mapping.processors();
        mapping.rest();
    }
    let settings = is_load.then_some(mapping.settings);
    MappedJob { settings, targets, start, search, not_carried: mapping.not_carried }
}

impl Mapping {
    fn take(&mut self, name: &str) -> Option<OptionLine> {
        self.options.remove(name)
    }

    fn refuse(&mut self, option: &OptionLine, why: impl Into<String>) {
        self.not_carried.push(option.not_carried(why));
    }

    /// Says something about the job as a whole.
    fn note(&mut self, why: impl Into<String>) {
        self.not_carried.push(NotCarried { why: why.into(), ..self.job.clone() });
    }

    /// The engine by the name that fio uses.
    fn engine(&mut self) -> Option<String> {
        let option = self.take("ioengine")?;
        // `external:PATH` and the like.
        let name = option.value().split(':').next().unwrap_or_default().to_owned();
        if BLOCK_ENGINES.contains(&name.as_str()) {
            self.settings.set("ioengine", name.clone());
        } else if !OTHER_WORK_ENGINES.contains(&name.as_str()) {
            self.refuse(&option, "the engine follows from the target that the plan is run on");
        }
        Some(name)
    }

    /// Direction and order; false where the job is no load of a plan.
    fn direction(&mut self, engine: Option<&str>) -> bool {
        if let Some(name) = engine.filter(|name| OTHER_WORK_ENGINES.contains(name)) {
            self.note(format!("the whole job: the engine `{name}` reads and writes no storage"));
            return false;
        }
        let option = self.take("rw");
        let written = option.as_ref().map_or("read", OptionLine::value).to_ascii_lowercase();
        let (word, sequencer) = match written.split_once(':') {
            Some((word, rest)) => (word.to_owned(), Some(rest.to_owned())),
            None => (written.clone(), None),
        };
        // Trims alone are writes of which all are trims.
        let (word, trims) = match word.as_str() {
            "trim" => ("write".to_owned(), true),
            "randtrim" => ("randwrite".to_owned(), true),
            _ => (word, false),
        };
        if trims {
            let line = option.as_ref().map(OptionLine::place);
            self.settings.set_at("rwmixtrim", "100", line);
        }
        match setting_of("rw").map(|setting| setting.parse(&word)) {
            Some(Ok(value)) => self.settings.set("rw", value.as_str().unwrap_or(&word)),
            _ => {
                let why = if word.contains("trim") {
                    "a plan's trims are a share of its I/Os (`rwmixtrim`), each at an address of its own"
                } else {
                    "it is no direction that plans have"
                };
                self.note(format!("the whole job (rw={written}): {why}"));
                return false;
            }
        }
        if let (Some(option), Some(_)) = (&option, sequencer) {
            let option = option.clone();
            self.refuse(
                &option,
                "a plan draws every random address anew, and leaves no holes between sequential ones",
            );
        }
        self.mix();
        true
    }

    fn mix(&mut self) {
        let is_mixed = self.is_mixed();
        let write = self.take("rwmixwrite");
        let read = self.take("rwmixread");
        // Where both are given, fio takes the one that comes last.
        let option = match (&read, &write) {
            (Some(read), Some(write)) if read.line < write.line => Some(write.clone()),
            _ => read.clone().or(write.clone()),
        };
        let Some(option) = option.filter(|_| is_mixed) else { return };
        let share = option.value().trim().parse::<u32>().ok().filter(|share| *share <= 100);
        match share {
            Some(share) if option.name == "rwmixwrite" => {
                self.settings.set("rwmixread", (100 - share).to_string());
            }
            Some(share) => self.settings.set("rwmixread", share.to_string()),
            None => self.refuse(&option, "it is no share in percent; fio's 50 stands in its place"),
        }
    }

    fn is_mixed(&self) -> bool {
        matches!(self.settings.get("rw"), Some("rw" | "randrw"))
    }

    fn is_write(&self) -> bool {
        matches!(self.settings.get("rw"), Some("write" | "randwrite"))
    }

    /// The part of `read,write,trim` values that the job's direction uses; fio fills missing parts with the one
    /// before. `None` where reads and writes of a mixed job differ.
    fn of_direction<'a>(&self, value: &'a str) -> Option<&'a str> {
        let mut parts = value.split(',').map(str::trim);
        let read = parts.next().unwrap_or_default();
        let write = parts.next().filter(|part| !part.is_empty()).unwrap_or(read);
        if self.settings.get("rwmixtrim").is_some() {
            return Some(parts.next().filter(|part| !part.is_empty()).unwrap_or(write));
        }
        match (self.is_mixed(), self.is_write()) {
            (true, _) if read != write => None,
            (false, true) => Some(write),
            _ => Some(read),
        }
    }

    /// `bs`, in one way or another; fio's default is 4k.
    fn block_size(&mut self) {
        if let Some(option) = self.take("bs") {
            let value = self.of_direction(option.value()).map(str::to_owned);
            let parsed = value.as_deref().map(|value| setting_of("bs").map(|setting| setting.parse(value)));
            match (value, parsed) {
                (Some(value), Some(Some(Ok(_)))) => self.settings.set("bs", value),
                (None, _) => {
                    let first = option.value().split(',').next().unwrap_or_default().trim().to_owned();
                    let fits = setting_of("bs").is_some_and(|setting| setting.parse(&first).is_ok());
                    let taken = if fits { first } else { "4k".to_owned() };
                    self.refuse(
                        &option,
                        format!("a plan's size is one for reads and writes; {taken} stands in its place"),
                    );
                    self.settings.set("bs", taken);
                }
                (_, Some(Some(Err(error)))) => {
                    self.refuse(
                        &option,
                        format!("{}; fio's default of 4k stands in its place", error.message()),
                    );
                }
                _ => self.refuse(&option, "it cannot be read; fio's default of 4k stands in its place"),
            }
        }
        if let Some(option) = self.take("bssplit") {
            let part = self.of_direction(option.value()).map(str::to_owned);
            if part.is_none() {
                self.refuse(
                    &option,
                    "a plan's mix of sizes is one for reads and writes; that of reads stands for both",
                );
            }
            let first = || option.value().split(',').next().unwrap_or_default().to_owned();
            match normalized_split(&part.unwrap_or_else(first)) {
                Some(split) => self.size_mix(&option, &split),
                None => self.refuse(&option, "its shares are no percents that add up to 100 at most"),
            }
        }
        if let Some(option) = self.take("bsrange") {
            let part = self.of_direction(option.value()).map(str::to_owned);
            if part.is_none() {
                self.refuse(
                    &option,
                    "a plan's mix of sizes is one for reads and writes; that of reads stands for both",
                );
            }
            let first = || option.value().split(',').next().unwrap_or_default().to_owned();
            match split_of_range(&part.unwrap_or_else(first)) {
                Some((split, is_rounded)) => {
                    if is_rounded {
                        self.refuse(
                            &option,
                            "a plan's shares of sizes are whole percents: those of the range are rounded",
                        );
                    }
                    self.size_mix(&option, &split);
                }
                None => self.refuse(
                    &option,
                    format!(
                        "it is no range, or has more sizes than a plan mixes ({})",
                        load::SIZE_CLASSES_LIMIT
                    ),
                ),
            }
        }
        if self.settings.get("bs").is_none() {
            self.settings.set("bs", "4k");
        }
    }

    /// A mix of sizes; the commonest alone where plans do not take it.
    fn size_mix(&mut self, option: &OptionLine, split: &str) {
        let common = commonest_size(split);
        match setting_of("bssplit").map(|setting| setting.parse(split)) {
            Some(Ok(_)) => {
                // One size is no mix.
                if split.contains(':') {
                    self.settings.set_at("bssplit", split, Some(option.place()));
                }
            }
            _ => {
                let taken = common.clone().unwrap_or_else(|| "4k".to_owned());
                self.refuse(
                    option,
                    format!(
                        "a plan's sizes are at most {} multiples of 512 bytes; {taken} stands in its place",
                        load::SIZE_CLASSES_LIMIT
                    ),
                );
            }
        }
        // One of the sizes that the job itself names as `bs` stays what its results show.
        let named = self.settings.get("bs").and_then(|bs| units::parse_bytes(bs).ok());
        let sizes = split.split(':').filter_map(|part| units::parse_bytes(part.split('/').next()?).ok());
        let is_named = named.is_some_and(|named| sizes.into_iter().any(|size| size == named));
        if let Some(common) = common.filter(|_| !is_named) {
            self.settings.set_at("bs", common, Some(option.place()));
        }
    }

    /// `latency_target`: the depth up to `iodepth` at which the latency is still kept.
    fn search(&mut self, engine: Option<&str>) -> Option<DraftSearch> {
        let [percentile, window, run] =
            ["latency_percentile", "latency_window", "latency_run"].map(|name| self.take(name));
        let Some(target) = self.take("latency_target").filter(|target| target.value().trim() != "0") else {
            for option in [percentile, window, run].into_iter().flatten() {
                self.refuse(&option, "it says nothing without `latency_target`");
            }
            return None;
        };
        // A bare number is microseconds in fio.
        let bare = target.value().trim().parse::<u64>().ok();
        let below = bare.map_or_else(|| target.value().trim().to_owned(), |micros| format!("{micros}us"));
        if units::parse_nanos(&below).is_err() {
            self.refuse(&target, "it is no latency");
            return None;
        }
        let depth = self.settings.get("iodepth").unwrap_or("1").to_owned();
        if depth == "1" || engine.is_none_or(|name| SYNCHRONOUS_ENGINES.contains(&name)) {
            self.refuse(
                &target,
                "fio varies the depth up to `iodepth`, which is 1 here: there is nothing to find",
            );
            return None;
        }
        // fio's 100 is every I/O of a window.
        let requested =
            percentile.as_ref().map_or("100", OptionLine::value).trim().parse::<f64>().unwrap_or(100.0);
        let kept = [(50.0, "p50"), (95.0, "p95"), (99.0, "p99"), (99.9, "p99.9")];
        let of = kept.iter().find(|(share, _)| *share >= requested).unwrap_or(&kept[3]);
        if of.0 != requested {
            let line = percentile.as_ref().unwrap_or(&target);
            self.refuse(
                line,
                format!("a search is by p50, p95, p99 or p99.9; fio's {requested} % becomes {}", of.1),
            );
        }
        for option in [&window, &run].into_iter().flatten() {
            self.refuse(
                option,
                "each point of a plan's search is measured for the ramp and runtime of its case",
            );
        }
        Some(DraftSearch { of: of.1.to_owned(), below, limit: depth, line: target.place() })
    }

    /// `iodepth`, which fio's synchronous engines do not have; without an engine, fio on Linux uses `psync`.
    fn depth(&mut self, engine: Option<&str>) {
        let is_synchronous = engine.is_none_or(|name| SYNCHRONOUS_ENGINES.contains(&name));
        if engine.is_none() {
            self.settings.set("ioengine", "psync");
        }
        let Some(option) = self.take("iodepth") else { return };
        let deeper = option.value().trim() != "1";
        if is_synchronous && deeper {
            let name = engine.unwrap_or("psync").to_owned();
            self.refuse(
                &option,
                format!("fio's engine `{name}` issues one I/O at a time, and so does the plan"),
            );
        } else if !self.carry(&option) {
            self.refuse_value(&option);
        }
    }

    /// `direct`, which is 0 in fio where nobody says otherwise.
    fn cache_bypass(&mut self) {
        let direct = self.take("direct");
        let buffered = self.take("buffered");
        let is_direct = match (&direct, &buffered) {
            (Some(direct), Some(buffered)) if direct.line < buffered.line => !buffered.is_on(),
            (Some(direct), _) => direct.is_on(),
            (None, Some(buffered)) => !buffered.is_on(),
            (None, None) => false,
        };
        self.settings.set("direct", if is_direct { "1" } else { "0" });
    }

    /// `rate_iops`, of each direction in a mixed load, or `rate` in I/Os of the load's size.
    fn rate(&mut self) {
        if let Some(option) = self.take("rate_process") {
            let why = "in a plan it would open the load: I/Os would arrive whatever is answered, and latency count from there";
            if option.value() != "linear" {
                self.refuse(&option, why);
            }
        }
        if let Some(option) = self.take("rate") {
            let bs_bytes = self.settings.get("bs").and_then(|bs| units::parse_bytes(bs).ok());
            let one_size = bs_bytes.filter(|_| self.settings.get("bssplit").is_none());
            let is_given = self.options.contains_key("rate_iops");
            match one_size.filter(|_| !is_given) {
                Some(bs_bytes) => {
                    let per_s = |part: &str| match part.trim() {
                        "" => String::new(),
                        part => units::parse_bytes(part).map_or_else(
                            |_| part.to_owned(),
                            |bytes| format!("{}", bytes as f64 / bs_bytes as f64),
                        ),
                    };
                    let parts: Vec<String> = option.value().split(',').map(per_s).collect();
                    let (name, value) = ("rate_iops".to_owned(), Some(parts.join(",")));
                    self.limit(&OptionLine { name, value, ..option });
                }
                None => self.refuse(&option, "a plan limits I/Os (`rate_iops`): bytes a second of mixed sizes, or both limits, are none"),
            }
        }
        if let Some(option) = self.take("rate_iops") {
            self.limit(&option);
        }
    }

    /// A limit of I/Os a second: in fio each direction has its own.
    fn limit(&mut self, option: &OptionLine) {
        if !self.is_mixed() {
            let value = self.of_direction(option.value()).unwrap_or_default().to_owned();
            let option = OptionLine { value: Some(value), ..option.clone() };
            if !self.carry(&option) {
                self.refuse_value(&option);
            }
            return;
        }
        let mut parts = option.value().split(',').map(str::trim);
        let read = parts.next().unwrap_or_default().to_owned();
        let write = parts.next().map_or_else(|| read.clone(), str::to_owned);
        for (name, value) in [("rate_iops_read", read), ("rate_iops_write", write)] {
            // An empty part is no limit.
            if value.is_empty() {
                continue;
            }
            match plan::setting(name).map(|setting| setting.parse(&value)) {
                Some(Ok(_)) => self.settings.set_at(name, value, Some(option.place())),
                Some(Err(error)) => self.refuse(option, error.message().to_owned()),
                None => self.refuse(option, reason("rate")),
            }
        }
    }

    /// The range of all jobs, of fio's range of each: `offset_increment` equal to `size` gives each job a part of its own,
    /// as sequential jobs and jobs that verify have them in a plan. True where it does.
    fn range(&mut self) -> bool {
        let text = |option: Option<&OptionLine>| option.map(|option| option.value().trim().to_owned());
        let jobs = text(self.options.get("numjobs")).and_then(|jobs| jobs.parse::<u64>().ok()).unwrap_or(1);
        let size = text(self.options.get("size"));
        let step = text(self.options.get("offset_increment"));
        let has_own_parts = jobs > 1
            && (!self.settings.get("rw").is_some_and(|rw| rw.starts_with("rand"))
                || self
                    .options
                    .get("verify")
                    .is_some_and(|option| !matches!(option.value(), "" | "0" | "none")));
        let percent = |text: &Option<String>| text.as_ref()?.strip_suffix('%')?.trim().parse::<u64>().ok();
        let bytes = |text: &Option<String>| units::parse_bytes(text.as_ref()?).ok();
        if jobs > 1
            && bytes(&step) == Some(0)
            && let Some(option) = self.take("offset_increment")
        {
            // All jobs begin at the same place, which a plan has to say.
            self.carry(&option);
            return false;
        }
        match (percent(&size), percent(&step), bytes(&size), bytes(&step)) {
            (Some(share), step_share, ..) if step.is_none() || step_share == Some(share) => {
                let has_parts = step_share.is_some() && has_own_parts && share * jobs <= 100;
                let whole = if has_parts { share * jobs } else { share };
                if whole > 100 || (step_share.is_some() && !has_parts) {
                    return false;
                }
                let line = self.take("size").map(|option| option.place());
                self.take("offset_increment");
                if whole < 100 {
                    self.settings.set_at("working_set", whole.to_string(), line);
                }
                has_parts
            }
            (_, _, Some(size_bytes), Some(step_bytes)) if jobs > 1 && step_bytes > 0 => {
                let Some(option) = self.take("size") else { return false };
                let has_parts = has_own_parts && size_bytes == step_bytes;
                if has_parts {
                    self.take("offset_increment");
                } else if let Some(step) = self.options.get("offset_increment").cloned() {
                    let why = format!(
                        "fio's jobs use {} each; the plan's go on to the end of the range",
                        units::Bytes(size_bytes)
                    );
                    self.refuse(&step, why);
                }
                let whole = step_bytes.saturating_mul(jobs - 1).saturating_add(size_bytes);
                let (name, value) = (option.name.clone(), Some(units::Bytes(whole).to_string()));
                if !self.carry(&OptionLine { name, value, ..option.clone() }) {
                    self.refuse_value(&option);
                }
                has_parts
            }
            _ => false,
        }
    }

    /// Maps the end of the load: a plan's ends by time.
    fn end(&mut self, has_parts: bool) {
        let time_based = self.take("time_based").is_some_and(|option| option.is_on());
        let runtime = self.take("runtime");
        if let Some(option) = &runtime
            && !self.carry(option)
        {
            self.refuse_value(&option.clone());
        }
        let has_runtime = self.settings.get("runtime").is_some();
        let io_size = self.take("io_size");
        if time_based && has_runtime {
            if let Some(option) = io_size {
                self.refuse(&option, "fio passes over it in a job that is based on time");
            }
            return;
        }
        // Each of fio's jobs moves so much, all jobs of a plan together do.
        let jobs = self.options.get("numjobs").and_then(|option| option.value().trim().parse::<u64>().ok());
        let wanted = io_size.clone().unwrap_or_else(|| OptionLine {
            name: "io_size".to_owned(),
            value: Some("100%".to_owned()),
            file: self.job.file.clone(),
            line: self.job.line,
        });
        // A share of a job's own part is that share of the whole range.
        let is_share_of_part = has_parts && wanted.value().trim().ends_with('%');
        let all_jobs = times(wanted.value(), if is_share_of_part { 1 } else { jobs.unwrap_or(1).max(1) });
        let carried = self.carry(&OptionLine { value: Some(all_jobs), ..wanted });
        if let (Some(option), false) = (&io_size, carried) {
            self.refuse_value(option);
        }
        match (has_runtime, carried) {
            (true, true) => {}
            (true, false) => self.note("fio ends the job when its size is done, if that comes before its runtime; the plan goes on"),
            (false, true) => self.note("without a runtime fio goes on until the size is done; the plan stops after its default of 60 s if that comes first"),
            (false, false) => self.note("without a runtime fio goes on until the size is done; the plan runs for its default of 60 s"),
        }
    }

    fn start(&mut self) -> Option<String> {
        let option = self.take("startdelay")?;
        if is_usual(&option.name, option.value.as_deref()) {
            return None;
        }
        match units::parse_nanos(option.value()) {
            Ok(_) => Some(option.value().trim().to_owned()),
            Err(_) => {
                self.refuse(&option, "a delay that is drawn, or no duration");
                None
            }
        }
    }

    /// The I/O scheduler is a setting of the host.
    fn scheduler(&mut self) {
        let Some(option) = self.take("ioscheduler") else { return };
        let value = option.value().to_owned();
        if plan::setting("queue.scheduler").is_some_and(|setting| setting.parse(&value).is_ok()) {
            self.settings.set("queue.scheduler", value);
        } else {
            self.refuse(&option, "it is no setting of a plan");
        }
    }

    /// A plan's threads have a processor each.
    fn processors(&mut self) {
        let policy = self.take("cpus_allowed_policy");
        let is_split = policy.is_some_and(|policy| policy.value() == "split");
        if let Some(option) = self.options.get("cpus_allowed").cloned().filter(|_| !is_split) {
            let why = "fio lets every job run on all of these; the plan pins its threads to them, one after the other";
            self.refuse(&option, why);
            self.carry(&option);
            self.options.remove("cpus_allowed");
        }
    }

    /// Whatever no rule of its own was made for.
    fn rest(&mut self) {
        for option in std::mem::take(&mut self.options).into_values() {
            if NEUTRAL.contains(&option.name.as_str())
                || is_usual(&option.name, option.value.as_deref())
                || self.carry(&option)
            {
                continue;
            }
            if setting_of(&option.name).is_some() {
                self.refuse_value(&option);
            } else {
                self.refuse(&option, reason(&option.name));
            }
        }
    }

    /// Carries an option over; false where plans have no such setting or do not take the value.
    fn carry(&mut self, option: &OptionLine) -> bool {
        let Some(setting) = setting_of(&option.name) else { return false };
        // An option without a value is fio's way to switch something on.
        let value = option.value.as_deref().unwrap_or("1").trim();
        let fits = setting.parse(value).is_ok();
        if fits {
            self.settings.set_at(setting.name, value, Some(option.place()));
        }
        fits
    }

    fn refuse_value(&mut self, option: &OptionLine) {
        let message = setting_of(&option.name)
            .and_then(|setting| setting.parse(option.value()).err())
            .map_or_else(|| reason(&option.name).to_owned(), |error| error.message().to_owned());
        self.refuse(option, message);
    }
}

/// An amount of each job as that of all jobs: `1g` or `50%`.
fn times(amount: &str, jobs: u64) -> String {
    let amount = amount.trim();
    if jobs == 1 {
        return amount.to_owned();
    }
    if let Some(share) = amount.strip_suffix('%').and_then(|share| share.trim().parse::<u64>().ok()) {
        return format!("{}%", share.saturating_mul(jobs));
    }
    units::parse_bytes(amount)
        .map_or_else(|_| amount.to_owned(), |bytes| units::Bytes(bytes.saturating_mul(jobs)).to_string())
}

/// The size with the largest share of a `bssplit` (`4k/10:64k/90`); the first where shares are equal.
fn commonest_size(split: &str) -> Option<String> {
    let mut best: Option<(u32, &str)> = None;
    for part in split.split(',').next().unwrap_or_default().split(':') {
        let (size, share) = part.split_once('/').unwrap_or((part, ""));
        let share = share.trim().parse().unwrap_or(0);
        let fits = setting_of("bs").is_some_and(|setting| setting.parse(size).is_ok());
        if fits && best.is_none_or(|(most, _)| share > most) {
            best = Some((share, size.trim()));
        }
    }
    best.map(|(_, size)| size.to_owned())
}

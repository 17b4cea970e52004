//! A parameter file as a plan: a stage for each run definition, a load for each pattern and target.

use super::parameters::{Parameters, Seek, StorageDefinition, TransferSize, WorkloadDefinition};
use super::phase::{Loop, MAX_RATE, Phase, Rate};
use super::read::{DSYNC, is_direct, read_parameters};
use crate::draft::{Draft, DraftLoad, DraftStage, Settings, unique_name};
use crate::sizes::even_split;
use crate::{FileKind, ImportError, ImportedPlan, NamedTarget, NotCarried, file};
use std::path::Path;

/// Makes a plan of a parameter file.
pub(crate) fn import(path: &Path, text: &str) -> Result<ImportedPlan, ImportError> {
    let directory = path.parent().unwrap_or(Path::new("")).to_owned();
    let mut include = |name: &str| {
        file::read(&directory.join(name))
            .map_err(|error| std::io::Error::other(diagnostic::text_with_causes(&error)))
    };
    let parameters = read_parameters(path, text, &mut include)?;
    let name = file::stem(path);
    let mut importer = Importer { path, parameters: &parameters, not_carried: Vec::new() };
    let mut taken = Vec::new();
    let stages: Vec<DraftStage> =
        parameters.phases.iter().filter_map(|phase| importer.stage(phase, &mut taken)).collect();
    let interval = importer.interval();
    let mut not_carried = importer.not_carried;
    not_carried.extend(parameters.not_carried.iter().cloned());
    not_carried.sort();
    not_carried.dedup();
    let text = if stages.is_empty() {
        None
    } else {
        let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let notes = vec![format!("Imported from the vdbench parameter file {file_name}.")];
        let draft = Draft { title: name.clone(), notes, interval, stages };
        let (text, left_out) = draft.accepted_text(path, &name);
        not_carried.extend(left_out);
        not_carried.sort();
        not_carried.dedup();
        text
    };
    let distinct: Vec<&StorageDefinition> = parameters
        .targets
        .iter()
        .enumerate()
        .filter(|(index, _)| first_of_lun(&parameters, *index) == *index)
        .map(|(_, target)| target)
        .collect();
    let named = |target: &&StorageDefinition| NamedTarget {
        name: target.name.clone(),
        path: target.lun.clone(),
        line: target.line,
    };
    Ok(ImportedPlan {
        source: path.to_owned(),
        kind: FileKind::VdbenchParameters,
        name,
        text,
        targets: distinct.iter().map(named).collect(),
        not_carried,
        warnings: parameters.warnings,
    })
}

/// The first definition of the same `lun`: several definitions of one are several ranges of one target.
fn first_of_lun(parameters: &Parameters, index: usize) -> usize {
    let lun = &parameters.targets[index].lun;
    let same = parameters.targets.iter().position(|other| !lun.is_empty() && other.lun == *lun);
    same.unwrap_or(index)
}

struct Importer<'a> {
    path: &'a Path,
    parameters: &'a Parameters,
    not_carried: Vec<NotCarried>,
}

/// Parts of a pattern that loops set.
#[derive(Default)]
struct Looped {
    threads: bool,
    rdpct: bool,
    seekpct: bool,
    xfersize: bool,
}

impl Importer<'_> {
    fn refuse(&mut self, line: usize, what: impl Into<String>, why: impl Into<String>) {
        self.not_carried.push(NotCarried {
            file: self.path.to_owned(),
            line,
            what: what.into(),
            why: why.into(),
        });
    }

    /// The interval of the plan: that of its first run.
    fn interval(&mut self) -> Option<String> {
        let first = self.parameters.phases.first()?.interval_s;
        for phase in &self.parameters.phases {
            if phase.interval_s != first {
                let what = format!("interval={} of rd={}", phase.interval_s, phase.name);
                self.refuse(phase.line, what, format!("a plan has one interval; it is {first} s"));
            }
        }
        Some(seconds(first))
    }

    fn stage(&mut self, phase: &Phase, taken: &mut Vec<String>) -> Option<DraftStage> {
        let mut stage = DraftStage {
            name: unique_name(&phase.name, "run", taken),
            title: Some(format!("rd={}", phase.name)),
            pause: (phase.pause_s > 0.0).then(|| seconds(phase.pause_s)),
            line: Some((self.path.to_owned(), phase.line)),
            ..DraftStage::default()
        };
        let has = |name: &str| phase.loops.iter().any(|this| this.parameter == name);
        let looped = Looped {
            threads: has("threads"),
            rdpct: has("rdpct"),
            seekpct: has("seekpct"),
            xfersize: has("xfersize"),
        };
        let all_loads = self.loads(phase, &looped);
        if all_loads.is_empty() {
            self.refuse(phase.line, format!("rd={}", phase.name), "its patterns have no targets");
            return None;
        }
        if all_loads.len() == 1 && self.target_count() == 1 {
            stage.settings = all_loads.into_iter().next().map(|load| load.settings).unwrap_or_default();
        } else {
            stage.loads = all_loads;
            stage.share_settings();
        }
        stage.settings.set("runtime", seconds(phase.counted_s()));
        stage.settings.set("ramp_time", seconds(phase.ramp_s()));
        if phase.warmup_s == 0.0 && phase.ramp_s() > 0.0 {
            stage.notes.push(
                "Without a warmup vdbench leaves the first interval out of its averages; here it is the ramp.".into(),
            );
        }
        if let Some(amount) = phase.max_data.as_ref().filter(|_| stage.loads.len() > 1) {
            let what = format!("maxdata of rd={} ({amount})", phase.name);
            self.refuse(phase.line, what, "a plan's `io_size` ends one load, and here are several");
        } else if let Some(amount) = &phase.max_data {
            stage.settings.set_at("io_size", amount.clone(), stage.line.clone());
        }
        self.axes(phase, &mut stage);
        self.rate(phase, &mut stage);
        Some(stage)
    }

    /// Counts the targets.
    fn target_count(&self) -> usize {
        (0..self.parameters.targets.len())
            .filter(|index| first_of_lun(self.parameters, *index) == *index)
            .count()
    }

    /// The number of a definition's target among all targets.
    fn target_number(&self, index: usize) -> usize {
        let first = first_of_lun(self.parameters, index);
        (0..first).filter(|other| first_of_lun(self.parameters, *other) == *other).count()
    }

    /// One load for each pattern and target.
    fn loads(&mut self, phase: &Phase, looped: &Looped) -> Vec<DraftLoad> {
        let shares = self.shares(phase);
        let targets_of =
            |pattern: &WorkloadDefinition| phase.targets.clone().unwrap_or(pattern.targets.clone());
        // Threads belong to a target; patterns on it at once share them.
        let sharers: Vec<u64> = (0..self.parameters.targets.len())
            .map(|target| {
                let on_it = |index: &&usize| targets_of(&self.parameters.patterns[**index]).contains(&target);
                phase.patterns.iter().filter(on_it).count() as u64
            })
            .collect();
        let mut names = Vec::new();
        let mut loads = Vec::new();
        for (index, share) in phase.patterns.iter().zip(&shares) {
            let pattern = &self.parameters.patterns[*index];
            let targets = targets_of(pattern);
            for target_index in &targets {
                let target = &self.parameters.targets[*target_index];
                let wanted = if targets.len() > 1 {
                    format!("{}-{}", pattern.name, target.name)
                } else {
                    pattern.name.clone()
                };
                let mut settings = self.pattern_settings(pattern, looped);
                if !looped.threads {
                    let threads = phase.threads.unwrap_or(target.threads);
                    let sharers = sharers[*target_index].max(1);
                    if sharers > 1 {
                        self.refuse(
                            target.line,
                            format!("threads={threads} of sd={} in rd={}", target.name, phase.name),
                            format!(
                                "{sharers} patterns share them as they need; the plan gives each its part"
                            ),
                        );
                    }
                    settings.set("iodepth", (threads / sharers).max(1).to_string());
                }
                let flags = target.openflags.iter().chain(&pattern.openflags).chain(&phase.openflags);
                settings.set("direct", if flags.clone().any(|flag| is_direct(flag)) { "1" } else { "0" });
                let mut flags = target.openflags.iter().chain(&pattern.openflags).chain(&phase.openflags);
                if flags.any(|flag| flag == DSYNC) {
                    settings.set("sync", "dsync");
                }
                self.range(target, pattern, &mut settings);
                self.hot_band(target, pattern, looped, &mut settings);
                let rate = pattern.iorate.map(|rate| rate / targets.len() as f64).or(match phase.rate {
                    Rate::Fixed(rate) => Some(rate * share / 100.0 / targets.len() as f64),
                    _ => None,
                });
                if let Some(rate) = rate {
                    settings.set("rate_iops", number(rate));
                    self.arrivals(phase, &mut settings);
                }
                loads.push(DraftLoad {
                    name: unique_name(&wanted, "load", &mut names),
                    settings,
                    target: (self.target_count() > 1).then(|| self.target_number(*target_index)),
                    start: None,
                    line: Some((self.path.to_owned(), pattern.line)),
                });
            }
        }
        loads
    }

    /// Each pattern's share of the rate, in percent: its skew; those without one share the rest evenly.
    fn shares(&self, phase: &Phase) -> Vec<f64> {
        let skews: Vec<Option<f64>> =
            phase.patterns.iter().map(|index| self.parameters.patterns[*index].skew).collect();
        let given: f64 = skews.iter().flatten().sum();
        let open = skews.iter().filter(|skew| skew.is_none()).count().max(1) as f64;
        skews.iter().map(|skew| skew.unwrap_or(((100.0 - given) / open).max(0.0))).collect()
    }

    fn pattern_settings(&mut self, pattern: &WorkloadDefinition, looped: &Looped) -> Settings {
        let mut settings = Settings::default();
        let is_random = match &pattern.seek {
            Seek::Sequential => false,
            Seek::ToEnd => {
                self.refuse(
                    pattern.line,
                    format!("seekpct=eof of wd={}", pattern.name),
                    "a case ends by its `runtime` or its `io_size`, and begins again at the start of its range",
                );
                false
            }
            Seek::Random(100.0) => true,
            Seek::Random(share) => {
                let what = format!("seekpct={share} of wd={}", pattern.name);
                self.refuse(
                    pattern.line,
                    what,
                    "a plan's addresses are all random or all sequential; here they are random",
                );
                true
            }
            Seek::Poisson => {
                let what = format!("seekpct=poisson of wd={}", pattern.name);
                self.refuse(pattern.line, what, "a plan's addresses are uniform over the range");
                true
            }
        };
        let rdpct = pattern.rdpct.round();
        if rdpct != pattern.rdpct {
            let what = format!("rdpct={} of wd={}", pattern.rdpct, pattern.name);
            self.refuse(
                pattern.line,
                what,
                format!("shares are whole percents; {rdpct} stands in its place"),
            );
        }
        let rw = match (is_random, looped.rdpct, rdpct) {
            (true, false, 100.0) => "randread",
            (true, false, 0.0) => "randwrite",
            (true, ..) => "randrw",
            (false, false, 100.0) => "read",
            (false, false, 0.0) => "write",
            (false, ..) => "rw",
        };
        if looped.seekpct {
            // The axis decides; it has the mixed words, which take any share of reads.
            settings.set("rw", "randrw");
        } else {
            settings.set("rw", rw);
        }
        if !looped.rdpct && (rw.ends_with("rw") || looped.seekpct) {
            settings.set("rwmixread", number(rdpct));
        }
        let bs = match &pattern.xfersize {
            TransferSize::Fixed(bytes) => *bytes,
            TransferSize::Random { least_bytes, most_bytes, align_bytes } => {
                if !looped.xfersize {
                    self.even_mix(pattern, [*least_bytes, *most_bytes, *align_bytes], &mut settings);
                }
                *least_bytes
            }
            TransferSize::Mix(sizes) => {
                let mut common = sizes[0];
                sizes.iter().for_each(|size| {
                    if size.1 > common.1 {
                        common = *size;
                    }
                });
                if !looped.xfersize {
                    self.size_mix(pattern, sizes, common.0, &mut settings);
                }
                common.0
            }
        };
        settings.set("bs", self.block(pattern.line, bs));
        settings
    }

    /// Sizes from the least to the most in steps, each as likely, where plans have so many.
    fn even_mix(&mut self, pattern: &WorkloadDefinition, sizes: [u64; 3], settings: &mut Settings) {
        let [least, most, step] = sizes;
        let what = format!("xfersize=({least},{most},{step}) of wd={}", pattern.name);
        let split = even_split(least, most, step);
        match split.filter(|(split, _)| plan::setting("bssplit").is_some_and(|it| it.parse(split).is_ok())) {
            Some((split, is_rounded)) => {
                if is_rounded {
                    let why = "a plan's shares of sizes are whole percents: equal ones are rounded";
                    self.refuse(pattern.line, what, why);
                }
                if split.contains(':') {
                    let line = (self.path.to_owned(), pattern.line);
                    settings.set_at("bssplit", split, Some(line));
                }
            }
            None => {
                let limit = load::SIZE_CLASSES_LIMIT;
                let why = format!(
                    "a plan's sizes are at most {limit} multiples of 512 bytes; the smallest stands in their place"
                );
                self.refuse(pattern.line, what, why);
            }
        }
    }

    /// A mix of sizes, as fio writes it, where plans have it.
    fn size_mix(
        &mut self,
        pattern: &WorkloadDefinition,
        sizes: &[(u64, f64)],
        common: u64,
        settings: &mut Settings,
    ) {
        let parts: Vec<String> =
            sizes.iter().map(|(bytes, share)| format!("{bytes}/{}", number(*share))).collect();
        let split = parts.join(":");
        match plan::setting("bssplit") {
            Some(setting) if setting.parse(&split).is_ok() => settings.set("bssplit", split),
            _ => {
                let what = format!("xfersize of wd={} ({split})", pattern.name);
                self.refuse(
                    pattern.line,
                    what,
                    format!("a plan's shares of sizes are whole percents of multiples of 512 bytes; {common}, the commonest, stands in its place"),
                );
            }
        }
    }

    fn block(&mut self, line: usize, bytes: u64) -> String {
        let fits = plan::setting("bs").is_some_and(|setting| setting.parse(&bytes.to_string()).is_ok());
        if fits {
            return bytes.to_string();
        }
        let nearest = bytes.div_ceil(512).saturating_mul(512).min(plan::BS_BYTES_LIMIT);
        self.refuse(
            line,
            format!("xfersize={bytes}"),
            format!("sizes are multiples of 512; {nearest} stands in its place"),
        );
        nearest.to_string()
    }

    /// The part of the target that is used.
    fn range(&mut self, target: &StorageDefinition, pattern: &WorkloadDefinition, settings: &mut Settings) {
        let whole = |bytes: f64| ((bytes / 512.0).floor() * 512.0) as u64;
        let (mut offset, mut size) = (target.offset_bytes, target.size_bytes);
        if let Some((low, high)) = pattern.range.or(target.range) {
            match size {
                Some(all) => {
                    offset = offset.saturating_add(whole(all as f64 * low / 100.0));
                    size = Some(whole(all as f64 * (high - low) / 100.0).max(512));
                }
                // A plan's working set is a share from the start of the range.
                None if low == 0.0 && high.fract() == 0.0 && target.offset_bytes == 0 => {
                    settings.set("working_set", number(high));
                }
                None => self.refuse(
                    pattern.line,
                    format!("range=({low},{high})"),
                    format!("it is a share of sd={}, whose size is not given", target.name),
                ),
            }
        }
        for (name, bytes) in [("offset", Some(offset).filter(|offset| *offset > 0)), ("size", size)] {
            let Some(bytes) = bytes else { continue };
            let aligned = bytes / 512 * 512;
            let fits = plan::setting(name).is_some_and(|setting| setting.parse(&aligned.to_string()).is_ok());
            if fits {
                settings.set(name, aligned.to_string());
            } else {
                self.refuse(target.line, format!("{name}={bytes}"), "it is out of range");
            }
        }
    }

    /// `rhpct` and `whpct`: a share of the I/Os goes to the first bytes of the range, the hit area, and the others to the
    /// rest of it.
    fn hot_band(
        &mut self,
        target: &StorageDefinition,
        pattern: &WorkloadDefinition,
        looped: &Looped,
        settings: &mut Settings,
    ) {
        let WorkloadDefinition { rhpct, whpct, rdpct, line, name, .. } = pattern;
        let of_reads = if looped.rdpct { 50.0 } else { *rdpct } / 100.0;
        let hits = rhpct * of_reads + whpct * (1.0 - of_reads);
        if hits == 0.0 {
            return;
        }
        let mut announce =
            |why: String| self.refuse(*line, format!("rhpct={rhpct}, whpct={whpct} of wd={name}"), why);
        if !settings.get("rw").is_some_and(|rw| rw.starts_with("rand")) {
            return announce("a plan's hot band is for random addresses".into());
        }
        let has_both = of_reads > 0.0 && of_reads < 1.0;
        if has_both && rhpct != whpct {
            announce(format!(
                "a plan's hot band is one for reads and writes: {hits:.0} % of all I/Os go to it"
            ));
        }
        let range_bytes =
            settings.get("size").and_then(|size| size.parse::<u64>().ok()).or(target.size_bytes);
        let exact = range_bytes.map(|range| target.hitarea_bytes as f64 / range.max(1) as f64 * 100.0);
        let size = exact.unwrap_or(1.0).round().clamp(1.0, 99.0);
        let hits = hits.round().clamp(1.0, 100.0);
        let area = units::Bytes(target.hitarea_bytes);
        match exact {
            None => announce(format!(
                "the size of sd={} is not given: the hot band is 1 % of it, and vdbench's is {area}",
                target.name
            )),
            Some(exact) if (exact - size).abs() > 0.005 * size => announce(format!(
                "a plan's hot band is whole percents of the range: {size:.0} % of it, and vdbench's is {area}"
            )),
            Some(_) => {}
        }
        let band = format!("zoned:{hits:.0}/{size:.0}:{:.0}/{:.0}", 100.0 - hits, 100.0 - size);
        settings.set_at("random_distribution", band, Some((self.path.to_owned(), *line)));
    }

    /// Maps the distribution of interarrival times: in vdbench exponential, unless the file gives another.
    fn arrivals(&mut self, phase: &Phase, settings: &mut Settings) {
        let process = match phase.distribution.to_ascii_lowercase().as_str() {
            word if "exponential".starts_with(word) => "poisson",
            word if "deterministic".starts_with(word) => "linear",
            _ => "",
        };
        match plan::setting("rate_process") {
            Some(setting) if setting.parse(process).is_ok() => settings.set("rate_process", process),
            _ if process == "linear" => {}
            _ => self.refuse(
                phase.line,
                format!("distribution={} of rd={}", phase.distribution, phase.name),
                "I/Os at a rate are issued evenly; vdbench draws the times between them",
            ),
        }
    }

    /// The loops, outermost first, as axes.
    fn axes(&mut self, phase: &Phase, stage: &mut DraftStage) {
        for this in &phase.loops {
            let (name, values) = match this.parameter.as_str() {
                "threads" => ("iodepth", this.values.iter().map(|value| number(*value)).collect()),
                "rdpct" => ("rwmixread", self.whole_percents(phase, this)),
                "xfersize" => {
                    ("bs", this.values.iter().map(|value| self.block(this.line, *value as u64)).collect())
                }
                "seekpct" => ("rw", self.orders(phase, this)),
                "iorate" => {
                    let is_rate = |value: &&f64| **value > 0.0 && **value < MAX_RATE;
                    ("rate_iops", this.values.iter().filter(is_rate).map(|value| number(*value)).collect())
                }
                _ => continue,
            };
            let mut values: Vec<String> = values;
            let before = values.len();
            let mut known: Vec<String> = Vec::new();
            values.retain(|value| {
                !known.contains(value) && {
                    known.push(value.clone());
                    true
                }
            });
            if values.len() < before {
                let why = "values that a plan cannot tell apart are one case";
                self.refuse(this.line, format!("for{} of rd={}", this.parameter, phase.name), why);
            }
            if this.parameter == "iorate" {
                self.rates(phase, this, &mut values, stage);
            }
            // Every load of a case has its value of an axis from the case.
            for load in &mut stage.loads {
                load.settings.remove(name);
            }
            match values.as_slice() {
                [] => {}
                [only] => stage.settings.set(name, only.clone()),
                _ => {
                    if !matches!(name, "rw" | "bs") {
                        stage.settings.remove(name);
                    }
                    stage.axes.push((name.to_owned(), values));
                }
            }
        }
        // Axes give these to every case; a value below them would only hide a missing one.
        for name in ["rw", "bs"] {
            if stage.axes.iter().any(|(axis, _)| axis == name) {
                stage.settings.remove(name);
            }
        }
    }

    fn whole_percents(&mut self, phase: &Phase, this: &Loop) -> Vec<String> {
        if this.values.iter().any(|value| value.fract() != 0.0) {
            let what = format!("for{} of rd={}", this.parameter, phase.name);
            self.refuse(this.line, what, "shares are whole percents; they are rounded");
        }
        this.values.iter().map(|value| number(value.round())).collect()
    }

    fn orders(&mut self, phase: &Phase, this: &Loop) -> Vec<String> {
        if this.values.iter().any(|value| *value != 0.0 && *value != 100.0) {
            let what = format!("for{} of rd={}", this.parameter, phase.name);
            self.refuse(
                this.line,
                what,
                "a plan's addresses are all random or all sequential; shares between are random here",
            );
        }
        let word = |value: &f64| if *value == 0.0 { "rw" } else { "randrw" }.to_owned();
        this.values.iter().map(word).collect()
    }

    /// Maps a list of rates, and notes the values in it that are no plain rates.
    fn rates(&mut self, phase: &Phase, this: &Loop, values: &mut [String], stage: &mut DraftStage) {
        let what = format!("foriorate of rd={}", phase.name);
        if this.values.iter().any(|rate| *rate < 0.0) {
            self.refuse(
                this.line,
                what.clone(),
                "a rate in percent of what another run reached is known only after that run",
            );
        }
        if values.is_empty() {
            return;
        }
        if this.values.iter().any(|rate| *rate >= MAX_RATE) {
            self.refuse(
                this.line,
                what.clone(),
                "the run at full rate: a case with a rate and one without cannot stand on one axis",
            );
        }
        if stage.loads.len() > 1 {
            let loads = stage.loads.len() as f64;
            self.refuse(
                this.line,
                what,
                format!("each of the {loads} loads has its even part of the rate, whatever its skew"),
            );
            for value in values.iter_mut() {
                *value = number(value.parse::<f64>().unwrap_or(0.0) / loads);
            }
        }
        let mut settings = std::mem::take(&mut stage.settings);
        self.arrivals(phase, &mut settings);
        stage.settings = settings;
    }

    /// Notes the parts of the rate that a load cannot have.
    fn rate(&mut self, phase: &Phase, stage: &mut DraftStage) {
        let shares = match &phase.rate {
            Rate::Max | Rate::Fixed(_) => return,
            Rate::Curve(points) => points.clone(),
            Rate::ShareOfMax(share) => vec![*share],
        };
        let list = shares.iter().map(|share| number(*share)).collect::<Vec<_>>().join(", ");
        let what = format!("the runs at {list} % of the full rate in rd={}", phase.name);
        let has_rate = |settings: &Settings| settings.get("rate_iops").is_some();
        if has_rate(&stage.settings) || stage.loads.iter().any(|load| has_rate(&load.settings)) {
            self.refuse(phase.line, what, "its patterns have rates of their own");
            return;
        }
        let mut values = vec!["max".to_owned()];
        for share in &shares {
            let whole = number(share.round().max(1.0));
            if !values.contains(&whole) {
                values.push(whole);
            }
        }
        if shares.iter().any(|share| share.fract() != 0.0) {
            self.refuse(phase.line, what, "shares are whole percents; they are rounded");
        }
        stage.axes.push(("rate_percent".to_owned(), values));
        let mut settings = std::mem::take(&mut stage.settings);
        self.arrivals(phase, &mut settings);
        stage.settings = settings;
        stage.notes.push(
            "vdbench rounds the rates of a curve up to hundreds or tens; here they are exact shares of the run at full rate.".into(),
        );
    }
}

/// A number as plans read it: whole where it is.
fn number(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{value}") }
}

/// Seconds as plans read them.
fn seconds(value: f64) -> String {
    if value.fract() == 0.0 { format!("{value:.0}") } else { format!("{:.0}ms", value * 1000.0) }
}

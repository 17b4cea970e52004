//! Parser of vdbench statements.

use super::lex::{Parameter, Statement, statements};
use super::parameters::{Parameters, Seek, StorageDefinition, TransferSize, WorkloadDefinition};
use super::phase::{CURVE_RATE, Loop, MAX_RATE, Phase, Rate, rate_of};
use super::values::parse_number;
use crate::ImportError;
use std::path::Path;

/// The most targets: `count=` makes many of one line.
const TARGETS_LIMIT: usize = 10_000;
/// The points of a curve where nobody says otherwise, in percent of the full rate.
const DEFAULT_CURVE: [f64; 6] = [10.0, 50.0, 70.0, 80.0, 90.0, 100.0];
/// From this number on, `range=` means bytes.
const RANGE_PERCENT_LIMIT: f64 = 200.0;

const GENERAL: [&str; 40] = [
    "compratio",
    "compressionseed",
    "dedupratio",
    "dedupunit",
    "dedupsets",
    "deduphotsets",
    "dedupflipflop",
    "dedupacross",
    "port",
    "pattern",
    "data_errors",
    "validate",
    "journal",
    "startcmd",
    "endcmd",
    "formatxfersize",
    "create_anchors",
    "formatsds",
    "report",
    "report_run_totals",
    "histogram",
    "psrset",
    "auxreport",
    "monitor",
    "concatenatesds",
    "messagescan",
    "abort_failed_skew",
    "misc",
    "showlba",
    "loop",
    "debug",
    "heartbeat_error",
    "swat_mon",
    "swat_mon_total",
    "timeout",
    "openflags",
    "force_error_after",
    "patterns",
    "fwd_thread_adjust",
    "ios_per_jvm",
];
const SD: [&str; 29] = [
    "sd",
    "host",
    "hd",
    "lun",
    "count",
    "size",
    "threads",
    "hitarea",
    "offset",
    "align",
    "kstat",
    "instance",
    "replay",
    "journal",
    "resetlun",
    "resetbus",
    "openflags",
    "range",
    "dedupratio",
    "dedupunit",
    "dedupsets",
    "deduphotsets",
    "dedupflipflop",
    "dedupacross",
    "concatenate",
    "compratio",
    "streams",
    "pattern",
    "validate",
];
const WD: [&str; 25] = [
    "wd",
    "sd",
    "host",
    "hd",
    "skew",
    "xfersize",
    "rdpct",
    "readpct",
    "range",
    "hotband",
    "seekpct",
    "stride",
    "priority",
    "iorate",
    "rhpct",
    "whpct",
    "openflags",
    "streams",
    "user",
    "threads",
    "hitarea",
    "pattern",
    "compratio",
    "dedupratio",
    "validate",
];
const RD: [&str; 58] = [
    "rd",
    "wd",
    "sd",
    "fwd",
    "fsd",
    "iorate",
    "curve",
    "stopcurve",
    "elapsed",
    "interval",
    "warmup",
    "pause",
    "maxdata",
    "maxdatar",
    "maxdataw",
    "distribution",
    "startcmd",
    "endcmd",
    "openflags",
    "operations",
    "operation",
    "format",
    "fwdrate",
    "replay",
    "forxfersize",
    "forthreads",
    "forrdpct",
    "forrhpct",
    "forwhpct",
    "forseekpct",
    "forhitarea",
    "forcompratio",
    "foriorate",
    "fordepth",
    "forwidth",
    "forfiles",
    "forsizes",
    "fortotalsize",
    "forwss",
    "foroperations",
    "forhosts",
    "xfersize",
    "threads",
    "rdpct",
    "rhpct",
    "whpct",
    "seekpct",
    "hitarea",
    "compratio",
    "depth",
    "width",
    "files",
    "sizes",
    "totalsize",
    "wss",
    "skew",
    "hd",
    "host",
];

/// Reads a parameter file. `include` gives the text of an included file by its name.
pub fn read_parameters(
    path: &Path,
    text: &str,
    include: &mut dyn FnMut(&str) -> std::io::Result<String>,
) -> Result<Parameters, ImportError> {
    let mut warnings = Vec::new();
    let statements = statements(path, text, include, &mut warnings)?;
    let mut reader =
        Reader { parameters: Parameters { warnings, ..Parameters::default() }, ..Reader::default() };
    for statement in statements {
        reader.statement(&statement)?;
    }
    let mut parameters = reader.parameters;
    // What a default says is looked at again for each definition that has it.
    parameters.not_carried.sort();
    parameters.not_carried.dedup();
    parameters.warnings.sort();
    parameters.warnings.dedup();
    Ok(parameters)
}

/// A parameter by its full keyword.
type Known = (&'static str, Parameter);

#[derive(Default)]
struct Reader {
    parameters: Parameters,
    sd_default: Vec<Known>,
    wd_default: Vec<Known>,
    rd_default: Vec<Known>,
    /// Position in the required order of statements.
    place: usize,
}

/// The order that vdbench asks for.
const ORDER: [&[&str]; 5] = [&["general"], &["hd", "rg"], &["sd", "fsd"], &["wd", "fwd"], &["rd"]];

impl Reader {
    fn statement(&mut self, statement: &Statement) -> Result<(), ImportError> {
        let Some(first) = statement.first() else { return Ok(()) };
        let kind = match first.keyword.as_str() {
            keyword @ ("hd" | "rg" | "sd" | "fsd" | "wd" | "fwd" | "rd") => keyword.to_owned(),
            _ => "general".to_owned(),
        };
        let place = ORDER.iter().position(|kinds| kinds.contains(&kind.as_str())).unwrap_or(0);
        if place < self.place {
            self.warn(first, "vdbench wants general parameters first, then hd, sd, wd and rd");
        }
        self.place = self.place.max(place);
        match kind.as_str() {
            "hd" => self.refuse(first, "the load comes from the host that runs the plan"),
            "rg" => self.refuse(first, "a plan makes its addresses itself, and replays none"),
            "fsd" | "fwd" => self.refuse(first, "plans test block storage, not trees of files"),
            "sd" => self.storage(statement)?,
            "wd" => self.workload(statement)?,
            "rd" => self.run(statement)?,
            _ => statement.iter().for_each(|parameter| self.general(parameter)),
        }
        Ok(())
    }

    fn warn(&mut self, parameter: &Parameter, text: impl Into<String>) {
        self.parameters.warnings.push(parameter.warning(text));
    }

    fn refuse(&mut self, parameter: &Parameter, why: impl Into<String>) {
        self.parameters.not_carried.push(parameter.not_carried(why));
    }

    /// The keyword of a parameter, written out. vdbench takes any beginning that only one keyword has.
    fn keyword(&mut self, parameter: &Parameter, known: &'static [&'static str]) -> Option<&'static str> {
        let written = parameter.keyword.as_str();
        if let Some(exact) = known.iter().find(|keyword| **keyword == written) {
            return Some(exact);
        }
        let candidates: Vec<&'static str> =
            known.iter().copied().filter(|keyword| keyword.starts_with(written)).collect();
        match candidates.as_slice() {
            [only] => Some(only),
            [] => {
                self.warn(parameter, format!("vdbench has no parameter `{written}` here"));
                self.refuse(parameter, "the keyword is not known");
                None
            }
            several => {
                self.warn(parameter, format!("`{written}` may be {}", several.join(" or ")));
                self.refuse(parameter, "the keyword may be several");
                None
            }
        }
    }

    fn general(&mut self, parameter: &Parameter) {
        let Some(keyword) = self.keyword(parameter, &GENERAL) else { return };
        match keyword {
            "validate" | "journal" | "data_errors" => {
                self.warn(parameter, "what the blocks hold is not checked by plans: the runs are those of a load without validation");
                self.refuse(parameter, "plans check no contents");
            }
            "compratio" | "compressionseed" | "dedupratio" | "dedupunit" | "dedupsets" | "deduphotsets"
            | "dedupflipflop" | "dedupacross" | "pattern" | "patterns" => {
                self.refuse(parameter, "what the blocks hold is the engine's own in a plan");
            }
            "report" | "report_run_totals" | "histogram" | "auxreport" | "monitor" | "messagescan"
            | "showlba" | "debug" | "heartbeat_error" | "port" | "swat_mon" | "swat_mon_total" => {
                self.refuse(parameter, "it is about how vdbench works and reports");
            }
            _ => self.refuse(parameter, "plans have no such thing"),
        }
    }

    /// The parameters of a definition behind its defaults; `None` where the definition is a default itself.
    fn with_defaults(
        &mut self,
        statement: &Statement,
        known: &'static [&'static str],
        defaults: fn(&mut Reader) -> &mut Vec<Known>,
    ) -> Option<Vec<Known>> {
        let mut own: Vec<Known> = Vec::new();
        for parameter in &statement[1..] {
            if let Some(keyword) = self.keyword(parameter, known) {
                own.push((keyword, parameter.clone()));
            }
        }
        let is_default = statement[0].values.iter().any(|value| value.eq_ignore_ascii_case("default"));
        let inherited = defaults(self);
        if is_default {
            inherited.extend(own);
            return None;
        }
        Some(inherited.iter().cloned().chain(own).collect())
    }

    fn storage(&mut self, statement: &Statement) -> Result<(), ImportError> {
        let first = &statement[0];
        let Some(known) = self.with_defaults(statement, &SD, |reader| &mut reader.sd_default) else {
            return Ok(());
        };
        let mut target = StorageDefinition::new(first.value()?, first.line);
        let mut count = None;
        for (keyword, parameter) in &known {
            match *keyword {
                "lun" => target.lun = parameter.value()?.to_owned(),
                "size" => target.size_bytes = Some(parameter.whole(1)?),
                "threads" => target.threads = parameter.whole(1)?,
                "hitarea" => target.hitarea_bytes = parameter.whole(1)?,
                "offset" => target.offset_bytes = parameter.whole(0)?,
                "openflags" => target.openflags = self.openflags(parameter),
                "range" => target.range = self.range(parameter)?,
                "count" => count = Some(parameter.clone()),
                "host" | "hd" => self.refuse(parameter, "the load comes from the host that runs the plan"),
                "journal" | "validate" => {
                    self.warn(parameter, "what the blocks hold is not checked by plans");
                    self.refuse(parameter, "plans check no contents");
                }
                _ => self.refuse(parameter, "plans have no such thing"),
            }
        }
        let Some(count) = count else { return self.add_target(first, target) };
        let (from, number) = match count.numbers()?.as_slice() {
            [from, number] => (count.to_whole(*from, 0)?, count.to_whole(*number, 1)?),
            _ => return Err(count.invalid("`count=(first,number)` is needed")),
        };
        if number > TARGETS_LIMIT as u64 {
            return Err(count.invalid(format!("more than {TARGETS_LIMIT} targets")));
        }
        for index in from..from.saturating_add(number) {
            let lun = target.lun.replace('*', &index.to_string());
            self.add_target(
                first,
                StorageDefinition { name: format!("{}{index}", target.name), lun, ..target.clone() },
            )?;
        }
        Ok(())
    }

    fn add_target(&mut self, first: &Parameter, target: StorageDefinition) -> Result<(), ImportError> {
        if self.parameters.targets.iter().any(|known| known.name == target.name) {
            return Err(first.invalid(format!("the label `{}` stands twice", target.name)));
        }
        if self.parameters.targets.len() == TARGETS_LIMIT {
            return Err(first.invalid(format!("more than {TARGETS_LIMIT} targets")));
        }
        self.parameters.targets.push(target);
        Ok(())
    }

    /// Flags by name; what a plan cannot say of them is noted here.
    fn openflags(&mut self, parameter: &Parameter) -> Vec<String> {
        let flags: Vec<String> = parameter.values.iter().map(|flag| flag.to_ascii_lowercase()).collect();
        if flags.iter().any(|flag| !is_direct(flag) && flag != DSYNC) {
            self.refuse(
                parameter,
                "a plan opens its target with or without `direct`, and with or without `sync: dsync`",
            );
        }
        flags
    }

    fn range(&mut self, parameter: &Parameter) -> Result<Option<(f64, f64)>, ImportError> {
        let numbers: Result<Vec<f64>, ImportError> = parameter
            .values
            .iter()
            .map(|text| {
                let text = text.strip_suffix('%').unwrap_or(text);
                parse_number(text)
                    .ok_or_else(|| parameter.invalid("`range=(low,high)` is needed, in percent"))
            })
            .collect();
        match numbers?.as_slice() {
            [low, high] if *low >= 0.0 && low < high && *high <= 100.0 => Ok(Some((*low, *high))),
            [low, high] if *low >= 0.0 && low < high => {
                let what = if *high > RANGE_PERCENT_LIMIT {
                    "a range in bytes"
                } else {
                    "a range that wraps around"
                };
                self.refuse(parameter, format!("{what}; the plan uses all of its target"));
                Ok(None)
            }
            _ => Err(parameter.invalid("`range=(low,high)` is needed, in percent")),
        }
    }

    /// The numbers of the definitions that labels mean: `sd1`, `sd*`, `sd1-sd10`, `*`.
    fn labels(parameter: &Parameter, names: &[&str]) -> Result<Vec<usize>, ImportError> {
        let mut found: Vec<usize> = Vec::new();
        for wanted in &parameter.values {
            let before = found.len();
            for (index, name) in names.iter().enumerate() {
                let is_meant = match wanted.strip_suffix('*') {
                    Some(prefix) => name.starts_with(prefix),
                    None => *name == wanted || in_label_range(wanted, name),
                };
                if is_meant && !found.contains(&index) {
                    found.push(index);
                }
            }
            let is_known = found.len() > before || found.iter().any(|index| names[*index] == wanted);
            if !is_known
                && !found.iter().any(|index| wanted.ends_with('*') || in_label_range(wanted, names[*index]))
            {
                return Err(parameter.invalid(format!("nothing before has the label `{wanted}`")));
            }
        }
        Ok(found)
    }

    fn target_labels(&self, parameter: &Parameter) -> Result<Vec<usize>, ImportError> {
        let names: Vec<&str> = self.parameters.targets.iter().map(|target| target.name.as_str()).collect();
        Reader::labels(parameter, &names)
    }

    fn workload(&mut self, statement: &Statement) -> Result<(), ImportError> {
        let first = &statement[0];
        let Some(known) = self.with_defaults(statement, &WD, |reader| &mut reader.wd_default) else {
            return Ok(());
        };
        let mut pattern = WorkloadDefinition::new(first.value()?, first.line);
        for (keyword, parameter) in &known {
            match *keyword {
                "sd" => pattern.targets = self.target_labels(parameter)?,
                "skew" => pattern.skew = Some(parameter.percent()?),
                "xfersize" => pattern.xfersize = self.transfer_size(parameter)?,
                "rdpct" | "readpct" => pattern.rdpct = parameter.percent()?,
                "rhpct" => pattern.rhpct = parameter.percent()?,
                "whpct" => pattern.whpct = parameter.percent()?,
                "seekpct" => pattern.seek = seek(parameter)?,
                "range" => pattern.range = self.range(parameter)?,
                "iorate" => pattern.iorate = Some(parameter.number()?),
                "openflags" => pattern.openflags = self.openflags(parameter),
                "host" | "hd" => self.refuse(parameter, "the load comes from the host that runs the plan"),
                "validate" => {
                    self.warn(parameter, "what the blocks hold is not checked by plans");
                    self.refuse(parameter, "plans check no contents");
                }
                _ => self.refuse(parameter, "plans have no such thing"),
            }
        }
        if self.parameters.patterns.iter().any(|other| other.name == pattern.name) {
            return Err(first.invalid(format!("the label `{}` stands twice", pattern.name)));
        }
        self.parameters.patterns.push(pattern);
        Ok(())
    }

    fn transfer_size(&mut self, parameter: &Parameter) -> Result<TransferSize, ImportError> {
        let mut numbers = Vec::with_capacity(parameter.values.len());
        for value in &parameter.values {
            let number = parse_number(value).filter(|number| *number >= 0.0);
            numbers.push(number.ok_or_else(|| parameter.invalid(format!("`{value}` is no size")))?);
        }
        let whole = |number: f64| parameter.to_whole(number, 1);
        match numbers.as_slice() {
            [size] => Ok(TransferSize::Fixed(whole(*size)?)),
            [least, most, align] => {
                let (least_bytes, most_bytes, align_bytes) = (whole(*least)?, whole(*most)?, whole(*align)?);
                Ok(TransferSize::Random { least_bytes, most_bytes, align_bytes })
            }
            pairs if !pairs.is_empty() && pairs.len().is_multiple_of(2) => {
                let mut mix = Vec::new();
                for pair in pairs.chunks(2) {
                    mix.push((whole(pair[0])?, pair[1]));
                }
                let sum: f64 = mix.iter().map(|(_, share)| share).sum();
                if (sum - 100.0).abs() > 0.01 {
                    return Err(parameter.invalid(format!("the shares add up to {sum}, not to 100")));
                }
                Ok(TransferSize::Mix(mix))
            }
            _ => Err(parameter.invalid("a size, pairs of size and share, or (least,most,align) are needed")),
        }
    }

    fn run(&mut self, statement: &Statement) -> Result<(), ImportError> {
        let first = statement[0].clone();
        let Some(known) = self.with_defaults(statement, &RD, |reader| &mut reader.rd_default) else {
            return Ok(());
        };
        if let Some((_, files)) = known.iter().find(|(keyword, _)| {
            matches!(*keyword, "fwd" | "fsd" | "format" | "operations" | "operation" | "fwdrate")
        }) {
            let what = files.keyword.clone();
            self.refuse(
                &first,
                format!("the whole run (`{what}`): plans test block storage, not trees of files"),
            );
            return Ok(());
        }
        let mut phase = Phase {
            name: first.value()?.to_owned(),
            file: first.file.clone(),
            line: first.line,
            patterns: Vec::new(),
            targets: None,
            rate: Rate::Max,
            elapsed_s: 30.0,
            interval_s: 1.0,
            warmup_s: 0.0,
            pause_s: 0.0,
            loops: Vec::new(),
            distribution: "exponential".to_owned(),
            threads: None,
            openflags: Vec::new(),
            max_data: None,
        };
        let mut curve = None;
        for (keyword, parameter) in &known {
            match *keyword {
                "wd" => {
                    let names: Vec<&str> =
                        self.parameters.patterns.iter().map(|pattern| pattern.name.as_str()).collect();
                    phase.patterns = Reader::labels(parameter, &names)?;
                }
                "sd" => phase.targets = Some(self.target_labels(parameter)?),
                "iorate" => self.rate(&mut phase, parameter)?,
                "curve" => curve = Some(self.curve(parameter)?),
                "elapsed" => phase.elapsed_s = parameter.seconds()?,
                "interval" => phase.interval_s = parameter.seconds()?,
                "warmup" => phase.warmup_s = parameter.seconds()?,
                "pause" => phase.pause_s = parameter.seconds()?,
                "distribution" => phase.distribution = parameter.values.join(","),
                "openflags" => phase.openflags = self.openflags(parameter),
                "threads" if parameter.values.len() == 1 => phase.threads = Some(parameter.whole(1)?),
                "forxfersize" | "forthreads" | "forrdpct" | "forseekpct" | "foriorate" | "xfersize"
                | "threads" | "rdpct" | "seekpct" => phase.add_loop(keyword, parameter)?,
                "forrhpct" | "forwhpct" | "forhitarea" | "forcompratio" | "rhpct" | "whpct" | "hitarea"
                | "compratio" => {
                    self.refuse(
                        parameter,
                        "plans have no such thing: it varies nothing here, and its runs would be alike",
                    );
                }
                "host" | "hd" | "forhosts" => {
                    self.refuse(parameter, "the load comes from the host that runs the plan");
                }
                "startcmd" | "endcmd" => self.refuse(parameter, "a plan starts no commands for a case"),
                "maxdata" => phase.max_data = self.max_data(parameter)?,
                "maxdatar" | "maxdataw" => {
                    self.refuse(parameter, "a plan's `io_size` counts reads and writes together");
                }
                "stopcurve" => self.refuse(parameter, "a plan's cases do not depend on what others showed"),
                _ => self.refuse(parameter, "plans have no such thing"),
            }
        }
        if phase.interval_s <= 0.0 || phase.elapsed_s <= 0.0 {
            return Err(first.invalid("`elapsed` and `interval` must be above 0"));
        }
        if let (Rate::Curve(points), Some(given)) = (&mut phase.rate, curve) {
            *points = given;
        }
        if phase.patterns.is_empty() {
            return Err(first.invalid("`wd=` is missing: which patterns the run has"));
        }
        self.check(&first, &phase);
        self.parameters.phases.push(phase);
        Ok(())
    }

    /// Bytes, or below 100 a multiple of the targets, as a plan's `io_size`.
    fn max_data(&mut self, parameter: &Parameter) -> Result<Option<String>, ImportError> {
        const MULTIPLE_LIMIT: f64 = 100.0;
        let number = parameter.number()?;
        let text = if number > 0.0 && number < MULTIPLE_LIMIT {
            format!("{:.0}%", number * 100.0)
        } else {
            format!("{number:.0}")
        };
        let fits = plan::setting("io_size").is_some_and(|setting| setting.parse(&text).is_ok());
        if !fits {
            self.refuse(parameter, "it is no amount that a plan has");
        }
        Ok(fits.then_some(text))
    }

    fn rate(&mut self, phase: &mut Phase, parameter: &Parameter) -> Result<(), ImportError> {
        if parameter.values.len() > 1 {
            return phase.add_loop("foriorate", parameter);
        }
        phase.rate = match parameter.value()?.to_ascii_lowercase().as_str() {
            "max" => Rate::Max,
            "curve" => Rate::Curve(DEFAULT_CURVE.to_vec()),
            _ => match rate_number(parameter, parameter.value()?)? {
                number if number == CURVE_RATE => Rate::Curve(DEFAULT_CURVE.to_vec()),
                number => rate_of(number),
            },
        };
        Ok(())
    }

    fn curve(&mut self, parameter: &Parameter) -> Result<Vec<f64>, ImportError> {
        let points = parameter.numbers()?;
        if points.iter().any(|share| *share <= 0.0 || *share > 1000.0) {
            return Err(parameter.invalid("the points of a curve are shares of the full rate, in percent"));
        }
        Ok(points)
    }

    /// Checks a run by vdbench's own rules, and warns of settings with unexpected effects.
    fn check(&mut self, first: &Parameter, phase: &Phase) {
        let multiple = |time: f64| (time / phase.interval_s - (time / phase.interval_s).round()).abs() < 1e-9;
        if !multiple(phase.warmup_s) {
            self.warn(
                first,
                format!("warmup={} is no multiple of interval={}", phase.warmup_s, phase.interval_s),
            );
        }
        if !multiple(phase.elapsed_s) {
            self.warn(
                first,
                format!("elapsed={} is no multiple of interval={}", phase.elapsed_s, phase.interval_s),
            );
        }
        if phase.elapsed_s / phase.interval_s < 2.0 {
            self.warn(first, "vdbench wants at least two intervals");
        }
        let skews: Vec<Option<f64>> =
            phase.patterns.iter().map(|index| self.parameters.patterns[*index].skew).collect();
        let given: f64 = skews.iter().flatten().sum();
        let all_given = skews.iter().all(Option::is_some);
        if skews.iter().any(Option::is_some)
            && ((all_given && (given - 100.0).abs() > 0.01) || given > 100.01)
        {
            self.warn(first, format!("the skews of its patterns add up to {given}, not to 100"));
        }
    }
}

impl Phase {
    fn add_loop(&mut self, keyword: &str, parameter: &Parameter) -> Result<(), ImportError> {
        let name = keyword.strip_prefix("for").unwrap_or(keyword);
        let values = match name {
            "iorate" => {
                let is_word = |value: &String| value.eq_ignore_ascii_case("max");
                if parameter.values.iter().any(is_word) {
                    let read = parameter.values.iter().map(|value| rate_number(parameter, value));
                    read.collect::<Result<Vec<f64>, ImportError>>()?
                } else {
                    parameter.numbers()?
                }
            }
            "seekpct" => {
                let numbered =
                    parameter.values.iter().map(|value| match value.to_ascii_lowercase().as_str() {
                        "seq" | "sequential" => "0".to_owned(),
                        "random" => "100".to_owned(),
                        _ => value.clone(),
                    });
                Parameter { values: numbered.collect(), ..parameter.clone() }.numbers()?
            }
            _ => parameter.numbers()?,
        };
        let fits = |value: &f64| match name {
            "rdpct" | "seekpct" => (0.0..=100.0).contains(value),
            "iorate" => *value != 0.0,
            _ => *value >= 1.0 && value.fract() == 0.0,
        };
        if let Some(wrong) = values.iter().find(|value| !fits(value)) {
            return Err(parameter.invalid(format!("{wrong} is out of range")));
        }
        // A later loop over the same parameter replaces the one of a default.
        self.loops.retain(|known| known.parameter != name);
        self.loops.push(Loop { parameter: name.to_owned(), values, line: parameter.line });
        Ok(())
    }
}

fn rate_number(parameter: &Parameter, text: &str) -> Result<f64, ImportError> {
    if text.eq_ignore_ascii_case("max") {
        return Ok(MAX_RATE);
    }
    let number = match text.strip_suffix('%') {
        // A share is a negative number to vdbench.
        Some(share) => parse_number(share).map(|share| -share),
        None => parse_number(text),
    };
    number.filter(|rate| *rate != 0.0).ok_or_else(|| parameter.invalid("a rate, `max` or `curve` is needed"))
}

fn seek(parameter: &Parameter) -> Result<Seek, ImportError> {
    let first = parameter.values.first().map(|value| value.to_ascii_lowercase()).unwrap_or_default();
    match first.as_str() {
        "seq" | "sequential" => Ok(Seek::Sequential),
        "eof" | "-1" | "seqnz" => Ok(Seek::ToEnd),
        "random" | "rand" => Ok(Seek::Random(100.0)),
        "poisson" => Ok(Seek::Poisson),
        _ => match parameter.percent()? {
            0.0 => Ok(Seek::Sequential),
            share => Ok(Seek::Random(share)),
        },
    }
}

/// The flag with which each write is on stable storage before it is answered.
pub(crate) const DSYNC: &str = "o_dsync";

/// Flags that pass by the page cache.
pub(crate) fn is_direct(flag: &str) -> bool {
    matches!(flag, "o_direct" | "directio")
}

/// True where `name` lies in a range of labels such as `sd1-sd10`.
fn in_label_range(range: &str, name: &str) -> bool {
    let parts = |label: &str| {
        let digits = label.chars().rev().take_while(char::is_ascii_digit).count();
        let (stem, number) = label.split_at(label.len() - digits);
        Some((stem.to_owned(), number.parse::<u64>().ok()?))
    };
    let read = || {
        let (from, to) = range.split_once('-')?;
        Some((parts(from)?, parts(to)?, parts(name)?))
    };
    read().is_some_and(|((from_stem, from), (to_stem, to), (stem, number))| {
        stem == from_stem && stem == to_stem && (from.min(to)..=from.max(to)).contains(&number)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Parameters, String> {
        let mut include = |_: &str| Err(std::io::ErrorKind::NotFound.into());
        read_parameters(Path::new("p"), text, &mut include).map_err(|error| error.to_string())
    }

    /// Proves that vdbench's defaults stand where the file says nothing.
    #[test]
    fn defaults_are_vdbenchs() {
        let found = read("sd=sd1,lun=/dev/sdb\nwd=wd1,sd=sd1\nrd=rd1,wd=wd1,iorate=1000\n").unwrap();
        assert_eq!((found.targets[0].threads, found.targets[0].hitarea_bytes), (8, 1 << 20));
        let pattern = &found.patterns[0];
        assert_eq!(
            (pattern.rdpct, &pattern.seek, &pattern.xfersize),
            (100.0, &Seek::Random(100.0), &TransferSize::Fixed(4096))
        );
        let phase = &found.phases[0];
        assert_eq!(
            (phase.elapsed_s, phase.interval_s, phase.distribution.as_str()),
            (30.0, 1.0, "exponential")
        );
        // Without a warmup the first interval is not counted.
        assert_eq!((phase.ramp_s(), phase.counted_s()), (1.0, 29.0));
        assert_eq!(phase.rate, Rate::Fixed(1000.0));
    }

    /// Proves that defaults reach later definitions only, and that beginnings of keywords are taken.
    #[test]
    fn defaults_and_beginnings() {
        let found = read("sd=a,lun=/x\nsd=default,thr=16\nsd=b,lun=/y,ope=o_direct\nwd=w,sd=(a,b),xf=8k\nrd=r,wd=w*,io=max,el=60\n").unwrap();
        assert_eq!((found.targets[0].threads, found.targets[1].threads), (8, 16));
        assert_eq!(found.phases[0].elapsed_s, 60.0);
        assert!(found.warnings.is_empty(), "{:?}", found.warnings);
    }

    /// Proves each warning: unknown keyword, ambiguous beginning, times, skew, lines after eof, validation, order.
    #[test]
    fn warnings_are_given() {
        let text = "validate=yes\nsd=s1,lun=/x,colour=red,of=4k,re=1\nwd=a,sd=s1,skew=60\nwd=b,sd=s1,skew=60\nrd=r,wd=*,iorate=max,elapsed=61,interval=5,warmup=12\nmessagescan=no\neof\nleft\n";
        let found = read(text).unwrap();
        let warnings: Vec<String> = found.warnings.iter().map(ToString::to_string).collect();
        insta::assert_snapshot!(warnings.join("\n"));
    }

    /// Proves that labels, lists and ranges of labels find their targets.
    #[test]
    fn labels_find_targets() {
        let sds: String = (1..=12).map(|n| format!("sd=sd{n},lun=/dev/x{n}\n")).collect();
        let found = read(&format!(
            "{sds}wd=a,sd=sd2-sd4\nwd=b,sd=(sd1,sd10-sd12)\nwd=c,sd=*\nwd=d,sd=sd1*\nrd=r,wd=(a,b)\n"
        ))
        .unwrap();
        let targets: Vec<&[usize]> =
            found.patterns.iter().map(|pattern| pattern.targets.as_slice()).collect();
        assert_eq!(targets[0], [1, 2, 3]);
        assert_eq!(targets[1], [0, 9, 10, 11]);
        assert_eq!(targets[2].len(), 12);
        assert_eq!(targets[3], [0, 9, 10, 11]);
        assert_eq!(found.phases[0].patterns, [0, 1]);
        let found = read("sd=s,count=(1,3),lun=/dev/d*\nwd=w,sd=s*\nrd=r,wd=w\n").unwrap();
        assert_eq!(
            found.targets.iter().map(|target| target.lun.as_str()).collect::<Vec<_>>(),
            ["/dev/d1", "/dev/d2", "/dev/d3"]
        );
    }

    /// Proves that mistakes are refused at their place.
    #[test]
    fn mistakes_have_a_place() {
        for (text, start) in [
            ("sd=a\nsd=a\n", "p:2:1: `sd=a`: the label `a` stands twice"),
            ("sd=a\nwd=w,sd=b\n", "p:2:6: `sd=b`: nothing before has the label `b`"),
            ("sd=a,threads=0\n", "p:1:6: `threads=0`: a whole number of at least 1"),
            (
                "sd=a\nwd=w,sd=a,xfersize=(4k,50,8k,40)\n",
                "p:2:11: `xfersize=(4k,50,8k,40)`: the shares add up to 90",
            ),
            ("sd=a\nwd=w,sd=a,rdpct=120\n", "p:2:11: `rdpct=120`: a share"),
            ("sd=a\nwd=w,sd=a\nrd=r\n", "p:3:1: `rd=r`: `wd=` is missing"),
            (
                "sd=a\nwd=w,sd=a\nrd=r,wd=w,forthreads=(0,1)\n",
                "p:3:11: `forthreads=(0,1)`: 0 is out of range",
            ),
            ("sd=a,count=(1,99999)\n", "p:1:6: `count=(1,99999)`: more than"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.starts_with(start), "{error}");
        }
    }
}

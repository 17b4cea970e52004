//! Prose names of cases and parts: no `bs=4096,iodepth=32`, and each noun with its number.

use crate::cited::{Cited, Quantity, Source, Unit};
use crate::{PartUse, cited};
use serde_json::{Map, Value};

/// Settings that every case is told by, whether they vary or not; the others are told where they vary.
const ALWAYS_SHOWN: [&str; 4] = ["raid", "layout", "volume", "rate_iops"];

/// Settings that make another kind of load.
const OF_A_KIND: [&str; 3] = ["raid", "layout", "volume"];

/// Settings that a scenario stands for.
const OF_A_SCENARIO: [&str; 2] = ["write_cache", "coverage"];

/// Settings that every load has, left unsaid.
const OF_A_LOAD: [&str; 8] =
    ["rw", "bs", "bssplit", "rwmixread", "numjobs", "iodepth", "runtime", "ramp_time"];

/// The workload of a case alone, without how much of it and where it stands among others: `4K random writes, RAID 5`.
pub fn workload(stage: &str, name: &str, settings: &Map<String, Value>) -> Cited {
    let words = CaseWords::new(stage, name, settings);
    let mut parts = vec![words.load()];
    let where_to = settings.keys().filter(|name| OF_A_KIND.contains(&name.as_str()));
    parts.extend(where_to.map(|name| words.setting(name)));
    Cited::join(parts, ", ")
}

/// A case's settings with where they stand, so that what is said of them names its source.
#[derive(Clone, Copy)]
struct CaseWords<'a> {
    stage: &'a str,
    name: &'a str,
    settings: &'a Map<String, Value>,
}

/// The case of this stage and name with these settings as a person says it: `4K random writes, 8 jobs of depth 32, RAID 5`.
pub fn case(stage: &str, name: &str, settings: &Map<String, Value>) -> Cited {
    let words = CaseWords::new(stage, name, settings);
    let mut parts = vec![words.load()];
    parts.extend(words.jobs());
    // What stands in the name is that in which the cases of the stage differ.
    let varies: Vec<&str> =
        name.split(',').filter_map(|part| part.split_once('=')).map(|(name, _)| name).collect();
    let is_shown = |name: &str| {
        ALWAYS_SHOWN.contains(&name)
            || varies.contains(&name)
            || (varies.contains(&"scenario") && OF_A_SCENARIO.contains(&name))
    };
    // Covering all of it is nothing to tell, several I/Os of a job are asynchronous by themselves, and the number of a scenario
    // says nothing to who reads what it stands for.
    let is_plain = |name: &str, value: &Value| match name {
        "scenario" => OF_A_SCENARIO.iter().any(|name| settings.contains_key(*name)),
        "coverage" => value.as_f64() == Some(100.0),
        "ioengine" => settings.get("iodepth").and_then(Value::as_u64).is_some_and(|depth| depth > 1),
        name => OF_A_LOAD.contains(&name),
    };
    let others = settings.keys().filter(|name| is_shown(name) && !is_plain(name, &settings[*name]));
    parts.extend(others.map(|name| words.setting(name)));
    Cited::join(parts, ", ")
}

impl<'a> CaseWords<'a> {
    fn new(stage: &'a str, name: &'a str, settings: &'a Map<String, Value>) -> Self {
        CaseWords { stage, name, settings }
    }

    fn source(&self, name: &str) -> Source {
        Source::setting(self.stage, self.name, name)
    }

    fn quantity(&self, name: &str, unit: Unit) -> Option<Quantity> {
        let value = self.settings.get(name)?.as_f64()?;
        Some(Quantity::new(value, unit, self.source(name)))
    }

    /// The value of a setting in its own words.
    fn value(&self, name: &str) -> Cited {
        let Some(value) = self.settings.get(name) else { return Cited::default() };
        match value.as_str() {
            Some(text) => Cited::quote(text, self.source(name)),
            None => Cited::number(value.to_string(), value.as_f64(), Unit::Setting, self.source(name)),
        }
    }

    fn load(&self) -> Cited {
        let word = |name: &str| self.settings.get(name).and_then(Value::as_str);
        let pattern = word("rw");
        let order = if pattern.is_some_and(|rw| rw.starts_with("rand")) { "random" } else { "sequential" };
        let share = self.quantity("rwmixread", Unit::Ratio).map(Quantity::of_percent);
        let direction = match (pattern, share) {
            (Some("read" | "randread"), _) => cited!("reads"),
            (Some("write" | "randwrite"), _) => cited!("writes"),
            (_, Some(share)) if share.value() >= 1.0 => cited!("reads"),
            (_, Some(share)) if share.value() <= 0.0 => cited!("writes"),
            (_, Some(share)) => cited!("I/O, {} reads", share.percent()),
            (_, None) => cited!("I/O"),
        };
        match self.quantity("bs", Unit::Bytes) {
            Some(_) if self.settings.contains_key("bssplit") => {
                cited!("{} {} of mixed sizes", order, direction)
            }
            Some(bytes) => cited!("{} {} {}", bytes.block(), order, direction),
            None => cited!("{} {}", order, direction),
        }
    }

    fn jobs(&self) -> Option<Cited> {
        let (jobs, depth) = (self.quantity("numjobs", Unit::Count)?, self.quantity("iodepth", Unit::Count)?);
        if jobs.value() == 1.0 && depth.value() == 1.0 {
            return Some(cited!("queue depth {}", depth.plain(0)));
        }
        Some(cited!("{} of depth {}", jobs.count("job"), depth.plain(0)))
    }

    /// A setting with its value.
    fn setting(&self, name: &str) -> Cited {
        let word = self.settings.get(name).and_then(Value::as_str);
        let value = self.value(name);
        let size = || self.quantity(name, Unit::Bytes).map_or_else(|| value.clone(), Quantity::block);
        match (name, word) {
            ("raid", _) => cited!("RAID {}", value),
            ("layout", Some("ddp")) => cited!("dynamic disk pool"),
            ("layout", Some(level @ ("raid6" | "raid10"))) => {
                let level = level.replace("raid", "RAID ");
                Cited::number(level, None, Unit::Name, self.source(name))
            }
            ("host", Some("node")) => cited!("from a storage node"),
            ("host", Some("client")) => cited!("from a client"),
            ("disks", _) => match self.quantity(name, Unit::Count) {
                Some(count) => count.count("disk"),
                None => cited!("{} disks", value),
            },
            ("write_cache", _) => cited!("write cache {}", value),
            ("read_cache", _) => cited!("read cache {}", value),
            ("coverage", _) => match self.quantity(name, Unit::Ratio) {
                Some(share) => cited!("{} of the capacity covered", share.of_percent().percent()),
                None => cited!("{} of the capacity covered", value),
            },
            ("working_set" | "buffer_compress_percentage" | "dedupe_percentage", _) => {
                let share = self.quantity(name, Unit::Ratio);
                let share = share.map_or_else(|| cited!("{} %", value), |share| share.of_percent().percent());
                match name {
                    "working_set" => cited!("working set of {}", share),
                    "dedupe_percentage" => cited!("{} duplicates", share),
                    _ => cited!("compressible by {}", share),
                }
            }
            ("segment", _) => cited!("segments of {}", size()),
            ("repeat", _) => cited!("round {}", value),
            ("filesystem", Some("raw")) => cited!("on the raw device"),
            ("filesystem", _) => cited!("on {}", value),
            ("rate_percent", Some("max")) => cited!("at full rate"),
            ("rate_percent", _) => match self.quantity(name, Unit::Ratio) {
                Some(share) => cited!("at {} of the full rate", share.of_percent().percent()),
                None => cited!("at {} % of the full rate", value),
            },
            ("rate_iops", _) => match self.quantity(name, Unit::Iops) {
                Some(rate) => {
                    let text = units::human_rate(rate.value());
                    cited!("rate-limited to {} IOPS per job", rate.printed(text))
                }
                None => cited!("rate-limited to {} IOPS per job", value),
            },
            ("ioengine", Some("sync" | "psync")) => cited!("synchronous"),
            ("ioengine", _) => cited!("asynchronous"),
            (name, _) => {
                let name = Cited::quote(name.replace('_', " "), self.source(name));
                cited!("{} {}", name, value)
            }
        }
    }
}

/// Subject and verb for what is busy: `the processors of 2 controllers are`. How many there are comes
/// from `parts`, a name that somebody gave to a group of drives from `name`.
pub(crate) fn busy(part: &PartUse, parts: Quantity, name: Source) -> Cited {
    let kind = match (array::without_group(&part.part), part.part.as_str()) {
        // All of them are one part, and more than one thing.
        (_, "drive-links") => return cited!("the links to the drives are"),
        ("drive-links", _) => return cited!("the links to one group of drives are"),
        // It has one resource, the way to the second array.
        (_, "mirror" | "replication") => return cited!("the link to the second array is"),
        (_, "cpu") => return cited!("the host’s processors are"),
        (_, "module") => "flash module".to_owned(),
        (_, "nvme") => "NVMe drive".to_owned(),
        (_, "hdd") => "hard disk".to_owned(),
        (_, "nvmed") => "NVMe service".to_owned(),
        (_, "server") => "server instance".to_owned(),
        (_, "block") => "block service".to_owned(),
        (_, other) => other.replace(['-', '_'], " "),
    };
    let is_one = part.parts == 1;
    let whose = match (is_one, crate::has_no_digit(&kind)) {
        (true, _) => cited!("the {}", Cited::quote(kind, name)),
        (false, true) => parts.count(&kind),
        // A plural of `tier1` would read as another name.
        (false, false) => cited!("{} × {}", parts.plain(0), Cited::quote(kind, name)),
    };
    let Some(resource) = resource(part) else {
        return cited!("{} {}", whose, if is_one { "is" } else { "are" });
    };
    let plural = if is_one || resource.is_plural { "" } else { resource.plural };
    let verb = if is_one && !resource.is_plural { "is" } else { "are" };
    cited!("the {}{} of {} {}", Cited::words(resource.noun), plural, whose, verb)
}

/// Words for a resource of a part.
struct Resource {
    noun: String,
    /// Ending of the plural.
    plural: &'static str,
    /// It is several things in one part already.
    is_plural: bool,
}

/// Returns the busy resource of a part, where that is not the part as a whole.
fn resource(part: &PartUse) -> Option<Resource> {
    let one = |noun: &str, plural| Some(Resource { noun: noun.to_owned(), plural, is_plural: false });
    match part.resource.as_str() {
        "to_host" | "to_array" | "core" | "busy" | "%util" => None,
        several @ ("processors" | "threads" | "dies") => {
            Some(Resource { noun: several.to_owned(), plural: "", is_plural: true })
        }
        "memory" => one("memory", ""),
        "commands" => one("command processor", "s"),
        // Not to be taken for a mirror at another site.
        "mirror" => one("cache mirror", "s"),
        "bus" => one("bus", "es"),
        "send" => one("network port (sending)", ""),
        "receive" => one("network port (receiving)", ""),
        other => one(&other.replace('_', " "), "s"),
    }
}

/// Direction of the resource, where a part has two.
pub(crate) fn way(part: &PartUse) -> &'static str {
    match part.resource.as_str() {
        "to_host" => ", on the way to the host",
        "to_array" => ", on the way to the array",
        "to_drives" => ", outwards",
        "from_drives" => ", inwards",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn part(part: &str, resource: &str, parts: usize) -> String {
        let (part, resource) = (part.to_owned(), resource.to_owned());
        let all = PartUse { part, resource, mean_percent: 95.0, largest_percent: 95.0, parts };
        let count = Quantity::new(parts as f64, Unit::Count, Source::finding("limit/a/b", "uses.0.parts"));
        let subject = busy(&all, count, Source::finding("limit/a/b", "uses.0.part"));
        let rest = subject
            .numbers()
            .iter()
            .fold(subject.text().to_owned(), |rest, number| rest.replacen(&number.text, "", 1));
        assert!(crate::has_no_digit(&rest), "every digit has its source: {subject}");
        format!("{subject} busy 95 % of the time{}", way(&all))
    }

    /// Proves that cases are told without the names of settings, with what varies and what a scenario stands for.
    #[test]
    fn cases_are_told_as_a_person_would() {
        let cases = [
            (
                "raid=5,disks=12,rwmixread=70,bs=4096",
                json!({"rw": "randrw", "bs": 4096, "numjobs": 8, "iodepth": 1, "rwmixread": 70, "raid": 5,
                       "disks": 12, "write_cache": "off", "runtime": 60}),
                "4K random I/O, 70 % reads, 8 jobs of depth 1, RAID 5, 12 disks",
            ),
            (
                "scenario=3,bs=1048576",
                json!({"rw": "randwrite", "bs": 1_048_576, "numjobs": 64, "iodepth": 64, "raid": 5,
                       "write_cache": "off", "coverage": 70, "scenario": 3}),
                "1M random writes, 64 jobs of depth 64, RAID 5, write cache off, 70 % of the capacity covered",
            ),
            (
                "scenario=2,ioengine=libaio,bs=8192",
                json!({"rw": "randwrite", "bs": 8192, "ioengine": "libaio", "numjobs": 2, "iodepth": 64, "raid": 0,
                       "write_cache": "on", "coverage": 100, "scenario": 2}),
                "8K random writes, 2 jobs of depth 64, RAID 0, write cache on",
            ),
            (
                "scenario=2",
                json!({"rw": "randread", "bs": 8192, "numjobs": 2, "iodepth": 1, "scenario": 2}),
                "8K random reads, 2 jobs of depth 1, scenario 2",
            ),
            (
                "ioengine=sync,numjobs=4",
                json!({"rw": "randread", "bs": 8192, "ioengine": "sync", "numjobs": 4, "iodepth": 1}),
                "8K random reads, 4 jobs of depth 1, synchronous",
            ),
            (
                "volume=hybrid,host=client",
                json!({"rw": "randread", "bs": 512, "numjobs": 1, "iodepth": 1, "volume": "hybrid", "host": "client"}),
                "512 B random reads, queue depth 1, volume hybrid, from a client",
            ),
            (
                "working_set=10,buffer_compress_percentage=50,dedupe_percentage=0",
                json!({"rw": "randwrite", "bs": 8192, "numjobs": 8, "iodepth": 16, "working_set": 10,
                       "buffer_compress_percentage": 50, "dedupe_percentage": 0}),
                "8K random writes, 8 jobs of depth 16, working set of 10 %, compressible by 50 %, 0 % duplicates",
            ),
            (
                "layout=ddp,segment=131072",
                json!({"rw": "rw", "rwmixread": 0, "bs": 131_072, "numjobs": 1, "iodepth": 8, "layout": "ddp",
                       "segment": 131_072}),
                "128K sequential writes, 1 job of depth 8, dynamic disk pool, segments of 128K",
            ),
        ];
        for (name, settings, words) in cases {
            let described = case("stage", name, settings.as_object().unwrap());
            assert_eq!(described.text(), words);
            let rest = described
                .numbers()
                .iter()
                .fold(described.text().to_owned(), |rest, number| rest.replacen(&number.text, "", 1));
            assert!(crate::has_no_digit(&rest), "every digit has its source: {rest}");
        }
    }

    /// Proves that each noun agrees with its number, in parts that are one, several, and several under one name.
    #[test]
    fn nouns_have_their_number() {
        let sentences = [
            (
                part("drive-links", "to_drives", 1),
                "the links to the drives are busy 95 % of the time, outwards",
            ),
            (
                part("drive-links-1", "from_drives", 4),
                "the links to one group of drives are busy 95 % of the time, inwards",
            ),
            (part("mirror", "to_peer", 1), "the link to the second array is busy 95 % of the time"),
            (part("controller", "mirror", 2), "the cache mirrors of 2 controllers are busy 95 % of the time"),
            (part("tier1", "core", 1), "the tier1 is busy 95 % of the time"),
            (part("tier1", "bus", 12), "the buses of 12 × tier1 are busy 95 % of the time"),
            (part("write-buffer-ssd2", "core", 3), "3 × write buffer ssd2 are busy 95 % of the time"),
            (part("link", "to_host", 1), "the link is busy 95 % of the time, on the way to the host"),
            (part("link", "to_host", 4), "4 links are busy 95 % of the time, on the way to the host"),
            (
                part("controller", "processors", 1),
                "the processors of the controller are busy 95 % of the time",
            ),
            (
                part("controller", "processors", 2),
                "the processors of 2 controllers are busy 95 % of the time",
            ),
            (part("host", "threads", 1), "the threads of the host are busy 95 % of the time"),
            (part("hosts", "threads", 1), "the threads of the hosts are busy 95 % of the time"),
            (part("module", "read_path", 7), "the read paths of 7 flash modules are busy 95 % of the time"),
            (
                part("module", "commands", 1),
                "the command processor of the flash module is busy 95 % of the time",
            ),
            (part("drive", "bus", 25), "the buses of 25 drives are busy 95 % of the time"),
            (part("drive", "arm", 12), "the arms of 12 drives are busy 95 % of the time"),
            (part("nvmed", "core", 3), "3 NVMe services are busy 95 % of the time"),
        ];
        for (sentence, words) in sentences {
            assert_eq!(sentence, words);
        }
    }
}

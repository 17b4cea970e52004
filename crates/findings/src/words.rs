//! Cases and parts as a person would say them: no `bs=4096,iodepth=32`, and each noun with its number.

use crate::PartUse;
use crate::text::{block, count};
use serde_json::{Map, Value};
use units::human_count;

/// Settings that every case is told by, whether they vary or not; the others are told where they vary.
const ALWAYS_TOLD: [&str; 4] = ["raid", "layout", "volume", "rate_iops"];

/// Settings that make another kind of load.
const OF_A_KIND: [&str; 3] = ["raid", "layout", "volume"];

/// Settings that a scenario stands for.
const OF_A_SCENARIO: [&str; 2] = ["write_cache", "coverage"];

/// What is said of every load, so that it need not be said again.
const OF_A_LOAD: [&str; 8] =
    ["rw", "bs", "bssplit", "rwmixread", "numjobs", "iodepth", "runtime", "ramp_time"];

/// The case of this name and these settings as a person says it: `4K random writes, 8 jobs of depth 32, RAID 5`.
pub fn case(name: &str, settings: &Map<String, Value>) -> String {
    let mut parts = vec![load(settings)];
    parts.extend(jobs(settings));
    // What stands in the name is that in which the cases of the stage differ.
    let varies: Vec<&str> =
        name.split(',').filter_map(|part| part.split_once('=')).map(|(name, _)| name).collect();
    let is_told = |name: &str| {
        ALWAYS_TOLD.contains(&name)
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
    let others = settings.iter().filter(|(name, value)| is_told(name) && !is_plain(name, value));
    parts.extend(others.map(|(name, value)| setting(name, value)));
    parts.join(", ")
}

/// The kind of load alone, without how much of it and where it stands among others: `4K random writes, RAID 5`.
pub(crate) fn kind_of_load(settings: &Map<String, Value>) -> String {
    let mut parts = vec![load(settings)];
    let where_to = settings.iter().filter(|(name, _)| OF_A_KIND.contains(&name.as_str()));
    parts.extend(where_to.map(|(name, value)| setting(name, value)));
    parts.join(", ")
}

fn load(settings: &Map<String, Value>) -> String {
    let pattern = settings.get("rw").and_then(Value::as_str);
    let order = if pattern.is_some_and(|rw| rw.starts_with("rand")) { "random" } else { "sequential" };
    let share = settings.get("rwmixread").and_then(Value::as_f64).unwrap_or(50.0);
    let direction = match pattern {
        Some("read" | "randread") => "reads".to_owned(),
        Some("write" | "randwrite") => "writes".to_owned(),
        _ if share >= 100.0 => "reads".to_owned(),
        _ if share <= 0.0 => "writes".to_owned(),
        _ => format!("I/O, {share:.0} % reads"),
    };
    match settings.get("bs").and_then(Value::as_u64) {
        Some(_) if settings.contains_key("bssplit") => format!("{order} {direction} of mixed sizes"),
        Some(bytes) => format!("{} {order} {direction}", block(bytes)),
        None => format!("{order} {direction}"),
    }
}

fn jobs(settings: &Map<String, Value>) -> Option<String> {
    let number = |name: &str| settings.get(name).and_then(Value::as_u64);
    Some(match (number("numjobs")?, number("iodepth")?) {
        (1, 1) => "one at a time".to_owned(),
        (jobs, depth) => format!("{} of depth {depth}", human_count(jobs, "job")),
    })
}

/// A setting with its value.
fn setting(name: &str, value: &Value) -> String {
    let word = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let size = || value.as_u64().map_or_else(|| word.clone(), block);
    match (name, word.as_str()) {
        ("raid", level) => format!("RAID {level}"),
        ("layout", "ddp") => "dynamic disk pool".to_owned(),
        ("layout", "raid6") => "RAID 6".to_owned(),
        ("layout", "raid10") => "RAID 10".to_owned(),
        ("host", "node") => "from a storage node".to_owned(),
        ("host", "client") => "from a client".to_owned(),
        ("disks", count) => {
            value.as_u64().map_or_else(|| format!("{count} disks"), |count| human_count(count, "disk"))
        }
        ("write_cache", state) => format!("write cache {state}"),
        ("read_cache", state) => format!("read cache {state}"),
        ("coverage", share) => format!("{share} % of the capacity covered"),
        ("segment", _) => format!("segments of {}", size()),
        ("repeat", round) => format!("round {round}"),
        ("filesystem", "raw") => "on the raw device".to_owned(),
        ("filesystem", kind) => format!("on {kind}"),
        ("rate_percent", "max") => "as fast as it goes".to_owned(),
        ("rate_percent", share) => format!("at {share} % of the full rate"),
        ("rate_iops", rate) => {
            let rate = rate.parse().map_or_else(|_| rate.to_owned(), units::human_rate);
            format!("held at {rate} IOPS a job")
        }
        ("ioengine", "sync" | "psync") => "synchronous".to_owned(),
        ("ioengine", _) => "asynchronous".to_owned(),
        (_, word) => format!("{} {word}", name.replace('_', " ")),
    }
}

/// So many I/Os, of a mean that is seldom a whole number.
pub(crate) fn ios(count: f64) -> String {
    human_count(count.round() as u64, "I/O")
}

/// What is busy, as the beginning of a sentence with its verb: `the processors of 2 controllers are`.
pub(crate) fn busy(part: &PartUse) -> String {
    let kind = match part.part.as_str() {
        // All of them are one part, and more than one thing.
        "drive-links" => return "the links to the drives are".to_owned(),
        "cpu" => return "the host’s processors are".to_owned(),
        "module" => "flash module".to_owned(),
        "nvme" => "NVMe drive".to_owned(),
        "hdd" => "hard disk".to_owned(),
        "nvmed" => "NVMe service".to_owned(),
        "server" => "server instance".to_owned(),
        "block" => "block service".to_owned(),
        other => other.replace(['-', '_'], " "),
    };
    let whose = match part.parts {
        1 => format!("the {kind}"),
        parts => count(parts, &kind),
    };
    let Some(resource) = resource(part) else {
        return format!("{whose} {}", if part.parts == 1 { "is" } else { "are" });
    };
    let is_one = part.parts == 1 && !resource.is_plural;
    let plural = if part.parts == 1 || resource.is_plural { "" } else { resource.plural };
    format!("the {}{plural} of {whose} {}", resource.noun, if is_one { "is" } else { "are" })
}

/// What of a part is busy.
struct Resource {
    noun: String,
    /// What makes it several.
    plural: &'static str,
    /// It is several things in one part already.
    is_plural: bool,
}

/// What of a part is busy, where that is not the part as a whole.
fn resource(part: &PartUse) -> Option<Resource> {
    let one = |noun: &str, plural| Some(Resource { noun: noun.to_owned(), plural, is_plural: false });
    match part.resource.as_str() {
        "to_host" | "to_array" | "core" | "busy" | "%util" => None,
        several @ ("processors" | "threads") => {
            Some(Resource { noun: several.to_owned(), plural: "", is_plural: true })
        }
        "memory" => one("memory", ""),
        "commands" => one("command processor", "s"),
        "bus" => one("bus", "es"),
        "send" => one("network port (sending)", ""),
        "receive" => one("network port (receiving)", ""),
        other => one(&other.replace('_', " "), "s"),
    }
}

/// Which way, where a part has two.
pub(crate) fn way(part: &PartUse) -> &'static str {
    match part.resource.as_str() {
        "to_host" => ", on the way to the host",
        "to_array" => ", on the way to the array",
        "to_drives" => ", outwards",
        "from_drives" => ", inwards",
        _ => "",
    }
}

/// A kind of limit, and whether it is several things.
pub(crate) fn limiter(by: &str) -> (&'static str, bool) {
    match by {
        "link" => ("the links", true),
        "controller" => ("the controllers", true),
        "drive" => ("the drives", true),
        "generator" => ("the host that made the load", false),
        "rate" => ("the rate that was asked for", false),
        "concurrency" => ("the number of I/Os outstanding", false),
        _ => ("what cannot be seen from outside", false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn part(part: &str, resource: &str, parts: usize) -> String {
        let (part, resource) = (part.to_owned(), resource.to_owned());
        let all = PartUse { part, resource, mean_percent: 95.0, largest_percent: 95.0, parts };
        format!("{} busy 95 % of the time{}", busy(&all), way(&all))
    }

    /// Proves that cases are told without the names of settings, with what varies and what a scenario stands for.
    #[test]
    fn cases_are_told_as_a_person_would() {
        let said = [
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
                "512 B random reads, one at a time, volume hybrid, from a client",
            ),
            (
                "layout=ddp,segment=131072",
                json!({"rw": "rw", "rwmixread": 0, "bs": 131_072, "numjobs": 1, "iodepth": 8, "layout": "ddp",
                       "segment": 131_072}),
                "128K sequential writes, 1 job of depth 8, dynamic disk pool, segments of 128K",
            ),
        ];
        for (name, settings, words) in said {
            assert_eq!(case(name, settings.as_object().unwrap()), words);
        }
    }

    /// Proves that each noun agrees with its number, in parts that are one, several, and several under one name.
    #[test]
    fn nouns_have_their_number() {
        let said = [
            (
                part("drive-links", "to_drives", 1),
                "the links to the drives are busy 95 % of the time, outwards",
            ),
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
        for (sentence, words) in said {
            assert_eq!(sentence, words);
        }
    }
}

//! Contradictions planted in real reports: all of them are caught.

use super::{Reported, SHORT, reported, samples};
use serde_json::{Value, json};

/// Contradictions of each seed.
const PLANTED: usize = 100;

/// Pseudo-random numbers (SplitMix64), so that a seed gives the same contradictions everywhere.
pub struct Random(pub u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit.max(1) as u64) as usize
    }
}

/// JSON pointers of all texts with numbers that have a value.
fn texts(json: &Value, path: &str, found: &mut Vec<String>) {
    match json {
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(place, item)| texts(item, &format!("{path}/{place}"), found));
        }
        Value::Object(fields) => {
            let numbers = fields.get("numbers").and_then(Value::as_array);
            if numbers.is_some_and(|all| all.iter().any(|number| number["value"].is_number())) {
                found.push(path.to_owned());
            }
            fields.iter().for_each(|(name, field)| texts(field, &format!("{path}/{name}"), found));
        }
        _ => {}
    }
}

/// Puts other characters in the place of a number, in the text and in its span.
fn print(text: &mut Value, place: usize, new: &str) {
    let number = text["numbers"][place].clone();
    let at = number["at"].as_u64().expect("at") as usize;
    let length = number["text"].as_str().expect("text").chars().count();
    let letters: Vec<char> = text["text"].as_str().expect("text").chars().collect();
    let before: String = letters[..at].iter().collect();
    let after: String = letters[at + length..].iter().collect();
    text["text"] = json!(format!("{before}{new}{after}"));
    text["numbers"][place]["text"] = json!(new);
    let moved = new.chars().count() as i64 - length as i64;
    for later in text["numbers"].as_array_mut().expect("numbers").iter_mut().skip(place + 1) {
        later["at"] = json!(later["at"].as_i64().expect("at") + moved);
    }
}

/// A digit of a printed number changed.
fn another_digit(printed: &str, random: &mut Random) -> String {
    let places: Vec<usize> =
        printed.char_indices().filter(|(_, letter)| letter.is_ascii_digit()).map(|one| one.0).collect();
    let place = places[random.below(places.len())];
    let digit = printed[place..].chars().next().and_then(|digit| digit.to_digit(10)).unwrap_or(0);
    let new = (digit + 1 + random.below(8) as u32) % 10;
    format!("{}{new}{}", &printed[..place], &printed[place + 1..])
}

/// A contradiction in one number; `None` where this number cannot have it.
pub fn plant(json: &Value, random: &mut Random) -> Option<(Value, String)> {
    let mut paths = Vec::new();
    texts(json, "", &mut paths);
    let path = &paths[random.below(paths.len())];
    let mut planted = json.clone();
    let text = planted.pointer_mut(path)?;
    let with_value: Vec<usize> = text["numbers"]
        .as_array()?
        .iter()
        .enumerate()
        .filter(|(_, number)| number["value"].is_number())
        .map(|one| one.0)
        .collect();
    let place = with_value[random.below(with_value.len())];
    let number = text["numbers"][place].clone();
    let (printed, value) = (number["text"].as_str()?.to_owned(), number["value"].as_f64()?);
    let from = number["from"].as_str()?.to_owned();
    let page = from.starts_with("page:");
    let what = match random.below(12) {
        0 if !page && value != 0.0 => {
            text["numbers"][place]["value"] = json!(value * 1.01);
            "a value that is 1 % off"
        }
        1 => {
            let new = another_digit(&printed, random);
            print(text, place, &new);
            "another digit"
        }
        2 if value != 0.0 => {
            // Value and text agree with each other, and not with the source.
            if page {
                return None;
            }
            let new = another_digit(&printed, random);
            text["numbers"][place]["value"] = json!(value * 1.5 + 1.0);
            print(text, place, &new);
            "another value and another digit"
        }
        3 => {
            let unit = if number["unit"] == "ns" { "s" } else { "ns" };
            text["numbers"][place]["unit"] = json!(unit);
            "another unit"
        }
        4 => {
            let new = if printed.contains(" µs") {
                printed.replace(" µs", " ms")
            } else if printed.contains(" ms") {
                printed.replace(" ms", " µs")
            } else if printed.contains("GB") {
                printed.replace("GB", "MB")
            } else if printed.contains("MB") {
                printed.replace("MB", "GB")
            } else {
                return None;
            };
            print(text, place, &new);
            "the unit of the text"
        }
        5 => {
            let digits: String = printed.chars().filter(char::is_ascii_digit).collect();
            if digits.trim_matches('0').is_empty() || printed.contains('/') || printed.contains('⁶') {
                return None;
            }
            let start = printed.find(|c: char| c.is_ascii_digit())?;
            let end = printed[start..]
                .find(|c: char| !(c.is_ascii_digit() || matches!(c, ',' | '.')))
                .map_or(printed.len(), |end| start + end);
            let plain: f64 = printed[start..end].replace(',', "").parse().ok()?;
            let new = format!("{}{}{}", &printed[..start], plain * 10.0, &printed[end..]);
            print(text, place, &new);
            "off by ten times"
        }
        6 => {
            text["numbers"].as_array_mut()?.remove(place);
            "a number without its source"
        }
        7 => {
            text["numbers"][place]["from"] = json!("");
            "an empty source"
        }
        8 => {
            // The number of another case or field, with its value and its text: right by itself, and not what is said here.
            let other = another(json, &from, value, number["unit"].as_str()?, random)?;
            text["numbers"][place]["from"] = other["from"].clone();
            text["numbers"][place]["value"] = other["value"].clone();
            "the source and the value of another number under the old text"
        }
        9 => {
            let other = another(json, &from, value, number["unit"].as_str()?, random)?;
            text["numbers"][place]["from"] = other["from"].clone();
            "the source of another number"
        }
        10 => {
            let new = format!("{} 17", text["text"].as_str()?);
            text["text"] = json!(new);
            "a number added"
        }
        _ => {
            let at = number["at"].as_u64()?;
            text["numbers"][place]["at"] = json!(at + 1);
            "a span that is moved"
        }
    };
    Some((planted, format!("{what}: “{printed}” ({from}) at {path}")))
}

/// A number of the same unit with another value, printed otherwise.
fn another(json: &Value, from: &str, value: f64, unit: &str, random: &mut Random) -> Option<Value> {
    let mut paths = Vec::new();
    texts(json, "", &mut paths);
    for _ in 0..200 {
        let text = json.pointer(&paths[random.below(paths.len())])?;
        let numbers = text["numbers"].as_array()?;
        let number = &numbers[random.below(numbers.len())];
        let Some(other) = number["value"].as_f64() else { continue };
        let is_far = (other - value).abs() > 0.2 * value.abs().max(other.abs());
        if number["unit"] == unit && number["from"] != from && is_far {
            return Some(number.clone());
        }
    }
    None
}

fn is_caught(reported: &Reported, json: &Value) -> bool {
    !report_check::check(&reported.run, json).is_empty()
}

/// Proves that a hundred contradictions planted at random in real reports are all caught. `ARRAYLAB_SEED` plants others.
#[test]
fn planted_contradictions_are_caught() {
    let seed = std::env::var("ARRAYLAB_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(1);
    let mut random = Random(seed);
    let mut planted = 0;
    let mut missed = Vec::new();
    while planted < PLANTED {
        let reported = &samples()[planted % samples().len()];
        let Some((json, what)) = plant(&reported.json, &mut random) else { continue };
        planted += 1;
        if !is_caught(reported, &json) {
            missed.push(format!("{}: {what}", reported.name));
        }
    }
    assert!(missed.is_empty(), "{} of {planted} missed:\n{}", missed.len(), missed.join("\n"));
}

/// The text of the first sentence with this beginning.
pub fn sentence<'j>(json: &'j mut Value, start: &str) -> &'j mut Value {
    let sentences = json["sentences"].as_array_mut().expect("sentences");
    let is_it = |one: &&mut Value| one["text"].as_str().is_some_and(|text| text.starts_with(start));
    sentences.iter_mut().find(is_it).unwrap_or_else(|| panic!("no sentence begins with {start}"))
}

fn tile<'j>(json: &'j mut Value, label: &str) -> &'j mut Value {
    let tiles = json["tiles"].as_array_mut().expect("tiles");
    tiles.iter_mut().find(|tile| tile["label"] == label).expect("the tile")
}

pub fn table<'j>(json: &'j mut Value, id: &str) -> &'j mut Value {
    let tables = json["tables"].as_array_mut().expect("tables");
    tables.iter_mut().find(|table| table["id"] == id).unwrap_or_else(|| panic!("no table {id}"))
}

/// Proves that contradictions which are right by themselves are caught: a number that its source gives, said of something else.
#[test]
fn coherent_contradictions_are_caught() {
    type Plant = fn(&mut Value);
    let planted: [(usize, &str, Plant); 20] = [
        (0, "the lowest latency is that of another case", |json| {
            let other =
                tile(json, "Peak bandwidth")["value"]["numbers"][0]["from"].as_str().unwrap().to_owned();
            let from = other.replace("bw_bytes_per_s", "mean_latency_ns");
            let value = json["findings"]
                .as_array()
                .unwrap()
                .iter()
                .find(|finding| {
                    from == format!("finding:{}/mean_latency_ns", finding["id"].as_str().unwrap())
                })
                .unwrap()["mean_latency_ns"]
                .clone();
            let number = &mut tile(json, "Lowest mean latency")["value"];
            let printed = format!("{:.0} µs", value.as_f64().unwrap() / 1e3);
            print(number, 0, &printed);
            number["numbers"][0]["from"] = json!(from);
            number["numbers"][0]["value"] = value;
        }),
        (0, "a tile of one direction", |json| {
            let number = &mut tile(json, "Lowest mean latency")["value"]["numbers"][0];
            let from = number["from"].as_str().unwrap().replace("mean_latency_ns", "read.mean_latency_ns");
            number["from"] = json!(from);
        }),
        (0, "the verdict", |json| json["verdict"] = json!("fail")),
        (1, "a verdict without requirements", |json| json["verdict"] = json!("pass")),
        (0, "a requirement that fails is kept", |json| {
            table(json, "required")["rows"][0][0]["text"] = json!("✗ FAIL");
        }),
        (0, "two rows of results change places in part", |json| {
            let rows = table(json, "stage-block-size-results")["rows"].as_array_mut().unwrap();
            let (a, b) = (rows[0][2].clone(), rows[3][2].clone());
            rows[0][2] = b;
            rows[3][2] = a;
        }),
        (1, "reads stand under writes", |json| {
            let results = table(json, "stage-peak-4k-results");
            let columns: Vec<String> = results["columns"]
                .as_array()
                .unwrap()
                .iter()
                .map(|column| column["text"].as_str().unwrap().to_owned())
                .collect();
            let place = |title: &str| columns.iter().position(|column| column == title).unwrap();
            let (read, write) = (place("Read mean (ms)"), place("Write mean (ms)"));
            results["rows"][0][write] = results["rows"][0][read].clone();
        }),
        (1, "published and measured are of two cases", |json| {
            let rows = table(json, "published")["rows"].as_array_mut().unwrap();
            let (a, b) = (rows[3][3].clone(), rows[6][3].clone());
            rows[3][3] = b;
            rows[6][3] = a;
        }),
        (1, "the sign of a difference", |json| {
            let rows = table(json, "published")["rows"].as_array_mut().unwrap();
            let cell = &mut rows[3][4];
            let old = cell["numbers"][0]["text"].as_str().unwrap().to_owned();
            let new = if old.starts_with('+') { old.replace('+', "−") } else { old.replace('−', "+") };
            print(cell, 0, &new);
        }),
        (1, "a declared figure of another declaration", |json| {
            let rows = table(json, "declared")["rows"].as_array_mut().unwrap();
            let other = rows[1][1].clone();
            rows[0][1] = other;
        }),
        (0, "the peak is said of another case", |json| {
            let peak = sentence(json, "At most")["numbers"].clone();
            let lowest = sentence(json, "The lowest mean latency");
            for (own, other) in lowest["numbers"]
                .as_array_mut()
                .unwrap()
                .iter_mut()
                .skip(1)
                .zip(peak.as_array().unwrap().iter().skip(2))
            {
                own["from"] = other["from"].clone();
                own["value"] = other["value"].clone();
            }
        }),
        (0, "a finding and its number are changed together", |json| {
            let from = sentence(json, "At most")["numbers"][0]["from"].as_str().unwrap().to_owned();
            let id = from.trim_start_matches("finding:").trim_end_matches("/iops").to_owned();
            for finding in json["findings"].as_array_mut().unwrap() {
                if finding["id"] == json!(id) {
                    finding["iops"] = json!(1_300_000.0);
                }
            }
            let text = sentence(json, "At most");
            text["numbers"][0]["value"] = json!(1_300_000.0);
            print(text, 0, "1,300,000 IOPS");
        }),
        (0, "the words about a number are changed", |json| {
            let text = sentence(json, "The lowest mean latency");
            let new = text["text"].as_str().unwrap().replace("lowest mean", "lowest p99");
            text["text"] = json!(new);
        }),
        (0, "a percentile is called the mean", |json| {
            let results = table(json, "stage-mixed-results");
            let columns = results["columns"].as_array_mut().unwrap();
            let (mean, p99) = (
                columns.iter().position(|column| column["text"] == "Read mean (ms)").unwrap(),
                columns.iter().position(|column| column["text"] == "Read p99 (ms)").unwrap(),
            );
            columns.swap(mean, p99);
        }),
        (2, "an event is said to have done nothing", |json| {
            for finding in json["findings"].as_array_mut().unwrap() {
                if finding["kind"] == "disruption" {
                    finding["dips"] = json!([]);
                    finding["latency_bumps"] = json!([]);
                    finding["iops_percent"] = json!(100.0);
                }
            }
        }),
        (2, "a claim rests on another number, in all places", |json| {
            let cell = &mut table(json, "claims")["rows"][0][3];
            let (old, value) =
                (cell["text"].as_str().unwrap().to_owned(), cell["numbers"][0]["value"].clone());
            cell["numbers"][0]["value"] = json!(value.as_f64().unwrap() / 2.0);
            let printed = cell["numbers"][0]["text"].as_str().unwrap().to_owned();
            let half: f64 = printed.split(' ').next().unwrap().parse::<f64>().unwrap() / 2.0;
            print(cell, 0, &printed.replace(printed.split(' ').next().unwrap(), &format!("{half:.3}")));
            let new = cell["text"].as_str().unwrap().to_owned();
            for claim in json["claims"].as_array_mut().unwrap() {
                let because = claim["because"].as_str().unwrap().to_owned();
                if old.starts_with(&because) {
                    claim["because"] = json!(new);
                }
            }
        }),
        (2, "a claim quotes its reason whole", |json| {
            let cell = &mut table(json, "claims")["rows"][0][3];
            let text = cell["text"].clone();
            cell["numbers"] = json!([{"text": text, "value": null, "unit": "name", "at": 0, "from": "quote:claim/S1/because"}]);
        }),
        (2, "a claim's ratio is that of two others", |json| {
            let cell = &mut table(json, "claims")["rows"][1][3];
            let numbers = cell["numbers"].as_array_mut().unwrap();
            let from = numbers[0]["from"].as_str().unwrap().to_owned();
            numbers[2]["from"] = json!(format!("ratio({from};{from})"));
        }),
        (1, "a number of the plan that does not stand there", |json| {
            let rows = table(json, "claims")["rows"].as_array_mut().unwrap();
            let share = rows.iter_mut().flat_map(|row| row[3]["numbers"].as_array_mut().unwrap());
            let number = share
                .into_iter()
                .find(|number| number["from"].as_str().unwrap().contains("literal:"))
                .expect("a number made of a literal");
            let from = number["from"].as_str().unwrap().replace("literal:", "literal:1");
            number["from"] = json!(from);
        }),
        (0, "a sentence that nobody knows", |json| {
            let text = sentence(json, "The lowest mean latency");
            let new = text["text"].as_str().unwrap().replace("The lowest mean", "Never above a mean");
            text["text"] = json!(new);
            let moved =
                "Never above a mean".chars().count() as i64 - "The lowest mean".chars().count() as i64;
            for number in text["numbers"].as_array_mut().unwrap() {
                number["at"] = json!(number["at"].as_i64().unwrap() + moved);
            }
        }),
    ];
    for (place, what, plant) in planted {
        let reported = &samples()[place];
        let mut json = reported.json.clone();
        plant(&mut json);
        assert_ne!(json, reported.json, "{what}: nothing was planted");
        assert!(is_caught(reported, &json), "{what} was missed");
    }
}

/// Proves that a limit cannot be called not applicable where the array has the part, nor not shown where it has none.
#[test]
fn limits_that_apply_are_told_from_others() {
    let stages = ["--stage", "peak", "--stage", "node-lost", "--stage", "controller-lost"];
    let arguments = [&stages[..], SHORT].concat();
    for (twin, own, other) in [
        ("composite-flash", "– not applicable", "– not shown"),
        ("nas-raid5", "– not shown", "– not applicable"),
    ] {
        let reported = reported("purchase", twin, &arguments);
        assert!(!is_caught(&reported, &reported.json), "{twin}");
        let mut json = reported.json.clone();
        let rows = table(&mut json, "required")["rows"].as_array_mut().expect("rows");
        let is_left_out =
            |row: &&mut Value| row[7]["text"].as_str().is_some_and(|why| why.contains("left out"));
        let row =
            rows.iter_mut().filter(is_left_out).find(|row| row[0]["text"] == own).expect("such a limit");
        row[0]["text"] = json!(other);
        assert!(is_caught(&reported, &json), "{twin}: {other} was missed");
    }
}

/// Proves that a case is not said to be short of load where another case of its stage with another depth does as many I/Os.
#[test]
fn limits_that_other_cases_deny_are_caught() {
    let reads =
        ["--stage", "patterns", "--only", "layout=raid6", "--only", "rw=read", "--set", "runtime=0.5"];
    let reported = reported("e2700", "e2700", &[&reads[..], &["--set", "ramp_time=0.1"]].concat());
    let mut json = reported.json.clone();
    let is_shown_by_another = |finding: &&mut Value| {
        let because = finding["because"].as_str().unwrap_or_default();
        finding["kind"] == "limit" && because.matches(" do ").count() == 2
    };
    let findings = json["findings"].as_array_mut().expect("findings");
    let finding = findings.iter_mut().find(is_shown_by_another).expect("a limit that another depth shows");
    finding["by"] = json!("concurrency");
    let id = finding["id"].as_str().expect("an id").to_owned();
    let found = report_check::check(&reported.run, &json);
    let is_it = |one: &String| one.contains(&id) && one.contains("more I/Os would do more, though");
    assert!(found.iter().map(ToString::to_string).any(|one| is_it(&one)), "{id} was missed");
}

/// Proves that each level about a write cliff is recomputed: one that is 1 % off is caught, of the first fall, a further one, the
/// recovery between them, and what is sustained.
#[test]
fn levels_about_falls_are_recomputed() {
    let waits = ["--stage", "settle", "--stage", "wait-5", "--set", "runtime=0.1", "--set", "ramp_time=0"];
    let reported = reported("snia-host-idle-recovery", "nas-raid5", &waits);
    assert!(!is_caught(&reported, &reported.json));
    let findings = reported.json["findings"].as_array().expect("findings");
    let falls_again =
        |finding: &Value| finding["kind"] == "write-cliff" && finding["further_falls"][0].is_object();
    let place = findings.iter().position(falls_again).expect("a write cliff that comes again");
    for path in [
        "before/iops",
        "after/bw_bytes_per_s",
        "further_falls/0/before/iops",
        "further_falls/0/after/iops",
        "recovery/to/iops",
        "sustained/bw_bytes_per_s",
    ] {
        let mut json = reported.json.clone();
        let level = json.pointer_mut(&format!("/findings/{place}/{path}")).expect(path);
        *level = json!(level.as_f64().expect(path) * 1.01);
        let found = report_check::check(&reported.run, &json);
        let named = path.replace('/', ".");
        assert!(found.iter().any(|one| one.to_string().contains(&named)), "{path} was missed");
    }
}

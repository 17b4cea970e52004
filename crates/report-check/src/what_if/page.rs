//! First page of the report: every sentence, row and head is one that the answers give, and none is left out.

use super::answers::{Answer, Answers};
use crate::Findings;
use serde_json::Value;

/// Word for a figure that does not exist.
const NONE: &str = "–";
/// Source of one.
const WHOLE: &str = "constant:whole";

/// Text with `{}` in the place of each number, and the sources of those.
#[derive(Debug, Clone, Default, PartialEq)]
struct Text {
    words: String,
    from: Vec<String>,
}

impl Text {
    fn of(words: &str, from: &[String]) -> Text {
        Text { words: words.to_owned(), from: from.to_vec() }
    }

    /// A text of the report.
    fn read(text: &Value) -> Text {
        let letters: Vec<char> = text["text"].as_str().unwrap_or_default().chars().collect();
        let mut read = Text::default();
        let mut next = 0;
        for number in text["numbers"].as_array().into_iter().flatten() {
            let at = number["at"].as_u64().unwrap_or(0) as usize;
            let length = number["text"].as_str().unwrap_or_default().chars().count();
            let end = (at + length).min(letters.len());
            read.words.extend(&letters[next.min(at).min(end)..at.min(end)]);
            read.words.push_str("{}");
            read.from.push(number["from"].as_str().unwrap_or_default().to_owned());
            next = end;
        }
        read.words.extend(&letters[next..]);
        read
    }

    fn then(mut self, other: Text) -> Text {
        self.words.push_str(&other.words);
        self.from.extend(other.from);
        self
    }

    fn words(self, words: &str) -> Text {
        self.then(Text::of(words, &[]))
    }

    /// The first letter as a sentence has it.
    fn capitalised(mut self) -> Text {
        let mut letters = self.words.chars();
        if let Some(first) = letters.next() {
            self.words = first.to_uppercase().chain(letters).collect();
        }
        self
    }
}

/// A text repeated word for word: a number with a source where it has a digit.
fn quoted(text: &str, from: &str) -> Text {
    if text.contains(|letter: char| letter.is_ascii_digit()) {
        Text::of("{}", &[from.to_owned()])
    } else {
        Text::of(text, &[])
    }
}

fn p99() -> Text {
    Text::of("{}", &["name:percentile".to_owned()])
}

fn source(answer: &Answer<'_>, path: &str) -> String {
    format!("what-if:{}/{path}", answer.number)
}

fn value(answer: &Answer<'_>, path: &str) -> Text {
    Text::of("{}", &[source(answer, path)])
}

fn ranged(answer: &Answer<'_>, path: &str, range: &str) -> Text {
    let ends = [0, 1].map(|end| source(answer, &format!("{range}.{end}")));
    value(answer, path).then(Text::of(" ({} to {})", &ends))
}

/// One rate over another, less one.
fn gain(above: &str, below: &str) -> Text {
    Text::of("{}", &[format!("difference(ratio({above};{below});{WHOLE})")])
}

fn change(answer: &Answer<'_>) -> Text {
    if !answer.is_step() {
        return quoted(&answer.own_name(), "quote:event");
    }
    let mut whole = Text::default();
    for (place, (part, _)) in answer.fields("change").enumerate() {
        let factor = value(answer, &format!("change.{part}")).words(&format!(" × {part}"));
        whole = if place == 0 { factor } else { whole.words(", ").then(factor) };
    }
    whole
}

fn limit_words(answer: &Answer<'_>) -> String {
    match answer.text("limit") {
        "rate" => "the load asks for no more".to_owned(),
        "concurrency" => "no part is full, more I/Os at once would do more".to_owned(),
        part => format!("limit: {part}"),
    }
}

/// Every part of the page.
pub fn check(found: &mut Findings, answers: &Answers<'_>, report: &Value) {
    let Some(first) = answers.rows.first() else { return };
    let parts = [
        ("what-if-question", question(answers)),
        ("what-if-caution", caution(answers, first)),
        ("what-if-answer", sentences(answers, first)),
        ("what-if-step", steps(answers, first)),
        ("what-if-basis", basis(answers, first)),
    ];
    let all = report["sentences"].as_array().map(Vec::as_slice).unwrap_or_default();
    for (part, expected) in parts {
        let own: Vec<Text> = all.iter().filter(|one| one["part"] == part).map(Text::read).collect();
        compare(found, part, &own, &expected);
    }
    let of_test = |part: &str| all.iter().any(|one| one["part"] == part);
    let has_tiles = report["tiles"].as_array().is_some_and(|tiles| !tiles.is_empty());
    if of_test("found") || of_test("in-short") || has_tiles {
        found.add("found", "simulations behind the answers are taken for results of a test");
    }
    let mut tables = vec![effects(answers, first), gains(answers, first)];
    if !answers.steps.is_empty() {
        tables.push(walk(answers));
    }
    let own = report["tables"].as_array().into_iter().flatten();
    let own: Vec<&Value> =
        own.filter(|table| super::is_own_table(table["id"].as_str().unwrap_or_default())).collect();
    if own.len() != tables.len() {
        found.add("tables", format!("{} tables of answers, not {}", own.len(), tables.len()));
    }
    for (id, rows) in tables {
        let Some(table) = own.iter().find(|table| table["id"] == id) else {
            found.add("tables", format!("no table {id}"));
            continue;
        };
        let heads = table["columns"].as_array().into_iter().flatten();
        let mut lines: Vec<Vec<Text>> = vec![heads.map(Text::read).collect()];
        let cells = |row: &Value| row.as_array().into_iter().flatten().map(Text::read).collect();
        lines.extend(table["rows"].as_array().into_iter().flatten().map(cells));
        if lines.len() != rows.len() {
            found.add(id, format!("{} lines, not {}", lines.len(), rows.len()));
        }
        for (own, expected) in lines.iter().zip(&rows) {
            compare(found, id, own, expected);
        }
    }
}

/// Texts in their order.
fn compare(found: &mut Findings, place: &str, own: &[Text], expected: &[Text]) {
    if own.len() != expected.len() {
        found.add(place, format!("{} texts, not {}", own.len(), expected.len()));
    }
    for (own, expected) in own.iter().zip(expected) {
        if own != expected {
            found.add(
                place,
                format!("“{}” of {:?}, not “{}” of {:?}", own.words, own.from, expected.words, expected.from),
            );
        }
    }
}

fn question(answers: &Answers<'_>) -> Vec<Text> {
    let quote = |field: &str| {
        let text = answers.question[field].as_str().unwrap_or_default();
        quoted(text, &format!("quote:what-if/question/{field}"))
    };
    let mut lines =
        vec![Text::of("Array: ", &[]).then(quote("array")).words(". Load: ").then(quote("load")).words(".")];
    if answers.question["iops"].is_f64() || answers.question["iops"].is_u64() {
        lines.push(Text::of("The load asks for {} and no more.", &["what-if:question/iops".to_owned()]));
    }
    lines
}

fn is_assumed(first: &Answer<'_>) -> bool {
    first.text("model_error.iops.validated") == "assumed"
}

fn caution(answers: &Answers<'_>, first: &Answer<'_>) -> Vec<Text> {
    let name = quoted(answers.array(), "quote:what-if/question/array");
    let line = Text::of("Assumed parts only, do not sign on this: ", &[]).then(name).words(".");
    if is_assumed(first) { vec![line] } else { Vec::new() }
}

/// Returns true if two rates differ by no more than their sampling.
fn is_noise(one: &Answer<'_>, other: &Answer<'_>) -> bool {
    let rate = |answer: &Answer<'_>| answer.value("iops").unwrap_or(f64::NAN);
    let half = |answer: &Answer<'_>| answer.value("sampling_95").unwrap_or(f64::NAN) * rate(answer);
    (rate(one) - rate(other)).abs() <= half(one).hypot(half(other))
}

fn sentences(answers: &Answers<'_>, first: &Answer<'_>) -> Vec<Text> {
    let own = quoted(answers.array(), "quote:what-if/question/array")
        .words(" as it is: ")
        .then(ranged(first, "iops", "iops_95"))
        .words(", mean latency ")
        .then(value(first, "latency_ns.mean"))
        .words(", ")
        .then(p99())
        .words(" ")
        .then(value(first, "latency_ns.p99"))
        .words(&format!("; {}.", limit_words(first)));
    let changed = answers.rows[1..].iter().map(|row| {
        let noise = if is_noise(row, first) { ", no more than sampling gives" } else { "" };
        let gained = match first.value("iops") {
            Some(rate) if rate > 0.0 => gain(&source(row, "iops"), &source(first, "iops")),
            _ => Text::of("nothing was done before", &[]),
        };
        let instead = |path: &str| value(row, path).words(" instead of ").then(value(first, path));
        Text::of("With ", &[])
            .then(change(row))
            .words(": ")
            .then(value(row, "iops"))
            .words(" (")
            .then(gained)
            .words(noise)
            .words("), mean latency ")
            .then(instead("latency_ns.mean"))
            .words(", ")
            .then(p99())
            .words(" ")
            .then(instead("latency_ns.p99"))
            .words(&format!("; {}.", limit_words(row)))
    });
    std::iter::once(own).chain(changed).collect()
}

fn of_step(step: &Answer<'_>) -> [Text; 2] {
    let doubled = source(step, "bottleneck.gain_of_doubling");
    [
        gain(&source(step, "iops"), &source(step, "bottleneck.iops_before")),
        Text::of("{}", &[format!("difference({doubled};{WHOLE})")]),
    ]
}

fn steps(answers: &Answers<'_>, first: &Answer<'_>) -> Vec<Text> {
    if answers.question["find_bottleneck"] != true {
        return Vec::new();
    }
    if answers.steps.is_empty() {
        let line = format!("A quarter more of no part gains anything worth a step: {}.", limit_words(first));
        return vec![Text::of(&line, &[])];
    }
    let line = |step: &Answer<'_>| {
        let [gained, doubled] = of_step(step);
        Text::of(&format!("{}: a quarter more gains ", step.text("bottleneck.part")), &[])
            .then(gained)
            .words(" (from ")
            .then(value(step, "bottleneck.iops_before"))
            .words(" to ")
            .then(value(step, "iops"))
            .words("), twice as much ")
            .then(doubled)
            .words(&format!(" (predicted); then {}.", limit_words(step)))
            .capitalised()
    };
    answers.steps.iter().map(line).collect()
}

fn basis(answers: &Answers<'_>, first: &Answer<'_>) -> Vec<Text> {
    let mut lines = Vec::new();
    if is_assumed(first) {
        lines.push(Text::of(
            "Assumed parts only: no published row validates this array. Do not sign on this.",
            &[],
        ));
    }
    lines.extend(errors(first, ""));
    let changed = answers.rows.get(1).or(answers.steps.first());
    if let Some(changed) = changed.filter(|one| one.text("validated") == "fitted") {
        lines.extend(errors(changed, ", changed"));
    }
    if answers.all().any(|answer| answer.data["links_bytes_per_s"].is_number()) {
        lines.push(Text::of("Ranges of rates end at the line rate of the links.", &[]));
    }
    if answers.rows.len() > 1 {
        lines.push(Text::of(
            "Each range is of one answer alone. Answers about one array share most of the model's error: their difference is known better than \
             their ranges suggest.",
            &[],
        ));
    }
    for (by_load, text) in [
        (false, "Drives begin as after hours of random writes; --change condition=fresh shows new ones."),
        (
            true,
            "Drives begin as after many passes of these writes; --change condition=steady shows them after random writes all over.",
        ),
    ] {
        let began = |data: &Value| {
            data["drives_began_steady"] == true && (data["drives_preconditioned_by_load"] == true) == by_load
        };
        if answers.rows.iter().any(|row| began(row.data)) {
            lines.push(Text::of(text, &[]));
        }
    }
    let are_warm = |key: &str| answers.all().any(|answer| answer.data[key] == true);
    let caches = match ["read_caches_began_warm", "write_caches_began_warm"].map(are_warm) {
        [true, true] => "Read and write caches",
        [true, false] => "Read caches",
        [false, true] => "Write caches",
        [false, false] => "",
    };
    if !caches.is_empty() {
        lines.push(Text::of(
            &format!("{caches} begin as after hours of the load; `arraylab run` shows how they fill."),
            &[],
        ));
    }
    for answer in answers.all().filter(|answer| answer.data["is_steady"] != true) {
        let counted = Text::of(
            ": the level still changed, or a cache still filled, when the simulation ended ({} counted).",
            &[source(answer, "counted_s")],
        );
        lines.push(change(answer).then(counted));
    }
    let not_known = answers.question["not_known"].as_array().into_iter().flatten();
    for text in not_known.filter_map(Value::as_str) {
        lines.push(
            Text::of("Of the load: ", &[]).then(quoted(text, "quote:what-if/question/not_known")).words("."),
        );
    }
    lines
}

/// Errors of the model, by what they rest on.
fn errors(answer: &Answer<'_>, ending: &str) -> Vec<Text> {
    let line = |(field, name): (&str, &str)| {
        let from = match answer.text(&format!("model_error.{field}.validated")) {
            "unseen" => "by the worst published row of this array, with rows that no fit has seen",
            "fitted" if !ending.is_empty() => {
                "by twice the worst published row of the healthy array as it ships"
            }
            "fitted" => "by the worst published row that this array was fitted to",
            _ => "by convention, as no published row has it",
        };
        let ends = ["over", "under"].map(|end| source(answer, &format!("model_error.{field}.{end}")));
        Text::of(&format!("{name}{ending}: simulated up to {{}} too high or {{}} too low, {from}."), &ends)
    };
    [("iops", "Rates"), ("mean", "Mean latency"), ("p99", "Percentiles")].into_iter().map(line).collect()
}

/// Lines of a table, the head first.
type Lines = (&'static str, Vec<Vec<Text>>);

fn head(names: &[&str]) -> Vec<Text> {
    names.iter().map(|name| Text::of(name, &[])).collect()
}

fn effects(answers: &Answers<'_>, first: &Answer<'_>) -> Lines {
    let mut heads = head(&["Change", "Rate", "Gain", "Bandwidth", "Mean latency"]);
    heads.extend([p99().words(" latency"), Text::of("Limit", &[])]);
    let row = |row: &Answer<'_>| {
        let is_changed = row.own_name() != first.own_name();
        let has_gain = is_changed && first.value("iops").is_some_and(|rate| rate > 0.0);
        let gained = match has_gain {
            true => gain(&source(row, "iops"), &source(first, "iops")),
            false => Text::of(NONE, &[]),
        };
        vec![
            change(row),
            ranged(row, "iops", "iops_95"),
            gained,
            value(row, "bw_bytes_per_s"),
            ranged(row, "latency_ns.mean", "latency_ns.mean_95"),
            ranged(row, "latency_ns.p99", "latency_ns.p99_95"),
            Text::of(row.text("limit"), &[]),
        ]
    };
    ("what-if-effects", std::iter::once(heads).chain(answers.rows.iter().map(row)).collect())
}

fn gains(answers: &Answers<'_>, first: &Answer<'_>) -> Lines {
    let parts: Vec<&str> = first.fields("more").map(|(part, _)| part.as_str()).collect();
    let heads = head(&["Change"]).into_iter().chain(head(&parts)).collect();
    let row = |row: &Answer<'_>| {
        let of = |part: &&str| {
            let path = format!("more.{part}.gain");
            row.value(&path).map_or_else(|| Text::of(NONE, &[]), |_| value(row, &path))
        };
        std::iter::once(change(row)).chain(parts.iter().map(of)).collect()
    };
    ("what-if-gains", std::iter::once(heads).chain(answers.rows.iter().map(row)).collect())
}

fn walk(answers: &Answers<'_>) -> Lines {
    let heads = head(&[
        "Part",
        "The array then has",
        "Rate before",
        "Rate after (range)",
        "Gain",
        "Twice of it (predicted)",
        "Limit then",
    ]);
    let row = |step: &Answer<'_>| {
        let [gained, doubled] = of_step(step);
        vec![
            Text::of(step.text("bottleneck.part"), &[]),
            change(step),
            value(step, "bottleneck.iops_before"),
            ranged(step, "iops", "iops_95"),
            gained,
            doubled,
            Text::of(step.text("limit"), &[]),
        ]
    };
    ("what-if-walk", std::iter::once(heads).chain(answers.steps.iter().map(row)).collect())
}

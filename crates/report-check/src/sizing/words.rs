//! Sentences of a sizing run's first page, each as its answers give it.

use super::answers::{Answer, Answers};
use crate::Findings;
use serde_json::Value;

/// States in their words after `also` and after a verdict.
const STATES: [(&str, &str, &str); 6] = [
    ("drive-lost", "with one drive lost", "one drive lost"),
    ("rebuilding", "while a drive is rebuilt", "a drive being rebuilt"),
    ("controller-lost", "with one controller lost", "one controller lost"),
    ("node-lost", "with one node lost", "one node lost"),
    ("cache-off", "with the write cache off", "write cache off"),
    ("full", "with data over all of its capacity", "data over all of its capacity"),
];

/// Words of a state after a verdict.
pub fn of_state(state: &str) -> &'static str {
    STATES.iter().find(|one| one.0 == state).map_or("healthy", |one| one.2)
}

/// Words of a verdict in a table.
pub fn of_verdict(verdict: &str) -> &'static str {
    match verdict {
        "meets" => "✓ meets",
        "too-close-to-call" => "≈ too close to call",
        "fails" => "✗ fails",
        "not-modelled" => "– not modelled",
        _ => "– not shown",
    }
}

/// Words of a measure: `read p99.9`.
pub fn of_measure(measure: &str) -> String {
    match measure.split_once('.') {
        Some((side @ ("read" | "write"), rest)) => format!("{side} {rest}"),
        _ => measure.to_owned(),
    }
}

/// Every sentence of the page is one that the answers give, and none is left out.
pub fn check(found: &mut Findings, answers: &Answers<'_>, report: &Value) {
    let all = report["sentences"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of_part = |part: &str| -> Vec<&str> {
        let own = all.iter().filter(|one| one["part"] == part);
        own.map(|one| one["text"].as_str().unwrap_or_default()).collect()
    };
    let shown = shown(answers);
    let answers_of = |name: &&str| -> Vec<Answer<'_>> { answers.of_name(name).copied().collect() };
    let expected: Vec<(&str, Vec<String>)> = vec![
        ("sizing-question", question(answers)),
        ("sizing-caution", caution(answers, &shown)),
        ("sizing-ranking", ranking(answers)),
        ("sizing-designs", designs(answers)),
        ("sizing-answer", shown.iter().map(|name| sentence(answers, &answers_of(name))).collect()),
        ("sizing-reason", shown.iter().flat_map(|name| reasons(&answers_of(name))).collect()),
        ("sizing-basis", shown.iter().flat_map(|name| basis(answers, &answers_of(name))).collect()),
    ];
    for (part, expected) in expected {
        let own = of_part(part);
        for text in &own {
            if !expected.iter().any(|one| one == text) {
                found.add(part, format!("a sentence that no answer gives: “{text}”"));
            }
        }
        for text in &expected {
            if own.iter().filter(|one| *one == text).count()
                != expected.iter().filter(|one| *one == text).count()
            {
                found.add(part, format!("not in it as often as it is so: “{text}”"));
            }
        }
    }
    let conclusions =
        of_part("found").len() + of_part("in-short").len() + report["tiles"].as_array().map_or(0, Vec::len);
    if conclusions > 0 {
        found.add("found", "loads that were tried are taken for results of a test");
    }
}

/// Designs with a block of their own.
fn shown<'a>(answers: &Answers<'a>) -> Vec<&'a str> {
    if !answers.is_space() {
        return answers.names();
    }
    let mut front: Vec<Answer<'a>> = answers.searched().into_iter().filter(Answer::is_front).collect();
    let number = |answer: &Answer<'_>, path: &str| answer.number(path).unwrap_or(0.0);
    let cost = answers.cost_field();
    front.sort_by(|a, b| {
        number(a, cost)
            .total_cmp(&number(b, cost))
            .then(number(b, "headroom").total_cmp(&number(a, "headroom")))
    });
    front.iter().take(8).map(|answer| answer.name).collect()
}

fn question(answers: &Answers<'_>) -> Vec<String> {
    let data = &answers.question.data;
    let required = data["requirements"].as_array().into_iter().flatten();
    let required: Vec<&str> = required.filter_map(|one| one["text"].as_str()).collect();
    let workload = data["workload"].as_str().unwrap_or_default();
    let iops = crate::printed::rate(data["iops"].as_f64().unwrap_or(f64::NAN));
    let mut lines =
        vec![format!("Your load: {workload}, {iops} at its peak. Required: {}.", required.join(", "))];
    let growth = &answers.question.data["growth"];
    if let (Some(share), Some(years)) = (growth["per_year"].as_f64(), growth["years"].as_u64()) {
        lines.push(format!(
            "Growth: {:.0} % a year, for {}; the first year begins on the day of this run.",
            100.0 * share,
            years_text(years)
        ));
    }
    lines
}

fn years_text(years: u64) -> String {
    if years == 1 { "1 year".to_owned() } else { format!("{years} years") }
}

/// The answer about one design.
fn sentence(answers: &Answers<'_>, of_design: &[Answer<'_>]) -> String {
    let name = of_design.first().map_or("", |answer| answer.name);
    let healthy = of_design.iter().find(|answer| answer.state() == "healthy");
    let begins = match healthy.map(Answer::verdict) {
        Some("meets") => {
            format!("meets your load{}", healthy.map(|answer| until(answers, answer)).unwrap_or_default())
        }
        Some("too-close-to-call") => "is too close to call for your load".to_owned(),
        Some("fails") => "fails your load".to_owned(),
        Some("not-modelled") => "is not modelled for your load".to_owned(),
        Some(_) => "is not shown to meet your load".to_owned(),
        None => "was not looked at in its healthy state".to_owned(),
    };
    let mut text = format!("{name} {begins}");
    let others = |verdict: &'static str| {
        of_design.iter().filter(move |one| one.state() != "healthy" && one.verdict() == verdict)
    };
    let known = |answer: &Answer<'_>| STATES.iter().find(|one| one.0 == answer.state());
    let met: Vec<&str> = others("meets").filter_map(known).map(|one| one.1).collect();
    if let Some((last, before)) = met.split_last() {
        let is_met = healthy.is_some_and(|answer| answer.verdict() == "meets");
        text.push_str(if is_met { ", also " } else { "; meets it " });
        if !before.is_empty() {
            text.push_str(&format!("{} and ", before.join(", ")));
        }
        text.push_str(last);
    }
    let verdicts = [
        ("too-close-to-call", "too close to call"),
        ("fails", "fails"),
        ("not-shown", "not shown"),
        ("not-modelled", "not modelled"),
    ];
    for (verdict, words) in verdicts {
        let states: Vec<&str> = others(verdict).filter_map(known).map(|one| one.2).collect();
        if !states.is_empty() {
            text.push_str(&format!("; {words}: {}", states.join(", ")));
        }
    }
    text.push('.');
    text
}

/// Years until growth breaks the headroom.
fn until(answers: &Answers<'_>, answer: &Answer<'_>) -> String {
    let Some(years) = answers.question.data["growth"]["years"].as_u64() else { return String::new() };
    let year = |year: f64| answers.created_year + year - 1.0;
    let at_worst = |worst: Option<f64>| match worst {
        None => String::new(),
        Some(1.0) => " (at worst not through the first year)".to_owned(),
        Some(worst) => format!(" (at worst until {})", year(worst)),
    };
    let worst = answer.number("breaks_in_year_95.0");
    match answer.number("breaks_in_year") {
        Some(1.0) => " now, but not through the first year of growth".to_owned(),
        Some(breaks) => {
            format!(" until {}{}", year(breaks), at_worst(worst.filter(|worst| *worst < breaks)))
        }
        None => {
            let last = answers.created_year + years as f64;
            format!(" through {} of growth, until {last}{}", years_text(years), at_worst(worst))
        }
    }
}

/// Arrays that no published row validates.
fn caution(answers: &Answers<'_>, shown: &[&str]) -> Vec<String> {
    let is_assumed = |name: &&&str| {
        answers.of_name(name).next().is_some_and(|one| one.text("model_error.iops.validated") == "assumed")
    };
    let assumed: Vec<&str> = shown.iter().filter(is_assumed).copied().collect();
    match assumed[..] {
        [] => Vec::new(),
        _ => vec![format!("Assumed parts only, do not sign on this: {}.", assumed.join(", "))],
    }
}

/// Order of arrays whose ranges are apart, and pairs whose ranges are not.
fn ranking(answers: &Answers<'_>) -> Vec<String> {
    if answers.is_space() {
        return Vec::new();
    }
    let healthy: Vec<(&str, f64, f64)> = answers
        .all
        .iter()
        .filter(|answer| answer.state() == "healthy")
        .filter_map(|answer| {
            Some((answer.name, answer.number("headroom_95.0")?, answer.number("headroom_95.1")?))
        })
        .collect();
    let mut lines = Vec::new();
    for one in &healthy {
        let below: Vec<&str> = healthy.iter().filter(|other| one.1 > other.2).map(|other| other.0).collect();
        if !below.is_empty() {
            lines.push(format!(
                "{} carries more of your load than {}: their ranges are apart.",
                one.0,
                below.join(", ")
            ));
        }
    }
    for (place, one) in healthy.iter().enumerate() {
        let rest = &healthy[place + 1..];
        let same: Vec<&str> =
            rest.iter().filter(|other| one.1 <= other.2 && other.1 <= one.2).map(|other| other.0).collect();
        if !same.is_empty() {
            lines.push(format!(
                "Not ranked: {} and {}, whose ranges of headroom overlap.",
                one.0,
                same.join(", ")
            ));
        }
    }
    lines
}

fn designs(answers: &Answers<'_>) -> Vec<String> {
    let searched = answers.searched();
    if !answers.is_space() || searched.is_empty() {
        return Vec::new();
    }
    let left_out =
        answers.names().iter().filter(|name| answers.of_name(name).any(|one| one.is_left_out())).count();
    let mut lines = vec![format!(
        "Of {} designs {} are on the Pareto front: none that costs no more carries more.",
        answers.names().len(),
        searched.iter().filter(|one| one.is_front()).count(),
    )];
    if left_out > 0 {
        lines.push(format!(
            "Left out: {left_out}, as one that costs no more carries as much; `size.jsonl` gives the reasons."
        ));
    }
    if answers.cost_field() == "drives" {
        lines.push("The cost is the number of drives: not every part has a price.".to_owned());
    }
    lines
}

/// Reasons of verdicts that no figure gives.
fn reasons(of_design: &[Answer<'_>]) -> Vec<String> {
    let needs = of_design.iter().filter(|answer| {
        let has_headroom = answer.number("headroom").is_some_and(|times| times > 0.0);
        !has_headroom || matches!(answer.verdict(), "not-shown" | "too-close-to-call")
    });
    needs
        .filter(|answer| !answer.text("because").is_empty())
        .map(|answer| capitalised(&format!("{}: {}.", of_state(answer.state()), answer.text("because"))))
        .collect()
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Errors of the model, by what they rest on.
fn basis(answers: &Answers<'_>, of_design: &[Answer<'_>]) -> Vec<String> {
    let healthy = of_design.iter().find(|answer| !answer.is_degraded());
    let Some(answer) = healthy.or(of_design.first()) else { return Vec::new() };
    let mut lines = Vec::new();
    if answer.text("model_error.iops.validated") == "assumed" {
        lines.push(
            "Assumed parts only: no published row validates this array. Do not sign on this.".to_owned(),
        );
    }
    let mut quantities = vec![("model_error.iops".to_owned(), "Rates".to_owned())];
    let requirements = answers.question.data["requirements"].as_array().into_iter().flatten();
    quantities.extend(requirements.enumerate().map(|(place, one)| {
        let measure = of_measure(one["measure"].as_str().unwrap_or_default());
        (format!("model_error.required.{place}"), capitalised(&format!("latency, {measure}")))
    }));
    for (path, name) in quantities {
        let share = |end: &str| 100.0 * answer.number(&format!("{path}.{end}")).unwrap_or(f64::NAN);
        let from = match answer.text(&format!("{path}.validated")) {
            "unseen" => "by the worst published row of this array, with rows that no fit has seen",
            "fitted" if answer.has_design() || answer.is_degraded() => {
                "by twice the worst published row of the healthy array as it ships"
            }
            "fitted" => "by the worst published row that this array was fitted to",
            _ => "by convention, as no published row has it",
        };
        let (over, under) = (share("over"), share("under"));
        lines.push(format!("{name}: simulated up to {over:.1} % too high or {under:.1} % too low, {from}."));
    }
    if of_design.iter().any(|answer| answer.number("links_bytes_per_s").is_some()) {
        lines.push("Ranges of rates end at the line rate of the links.".to_owned());
    }
    let is_assumed = answer.text("model_error.iops.validated") == "assumed";
    if !is_assumed && healthy.is_some() && of_design.iter().any(Answer::is_degraded) {
        let line = "With a part lost or the cache off, errors of published rows count twice: none is of these states.";
        lines.push(line.to_owned());
    }
    lines
}

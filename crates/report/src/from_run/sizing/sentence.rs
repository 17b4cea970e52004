//! Answer about an array in one sentence, and the order of several arrays.

use super::answer::{Answer, Question};
use findings::{Cited, Unit, cited};

/// States beside the healthy one, in the words that follow `also` and those that follow a verdict.
const STATES: [(&str, &str, &str); 6] = [
    ("drive-lost", "with one drive lost", "one drive lost"),
    ("rebuilding", "while a drive is rebuilt", "a drive being rebuilt"),
    ("controller-lost", "with one controller lost", "one controller lost"),
    ("node-lost", "with one node lost", "one node lost"),
    ("cache-off", "with the write cache off", "write cache off"),
    ("full", "with data over all of its capacity", "data over all of its capacity"),
];

/// Words of a state after a verdict.
pub fn state_words(state: &str) -> &'static str {
    STATES.iter().find(|one| one.0 == state).map_or("healthy", |one| one.2)
}

/// States that an answer can be about.
pub fn all_states() -> impl Iterator<Item = (&'static str, &'static str)> {
    std::iter::once(("healthy", "healthy")).chain(STATES.iter().map(|one| (one.0, one.2)))
}

/// Verdict about one design: healthy first, then the other states.
pub fn of(question: &Question<'_>, answers: &[&Answer<'_>]) -> Cited {
    let name = answers.first().map(|answer| answer.cited_name()).unwrap_or_default();
    let healthy = answers.iter().find(|answer| answer.state() == "healthy");
    let mut text = match healthy.map(|answer| answer.verdict()) {
        Some("meets") => cited!("{} meets your load{}", name, until(question, healthy)),
        Some("too-close-to-call") => cited!("{} is too close to call for your load", name),
        Some("fails") => cited!("{} fails your load", name),
        Some("not-modelled") => cited!("{} is not modelled for your load", name),
        Some(_) => cited!("{} is not shown to meet your load", name),
        None => cited!("{} was not looked at in its healthy state", name),
    };
    let is_met = healthy.is_some_and(|answer| answer.verdict() == "meets");
    let of_verdict = |verdict: &str| -> Vec<(&'static str, &'static str)> {
        let is_its = |answer: &&&Answer<'_>| answer.verdict() == verdict && answer.state() != "healthy";
        let states = answers.iter().filter(is_its).map(|answer| answer.state());
        states
            .filter_map(|state| STATES.iter().find(|one| one.0 == state))
            .map(|one| (one.1, one.2))
            .collect()
    };
    let met: Vec<&str> = of_verdict("meets").iter().map(|words| words.0).collect();
    if !met.is_empty() {
        text.push(if is_met { ", also " } else { "; meets it " });
        text.push(Cited::words(in_words(&met)));
    }
    let others = [
        ("too-close-to-call", "; too close to call: "),
        ("fails", "; fails: "),
        ("not-shown", "; not shown: "),
        ("not-modelled", "; not modelled: "),
    ];
    for (verdict, words) in others {
        let states: Vec<&str> = of_verdict(verdict).iter().map(|words| words.1).collect();
        if !states.is_empty() {
            text.push(words);
            text.push(Cited::words(states.join(", ")));
        }
    }
    text.push(".");
    text
}

/// `a, b and c`.
fn in_words(all: &[&str]) -> String {
    match all {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// Time until growth breaks it, and at worst within the range.
fn until(question: &Question<'_>, healthy: Option<&&Answer<'_>>) -> Cited {
    let Some(years) = question.number("growth.years", Unit::Count) else { return Cited::default() };
    let Some(answer) = healthy else { return Cited::default() };
    let breaks = |path: &str| answer.number(path, Unit::Count);
    let worst = breaks("breaks_in_year_95.0");
    let Some(year) = breaks("breaks_in_year") else {
        let through = cited!(
            " through {} of growth, until {}",
            years.clone().count("year"),
            question.after_years(years)
        );
        return cited!("{}{}", through, at_worst(question, worst));
    };
    if year.value() <= 1.0 {
        return " now, but not through the first year of growth".into();
    }
    let worst = worst.filter(|worst| worst.value() < year.value());
    cited!(" until {}{}", question.before_year(&year), at_worst(question, worst))
}

fn at_worst(question: &Question<'_>, worst: Option<findings::Quantity>) -> Cited {
    match worst {
        None => Cited::default(),
        Some(year) if year.value() <= 1.0 => " (at worst not through the first year)".into(),
        Some(year) => cited!(" (at worst until {})", question.before_year(&year)),
    }
}

/// Order of several arrays by their headroom in the healthy state. Those whose ranges overlap are not ranked.
pub fn ranking(answers: &[Answer<'_>]) -> Vec<Cited> {
    let ranges: Vec<(&Answer<'_>, [f64; 2])> = answers
        .iter()
        .filter(|answer| answer.state() == "healthy")
        .filter_map(|answer| {
            let end = |path| answer.number(path, Unit::Count).map(|end| end.value());
            Some((answer, [end("headroom_95.0")?, end("headroom_95.1")?]))
        })
        .collect();
    let names = |others: &[(&Answer<'_>, [f64; 2])], is_meant: &dyn Fn([f64; 2]) -> bool| {
        let meant = others.iter().filter(|(_, range)| is_meant(*range)).map(|(other, _)| other.cited_name());
        let meant: Vec<Cited> = meant.collect();
        (!meant.is_empty()).then(|| Cited::join(meant, ", "))
    };
    let mut lines = Vec::new();
    for (answer, range) in &ranges {
        if let Some(below) = names(&ranges, &|other| range[0] > other[1]) {
            lines.push(cited!(
                "{} carries more of your load than {}: their ranges are apart.",
                answer.cited_name(),
                below
            ));
        }
    }
    for (place, (answer, range)) in ranges.iter().enumerate() {
        let later = &ranges[place + 1..];
        if let Some(same) = names(later, &|other| range[0] <= other[1] && other[0] <= range[1]) {
            lines.push(cited!(
                "Not ranked: {} and {}, whose ranges of headroom overlap.",
                answer.cited_name(),
                same
            ));
        }
    }
    lines
}

//! Selectors: which value, of which cases or findings.

use super::fields::{finding_fields, finding_words};
use super::lex::Mistake;
use super::names::Names;
use super::{COUNTED_SERVICES, Comparator, Expr, Filter, Selector, Source, Unit};
use crate::quantity::{QUANTITIES, Quantity};
use array::did_you_mean;
use serde_json::Value;

/// Values that every case has beside quantities and findings.
const OF_CASES: [&str; 3] = ["stalled_intervals", "begins_s", "duration_s"];

/// Before the name of a service and of its counter: `counter.thin.allocations`.
const COUNTER: &str = "counter";

/// Of every kind of finding: whether a case has one.
const FOUND: &str = "found";

/// Reads `name{inside}`; `inside_at` is where `inside` begins.
pub(super) fn selector(
    name: &str,
    at: usize,
    inside: &str,
    inside_at: usize,
    names: &Names<'_>,
) -> Result<(Selector, Option<Unit>), Mistake> {
    let (source, unit) = source(name, at)?;
    let mut selector = Selector {
        source,
        stages: Vec::new(),
        load: None,
        filters: Vec::new(),
        window: None,
        unit: None,
        text: String::new(),
    };
    let mut from = inside_at;
    for part in inside.split(',') {
        let length = part.chars().count();
        let indent = length - part.trim_start().chars().count();
        condition(&mut selector, part.trim(), from + indent, names)?;
        from += length + 1;
    }
    if selector.stages.is_empty() {
        let message = "a selector names the stage";
        return Err(Mistake::new(at, name.chars().count(), message).with_hint(format!("`{name}{{stage=…}}`")));
    }
    selector.unit = unit.or_else(|| unit_by_word(&selector));
    let unit = selector.unit;
    Ok((selector, unit))
}

/// The unit of a number of findings that are about one quantity.
fn unit_by_word(selector: &Selector) -> Option<Unit> {
    let word = selector
        .filters
        .iter()
        .find(|filter| filter.name == "quantity" && filter.comparator == Comparator::Equal)?;
    match word.values.as_slice() {
        [Value::String(name)] => Unit::of_field(name).0.filter(|unit| *unit != Unit::NONE),
        _ => None,
    }
}

fn source(name: &str, at: usize) -> Result<(Source, Option<Unit>), Mistake> {
    if let Some(quantity) = Quantity::named(name) {
        return Ok((Source::Quantity(quantity), Unit::of_field(name).0));
    }
    if let Some(setting) = name.strip_prefix("settings.").and_then(crate::setting) {
        return Ok((Source::Setting(setting.name), Some(Unit::of_setting(setting.name))));
    }
    match name {
        "stalled_intervals" => return Ok((Source::StalledIntervals, Some(Unit::NONE))),
        "begins_s" => return Ok((Source::BeginsS, Some(Unit::TIME))),
        "duration_s" => return Ok((Source::DurationS, Some(Unit::TIME))),
        _ => {}
    }
    let width = name.chars().count();
    let unknown =
        |message: String, hint: Option<String>| Err(Mistake::new(at, width, message).maybe_hint(hint));
    if let Some(counter) = name.strip_prefix(COUNTER).and_then(|rest| rest.strip_prefix('.')) {
        let (service, field) = counter.split_once('.').unwrap_or((counter, ""));
        let Some(service) = COUNTED_SERVICES.into_iter().find(|known| *known == service) else {
            return unknown(format!("`{service}` counts nothing"), did_you_mean(service, COUNTED_SERVICES));
        };
        if field.is_empty() {
            return unknown(format!("`{name}` names no counter"), Some("`counter.thin.allocations`".into()));
        }
        return Ok((Source::Counter { service, name: field.to_owned() }, Unit::of_field(field).0));
    }
    let Some((kind, field)) = name.split_once('.') else {
        let known = QUANTITIES.iter().copied().chain(OF_CASES);
        return unknown(format!("there is no quantity `{name}`"), did_you_mean(name, known));
    };
    let Some((kind, fields)) = finding_fields().iter().find(|(known, _)| *known == kind) else {
        if matches!(kind, "read" | "write" | "sustained") {
            return unknown(
                format!("there is no quantity `{name}`"),
                did_you_mean(name, QUANTITIES.iter().copied()),
            );
        }
        let known = finding_fields().iter().map(|(kind, _)| *kind);
        return unknown(format!("there is no kind of finding `{kind}`"), did_you_mean(kind, known));
    };
    if field == FOUND {
        return Ok((Source::Found(kind), Some(Unit::NONE)));
    }
    match fields.iter().find(|known| **known == field) {
        Some(field) => {
            let last = field.rsplit('.').next().unwrap_or(field);
            Ok((Source::Finding { kind, field }, Unit::of_field(last).0))
        }
        None => {
            let known = fields.iter().copied().chain([FOUND]);
            unknown(format!("`{kind}` has no number `{field}`"), did_you_mean(field, known))
        }
    }
}

const COMPARATORS: [(&str, Comparator); 7] = [
    ("!=", Comparator::Unequal),
    ("<=", Comparator::AtMost),
    (">=", Comparator::AtLeast),
    ("<", Comparator::Less),
    (">", Comparator::Greater),
    ("=", Comparator::Equal),
    ("~", Comparator::Near),
];

fn condition(selector: &mut Selector, text: &str, at: usize, names: &Names<'_>) -> Result<(), Mistake> {
    let kind = match &selector.source {
        Source::Finding { kind, .. } | Source::Found(kind) => Some(*kind),
        _ => None,
    };
    let is_finding = kind.is_some();
    let width = text.chars().count();
    let found = COMPARATORS
        .iter()
        .filter_map(|(sign, comparator)| Some((text.find(sign)?, *sign, *comparator)))
        .min_by_key(|(place, sign, _)| (*place, usize::MAX - sign.len()));
    let Some((place, sign, comparator)) = found else {
        return Err(
            Mistake::new(at, width, "a condition is `name=value`").with_hint("`{stage=latency, bs=4k|8k}`")
        );
    };
    let (name, value) = (text[..place].trim(), text[place + sign.len()..].trim());
    if name == "stage" || name == "load" {
        if comparator != Comparator::Equal || value.is_empty() {
            return Err(Mistake::new(at, width, format!("`{name}` is one name: `{name}=…`")));
        }
        if name == "load" {
            selector.load = Some(value.to_owned());
            return Ok(());
        }
        for stage in value.split('|').map(str::trim) {
            if !names.stages.contains(&stage) {
                return Err(Mistake::new(at, width, format!("the plan has no stage `{stage}`"))
                    .maybe_hint(did_you_mean(stage, names.stages.iter().copied())));
            }
            selector.stages.push(stage.to_owned());
        }
        return Ok(());
    }
    let mut filter = Filter { name: name.to_owned(), comparator, values: Vec::new(), setting: None };
    let is_word = is_finding && finding_words().contains(&name);
    let is_field = finding_fields()
        .iter()
        .any(|(known, fields)| Some(*known) == kind && fields.contains(&name) && !name.contains('.'));
    if value == "*" {
        if comparator != Comparator::Equal || is_word || is_field {
            let message = format!("`{name}=*` is for settings: any value of it");
            return Err(Mistake::new(at, width, message));
        }
        known_setting(name, is_finding, (at, width))?;
        selector.filters.push(Filter { comparator: Comparator::Any, ..filter });
        return Ok(());
    }
    if let Some(other) = value.strip_prefix("settings.") {
        known_setting(name, is_finding, (at, width))?;
        filter.setting = Some(known_setting(other, false, (at, width))?.name);
        selector.filters.push(filter);
        return Ok(());
    }
    let values = if is_word {
        value.split('|').map(|one| Value::from(one.trim())).collect()
    } else if is_field {
        // As it is in the finding's JSON.
        let parsed: Result<Vec<f64>, _> = value.split('|').map(|one| one.trim().parse::<f64>()).collect();
        parsed
            .map_err(|_| Mistake::new(at, width, format!("`{value}` is not a number")))?
            .into_iter()
            .map(Value::from)
            .collect()
    } else {
        let setting = known_setting(name, is_finding, (at, width))?;
        let parsed: Result<Vec<Value>, _> = value.split('|').map(|one| setting.parse(one.trim())).collect();
        parsed.map_err(|error| Mistake::new(at, width, error.message().to_owned()))?
    };
    let is_order = !matches!(comparator, Comparator::Equal | Comparator::Unequal | Comparator::Near);
    if is_order && (values.len() != 1 || !values[0].is_number()) {
        return Err(Mistake::new(at, width, format!("`{sign}` compares with one number")));
    }
    if comparator == Comparator::Near && !is_word {
        return Err(Mistake::new(at, width, "`~` is for words of findings").with_hint("`event~verif`"));
    }
    filter.values = values;
    selector.filters.push(filter);
    Ok(())
}

fn known_setting(
    name: &str,
    is_finding: bool,
    place: (usize, usize),
) -> Result<&'static crate::Setting, Mistake> {
    crate::setting(name).ok_or_else(|| {
        let words = if is_finding { finding_words() } else { &[] };
        let known = crate::SETTINGS.iter().map(|setting| setting.name).chain(words.iter().copied());
        let hint = array::nearest(name, known).map(|known| format!("did you mean `{known}`?"));
        Mistake::new(place.0, place.1, format!("there is no setting `{name}`")).maybe_hint(hint)
    })
}

impl Selector {
    /// Takes the window of intervals to read.
    pub(super) fn take_window(&mut self, from: Expr, to: Expr, at: (usize, usize)) -> Result<(), Mistake> {
        let has_intervals = match &self.source {
            Source::Quantity(quantity) => {
                matches!(
                    quantity.name(),
                    "iops"
                        | "bw_bytes_per_s"
                        | "read.iops"
                        | "write.iops"
                        | "read.latency_ns.mean"
                        | "write.latency_ns.mean"
                )
            }
            _ => false,
        };
        if !has_intervals {
            return Err(Mistake::new(at.0, at.1, "no interval has this value")
                .with_hint("IOPS, bytes a second and mean latencies have a span"));
        }
        self.window = Some((from, to));
        Ok(())
    }
}

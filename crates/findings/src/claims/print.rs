//! Values of a claim in words, each number with its source.

use super::value::{About, Item, Values};
use crate::cited;
use crate::cited::{Cited, Quantity, Source};
use plan::claim::Unit;

/// The most values that are told one by one.
const SHOWN: usize = 8;

impl Values {
    /// In words: the numbers, each with the settings in which they differ.
    pub fn words(&self) -> Cited {
        match self.items.as_slice() {
            [] => "none".into(),
            [one] => self.word(one),
            many if many.len() > SHOWN => {
                let of = |function: &str, value: f64| {
                    let from = Source::call(function, many.iter().map(|item| &item.from));
                    number(value, self.unit, from)
                };
                let values = || many.iter().map(|item| item.number.value);
                let (least, most) =
                    (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max));
                let count = Quantity::count_of(many.iter().map(|item| &item.from)).plain(0);
                cited!("{} to {} over {}", of("min", least), of("max", most), count)
            }
            many => {
                let differs = |name: &str| many.iter().any(|item| item.label(name) != many[0].label(name));
                let names: Vec<&String> = many[0].labels.keys().filter(|name| differs(name)).collect();
                let one = |item: &Item| {
                    let settings = names.iter().filter_map(|name| label(item, name));
                    Cited::join(settings.chain([self.word(item)]), " ")
                };
                Cited::join(many.iter().map(one), ", ")
            }
        }
    }

    fn word(&self, item: &Item) -> Cited {
        number(item.number.value, self.unit, item.from.clone())
    }
}

/// `bs=4k`, as plans write it.
fn label(item: &Item, name: &str) -> Option<Cited> {
    let value = item.labels.get(name)?;
    let from = match item.about.as_ref()? {
        About { finding: Some(id), is_group: true, .. } => Source::finding(id, &format!("of.{name}")),
        About { stage, case: Some(case), .. } => Source::setting(stage, case, name),
        _ => return None,
    };
    let text = crate::groups::word(value);
    let word = match value.as_f64() {
        Some(bytes) if Unit::of_setting(name) == Unit::BYTES => {
            let text = units::Bytes(bytes as u64).to_string();
            Cited::number(text, Some(bytes), cited::Unit::Bytes, from)
        }
        Some(number) => Cited::number(text, Some(number), cited::Unit::Setting, from),
        None => Cited::quote(text, from),
    };
    let mut whole = Cited::words(format!("{name}="));
    whole.push(word);
    Some(whole)
}

/// A number with its unit, as people read it.
pub(super) fn number(value: f64, unit: Option<Unit>, from: Source) -> Cited {
    if value.is_nan() {
        return "none".into();
    }
    if value.is_infinite() {
        return "without end".into();
    }
    let (text, unit) = match unit {
        // A share of comparisons that hold is no arithmetic over sources.
        _ if is_share(from.as_str()) => return Cited::quote(plain(value), Source::quote("claims")),
        Some(Unit::TIME) if value.abs() < 0.1 => (crate::text::latency(1e9 * value), cited::Unit::S),
        Some(Unit::TIME) => (crate::text::duration(value), cited::Unit::S),
        Some(Unit::RATE) => (crate::text::iops(value), cited::Unit::Iops),
        Some(Unit::BANDWIDTH) => (crate::text::bandwidth(value), cited::Unit::BytesPerS),
        Some(Unit::BYTES) if value >= 0.0 => (units::human_bytes(value as u64), cited::Unit::Bytes),
        _ => (plain(value), plain_unit(from.as_str())),
    };
    Cited::number(text, Some(value), unit, from)
}

fn is_share(from: &str) -> bool {
    from.match_indices("share:").any(|(at, _)| at == 0 || from[..at].ends_with(['(', ';']))
}

fn plain(value: f64) -> String {
    if value >= 1_000.0 {
        units::with_thousands(value.round() as u64)
    } else if value == value.trunc() {
        format!("{value}")
    } else {
        format!("{value:.3}")
    }
}

/// Returns the unit of a number without one, by its source.
fn plain_unit(from: &str) -> cited::Unit {
    const SAME: [&str; 11] = [
        "sum(",
        "mean(",
        "median(",
        "min(",
        "max(",
        "abs(",
        "negate(",
        "difference(",
        "product(",
        "geomean(",
        "seconds(",
    ];
    if let Some(inner) = SAME.iter().find_map(|function| from.strip_prefix(function)) {
        return plain_unit(inner);
    }
    let kind = from.split([':', '(']).next().unwrap_or_default();
    match kind {
        "ratio" | "percent" | "literal" => cited::Unit::Ratio,
        "setting" => cited::Unit::Setting,
        "finding" => {
            let field =
                from.split([';', ')']).next().unwrap_or_default().rsplit('/').next().unwrap_or_default();
            Quantity::unit_of(field)
        }
        _ => cited::Unit::Count,
    }
}

/// A text that stands in the plan, with whatever digits it has.
pub(super) fn of_plan(text: impl Into<String>) -> Cited {
    Cited::quote(text, Source::quote("plan"))
}

/// Words of a reason as the plan writes them. What is quoted begins and ends with a letter or a digit, so that it touches no number
/// beside it.
pub(super) fn of_template(text: &str) -> Cited {
    let start = text.find(char::is_alphanumeric).unwrap_or(text.len());
    let end = text
        .rfind(char::is_alphanumeric)
        .map_or(start, |last| last + text[last..].chars().next().map_or(0, char::len_utf8));
    let mut whole = Cited::words(&text[..start]);
    whole.push(of_plan(&text[start..end]));
    whole.push(Cited::words(&text[end..]));
    whole
}

/// A number that a value makes of how many it counts, with a noun: `1 dip`, `2 dips`.
pub(super) fn counted(item: &Item, noun: &str) -> Option<Cited> {
    let value = item.number.value;
    let text = crate::text::count(value.round() as usize, noun);
    (value >= 0.0)
        .then(|| Cited::number(text, Some(value), plain_unit(item.from.as_str()), item.from.clone()))
}

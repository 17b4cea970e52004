//! Values that a claim's selectors choose.

use super::print::of_plan;
use super::select::{numbers_at, of_interval, passes};
use super::value::{About, Item, Number, Values};
use super::view::{Seen, View};
use crate::cited::{Cited, Source as From};
use crate::finding::Finding;
use crate::observation::{Interval, ObservedCase};
use crate::statistics::{median, noise_sigma, t_quantile};
use crate::{cited, text};
use plan::claim::{Filter, Selector, Source, Unit};
use serde_json::{Map, Value};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use store::Settings;

/// A span of time since the start of a load, with the sources of its ends.
pub(super) type Span = [(f64, From); 2];

/// Selects values of a run by a selector; intervals in a span, where it has one.
pub(super) fn select(view: &View<'_>, selector: &Selector, span: Option<&Span>) -> Result<Values, Cited> {
    let mut named: BTreeMap<String, Option<String>> = BTreeMap::new();
    for filter in &selector.filters {
        let wanted = (filter.comparator != plan::claim::Comparator::Any).then(|| filter.text());
        named.insert(filter.name.clone(), wanted);
    }
    let (found_unit, items) = match &selector.source {
        Source::Finding { kind, field } => of_findings(view, selector, kind, field)?,
        Source::Found(kind) => (Some(Unit::NONE), found(view, selector, kind)?),
        source => of_cases(view, selector, source, span)?,
    };
    Ok(Values { unit: selector.unit.or(found_unit), items, named, by: BTreeSet::new() })
}

fn about_case(case: &ObservedCase) -> About {
    About { stage: case.stage.clone(), case: Some(case.name.clone()), finding: None, is_group: false }
}

fn of_cases(
    view: &View<'_>,
    selector: &Selector,
    source: &Source,
    span: Option<&Span>,
) -> Result<(Option<Unit>, Vec<Item>), Cited> {
    let seen = view.all(&selector.stages, &selector.text, |case| {
        selector.filters.iter().all(|filter| passes(filter, &case.settings))
    })?;
    let unit = match source {
        Source::Quantity(quantity) => Unit::of_field(quantity.name()).0,
        Source::Setting(name) => Some(Unit::of_setting(name)),
        Source::BeginsS | Source::DurationS => Some(Unit::TIME),
        Source::Counter { name, .. } => Unit::of_field(name).0,
        Source::StalledIntervals | Source::Found(_) | Source::Finding { .. } => Some(Unit::NONE),
    };
    let mut items = Vec::new();
    for one in seen {
        let found = of_case(view, selector, source, span, &one)?;
        items.extend(found.map(|(number, from)| Item {
            number: Number { half: number.half.max(number.value.abs() * noise(&one, selector)), ..number },
            labels: one.case.settings.clone(),
            about: Some(about_case(one.case)),
            from,
        }));
    }
    if items.is_empty() {
        return Err(cited!("no case has `{}`", of_plan(&selector.text)));
    }
    Ok((unit, items))
}

/// The value of one case with its source.
fn of_case(
    view: &View<'_>,
    selector: &Selector,
    source: &Source,
    span: Option<&Span>,
    seen: &Seen<'_>,
) -> Result<Option<(Number, From)>, Cited> {
    let case = seen.case;
    let intervals: &[Interval] = match &selector.load {
        Some(load) => match case.loads.iter().find(|(name, _)| name == load) {
            Some((_, intervals)) => intervals,
            None => {
                let name = Cited::quote(case.name.clone(), From::quote(&format!("case/{}", case.stage)));
                return Err(cited!("{} has no load `{}`", name, of_plan(load)));
            }
        },
        None => &case.intervals,
    };
    let load = selector.load.as_deref().unwrap_or_default();
    let of_intervals =
        |what: &str| From::other("intervals", &format!("{}/{}/{what}#{load}", case.stage, case.name));
    let counted: Vec<&Interval> = intervals.iter().filter(|one| !one.is_ramp).collect();
    let exact = |value: f64, from: From| (Number::exact(value), from);
    Ok(match source {
        Source::Setting(name) => {
            seen.case.number(name).map(|value| exact(value, From::setting(&case.stage, &case.name, name)))
        }
        Source::StalledIntervals => {
            let stalled = counted.iter().filter(|one| one.all().ios <= 0.0).count();
            Some(exact(stalled as f64, of_intervals("stalled_intervals")))
        }
        Source::Counter { service, name } => {
            let its = case.services.iter().find(|one| one.of.entity == *service && one.of.resource == *name);
            let (_, factor) = Unit::of_field(name);
            let path = format!("{}/{}/{service}.{name}", case.stage, case.name);
            its.map(|one| exact(factor * one.value, in_seconds(From::other("counter", &path), factor)))
        }
        Source::BeginsS => {
            let first = intervals.iter().find(|one| one.all().ios > 0.0);
            first.map(|one| exact(one.start_s, of_intervals("begins_s")))
        }
        Source::DurationS => {
            Some(exact(counted.iter().map(|one| one.length_s()).sum(), of_intervals("duration_s")))
        }
        Source::Quantity(quantity) => {
            let name = quantity.name();
            match span {
                Some(span) => Some(of_span(name, &counted, span, case, load)?),
                None => whole(view, name, case),
            }
        }
        Source::Found(_) | Source::Finding { .. } => None,
    })
}

/// A quantity over the whole counted time.
fn whole(view: &View<'_>, name: &str, case: &ObservedCase) -> Option<(Number, From)> {
    let value = match name.strip_prefix("sustained.") {
        Some("iops") => view.sustained(case)?.iops,
        Some(_) => view.sustained(case)?.bw_bytes_per_s,
        None => case.result.quantity(name)?,
    };
    let (_, factor) = Unit::of_field(name);
    let from = in_seconds(From::result(&case.stage, &case.name, name), factor);
    Some((Number::exact(factor * value), from))
}

/// The source of a figure that is kept in nanoseconds or percent.
fn in_seconds(from: From, factor: f64) -> From {
    if factor == 1e-9 {
        From::call("seconds", [&from])
    } else if factor == 0.01 {
        From::call("percent", [&from])
    } else {
        from
    }
}

/// The median of the intervals that lie within a span.
fn of_span(
    name: &str,
    counted: &[&Interval],
    [from, to]: &Span,
    case: &ObservedCase,
    load: &str,
) -> Result<(Number, From), Cited> {
    let (from_s, to_s) = (from.0, to.0);
    let within: Vec<f64> = counted
        .iter()
        .filter(|one| one.start_s >= from_s - 1e-6 && one.end_s <= to_s + 1e-6)
        .filter_map(|one| of_interval(name, one))
        .collect();
    if within.is_empty() {
        let end = |(at_s, source): &(f64, From)| {
            Cited::number(text::duration(*at_s), Some(*at_s), cited::Unit::S, source.clone())
        };
        return Err(cited!(
            "{} has no whole interval from {} to {} of its load",
            Cited::quote(case.name.clone(), From::quote(&format!("case/{}", case.stage))),
            end(from),
            end(to)
        ));
    }
    // The scatter of neighbours within the span: what the whole case does, and a course, are no noise of it.
    let count = within.len() as f64;
    let half = if within.len() < 2 {
        0.0
    } else {
        t_quantile(0.95, count - 1.0) * noise_sigma(&within) / count.sqrt()
    };
    let path = format!("{}/{}/{name}@{from_s}..{to_s}#{load}", case.stage, case.name);
    Ok((Number { value: median(within), half }, From::other("intervals", &path)))
}

/// Returns true if a filter is about a setting of cases, not about what a finding says.
fn is_of_case(filter: &Filter, kind: &str) -> bool {
    let fields = plan::claim::finding_fields().iter().filter(|(known, _)| *known == kind);
    !plan::claim::finding_words().contains(&filter.name.as_str())
        && !fields.flat_map(|(_, fields)| fields.iter()).any(|field| *field == filter.name)
}

/// For each case whether it has a finding of a kind.
fn found(view: &View<'_>, selector: &Selector, kind: &'static str) -> Result<Vec<Item>, Cited> {
    let (of_case, of_finding): (Vec<&Filter>, Vec<&Filter>) =
        selector.filters.iter().partition(|filter| is_of_case(filter, kind));
    let seen = view.all(&selector.stages, &selector.text, |case| {
        of_case.iter().all(|filter| passes(filter, &case.settings))
    })?;
    let all = view.findings(kind, &selector.stages);
    let contrary = view.findings(&format!("no-{kind}"), &selector.stages);
    let words: Vec<String> = of_finding.iter().map(|filter| condition(filter)).collect();
    let mut items = Vec::new();
    for one in seen {
        let is_its = |finding: &Finding| {
            finding.stage == one.case.stage && finding.case.as_deref() == Some(one.case.name.as_str())
        };
        let its = all
            .iter()
            .find(|(finding, json)| is_its(finding) && of_finding.iter().all(|filter| passes(filter, json)));
        if let Some((finding, _)) = its.or_else(|| contrary.iter().find(|(finding, _)| is_its(finding))) {
            view.cite(finding);
        }
        let path = format!("{kind}/{}/{}/{}", one.case.stage, one.case.name, words.join("&"));
        items.push(Item {
            number: Number::exact(if its.is_some() { 1.0 } else { 0.0 }),
            labels: one.case.settings.clone(),
            about: Some(about_case(one.case)),
            from: From::other("found", &path),
        });
    }
    Ok(items)
}

/// `by!=link|unknown`, for the source of whether a finding is there.
fn condition(filter: &Filter) -> String {
    use plan::claim::Comparator;
    let sign = match filter.comparator {
        Comparator::Unequal => "!=",
        Comparator::Less => "<",
        Comparator::AtMost => "<=",
        Comparator::Greater => ">",
        Comparator::AtLeast => ">=",
        Comparator::Near => "~",
        Comparator::Equal | Comparator::Any => "=",
    };
    let values: Vec<String> = filter.values.iter().map(crate::groups::word).collect();
    format!("{}{sign}{}", filter.name, values.join("|"))
}

fn of_findings(
    view: &View<'_>,
    selector: &Selector,
    kind: &str,
    field: &str,
) -> Result<(Option<Unit>, Vec<Item>), Cited> {
    let last = field.rsplit('.').next().unwrap_or(field);
    let (unit, factor) = Unit::of_field(last);
    let mut items = Vec::new();
    let mut is_known = false;
    for (finding, json) in view.findings(kind, &selector.stages) {
        let (labels, is_group) = labels(view, finding, &json);
        let is_chosen = |filter: &Filter| {
            if labels.contains_key(&filter.name) || is_of_case(filter, kind) {
                passes(filter, &labels)
            } else {
                passes(filter, &json)
            }
        };
        if !selector.filters.iter().all(is_chosen) {
            continue;
        }
        view.cite(finding);
        is_known = true;
        let mut numbers = Vec::new();
        numbers_at(&Value::Object(json), field, "", &mut numbers);
        if numbers.is_empty() && field == "takes_effect_s" {
            // A limit that was never kept never took effect.
            numbers.push((field.to_owned(), f64::INFINITY));
        }
        items.extend(numbers.into_iter().map(|(path, value)| Item {
            number: Number::exact(factor * value),
            labels: labels.clone(),
            about: Some(About {
                stage: finding.stage.clone(),
                case: finding.case.clone(),
                finding: Some(finding.id.clone()),
                is_group,
            }),
            from: in_seconds(From::finding(&finding.id, &path), factor),
        }));
    }
    if is_known {
        return Ok((unit, items));
    }
    let stages = Cited::join(selector.stages.iter().map(of_plan), "`, `");
    Err(match kind {
        "disruption" if view.has_events(&selector.stages) => cited!(
            "no event of the stage `{}` had a level before it that it could be held against: it came too early in its case",
            stages
        ),
        "disruption" => cited!("no event was recorded in the stage `{}`", stages),
        "conformance" => cited!("no limit was set in the stage `{}`", stages),
        _ => cited!("nothing was found of `{}`", of_plan(&selector.text)),
    })
}

/// The settings that a finding is about, with its own words, and whether it says itself what several cases have in common.
fn labels(view: &View<'_>, finding: &Finding, json: &Map<String, Value>) -> (Settings, bool) {
    let (mut labels, is_group) = match (json.get("of"), finding.case.as_deref()) {
        (Some(Value::Object(of)), _) => (Settings::new(of.clone()), true),
        (_, Some(case)) => (view.settings_of(&finding.stage, case), false),
        _ => (Settings::default(), false),
    };
    for word in plan::claim::finding_words() {
        if let Some(text @ Value::String(_)) = json.get(*word) {
            Arc::make_mut(&mut labels).insert((*word).to_owned(), text.clone());
        }
    }
    (labels, is_group)
}

/// Half the 95 % confidence interval as a share: that of the rate, which in a closed loop is that of the mean latency too. What
/// is counted, set, or lasts after a fall has none.
fn noise(seen: &Seen<'_>, selector: &Selector) -> f64 {
    match &selector.source {
        Source::Quantity(quantity)
            if !quantity.name().ends_with("errors") && !quantity.name().starts_with("sustained.") =>
        {
            let iops = seen.level.iops;
            let by_intervals = seen
                .level
                .iops_confidence_95
                .filter(|_| iops > 0.0 && selector.window.is_none())
                .map_or(0.0, |[low, high]| (high - low) / 2.0 / iops);
            by_intervals.max(seen.case.result.extrapolation.map_or(0.0, |one| one.confidence_95))
        }
        _ => 0.0,
    }
}

//! Texts repeated word for word: they stand where they are said to come from.

use crate::expression::Expression;
use crate::mismatch::Mismatch;
use crate::resolve::Resolver;
use crate::run::Run;
use serde_json::Value;

/// Words of the field that have digits.
const PERCENTILES: [&str; 6] = ["p50", "p90", "p95", "p99", "p99.9", "p99.99"];

/// Checks that a text is the one that its source holds.
pub fn check(run: &Run, resolver: &Resolver<'_>, from: &Expression, own: &str) -> Result<(), Mismatch> {
    let Expression::Source(kind, path) = from else {
        return Err(Mismatch::Different(format!("“{own}” is a text, and its source is arithmetic")));
    };
    let own = squeezed(own);
    let missing = || Err(Mismatch::Different(format!("“{own}” does not stand there")));
    let is_there = match kind.as_str() {
        "name" => path == "percentile" && PERCENTILES.contains(&own.as_str()),
        "finding" => {
            let Some(value) = resolver.field(path) else { return missing() };
            let text = squeezed(value.as_str().unwrap_or_default());
            if path.ends_with("/reason") {
                reason(resolver, path, &own)?;
            }
            // The name of a part is told without its hyphens.
            text.contains(&own) || path.ends_with("/part") && text.replace(['-', '_'], " ") == own
        }
        "setting" => {
            let Some((case, name)) = resolver.case_of(path) else { return missing() };
            let Some(value) = case.settings.get(name) else { return missing() };
            let digits = |text: &str| text.chars().filter(char::is_ascii_digit).collect::<String>();
            let words = name.replace('_', " ");
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
            own == name || own == words || own.contains(&value) || digits(&own) == digits(&value)
        }
        "quote" => return quoted(run, resolver, path, &own),
        _ => false,
    };
    if is_there { Ok(()) } else { missing() }
}

fn quoted(run: &Run, resolver: &Resolver<'_>, path: &str, own: &str) -> Result<(), Mismatch> {
    let (place, rest) = path.split_once('/').unwrap_or((path, ""));
    let has = |all: Vec<&str>| all.into_iter().any(|text| squeezed(text).contains(own));
    let is_there = match place {
        "plan" => {
            strings(&run.plan).iter().any(|text| squeezed(text).contains(own))
                || squeezed(&run.plan_text).contains(own)
                || run.claims.iter().flat_map(strings).any(|text| squeezed(&text).contains(own))
        }
        // A share of comparisons that hold.
        "claims" => {
            resolver.claims().any(|claim| claim["because"].as_str().is_some_and(|text| text.contains(own)))
        }
        "manifest" => match rest {
            "created_utc" => is_time(run.manifest["created_utc"].as_str().unwrap_or_default(), own),
            "command_line" => {
                let words: Vec<&str> = run.manifest["command_line"]
                    .as_array()
                    .into_iter()
                    .flatten()
                    .filter_map(Value::as_str)
                    .collect();
                words.len() > 1 && own == squeezed(&format!("arraylab {}", words[1..].join(" ")))
            }
            _ => in_manifest(run, own),
        },
        "stage" => run.cases.iter().any(|case| case.stage == own),
        "case" => run.cases.iter().any(|case| case.stage == rest && squeezed(&case.name) == own),
        "warning" => run.warnings.iter().any(|text| squeezed(text) == own),
        "sizing" => crate::sizing::has_text(run, rest, &|text| squeezed(text) == own),
        "what-if" => crate::what_if::has_text(run, rest, &|text| squeezed(text) == own),
        "event" => has(run.events.iter().map(|event| event.text.as_str()).collect()),
        // Why something could not be read is known to the report alone; why a case failed stands in the run.
        "error" => {
            run.cases.iter().filter_map(|case| case.error.as_deref()).any(|error| squeezed(error) == own)
                || own.contains("line")
                || own.contains("os error")
        }
        // A limit that could not be judged says why: the error of its case.
        "requirement" => run
            .cases
            .iter()
            .filter_map(|case| case.error.as_deref())
            .any(|error| own.ends_with(&squeezed(error))),
        "settings-changed" => has(run.changes.iter().map(String::as_str).collect()),
        "published" => {
            let cells = run.published.values().flatten().flat_map(|row| row.values());
            run.published.keys().chain(cells).any(|text| squeezed(text) == own)
        }
        "claim" => {
            let Some((id, field)) = rest.rsplit_once('/') else {
                return Err(Mismatch::Missing("such claim".to_owned()));
            };
            let Some(claim) = resolver.claim(id) else {
                return Err(Mismatch::Missing(format!("claim {id}")));
            };
            let known = squeezed(claim["known"]["says"].as_str().unwrap_or_default());
            match field {
                // Its numbers have sources of their own.
                "because" => false,
                "known" => own == known || claim["known"]["reason"].as_str() == Some(&own.replace(' ', "-")),
                field => squeezed(claim[field].as_str().unwrap_or_default()) == own,
            }
        }
        _ => false,
    };
    if is_there { Ok(()) } else { Err(Mismatch::Different(format!("“{own}” does not stand there"))) }
}

/// The numbers of a reason why no fall was found are those of its finding.
fn reason(resolver: &Resolver<'_>, path: &str, own: &str) -> Result<(), Mismatch> {
    let id = path.trim_end_matches("/reason");
    let Some(finding) = resolver.finding(id) else { return Ok(()) };
    let Some((_, after)) = own.split_once(" or more in ") else { return Ok(()) };
    let quoted = after.split(' ').next().unwrap_or_default().replace(',', "");
    let intervals = finding.get("intervals").and_then(Value::as_f64).unwrap_or(-1.0);
    if quoted.parse() == Ok(intervals) {
        Ok(())
    } else {
        Err(Mismatch::Different(format!("it says {quoted} intervals, there are {intervals}")))
    }
}

fn in_manifest(run: &Run, own: &str) -> bool {
    let all = strings(&run.manifest);
    if all.iter().any(|text| squeezed(text).contains(own)) {
        return true;
    }
    // Facts about a device are written as `name value, name value`; a changed setting as `name=value`.
    let text = squeezed(&run.manifest_text);
    own.split([' ', ',', '=']).filter(|word| word.contains(|c: char| c.is_ascii_digit())).all(|word| {
        text.contains(word)
            && all.iter().any(|text| squeezed(text).split([' ', ',', '=']).any(|known| known == word))
            || text.contains(&format!(": {word}"))
            || text.contains(&format!(":{word}"))
    })
}

/// `2026-11-20T13:40:00Z` as `20 November 2026` or `2026-11-20 13:40:00 UTC`.
fn is_time(utc: &str, own: &str) -> bool {
    const MONTHS: [&str; 12] = [
        "January",
        "February",
        "March",
        "April",
        "May",
        "June",
        "July",
        "August",
        "September",
        "October",
        "November",
        "December",
    ];
    if own == utc || own == utc.replace('T', " ").replace('Z', " UTC") {
        return true;
    }
    let parts: Vec<u32> =
        utc.split('T').next().unwrap_or_default().split('-').filter_map(|part| part.parse().ok()).collect();
    let [year, month, day] = parts[..] else { return false };
    MONTHS.get(month as usize - 1).is_some_and(|name| own == format!("{day} {name} {year}"))
}

/// Every text and number in a value, as text.
fn strings(value: &Value) -> Vec<String> {
    match value {
        Value::Array(items) => items.iter().flat_map(strings).collect(),
        Value::Object(fields) => {
            let mut all: Vec<String> = fields.keys().cloned().collect();
            all.extend(fields.values().flat_map(strings));
            all
        }
        Value::String(text) => vec![text.clone()],
        Value::Null => Vec::new(),
        other => vec![other.to_string()],
    }
}

/// A text with single blanks.
fn squeezed(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

//! Rows of tables: a row is about one case, and each column about what its head says.

use crate::Findings;
use crate::expression::Expression;
use crate::run::Run;
use serde_json::Value;

/// Heads of the table of results, and the quantity under each.
const RESULTS: [(&str, &str); 16] = [
    ("IOPS", "iops"),
    ("Bandwidth (MB/s)", "bw_bytes_per_s"),
    ("Sustained IOPS", "sustained.iops"),
    ("Sustained (MB/s)", "sustained.bw_bytes_per_s"),
    ("Read mean (ms)", "read.latency_ns.mean"),
    ("Read p50 (ms)", "read.latency_ns.p50"),
    ("Read p99 (ms)", "read.latency_ns.p99"),
    ("Read p99.9 (ms)", "read.latency_ns.p99.9"),
    ("Read p99.99 (ms)", "read.latency_ns.p99.99"),
    ("Write mean (ms)", "write.latency_ns.mean"),
    ("Write p50 (ms)", "write.latency_ns.p50"),
    ("Write p99 (ms)", "write.latency_ns.p99"),
    ("Write p99.9 (ms)", "write.latency_ns.p99.9"),
    ("Write p99.99 (ms)", "write.latency_ns.p99.99"),
    ("Read errors", "read.errors"),
    ("Write errors", "write.errors"),
];

/// A quantity in words, as tables write it: `read.latency_ns.p99` is `read p99`.
fn words(path: &str) -> String {
    path.replace("latency_ns.", "")
        .replace("bw_bytes_per_s", "bandwidth")
        .replace("iops", "IOPS")
        .replacen('.', " ", 1)
}

/// The sources of a cell.
fn sources(cell: &Value) -> Vec<(String, String)> {
    let numbers = cell["numbers"].as_array().map(Vec::as_slice).unwrap_or_default();
    numbers
        .iter()
        .filter_map(|number| Expression::parse(number["from"].as_str()?))
        .flat_map(|from| {
            let all: Vec<(String, String)> =
                from.sources().into_iter().map(|(kind, path)| (kind.to_owned(), path.to_owned())).collect();
            all
        })
        .collect()
}

/// `STAGE/CASE` and the last part of a path.
fn split(path: &str) -> (&str, &str) {
    // The file of a published table has strokes of its own.
    let path = path.split('@').next().unwrap_or(path);
    path.rsplit_once('/').unwrap_or((path, ""))
}

/// Every row of every table.
pub fn check(found: &mut Findings, run: &Run, report: &Value) {
    for table in report["tables"].as_array().into_iter().flatten() {
        let id = table["id"].as_str().unwrap_or_default();
        let place = format!("table {id}");
        let columns: Vec<&str> = table["columns"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|column| column["text"].as_str().unwrap_or_default())
            .collect();
        let caption = table["caption"]["text"].as_str().unwrap_or_default();
        for row in table["rows"].as_array().into_iter().flatten() {
            let cells = row.as_array().map(Vec::as_slice).unwrap_or_default();
            if cells.len() != columns.len() {
                found.add(&place, "a row has not as many cells as the table has columns");
            }
            match id {
                "claims" => claims(found, &place, report, cells),
                "declared" => declared(found, &place, run, cells),
                "published" => published(found, &place, cells),
                "required" => required(found, &place, run, cells),
                _ if crate::sizing::is_own_table(id) || crate::what_if::is_own_table(id) => {}
                _ if id.ends_with("-results") => results(found, &place, &columns, cells),
                _ => requested(found, &place, &columns, caption, cells),
            }
        }
    }
}

fn texts(cells: &[Value]) -> String {
    let all: Vec<&str> = cells.iter().filter_map(|cell| cell["text"].as_str()).collect();
    all.join(" | ")
}

/// One case a row; under each head the quantity that it names.
fn results(found: &mut Findings, place: &str, columns: &[&str], cells: &[Value]) {
    let mut cases: Vec<String> = Vec::new();
    for (head, cell) in columns.iter().zip(cells) {
        let wanted = RESULTS.iter().find(|(known, _)| known == head).map(|one| one.1);
        let has_text = cell["text"].as_str().is_some_and(|text| !text.is_empty());
        let sources = sources(cell);
        if wanted.is_some() && has_text && sources.len() != 1 {
            found.add(place, format!("a cell under {head} has not one source in “{}”", texts(cells)));
        }
        for (kind, path) in sources {
            let (case, last) = split(&path);
            match (kind.as_str(), wanted) {
                ("result", Some(wanted)) if last != wanted => {
                    found.add(place, format!("{last} stands under {head} in “{}”", texts(cells)));
                }
                ("result", None) | ("finding", _) => {
                    found.add(place, format!("{path} stands under {head} in “{}”", texts(cells)));
                }
                _ => {}
            }
            if matches!(kind.as_str(), "result" | "setting") {
                cases.push(case.to_owned());
            }
        }
    }
    cases.dedup();
    if cases.len() > 1 {
        found.add(place, format!("a row is about {} and {}: “{}”", cases[0], cases[1], texts(cells)));
    }
}

/// A table that the plan asks for: the rows of one case are of that case, and figures of the quantity that the head or caption
/// names.
fn requested(found: &mut Findings, place: &str, columns: &[&str], caption: &str, cells: &[Value]) {
    let mut of_row: Option<String> = None;
    let mut quantity = String::new();
    for (head, cell) in columns.iter().zip(cells) {
        let all = sources(cell);
        for (kind, path) in &all {
            if !matches!(kind.as_str(), "result" | "published") {
                continue;
            }
            let (case, last) = split(path);
            let last = last.split('@').next().unwrap_or(last);
            let named = words(last);
            if *head == "published" {
                if !quantity.is_empty() && quantity != last {
                    found.add(place, format!("{last} stands beside {quantity} in “{}”", texts(cells)));
                }
            } else {
                quantity = last.to_owned();
                let title = head.split(" (").next().unwrap_or(head);
                if title != named && !caption.contains(&format!(": {named}")) {
                    found.add(place, format!("{last} stands under {head} in “{}”", texts(cells)));
                }
            }
            // Cells of one source each are of the row's own case; means over rounds are of several. In a table across a setting
            // each column is another case.
            let is_across = caption.contains(&format!(": {named}"));
            if all.len() == 1 && !is_across {
                match &of_row {
                    Some(known) if known != case => {
                        found.add(place, format!("a row is about {known} and {case}: “{}”", texts(cells)));
                    }
                    _ => of_row = Some(case.to_owned()),
                }
            }
        }
    }
    // What a row says of its settings is so of the case that it shows.
    let Some(case) = of_row else { return };
    for cell in cells {
        for (kind, path) in sources(cell) {
            let (other, _) = split(&path);
            if kind == "setting" && other != case {
                found.add(place, format!("a row is about {case} and names {other}: “{}”", texts(cells)));
            }
        }
    }
}

/// Each claim with its own words and its own verdict.
fn claims(found: &mut Findings, place: &str, report: &Value, cells: &[Value]) {
    let text = |cell: &Value| cell["text"].as_str().unwrap_or_default().to_owned();
    let [id, says, verdict, because, ..] = cells else { return };
    let all = report["claims"].as_array().map(Vec::as_slice).unwrap_or_default();
    let Some(claim) = all.iter().find(|claim| claim["id"].as_str() == Some(&text(id))) else {
        return found.add(place, format!("no claim {}", text(id)));
    };
    let word = match claim["verdict"].as_str() {
        Some("holds") => "✓ holds",
        Some("refuted") => "✗ is refuted",
        _ => "– is not shown",
    };
    let is_own =
        |cell: &Value, field: &str| claim[field].as_str().is_some_and(|own| text(cell).starts_with(own));
    if text(verdict) != word || !is_own(says, "says") || !is_own(because, "because") {
        found.add(place, format!("the row of {} is not its claim: “{}”", text(id), texts(cells)));
    }
}

/// Declared, measured, and the one ÷ the other, of the same row.
fn declared(found: &mut Findings, place: &str, run: &Run, cells: &[Value]) {
    let [says, figure, own, ratio, label] = cells else { return };
    let wrong = |what: &str| format!("{what} in “{}”", texts(cells));
    let of_figure = sources(figure);
    let [(kind, number)] = &of_figure[..] else {
        return found.add(place, wrong("the declared figure has not one source"));
    };
    let row = number.parse::<usize>().ok().map(|place| &run.plan["declared"][place.wrapping_sub(1)]);
    if kind != "declared" || row.is_none_or(|row| row["says"].as_str() != says["text"].as_str()) {
        found.add(place, wrong("what is declared and its figure are of two declarations"));
    }
    let of_own = sources(own);
    let Some((_, path)) = of_own.first() else { return };
    let (case, last) = split(path);
    let quantity = row.and_then(|row| row["quantity"].as_str()).unwrap_or_default();
    // A vendor's latency is that of a usual I/O: the mean stands beside it, whatever the smallest of all was.
    let wanted = quantity.replace("latency_ns.min", "latency_ns.mean");
    if last != wanted {
        found.add(place, wrong(&format!("{last} stands beside a declared {quantity}")));
    }
    let of_ratio = sources(ratio);
    if of_ratio.len() != 2 || of_ratio[0].1 != *path || of_ratio[1].1 != *number {
        found.add(place, wrong("the ratio is not that of the row's figures"));
    }
    if sources(label).iter().any(|(kind, path)| kind == "setting" && split(path).0 != case) {
        found.add(place, wrong("the case is another than the figure's"));
    }
}

/// Published and measured, of one case and one quantity.
fn published(found: &mut Findings, place: &str, cells: &[Value]) {
    let [label, quantity, published, own, difference, _] = cells else { return };
    let wrong = |what: &str| format!("{what} in “{}”", texts(cells));
    let of_published = sources(published);
    let [(kind, path)] = &of_published[..] else {
        return found.add(place, wrong("the published figure has not one source"));
    };
    let (case, last) = split(path);
    let last = last.split('@').next().unwrap_or(last);
    if kind != "published" || quantity["text"].as_str() != Some(words(last).as_str()) {
        found.add(place, wrong("the published figure is of another quantity"));
    }
    for (_, path) in sources(own) {
        if split(&path) != (case, last) {
            found.add(place, wrong("published and measured are of two cases or quantities"));
        }
    }
    let of_difference = sources(difference);
    let has_own = own["text"].as_str().is_some_and(|text| !text.is_empty());
    let is_of_row = of_difference
        .iter()
        .all(|(kind, other)| kind == "constant" || other == path || split(other) == (case, last));
    if has_own && (of_difference.len() < 3 || !is_of_row) {
        found.add(place, wrong("the difference is not that of the row's figures"));
    }
    if sources(label).iter().any(|(kind, path)| kind == "setting" && split(path).0 != case) {
        found.add(place, wrong("the case is another than the figure's"));
    }
}

/// A limit, what was measured, and the verdict that follows from both.
fn required(found: &mut Findings, place: &str, run: &Run, cells: &[Value]) {
    let wrong = |what: &str| format!("{what} in “{}”", texts(cells));
    let text = |cell: &Value| cell["text"].as_str().unwrap_or_default().to_owned();
    // A last column says why limits are not judged, where some are not.
    let [verdict, _, stage, case, quantity, limit, measured, why @ ..] = cells else {
        return found.add(place, wrong("a row of limits has other cells"));
    };
    let is_judged = !["not shown", "not applicable"].iter().any(|word| text(verdict).contains(word));
    if why.iter().any(|why| !text(why).is_empty()) && is_judged {
        found.add(place, wrong("a limit that is shown says why it is not"));
    }
    let value = |cell: &Value| cell["numbers"][0]["value"].as_f64();
    let expected = match (value(measured), value(limit)) {
        (None, _) if run.is_without_part(&text(stage)) => "not applicable",
        (None, _) => "not shown",
        (Some(measured), Some(bound)) => {
            let is_kept =
                if text(limit).starts_with("at least") { measured >= bound } else { measured <= bound };
            if is_kept { "PASS" } else { "FAIL" }
        }
        (Some(_), None) => return found.add(place, wrong("a limit without a number")),
    };
    if !text(verdict).contains(expected) {
        found.add(place, wrong(&format!("the verdict should be {expected}")));
    }
    for (kind, path) in sources(measured) {
        let (of_case, last) = split(&path);
        let is_its = of_case == format!("{}/{}", text(stage), text(case)) && words(last) == text(quantity);
        if kind != "result" || !is_its {
            found.add(place, wrong("what was measured is of another case or quantity"));
        }
    }
}

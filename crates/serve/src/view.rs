//! A served array in a terminal: what happened between two answers to `status`.

use serde_json::Value;
use std::fmt::Write as _;

/// Parts that are shown, busiest first.
const PARTS_SHOWN: usize = 12;
const NOTES_SHOWN: usize = 3;
/// Cells of a bar.
const BAR_CELLS: usize = 20;

/// Lines of text about the time between two statuses, so many seconds apart.
pub fn view(before: &Value, now: &Value, seconds: f64) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_view(&mut text, before, now, seconds.max(1e-3));
    text
}

fn write_view(text: &mut String, before: &Value, now: &Value, seconds: f64) -> std::fmt::Result {
    let words = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let drives: &[Value] = now["volume"]["drives"].as_array().map_or(&[], Vec::as_slice);
    let lost: Vec<String> = drives
        .iter()
        .filter(|drive| drive["condition"] != "present")
        .map(|drive| format!("drive {} {}", drive["drive"], words(&drive["condition"])))
        .collect();
    let condition = if lost.is_empty() { format!("{} drives, whole", drives.len()) } else { lost.join(", ") };
    writeln!(text, "{}: {condition}; {} connections", words(&now["title"]), now["connections"])?;
    let rebuild = &now["background"]["rebuild"];
    if rebuild["is_complete"] == false {
        let share = number(&rebuild["done_stripes"]) / number(&rebuild["stripes"]).max(1.0);
        writeln!(text, "rebuild  {} {:.1} %", bar(share), share * 100.0)?;
    }
    writeln!(
        text,
        "\n{:<12} {:>10} {:>10} {:>12} {:>6}  limit",
        "volume", "IOPS", "MB/s", "latency", "queue"
    )?;
    let none = Vec::new();
    let volumes = now["volumes"].as_array().unwrap_or(&none);
    for (index, volume) in volumes.iter().enumerate() {
        let since = |field: &str| {
            ["read", "write"]
                .iter()
                .map(|direction| {
                    number(&volume["served"][direction][field])
                        - number(&before["volumes"][index]["served"][direction][field])
                })
                .sum::<f64>()
        };
        let ios = since("ios");
        let latency =
            if ios > 0.0 { format!("{:.3} ms", since("latency_ns") / ios / 1e6) } else { "-".to_owned() };
        writeln!(
            text,
            "{:<12} {:>10.0} {:>10.1} {:>12} {:>6}  {}",
            words(&volume["name"]),
            ios / seconds,
            since("bytes") / seconds / 1e6,
            latency,
            number(&volume["served"]["under_way"]),
            limit_of(now, &volume["name"]),
        )?;
    }
    let model = &now["model"];
    if model.is_null() {
        return writeln!(text, "\nserved as fast as it goes");
    }
    write_parts(text, &before["model"], model)?;
    let late = &model["lateness"];
    writeln!(
        text,
        "\nlate     {:.1} µs median, {:.1} µs p99; {} replies",
        number(&late["p50_ns"]) / 1e3,
        number(&late["p99_ns"]) / 1e3,
        late["replies"]
    )?;
    let notes = model["notes"].as_array().unwrap_or(&none);
    for note in notes.iter().rev().take(NOTES_SHOWN).rev() {
        writeln!(text, "{:>7.1} s  {}", number(&note["at_ns"]) / 1e9, words(&note["says"]))?;
    }
    Ok(())
}

/// The share of the model's time that each part was busy.
fn write_parts(text: &mut String, before: &Value, model: &Value) -> std::fmt::Result {
    let span_ns = number(&model["clock_ns"]) - number(&before["clock_ns"]);
    let Some(parts) = model["parts"].as_object().filter(|_| span_ns > 0.0) else { return Ok(()) };
    let mut busy: Vec<(f64, String)> = Vec::new();
    for (part, counters) in parts {
        let Some(counters) = counters.as_object() else { continue };
        for (name, value) in counters {
            let what = name.strip_suffix("busy_ns").map(|what| what.trim_end_matches('_').replace('_', " "));
            let what = what.or_else(|| name.strip_suffix("_ns").map(str::to_owned));
            // Latencies add up over everything that is under way; they are no part's time.
            let Some(what) = what.filter(|what| !what.ends_with("latency")) else { continue };
            let share = (number(value) - number(&before["parts"][part][name])) / span_ns;
            busy.push((share, format!("{part} {what}")));
        }
    }
    busy.retain(|(share, _)| *share >= 0.001);
    busy.sort_by(|(a, a_name), (b, b_name)| b.total_cmp(a).then_with(|| a_name.cmp(b_name)));
    writeln!(text)?;
    for (share, name) in busy.iter().take(PARTS_SHOWN) {
        writeln!(text, "{name:<30} {} {:>5.1} %", bar(*share), share * 100.0)?;
    }
    if busy.is_empty() {
        writeln!(text, "nothing is busy")?;
    }
    Ok(())
}

fn limit_of(now: &Value, volume: &Value) -> String {
    let none = Vec::new();
    let limits = now["model"]["limits"].as_array().unwrap_or(&none);
    let Some(limit) = limits.iter().find(|limit| &limit["volume"] == volume) else { return String::new() };
    let parts = limit["limit"].as_object().into_iter().flatten();
    let parts: Vec<String> = parts.map(|(name, value)| format!("{name} {value}")).collect();
    match number(&limit["held_back"]) {
        held if held > 0.0 => format!("{} ({held} held back)", parts.join(", ")),
        _ => parts.join(", "),
    }
}

fn bar(share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * BAR_CELLS as f64).round() as usize;
    format!("[{}{}]", "#".repeat(full), ".".repeat(BAR_CELLS - full))
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(ios: u64, latency_ns: u64, busy_ns: u64, clock_ns: u64) -> Value {
        json!({
            "title": "An array",
            "connections": 2,
            "volume": {"drives": [{"drive": 0, "condition": "present"}, {"drive": 1, "condition": "failed"}]},
            "background": {"rebuild": {"is_complete": false, "done_stripes": 1, "stripes": 4}},
            "volumes": [{"name": "vol0", "served": {
                "read": {"ios": ios, "bytes": ios * 4096, "latency_ns": latency_ns},
                "write": {"ios": 0, "bytes": 0, "latency_ns": 0},
                "under_way": 3,
            }}],
            "model": {
                "clock_ns": clock_ns,
                "limits": [{"volume": "vol0", "limit": {"iops": 500.0}, "held_back": 7}],
                "lateness": {"p50_ns": 12_300, "p99_ns": 456_000, "replies": ios},
                "parts": {"link-0": {"to_host_busy_ns": busy_ns, "to_host_bytes": 5}},
                "notes": [{"at_ns": 1_500_000_000u64, "says": "drive-1 fails"}],
            },
        })
    }

    /// Proves that rates, latencies and shares are those of the time between, not since the start, and that what is
    /// lost, limited and being rebuilt is said.
    #[test]
    fn a_view_is_about_the_time_between() {
        let before = status(1000, 1_000_000_000, 5_000_000_000, 10_000_000_000);
        let now = status(3000, 5_000_000_000, 5_500_000_000, 12_000_000_000);
        let text = view(&before, &now, 2.0);
        for words in [
            "drive 1 failed",
            "[#####...............] 25.0 %",
            "vol0               1000        4.1     2.000 ms      3  iops 500.0 (7 held back)",
            "link-0 to host                 [#####...............]  25.0 %",
            "late     12.3 µs median, 456.0 µs p99; 3000 replies",
            "1.5 s  drive-1 fails",
        ] {
            assert!(text.contains(words), "{words}:\n{text}");
        }
    }

    /// Proves that an answer which is not as expected is shown as far as it goes.
    #[test]
    fn anything_can_be_shown() {
        for status in
            [Value::Null, json!([]), json!({"volumes": [1], "model": {"parts": 3, "clock_ns": "x"}})]
        {
            view(&status, &status, 0.0);
        }
    }
}

//! Prometheus's text format 0.0.4 and what OpenMetrics adds to it
//! (prometheus.io/docs/instrumenting/exposition_formats). What cannot be read is passed over, line by line.

use std::borrow::Cow;

/// A line with a value.
#[derive(Debug, PartialEq)]
pub(super) struct Line<'a> {
    pub name: Cow<'a, str>,
    pub labels: Vec<(Cow<'a, str>, Cow<'a, str>)>,
    pub value: f64,
    /// True for a count since some start.
    pub is_cumulative: bool,
}

/// More labels on a value are no description any more.
const LABELS_LIMIT: usize = 64;

/// Gives every value of the text whose metric's name is wanted.
pub(super) fn read<'a>(text: &'a str, wanted: impl Fn(&str) -> bool, mut each: impl FnMut(Line<'a>)) {
    // The type of a family stands before its values.
    let (mut family, mut kind) = ("", "");
    for line in text.lines() {
        if let Some(comment) = line.strip_prefix('#') {
            let mut words = comment.split_ascii_whitespace();
            if words.next() == Some("TYPE") {
                (family, kind) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
            }
            continue;
        }
        let Some((name, labels, value)) = parse_line(line.trim()) else { continue };
        if wanted(&name) {
            let is_cumulative = is_cumulative(&name, family, kind);
            each(Line { name, labels, value, is_cumulative });
        }
    }
}

/// Counters, and the parts of histograms and summaries that count. OpenMetrics leaves `_total` out of a counter's
/// type line. A value without a type is a count by the convention of its name.
fn is_cumulative(name: &str, family: &str, kind: &str) -> bool {
    match name.strip_prefix(family).filter(|_| !family.is_empty()) {
        Some("" | "_total") if kind == "counter" => true,
        Some("_bucket" | "_sum" | "_count") => matches!(kind, "histogram" | "summary"),
        Some("") => false,
        _ => name.ends_with("_total"),
    }
}

type Labels<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// `name{label="value",…} value [timestamp]`; or, as Prometheus 3 has it, `{"name",label="value"} value`.
fn parse_line(line: &str) -> Option<(Cow<'_, str>, Labels<'_>, f64)> {
    let end = line.find(|c: char| c == '{' || c.is_ascii_whitespace())?;
    let (name, mut rest) = line.split_at(end);
    let mut name: Cow<'_, str> = name.into();
    let mut labels = Vec::new();
    rest = rest.trim_start();
    if let Some(inside) = rest.strip_prefix('{') {
        rest = inside.trim_start();
        loop {
            if let Some(after) = rest.strip_prefix('}') {
                rest = after;
                break;
            }
            let (label, after) = match rest.strip_prefix('"') {
                Some(quoted) => quoted_text(quoted)?,
                None => {
                    let end = rest.find(|c: char| "=,}\"".contains(c) || c.is_ascii_whitespace())?;
                    (rest[..end].into(), &rest[end..])
                }
            };
            rest = after.trim_start();
            match rest.strip_prefix('=') {
                Some(after) => {
                    let (value, after) = quoted_text(after.trim_start().strip_prefix('"')?)?;
                    if label.is_empty() || labels.len() == LABELS_LIMIT {
                        return None;
                    }
                    labels.push((label, value));
                    rest = after.trim_start();
                }
                None if name.is_empty() => name = label,
                None => return None,
            }
            rest = match rest.strip_prefix(',') {
                Some(after) => after.trim_start(),
                None if rest.starts_with('}') => rest,
                None => return None,
            };
        }
    }
    let value = rest.split_ascii_whitespace().next()?.parse().ok()?;
    (!name.is_empty()).then_some((name, labels, value))
}

/// The text up to the closing quote, and what follows it. `\\`, `\"` and `\n` are the escapes.
fn quoted_text(text: &str) -> Option<(Cow<'_, str>, &str)> {
    let end = text.find(['"', '\\'])?;
    if text.as_bytes()[end] == b'"' {
        return Some((text[..end].into(), &text[end + 1..]));
    }
    let mut plain = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '"' => return Some((plain.into(), &text[at + 1..])),
            '\\' => match characters.next()?.1 {
                'n' => plain.push('\n'),
                escaped @ ('\\' | '"') => plain.push(escaped),
                other => plain.extend(['\\', other]),
            },
            character => plain.push(character),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn lines(text: &str) -> Vec<(String, String, f64, bool)> {
        let mut all = Vec::new();
        read(
            text,
            |_| true,
            |line| {
                let labels: Vec<String> = line.labels.iter().map(|(k, v)| format!("{k}={v}")).collect();
                all.push((line.name.into_owned(), labels.join("|"), line.value, line.is_cumulative));
            },
        );
        all
    }

    fn one(name: &str, labels: &str, value: f64, is_cumulative: bool) -> (String, String, f64, bool) {
        (name.to_owned(), labels.to_owned(), value, is_cumulative)
    }

    /// Proves that the format's own forms are read: types, escapes, blanks, timestamps, exemplars, quoted names.
    #[test]
    fn forms_of_the_format_are_read() {
        let text = r#"# HELP http_requests_total The total number of HTTP requests.
# TYPE http_requests_total counter
http_requests_total{method="post",code="200"} 1027 1395066363000
msdos_file_access_time_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1.458255915e9
metric_without_timestamp_and_labels 12.47
something_weird{problem="division by zero"} -3.5 -3982045
# TYPE rpc summary
rpc{quantile="0.5",} 47
rpc_sum 1.7560473e+07
rpc_count 2693
# TYPE requests counter
requests_total { a = "x" , b="y" } 5 # {trace="z"} 0.67
{"my.metric","a.b"="c"} 7
free_total 3
# EOF
"#;
        assert_eq!(
            lines(text),
            [
                one("http_requests_total", "method=post|code=200", 1027.0, true),
                one(
                    "msdos_file_access_time_seconds",
                    "path=C:\\DIR\\FILE.TXT|error=Cannot find file:\n\"FILE.TXT\"",
                    1.458_255_915e9,
                    false
                ),
                one("metric_without_timestamp_and_labels", "", 12.47, false),
                one("something_weird", "problem=division by zero", -3.5, false),
                one("rpc", "quantile=0.5", 47.0, false),
                one("rpc_sum", "", 17_560_473.0, true),
                one("rpc_count", "", 2693.0, true),
                one("requests_total", "a=x|b=y", 5.0, true),
                one("my.metric", "a.b=c", 7.0, false),
                one("free_total", "", 3.0, true),
            ]
        );
    }

    /// Proves that broken lines are passed over and cost nothing but themselves.
    #[test]
    fn broken_lines_are_passed_over() {
        let broken = [
            "a",
            "a{",
            "a{b",
            "a{b=}",
            "a{b=\"c} 1",
            "a{b=\"c\"",
            "a{b=\"c\"} x",
            "a{=\"c\"} 1",
            "{} 1",
            "a{b} 1",
            "a{b=\"c\"d=\"e\"} 1",
            "a{b=\"\\",
            "# TYPE",
            "{\"a\",\"b\"} 1",
            " ",
        ];
        let text = broken.join("\n") + "\ngood 1\n";
        assert_eq!(lines(&text), [one("good", "", 1.0, false)]);
    }

    proptest! {
        /// Proves that no text panics, and that labels survive being written and read.
        #[test]
        fn labels_survive(value in "\\PC{0,40}", noise in "[a-c{}=\", \\\\0-9\n#]{0,120}") {
            lines(&noise);
            let escaped = value.replace('\\', "\\\\").replace('"', "\\\"");
            prop_assert_eq!(lines(&format!("m{{l=\"{escaped}\"}} 1")), [one("m", &format!("l={value}"), 1.0, false)]);
        }
    }
}

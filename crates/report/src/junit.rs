//! A comparison as JUnit XML, which continuous integration shows as tests.

use findings::{Comparison, Judgement, MetricComparison};
use std::fmt::Write;

/// One suite for each comparison, with one test for each metric of each case: a regression fails, what cannot be told is
/// skipped.
pub fn junit(comparisons: &[Comparison]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    if let [one] = comparisons {
        xml.push_str(&suite(one));
    } else {
        xml.push_str("<testsuites>\n");
        comparisons.iter().for_each(|one| xml.push_str(&suite(one)));
        xml.push_str("</testsuites>\n");
    }
    xml
}

fn suite(comparison: &Comparison) -> String {
    let tests: usize = comparison.cases.iter().map(|case| case.metrics.len()).sum();
    let failures = comparison.of(Judgement::Regression).count();
    let skipped = comparison.of(Judgement::Unknown).count();
    let mut xml = String::new();
    // Writing to a string cannot fail.
    let _ = writeln!(
        xml,
        "<testsuite name=\"arraylab compare\" tests=\"{tests}\" failures=\"{failures}\" skipped=\"{skipped}\" errors=\"0\">"
    );
    for case in &comparison.cases {
        for metric in &case.metrics {
            let _ = write!(
                xml,
                "  <testcase classname=\"{}\" name=\"{}: {}\"",
                escape(&case.stage),
                escape(&case.case),
                metric.metric.name()
            );
            let _ = match metric.judgement {
                Judgement::Regression => {
                    writeln!(xml, "><failure message=\"{}\"/></testcase>", escape(&sentence(metric)))
                }
                Judgement::Unknown => writeln!(
                    xml,
                    "><skipped message=\"too few intervals to tell noise from difference\"/></testcase>"
                ),
                Judgement::Better | Judgement::Worse | Judgement::Mixed | Judgement::Same => {
                    writeln!(xml, "/>")
                }
            };
        }
    }
    xml.push_str("</testsuite>\n");
    xml
}

fn sentence(metric: &MetricComparison) -> String {
    let interval = metric
        .change_confidence_95
        .map_or_else(String::new, |[low, high]| format!(", 95 % confidence {low:+.1} to {high:+.1} %"));
    format!(
        "{} went from {:.0} to {:.0} ({:+.1} %{interval})",
        metric.metric.name(),
        metric.before,
        metric.after,
        metric.change_percent
    )
}

/// XML 1.0 has no other control characters than these three, not even escaped.
fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            c if c.is_control() && !matches!(c, '\t' | '\n' | '\r') => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}

//! The report as Markdown (GitHub's dialect): the same words and tables, charts as rows of block characters.

use crate::chart::{Chart, Role};
use crate::escape::markdown as escaped;
use crate::model::{AnswersPage, Origin, Report, Section, SizingPage, Table, WhatIfPage};
use findings::Cited;
use std::fmt::Write as _;

/// Rows of a table beyond which Markdown shows the first of them and says how many there are.
const ROWS_SHOWN: usize = 400;

/// The whole document.
pub fn document(report: &Report) -> String {
    let mut out = String::new();
    let _ = writeln!(out, "# {}\n\n{}\n", escaped(&report.title), escaped(&report.subtitle));
    match &report.origin {
        Origin::Simulated { twin } => {
            let _ = writeln!(
                out,
                "**Simulated, not measured.** Every figure here comes from a model of the array, its twin {}, in simulated time. No real array took part.\n",
                escaped(twin)
            );
        }
        Origin::Measured { target } => {
            let _ = writeln!(out, "**Measured** on {}.\n", escaped(target));
        }
    }
    match &report.answers {
        Some(AnswersPage::Sizing(page)) => sizing(&mut out, page),
        Some(AnswersPage::WhatIf(page)) => what_if(&mut out, page),
        None => {}
    }
    if !report.verdict.because.is_empty() {
        let word = match report.verdict.passed {
            Some(true) => "✓ PASS",
            Some(false) => "✗ FAIL",
            None => "– no verdict",
        };
        let lines: Vec<String> = report.verdict.because.iter().map(|line| escaped(line)).collect();
        let _ = writeln!(out, "**{word}**: {}\n", lines.join(" "));
    }
    for (title, lines) in report.decision.lists() {
        let _ = writeln!(out, "{title}:\n");
        list(&mut out, lines);
    }
    if !report.model.is_empty() {
        out.push_str("What the model is:\n\n");
        report.model.iter().for_each(|line| {
            let _ = writeln!(out, "- {}", escaped(line));
        });
        out.push('\n');
    }
    for one in &report.in_short {
        let points: Vec<String> = one.answer.text.lines().map(escaped).collect();
        let _ = writeln!(out, "- **{}**: {}", escaped(&one.question), points.join(" "));
    }
    for headline in &report.headlines {
        let _ = writeln!(
            out,
            "- {}: **{}** ({})",
            escaped(&headline.label),
            escaped(&headline.value),
            escaped(&headline.detail)
        );
    }
    out.push('\n');
    if !report.conclusions.is_empty() {
        out.push_str("## What was found\n\n");
        for (index, conclusion) in report.conclusions.iter().enumerate() {
            let verdict = conclusion
                .verdict
                .as_ref()
                .map(|verdict| format!("**{}**: ", escaped(verdict)))
                .unwrap_or_default();
            let _ = writeln!(out, "{}. {verdict}{}", index + 1, escaped(&conclusion.text));
        }
        out.push('\n');
    }
    if !report.warnings.is_empty() {
        out.push_str("## Before you trust these figures\n\n");
        report.warnings.iter().for_each(|warning| {
            let _ = writeln!(out, "- {}", escaped(warning));
        });
        out.push('\n');
    }
    group(&mut out, "What was required", &report.requirements);
    if report.bench.is_some() || !report.tested.is_empty() {
        out.push_str("## What was tested\n\n");
        if let Some(bench) = &report.bench {
            for line in bench.lines() {
                let _ = writeln!(out, "- {}", escaped(&line));
            }
            out.push('\n');
        }
        report.tested.iter().for_each(|table| write_table(&mut out, table));
    }
    if !report.pictures.is_empty() {
        out.push_str("## Pictures\n\n");
        for picture in &report.pictures {
            let _ = writeln!(
                out,
                "- {}: {} (in the HTML report)",
                escaped(&picture.file),
                escaped(&picture.caption)
            );
        }
        out.push('\n');
    }
    group(&mut out, "Beside published and declared figures", &report.comparisons);
    report.sections.iter().for_each(|section| stage(&mut out, section));
    group(&mut out, "What has no result", &report.not_run);
    if !report.method.is_empty() || !report.facts.is_empty() {
        out.push_str("## How it was done\n\n");
        sentences(&mut out, &report.method);
        out.push_str("| | |\n|---|---|\n");
        for fact in &report.facts {
            let _ = writeln!(out, "| {} | {} |", escaped(&fact.name), escaped(&fact.value));
        }
        out.push('\n');
    }
    if !report.inventory.is_empty() {
        out.push_str("## What commands said of the host and the array\n\n");
        for output in &report.inventory {
            let _ = writeln!(out, "{}\n\n{}\n", escaped(&output.title), indented(&output.text));
        }
    }
    out
}

/// The answers of a sizing run.
fn sizing(out: &mut String, page: &SizingPage) {
    sentences(out, &page.question);
    for offer in &page.offers {
        let _ = writeln!(out, "- **{}**", escaped(&offer.sentence));
    }
    out.push('\n');
    if let Some(caution) = &page.caution {
        let _ = writeln!(out, "**{}**\n", escaped(caution));
    }
    sentences(out, &page.ranking);
    if let Some(designs) = &page.designs {
        out.push_str("## Designs\n\n");
        sentences(out, &designs.intro);
        write_table(out, &designs.table);
    }
    for offer in &page.offers {
        let _ = writeln!(out, "## {}\n\n{}\n", escaped(&offer.name), escaped(&offer.sentence));
        write_table(out, &offer.states);
        sentences(out, &offer.reasons);
        if let Some(chart) = &offer.chart {
            sparklines(out, chart);
        }
        write_table(out, &offer.properties);
        for (title, lines) in offer.lists() {
            let _ = writeln!(out, "{title}:\n");
            list(out, lines);
        }
    }
}

/// The answers about changes of an array.
fn what_if(out: &mut String, page: &WhatIfPage) {
    sentences(out, &page.question);
    list(out, &page.answers);
    if let Some(caution) = &page.caution {
        let _ = writeln!(out, "**{}**\n", escaped(caution));
    }
    out.push_str("## Before and after\n\n");
    write_table(out, &page.effects);
    write_table(out, &page.gains);
    if let Some(walk) = &page.walk {
        out.push_str("## From limit to limit\n\n");
        list(out, &walk.sentences);
        walk.table.iter().for_each(|table| write_table(out, table));
    }
    out.push_str("## Basis\n\n");
    list(out, &page.basis);
}

fn list(out: &mut String, lines: &[Cited]) {
    for line in lines {
        let _ = writeln!(out, "- {}", escaped(line));
    }
    out.push('\n');
}

/// Text as it is: four blanks before each line make a block of it that no text can end.
fn indented(text: &str) -> String {
    let lines: Vec<String> = text
        .lines()
        .map(|line| format!("    {}", line.replace(|c: char| c.is_control() && c != '\t', "\u{fffd}")))
        .collect();
    lines.join("\n")
}

fn group(out: &mut String, title: &str, tables: &[Table]) {
    if !tables.is_empty() {
        let _ = writeln!(out, "## {title}\n");
        tables.iter().for_each(|table| write_table(out, table));
    }
}

fn stage(out: &mut String, section: &Section) {
    let _ = writeln!(out, "## {}\n", escaped(&section.title));
    sentences(out, &section.intro);
    section.tables.iter().for_each(|table| write_table(out, table));
    for chart in &section.charts {
        sparklines(out, chart);
    }
    section.contours.iter().for_each(|contour| write_table(out, &contour.data_table()));
    sentences(out, &section.notes);
}

fn sentences(out: &mut String, texts: &[Cited]) {
    for text in texts {
        let _ = writeln!(out, "{}\n", escaped(text));
    }
}

fn write_table(out: &mut String, table: &Table) {
    let _ = writeln!(out, "**{}**\n", escaped(&table.caption));
    let titles: Vec<String> = table.columns.iter().map(|column| escaped(&column.title)).collect();
    let rules: Vec<&str> =
        table.columns.iter().map(|column| if column.is_numeric { "---:" } else { "---" }).collect();
    let _ = writeln!(out, "| {} |\n|{}|", titles.join(" | "), rules.join("|"));
    for row in table.rows.iter().take(ROWS_SHOWN) {
        let cells: Vec<String> = row.iter().map(|cell| escaped(cell)).collect();
        let _ = writeln!(out, "| {} |", cells.join(" | "));
    }
    if table.rows.len() > ROWS_SHOWN {
        let _ = writeln!(
            out,
            "\nThe first {ROWS_SHOWN} of {} rows; the HTML report has them all.",
            table.rows.len()
        );
    }
    out.push('\n');
}

/// One row of block characters a series: its shape at a glance, lowest value of the chart to highest.
fn sparklines(out: &mut String, chart: &Chart) {
    const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    const WIDTH: usize = 60;
    let series: Vec<_> =
        chart.series.iter().filter(|series| series.role == Role::Run && !series.points.is_empty()).collect();
    let values = || series.iter().flat_map(|series| series.points.iter().filter_map(|point| point.y));
    let (low, high) =
        values().fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), y| (low.min(y), high.max(y)));
    if low > high {
        return;
    }
    let axis = |value| escaped(&crate::chart::scale::plain(value));
    let unit = if chart.y.unit.is_empty() { String::new() } else { format!(" {}", escaped(&chart.y.unit)) };
    let _ = writeln!(out, "{} (▁ {}{unit} to █ {}{unit}):\n", escaped(&chart.title), axis(low), axis(high));
    for series in series {
        let count = series.points.len();
        let shown: String = (0..count.min(WIDTH))
            .map(|column| {
                let point = &series.points[column * count / count.min(WIDTH)];
                point.y.map_or(' ', |y| {
                    let share = if high > low { (y - low) / (high - low) } else { 1.0 };
                    STEPS[(share * 7.0).round() as usize]
                })
            })
            .collect();
        let label =
            if series.label.is_empty() { String::new() } else { format!(" {}", escaped(&series.label)) };
        let _ = writeln!(out, "- `{shown}`{label}");
    }
    out.push('\n');
}

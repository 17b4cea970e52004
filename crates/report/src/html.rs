//! The report as one HTML page that loads nothing.

mod first_page;
mod sizing_page;
mod what_if_page;

use crate::chart::{Chart, Role, Scale, TickFormat};
use crate::escape::{html, prose};
use crate::heat_map::HeatMap;
use crate::model::{AnswersPage, Column, Picture, Report, Section, Table};
use base64::Engine as _;
use findings::Cited;
use sha2::Digest as _;
use std::fmt::Write as _;
use units::human_count;

const STYLE: &str = concat!(
    include_str!("../assets/chart.css"),
    include_str!("../assets/report.css"),
    include_str!("../assets/uplot/uPlot.min.css")
);
const UPLOT: &str = include_str!("../assets/uplot/uPlot.iife.min.js");
const UPLOT_LICENCE: &str = include_str!("../assets/uplot/LICENSE");
const SCRIPT: &str = include_str!("../assets/report.js");

/// Tables of charts up to this length are opened on paper; longer ones are left to the page and the CSV.
const PRINTED_ROWS: usize = 40;
/// Tables beyond this length scroll in a window of their own.
const TALL_ROWS: usize = 24;

/// A stage with more charts than this shows the rest of them small.
const MULTIPLES_FROM: usize = 12;

/// Hatchings of the page's bars.
const HATCHES: &str =
    concat!("<svg class=\"hatches\" aria-hidden=\"true\">", include_str!("../assets/hatches.svg"), "</svg>");

/// The whole page.
pub fn page(report: &Report) -> String {
    let mut out = String::with_capacity(1 << 18);
    let of_sections = report.sections.iter().flat_map(|section| &section.charts);
    let has_zoom = report.answers.iter().flat_map(AnswersPage::charts).chain(of_sections).any(can_zoom);
    let scripts: &[&str] = if has_zoom { &[UPLOT, SCRIPT] } else { &[SCRIPT] };
    head(&mut out, report, scripts);
    first_page::header(&mut out, report);
    out.push_str("<main>");
    contents(&mut out, report);
    if !report.requirements.is_empty() {
        out.push_str("<section id=\"requirements\"><h2>What was required</h2>");
        report.requirements.iter().for_each(|table| open_table(&mut out, table));
        out.push_str("</section>");
    }
    what_was_tested(&mut out, report);
    pictures(&mut out, &report.pictures);
    if !report.comparisons.is_empty() {
        out.push_str("<section id=\"comparison\"><h2>Beside published and declared figures</h2>");
        report.comparisons.iter().for_each(|table| open_table(&mut out, table));
        out.push_str("</section>");
    }
    report.sections.iter().for_each(|section| stage(&mut out, section));
    if !report.not_run.is_empty() {
        out.push_str("<section id=\"not-run\"><h2>What has no result</h2>");
        report.not_run.iter().for_each(|table| open_table(&mut out, table));
        out.push_str("</section>");
    }
    if has_method(report) {
        out.push_str("<section id=\"method\"><h2>How it was done</h2>");
        paragraphs(&mut out, "", &report.method);
        facts(&mut out, report);
        out.push_str("</section>");
    }
    if !report.inventory.is_empty() {
        out.push_str("<section id=\"inventory\"><h2>What commands said of the host and the array</h2>");
        for output in &report.inventory {
            let _ = write!(
                out,
                "<details class=\"large-data\"><summary>{}</summary><pre>{}</pre></details>",
                html(&output.title),
                html(&output.text)
            );
        }
        out.push_str("</section>");
    }
    out.push_str(
        "</main><footer><p>This page is complete in itself: it loads nothing, and its charts need no script.",
    );
    if has_zoom {
        let _ = write!(
            out,
            " Zooming uses uPlot.</p><details class=\"large-data\"><summary>Licence of uPlot</summary><pre>{}</pre></details>",
            html(UPLOT_LICENCE)
        );
    } else {
        out.push_str("</p>");
    }
    out.push_str("</footer>");
    for script in scripts {
        let _ = write!(out, "<script>{script}</script>");
    }
    out.push_str("</body></html>\n");
    out
}

/// A page without scripts around a body.
pub fn plain_page(title: &str, body: &str) -> String {
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; base-uri 'none'; \
         form-action 'none'\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"generator\" content=\"arraylab\"><title>{}</title><style>{STYLE}</style></head><body>{body}</body></html>\n",
        hash_source(STYLE),
        html(title),
    )
}

/// A table with its caption.
pub fn write_table(out: &mut String, table: &Table) {
    open_table(out, table);
}

/// The source expression that allows exactly this inline text (CSP level 3, §6.7.2.8).
fn hash_source(text: &str) -> String {
    format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(sha2::Sha256::digest(text)))
}

fn head(out: &mut String, report: &Report, scripts: &[&str]) {
    let script_sources: Vec<String> = scripts.iter().map(|script| hash_source(script)).collect();
    let _ = write!(
        out,
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src {}; script-src {}; \
         img-src data:; base-uri 'none'; form-action 'none'\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <meta name=\"generator\" content=\"arraylab\"><title>{}</title><style>{STYLE}</style></head><body>{HATCHES}",
        hash_source(STYLE),
        script_sources.join(" "),
        html(&report.title),
    );
}

fn has_method(report: &Report) -> bool {
    !report.method.is_empty() || !report.facts.is_empty()
}

/// Writes the facts that a reader needs to judge or repeat the run.
fn facts(out: &mut String, report: &Report) {
    out.push_str("<dl class=\"facts\">");
    for fact in &report.facts {
        let _ = write!(out, "<div><dt>{}</dt><dd>{}</dd></div>", html(&fact.name), html(&fact.value));
    }
    out.push_str("</dl>");
}

fn contents(out: &mut String, report: &Report) {
    let mut entries: Vec<(&str, &str)> = Vec::new();
    if !report.requirements.is_empty() {
        entries.push(("requirements", "What was required"));
    }
    if report.bench.is_some() || !report.tested.is_empty() {
        entries.push(("tested", "What was tested"));
    }
    if !report.comparisons.is_empty() {
        entries.push(("comparison", "Published and declared"));
    }
    entries.extend(report.sections.iter().map(|section| (section.id.as_str(), section.title.text())));
    if !report.not_run.is_empty() {
        entries.push(("not-run", "What has no result"));
    }
    if has_method(report) {
        entries.push(("method", "How it was done"));
    }
    if !report.inventory.is_empty() {
        entries.push(("inventory", "What commands said"));
    }
    if entries.len() < 3 {
        return;
    }
    out.push_str("<nav aria-label=\"Contents\"><ul>");
    for (id, title) in entries {
        let _ = write!(out, "<li><a href=\"#{}\">{}</a></li>", html(id), html(title));
    }
    out.push_str("</ul></nav>");
}

fn what_was_tested(out: &mut String, report: &Report) {
    if report.bench.is_none() && report.tested.is_empty() {
        return;
    }
    out.push_str("<section id=\"tested\"><h2>What was tested</h2><div class=\"pair\">");
    if let Some(bench) = &report.bench {
        let _ = write!(
            out,
            "<figure id=\"bench\"><figcaption><h3>{}</h3></figcaption>{}</figure>",
            html(&bench.title),
            bench.svg()
        );
    }
    if !report.tested.is_empty() {
        out.push_str("<div>");
        report.tested.iter().for_each(|table| open_table(out, table));
        out.push_str("</div>");
    }
    out.push_str("</div></section>");
}

/// Pictures in the page itself, so that it loads nothing.
fn pictures(out: &mut String, pictures: &[Picture]) {
    if pictures.is_empty() {
        return;
    }
    out.push_str("<section id=\"pictures\"><h2>Pictures</h2><div class=\"pair\">");
    for picture in pictures {
        let _ = write!(
            out,
            "<figure><img alt=\"{0}\" src=\"data:{1};base64,{2}\"><figcaption><p>{0}</p></figcaption></figure>",
            html(&picture.caption),
            picture.media_type,
            base64::engine::general_purpose::STANDARD.encode(&picture.bytes)
        );
    }
    out.push_str("</div></section>");
}

fn stage(out: &mut String, section: &Section) {
    let _ = write!(out, "<section id=\"{}\"><h2>{}</h2>", html(&section.id), html(&section.title));
    paragraphs(out, "", &section.intro);
    // Many charts are small multiples: their shapes are compared at a glance, and each can be made large.
    let count = section.charts.len();
    let is_small = count > MULTIPLES_FROM && section.large_charts < count;
    let (large, small) = section.charts.split_at(if is_small { section.large_charts } else { count });
    if !large.is_empty() {
        out.push_str("<div class=\"pair\">");
        large.iter().for_each(|chart| figure(out, chart));
        out.push_str("</div>");
    }
    if !section.contours.is_empty() {
        out.push_str("<div class=\"pair\">");
        section.contours.iter().for_each(|contour| {
            plain_figure(out, &contour.chart(), &contour.data_table());
        });
        out.push_str("</div>");
    }
    if !section.heat_maps.is_empty() {
        out.push_str("<div class=\"pair\">");
        section.heat_maps.iter().for_each(|map| heat_map(out, map));
        out.push_str("</div>");
    }
    if !small.is_empty() {
        out.push_str("<div class=\"multiples\">");
        small.iter().for_each(|chart| figure(out, chart));
        out.push_str("</div>");
    }
    section.tables.iter().for_each(|table| open_table(out, table));
    paragraphs(out, "notes", &section.notes);
    out.push_str("</section>");
}

fn paragraphs(out: &mut String, class: &str, texts: &[Cited]) {
    for text in texts {
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        let _ = write!(out, "<p{class}>{}</p>", prose(text));
    }
}

fn can_zoom(chart: &Chart) -> bool {
    !matches!(chart.x.scale, Scale::Categories(_))
        && chart.series.iter().any(|series| series.points.len() > 1)
}

fn figure(out: &mut String, chart: &Chart) {
    let _ = write!(out, "<figure class=\"chart\" id=\"{}\"", html(&chart.id));
    if can_zoom(chart) {
        let scale = |scale: &Scale| match scale {
            Scale::Log2 => "log2",
            Scale::Log10 => "log10",
            _ => "linear",
        };
        let format = if chart.x.format == TickFormat::Bytes { "bytes" } else { "number" };
        let _ = write!(
            out,
            " data-x=\"{}\" data-y=\"{}\" data-x-format=\"{format}\" data-y-title=\"{}\"",
            scale(&chart.x.scale),
            scale(&chart.y.scale),
            html(&chart.y.heading())
        );
    }
    let table = chart.data_table();
    drawing(out, chart, &table, &column_styles(chart));
}

/// A chart that is not made larger by the script, with a table of its own.
fn plain_figure(out: &mut String, chart: &Chart, table: &Table) {
    let _ = write!(out, "<figure class=\"chart\" id=\"{}\"", html(&chart.id));
    drawing(out, chart, table, &[]);
}

/// The rest of a figure: its caption, the drawing, and the table behind it.
fn drawing(out: &mut String, chart: &Chart, table: &Table, styles: &[String]) {
    let _ = write!(out, "><figcaption><h3>{}</h3>", html(&chart.title));
    if !chart.caption.is_empty() {
        let _ = write!(out, "<p>{}</p>", html(&chart.caption));
    }
    let _ = write!(out, "</figcaption>{}", chart.svg());
    let rows = human_count(table.rows.len() as u64, "row");
    let is_large = table.rows.len() > PRINTED_ROWS;
    let class = if is_large { " class=\"large-data\"" } else { "" };
    let _ = write!(out, "<details{class}><summary>Table of {rows}</summary>");
    table_element(out, table, styles, false);
    out.push_str("</details>");
    if is_large {
        let _ = write!(
            out,
            "<p class=\"notes on-paper\">The table of {rows} is in the HTML page and in the run’s CSV.</p>"
        );
    }
    out.push_str("</figure>");
}

fn heat_map(out: &mut String, map: &HeatMap) {
    let _ = write!(
        out,
        "<figure class=\"chart\" id=\"{}\"><figcaption><h3>{}</h3><p>{}</p></figcaption>{}",
        html(&map.id),
        html(&map.title),
        html(&map.caption),
        map.svg()
    );
    let table = map.data_table();
    let rows = human_count(table.rows.len() as u64, "row");
    let _ = write!(out, "<details class=\"large-data\"><summary>Table of {rows}</summary>");
    table_element(out, &table, &[], false);
    out.push_str("</details></figure>");
}

/// For each column of a chart's table, the series that it belongs to, as attributes for the script.
fn column_styles(chart: &Chart) -> Vec<String> {
    let mut styles = vec![String::new()];
    for series in &chart.series {
        let role = match series.role {
            Role::Published => " data-role=\"published\"",
            Role::Loose => " data-role=\"loose\"",
            Role::Run => "",
        };
        styles.push(format!(" data-style=\"{}\"{role}", series.style));
        if series.points.iter().any(|point| point.range.is_some()) {
            styles.push(String::new());
        }
    }
    styles
}

fn open_table(out: &mut String, table: &Table) {
    table_element(out, table, &[], true);
}

fn table_element(out: &mut String, table: &Table, attributes: &[String], has_caption: bool) {
    let tall = if table.rows.len() > TALL_ROWS { " tall" } else { "" };
    // A region that scrolls must be reachable from the keyboard and have a name.
    let _ = write!(
        out,
        "<div class=\"scroll{tall}\" tabindex=\"0\" role=\"region\" aria-label=\"{}\"><table id=\"{}\">",
        html(&table.caption),
        html(&table.id)
    );
    if has_caption {
        let _ = write!(out, "<caption>{}</caption>", html(&table.caption));
    }
    out.push_str("<thead><tr>");
    for (index, column) in table.columns.iter().enumerate() {
        let attribute = attributes.get(index).map_or("", String::as_str);
        let _ = write!(out, "<th scope=\"col\"{}{attribute}>{}</th>", class_of(column), html(&column.title));
    }
    out.push_str("</tr></thead><tbody>");
    for row in &table.rows {
        out.push_str("<tr>");
        for (cell, column) in row.iter().zip(&table.columns) {
            let _ = write!(out, "<td{}>{}</td>", class_of(column), prose(cell));
        }
        out.push_str("</tr>");
    }
    out.push_str("</tbody></table></div>");
}

fn class_of(column: &Column) -> &'static str {
    if column.is_numeric { " class=\"n\"" } else { "" }
}

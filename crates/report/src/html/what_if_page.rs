//! Answers about changes of an array, at the top of the HTML report.

use super::sizing_page::{caution, list, paragraphs};
use super::{figure, open_table};
use crate::model::WhatIfPage;

/// The answers in a sentence each, before and after, gains of parts, the walk from limit to limit, and the basis.
pub(super) fn write(out: &mut String, page: &WhatIfPage) {
    out.push_str("<section id=\"answers\" class=\"answers\" aria-label=\"Answers\">");
    paragraphs(out, &page.question);
    list(out, "effects", &page.answers);
    caution(out, page.caution.as_ref());
    out.push_str("</section><section id=\"before-and-after\"><h2>Before and after</h2>");
    open_table(out, &page.effects);
    out.push_str("<div class=\"pair\">");
    page.charts.iter().for_each(|chart| figure(out, chart));
    out.push_str("</div>");
    open_table(out, &page.gains);
    out.push_str("</section>");
    if let Some(walk) = &page.walk {
        out.push_str("<section id=\"bottlenecks\"><h2>From limit to limit</h2>");
        list(out, "notes", &walk.sentences);
        if let Some(chart) = &walk.chart {
            figure(out, chart);
        }
        if let Some(table) = &walk.table {
            open_table(out, table);
        }
        out.push_str("</section>");
    }
    out.push_str("<section id=\"basis\"><h2>Basis</h2>");
    list(out, "notes", &page.basis);
    out.push_str("</section>");
}

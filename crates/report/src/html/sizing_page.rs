//! Answers of a sizing run, at the top of the HTML report.

use super::{figure, open_table};
use crate::escape::{html, prose};
use crate::model::{Offer, SizingPage};
use findings::Cited;
use std::fmt::Write as _;

/// The answers in a sentence each, the order of arrays, designs, and a block for each array.
pub(super) fn write(out: &mut String, page: &SizingPage) {
    out.push_str("<section id=\"answers\" class=\"answers\" aria-label=\"Answers\">");
    paragraphs(out, &page.question);
    out.push_str("<ul>");
    for offer in &page.offers {
        let _ = write!(
            out,
            "<li class=\"{}\"><a href=\"#{}\">{}</a></li>",
            html(&offer.verdict),
            html(&offer.id),
            prose(&offer.sentence)
        );
    }
    out.push_str("</ul>");
    caution(out, page.caution.as_ref());
    paragraphs(out, &page.ranking);
    out.push_str("</section>");
    if let Some(designs) = &page.designs {
        out.push_str("<section id=\"designs\"><h2>Designs</h2>");
        paragraphs(out, &designs.intro);
        figure(out, &designs.chart);
        open_table(out, &designs.table);
        out.push_str("</section>");
    }
    // A single answer stands above already.
    let has_several = page.offers.len() > 1;
    page.offers.iter().for_each(|one| offer(out, one, has_several));
}

pub(super) fn paragraphs(out: &mut String, lines: &[Cited]) {
    for line in lines {
        let _ = write!(out, "<p>{}</p>", prose(line));
    }
}

pub(super) fn caution(out: &mut String, caution: Option<&Cited>) {
    if let Some(caution) = caution {
        let _ = write!(out, "<p class=\"caution\"><strong>{}</strong></p>", prose(caution));
    }
}

pub(super) fn list(out: &mut String, class: &str, lines: &[Cited]) {
    let _ = write!(out, "<ul class=\"{class}\">");
    for line in lines {
        let _ = write!(out, "<li>{}</li>", prose(line));
    }
    out.push_str("</ul>");
}

fn offer(out: &mut String, offer: &Offer, has_answer: bool) {
    let _ = write!(out, "<section id=\"{}\" class=\"offer\"><h2>{}</h2>", html(&offer.id), html(&offer.name));
    if has_answer {
        let _ = write!(out, "<p class=\"answer {}\">{}</p>", html(&offer.verdict), prose(&offer.sentence));
    }
    open_table(out, &offer.states);
    if !offer.reasons.is_empty() {
        list(out, "notes", &offer.reasons);
    }
    out.push_str("<div class=\"pair\">");
    if let Some(chart) = &offer.chart {
        figure(out, chart);
    }
    out.push_str("<div>");
    open_table(out, &offer.properties);
    out.push_str("</div></div><div class=\"decision\">");
    for (title, lines) in offer.lists() {
        let _ = write!(out, "<div><h3>{title}</h3><ul>");
        for line in lines {
            let _ = write!(out, "<li>{}</li>", prose(line));
        }
        out.push_str("</ul></div>");
    }
    out.push_str("</div></section>");
}

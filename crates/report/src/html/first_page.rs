//! First page of the HTML report.

use crate::escape::{html, prose};
use crate::model::{AnswersPage, Conclusion, Origin, Report};
use findings::Cited;
use std::fmt::Write as _;
use units::human_count;

/// Remarks beyond so many unfold: those about the whole run come first, those about single cases after them.
const WARNINGS_OPEN: usize = 4;

/// The title, where the figures come from, the three answers, what was found and what to know before trusting it.
pub(super) fn header(out: &mut String, report: &Report) {
    let _ = write!(
        out,
        "<header><h1>{}</h1><p class=\"lead\">{}</p>",
        html(&report.title),
        html(&report.subtitle)
    );
    match &report.origin {
        Origin::Simulated { twin } => {
            let _ = write!(
                out,
                "<p class=\"origin simulated\"><strong>Simulated, not measured.</strong> Every figure here comes from a model of \
                 the array, its twin <b>{}</b>, in simulated time. No real array took part.</p>",
                html(twin)
            );
        }
        Origin::Measured { target } => {
            let _ = write!(out, "<p class=\"origin\"><strong>Measured</strong> on {}.</p>", html(target));
        }
    }
    verdict(out, report);
    match &report.answers {
        Some(AnswersPage::Sizing(page)) => super::sizing_page::write(out, page),
        Some(AnswersPage::WhatIf(page)) => super::what_if_page::write(out, page),
        None => {}
    }
    headlines(out, report);
    decision(out, report);
    if !report.model.is_empty() {
        out.push_str("<section id=\"model\" class=\"model\" aria-label=\"What the model is\"><strong>What the model is</strong><ul>");
        for line in &report.model {
            let _ = write!(out, "<li>{}</li>", prose(line));
        }
        out.push_str("</ul></section>");
    }
    if !report.in_short.is_empty() {
        out.push_str("<section id=\"in-short\"><h2>In short</h2><dl class=\"in-short\">");
        for one in &report.in_short {
            let _ = write!(out, "<div><dt>{}</dt><dd>", html(&one.question));
            points(out, &one.answer.text);
            links(out, &one.answer);
            out.push_str("</dd></div>");
        }
        out.push_str("</dl></section>");
    }
    if !report.conclusions.is_empty() {
        out.push_str("<section id=\"conclusions\"><h2>What was found</h2><ol class=\"conclusions\">");
        report.conclusions.iter().for_each(|conclusion| sentence(out, conclusion));
        out.push_str("</ol></section>");
    }
    if !report.warnings.is_empty() {
        out.push_str("<section class=\"warnings\" aria-label=\"Warnings\"><strong>Before you trust these figures</strong><ul>");
        let (first, others) = report.warnings.split_at(report.warnings.len().min(WARNINGS_OPEN));
        let list = |out: &mut String, warnings: &[Cited]| {
            for warning in warnings {
                let _ = write!(out, "<li>{}</li>", prose(warning));
            }
        };
        list(out, first);
        if !others.is_empty() {
            let more = human_count(others.len() as u64, "further remark");
            let _ = write!(out, "<li><details><summary>{more}</summary><ul>");
            list(out, others);
            out.push_str("</ul></details></li>");
        }
        out.push_str("</ul></section>");
    }
    out.push_str("</header>");
}

/// The figures that a reader takes away.
fn headlines(out: &mut String, report: &Report) {
    if !report.headlines.is_empty() {
        out.push_str("<ul class=\"headlines\">");
        for headline in &report.headlines {
            let _ = write!(
                out,
                "<li><div class=\"label\">{}</div><div class=\"figure\">{}</div><div class=\"detail\">{} <a href=\"#{}\">shown here</a></div></li>",
                html(&headline.label),
                html(&headline.value),
                html(&headline.detail),
                html(&headline.section_id)
            );
        }
        out.push_str("</ul>");
    }
}

/// The risk, what was not tested, what to ask the vendor, side by side.
fn decision(out: &mut String, report: &Report) {
    if report.decision.lists().next().is_none() {
        return;
    }
    out.push_str("<section id=\"decision\" class=\"decision\" aria-label=\"For the decision\">");
    for (title, lines) in report.decision.lists() {
        let _ = write!(out, "<div><h2>{title}</h2><ul>");
        for line in lines {
            let _ = write!(out, "<li>{}</li>", prose(line));
        }
        out.push_str("</ul></div>");
    }
    out.push_str("</section>");
}

/// Writes the verdict by the plan's requirements, before anything else.
fn verdict(out: &mut String, report: &Report) {
    if report.verdict.because.is_empty() && report.verdict.meaning.is_empty() {
        return;
    }
    let (class, word) = match report.verdict.passed {
        Some(true) => ("pass", "✓ PASS"),
        Some(false) => ("fail", "✗ FAIL"),
        None => ("none", "– no verdict"),
    };
    let _ = write!(
        out,
        "<section id=\"verdict\" class=\"run-verdict {class}\"><strong>{word}</strong> {}",
        prose(report.verdict.meaning)
    );
    if !report.verdict.because.is_empty() {
        out.push_str("<ul>");
        for line in &report.verdict.because {
            let _ = write!(out, "<li>{}</li>", prose(line));
        }
        out.push_str("</ul>");
    }
    out.push_str("</section>");
}

/// A text of several lines as a list, of one as it is.
fn points(out: &mut String, text: &str) {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() < 2 {
        let _ = write!(out, "{}", prose(text));
        return;
    }
    out.push_str("<ul>");
    lines.iter().for_each(|line| {
        let _ = write!(out, "<li>{}</li>", prose(line));
    });
    out.push_str("</ul>");
}

fn sentence(out: &mut String, conclusion: &Conclusion) {
    out.push_str("<li>");
    if let Some(verdict) = &conclusion.verdict {
        let class = match verdict.as_str() {
            "holds" => "holds",
            "refuted" => "refuted",
            _ => "not-shown",
        };
        let _ = write!(out, "<span class=\"verdict {class}\">{}</span> ", html(verdict));
    }
    let _ = write!(out, "{}", prose(&conclusion.text));
    links(out, conclusion);
    out.push_str("</li>");
}

/// Writes links to the places where a sentence is shown.
fn links(out: &mut String, conclusion: &Conclusion) {
    for evidence in &conclusion.evidence {
        let _ = write!(out, " <a href=\"#{}\">{}</a>", html(&evidence.id), html(&evidence.label));
    }
}

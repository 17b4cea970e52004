//! Shared drawing of line and bar charts: SVG element, text, markers.

use super::{Chart, Role};
use crate::escape::html;
use std::fmt::Write as _;

/// Width of every drawing in its own units. A phone 360 px wide shows it at about three quarters, so text of 12
/// units stays readable; two stand side by side on a desk.
pub const WIDTH: f64 = 440.0;
/// Size of text in the drawing's units; `.chart text` in the style sheet says the same.
pub const TEXT: f64 = 12.0;

/// About how wide a text is: for DejaVu Sans, the widest face that browsers fall back to, so that texts keep apart
/// in every other.
pub fn text_width(text: &str) -> f64 {
    text.chars()
        .map(|character| match character {
            'i' | 'j' | 'l' | '.' | ',' | ':' | ';' | '\'' | '|' | '!' | ' ' | 'f' | 't' | 'r' => 0.36,
            'm' | 'w' | 'M' | 'W' | '%' | '@' | '÷' => 0.92,
            c if c.is_uppercase() => 0.70,
            _ => 0.61,
        })
        .sum::<f64>()
        * TEXT
}

/// A text cut to a width, with an ellipsis where something was cut.
pub fn fitted(text: &str, width: f64) -> String {
    if text_width(text) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    for character in text.chars() {
        kept.push(character);
        if text_width(&kept) > width - TEXT * 0.9 {
            kept.pop();
            break;
        }
    }
    format!("{}…", kept.trim_end())
}

/// An SVG drawing that is being written.
pub struct Drawing {
    out: String,
}

impl Drawing {
    /// Opens the element and names it for those who cannot see it.
    pub fn open(chart: &Chart, height: f64) -> Self {
        let mut out = String::with_capacity(4096);
        let (title, description) = (html(&chart.title), chart.description());
        let _ = write!(
            out,
            "<svg class=\"plot\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" aria-label=\"{title}\">\
             <title>{title}</title><desc>{}</desc>",
            html(&description)
        );
        Drawing { out }
    }

    /// The finished element.
    pub fn close(mut self) -> String {
        self.out.push_str("</svg>");
        self.out
    }

    /// Adds markup that is known to be well-formed.
    pub fn raw(&mut self, markup: std::fmt::Arguments<'_>) {
        let _ = self.out.write_fmt(markup);
    }

    /// A straight line.
    pub fn line(&mut self, class: &str, x1: f64, y1: f64, x2: f64, y2: f64) {
        self.raw(format_args!(
            "<line class=\"{class}\" x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\"/>"
        ));
    }

    /// A text whose baseline starts, is centred or ends at a point.
    pub fn text(&mut self, class: &str, anchor: &str, x: f64, y: f64, text: &str) {
        self.raw(format_args!(
            "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
            html(text)
        ));
    }

    /// The marker of a series. Every style has a shape of its own; published figures are hollow diamonds.
    pub fn marker(&mut self, style: usize, role: Role, x: f64, y: f64) {
        if role == Role::Published {
            let r = 6.0;
            self.raw(format_args!(
                "<path class=\"published s{style}\" d=\"M{x:.1} {:.1}L{:.1} {y:.1}L{x:.1} {:.1}L{:.1} {y:.1}Z\"/>",
                y - r,
                x + r,
                y + r,
                x - r
            ));
            // A stroke inside tells diamonds of several series apart without colour.
            let stroke = match style {
                0 => return,
                1 => "m-2.5 0h5",
                2 => "m0 -2.5v5",
                3 => "m-1.8 -1.8l3.6 3.6",
                4 => "m-1.8 1.8l3.6 -3.6",
                _ => "m-2.5 0h5m-2.5 -2.5v5",
            };
            self.raw(format_args!("<path class=\"cross s{style}\" d=\"M{x:.1} {y:.1}{stroke}\"/>"));
            return;
        }
        match style {
            0 => self.raw(format_args!("<circle class=\"dot f0\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.2\"/>")),
            1 => self.raw(format_args!(
                "<rect class=\"dot f1\" x=\"{:.1}\" y=\"{:.1}\" width=\"6\" height=\"6\"/>",
                x - 3.0,
                y - 3.0
            )),
            2 => self.raw(format_args!("<path class=\"dot f2\" d=\"M{x:.1} {:.1}l4 7h-8z\"/>", y - 4.3)),
            3 => self.raw(format_args!(
                "<path class=\"cross s3\" d=\"M{:.1} {:.1}l6 6m0 -6l-6 6\"/>",
                x - 3.0,
                y - 3.0
            )),
            4 => self.raw(format_args!("<path class=\"dot f4\" d=\"M{x:.1} {:.1}l4 -7h-8z\"/>", y + 4.3)),
            _ => self.raw(format_args!("<path class=\"cross s5\" d=\"M{x:.1} {:.1}v8m-4 -4h8\"/>", y - 4.0)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a text is cut to its width, on a character's edge, and left alone where it fits.
    #[test]
    fn long_texts_are_cut() {
        assert_eq!(fitted("4k", 100.0), "4k");
        let cut = fitted("Zufällige Zugriffe über alle Geräte", 90.0);
        assert!(cut.ends_with('…') && text_width(&cut) <= 96.0, "{cut}");
    }
}

//! Topology drawing: layers from the hosts at the top to the drives at the bottom.

use crate::escape::html;
use std::fmt::Write as _;

/// Topology between load and data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Drawing {
    /// Said to those who cannot see the drawing, and in Markdown.
    pub title: String,
    /// From the hosts down.
    pub layers: Vec<Layer>,
}

/// Things of one kind, side by side.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layer {
    /// Kind of the parts, which says how they are drawn.
    pub kind: LayerKind,
    /// Label of the parts: `IBM POWER S822`, `8 Gb FC`.
    pub label: String,
    /// More about each: `4 × 8 Gb FC each`.
    pub detail: String,
    /// Number of parts.
    pub count: u32,
}

/// Kind of a layer, which decides its drawing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LayerKind {
    /// Boxes.
    Box,
    /// Lines that join the layers above and below.
    Link,
    /// Small boxes, many in a row.
    Drive,
}

const WIDTH: f64 = 440.0;
const BOX_HEIGHT: f64 = 40.0;
const BOXES_DRAWN: u32 = 6;
const LINKS_DRAWN: u32 = 32;
const DRIVES_DRAWN: u32 = 64;
const DRIVES_A_ROW: u32 = 16;
const WIRING: f64 = 20.0;

impl Drawing {
    /// The drawing as an `<svg>` element with a title and a description.
    pub fn svg(&self) -> String {
        let wired: f64 = (0..self.layers.len()).map(|index| self.wiring_height(index)).sum();
        let height = self.layers.iter().map(layer_height).sum::<f64>() + wired + 4.0;
        let mut out = String::new();
        let _ = write!(
            out,
            "<svg class=\"bench\" viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{0}\"><title>{0}</title><desc>{1}</desc>",
            html(&self.title),
            html(&self.lines().join("; "))
        );
        let mut y = 2.0;
        for (index, layer) in self.layers.iter().enumerate() {
            y += self.wiring_height(index);
            if self.wiring_height(index) > 0.0 {
                wiring(&mut out, layer, y);
            }
            match layer.kind {
                LayerKind::Box => boxes(&mut out, layer, y),
                LayerKind::Link => links(&mut out, layer, y),
                LayerKind::Drive => drives(&mut out, layer, y),
            }
            y += layer_height(layer);
        }
        out.push_str("</svg>");
        out
    }

    /// Room for the short lines from boxes to the drives below them.
    fn wiring_height(&self, index: usize) -> f64 {
        let is_drive = |index: usize| self.layers[index].kind == LayerKind::Drive;
        let is_below_boxes = index > 0 && is_drive(index) && self.layers[index - 1].kind == LayerKind::Box;
        if is_below_boxes { WIRING } else { 0.0 }
    }

    /// The same in words, one line a layer.
    pub fn lines(&self) -> Vec<String> {
        self.layers.iter().map(Layer::line).collect()
    }
}

impl Layer {
    fn line(&self) -> String {
        let head =
            if self.count == 1 { self.label.clone() } else { format!("{} × {}", self.count, self.label) };
        if self.detail.is_empty() { head } else { format!("{head} ({})", self.detail) }
    }

    fn caption(&self) -> String {
        if self.detail.is_empty() {
            self.line()
        } else {
            format!("{} × {}: {}", self.count, self.label, self.detail)
        }
    }
}

fn drive_rows(layer: &Layer) -> f64 {
    f64::from(layer.count.clamp(1, DRIVES_DRAWN).div_ceil(DRIVES_A_ROW))
}

fn layer_height(layer: &Layer) -> f64 {
    match layer.kind {
        LayerKind::Box if layer.count > 1 && !layer.detail.is_empty() => BOX_HEIGHT + 18.0,
        LayerKind::Box => BOX_HEIGHT + 2.0,
        LayerKind::Link => 46.0,
        LayerKind::Drive => drive_rows(layer) * 26.0 + 26.0,
    }
}

fn text(out: &mut String, class: &str, anchor: &str, x: f64, y: f64, content: &str, width: f64) {
    // Bold text is wider than the estimate for plain text.
    let room = if class == "strong" { width / 1.12 } else { width };
    let content = crate::chart::fitted_text(content, room);
    let _ = write!(
        out,
        "<text class=\"{class}\" text-anchor=\"{anchor}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>",
        html(&content)
    );
}

fn boxes(out: &mut String, layer: &Layer, y: f64) {
    let drawn = layer.count.clamp(1, BOXES_DRAWN);
    let gap = 12.0;
    let width = (WIDTH - 4.0 - gap * f64::from(drawn - 1)) / f64::from(drawn);
    for index in 0..drawn {
        let x = 2.0 + f64::from(index) * (width + gap);
        let _ = write!(
            out,
            "<rect class=\"part\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{BOX_HEIGHT}\" rx=\"5\"/>"
        );
        let is_last_of_more = index + 1 == drawn && layer.count > drawn;
        let label = if is_last_of_more { format!("… {} in all", layer.count) } else { layer.label.clone() };
        let middle = x + width / 2.0;
        if layer.count == 1 && !layer.detail.is_empty() {
            text(out, "strong", "middle", middle, y + 17.0, &label, width - 10.0);
            text(out, "small", "middle", middle, y + 33.0, &layer.detail, width - 10.0);
        } else {
            text(out, "strong", "middle", middle, y + 25.0, &label, width - 8.0);
        }
    }
    if layer.count > 1 && !layer.detail.is_empty() {
        text(out, "small", "middle", WIDTH / 2.0, y + BOX_HEIGHT + 14.0, &layer.caption(), WIDTH - 8.0);
    }
}

fn links(out: &mut String, layer: &Layer, y: f64) {
    let drawn = layer.count.clamp(1, LINKS_DRAWN);
    let step = WIDTH / f64::from(drawn);
    for index in 0..drawn {
        let x = (f64::from(index) + 0.5) * step;
        let _ = write!(
            out,
            "<line class=\"wire\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{:.1}\"/>",
            y,
            y + 44.0
        );
    }
    let caption = layer.line();
    let width = (crate::chart::text_width(&caption) + 16.0).min(WIDTH - 8.0);
    let _ = write!(
        out,
        "<rect class=\"plate\" x=\"{:.1}\" y=\"{:.1}\" width=\"{width:.1}\" height=\"20\" rx=\"10\"/>",
        (WIDTH - width) / 2.0,
        y + 12.0
    );
    text(out, "", "middle", WIDTH / 2.0, y + 26.0, &caption, width - 8.0);
}

/// Lines from the boxes above down to a first row of drives whose top is at `y`.
fn wiring(out: &mut String, layer: &Layer, y: f64) {
    let a_row = layer.count.clamp(1, DRIVES_A_ROW);
    let step = WIDTH / f64::from(a_row);
    for index in 0..a_row {
        let x = (f64::from(index) + 0.5) * step;
        let _ = write!(
            out,
            "<line class=\"bus\" x1=\"{x:.1}\" y1=\"{:.1}\" x2=\"{x:.1}\" y2=\"{y:.1}\"/>",
            y - WIRING - 2.0
        );
    }
}

fn drives(out: &mut String, layer: &Layer, y: f64) {
    let drawn = layer.count.clamp(1, DRIVES_DRAWN);
    let a_row = drawn.min(DRIVES_A_ROW);
    let step = WIDTH / f64::from(a_row);
    let width = (step - 5.0).min(44.0);
    for index in 0..drawn {
        let x = (f64::from(index % a_row) + 0.5) * step - width / 2.0;
        let top = y + f64::from(index / a_row) * 26.0;
        let _ = write!(
            out,
            "<rect class=\"part\" x=\"{x:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"20\" rx=\"2\"/>\
             <line class=\"slot\" x1=\"{:.1}\" y1=\"{:.1}\" x2=\"{:.1}\" y2=\"{:.1}\"/>",
            x + 4.0,
            top + 14.0,
            x + width - 4.0,
            top + 14.0
        );
    }
    let more = if layer.count > drawn { format!(", {drawn} drawn") } else { String::new() };
    let caption = format!("{}{more}", layer.line());
    text(out, "small", "middle", WIDTH / 2.0, y + drive_rows(layer) * 26.0 + 13.0, &caption, WIDTH - 8.0);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that the drawing has a box for every host and controller, a line for every link, a slot for every
    /// drive, names for those who cannot see it, and nothing unescaped.
    #[test]
    fn every_part_is_drawn() {
        let layer = |kind, label: &str, detail: &str, count| Layer {
            kind,
            label: label.into(),
            detail: detail.into(),
            count,
        };
        let drawing = Drawing {
            title: "Bench <of> it".into(),
            layers: vec![
                layer(LayerKind::Box, "Host", "16 LUs each", 2),
                layer(LayerKind::Link, "8 Gb FC", "", 8),
                layer(LayerKind::Box, "Controller", "", 2),
                layer(LayerKind::Drive, "flash module", "7 in RAID 5 and a spare", 8),
            ],
        };
        let svg = drawing.svg();
        assert_eq!(svg.matches("class=\"part\"").count(), 2 + 2 + 8);
        assert_eq!(svg.matches("class=\"wire\"").count(), 8);
        assert!(
            svg.contains("<title>Bench &lt;of&gt; it</title>")
                && svg.contains("<desc>2 × Host (16 LUs each); ")
        );
        assert_eq!(drawing.lines()[3], "8 × flash module (7 in RAID 5 and a spare)");
    }
}

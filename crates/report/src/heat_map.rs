//! Heat map of latency over time: how the I/Os of each moment divide over latency.

use crate::chart::frame::{TEXT, WIDTH};
use crate::chart::scale::{Fitted, plain};
use crate::chart::{Axis, Scale, TickFormat};
use crate::escape::html;
use crate::table::{Column, Table};
use findings::{Cited, LatencyOverTime};
use std::fmt::Write as _;

const LEFT: f64 = 58.0;
const RIGHT: f64 = WIDTH - 8.0;
const TOP: f64 = 22.0;
const HEIGHT: f64 = 168.0;
/// Lower ends of the shades, as shares of the I/Os of a moment.
const SHADES: [(f64, &str); 5] =
    [(0.5, "half and more"), (0.1, "10 to 50 %"), (0.01, "1 to 10 %"), (0.001, "0.1 to 1 %"), (0.0, "fewer")];
/// Most labels of latency.
const LABELS: usize = 8;

/// A heat map.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    /// Identifier on the page.
    pub id: String,
    /// Title.
    pub title: String,
    /// Caption with what must be known to read it.
    pub caption: String,
    /// Its cells.
    pub latencies: LatencyOverTime,
}

impl HeatMap {
    /// The drawing, as an `<svg>` element with a title and a description.
    pub fn svg(&self) -> String {
        let latencies = &self.latencies;
        let steps = latencies.edges_ns.len().saturating_sub(1);
        let bottom = TOP + HEIGHT;
        let legend_y = bottom + 52.0;
        let mut out = String::with_capacity(16 << 10);
        let title = html(&self.title);
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "<svg class=\"plot heat\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" aria-label=\"{title}\"><title>{title}</title>\
             <desc>{}</desc>",
            legend_y + 8.0,
            html(&self.description())
        );
        let axis = Axis {
            label: "Time since the load began".into(),
            unit: "s".into(),
            scale: Scale::Linear,
            format: TickFormat::Seconds,
        };
        let ends = || latencies.columns.iter().flat_map(|column| [column.from_s, column.to_s]);
        let fitted = Fitted::new(&axis, ends(), 7);
        let (first, last) = (ends().fold(f64::INFINITY, f64::min), ends().fold(0.0, f64::max));
        let x = |at_s: f64| LEFT + (RIGHT - LEFT) * (at_s - first) / (last - first).max(f64::MIN_POSITIVE);
        let y = |step: usize| bottom - HEIGHT * step as f64 / steps.max(1) as f64;
        for step in 0..steps {
            // Neighbours of one shade are one rectangle: most of a map is alike.
            let mut open: Option<(usize, f64, f64)> = None;
            for column in &latencies.columns {
                let shade = shade(column.shares[step]);
                match (&mut open, shade) {
                    (Some((known, _, to)), Some(shade)) if *known == shade => *to = column.to_s,
                    (_, shade) => {
                        cell(&mut out, open.take(), &x, y(step + 1), y(step) - y(step + 1));
                        open = shade.map(|shade| (shade, column.from_s, column.to_s));
                    }
                }
            }
            cell(&mut out, open, &x, y(step + 1), y(step) - y(step + 1));
        }
        let every = (steps + 1).div_ceil(LABELS).max(1);
        for (step, edge_ns) in latencies.edges_ns.iter().enumerate().step_by(every) {
            let _ = write!(
                out,
                "<text class=\"tick\" text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                LEFT - 5.0,
                y(step) + 4.0,
                html(&units::human_latency(*edge_ns))
            );
        }
        let _ = write!(out, "<text class=\"axis\" x=\"2\" y=\"{TEXT}\">Completion latency</text>");
        for (at_s, text) in fitted.ticks.iter().filter(|(at_s, _)| *at_s >= first && *at_s <= last) {
            let _ = write!(
                out,
                "<line class=\"stub\" x1=\"{0:.1}\" y1=\"{1:.1}\" x2=\"{0:.1}\" y2=\"{2:.1}\"/>\
                 <text class=\"tick\" text-anchor=\"middle\" x=\"{0:.1}\" y=\"{3:.1}\">{4}</text>",
                x(*at_s),
                bottom,
                bottom + 4.0,
                bottom + 17.0,
                html(text)
            );
        }
        let _ = write!(
            out,
            "<line class=\"base\" x1=\"{LEFT}\" y1=\"{bottom:.1}\" x2=\"{RIGHT}\" y2=\"{bottom:.1}\"/>\
             <text class=\"axis\" text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{} ({})</text>",
            LEFT.midpoint(RIGHT),
            bottom + 33.0,
            axis.label,
            fitted.unit
        );
        let mut at = 2.0;
        for (place, (_, words)) in SHADES.iter().enumerate() {
            let _ = write!(
                out,
                "<rect class=\"h{place}\" x=\"{at:.1}\" y=\"{:.1}\" width=\"12\" height=\"12\"/>\
                 <text class=\"tick\" x=\"{:.1}\" y=\"{:.1}\">{words}</text>",
                legend_y - 10.0,
                at + 16.0,
                legend_y
            );
            at += 24.0 + crate::chart::text_width(words);
        }
        out.push_str("</svg>");
        out
    }

    /// Description for a reader who cannot see the drawing: where most I/Os lie at the beginning and at the end.
    fn description(&self) -> String {
        let described = |column: Option<&findings::LatencyColumn>| {
            let [_, median, _, p99, _] = column?.percentiles_ns?;
            let text = |ns: u64| units::human_latency(ns as f64);
            Some(format!("median {}, 99th percentile {}", text(median), text(p99)))
        };
        let columns = &self.latencies.columns;
        format!(
            "Share of I/Os by latency over time. At the beginning {}; at the end {}.",
            described(columns.first()).unwrap_or_else(|| "nothing completed".into()),
            described(columns.last()).unwrap_or_else(|| "nothing completed".into())
        )
    }

    /// The numbers behind it: percentiles of each moment.
    pub fn data_table(&self) -> Table {
        let mut columns = vec![Column::numbers("Until (s)")];
        columns.extend(["p5 (ms)", "p50 (ms)", "p95 (ms)", "p99 (ms)", "p99.9 (ms)"].map(Column::numbers));
        let rows = self.latencies.columns.iter().map(|column| {
            let mut cells = vec![Cited::words(plain(column.to_s))];
            match column.percentiles_ns {
                Some(all) => cells.extend(all.map(|ns| Cited::words(plain(ns as f64 / 1e6)))),
                None => cells.extend(std::iter::repeat_n(Cited::default(), 5)),
            }
            cells
        });
        Table {
            id: format!("{}-data", self.id),
            caption: self.title.clone().into(),
            rows: rows.collect(),
            columns,
        }
    }
}

fn shade(share: f64) -> Option<usize> {
    if share <= 0.0 {
        return None;
    }
    SHADES.iter().position(|(from, _)| share >= *from)
}

fn cell(out: &mut String, cell: Option<(usize, f64, f64)>, x: &dyn Fn(f64) -> f64, top: f64, height: f64) {
    if let Some((shade, from_s, to_s)) = cell {
        let _ = write!(
            out,
            "<rect class=\"h{shade}\" x=\"{:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{height:.1}\"/>",
            x(from_s),
            x(to_s) - x(from_s)
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use findings::LatencyColumn;

    /// Proves that cells of one shade are joined, that each share has its shade, and that the drawing is well-formed and says in
    /// words what it shows.
    #[test]
    fn cells_have_the_shade_of_their_share() {
        let column = |from_s: f64, shares: [f64; 2]| LatencyColumn {
            from_s,
            to_s: from_s + 5.0,
            shares: shares.to_vec(),
            percentiles_ns: Some([1_000, 2_000, 3_000, 4_000, 5_000]),
        };
        let map = HeatMap {
            id: "heat".into(),
            title: "Latency <over> time".into(),
            caption: String::new(),
            latencies: LatencyOverTime {
                columns: vec![column(0.0, [0.995, 0.005]), column(5.0, [0.9, 0.1]), column(10.0, [0.0, 1.0])],
                edges_ns: vec![1_000.0, 1_414.0, 2_000.0],
            },
        };
        let svg = map.svg();
        let cells = svg.split("<text class=\"tick\"").next().expect("cells come first");
        // The lower step is more than half twice and then empty, the upper one has three shades.
        for (class, count) in [("h0", 2), ("h1", 1), ("h2", 0), ("h3", 1), ("h4", 0)] {
            assert_eq!(cells.matches(&format!("class=\"{class}\"")).count(), count, "{class}: {cells}");
        }
        assert!(svg.contains("Latency &lt;over&gt; time") && svg.contains("median 2"), "{svg}");
        assert_eq!(map.data_table().rows.len(), 3);
    }
}

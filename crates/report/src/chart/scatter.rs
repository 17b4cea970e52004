//! Scatter plot of one figure against another that should equal it, with the diagonal on which both are equal.

use super::frame::{Drawing, TEXT, WIDTH, fitted, text_width};
use super::scale::Fitted;
use super::{Chart, Role};

const KEY_ROW: f64 = 17.0;
const HEIGHT: f64 = 320.0;
/// Dashed lines beside the diagonal: this share above and below it.
const BESIDE: f64 = 0.1;

/// The drawing. Both axes span the same values; series differ in marker as well as in colour.
pub fn draw(chart: &Chart) -> String {
    let points = || chart.series.iter().flat_map(|series| &series.points);
    let values: Vec<f64> = points().flat_map(|point| [Some(point.x), point.y]).flatten().collect();
    let x = Fitted::new(&chart.x, values.iter().copied(), 8);
    let y = Fitted::new(&chart.y, values.iter().copied(), 8);
    let left = 10.0 + y.ticks.iter().map(|tick| text_width(&tick.1)).fold(14.0, f64::max);
    let right = WIDTH - 20.0;
    let top = chart.series.len() as f64 * KEY_ROW + TEXT + 14.0;
    let bottom = top + HEIGHT;
    let place = |at_x: f64, at_y: f64| {
        let (x, y) = (x.share(at_x)?, y.share(at_y)?);
        let is_inside = (0.0..=1.0).contains(&x) && (0.0..=1.0).contains(&y);
        is_inside.then_some((left + x * (right - left), bottom - y * (bottom - top)))
    };

    let mut svg = Drawing::open(chart, bottom + 38.0);
    for (row, series) in chart.series.iter().enumerate() {
        let middle = row as f64 * KEY_ROW + KEY_ROW / 2.0 + 1.0;
        svg.marker(series.style, series.role, 14.0, middle);
        svg.text("", "start", 30.0, middle + 4.0, &fitted(&series.label, WIDTH - 40.0));
    }
    svg.text("axis", "start", 2.0, top - 8.0, &chart.y.heading());
    svg.text("axis", "middle", (left + right) / 2.0, bottom + 33.0, &chart.x.heading());
    for (value, text) in &y.ticks {
        if let Some(share) = y.share(*value) {
            let y = bottom - share * (bottom - top);
            svg.line("grid", left, y, right, y);
            svg.text("tick", "end", left - 6.0, y + 4.0, text);
        }
    }
    for (value, text) in &x.ticks {
        if let Some(share) = x.share(*value) {
            let x = left + share * (right - left);
            svg.line("grid", x, top, x, bottom);
            svg.text("tick", "middle", x, bottom + 17.0, text);
        }
    }
    let (low, high) = match (x.ticks.first(), x.ticks.last()) {
        (Some(first), Some(last)) => (first.0, last.0),
        _ => (1.0, 1.0),
    };
    for (class, times) in [("base", 1.0), ("level", 1.0 + BESIDE), ("level", 1.0 - BESIDE)] {
        // On logarithmic axes what is a share above or below the diagonal is parallel to it.
        let (from, to) = (low * f64::max(1.0, 1.0 / times), high / f64::max(1.0, times));
        if let (Some(from), Some(to)) = (place(from, from * times), place(to, to * times)) {
            svg.line(class, from.0, from.1, to.0, to.1);
        }
    }
    // Hollow markers last: they hide nothing below them.
    for role in [Role::Run, Role::Published] {
        for series in chart.series.iter().filter(|series| series.role == role) {
            for point in &series.points {
                if let Some((x, y)) = point.y.and_then(|y| place(point.x, y)) {
                    svg.marker(series.style, role, x, y);
                }
            }
        }
    }
    svg.close()
}

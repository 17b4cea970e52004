//! Bar charts: a value for each of several names, bars lying down so that long names stay readable.

use super::frame::{Drawing, TEXT, WIDTH, fitted, text_width};
use super::scale::{Fitted, plain};
use super::{Chart, Role, Scale, Series};

const BAR: f64 = 13.0;
const GROUP_GAP: f64 = 9.0;
const KEY_ROW: f64 = 17.0;

pub fn draw(chart: &Chart) -> String {
    let Scale::Categories(names) = &chart.x.scale else { return String::new() };
    let bars: Vec<&Series> = chart.series.iter().filter(|series| series.role == Role::Run).collect();
    let published: Vec<&Series> =
        chart.series.iter().filter(|series| series.role == Role::Published).collect();

    let names_width = names.iter().map(|name| text_width(name)).fold(30.0, f64::max).min(WIDTH * 0.36);
    let left = names_width + 10.0;
    let right = WIDTH - 58.0;
    let value_axis = super::Axis { scale: Scale::LinearFromZero, ..chart.y.clone() };
    let values = Fitted::new(&value_axis, chart.finite_ys(), 5);
    let x_at = |value: f64| values.share(value).map(|share| left + share * (right - left));

    let key_count = if bars.len() > 1 { bars.len() } else { 0 } + usize::from(!published.is_empty());
    let top = key_count as f64 * KEY_ROW + 6.0;
    let group = bars.len().max(1) as f64 * BAR + GROUP_GAP;
    let bottom = top + names.len() as f64 * group + GROUP_GAP / 2.0;

    let published_at = |style: usize, category: usize| {
        let beside = published.iter().filter(move |series| series.style == style);
        beside.filter_map(move |series| value_of(series, category).map(|(value, _)| value))
    };

    let mut svg = Drawing::open(chart, bottom + 38.0);
    let mut key_y = 0.0;
    for series in bars.iter().filter(|_| bars.len() > 1) {
        let (style, y) = (series.style, key_y + 3.0);
        svg.raw(format_args!(
            "<rect class=\"bar b{style}\" x=\"4\" y=\"{y:.1}\" width=\"28\" height=\"10\"/>"
        ));
        svg.text("", "start", 38.0, key_y + 12.0, &fitted(&series.label, WIDTH - 44.0));
        key_y += KEY_ROW;
    }
    if !published.is_empty() {
        svg.marker(0, Role::Published, 18.0, key_y + 8.0);
        svg.text("", "start", 38.0, key_y + 12.0, "published");
    }
    for (value, text) in &values.ticks {
        if let Some(x) = x_at(*value) {
            svg.line("grid", x, top, x, bottom);
            svg.text("tick", "middle", x, bottom + 17.0, text);
        }
    }
    svg.text("axis", "middle", (left + right) / 2.0, bottom + 33.0, &chart.y.heading());

    for (index, name) in names.iter().enumerate() {
        let group_top = top + GROUP_GAP / 2.0 + index as f64 * group;
        let middle = group_top + bars.len().max(1) as f64 * BAR / 2.0;
        svg.text("name", "end", left - 6.0, middle + TEXT / 3.0, &fitted(name, names_width));
        for (row, series) in bars.iter().enumerate() {
            let y = group_top + row as f64 * BAR;
            match value_of(series, index) {
                Some((value, range)) => {
                    let (Some(start), Some(end)) = (x_at(0.0), x_at(value)) else { continue };
                    // A loss lies to the left of nothing.
                    let begin = start.min(end);
                    svg.raw(format_args!(
                        "<rect class=\"bar b{}\" x=\"{begin:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                        series.style,
                        y + 1.0,
                        (end - start).abs().max(0.5),
                        BAR - 2.0
                    ));
                    let mut label_x = end.max(start);
                    if let Some((low, high)) = range.and_then(|(low, high)| Some((x_at(low)?, x_at(high)?))) {
                        let y = y + BAR / 2.0;
                        svg.line("whisker", low, y, high, y);
                        label_x = label_x.max(high);
                    }
                    // Beyond a diamond that lies where the number would stand.
                    for x in published_at(series.style, index).filter_map(&x_at) {
                        if x > label_x - 6.0 && x < label_x + 44.0 {
                            label_x = x;
                        }
                    }
                    svg.text("value", "start", label_x + 9.0, y + BAR - 2.5, &plain(value));
                }
                None => svg.text("missing", "start", left + 4.0, y + BAR - 2.5, "no result"),
            }
            for x in published_at(series.style, index).filter_map(&x_at) {
                svg.marker(series.style, Role::Published, x, y + BAR / 2.0);
            }
        }
    }
    let base = x_at(0.0).unwrap_or(left);
    svg.line("base", base, top, base, bottom);
    svg.close()
}

type Value = (f64, Option<(f64, f64)>);

fn value_of(series: &Series, category: usize) -> Option<Value> {
    let point = series.points.iter().find(|point| point.x == category as f64)?;
    point.y.filter(|y| y.is_finite()).map(|y| (y, point.range))
}

//! Line charts: a value against time or against a numeric setting.

use super::frame::{Drawing, TEXT, WIDTH, fitted, text_width};
use super::scale::Fitted;
use super::{Chart, Point, Role, Series};

const PLOT_HEIGHT: f64 = 200.0;
const ROW: f64 = 15.0;
/// Up to here every point gets a marker; beyond, a few along the line tell the series apart.
const MARKED_POINTS: usize = 26;
/// Room at both ends of x, so that markers there cover neither ticks nor labels.
const INSET: f64 = 7.0;
const SPARSE_MARKERS: usize = 6;

struct Plot {
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
    x: Fitted,
    y: Fitted,
}

impl Plot {
    fn x_at(&self, value: f64) -> Option<f64> {
        let (first, last) = (self.left + INSET, self.right - INSET);
        self.x.share(value).map(|share| first + share * (last - first))
    }

    fn y_at(&self, value: f64) -> Option<f64> {
        self.y.share(value).map(|share| self.bottom - share * (self.bottom - self.top))
    }

    fn at(&self, point: &Point) -> Option<(f64, f64)> {
        Some((self.x_at(point.x)?, self.y_at(point.y?)?))
    }
}

pub fn draw(chart: &Chart) -> String {
    let run_series: Vec<&Series> =
        chart.series.iter().filter(|series| series.role != Role::Published).collect();
    let has_published = chart.series.iter().any(|series| series.role == Role::Published);
    let longest = run_series.iter().map(|series| text_width(&series.label)).fold(0.0, f64::max);
    // Short names stand at the ends of their lines; long ones in rows above the plot.
    let is_direct = longest <= 78.0 && run_series.iter().all(|series| series.role == Role::Run);
    let mut keys: Vec<Key> = Vec::new();
    if !is_direct || (has_published && run_series.len() == 1) {
        keys.extend(run_series.iter().map(|series| {
            let label = if series.label.is_empty() { "this run" } else { &series.label };
            Key { label: label.to_owned(), style: series.style, role: series.role }
        }));
    }
    let published: Vec<&Series> =
        chart.series.iter().filter(|series| series.role == Role::Published).collect();
    keys.extend(published.iter().map(|series| {
        let label = match series.label.as_str() {
            label if published.len() == 1 || label.is_empty() => "published".to_owned(),
            label => format!("{label}, published"),
        };
        Key { label, style: series.style, role: Role::Published }
    }));
    let key_rows = laid_out(&keys);
    let key_height = key_rows.last().map_or(0.0, |placed| placed.1 + ROW + 3.0);

    let y =
        Fitted::new(&chart.y, chart.finite_ys(), if chart.y.scale == super::Scale::Log10 { 9 } else { 7 });
    let left = 10.0 + y.ticks.iter().map(|tick| text_width(&tick.1)).fold(14.0, f64::max);
    let right = WIDTH - if is_direct && longest > 0.0 { longest + 16.0 } else { 20.0 };
    let xs = chart.series.iter().flat_map(|series| series.points.iter().map(|point| point.x));
    let marks = chart.marks.iter().flat_map(|mark| [Some(mark.x), mark.until]).flatten();
    let all_xs: Vec<f64> = xs.chain(marks).collect();
    let mut x = Fitted::new(&chart.x, all_xs.iter().copied(), 8);
    for tick_limit in (3..8).rev() {
        let widest = x.ticks.iter().map(|tick| text_width(&tick.1)).fold(0.0, f64::max);
        if x.ticks.len() as f64 * (widest + 10.0) <= right - left {
            break;
        }
        x = Fitted::new(&chart.x, all_xs.iter().copied(), tick_limit);
    }
    let mut plot = Plot { left, right, top: 0.0, bottom: PLOT_HEIGHT, x, y };
    let mark_labels = mark_labels(chart, &plot);
    let mark_rows = mark_labels.iter().map(|label| label.row + 1).max().unwrap_or(0);
    plot.top = key_height + TEXT + 14.0 + mark_rows as f64 * ROW;
    plot.bottom = plot.top + PLOT_HEIGHT;
    let bottom = plot.bottom;

    let mut svg = Drawing::open(chart, bottom + 38.0);
    draw_keys(&mut svg, &keys, &key_rows);
    draw_axes(&mut svg, chart, &plot, key_height + TEXT);
    draw_marks(&mut svg, chart, &plot, &mark_labels);
    for level in &chart.levels {
        if let Some(y) = plot.y_at(level.y) {
            svg.line("level", plot.left, y, plot.right, y);
            // At the top of the plot there is no room above the line: labels of marks stand there.
            let has_room = y - plot.top >= ROW;
            svg.text(
                "halo",
                "start",
                plot.left + 4.0,
                if has_room { y - 4.0 } else { y + TEXT + 1.0 },
                &fitted(&level.label, plot.right - plot.left - 8.0),
            );
        }
    }
    for series in &chart.series {
        draw_band(&mut svg, &plot, series);
    }
    for series in &chart.series {
        draw_series(&mut svg, &plot, series);
    }
    if is_direct && run_series.iter().any(|series| !series.label.is_empty()) {
        draw_end_labels(&mut svg, &plot, &run_series);
    }
    svg.close()
}

struct Key {
    label: String,
    style: usize,
    role: Role,
}

/// Places keys in rows: (x, y of the row's top) for each.
fn laid_out(keys: &[Key]) -> Vec<(f64, f64)> {
    let (mut x, mut y) = (4.0, 0.0);
    keys.iter()
        .map(|key| {
            let width = 34.0 + text_width(&key.label).min(WIDTH - 50.0) + 14.0;
            if x > 4.0 && x + width > WIDTH {
                (x, y) = (4.0, y + ROW + 2.0);
            }
            let place = (x, y);
            x += width;
            place
        })
        .collect()
}

fn draw_keys(svg: &mut Drawing, keys: &[Key], places: &[(f64, f64)]) {
    for (key, (x, y)) in keys.iter().zip(places) {
        let middle = y + ROW / 2.0 + 1.0;
        if key.role == Role::Run {
            svg.line(&format!("curve s{}", key.style), *x, middle, x + 28.0, middle);
        }
        svg.marker(key.style, key.role, x + 14.0, middle);
        svg.text("", "start", x + 34.0, middle + 4.0, &fitted(&key.label, WIDTH - 50.0));
    }
}

fn draw_axes(svg: &mut Drawing, chart: &Chart, plot: &Plot, heading_y: f64) {
    for (value, text) in &plot.y.ticks {
        if let Some(y) = plot.y_at(*value) {
            svg.line("grid", plot.left, y, plot.right, y);
            svg.text("tick", "end", plot.left - 6.0, y + 4.0, text);
        }
    }
    svg.text("axis", "start", 2.0, heading_y, &fitted(&heading(&chart.y.label, &plot.y.unit), WIDTH - 4.0));
    for (value, text) in &plot.x.ticks {
        if let Some(x) = plot.x_at(*value) {
            svg.line("stub", x, plot.bottom, x, plot.bottom + 4.0);
            svg.text("tick", "middle", x, plot.bottom + 17.0, text);
        }
    }
    svg.line("base", plot.left, plot.bottom, plot.right, plot.bottom);
    let text = heading(&chart.x.label, &plot.x.unit);
    svg.text("axis", "middle", (plot.left + plot.right) / 2.0, plot.bottom + 33.0, &text);
}

fn heading(label: &str, unit: &str) -> String {
    if unit.is_empty() { label.to_owned() } else { format!("{label} ({unit})") }
}

/// The label of a mark, placed so that it covers no other.
struct MarkLabel {
    mark: usize,
    text: String,
    /// Counted upwards from the plot.
    row: usize,
    x: f64,
    is_left: bool,
}

/// Each label to the right of its line, or to the left where it would leave the drawing, in the lowest row in which it touches no
/// other.
fn mark_labels(chart: &Chart, plot: &Plot) -> Vec<MarkLabel> {
    let mut placed: Vec<(MarkLabel, f64, f64)> = Vec::new();
    for (mark, one) in chart.marks.iter().enumerate() {
        let Some(x) = plot.x_at(one.x) else { continue };
        let width = text_width(&one.label);
        let (room_left, room_right) = (x - 8.0, WIDTH - x - 8.0);
        let is_left = width > room_right && room_left > room_right;
        let text = fitted(&one.label, if is_left { room_left } else { room_right });
        let width = text_width(&text);
        let (from, to) = if is_left { (x - 4.0 - width, x - 4.0) } else { (x + 4.0, x + 4.0 + width) };
        let is_free = |row: usize| {
            placed
                .iter()
                .all(|(other, start, end)| other.row != row || to + 6.0 < *start || *end + 6.0 < from)
        };
        let row = (0..).find(|row| is_free(*row)).unwrap_or(0);
        placed.push((MarkLabel { mark, text, row, x, is_left }, from, to));
    }
    placed.into_iter().map(|one| one.0).collect()
}

fn draw_marks(svg: &mut Drawing, chart: &Chart, plot: &Plot, labels: &[MarkLabel]) {
    let row_top = |label: &MarkLabel| plot.top - ROW * (1 + label.row) as f64;
    // All lines first, so that none strikes through a label.
    for label in labels {
        let x = label.x;
        if let Some(end) = chart.marks[label.mark].until.and_then(|until| plot.x_at(until)) {
            svg.raw(format_args!(
                "<rect class=\"during\" x=\"{x:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                plot.top,
                (end - x).max(1.0),
                plot.bottom - plot.top
            ));
        }
        svg.line("mark", x, row_top(label) + 4.0, x, plot.bottom);
    }
    for label in labels {
        let (anchor, x) = if label.is_left { ("end", label.x - 4.0) } else { ("start", label.x + 4.0) };
        svg.text("halo", anchor, x, row_top(label) + ROW - 1.0, &label.text);
    }
}

/// Runs of points without a gap, as positions; with the point each came from.
fn runs<'a>(plot: &Plot, points: &'a [Point]) -> Vec<Vec<(f64, f64, &'a Point)>> {
    let mut runs = vec![Vec::new()];
    for point in points {
        match plot.at(point) {
            Some((x, y)) => runs.last_mut().expect("starts with one").push((x, y, point)),
            None if !runs.last().expect("starts with one").is_empty() => runs.push(Vec::new()),
            None => {}
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

fn draw_band(svg: &mut Drawing, plot: &Plot, series: &Series) {
    for run in runs(plot, &series.points) {
        let ranged: Vec<(f64, f64, f64)> = run
            .iter()
            .filter_map(|(x, _, point)| {
                let (low, high) = point.range?;
                Some((*x, plot.y_at(low)?, plot.y_at(high)?))
            })
            .collect();
        if ranged.len() < 2 {
            continue;
        }
        let upper = ranged.iter().map(|(x, _, high)| format!("{x:.1},{high:.1}"));
        let lower = ranged.iter().rev().map(|(x, low, _)| format!("{x:.1},{low:.1}"));
        let outline: Vec<String> = upper.chain(lower).collect();
        svg.raw(format_args!(
            "<polygon class=\"range f{}\" points=\"{}\"/>",
            series.style,
            outline.join(" ")
        ));
    }
}

fn draw_series(svg: &mut Drawing, plot: &Plot, series: &Series) {
    let runs = runs(plot, &series.points);
    let count: usize = runs.iter().map(Vec::len).sum();
    if series.role != Role::Run {
        for (x, y, _) in runs.iter().flatten() {
            svg.marker(series.style, series.role, *x, *y);
        }
        return;
    }
    for run in runs.iter().filter(|run| run.len() > 1) {
        let points: Vec<String> = run.iter().map(|(x, y, _)| format!("{x:.1},{y:.1}")).collect();
        svg.raw(format_args!(
            "<polyline class=\"curve s{}\" points=\"{}\"/>",
            series.style,
            points.join(" ")
        ));
    }
    let every = if count <= MARKED_POINTS { 1 } else { count.div_ceil(SPARSE_MARKERS) };
    // Each style starts at another point, so that the markers of lines that run together do not hide each other.
    let offset = if every == 1 { 0 } else { every * (series.style + 1) / (super::SERIES_LIMIT + 1) };
    let mut index = 0;
    for run in &runs {
        for (x, y, _) in run {
            if (index + every - offset).is_multiple_of(every) || run.len() == 1 {
                svg.marker(series.style, series.role, *x, *y);
            }
            index += 1;
        }
    }
}

/// Names at the ends of the lines, moved apart where they would overlap.
fn draw_end_labels(svg: &mut Drawing, plot: &Plot, series: &[&Series]) {
    let mut ends: Vec<(f64, f64, &Series)> = series
        .iter()
        .filter_map(|series| {
            let (x, y) = series.points.iter().rev().find_map(|point| plot.at(point))?;
            Some((x, y, *series))
        })
        .collect();
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    let wanted: Vec<f64> = ends.iter().map(|end| end.1).collect();
    let placed = apart(&wanted, TEXT + 1.0, plot.top, plot.bottom);
    for ((x, y, series), label_y) in ends.iter().zip(placed) {
        if (label_y - y).abs() > 3.0 || plot.right - INSET - x > 3.0 {
            svg.line(&format!("leader s{}", series.style), x + 4.0, *y, plot.right + 6.0, label_y);
        }
        svg.text(&format!("t{}", series.style), "start", plot.right + 8.0, label_y + 4.0, &series.label);
    }
}

/// Moves growing positions to at least `gap` apart, within bounds where they fit, each as little as needed.
fn apart(wanted: &[f64], gap: f64, low: f64, high: f64) -> Vec<f64> {
    let mut placed = wanted.to_vec();
    for index in 1..placed.len() {
        placed[index] = placed[index].max(placed[index - 1] + gap);
    }
    let mut limit = high;
    for place in placed.iter_mut().rev() {
        *place = place.min(limit);
        limit = *place - gap;
    }
    if let Some(first) = placed.first().copied().filter(|first| *first < low) {
        placed.iter_mut().for_each(|place| *place += low - first);
    }
    placed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::{Axis, Mark, Scale, TickFormat};
    use proptest::prelude::*;

    proptest! {
        /// Proves that labels of events never cover each other, however close the events are.
        #[test]
        fn marks_do_not_overlap(mut at in proptest::collection::vec(0.0f64..600.0, 1..10)) {
            at.sort_unstable_by(f64::total_cmp);
            let axis = |scale| Axis { label: "x".into(), unit: String::new(), scale, format: TickFormat::Number };
            let mark = |x: &f64| Mark { x: *x, until: None, label: "controller-1 is replaced by its spare".into() };
            let chart = Chart {
                id: String::new(),
                title: String::new(),
                caption: String::new(),
                x: axis(Scale::Linear),
                y: axis(Scale::LinearFromZero),
                series: Vec::new(),
                marks: at.iter().map(mark).collect(),
                levels: Vec::new(),
        ranges: crate::chart::Ranges::Extremes,
            };
            let x = Fitted::new(&chart.x, [0.0, 600.0].into_iter(), 8);
            let y = Fitted::new(&chart.y, [0.0, 1.0].into_iter(), 7);
            let plot = Plot { left: 40.0, right: WIDTH - 20.0, top: 0.0, bottom: 100.0, x, y };
            let labels = mark_labels(&chart, &plot);
            let span = |label: &MarkLabel| {
                let width = text_width(&label.text);
                if label.is_left { (label.x - 4.0 - width, label.x - 4.0) } else { (label.x + 4.0, label.x + 4.0 + width) }
            };
            for (place, one) in labels.iter().enumerate() {
                for other in &labels[place + 1..] {
                    let ((a, b), (c, d)) = (span(one), span(other));
                    prop_assert!(one.row != other.row || b < c || d < a, "{} and {}", one.x, other.x);
                }
            }
        }

        /// Proves that labels at the ends of lines never overlap and keep their order.
        #[test]
        fn labels_do_not_overlap(mut wanted in proptest::collection::vec(20.0f64..220.0, 1..7)) {
            wanted.sort_unstable_by(f64::total_cmp);
            let placed = apart(&wanted, 13.0, 20.0, 220.0);
            for pair in placed.windows(2) {
                prop_assert!(pair[1] - pair[0] >= 13.0 - 1e-9);
            }
            prop_assert!(placed[0] >= 20.0 - 1e-9 && placed[placed.len() - 1] <= 220.0 + 1e-9);
        }
    }
}

//! Contour chart: lines of equal value over two measured quantities, as latency over read rate and write rate.

use crate::chart::scale::plain;
use crate::chart::{Axis, Chart, Point, Ranges, Role, SERIES_LIMIT, Series};
use crate::table::{Column, Table};
use findings::Cited;
use std::collections::BTreeMap;

/// Most lines: a series is left for the points.
const LINES_LIMIT: usize = SERIES_LIMIT - 1;
/// Fewer lines than that by powers of ten are replaced by lines at even distances.
const LINES_LEAST: usize = 3;
/// Values of lines within a power of ten.
const STEPS: [f64; 3] = [1.0, 2.0, 5.0];

/// Measured point of the grid.
#[derive(Debug, Clone, PartialEq)]
pub struct ContourPoint {
    /// Place along the bottom.
    pub x: f64,
    /// Place up the side.
    pub y: f64,
    /// Value; lines run where it is equal.
    pub value: f64,
    /// Case in words.
    pub case: Cited,
}

/// Contour chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Contour {
    /// Identifier on the page.
    pub id: String,
    /// Title.
    pub title: String,
    /// Caption with what must be known to read it.
    pub caption: String,
    /// Along the bottom.
    pub x: Axis,
    /// Up the side.
    pub y: Axis,
    /// Name of the value, with its unit in brackets.
    pub value: String,
    /// Unit of the value.
    pub unit: String,
    /// Rows of points: neighbours of a row, and of two rows at one place, are neighbours. `None` is a case without a result.
    pub grid: Vec<Vec<Option<ContourPoint>>>,
}

impl Contour {
    /// The drawing, as an `<svg>` element with a title and a description.
    pub fn svg(&self) -> String {
        self.chart().svg()
    }

    /// Each line of equal value as a series, and the points.
    pub fn chart(&self) -> Chart {
        let mut series: Vec<Series> = self
            .levels()
            .into_iter()
            .enumerate()
            .map(|(style, level)| Series {
                label: format!("{} {}", plain(level), self.unit),
                style,
                role: Role::Run,
                points: self.line(level),
            })
            .collect();
        series.push(Series {
            label: "cases".into(),
            style: LINES_LIMIT,
            role: Role::Loose,
            points: self.points().map(|point| Point::new(point.x, Some(point.y))).collect(),
        });
        Chart {
            id: self.id.clone(),
            title: self.title.clone(),
            caption: self.caption.clone(),
            x: self.x.clone(),
            y: self.y.clone(),
            series,
            marks: Vec::new(),
            levels: Vec::new(),
            ranges: Ranges::Extremes,
        }
    }

    /// The numbers behind it: a row for each case.
    pub fn data_table(&self) -> Table {
        let number = |value: f64| Cited::words(plain(value));
        Table {
            id: format!("{}-data", self.id),
            caption: format!("The numbers of “{}”", self.title).into(),
            columns: vec![
                Column::words("Case"),
                Column::numbers(self.x.heading()),
                Column::numbers(self.y.heading()),
                Column::numbers(self.value.clone()),
            ],
            rows: self
                .points()
                .map(|point| vec![point.case.clone(), number(point.x), number(point.y), number(point.value)])
                .collect(),
        }
    }

    fn points(&self) -> impl Iterator<Item = &ContourPoint> {
        self.grid.iter().flatten().flatten()
    }

    /// Values of lines: 1, 2 and 5 times powers of ten between the smallest and the largest value, or at even distances where those are
    /// few; no more than have a style of their own.
    fn levels(&self) -> Vec<f64> {
        let values = || self.points().map(|point| point.value).filter(|value| *value > 0.0);
        let low = values().fold(f64::INFINITY, f64::min);
        let high = values().fold(0.0, f64::max);
        if high <= low {
            return Vec::new();
        }
        let (first, last) = (libm::floor(libm::log10(low)) as i32, libm::ceil(libm::log10(high)) as i32);
        let all: Vec<f64> = (first..=last)
            .flat_map(|decade| STEPS.map(|step| step * libm::pow(10.0, f64::from(decade))))
            .filter(|level| *level > low && *level < high)
            .collect();
        // Of many every second, third, …, the lowest among them: there the array is used.
        let every = all.len().div_ceil(LINES_LIMIT).max(1);
        let chosen: Vec<f64> = all.into_iter().step_by(every).collect();
        if chosen.len() >= LINES_LEAST { chosen } else { even_levels(low, high) }
    }

    /// Points of a line, with a gap between parts that do not meet.
    fn line(&self, level: f64) -> Vec<Point> {
        let mut line: Vec<Point> = Vec::new();
        for part in joined(&self.segments(level)) {
            if let Some(last) = line.last().map(|last| last.x) {
                line.push(Point::new(last, None));
            }
            line.extend(part.into_iter().map(|(x, y)| Point::new(x, Some(y))));
        }
        line
    }

    /// Pieces of a line within the triangles of the grid. Each end is an edge of the grid with the place on it.
    fn segments(&self, level: f64) -> Vec<[End; 2]> {
        let mut segments = Vec::new();
        for (row, pair) in self.grid.windows(2).enumerate() {
            for place in 0..pair[0].len().min(pair[1].len()).saturating_sub(1) {
                let corner = |below: usize, right: usize| (row + below, place + right);
                // Both halves of a cell, divided along one diagonal.
                for triangle in
                    [[corner(0, 0), corner(0, 1), corner(1, 1)], [corner(0, 0), corner(1, 0), corner(1, 1)]]
                {
                    segments.extend(self.in_triangle(triangle, level));
                }
            }
        }
        segments
    }

    fn in_triangle(&self, triangle: [Node; 3], level: f64) -> Option<[End; 2]> {
        let at = |(row, place): Node| self.grid[row][place].as_ref();
        let mut ends = Vec::new();
        for (one, other) in [(0, 1), (1, 2), (0, 2)] {
            let (a, b) = (triangle[one], triangle[other]);
            let (from, to) = (at(a)?, at(b)?);
            if from.value <= 0.0 || to.value <= 0.0 || (from.value < level) == (to.value < level) {
                continue;
            }
            // Latency grows by factors: the place is by logarithms.
            let share = libm::log(level / from.value) / libm::log(to.value / from.value);
            let between = |from: f64, to: f64| from + (to - from) * share;
            ends.push(End { edge: (a, b), at: (between(from.x, to.x), between(from.y, to.y)) });
        }
        <[End; 2]>::try_from(ends).ok()
    }
}

/// Multiples of 1, 2 or 5 times a power of ten between two values, no more than there are styles.
fn even_levels(low: f64, high: f64) -> Vec<f64> {
    let decade = libm::floor(libm::log10((high - low) / LINES_LIMIT as f64)) as i32;
    let steps = STEPS.iter().chain(&[10.0]).map(|step| step * libm::pow(10.0, f64::from(decade)));
    let levels = |step: f64| -> Vec<f64> {
        let first = libm::floor(low / step) + 1.0;
        let multiples = (0..=LINES_LIMIT).map(|place| (first + place as f64) * step);
        multiples.take_while(|level| *level < high).collect()
    };
    steps.map(levels).find(|levels| levels.len() <= LINES_LIMIT).unwrap_or_default()
}

/// Row and place within it.
type Node = (usize, usize);

/// End of a piece of a line.
#[derive(Debug, Clone, Copy, PartialEq)]
struct End {
    /// Edge of the grid; its nodes are in order.
    edge: (Node, Node),
    at: (f64, f64),
}

/// Pieces that meet at edges, as lines.
fn joined(segments: &[[End; 2]]) -> Vec<Vec<(f64, f64)>> {
    let mut at_edge: BTreeMap<(Node, Node), Vec<usize>> = BTreeMap::new();
    for (index, segment) in segments.iter().enumerate() {
        segment.iter().for_each(|end| at_edge.entry(end.edge).or_default().push(index));
    }
    let mut used = vec![false; segments.len()];
    let mut lines = Vec::new();
    // Lines with an end first: what is left are rings, which may begin anywhere.
    let is_end = |segment: &[End; 2]| segment.iter().any(|end| at_edge[&end.edge].len() == 1);
    let (ends, others): (Vec<usize>, Vec<usize>) =
        (0..segments.len()).partition(|&index| is_end(&segments[index]));
    for first in ends.into_iter().chain(others) {
        if used[first] {
            continue;
        }
        let [one, other] = segments[first];
        let is_reversed = at_edge[&one.edge].len() > 1 && at_edge[&other.edge].len() == 1;
        let (begin, mut end) = if is_reversed { (other, one) } else { (one, other) };
        let mut line = vec![begin.at, end.at];
        used[first] = true;
        while let Some(&next) = at_edge[&end.edge].iter().find(|&&index| !used[index]) {
            used[next] = true;
            let [one, other] = segments[next];
            end = if one.edge == end.edge { other } else { one };
            line.push(end.at);
        }
        lines.push(line);
    }
    lines
}

//! Contour charts.

use report::{Axis, Contour, ContourPoint, Point, Role, SERIES_LIMIT, Scale, Series, TickFormat};

fn contour(values: impl Fn(f64, f64) -> f64, rows: usize, places: usize) -> Contour {
    let axis = |label: &str| Axis {
        label: label.into(),
        unit: "IOPS".into(),
        scale: Scale::LinearFromZero,
        format: TickFormat::Number,
    };
    let point = |row: usize, place: usize| {
        let (x, y) = (place as f64, row as f64);
        Some(ContourPoint { x, y, value: values(x, y), case: "a case".into() })
    };
    Contour {
        id: "contour".into(),
        title: "Latency".into(),
        caption: String::new(),
        x: axis("Read rate"),
        y: axis("Write rate"),
        value: "Latency (ms)".into(),
        unit: "ms".into(),
        grid: (0..rows).map(|row| (0..places).map(|place| point(row, place)).collect()).collect(),
    }
}

/// Points of a line by its label.
fn line(contour: &Contour, label: &str) -> Vec<Point> {
    let is_its = |series: &Series| series.label == label;
    contour.chart().series.into_iter().find(is_its).map(|series| series.points).unwrap_or_default()
}

/// Proves that a line lies where the value is its level, runs from one side of the grid to the other without a gap, and that the table
/// has a row for each case.
#[test]
fn lines_lie_where_the_value_is_theirs() {
    // A value that grows by factors along both axes: lines of equal value are straight, x + 2 y.
    let value = |x: f64, y: f64| 10.0_f64.powf((x + 2.0 * y) / 6.0);
    let contour = contour(value, 5, 7);
    let chart = contour.chart();
    let labels: Vec<&str> = chart.series.iter().map(|series| series.label.as_str()).collect();
    assert!(labels.len() <= SERIES_LIMIT && labels.last() == Some(&"cases"), "{labels:?}");
    for series in chart.series.iter().filter(|series| series.role == Role::Run) {
        let level: f64 = series.label.split(' ').next().and_then(|text| text.parse().ok()).unwrap();
        assert!(series.points.len() > 2 && series.points.iter().all(|point| point.y.is_some()), "{series:?}");
        for point in &series.points {
            let there = value(point.x, point.y.unwrap());
            assert!((there / level - 1.0).abs() < 1e-9, "{there} on the line of {level}");
        }
        let is_side = |point: &Point| {
            let y = point.y.unwrap();
            point.x <= 0.0 || point.x >= 6.0 || y <= 0.0 || y >= 4.0
        };
        assert!(is_side(&series.points[0]) && is_side(&series.points[series.points.len() - 1]));
    }
    assert_eq!(contour.data_table().rows.len(), 35);
    assert!(contour.svg().contains("Write rate (IOPS) against Read rate (IOPS)"));
}

/// Proves that a peak has a closed line, that a case without a result leaves a hole and no line through it, and that equal values have no
/// line.
#[test]
fn peaks_holes_and_plains_are_drawn_as_they_are() {
    let peak = contour(|x, y| 20.0 - (x - 3.0).powi(2) - (y - 3.0).powi(2), 7, 7);
    let line = line(&peak, "15 ms");
    let (first, last) = (line[0], line[line.len() - 1]);
    assert!(
        (first.x - last.x).abs() < 1e-9 && first.y == last.y && line.iter().all(|point| point.y.is_some())
    );
    let mut hole = peak.clone();
    hole.grid[3][5] = None;
    let holed = self::line(&hole, "15 ms");
    assert!(!holed.is_empty() && holed.len() < line.len());
    assert!(holed.iter().all(|point| point.x <= 5.0), "{holed:?}");
    assert_eq!(contour(|_, _| 3.0, 4, 4).chart().series.len(), 1);
    let narrow = contour(|x, y| 75.0 + 46.0 * (x + y) / 6.0, 4, 4).chart();
    let labels: Vec<&str> = narrow.series.iter().map(|series| series.label.as_str()).collect();
    assert_eq!(labels, ["80 ms", "90 ms", "100 ms", "110 ms", "120 ms", "cases"]);
}

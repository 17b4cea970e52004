//! Table of a chart's data.

use super::{Chart, Role, scale::plain};
use crate::table::{Column, Table};
use findings::Cited;

/// A row for each x, in order, or several where a series has several points there; a column for each series, and for its range where it has one. Where several
/// series have no point at an x, or a gap there, the cell is empty.
pub fn of(chart: &Chart) -> Table {
    let mut xs: Vec<f64> =
        chart.series.iter().flat_map(|series| series.points.iter().map(|point| point.x)).collect();
    xs.sort_unstable_by(f64::total_cmp);
    xs.dedup();
    let count_at = |series: &super::Series, x: f64| series.points.iter().filter(|point| point.x == x).count();
    let rows_at = |x: f64| chart.series.iter().map(|series| count_at(series, x)).max().unwrap_or(1);
    let xs: Vec<f64> = xs.into_iter().flat_map(|x| std::iter::repeat_n(x, rows_at(x))).collect();

    let is_words = matches!(chart.x.scale, super::Scale::Categories(_));
    let x_title = chart.x.heading();
    let mut columns = vec![if is_words { Column::words(x_title) } else { Column::numbers(x_title) }];
    let mut rows: Vec<Vec<Cited>> = xs.iter().map(|x| vec![Cited::from(chart.x.value_text(*x))]).collect();
    let unit = if chart.y.unit.is_empty() { String::new() } else { format!(" ({})", chart.y.unit) };
    for series in &chart.series {
        let name = match (series.label.as_str(), series.role) {
            ("", Role::Run | Role::Loose) => chart.y.label.clone(),
            (label, Role::Run | Role::Loose) => label.to_owned(),
            ("", Role::Published) => "published".to_owned(),
            (label, Role::Published) => format!("{label}, published"),
        };
        columns.push(Column::numbers(format!("{name}{unit}")));
        let has_range = series.points.iter().any(|point| point.range.is_some());
        if has_range {
            columns.push(Column::numbers(format!("{name}, {}{unit}", chart.ranges.words())));
        }
        let mut points = series.points.iter().peekable();
        for (row, x) in rows.iter_mut().zip(&xs) {
            while points.peek().is_some_and(|point| point.x < *x) {
                points.next();
            }
            let point = points.next_if(|point| point.x == *x);
            row.push(
                point
                    .and_then(|point| point.y)
                    .filter(|y| y.is_finite())
                    .map(|y| Cited::from(plain(y)))
                    .unwrap_or_default(),
            );
            if has_range {
                let range = point.and_then(|point| point.range);
                row.push(
                    range
                        .map(|(low, high)| Cited::from(format!("{} to {}", plain(low), plain(high))))
                        .unwrap_or_default(),
                );
            }
        }
    }
    Table {
        id: format!("{}-data", chart.id),
        caption: format!("The numbers of “{}”", chart.title).into(),
        columns,
        rows,
    }
}

#[cfg(test)]
mod tests {
    use crate::chart::{Axis, Chart, Point, Ranges, Role, Scale, Series, TickFormat};

    /// Proves that series with different points share rows, that gaps are empty cells, not zeros, and that the column of ranges says
    /// what they are.
    #[test]
    fn gaps_are_empty_cells() {
        let axis = |label: &str, format| Axis {
            label: label.into(),
            unit: String::new(),
            scale: Scale::Log2,
            format,
        };
        let series = |label: &str, role, points: &[(f64, Option<f64>)]| Series {
            label: label.into(),
            style: 0,
            role,
            points: points.iter().map(|(x, y)| Point::new(*x, *y)).collect(),
        };
        let mut chart = Chart {
            id: "c".into(),
            title: "t".into(),
            caption: String::new(),
            x: axis("bs", TickFormat::Bytes),
            y: axis("IOPS", TickFormat::Number),
            series: vec![
                series("reads", Role::Run, &[(4096.0, Some(10.0)), (8192.0, None), (16384.0, Some(2500.0))]),
                series("reads", Role::Published, &[(8192.0, Some(7.0))]),
            ],
            marks: vec![],
            levels: vec![],
            ranges: Ranges::Extremes,
        };
        let table = chart.data_table();
        let titles: Vec<&str> = table.columns.iter().map(|column| column.title.text()).collect();
        assert_eq!(titles, ["bs", "reads", "reads, published"]);
        assert_eq!(table.rows, [vec!["4k", "10", ""], vec!["8k", "", "7"], vec!["16k", "2,500", ""]]);

        chart.series.truncate(1);
        chart.series[0].points[0].range = Some((8.0, 12.0));
        for (ranges, column) in [
            (Ranges::Extremes, "reads, smallest to largest"),
            (Ranges::Percentiles, "reads, p5 to p95"),
            (Ranges::Confidence, "reads, 95 % range"),
        ] {
            chart.ranges = ranges;
            let table = chart.data_table();
            assert_eq!(table.columns[2].title.text(), column);
            assert_eq!(table.rows[0][2], "8 to 12");
        }
    }
}

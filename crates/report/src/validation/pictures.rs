//! Pictures of a validation: simulated against published figures, one drawing for each kind of quantity.

use crate::chart::{Axis, Chart, Point, Ranges, Role, SERIES_LIMIT, Scale, Series, TickFormat, scatter};

/// A published figure beside the simulated one.
#[derive(Debug, Clone, PartialEq)]
pub struct ValidationFigure {
    /// The array.
    pub array: String,
    /// True where no fit has seen the row.
    pub is_unseen: bool,
    /// The quantity, by its path in results.
    pub metric: String,
    /// The published figure, in the quantity's unit.
    pub published: f64,
    /// The twin's.
    pub simulated: f64,
}

/// Kinds of pictures: a name for the file, a title, the axes' unit, and what divides a result's unit to give it.
const KINDS: [(&str, &str, &str, f64); 3] =
    [("iops", "IOPS", "", 1.0), ("bandwidth", "Bandwidth", "MB/s", 1e6), ("latency", "Latency", "ms", 1e6)];

/// A drawing for each kind of quantity that has figures: its name, and an SVG document that stands alone.
pub fn validation_pictures(figures: &[ValidationFigure]) -> Vec<(&'static str, String)> {
    KINDS
        .into_iter()
        .filter_map(|(name, title, unit, divisor)| {
            let of_kind: Vec<&ValidationFigure> =
                figures.iter().filter(|figure| kind(&figure.metric) == name).collect();
            (!of_kind.is_empty())
                .then(|| (name, standalone(&scatter(&chart(&of_kind, title, unit, divisor)))))
        })
        .collect()
}

fn kind(metric: &str) -> &'static str {
    if metric.contains("latency") {
        "latency"
    } else if metric.contains("bw_bytes") {
        "bandwidth"
    } else {
        "iops"
    }
}

fn chart(figures: &[&ValidationFigure], title: &str, unit: &str, divisor: f64) -> Chart {
    let mut arrays: Vec<&str> = figures.iter().map(|figure| figure.array.as_str()).collect();
    arrays.dedup();
    let series = arrays.iter().take(SERIES_LIMIT).enumerate().flat_map(|(style, array)| {
        [false, true].map(|is_unseen| {
            let of_series =
                figures.iter().filter(|figure| figure.array == *array && figure.is_unseen == is_unseen);
            let points = of_series
                .map(|figure| Point::new(figure.published / divisor, Some(figure.simulated / divisor)))
                .collect();
            let (role, set) = if is_unseen { (Role::Published, "unseen") } else { (Role::Run, "fitted") };
            Series { label: format!("{array}, {set}"), style, role, points }
        })
    });
    let axis = |label: &str| Axis {
        label: label.to_owned(),
        unit: unit.to_owned(),
        scale: Scale::Log10,
        format: TickFormat::Number,
    };
    Chart {
        id: String::new(),
        title: format!("{title}: simulated against published"),
        caption: String::new(),
        x: axis(&format!("{title}, published")),
        y: axis(&format!("{title}, simulated")),
        series: series.filter(|series| !series.points.is_empty()).collect(),
        marks: Vec::new(),
        levels: Vec::new(),
        ranges: Ranges::Extremes,
    }
}

/// A drawing as a document of its own, with the page's styles for light paper.
fn standalone(svg: &str) -> String {
    const STYLE: &str = include_str!("pictures.css");
    let opened = svg.replacen("<svg ", "<svg xmlns=\"http://www.w3.org/2000/svg\" ", 1);
    let styled = opened.replacen("<title>", &format!("<style>{STYLE}</style><title>"), 1);
    format!("{styled}\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that each kind of quantity has its drawing with every point in it, fitted and unseen told apart by their markers, and
    /// that a miss lies off the diagonal.
    #[test]
    fn every_figure_is_drawn() {
        let figure = |array: &str, is_unseen, metric: &str, published, simulated| ValidationFigure {
            array: array.into(),
            is_unseen,
            metric: metric.into(),
            published,
            simulated,
        };
        let figures = [
            figure("a", false, "iops", 1000.0, 1000.0),
            figure("a", true, "read.iops", 100_000.0, 50_000.0),
            figure("b", false, "write.latency_ns.mean", 0.35e6, 0.71e6),
        ];
        let pictures = validation_pictures(&figures);
        let names: Vec<&str> = pictures.iter().map(|picture| picture.0).collect();
        assert_eq!(names, ["iops", "latency"]);
        let iops = &pictures[0].1;
        // One in the key and one in the plot.
        assert_eq!((iops.matches("dot f0").count(), iops.matches("published s0").count()), (2, 2), "{iops}");
        assert!(iops.starts_with("<svg xmlns=") && iops.contains("a, unseen") && iops.contains("<style>"));
        assert!(pictures[1].1.contains("Latency, simulated (ms)"));
    }
}

//! Charts and reports for Python, drawn by the report's own code.

use crate::errors::{REFUSED, raise_plain, raise_text, refused, refused_plain};
use crate::runs::Run;
use diagnostic::Problem;
use pyo3::prelude::*;
use report::{Axis, Chart, Point, Ranges, Report, Role, SERIES_LIMIT, Scale, Series, TickFormat};

/// One series: its label, and its points.
type Points = (String, Vec<(f64, Option<f64>)>);

/// A chart as an `<svg>` element with a title and a description, and with its style. An axis is its label, unit, scale (`linear`,
/// `zero`, `log2`, `log10`) and format (`number`, `bytes`, `seconds`).
#[pyfunction]
pub fn chart_svg(
    title: &str,
    x: (String, String, String, String),
    y: (String, String, String, String),
    series: Vec<Points>,
) -> PyResult<String> {
    if series.is_empty() || series.len() > SERIES_LIMIT {
        let problem = format!("a chart shows 1 to {SERIES_LIMIT} series, not {}", series.len());
        return Err(refused(Problem::from(problem).with_hint("draw several charts, or choose fewer cases")));
    }
    let series = series.into_iter().enumerate().map(|(style, (label, points))| Series {
        label,
        style,
        role: Role::Run,
        points: points.into_iter().map(|(x, y)| Point::new(x, y)).collect(),
    });
    let chart = Chart {
        id: "chart".into(),
        title: title.to_owned(),
        caption: String::new(),
        x: axis(x)?,
        y: axis(y)?,
        series: series.collect(),
        marks: Vec::new(),
        levels: Vec::new(),
        ranges: Ranges::default(),
    };
    Ok(report::standalone_svg(&chart))
}

fn axis((label, unit, scale, format): (String, String, String, String)) -> PyResult<Axis> {
    let scale = match scale.as_str() {
        "linear" => Scale::Linear,
        "zero" => Scale::LinearFromZero,
        "log2" => Scale::Log2,
        "log10" => Scale::Log10,
        other => return Err(raise_text(&format!("there is no scale `{other}`"), REFUSED)),
    };
    let format = match format.as_str() {
        "number" => TickFormat::Number,
        "bytes" => TickFormat::Bytes,
        "seconds" => TickFormat::Seconds,
        other => return Err(raise_text(&format!("there is no format `{other}`"), REFUSED)),
    };
    Ok(Axis { label, unit, scale, format })
}

fn report_of(py: Python<'_>, run: &Run) -> PyResult<Report> {
    py.detach(|| report::from_run(&run.reader()).map_err(|error| raise_plain(&error, REFUSED)))
}

/// The charts of a run's report: section, title and drawing.
#[pyfunction]
pub fn report_charts(py: Python<'_>, run: &Run) -> PyResult<Vec<(String, String, String)>> {
    let report = report_of(py, run)?;
    let drawn = |chart: &Chart| report::standalone_svg(chart);
    let of_section = |section: &report::Section| {
        let charts = section.charts.iter();
        charts.map(|chart| (section.id.clone(), chart.title.clone(), drawn(chart))).collect::<Vec<_>>()
    };
    Ok(report.sections.iter().flat_map(of_section).collect())
}

/// A run's report as `html`, `md` or `json`.
#[pyfunction]
pub fn report_text(py: Python<'_>, run: &Run, format: &str) -> PyResult<String> {
    let report = report_of(py, run)?;
    match format {
        "html" => Ok(report.html()),
        "md" => Ok(report.markdown()),
        "json" => Ok(report.json().to_string()),
        other => {
            let problem = Problem::new(format!("there is no report format `{other}`"));
            Err(refused(problem.with_hint("html, md or json")))
        }
    }
}

/// Two runs of the same cases, as `arraylab compare --json` has them.
#[pyfunction]
pub fn compare_json(py: Python<'_>, before: &Run, after: &Run) -> PyResult<String> {
    let (before, after) = (before.found(py)?, after.found(py)?);
    let comparison = findings::compare(&before, &after, &findings::Bounds::default());
    serde_json::to_string(&comparison.cases).map_err(refused_plain)
}

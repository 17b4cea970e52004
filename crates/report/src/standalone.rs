//! Charts as files of their own: a drawing with its title, its style and nothing from outside.

use crate::Chart;
use crate::escape::html;

/// Style of the drawing's parts, which the page has too.
const CHART_STYLE: &str = include_str!("../assets/chart.css");
const HATCHES: &str = include_str!("../assets/hatches.svg");
/// The page's light colours: a file may be printed, or shown on any ground.
const COLOURS: &str = "svg { --paper: #ffffff; --ink: #16191d; --soft: #59626d; --rule: #d4d9df; --panel: #f4f6f8; \
                       --c0: #0b5cad; --c1: #b3400a; --c2: #0f7a5a; --c3: #8a2f8f; --c4: #8a6a00; --c5: #4b5563; }\n";
/// Height of the line that the title stands on.
const TITLE_HEIGHT: f64 = 24.0;
/// Free edge around the drawing.
const EDGE: f64 = 8.0;

/// A chart as an SVG file.
pub fn standalone_svg(chart: &Chart) -> String {
    let drawing = chart.svg();
    let (width, height) = size_of(&drawing);
    let (full_width, full_height) = (width + 2.0 * EDGE, height + TITLE_HEIGHT + 2.0 * EDGE);
    // A drawing inside another one keeps its own coordinates; its place and size are attributes.
    let inner = drawing.replacen(
        "<svg ",
        &format!("<svg x=\"{EDGE}\" y=\"{}\" width=\"{width}\" height=\"{height}\" ", TITLE_HEIGHT + EDGE),
        1,
    );
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {full_width} {full_height}\" width=\"{}\" height=\"{}\" \
         role=\"img\" aria-label=\"{title}\"><style>{COLOURS}{CHART_STYLE}</style>{HATCHES}\
         <rect width=\"{full_width}\" height=\"{full_height}\" fill=\"#ffffff\"/>\
         <text class=\"strong\" x=\"{EDGE}\" y=\"{}\" font-weight=\"600\">{title}</text>{inner}</svg>",
        full_width * 1.4,
        full_height * 1.4,
        TITLE_HEIGHT,
        title = html(&chart.title),
    )
}

/// Width and height of a drawing, from its `viewBox`.
fn size_of(drawing: &str) -> (f64, f64) {
    let view_box = drawing.split_once("viewBox=\"").and_then(|(_, rest)| rest.split_once('"'));
    let mut numbers =
        view_box.map_or("", |(text, _)| text).split(' ').skip(2).map(|text| text.parse().unwrap_or(0.0));
    (numbers.next().unwrap_or(0.0), numbers.next().unwrap_or(0.0))
}

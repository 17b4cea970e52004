//! Contents that every page must have.

mod common;

use report::*;

/// Proves that each chart has a title, a description, a name for assistive software and a table of its numbers.
#[test]
fn every_chart_has_words_and_numbers() {
    let page = common::sample().html();
    let charts = page.matches("<figure class=\"chart\"").count();
    assert_eq!(charts, 4);
    for needed in ["<svg class=\"plot\"", "role=\"img\" aria-label=", "<title>", "<desc>"] {
        assert!(page.matches(needed).count() >= charts, "{needed}");
    }
    for figure in page.split("<figure class=\"chart\"").skip(1) {
        let figure = figure.split("</figure>").next().unwrap();
        for needed in ["role=\"img\" aria-label=\"", "<title>", "<desc>", "<details", "<tbody><tr><td"] {
            assert!(figure.contains(needed), "{needed} is missing in {figure}");
        }
    }
}

/// Proves that the page asks for nothing from outside: no element that loads has an address, the style sheet has
/// neither `url` (but for the page's own hatchings) nor `@import`, and the policy forbids what might be overlooked.
#[test]
fn the_page_loads_nothing() {
    let page = common::sample().html();
    for loading in [
        "<link",
        "<iframe",
        "<object",
        "<embed",
        "@import",
        "srcset",
        "xlink:href",
        "fetch(",
        "XMLHttpRequest",
        "import(",
    ] {
        assert!(!page.contains(loading), "{loading}");
    }
    // Pictures stand in the page itself.
    assert!(page.split("src=").skip(1).all(|rest| rest.starts_with("\"data:image/png;base64,")));
    assert_eq!(page.matches("<img").count(), page.matches("<img alt=").count());
    let address_count = page.matches("http://").count() + page.matches("https://").count();
    let in_licence = page.matches("/*! https://github.com/leeoniya/uPlot").count();
    assert_eq!(address_count, in_licence, "an address outside the licence comment");
    assert!(page.split("url(").skip(1).all(|rest| rest.starts_with("#hatch-")));
    assert!(page.contains("default-src 'none'"));
    assert!(!page.contains("unsafe-inline") && !page.contains(" style=\""));
}

/// Proves that text from outside stays text, wherever it is put.
#[test]
fn text_cannot_become_markup() {
    let hostile = "</script></title></svg><script>alert(1)</script><img src=x onerror=alert(1)>\"' onload='x";
    let mut report = common::sample();
    report.title = hostile.into();
    report.subtitle = hostile.into();
    report.origin = Origin::Measured { target: hostile.into() };
    report.facts.push(Fact::new(hostile, hostile));
    report.model.push(hostile.into());
    report.verdict.because.push(hostile.into());
    report.warnings.push(hostile.into());
    report.conclusions[0].text = hostile.into();
    report.conclusions[0].verdict = Some(hostile.into());
    report.conclusions[0].evidence[0].id = hostile.into();
    report.headlines[0].detail = hostile.into();
    report.in_short[0].question = hostile.into();
    report.in_short[0].answer.text = hostile.into();
    report.in_short[0].answer.evidence[0].label = hostile.into();
    report.method.push(hostile.into());
    report.not_run[0].rows[0][0] = hostile.into();
    let bench = report.bench.as_mut().unwrap();
    bench.title = hostile.into();
    bench.layers.iter_mut().for_each(|layer| layer.label = hostile.into());
    let section = &mut report.sections[0];
    section.id = hostile.into();
    section.title = hostile.into();
    for chart in &mut section.charts {
        chart.id = hostile.into();
        chart.title = hostile.into();
        chart.caption = hostile.into();
        chart.y.label = hostile.into();
        chart.y.unit = hostile.into();
        chart.series.iter_mut().for_each(|series| series.label = hostile.into());
        chart.marks.iter_mut().for_each(|mark| mark.label = hostile.into());
        chart.levels.iter_mut().for_each(|level| level.label = hostile.into());
        match &mut chart.x.scale {
            Scale::Categories(names) => names.iter_mut().for_each(|name| *name = hostile.into()),
            _ => chart.x.label = hostile.into(),
        }
    }
    let page = report.html();
    let harmless = common::sample().html();
    for markup in ["<script", "</script", "<img", "</svg", "<title", " onload='", "\" onload"] {
        assert_eq!(page.matches(markup).count(), harmless.matches(markup).count(), "{markup}");
    }
    let document = report.markdown();
    assert!(!document.contains("<script") && !document.contains("<img"));
}

/// Proves that the same report gives the same bytes, and that an empty one is still a page.
#[test]
fn bytes_depend_on_the_report_alone() {
    assert_eq!(common::sample().html(), common::sample().html());
    assert_eq!(common::sample().markdown(), common::sample().markdown());
    let mut empty = common::sample();
    empty.sections.clear();
    empty.headlines.clear();
    let page = empty.html();
    assert!(page.contains("</html>") && !page.contains("uPlot.js"), "no chart, no uPlot");
}

/// Proves that what a reader asks first comes first, each point of an answer on a line of its own, and that what only repeats the
/// run (command, seed, version) stands at the end, under how it was done; and that of many warnings the later ones unfold.
#[test]
fn the_first_page_is_for_readers() {
    let mut report = common::sample();
    report.in_short[0].answer.text = "One point.\nAnother point.".into();
    report.facts.push(Fact::new("Command", "arraylab run flashsystem-840 --out /a/long/path"));
    report.warnings = (1..=7).map(|number| format!("Warning number {number}.").into()).collect();
    let page = report.html();
    let at = |text: &str| page.find(text).unwrap_or_else(|| panic!("no {text}"));
    let order = [
        "<li>One point.</li><li>Another point.</li>",
        "id=\"conclusions\"",
        "<li>Warning number 4.</li><li><details><summary>3 further remarks</summary>",
        "id=\"method\"",
        "/a/long/path",
    ];
    assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])));
    let text = report.markdown();
    assert!(text.contains("One point. Another point."));
    assert!(text.find("/a/long/path") > text.find("## How it was done"));
}

/// Proves that a chart of missing values, of one point or of nothing is drawn without numbers that are none.
#[test]
fn odd_charts_are_drawn() {
    for points in
        [vec![], vec![(1.0, None)], vec![(1.0, Some(0.0))], vec![(0.0, Some(f64::NAN)), (1.0, Some(5.0))]]
    {
        for scale in [
            Scale::Linear,
            Scale::LinearFromZero,
            Scale::Log2,
            Scale::Log10,
            Scale::Categories(vec!["a".into()]),
        ] {
            let chart = Chart {
                x: common::axis("x", "s", scale, TickFormat::Seconds),
                series: vec![common::series("line", 0, Role::Run, points.clone())],
                ..common::block_sizes()
            };
            let drawn = format!("{}{:?}", chart.svg(), chart.data_table());
            assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
        }
    }
}

/// Proves the markup of small charts and the words of the document, byte for byte.
#[test]
fn small_pieces_are_as_accepted() {
    insta::assert_snapshot!("line_chart", common::block_sizes().svg().replace("><", ">\n<"));
    insta::assert_snapshot!("bar_chart", common::bars().svg().replace("><", ">\n<"));
    insta::assert_snapshot!("bench", common::sample().bench.unwrap().svg().replace("><", ">\n<"));
    insta::assert_snapshot!("markdown", common::sample().markdown());
}

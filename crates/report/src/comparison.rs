//! Report of a comparison: two to eight runs side by side, differences beyond noise marked, trends, and what changed between.

use crate::chart::{Axis, Chart, Mark, Point, Ranges, Role, SERIES_LIMIT, Scale, Series, TickFormat};
use crate::from_run::quantity::Kind;
use crate::model::{
    Column, Conclusion, Decision, Evidence, Headline, Origin, Report, Section, Table, Verdict,
};
use findings::{
    CaseComparison, Cited, Comparison, Findings, InventoryChange, Judgement, Metric, MetricComparison,
    Quantity, Source, Trend, Unit, cited,
};
use std::collections::BTreeMap;
use store::Manifest;

/// Most runs side by side: more do not fit on a page, and are a trend.
pub const RUNS_LIMIT: usize = 8;
/// Rows without a difference that a stage's table shows; others are in `arraylab compare --json`.
const SAME_ROWS: usize = 200;
/// Changes of the inventory that are told between two runs.
const CHANGES_LIMIT: usize = 60;
/// Most lines of one value in a table of changes.
const CHANGE_CHARS: usize = 240;
/// Trends of cases that are drawn: those whose level changes, the largest first.
const TRENDS_LIMIT: usize = 24;

/// A run of a comparison.
#[derive(Debug, Clone, Copy)]
pub struct ComparedRun<'a> {
    /// Its name: that of its directory.
    pub name: &'a str,
    /// Manifest of the run.
    pub manifest: &'a Manifest,
    /// Findings of the run.
    pub found: &'a Findings,
}

/// Everything that a comparison shows.
#[derive(Debug, Clone, Copy)]
pub struct Compared<'a> {
    /// The runs, the first the one that others are compared with.
    pub runs: &'a [ComparedRun<'a>],
    /// Each other run beside the first.
    pub comparisons: &'a [Comparison],
    /// Trends over all runs.
    pub trends: &'a [Trend],
    /// Changes of the inventory from each run to the next.
    pub changes: &'a [Vec<InventoryChange>],
}

/// The report of a comparison.
pub fn comparison(compared: &Compared<'_>) -> Report {
    let runs = compared.runs;
    let regressions: Vec<usize> =
        compared.comparisons.iter().map(|one| one.of(Judgement::Regression).count()).collect();
    let mut sections = vec![trend_section(compared)];
    sections.extend(stages(compared).into_iter().map(|stage| stage_section(compared, stage)));
    sections.push(changes_section(compared));
    let first = runs.first().map_or("", |run| run.name);
    Report {
        title: cited!("Comparison of {}", count("runs", runs.len()).count("run")),
        subtitle: cited!(
            "Each beside {}, case by case; a difference counts only beyond noise",
            Cited::quote(first, Source::quote("run"))
        ),
        origin: origin(runs),
        verdict: verdict(compared, &regressions),
        answers: None,
        decision: Decision::default(),
        model: Vec::new(),
        facts: Vec::new(),
        headlines: tiles(compared),
        in_short: Vec::new(),
        conclusions: conclusions(compared),
        warnings: warnings(compared),
        requirements: Vec::new(),
        pictures: Vec::new(),
        bench: None,
        tested: vec![runs_table(runs)],
        comparisons: Vec::new(),
        sections,
        not_run: Vec::new(),
        method: method(),
        inventory: Vec::new(),
        findings: Vec::new(),
        claims: Vec::new(),
    }
}

fn count(what: &str, value: usize) -> Quantity {
    Quantity::new(value as f64, Unit::Count, Source::other("compare", what))
}

fn run_name(run: &ComparedRun<'_>) -> Cited {
    Cited::quote(run.name, Source::quote("run"))
}

fn origin(runs: &[ComparedRun<'_>]) -> Origin {
    let is_simulated = |run: &ComparedRun<'_>| run.manifest.engine == "sim";
    let mut names: Vec<String> = runs
        .iter()
        .map(|run| match (&run.manifest.array, is_simulated(run)) {
            (Some(array), true) => array.name.clone(),
            _ => {
                run.manifest.targets.iter().map(|target| target.spec.as_str()).collect::<Vec<_>>().join(", ")
            }
        })
        .collect();
    names.dedup();
    let names = names.join(", ");
    if runs.iter().all(is_simulated) {
        Origin::Simulated { twin: names }
    } else {
        Origin::Measured { target: names }
    }
}

fn verdict(compared: &Compared<'_>, regressions: &[usize]) -> Verdict {
    let because = compared.comparisons.iter().zip(&compared.runs[1..]).map(|(one, run)| {
        let of = |judgement, what: &str| count(&format!("{}/{what}", run.name), one.of(judgement).count());
        cited!(
            "{}: {} worse by the bound or more, {} worse by less, {} better, {} without a difference beyond noise, {} not to be told",
            run_name(run),
            of(Judgement::Regression, "regression").plain(0),
            of(Judgement::Worse, "worse").plain(0),
            of(Judgement::Better, "better").plain(0),
            of(Judgement::Same, "same").plain(0),
            of(Judgement::Unknown, "unknown").plain(0)
        )
    });
    let is_empty = compared.comparisons.iter().all(|one| one.cases.is_empty());
    let meaning = match (is_empty, regressions.iter().all(|count| *count == 0)) {
        (true, _) => "No case was measured in more than one run.",
        (false, true) => "No run is worse than the first by the bound or more, beyond noise.",
        (false, false) => "At least one run is worse than the first by the bound or more, beyond noise.",
    };
    Verdict {
        meaning,
        passed: (!is_empty).then(|| regressions.iter().all(|count| *count == 0)),
        because: because.collect(),
    }
}

fn warnings(compared: &Compared<'_>) -> Vec<Cited> {
    let mut warnings = Vec::new();
    let first = &compared.runs[0];
    for (one, run) in compared.comparisons.iter().zip(&compared.runs[1..]) {
        for (names, owner) in [(&one.only_first, first), (&one.only_second, run)] {
            if !names.is_empty() {
                warnings.push(cited!(
                    "Only {} has {}, which is not compared.",
                    run_name(owner),
                    count(&format!("{}/only", owner.name), names.len()).count("case")
                ));
            }
        }
        if run.manifest.plan.text != first.manifest.plan.text {
            warnings.push(cited!(
                "{} has another plan than {}: cases of the same name may differ in what is not in their names.",
                run_name(run),
                run_name(first)
            ));
        }
        if (run.manifest.engine == "sim") != (first.manifest.engine == "sim") {
            warnings.push(cited!(
                "One of {} and {} is simulated and the other measured.",
                run_name(first),
                run_name(run)
            ));
        }
    }
    warnings
}

fn method() -> Vec<Cited> {
    vec![
        cited!(
            "Cases are matched by stage and name, and compared by the intervals after the ramp. All tests of two runs together \
             raise a false alarm in at most {} of comparisons (Holm’s method). A change of less than {} is none.",
            Quantity::constant("compare-false-alarm", findings::FALSE_ALARM).percent(),
            Quantity::constant("compare-smallest", findings::SMALLEST_CHANGE).percent_with(1)
        ),
        cited!(
            "A trend’s level is the mean of the runs between two changes. Its noise is the scatter of runs about their level, or \
             what the runs’ own intervals show, whichever is more; the band holds {} of the runs of a level. A level changes where \
             the runs before and after differ beyond that noise, with all places and all series of a trend taken into account.",
            Quantity::constant("confidence", findings::BAND_CONFIDENCE).percent()
        ),
    ]
}

/// The runs by number.
fn runs_table(runs: &[ComparedRun<'_>]) -> Table {
    let manifest = || Source::quote("manifest");
    let row = |(place, run): (usize, &ComparedRun<'_>)| {
        vec![
            count("run", place + 1).plain(0),
            run_name(run),
            Cited::quote(&run.manifest.created_utc, manifest()),
            Cited::quote(&run.manifest.plan.name, manifest()),
            Cited::quote(
                run.manifest.targets.iter().map(|one| one.spec.as_str()).collect::<Vec<_>>().join(", "),
                manifest(),
            ),
            Cited::quote(&run.manifest.arraylab_version, manifest()),
        ]
    };
    let mut columns = vec![Column::numbers("Run")];
    columns.extend(["Name", "Created", "Plan", "Target", "arraylab"].map(Column::words));
    Table {
        id: "runs".into(),
        caption: "The runs".into(),
        columns,
        rows: runs.iter().enumerate().map(row).collect(),
    }
}

/// The three headlines: of the last run, with its change from the first.
fn tiles(compared: &Compared<'_>) -> Vec<Headline> {
    let of_run = compared.trends.iter().filter(|trend| trend.case.is_none());
    of_run
        .filter_map(|trend| {
            let (first, last) = (trend.values.first()?.as_ref()?, trend.values.last()?.as_ref()?);
            let kind = kind_of(&trend.quantity);
            let value = |run: usize, value: f64| {
                let path = format!("{}/{}", compared.runs[run].name, trend.quantity);
                Quantity::new(value, kind.base(), Source::other("trend", &path))
            };
            let before = value(0, first.value);
            let now = value(compared.runs.len() - 1, last.value);
            let verdict = match trend.changes.last() {
                Some(change) if change.is_better => "better than before, beyond noise",
                Some(_) => "worse than before, beyond noise",
                None => "no change beyond noise",
            };
            Some(Headline {
                label: format!("{}, last run", title_of(trend)),
                value: kind.print(now),
                detail: cited!("{} in the first run: {}.", kind.print(before), verdict),
                section_id: "trends".into(),
            })
        })
        .collect()
}

/// Changes of headlines, and of how many cases.
fn conclusions(compared: &Compared<'_>) -> Vec<Conclusion> {
    let mut all = Vec::new();
    let evidence = || vec![Evidence { id: "trends".into(), label: "shown here".into() }];
    for trend in compared.trends.iter().filter(|trend| trend.case.is_none()) {
        for change in &trend.changes {
            let path = |field: &str| {
                Source::other("trend", &format!("{}/changes/{}/{field}", trend.quantity, change.run))
            };
            let kind = kind_of(&trend.quantity);
            let text = cited!(
                "{} changed from {} to {} with run {} ({}), beyond noise; {}.",
                title_of(trend),
                kind.print(Quantity::new(change.before, kind.base(), path("before"))),
                kind.print(Quantity::new(change.after, kind.base(), path("after"))),
                Quantity::new(change.run as f64, Unit::Count, path("run")).plain(0),
                run_name(&compared.runs[change.run - 1]),
                changed_between(compared, change.run)
            );
            all.push(Conclusion { text, verdict: None, evidence: evidence() });
        }
    }
    let mut by_run: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for trend in compared.trends.iter().filter(|trend| trend.case.is_some()) {
        for change in &trend.changes {
            let known = by_run.entry(change.run).or_default();
            *(if change.is_better { &mut known.0 } else { &mut known.1 }) += 1;
        }
    }
    for (run, (better, worse)) in by_run {
        let number = |what: &str, value: usize| count(&format!("{run}/trend-{what}"), value).plain(0);
        let text = cited!(
            "With run {} ({}) the level of single cases changed beyond noise: {} better, {} worse; {}.",
            count("run", run).plain(0),
            run_name(&compared.runs[run - 1]),
            number("better", better),
            number("worse", worse),
            changed_between(compared, run)
        );
        all.push(Conclusion { text, verdict: None, evidence: evidence() });
    }
    if all.is_empty() {
        let text = cited!("No level changed beyond noise over these runs.");
        all.push(Conclusion { text, verdict: None, evidence: evidence() });
    }
    all
}

/// Counts the changes of the inventory with a run.
fn changed_between(compared: &Compared<'_>, run: usize) -> Cited {
    match compared.changes.get(run - 2).map_or(0, Vec::len) {
        0 => "nothing of the inventory changed with it".into(),
        changes => {
            cited!("of the inventory {} with it", count(&format!("{run}/inventory"), changes).count("change"))
        }
    }
}

fn kind_of(quantity: &str) -> Kind {
    match quantity {
        "peak-iops" | "iops" => Kind::Iops,
        "peak-bandwidth" => Kind::Bandwidth,
        _ => Kind::Latency,
    }
}

fn title_of(trend: &Trend) -> &'static str {
    match trend.quantity.as_str() {
        "peak-iops" => "Peak IOPS",
        "peak-bandwidth" => "Peak bandwidth",
        "lowest-latency" => "Lowest mean latency",
        "iops" => "IOPS",
        "read_latency_ns" => "Mean read latency",
        _ => "Mean write latency",
    }
}

/// Headlines over the runs, then the cases whose level changes.
fn trend_section(compared: &Compared<'_>) -> Section {
    let headlines: Vec<&Trend> = compared.trends.iter().filter(|trend| trend.case.is_none()).collect();
    let largest =
        |trend: &Trend| trend.changes.iter().map(|change| change.change_percent.abs()).fold(0.0, f64::max);
    let mut changed: Vec<&Trend> =
        compared.trends.iter().filter(|trend| trend.case.is_some() && !trend.changes.is_empty()).collect();
    changed.sort_by(|a, b| largest(b).total_cmp(&largest(a)));
    let total = changed.len();
    changed.truncate(TRENDS_LIMIT);
    let drawn = headlines.iter().chain(&changed);
    let charts = drawn.enumerate().map(|(place, trend)| trend_chart(trend, place)).collect();
    let mut notes = Vec::new();
    if total > changed.len() {
        notes.push(cited!(
            "Of the cases whose level changes, not drawn: {}.",
            count("trends-left-out", total - changed.len()).count("series")
        ));
    }
    let tables = vec![headline_table(compared, &headlines)];
    Section {
        id: "trends".into(),
        title: "Headlines over the runs".into(),
        intro: vec![cited!(
            "The runs stand in the order in which they were given. The band is where a run of a level lies by noise alone; a \
             labelled line is a change of the level."
        )],
        charts,
        large_charts: headlines.len(),
        contours: Vec::new(),
        heat_maps: Vec::new(),
        tables,
        notes,
    }
}

/// A value with the range about it.
type Ranged = (f64, Option<(f64, f64)>);

fn trend_chart(trend: &Trend, place: usize) -> Chart {
    let kind = kind_of(&trend.quantity);
    let known = || trend.values.iter().flatten();
    let raw: Vec<f64> = known().flat_map(|one| [one.value, one.level]).collect();
    let largest = raw.iter().copied().fold(0.0, f64::max);
    let (unit, divisor) = kind.unit(largest);
    let points = |of: &dyn Fn(&findings::TrendValue) -> Ranged| -> Vec<Point> {
        trend
            .values
            .iter()
            .enumerate()
            .map(|(run, value)| {
                let found = value.as_ref().map(of);
                Point {
                    x: (run + 1) as f64,
                    y: found.map(|(y, _)| y / divisor),
                    range: found
                        .and_then(|(_, range)| range)
                        .map(|(low, high)| (low / divisor, high / divisor)),
                }
            })
            .collect()
    };
    // A lone level is drawn step by step: where it changes, the line has a gap, which is no row of the chart's table.
    let mut levels = points(&|one| (one.level, one.band.map(|[low, high]| (low.max(0.0), high))));
    for change in trend.changes.iter().rev() {
        let at = change.run - 1;
        levels.insert(at, Point::new(at as f64, None));
    }
    let subject = match (&trend.stage, &trend.case) {
        (Some(stage), Some(case)) => format!(", {stage} {case}"),
        _ => String::new(),
    };
    let marks = trend.changes.iter().map(|change| Mark {
        x: change.run as f64 - 0.5,
        until: None,
        label: format!("{:+.1} %", change.change_percent).replace('-', "−"),
    });
    Chart {
        id: format!("trend-{}", place + 1),
        title: format!("{} by run{subject}", title_of(trend)),
        caption: trend.noise_percent.map_or_else(
            || "Nothing tells the noise of these runs.".into(),
            |noise| format!("The band is ±{noise:.1} % about the level."),
        ),
        x: Axis { label: "Run".into(), unit: String::new(), scale: Scale::Linear, format: TickFormat::Whole },
        y: Axis {
            label: title_of(trend).into(),
            unit: unit.into(),
            scale: Scale::LinearFromZero,
            format: TickFormat::Number,
        },
        series: vec![
            Series { label: "level".into(), style: 1, role: Role::Run, points: levels },
            Series {
                label: "run".into(),
                style: 0,
                role: Role::Run,
                points: points(&|one| (one.value, None)),
            },
        ],
        marks: marks.collect(),
        levels: Vec::new(),
        ranges: Ranges::Noise,
    }
}

/// Headlines as rows, runs as columns.
fn headline_table(compared: &Compared<'_>, headlines: &[&Trend]) -> Table {
    let mut columns = vec![Column::words("Headline")];
    columns.extend(compared.runs.iter().map(|run| Column::numbers(run_name(run))));
    columns.push(Column::numbers("Noise of a run"));
    let row = |trend: &&Trend| {
        let kind = kind_of(&trend.quantity);
        let mut cells = vec![Cited::words(title_of(trend))];
        for (value, run) in trend.values.iter().zip(compared.runs) {
            cells.push(value.as_ref().map_or_else(Cited::default, |value| {
                let source = Source::other("trend", &format!("{}/{}", run.name, trend.quantity));
                kind.print(Quantity::new(value.value, kind.base(), source))
            }));
        }
        cells.push(trend.noise_percent.map_or_else(Cited::default, |noise| {
            let source = Source::other("trend", &format!("{}/noise_percent", trend.quantity));
            cited!("±{}", Quantity::new(noise, Unit::Ratio, source).of_percent().percent_with(1))
        }));
        cells
    };
    Table {
        id: "headlines".into(),
        caption: "Headlines side by side".into(),
        columns,
        rows: headlines.iter().map(row).collect(),
    }
}

/// Stages that any comparison has, in order.
fn stages<'a>(compared: &Compared<'a>) -> Vec<&'a str> {
    let mut names: Vec<&str> = Vec::new();
    for case in compared.comparisons.iter().flat_map(|one| &one.cases) {
        if !names.contains(&case.stage.as_str()) {
            names.push(&case.stage);
        }
    }
    names
}

/// One metric of a case in all runs: the first run's figure, and each other run's.
struct Row<'a> {
    case: &'a str,
    metric: Metric,
    before: f64,
    others: Vec<Option<&'a MetricComparison>>,
}

impl Row<'_> {
    fn is_different(&self) -> bool {
        let is = |one: &&MetricComparison| !matches!(one.judgement, Judgement::Same | Judgement::Unknown);
        self.others.iter().flatten().any(is)
    }
}

fn stage_section(compared: &Compared<'_>, stage: &str) -> Section {
    let rows = rows(compared, stage);
    let (different, same): (Vec<&Row<'_>>, Vec<&Row<'_>>) = rows.iter().partition(|row| row.is_different());
    let left_out = same.len().saturating_sub(SAME_ROWS);
    let shown: Vec<&Row<'_>> =
        different.iter().copied().chain(same.iter().copied().take(SAME_ROWS)).collect();
    let mut columns = vec![Column::words("Case"), Column::words("Metric")];
    columns.extend(compared.runs.iter().map(|run| Column::numbers(run_name(run))));
    let table = Table {
        id: format!("compared-{}", identifier(stage)),
        caption: "Cases side by side: ▲ better, ▼ worse, ▼▼ worse by the bound or more, ? too few intervals to tell; without a \
                  mark no difference beyond noise"
            .into(),
        columns,
        rows: shown.iter().map(|row| cells(compared, stage, row)).collect(),
    };
    let mut notes = Vec::new();
    if left_out > 0 {
        notes.push(cited!(
            "Rows without a difference beyond noise that are left out: {}; `arraylab compare --json` has them.",
            count(&format!("{stage}/rows-left-out"), left_out).count("row")
        ));
    }
    Section {
        id: format!("stage-{}", identifier(stage)),
        title: Cited::quote(stage, Source::quote("stage")),
        intro: vec![cited!(
            "{} with a difference beyond noise, {} without.",
            count(&format!("{stage}/different"), different.len()).count("row").capitalised(),
            count(&format!("{stage}/same"), same.len()).plain(0)
        )],
        charts: change_charts(compared, stage, &rows),
        large_charts: usize::MAX,
        contours: Vec::new(),
        heat_maps: Vec::new(),
        tables: vec![table],
        notes,
    }
}

fn rows<'a>(compared: &Compared<'a>, stage: &str) -> Vec<Row<'a>> {
    let of_stage = |one: &'a Comparison| -> BTreeMap<&'a str, &'a CaseComparison> {
        let cases = one.cases.iter().filter(|case| case.stage == stage);
        cases.map(|case| (case.case.as_str(), case)).collect()
    };
    let others: Vec<BTreeMap<&str, &CaseComparison>> = compared.comparisons.iter().map(of_stage).collect();
    let mut order: Vec<&str> = Vec::new();
    let mut known = std::collections::BTreeSet::new();
    for case in compared.comparisons.iter().flat_map(|one| &one.cases).filter(|case| case.stage == stage) {
        if known.insert(case.case.as_str()) {
            order.push(&case.case);
        }
    }
    let mut rows = Vec::new();
    for case in order {
        for metric in [Metric::Iops, Metric::ReadLatencyNs, Metric::WriteLatencyNs, Metric::Errors] {
            let of = |cases: &BTreeMap<&str, &'a CaseComparison>| {
                cases.get(case)?.metrics.iter().find(|one| one.metric == metric)
            };
            let others: Vec<Option<&MetricComparison>> = others.iter().map(of).collect();
            let Some(before) = others.iter().flatten().map(|one| one.before).next() else { continue };
            rows.push(Row { case, metric, before, others });
        }
    }
    rows
}

fn metric_kind(metric: Metric) -> Kind {
    match metric {
        Metric::Iops => Kind::Iops,
        Metric::ReadLatencyNs | Metric::WriteLatencyNs => Kind::Latency,
        Metric::Errors => Kind::Errors,
    }
}

fn metric_words(metric: Metric) -> &'static str {
    match metric {
        Metric::Iops => "IOPS",
        Metric::ReadLatencyNs => "mean read latency",
        Metric::WriteLatencyNs => "mean write latency",
        Metric::Errors => "failed I/Os",
    }
}

fn cells(compared: &Compared<'_>, stage: &str, row: &Row<'_>) -> Vec<Cited> {
    let kind = metric_kind(row.metric);
    let quantity = |run: usize, value: f64, unit: Unit, field: &str| {
        let path = format!("{}/{stage}/{}/{}/{field}", compared.runs[run].name, row.case, row.metric.name());
        Quantity::new(value, unit, Source::other("compare", &path))
    };
    let mut cells = vec![
        Cited::quote(row.case, Source::quote("case")),
        Cited::words(metric_words(row.metric)),
        kind.print(quantity(0, row.before, kind.base(), "before")),
    ];
    for (place, one) in row.others.iter().enumerate() {
        let Some(one) = one else {
            cells.push(Cited::default());
            continue;
        };
        let value = kind.print(quantity(place + 1, one.after, kind.base(), "after"));
        let mark = match one.judgement {
            Judgement::Better => "▲ ",
            Judgement::Worse => "▼ ",
            Judgement::Regression => "▼▼ ",
            Judgement::Unknown => "? ",
            Judgement::Same | Judgement::Mixed => "",
        };
        let is_marked = !mark.is_empty() && one.judgement != Judgement::Unknown;
        cells.push(if is_marked && row.metric != Metric::Errors {
            let change = quantity(place + 1, one.change_percent, Unit::Ratio, "change_percent").of_percent();
            let text = format!("{:+.1} %", one.change_percent).replace('-', "−");
            cited!("{}{} ({})", mark, value, change.printed(text))
        } else {
            cited!("{}{}", mark, value)
        });
    }
    cells
}

/// The change of each case's IOPS and mean latencies from the first run, case by case in the order of the plan.
fn change_charts(compared: &Compared<'_>, stage: &str, rows: &[Row<'_>]) -> Vec<Chart> {
    let mut charts = Vec::new();
    for metric in [Metric::Iops, Metric::ReadLatencyNs, Metric::WriteLatencyNs] {
        let of: Vec<&Row<'_>> = rows.iter().filter(|row| row.metric == metric).collect();
        if of.len() < 2 {
            continue;
        }
        let lines: Vec<Series> = compared.runs[1..]
            .iter()
            .enumerate()
            .map(|(place, run)| Series {
                label: if compared.runs.len() == 2 { String::new() } else { run.name.to_owned() },
                style: place % SERIES_LIMIT,
                role: Role::Run,
                points: of
                    .iter()
                    .enumerate()
                    .map(|(number, row)| {
                        let one = row.others[place];
                        let range =
                            one.and_then(|one| one.change_confidence_95).map(|[low, high]| (low, high));
                        Point {
                            x: (number + 1) as f64,
                            y: one.map(|one| one.change_percent),
                            range: range.filter(|_| compared.runs.len() == 2),
                        }
                    })
                    .collect(),
            })
            .collect();
        for lines in lines.chunks(SERIES_LIMIT) {
            let words = metric_words(metric);
            let axis = |label: &str, unit: &str| Axis {
                label: label.into(),
                unit: unit.into(),
                scale: Scale::Linear,
                format: TickFormat::Number,
            };
            let band = if compared.runs.len() == 2 { " The band is its 95 % confidence." } else { "" };
            charts.push(Chart {
                id: format!("changes-{}-{}", identifier(stage), charts.len() + 1),
                title: format!("Change of {words} from the first run"),
                caption: format!(
                    "Cases in the order of the plan, as in the results; the dashed line is no change.{band}"
                ),
                x: axis("Case", ""),
                y: axis(&format!("Change of {words}"), "%"),
                series: lines.to_vec(),
                marks: Vec::new(),
                levels: vec![crate::chart::Level { y: 0.0, label: String::new() }],
                ranges: Ranges::Confidence,
            });
        }
    }
    charts
}

fn identifier(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

/// Section about the changes from each run to the next.
fn changes_section(compared: &Compared<'_>) -> Section {
    let mut tables = Vec::new();
    let mut notes = Vec::new();
    for (place, (changes, pair)) in compared.changes.iter().zip(compared.runs.windows(2)).enumerate() {
        let cell = |text: &Option<String>| match text {
            None => Cited::words("–"),
            Some(text) => {
                let short: String = text.trim().chars().take(CHANGE_CHARS).collect();
                Cited::quote(short, Source::quote("inventory"))
            }
        };
        if changes.is_empty() {
            notes.push(cited!("Nothing changed from {} to {}.", run_name(&pair[0]), run_name(&pair[1])));
            continue;
        }
        let rows = changes.iter().take(CHANGES_LIMIT).map(|one| {
            vec![Cited::quote(&one.place, Source::quote("inventory")), cell(&one.before), cell(&one.after)]
        });
        tables.push(Table {
            id: format!("inventory-{}", place + 1),
            caption: cited!("From {} to {}", run_name(&pair[0]), run_name(&pair[1])),
            columns: vec![
                Column::words("What"),
                Column::words(run_name(&pair[0])),
                Column::words(run_name(&pair[1])),
            ],
            rows: rows.collect(),
        });
        if changes.len() > CHANGES_LIMIT {
            notes.push(cited!(
                "Further changes from {} to {}: {}.",
                run_name(&pair[0]),
                run_name(&pair[1]),
                count(&format!("{}/inventory-left-out", place + 2), changes.len() - CHANGES_LIMIT).plain(0)
            ));
        }
    }
    Section {
        id: "inventory-changes".into(),
        title: "What changed between the runs".into(),
        intro: vec![cited!(
            "Host, targets, plan, array and what inventory commands said; of texts, the lines that only one run has."
        )],
        charts: Vec::new(),
        large_charts: usize::MAX,
        contours: Vec::new(),
        heat_maps: Vec::new(),
        tables,
        notes,
    }
}

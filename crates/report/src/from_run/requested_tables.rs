//! The tables that a plan asks for, and those of rounds that ended on steady state.

use super::quantity::{self, Kind};
use super::{Source, axes, percentile_words, section_id};
use crate::chart::scale::plain;
use crate::model::{Column, Table};
use findings::{Cited, Fact, Findings, Quantity, cited};
use plan::{Extreme, FigureOf};
use serde_json::{Map, Value};
use store::CaseResult;

/// Rows of one table; more are in the CSV.
const ROWS_LIMIT: usize = 1_000;

/// The tables of one stage, or with `None` those over several stages.
pub fn tables(source: &Source<'_>, found: Option<&Findings>, stage: Option<&str>) -> Vec<Table> {
    let mut tables = Vec::new();
    if let (Some(found), Some(stage)) = (found, stage) {
        tables.extend(verification(found, stage));
    }
    let requested = source.plan.iter().flat_map(|plan| &plan.tables).filter(|requested| match stage {
        Some(stage) => requested.stages.len() == 1 && requested.stages[0] == stage,
        None => requested.stages.len() > 1,
    });
    for requested in requested {
        let rows = rows(source, found, requested);
        if rows.is_empty() {
            continue;
        }
        match requested.columns {
            None => tables.push(plain_table(source, requested, &rows)),
            Some(columns) => {
                tables.extend(
                    requested.quantities.iter().filter_map(|q| crossed(requested, &rows, columns, q.name())),
                );
            }
        }
    }
    let prefix = stage.map_or_else(|| "across".to_owned(), section_id);
    for (number, table) in tables.iter_mut().enumerate() {
        table.id = format!("{prefix}-table-{}", number + 1);
    }
    tables
}

/// A row: one case, or several whose mean it is.
struct Row<'a> {
    cases: Vec<&'a CaseResult>,
}

impl Row<'_> {
    fn settings(&self) -> &Map<String, Value> {
        &self.cases[0].settings
    }

    fn quantity(&self, path: &str) -> Option<Quantity> {
        let mut values: Vec<Quantity> =
            self.cases.iter().filter_map(|case| quantity::of(case, path)).collect();
        match path.rsplit('.').next() {
            _ if values.len() == 1 => values.pop(),
            Some("max") => Quantity::largest(&values),
            Some("min") => Quantity::smallest(&values),
            _ => Quantity::mean(&values),
        }
    }

    fn value(&self, path: &str) -> Option<f64> {
        self.quantity(path).map(|quantity| quantity.value())
    }

    fn setting(&self, name: &str) -> Cited {
        let case = self.cases[0];
        axes::cited(&case.stage, &case.case, &case.settings, name)
    }
}

/// The rows of a table in order of appearance.
fn rows<'a>(source: &'a Source<'_>, found: Option<&Findings>, requested: &plan::Table) -> Vec<Row<'a>> {
    let is_by_round = requested.rows.contains(&"repeat");
    let cases = source.done().map(|(_, result)| result).filter(|result| {
        requested.shows(&result.stage, &result.settings)
            && (is_by_round || is_in_window(source, found, result))
    });
    let mut keys: Vec<&str> = requested.rows.clone();
    keys.extend(requested.columns);
    let mut groups: Vec<(String, Vec<&CaseResult>)> = Vec::new();
    for case in cases {
        let key: Vec<String> = keys
            .iter()
            .map(|name| case.settings.get(*name).map(Value::to_string).unwrap_or_default())
            .collect();
        let key = key.join("\n");
        match groups.iter_mut().find(|group| group.0 == key) {
            Some(group) => group.1.push(case),
            None => groups.push((key, vec![case])),
        }
    }
    let is_of_rounds = |case: &&CaseResult| is_round(source, case) && !keys.contains(&"repeat");
    let mut rows = Vec::new();
    for (_, cases) in groups {
        match &requested.pick {
            Some(pick) => {
                rows.extend(picked(pick, points(cases, is_of_rounds)));
            }
            None if cases.iter().all(is_of_rounds) => rows.push(Row { cases }),
            None => rows.extend(cases.into_iter().map(|case| Row { cases: vec![case] })),
        }
    }
    rows.truncate(ROWS_LIMIT);
    rows
}

/// The cases that a chart picks of those it may show: one, or that case in each round of the measurement window.
pub fn chosen<'a>(
    source: &Source<'_>,
    found: Option<&Findings>,
    pick: &plan::Pick,
    cases: &[(u32, &'a CaseResult)],
) -> Vec<(u32, &'a CaseResult)> {
    let within = cases.iter().filter(|(_, case)| is_in_window(source, found, case));
    let points = points(within.map(|(_, case)| *case).collect(), |case| is_round(source, case));
    let Some(row) = picked(pick, points) else { return Vec::new() };
    let is_chosen = |case: &CaseResult| row.cases.iter().any(|chosen| std::ptr::eq(*chosen, case));
    cases.iter().filter(|(_, case)| is_chosen(case)).copied().collect()
}

fn is_round(source: &Source<'_>, case: &CaseResult) -> bool {
    source.stage_of_plan(&case.stage).is_some_and(|stage| stage.repeats.is_some())
}

/// Cases of which one is to be picked. What is picked of rounds is picked of their means.
fn points<'a>(cases: Vec<&'a CaseResult>, is_of_rounds: impl Fn(&&CaseResult) -> bool) -> Vec<Row<'a>> {
    let mut points: Vec<Row<'_>> = Vec::new();
    for case in cases {
        let same =
            |row: &&mut Row<'_>| is_of_rounds(&case) && is_same_but_round(row.settings(), &case.settings);
        match points.iter_mut().find(same) {
            Some(row) => row.cases.push(case),
            None => points.push(Row { cases: vec![case] }),
        }
    }
    points
}

fn is_same_but_round(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    a.len() == b.len() && a.iter().all(|(name, value)| name == "repeat" || b.get(name) == Some(value))
}

/// The row with the extreme that is asked for, among those within the bounds.
fn picked<'a>(pick: &plan::Pick, rows: Vec<Row<'a>>) -> Option<Row<'a>> {
    pick.best(rows, |row, quantity| row.value(quantity.name()))
}

/// In a stage whose rounds end on steady state, only the rounds of the measurement window count.
fn is_in_window(source: &Source<'_>, found: Option<&Findings>, case: &CaseResult) -> bool {
    let ends = source
        .stage_of_plan(&case.stage)
        .and_then(|stage| stage.repeats.as_ref())
        .is_some_and(|rounds| !rounds.until_steady.is_empty());
    if !ends {
        return true;
    }
    let id = format!("steady-rounds/{}", case.stage);
    let Some(Fact::SteadyRounds(steady)) =
        found.and_then(|found| found.get(&id)).map(|finding| &finding.fact)
    else {
        return true;
    };
    let round = case.settings.get("repeat").and_then(Value::as_u64);
    round.is_none_or(|round| steady.window_rounds.contains(&round))
}

fn caption(requested: &plan::Table) -> Cited {
    let quote = |text: &str| Cited::quote(text, findings::Source::quote("plan"));
    match &requested.published_as {
        Some(name) => cited!("{} (in the published test: {})", quote(&requested.title), quote(name)),
        None => quote(&requested.title),
    }
}

/// A row for each combination, quantities beside it, published figures beside those.
fn plain_table(source: &Source<'_>, requested: &plan::Table, rows: &[Row<'_>]) -> Table {
    let mut columns: Vec<Column> =
        requested.rows.iter().map(|name| Column::words(axes::title(name))).collect();
    let at: Vec<&str> = requested.stages.iter().flat_map(|stage| source.axes_of(stage)).collect();
    let at: Vec<&str> =
        at.into_iter().filter(|name| !requested.rows.contains(name) && *name != "repeat").collect();
    let has_at = requested.pick.is_some() && !at.is_empty();
    if has_at {
        columns.push(Column::words("At"));
    }
    let used: Vec<&str> = requested
        .quantities
        .iter()
        .map(|quantity| quantity.name())
        .filter(|path| rows.iter().any(|row| row.value(path).is_some()))
        .collect();
    let published: Vec<Vec<Option<Quantity>>> = used
        .iter()
        .map(|path| rows.iter().map(|row| published(source, requested, row, path)).collect())
        .collect();
    for (path, figures) in used.iter().zip(&published) {
        columns.push(Column::numbers(cited!("{}{}", words(path), unit(path))));
        if figures.iter().any(Option::is_some) {
            columns.push(Column::numbers("published"));
        }
    }
    let cells = rows
        .iter()
        .enumerate()
        .map(|(place, row)| {
            let mut cells: Vec<Cited> = requested.rows.iter().map(|name| row.setting(name)).collect();
            if has_at {
                let case = row.cases[0];
                cells.push(axes::cited_label(&case.stage, &case.case, &case.settings, &at));
            }
            for (path, figures) in used.iter().zip(&published) {
                cells.push(row.quantity(path).map(|value| figure(path, value)).unwrap_or_default());
                if figures.iter().any(Option::is_some) {
                    let beside = figures[place].clone();
                    cells.push(beside.map(|value| figure(path, value)).unwrap_or_default());
                }
            }
            cells
        })
        .collect();
    Table { id: String::new(), caption: caption(requested), columns, rows: cells }
}

/// The published figure beside a row: that of its case, or the extreme that the row picks.
fn published(source: &Source<'_>, requested: &plan::Table, row: &Row<'_>, path: &str) -> Option<Quantity> {
    let plan = source.plan.as_ref()?;
    let case = row.cases[0];
    let figures = plan.published_for(&case.stage, &case.settings);
    let cite = |value: f64, file: &str| {
        let from = findings::Source::published(&case.stage, &case.case, path, file);
        Quantity::new(value, Kind::of(path).base(), from)
    };
    let of_case = figures
        .iter()
        .find(|figure| figure.quantity.name() == path)
        .map(|figure| cite(figure.value, &figure.file));
    let pick = requested.pick.as_ref().filter(|pick| pick.at_most.is_empty());
    of_case.or_else(|| {
        let pick = pick?;
        let extremes = plan
            .published_extremes()
            .filter(|(table, row)| table.has_row_for(row, &case.stage, &case.settings));
        let wanted = |of| match pick.extreme {
            Extreme::Largest => of == FigureOf::Maximum || of == FigureOf::AtExtreme,
            Extreme::Smallest => of == FigureOf::Minimum,
        };
        let mut figures =
            extremes.flat_map(|(table, row)| row.figures.iter().map(move |figure| (table, figure)));
        figures
            .find(|(_, figure)| figure.quantity.name() == path && wanted(figure.of))
            .map(|(table, figure)| cite(figure.value, &format!("{}#extreme", table.file)))
    })
}

/// One quantity: a row for each combination, a column for each value of a setting.
fn crossed(requested: &plan::Table, rows: &[Row<'_>], by: &str, path: &str) -> Option<Table> {
    let settings: Vec<&Map<String, Value>> = rows.iter().map(Row::settings).collect();
    let across = axes::values(&settings, by);
    let mut columns: Vec<Column> =
        requested.rows.iter().map(|name| Column::words(axes::title(name))).collect();
    columns.extend(across.iter().map(|value| {
        let row = rows.iter().find(|row| row.settings().get(by) == Some(value));
        Column::numbers(row.map(|row| row.setting(by)).unwrap_or_default())
    }));
    let mut lines: Vec<(Vec<Cited>, Vec<Cited>)> = Vec::new();
    let mut is_empty = true;
    for row in rows {
        let head: Vec<Cited> = requested.rows.iter().map(|name| row.setting(name)).collect();
        let place = across.iter().position(|value| row.settings().get(by) == Some(value))?;
        let is_its =
            |line: &(Vec<Cited>, Vec<Cited>)| line.0.iter().map(Cited::text).eq(head.iter().map(Cited::text));
        let line = match lines.iter().position(is_its) {
            Some(line) => line,
            None => {
                lines.push((head, vec![Cited::default(); across.len()]));
                lines.len() - 1
            }
        };
        if let Some(value) = row.quantity(path) {
            lines[line].1[place] = figure(path, value);
            is_empty = false;
        }
    }
    (!is_empty).then(|| Table {
        id: String::new(),
        caption: cited!("{}: {}{}", caption(requested), words(path), unit(path)),
        columns,
        rows: lines.into_iter().map(|(head, cells)| head.into_iter().chain(cells).collect()).collect(),
    })
}

/// SNIA's steady state verification data: the window of each tracked quantity, with what is allowed.
fn verification(found: &Findings, stage: &str) -> Option<Table> {
    let finding = found.get(&format!("steady-rounds/{stage}"))?;
    let Fact::SteadyRounds(steady) = &finding.fact else { return None };
    let number = |field: &str| finding.quantity(field);
    let allowed = |name: &str, value: f64| Quantity::constant(name, value).percent();
    let mut columns = vec![Column::words("Tracked quantity")];
    columns.extend((0..steady.window_rounds.len()).map(|place| {
        let round = number(&format!("window_rounds.{place}")).map(|round| round.plain(0));
        Column::numbers(cited!("Round {}", round.unwrap_or_default()))
    }));
    columns.push(Column::numbers("Average"));
    columns.push(Column::numbers(cited!("Range (at most {})", allowed("steady-range", 0.20))));
    columns.push(Column::numbers(cited!("Slope excursion (at most {})", allowed("steady-slope", 0.10))));
    columns.push(Column::words("Steady"));
    let rows = steady
        .variables
        .iter()
        .enumerate()
        .map(|(place, variable)| {
            let path = variable.quantity.as_str();
            let field = |name: &str| format!("variables.{place}.{name}");
            let figure = |name: String| {
                let value = number(&name).map(|value| value.with_unit(Kind::of(path).base()));
                value.map(|value| figure(path, value)).unwrap_or_default()
            };
            let percent =
                |name: &str| number(&field(name)).map(|share| share.percent_with(1)).unwrap_or_default();
            let mut of = Cited::default();
            if !variable.of.is_empty() {
                of = cited!(
                    ", {}",
                    Cited::quote(&variable.of, findings::Source::finding(&finding.id, &field("of")))
                );
            }
            let mut cells = vec![cited!("{}{}{}", words(path), unit(path), of)];
            cells.extend((0..variable.window.len()).map(|round| figure(field(&format!("window.{round}")))));
            cells.push(figure(field("average")));
            cells.push(percent("range_percent"));
            cells.push(percent("slope_percent"));
            cells.push(if variable.steady { "✓ yes" } else { "✗ no" }.into());
            cells
        })
        .collect();
    let plain = |field: &str| number(field).map(|value| value.plain(0)).unwrap_or_default();
    let caption = match steady.round {
        Some(_) => cited!(
            "Steady state verification: reached with round {} of at most {}",
            plain("round"),
            plain("at_most")
        ),
        None => cited!(
            "Steady state verification: not reached in {}",
            number("rounds").map(|rounds| rounds.count("round")).unwrap_or_default()
        ),
    };
    Some(Table { id: String::new(), caption, columns, rows })
}

fn words(path: &str) -> Cited {
    percentile_words(&quantity::words(path))
}

fn unit(path: &str) -> &'static str {
    match Kind::of(path) {
        Kind::Latency => " (ms)",
        Kind::Bandwidth => " (MB/s)",
        Kind::Iops | Kind::Errors => "",
    }
}

/// A figure in the unit that `unit` names.
fn figure(path: &str, quantity: Quantity) -> Cited {
    let scale = match Kind::of(path) {
        Kind::Iops | Kind::Errors => 1.0,
        Kind::Bandwidth | Kind::Latency => 1e6,
    };
    let text = plain(quantity.value() / scale);
    quantity.printed(text)
}

//! Tables of a run.

use crate::column::{Growing, GrowingCategories};
use crate::{Column, Frame, Values};
use findings::Findings;
use load::{Direction, Histogram, bin_low_ns, bin_width_ns};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use store::{CaseRecord, CaseResult, RunReader, StoreError};

/// Results as `results --csv` has them: the same columns in the same order.
pub fn results(results: &[CaseResult]) -> Frame {
    // Results are strings, numbers, lists and maps with string keys, all of which JSON has.
    let rows = results.iter().map(|result| serde_json::to_value(result).unwrap_or_default()).collect();
    Frame::of_rows_in_order(rows, &store::result_columns(results))
}

/// Records of cases by number.
fn records(run: &RunReader, cases: &[u32]) -> Result<BTreeMap<u32, CaseRecord>, StoreError> {
    cases.iter().map(|&index| Ok((index, run.case(index)?))).collect()
}

/// Columns that identify a row's case: number, stage and name.
#[derive(Default)]
struct CaseColumns {
    index: Vec<i64>,
    stage: GrowingCategories,
    case: GrowingCategories,
}

impl CaseColumns {
    fn push(&mut self, case: &CaseRecord) {
        self.index.push(i64::from(case.index));
        self.stage.push(Some(&case.stage));
        self.case.push(Some(&case.name));
    }

    fn columns(self) -> [Column; 3] {
        [
            Column::new("case_index", Values::Integers(self.index)),
            self.stage.column("stage"),
            self.case.column("case"),
        ]
    }
}

/// Every interval and direction of the samples of these cases, `ios` 0 and no direction where nothing completed. `iops` and
/// `bw_bytes_per_s` are over the interval; latencies in nanoseconds.
pub fn samples(run: &RunReader, cases: &[u32]) -> Result<Frame, StoreError> {
    let cases = records(run, cases)?;
    let mut of_case = CaseColumns::default();
    let (mut load, mut direction) = (GrowingCategories::default(), GrowingCategories::default());
    let (mut start_ns, mut end_ns) = (Vec::new(), Vec::new());
    let (mut is_ramp, mut is_extrapolated) = (Vec::new(), Vec::new());
    let (mut ios, mut bytes, mut errors) = (Vec::new(), Vec::new(), Vec::new());
    let (mut iops, mut bw) = (Growing::default(), Growing::default());
    let mut confidence = Growing::default();
    let mut mean = Growing::default();
    let mut latencies: [Growing<i64>; 6] = Default::default();
    run.for_each_sample_row(cases.keys().copied(), |row| {
        of_case.push(&cases[&row.case_index]);
        load.push(Some(row.load));
        direction.push(row.direction.map(Direction::name));
        start_ns.push(whole(row.start_ns));
        end_ns.push(whole(row.end_ns));
        is_ramp.push(row.is_ramp);
        is_extrapolated.push(row.is_extrapolated);
        ios.push(whole(row.ios));
        bytes.push(whole(row.bytes));
        errors.push(whole(row.errors));
        let time_s = (row.end_ns - row.start_ns) as f64 / 1e9;
        iops.push((time_s > 0.0).then(|| row.ios as f64 / time_s));
        bw.push((time_s > 0.0).then(|| row.bytes as f64 / time_s));
        confidence.push(row.rate_confidence_95);
        let known = row.latency.filter(|latency| latency.count > 0);
        mean.push(known.map(|latency| latency.mean_ns));
        let figures = known.map_or([None; 6], |known| {
            [known.p50_ns, known.p95_ns, known.p99_ns, known.p999_ns, known.min_ns, known.max_ns]
        });
        for (column, figure) in latencies.iter_mut().zip(figures) {
            column.push(figure.map(whole));
        }
    })?;
    let mut columns = Vec::from(of_case.columns());
    columns.extend([
        load.column("load"),
        direction.column("direction"),
        Column::new("start_ns", Values::Integers(start_ns)),
        Column::new("end_ns", Values::Integers(end_ns)),
        Column::new("is_ramp", Values::Booleans(is_ramp)),
        Column::new("is_extrapolated", Values::Booleans(is_extrapolated)),
        Column::new("ios", Values::Integers(ios)),
        Column::new("bytes", Values::Integers(bytes)),
        Column::new("errors", Values::Integers(errors)),
        iops.column("iops", Values::Floats),
        bw.column("bw_bytes_per_s", Values::Floats),
        confidence.column("rate_confidence_95", Values::Floats),
        mean.column("latency_ns.mean", Values::Floats),
    ]);
    let names = ["p50", "p95", "p99", "p99.9", "min", "max"];
    for (figures, name) in latencies.into_iter().zip(names) {
        columns.push(figures.column(&format!("latency_ns.{name}"), Values::Integers));
    }
    Ok(Frame { columns })
}

/// Every value of every counter of these cases.
pub fn counters(run: &RunReader, cases: &[u32]) -> Result<Frame, StoreError> {
    let cases = records(run, cases)?;
    let mut of_case = CaseColumns::default();
    let mut at_ns = Vec::new();
    let mut case_at_ns = Growing::default();
    let mut series: [GrowingCategories; 3] = Default::default();
    let mut value = Vec::new();
    run.for_each_counter_row(cases.keys().copied(), |row| {
        of_case.push(&cases[&row.case_index]);
        at_ns.push(whole(row.at_ns));
        case_at_ns.push(row.case_at_ns.map(whole));
        for (column, text) in series.iter_mut().zip(row.series) {
            column.push(Some(text));
        }
        value.push(row.value);
    })?;
    let mut columns = Vec::from(of_case.columns());
    columns.push(Column::new("at_ns", Values::Integers(at_ns)));
    columns.push(case_at_ns.column("case_at_ns", Values::Integers));
    for (column, name) in series.into_iter().zip(["source", "entity", "name"]) {
        columns.push(column.column(name));
    }
    columns.push(Column::new("value", Values::Floats(value)));
    Ok(Frame { columns })
}

/// The event log; events between cases have no case.
pub fn events(run: &RunReader) -> Result<Frame, StoreError> {
    let cases = run.cases()?;
    let rows = run.events()?.into_iter().map(|event| {
        let case = event.case_index.and_then(|index| cases.get(index as usize));
        json!({
            "at_ns": event.at_ns,
            "case_index": event.case_index,
            "stage": case.map(|case| &case.stage),
            "case": case.map(|case| &case.name),
            "case_at_ns": event.case_at_ns,
            "kind": event.kind,
            "text": event.text,
            "data": event.data.as_ref().map(Value::to_string),
        })
    });
    let names = ["at_ns", "case_index", "stage", "case", "case_at_ns", "kind", "text", "data"];
    Ok(Frame::of_rows_in_order(rows.collect(), &names.map(str::to_owned)))
}

/// Findings as `findings --json` has them, with dots in the names.
pub fn findings(found: &Findings) -> Frame {
    Frame::of_rows(
        found.all.iter().map(|finding| serde_json::to_value(finding).unwrap_or_default()).collect(),
    )
}

/// Claims as `claims --json` has them.
pub fn claims(found: &Findings) -> Frame {
    let claims = found.claims();
    Frame::of_rows(claims.iter().map(|claim| serde_json::to_value(claim).unwrap_or_default()).collect())
}

/// The filled bins of a histogram: the smallest latency of each, the smallest of the next, and how many I/Os.
pub fn histogram_bins(histogram: &Histogram) -> Frame {
    let (mut low, mut high, mut count) = (Vec::new(), Vec::new(), Vec::new());
    for (index, ios) in histogram.filled_bins() {
        low.push(whole(bin_low_ns(index)));
        high.push(whole(bin_low_ns(index) + bin_width_ns(index)));
        count.push(whole(ios));
    }
    Frame {
        columns: vec![
            Column::new("low_ns", Values::Integers(low)),
            Column::new("high_ns", Values::Integers(high)),
            Column::new("ios", Values::Integers(count)),
        ],
    }
}

/// The store keeps no number above 2^63 - 1.
fn whole(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

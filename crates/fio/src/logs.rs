//! fio's logs: histograms an interval, and values an interval or I/O.

use load::{Direction, FIO_BIN_COUNT, Histogram, bin_index, bin_middle_ns};

/// The longest line that is read: 1856 bins of 20 digits, with separators, need 41 KB.
const LINE_LIMIT_BYTES: usize = 64 << 10;
/// The most lines that are read: a day of seconds is 86,400.
const LINE_LIMIT: usize = 1_000_000;
/// Bins before fio 3.0: 19 groups of 64, in microseconds.
const OLD_BIN_COUNT: usize = 19 * 64;
/// `log_hist_coarseness` goes to 6.
const COARSENESS_LIMIT: u32 = 6;
/// The most I/Os that a job may have counted in a direction: 10 million a second for 30 hours. Sums over all jobs stay
/// far from overflow.
pub(crate) const IO_LIMIT: u64 = 1 << 40;

/// Errors of fio logs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct LogError {
    /// Number of the line, from 1.
    pub line: usize,
    /// Error in the log.
    pub reason: String,
}

/// A histogram log (`write_hist_log`) of one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramLog {
    /// `log_hist_coarseness`: 2^c neighbouring bins are one column.
    pub coarseness: u32,
    /// The rows, in the order of the file.
    pub rows: Vec<HistogramRow>,
}

/// Completions of one job and direction since its previous row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistogramRow {
    /// Time of the row on the log's clock, in milliseconds.
    pub time_ms: u64,
    /// The direction.
    pub direction: Direction,
    /// Block size of the I/O that made the row; the others may have had another.
    pub block_size_bytes: u64,
    /// Bins of `load::Histogram` that are not empty.
    pub bins: Vec<(usize, u64)>,
}

impl HistogramLog {
    /// The histogram that this log would have shown of what `histogram` counted: with coarseness, bins move to
    /// the one that stands for their column, so that logged rows can be taken away from a total.
    pub(crate) fn at_log_resolution(&self, histogram: &Histogram) -> Histogram {
        let mut coarse = Histogram::new();
        for (index, count) in histogram.filled_bins() {
            coarse.add_bin(representative(index >> self.coarseness, self.coarseness, FIO_BIN_COUNT), count);
        }
        coarse
    }
}

/// The bin in the middle of a column of `2^coarseness` bins.
fn representative(column: usize, coarseness: u32, bin_count: usize) -> usize {
    ((column << coarseness) + (1 << coarseness >> 1)).min(bin_count - 1)
}

/// The columns of a histogram log, by their number: fio writes nothing else that tells its era and coarseness.
#[derive(Clone, Copy)]
struct Columns {
    count: usize,
    bin_count: usize,
    coarseness: u32,
}

impl Columns {
    fn of(count: usize) -> Option<Columns> {
        [FIO_BIN_COUNT, OLD_BIN_COUNT]
            .into_iter()
            .flat_map(|bin_count| {
                (0..=COARSENESS_LIMIT).map(move |coarseness| Columns { count, bin_count, coarseness })
            })
            .find(|columns| columns.bin_count.div_ceil(1 << columns.coarseness) == count)
    }

    fn bin(self, column: usize) -> usize {
        let index = representative(column, self.coarseness, self.bin_count);
        // The old geometry is the same formula with fewer groups, on microseconds.
        if self.bin_count == OLD_BIN_COUNT { bin_index(bin_middle_ns(index) * 1000) } else { index }
    }
}

/// Reads a histogram log. Rows are deltas, also where the manual calls them cumulative (`iolog.c`).
pub fn read_histogram_log(text: &[u8]) -> Result<HistogramLog, LogError> {
    let mut columns: Option<Columns> = None;
    let mut rows = Vec::new();
    let mut counted = 0u64;
    for entry in lines(text) {
        let (line, fields) = entry.map(|(line, text)| (line, split(text)))?;
        let wrong = |reason: String| LogError { line, reason };
        if fields.len() < 4 {
            return Err(wrong(format!(
                "{} fields, but time, direction, block size and bins are needed",
                fields.len()
            )));
        }
        let bins = &fields[3..];
        let these = match columns {
            Some(columns) if columns.count == bins.len() => columns,
            Some(columns) => {
                return Err(wrong(format!(
                    "{} bins after {} on the lines before",
                    bins.len(),
                    columns.count
                )));
            }
            None => Columns::of(bins.len()).ok_or_else(|| {
                wrong(format!(
                    "{} bins are those of no fio: 1856, before fio 3.0 1216, halved by coarseness",
                    bins.len()
                ))
            })?,
        };
        columns = Some(these);
        let mut filled = Vec::new();
        for (column, field) in bins.iter().enumerate() {
            let count = number(field, line)?;
            counted = counted.saturating_add(count);
            if count > 0 {
                filled.push((these.bin(column), count));
            }
        }
        if counted > IO_LIMIT {
            return Err(wrong(format!("more than {IO_LIMIT} I/Os of one job")));
        }
        rows.push(HistogramRow {
            time_ms: number(fields[0], line)?,
            direction: direction(fields[1], line)?,
            block_size_bytes: number(fields[2], line)?,
            bins: filled,
        });
    }
    Ok(HistogramLog { coarseness: columns.map_or(0, |columns| columns.coarseness), rows })
}

/// Quantity of an interval log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LogKind {
    /// `write_bw_log`, in KiB/s.
    Bandwidth,
    /// `write_iops_log`, in I/Os a second.
    Iops,
    /// `write_lat_log` and its relatives; in nanoseconds, before fio 3.0 in microseconds.
    Latency {
        /// True for a log of fio 2 or older.
        is_microseconds: bool,
    },
}

/// A bandwidth, IOPS or latency log of one job.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct IntervalLog {
    /// The rows, in the order of the file.
    pub rows: Vec<IntervalRow>,
}

/// One row of such a log: an interval's mean, or a single I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IntervalRow {
    /// Time of the row on the log's clock, in milliseconds.
    pub time_ms: u64,
    /// The value: bytes a second, I/Os a second or nanoseconds.
    pub value: u64,
    /// The largest of the interval, with `log_window_value=both`.
    pub max: Option<u64>,
    /// The direction.
    pub direction: Direction,
    /// Block size; 0 for a mean.
    pub block_size_bytes: u64,
}

/// Reads a bandwidth, IOPS or latency log of 4 to 8 columns.
///
/// `has_max` says whether `log_window_value=both` was set, where the job's options are known. Otherwise the columns
/// decide: the direction is third without a maximum and fourth with one, so a third column that is no direction in
/// some row is a maximum in all.
pub fn read_interval_log(text: &[u8], kind: LogKind, has_max: Option<bool>) -> Result<IntervalLog, LogError> {
    let is_direction = |field: &&str| matches!(*field, "0" | "1" | "2");
    let has_max = has_max.unwrap_or_else(|| {
        lines(text)
            .map_while(Result::ok)
            .any(|(_, line)| split(line).get(2).is_some_and(|field| !is_direction(field)))
    });
    let unit = match kind {
        LogKind::Bandwidth => 1024,
        LogKind::Iops | LogKind::Latency { is_microseconds: false } => 1,
        LogKind::Latency { is_microseconds: true } => 1000,
    };
    let mut rows = Vec::new();
    for entry in lines(text) {
        let (line, fields) = entry.map(|(line, text)| (line, split(text)))?;
        // Before 3.22 there was no priority; an offset and an issue time may follow.
        let least = 4 + usize::from(has_max);
        if fields.len() < least || fields.len() > 8 {
            return Err(LogError {
                line,
                reason: format!("{} columns, but {least} to 8 are expected", fields.len()),
            });
        }
        let value = |field| Ok(number(field, line)?.saturating_mul(unit));
        let rest = &fields[2 + usize::from(has_max)..];
        rows.push(IntervalRow {
            time_ms: number(fields[0], line)?,
            value: value(fields[1])?,
            max: if has_max { Some(value(fields[2])?) } else { None },
            direction: direction(rest[0], line)?,
            block_size_bytes: number(rest[1], line)?,
        });
    }
    Ok(IntervalLog { rows })
}

/// The lines that are not empty, numbered from 1. Fields are split one line at a time: a histogram row has 1859.
fn lines(text: &[u8]) -> impl Iterator<Item = Result<(usize, &str), LogError>> {
    text.split(|&byte| byte == b'\n').enumerate().filter_map(|(index, line)| {
        let wrong = |reason: &str| Some(Err(LogError { line: index + 1, reason: reason.to_owned() }));
        if index >= LINE_LIMIT {
            // The iterator goes on, but its readers stop at the first error.
            return wrong("too many lines (a million are read)");
        }
        if line.len() > LINE_LIMIT_BYTES {
            return wrong("too long (64 KiB are read)");
        }
        match std::str::from_utf8(line) {
            Ok(line) if line.trim().is_empty() => None,
            Ok(line) => Some(Ok((index + 1, line.trim()))),
            Err(_) => wrong("no text; a compressed log needs `fio --inflate-log`"),
        }
    })
}

fn split(line: &str) -> Vec<&str> {
    line.split(',').map(str::trim).collect()
}

fn number(field: &str, line: usize) -> Result<u64, LogError> {
    field.parse().map_err(|_| LogError { line, reason: format!("{field:?} is no number") })
}

fn direction(field: &str, line: usize) -> Result<Direction, LogError> {
    match field {
        "0" => Ok(Direction::Read),
        "1" => Ok(Direction::Write),
        "2" => Ok(Direction::Trim),
        _ => Err(LogError { line, reason: format!("direction {field:?}, but 0, 1 or 2 is expected") }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn histogram_line(time_ms: u64, columns: usize, filled: &[(usize, u64)]) -> String {
        let mut bins = vec![0; columns];
        filled.iter().for_each(|&(column, count)| bins[column] = count);
        let bins: Vec<String> = bins.iter().map(u64::to_string).collect();
        format!("{time_ms}, 0, 4096, {}\n", bins.join(", "))
    }

    /// Proves that every coarseness of both eras is told by the number of columns and put in the right bins.
    #[test]
    fn columns_tell_era_and_coarseness() {
        for coarseness in 0..=6 {
            let columns = FIO_BIN_COUNT.div_ceil(1 << coarseness);
            let column = bin_index(250_000) >> coarseness;
            let log = read_histogram_log(histogram_line(1000, columns, &[(column, 5)]).as_bytes()).unwrap();
            assert_eq!(log.coarseness, coarseness);
            let [(bin, 5)] = log.rows[0].bins[..] else { panic!("{:?}", log.rows) };
            assert_eq!(bin >> coarseness, column);
            // The old era: the same formula on microseconds, so 250 µs is in the bin of the number 250.
            let columns = OLD_BIN_COUNT.div_ceil(1 << coarseness);
            let column = bin_index(250) >> coarseness;
            let log = read_histogram_log(histogram_line(1000, columns, &[(column, 7)]).as_bytes()).unwrap();
            let middle_us = bin_middle_ns(representative(column, coarseness, OLD_BIN_COUNT));
            assert_eq!(log.rows[0].bins, [(bin_index(middle_us * 1000), 7)]);
        }
        assert_eq!(bin_middle_ns(bin_index(250_000)), 250_880);
    }

    /// Proves that a coarse log's rows can be taken away from a fine total without a trace.
    #[test]
    fn totals_take_the_resolution_of_the_log() {
        let mut total = Histogram::new();
        [100, 101, 90_000, 91_000, 5_000_000].into_iter().for_each(|latency_ns| total.record(latency_ns));
        for coarseness in 0..=6 {
            let mut columns = vec![0; FIO_BIN_COUNT.div_ceil(1 << coarseness)];
            total.filled_bins().for_each(|(index, count)| columns[index >> coarseness] += count);
            let filled: Vec<_> =
                columns.iter().copied().enumerate().filter(|&(_, count)| count > 0).collect();
            let log = read_histogram_log(histogram_line(1, columns.len(), &filled).as_bytes()).unwrap();
            let mut logged = Histogram::new();
            log.rows[0].bins.iter().for_each(|&(index, count)| logged.add_bin(index, count));
            let rest = log.at_log_resolution(&total).minus(&logged);
            assert_eq!((rest.count(), logged.count()), (0, 5), "coarseness {coarseness}");
        }
    }

    /// Proves that 4 to 8 columns are read, with and without a maximum, told by the options or by themselves.
    #[test]
    fn interval_columns_are_told_apart() {
        let row =
            |text: &str, kind, has_max| read_interval_log(text.as_bytes(), kind, has_max).unwrap().rows[0];
        let latency = LogKind::Latency { is_microseconds: false };
        let plain = row("1000, 453, 1, 4096, 0\n", latency, None);
        assert_eq!(
            (plain.value, plain.max, plain.direction, plain.block_size_bytes),
            (453, None, Direction::Write, 4096)
        );
        // Measured with fio 3.42 and `log_window_value=both`: time, mean, max, direction, block size, priority.
        let both = row("1000, 453, 8084588, 1, 0, 0\n", latency, None);
        assert_eq!((both.value, both.max, both.direction), (453, Some(8_084_588), Direction::Write));
        // A maximum that looks like a direction needs the options.
        assert_eq!(row("1000, 0, 2, 1, 0, 0\n", latency, Some(true)).max, Some(2));
        assert_eq!(row("1, 7, 0, 4096\n", LogKind::Latency { is_microseconds: true }, None).value, 7000);
        assert_eq!(row("1, 7, 0, 4096, 8192, 0, 99\n", LogKind::Bandwidth, None).value, 7168);
        assert_eq!(row("1, 7, 9, 0, 4096, 8192, 0, 99\n", LogKind::Iops, None).max, Some(9));
        for wrong in ["1, 2\n", "1, 2, 3\n", "a, 2, 0, 4\n", "1, 2, 0, 4, 5, 6, 7, 8, 9\n", "1, -2, 0, 4\n"] {
            assert!(read_interval_log(wrong.as_bytes(), LogKind::Iops, None).is_err(), "{wrong:?}");
        }
    }

    /// Proves that an error names its line and what is wrong.
    #[test]
    fn errors_name_the_line() {
        let good = histogram_line(1, 29, &[]);
        let error = read_histogram_log(format!("{good}2, 0, 4096, 1, 2\n").as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "line 2: 2 bins after 29 on the lines before");
        let error = read_histogram_log(b"1, 5, 4096, 1\n").unwrap_err();
        assert!(error.to_string().starts_with("line 1: 1 bins are those of no fio"), "{error}");
        let error = read_histogram_log(good.replace(", 0, 4096", ", 3, 4096").as_bytes()).unwrap_err();
        assert_eq!(error.to_string(), "line 1: direction \"3\", but 0, 1 or 2 is expected");
        assert!(read_histogram_log(b"\xff\xfe").unwrap_err().reason.contains("inflate-log"));
    }
}

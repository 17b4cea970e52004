//! Rows of the library against the published files that they cite.

use library::{Choice, Row, entries};
use std::collections::BTreeSet;

/// The cited line of a published file.
fn cited(from: &str) -> String {
    let (file, line) = from.rsplit_once(':').expect(from);
    let path = format!("{}/../../published/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).expect(&path);
    let line: usize = line.parse().expect(from);
    text.lines().nth(line - 1).expect(from).to_owned()
}

/// Numbers in a line, with letters of units left aside.
fn numbers(line: &str) -> Vec<f64> {
    line.split(|c: char| !(c.is_ascii_digit() || c == '.'))
        .filter_map(|word| word.trim_matches('.').parse().ok())
        .collect()
}

fn stands_in(value: f64, units: &[f64], line: &str) -> bool {
    let close = |a: f64, b: f64| (a - b).abs() <= 1e-9 * b.abs().max(1.0);
    numbers(line).iter().any(|number| units.iter().any(|unit| close(number * unit, value)))
}

fn figures(row: &Row) -> Vec<(f64, &'static [f64])> {
    const RATE: &[f64] = &[1.0];
    const LATENCY: &[f64] = &[1e6, 1e3];
    const BANDWIDTH: &[f64] = &[1e6, 1_048_576.0];
    let latencies = [row.latency_ns, row.read_latency_ns, row.write_latency_ns];
    let mut figures: Vec<(f64, &'static [f64])> = Vec::new();
    figures.extend(row.iops.map(|value| (value, RATE)));
    figures.extend(row.bw_bytes_per_s.map(|value| (value, BANDWIDTH)));
    figures.extend(latencies.into_iter().flatten().map(|value| (value, LATENCY)));
    figures
}

/// Proves that every figure and every setting of every row stands in the published line that the row cites, so that none is
/// from memory, and that no figure is zero.
#[test]
fn every_figure_stands_in_its_line() {
    let mut rows = 0;
    for entry in entries().expect("entries") {
        for row in &entry.rows {
            let line = cited(&row.from);
            let figures = figures(row);
            assert!(!figures.is_empty(), "{}: {}", entry.id, row.from);
            for (value, units) in figures {
                assert!(value > 0.0 && stands_in(value, units, &line), "{}: {value} in {line}", entry.id);
            }
            let sizes = match &row.bs {
                Some(Choice::One(one)) => vec![*one],
                Some(Choice::AnyOf(all)) => all.clone(),
                _ => Vec::new(),
            };
            for size in sizes {
                let units = [1.0, 1024.0, 1_048_576.0];
                assert!(stands_in(size as f64, &units, &line), "{}: bs {size} in {line}", entry.id);
            }
            for depth in [row.numjobs, row.iodepth.as_ref().and_then(Choice::one)].into_iter().flatten() {
                // At depth 1 the engine is synchronous, or the table is one of latencies at depth 1.
                assert!(
                    depth == 1 || stands_in(depth as f64, &[1.0], &line),
                    "{}: {depth} in {line}",
                    entry.id
                );
            }
            rows += 1;
        }
    }
    assert!(rows > 100, "{rows}");
}

/// Every number that a text may mean: with either sign of decimals and of thousands, in thousands and millions.
fn readings(text: &str) -> Vec<f64> {
    let mut found = Vec::new();
    for word in text.split(|c: char| !(c.is_ascii_digit() || matches!(c, '.' | ',' | '\u{a0}' | ' '))) {
        let tokens = word.split(' ').chain([word.trim()]);
        for token in tokens.map(|token| token.replace([' ', '\u{a0}'], "")) {
            let forms = [
                token.replace(',', ""),
                token.replace('.', "").replace(',', "."),
                token.replace(['.', ','], ""),
            ];
            let values = forms.iter().filter_map(|form| form.trim_matches('.').parse::<f64>().ok());
            found.extend(values.flat_map(|value| [value, value * 1e3, value * 1e6]));
        }
    }
    found
}

/// Proves that each figure with an address has words of that page with the figure, both as its published line has them, and that
/// all declared figures and all of data services have.
#[test]
fn figures_of_pages_quote_them() {
    let (mut declared, mut measured) = (0, 0);
    for entry in entries().expect("entries") {
        for row in &entry.rows {
            let is_declared = row.figure == library::FigureKind::Declared;
            let is_quoted = is_declared || row.from.starts_with("library/data-services.csv:");
            assert_eq!((row.address.is_some(), row.quote.is_some()), (is_quoted, is_quoted), "{}", row.from);
            let (Some(address), Some(quote)) = (&row.address, &row.quote) else { continue };
            let line = cited(&row.from);
            assert!(address.starts_with("https://") && line.contains(address), "{}: {address}", row.from);
            assert!(line.contains(quote), "{}: {quote}", row.from);
            // Bandwidths are quoted in MB/s or GB/s, latencies in microseconds.
            let figures = [
                row.iops,
                row.bw_bytes_per_s.map(|value| value / 1e6),
                row.latency_ns.map(|value| value / 1e3),
            ];
            let readings = readings(quote);
            for value in figures.into_iter().flatten() {
                let is_quoted = readings.iter().any(|one| (one - value).abs() <= 1e-9 * value);
                assert!(is_quoted, "{}: {value} is not in {quote}", row.from);
            }
            *(if is_declared { &mut declared } else { &mut measured }) += 1;
        }
    }
    assert!(declared > 40 && measured == 7, "{declared} {measured}");
}

/// Proves that every line of the published tables with a rate, a latency or a bandwidth is in the library, so that no
/// unwelcome figure is left out.
#[test]
fn no_published_line_is_left_out() {
    let cited: BTreeSet<String> = entries()
        .expect("entries")
        .iter()
        .flat_map(|entry| entry.rows.iter().map(|row| row.from.clone()).collect::<Vec<_>>())
        .collect();
    // Lines about saturation, the absence of a write cliff and its place have no rate; notes of their entries repeat them.
    let is_without_rate =
        |line: &str| line.contains("saturation") || line.contains("no cliff") || line.contains("yes; point");
    let root = format!("{}/../../published", env!("CARGO_MANIFEST_DIR"));
    let mut left_out = Vec::new();
    for folder in std::fs::read_dir(&root).expect(&root).map(|entry| entry.expect("an entry").path()) {
        for file in std::fs::read_dir(&folder).into_iter().flatten().map(|file| file.expect("a file").path())
        {
            if file.extension().is_none_or(|extension| extension != "csv") {
                continue;
            }
            let name = file.strip_prefix(&root).expect("inside").display().to_string();
            let text = std::fs::read_to_string(&file).expect("readable");
            let lines = text.lines().enumerate().skip(1).filter(|(_, line)| !line.is_empty());
            left_out.extend(
                lines
                    .filter(|(index, _)| !cited.contains(&format!("{name}:{}", index + 1)))
                    .filter(|(_, line)| !is_without_rate(line))
                    .map(|(index, line)| format!("{name}:{}: {line}", index + 1)),
            );
        }
    }
    assert!(left_out.is_empty(), "{left_out:#?}");
}

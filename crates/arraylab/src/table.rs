//! Plain tables for terminals.

/// Alignment of a column's cells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// Lines of a table with a heading; columns are as wide as their widest cell, two blanks apart.
pub fn render(columns: &[(&str, Align)], rows: &[Vec<String>]) -> String {
    let width = |text: &str| text.chars().count();
    let widths: Vec<usize> = columns
        .iter()
        .enumerate()
        .map(|(index, (title, _))| {
            rows.iter().map(|row| width(&row[index])).chain([width(title)]).max().unwrap_or(0)
        })
        .collect();
    let heading: Vec<String> = columns.iter().map(|(title, _)| (*title).to_owned()).collect();
    let mut text = String::new();
    for row in std::iter::once(&heading).chain(rows) {
        let mut line = String::new();
        for (index, cell) in row.iter().enumerate() {
            let padding = " ".repeat(widths[index] - width(cell));
            let gap = if index == 0 { "" } else { "  " };
            match columns[index].1 {
                Align::Left => line.extend([gap, cell, &padding]),
                Align::Right => line.extend([gap, &padding, cell]),
            }
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that columns line up by characters, not bytes, and that lines have no blanks at their end.
    #[test]
    fn columns_line_up() {
        let rows = vec![vec!["bs=4096".into(), "1,234".into()], vec!["µs".into(), "5".into()]];
        let text = render(&[("case", Align::Left), ("IOPS", Align::Right)], &rows);
        assert_eq!(text, "case      IOPS\nbs=4096  1,234\nµs           5\n");
    }
}

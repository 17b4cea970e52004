//! File type detection by content.

/// The kinds of files that are imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// A fio job file.
    FioJobs,
    /// fio's output as JSON or JSON+.
    FioJson,
    /// A vdbench parameter file.
    VdbenchParameters,
    /// vdbench's `flatfile.html`.
    VdbenchFlatfile,
    /// vdbench's `totals.html` or `summary.html`.
    VdbenchTotals,
}

/// Detects the kind of a file by the first line that only one kind has.
pub(crate) fn kind_of(text: &str) -> Option<FileKind> {
    let mut may_be_parameters = false;
    for raw in text.lines() {
        let line = raw.trim();
        if raw.trim_end() == "{" {
            return Some(FileKind::FioJson);
        }
        if line.starts_with('[') && line.contains(']') && !may_be_parameters {
            return Some(FileKind::FioJobs);
        }
        if is_flatfile_header(line) {
            return Some(FileKind::VdbenchFlatfile);
        }
        if line.contains("Starting RD=") {
            return Some(FileKind::VdbenchTotals);
        }
        let Some((keyword, _)) = line.split_once('=') else { continue };
        match keyword.to_ascii_lowercase().as_str() {
            "sd" | "wd" | "rd" | "hd" | "rg" | "fsd" | "fwd" => return Some(FileKind::VdbenchParameters),
            // General parameters, which stand first in a parameter file; a fio option before any section is none.
            _ if !line.starts_with(['#', ';', '*', '/', '<']) => may_be_parameters = true,
            _ => {}
        }
    }
    None
}

/// The line of flatfile.html that names its columns.
pub(crate) fn is_flatfile_header(line: &str) -> bool {
    let names: Vec<&str> = line.split_whitespace().collect();
    !line.starts_with('*') && ["Run", "Interval", "rate", "resp"].iter().all(|name| names.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that each kind is told by its content, also behind other text.
    #[test]
    fn content_decides() {
        for (text, kind) in [
            ("; a comment with [brackets]\n\n[global]\nbs=4k\n", Some(FileKind::FioJobs)),
            (
                "fio: a note\nnote: both iodepth >= 1\n{\n  \"fio version\" : \"fio-3.33\"\n}\n",
                Some(FileKind::FioJson),
            ),
            ("* comment\ncompratio=2\nsd=default,threads=2\n", Some(FileKind::VdbenchParameters)),
            ("SD=sd1,lun=/dev/sdb\n", Some(FileKind::VdbenchParameters)),
            (
                "<title>x</title><pre>\n* Run: name\n tod Run Interval reqrate rate MB/sec resp\n",
                Some(FileKind::VdbenchFlatfile),
            ),
            (
                "10:00:00.000 Starting RD=rd1; I/O rate: 100; elapsed=5; For loops: None\n",
                Some(FileKind::VdbenchTotals),
            ),
            ("", None),
            ("hello\nworld = 4\n", None),
        ] {
            assert_eq!(kind_of(text), kind, "{text}");
        }
    }
}

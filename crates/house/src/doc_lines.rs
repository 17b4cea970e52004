//! First lines of the doc comments of items.

use crate::rust_text::{PieceKind, pieces};

/// Derives whose types print their doc comments to users: help of the command line, and JSON schemas. Snapshots hold these texts.
const PRINTING_DERIVES: [&str; 5] = ["Parser", "Args", "Subcommand", "ValueEnum", "JsonSchema"];

/// First line of an item's doc comment (`///`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FirstDocLine<'a> {
    /// Number of the line, from 1.
    pub line: usize,
    /// Text behind the slashes.
    pub text: &'a str,
    /// True if the item is, or is part of, a type that prints its doc comments to users.
    pub is_printed: bool,
}

/// Lists the first lines of the doc comments in a source file that is formatted by rustfmt.
pub fn first_doc_lines(source: &str) -> Vec<FirstDocLine<'_>> {
    let printed = printed_ranges(source);
    let mut continuation = None;
    let mut found = Vec::new();
    for piece in pieces(source).into_iter().filter(|piece| piece.kind == PieceKind::Comment) {
        let Some(text) = piece.text.strip_prefix("///").filter(|text| !text.starts_with('/')) else {
            continue;
        };
        if continuation != Some(piece.line) {
            let is_printed = printed.iter().any(|(first, last)| (*first..=*last).contains(&piece.line));
            found.push(FirstDocLine { line: piece.line, text: text.trim(), is_printed });
        }
        continuation = Some(piece.line + 1);
    }
    found
}

/// Ranges of lines, from 1, of the types with a printing derive: from the doc comment to the closing brace.
fn printed_ranges(source: &str) -> Vec<(usize, usize)> {
    let lines: Vec<&str> = source.lines().collect();
    let derives = lines.iter().enumerate().filter(|(_, line)| line.trim_start().starts_with("#["));
    let printing = derives.filter(|(index, _)| is_printing(&attribute(&lines[*index..])));
    printing
        .map(|(index, line)| (1 + first_line(&lines, index), 1 + last_line(&lines, index, line)))
        .collect()
}

/// Text of the attribute that begins on the first line.
fn attribute(lines: &[&str]) -> String {
    let mut text = String::new();
    for line in lines {
        text.push_str(line.trim());
        if text.matches('[').count() == text.matches(']').count() {
            break;
        }
    }
    text
}

fn is_printing(attribute: &str) -> bool {
    let names = attribute.split_once("derive(").map_or("", |(_, names)| names);
    names.split(|letter: char| !letter.is_alphanumeric()).any(|name| PRINTING_DERIVES.contains(&name))
}

/// Index of the first line of the comments and attributes above `index`.
fn first_line(lines: &[&str], index: usize) -> usize {
    let is_above = |line: &&&str| line.trim_start().starts_with("///") || line.trim_start().starts_with("#[");
    index - lines[..index].iter().rev().take_while(is_above).count()
}

/// Index of the line that closes the item with an attribute on line `index`: the first `}` at its indentation, or the end of
/// an item without a body.
fn last_line(lines: &[&str], index: usize, line: &str) -> usize {
    let indentation = &line[..line.len() - line.trim_start().len()];
    let is_end = |line: &str| {
        let own = line.strip_prefix(indentation).filter(|rest| !rest.starts_with(' '));
        own.is_some_and(|rest| rest.starts_with('}') || rest.ends_with(';') || rest.ends_with("{}"))
    };
    let length = lines[index..].iter().position(|line| is_end(line));
    length.map_or(lines.len() - 1, |length| index + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that first lines are told from later ones, from ordinary comments and from strings, and that those of types
    /// which print their comments are marked to their closing brace.
    #[test]
    fn first_lines_are_found() {
        let source = "//! Module.\n\n/// Size.\n/// Two lines.\nconst A: &str = \"\n/// text\";\n// aside\n\n/// Options.\n\
                      #[derive(\n    Debug,\n    Args,\n)]\npub struct Options {\n    /// Where.\n    pub at: u8,\n}\n\n\
                      /// What.\n#[derive(Debug)]\npub enum Plain {\n    /// Which.\n    One,\n}\n\n\
                      /// Pair.\n#[derive(JsonSchema)]\nstruct Pair(u8, u8);\n\n/// How.\nfn how() {}\n";
        let found: Vec<_> =
            first_doc_lines(source).iter().map(|line| (line.line, line.text, line.is_printed)).collect();
        assert_eq!(
            found,
            [
                (3, "Size.", false),
                (9, "Options.", true),
                (15, "Where.", true),
                (19, "What.", false),
                (22, "Which.", false),
                (26, "Pair.", true),
                (30, "How.", false),
            ]
        );
    }
}

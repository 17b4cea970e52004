//! Named source text and positions in it.

use std::fmt;

/// Characters of an offending line that are printed; longer lines are cut around the caret.
const EXCERPT_CHARS: usize = 100;

/// A text as it was read, with the name that errors show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceText {
    pub name: String,
    pub text: String,
}

/// A place in a text: line and column from 1, and how many characters stand there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    pub line: usize,
    pub column: usize,
    pub width: usize,
}

/// A line of a text with a caret under the offending part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Excerpt {
    pub source_name: String,
    pub line: usize,
    pub column: usize,
    shown: String,
    caret_at: usize,
    caret_width: usize,
}

impl SourceText {
    pub fn new(name: &str, text: &str) -> Self {
        SourceText { name: name.to_owned(), text: text.to_owned() }
    }

    /// The line at `place`, ready to print. Control characters, tabs among them, are shown as one visible
    /// character each, so that the caret stays under its column and a terminal is not driven by a plan.
    pub fn excerpt(&self, place: Place) -> Excerpt {
        let line_text = self.text.split('\n').nth(place.line.saturating_sub(1)).unwrap_or("");
        let characters: Vec<char> = line_text.trim_end_matches('\r').chars().collect();
        let column_index = place.column.saturating_sub(1).min(characters.len());
        let from = if column_index > EXCERPT_CHARS * 3 / 4 { column_index - EXCERPT_CHARS / 2 } else { 0 };
        let to = characters.len().min(from + EXCERPT_CHARS);
        let mut shown = String::new();
        if from > 0 {
            shown.push('…');
        }
        shown.extend(characters[from..to].iter().map(|&c| visible(c)));
        if to < characters.len() {
            shown.push('…');
        }
        let room = to.saturating_sub(column_index).max(1);
        Excerpt {
            source_name: self.name.clone(),
            line: place.line,
            column: place.column,
            shown,
            caret_at: column_index - from + usize::from(from > 0),
            caret_width: place.width.clamp(1, room),
        }
    }
}

fn visible(c: char) -> char {
    match c {
        '\t' => '→',
        c if c.is_control() => '\u{fffd}',
        c => c,
    }
}

impl fmt::Display for Excerpt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {}", self.shown)?;
        write!(f, "{margin} | {}{}", " ".repeat(self.caret_at), "^".repeat(self.caret_width))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that the caret stands under its column in short, long, empty and control-ridden lines.
    #[test]
    fn the_caret_stands_under_its_column() {
        let long = format!("{}X{}", "a".repeat(300), "b".repeat(300));
        for (text, column, under) in [
            ("abc: 0", 6, Some('0')),
            ("\t\u{1b}[31mX", 7, Some('X')),
            (long.as_str(), 301, Some('X')),
            ("", 9, None),
        ] {
            let excerpt = SourceText::new("t", text).excerpt(Place { line: 1, column, width: 1 });
            assert_eq!(excerpt.shown.chars().nth(excerpt.caret_at), under, "{text}");
            assert!(!excerpt.to_string().chars().any(|c| c.is_control() && c != '\n'));
            assert!(excerpt.shown.chars().count() <= EXCERPT_CHARS + 2);
        }
    }
}

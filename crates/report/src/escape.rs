//! Escaping of untrusted text for HTML, SVG and Markdown.

use std::fmt::{self, Display, Write as _};

/// Text for an HTML or SVG element or a quoted attribute.
pub fn html(text: &str) -> Html<'_> {
    Html(text)
}

/// Prints its text with everything that HTML would read as markup replaced.
pub struct Html<'a>(&'a str);

impl Display for Html<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            match character {
                '&' => f.write_str("&amp;")?,
                '<' => f.write_str("&lt;")?,
                '>' => f.write_str("&gt;")?,
                '"' => f.write_str("&quot;")?,
                '\'' => f.write_str("&#39;")?,
                // Not allowed in HTML at all, and a way to hide text from a reader.
                c if c.is_control() && c != '\n' && c != '\t' => f.write_char('\u{fffd}')?,
                // Marks that turn the direction of what follows could make one text read as another.
                '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => f.write_char('\u{fffd}')?,
                c => f.write_char(c)?,
            }
        }
        Ok(())
    }
}

/// A sentence for an HTML element: what stands between two backticks is code.
pub fn prose(text: &str) -> Prose<'_> {
    Prose(text)
}

/// Prints its text as [`Html`] does, with `code` elements in place of pairs of backticks.
pub struct Prose<'a>(&'a str);

impl Display for Prose<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some((before, code, after)) = first_code(rest) {
            write!(f, "{}<code>{}</code>", html(before), html(code))?;
            rest = after;
        }
        write!(f, "{}", html(rest))
    }
}

/// Text before, between and after the first two backticks.
fn first_code(text: &str) -> Option<(&str, &str, &str)> {
    let (before, rest) = text.split_once('`')?;
    let (code, after) = rest.split_once('`')?;
    Some((before, code, after))
}

/// Text for a Markdown paragraph or table cell, on one line.
pub fn markdown(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' | '~' => {
                out.push('\\');
                out.push(character);
            }
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\n' | '\r' | '\t' => out.push(' '),
            c if c.is_control() => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Proves that no text can open an element, end an attribute or start an entity of its own.
        #[test]
        fn no_text_breaks_out_of_html(text in "\\PC*") {
            let escaped = html(&text).to_string();
            prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
            let unescaped = escaped
                .replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&#39;", "'")
                .replace("&amp;", "&");
            if !text.contains(['\u{202a}', '\u{202b}', '\u{202c}', '\u{202d}', '\u{202e}', '\u{2066}', '\u{2067}', '\u{2068}', '\u{2069}']) {
                prop_assert_eq!(unescaped, text);
            }
        }

        /// Proves that a sentence has no elements but code, which is closed, that its words are those of the text, and that a lone backtick
        /// stays.
        #[test]
        fn no_sentence_breaks_out_of_html(text in "[a-z`<>&\"']*") {
            let written = prose(&text).to_string();
            let pieces: Vec<&str> = written.split("<code>").collect();
            prop_assert!(pieces[1..].iter().all(|piece| piece.matches("</code>").count() == 1));
            let closed = written.replace("<code>", "`").replace("</code>", "`");
            prop_assert_eq!(closed, html(&text).to_string());
            prop_assert_eq!(pieces.len() - 1, text.matches('`').count() / 2);
        }

        /// Proves that no text ends a Markdown table cell or opens an HTML element.
        #[test]
        fn no_text_breaks_out_of_a_cell(text in ".*") {
            let escaped = markdown(&text);
            prop_assert!(!escaped.contains(['<', '>', '\n', '\r']));
            prop_assert!(!escaped.replace("\\\\", "").replace("\\|", "").contains('|'));
        }
    }
}

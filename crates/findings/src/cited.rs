//! Text whose every number names its source, so that a program outside can recompute it.
//!
//! A sentence is made with [`cited!`](crate::cited!): its literal may hold no digit (a literal with one does not compile), and what
//! is put into it is a [`Quantity`] printed by one of its methods, a setting or a text repeated from the run, each
//! with its [`Source`]. `docs/report-json.md` describes the sources and their arithmetic.

mod quantity;
mod source;

pub use quantity::Quantity;
pub use source::Source;

use serde::{Serialize, Serializer};
use std::fmt;

/// Unit of a number's value; the text beside it may be printed in another (`µs` of `ns`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// Operations a second.
    Iops,
    /// Bytes a second.
    BytesPerS,
    /// Nanoseconds.
    Ns,
    /// Seconds.
    S,
    /// Bytes.
    Bytes,
    /// Share of one: 0.06 is 6 %.
    Ratio,
    /// Number of things.
    Count,
    /// Value of a setting, in the unit of the setting.
    Setting,
    /// A name or a text repeated word for word; it has no value.
    Name,
}

/// A number within a text.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Number {
    /// The characters of the text that print it, with the unit.
    pub text: String,
    /// Its value before rounding, in `unit`; null for a name.
    pub value: Option<f64>,
    /// Unit of the value.
    pub unit: Unit,
    /// Origin of the value, an expression over sources.
    pub from: Source,
    /// Place of `text`, in characters from the beginning of the whole text.
    pub at: usize,
}

/// A text with the sources of its numbers.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Cited {
    text: String,
    numbers: Vec<Number>,
}

/// True where a literal holds no digit.
pub const fn has_no_digit(text: &str) -> bool {
    let bytes = text.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        if bytes[index].is_ascii_digit() {
            return false;
        }
        index += 1;
    }
    true
}

/// Counts the `{}` of a literal.
pub const fn placeholders(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut index, mut found) = (0, 0);
    while index + 1 < bytes.len() {
        if bytes[index] == b'{' && bytes[index + 1] == b'}' {
            found += 1;
        }
        index += 1;
    }
    found
}

/// A [`Cited`] text from a literal without digits and a part for each `{}` in it.
#[macro_export]
macro_rules! cited {
    ($literal:literal $(, $part:expr)* $(,)?) => {{
        const _: () = assert!(
            $crate::has_no_digit($literal),
            "a number in a sentence needs its source: make it a part"
        );
        const PARTS: &[&str] = &[$(stringify!($part)),*];
        const _: () = assert!($crate::placeholders($literal) == PARTS.len(), "one part for each place");
        $crate::Cited::of_parts($literal, [$($crate::Cited::from($part)),*])
    }};
}

impl Cited {
    /// A literal with its parts in the places of `{}`; use [`cited!`](crate::cited!), which checks the literal.
    #[doc(hidden)]
    pub fn of_parts<const PARTS: usize>(literal: &'static str, parts: [Cited; PARTS]) -> Cited {
        let mut whole = Cited::default();
        let mut parts = parts.into_iter();
        for (place, words) in literal.split("{}").enumerate() {
            if place > 0 {
                whole.push(parts.next().unwrap_or_default());
            }
            whole.text.push_str(words);
        }
        whole
    }

    /// A number as it is printed.
    pub fn number(text: impl Into<String>, value: Option<f64>, unit: Unit, from: Source) -> Cited {
        let text = text.into();
        Cited { numbers: vec![Number { text: text.clone(), value, unit, from, at: 0 }], text }
    }

    /// A text repeated word for word from a place of the run, with whatever digits it has.
    pub fn quote(text: impl Into<String>, from: Source) -> Cited {
        let text = text.into();
        if has_no_digit(&text) {
            return Cited { text, numbers: Vec::new() };
        }
        Cited::number(text, None, Unit::Name, from)
    }

    /// Words chosen by the program. A digit among them has no source: it is found by whoever checks the report.
    pub fn words(text: impl Into<String>) -> Cited {
        Cited { text: text.into(), numbers: Vec::new() }
    }

    /// The text.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its numbers, in order.
    pub fn numbers(&self) -> &[Number] {
        &self.numbers
    }

    /// True where there is no text.
    pub fn is_empty(&self) -> bool {
        self.text.is_empty()
    }

    /// Puts a text behind it.
    pub fn push(&mut self, more: impl Into<Cited>) {
        let more = more.into();
        let before = self.text.chars().count();
        self.text.push_str(&more.text);
        self.numbers
            .extend(more.numbers.into_iter().map(|number| Number { at: number.at + before, ..number }));
    }

    /// Texts with words between them.
    pub fn join(parts: impl IntoIterator<Item = Cited>, between: &'static str) -> Cited {
        let mut whole = Cited::default();
        for (place, part) in parts.into_iter().enumerate() {
            if place > 0 {
                whole.push(between);
            }
            whole.push(part);
        }
        whole
    }

    /// The text with its first letter as a sentence has it.
    pub fn capitalised(mut self) -> Cited {
        let mut letters = self.text.chars();
        let Some(first) = letters.next() else { return self };
        let upper: String = first.to_uppercase().collect();
        // Every place would move where a letter becomes two.
        if first.is_ascii_digit() || upper.chars().count() != 1 {
            return self;
        }
        self.text = upper + letters.as_str();
        if let Some(number) = self.numbers.first_mut().filter(|number| number.at == 0) {
            number.text = self.text.chars().take(number.text.chars().count()).collect();
        }
        self
    }

    /// Serialises the text alone, for fields that scripts read as words.
    pub fn as_text<S: Serializer>(cited: &Cited, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&cited.text)
    }
}

impl fmt::Display for Cited {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl From<&'static str> for Cited {
    fn from(words: &'static str) -> Cited {
        Cited::words(words)
    }
}

impl From<String> for Cited {
    fn from(words: String) -> Cited {
        Cited::words(words)
    }
}

impl std::ops::Deref for Cited {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl PartialEq<&str> for Cited {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

impl PartialEq<str> for Cited {
    fn eq(&self, other: &str) -> bool {
        self.text == other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a number keeps its source and its place when texts are put together, beside letters of several bytes.
    #[test]
    fn numbers_keep_their_places() {
        let latency =
            Quantity::new(106_400.0, Unit::Ns, Source::finding("level/peak/qd=4", "mean_latency_ns"));
        let rate = Quantity::new(1_195_472.4, Unit::Iops, Source::finding("level/peak/qd=4", "iops"));
        let mut sentence =
            cited!("– at most {} were reached, at {} mean latency", rate.iops(), latency.latency());
        sentence.push(cited!(" (half: {}).", Quantity::constant("half", 0.5).percent()));
        assert_eq!(
            sentence.text(),
            "– at most 1,195,472 IOPS were reached, at 106 µs mean latency (half: 50 %)."
        );
        let letters: Vec<char> = sentence.text().chars().collect();
        for number in sentence.numbers() {
            let there: String = letters[number.at..].iter().take(number.text.chars().count()).collect();
            assert_eq!(there, number.text);
        }
        assert_eq!(sentence.numbers()[1].from.as_str(), "finding:level/peak/qd=4/mean_latency_ns");
        assert_eq!(sentence.numbers()[1].value, Some(106_400.0));
        assert_eq!(sentence.numbers()[2].from.as_str(), "constant:half");
    }

    /// Proves that arithmetic carries the sources of what it was made from.
    #[test]
    fn arithmetic_names_its_terms() {
        let part = |value, field| Quantity::new(value, Unit::Iops, Source::finding("f/(a;b)", field));
        let ratio = part(30.0, "x").over(&part(120.0, "y"));
        assert_eq!(ratio.value(), 0.25);
        assert_eq!(
            ratio.source().as_str(),
            "ratio(finding:f/%28a%3Bb%29/x;finding:f/%28a%3Bb%29/y)",
            "what would end an argument is written otherwise"
        );
        let depth = Quantity::new(25.0, Unit::Ratio, Source::finding("a", "depth_percent")).of_percent();
        assert_eq!((depth.clone().percent().text(), depth.value()), ("25 %", 0.25));
        assert_eq!(depth.source().as_str(), "percent(finding:a/depth_percent)");
    }

    /// Proves that few I/Os in the mean are not printed as one, and that whole numbers have no decimals.
    #[test]
    fn a_mean_count_is_not_rounded_to_one() {
        let text = |count| {
            let count = Quantity::new(count, Unit::Count, Source::constant("count"));
            count.mean_count("I/O").text().to_owned()
        };
        assert_eq!(
            [0.0, 0.004, 0.812, 0.997, 1.04, 3.24, 7.96, 8.04, 9.96, 1010.4].map(text),
            [
                "0 I/Os",
                "0 I/Os",
                "0.81 I/Os",
                "1 I/O",
                "1 I/O",
                "3.2 I/Os",
                "8 I/Os",
                "8 I/Os",
                "10 I/Os",
                "1,010 I/Os"
            ]
        );
    }

    /// Proves that a fall which leaves something is not printed as a fall to nothing.
    #[test]
    fn nearly_all_is_not_all() {
        let text = |share| {
            let share = Quantity::new(share, Unit::Ratio, Source::constant("share"));
            share.percent_of_all().text().to_owned()
        };
        assert_eq!(
            [0.43, 0.994, 0.995, 0.9996, 0.99996, 1.0, 0.999_999_9].map(text),
            ["43 %", "99 %", "99.5 %", "99.96 %", "99.996 %", "100 %", "100 %"]
        );
    }
}

//! Errors with a remedy: context, source and hint are kept apart, and printed in one place.

#![doc = include_str!("../README.md")]

mod problem;

pub use problem::Problem;

use std::borrow::Cow;
use std::error::Error;

/// Start of the line that holds the hint, behind a message and its causes.
const HINT: &str = "\nhint: ";

/// Error that may know a remedy. Its `Display` says what failed and on what; its cause is its `source`, and neither cause nor
/// hint is part of the message.
pub trait Diagnostic: Error + 'static {
    /// Remedy, as a clause without a full stop.
    fn hint(&self) -> Option<Cow<'_, str>> {
        None
    }
}

impl Diagnostic for std::io::Error {}

impl<D: Diagnostic + ?Sized> Diagnostic for Box<D>
where
    Box<D>: Error,
{
    fn hint(&self) -> Option<Cow<'_, str>> {
        (**self).hint()
    }
}

/// Message of an error and its causes in one text: `what: cause: cause`. A cause whose words the message holds already is not said
/// twice; behind a message of several lines causes have lines of their own.
pub fn text_with_causes(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let separator = if text.contains('\n') { "\n  because: " } else { ": " };
    let mut cause = error.source();
    while let Some(error) = cause {
        let words = error.to_string();
        if !text.contains(&words) {
            text.push_str(separator);
            text.push_str(&words);
        }
        cause = error.source();
    }
    text
}

/// Message, causes and, on a line of its own, the hint.
pub fn full_text(error: &dyn Diagnostic) -> String {
    let text = text_with_causes(error);
    match error.hint() {
        Some(hint) if !hint.is_empty() => text + HINT + &hint,
        _ => text,
    }
}

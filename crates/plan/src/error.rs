//! Plan errors, with position and hint.

use crate::source::Excerpt;
use diagnostic::Diagnostic;
use std::borrow::Cow;
use std::fmt;

/// The kinds of mistakes, for programs; the text for people is in the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlanErrorKind {
    /// The file could not be read, or is not text.
    Unreadable,
    /// No plan or array has this name, and no file has this path.
    UnknownName,
    /// The text holds no document.
    Empty,
    /// The text is not YAML.
    Syntax,
    /// A tab indents a line.
    Tab,
    /// A key stands twice in one map.
    DuplicateKey,
    /// A key that the language does not have.
    UnknownKey,
    /// A setting that no load, array or host has.
    UnknownSetting,
    /// A key that must be there is not.
    MissingKey,
    /// A value of another type than its key takes.
    WrongType,
    /// A value out of its range.
    OutOfRange,
    /// A named limit of the reader: size, depth, aliases, number of cases.
    OverLimit,
    /// Parts of the plan that contradict each other.
    Contradiction,
    /// A choice of stages or cases (`--stage`, `--only`, `--set`) that the plan does not have.
    Selection,
    /// A table of published figures that cannot be used.
    Published,
}

/// A mistake in a plan, an array or a selection: one message, where it is, and a hint.
///
/// `Display` gives `file:line:column: message` and the offending line with a caret.
#[derive(Debug)]
pub struct PlanError {
    kind: PlanErrorKind,
    message: String,
    excerpt: Option<Box<Excerpt>>,
    hint: Option<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl PlanError {
    pub(crate) fn new(kind: PlanErrorKind, message: impl Into<String>) -> Self {
        PlanError { kind, message: message.into(), excerpt: None, hint: None, source: None }
    }

    pub(crate) fn at(mut self, excerpt: Excerpt) -> Self {
        self.excerpt = Some(Box::new(excerpt));
        self
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    pub(crate) fn maybe_hint(mut self, hint: Option<String>) -> Self {
        self.hint = hint.or(self.hint);
        self
    }

    pub(crate) fn caused_by(mut self, source: impl std::error::Error + Send + Sync + 'static) -> Self {
        self.source = Some(Box::new(source));
        self
    }

    /// The kind of mistake.
    pub fn kind(&self) -> PlanErrorKind {
        self.kind
    }

    /// The message alone, without place and hint.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Line and column, both from 1, where the mistake has a place in a text.
    pub fn position(&self) -> Option<(usize, usize)> {
        self.excerpt.as_ref().map(|excerpt| (excerpt.line, excerpt.column))
    }
}

impl fmt::Display for PlanError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.excerpt {
            Some(excerpt) => {
                let Excerpt { source_name, line, column, .. } = excerpt.as_ref();
                writeln!(f, "{source_name}:{line}:{column}: {}", self.message)?;
                write!(f, "{excerpt}")?;
            }
            None => write!(f, "{}", self.message)?,
        }
        Ok(())
    }
}

impl Diagnostic for PlanError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint.as_deref().map(Cow::Borrowed)
    }
}

impl std::error::Error for PlanError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as _)
    }
}

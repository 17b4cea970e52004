//! Error that no caller tells from another: a message for people, with its cause and its remedy.

use crate::Diagnostic;
use std::borrow::Cow;
use std::error::Error;
use std::fmt;

/// Error without a kind: context, source and hint.
#[derive(Debug)]
pub struct Problem {
    context: Cow<'static, str>,
    source: Option<Box<dyn Error + Send + Sync>>,
    hint: Option<Cow<'static, str>>,
}

impl Problem {
    /// Problem that says what failed, and on what.
    pub fn new(context: impl Into<Cow<'static, str>>) -> Problem {
        Problem { context: context.into(), source: None, hint: None }
    }

    /// The same with its cause.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Problem {
        self.source = Some(source.into());
        self
    }

    /// The same with a remedy.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<Cow<'static, str>>) -> Problem {
        self.hint = Some(hint.into());
        self
    }

    /// Converts an error of another kind: its message with its causes, and its hint.
    pub fn of(error: &dyn Diagnostic) -> Problem {
        let hint = error.hint().map(|hint| Cow::Owned(hint.into_owned()));
        Problem { context: crate::text_with_causes(error).into(), source: None, hint }
    }

    /// Puts a larger context before a problem, and keeps its hint: `context: problem`.
    #[must_use]
    pub fn within(self, context: impl Into<Cow<'static, str>>) -> Problem {
        let hint = self.hint.clone();
        Problem { context: context.into(), source: Some(Box::new(self)), hint }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.context)
    }
}

impl Error for Problem {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| source.as_ref() as _)
    }
}

impl Diagnostic for Problem {
    fn hint(&self) -> Option<Cow<'_, str>> {
        self.hint.as_deref().map(Cow::Borrowed)
    }
}

impl From<String> for Problem {
    fn from(context: String) -> Problem {
        Problem::new(context)
    }
}

impl From<&'static str> for Problem {
    fn from(context: &'static str) -> Problem {
        Problem::new(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{full_text, text_with_causes};

    /// Proves that a cause is said once, behind the message or on a line of its own behind several, and the hint last.
    #[test]
    fn parts_are_printed_once_and_in_order() {
        let cause = || std::io::Error::other("no room");
        let plain = Problem::new("cannot write `a`").caused_by(cause()).with_hint("free some");
        assert_eq!(full_text(&plain), "cannot write `a`: no room\nhint: free some");
        assert_eq!(text_with_causes(&plain), "cannot write `a`: no room");
        let known = Problem::new("cannot write `a`: no room").caused_by(cause());
        assert_eq!(full_text(&known), "cannot write `a`: no room");
        let lines = Problem::new("a:1:2: wrong\n1 | x").caused_by(cause());
        assert_eq!(full_text(&lines), "a:1:2: wrong\n1 | x\n  because: no room");
        assert_eq!(full_text(&Problem::new("nothing").with_hint("")), "nothing");
    }

    /// Proves that a larger context and a conversion keep message, cause and hint.
    #[test]
    fn contexts_keep_the_hint() {
        let problem = Problem::new("no `x`").caused_by("because").with_hint("take `y`");
        let larger = problem.within("stage `a`");
        assert_eq!(full_text(&larger), "stage `a`: no `x`: because\nhint: take `y`");
        assert_eq!(full_text(&Problem::of(&larger)), "stage `a`: no `x`: because\nhint: take `y`");
    }
}

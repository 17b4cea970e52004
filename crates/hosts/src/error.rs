//! Errors of hosts: always with the host's name.

use diagnostic::Diagnostic;
use std::borrow::Cow;

/// A host that cannot be used, or no longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The address or the name is wrong.
    #[error("`{text}` is no host: {problem}")]
    Address {
        /// Text as given.
        text: String,
        /// Error in the address.
        problem: String,
        /// Form of a valid address.
        hint: &'static str,
    },
    /// The host could not be reached, or answered something else.
    #[error("host `{host}`: {problem}")]
    Failed {
        /// The host's name.
        host: String,
        /// Failure, in words.
        problem: String,
        /// Suggested remedy.
        hint: String,
    },
}

impl Diagnostic for HostError {
    fn hint(&self) -> Option<Cow<'_, str>> {
        match self {
            HostError::Address { hint, .. } => Some((*hint).into()),
            HostError::Failed { hint, .. } => Some(hint.into()),
        }
    }
}

impl HostError {
    pub(crate) fn address(text: &str, problem: impl Into<String>) -> HostError {
        HostError::Address {
            text: text.to_owned(),
            problem: problem.into(),
            hint: "ssh://USER@HOST, ssh://HOST:PORT, fio://HOST:PORT, or local",
        }
    }

    /// A failure of a host.
    pub fn failed(host: &str, problem: impl Into<String>, hint: impl Into<String>) -> HostError {
        HostError::Failed { host: host.to_owned(), problem: problem.into(), hint: hint.into() }
    }
}

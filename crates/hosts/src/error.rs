//! Errors of hosts: always with the host's name.

/// A host that cannot be used, or no longer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// The address or the name is wrong.
    #[error("`{text}` is no host: {problem}\nhint: {hint}")]
    Address {
        /// Text as given.
        text: String,
        /// Error in the address.
        problem: String,
        /// Form of a valid address.
        hint: &'static str,
    },
    /// The host could not be reached, or answered something else.
    #[error("host `{host}`: {problem}{}", hint_line(hint))]
    Failed {
        /// The host's name.
        host: String,
        /// Failure, in words.
        problem: String,
        /// Suggested remedy.
        hint: String,
    },
}

fn hint_line(hint: &str) -> String {
    if hint.is_empty() { String::new() } else { format!("\nhint: {hint}") }
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

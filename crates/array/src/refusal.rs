//! Refusal of an array by its checks, which know paths of keys but not the lines where they stand.

/// Refusal of a description: the path of its keys, the error, and a suggested remedy.
pub(crate) struct Refusal {
    pub path: String,
    pub message: String,
    pub hint: String,
}

impl Refusal {
    pub fn new(path: impl Into<String>, message: impl Into<String>, hint: impl Into<String>) -> Refusal {
        Refusal { path: path.into(), message: message.into(), hint: hint.into() }
    }
}

/// A [`Refusal`] as an error.
pub(crate) fn refuse<T>(
    path: impl Into<String>,
    message: impl Into<String>,
    hint: impl Into<String>,
) -> Result<T, Refusal> {
    Err(Refusal::new(path, message, hint))
}

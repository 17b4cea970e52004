//! Options of a fio job under construction, with the settings that they do not carry.

/// A load as fio's options, and what of it fio does not say.
#[derive(Debug, Default)]
pub(crate) struct FioOptions {
    /// Names and values, in the order in which people write them.
    pub options: Vec<(&'static str, String)>,
    /// Settings that fio does not carry out to the letter, and why.
    pub not_exported: Vec<(String, String)>,
    /// Set where what remains would be another kind of load: the setting, and why.
    pub left_out: Option<(String, String)>,
}

impl FioOptions {
    pub(crate) fn set(&mut self, name: &'static str, value: impl Into<String>) {
        self.options.push((name, value.into()));
    }

    pub(crate) fn lose(&mut self, setting: &str, why: impl Into<String>) {
        self.not_exported.push((setting.to_owned(), why.into()));
    }

    pub(crate) fn leave_out(&mut self, setting: &str, why: impl Into<String>) {
        self.left_out.get_or_insert_with(|| (setting.to_owned(), why.into()));
    }
}

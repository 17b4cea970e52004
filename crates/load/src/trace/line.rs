//! Lines of a trace and their fields.

use super::TraceError;

/// Nanoseconds of a second.
const SECOND_NS: u64 = 1_000_000_000;

/// A line, with where it stands.
#[derive(Clone, Copy)]
pub(super) struct Line<'a> {
    pub source_name: &'a str,
    pub number: u64,
    /// Text without the line end.
    pub text: &'a str,
}

impl<'a> Line<'a> {
    /// An error at byte `at` of the line.
    pub fn fail(&self, at: usize, message: &str, hint: &str) -> TraceError {
        TraceError::at(self.source_name, self.number, at + 1, message, hint)
    }

    /// An error at a field, which is a part of this line's text.
    pub fn fail_field(&self, field: &str, message: &str, hint: &str) -> TraceError {
        let at = (field.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.fail(at.min(self.text.len()), message, hint)
    }

    /// The next field, or an error that says which one is missing.
    pub fn field(
        &self,
        fields: &mut dyn Iterator<Item = &'a str>,
        name: &str,
    ) -> Result<&'a str, TraceError> {
        fields.next().ok_or_else(|| {
            self.fail(
                self.text.len(),
                &format!("the line ends before its {name}"),
                "complete or remove the line",
            )
        })
    }

    /// A field as a whole number.
    pub fn number(&self, field: &str, name: &str) -> Result<u64, TraceError> {
        field.trim().parse().map_err(|_| {
            self.fail_field(
                field,
                &format!("the {name} is `{}`", shorten(field)),
                "a whole number is wanted there",
            )
        })
    }

    /// `number × unit`, or an error where it does not fit.
    pub fn scaled(&self, field: &str, name: &str, unit: u64) -> Result<u64, TraceError> {
        self.number(field, name)?
            .checked_mul(unit)
            .ok_or_else(|| self.fail_field(field, &format!("the {name} is too large"), "mend the line"))
    }

    /// Seconds with up to nine decimals, exactly; further decimals are cut.
    pub fn seconds(&self, field: &str, name: &str) -> Result<u64, TraceError> {
        let wrong = || {
            let message = format!("the {name} is `{}`", shorten(field));
            self.fail_field(field, &message, "seconds are wanted there, like 1.234567")
        };
        let (whole, decimals) = field.trim().split_once('.').unwrap_or((field.trim(), ""));
        if !decimals.bytes().all(|byte| byte.is_ascii_digit()) {
            return Err(wrong());
        }
        let mut fraction_ns = 0;
        for place in 0..9 {
            let digit = decimals.as_bytes().get(place).map_or(0, |byte| u64::from(byte - b'0'));
            fraction_ns = fraction_ns * 10 + digit;
        }
        let whole: u64 = whole.parse().map_err(|_| wrong())?;
        whole.checked_mul(SECOND_NS).and_then(|ns| ns.checked_add(fraction_ns)).ok_or_else(wrong)
    }
}

/// A field as it may stand in a message.
fn shorten(field: &str) -> String {
    const SHOWN: usize = 40;
    let field = field.trim();
    if field.chars().count() <= SHOWN {
        field.to_owned()
    } else {
        format!("{}…", field.chars().take(SHOWN).collect::<String>())
    }
}

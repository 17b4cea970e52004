//! Pace at which the stripes of a rebuild are begun, and what of them skipped time has.

/// From so many stripes on a pace is known: begun at even distances, within 1 %.
pub(super) const MEASURED_STRIPES: u64 = 100;

/// Pace of a rebuild.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pace {
    /// Stripes that were begun since it is measured, and when the first and the last of them were.
    stripes: u64,
    first_ns: u64,
    last_ns: u64,
    /// Stripes and the time that they took, as known before it is measured anew.
    before: Option<(u64, u64)>,
    /// Skipped time in which no further stripe would have begun.
    owed_ns: u64,
}

impl Pace {
    /// A stripe was begun.
    pub fn has_begun(&mut self, now_ns: u64) {
        if self.stripes == 0 {
            self.first_ns = now_ns;
        }
        self.last_ns = now_ns;
        self.stripes += 1;
    }

    /// Measures from the next stripe on; until that is known, it is what was known before.
    pub fn measure_anew(&mut self) {
        *self = Pace { before: self.known(), owed_ns: self.owed_ns, ..Pace::default() };
    }

    /// Stripes, and the time that they take; `None` while too few have been seen.
    fn known(&self) -> Option<(u64, u64)> {
        let span_ns = self.last_ns - self.first_ns;
        if self.stripes > MEASURED_STRIPES && span_ns > 0 {
            Some((self.stripes - 1, span_ns))
        } else {
            self.before
        }
    }

    /// Returns how long so many stripes take; `None` while that is not known.
    pub fn time_for_ns(&self, stripes: u64) -> Option<u64> {
        let (measured, span_ns) = self.known()?;
        let time_ns = u128::from(stripes) * u128::from(span_ns) / u128::from(measured);
        Some(u64::try_from(time_ns).unwrap_or(u64::MAX))
    }

    /// Stripes that begin in so much skipped time; what is left of it counts the next time.
    pub fn stripes_in(&mut self, duration_ns: u64) -> u64 {
        let Some((measured, span_ns)) = self.known() else { return 0 };
        let due_ns = self.owed_ns + duration_ns;
        let stripes = (u128::from(due_ns) * u128::from(measured) / u128::from(span_ns)) as u64;
        self.owed_ns = due_ns.saturating_sub(self.time_for_ns(stripes).unwrap_or(due_ns));
        stripes
    }
}

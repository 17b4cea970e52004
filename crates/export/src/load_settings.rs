//! Settings of a load, read as texts, numbers and times.

use plan::SettingValues;
use serde_json::Value;
use units::NANOS_PER_SECOND;

/// Settings of a load, read as texts and numbers.
#[derive(Clone, Copy)]
pub(crate) struct LoadSettings<'a>(pub &'a SettingValues);

impl LoadSettings<'_> {
    pub fn number(&self, name: &str) -> Option<u64> {
        self.0.get(name).and_then(Value::as_u64)
    }

    pub fn float(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64)
    }

    pub fn word(&self, name: &str) -> Option<&str> {
        self.0.get(name).and_then(Value::as_str)
    }

    pub fn has(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    pub fn is_random(&self) -> bool {
        self.word("rw").is_some_and(|rw| rw.starts_with("rand"))
    }

    /// Share of reads, in percent.
    pub fn read_share(&self) -> u64 {
        match self.word("rw") {
            Some("read" | "randread") => 100,
            Some("write" | "randwrite") => 0,
            _ => self.number("rwmixread").unwrap_or(50),
        }
    }

    pub fn is_mixed(&self) -> bool {
        matches!(self.word("rw"), Some("rw" | "randrw"))
    }

    pub fn trims(&self) -> bool {
        self.number("rwmixtrim").is_some_and(|share| share > 0)
    }

    pub fn verifies(&self) -> bool {
        self.word("verify").is_some_and(|check| check != "none")
    }

    pub fn numjobs(&self) -> u64 {
        self.number("numjobs").unwrap_or(1).max(1)
    }

    /// Sizes of a mix with their shares in percent; empty where there is one size.
    pub fn sizes(&self) -> Vec<(u64, u64)> {
        let parts = self.word("bssplit").unwrap_or_default().split(':');
        parts
            .filter_map(|part| part.split_once('/'))
            .filter_map(|(size, share)| Some((size.parse().ok()?, share.parse().ok()?)))
            .collect()
    }

    /// Bytes of the smallest and of the largest I/O.
    pub fn block_bytes(&self) -> [u64; 2] {
        let bs_bytes = self.number("bs").unwrap_or(512).max(1);
        let sizes = self.sizes();
        let of =
            |pick: fn(u64, u64) -> u64| sizes.iter().map(|(size, _)| *size).reduce(pick).unwrap_or(bs_bytes);
        [of(u64::min), of(u64::max)]
    }

    /// A time in nanoseconds; settings hold seconds.
    pub fn time_ns(&self, name: &str) -> Option<u64> {
        let value = self.0.get(name)?;
        value
            .as_u64()
            .map(|seconds| seconds.saturating_mul(NANOS_PER_SECOND))
            .or_else(|| value.as_f64().map(|seconds| (seconds * NANOS_PER_SECOND as f64).round() as u64))
    }
}

/// A plain value as text, without JSON's quotes.
pub(crate) fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

//! Counters of any array, switch or host that a Prometheus exporter speaks for.

use super::cumulative::Cumulative;
use super::exposition;
use super::http::{self, HttpAddress};
use super::pattern::any_matches;
use super::{CollectError, CollectedValue, Deadline, Source, keep};
use std::time::Instant;

/// An address with Prometheus text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PrometheusSettings {
    /// Entity of its counters; their labels are added.
    pub name: String,
    /// Address of the source.
    pub address: HttpAddress,
    /// Names of metrics that are kept, with `*`.
    pub metrics: Vec<String>,
}

pub(super) struct PrometheusSource {
    settings: PrometheusSettings,
    cumulative: Cumulative,
}

impl PrometheusSource {
    pub(super) fn new(settings: PrometheusSettings) -> Self {
        PrometheusSource { settings, cumulative: Cumulative::default() }
    }
}

impl Source for PrometheusSource {
    fn collect(&mut self, deadline: &Deadline<'_>) -> Result<Vec<CollectedValue>, CollectError> {
        let body = http::get(&self.settings.address, deadline)?;
        let now = Instant::now();
        let text = String::from_utf8_lossy(&body);
        let (mut values, mut counts) = (Vec::new(), Vec::new());
        let wanted = |name: &str| any_matches(&self.settings.metrics, name);
        exposition::read(&text, wanted, |line| {
            let entity = entity(&self.settings.name, &line);
            let into = if line.is_cumulative { &mut counts } else { &mut values };
            keep(into, &entity, &line.name, line.value);
        });
        if values.is_empty() && counts.is_empty() {
            let problem = format!("it has no metric named {}", self.settings.metrics.join(" or "));
            return Err(CollectError::NoCounters { from: self.settings.address.to_string(), problem });
        }
        self.cumulative.make_rates(&mut counts, now, |_| true);
        values.extend(counts);
        values.truncate(super::VALUES_LIMIT);
        Ok(values)
    }
}

/// `array{pool=a,volume=b}`.
fn entity(name: &str, line: &exposition::Line<'_>) -> String {
    if line.labels.is_empty() {
        return name.to_owned();
    }
    let labels: Vec<String> = line.labels.iter().map(|(label, value)| format!("{label}={value}")).collect();
    format!("{name}{{{}}}", labels.join(","))
}

//! Writing metrics of which each has its labels: what `prometheus_client` leaves to collectors.

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use std::fmt;

/// Labels by name.
pub type Labels<'a> = Vec<(&'static str, &'a str)>;

/// A family of values, each with its labels. A family without values is left out.
pub fn gauges<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (Labels<'a>, f64)>,
) -> fmt::Result {
    family(encoder, name, help, MetricType::Gauge, values, |value, metric| {
        ConstGauge::new(value).encode(metric)
    })
}

/// The same of counts since the start; `_total` is added to the name.
pub fn counters<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (Labels<'a>, u64)>,
) -> fmt::Result {
    family(encoder, name, help, MetricType::Counter, values, |value, metric| {
        ConstCounter::new(value).encode(metric)
    })
}

/// The same of sums that grow since the start, as of seconds; `_total` is added to the name.
pub fn sums<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (Labels<'a>, f64)>,
) -> fmt::Result {
    family(encoder, name, help, MetricType::Counter, values, |value, metric| {
        ConstCounter::new(value).encode(metric)
    })
}

/// Everything that a collector has to say, as OpenMetrics text under arraylab's prefix.
pub fn exposition(collector: impl Collector) -> String {
    let mut registry = Registry::with_prefix("arraylab");
    registry.register_collector(Box::new(collector));
    let mut page = String::new();
    // Writing to a string fails only where a collector does, and ours pass on what the string says.
    let _ = text::encode(&mut page, &registry);
    page
}

/// The same of histograms: sum, count, and buckets of upper bound and count.
pub(crate) fn histograms<'a>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    values: impl IntoIterator<Item = (Labels<'a>, Buckets)>,
) -> fmt::Result {
    family(encoder, name, help, MetricType::Histogram, values, |value, mut metric| {
        metric.encode_histogram::<Labels<'_>>(value.sum, value.count, &value.buckets, None)
    })
}

/// A histogram as Prometheus has it, its buckets not yet summed up.
#[derive(Debug, PartialEq)]
pub(crate) struct Buckets {
    pub sum: f64,
    pub count: u64,
    pub buckets: Vec<(f64, u64)>,
}

fn family<'a, V>(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    kind: MetricType,
    values: impl IntoIterator<Item = (Labels<'a>, V)>,
    encode: impl Fn(V, MetricEncoder<'_>) -> fmt::Result,
) -> fmt::Result {
    let mut values = values.into_iter().peekable();
    if values.peek().is_none() {
        return Ok(());
    }
    let mut metric = encoder.encode_descriptor(name, help, None, kind)?;
    for (labels, value) in values {
        encode(value, metric.encode_family(&labels)?)?;
    }
    Ok(())
}

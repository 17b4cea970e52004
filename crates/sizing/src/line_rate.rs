//! Line rate of the links: what an array behind them does not exceed, however wrong its model is.

use crate::Configuration;
use crate::simulation::Level;
use array::{Origin, UNLIMITED};

/// Beyond the rate of a link by so much its frames may carry. Rates of Ethernet are those of frames of 1,500 bytes (1,448 of 1,538 bytes
/// on the wire), and frames of 9,000 bytes carry 8,948 of 9,038: 5.2 % more; 117 MB/s is rounded down by 0.6 %.
const LARGER_FRAMES: f64 = 1.06;
/// The switch of a twin that has links carry anything in no time.
const LINKS: &str = "links";

/// Bytes a second that an array's links to its hosts carry each way; `None` where their rate is an assumption, where they are switched,
/// and for clusters, whose hosts are on the network of the nodes.
pub(crate) fn links_bytes_per_s(configuration: &Configuration) -> Option<f64> {
    let parts = &configuration.description.parts;
    let rate = &parts.fabric.rate;
    let is_known = rate.origin != Origin::Assumed && rate.get() != UNLIMITED;
    let is_switched = configuration.settings.iter().any(|(name, _)| name == LINKS);
    (is_known && !is_switched && !parts.has_chains())
        .then(|| rate.get() as f64 * parts.fabric.ports.get() as f64)
}

/// Most I/Os a second of a simulated mix that links of so many bytes a second each way carry; infinite without one.
pub(crate) fn most_iops(links_bytes_per_s: Option<f64>, level: &Level) -> f64 {
    let bytes = level.read.bytes.max(level.write.bytes);
    match links_bytes_per_s {
        Some(rate) if bytes > 0 => {
            LARGER_FRAMES * rate * (level.read.ios + level.write.ios) as f64 / bytes as f64
        }
        _ => f64::INFINITY,
    }
}

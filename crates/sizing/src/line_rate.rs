//! Line rate of the links: what an array behind them does not exceed, however wrong its model is.

use crate::Configuration;
use crate::simulation::Level;
use array::{Origin, UNLIMITED};

/// Beyond the rate of a link by so much its frames may carry: rates are less what headers take, and shipped ones leave more to headers than
/// the best frames do. Ethernet of 1,500-byte frames (117 MB/s of 125) 6 % less than 9,000-byte frames carry (8,948 of 9,038 bytes); PCIe 2
/// less a fifth 13 % less than packets of 256 bytes with 28 of headers.
const SMALLER_HEADERS: f64 = 1.13;
/// The switch of a twin that has links carry anything in no time.
const LINKS: &str = "links";

/// Bytes a second that an array's links to its hosts carry each way; `None` where their rate is neither from a data sheet nor arithmetic
/// (one that was fitted or measured is a figure of the model), where they are switched, and for clusters, whose hosts are on the network
/// of the nodes.
pub(crate) fn links_bytes_per_s(configuration: &Configuration) -> Option<f64> {
    let parts = &configuration.description.parts;
    let rate = &parts.fabric.rate;
    let is_known = matches!(rate.origin, Origin::Datasheet | Origin::Derived) && rate.get() != UNLIMITED;
    let is_switched = configuration.settings.iter().any(|(name, _)| name == LINKS);
    (is_known && !is_switched && !parts.has_chains())
        .then(|| rate.get() as f64 * parts.fabric.ports.get() as f64)
}

/// Most I/Os a second of a simulated mix that links of so many bytes a second each way carry; infinite without one.
pub(crate) fn most_iops(links_bytes_per_s: Option<f64>, level: &Level) -> f64 {
    let bytes = level.read.bytes.max(level.write.bytes);
    match links_bytes_per_s {
        Some(rate) if bytes > 0 => {
            SMALLER_HEADERS * rate * (level.read.ios + level.write.ios) as f64 / bytes as f64
        }
        _ => f64::INFINITY,
    }
}

//! Bill of an array: what its parts cost and draw, added up.

use serde::Serialize;

use crate::description::Array;
use crate::parameter::Parameter;
use crate::quantity::UNKNOWN;

/// Price and power of an array.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bill {
    /// Sum of the prices in US dollars; `None` where a part has none.
    pub price_usd: Option<f64>,
    /// Paths of parts without a price.
    pub without_price: Vec<String>,
    /// Sum of the watts; `None` where a part has none.
    pub watts: Option<f64>,
    /// Paths of parts without watts.
    pub without_watts: Vec<String>,
}

/// Equal parts of an array.
struct Item<'a> {
    path: String,
    count: u64,
    price: &'a Parameter,
    power: &'a Parameter,
}

/// Returns the bill over all parts. Hosts count only where they have a price: a buyer has hosts already, unless they are part
/// of the offer. A cache counts where there is one.
pub fn bill(array: &Array) -> Bill {
    let items = items(array);
    let (price, without_price) = sum(&items, |item| item.price);
    let (power, without_watts) = sum(&items, |item| item.power);
    Bill {
        price_usd: price.map(|cents| cents as f64 / 100.0),
        without_price,
        watts: power.map(|milliwatts| milliwatts as f64 / 1000.0),
        without_watts,
    }
}

fn items(array: &Array) -> Vec<Item<'_>> {
    let mut items = Vec::new();
    // A mirror, and copies of snapshots, are between two arrays of the same parts.
    let arrays = if array.mirror.is_some() || array.replication.is_some() { 2 } else { 1 };
    let mut add = |path: &str, count: u64, price, power| {
        let count = if matches!(path, "hosts" | "mirror" | "replication") { count } else { count * arrays };
        items.push(Item { path: path.to_owned(), count, price, power });
    };
    let nodes = u64::from(array.node_count());
    let controllers = u64::from(array.controller_count());
    add("hosts", array.hosts.count.get(), &array.hosts.price_usd, &array.hosts.watts);
    add("fabric", array.fabric.ports.get(), &array.fabric.price_usd, &array.fabric.watts);
    if let Some(mirror) = &array.mirror {
        add("mirror", mirror.ports.get(), &mirror.price_usd, &mirror.watts);
    }
    if let Some(replication) = &array.replication {
        add("replication", replication.ports.get(), &replication.price_usd, &replication.watts);
    }
    if let Some(network) = &array.network {
        add("nodes.network", nodes * network.ports.get(), &network.price_usd, &network.watts);
    }
    add("controllers", controllers, &array.controllers.price_usd, &array.controllers.watts);
    let cache = &array.cache;
    if cache.write_back.get() > 0 || cache.read.get() > 0 || cache.buffered.is_on() {
        add("cache", controllers, &cache.price_usd, &cache.watts);
    }
    for (index, group) in array.groups.iter().enumerate() {
        let path = format!("groups[{index}].{}", if group.is_per_node { "per_node" } else { "drives" });
        let (price, power, _) = group.drives.offer();
        add(&path, u64::from(array.drives_of(group)), price, power);
        if let Some(backend) = &group.backend {
            let ports = backend.ports.get() * if group.is_per_node { nodes } else { 1 };
            add(&format!("groups[{index}].backend"), ports, &backend.price_usd, &backend.watts);
        }
    }
    items
}

/// Sum over all parts, and the paths of those without the figure.
fn sum<'a>(items: &[Item<'a>], of: impl Fn(&Item<'a>) -> &'a Parameter) -> (Option<u64>, Vec<String>) {
    let mut total: u64 = 0;
    let mut without = Vec::new();
    let mut has_any = false;
    for item in items {
        match of(item).get() {
            UNKNOWN if item.path == "hosts" => {}
            UNKNOWN => without.push(item.path.clone()),
            each => {
                has_any |= item.path != "hosts";
                total = total.saturating_add(each.saturating_mul(item.count));
            }
        }
    }
    let is_known = has_any && without.is_empty();
    (is_known.then_some(total), without)
}

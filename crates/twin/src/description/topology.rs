//! Topology of a tested system: groups of hosts, links, controllers and drives, as reports draw it.

/// Group of identical parts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TopologyPart {
    /// Name of the parts.
    pub label: String,
    /// Number of them.
    pub count: u32,
}

impl TopologyPart {
    pub(crate) fn new(label: &str, count: u32) -> Self {
        TopologyPart { label: label.to_owned(), count }
    }
}

/// Parts of a tested system, from the hosts down to the drives.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Topology {
    /// Machines that issue the load.
    pub hosts: Vec<TopologyPart>,
    /// Paths between hosts and controllers.
    pub links: Vec<TopologyPart>,
    /// Controllers.
    pub controllers: Vec<TopologyPart>,
    /// Drives, in the groups that the layout makes of them.
    pub drives: Vec<TopologyPart>,
}

/// Topology of an array of parts.
pub(super) fn of_parts(array: &array::Array) -> Topology {
    let mut controllers = match &array.nodes {
        None => vec![TopologyPart::new(&array.controllers.label.text, array.controllers.count.count())],
        Some(nodes) => vec![
            TopologyPart::new(&nodes.label.text, nodes.count.count()),
            TopologyPart::new(&array.controllers.label.text, array.controller_count()),
        ],
    };
    let services = [
        ("thin provisioning", array.thin.is_some()),
        ("data reduction", array.reduction.is_some()),
        ("snapshots", array.snapshots.is_some()),
    ];
    controllers.extend(
        services.into_iter().filter(|(_, is_there)| *is_there).map(|(label, _)| TopologyPart::new(label, 1)),
    );
    let (limited, with_credits) = array::limited_volumes(array);
    if limited > 0 {
        let label = if with_credits > 0 { "volume limit with burst credits" } else { "volume limit" };
        controllers.push(TopologyPart::new(label, limited));
    }
    if array.fabric.target.get() > 0 {
        controllers.push(TopologyPart::new("protocol target in software", array.controller_count()));
    }
    let initiators = (array.fabric.initiator.get() > 0)
        .then(|| TopologyPart::new("protocol initiator in software", array.hosts.count.count()));
    let stripes = array::striped_volumes(array).map(|volumes| {
        TopologyPart::new(
            &format!("volume manager, stripe over {volumes} volumes"),
            array.hosts.count.count(),
        )
    });
    let distance_km = array.mirror.as_ref().map(|mirror| mirror.distance_km.get());
    let distance_km = distance_km.or(array.replication.as_ref().map(|copies| copies.distance_km.get()));
    let second = distance_km.map(|distance_km| {
        TopologyPart::new(&format!("second array of the same parts, {distance_km} km away"), 1)
    });
    let drives = array.groups.iter().enumerate().flat_map(|(index, group)| {
        let (model, count, spares) =
            (group.drives.label(), array.drives_of(group), group.keys.spares.count());
        let of_nodes = if group.is_per_node { array.node_count() } else { 1 };
        let spares = spares.saturating_mul(of_nodes).min(count);
        let role = match index {
            _ if array.is_cache(index) => ", read cache",
            _ if array.is_tier(index) => ", tier",
            _ => "",
        };
        let rated = group
            .drives
            .rated_bytes()
            .map_or_else(String::new, |bytes| format!(", rated for {:.2} PB of writes", bytes / 1e15));
        let label = format!("{model}, {}{role}{rated}", group.layout().title());
        let set = TopologyPart::new(&label, count - spares);
        let spares = (spares > 0).then(|| TopologyPart::new(&format!("{model}, hot spare"), spares));
        [Some(set), spares].into_iter().flatten()
    });
    let (hosts, links) = machines(array);
    Topology {
        hosts: hosts.into_iter().chain(stripes).chain(initiators).collect(),
        links: vec![links],
        controllers,
        drives: drives.chain(second).collect(),
    }
}

/// Machines that issue the load, and the links that they reach the array over.
fn machines(array: &array::Array) -> (Vec<TopologyPart>, TopologyPart) {
    let count = array.hosts.count.count();
    let hosts = TopologyPart::new(&array.hosts.label.text, count);
    let links = match array.network.as_ref().filter(|_| array.has_chains()) {
        // Nodes and hosts have ports alike.
        Some(network) => {
            let ports = (array.node_count() + count) * network.ports.count();
            TopologyPart::new(&network.label.text, ports)
        }
        None => TopologyPart::new(&array.fabric.label.text, array.fabric.ports.count()),
    };
    let nodes = array.nodes.as_ref().filter(|nodes| nodes.initiators.is_on());
    let nodes = nodes.map(|nodes| TopologyPart::new(&nodes.label.text, nodes.count.count()));
    (nodes.into_iter().chain([hosts]).collect(), links)
}

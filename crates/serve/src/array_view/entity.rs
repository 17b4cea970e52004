//! Entities of a twin's counters: the kind and node of a part.

/// A part of the model by the name of its counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entity<'a> {
    /// `drive`, `link`, `controller`, `service`, `node` or `volume`.
    pub kind: &'static str,
    /// The node that it is in.
    pub node: Option<&'a str>,
    /// Its name in there.
    pub name: &'a str,
}

/// Returns what a counter's entity is; none for what is of no known kind.
pub(crate) fn entity_of(entity: &str) -> Option<Entity<'_>> {
    if let Some((node, name)) = entity.split_once('/') {
        let kind = match name.split('-').next() {
            Some("nvme" | "hdd") => "drive",
            _ => "service",
        };
        return Some(Entity { kind, node: Some(node), name });
    }
    let kind = match entity.split('-').next()? {
        "node" | "client" => "node",
        "link" => "link",
        "controller" => "controller",
        "drive" if array::without_group(entity) == "drive-links" => "link",
        "module" | "drive" => "drive",
        "volume" => "volume",
        _ => return None,
    };
    Some(Entity { kind, node: None, name: entity })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that each kind of part is told apart, and what is in a node from the node.
    #[test]
    fn parts_are_told_apart() {
        for (entity, expected) in [
            ("node-0/nvme-3", Some(("drive", Some("node-0")))),
            ("node-1/hdd-0", Some(("drive", Some("node-1")))),
            ("node-1/server-0", Some(("service", Some("node-1")))),
            ("node-2", Some(("node", None))),
            ("client-0/block", Some(("service", Some("client-0")))),
            ("drive-links", Some(("link", None))),
            ("drive-links-1-0", Some(("link", None))),
            ("drive-7", Some(("drive", None))),
            ("module-7", Some(("drive", None))),
            ("controller-1", Some(("controller", None))),
            ("volume-nvme", Some(("volume", None))),
            ("something", None),
        ] {
            assert_eq!(entity_of(entity).map(|place| (place.kind, place.node)), expected, "{entity}");
        }
    }
}

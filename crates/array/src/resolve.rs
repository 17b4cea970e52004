//! Resolution: keys of the array, over those of the parts that it uses, over the defaults of the language.

use crate::description::{Array, Cache, Controllers, Fabric, Hosts, Network, Nodes};
use crate::drive::{FlashModule, HardDisk, SolidState};
use crate::node::{Content, Node, Place};
use crate::parameter::{Origin, Parameter, SetBy};
use crate::problem::Problem;
use crate::section::{Key, Section};
use crate::suggest::hint_of;
use crate::value::{Layer, join, read_value};

/// Kinds of parts: the folders under `parts/`.
pub const PART_KINDS: [&str; 5] = ["hosts", "links", "controllers", "caches", "drives"];

/// Parts that may use each other in a row.
const USE_DEPTH_LIMIT: usize = 8;

/// Keys of an array's file, beside which nothing stands.
const TOP_KEYS: [&str; 22] = [
    "title",
    "about",
    "hosts",
    "file_system",
    "fabric",
    "nodes",
    "controllers",
    "cache",
    "groups",
    "pools",
    "volumes",
    "slices",
    "services",
    "thin",
    "reduction",
    "snapshots",
    "drive_cache",
    "tier",
    "mirror",
    "replication",
    "rebuild",
    "failover",
];

/// Library of parts.
pub trait PartSource {
    /// The document of a part; `None` where there is none of this name.
    fn part(&self, kind: &str, name: &str) -> Option<Node>;

    /// Names of the parts of a kind.
    fn names(&self, kind: &str) -> Vec<String>;
}

/// Reader of one document with the parts that it uses.
pub(crate) struct Resolver<'a> {
    parts: &'a dyn PartSource,
}

/// Resolves an array's document.
pub fn resolve(document: &Node, parts: &dyn PartSource) -> Result<Array, Problem> {
    let array = Resolver { parts }.array(document)?;
    match array.check() {
        Ok(()) => Ok(array),
        Err(problem) => Err(Problem { place: place_of(document, &problem.path), ..problem }),
    }
}

/// Resolves a part without an array: its sections with their keys and values. Keys that only an array gives are left out.
pub fn resolve_part(
    kind: &str,
    name: &str,
    parts: &dyn PartSource,
) -> Result<Vec<(&'static Key, Parameter)>, Problem> {
    fn listed<S: Section>(
        resolver: &Resolver<'_>,
        layers: &[Layer],
        extra: &[&str],
    ) -> Result<Vec<(&'static Key, Parameter)>, Problem> {
        resolver.known_keys::<S>(layers, "", extra)?;
        S::KEYS.iter().map(|key| Ok((key, resolver.value(key, layers, "", Place::default())?))).collect()
    }
    let resolver = Resolver { parts };
    let lone = Node {
        place: Place::default(),
        content: Content::Map(vec![(
            "use".into(),
            Place::default(),
            Node { place: Place::default(), content: Content::Scalar(name.to_owned()) },
        )]),
    };
    let layers = resolver.layers(Some(&lone), kind, kind)?;
    match kind {
        "hosts" => listed::<Hosts>(&resolver, &layers, &[]),
        "links" => listed::<Fabric>(&resolver, &layers, &[]),
        "controllers" => listed::<Controllers>(&resolver, &layers, &[]),
        "caches" => listed::<Cache>(&resolver, &layers, &[]),
        _ => match resolver.drive_kind(&layers, kind, Place::default())? {
            0 => listed::<HardDisk>(&resolver, &layers, &["kind"]),
            1 => listed::<SolidState>(&resolver, &layers, &["kind"]),
            _ => listed::<FlashModule>(&resolver, &layers, &["kind"]),
        },
    }
}

/// Place of the value at a path, or of the last value on it that there is.
fn place_of(document: &Node, path: &str) -> Place {
    let mut at = document;
    for step in path.split(['.', '[']).map(|step| step.trim_end_matches(']')) {
        let child = match &at.content {
            Content::Map(_) => {
                at.get(step).or_else(|| if step == "drives" { at.get("per_node") } else { None })
            }
            Content::List(items) => step.parse::<usize>().ok().and_then(|index| items.get(index)),
            Content::Scalar(_) | Content::Nothing => None,
        };
        match child {
            Some(child) => at = child,
            // A lone map stands for a list of one.
            None if step == "0" => {}
            None => break,
        }
    }
    at.get("value").unwrap_or(at).place
}

impl Resolver<'_> {
    fn array(&self, document: &Node) -> Result<Array, Problem> {
        let own = Layer { node: document.clone(), set_by: SetBy::Array };
        for (key, place, _) in document.entries() {
            if !TOP_KEYS.contains(&key.as_str()) {
                return Err(own.problem(
                    *place,
                    key,
                    format!("there is no key `{key}` here"),
                    hint_of(key, TOP_KEYS),
                ));
            }
        }
        let text = |key: &str| document.get(key).and_then(Node::scalar).unwrap_or_default().to_owned();
        if text("title").is_empty() {
            return Err(own.problem(
                document.place,
                "title",
                "the key `title` is missing here",
                "say in one line what the array is",
            ));
        }
        let nodes = match document.get("nodes") {
            Some(node) => Some(self.section::<Nodes>(Some(node), "", "nodes", &["network"])?),
            None => None,
        };
        let network = match document.get("nodes").and_then(|nodes| nodes.get("network")) {
            Some(node) => Some(self.section::<Network>(Some(node), "links", "nodes.network", &[])?),
            None => None,
        };
        let mut controllers: Controllers =
            self.section(document.get("controllers"), "controllers", "controllers", &[])?;
        if nodes.is_some() && controllers.count.set_by == SetBy::Default {
            controllers.count.value = 1;
            controllers.count.text = "1".into();
        }
        let node_count = nodes.as_ref().map_or(1, |nodes| nodes.count.get());
        let fabric = match (document.get("fabric"), &network) {
            (None, Some(network)) => fabric_of(network, node_count, &controllers),
            (given, _) => self.section(given, "links", "fabric", &[])?,
        };
        let groups = self.groups(document)?;
        let pools = self.pools(document)?;
        let volumes = self.volumes(document, &groups, &pools)?;
        Ok(Array {
            title: text("title"),
            about: text("about"),
            hosts: self.section(document.get("hosts"), "hosts", "hosts", &[])?,
            file_system: self.optional(document, "file_system", "")?,
            fabric,
            nodes,
            network,
            controllers,
            cache: self.section(document.get("cache"), "caches", "cache", &[])?,
            groups,
            pools,
            volumes,
            slices: self.slices(document)?,
            services: self.services(document)?,
            thin: self.optional(document, "thin", "")?,
            reduction: self.optional(document, "reduction", "")?,
            snapshots: self.optional(document, "snapshots", "")?,
            drive_cache: self.optional(document, "drive_cache", "")?,
            tier: self.optional(document, "tier", "")?,
            mirror: self.optional(document, "mirror", "links")?,
            replication: self.optional(document, "replication", "links")?,
            rebuild: self.section(document.get("rebuild"), "", "rebuild", &[])?,
            failover: self.section(document.get("failover"), "", "failover", &[])?,
        })
    }

    /// A section that an array may leave out, of parts of a kind.
    fn optional<S: Section>(
        &self,
        document: &Node,
        key: &str,
        part_kind: &str,
    ) -> Result<Option<S>, Problem> {
        document.get(key).map(|node| self.section(Some(node), part_kind, key, &[])).transpose()
    }

    /// Reads a section whose keys come from a map and, for those that it lacks, from the part that the map uses.
    pub(crate) fn section<S: Section>(
        &self,
        node: Option<&Node>,
        part_kind: &str,
        path: &str,
        extra: &[&str],
    ) -> Result<S, Problem> {
        let layers = self.layers(node, part_kind, path)?;
        self.of_layers(&layers, path, extra, node.map_or(Place::default(), |node| node.place))
    }

    pub(crate) fn of_layers<S: Section>(
        &self,
        layers: &[Layer],
        path: &str,
        extra: &[&str],
        place: Place,
    ) -> Result<S, Problem> {
        self.known_keys::<S>(layers, path, extra)?;
        let values: Result<Vec<Parameter>, Problem> =
            S::KEYS.iter().map(|key| self.value(key, layers, path, place)).collect();
        S::from_values(values?).ok_or_else(|| unreachable_section(path, place))
    }

    /// Refuses keys that the section does not have.
    fn known_keys<S: Section>(&self, layers: &[Layer], path: &str, extra: &[&str]) -> Result<(), Problem> {
        for layer in layers {
            let is_part = matches!(layer.set_by, SetBy::Part(_));
            for (key, place, _) in layer.node.entries() {
                let is_known = S::KEYS.iter().any(|known| known.name == key)
                    || extra.contains(&key.as_str())
                    || key == "use"
                    || (is_part && matches!(key.as_str(), "title" | "about"));
                if !is_known {
                    let known: Vec<&str> =
                        S::KEYS.iter().map(|key| key.name).chain(extra.iter().copied()).collect();
                    return Err(layer.problem(
                        *place,
                        &join(path, key),
                        format!("there is no key `{key}` here"),
                        hint_of(key, known.iter().copied()),
                    ));
                }
            }
        }
        Ok(())
    }

    /// The map itself, then the part that it uses, then the part that this one uses.
    pub(crate) fn layers(
        &self,
        node: Option<&Node>,
        part_kind: &str,
        path: &str,
    ) -> Result<Vec<Layer>, Problem> {
        let Some(node) = node else { return Ok(Vec::new()) };
        let mut layers = vec![Layer { node: node.clone(), set_by: SetBy::Array }];
        if !matches!(node.content, Content::Map(_)) {
            return Err(layers[0].problem(
                node.place,
                path,
                "a map is expected here",
                "write `{ key: value, … }`",
            ));
        }
        let mut used: Vec<String> = Vec::new();
        while let Some(layer) = layers.last()
            && let Some(name) = layer.node.get("use")
        {
            let at = join(path, "use");
            let refuse = |message: String, hint: String| Err(layer.problem(name.place, &at, message, hint));
            let Some(text) = name.scalar() else {
                return refuse("the name of a part is expected here".into(), "write `use: NAME`".into());
            };
            if part_kind.is_empty() {
                return refuse("there are no parts for this section".into(), "write its keys here".into());
            }
            if used.iter().any(|before| before == text) {
                return refuse(
                    format!("`{text}` uses itself"),
                    format!("the parts are {}", used.join(" → ")),
                );
            }
            if used.len() == USE_DEPTH_LIMIT {
                return refuse(
                    format!("more than {USE_DEPTH_LIMIT} parts use each other"),
                    "write the keys out".into(),
                );
            }
            let Some(part) = self.parts.part(part_kind, text) else {
                let names = self.parts.names(part_kind);
                let hint = hint_of(text, names.iter().map(String::as_str));
                return refuse(format!("there is no part `{part_kind}/{text}`"), hint);
            };
            used.push(text.to_owned());
            layers.push(Layer { node: part, set_by: SetBy::Part(format!("{part_kind}/{text}")) });
        }
        Ok(layers)
    }

    /// The value of a key: that of the first layer which has it, else the default.
    pub(crate) fn value(
        &self,
        key: &Key,
        layers: &[Layer],
        path: &str,
        place: Place,
    ) -> Result<Parameter, Problem> {
        for layer in layers {
            if let Some(node) = layer.node.get(key.name) {
                return read_value(key, layer, node, &join(path, key.name));
            }
        }
        match key.default {
            Some(text) => Ok(Parameter {
                value: key.kind.parse(text).unwrap_or_default(),
                text: text.to_owned(),
                origin: Origin::Assumed,
                from: "default of the language".into(),
                set_by: SetBy::Default,
            }),
            None => {
                let own = Layer { node: Node::default(), set_by: SetBy::Array };
                Err(own.problem(
                    place,
                    path,
                    format!("the key `{}` is missing here", key.name),
                    format!("{} Give {}.", key.help, key.kind.takes()),
                ))
            }
        }
    }
}

/// Keys and values count alike, so this is never reached; an error all the same.
fn unreachable_section(path: &str, place: Place) -> Problem {
    Problem {
        part: None,
        place,
        path: path.to_owned(),
        message: "this section cannot be read".into(),
        hint: "report it".into(),
    }
}

/// Links of the hosts where only the network of the nodes is described: the same ports carry both.
fn fabric_of(network: &Network, nodes: u64, controllers: &Controllers) -> Fabric {
    let ports = (nodes * network.ports.get()).max(nodes * controllers.count.get());
    let derived = |value: u64| Parameter {
        value,
        text: value.to_string(),
        origin: Origin::Derived,
        from: "ports of the nodes' network".into(),
        set_by: SetBy::Default,
    };
    Fabric {
        label: network.label.clone(),
        ports: derived(ports),
        rate: network.rate.clone(),
        command: network.command.clone(),
        latency: network.latency.clone(),
        adapter: Parameter { text: "unlimited".into(), ..derived(crate::UNLIMITED) },
        initiator: Parameter { text: "0us".into(), ..derived(0) },
        target: Parameter { text: "0us".into(), ..derived(0) },
        paths: Parameter { text: "shared".into(), ..derived(0) },
        // The ports are paid for, and draw their power, once.
        price_usd: derived(0),
        watts: derived(0),
    }
}

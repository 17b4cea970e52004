//! Lists of an array: groups of drives, pools, volumes.

use crate::description::{Backend, DriveCount, Group, Limit, Pool, PoolKeys, Volume, VolumeKeys};
use crate::drive::Drives;
use crate::node::{Content, Node, Place};
use crate::node_services::{Journal, Service, Slice};
use crate::parameter::SetBy;
use crate::problem::Problem;
use crate::quantity::Kind;
use crate::resolve::Resolver;
use crate::section::{Key, Section as _};
use crate::value::Layer;

/// Groups, pools or entries of volumes in one array.
const LIST_LIMIT: usize = 64;

/// Returns the reason why a layout of ZFS is not modelled, and the nearest layout that is; `None` for any other word.
fn not_modelled(layout: &str) -> Option<(&'static str, &'static str)> {
    let (name, _) = layout.split_once(':').unwrap_or((layout, ""));
    if name.starts_with("draid") {
        return Some((
            "ZFS never overwrites a block, and where its transaction groups place each anew over the distributed stripes \
             is missing here",
            "`layout: pool` with `stripe: 8+2` spreads stripes and spare capacity likewise, but overwrites in place",
        ));
    }
    let nearest = match name {
        "raidz" | "raidz1" => {
            "`layout: raid5` has as much parity, but its stripes are fixed and are overwritten in place"
        }
        "raidz2" => {
            "`layout: raid6` has as much parity, but its stripes are fixed and are overwritten in place"
        }
        "raidz3" => "no layout here has three parities; `layout: raid6` has two",
        _ => return None,
    };
    Some((
        "each block of ZFS is a stripe as wide as itself, written anew by a transaction group, and that placement is missing here",
        nearest,
    ))
}

impl Resolver<'_> {
    /// The items of a list, or the one map that stands for it.
    fn items<'n>(&self, document: &'n Node, key: &str) -> Result<Vec<(String, &'n Node)>, Problem> {
        let own = Layer { node: Node::default(), set_by: SetBy::Array };
        let Some(node) = document.get(key) else { return Ok(Vec::new()) };
        let items: Vec<(String, &Node)> = match &node.content {
            Content::List(items) => {
                items.iter().enumerate().map(|(index, item)| (format!("{key}[{index}]"), item)).collect()
            }
            Content::Map(_) => vec![(format!("{key}[0]"), node)],
            Content::Scalar(_) | Content::Nothing => {
                return Err(own.problem(
                    node.place,
                    key,
                    format!("`{key}` is a list of maps"),
                    format!("write `{key}: [{{ … }}]`"),
                ));
            }
        };
        if items.len() > LIST_LIMIT {
            return Err(own.problem(
                node.place,
                key,
                format!("{} entries", items.len()),
                format!("at most {LIST_LIMIT}"),
            ));
        }
        for (path, item) in &items {
            if !matches!(item.content, Content::Map(_)) {
                return Err(own.problem(
                    item.place,
                    path,
                    "a map is expected here",
                    "write `{ name: …, … }`",
                ));
            }
        }
        Ok(items)
    }

    pub(crate) fn groups(&self, document: &Node) -> Result<Vec<Group>, Problem> {
        let own = Layer { node: Node::default(), set_by: SetBy::Array };
        let items = self.items(document, "groups")?;
        if items.is_empty() {
            return Err(own.problem(
                document.place,
                "groups",
                "an array without drives",
                "give it `groups:`",
            ));
        }
        let mut groups = Vec::new();
        for (path, item) in items {
            let layout = item.get("layout").map(|layout| layout.get("value").unwrap_or(layout));
            if let Some(node) = layout
                && let Some((why, hint)) = node.scalar().and_then(not_modelled)
            {
                let message = format!("`{}` is not modelled: {why}", node.scalar().unwrap_or_default());
                return Err(own.problem(node.place, &format!("{path}.layout"), message, hint));
            }
            let keys = self.section(Some(item), "", &path, &["drives", "per_node", "backend", "journal"])?;
            let (key, drives, is_per_node) = match (item.get("drives"), item.get("per_node")) {
                (Some(drives), None) => ("drives", drives, false),
                (None, Some(drives)) => ("per_node", drives, true),
                (Some(_), Some(second)) => {
                    return Err(own.problem(
                        second.place,
                        &path,
                        "both `drives` and `per_node`",
                        "give one of the two",
                    ));
                }
                (None, None) => {
                    return Err(own.problem(
                        item.place,
                        &path,
                        "a group without drives",
                        "give it `drives: { use: …, count: 24 }`",
                    ));
                }
            };
            let path_of_drives = format!("{path}.{key}");
            let layers = self.layers(Some(drives), "drives", &path_of_drives)?;
            let extra = ["kind", "count"];
            let model = match self.drive_kind(&layers, &path_of_drives, drives.place)? {
                0 => Drives::HardDisk(Box::new(self.of_layers(
                    &layers,
                    &path_of_drives,
                    &extra,
                    drives.place,
                )?)),
                1 => Drives::SolidState(Box::new(self.of_layers(
                    &layers,
                    &path_of_drives,
                    &extra,
                    drives.place,
                )?)),
                _ => Drives::FlashModule(Box::new(self.of_layers(
                    &layers,
                    &path_of_drives,
                    &extra,
                    drives.place,
                )?)),
            };
            let count = DriveCount {
                count: self.value(&DriveCount::KEYS[0], &layers, &path_of_drives, drives.place)?,
            };
            let backend = match item.get("backend") {
                Some(node) => {
                    Some(self.section::<Backend>(Some(node), "links", &format!("{path}.backend"), &[])?)
                }
                None => None,
            };
            let journal = match item.get("journal") {
                Some(node) => {
                    Some(self.section::<Journal>(Some(node), "", &format!("{path}.journal"), &[])?)
                }
                None => None,
            };
            groups.push(Group { keys, drives: model, count, is_per_node, backend, journal });
        }
        Ok(groups)
    }

    /// Index of the model of drives among [`Drives::KINDS`].
    pub(crate) fn drive_kind(&self, layers: &[Layer], path: &str, place: Place) -> Result<usize, Problem> {
        let key = Key {
            name: "kind",
            kind: Kind::Word(Drives::KINDS),
            least: 0,
            most: 2,
            default: None,
            help: "Model of the drive.",
        };
        self.value(&key, layers, path, place).map(|value| value.get() as usize)
    }

    pub(crate) fn pools(&self, document: &Node) -> Result<Vec<Pool>, Problem> {
        let own = Layer { node: Node::default(), set_by: SetBy::Array };
        let mut pools = Vec::new();
        for (path, item) in self.items(document, "pools")? {
            let keys: PoolKeys = self.section(Some(item), "", &path, &["across"])?;
            if let Some(across) = item.get("across")
                && across.scalar() != Some("node")
            {
                return Err(own.problem(
                    across.place,
                    &path,
                    "members of a stripe lie on different nodes",
                    "write `across: node`, or leave it out",
                ));
            }
            let erasure = match keys.erasure.text.as_str() {
                "none" => None,
                text => Some(crate::sets::erasure_of(text).ok_or_else(|| {
                    let place = item.get("erasure").map_or(item.place, |node| node.place);
                    own.problem(
                        place,
                        &path,
                        format!("`{text}` is no erasure code"),
                        "write data and parity fragments, as `8+2`",
                    )
                })?),
            };
            pools.push(Pool { keys, erasure });
        }
        Ok(pools)
    }

    /// Slices of every node.
    pub(crate) fn slices(&self, document: &Node) -> Result<Vec<Slice>, Problem> {
        let items = self.items(document, "slices")?;
        items.into_iter().map(|(path, item)| self.section(Some(item), "", &path, &[])).collect()
    }

    /// Services of every node.
    pub(crate) fn services(&self, document: &Node) -> Result<Vec<Service>, Problem> {
        let items = self.items(document, "services")?;
        items.into_iter().map(|(path, item)| self.section(Some(item), "", &path, &[])).collect()
    }

    pub(crate) fn volumes(
        &self,
        document: &Node,
        groups: &[Group],
        pools: &[Pool],
    ) -> Result<Vec<Volume>, Problem> {
        let mut volumes = Vec::new();
        for (path, item) in self.items(document, "volumes")? {
            let keys: VolumeKeys = self.section(Some(item), "", &path, &["limit"])?;
            let limit = match item.get("limit") {
                Some(node) => Some(self.section::<Limit>(Some(node), "", &format!("{path}.limit"), &[])?),
                None => None,
            };
            volumes.push(Volume { keys, limit });
        }
        if !volumes.is_empty() {
            return Ok(volumes);
        }
        // One volume on each pool, and on each group that has none.
        let named_by = |service: &str| document.get(service)?.get("on")?.scalar();
        let taken = ["drive_cache", "tier"].map(named_by);
        let is_free = |group: &&Group| {
            !pools.iter().any(|pool| pool.is_on(group.name())) && !taken.contains(&Some(group.name()))
        };
        let names = pools
            .iter()
            .map(|pool| pool.keys.name.text.clone())
            .chain(groups.iter().filter(is_free).map(|group| group.name().to_owned()));
        for name in names {
            let lone = [("name", name.clone()), ("on", name)].map(|(key, text)| {
                (
                    key.to_owned(),
                    Place::default(),
                    Node { place: Place::default(), content: Content::Scalar(text) },
                )
            });
            let node = Node { place: Place::default(), content: Content::Map(lone.into()) };
            volumes.push(Volume { keys: self.section(Some(&node), "", "volumes", &[])?, limit: None });
        }
        Ok(volumes)
    }
}

//! Library of parts inside the binary: the files under `parts/`.

use crate::source::SourceText;
use crate::yaml::parse_source;
use crate::yaml_node::YamlNode;
use array::{Node, PartSource};

/// A part that ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShippedPart {
    /// Kind of the part: a folder under `parts/`.
    pub kind: &'static str,
    /// The name by which arrays use it.
    pub name: &'static str,
    /// Description in one line.
    pub title: &'static str,
    /// YAML text of the part.
    pub text: &'static str,
}

macro_rules! part {
    ($kind:literal, $name:literal) => {
        ($kind, $name, include_str!(concat!("../../../parts/", $kind, "/", $name, ".yaml")))
    };
}

const PARTS: &[(&str, &str, &str)] = &[
    part!("hosts", "linux-server"),
    part!("hosts", "virtual-machine"),
    part!("links", "ethernet-100g"),
    part!("links", "ethernet-10g"),
    part!("links", "ethernet-1g"),
    part!("links", "ethernet-25g"),
    part!("links", "fc-16g"),
    part!("links", "fc-32g"),
    part!("links", "fc-8g"),
    part!("links", "iscsi-10g"),
    part!("links", "nvme-tcp-25g"),
    part!("links", "pcie-3x4"),
    part!("links", "pcie-3x8"),
    part!("links", "pcie-4x16"),
    part!("links", "pcie-4x4"),
    part!("links", "sas-12g-x4"),
    part!("links", "sas-6g-x4"),
    part!("controllers", "host-md"),
    part!("controllers", "midrange-2014"),
    part!("controllers", "midrange-2023"),
    part!("controllers", "nas-4bay"),
    part!("controllers", "raid-card-2014"),
    part!("controllers", "storage-node-2024"),
    part!("caches", "flash-backed-1g"),
    part!("caches", "mirrored-32g"),
    part!("caches", "write-through"),
    part!("drives", "flash-module-2tb"),
    part!("drives", "nas-4tb"),
    part!("drives", "nearline-18tb"),
    part!("drives", "nearline-8tb"),
    part!("drives", "nvme-1600-mixed"),
    part!("drives", "nvme-3840-tlc"),
    part!("drives", "nvme-7680-tlc"),
    part!("drives", "sas-10k-1200"),
    part!("drives", "sata-1920-read"),
    part!("drives", "sata-960-mixed"),
    part!("drives", "st1000nm0023"),
];

/// The parts that ship, by kind and name.
pub fn shipped_parts() -> Vec<ShippedPart> {
    let title = |text: &'static str| {
        text.lines().find_map(|line| line.strip_prefix("title: ")).unwrap_or_default().trim_matches('"')
    };
    PARTS.iter().map(|&(kind, name, text)| ShippedPart { kind, name, title: title(text), text }).collect()
}

/// The library as the array language asks for it.
pub(crate) struct PartLibrary;

impl PartSource for PartLibrary {
    fn part(&self, kind: &str, name: &str) -> Option<Node> {
        let &(_, _, text) = PARTS.iter().find(|(known, part, _)| *known == kind && *part == name)?;
        parse_source::<YamlNode>(&SourceText::new(name, text)).ok().map(YamlNode::into_node)
    }

    fn names(&self, kind: &str) -> Vec<String> {
        PARTS.iter().filter(|(known, _, _)| *known == kind).map(|&(_, name, _)| name.to_owned()).collect()
    }
}

/// Text of a shipped part named as `drives/nvme-3840-tlc`.
pub(crate) fn part_text(kind_and_name: &str) -> Option<&'static str> {
    let (kind, name) = kind_and_name.split_once('/')?;
    PARTS.iter().find(|(known, part, _)| *known == kind && *part == name).map(|&(_, _, text)| text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every part of the library is read and has a title, and that every file under `parts/` ships.
    #[test]
    fn every_part_is_read() {
        for part in shipped_parts() {
            assert!(!part.title.is_empty(), "{}", part.name);
            let values = array::resolve_part(part.kind, part.name, &PartLibrary);
            assert!(values.is_ok(), "{}/{}: {values:?}", part.kind, part.name);
        }
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../../parts");
        let mut files = 0;
        for kind in array::PART_KINDS {
            for file in std::fs::read_dir(format!("{root}/{kind}")).unwrap() {
                let name = file.unwrap().file_name().into_string().unwrap();
                files += 1;
                assert!(PartLibrary.part(kind, name.trim_end_matches(".yaml")).is_some(), "{kind}/{name}");
            }
        }
        assert_eq!(files, PARTS.len());
    }
}

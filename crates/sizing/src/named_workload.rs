//! Named workloads: files that ship, each number with its public source or marked as assumed.

/// Workload that ships.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NamedWorkload {
    /// Its name.
    pub name: &'static str,
    /// Its file, with the sources of its numbers as comments.
    pub text: &'static str,
}

macro_rules! named {
    ($($name:literal),* $(,)?) => {
        &[$(NamedWorkload { name: $name, text: include_str!(concat!("../../../workloads/", $name, ".yaml")) },)*]
    };
}

const NAMED: &[NamedWorkload] =
    named!["ai-checkpoint", "backup", "etcd-wal", "file-server", "oltp", "restore", "vdi-boot"];

/// All workloads that ship, by name.
pub fn named_workloads() -> &'static [NamedWorkload] {
    NAMED
}

/// Workload of a name.
pub fn named_workload(name: &str) -> Option<&'static NamedWorkload> {
    NAMED.iter().find(|workload| workload.name == name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{LoadSource, Workload};

    /// Proves that each named workload can be simulated, is found by its name beside plans of other names, and gives each number its address or
    /// the word assumed.
    #[test]
    fn numbers_have_their_sources() {
        for named in named_workloads() {
            let workload = Workload::parse(named.name, named.text).unwrap();
            assert!(!workload.source.is_empty() && !workload.not_known.is_empty(), "{}", named.name);
            let load = LoadSource::read(named.name).unwrap();
            load.check_rate().unwrap();
            assert_eq!(load.not_carried, workload.not_known);
            assert!(plan::shipped_plans().iter().all(|plan| plan.name != named.name), "{}", named.name);
            let streams = named.text.split_once("streams:\n").unwrap().1;
            for line in streams.lines().filter(|line| !line.trim_start().starts_with("- name:")) {
                let (_, comment) = line.split_once('#').unwrap_or_else(|| panic!("{}: {line}", named.name));
                assert!(comment.contains("http") || comment.contains("assumed"), "{}: {line}", named.name);
            }
        }
        assert!(named_workload("nothing").is_none());
    }
}

//! Settings of the host that no table can list: any queue attribute, sysctl and module parameter, by name.

use super::{Setting, SettingKind, SettingScope};
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// The longest name of a host setting: `sysctl.` and the longest names of the kernel's documentation fit twice.
const NAME_CHARS_LIMIT: usize = 128;
/// The most names that one process reads. Names are kept as long as the process lives, so there has to be a limit.
const NAMES_LIMIT: usize = 4096;

/// Place of a host setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum HostSettingPlace {
    /// `queue.NAME`: an attribute of the block queue of each device under test.
    Queue,
    /// `sysctl.NAME`: a kernel variable.
    Sysctl,
    /// `module.MODULE.PARAMETER`: a parameter of a kernel module. It is compared and never set, because most are
    /// read when the module is loaded.
    Module,
}

impl HostSettingPlace {
    const ALL: [HostSettingPlace; 3] =
        [HostSettingPlace::Queue, HostSettingPlace::Sysctl, HostSettingPlace::Module];

    fn prefix(self) -> &'static str {
        match self {
            HostSettingPlace::Queue => "queue.",
            HostSettingPlace::Sysctl => "sysctl.",
            HostSettingPlace::Module => "module.",
        }
    }

    fn doc(self) -> &'static str {
        match self {
            HostSettingPlace::Queue => "an attribute of the block queue of each device under test",
            HostSettingPlace::Sysctl => "a kernel variable of the host",
            HostSettingPlace::Module => "a parameter of a kernel module, compared and never set",
        }
    }
}

/// The pattern of these names in the JSON Schema; [`split`] is what decides.
pub(crate) const NAME_PATTERN: &str = "^(queue\\.[a-z0-9_]+(\\.[a-z0-9_]+)*|sysctl(\\.[A-Za-z0-9_-]+)+|module\\.[A-Za-z0-9_-]+\\.[A-Za-z0-9_-]+)$";

/// Place and rest of a host setting's name: `queue.nr_requests` is the queue's `nr_requests`.
///
/// Every part has letters, digits, `_` and `-` only, so that a name cannot lead out of its directory.
pub(crate) fn split(name: &str) -> Option<(HostSettingPlace, &str)> {
    if name.len() > NAME_CHARS_LIMIT {
        return None;
    }
    let (place, rest) = HostSettingPlace::ALL
        .into_iter()
        .find_map(|place| name.strip_prefix(place.prefix()).map(|rest| (place, rest)))?;
    let is_part_char = |c: char| match place {
        HostSettingPlace::Queue => c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_',
        _ => c.is_ascii_alphanumeric() || c == '_' || c == '-',
    };
    let is_part = |part: &str| !part.is_empty() && part.chars().all(is_part_char);
    let has_its_parts = match place {
        HostSettingPlace::Module => rest.split('.').count() == 2,
        _ => true,
    };
    (has_its_parts && rest.split('.').all(is_part)).then_some((place, rest))
}

/// The setting of this name, the same one each time it is asked for.
///
/// Settings are referred to for as long as the process lives, as those of the table are; a name that has not been
/// read before is therefore kept for good, and [`NAMES_LIMIT`] bounds what plans can make of that.
pub(super) fn host_setting(name: &str) -> Option<&'static Setting> {
    static KNOWN: Mutex<BTreeMap<&'static str, &'static Setting>> = Mutex::new(BTreeMap::new());
    let (place, _) = split(name)?;
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(setting) = known.get(name) {
        return Some(setting);
    }
    if known.len() >= NAMES_LIMIT {
        return None;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    let setting: &'static Setting = Box::leak(Box::new(Setting {
        name,
        kind: SettingKind::Attribute,
        scope: SettingScope::Host,
        is_fio: false,
        default: None,
        doc: place.doc(),
    }));
    known.insert(name, setting);
    Some(setting)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that names are told apart by place, and that no name leads out of its directory.
    #[test]
    fn names_are_split() {
        assert_eq!(split("queue.nr_requests"), Some((HostSettingPlace::Queue, "nr_requests")));
        assert_eq!(split("queue.iosched.fifo_batch"), Some((HostSettingPlace::Queue, "iosched.fifo_batch")));
        assert_eq!(split("sysctl.vm.dirty_ratio"), Some((HostSettingPlace::Sysctl, "vm.dirty_ratio")));
        assert_eq!(
            split("module.qla2xxx.ql2xmaxqdepth"),
            Some((HostSettingPlace::Module, "qla2xxx.ql2xmaxqdepth"))
        );
        let long = format!("sysctl.{}", "a".repeat(200));
        for name in [
            "queue",
            "queue.",
            "queue../x",
            "queue...x",
            "queue.a/b",
            "sysctl.a b",
            "module.x",
            long.as_str(),
        ] {
            assert_eq!(split(name), None, "{name}");
        }
    }

    /// Proves that a name has one setting, however often it is read.
    #[test]
    fn a_name_has_one_setting() {
        let (first, again) = (host_setting("queue.rotational"), host_setting("queue.rotational"));
        assert!(std::ptr::eq(first.expect("first"), again.expect("again")));
    }
}

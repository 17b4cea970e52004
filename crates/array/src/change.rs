//! Change of single values of a resolved array, by their paths.

use crate::check::check;
use crate::description::Array;
use crate::drive::Drives;
use crate::node::Place;
use crate::parameter::Parameter;
use crate::problem::Problem;
use crate::section::{Key, Section};

/// Key of a section with its value.
fn of<'a, S: Section>(section: &'a mut S, name: &str) -> Option<(&'static Key, &'a mut Parameter)> {
    S::KEYS.iter().zip(section.values_mut()).find(|(key, _)| key.name == name)
}

/// Number in `groups[2]`.
fn index_of(step: &str, list: &str) -> Option<usize> {
    step.strip_prefix(list)?.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
}

impl Array {
    /// Key and value at a path as [`Array::sections`] gives them: `groups[0].drives.read_rate`.
    pub fn value_mut(&mut self, path: &str) -> Option<(&'static Key, &mut Parameter)> {
        let (section, key) = path.rsplit_once('.')?;
        match section {
            "hosts" => of(&mut self.hosts, key),
            "file_system" => of(self.file_system.as_mut()?, key),
            "fabric" => of(&mut self.fabric, key),
            "nodes" => of(self.nodes.as_mut()?, key),
            "nodes.network" => of(self.network.as_mut()?, key),
            "controllers" => of(&mut self.controllers, key),
            "cache" => of(&mut self.cache, key),
            "thin" => of(self.thin.as_mut()?, key),
            "reduction" => of(self.reduction.as_mut()?, key),
            "snapshots" => of(self.snapshots.as_mut()?, key),
            "drive_cache" => of(self.drive_cache.as_mut()?, key),
            "tier" => of(self.tier.as_mut()?, key),
            "mirror" => of(self.mirror.as_mut()?, key),
            "replication" => of(self.replication.as_mut()?, key),
            "rebuild" => of(&mut self.rebuild, key),
            "failover" => of(&mut self.failover, key),
            _ => self.listed_value_mut(section, key),
        }
    }

    fn listed_value_mut(&mut self, section: &str, key: &str) -> Option<(&'static Key, &mut Parameter)> {
        let (list, inner) = section.split_once('.').unwrap_or((section, ""));
        if let Some(index) = index_of(list, "groups") {
            let group = self.groups.get_mut(index)?;
            let drives = if group.is_per_node { "per_node" } else { "drives" };
            return match inner {
                "" => of(&mut group.keys, key),
                "backend" => of(group.backend.as_mut()?, key),
                "journal" => of(group.journal.as_mut()?, key),
                _ if inner != drives => None,
                _ if key == "count" => of(&mut group.count, key),
                _ => match &mut group.drives {
                    Drives::HardDisk(drive) => of(drive.as_mut(), key),
                    Drives::SolidState(drive) => of(drive.as_mut(), key),
                    Drives::FlashModule(drive) => of(drive.as_mut(), key),
                },
            };
        }
        if let Some(index) = index_of(list, "pools") {
            return of(&mut self.pools.get_mut(index).filter(|_| inner.is_empty())?.keys, key);
        }
        if let Some(index) = index_of(list, "slices") {
            return of(self.slices.get_mut(index).filter(|_| inner.is_empty())?, key);
        }
        if let Some(index) = index_of(list, "services") {
            return of(self.services.get_mut(index).filter(|_| inner.is_empty())?, key);
        }
        let volume = self.volumes.get_mut(index_of(list, "volumes")?)?;
        match inner {
            "" => of(&mut volume.keys, key),
            "limit" => of(volume.limit.as_mut()?, key),
            _ => None,
        }
    }

    /// The array with another value of a number; what cannot be is refused.
    pub fn with_value(&self, path: &str, value: u64) -> Result<Array, Problem> {
        let mut array = self.clone();
        let refuse = |message: String, hint: String| {
            Err(Problem { part: None, place: Place::default(), path: path.to_owned(), message, hint })
        };
        let Some((key, parameter)) = array.value_mut(path) else {
            return refuse(format!("there is no value `{path}`"), "see `arraylab check`".into());
        };
        let shown = |value: u64| key.kind.print(value, "");
        if !key.allows(value) {
            return refuse(
                format!("`{}` of {} is out of range", key.name, shown(value)),
                format!("it must be {} to {}", shown(key.least), shown(key.most)),
            );
        }
        parameter.value = value;
        parameter.text = key.kind.print_exactly(value);
        array.check()?;
        Ok(array)
    }

    /// Refuses what no array can have, with the path of its keys.
    pub fn check(&self) -> Result<(), Problem> {
        check(self).map_err(|refusal| Problem {
            part: None,
            place: Place::default(),
            path: refusal.path,
            message: refusal.message,
            hint: refusal.hint,
        })
    }
}

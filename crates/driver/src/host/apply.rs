//! Applying settings of the host.

use crate::Change;
use crate::host::attribute::{Attribute, HostRoots, read_value, same_value};
use crate::host::devices::queues_of;
use crate::host::journal::{Entry, Journal, StateDirectory};
use crate::host::recover::{PutBack, Recovered, put_back, recover_others};
use crate::host::{HostError, HostSetting};
use std::path::Path;

/// Settings of the host that this run has changed. Dropping it puts them back.
#[derive(Debug)]
pub struct HostSettings {
    roots: HostRoots,
    directory: StateDirectory,
    journal: Journal,
    entries: Vec<Entry>,
}

/// Result of applying settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Applied {
    /// Settings that were changed; those that had their value already are left out.
    pub changes: Vec<Change>,
    /// Devices built on others that have no such attribute of their own; the devices below them were set.
    pub skipped: Vec<String>,
    /// Module parameters that differ from the request. They are not set.
    pub mismatches: Vec<String>,
    /// Settings that were put back for runs that died meanwhile.
    pub recovered: Recovered,
}

struct TargetSettings {
    attribute: Attribute,
    value: String,
    /// Built on others, so it may do without.
    stacked: bool,
}

impl HostSettings {
    /// Puts back what dead runs left, and begins a journal in `state_directory` (see
    /// [`crate::host::default_state_directory`]).
    pub fn open(roots: HostRoots, state_directory: &Path) -> Result<(Self, Recovered), HostError> {
        let directory = StateDirectory::open(state_directory)?;
        let lock = directory.lock()?;
        let recovered = recover_others(&roots, directory.others(&roots, None)?)?;
        let journal = directory.create(&roots)?;
        drop(lock);
        Ok((HostSettings { roots, directory, journal, entries: Vec::new() }, recovered))
    }

    /// Makes `settings`, on `devices` (kernel names) and all devices below them. Earlier settings stay. If one
    /// cannot be made, everything that this run has changed is put back before the error is returned.
    pub fn apply(&mut self, settings: &[HostSetting], devices: &[String]) -> Result<Applied, HostError> {
        let result = self.try_apply(settings, devices);
        if result.is_err() {
            self.put_back_untold();
        }
        result
    }

    fn try_apply(&mut self, settings: &[HostSetting], devices: &[String]) -> Result<Applied, HostError> {
        let _lock = self.directory.lock()?;
        let mut applied = Applied::default();
        let wanted = self.wanted(settings, devices, &mut applied)?;
        let others = self.directory.others(&self.roots, Some(self.journal.path()))?;
        for other in others.iter().filter(|other| other.live) {
            let shared = |wanted: &&TargetSettings| {
                other.entries.iter().any(|entry| entry.attribute == wanted.attribute)
            };
            if let Some(wanted) = wanted.iter().find(shared) {
                return Err(HostError::InUse { name: wanted.attribute.name(), pid: other.pid });
            }
        }
        applied.recovered = recover_others(&self.roots, others)?;
        let mut made = Vec::new();
        for wanted in &wanted {
            match self.make(wanted) {
                Ok(change) => {
                    applied.changes.extend(change);
                    made.push(wanted);
                }
                Err(error) if wanted.stacked => {
                    applied.skipped.push(format!(
                        "{}: {}",
                        wanted.attribute.name(),
                        diagnostic::full_text(&error)
                    ));
                }
                Err(error) => return Err(error),
            }
        }
        // One setting may undo another.
        for wanted in made {
            let found = wanted.attribute.read(&self.roots)?;
            if !same_value(&found, &wanted.value) {
                return Err(not_taken(&self.roots, wanted, found));
            }
        }
        Ok(applied)
    }

    fn wanted(
        &self,
        settings: &[HostSetting],
        devices: &[String],
        applied: &mut Applied,
    ) -> Result<Vec<TargetSettings>, HostError> {
        let mut wanted: Vec<TargetSettings> = Vec::new();
        for setting in settings {
            match setting {
                HostSetting::Queue { attribute, value } => {
                    for device in devices {
                        for queue in queues_of(&self.roots, device)? {
                            let attribute =
                                Attribute::Queue { device: queue.kernel_name, attribute: attribute.clone() };
                            wanted.retain(|known| known.attribute != attribute);
                            wanted.push(TargetSettings {
                                attribute,
                                value: value.clone(),
                                stacked: queue.stacked,
                            });
                        }
                    }
                }
                HostSetting::Sysctl { name, value } => {
                    let attribute = Attribute::Sysctl { name: name.clone() };
                    wanted.retain(|known| known.attribute != attribute);
                    wanted.push(TargetSettings { attribute, value: value.clone(), stacked: false });
                }
                HostSetting::ModuleParameter { module, parameter, value } => {
                    let path =
                        self.roots.sysfs.join("module").join(module).join("parameters").join(parameter);
                    let found = read_value(&path);
                    let problem = match &found {
                        Ok(found) if same_value(switch(found), switch(value)) => continue,
                        Ok(found) => format!("is {found}, not {value}"),
                        Err(error) => {
                            format!("cannot be read, and should be {value} ({}: {error})", path.display())
                        }
                    };
                    applied.mismatches.push(format!(
                        "parameter {parameter} of module {module} {problem}; it is set when the module is loaded: `options {module} {parameter}={value}` in /etc/modprobe.d"
                    ));
                }
            }
        }
        // A new scheduler resets other attributes of the queue.
        wanted.sort_by_key(|wanted| !wanted.attribute.is_scheduler());
        Ok(wanted)
    }

    fn make(&mut self, wanted: &TargetSettings) -> Result<Option<Change>, HostError> {
        let TargetSettings { attribute, value, .. } = wanted;
        let before = attribute.read(&self.roots)?;
        if same_value(&before, value) {
            return Ok(None);
        }
        let dependents = if attribute.is_scheduler() { self.dependents(attribute) } else { vec![] };
        self.note(Entry {
            attribute: attribute.clone(),
            before: before.clone(),
            after: value.clone(),
            dependents,
        })?;
        attribute.write(&self.roots, value).map_err(|error| match error {
            // Linux answers so to a name that it does not know (block/elevator.c).
            HostError::Io { source, .. }
                if attribute.is_scheduler() && source.kind() == std::io::ErrorKind::InvalidInput =>
            {
                not_taken(&self.roots, wanted, before.clone())
            }
            error => error,
        })?;
        let found = attribute.read(&self.roots)?;
        if !same_value(&found, value) {
            // So that putting back knows the kernel's version of our value.
            if !same_value(&found, &before) {
                let entry =
                    Entry { attribute: attribute.clone(), before, after: found.clone(), dependents: vec![] };
                self.note(entry)?;
            }
            return Err(not_taken(&self.roots, wanted, found));
        }
        Ok(Some(Change::host(attribute.name(), Some(before), Some(found))))
    }

    fn note(&mut self, entry: Entry) -> Result<(), HostError> {
        self.journal.append(&entry)?;
        self.entries.push(entry);
        Ok(())
    }

    /// Returns the attributes that a change of the scheduler resets: the number of requests, the target of
    /// writeback throttling and the scheduler's own tunables (block/elevator.c, block/blk-wbt.c).
    fn dependents(&self, scheduler: &Attribute) -> Vec<(Attribute, String)> {
        let Attribute::Queue { device, .. } = scheduler else { return vec![] };
        let queue = self.roots.sysfs.join("block").join(device).join("queue");
        let mut tunables: Vec<String> = std::fs::read_dir(queue.join("iosched"))
            .into_iter()
            .flatten()
            .filter_map(|entry| Some(format!("iosched/{}", entry.ok()?.file_name().into_string().ok()?)))
            .collect();
        tunables.sort();
        ["nr_requests".to_owned(), "wbt_lat_usec".to_owned()]
            .into_iter()
            .chain(tunables)
            .filter_map(|attribute| {
                let dependent = Attribute::Queue { device: device.clone(), attribute };
                let value = dependent.read(&self.roots).ok()?;
                Some((dependent, value))
            })
            .collect()
    }

    /// Records that `device` is about to be mounted at `mount_point`, which exists. Putting settings back unmounts it,
    /// unless it was unmounted before; after `kill -9` the next run does.
    pub fn note_mount(&mut self, device: &Path, mount_point: &Path) -> Result<(), HostError> {
        let real = |path: &Path| {
            std::fs::canonicalize(path).map_err(|source| HostError::io("resolve", path, source))
        };
        let attribute = Attribute::Mount { mount_point: real(mount_point)? };
        let after = real(device)?.display().to_string();
        let _lock = self.directory.lock()?;
        self.note(Entry { attribute, before: String::new(), after, dependents: vec![] })
    }

    /// Puts everything back that this run has changed, last first, and forgets it.
    pub fn put_back(&mut self) -> Result<PutBack, HostError> {
        let _lock = self.directory.lock()?;
        let result = put_back(&self.roots, &self.entries);
        self.entries.clear();
        self.journal.clear()?;
        Ok(result)
    }

    /// Puts back where nobody can be told about problems: what could not be put back stays noted, for whoever puts
    /// back next. Whether nothing did.
    fn put_back_untold(&mut self) -> bool {
        let Ok(_lock) = self.directory.lock() else { return false };
        if !put_back(&self.roots, &self.entries).problems.is_empty() {
            return false;
        }
        self.entries.clear();
        self.journal.clear().is_ok()
    }
}

impl Drop for HostSettings {
    fn drop(&mut self) {
        if self.put_back_untold() {
            // An empty journal harms nobody; the next run removes it.
            let _ = self.journal.remove();
        }
    }
}

/// A number is rounded or limited; a scheduler is there or is not.
fn not_taken(roots: &HostRoots, setting: &TargetSettings, found: String) -> HostError {
    let (name, wanted) = (setting.attribute.name(), setting.value.clone());
    if setting.attribute.is_scheduler() {
        return HostError::NoSuchScheduler { name, wanted, choices: setting.attribute.choices(roots) };
    }
    HostError::NotTaken { name, wanted, found }
}

/// Modules show a switch as Y or N, and take 1 or 0.
fn switch(value: &str) -> &str {
    match value {
        "Y" | "y" => "1",
        "N" | "n" => "0",
        other => other,
    }
}

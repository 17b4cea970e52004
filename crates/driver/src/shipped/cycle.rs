//! The cycle of the RAID test in systems.md: delete the virtual disk, create it by level and drives, initialise it
//! in full, wait; skip the sets that the controller refuses.
//!
//! What it deletes: the virtual disk whose name is exactly the one that this driver with these options makes
//! ([`own_name`]), and one that the user named by its ID. It looks again immediately before it deletes.

use crate::error::MissingConsents;
use crate::names::{consent_id, own_name};
use crate::shipped::request::{Defaults, Request};
use crate::shipped::volume::{Creation, Permission, RoundedSize, Volume, VolumeState, VolumeTool};
use crate::{
    ArrayDriver, Change, CreatedDevice, DriverError, Options, Protection, Readiness, SetOutcome, Settings,
};
use diagnostic::{Problem, text_with_causes};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

/// The kernel needs this long, at most, to show a new virtual disk.
const DEVICE_TIMEOUT: Duration = Duration::from_secs(60);
/// A controller needs this long, at most, before it says that an initialisation has begun.
const SETTLE: Duration = Duration::from_secs(10);
const LOOK_PAUSE: Duration = Duration::from_millis(100);
/// Controllers round a size to whole stripes of whole megabytes.
const SIZE_TOLERANCE: u64 = 100;

/// A shipped driver: the vendor's tool, and the cycle around it.
pub(crate) struct Cycle<T> {
    driver: &'static str,
    tool: T,
    /// The name of the virtual disk that this driver makes.
    name: String,
    defaults: Defaults,
    consents: Vec<String>,
    protection: Box<dyn Protection>,
    device_timeout: Duration,
    settle: Duration,
    /// True if the virtual disk is deleted when the run ends (`at_end=delete`).
    deletes_at_end: bool,
    /// The settings of the virtual disk that this run made last.
    before: Option<Settings>,
}

impl<T: VolumeTool> Cycle<T> {
    pub(crate) fn new(
        driver: &'static str,
        place: &str,
        tool: T,
        mut options: Options,
        consents: Vec<String>,
        protection: Box<dyn Protection>,
    ) -> Result<Self, DriverError> {
        let defaults = Defaults::take(&mut options)?;
        let device_timeout = options.duration("device_timeout", DEVICE_TIMEOUT)?;
        let settle = options.duration("settle", SETTLE)?;
        let deletes_at_end = match options.take("at_end").as_deref() {
            None | Some("keep") => false,
            Some("delete") => true,
            Some(_) => {
                return Err(options
                    .problem("gives an at_end= that is not keep or delete", "for example at_end=delete"));
            }
        };
        options.finish(&format!(
            "{}, {}, at_end, tools, timeout, poll, ready_timeout, device_timeout, settle",
            place.split('=').next().unwrap_or_default(),
            Defaults::OPTIONS
        ))?;
        // Not the text: the next run may name a drive by another of its links.
        let keys: Vec<String> = defaults.drives.iter().map(|drive| protection.drive_key(drive)).collect();
        let name = own_name(driver, &format!("{place}\n{}", keys.join("+")));
        Ok(Cycle {
            driver,
            tool,
            name,
            defaults,
            consents,
            protection,
            device_timeout,
            settle,
            deletes_at_end,
            before: None,
        })
    }

    fn permission(&self) -> Permission<'_> {
        Permission { consents: &self.consents, protection: &*self.protection }
    }

    fn ours(&self) -> Result<Option<Volume>, DriverError> {
        self.ours_of(self.tool.list()?)
    }

    fn ours_of(&self, volumes: Vec<Volume>) -> Result<Option<Volume>, DriverError> {
        let mut ours: Vec<Volume> = volumes.into_iter().filter(|volume| volume.name == self.name).collect();
        if ours.len() > 1 {
            return Err(DriverError::Unexpected {
                what: format!("there are {} {}s named {}", ours.len(), T::NOUN, self.name),
                hint: "a name is how arraylab knows its own: delete or rename the others by hand",
            });
        }
        Ok(ours.pop())
    }

    /// Lists the virtual disks to delete: ours, and those of others on the requested drives, each of which needs
    /// the user's consent by its ID; one without consent is added to `missing`.
    fn in_the_way(
        &self,
        request: &Request,
        missing: &mut MissingConsents,
    ) -> Result<Vec<Volume>, DriverError> {
        let volumes = self.tool.list()?;
        let keys: Vec<String> = request.drives.iter().map(|drive| self.protection.drive_key(drive)).collect();
        let is_requested = |drive: &&String| keys.contains(&self.protection.drive_key(drive));
        let mut in_the_way = Vec::new();
        for volume in &volumes {
            let shared: Vec<&str> = volume.drives.iter().filter(is_requested).map(String::as_str).collect();
            if volume.name == self.name || shared.is_empty() {
                continue;
            }
            let id = self.foreign_id(volume);
            if !self.consents.contains(&id) {
                missing.collect(Err(DriverError::ConsentNeeded {
                    what: format!("{} {} `{}`", T::NOUN, volume.id, volume.name),
                    holds: format!(
                        "was not made by this driver and holds {} ({})",
                        if shared.len() == 1 {
                            "a drive that is asked for"
                        } else {
                            "drives that are asked for"
                        },
                        shared.join(", ")
                    ),
                    id,
                }))?;
            }
            in_the_way.push(volume.clone());
        }
        in_the_way.extend(self.ours_of(volumes)?);
        for drive in in_the_way.iter().flat_map(|volume| self.tool.overwritten_by_delete(volume)) {
            missing.collect(self.protection.check_consent(Path::new(drive), &self.consents))?;
        }
        Ok(in_the_way)
    }

    fn foreign_id(&self, volume: &Volume) -> String {
        let identity = format!(
            "{:?}\n{:?}\n{:?}\n{}\n{}",
            volume.identity,
            volume.size_bytes,
            volume.raid,
            volume.id,
            volume.drives.join("+")
        );
        consent_id(self.driver, &volume.name, &format!("{}\n{identity}", volume.name))
    }

    /// Deletes `volume` if it is still what it was when the list was read, and nobody uses it.
    fn delete(&self, volume: &Volume) -> Result<(), DriverError> {
        let changed = |what: &str| DriverError::Unexpected {
            what: format!("{} {} `{}` {what} meanwhile; it is not deleted", T::NOUN, volume.id, volume.name),
            hint: "does another program or person configure this array? let them finish first",
        };
        let now = self.tool.list()?;
        let again = now.iter().find(|v| v.id == volume.id).ok_or_else(|| changed("has gone"))?;
        let same = |a: &Volume, b: &Volume| {
            (&a.name, &a.identity, a.raid, a.size_bytes, &a.drives)
                == (&b.name, &b.identity, b.raid, b.size_bytes, &b.drives)
        };
        if !same(again, volume) {
            return Err(changed("has changed"));
        }
        if let Some(device) = &again.device {
            self.protection.check_unused(device)?;
        }
        self.tool.delete(again, &self.permission())?;
        if self.tool.list()?.iter().any(|v| v.id == volume.id && same(v, volume)) {
            return Err(DriverError::Unexpected {
                what: format!(
                    "the tool says that it deleted {} {}, and it is still there",
                    T::NOUN,
                    volume.id
                ),
                hint: "look at the array with the vendor's tool",
            });
        }
        Ok(())
    }

    /// That the array made what was asked for: it may round and it may fall back, and then the case would be
    /// reported under a setting that was not made.
    fn check_made(&self, request: &Request, volume: &Volume) -> Result<(), DriverError> {
        let differs = |what: &str, wanted: String, found: String| DriverError::Unexpected {
            what: format!("{} {} has {what} {found} where {wanted} was asked for", T::NOUN, volume.id),
            hint: T::DIFFERENCE_HINT,
        };
        if let Some(raid) = volume.raid.filter(|&raid| raid != request.raid) {
            return Err(differs("RAID level", request.raid.to_string(), raid.to_string()));
        }
        if !volume.drives.is_empty() && volume.drives.len() != request.drives.len() {
            return Err(differs(
                "a number of drives of",
                request.drives.len().to_string(),
                volume.drives.len().to_string(),
            ));
        }
        if let Some(bytes) = volume.segment_bytes.filter(|&bytes| bytes != request.segment_bytes) {
            return Err(differs("a segment of", request.segment_bytes.to_string(), bytes.to_string()));
        }
        if let Some(on) = volume.write_cache.filter(|&on| on != request.write_cache) {
            let word = |on: bool| if on { "on" } else { "off" }.to_owned();
            return Err(differs("the write cache", word(request.write_cache), word(on)));
        }
        if let (Some(wanted), Some(found)) = (request.size_bytes, volume.size_bytes)
            && found.abs_diff(wanted) > wanted / SIZE_TOLERANCE
        {
            return Err(differs("a size of", wanted.to_string(), found.to_string()));
        }
        Ok(())
    }

    /// The device of the new virtual disk, once the kernel shows it, and proof that it is this one: by its WWN where
    /// both sides know it, by its size otherwise.
    fn device(&self, volume: &Volume) -> Result<(CreatedDevice, Volume), DriverError> {
        let started = Instant::now();
        let mut volume = volume.clone();
        loop {
            let problem = match self.seen(&volume)? {
                Ok(path) => {
                    let id =
                        volume.identity.clone().unwrap_or_else(|| format!("{}-{}", volume.name, volume.id));
                    return Ok((CreatedDevice { path, id }, volume));
                }
                Err(problem) => problem,
            };
            if started.elapsed() >= self.device_timeout {
                return Err(DriverError::Unexpected {
                    what: format!("{} {}: {}", T::NOUN, volume.id, text_with_causes(&problem)),
                    hint: "does the host see the array's virtual disks at all? device_timeout= allows it more time",
                });
            }
            thread::sleep(LOOK_PAUSE.min(self.device_timeout));
            if let Some(again) = self.ours()? {
                volume = again;
            }
        }
    }

    fn seen(&self, volume: &Volume) -> Result<Result<PathBuf, Problem>, DriverError> {
        let Some(path) = &volume.device else {
            return Ok(Err(Problem::new("the tool names no device of the host for it")));
        };
        let (size_bytes, wwn) = match self.protection.identity(path) {
            Ok(found) => found,
            Err(error) => {
                let problem = format!("the host does not see it as {}", path.display());
                return Ok(Err(Problem::new(problem).caused_by(error)));
            }
        };
        if let (Some(made), Some(seen)) = (&volume.identity, &wwn)
            && is_naa(made)
            && !normal_wwn(seen).contains(&normal_wwn(made))
        {
            return Ok(Err(format!("{} has the WWN {seen}, not {made}", path.display()).into()));
        }
        if let Some(made) = volume.size_bytes.filter(|&made| made != size_bytes) {
            return Ok(Err(format!("{} has {size_bytes} bytes, not {made}", path.display()).into()));
        }
        Ok(Ok(path.clone()))
    }

    /// Starts the initialisation and waits until the array admits to it: asked too early, it would still say ready.
    fn initialise(&self, volume: &Volume) -> Result<(), DriverError> {
        self.tool.initialise(volume)?;
        let started = Instant::now();
        while self.tool.state(volume)? == VolumeState::Ready && started.elapsed() < self.settle {
            thread::sleep(LOOK_PAUSE.min(self.settle));
        }
        Ok(())
    }

    /// For error messages: what is there now.
    fn state_now(&self) -> String {
        match self.ours() {
            Ok(None) => format!("there is no {} {} now", T::NOUN, self.name),
            Ok(Some(volume)) => {
                format!("{} {} `{}` exists now ({})", T::NOUN, volume.id, volume.name, volume.state.shown())
            }
            Err(error) => format!("what is there now could not be read ({})", text_with_causes(&error)),
        }
    }

    fn at(&self, step: impl Into<String>) -> impl FnOnce(DriverError) -> DriverError {
        let (driver, step) = (self.driver, step.into());
        move |source| match source {
            // These are whole sentences about something that was not touched.
            DriverError::ConsentNeeded { .. }
            | DriverError::ConsentsNeeded { .. }
            | DriverError::Protected { .. } => source,
            source => DriverError::Step { driver, step, state: self.state_now(), source: Box::new(source) },
        }
    }
}

impl<T: VolumeTool + Send> ArrayDriver for Cycle<T> {
    fn set(&mut self, settings: &Settings) -> Result<SetOutcome, DriverError> {
        let mut request = match self.defaults.request(settings) {
            Ok(request) => request,
            Err(problem) => return Ok(SetOutcome::Refused { reason: text_with_causes(&problem) }),
        };
        if request.write_cache && !T::HAS_WRITE_CACHE {
            return Ok(SetOutcome::Refused { reason: format!("{} has no write cache", self.driver) });
        }
        if let Some(reason) = self.tool.unsupported(&request) {
            return Ok(SetOutcome::Refused { reason });
        }
        let mut missing = MissingConsents::default();
        let checked = self.tool.check_drives(&request, &self.permission());
        missing.collect(checked).map_err(self.at("looking at the drives"))?;
        let in_the_way =
            self.in_the_way(&request, &mut missing).map_err(self.at("looking for what is on the drives"))?;
        missing.finish()?;
        let mut notices = Vec::new();
        if let Some(wanted) = request.size_bytes
            && let Some(rounded) = self.tool.rounded_size(&request).map_err(self.at("rounding the size"))?
        {
            request.size_bytes = Some(rounded.bytes);
            notices.extend(rounding_notice(self.driver, wanted, rounded));
        }
        let before = self.before.take();
        for volume in &in_the_way {
            self.delete(volume).map_err(self.at(format!(
                "deleting {} {} `{}`",
                T::NOUN,
                volume.id,
                volume.name
            )))?;
        }
        let create = format!("creating {} ({})", T::NOUN, request.shown());
        match self.tool.create(&self.name, &request, &self.permission()).map_err(self.at(&create))? {
            Creation::Created => {}
            Creation::Refused(reason) => {
                // A tool may say no and leave something behind.
                if let Some(left) = self.ours().map_err(self.at(&create))? {
                    return Err(self.at(&create)(DriverError::Unexpected {
                        what: format!(
                            "the array refused ({reason}) and made {} {} all the same",
                            T::NOUN,
                            left.id
                        ),
                        hint: "look at the array with the vendor's tool",
                    }));
                }
                return Ok(SetOutcome::Refused { reason });
            }
        }
        let missing = || DriverError::Unexpected {
            what: format!("the tool says that it made {} {}, and it is not there", T::NOUN, self.name),
            hint: "look at the array with the vendor's tool",
        };
        let volume = self.ours().and_then(|found| found.ok_or_else(missing)).map_err(self.at(&create))?;
        self.check_made(&request, &volume).map_err(self.at(&create))?;
        let (device, volume) = self.device(&volume).map_err(self.at(format!(
            "finding the device of {} {}",
            T::NOUN,
            volume.id
        )))?;
        if T::INITIALISES {
            self.initialise(&volume).map_err(self.at(format!("initialising {} {}", T::NOUN, volume.id)))?;
        }
        let mut made = Settings::new();
        made.insert("raid".into(), request.raid.into());
        made.insert("disks".into(), request.drives.len().into());
        made.insert("segment".into(), request.segment_bytes.into());
        if T::HAS_WRITE_CACHE {
            made.insert("write_cache".into(), if request.write_cache { "on" } else { "off" }.into());
        }
        if let Some(size_bytes) = volume.size_bytes {
            made.insert("size".into(), size_bytes.into());
        }
        let changes = made
            .iter()
            .filter(|(name, value)| before.as_ref().and_then(|before| before.get(*name)) != Some(*value))
            .map(|(name, value)| {
                let before = before.as_ref().and_then(|before| before.get(name)).map(crate::array::shown);
                Change::array(name, before, Some(crate::array::shown(value)))
            })
            .collect();
        self.before = Some(made);
        Ok(SetOutcome::Made { devices: vec![device], changes, notices })
    }

    fn ready(&mut self) -> Result<Readiness, DriverError> {
        let step = || format!("asking whether {} {} is ready", T::NOUN, self.name);
        let missing = || DriverError::Unexpected {
            what: format!("there is no {} {}", T::NOUN, self.name),
            hint: "was it deleted by somebody else?",
        };
        let volume = self.ours().and_then(|found| found.ok_or_else(missing)).map_err(self.at(step()))?;
        match self.tool.state(&volume).map_err(self.at(step()))? {
            VolumeState::Ready => Ok(Readiness::Ready),
            VolumeState::Unusable(state) => Err(DriverError::Unexpected {
                what: format!("{} {} `{}` is {state}", T::NOUN, volume.id, volume.name),
                hint: "it will not become ready by itself; look at its drives",
            }),
            busy => Ok(Readiness::Busy(busy.progress().unwrap_or_default())),
        }
    }

    fn status(&mut self) -> Result<Value, DriverError> {
        let volumes = self.tool.list().map_err(self.at("reading the status"))?;
        let volumes: Vec<Value> = volumes
            .iter()
            .map(|volume| {
                let mut entry = json!(volume);
                entry["ours"] = json!(volume.name == self.name);
                entry
            })
            .collect();
        Ok(json!({ "driver": self.driver, "name": self.name, "volumes": volumes }))
    }

    fn event(&mut self, name: &str, _arguments: &Settings) -> Result<(), DriverError> {
        Err(DriverError::Refused {
            what: format!("event `{name}`"),
            reason: format!("the {} driver knows no events", self.driver),
        })
    }

    fn finish(&mut self) -> Result<Vec<Change>, DriverError> {
        // One that an earlier run left is not this run's to delete.
        let Some(made) = self.before.take().filter(|_| self.deletes_at_end) else { return Ok(Vec::new()) };
        let step = format!("deleting {} {} at the end", T::NOUN, self.name);
        let Some(volume) = self.ours().map_err(self.at(&step))? else { return Ok(Vec::new()) };
        self.delete(&volume).map_err(self.at(&step))?;
        Ok(made
            .iter()
            .map(|(name, value)| Change::array(name, Some(crate::array::shown(value)), None))
            .collect())
    }
}

/// Says that a size is not the one that was asked for.
fn rounding_notice(driver: &str, asked_bytes: u64, rounded: RoundedSize) -> Option<String> {
    let RoundedSize { bytes, unit_bytes } = rounded;
    (bytes != asked_bytes).then(|| {
        format!(
            "{driver}: size={} is made as {}, a multiple of {}",
            units::human_bytes(asked_bytes),
            units::human_bytes(bytes),
            units::human_bytes(unit_bytes)
        )
    })
}

/// NAA identifiers of 64 or 128 bits, as hexadecimal digits (SPC-4, 7.8.6.6).
fn is_naa(text: &str) -> bool {
    let digits = normal_wwn(text);
    matches!(digits.len(), 16 | 32) && digits.chars().all(|c| c.is_ascii_hexdigit())
}

fn normal_wwn(text: &str) -> String {
    let lower = text.trim().to_ascii_lowercase();
    lower.trim_start_matches("naa.").trim_start_matches("wwn-").trim_start_matches("0x").to_owned()
}

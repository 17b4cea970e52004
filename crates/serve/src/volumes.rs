//! Volumes of a served array that are made, initialised, resized and deleted while others are used: the bytes, the
//! exports and the model, in an order in which a crash leaves the state before or after.

use crate::array::ServedArray;
use crate::chains::chains_of;
use crate::controlled::{Controlled, failed, refuse};
use crate::event_names::{LIMIT, TEMPLATE};
use crate::events::VolumeOrder;
use crate::opening::prefer_by_template;
use crate::paced::KnownVolume;
use crate::reported_losses::lost_drives;
use crate::thin::free_bytes;
use diagnostic::{full_text, text_with_causes};
use driver::protocol::{ErrorKind, ResponseError};
use serde_json::{Map, Value, json};
use std::sync::PoisonError;
use twin::Limit;
use volume::{MapError, MappedVolume, Volume, VolumeChange, VolumeMap};

/// Returns how many pieces of a volume lie on drives of each class; nothing where there is one class only.
pub(crate) fn pieces_by_class(volume: &Volume, array: &ServedArray, mapped: &MappedVolume) -> Value {
    let Some(chains) = chains_of(array) else { return Value::Null };
    let mut classes = Map::new();
    for run in &mapped.runs {
        for (drive, pieces) in volume.pieces_of(run).into_iter().enumerate() {
            let place = chains.node_drive(drive as u32);
            let class = place.map_or("", |place| chains.groups[place.group].name());
            let before = classes.get(class).and_then(Value::as_u64).unwrap_or(0);
            classes.insert(class.to_owned(), (before + pieces).into());
        }
    }
    Value::Object(classes)
}

/// The volumes as the model is told of them.
/// `number_of` knows the numbers by which requests name them.
pub(crate) fn known(
    array: &ServedArray,
    map: &VolumeMap,
    number_of: &dyn Fn(&str) -> Option<u32>,
) -> Vec<KnownVolume> {
    let described = array.volumes();
    let chains = chains_of(array);
    let volumes = map.volumes().iter().filter_map(|mapped| {
        let number = number_of(&mapped.name)?;
        let is_as_described = described
            .iter()
            .any(|(name, size_bytes)| *name == mapped.name && *size_bytes == mapped.size_bytes);
        let named = |volume: &&array::Volume| volume.keys.name.text == mapped.name;
        let own = chains.and_then(|array| array.volumes.iter().find(named));
        let modelled = own.filter(|_| is_as_described).map(|volume| volume.keys.size.get());
        Some(KnownVolume {
            number,
            name: mapped.name.clone(),
            size_bytes: mapped.size_bytes,
            modelled_bytes: modelled.unwrap_or(mapped.size_bytes),
            template: mapped.attributes.get(TEMPLATE).and_then(Value::as_str).map(str::to_owned),
            limit: mapped
                .attributes
                .get(LIMIT)
                .and_then(|limit| serde_json::from_value::<Limit>(limit.clone()).ok()),
        })
    });
    volumes.collect()
}

/// Answer to an order about a volume: its size, null where it is gone, and what is free now.
fn answer(volume: &Volume, map: &VolumeMap, name: &str) -> Value {
    let size_bytes = map.find(name).ok().map(|volume| volume.size_bytes);
    json!({"volume": name, "size_bytes": size_bytes, "free_bytes": free_bytes(volume, map)})
}

fn refused(error: &MapError) -> ResponseError {
    refuse(ErrorKind::Refused, error.to_string())
}

impl Controlled {
    /// Carries out an order; the name of the volume it was about.
    pub(crate) fn order(&self, order: &VolumeOrder) -> Result<Value, ResponseError> {
        let _alone = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let volume = self.live.volume().ok_or_else(|| refuse(ErrorKind::Failed, "the power is off"))?;
        let before = volume.volume_map().ok_or_else(|| refuse(ErrorKind::Failed, "the array has no map"))?;
        let change = match order {
            VolumeOrder::Initialise { name } => return self.initialise(&volume, &before, name),
            VolumeOrder::Create { name, size_bytes, template } => VolumeChange::Create {
                name: name.clone().unwrap_or_else(|| before.free_name()),
                size_bytes: *size_bytes,
                attributes: self.attributes(template.as_deref())?,
            },
            VolumeOrder::Resize { name, size_bytes } => {
                VolumeChange::Resize { name: name.clone(), size_bytes: *size_bytes }
            }
            VolumeOrder::Delete { name } => VolumeChange::Delete { name: name.clone() },
        };
        let planned = before.plan(&change).map_err(|error| refused(&error))?;
        let takes_away = match order {
            VolumeOrder::Delete { .. } => true,
            VolumeOrder::Resize { name, size_bytes } => {
                before.find(name).is_ok_and(|volume| *size_bytes < volume.size_bytes)
            }
            _ => false,
        };
        let after = planned.map().clone();
        if takes_away {
            // From here on nobody uses what is to be given back.
            self.exports.adopt(&after);
            self.server.drop_gone();
        }
        let outcome = if takes_away { self.update_model(&after) } else { Ok(()) };
        let outcome = outcome.and_then(|()| volume.change_volumes(&planned).map_err(|error| failed(&error)));
        let outcome = outcome.and_then(|()| {
            self.exports.adopt(&after);
            if takes_away {
                return Ok(());
            }
            self.update_model(&after).inspect_err(|_| {
                self.exports.adopt(&before);
                // If that fails as well the record says so, and is read below.
                let _ = volume.change_volumes(&planned.undo(before.clone()));
            })
        });
        if let Err(error) = outcome {
            // What the record says now is what counts.
            let map = volume.volume_map().unwrap_or(before);
            self.exports.adopt(&map);
            let _ = self.update_model(&map);
            return Err(error);
        }
        prefer_by_template(&volume, &self.live.array, &after);
        self.live.wake();
        let name = match change {
            VolumeChange::Create { name, .. }
            | VolumeChange::Resize { name, .. }
            | VolumeChange::Delete { name }
            | VolumeChange::Keep { name, .. } => name,
        };
        Ok(answer(&volume, &after, &name))
    }

    fn initialise(&self, volume: &Volume, map: &VolumeMap, name: &str) -> Result<Value, ResponseError> {
        let mapped = map.find(name).map_err(|error| refused(&error))?;
        for run in &mapped.runs {
            volume.clear(run).map_err(|error| failed(&error))?;
        }
        if let Some(number) = mapped.thin {
            let size_bytes = mapped.size_bytes;
            let thin = volume.thin_volume(number, size_bytes).map_err(|error| failed(&error))?;
            thin.write_zeroes(0, size_bytes, true, false).map_err(|error| failed(&error))?;
        }
        volume.flush().map_err(|error| failed(&error))?;
        Ok(answer(volume, map, name))
    }

    /// Returns what is kept with a new volume.
    fn attributes(&self, template: Option<&str>) -> Result<Map<String, Value>, ResponseError> {
        match (template, self.templates().first()) {
            (None, None) => Ok(Map::new()),
            (None, Some(first)) => Ok(Map::from_iter([(TEMPLATE.to_owned(), Value::from(*first))])),
            (Some(template), _) => {
                self.check_template(template)?;
                Ok(Map::from_iter([(TEMPLATE.to_owned(), Value::from(template))]))
            }
        }
    }

    /// Checks that the array has such a template.
    pub(crate) fn check_template(&self, template: &str) -> Result<(), ResponseError> {
        let names = self.templates();
        if names.contains(&template) {
            return Ok(());
        }
        let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
        Err(refuse(ErrorKind::Refused, format!("there is no template `{template}`; there are {known}")))
    }

    fn templates(&self) -> Vec<&str> {
        let pools = chains_of(&self.live.array).map_or(&[][..], |array| &array.pools);
        pools.iter().map(|pool| pool.keys.name.text.as_str()).collect()
    }

    /// Keeps a volume's limit or template with it, so that it is there after the next start.
    pub(crate) fn keep(&self, name: &str, key: &str, value: Value) -> Result<(), ResponseError> {
        let _alone = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        let volume = self.live.volume().ok_or_else(|| refuse(ErrorKind::Failed, "the power is off"))?;
        let map = volume.volume_map().ok_or_else(|| refuse(ErrorKind::Failed, "the array has no map"))?;
        let change = VolumeChange::Keep { name: name.to_owned(), key: key.to_owned(), value };
        let planned = map.plan(&change).map_err(|error| refused(&error))?;
        volume.change_volumes(&planned).map_err(|error| failed(&error))?;
        if key == TEMPLATE {
            prefer_by_template(&volume, &self.live.array, planned.map());
            self.live.wake();
        }
        Ok(())
    }

    /// The model has these volumes from now on.
    fn update_model(&self, map: &VolumeMap) -> Result<(), ResponseError> {
        let Some(pacer) = &self.pacer else { return Ok(()) };
        let number_of = |name: &str| self.exports.volume(name).map(|volume| volume.number);
        let known = known(&self.live.array, map, &number_of);
        let lost = lost_drives(&self.live);
        let outcome = pacer.ask(move |paced| paced.volumes_are(known, &lost));
        outcome
            .map_err(|problem| refuse(ErrorKind::Failed, full_text(&problem)))?
            .map_err(|error| refuse(ErrorKind::Refused, text_with_causes(&error)))
    }

    /// After a power cut: the volumes are those of the record.
    pub(crate) fn read_volumes_again(&self) {
        let _alone = self.changes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(map) = self.live.volume().and_then(|volume| volume.volume_map()) {
            self.exports.adopt(&map);
            self.server.drop_gone();
        }
    }
}

//! Everything about a served array, as `status` has it.

use crate::bounds::{self, bounds};
use crate::chains::services;
use crate::conditions::redundancy;
use crate::controlled::{Controlled, refuse};
use crate::paced::{Paced, TwinSpec};
use crate::stopped_services::stopped_services;
use crate::thin::{allocated_bytes, free_bytes, pool_status};
use crate::volumes::pieces_by_class;
use diagnostic::full_text;
use driver::protocol::{ErrorKind, Ready, ResponseError};
use serde_json::{Value, json};
use twin::TwinCounter;
use volume::DriveCondition;

impl Controlled {
    pub(crate) fn ready(&self) -> Ready {
        let background = self.live.background().clone();
        let Some(volume) = self.live.volume() else {
            return Ready { ready: false, progress_percent: None, message: "the power is off".to_owned() };
        };
        let is_whole = volume.status().drives.iter().all(|drive| drive.condition == DriveCondition::Present);
        let rebuild = background.rebuild.filter(|rebuild| !rebuild.is_complete);
        let percent = rebuild.map(|rebuild| rebuild.done_stripes as f64 / rebuild.stripes as f64 * 100.0);
        let message = if is_whole { "whole" } else { "degraded or rebuilding" };
        Ready { ready: is_whole, progress_percent: percent, message: message.to_owned() }
    }

    pub(crate) fn status(&self) -> Result<Value, ResponseError> {
        let live = &self.live;
        let volume = live.volume().ok_or_else(|| refuse(ErrorKind::Failed, "the power is off"))?;
        let exports: Vec<Value> = self
            .exports
            .sizes()
            .into_iter()
            .map(|(name, size)| json!({"name": name, "size_bytes": size}))
            .collect();
        let map = volume.volume_map();
        let bytes = volume.clone();
        let layout = &live.array.spec.layout;
        let background = live.background().clone();
        let mut parts_of_drives = None;
        let model = match &self.pacer {
            None => Value::Null,
            Some(pacer) => {
                let speed = pacer.speed_millionths() as f64 / load::REAL_SPEED as f64;
                let places = layout.drives();
                let requested =
                    pacer.ask(move |paced| (model_status(paced, speed), paced.model.parts_of_drives(places)));
                let (mut model, parts) =
                    requested.map_err(|problem| refuse(ErrorKind::Failed, full_text(&problem)))?;
                parts_of_drives = Some(parts);
                model["bounds"] =
                    live.array.twin.as_ref().map_or(Value::Null, |twin| bounds(&twin.description));
                model
            }
        };
        let stopped = stopped_services(&volume);
        let stopped: Vec<&str> = stopped.iter().map(String::as_str).collect();
        // Untimed no spare has another number than its place.
        let described = |twin: &TwinSpec| bounds::parts_of_drives(&twin.description, layout.drives() as u16);
        let parts_of_drives = parts_of_drives.or_else(|| live.array.twin.as_ref().map(described));
        let volumes: Vec<Value> = self
            .exports
            .volumes()
            .iter()
            .map(|volume| {
                let mapped = map.as_ref().and_then(|map| map.find(&volume.name).ok());
                json!({
                    "name": volume.name,
                    "size_bytes": volume.size_bytes(),
                    "served": volume.tally.read(),
                    "runs": mapped.map_or(0, |mapped| mapped.runs.len()),
                    "kept": mapped.map(|mapped| &mapped.attributes),
                    "allocated_bytes": mapped.and_then(|mapped| allocated_bytes(&bytes, mapped)),
                    "replicas": mapped.map(|mapped| redundancy(&bytes, live, mapped)),
                    "pieces": mapped.map(|mapped| pieces_by_class(&bytes, &live.array, mapped)),
                })
            })
            .collect();
        Ok(json!({
            "array": live.array.name,
            "title": live.array.title,
            "settings": live.array.settings,
            "layout": {
                "drives": layout.drives(),
                "data_members": layout.data_members(),
                "members": layout.members(),
                "segment_bytes": layout.segment_bytes(),
                "drives_it_may_lose": live.tolerance(),
            },
            "volume": volume.status(),
            "volumes": volumes,
            "free_bytes": map.as_ref().map(|map| free_bytes(&bytes, map)),
            "pool": map.as_ref().map(|map| pool_status(&bytes, map)),
            "model": model,
            "services": live.array.twin.as_ref().map_or(Value::Null, |twin| services(&twin.description, &stopped)),
            "parts_of_drives": parts_of_drives,
            "spares": live.array.spares,
            "exports": exports,
            "connections": self.server.connections(),
            "relocated_pieces": bytes.relocated_pieces(),
            "background": background,
        }))
    }
}

/// Returns what the array's time comes from, at this moment.
fn model_status(paced: &mut Paced<'_>, speed: f64) -> Value {
    let limits: Vec<Value> = paced
        .model
        .limits()
        .into_iter()
        .map(|(name, limit, waiting)| json!({"volume": name, "limit": limit, "held_back": waiting}))
        .collect();
    let mut parts = serde_json::Map::new();
    for TwinCounter { entity, name, value } in paced.model.counters() {
        let part = parts.entry(entity).or_insert_with(|| json!({}));
        part[name] = value.into();
    }
    json!({
        "speed": speed,
        "clock_ns": paced.now_ns,
        "settings": paced.model.settings(),
        "under_way": paced.under_way,
        "lateness": paced.lateness,
        "limits": limits,
        "parts": parts,
        "notes": paced.model.recent_notes(),
    })
}

//! Scheduled events of a replicated system: limits, templates, services and drives.

use load::Direction;
use serde_json::{Map, Value};

use super::model_event::{ModelEvent, ReplicaOf};
use super::placement::{Drives, Place};
use super::relocation::Move;
use super::request::{Owner, Request};
use super::services::NodeService;
use super::settings::{self, Settings};
use super::{COPIES, Description, Model, report};
use crate::TwinError;
use crate::composed::limit::{Limit, rate};
use crate::settings::bad;

/// Events that the system knows.
const KNOWN: &str =
    "limit, template, drive-failure, drive-replacement, drive-slow, service-stop and service-start";

const DRIVE_FAILURE: &str = "drive-failure";
const SERVICE_STOP: &str = "service-stop";
const SERVICE_START: &str = "service-start";

/// Returns whether replicas do not serve after an action.
pub(super) fn takes_replicas(action: &str) -> bool {
    matches!(action, DRIVE_FAILURE | SERVICE_STOP)
}

/// A planned event, checked.
#[derive(Debug, Clone)]
pub(crate) enum ScheduledEvent {
    /// Parts of a volume's limit are set or lifted.
    Limit { volume: u32, changes: Vec<(String, Option<f64>)> },
    /// A volume gets another template.
    Template { volume: u32, template: usize },
    /// A drive is lost.
    DriveFailure { drive: u32 },
    /// An empty drive takes the place of a lost one.
    DriveReplacement { drive: u32 },
    /// A service of a node starts or stops.
    Service { service: NodeService, runs: bool },
}

impl ScheduledEvent {
    /// Reads what an event is told. Without `volume` it is about the volume under load.
    pub fn new(
        description: &Description,
        settings: &Settings,
        drives: &Drives,
        action: &str,
        arguments: &Map<String, Value>,
    ) -> Result<Self, TwinError> {
        let volume = match arguments.get("volume") {
            Some(value) => settings::volume(description, "volume", value)?,
            None => settings.volume,
        };
        let allowed: &[&str] = match action {
            "limit" => &["volume", "iops", "iops_per_gib", "bw_bytes_per_s", "bw_bytes_per_s_per_gib"],
            "template" => &["volume", "template"],
            DRIVE_FAILURE | "drive-replacement" => &["drive"],
            SERVICE_STOP | SERVICE_START => &["service"],
            _ => {
                return Err(TwinError::UnknownEvent { event: action.to_owned(), known: KNOWN.to_owned() });
            }
        };
        if let Some((name, value)) = arguments.iter().find(|(name, _)| !allowed.contains(&name.as_str())) {
            let takes = format!("no place in `{action}`, which is told {}", allowed.join(", "));
            return Err(bad(name, value, &takes));
        }
        match action {
            "limit" => {
                let mut changes = Vec::new();
                for (name, value) in arguments.iter().filter(|(name, _)| name.as_str() != "volume") {
                    changes.push((name.clone(), rate(name, value)?));
                }
                Ok(ScheduledEvent::Limit { volume, changes })
            }
            "template" => {
                let value = arguments.get("template").unwrap_or(&Value::Null);
                let names = description.templates.iter().map(|template| template.name.as_str());
                match names.clone().position(|name| Some(name) == value.as_str()) {
                    Some(template) => Ok(ScheduledEvent::Template { volume, template }),
                    None => Err(bad("template", value, &names.collect::<Vec<_>>().join(", "))),
                }
            }
            SERVICE_STOP | SERVICE_START => {
                let value = arguments.get("service").unwrap_or(&Value::Null);
                let service = NodeService::parse(description, value)?;
                Ok(ScheduledEvent::Service { service, runs: action == SERVICE_START })
            }
            _ => {
                let of = |drive| match action {
                    DRIVE_FAILURE => ScheduledEvent::DriveFailure { drive },
                    _ => ScheduledEvent::DriveReplacement { drive },
                };
                let Some(value) = arguments.get("drive") else { return Ok(of(0)) };
                match report::find_drive(drives, value) {
                    Some(drive) => Ok(of(drive)),
                    None => Err(bad("drive", value, "the name of a drive, as in node-0/hdd-3")),
                }
            }
        }
    }
}

impl Model {
    /// A planned event takes place.
    pub(super) fn carry_out(&mut self, index: u32) {
        match self.planned[index as usize].clone() {
            ScheduledEvent::Limit { volume, changes } => self.change_limit(volume, &changes),
            ScheduledEvent::Template { volume, template } => {
                let name = self.description.templates[template].name.clone();
                let state = &mut self.volumes[volume as usize];
                state.template = template;
                state.classes = self.description.templates[template].classes();
                let says = format!("volume `{}` gets the template `{name}`", state.name);
                self.note(says);
                self.restart_relocation();
            }
            ScheduledEvent::DriveFailure { drive } => {
                self.placement.availability.fail(drive);
                let name = report::drive_name(&self.placement.drives, drive);
                self.note(format!("{name} has failed"));
                self.restart_relocation();
            }
            ScheduledEvent::DriveReplacement { drive } => self.replace_drive(drive),
            ScheduledEvent::Service { service, runs } => self.run_service(service, runs),
        }
    }

    fn change_limit(&mut self, volume: u32, changes: &[(String, Option<f64>)]) {
        let state = &mut self.volumes[volume as usize];
        for (name, value) in changes {
            if let Some(part) = state.limit.part_mut(name) {
                *part = *value;
            }
        }
        if self.settings.on.limits {
            state.limiter.set(&state.limit, state.bytes);
        }
        let says = format!("limit of volume `{}`: {}", state.name, in_words(&state.limit));
        self.note(says);
        self.admit(volume);
    }

    /// Looks for objects that do not lie as they should, and begins to move them.
    pub(super) fn restart_relocation(&mut self) {
        for index in 0..self.relocation.streams.len() {
            // A chunk that is under way still comes to its end, and then finds that there is nothing to it.
            if let Some(moving) = self.relocation.streams[index].current.take() {
                self.placement.abandon(moving.volume, moving.object, moving.places);
            }
        }
        self.relocation.queue.clear();
        self.relocation.unplaced = 0;
        for volume in 0..self.volumes.len() as u32 {
            let classes = self.volumes[volume as usize].classes;
            for object in 0..self.placement.objects(volume) {
                let fits = self.placement.fits(volume, object, classes);
                if !fits || self.placement.can_catch_up(volume, object) {
                    self.relocation.queue.push_back((volume, object));
                }
            }
        }
        self.relocation.is_under_way = !self.relocation.queue.is_empty();
        if !self.relocation.is_under_way {
            return;
        }
        self.note(format!("{} objects begin to move", self.relocation.queue.len()));
        for stream in 0..self.relocation.streams.len() as u32 {
            let state = &mut self.relocation.streams[stream as usize];
            if !state.is_busy {
                state.is_busy = true;
                self.queue.push(self.now_ns, ModelEvent::Relocate(stream).pack());
            }
        }
    }

    /// A stream copies its next chunk, of the next object where one is done.
    pub(super) fn relocate(&mut self, stream: u32) {
        let index = stream as usize;
        if let Some(moving) = self.relocation.streams[index].current
            && moving.next_byte >= self.object_bytes
        {
            self.relocation.streams[index].current = None;
            for target in &moving.targets[..moving.target_count as usize] {
                self.placement.availability.forget(target.drive, moving.volume, moving.object);
            }
            self.placement.commit(moving.volume, moving.object, moving.places);
        }
        if self.relocation.streams[index].current.is_none() {
            self.relocation.streams[index].current = self.next_move();
        }
        let Some(moving) = self.relocation.streams[index].current else {
            self.rest(index);
            return;
        };
        let length_bytes = self.relocation.chunk_bytes.min(self.object_bytes - moving.next_byte);
        let host = self.placement.drives.drive_slot(moving.source.drive).node;
        let request = self.begin_request(Request {
            owner: Owner::Stream(stream),
            direction: Direction::Read,
            offset_bytes: moving.next_byte,
            length_bytes: length_bytes as u32,
            places: [moving.source; COPIES],
            replicas: 1,
            answers_left: 1,
            host,
        });
        self.send(host, ReplicaOf { request, replica: 0 });
    }

    /// A stream has nothing left to do; the last one says so.
    fn rest(&mut self, stream: usize) {
        self.relocation.streams[stream].is_busy = false;
        if self.relocation.is_under_way && self.relocation.streams.iter().all(|stream| !stream.is_busy) {
            self.relocation.is_under_way = false;
            self.note(match self.relocation.unplaced {
                0 => "all objects lie where they should".to_owned(),
                some => format!("objects have moved; {some} find no drives"),
            });
        }
    }

    /// The next object that has to move and can.
    fn next_move(&mut self) -> Option<Move> {
        while let Some((volume, object)) = self.relocation.queue.pop_front() {
            let classes = self.volumes[volume as usize].classes;
            let old = *self.placement.places(volume, object);
            let Some(&source) = old.iter().rev().find(|place| self.placement.serves(place, volume, object))
            else {
                self.relocation.unplaced += 1;
                continue;
            };
            let Some(places) = self.placement.plan(volume, object, classes) else {
                self.relocation.unplaced += 1;
                continue;
            };
            let mut targets = [Place { drive: 0, slot: 0 }; COPIES];
            let mut target_count = 0;
            let availability = &self.placement.availability;
            let lacks = |place: &&Place| {
                !old.contains(place) || availability.can_catch_up(place.drive, volume, object)
            };
            for place in places.iter().filter(lacks) {
                targets[target_count] = *place;
                target_count += 1;
            }
            if target_count == 0 {
                // Only the order of the replicas changes.
                self.placement.commit(volume, object, places);
                continue;
            }
            let target_count = target_count as u32;
            return Some(Move { volume, object, source, places, targets, target_count, next_byte: 0 });
        }
        None
    }

    /// A replica of a background request has the data, or has it read.
    pub(super) fn background_stored(&mut self, of: ReplicaOf) {
        let request = *self.requests.get(of.request);
        let Owner::Stream(stream) = request.owner else {
            if self.is_last_answer(of.request) {
                self.requests.take(of.request);
            }
            return;
        };
        // A stream without a move has been told to begin anew while this chunk was under way.
        let moving = self.relocation.streams[stream as usize].current;
        if let (Direction::Read, Some(moving)) = (request.direction, moving) {
            let write = self.requests.get_mut(of.request);
            write.direction = Direction::Write;
            write.places = moving.targets;
            write.replicas = moving.target_count;
            write.answers_left = moving.target_count;
            for replica in 0..moving.target_count {
                self.send(request.host, ReplicaOf { request: of.request, replica });
            }
            return;
        }
        if request.direction == Direction::Write && !self.is_last_answer(of.request) {
            return;
        }
        self.requests.take(of.request);
        let length_bytes = u64::from(request.length_bytes);
        if let Some(moving) = &mut self.relocation.streams[stream as usize].current {
            moving.next_byte += length_bytes;
            self.volumes[moving.volume as usize].moved_bytes += length_bytes;
        }
        let at_ns = self.relocation.next_start_ns(self.now_ns);
        self.queue.push(at_ns, ModelEvent::Relocate(stream).pack());
    }
}

fn in_words(limit: &Limit) -> String {
    let parts = [
        (limit.iops, "I/Os a second"),
        (limit.iops_per_gib, "I/Os a second for each GiB"),
        (limit.bw_bytes_per_s, "bytes a second"),
        (limit.bw_bytes_per_s_per_gib, "bytes a second for each GiB"),
    ];
    let given: Vec<_> =
        parts.iter().filter_map(|(value, unit)| Some(format!("{} {unit}", (*value)?))).collect();
    if given.is_empty() { "none".to_owned() } else { given.join(", ") }
}

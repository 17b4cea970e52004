//! Scheduled events of chains of replicas: limits, pools of volumes, services and drives.

use load::Direction;
use serde_json::{Map, Value};

use super::super::limit::{Limit, rate};
use super::event::{ChainEvent, ReplicaOf};
use super::placement::Place;
use super::relocation::Move;
use super::request::{Owner, Request};
use super::row::Row;
use super::services::NodeService;
use super::{Chain, ChainView};
use crate::availability::{FAILOVER_REMEDY, NODE, no_controllers};
use crate::settings::{bad, numbered};
use crate::{Event, TwinError};

/// Remedy where a plan asks for what chains of replicas are not modelled with.
const PATH_REMEDY: &str = "it needs pools with `path: primary`";

/// A planned event, checked.
#[derive(Debug, Clone)]
pub(crate) enum ScheduledEvent {
    /// Parts of a volume's limit are set or lifted.
    Limit { volume: u32, changes: Vec<(String, Option<f64>)> },
    /// A volume is moved to another pool.
    Pool { volume: u32, pool: usize },
    /// A drive is lost.
    DriveFailure { drive: u32 },
    /// An empty drive takes the place of a lost one.
    DriveReplacement { drive: u32 },
    /// A node is lost with its drives.
    NodeFailure { node: u32 },
    /// A new node with empty drives takes the place of a lost one.
    NodeReplacement { node: u32 },
    /// A service of a node starts or stops.
    Service { service: NodeService, runs: bool },
}

impl ScheduledEvent {
    /// Reads what an event is told. Without `volume` it is about the volume under load.
    pub fn new(chain: &Chain, event: Event, arguments: &Map<String, Value>) -> Result<Self, TwinError> {
        let refused = |remedy| Err(TwinError::NoSuchEvent { event: event.name(), remedy });
        let allowed: &[&str] = match event {
            Event::Limit => &["volume", "iops", "iops_per_gib", "bw_bytes_per_s", "bw_bytes_per_s_per_gib"],
            Event::Template => &["volume", "template"],
            Event::DriveFailure | Event::DriveReplacement => &["drive"],
            Event::NodeFailure | Event::NodeReplacement => &[NODE],
            Event::ServiceStop | Event::ServiceStart => &["service"],
            Event::ControllerFailover => return Err(no_controllers()),
            Event::FirmwareUpdate => return refused(FAILOVER_REMEDY),
            Event::Snapshot
            | Event::SnapshotDeletion
            | Event::MirrorLinkFailure
            | Event::MirrorLinkRecovery => return refused(PATH_REMEDY),
        };
        if let Some((name, value)) = arguments.iter().find(|(name, _)| !allowed.contains(&name.as_str())) {
            let takes = format!("no place in `{}`, which is told {}", event.name(), allowed.join(", "));
            return Err(bad(name, value, &takes));
        }
        let volume = match arguments.get("volume") {
            Some(value) => {
                let names: Vec<&str> = chain.volumes.iter().map(|volume| volume.name.as_str()).collect();
                let found = names.iter().position(|name| Some(*name) == value.as_str());
                found.ok_or_else(|| bad("volume", value, &names.join(", ")))? as u32
            }
            None => chain.settings.volume as u32,
        };
        match event {
            Event::Limit => {
                let mut changes = Vec::new();
                for (name, value) in arguments.iter().filter(|(name, _)| name.as_str() != "volume") {
                    changes.push((name.clone(), rate(name, value)?));
                }
                Ok(ScheduledEvent::Limit { volume, changes })
            }
            Event::Template => {
                let value = arguments.get("template").unwrap_or(&Value::Null);
                let names = chain.pools.iter().map(|pool| pool.name.as_str());
                match names.clone().position(|name| Some(name) == value.as_str()) {
                    Some(pool) => Ok(ScheduledEvent::Pool { volume, pool }),
                    None => Err(bad("template", value, &names.collect::<Vec<_>>().join(", "))),
                }
            }
            Event::ServiceStop | Event::ServiceStart => {
                let value = arguments.get("service").unwrap_or(&Value::Null);
                let service = NodeService::parse(&chain.names, value)?;
                Ok(ScheduledEvent::Service { service, runs: event == Event::ServiceStart })
            }
            Event::NodeFailure | Event::NodeReplacement => {
                let count = chain.nodes.len() as u32;
                let value = arguments.get(NODE).cloned().unwrap_or(Value::from(0));
                let Some(node) = numbered(&value, count) else {
                    return Err(bad(NODE, &value, &format!("the number of a node, 0 to {}", count - 1)));
                };
                Ok(match event {
                    Event::NodeFailure => ScheduledEvent::NodeFailure { node },
                    _ => ScheduledEvent::NodeReplacement { node },
                })
            }
            _ => {
                let of = |drive| match event {
                    Event::DriveFailure => ScheduledEvent::DriveFailure { drive },
                    _ => ScheduledEvent::DriveReplacement { drive },
                };
                let Some(value) = arguments.get("drive") else { return Ok(of(0)) };
                match numbered(value, chain.placement.drives.count())
                    .or_else(|| chain.find_drive(value.as_str()?))
                {
                    Some(drive) => Ok(of(drive)),
                    None => Err(bad("drive", value, "the name of a drive, as in node-0/hdd-3")),
                }
            }
        }
    }
}

impl ChainView<'_> {
    /// Schedules an event that was checked.
    pub fn schedule(&mut self, at_ns: u64, event: Event, arguments: &Map<String, Value>) {
        match self.chain.event(event, arguments) {
            Ok(planned) => self.plan(at_ns, planned),
            Err(error) => self.note(error.to_string()),
        }
    }

    fn plan(&mut self, at_ns: u64, planned: ScheduledEvent) {
        self.chain.planned.push(planned);
        let index = self.chain.planned.len() as u32 - 1;
        self.queue.push(at_ns, ChainEvent::Planned(index).pack());
    }

    pub(super) fn note(&mut self, says: String) {
        self.notes.push(crate::TwinNote { at_ns: self.now_ns, says });
    }

    /// A planned event takes place.
    pub(super) fn carry_out(&mut self, index: u32) {
        match self.chain.planned[index as usize].clone() {
            ScheduledEvent::Limit { volume, changes } => self.change_limit(volume, &changes),
            ScheduledEvent::Pool { volume, pool } => {
                let state = &mut self.chain.volumes[volume as usize];
                state.groups = self.chain.pools[pool].groups;
                let (volume, pool) = (&state.name, &self.chain.pools[pool].name);
                let says = format!("volume `{volume}` gets the template `{pool}`");
                self.note(says);
                self.restart_relocation();
            }
            ScheduledEvent::DriveFailure { drive } => {
                self.chain.placement.availability.fail(drive);
                let name = self.chain.drive_name(drive);
                self.note(format!("{name} has failed"));
                self.restart_relocation();
            }
            ScheduledEvent::DriveReplacement { drive } => self.replace_drive(drive),
            ScheduledEvent::NodeFailure { node } => self.lose_node(node),
            ScheduledEvent::NodeReplacement { node } => self.replace_node(node),
            ScheduledEvent::Service { service, runs } => self.run_service(service, runs),
        }
    }

    fn change_limit(&mut self, volume: u32, changes: &[(String, Option<f64>)]) {
        let state = &mut self.chain.volumes[volume as usize];
        for (name, value) in changes {
            if let Some(part) = state.limit.part_mut(name) {
                *part = *value;
            }
        }
        if self.chain.settings.on.limits {
            state.limiter.set(&state.limit, state.bytes);
        }
        let says = format!("limit of volume `{}`: {}", state.name, in_words(&state.limit));
        self.note(says);
        self.admit(volume);
    }

    /// Looks for objects that do not lie as they should, and begins to move them.
    pub(super) fn restart_relocation(&mut self) {
        for index in 0..self.chain.relocation.streams.len() {
            // A chunk that is under way still comes to its end, and then finds that there is nothing to it.
            if let Some(moving) = self.chain.relocation.streams[index].current.take() {
                self.chain.placement.abandon(moving.volume, moving.object, moving.places);
            }
        }
        self.chain.relocation.queue.clear();
        self.chain.relocation.unplaced = 0;
        for volume in 0..self.chain.volumes.len() as u32 {
            let groups = self.chain.volumes[volume as usize].groups;
            for object in 0..self.chain.placement.objects(volume) {
                let fits = self.chain.placement.fits(volume, object, groups);
                if !fits || self.chain.placement.can_catch_up(volume, object) {
                    self.chain.relocation.queue.push_back((volume, object));
                }
            }
        }
        self.chain.relocation.is_under_way = !self.chain.relocation.queue.is_empty();
        if !self.chain.relocation.is_under_way {
            return;
        }
        self.note(format!("{} objects begin to move", self.chain.relocation.queue.len()));
        for stream in 0..self.chain.relocation.streams.len() as u32 {
            let state = &mut self.chain.relocation.streams[stream as usize];
            if !state.is_busy {
                state.is_busy = true;
                let at_ns = self.now_ns + self.chain.relocation.delay_ns;
                self.queue.push(at_ns, ChainEvent::Relocate(stream).pack());
            }
        }
    }

    /// A stream copies its next chunk, of the next object where one is done.
    pub(super) fn relocate(&mut self, stream: u32) {
        let index = stream as usize;
        if let Some(moving) = self.chain.relocation.streams[index].current
            && moving.next_byte >= self.chain.placement.object_bytes
        {
            self.chain.relocation.streams[index].current = None;
            for target in moving.targets.iter() {
                self.chain.placement.availability.forget(target.drive, moving.volume, moving.object);
            }
            self.chain.placement.commit(moving.volume, moving.object, moving.places);
        }
        if self.chain.relocation.streams[index].current.is_none() {
            self.chain.relocation.streams[index].current = self.next_move();
        }
        let Some(moving) = self.chain.relocation.streams[index].current else {
            self.rest(index);
            return;
        };
        let length_bytes =
            self.chain.relocation.chunk_bytes.min(self.chain.placement.object_bytes - moving.next_byte);
        let host = self.chain.placement.drives.drive_slot(moving.source.drive).node;
        let request = self.begin_request(Request {
            owner: Owner::Stream(stream),
            direction: Direction::Read,
            offset_bytes: moving.next_byte,
            length_bytes: length_bytes as u32,
            places: Row::of(moving.source),
            answers_left: 1,
            host,
        });
        self.send(host, ReplicaOf { request, replica: 0 });
    }

    /// A stream has nothing left to do; the last one says so.
    fn rest(&mut self, stream: usize) {
        self.chain.relocation.streams[stream].is_busy = false;
        if self.chain.relocation.is_under_way
            && self.chain.relocation.streams.iter().all(|stream| !stream.is_busy)
        {
            self.chain.relocation.is_under_way = false;
            self.note(match self.chain.relocation.unplaced {
                0 => "all objects lie where they should".to_owned(),
                some => format!("objects have moved; {some} find no drives"),
            });
        }
    }

    /// The next object that has to move and can.
    fn next_move(&mut self) -> Option<Move> {
        while let Some((volume, object)) = self.chain.relocation.queue.pop_front() {
            let groups = self.chain.volumes[volume as usize].groups;
            let old = *self.chain.placement.places(volume, object);
            let Some(&source) =
                old.iter().rev().find(|place| self.chain.placement.serves(place, volume, object))
            else {
                self.chain.relocation.unplaced += 1;
                continue;
            };
            let Some(places) = self.chain.placement.plan(volume, object, groups) else {
                self.chain.relocation.unplaced += 1;
                continue;
            };
            let availability = &self.chain.placement.availability;
            let lacks = |place: &&Place| {
                !old.contains(place) || availability.can_catch_up(place.drive, volume, object)
            };
            let targets: Row<Place> = places.iter().filter(lacks).copied().collect();
            if targets.is_empty() {
                // Only the order of the replicas changes.
                self.chain.placement.commit(volume, object, places);
                continue;
            }
            return Some(Move { volume, object, source, places, targets, next_byte: 0 });
        }
        None
    }

    /// A replica of a background request has the data, or has it read.
    pub(super) fn background_stored(&mut self, of: ReplicaOf) {
        let request = *self.chain.requests.get(of.request);
        let Owner::Stream(stream) = request.owner else {
            if self.is_last_answer(of.request) {
                self.chain.requests.take(of.request);
            }
            return;
        };
        // A stream without a move has been told to begin anew while this chunk was under way.
        let moving = self.chain.relocation.streams[stream as usize].current;
        if let (Direction::Read, Some(moving)) = (request.direction, moving) {
            let write = self.chain.requests.get_mut(of.request);
            write.direction = Direction::Write;
            write.places = moving.targets;
            let targets = moving.targets.len() as u32;
            write.answers_left = targets;
            for replica in 0..targets {
                self.send(request.host, ReplicaOf { request: of.request, replica });
            }
            return;
        }
        if request.direction == Direction::Write && !self.is_last_answer(of.request) {
            return;
        }
        self.chain.requests.take(of.request);
        let length_bytes = u64::from(request.length_bytes);
        if let Some(moving) = &mut self.chain.relocation.streams[stream as usize].current {
            moving.next_byte += length_bytes;
            self.chain.volumes[moving.volume as usize].moved_bytes += length_bytes;
        }
        let at_ns = self.chain.relocation.next_start_ns(self.now_ns);
        self.queue.push(at_ns, ChainEvent::Relocate(stream).pack());
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

//! Placement of replicas, and the moves after a change of a volume's pool or the loss of a drive.

use layout::{DriveIndex, Layout, ReplicaSpec};

use super::availability::Availability;
use super::row::{REPLICAS_LIMIT, Row};
use crate::DescriptionError;
use crate::description::refuse;

/// Location of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Place {
    pub drive: u32,
    pub slot: u32,
}

/// Fixed properties of a drive: node, number, group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DriveSlot {
    pub node: u32,
    /// Its number among the drives of its group in the node.
    pub number: u32,
    /// The controller of the node that serves it.
    pub controller: u32,
    pub group: usize,
}

/// The drives of all nodes, in the order of the groups, each node by node.
#[derive(Debug, Clone)]
pub(crate) struct Drives {
    drive_slots: Box<[DriveSlot]>,
    /// By group: the number of its first drive, and behind them that of all drives.
    firsts: Box<[u32]>,
}

impl Drives {
    pub fn new(array: &array::Array) -> Self {
        let drive_slots = (0..array.drive_count()).filter_map(|drive| {
            let array::NodeDrive { group, node, number } = array.node_drive(drive)?;
            let (first, count) = array.controllers_of(group);
            Some(DriveSlot { node, number, controller: first + number % count.max(1), group })
        });
        let ends = (0..array.groups.len()).map(|group| array.drives_in(group).end);
        Drives { drive_slots: drive_slots.collect(), firsts: std::iter::once(0).chain(ends).collect() }
    }

    pub fn count(&self) -> u32 {
        self.drive_slots.len() as u32
    }

    /// Returns where a drive is.
    #[inline]
    pub fn drive_slot(&self, drive: u32) -> DriveSlot {
        self.drive_slots[drive as usize]
    }

    /// Number of a drive in its group.
    #[inline]
    pub fn number_in_group(&self, drive: u32) -> u32 {
        drive - self.firsts[self.drive_slot(drive).group]
    }

    /// The drives of a group.
    pub fn of_group(&self, group: u8) -> std::ops::Range<u32> {
        self.firsts[usize::from(group)]..self.firsts[usize::from(group) + 1]
    }
}

/// Places of all objects, and free slots of all drives.
#[derive(Debug, Clone)]
pub(crate) struct Placement {
    pub drives: Drives,
    pub object_bytes: u64,
    /// By volume and object.
    objects: Box<[Box<[Row<Place>]>]>,
    held: Box<[u32]>,
    next_slot: Box<[u32]>,
    slots: Box<[u32]>,
    free: Box<[Vec<u32>]>,
    pub availability: Availability,
}

impl Placement {
    /// Places all volumes side by side, as volumes that were written at the same time lie. Above what is placed, the logs of journals
    /// stay free of objects.
    pub fn new(array: &array::Array, seed: u64) -> Result<Self, DescriptionError> {
        let drives = Drives::new(array);
        let object_bytes = array.pools.first().map_or(1, |pool| pool.keys.object.get());
        let group_of = |drive: u32| &array.groups[drives.drive_slot(drive).group];
        let capacity_bytes = |drive: u32| group_of(drive).drives.capacity_bytes();
        let count = drives.count();
        let layouts = array.volumes.iter().enumerate().map(|(index, volume)| {
            let pool = pool_of(array, volume);
            let group = |group: &u8| drives.of_group(*group).map(|drive| drive as DriveIndex).collect();
            let spec = ReplicaSpec {
                capacity_bytes: volume.keys.size.get(),
                object_bytes,
                groups: row_of(array, pool).iter().map(group).collect(),
                drive_capacity_bytes: (0..count).map(capacity_bytes).collect(),
                nodes: (0..count).map(|drive| drives.drive_slot(drive).node as u16).collect(),
                seed: seed.wrapping_add(index as u64),
            };
            Layout::replicas(&spec).or_else(|error| {
                refuse(
                    &format!("volumes[{index}]"),
                    error.to_string(),
                    "give it drives enough on as many nodes",
                )
            })
        });
        let layouts = layouts.collect::<Result<Vec<Layout>, _>>()?;
        let slots: Box<[u32]> =
            (0..count).map(|drive| (capacity_bytes(drive) / object_bytes) as u32).collect();
        let mut placement = Placement {
            objects: Box::default(),
            object_bytes,
            held: vec![0; count as usize].into(),
            next_slot: vec![0; count as usize].into(),
            slots,
            free: vec![Vec::new(); count as usize].into(),
            availability: Availability::new(count),
            drives: drives.clone(),
        };
        let mut objects: Vec<Vec<Row<Place>>> = vec![Vec::new(); layouts.len()];
        let longest = layouts.iter().map(Layout::stripes).max().unwrap_or(0);
        for object in 0..longest {
            for (volume, layout) in layouts.iter().enumerate().filter(|(_, layout)| object < layout.stripes())
            {
                let mut places = Row::default();
                for replica in 0..layout.members() {
                    let drive = u32::from(layout.place(object, replica).drive);
                    let Some(slot) = placement.allocate(drive) else {
                        return refuse(
                            "volumes",
                            format!("drive {drive} has no room for all of them"),
                            "give larger drives or smaller volumes",
                        );
                    };
                    places.push(Place { drive, slot });
                }
                objects[volume].push(places);
            }
        }
        placement.objects = objects.into_iter().map(Into::into).collect();
        for drive in 0..count {
            let log_bytes = group_of(drive).journal.as_ref().map_or(0, |journal| journal.log.get());
            placement.next_slot[drive as usize] += log_bytes.div_ceil(object_bytes) as u32;
        }
        Ok(placement)
    }

    fn allocate(&mut self, drive: u32) -> Option<u32> {
        let index = drive as usize;
        let slot = match self.free[index].pop() {
            Some(slot) => slot,
            None if self.next_slot[index] < self.slots[index] => {
                self.next_slot[index] += 1;
                self.next_slot[index] - 1
            }
            None => return None,
        };
        self.held[index] += 1;
        Some(slot)
    }

    fn release(&mut self, place: Place) {
        self.held[place.drive as usize] -= 1;
        self.free[place.drive as usize].push(place.slot);
    }

    /// Replicas that a drive holds.
    pub fn held(&self, drive: u32) -> u32 {
        self.held[drive as usize]
    }

    /// The replicas of an object.
    #[inline]
    pub fn places(&self, volume: u32, object: u32) -> &Row<Place> {
        &self.objects[volume as usize][object as usize]
    }

    /// Objects of a volume.
    pub fn objects(&self, volume: u32) -> u32 {
        self.objects[volume as usize].len() as u32
    }

    /// Returns whether a replica can be read.
    #[inline]
    pub fn serves(&self, place: &Place, volume: u32, object: u32) -> bool {
        self.availability.serves(place.drive, volume, object)
    }

    /// Returns whether a replica of an object lacks writes that it can be given.
    pub fn can_catch_up(&self, volume: u32, object: u32) -> bool {
        let places = self.places(volume, object);
        places.iter().any(|place| self.availability.can_catch_up(place.drive, volume, object))
    }

    /// Returns whether an object lies on these groups, on drives that are not lost.
    pub fn fits(&self, volume: u32, object: u32, groups: Row<u8>) -> bool {
        let places = self.places(volume, object);
        places.iter().zip(groups.iter()).all(|(place, &group)| {
            !self.availability.is_lost(place.drive) && self.drives.of_group(group).contains(&place.drive)
        })
    }

    /// Finds places on these groups, keeping replicas that fit and taking the emptiest drives on other nodes
    /// for the rest. `None` where there are no such drives.
    pub fn plan(&mut self, volume: u32, object: u32, groups: Row<u8>) -> Option<Row<Place>> {
        let old = *self.places(volume, object);
        let mut kept = [false; REPLICAS_LIMIT];
        let mut planned: Row<Option<Place>> = groups.iter().map(|_| None).collect();
        for (place, &group) in planned.iter_mut().zip(groups.iter()) {
            let drives = self.drives.of_group(group);
            let fitting = (0..old.len()).find(|&replica| {
                let drive = old[replica].drive;
                !kept[replica] && !self.availability.is_lost(drive) && drives.contains(&drive)
            });
            if let Some(replica) = fitting {
                kept[replica] = true;
                *place = Some(old[replica]);
            }
        }
        for replica in 0..groups.len() {
            if planned[replica].is_some() {
                continue;
            }
            let taken = planned.iter().flatten().map(|place| self.drives.drive_slot(place.drive).node);
            let taken: Vec<u32> = taken.collect();
            let chosen = self
                .drives
                .of_group(groups[replica])
                .filter(|&drive| {
                    self.availability.is_up(drive) && !taken.contains(&self.drives.drive_slot(drive).node)
                })
                .min_by_key(|&drive| self.held(drive));
            let place = chosen.and_then(|drive| Some(Place { drive, slot: self.allocate(drive)? }));
            if place.is_none() {
                // Gives back what was allocated for this object.
                for &place in planned.iter().flatten().filter(|place| !old.contains(place)) {
                    self.release(place);
                }
                return None;
            }
            planned[replica] = place;
        }
        Some(planned.iter().flatten().copied().collect())
    }

    /// Puts an object in its new places and frees the old ones that it left.
    pub fn commit(&mut self, volume: u32, object: u32, places: Row<Place>) {
        let old = std::mem::replace(&mut self.objects[volume as usize][object as usize], places);
        for &place in old.iter().filter(|place| !places.contains(place)) {
            self.release(place);
            self.availability.forget(place.drive, volume, object);
        }
    }

    /// Gives up places that were planned.
    pub fn abandon(&mut self, volume: u32, object: u32, places: Row<Place>) {
        let old = *self.places(volume, object);
        for &place in places.iter().filter(|place| !old.contains(place)) {
            self.release(place);
        }
    }
}

/// Number of the pool that a volume lies on.
pub(crate) fn pool_of(array: &array::Array, volume: &array::Volume) -> usize {
    array.pool(&volume.keys.on.text).unwrap_or(0)
}

/// Groups of the replicas of a pool, the first replica first.
pub(crate) fn row_of(array: &array::Array, pool: usize) -> Row<u8> {
    array.chain_groups(&array.pools[pool]).into_iter().map(|group| group as u8).collect()
}

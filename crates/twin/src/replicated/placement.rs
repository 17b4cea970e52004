//! Replica placement, and the moves after a template change or a drive loss.

use layout::{DriveIndex, Layout, ReplicaSpec};

use super::availability::Availability;
use super::description::DriveClass;
use super::{COPIES, Description};
use crate::DescriptionError;
use crate::description::refuse;

/// Location of a replica.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub drive: u32,
    pub slot: u32,
}

/// The replicas of an object, head first.
pub(crate) type ReplicaLocations = [Place; COPIES];

/// Fixed properties of a drive: node, number, class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DriveSlot {
    pub node: u32,
    /// Its number among the drives of its class in the node.
    pub number: u32,
    /// The server of the node that serves it.
    pub instance: u32,
    pub is_nvme: bool,
}

/// The drives of the system: those of class NVMe first, each class node by node.
#[derive(Debug, Clone)]
pub(crate) struct Drives {
    drive_slots: Box<[DriveSlot]>,
    nvme_count: u32,
}

impl Drives {
    pub fn new(description: &Description) -> Self {
        let nodes = description.nodes.count.get();
        let nvme_instances = description.server.nvme_instances.get();
        let hdd_instances = description.server_instances().saturating_sub(nvme_instances).max(1);
        let nvme_per_node = description.nvme.count.get();
        let drive_slots = |per_node: u32, first_instance: u32, instances: u32, is_nvme: bool| {
            (0..nodes * per_node).map(move |drive| {
                let (node, number) = (drive / per_node, drive % per_node);
                DriveSlot { node, number, instance: first_instance + number % instances, is_nvme }
            })
        };
        let nvme = drive_slots(nvme_per_node, 0, nvme_instances, true);
        let hdd = drive_slots(description.hdd.count.get(), nvme_instances, hdd_instances, false);
        Drives { drive_slots: nvme.chain(hdd).collect(), nvme_count: nodes * nvme_per_node }
    }

    pub fn nvme_count(&self) -> u32 {
        self.nvme_count
    }

    pub fn count(&self) -> u32 {
        self.drive_slots.len() as u32
    }

    /// Returns where a drive is.
    #[inline]
    pub fn drive_slot(&self, drive: u32) -> DriveSlot {
        self.drive_slots[drive as usize]
    }

    /// The drives of a class.
    pub fn of_class(&self, class: DriveClass) -> std::ops::Range<u32> {
        match class {
            DriveClass::Nvme => 0..self.nvme_count(),
            DriveClass::Hdd => self.nvme_count()..self.count(),
        }
    }
}

/// Places of all objects, and free slots of all drives.
#[derive(Debug, Clone)]
pub(crate) struct Placement {
    pub drives: Drives,
    /// By volume and object.
    objects: Box<[Box<[ReplicaLocations]>]>,
    held: Box<[u32]>,
    next_slot: Box<[u32]>,
    slots: Box<[u32]>,
    free: Box<[Vec<u32>]>,
    pub availability: Availability,
}

impl Placement {
    /// Places all volumes side by side, as volumes that were written at the same time lie. Above what is placed,
    /// `reserved_bytes` of every drive stay free of objects.
    pub fn new(description: &Description, seed: u64, reserved_bytes: u64) -> Result<Self, DescriptionError> {
        let drives = Drives::new(description);
        let object_bytes = description.object_bytes.get();
        let capacity_bytes = |drive| {
            if drives.drive_slot(drive).is_nvme {
                description.nvme.capacity_bytes.get()
            } else {
                description.hdd.capacity_bytes.get()
            }
        };
        let count = drives.count();
        let layouts = description.volumes.iter().enumerate().map(|(index, volume)| {
            let template = description.templates.iter().find(|template| template.name == volume.template);
            let Some(template) = template else {
                return refuse(
                    &format!("volumes[{index}].template"),
                    format!("there is no template `{}`", volume.template),
                    "name one of `templates`",
                );
            };
            let group = |class| drives.of_class(class).map(|drive| drive as DriveIndex).collect();
            let spec = ReplicaSpec {
                capacity_bytes: volume.bytes.get(),
                object_bytes,
                groups: template.classes().map(group).into(),
                drive_capacity_bytes: (0..count).map(capacity_bytes).collect(),
                nodes: (0..count).map(|drive| drives.drive_slot(drive).node as u16).collect(),
                seed: seed.wrapping_add(index as u64),
            };
            Layout::replicas(&spec).or_else(|error| {
                refuse(
                    &format!("volumes[{index}]"),
                    error.to_string(),
                    "give it drives enough on three nodes",
                )
            })
        });
        let layouts = layouts.collect::<Result<Vec<Layout>, _>>()?;
        let slots: Box<[u32]> =
            (0..count).map(|drive| (capacity_bytes(drive) / object_bytes) as u32).collect();
        let mut placement = Placement {
            objects: layouts
                .iter()
                .map(|layout| Vec::with_capacity(layout.stripes() as usize).into())
                .collect(),
            held: vec![0; count as usize].into(),
            next_slot: vec![0; count as usize].into(),
            slots,
            free: vec![Vec::new(); count as usize].into(),
            availability: Availability::new(count),
            drives,
        };
        let mut objects: Vec<Vec<ReplicaLocations>> = vec![Vec::new(); layouts.len()];
        let longest = layouts.iter().map(Layout::stripes).max().unwrap_or(0);
        for object in 0..longest {
            for (volume, layout) in layouts.iter().enumerate().filter(|(_, layout)| object < layout.stripes())
            {
                let mut places = [Place { drive: 0, slot: 0 }; COPIES];
                for (replica, place) in places.iter_mut().enumerate() {
                    let drive = u32::from(layout.place(object, replica as u32).drive);
                    let Some(slot) = placement.allocate(drive) else {
                        return refuse(
                            "volumes",
                            format!("drive {drive} has no room for all of them"),
                            "give larger drives or smaller volumes",
                        );
                    };
                    *place = Place { drive, slot };
                }
                objects[volume].push(places);
            }
        }
        placement.objects = objects.into_iter().map(Into::into).collect();
        let reserved = reserved_bytes.div_ceil(object_bytes) as u32;
        for next in &mut placement.next_slot {
            *next += reserved;
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
    pub fn places(&self, volume: u32, object: u32) -> &ReplicaLocations {
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

    /// Returns whether an object lies as these classes want it, on drives that are not lost.
    pub fn fits(&self, volume: u32, object: u32, classes: [DriveClass; COPIES]) -> bool {
        let places = self.places(volume, object);
        places.iter().zip(classes).all(|(place, class)| {
            !self.availability.is_lost(place.drive) && self.drives.of_class(class).contains(&place.drive)
        })
    }

    /// Finds places as these classes want them, keeping replicas that fit and taking the emptiest drives on other nodes
    /// for the rest. `None` where there are no such drives.
    pub fn plan(
        &mut self,
        volume: u32,
        object: u32,
        classes: [DriveClass; COPIES],
    ) -> Option<ReplicaLocations> {
        let old = *self.places(volume, object);
        let mut kept = [false; COPIES];
        let mut planned: [Option<Place>; COPIES] = [None; COPIES];
        for (place, class) in planned.iter_mut().zip(classes) {
            let drives = self.drives.of_class(class);
            let fitting = (0..COPIES).find(|&replica| {
                let drive = old[replica].drive;
                !kept[replica] && !self.availability.is_lost(drive) && drives.contains(&drive)
            });
            if let Some(replica) = fitting {
                kept[replica] = true;
                *place = Some(old[replica]);
            }
        }
        for replica in 0..COPIES {
            if planned[replica].is_some() {
                continue;
            }
            let taken = planned.iter().flatten().map(|place| self.drives.drive_slot(place.drive).node);
            let taken: Vec<u32> = taken.collect();
            let chosen = self
                .drives
                .of_class(classes[replica])
                .filter(|&drive| {
                    self.availability.is_up(drive) && !taken.contains(&self.drives.drive_slot(drive).node)
                })
                .min_by_key(|&drive| self.held(drive));
            let place = chosen.and_then(|drive| Some(Place { drive, slot: self.allocate(drive)? }));
            if place.is_none() {
                // Gives back what was allocated for this object.
                for place in planned.into_iter().flatten().filter(|place| !old.contains(place)) {
                    self.release(place);
                }
                return None;
            }
            planned[replica] = place;
        }
        let mut places = old;
        for (place, planned) in places.iter_mut().zip(planned) {
            *place = planned?;
        }
        Some(places)
    }

    /// Puts an object in its new places and frees the old ones that it left.
    pub fn commit(&mut self, volume: u32, object: u32, places: ReplicaLocations) {
        let old = std::mem::replace(&mut self.objects[volume as usize][object as usize], places);
        for place in old.into_iter().filter(|place| !places.contains(place)) {
            self.release(place);
            self.availability.forget(place.drive, volume, object);
        }
    }

    /// Gives up places that were planned.
    pub fn abandon(&mut self, volume: u32, object: u32, places: ReplicaLocations) {
        let old = *self.places(volume, object);
        for place in places.into_iter().filter(|place| !old.contains(place)) {
            self.release(place);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::description;
    use super::*;
    use DriveClass::{Hdd, Nvme};

    fn placement() -> Placement {
        Placement::new(&description(), 1, 0).unwrap()
    }

    fn check(placement: &Placement) {
        let mut slots = std::collections::BTreeSet::new();
        let mut held = vec![0; placement.drives.count() as usize];
        for volume in 0..3 {
            for object in 0..placement.objects(volume) {
                let places = placement.places(volume, object);
                let nodes: std::collections::BTreeSet<_> =
                    places.iter().map(|place| placement.drives.drive_slot(place.drive).node).collect();
                assert_eq!(nodes.len(), COPIES, "{places:?}");
                for place in places {
                    assert!(slots.insert((place.drive, place.slot)), "{place:?} is taken twice");
                    held[place.drive as usize] += 1;
                }
            }
        }
        let counted: Vec<u32> = (0..placement.drives.count()).map(|drive| placement.held(drive)).collect();
        assert_eq!(counted, held);
    }

    /// Proves that no slot is taken twice, no node holds two replicas of an object, and templates are kept, at the start and
    /// after a move and back.
    #[test]
    fn every_replica_has_one_home() {
        let mut placement = placement();
        check(&placement);
        for classes in [[Nvme; 3], [Hdd, Hdd, Nvme], [Hdd; 3]] {
            for object in 0..placement.objects(2) {
                let places = placement.plan(2, object, classes).unwrap();
                placement.commit(2, object, places);
                assert!(placement.fits(2, object, classes));
            }
            check(&placement);
        }
        let spread: Vec<u32> = placement.drives.of_class(Hdd).map(|drive| placement.held(drive)).collect();
        let (least, most) = (spread.iter().min().unwrap(), spread.iter().max().unwrap());
        assert!(most - least <= 4, "{spread:?}");
    }

    /// Proves that a move to hybrid leaves two replicas of an all-HDD object where they are.
    #[test]
    fn what_fits_stays() {
        let mut placement = placement();
        let old = *placement.places(2, 0);
        let new = placement.plan(2, 0, [Hdd, Hdd, Nvme]).unwrap();
        assert_eq!(new.iter().filter(|place| old.contains(place)).count(), 2);
        placement.abandon(2, 0, new);
        check(&placement);
    }

    /// Proves that a lost drive's replicas go to other drives of its node, and that with no such drive the object stays.
    #[test]
    fn a_lost_drive_is_replaced() {
        let mut placement = placement();
        let lost = placement.places(0, 0)[0].drive;
        placement.availability.fail(lost);
        let new = placement.plan(0, 0, [Nvme; 3]).unwrap();
        assert!(new.iter().all(|place| place.drive != lost));
        for drive in placement.drives.of_class(Nvme) {
            placement.availability.fail(drive);
        }
        assert_eq!(placement.plan(0, 0, [Nvme; 3]), None);
    }
}

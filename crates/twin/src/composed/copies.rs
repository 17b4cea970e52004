//! Contents of caches and states of solid-state drives that another array with the same ones, and the same volumes, has after hours of a load.

use super::Model;
use super::controller::Controller;
use super::drives::GroupDrives;

impl Model {
    /// Takes over what the caches of another array hold; false, and nothing is taken, where its caches, or the places of its volumes, are
    /// others.
    pub fn copy_caches(&mut self, of: &Model) -> bool {
        if self.chain.is_some() || !self.has_places_of(of) || !self.has_caches_of(of) {
            return false;
        }
        for (own, other) in self.controllers.iter_mut().zip(&of.controllers) {
            own.read_cache.clone_from(&other.read_cache);
            if let (Some(own), Some(other)) = (&mut own.write_cache, &other.write_cache) {
                own.copy(other);
            }
        }
        if let (Some(own), Some(other)) = (&mut self.services, &of.services) {
            own.copy_drive_cache(other);
        }
        true
    }

    /// Takes over the states of another array's solid-state drives; false, and nothing is taken, where its drives, or the places of its volumes on them, are others.
    pub fn copy_drives(&mut self, of: &Model) -> bool {
        let redundancies = |model: &Model| -> Vec<_> {
            model.sets.iter().map(|state| (state.set.layout.redundancy(), state.set.base_bytes)).collect()
        };
        if self.chain.is_some() || !self.has_places_of(of) || redundancies(self) != redundancies(of) {
            return false;
        }
        let are_like = |(own, other): (&GroupDrives, &GroupDrives)| match (own, other) {
            (GroupDrives::SolidStates(own), GroupDrives::SolidStates(other)) => own.translate_like(other),
            (own, other) => std::mem::discriminant(own) == std::mem::discriminant(other),
        };
        if !self.groups.drives.iter().zip(&of.groups.drives).all(are_like) {
            return false;
        }
        self.prepare();
        for groups in self.groups.drives.iter_mut().zip(&of.groups.drives) {
            if let (GroupDrives::SolidStates(own), GroupDrives::SolidStates(other)) = groups {
                own.copy_translations(other);
            }
        }
        true
    }

    /// Returns whether the same byte of the same job has the same address, stripe and controller.
    fn has_places_of(&self, other: &Model) -> bool {
        let volumes = |model: &Model| -> Vec<_> {
            let place = |volume: &super::VolumeState| {
                (volume.set, volume.preferred, volume.offset_bytes, volume.bytes)
            };
            model.volumes.iter().map(place).collect()
        };
        let sets = |model: &Model| -> Vec<_> {
            let place = |state: &super::SetState| {
                (state.first_address, state.home, state.is_cluster, state.set.layout.stripe_bytes())
            };
            model.sets.iter().map(place).collect()
        };
        let jobs = |model: &Model| -> Vec<_> {
            let entry = |one: &super::Attachment| (one.first_job, one.entry);
            model.attachments.iter().map(entry).collect()
        };
        let entries = |model: &Model| -> Vec<_> {
            let stripe = |entry: &super::Entry| {
                entry.stripe.as_ref().map(|stripe| (stripe.stripe_bytes(), stripe.segment_bytes()))
            };
            model.entries.iter().map(|entry| (entry.volumes.clone(), stripe(entry))).collect()
        };
        volumes(self) == volumes(other)
            && sets(self) == sets(other)
            && jobs(self) == jobs(other)
            && entries(self) == entries(other)
            && self.controllers_per_node == other.controllers_per_node
    }

    fn has_caches_of(&self, other: &Model) -> bool {
        let same = |(one, other): (&Controller, &Controller)| {
            let shapes = |of: &Controller| {
                let read = of.read_cache.as_ref().map(|cache| (cache.block_bytes(), cache.blocks()));
                (read, of.write_cache.as_ref().map(|cache| cache.shape()))
            };
            shapes(one) == shapes(other)
        };
        let services = match (&self.services, &other.services) {
            (Some(own), Some(other)) => own.caches_as(other),
            (own, other) => own.is_none() && other.is_none(),
        };
        services
            && self.controllers.len() == other.controllers.len()
            && self.own_controllers == other.own_controllers
            && self.controllers.iter().zip(&other.controllers).all(same)
    }
}

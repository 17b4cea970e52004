//! Contents of caches that were warmed in another array with the same caches and volumes.

use super::Model;
use super::controller::Controller;

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

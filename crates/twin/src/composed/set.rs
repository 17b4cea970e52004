//! Set: a layout over drives, with what is lost of it and how it is rebuilt.

use layout::DriveIndex;
use load::Direction;

use super::command::Command;
use super::drives::GroupDrives;
use crate::availability::{Migration, Rebuild, Recovery};

/// Layout over drives of the array.
#[derive(Debug, Clone)]
pub(crate) struct SetState {
    pub set: array::Set,
    /// Start of its addresses among those of all sets, a multiple of its stripe.
    pub first_address: u64,
    pub recovery: Recovery,
    pub migration: Migration,
    pub has_parity: bool,
    /// True where its members lie on different nodes.
    pub is_cluster: bool,
    /// Mirrors are picked at random: any of them is as near as another.
    pub picks_mirrors: bool,
    /// One bit for each stripe whose parity was never made; empty where all were.
    pub without_parity: Vec<u64>,
    /// Ends of the volumes in it, in order.
    pub volume_ends: Vec<u64>,
    /// Node of its first member.
    pub home: u16,
    /// Its drives answer at once, behind no network and no back end that takes time.
    pub has_direct_drives: bool,
}

impl SetState {
    /// A whole set whose volumes lie on its first `used_bytes`.
    pub fn new(array: &array::Array, set: array::Set, first_address: u64, used_bytes: u64) -> SetState {
        let rebuild = Rebuild {
            begins_after_s: (array.rebuild.delay.get() as f64 / 1e9),
            stripes: (array.rebuild.stripes.count()),
            mb_per_s: (array.rebuild.rate.get() as f64 / 1e6),
        };
        let fitted = (set.slots.len() + set.spares.len()) as u32;
        let group = &array.groups[set.group];
        let noun = GroupDrives::noun(group);
        let recovery = Recovery::new(noun, Some(&rebuild), &set.layout, fitted, used_bytes)
            .numbered_from(set.slots.first().map_or(0, |slot| slot.drive));
        SetState {
            first_address,
            recovery,
            migration: Migration::new(&set.layout),
            has_parity: matches!(set.layout.redundancy(), layout::Redundancy::Parity(1..)),
            is_cluster: set.pool.is_some(),
            picks_mirrors: set.pool.is_none()
                && matches!(set.layout.redundancy(), layout::Redundancy::Copies(2..)),
            without_parity: Vec::new(),
            volume_ends: Vec::new(),
            has_direct_drives: false,
            home: set.slots.first().map_or(0, |slot| slot.node as u16),
            set,
        }
    }

    /// Returns how long its rebuild still takes; `None` where none runs, 0 while that is not known.
    pub fn rebuild_left_ns(&self) -> Option<u64> {
        self.migration.rebuild_left_ns(&self.recovery)
    }

    /// Node that a command of a cluster goes to: that of the replica that is read, or of a stripe's first member.
    pub fn primary(&self, command: &Command) -> u16 {
        let layout = &self.set.layout;
        let (stripe, _) = layout.stripe_of(command.offset_bytes);
        let member = if self.is_read_from_the_last(command) { layout.members() - 1 } else { 0 };
        self.node_of(layout.place(stripe, member).drive)
    }

    /// The same while nodes are away: that of the first of these members that is there, as far as hosts know.
    #[cold]
    pub fn primary_among(&self, command: &Command, is_known_up: impl Fn(u16) -> bool) -> u16 {
        let layout = &self.set.layout;
        let (stripe, _) = layout.stripe_of(command.offset_bytes);
        let members = layout.members();
        let is_last = self.is_read_from_the_last(command);
        let in_turn = (0..members).map(|member| if is_last { members - 1 - member } else { member });
        in_turn
            .map(|member| self.node_of(layout.place(stripe, member).drive))
            .find(|&node| is_known_up(node))
            .unwrap_or_else(|| self.primary(command))
    }

    fn is_read_from_the_last(&self, command: &Command) -> bool {
        command.direction == Direction::Read && !self.has_parity
    }

    /// Returns whether a drive of a set with parity is lost.
    #[inline]
    pub fn is_degraded(&self) -> bool {
        self.has_parity && !self.recovery.loss.failed().is_empty()
    }

    /// Notes that the stripes of a write have parity from now on; whether one of them had none.
    pub fn claim_parity(&mut self, offset_bytes: u64, length_bytes: u64) -> bool {
        if self.without_parity.is_empty() || length_bytes == 0 {
            return false;
        }
        let (first, _) = self.set.layout.stripe_of(offset_bytes);
        let (last, _) = self.set.layout.stripe_of(offset_bytes + length_bytes - 1);
        let mut had_none = false;
        for stripe in first..=last {
            let (word, bit) = ((stripe / 64) as usize, 1 << (stripe % 64));
            had_none |= self.without_parity[word] & bit != 0;
            self.without_parity[word] &= !bit;
        }
        had_none
    }

    /// Returns whether nothing is lost and only drives that answer at once take time.
    #[inline]
    pub fn is_direct(&self) -> bool {
        self.has_direct_drives && self.recovery.loss.failed().is_empty()
    }

    /// Drive of the array that is fitted in a place of the set.
    #[inline]
    pub fn drive_in(&self, place: DriveIndex) -> u32 {
        let slots = &self.set.slots;
        let number = self.recovery.fitted()[usize::from(place)] as usize;
        match slots.get(number) {
            Some(slot) => slot.drive,
            None => self.set.spares[number - slots.len()],
        }
    }

    /// Place of a drive of the array in the set.
    pub fn place_of(&self, drive: u32) -> Option<DriveIndex> {
        (0..self.set.slots.len() as DriveIndex).find(|&place| self.drive_in(place) == drive)
    }

    /// Node that a place of the set is in.
    #[inline]
    pub fn node_of(&self, place: DriveIndex) -> u16 {
        self.set.slots[usize::from(place)].node as u16
    }

    /// Returns where the volume that has an offset ends.
    pub fn volume_end(&self, offset_bytes: u64) -> u64 {
        let next = self.volume_ends.partition_point(|&end| end <= offset_bytes);
        self.volume_ends.get(next).copied().unwrap_or_else(|| self.set.layout.capacity_bytes())
    }

    /// Address of an offset among those of all sets.
    #[inline]
    pub fn address(&self, offset_bytes: u64) -> u64 {
        self.first_address + offset_bytes
    }
}

/// First byte of the stripe that an address lies in, and the byte after its last, for sets in the order of their addresses.
pub(crate) fn stripe_at(sets: &[SetState], address: u64) -> (u64, u64) {
    let index = sets.partition_point(|set| set.first_address <= address).saturating_sub(1);
    let set = &sets[index];
    let stripe_bytes = set.set.layout.stripe_bytes();
    let first = set.first_address + (address - set.first_address) / stripe_bytes * stripe_bytes;
    (first, first + stripe_bytes)
}

/// Set that an address lies in.
pub(crate) fn set_at(sets: &[SetState], address: u64) -> usize {
    sets.partition_point(|set| set.first_address <= address).saturating_sub(1)
}

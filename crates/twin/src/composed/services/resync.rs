//! Resynchronisation of a mirror: what was written while its link was lost is copied to the second array once it is back.

use super::super::Model;
use super::super::command::Command;
use super::peer::Units;

/// State of the mirror, and the units in which the second array is behind.
#[derive(Debug, Clone)]
pub(crate) struct Resync {
    pub is_linked: bool,
    pub units: Units,
    began_ns: u64,
    /// Bytes that were copied before the resynchronisation that goes on.
    copied_before: u64,
}

impl Resync {
    pub fn new(mirror: &array::Mirror) -> Resync {
        Resync {
            is_linked: true,
            units: Units::new(mirror.resync_unit.get(), mirror.resync_streams.count(), mirror.resync.get()),
            began_ns: 0,
            copied_before: 0,
        }
    }

    /// The second array does not have what is written to a range of a set.
    pub fn change(&mut self, set: u16, offset_bytes: u64, length_bytes: u64) {
        let units = self.units.of(set, offset_bytes, length_bytes);
        self.units.add(units);
    }

    /// Returns whether the second array has everything, and no link is lost.
    pub fn is_synchronous(&self) -> bool {
        self.is_linked && self.units.behind_bytes() == 0
    }

    /// A unit has ended; returns the bytes of a resynchronisation that ends with it, and the time that it took.
    pub fn unit_ends(&mut self, now_ns: u64) -> Option<(u64, u64)> {
        if self.is_linked {
            self.units.resume(now_ns);
        }
        self.is_synchronous().then(|| (self.units.copied_bytes - self.copied_before, now_ns - self.began_ns))
    }

    /// Gauges and counters: changed bytes, and those that were copied.
    pub fn values(&self) -> [(&'static str, u64); 3] {
        [
            ("resynchronised_bytes", self.units.copied_bytes),
            ("unreadable_units", self.units.lost),
            ("fill_changed_bytes", self.units.behind_bytes()),
        ]
    }
}

impl Model {
    fn resync(&mut self) -> Option<&mut Resync> {
        self.services.as_mut()?.mirror.as_mut().map(|mirror| &mut mirror.resync)
    }

    /// Returns whether the data of a command can cross to the second array; notes that it is changed where not.
    pub(super) fn crosses(&mut self, index: u32) -> bool {
        let Command { set, offset_bytes, length_bytes, .. } = *self.commands.get(index);
        let Some(resync) = self.resync() else { return false };
        if !resync.is_linked {
            resync.change(set, offset_bytes, u64::from(length_bytes));
        }
        resync.is_linked
    }

    /// The link to the second array is lost: writes are answered without it, and noted as changed.
    pub(in super::super) fn lose_mirror_link(&mut self) {
        let says = match self.resync() {
            Some(resync) if resync.is_linked => {
                resync.is_linked = false;
                resync.units.stop();
                "the link to the second array is lost: writes are answered without it"
            }
            Some(_) => "the link to the second array is lost already",
            None => "no link is lost: `mirror` is off",
        };
        self.note(says.to_owned());
    }

    /// The link is back: what was changed meanwhile is copied.
    pub(in super::super) fn restore_mirror_link(&mut self) {
        let now_ns = self.now_ns;
        let says = match self.resync() {
            Some(resync) if resync.is_linked => "the link to the second array is there already".to_owned(),
            Some(resync) => {
                let left_bytes = resync.units.left_bytes();
                resync.is_linked = true;
                (resync.began_ns, resync.copied_before) = (now_ns, resync.units.copied_bytes);
                resync.units.wait(now_ns);
                format!("the link to the second array is back: {} are behind", units::human_bytes(left_bytes))
            }
            None => "no link is restored: `mirror` is off".to_owned(),
        };
        self.note(says);
    }
}

//! Unit map of a thin pool: which unit of the pool each allocated unit of a volume lies in, and which are free. A pure
//! value; `thin_pool.rs` keeps it on the array.

use std::collections::BTreeMap;
use std::ops::Range;

/// Unit of a thin volume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct VolumeUnit {
    /// Number of the volume.
    pub volume: u32,
    /// Number of the unit in it.
    pub unit: u64,
}

/// Allocated and free units of a pool. A unit is free, mapped, or reserved: out of the free ones and nobody's yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct UnitMap {
    units: u64,
    places: BTreeMap<VolumeUnit, u64>,
    /// Runs of free units: first and count. No two touch.
    free: BTreeMap<u64, u64>,
    free_units: u64,
}

impl UnitMap {
    /// A pool of so many units, all free.
    pub(crate) fn new(units: u64) -> UnitMap {
        let free = if units > 0 { BTreeMap::from([(0, units)]) } else { BTreeMap::new() };
        UnitMap { units, places: BTreeMap::new(), free, free_units: units }
    }

    /// Units of the pool.
    pub(crate) fn units(&self) -> u64 {
        self.units
    }

    /// Units that nobody has.
    pub(crate) fn free_units(&self) -> u64 {
        self.free_units
    }

    /// Unit of the pool in which a volume's unit lies.
    pub(crate) fn place(&self, of: VolumeUnit) -> Option<u64> {
        self.places.get(&of).copied()
    }

    /// Allocated units of a volume in a range, in order, with their places.
    pub(crate) fn allocated(&self, volume: u32, units: Range<u64>) -> impl Iterator<Item = (u64, u64)> {
        let at = |unit| VolumeUnit { volume, unit };
        self.places.range(at(units.start)..at(units.end)).map(|(of, &place)| (of.unit, place))
    }

    /// Lowest free unit.
    pub(crate) fn lowest_free(&self) -> Option<u64> {
        self.free.first_key_value().map(|(&first, _)| first)
    }

    /// Reserves so many units, the lowest first; all of them, or none where fewer are free.
    pub(crate) fn reserve(&mut self, count: u64) -> Option<Vec<u64>> {
        if count > self.free_units {
            return None;
        }
        let mut reserved = Vec::with_capacity(count as usize);
        while (reserved.len() as u64) < count {
            let (first, length) = self.free.pop_first()?;
            let taken = length.min(count - reserved.len() as u64);
            reserved.extend(first..first + taken);
            if taken < length {
                self.free.insert(first + taken, length - taken);
            }
        }
        self.free_units -= count;
        Some(reserved)
    }

    /// Takes one unit out of the free ones; false where it is none of them.
    pub(crate) fn take(&mut self, place: u64) -> bool {
        let Some((&first, &length)) = self.free.range(..=place).next_back() else { return false };
        if place >= first + length {
            return false;
        }
        self.free.remove(&first);
        if first < place {
            self.free.insert(first, place - first);
        }
        if place + 1 < first + length {
            self.free.insert(place + 1, first + length - place - 1);
        }
        self.free_units -= 1;
        true
    }

    /// A reserved unit becomes a volume's; false, and nothing changes, where that unit of the volume has a place already.
    pub(crate) fn assign(&mut self, of: VolumeUnit, place: u64) -> bool {
        if self.places.contains_key(&of) {
            return false;
        }
        self.places.insert(of, place);
        true
    }

    /// A volume's unit has no place any more; the place, which is reserved then.
    pub(crate) fn unassign(&mut self, of: VolumeUnit) -> Option<u64> {
        self.places.remove(&of)
    }

    /// A reserved unit is free again.
    pub(crate) fn release(&mut self, place: u64) {
        let (mut first, mut length) = (place, 1);
        if let Some((&before, &count)) = self.free.range(..place).next_back()
            && before + count == place
        {
            (first, length) = (before, count + 1);
        }
        if let Some(count) = self.free.remove(&(place + 1)) {
            length += count;
        }
        self.free.insert(first, length);
        self.free_units += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UNITS: u64 = 24;

    /// Use of a unit of the pool.
    #[derive(Debug, Clone, Copy, PartialEq)]
    enum Use {
        Free,
        Reserved,
        Mapped(VolumeUnit),
    }

    /// The model: a list of all units with their use.
    struct Model(Vec<Use>);

    impl Model {
        fn place(&self, of: VolumeUnit) -> Option<u64> {
            self.0.iter().position(|&used| used == Use::Mapped(of)).map(|place| place as u64)
        }

        fn of(&self, wanted: Use) -> Vec<u64> {
            (0..UNITS).filter(|&place| self.0[place as usize] == wanted).collect()
        }

        fn agrees(&self, map: &UnitMap) {
            let free = self.of(Use::Free);
            assert_eq!(map.free_units(), free.len() as u64);
            assert_eq!(map.lowest_free(), free.first().copied());
            let listed: Vec<u64> =
                map.free.iter().flat_map(|(&first, &count)| first..first + count).collect();
            assert_eq!(listed, free);
            let touching = map.free.iter().zip(map.free.keys().skip(1));
            assert!(touching.into_iter().all(|((first, count), next)| first + count < *next), "{map:?}");
            for volume in 0..3 {
                let mut expected: Vec<(u64, u64)> = Vec::new();
                for unit in 0..10 {
                    let of = VolumeUnit { volume, unit };
                    assert_eq!(map.place(of), self.place(of));
                    expected.extend(self.place(of).map(|place| (unit, place)));
                }
                assert_eq!(map.allocated(volume, 0..10).collect::<Vec<_>>(), expected);
                expected.retain(|(unit, _)| (3..7).contains(unit));
                assert_eq!(map.allocated(volume, 3..7).collect::<Vec<_>>(), expected);
            }
        }
    }

    proptest! {
        /// Proves that after any operations each unit of the pool is free, reserved or one volume's unit, as in a list of all
        /// units: reservations are whole or nothing and take the lowest, no unit is handed out twice, and none is lost.
        #[test]
        fn every_unit_has_one_use(
            steps in prop::collection::vec((0u8..5, 0u32..3, 0u64..10, 0u64..UNITS + 2), 0..200)
        ) {
            let mut map = UnitMap::new(UNITS);
            let mut model = Model(vec![Use::Free; UNITS as usize]);
            for (step, volume, unit, number) in steps {
                let of = VolumeUnit { volume, unit };
                let reserved = model.of(Use::Reserved);
                match step {
                    0 => {
                        let free = model.of(Use::Free);
                        let wanted = number / 4;
                        let expected = (wanted <= free.len() as u64).then(|| free[..wanted as usize].to_vec());
                        prop_assert_eq!(map.reserve(wanted), expected.clone());
                        expected.iter().flatten().for_each(|&place| model.0[place as usize] = Use::Reserved);
                    }
                    1 => {
                        let is_free = model.0.get(number as usize) == Some(&Use::Free);
                        prop_assert_eq!(map.take(number), is_free);
                        if is_free {
                            model.0[number as usize] = Use::Reserved;
                        }
                    }
                    2 => if let Some(&place) = reserved.get(number as usize % reserved.len().max(1)) {
                        let is_new = model.place(of).is_none();
                        prop_assert_eq!(map.assign(of, place), is_new);
                        if is_new {
                            model.0[place as usize] = Use::Mapped(of);
                        }
                    },
                    3 => {
                        let place = model.place(of);
                        prop_assert_eq!(map.unassign(of), place);
                        if let Some(place) = place {
                            model.0[place as usize] = Use::Reserved;
                        }
                    }
                    _ => if let Some(&place) = reserved.get(number as usize % reserved.len().max(1)) {
                        map.release(place);
                        model.0[place as usize] = Use::Free;
                    },
                }
                model.agrees(&map);
            }
        }
    }
}

//! Drives of the array: brought into their condition at first use, and extrapolated over skipped time.

use layout::DriveIndex;
use load::Random;

use super::Description;
use super::settings::{Condition, Settings};
use crate::TwinError;
use crate::drive::Slowness;
use crate::drive::flash::translation::Temperature;
use crate::drive::flash::{Condition as DriveCondition, FlashCounters, FlashDrive};
use crate::part::no_flash_drive;

/// All drives of the array.
#[derive(Debug, Clone)]
pub(crate) struct Drives {
    template: FlashDrive,
    count: u32,
    /// Those of the set and the hot spares, which are numbered behind them.
    all: u32,
    seed: u64,
    condition: Condition,
    layout: layout::Layout,
    /// Empty until the first command: most builds only ask whether the settings make an array.
    drives: Vec<FlashDrive>,
    /// By place in the set: the number of the drive that is fitted in it.
    fitted: Box<[u32]>,
    /// Counters of drives that are no longer in the set, with their numbers.
    retired: Vec<(u32, FlashCounters)>,
    /// Units written by the host to each drive when the window began.
    at_window: Vec<u64>,
}

impl Drives {
    pub fn new(
        description: &Description,
        settings: Settings,
        layout: &layout::Layout,
        seed: u64,
    ) -> Result<Self, TwinError> {
        let mut flash = description.drives.flash();
        if !settings.on.reserve {
            flash.erased_reserve.0 = 0;
        }
        let mut template = FlashDrive::new(&flash, DriveCondition::Fresh, 0)
            .map_err(|error| no_flash_drive(error).under("drives").under("ssd_array"))?;
        if !settings.on.gc {
            template.make_collection_free();
        }
        Ok(Drives {
            template,
            count: description.drives.count.get(),
            all: description.drives.fitted(),
            fitted: (0..description.drives.count.get()).collect(),
            retired: Vec::new(),
            seed,
            condition: settings.condition,
            layout: layout.clone(),
            drives: Vec::new(),
            at_window: Vec::new(),
        })
    }

    /// Brings all drives into their condition, once.
    #[inline]
    pub fn prepare(&mut self) {
        if self.drives.is_empty() {
            self.drives = (0..self.count).map(|place| self.prepared(place, place, self.condition)).collect();
        }
    }

    /// A drive with its number for a place in the set.
    fn prepared(&self, number: u32, place: u32, condition: Condition) -> FlashDrive {
        let mut drive = self.template.clone();
        drive.reseed(Random::from_seed_and_stream(self.seed, u64::from(number)).next_u64());
        let has_parity = matches!(self.layout.redundancy(), layout::Redundancy::Parity(1..));
        if has_parity {
            let units_per_segment = (self.layout.segment_bytes() / drive.unit_bytes()).max(1);
            drive.mark_hot(|unit| {
                let stripe = u64::from(unit / units_per_segment);
                u32::from(self.layout.place(stripe, self.layout.data_members()).drive) == place
            });
        }
        match condition {
            Condition::Fresh => {}
            Condition::Written => drive.put_in(DriveCondition::Filled(1.0)),
            Condition::Filled | Condition::Steady => {
                drive.put_in(DriveCondition::Steady(1.0));
                if has_parity {
                    drive.age();
                }
                if condition == Condition::Filled {
                    drive.rest();
                }
            }
        }
        drive
    }

    /// From now on a drive takes so many thousandths of its time.
    pub fn slow_down(&mut self, place: u32, slowness: Slowness) {
        self.prepare();
        self.drives[place as usize].slow_down(slowness);
    }

    /// Returns how slow the drive in a place is at present.
    pub fn slowness(&self, place: u32) -> Slowness {
        self.drives.get(place as usize).map_or(Slowness::NONE, FlashDrive::slowness)
    }

    /// An erased drive, a spare or a new one, comes into a place of the set.
    pub fn fit(&mut self, place: DriveIndex, number: u32) {
        self.put(place, number, Condition::Fresh);
    }

    /// A spare that was filled long ago, and is as the other drives.
    pub fn fit_filled(&mut self, place: DriveIndex, number: u32) {
        self.put(place, number, self.condition);
    }

    fn put(&mut self, place: DriveIndex, number: u32, condition: Condition) {
        self.prepare();
        let drive = self.prepared(number, u32::from(place), condition);
        let index = usize::from(place);
        let lost = std::mem::replace(&mut self.drives[index], drive);
        self.retired.push((self.fitted[index], lost.counters()));
        self.fitted[index] = number;
        if let Some(units) = self.at_window.get_mut(index) {
            *units = 0;
        }
    }

    /// Returns when a read of one place, begun now, is done.
    #[inline]
    pub fn read_place(&mut self, now_ns: u64, place: layout::Place, length_bytes: u32) -> u64 {
        self.drives[usize::from(place.drive)].read(now_ns, place.offset_bytes, length_bytes)
    }

    /// Returns when a write of one place, begun now, is safe in the drive.
    #[inline]
    pub fn write_place(
        &mut self,
        now_ns: u64,
        place: layout::Place,
        length_bytes: u32,
        temperature: Temperature,
    ) -> u64 {
        let drive = &mut self.drives[usize::from(place.drive)];
        drive.write(now_ns, place.offset_bytes, length_bytes, temperature)
    }

    /// Returns what a read that nothing keeps waiting takes at the least if it begins and ends at multiples of
    /// `grain_bytes`.
    pub fn quickest_read_ns(&self, grain_bytes: u32) -> u64 {
        self.template.quickest_read_ns(grain_bytes)
    }

    /// Returns when all these reads, begun now, are done.
    #[inline]
    pub fn read(&mut self, now_ns: u64, ios: &[layout::DriveIo]) -> u64 {
        ios.iter().fold(now_ns, |done_ns, io| {
            let place = layout::Place { drive: io.drive, offset_bytes: io.offset_bytes };
            done_ns.max(self.read_place(now_ns, place, io.length_bytes))
        })
    }

    /// Returns when all these writes, begun now, are safe in the drives.
    #[inline]
    pub fn write<'a>(&mut self, now_ns: u64, ios: impl IntoIterator<Item = &'a layout::DriveIo>) -> u64 {
        ios.into_iter().fold(now_ns, |done_ns, io| {
            let temperature = match io.role {
                layout::Role::P | layout::Role::Q => Temperature::Hot,
                _ => Temperature::Cold,
            };
            let place = layout::Place { drive: io.drive, offset_bytes: io.offset_bytes };
            done_ns.max(self.write_place(now_ns, place, io.length_bytes, temperature))
        })
    }

    /// Gives up ranges.
    pub fn trim(&mut self, ios: &[layout::DriveIo]) {
        for io in ios {
            self.drives[usize::from(io.drive)].trim(io.offset_bytes, u64::from(io.length_bytes));
        }
    }

    /// Begins a stretch that is to stand for more.
    pub fn begin_window(&mut self) {
        self.prepare();
        self.at_window = self.drives.iter().map(|drive| drive.counters().host_units).collect();
    }

    fn units_in_window(&self) -> impl Iterator<Item = (&FlashDrive, u64)> {
        self.drives.iter().zip(&self.at_window).map(|(drive, &at)| (drive, drive.counters().host_units - at))
    }

    /// Returns whether a drive pays for collection at present.
    pub fn are_collecting(&self) -> bool {
        self.drives.iter().any(FlashDrive::is_collecting)
    }

    /// Returns how long the load of the window may go on before a drive must begin to collect. All its write-free time
    /// for drives that collect already.
    pub fn steady_for_ns(&self, window_ns: u64) -> u64 {
        self.units_in_window()
            .filter(|(drive, units)| !drive.is_collecting() && *units > 0)
            .map(|(drive, units)| {
                let free_units = drive.free_reserve_bytes() / u64::from(drive.unit_bytes());
                (u128::from(free_units) * u128::from(window_ns) / u128::from(units)) as u64
            })
            .min()
            .unwrap_or(u64::MAX)
    }

    /// Carries the drives over `duration_ns` of what went on for `window_ns`.
    pub fn skip_time(&mut self, duration_ns: u64, window_ns: u64) {
        for (drive, &at) in self.drives.iter_mut().zip(&self.at_window) {
            let units = u128::from(drive.counters().host_units - at);
            drive.apply_skipped_writes(
                (units * u128::from(duration_ns) / u128::from(window_ns.max(1))) as u64,
            );
        }
    }

    /// Carries the drives over writes in order.
    pub fn apply_skipped_sequential(&mut self, ios: &[layout::DriveIo]) {
        for io in ios {
            self.drives[usize::from(io.drive)]
                .apply_skipped_sequential(io.offset_bytes, u64::from(io.length_bytes));
        }
    }

    /// Counters of each drive by its number, and its erased reserve; zeros before the first command.
    pub fn report(&self) -> impl Iterator<Item = (FlashCounters, u64)> {
        (0..self.all).map(|number| {
            let retired = self.retired.iter().filter(|(retired, _)| *retired == number);
            let before = retired.fold(FlashCounters::default(), |sum, (_, counters)| sum.plus(counters));
            let place = self.fitted.iter().position(|&fitted| fitted == number);
            match place.and_then(|place| self.drives.get(place)) {
                None => (before, 0),
                Some(drive) => (before.plus(&drive.counters()), drive.free_reserve_bytes()),
            }
        })
    }
}

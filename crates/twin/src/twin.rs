//! Digital twin: the device that an array is, with its settings and its schedule of events.

use std::ops::ControlFlow;
use std::sync::atomic::AtomicBool;

use load::{
    Completion, Device, Extrapolation, FastForward, LoadSpec, Operation, Sample, SpecError, run_fast_forward,
    run_simulated,
};
use serde_json::{Map, Value};

use crate::cache::{ReadCacheFill, WriteCacheFill, WriteCacheLevel};
use crate::composed::{FlashUnits, Model, settings_of};
use crate::settings::{Setting, on_or_off};
use crate::slow::{Change, DRIVE_SLOW, SLOWNESS_LEVEL, SlowDrives};
use crate::{ArrayDescription, Event, Faults, TwinCounter, TwinError, TwinNote};

/// The setting that every array has beside those of its parts.
const EXACT: Setting = Setting {
    name: "exact",
    takes: "on or off",
    says: "on: all of a load is simulated, nothing is extrapolated",
};

/// Digital twin: a simulated array.
#[derive(Debug, Clone)]
pub struct Twin {
    model: Box<Model>,
    is_exact: bool,
    /// Time that was skipped: the model's clock is behind that of the load by it.
    skipped_ns: u64,
    /// Scheduled events that the model does not know of yet, the next one last, by the load's clock.
    scheduled: Vec<(u64, ScheduledEvent)>,
    /// Moment at which the next of them is due on the model's clock.
    next_event_ns: u64,
    /// Counters when the window began, and what skipped time adds to them. Levels (`fill_…`) are not added to.
    at_window: Vec<TwinCounter>,
    extrapolated_counts: Vec<u64>,
    slow: SlowDrives,
    /// Notes from before time was last skipped that were not taken yet.
    notes: Vec<TwinNote>,
    /// Scheduled events that were delivered and notes that were taken so far.
    change_count: u64,
}

/// Event scheduled on a twin.
#[derive(Debug, Clone)]
enum ScheduledEvent {
    Model { event: Event, arguments: Map<String, Value> },
    Slow(Change),
}

impl Twin {
    /// Builds a twin. `settings` are array settings and mechanism switches ([`Twin::settings`]); what this array
    /// does not have is refused. `seed` is for the parts of an array that chance acts on; a twin built of
    /// deterministic parts alone is the same with every seed.
    pub fn build(
        description: &ArrayDescription,
        settings: &Map<String, Value>,
        seed: u64,
    ) -> Result<Twin, TwinError> {
        description.check()?;
        let mut settings = settings.clone();
        let is_exact = match settings.shift_remove(EXACT.name) {
            Some(value) => on_or_off(EXACT.name, &value)?,
            None => false,
        };
        let settings = &settings;
        let model = Box::new(Model::build(&description.parts, settings, seed)?);
        Ok(Twin {
            model,
            is_exact,
            skipped_ns: 0,
            scheduled: Vec::new(),
            next_event_ns: u64::MAX,
            at_window: Vec::new(),
            extrapolated_counts: Vec::new(),
            slow: SlowDrives::default(),
            notes: Vec::new(),
            change_count: 0,
        })
    }

    /// Brings its drives into the state in which they begin now instead of at the first I/O, so that copies of it need not.
    pub fn prepare(&mut self) {
        self.model.prepare();
    }

    /// Returns what can be set on a twin of this description.
    pub fn settings(description: &ArrayDescription) -> Vec<Setting> {
        settings_of(&description.parts).into_iter().chain([EXACT]).collect()
    }

    /// Runs a load on the twin: windows of it where that is enough, all of it where the twin was built with `exact: on`. `stop` breaks it
    /// off as in [`run_simulated`].
    pub fn run(
        &mut self,
        spec: &LoadSpec,
        stop: &AtomicBool,
        on_sample: &mut dyn FnMut(&mut Twin, Sample) -> ControlFlow<()>,
    ) -> Result<Extrapolation, SpecError> {
        if !self.is_exact {
            return run_fast_forward(self, spec, stop, on_sample);
        }
        run_simulated(self, spec, stop, on_sample)?;
        Ok(Extrapolation::none(spec))
    }

    /// Time of the twin's clock, skipped time included: the clock of its events and notes.
    pub fn time_ns(&self) -> u64 {
        self.now_ns() + self.skipped_ns
    }

    /// Lets something happen at a moment of the twin's clock ([`Twin::time_ns`]).
    pub fn schedule(&mut self, at_ns: u64, event: Event) -> Result<(), TwinError> {
        self.act(at_ns, event.name(), &Map::new())
    }

    /// The same for an action as plans name it, with what it is told: `limit` with `iops: 1000`.
    pub fn act(&mut self, at_ns: u64, action: &str, arguments: &Map<String, Value>) -> Result<(), TwinError> {
        self.check_moment(at_ns, action)?;
        if action == DRIVE_SLOW {
            let change = Change::parse(arguments, |value| self.model.find_drive(value))?;
            self.plan(at_ns, ScheduledEvent::Slow(change));
            return Ok(());
        }
        let event = Event::parse(action)?;
        self.model.can_act(event, arguments)?;
        self.plan(at_ns, ScheduledEvent::Model { event, arguments: arguments.clone() });
        Ok(())
    }

    fn check_moment(&self, at_ns: u64, event: &str) -> Result<(), TwinError> {
        let now_ns = self.time_ns();
        if at_ns < now_ns {
            return Err(TwinError::Late { event: event.to_owned(), at_ns, now_ns });
        }
        Ok(())
    }

    fn plan(&mut self, at_ns: u64, scheduled: ScheduledEvent) {
        // The next one last, and of those of one moment the one that was asked for first.
        let place = self.scheduled.partition_point(|&(later_ns, _)| later_ns > at_ns);
        self.scheduled.insert(place, (at_ns, scheduled));
        self.find_next_event();
    }

    /// Returns whether the load, which goes on for `left_ns`, meets an action that makes it chaotic.
    fn is_chaos_ahead(&self, left_ns: u64) -> bool {
        let end_ns = self.time_ns().saturating_add(left_ns);
        self.scheduled.iter().rev().take_while(|&&(at_ns, _)| at_ns < end_ns).any(|(_, scheduled)| {
            match scheduled {
                ScheduledEvent::Model { event, .. } => self.model.is_chaotic_after(*event),
                ScheduledEvent::Slow(_) => false,
            }
        })
    }

    fn find_next_event(&mut self) {
        self.next_event_ns = self.scheduled.last().map_or(u64::MAX, |&(at_ns, _)| at_ns - self.skipped_ns);
    }

    /// Hands the model what is due by `until_ns` of its clock; a completion where one comes before that.
    #[cold]
    fn deliver_events(&mut self, until_ns: u64) -> Option<Completion> {
        while self.next_event_ns <= until_ns
            && let Some((_, scheduled)) = self.scheduled.last()
        {
            let at_ns = self.next_event_ns.max(self.now_ns());
            match scheduled {
                ScheduledEvent::Model { event, arguments } => self.model.act(at_ns, *event, arguments),
                ScheduledEvent::Slow(change) => {
                    let change = *change;
                    // It acts at once, so the model must have come to its moment.
                    let completion = self.model.next_completion(at_ns);
                    if completion.is_some() {
                        return completion;
                    }
                    let entity = self.model.drive_entity(change.drive);
                    self.model.slow_drive(change.drive, change.slowness);
                    self.slow.keep(at_ns, change, entity);
                }
            }
            self.scheduled.pop();
            self.change_count += 1;
            self.find_next_event();
        }
        None
    }

    /// Number, part and slowness (in thousandths of the time that is described) of each drive that is slow.
    pub fn slow_drives(&self) -> impl Iterator<Item = (u32, &str, u32)> {
        let fitted = |drive| self.model.slowness(drive);
        let slow = self.slow.iter().filter(move |&(drive, _, slowness)| fitted(drive) == slowness);
        slow.map(|(drive, entity, slowness)| (drive, entity, slowness.thousandths()))
    }

    /// The number by which events name the drive that is fitted in a place of the array's first set: after a spare has taken
    /// the place, the spare.
    pub fn drive_in(&self, place: u32) -> u32 {
        self.model.drive_in(place)
    }

    /// The name among the counters of the drive that is fitted in a place of the array's first set.
    pub fn part_in(&self, place: u32) -> String {
        self.model.drive_entity(self.model.drive_in(place))
    }

    /// Faults that last, for another twin of the same array. Slow drives are not among them ([`Twin::slow_drives`]).
    pub fn faults(&self) -> Faults {
        self.model.faults()
    }

    /// Begins with the faults of another twin of the same array, before anything else: places are as they were, a rebuild, a
    /// failover and an update go on. False, and nothing taken of what is refused, where they cannot be this array's.
    pub fn begin_with(&mut self, faults: &Faults) -> bool {
        self.model.begin_with(faults)
    }

    /// Makes operations of jobs from `first_job` on go to the volume and come from the host that `settings` name
    /// (`volume`, `host`), where an array has several: this is how several loads share a twin, each with a range of
    /// jobs of its own. What is not named is as for the jobs before.
    pub fn attach(&mut self, first_job: u32, settings: &Map<String, Value>) -> Result<(), TwinError> {
        self.model.attach(first_job, settings)
    }

    /// The size of what a job addresses: of its volume, where an array has several.
    pub fn capacity_of_job_bytes(&self, job: u32) -> u64 {
        self.model.capacity_of_job_bytes(job)
    }

    /// Returns when something happens next in the twin by itself, for whoever drives it on a real clock and has just
    /// been told by [`Device::next_completion`] that nothing completes by now; `u64::MAX` for never.
    pub fn wakes_at_ns(&self) -> u64 {
        self.next_event_ns.min(self.model.wakes_at_ns())
    }

    /// Returns what has happened to the twin since this was last asked, for the run's record of events.
    pub fn take_notes(&mut self) -> Vec<TwinNote> {
        self.date_notes();
        std::mem::take(&mut self.notes)
    }

    /// Dates new notes by the twin's clock, before more time is skipped.
    fn date_notes(&mut self) {
        let mut notes = self.model.take_notes();
        notes.extend(self.slow.take_notes());
        notes.sort_by_key(|note| note.at_ns);
        self.change_count += notes.len() as u64;
        self.notes
            .extend(notes.into_iter().map(|note| TwinNote { at_ns: note.at_ns + self.skipped_ns, ..note }));
    }

    /// Fills of the array's read caches: all of those in memory together, and of one on drives; none where it has none.
    pub fn read_cache_fills(&self) -> impl Iterator<Item = ReadCacheFill> {
        self.model.read_cache_fills()
    }

    /// Leaves in the read caches what I/Os leave there, without the time that they take: functional warming.
    pub fn warm(&mut self, operations: &[Operation]) {
        self.model.warm(operations);
    }

    /// Lets a cache on drives that keeps what is read a second time have seen a range of what a job addresses.
    pub fn warm_seen(&mut self, job: u32, offset_bytes: u64, length_bytes: u64) {
        self.model.warm_seen(job, offset_bytes, length_bytes);
    }

    /// Fills of the write caches of the controllers that mirror them now, or need not.
    pub fn write_cache_fills(&self) -> impl Iterator<Item = WriteCacheFill> {
        self.model.write_cache_fills()
    }

    /// Leaves in the write caches what writes leave there, without the time that they take, while what is more than a level goes to the
    /// drives.
    pub fn warm_write_caches(&mut self, operations: &[Operation], level: WriteCacheLevel) {
        self.model.warm_write_caches(operations, level);
    }

    /// Takes over what the caches of another twin hold; false, and nothing is taken, where its caches, or the places of its volumes, are
    /// others. Of the other, no I/O is under way.
    pub fn copy_caches(&mut self, of: &Twin) -> bool {
        self.model.copy_caches(&of.model)
    }

    /// Takes over the states of the solid-state drives of another twin; false, and nothing is taken, where its drives, or the
    /// places of its volumes, are others. Of the other, no I/O is under way.
    pub fn copy_drives(&mut self, of: &Twin) -> bool {
        self.model.copy_drives(&of.model)
    }

    /// Returns the least share (0 to 1) of a solid-state drive that a range of what a job addresses takes; `None` where
    /// [`Twin::rewrite_in_order`] cannot write it: it can on solid-state drives of a RAID level, without data services.
    pub fn share_of_drives(&self, job: u32, offset_bytes: u64, length_bytes: u64) -> Option<f64> {
        self.model.share_of_drives(job, offset_bytes, length_bytes)
    }

    /// Writes a range of what a job addresses to the drives, once and in order, without the time that it takes: over and over it leaves
    /// them as hours of a load in order do.
    pub fn rewrite_in_order(&mut self, job: u32, offset_bytes: u64, length_bytes: u64) {
        self.model.rewrite_in_order(job, offset_bytes, length_bytes);
    }

    /// As [`Twin::rewrite_in_order`], at random: each drive that has something of the range is written for `drive_writes` times what it holds.
    pub fn rewrite_at_random(&mut self, job: u32, offset_bytes: u64, length_bytes: u64, drive_writes: f64) {
        self.model.rewrite_at_random(job, offset_bytes, length_bytes, drive_writes);
    }

    /// Returns what solid-state drives were given and moved.
    pub fn flash_units(&self) -> FlashUnits {
        self.model.flash_units()
    }

    /// Share of a rebuild that is done; `None` where none runs.
    pub fn rebuilt_share(&self) -> Option<f64> {
        self.model.rebuilt_share()
    }

    /// Lost drives whose data is neither on others nor on its way there: they have no spare, or wait for their turn.
    pub fn unrebuilt_drives(&self) -> usize {
        self.model.unrebuilt_drives()
    }

    /// Cumulative counts of every part since the twin was built; `fill_…` are levels at this moment.
    pub fn counters(&self) -> Vec<TwinCounter> {
        let mut counters = self.model.counters();
        for (counter, skipped) in counters.iter_mut().zip(&self.extrapolated_counts) {
            counter.value += skipped;
        }
        counters.extend(self.slow_drives().map(|(_, entity, thousandths)| TwinCounter {
            entity: entity.to_owned(),
            name: SLOWNESS_LEVEL,
            value: u64::from(thousandths),
        }));
        counters
    }
}

impl Device for Twin {
    fn capacity_bytes(&self) -> u64 {
        self.model.capacity_bytes()
    }

    fn now_ns(&self) -> u64 {
        self.model.now_ns()
    }

    fn expect(&mut self, grain_bytes: u32) {
        self.model.expect(grain_bytes);
    }

    fn declare_content(&mut self, first_job: u32, content: load::Content) {
        self.model.declare_content(first_job, content);
    }

    #[inline]
    fn submit(&mut self, at_ns: u64, tag: u32, operation: Operation) {
        self.model.submit(at_ns, tag, operation);
    }

    #[inline]
    fn next_completion(&mut self, until_ns: u64) -> Option<Completion> {
        if self.next_event_ns <= until_ns
            && let Some(completion) = self.deliver_events(until_ns)
        {
            return Some(completion);
        }
        self.model.next_completion(until_ns)
    }
}

impl FastForward for Twin {
    fn begin_window(&mut self) {
        self.model.begin_window();
        self.at_window = self.model.counters();
    }

    fn steady_for_ns(&self, window_ns: u64, left_ns: u64) -> u64 {
        if self.is_chaos_ahead(left_ns) {
            return 0;
        }
        let until_event_ns = self.next_event_ns.saturating_sub(self.now_ns() + 1);
        self.model.steady_for_ns(window_ns, left_ns).min(until_event_ns)
    }

    fn knows_skipped_streams(&self) -> bool {
        self.model.knows_skipped_streams()
    }

    fn begin_level(&mut self) {
        self.model.begin_level();
    }

    fn change_count(&mut self) -> u64 {
        self.date_notes();
        self.change_count + self.model.change_count()
    }

    fn can_skip_sequential(&self) -> bool {
        self.model.can_skip_sequential()
    }

    fn skip_time(&mut self, duration_ns: u64, window_ns: u64) {
        let counters = self.model.counters();
        self.extrapolated_counts.resize(counters.len(), 0);
        for ((now, before), skipped) in
            counters.iter().zip(&self.at_window).zip(&mut self.extrapolated_counts)
        {
            if !now.name.starts_with("fill_") {
                let counted = u128::from(now.value.saturating_sub(before.value));
                *skipped += (counted * u128::from(duration_ns) / u128::from(window_ns.max(1))) as u64;
            }
        }
        self.date_notes();
        self.model.skip_time(duration_ns, window_ns);
        self.skipped_ns += duration_ns;
        self.find_next_event();
    }

    fn keeps_random_writes(&self, window_ns: u64, left_ns: u64) -> bool {
        self.model.keeps_random_writes(window_ns, left_ns)
    }

    fn apply_skipped_write(&mut self, offset_bytes: u64, length_bytes: u64) {
        self.model.apply_skipped_write(offset_bytes, length_bytes);
    }
}

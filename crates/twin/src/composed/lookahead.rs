//! Conservative lookahead: how long before its time an event may be handled.
//!
//! A resource that serves in order of arrival must be asked in that order; it need not be asked at that moment. No command reaches
//! a controller sooner after its issue than the shortest way takes, so whatever reaches one within that time from now on has been
//! issued already: it can be seen to now, in order, at the moment at which it arrives. The same holds one step further for the
//! drives, with the quickest command. A command that nothing keeps waiting thus goes on at once, without an event for each step
//! (conservative lookahead: Chandy and Misra, IEEE TSE 1979). Each resource is asked at its own constant distance from the clock.
//!
//! The links to the host are one step further still, by the quickest read there can be. How quick that is depends on its size, so a
//! load says beforehand into which grains its I/Os fall ([`load::Device::expect`]); reads of one grain that nothing keeps waiting
//! then go on at once as well. Not where adapters limit what goes both ways: writes come to them at another distance.
//!
//! Where something counts what is at the controllers at this moment (crowding, caches, places in a window or for changes of parity),
//! there is no lookahead; nor from the first event on, since drives and controllers that come and go act on what is under way.

use load::Operation;

use super::Model;
use super::command::{ModelEvent, Phase};
use super::drives::GroupDrives;
use crate::engine::EventQueue;

/// Lookahead of each resource, as a distance from the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Lookahead {
    /// From an issue until a command can be at its controller.
    arrival_ns: u64,
    /// From an issue until one can be at the drives.
    drives_ns: u64,
    /// From an issue until a read's data can be at their link; 0 where something there moves data both ways.
    links_ns: u64,
}

impl Lookahead {
    /// No lookahead: every event is handled at its own time.
    pub const NONE: Lookahead = Lookahead { arrival_ns: 0, drives_ns: 0, links_ns: 0 };

    /// With so long a way to a controller, and so quick a command; data go each way by themselves, or not.
    pub fn new(arrival_ns: u64, command_ns: u64, has_ways_apart: bool) -> Lookahead {
        let drives_ns = arrival_ns + command_ns;
        // Nothing is known of reads yet: their data can be there at once.
        Lookahead { arrival_ns, drives_ns, links_ns: if has_ways_apart { drives_ns } else { 0 } }
    }

    fn of_phase(self, phase: Phase) -> u64 {
        match phase {
            Phase::Read => self.links_ns,
            Phase::ReadOld | Phase::Compute => self.drives_ns,
            Phase::Write => 0,
        }
    }
}

/// Steps of a command that may be handled ahead of time.
#[derive(Debug, Clone, Copy)]
pub(crate) enum CommandStep {
    Arrive,
    Start,
    PhaseDone(Phase),
}

impl Model {
    /// Lets a command take a step at a moment: now, at that moment of its resource, where no other can come before it; by an event
    /// otherwise.
    #[inline(always)]
    pub(super) fn step(&mut self, at_ns: u64, index: u32, step: CommandStep) {
        let ahead = self.lookahead;
        let (lead_ns, event) = match step {
            CommandStep::Arrive => (ahead.arrival_ns, ModelEvent::Arrive(index)),
            CommandStep::Start => (ahead.drives_ns, ModelEvent::Start(index)),
            CommandStep::PhaseDone(phase) => (ahead.of_phase(phase), ModelEvent::PhaseDone(index)),
        };
        let seen_ns = at_ns - lead_ns;
        if seen_ns > self.clock_ns {
            return self.queue.push(seen_ns, event.pack());
        }
        let before_ns = std::mem::replace(&mut self.now_ns, at_ns);
        match step {
            CommandStep::Arrive => self.arrive(index),
            CommandStep::Start => self.start(index),
            CommandStep::PhaseDone(_) => self.phase_done(index),
        }
        self.now_ns = before_ns;
    }

    /// Takes the step of an event whose moment has come, at the moment of its resource.
    #[inline]
    pub(super) fn handle_ahead(&mut self, event: ModelEvent) {
        self.now_ns = self.clock_ns + self.lead_ns(self.lookahead, event);
        match event {
            ModelEvent::Arrive(command) => self.arrive(command),
            ModelEvent::Start(command) => self.start(command),
            ModelEvent::PhaseDone(command) => self.phase_done(command),
            _ => {}
        }
        self.now_ns = self.clock_ns;
    }

    /// Lookahead of an event.
    #[inline]
    fn lead_ns(&self, ahead: Lookahead, event: ModelEvent) -> u64 {
        match event {
            ModelEvent::Arrive(_) => ahead.arrival_ns,
            ModelEvent::Start(_) => ahead.drives_ns,
            ModelEvent::PhaseDone(command) if ahead != Lookahead::NONE => {
                ahead.of_phase(self.commands.get(command).phase)
            }
            _ => 0,
        }
    }

    /// Stops the lookahead: from now on every event is handled at its own time. Resources keep their order: what was handled ahead
    /// of time comes before whatever is still to come.
    #[cold]
    pub(super) fn stop_lookahead(&mut self) {
        self.shorten_lookahead(Lookahead::NONE);
    }

    fn shorten_lookahead(&mut self, lookahead: Lookahead) {
        if lookahead == self.lookahead {
            return;
        }
        let before = std::mem::replace(&mut self.lookahead, lookahead);
        let mut queue = std::mem::replace(&mut self.queue, EventQueue::new());
        queue.put_all_off(|payload| {
            let event = ModelEvent::unpack(payload);
            self.lead_ns(before, event) - self.lead_ns(lookahead, event)
        });
        self.queue = queue;
    }

    /// From now on all I/Os begin and end at multiples of `grain_bytes`. Nothing is under way.
    pub(super) fn look_ahead_to_reads(&mut self, grain_bytes: u32) {
        if self.lookahead == Lookahead::NONE || !self.fabric.has_ways_apart() {
            return;
        }
        self.grain_bytes = grain_bytes;
        self.lookahead.links_ns = self.lookahead.drives_ns + self.quickest_read_ns(grain_bytes);
    }

    /// Stripes of hosts and sets cut I/Os where their segments end, and a drive by its pages: pieces are not smaller than the
    /// smallest of them.
    fn quickest_read_ns(&self, grain_bytes: u32) -> u64 {
        let sets = self.sets.iter().map(|state| state.set.layout.segment_bytes());
        let stripes = self.entries.iter().filter_map(|entry| entry.stripe.as_ref());
        let cut_bytes = sets.chain(stripes.map(layout::Layout::segment_bytes)).min().unwrap_or(1);
        let grain_bytes = grain_bytes.min(cut_bytes);
        let drives = self.groups.drives.iter().map(|drives| match drives {
            GroupDrives::SolidStates(drives) => drives.quickest_read_ns(grain_bytes),
            GroupDrives::HardDisks(_) | GroupDrives::Modules(_) => 0,
        });
        drives.min().unwrap_or(0)
    }

    /// Gives up what was expected of I/Os where one is not like it.
    #[inline]
    pub(super) fn check_expected(&mut self, operation: &Operation) {
        let ends = operation.offset_bytes | u64::from(operation.length_bytes);
        if ends & u64::from(self.grain_bytes - 1) != 0 {
            self.expect_anything();
        }
    }

    #[cold]
    fn expect_anything(&mut self) {
        self.grain_bytes = 1;
        if self.lookahead.links_ns > self.lookahead.drives_ns {
            let links_ns = self.lookahead.drives_ns + self.quickest_read_ns(1);
            self.shorten_lookahead(Lookahead { links_ns, ..self.lookahead });
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::composed::Model;
    use load::{
        Arrival, Device, LoadShape, LoadSpec, NEVER_STOPPED, Operation, Pattern, Sample, run_simulated,
    };
    use serde_json::{Map, Value};
    use std::ops::ControlFlow;

    /// The composite flash array, all of whose times are so many times as long.
    fn composite(longer: f64) -> array::Array {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../arrays/composite-flash.yaml");
        let mut array = *plan::load_array(path).unwrap().description.parts;
        for time in [
            "fabric.command",
            "fabric.latency",
            "controllers.parity_read",
            "controllers.parity_write",
            "controllers.answer",
            "groups[0].drives.read",
            "groups[0].drives.program",
            "groups[0].drives.erase",
            "groups[0].drives.read_command",
            "groups[0].drives.write_command",
        ] {
            let (_, parameter) = array.value_mut(time).unwrap();
            parameter.value = (parameter.value as f64 * longer) as u64;
        }
        for rate in [
            "fabric.rate",
            "controllers.parity",
            "controllers.new_parity",
            "groups[0].drives.channel",
            "groups[0].drives.bus",
        ] {
            let (_, parameter) = array.value_mut(rate).unwrap();
            parameter.value = (parameter.value as f64 / longer) as u64;
        }
        array
    }

    /// Samples of a load on such an array, with lookahead in the first of ten samples and without in the others.
    fn samples(rwmixread: u8, longer: f64, shape: LoadShape, ahead_in_samples: usize) -> Vec<Sample> {
        let array = composite(longer);
        let settings: Map<String, Value> = Map::from_iter([("host".to_owned(), Value::from("off"))]);
        let mut model = Model::build(&array, &settings, 1).unwrap();
        assert!(model.lookahead.arrival_ns >= 500 && model.lookahead.drives_ns >= 12_500);
        model.expect(4096);
        assert!(model.lookahead.links_ns >= 80_000);
        if ahead_in_samples == 0 {
            model.stop_lookahead();
        }
        let runtime_ns = (10e6 * longer) as u64;
        let spec = LoadSpec {
            pattern: Pattern::Randrw,
            rwmixread,
            bs_bytes: 4096,
            numjobs: 32,
            iodepth: 8,
            offset_bytes: 0,
            size_bytes: None,
            rate_iops: None,
            ramp_ns: 0,
            runtime_ns,
            interval_ns: runtime_ns / 10,
            seed: 1,
            shape,
        };
        let mut samples = Vec::new();
        run_simulated(&mut model, &spec, &NEVER_STOPPED, &mut |model, sample| {
            samples.push(sample);
            if samples.len() == ahead_in_samples {
                model.stop_lookahead();
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        samples
    }

    /// Proves that every I/O has the same latency to the nanosecond whether or not its path is handled ahead of time, reads, mixed load
    /// and writes, thousands of them under contention: where chance alone says when each begins, and times are so long that no two meet
    /// in one nanosecond, nothing differs, nor where lookahead ends under way.
    #[test]
    fn what_is_seen_ahead_is_the_same() {
        let longer = 703.7;
        for rwmixread in [100, 70, 0] {
            let shape = LoadShape { arrival: Some(Arrival::poisson(1e6 / longer)), ..LoadShape::default() };
            let at_its_time = samples(rwmixread, longer, shape.clone(), 0);
            let ios = at_its_time.iter().map(|sample| sample.read.ios + sample.write.ios).sum::<u64>();
            assert!(ios > 5_000, "{ios}");
            for ahead_in_samples in [10, 4] {
                assert!(
                    samples(rwmixread, longer, shape.clone(), ahead_in_samples) == at_its_time,
                    "{rwmixread} % reads, ahead in {ahead_in_samples} samples"
                );
            }
        }
    }

    /// Proves that a device which was promised larger I/Os than come takes its time with them from the first that is smaller on.
    #[test]
    fn a_broken_promise_is_noticed() {
        let array = composite(1.0);
        let settings: Map<String, Value> = Map::from_iter([("host".to_owned(), Value::from("off"))]);
        let latencies = |grain_bytes: u32| {
            let mut model = Model::build(&array, &settings, 1).unwrap();
            model.expect(grain_bytes);
            let read = |offset_bytes, length_bytes| Operation {
                direction: load::Direction::Read,
                offset_bytes,
                length_bytes,
                job: 0,
            };
            model.submit(0, 0, read(0, 16 << 10));
            model.submit(0, 1, read(1 << 20, 512));
            [(); 2].map(|()| model.next_completion(u64::MAX).map(|done| (done.tag, done.at_ns)))
        };
        assert_eq!(latencies(16 << 10), latencies(512));
    }

    /// Proves that with the times of the array, where commands do meet and another of two may come first, counts and mean latencies
    /// agree within 0.2 %.
    #[test]
    fn ties_make_no_difference_that_counts() {
        let sums = [10, 0].map(|ahead_in_samples| {
            let samples = samples(70, 1.0, LoadShape::default(), ahead_in_samples);
            let ios: u64 = samples.iter().map(|sample| sample.read.ios + sample.write.ios).sum();
            let latency_ns: u128 = samples
                .iter()
                .map(|sample| sample.read.latency.sum_ns() + sample.write.latency.sum_ns())
                .sum();
            (ios as f64, latency_ns as f64 / ios as f64)
        });
        let [(ahead_ios, ahead_ns), (ios, ns)] = sums;
        assert!((ahead_ios / ios - 1.0).abs() < 0.002, "{ahead_ios} {ios}");
        assert!((ahead_ns / ns - 1.0).abs() < 0.002, "{ahead_ns} {ns}");
    }
}

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
//! Where something counts what is at the controllers at this moment (crowding, room in the cache, places for changes of parity),
//! there is no lookahead; nor from the first event on, since drives and controllers that come and go act on what is under way.

use super::Model;
use super::command::ModelEvent;
use super::controller::Timing;
use super::host::Host;
use super::settings::Settings;
use crate::part::Crowding;
use load::Operation;

/// Lookahead of each resource, as a distance from the clock.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lookahead {
    /// From an issue until a command can be at its controller.
    arrival_ns: u64,
    /// From an issue until one can be at the drives.
    drives_ns: u64,
    /// From an issue until a read's data can be at their link; 0 without lookahead.
    links_ns: u64,
}

impl Lookahead {
    /// No lookahead: every event is handled at its own time.
    const NONE: Lookahead = Lookahead { arrival_ns: 0, drives_ns: 0, links_ns: 0 };

    pub fn new(host: &Host, timing: &Timing, crowding: Crowding, settings: Settings) -> Lookahead {
        if settings.on.write_cache || crowding.grows() || timing.limits_parity_updates {
            return Lookahead::NONE;
        }
        let arrival_ns = host.command_ns();
        Lookahead { arrival_ns, drives_ns: arrival_ns + timing.quickest_command_ns(), links_ns: 0 }
    }

    /// The same with so long a quickest read.
    fn with_reads_ns(self, quickest_ns: u64) -> Lookahead {
        // Without lookahead at the drives there is none for reads.
        let links_ns = if self.drives_ns == 0 { 0 } else { self.drives_ns + quickest_ns };
        Lookahead { links_ns, ..self }
    }

    /// Time at which an arrival at `at_ns` is handled; `None` for now.
    #[inline]
    pub fn until_arrival(self, now_ns: u64, at_ns: u64) -> Option<u64> {
        let seen_ns = at_ns - self.arrival_ns;
        (seen_ns > now_ns).then_some(seen_ns)
    }

    /// Time at which a command for the drives at `at_ns` is handled; `None` for now.
    #[inline]
    pub fn until_drives(self, now_ns: u64, at_ns: u64) -> Option<u64> {
        let seen_ns = self.drives_seen_ns(at_ns);
        (seen_ns > now_ns).then_some(seen_ns)
    }

    /// Returns when data that are at their link at `at_ns` are seen to; `None` for now.
    #[inline]
    pub fn until_links(self, now_ns: u64, at_ns: u64) -> Option<u64> {
        let seen_ns = at_ns - self.links_ns;
        (seen_ns > now_ns).then_some(seen_ns)
    }

    /// Time at which an event in the drives at `at_ns` is handled.
    #[inline]
    pub fn drives_seen_ns(self, at_ns: u64) -> u64 {
        at_ns - self.drives_ns
    }

    /// Time of arrivals that are handled now.
    #[inline]
    pub fn arrival_ns(self, now_ns: u64) -> u64 {
        now_ns + self.arrival_ns
    }

    /// Time of drive events that are handled now.
    #[inline]
    pub fn drives_ns(self, now_ns: u64) -> u64 {
        now_ns + self.drives_ns
    }

    /// Returns when data are at their link that are seen to now.
    #[inline]
    pub fn links_ns(self, now_ns: u64) -> u64 {
        now_ns + self.links_ns
    }

    /// Lookahead of an event.
    fn lead_ns(self, event: ModelEvent) -> u64 {
        match event {
            ModelEvent::Arrive(_) => self.arrival_ns,
            ModelEvent::Start(_) | ModelEvent::OldRead(_) | ModelEvent::ParityDone(_) => self.drives_ns,
            ModelEvent::ReadDone(_) => self.links_ns,
            _ => 0,
        }
    }
}

impl Model {
    /// Stops the lookahead: from now on every event is handled at its own time. Resources keep their order: what was handled ahead of time comes before
    /// whatever is still to come.
    #[cold]
    pub(super) fn stop_lookahead(&mut self) {
        self.shorten_lookahead(Lookahead::NONE);
    }

    fn shorten_lookahead(&mut self, lookahead: Lookahead) {
        let before = std::mem::replace(&mut self.lookahead, lookahead);
        self.queue.put_all_off(|payload| {
            let event = ModelEvent::unpack(payload);
            before.lead_ns(event) - lookahead.lead_ns(event)
        });
    }

    /// From now on all I/Os begin and end at multiples of `grain_bytes`. Nothing is under way.
    pub(super) fn look_ahead_to_reads(&mut self, grain_bytes: u32) {
        if self.host.shares_adapters() {
            return;
        }
        self.grain_bytes = grain_bytes;
        self.lookahead = self.lookahead.with_reads_ns(self.quickest_read_ns(grain_bytes));
    }

    /// Both stripes cut I/Os where their segments end, and a drive by its pages: pieces are not smaller than the smallest of them.
    fn quickest_read_ns(&self, grain_bytes: u32) -> u64 {
        let cut_bytes = self.stripe.segment_bytes().min(self.set.segment_bytes());
        self.drives.quickest_read_ns(grain_bytes.min(cut_bytes))
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
        if self.lookahead.links_ns > 0 {
            self.shorten_lookahead(self.lookahead.with_reads_ns(self.quickest_read_ns(1)));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::array_model::ArrayModel;
    use crate::ssd_array::Model;
    use load::{Arrival, Device, LoadShape, LoadSpec, Operation, Pattern, Sample, run_simulated};
    use serde_json::{Map, Value};
    use std::ops::ControlFlow;

    /// Samples of a load on the composite flash array, all of whose times are so many times as long, with lookahead in the
    /// first of ten samples and without in the others.
    fn samples(rwmixread: u8, longer: f64, shape: LoadShape, ahead_in_samples: usize) -> Vec<Sample> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../arrays/composite-flash.yaml");
        let array: crate::ArrayDescription =
            serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut array = array.ssd_array.unwrap();
        let (links, controllers, drives) = (&mut array.links, &mut array.controllers, &mut array.drives);
        let paths = &mut controllers.command_us;
        for time in [
            &mut links.command_us,
            &mut paths.parity_read,
            &mut paths.parity_write,
            &mut controllers.read_answer_us,
            &mut controllers.write_answer_us,
            &mut drives.read_us,
            &mut drives.program_us,
            &mut drives.erase_us,
            &mut drives.read_command_us,
            &mut drives.write_command_us,
        ] {
            time.value *= longer;
        }
        for rate in [
            &mut links.mb_per_s,
            &mut controllers.parity_engine_mb_per_s,
            &mut controllers.parity_mb_per_s,
            &mut drives.channel_mb_per_s,
            &mut drives.bus_mb_per_s,
        ] {
            rate.value /= longer;
        }
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
        run_simulated(&mut model, &spec, &mut |model, sample| {
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
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../arrays/composite-flash.yaml");
        let array: crate::ArrayDescription =
            serde_saphyr::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let settings: Map<String, Value> = Map::from_iter([("host".to_owned(), Value::from("off"))]);
        let latencies = |grain_bytes: u32| {
            let mut model = Model::build(&array.ssd_array.clone().unwrap(), &settings, 1).unwrap();
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

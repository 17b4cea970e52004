//! The engine against the law of closed networks: queue, servers and the closed loop together.

use std::ops::ControlFlow;

use load::{Completion, Device, LoadSpec, NEVER_STOPPED, Operation, Pattern, Random, run_simulated};

use super::{EventQueue, Server};

/// Equal FIFO stations with exponential service; every operation visits one at random.
struct Stations {
    now_ns: u64,
    queue: EventQueue,
    stations: Vec<Server>,
    random: Random,
    mean_service_ns: f64,
    issued_at_ns: Vec<u64>,
}

impl Device for Stations {
    fn capacity_bytes(&self) -> u64 {
        1 << 40
    }

    fn now_ns(&self) -> u64 {
        self.now_ns
    }

    fn submit(&mut self, at_ns: u64, tag: u32, _: Operation) {
        let station = self.random.below(self.stations.len() as u64);
        let service_ns = self.random.exponential(self.mean_service_ns) as u64;
        self.issued_at_ns[tag as usize] = at_ns;
        let done_ns = self.stations[station as usize].serve(at_ns, service_ns);
        self.queue.push(done_ns, tag);
    }

    fn next_completion(&mut self, until_ns: u64) -> Option<Completion> {
        let (at_ns, tag) = self.queue.pop_until(until_ns)?;
        self.now_ns = at_ns;
        Some(Completion { tag, issued_at_ns: self.issued_at_ns[tag as usize], at_ns, outcome: Ok(()) })
    }
}

/// Proves that N customers over M equal exponential servers do µ·M·N ÷ (N + M − 1) a second, within 0.5 %
/// (product-form solution of a balanced closed network).
#[test]
fn balanced_closed_networks_follow_their_law() {
    let mean_service_ns = 1_000_000.0;
    for (customers, stations) in [(1, 1), (7, 1), (1, 12), (8, 12), (32, 12), (64, 12), (256, 24), (5, 200)] {
        let law = 1e9 / mean_service_ns * f64::from(stations) * f64::from(customers)
            / f64::from(customers + stations - 1);
        let mut device = Stations {
            now_ns: 0,
            queue: EventQueue::new(),
            stations: vec![Server::default(); stations as usize],
            random: Random::from_seed(5),
            mean_service_ns,
            issued_at_ns: vec![0; customers as usize],
        };
        // A million and a half completions: one standard error is below 0.1 %.
        let runtime_ns = (1.5e6 / law * 1e9) as u64;
        let spec = LoadSpec {
            pattern: Pattern::Randread,
            rwmixread: 100,
            bs_bytes: 4096,
            numjobs: customers,
            iodepth: 1,
            offset_bytes: 0,
            size_bytes: None,
            rate_iops: None,
            ramp_ns: runtime_ns / 100,
            runtime_ns,
            interval_ns: runtime_ns,
            seed: 5,
            shape: load::LoadShape::default(),
        };
        let mut ios = 0;
        run_simulated(&mut device, &spec, &NEVER_STOPPED, &mut |_, sample| {
            if !sample.is_ramp {
                ios += sample.read.ios;
            }
            ControlFlow::Continue(())
        })
        .unwrap();
        let rate = ios as f64 * 1e9 / runtime_ns as f64;
        let error = rate / law - 1.0;
        assert!(error.abs() < 0.005, "N={customers} M={stations}: {rate:.1} against {law:.1}");
    }
}

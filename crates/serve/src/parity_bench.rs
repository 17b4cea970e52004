//! Parity benchmark: computation and reconstruction on one core.

use crate::bench::processor_ns;
use rustix::time::ClockId;
use volume::parity::{make_parity, recover};

/// As a pool of the E2700 has it.
const DATA: usize = 8;
const SEGMENT_BYTES: usize = 128 << 10;
const STRIPES: usize = 400;

/// The names of what [`bench_parity`] measures.
pub const PARITY_SCENARIOS: [&str; 3] = ["parity-p-8", "parity-pq-8", "recover-two-of-8+2"];

/// One line of `bench serve --json`.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct ParityRow {
    /// Name of the scenario.
    pub scenario: String,
    /// Bytes of data a second of one core's processor time.
    pub bytes_per_s: f64,
}

/// P and Q of eight data members, P alone, and two members made from the other eight.
pub fn bench_parity() -> Vec<ParityRow> {
    let mut members: Vec<Vec<u8>> =
        (0..DATA + 2).map(|member| vec![member as u8 * 17 + 3; SEGMENT_BYTES]).collect();
    let mut rows = Vec::new();
    let mut measure = |scenario: &str, step: &mut dyn FnMut(&mut [Vec<u8>])| {
        // What other programs take does not count.
        let began_ns = processor_ns(ClockId::ThreadCPUTime);
        for _ in 0..STRIPES {
            step(&mut members);
            std::hint::black_box(&members);
        }
        let took_s = (processor_ns(ClockId::ThreadCPUTime) - began_ns).max(1) as f64 / 1e9;
        let bytes_per_s = (STRIPES * DATA * SEGMENT_BYTES) as f64 / took_s;
        rows.push(ParityRow { scenario: scenario.to_owned(), bytes_per_s });
    };
    let make = |members: &mut [Vec<u8>], with_q: bool| {
        let (data, parity) = members.split_at_mut(DATA);
        let data: Vec<&[u8]> = data.iter().map(Vec::as_slice).collect();
        if let [p, q] = parity {
            make_parity(&data, p, with_q.then_some(&mut q[..]));
        }
    };
    let [p, pq, recovery] = PARITY_SCENARIOS;
    measure(p, &mut |members| make(members, false));
    measure(pq, &mut |members| make(members, true));
    measure(recovery, &mut |members| recover(members, DATA, &[2, 5]));
    rows
}

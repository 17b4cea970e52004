//! What to issue and when, and how it is counted.
//!
//! One definition of "64 jobs of depth 64, 70 % reads, 4k random" serves real devices in real time and twins in
//! simulated time. This room never knows what answers: it hands operations to a [`Device`] and counts what
//! comes back into [`Sample`]s.

mod device;
mod generator;
mod histogram;
mod random;
mod recorder;
mod sample;
mod simulate;
mod spec;

pub use device::{Completion, Device, Direction, IoError, Operation};
pub use generator::Generator;
pub use histogram::{
    BIN_COUNT, FIO_BIN_COUNT, Histogram, bin_index, bin_low_ns, bin_middle_ns, bin_width_ns,
};
pub use random::Random;
pub use recorder::Recorder;
pub use sample::{DirectionSample, Sample};
pub use simulate::run_simulated;
pub use spec::{IODEPTH_LIMIT, LoadSpec, NUMJOBS_LIMIT, OUTSTANDING_LIMIT, Pattern, SpecError};

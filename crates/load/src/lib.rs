//! Load definition, issue and counting.
//!
//! One definition of "64 jobs of depth 64, 70 % reads, 4k random" serves real devices in real time and twins in
//! simulated time. This room never knows what answers: it hands operations to a [`Device`] and counts what
//! comes back into [`Sample`]s.

#![doc = include_str!("../README.md")]

mod arrival;
mod bound;
mod bound_confidence;
mod bound_point;
mod clock;
mod closed_loop;
mod concurrent;
mod content;
mod content_block;
mod content_tally;
mod device;
mod distribution;
mod error;
mod fast_forward;
mod generator;
mod histogram;
mod issue_loop;
mod planned_io;
mod random;
mod recorder;
mod replay;
mod sample;
mod schedule;
mod shape;
mod simulate;
mod spec;
mod trace;
mod verify;

pub use arrival::{Arrival, ArrivalProcess, ArrivalStream, PROFILE_POINTS_LIMIT, RateCurve};
pub use bound::{BoundAnswer, BoundEnd, BoundSearch, max_under_latency};
pub use bound_confidence::{BoundConfidence, ConfidenceMethod};
pub use bound_point::{Bound, BoundMeasure, BoundMeasurement, BoundPoint, SectionedError};
pub use clock::{AsFastAsPossible, Clock, REAL_SPEED, SPEEDS, WakeTime, WallClock, speed_millionths};
pub use concurrent::{LoadControl, SharedLoad, first_jobs, run_concurrent};
pub use content::Filler;
pub use content_block::CONTENT_BLOCK_BYTES;
pub use content_tally::ContentTally;
pub use device::{Completion, Device, Direction, IoError, Operation};
pub use distribution::Permutation;
pub use error::SpecError;
pub use fast_forward::{Extrapolation, FastForward, run_fast_forward};
pub use generator::Generator;
pub use histogram::{
    BIN_COUNT, FIO_BIN_COUNT, Histogram, bin_index, bin_low_ns, bin_middle_ns, bin_width_ns,
};
pub use planned_io::{NEVER_NS, PlannedIo};
pub use random::Random;
pub use recorder::Recorder;
pub use replay::{REPLAY_SCALE_LIMIT_PERCENT, Replay, ReplayBeyond, ReplayTiming};
pub use sample::{DirectionSample, Sample};
pub use schedule::Schedule;
pub use shape::{
    BANDS_LIMIT, Band, Content, DirectionRates, Distribution, LoadShape, SIZE_CLASSES_LIMIT, STREAMS_LIMIT,
    SizeShare,
};
pub use simulate::{NEVER_STOPPED, run_simulated};
pub use spec::{IODEPTH_LIMIT, LoadSpec, NUMJOBS_LIMIT, OUTSTANDING_LIMIT, Pattern};
pub use trace::{
    TRACE_LENGTH_LIMIT_BYTES, TRACE_LINE_LIMIT_BYTES, TRACE_RECORDS_LIMIT, TRACE_UNITS_LIMIT, Trace,
    TraceError, TraceFormat, TraceRecord,
};
pub use verify::{Stamp, UNIT_MINIMUM_BYTES, Written, Wrong, WrongBlock};

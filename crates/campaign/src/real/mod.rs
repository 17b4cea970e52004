//! Cases on real targets: the array is set, the host is set, the target is written beforehand, a file system is made,
//! the loads run, events take place, and all but the data is put back.

mod array;
mod common_start;
mod engine;
mod events;
mod filesystem;
mod held_targets;
mod host;
mod host_watch;
mod loads;
mod precondition;
mod reporter;
mod watched_devices;
mod worker;

pub(crate) use array::ArraySetter;
pub(crate) use common_start::{AgentParts, CommonStart, part_of};
pub use engine::EngineChoice;
pub(crate) use engine::{RealEngine, not_of_fio};
pub(crate) use held_targets::{Held, HeldTargets, may_come_from_driver};
pub(crate) use host::{append_change, note_recovered, recovered};
pub(crate) use host_watch::{HostWatch, WatchSettings, owned};
pub(crate) use loads::{Issuer, Listener, LoadRun, RealLoad, run_at_once};
pub(crate) use watched_devices::watched_devices;
pub(crate) use worker::{RealWorker, RealWorkerParts, fio_target, io_size_bytes, of_part};

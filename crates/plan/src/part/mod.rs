//! The parts of a plan, checked: what stages do, and what the report is told.

mod chart;
mod event;
mod figure;
mod filesystem;
mod find;
mod hosts;
mod inventory;
mod load;
mod load_choice;
mod moment;
mod pause;
mod precondition;
mod rounds;
mod stripe;
mod watch;

pub use chart::{Chart, ChartAxis, Extreme, Pick, Table};
pub use event::{Amount, EventCondition, EventTemplate, Trigger};
pub use figure::{Bound, Declared, Requirement};
pub use filesystem::{Filesystem, FilesystemOptions};
pub use find::{LoadSearch, SearchOver};
pub use hosts::{HostChoice, JobShare, PlanHost, VolumeShare};
pub use inventory::{Image, InventoryCommand, InventoryMoment};
pub use load::{LoadTarget, LoadTemplate};
pub use load_choice::LoadChoice;
pub use moment::Moment;
pub use pause::{Pause, RateReference};
pub use precondition::Preconditioning;
pub use rounds::{Continues, Rounds, Tracked};
pub use stripe::Stripe;
pub use watch::{PollSettings, Watch, WatchedAddress, WatchedCommand, WatchedDevices};

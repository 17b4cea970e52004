//! Fast-forward benchmark against exact simulation on modified shipped arrays.

use super::process::thread_processor_ns;
use crate::CampaignError;
use diagnostic::Problem;
use std::ops::ControlFlow;
use std::time::Duration;
use twin::{ArrayDescription, FastForwardRow, FastForwardSummary};

/// The arrays that cases are drawn from; one that stands twice is drawn twice as often. Disks answer so few I/Os that most of
/// their loads are simulated whole.
const ARRAYS: [&str; 8] = [
    "composite-flash",
    "composite-flash",
    "flashsystem-840",
    "dorado-2100-g2",
    "small-flash",
    "storpool",
    "e2700",
    "raid-levels",
];

/// Shipped arrays with data services.
const WITH_SERVICES: [&str; 3] = ["reduced-flash", "hybrid-read-cache", "two-sites"];

/// Compares `cases` random cases of a seed; passes each row to `on_row` as soon as it is done. Those with data services are drawn from
/// shipped arrays and from `explained`, each a name and the text of a description.
pub fn bench_fast_forward(
    explained: &[(&str, &str)],
    seed: u64,
    cases: u64,
    on_row: &mut dyn FnMut(&FastForwardRow) -> ControlFlow<()>,
) -> Result<FastForwardSummary, CampaignError> {
    let arrays: Vec<ArrayDescription> = ARRAYS
        .iter()
        .map(|name| Ok(plan::load_array(name)?.description))
        .collect::<Result<_, CampaignError>>()?;
    let shipped = WITH_SERVICES.iter().map(|name| Ok(plan::load_array(name)?.description));
    let explained = explained.iter().map(|(file, text)| Ok(plan::parse_array(file, text)?));
    let with_services: Vec<ArrayDescription> =
        shipped.chain(explained).collect::<Result<_, CampaignError>>()?;
    let processor_time = || Duration::from_nanos(thread_processor_ns());
    twin::bench_fast_forward((&arrays, &with_services), seed, cases, &processor_time, on_row)
        .map_err(|error| Problem::new("the benchmark drew a case that cannot be run").caused_by(error).into())
}

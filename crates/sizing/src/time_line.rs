//! Time line: one case interval by interval, in which writes use up what absorbs them, or a drive fails and is rebuilt.
//!
//! What takes hours on an array is millions of I/Os for each second that anyone wants to wait. The array is simulated with so many
//! times less room that the whole of it fits into the I/Os that an answer may cost; where that is not possible, the time line is
//! shorter. The case is that of a plan, so that `arraylab run` has the same intervals.

mod simulate;

pub use simulate::{RebuildSpan, TimeLineEnd, TimeLinePoint};

use crate::simulation::{CONDITION, EXACT};
use crate::state::InState;
use crate::{Configuration, Effort, LoadSource, SizingError, State};
use plan::{Case, CaseEvent, Selection};
use twin::Twin;

/// Name of the plan and of its stage, which seeds are made from.
const NAME: &str = "time-line";
/// Setting of a twin that divides its room.
const SHRINK: &str = "shrink";
/// Setting of a twin that has writes wait for the drives.
const WRITE_CACHE: &str = "write_cache";
/// Intervals of a time line, at most.
const INTERVALS: u64 = 120;
/// Intervals before a drive fails: those that show the level before.
const INTERVALS_BEFORE: u64 = 24;
/// Shortest interval of a plan.
const INTERVAL_LEAST_NS: u64 = 10_000_000;
/// Writes of a long write, in times the spare flash of drives, or the write cache: what follows the fall is to be seen, too.
const TIMES_SPARE: f64 = 2.5;
const TIMES_CACHE: f64 = 8.0;
/// Time after a failure, in times that of a rebuild at the described rate: the load may keep it from that.
const TIMES_REBUILD: f64 = 1.25;
/// Bytes of a shrunk write cache, in times those under way: a smaller one would limit how many can be.
const CACHE_LEAST: u64 = 2;

/// Course of a time line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeLineKind {
    /// Writes go on until nothing absorbs them any more; solid-state drives begin written once in order, with their spare flash erased.
    LongWrite,
    /// A drive fails and is rebuilt onto a spare, or onto a new drive at once. The rebuild begins without delay.
    DriveFailure,
}

impl TimeLineKind {
    /// All kinds.
    pub const ALL: [TimeLineKind; 2] = [TimeLineKind::LongWrite, TimeLineKind::DriveFailure];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            TimeLineKind::LongWrite => "long-write",
            TimeLineKind::DriveFailure => "drive-failure",
        }
    }

    fn title(self) -> &'static str {
        match self {
            TimeLineKind::LongWrite => "A long write",
            TimeLineKind::DriveFailure => "A drive fails and is rebuilt",
        }
    }
}

/// Time line that can be simulated.
#[derive(Debug, Clone)]
pub struct TimeLine {
    /// The array, with the settings of its twin.
    pub configuration: Configuration,
    /// The case as a plan.
    pub plan: String,
    /// Divisor of the array's room.
    pub shrink: u32,
    /// Its length.
    pub runtime_ns: u64,
    /// Length of each interval.
    pub interval_ns: u64,
    /// Moment at which a drive fails.
    pub fails_at_ns: Option<u64>,
    case: Case,
}

impl TimeLine {
    /// Returns the time line of an array under a load, for about so many I/Os.
    pub fn new(
        array: &Configuration,
        load: &LoadSource,
        kind: TimeLineKind,
        ios: u64,
    ) -> Result<TimeLine, SizingError> {
        let (mut configuration, events) = begins_with(array, load, kind)?;
        let answer = crate::answer(&configuration, &load.case, &Effort::ROUGH)?;
        let iops = answer.iops.max(1.0);
        let wanted_s = wanted_s(&configuration, load, kind, answer.bw_bytes_per_s);
        let affordable_s = ios as f64 / iops;
        let shrink = match setting(&configuration, SHRINK) {
            Some(given) => given.parse().unwrap_or(1),
            None => {
                let times = (wanted_s / affordable_s).ceil().max(1.0) as u32;
                times.min(shrink_limit(&configuration, &load.case))
            }
        };
        if shrink > 1 {
            set(&mut configuration, SHRINK, &shrink.to_string());
        }
        set(&mut configuration, EXACT.0, EXACT.1);
        let shown_s = if wanted_s > 0.0 { wanted_s / f64::from(shrink) } else { affordable_s };
        let runtime_ns = (shown_s.min(affordable_s) * 1e9) as u64;
        let interval_ns = two_digits((runtime_ns / INTERVALS).max(INTERVAL_LEAST_NS));
        let intervals = (runtime_ns / interval_ns).clamp(2 * INTERVALS_BEFORE, INTERVALS);
        let fails_at_ns = (!events.is_empty()).then_some(INTERVALS_BEFORE * interval_ns);
        let runtime_ns = intervals * interval_ns;
        let plan = plan_text(kind, load, interval_ns, runtime_ns, &events);
        let parsed = plan::parse_plan(NAME, &format!("{NAME}.yaml"), &plan)?;
        let mut case = plan::expand(&parsed, &Selection::default())?.remove(0);
        campaign::mix_seed(&mut case, 1);
        Ok(TimeLine { configuration, plan, shrink, runtime_ns, interval_ns, fails_at_ns, case })
    }

    /// Returns settings of the twin as a target has them.
    pub fn target_settings(&self) -> String {
        let of_one = |(name, value): &(String, String)| format!(",{name}={value}");
        self.configuration.settings.iter().map(of_one).collect()
    }
}

/// The array in the state in which the time line begins, and what happens to it.
fn begins_with(
    array: &Configuration,
    load: &LoadSource,
    kind: TimeLineKind,
) -> Result<(Configuration, Vec<CaseEvent>), SizingError> {
    let writes = load.case.load.writes();
    let (mut configuration, events, condition) = match kind {
        TimeLineKind::LongWrite if !writes => {
            return Err(SizingError::question(
                "the load writes nothing",
                "choose one that does, as randwrite",
            ));
        }
        TimeLineKind::LongWrite => (array.clone(), Vec::new(), "written"),
        TimeLineKind::DriveFailure => match State::Rebuilding.of(array)?.into_iter().next() {
            Some(InState::Serves(array, events)) => (*array, events, CONDITION.1),
            Some(InState::Down(why) | InState::NotModelled(why)) => return Err(not_shown(&why)),
            None => return Err(not_shown("the array has no data on drives")),
        },
    };
    let has_condition = Twin::settings(&configuration.description).iter().any(|one| one.name == CONDITION.0);
    if writes && has_condition && setting(&configuration, CONDITION.0).is_none() {
        set(&mut configuration, CONDITION.0, condition);
    }
    Ok((configuration, events))
}

fn not_shown(why: &str) -> SizingError {
    SizingError::question(
        format!("no rebuild can be shown: {why}"),
        "choose another array, or change its layout",
    )
}

fn setting<'a>(configuration: &'a Configuration, name: &str) -> Option<&'a str> {
    configuration.settings.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
}

fn set(configuration: &mut Configuration, name: &str, value: &str) {
    configuration.settings.retain(|(given, _)| given != name);
    configuration.settings.push((name.to_owned(), value.to_owned()));
}

/// Time in which all of it is seen on the array as described, in seconds; 0 where nothing says how long that is.
fn wanted_s(
    configuration: &Configuration,
    load: &LoadSource,
    kind: TimeLineKind,
    bw_bytes_per_s: f64,
) -> f64 {
    let parts = &configuration.description.parts;
    let capacities = array::capacity(parts, &array::sets(parts).0);
    match kind {
        TimeLineKind::LongWrite => {
            let spare = |one: &array::Capacity| one.raw_bytes as f64 * one.over_provisioning.unwrap_or(0.0);
            let spare_bytes: f64 = capacities.iter().map(spare).sum();
            let bytes =
                (TIMES_SPARE * spare_bytes).max(TIMES_CACHE * write_cache_bytes(configuration) as f64);
            let reads =
                load.case.settings.get("rwmixread").and_then(serde_json::Value::as_f64).unwrap_or(0.0);
            bytes / (bw_bytes_per_s * (1.0 - reads / 100.0)).max(1.0)
        }
        TimeLineKind::DriveFailure => {
            // The drive that fails is the first one.
            let rebuild_s = capacities.first().and_then(|one| one.rebuild_ns).unwrap_or(0) as f64 / 1e9;
            let before = INTERVALS_BEFORE as f64 / INTERVALS as f64;
            TIMES_REBUILD * rebuild_s / (1.0 - before)
        }
    }
}

/// The most by which the room is divided for a load.
fn shrink_limit(configuration: &Configuration, case: &Case) -> u32 {
    let under_way_bytes =
        case.load.outstanding() * u64::from(case.load.shape.largest_bytes(case.load.bs_bytes));
    let by_cache = match write_cache_bytes(configuration) {
        0 => u64::MAX,
        bytes => bytes / (CACHE_LEAST * under_way_bytes).max(1),
    };
    configuration.description.most_shrink().min(u32::try_from(by_cache).unwrap_or(u32::MAX)).max(1)
}

/// Bytes of the cache that takes writes; 0 where they wait for the drives.
fn write_cache_bytes(configuration: &Configuration) -> u64 {
    let cache = &configuration.description.parts.cache;
    let is_on = match setting(configuration, WRITE_CACHE) {
        Some(given) => given == "on",
        None => cache.mode.get() == 0,
    };
    if is_on { cache.write_back.get() } else { 0 }
}

/// The smallest number of nanoseconds of two digits that is not smaller.
fn two_digits(nanos: u64) -> u64 {
    let mut unit = 1;
    while nanos / unit >= 100 {
        unit *= 10;
    }
    nanos.div_ceil(unit) * unit
}

/// The case as a plan.
fn plan_text(
    kind: TimeLineKind,
    load: &LoadSource,
    interval_ns: u64,
    runtime_ns: u64,
    events: &[CaseEvent],
) -> String {
    let millis = |nanos: u64| format!("{}ms", nanos / 1_000_000);
    let mut text = format!(
        "title: {}\nwatch: {{ interval: {} }}\nstages:\n  {NAME}:\n    settings: {{ {}, runtime: {} }}\n",
        kind.title(),
        millis(interval_ns),
        load.plan_settings(),
        millis(runtime_ns)
    );
    if !events.is_empty() {
        text.push_str("    events:\n");
    }
    for event in events {
        let at = millis(INTERVALS_BEFORE * interval_ns);
        let with = event.arguments.iter().map(|(name, value)| format!("{name}: {value}"));
        let with: Vec<String> = with.collect();
        text.push_str(&format!(
            "      - {{ at: {at}, action: {}, with: {{ {} }} }}\n",
            event.action,
            with.join(", ")
        ));
    }
    text
}

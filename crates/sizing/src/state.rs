//! States of an array in which it must still serve its workload.

use crate::{Configuration, SizingError};
use array::LayoutKind;
use plan::CaseEvent;
use serde::Serialize;
use serde_json::{Map, Value, json};
use twin::{Event, Twin};

/// Time for which a phase lasts that is not to end, in seconds: a week, the longest of the array language.
const FOR_EVER_S: u64 = 604_800;

/// State of an array.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// All parts work; drives have been in use.
    Healthy,
    /// A drive is lost, and its rebuild has not begun.
    DriveLost,
    /// A lost drive is being rebuilt.
    Rebuilding,
    /// One controller serves all.
    ControllerLost,
    /// A node of a cluster is lost with its drives, and their rebuild has not begun.
    NodeLost,
    /// Writes wait for the drives.
    CacheOff,
    /// Data lies over all of the capacity.
    Full,
}

/// Array in a state.
#[derive(Debug, Clone)]
pub(crate) enum InState {
    /// Configuration and initial events of an array that serves in this state.
    Serves(Box<Configuration>, Vec<CaseEvent>),
    /// Data is lost, or cannot be reached.
    Down(String),
    /// The model has no such state of this array.
    NotModelled(String),
}

impl State {
    /// All states.
    pub const ALL: [State; 7] = [
        State::Healthy,
        State::DriveLost,
        State::Rebuilding,
        State::ControllerLost,
        State::NodeLost,
        State::CacheOff,
        State::Full,
    ];

    /// States that some of the arrays can be in: a cluster loses nodes, another array controllers.
    pub fn of_arrays(arrays: &[Configuration]) -> Vec<State> {
        let has_nodes = |array: &Configuration| array.description.parts.nodes.is_some();
        let is_possible = |state: &State| match state {
            State::NodeLost => arrays.iter().any(has_nodes),
            State::ControllerLost => !arrays.iter().all(has_nodes),
            _ => true,
        };
        State::ALL.into_iter().filter(is_possible).collect()
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            State::Healthy => "healthy",
            State::DriveLost => "drive-lost",
            State::Rebuilding => "rebuilding",
            State::ControllerLost => "controller-lost",
            State::NodeLost => "node-lost",
            State::CacheOff => "cache-off",
            State::Full => "full",
        }
    }

    /// State of that name.
    pub fn named(name: &str) -> Option<State> {
        State::ALL.into_iter().find(|state| state.name() == name)
    }

    /// The array, marked where no published row is of this state.
    pub(crate) fn mark(self, array: &Configuration) -> Configuration {
        Configuration { has_no_rows: !matches!(self, State::Healthy | State::Full), ..array.clone() }
    }

    /// The array in this state, in each way that it can be in it: a drive may be lost of any group.
    pub(crate) fn of(self, array: &Configuration) -> Result<Vec<InState>, SizingError> {
        let array = &self.mark(array);
        let serves = |array: Configuration, events: Vec<CaseEvent>| InState::Serves(Box::new(array), events);
        Ok(vec![match self {
            State::Healthy | State::Full => serves(array.clone(), Vec::new()),
            State::CacheOff => {
                let has_cache =
                    Twin::settings(&array.description).iter().any(|setting| setting.name == "write_cache");
                match has_cache {
                    true => {
                        let off = array.with("write_cache", &"off".into())?;
                        // The state is no change of the array.
                        serves(Configuration { changed: array.changed.clone(), ..off }, Vec::new())
                    }
                    false => InState::NotModelled("the array has no write cache".into()),
                }
            }
            State::DriveLost | State::Rebuilding => return Ok(drive_lost(array, self == State::Rebuilding)),
            State::ControllerLost => controller_lost(array),
            State::NodeLost => node_lost(array),
        }])
    }
}

fn event(event: Event, argument: &str, number: u32) -> CaseEvent {
    let arguments: Map<String, Value> = std::iter::once((argument.to_owned(), json!(number))).collect();
    CaseEvent { at_ns: 0, action: event.name().to_owned(), arguments }
}

/// The array without a drive of each group in turn, which is being rebuilt or not. Of a read cache only what it kept is lost.
fn drive_lost(array: &Configuration, is_rebuilt: bool) -> Vec<InState> {
    if let Some(down) = without_redundancy(array) {
        return vec![InState::Down(down)];
    }
    let seconds = if is_rebuilt { 0 } else { FOR_EVER_S };
    let Some(array) = begins_after(array, seconds) else {
        return vec![InState::NotModelled("its rebuild has no beginning that could be set".into())];
    };
    let parts = &array.description.parts;
    // Groups of a chain of replicas are on the same nodes, and a volume is on one of them.
    let groups = if parts.has_chains() { 0..1 } else { 0..parts.groups.len() };
    let without = |group: usize| {
        let drive = parts.drives_in(group).start;
        let mut events = vec![event(Event::DriveFailure, "drive", drive)];
        if is_rebuilt && !has_spare(parts, group) {
            events.push(event(Event::DriveReplacement, "drive", drive));
        }
        InState::Serves(Box::new(array.clone()), events)
    };
    groups.filter(|&group| !(is_rebuilt && parts.is_cache(group))).map(without).collect()
}

/// Groups whose data goes with one drive.
fn without_redundancy(array: &Configuration) -> Option<String> {
    let parts = &array.description.parts;
    let (_, lone) = parts.groups.iter().enumerate().find(|(index, group)| {
        let is_pooled = parts.pools.iter().any(|pool| pool.is_on(group.name()));
        let is_striped = matches!(group.layout(), LayoutKind::Raid0 | LayoutKind::Single);
        is_striped && !is_pooled && !parts.is_cache(*index)
    })?;
    Some(format!("`{}` is {}: a lost drive is lost data", lone.name(), lone.layout().title()))
}

fn has_spare(parts: &array::Array, group: usize) -> bool {
    let group = &parts.groups[group];
    group.keys.spares.get() > 0 || group.layout() == LayoutKind::Pool || !parts.pools.is_empty()
}

/// The array whose rebuilds begin after so many seconds.
fn begins_after(array: &Configuration, seconds: u64) -> Option<Configuration> {
    with_phases(array, &[("rebuild.delay", seconds)])
}

/// The array with times of phases, in seconds.
fn with_phases(array: &Configuration, values: &[(&str, u64)]) -> Option<Configuration> {
    let texts: Vec<(&str, Value)> = values
        .iter()
        .map(|&(key, seconds)| match seconds {
            0 => (key, json!("0")),
            seconds => (key, json!(format!("{seconds}s"))),
        })
        .collect();
    let changes: Vec<(&str, &Value)> = texts.iter().map(|(key, value)| (*key, value)).collect();
    let mut changed = array.with_all(&changes).ok()?;
    // The state is no change of the array.
    changed.changed = array.changed.clone();
    Some(changed)
}

fn node_lost(array: &Configuration) -> InState {
    if array.description.parts.nodes.is_none() {
        return InState::NotModelled("the array has no nodes".into());
    }
    let unbuilt = [("failover.path", 0), ("rebuild.delay", FOR_EVER_S)];
    match with_phases(array, &unbuilt) {
        Some(array) => InState::Serves(Box::new(array), vec![event(Event::NodeFailure, "node", 0)]),
        None => InState::NotModelled("its rebuild has no beginning that could be set".into()),
    }
}

fn controller_lost(array: &Configuration) -> InState {
    let parts = &array.description.parts;
    if parts.nodes.is_some() {
        return InState::NotModelled("a node fails with its controllers: state `node-lost`".into());
    }
    if parts.controllers.count.get() < 2 {
        return InState::Down("the array has one controller".into());
    }
    match with_phases(array, &[("failover.away", FOR_EVER_S), ("failover.path", 0)]) {
        Some(array) => {
            InState::Serves(Box::new(array), vec![event(Event::ControllerFailover, "controller", 0)])
        }
        None => InState::NotModelled("its controllers do not fail in the model".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Events of an array in each way that it can be in a state, by action and number of the drive.
    fn ways(name: &str, state: State) -> Vec<Vec<(String, u64)>> {
        let array = Configuration::load(name).unwrap();
        let of_way = |way: &InState| match way {
            InState::Serves(_, events) => {
                let drive = |event: &CaseEvent| event.arguments["drive"].as_u64().unwrap();
                events.iter().map(|event| (event.action.clone(), drive(event))).collect()
            }
            down => panic!("{down:?}"),
        };
        state.of(&array).unwrap().iter().map(of_way).collect()
    }

    /// Proves that a drive is lost of each group, and replaced where its own group has no spare; that a read cache is lost but not
    /// rebuilt; and that the volumes of chains of replicas keep the drive that they had.
    #[test]
    fn drives_are_lost_of_each_group() {
        let fails = |drive: u64| (Event::DriveFailure.name().to_owned(), drive);
        let replaced = |drive: u64| (Event::DriveReplacement.name().to_owned(), drive);
        assert_eq!(ways("flash-and-disks", State::DriveLost), [vec![fails(0)], vec![fails(12)]]);
        assert_eq!(
            ways("flash-and-disks", State::Rebuilding),
            [vec![fails(0), replaced(0)], vec![fails(12)]]
        );
        assert_eq!(ways("hybrid-read-cache", State::DriveLost), [vec![fails(0)], vec![fails(2)]]);
        assert_eq!(ways("hybrid-read-cache", State::Rebuilding), [vec![fails(2)]]);
        assert_eq!(ways("storpool", State::DriveLost), [vec![fails(0)]]);
    }
}

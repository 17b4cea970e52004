//! Case: one point of a stage's matrix, with all its settings resolved.

use crate::matrix::SettingValues;
use crate::part::{
    Amount, EventCondition, Filesystem, HostChoice, LoadChoice, LoadSearch, LoadTarget, Preconditioning,
    Stripe,
};
use crate::quantity::Quantity;
use crate::setting::{HostSettingPlace, SettingScope, setting, split_host_name};
use load::{ArrivalProcess, LoadSpec};
use serde_json::{Map, Value, json};

/// Case: one point of a stage's matrix, with all settings resolved.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// Its place among the cases of this selection, from 0.
    pub index: usize,
    /// The plan's name.
    pub plan: String,
    /// The stage's name.
    pub stage: String,
    /// `axis=value` over the axes of its stage, joined by commas; the stage's name where nothing varies.
    pub name: String,
    /// Every setting, in the order of [`crate::SETTINGS`] and then host settings by name, typed as DESIGN.md fixes it.
    pub settings: SettingValues,
    /// Load of the case where `loads` is empty. Its seed depends on plan, stage and case only, so that a case has
    /// the same load whichever others run; the program that runs it mixes in the seed of the run.
    pub load: LoadSpec,
    /// The bytes after which the load ends, if that is before its runtime is over.
    pub ends_after: Option<Amount>,
    /// Concurrent loads, issued instead of `load` where the stage has several.
    pub loads: Vec<NamedLoad>,
    /// Search of the case; its load is then that of a search point, except for the varied setting.
    pub find: Option<LoadSearch>,
    /// Share of another case's rate that is this case's rate; the load has none until the other rate is known.
    pub rate_share: Option<RateShare>,
    /// Choice of jobs and depth from an earlier stage's results; until it is made, those of the load hold.
    pub load_of: Option<LoadChoice>,
    /// Hosts that its loads run on, where the run has hosts.
    pub hosts: HostChoice,
    /// Host-side stripe over several targets; ignored where there is one target.
    pub stripe: Option<Stripe>,
    /// The file system that the load goes through.
    pub filesystem: Option<Filesystem>,
    /// A time without load after it; with `pause_over` the time where that rate is not known.
    pub pause_ns: u64,
    /// The pause is what the case wrote divided by this rate.
    pub pause_over: Option<PauseRate>,
    /// Writes that must precede it.
    pub preconditioning: Option<Preconditioning>,
    /// Preconditioning that the case relies on: its own, or that of an earlier case. A twin that is made anew for
    /// each case begins in that state.
    pub conditioned_by: Option<Preconditioning>,
    /// True where it begins in the state in which the case before it left the target.
    pub continues: bool,
    /// Events at fixed times while the case runs, in order of time.
    pub events: Vec<CaseEvent>,
    /// Events that wait for a condition.
    pub conditional_events: Vec<ConditionalEvent>,
    /// Ramp, runtime and pause.
    pub estimated_duration_ns: u64,
    /// Bytes written, at the rates that `estimate` assumes.
    pub estimated_write_bytes: u64,
}

/// One of several loads of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct NamedLoad {
    /// Its name in results.
    pub name: String,
    /// Its target. `None`: with as many targets as loads the one of its own number, with one target that one.
    pub target: Option<LoadTarget>,
    /// Hosts that it runs on, where the run has hosts; those of the case without it.
    pub hosts: Option<HostChoice>,
    /// Start of the load since the start of the case; its ramp and runtime end with the case.
    pub start_ns: u64,
    /// Settings of the load: those of the case, overridden by the load's own.
    pub settings: SettingValues,
    /// Load to issue.
    pub load: LoadSpec,
    /// The bytes after which it ends, if that is before its runtime is over.
    pub ends_after: Option<Amount>,
}

/// Rate of a case as a share of the rate that another case of the stage delivers at full speed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RateShare {
    /// The name of that case.
    pub of_case: String,
    /// The share, in percent.
    pub percent: u32,
    /// Arrival process of an open loop at that rate; `None` is the closed loop, rate-limited to it.
    pub process: Option<ArrivalProcess>,
}

/// A rate that another case of the run finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PauseRate {
    /// The stage of that case.
    pub stage: String,
    /// The name of that case.
    pub case: String,
    /// Quantity of that case which gives the rate.
    pub quantity: Quantity,
}

/// Event of a case at a given time.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseEvent {
    /// Time since the start of the case's load: its ramp begins at 0, as in `load::Sample`.
    pub at_ns: u64,
    /// The action's name.
    pub action: String,
    /// Arguments of the action.
    pub arguments: Map<String, Value>,
}

/// Event of a case that waits for a condition.
#[derive(Debug, Clone, PartialEq)]
pub struct ConditionalEvent {
    /// Condition, checked at the end of each sample.
    pub condition: EventCondition,
    /// Latest time of the event since the start of the case's load: it takes place then even if the condition has not
    /// held. Without it, an event whose condition never holds is left out and reported.
    pub latest_ns: Option<u64>,
    /// The action's name.
    pub action: String,
    /// Arguments of the action.
    pub arguments: Map<String, Value>,
}

/// A setting of the host.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSetting {
    /// Part of the host that it changes.
    pub place: HostSettingPlace,
    /// Its name there: `nr_requests`, `vm.dirty_ratio`, `qla2xxx.ql2xmaxqdepth`. Dots separate directories.
    pub name: String,
    /// Value to write, or to compare in the case of a module.
    pub value: String,
}

impl Case {
    /// The case as `arraylab expand --json` prints it. Scripts rely on the fields.
    pub fn expanded_json(&self) -> Value {
        json!({
            "plan": self.plan,
            "stage": self.stage,
            "case": self.name,
            "settings": self.settings,
            "estimated_duration_s": self.estimated_duration_ns as f64 / 1e9,
            "estimated_write_bytes": self.estimated_write_bytes,
        })
    }

    /// The settings of one scope.
    pub fn settings_of(&self, scope: SettingScope) -> SettingValues {
        let belongs = |name: &str| setting(name).is_some_and(|setting| setting.scope == scope);
        self.settings
            .iter()
            .filter(|(name, _)| belongs(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }

    /// Queue attributes, sysctls and module parameters, in order of their names.
    pub fn host_settings(&self) -> Vec<HostSetting> {
        self.settings
            .iter()
            .filter_map(|(name, value)| {
                let (place, name) = split_host_name(name)?;
                let value = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                Some(HostSetting { place, name: name.to_owned(), value })
            })
            .collect()
    }

    /// True where the writes that it relies on must be made before it, if this case runs before it.
    pub(crate) fn is_preconditioning_due(&self, previous: Option<&Case>) -> bool {
        let (Some(wanted), false) = (&self.conditioned_by, self.continues) else { return false };
        let Some(previous) = previous else { return true };
        match &wanted.after_change_of {
            Some(names) => names.iter().any(|name| previous.settings.get(*name) != self.settings.get(*name)),
            None => {
                previous.stage != self.stage
                    || previous.settings_of(SettingScope::Array) != self.settings_of(SettingScope::Array)
            }
        }
    }

    /// Returns the case's priority under a time budget: 1 is kept first, 9 last.
    pub fn priority(&self) -> u8 {
        self.settings
            .get("priority")
            .and_then(Value::as_u64)
            .and_then(|it| u8::try_from(it).ok())
            .unwrap_or(1)
    }
}

/// Says for each of some cases, in their order, whether writes must precede it. To be asked again after cases were
/// taken out.
pub(crate) fn mark_preconditioning(cases: &mut [Case]) {
    for index in 0..cases.len() {
        let previous = index.checked_sub(1).and_then(|before| cases.get(before));
        let preconditioning = if cases[index].is_preconditioning_due(previous) {
            cases[index].conditioned_by.clone()
        } else {
            None
        };
        cases[index].preconditioning = preconditioning;
    }
}

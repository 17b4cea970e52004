//! From a plan and a selection to cases.

use crate::plan::{Assignment, MatrixAxis, Plan, Preconditioning, SettingValues, Stage};
use crate::setting::{SETTINGS, Setting, SettingScope, setting, setting_or_error};
use crate::source::Place;
use crate::suggest::did_you_mean;
use crate::{PlanError, PlanErrorKind as Kind, convert, estimate};
use load::LoadSpec;
use serde_json::{Map, Value};
use std::collections::HashSet;

/// The most cases that a plan may have. Counted before any of them is made.
pub const CASES_LIMIT: u64 = 1_000_000;

/// Which cases of a plan are wanted, and with what changed: `--stage`, `--only`, `--set`.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Selection {
    /// The stages; all where empty. The order stays that of the plan.
    pub stages: Vec<String>,
    /// Settings with the values that cases may have. Different settings narrow the choice, several values of one
    /// setting widen it, and a case without the setting is left out.
    pub only: Vec<(String, Vec<String>)>,
    /// Settings that every case gets, whatever the plan says. On an axis it leaves one value of that axis; cases
    /// that only this makes equal become one.
    pub set: Vec<(String, String)>,
}

/// One point of a stage's matrix: all settings resolved.
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
    /// Every setting, in the order of [`SETTINGS`], typed as DESIGN.md fixes it.
    pub settings: SettingValues,
    /// What is issued. Its seed depends on plan, stage and case only, so that a case has the same load whichever
    /// others run; whoever runs it mixes in the seed of the run.
    pub load: LoadSpec,
    /// A time without load after it.
    pub pause_ns: u64,
    /// Writes that must precede it.
    pub preconditioning: Option<Preconditioning>,
    /// What is done to the target while it runs, in order of time.
    pub events: Vec<CaseEvent>,
    /// Ramp, runtime and pause.
    pub estimated_duration_ns: u64,
    /// Bytes written, at the rates that `estimate` assumes.
    pub estimated_write_bytes: u64,
}

/// Something that is done to the target while a case runs.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseEvent {
    /// When, since the start of the case's load: its ramp begins at 0, as in `load::Sample`.
    pub at_ns: u64,
    /// The action's name.
    pub action: String,
    /// What the action is told.
    pub arguments: Map<String, Value>,
}

impl Case {
    /// The settings of one scope.
    pub fn settings_of(&self, scope: SettingScope) -> SettingValues {
        settings_of(&self.settings, scope)
    }
}

fn settings_of(settings: &SettingValues, scope: SettingScope) -> SettingValues {
    let belongs = |name: &str| setting(name).is_some_and(|setting| setting.scope == scope);
    settings
        .iter()
        .filter(|(name, _)| belongs(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

/// The cases of a plan, in its order: stage by stage, the last axis of a matrix fastest, then what it includes.
pub fn expand(plan: &Plan, selection: &Selection) -> Result<Vec<Case>, PlanError> {
    let mut cases = Vec::new();
    visit_cases(plan, selection, |case| cases.push(case))?;
    Ok(cases)
}

/// Goes through every case of the plan without keeping them.
pub(crate) fn check_every_case(plan: &Plan) -> Result<(), PlanError> {
    visit_cases(plan, &Selection::default(), drop)
}

fn visit_cases(plan: &Plan, selection: &Selection, mut visit: impl FnMut(Case)) -> Result<(), PlanError> {
    let chosen = Chosen::read(plan, selection)?;
    check_count(plan, &chosen)?;
    let mut index = 0;
    for stage in plan.stages.iter().filter(|stage| chosen.has_stage(stage)) {
        let mut expansion = StageExpansion { plan, stage, chosen: &chosen, names: HashSet::new() };
        let mut previous_array: Option<SettingValues> = None;
        expansion.visit(&mut |mut case| {
            case.index = index;
            index += 1;
            if let Some(precondition) = &stage.precondition {
                let array = case.settings_of(SettingScope::Array);
                if previous_array.as_ref() != Some(&array) {
                    case.preconditioning = Some(precondition.clone());
                }
                previous_array = Some(array);
            }
            visit(case);
        })?;
    }
    Ok(())
}

/// A selection whose names and values are known to exist.
struct Chosen<'a> {
    stages: &'a [String],
    only: Vec<(&'static str, Vec<Value>)>,
    set: Vec<Assignment>,
}

impl<'a> Chosen<'a> {
    fn read(plan: &Plan, selection: &'a Selection) -> Result<Self, PlanError> {
        for name in &selection.stages {
            if plan.stage(name).is_none() {
                let message = format!("the plan `{}` has no stage `{name}`", plan.name);
                let names = plan.stages.iter().map(|stage| stage.name.as_str());
                return Err(PlanError::new(Kind::Selection, message).maybe_hint(did_you_mean(name, names)));
            }
        }
        let mut only: Vec<(&'static str, Vec<Value>)> = Vec::new();
        for (name, texts) in &selection.only {
            let setting = setting_or_error(name)?;
            let values = texts.iter().map(|text| setting.parse(text)).collect::<Result<Vec<_>, _>>()?;
            match only.iter_mut().find(|(present, _)| *present == setting.name) {
                Some((_, present)) => present.extend(values),
                None => only.push((setting.name, values)),
            }
        }
        let mut set: Vec<Assignment> = Vec::new();
        for (name, text) in &selection.set {
            let setting = setting_or_error(name)?;
            if set.iter().any(|present| present.setting.name == setting.name) {
                let message = format!("`{name}` is set twice");
                return Err(PlanError::new(Kind::Selection, message).hint("give --set once for each setting"));
            }
            set.push(Assignment { setting, value: setting.parse(text)?, place: Place::default() });
        }
        Ok(Chosen { stages: &selection.stages, only, set })
    }

    fn has_stage(&self, stage: &Stage) -> bool {
        self.stages.is_empty() || self.stages.contains(&stage.name)
    }

    fn sets(&self, setting: &Setting) -> bool {
        self.set.iter().any(|assignment| assignment.setting.name == setting.name)
    }

    fn wants(&self, settings: &SettingValues) -> bool {
        self.only.iter().all(|(name, values)| settings.get(*name).is_some_and(|value| values.contains(value)))
    }
}

/// Refuses a plan of too many cases while it is still a product of a few numbers.
fn check_count(plan: &Plan, chosen: &Chosen<'_>) -> Result<(), PlanError> {
    let mut total = 0u64;
    for stage in plan.stages.iter().filter(|stage| chosen.has_stage(stage)) {
        let product = stage
            .axes
            .iter()
            .try_fold(1u64, |product, axis| product.checked_mul(axis.points.len() as u64))
            .unwrap_or(u64::MAX);
        total = total.saturating_add(product).saturating_add(stage.include.len() as u64);
        if total > CASES_LIMIT {
            let count = if total == u64::MAX { "over 10^19".into() } else { units::with_thousands(total) };
            let message = format!(
                "with the stage `{}` the plan has {count} cases, but at most {} are run",
                stage.name,
                units::with_thousands(CASES_LIMIT)
            );
            return Err(plan
                .error_at(Kind::OverLimit, stage.name_place, message)
                .hint("shorten the axes of its matrix, or make several plans of it"));
        }
    }
    Ok(())
}

struct StageExpansion<'a> {
    plan: &'a Plan,
    stage: &'a Stage,
    chosen: &'a Chosen<'a>,
    names: HashSet<String>,
}

impl StageExpansion<'_> {
    fn visit(&mut self, visit: &mut dyn FnMut(Case)) -> Result<(), PlanError> {
        let axes = &self.stage.axes;
        // A stage of `include` alone has no case without settings of its own.
        if !axes.is_empty() || self.stage.include.is_empty() {
            let mut position = vec![0usize; axes.len()];
            loop {
                self.matrix_case(axes, &position, visit)?;
                if !advance(axes, &mut position) {
                    break;
                }
            }
        }
        for inclusion in &self.stage.include {
            let mut named: Vec<&'static Setting> = axes.iter().map(|axis| axis.setting).collect();
            named.retain(|setting| inclusion.assignments.iter().any(|own| own.setting.name == setting.name));
            for own in &inclusion.assignments {
                if !named.iter().any(|setting| setting.name == own.setting.name) {
                    named.push(own.setting);
                }
            }
            let mut assignments = Vec::with_capacity(SETTINGS.len());
            assignments.extend(&self.stage.settings);
            assignments.extend(&inclusion.assignments);
            self.case(&assignments, &named, inclusion.place, false, visit)?;
        }
        Ok(())
    }

    fn matrix_case(
        &mut self,
        axes: &[MatrixAxis],
        position: &[usize],
        visit: &mut dyn FnMut(Case),
    ) -> Result<(), PlanError> {
        let points = || axes.iter().zip(position).map(|(axis, &at)| (axis.setting, &axis.points[at]));
        let axis_values: Vec<Assignment> = points()
            .map(|(setting, point)| Assignment { setting, value: point.value.clone(), place: point.place })
            .collect();
        let mut assignments = Vec::with_capacity(SETTINGS.len());
        assignments.extend(&self.stage.settings);
        assignments.extend(points().flat_map(|(_, point)| &point.brings));
        assignments.extend(&axis_values);
        let named: Vec<&'static Setting> = axes.iter().map(|axis| axis.setting).collect();
        let place = axis_values.first().map_or(self.stage.name_place, |assignment| assignment.place);
        self.case(&assignments, &named, place, true, visit)
    }

    /// Makes one case of assignments, the later over the earlier, unless it is excluded or not wanted.
    fn case(
        &mut self,
        assignments: &[&Assignment],
        named: &[&'static Setting],
        place: Place,
        is_of_matrix: bool,
        visit: &mut dyn FnMut(Case),
    ) -> Result<(), PlanError> {
        let resolved = Resolved::new(assignments.iter().copied().chain(&self.chosen.set));
        let settings = self.complete(&resolved, named)?;
        if is_of_matrix && self.stage.exclude.iter().any(|condition| condition.holds(&settings)) {
            return Ok(());
        }
        let name = self.case_name(&settings, named);
        if self.names.contains(&name) {
            // The plan itself has no such pair (it was checked without `--set`), so `--set` made them equal.
            if !self.chosen.set.is_empty() {
                return Ok(());
            }
            let message = format!("the case `{name}` stands twice in the stage `{}`", self.stage.name);
            return Err(self.plan.error_at(Kind::Contradiction, place, message));
        }
        let seed = case_seed(&self.plan.name, &self.stage.name, &name);
        let load = convert::load_spec(&settings, self.plan.interval_ns, seed);
        self.check(&load, &resolved, place)?;
        self.names.insert(name.clone());
        if self.chosen.wants(&settings) {
            visit(self.finish(name, settings, load));
        }
        Ok(())
    }

    /// All settings of a case in the table's order, with fio's defaults.
    fn complete(
        &self,
        resolved: &Resolved<'_>,
        named: &[&'static Setting],
    ) -> Result<SettingValues, PlanError> {
        let stage = self.stage;
        let missing = |name: &str| {
            let message = format!("the stage `{}` has a case without `{name}`", stage.name);
            self.plan
                .error_at(Kind::MissingKey, stage.name_place, message)
                .hint(format!("give `{name}` in the stage's settings, in its matrix, or in `defaults`"))
        };
        let rw = resolved.get("rw").ok_or_else(|| missing("rw"))?;
        resolved.get("bs").ok_or_else(|| missing("bs"))?;
        let fixed_read_share = convert::pattern(&rw.value).and_then(load::Pattern::fixed_read_share);

        let mut settings = SettingValues::new();
        for (setting, assignment) in SETTINGS.iter().zip(&resolved.0) {
            let value = match (setting.name, fixed_read_share, assignment) {
                ("rwmixread", Some(share), own) => {
                    let varies = named.iter().any(|axis| axis.name == setting.name);
                    if let Some(own) = own
                        && varies
                        && own.value != share
                        && !self.chosen.sets(rw.setting)
                    {
                        let message = format!(
                            "`rw: {}` fixes the share of reads at {share} %, so `rwmixread` cannot vary with it",
                            rw.value.as_str().unwrap_or_default()
                        );
                        return Err(self
                            .plan
                            .error_at(Kind::Contradiction, own.place, message)
                            .hint("use `rw: randrw` or `rw: rw`, which take any share, 0 and 100 too"));
                    }
                    share.into()
                }
                (_, _, Some(assignment)) => assignment.value.clone(),
                (_, _, None) => match setting.default {
                    Some(default) => setting.parse(default)?,
                    None => continue,
                },
            };
            settings.insert(setting.name.to_owned(), value);
        }
        Ok(settings)
    }

    fn case_name(&self, settings: &SettingValues, named: &[&'static Setting]) -> String {
        if named.is_empty() {
            return self.stage.name.clone();
        }
        let parts: Vec<String> = named
            .iter()
            .map(|setting| match settings.get(setting.name) {
                Some(Value::String(word)) => format!("{}={word}", setting.name),
                Some(value) => format!("{}={value}", setting.name),
                None => setting.name.to_owned(),
            })
            .collect();
        parts.join(",")
    }

    /// The limits that span several settings.
    fn check(&self, load: &LoadSpec, resolved: &Resolved<'_>, place: Place) -> Result<(), PlanError> {
        load.check().map_err(|error| {
            let load::SpecError::OutOfRange { setting, .. } = &error;
            let at = SETTINGS
                .iter()
                .rev()
                .filter(|known| setting.contains(known.name))
                .find_map(|known| resolved.get(known.name))
                .map_or(place, |assignment| assignment.place);
            self.error_at_or_plain(
                at,
                error.to_string(),
                "each value is allowed, but not all of them in one case",
            )
        })?;
        if self.plan.read_only && load.rwmixread < 100 {
            let at = resolved.get("rw").map_or(place, |assignment| assignment.place);
            let message = format!("the plan is `read_only`, but the stage `{}` writes", self.stage.name);
            return Err(self.error_at_or_plain(
                at,
                message,
                "take `read_only` out of the plan, or give the stage reads only",
            ));
        }
        Ok(())
    }

    /// An error at a place of the plan, or without one where the value comes from `--set`.
    fn error_at_or_plain(&self, place: Place, message: String, hint: &str) -> PlanError {
        if place == Place::default() {
            PlanError::new(Kind::Selection, message).hint("the value comes from --set")
        } else {
            self.plan.error_at(Kind::Contradiction, place, message).hint(hint)
        }
    }

    fn finish(&self, name: String, settings: SettingValues, load: LoadSpec) -> Case {
        let mut events: Vec<CaseEvent> = self
            .stage
            .events
            .iter()
            .map(|event| CaseEvent {
                at_ns: load.ramp_ns.saturating_add(event.at.resolve(load.runtime_ns)),
                action: event.action.clone(),
                arguments: event.arguments.clone(),
            })
            .collect();
        events.sort_by_key(|event| event.at_ns);
        Case {
            index: 0,
            plan: self.plan.name.clone(),
            stage: self.stage.name.clone(),
            name,
            pause_ns: self.stage.pause_ns,
            preconditioning: None,
            events,
            estimated_duration_ns: estimate::duration_ns(&load, self.stage.pause_ns),
            estimated_write_bytes: estimate::write_bytes(&load),
            settings,
            load,
        }
    }
}

/// For each setting of the table, the assignment that counts: the last one.
struct Resolved<'a>(Vec<Option<&'a Assignment>>);

impl<'a> Resolved<'a> {
    fn new(assignments: impl Iterator<Item = &'a Assignment>) -> Self {
        let mut slots = vec![None; SETTINGS.len()];
        for assignment in assignments {
            if let Some(at) = SETTINGS.iter().position(|setting| setting.name == assignment.setting.name) {
                slots[at] = Some(assignment);
            }
        }
        Resolved(slots)
    }

    fn get(&self, name: &str) -> Option<&'a Assignment> {
        SETTINGS.iter().position(|setting| setting.name == name).and_then(|at| self.0[at])
    }
}

/// The next point of a matrix, the last axis fastest; false after the last point.
fn advance(axes: &[MatrixAxis], position: &mut [usize]) -> bool {
    for (axis, at) in axes.iter().zip(position.iter_mut()).rev() {
        *at += 1;
        if *at < axis.points.len() {
            return true;
        }
        *at = 0;
    }
    false
}

/// FNV-1a, 64 bit (the constants are those of its authors, Fowler, Noll and Vo): the same on every machine and
/// in every release, which the standard library's hasher does not promise.
fn case_seed(plan: &str, stage: &str, case: &str) -> u64 {
    let bytes = [plan, stage, case].into_iter().flat_map(|part| part.bytes().chain(std::iter::once(0)));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

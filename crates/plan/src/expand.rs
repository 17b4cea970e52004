//! Expansion of a plan and a selection into cases.

use crate::case::{Case, CaseEvent, ConditionalEvent, NamedLoad, PauseRate, RateShare, mark_preconditioning};
use crate::matrix::{Assignment, MatrixAxis, SettingValues};
use crate::part::{Amount, Continues, Filesystem, Moment, Pause, RateReference, Trigger};
use crate::plan::{Plan, Stage};
use crate::setting::{SETTINGS, Setting, setting_or_error};
use crate::source::Place;
use crate::{PlanError, PlanErrorKind as Kind, convert, estimate};
use array::did_you_mean;
use load::LoadSpec;
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};

/// The setting that makes a rate a share of another case's.
const RATE_PERCENT: &str = "rate_percent";

/// The most cases that a plan may have. Counted before any of them is made.
pub const CASES_LIMIT: u64 = 1_000_000;

/// Selection of cases and changed settings: `--stage`, `--only`, `--set`.
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

/// The cases of a plan, in its order: stage by stage, the last axis of a matrix fastest, then what it includes.
pub fn expand(plan: &Plan, selection: &Selection) -> Result<Vec<Case>, PlanError> {
    let mut cases = Vec::new();
    visit_cases(plan, selection, |case| cases.push(case))?;
    mark_preconditioning(&mut cases);
    Ok(cases)
}

/// Goes through every case of the plan without keeping them.
pub(crate) fn visit_every_case(plan: &Plan, visit: impl FnMut(Case)) -> Result<(), PlanError> {
    visit_cases(plan, &Selection::default(), visit)
}

/// Goes through the selected cases as [`expand`] does, without keeping them and without marking preconditioning: a case with its
/// loads takes 16 KB, and a plan may have a million.
pub fn visit_cases(plan: &Plan, selection: &Selection, mut visit: impl FnMut(Case)) -> Result<(), PlanError> {
    let chosen = Chosen::read(plan, selection)?;
    check_count(plan, &chosen)?;
    let mut index = 0;
    // The stage before, and its last case.
    let mut before: Option<(&Stage, Option<(String, bool)>)> = None;
    for stage in &plan.stages {
        let is_chosen = chosen.has_stage(stage);
        if is_chosen {
            let rates = RateTable::of(plan, stage, &chosen)?;
            let mut expansion = StageExpansion::new(plan, stage, &chosen, rates);
            if stage.continues == Continues::StageBefore {
                expansion.previous =
                    before.and_then(|(before, last)| last.or(Some((before.name.clone(), false))));
            }
            expansion.visit(&mut |mut case| {
                case.index = index;
                index += 1;
                visit(case);
            })?;
            before = Some((stage, expansion.previous));
        } else {
            before = Some((stage, None));
        }
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
                return Err(
                    PlanError::new(Kind::Selection, message).with_hint("give --set once for each setting")
                );
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
        let round = product.saturating_add(stage.include.len() as u64);
        let rounds = u64::from(stage.repeats.as_ref().map_or(1, |rounds| rounds.at_most));
        total = total.saturating_add(round.saturating_mul(rounds));
        if total > CASES_LIMIT {
            let count = if total == u64::MAX { "over 10^19".into() } else { units::with_thousands(total) };
            let message = format!(
                "with the stage `{}` the plan has {count} cases, but at most {} are run",
                stage.name,
                units::with_thousands(CASES_LIMIT)
            );
            return Err(plan
                .error_at(Kind::OverLimit, stage.name_place, message)
                .with_hint("shorten the axes of its matrix, or make several plans of it"));
        }
    }
    Ok(())
}

/// The cases of the stage in which another finds the rates for its pauses.
struct RateTable<'a> {
    reference: &'a RateReference,
    /// Names of the cases by the values of the settings that are matched.
    cases: BTreeMap<Vec<String>, Vec<String>>,
}

impl<'a> RateTable<'a> {
    /// The table of a stage whose pauses need one. It has all cases of the other stage, selected or not, because it is
    /// the run that knows what was measured.
    fn of(plan: &Plan, stage: &'a Stage, chosen: &Chosen<'_>) -> Result<Option<Self>, PlanError> {
        let Pause::BytesOver { rate: reference, .. } = &stage.pause else { return Ok(None) };
        let Some(other) = plan.stage(&reference.stage) else { return Ok(None) };
        let all = Chosen { stages: &[], only: Vec::new(), set: chosen.set.clone() };
        let mut table = RateTable { reference, cases: BTreeMap::new() };
        StageExpansion::new(plan, other, &all, None).visit(&mut |case| {
            if reference.cases.holds(&case.settings) {
                table.cases.entry(table.reference.key(&case.settings)).or_default().push(case.name);
            }
        })?;
        Ok(Some(table))
    }

    /// The rate of a case. A plan must give each case exactly one; what `--set` changes may leave it without.
    fn rate(
        &self,
        plan: &Plan,
        case: &str,
        settings: &SettingValues,
        is_set: bool,
    ) -> Result<Option<PauseRate>, PlanError> {
        let RateReference { stage, quantity, place, .. } = self.reference;
        let found = self.cases.get(&self.reference.key(settings)).map_or(&[][..], Vec::as_slice);
        let wrong = match found {
            [name] => {
                return Ok(Some(PauseRate { stage: stage.clone(), case: name.clone(), quantity: *quantity }));
            }
            _ if is_set => return Ok(None),
            [] => "no case".to_owned(),
            several => format!("{} cases", several.len()),
        };
        let message = format!("{wrong} of `{stage}` have the settings that `{case}` is matched by");
        Err(plan
            .error_at(Kind::Contradiction, *place, message)
            .with_hint("`match` and `cases` must leave exactly one case for each case that pauses"))
    }
}

impl RateReference {
    fn key(&self, settings: &SettingValues) -> Vec<String> {
        let text = |name: &&str| settings.get(*name).map_or_else(String::new, Value::to_string);
        self.match_settings.iter().map(text).collect()
    }
}

struct StageExpansion<'a> {
    plan: &'a Plan,
    stage: &'a Stage,
    chosen: &'a Chosen<'a>,
    rates: Option<RateTable<'a>>,
    names: HashSet<String>,
    /// The case before the present one, and whether it was wanted.
    previous: Option<(String, bool)>,
}

impl<'a> StageExpansion<'a> {
    fn new(plan: &'a Plan, stage: &'a Stage, chosen: &'a Chosen<'a>, rates: Option<RateTable<'a>>) -> Self {
        StageExpansion { plan, stage, chosen, rates, names: HashSet::new(), previous: None }
    }

    fn visit(&mut self, visit: &mut dyn FnMut(Case)) -> Result<(), PlanError> {
        let Some(rounds) = &self.stage.repeats else { return self.round(None, visit) };
        let setting = setting_or_error("repeat")?;
        for number in 1..=rounds.at_most {
            let repeat = Assignment { setting, value: number.into(), place: self.stage.name_place };
            self.round(Some(&repeat), visit)?;
        }
        Ok(())
    }

    /// The whole matrix and what it includes, once.
    fn round(&mut self, repeat: Option<&Assignment>, visit: &mut dyn FnMut(Case)) -> Result<(), PlanError> {
        let axes = &self.stage.axes;
        // A stage of `include` alone has no case without settings of its own.
        if !axes.is_empty() || self.stage.include.is_empty() {
            let mut position = vec![0usize; axes.len()];
            loop {
                self.matrix_case(axes, &position, repeat, visit)?;
                if !advance(axes, &mut position) {
                    break;
                }
            }
        }
        for inclusion in &self.stage.include {
            let mut named: Vec<&'static Setting> = axes.iter().map(|axis| axis.setting).collect();
            named.retain(|setting| inclusion.assignments.iter().any(|own| own.setting.name == setting.name));
            for own in &inclusion.assignments {
                // A priority weighs a case and does not tell it from others.
                if own.setting.name != "priority" && !named.iter().any(|known| known.name == own.setting.name)
                {
                    named.push(own.setting);
                }
            }
            named.extend(repeat.map(|repeat| repeat.setting));
            let mut assignments = Vec::with_capacity(SETTINGS.len());
            assignments.extend(&self.stage.settings);
            assignments.extend(&inclusion.assignments);
            assignments.extend(repeat);
            self.case(&assignments, &named, inclusion.place, false, visit)?;
        }
        Ok(())
    }

    fn matrix_case(
        &mut self,
        axes: &[MatrixAxis],
        position: &[usize],
        repeat: Option<&Assignment>,
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
        assignments.extend(repeat);
        let named: Vec<&'static Setting> = axes
            .iter()
            .map(|axis| axis.setting)
            .filter(|setting| setting.name != "priority")
            .chain(repeat.map(|repeat| repeat.setting))
            .collect();
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
        let seed = case_seed(&[&self.plan.name, &self.stage.name, &name]);
        let rate_share = self.rate_share(&settings, named, &resolved, is_of_matrix)?;
        let load = if self.stage.loads.is_empty() {
            self.load(&without_duration_and_events(&settings), seed, &resolved, place)?
        } else {
            // Each of the loads may have a rate of its own, which the stage does not say.
            let mut common = settings.clone();
            convert::COURSES_OF_RATES.iter().for_each(|name| drop(common.remove(*name)));
            self.load(&common, seed, &resolved, place)?
        };
        let loads = self.loads(assignments, named, &name, &load, place)?;
        self.names.insert(name.clone());
        let is_wanted = self.chosen.wants(&settings);
        let previous = self.previous.replace((name.clone(), is_wanted));
        if !is_wanted {
            return Ok(());
        }
        let continues = match previous {
            _ if self.stage.continues == Continues::No => false,
            Some((_, true)) => true,
            Some((before, false)) => {
                let message = format!("`{name}` continues `{before}`, which is left out");
                return Err(PlanError::new(Kind::Selection, message).with_hint(format!(
                    "the cases of the stage `{}` follow on one another; choose from its first on",
                    self.stage.name
                )));
            }
            None => false,
        };
        let mut case = self.finish(name, settings, load, loads)?;
        if let Some(share) = &rate_share {
            case.estimated_write_bytes = estimate::at_share(case.estimated_write_bytes, share.percent);
        }
        visit(Case { continues, rate_share, ..case });
        Ok(())
    }

    /// The case at full rate that a case's rate is a share of: the one before it on the last axis.
    fn rate_share(
        &self,
        settings: &SettingValues,
        named: &[&'static Setting],
        resolved: &Resolved<'_>,
        is_of_matrix: bool,
    ) -> Result<Option<RateShare>, PlanError> {
        let Some(value) = settings.get(RATE_PERCENT) else { return Ok(None) };
        let place = resolved.get(RATE_PERCENT).map_or(self.stage.name_place, |assignment| assignment.place);
        let wrong = |message: &str, hint: &str| Err(self.error_at_or_plain(place, message.to_owned(), hint));
        let of_its_own = ["rate_iops"].iter().chain(&convert::COURSES_OF_RATES[1..]);
        if of_its_own.clone().any(|name| settings.contains_key(*name)) || self.stage.find.is_some() {
            return wrong(
                "a rate in percent is the only rate of a case",
                "leave out the other rates and `find`",
            );
        }
        if self.stage.continues != Continues::No {
            return wrong(
                "`rate_percent` and `continues` exclude each other",
                "take one of them out of the stage",
            );
        }
        let Some(percent) = value.as_u64().and_then(|percent| u32::try_from(percent).ok()) else {
            return Ok(None);
        };
        let mut full = settings.clone();
        full.insert(RATE_PERCENT.to_owned(), "max".into());
        let of_case = self.case_name(&full, named);
        let is_last = self.stage.axes.last().is_some_and(|axis| axis.setting.name == RATE_PERCENT);
        if !is_last || !is_of_matrix || !self.names.contains(&of_case) {
            return wrong(
                "the rate of this case is a share of one that no case before it has",
                "make it the last axis of the matrix, with `max` first: rate_percent: [max, 10, 50, 90]",
            );
        }
        if self.chosen.wants(settings) && !self.chosen.wants(&full) {
            let message =
                format!("the rate of a case is a share of what `{of_case}` delivers, which is left out");
            return Err(
                PlanError::new(Kind::Selection, message).with_hint("choose it too: rate_percent=max,…")
            );
        }
        let process = match settings.get("rate_process").and_then(Value::as_str) {
            Some("poisson") => Some(load::ArrivalProcess::Poisson),
            Some(_) => Some(load::ArrivalProcess::Regular),
            None => None,
        };
        Ok(Some(RateShare { of_case, percent, process }))
    }

    /// The loads that run at once in a case, where the stage has several.
    fn loads(
        &self,
        assignments: &[&Assignment],
        named: &[&'static Setting],
        case: &str,
        whole: &LoadSpec,
        place: Place,
    ) -> Result<Vec<NamedLoad>, PlanError> {
        let mut loads = Vec::with_capacity(self.stage.loads.len());
        for template in &self.stage.loads {
            let own = assignments.iter().copied().chain(&template.settings);
            let resolved = Resolved::new(own.chain(&self.chosen.set));
            let settings = self.complete(&resolved, named)?;
            let seed = case_seed(&[&self.plan.name, &self.stage.name, case, &template.name]);
            if settings.contains_key(RATE_PERCENT) && settings.contains_key("rate_iops") {
                let message =
                    format!("the load `{}` has a rate of its own beside `rate_percent`", template.name);
                return Err(self.error_at_or_plain(place, message, "leave one of them out"));
            }
            let mut load = self.load(&without_duration_and_events(&settings), seed, &resolved, place)?;
            let mut start_ns = 0;
            if let Some(start) = template.start {
                let counted_ns = start.resolve(whole.runtime_ns);
                if counted_ns >= whole.runtime_ns {
                    let message = format!("the load `{}` begins when the case is over", template.name);
                    return Err(self.error_at_or_plain(
                        template.start_place,
                        message,
                        "`start` must lie within the runtime",
                    ));
                }
                start_ns = whole.ramp_ns.saturating_add(counted_ns);
                load.ramp_ns = 0;
                load.runtime_ns = whole.runtime_ns - counted_ns;
            }
            loads.push(NamedLoad {
                name: template.name.clone(),
                target: template.target.clone(),
                hosts: template.hosts.clone(),
                start_ns,
                ends_after: ends_after(&settings),
                settings,
                load,
            });
        }
        Ok(loads)
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
                .with_hint(format!("give `{name}` in the stage's settings, in its matrix, or in `defaults`"))
        };
        let rw = resolved.get("rw").ok_or_else(|| missing("rw"))?;
        resolved.get("bs").ok_or_else(|| missing("bs"))?;
        let fixed_read_share = convert::pattern(&rw.value).and_then(load::Pattern::fixed_read_share);

        let mut settings = SettingValues::new();
        for (setting, assignment) in SETTINGS.iter().zip(&resolved.of_table) {
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
                            .with_hint("use `rw: randrw` or `rw: rw`, which take any share, 0 and 100 too"));
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
        for (name, assignment) in &resolved.of_host {
            settings.insert((*name).to_owned(), assignment.value.clone());
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

    /// The load of complete settings, checked for the limits that span several of them.
    fn load(
        &self,
        settings: &SettingValues,
        seed: u64,
        resolved: &Resolved<'_>,
        place: Place,
    ) -> Result<LoadSpec, PlanError> {
        let load = convert::load_spec(settings, &self.plan.profiles, self.plan.interval_ns, seed);
        let load = load.map(|load| self.replaying(load));
        let load = load.and_then(|load| load.check().map(|()| load)).map_err(|error| {
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
        if self.plan.read_only && load.writes() {
            let at = resolved.get("rw").map_or(place, |assignment| assignment.place);
            let message = format!("the plan is `read_only`, but the stage `{}` writes", self.stage.name);
            return Err(self.error_at_or_plain(
                at,
                message,
                "take `read_only` out of the plan, or give the stage reads only",
            ));
        }
        Ok(load)
    }

    /// The load with the stage's trace in it, which says itself where its I/Os go.
    fn replaying(&self, mut load: LoadSpec) -> LoadSpec {
        if let Some(replay) = &self.stage.replay {
            load.shape.distribution = load::Distribution::Uniform;
            load.shape.replay = Some(replay.clone());
        }
        load
    }

    /// An error at a place of the plan, or without one where the value comes from `--set`.
    fn error_at_or_plain(&self, place: Place, message: String, hint: &str) -> PlanError {
        if place == Place::default() {
            PlanError::new(Kind::Selection, message).with_hint("the value comes from --set")
        } else {
            self.plan.error_at(Kind::Contradiction, place, message).with_hint(hint)
        }
    }

    fn finish(
        &self,
        name: String,
        settings: SettingValues,
        load: LoadSpec,
        loads: Vec<NamedLoad>,
    ) -> Result<Case, PlanError> {
        let (events, conditional_events) = self.events(&load);
        let (pause_ns, pause_over) = self.pause(&name, &settings, &load, &loads)?;
        let ends_after = ends_after(&settings);
        let estimated_write_bytes = if loads.is_empty() {
            estimate::write_bytes(&load, ends_after)
        } else {
            let each = loads.iter().map(|one| estimate::write_bytes(&one.load, one.ends_after));
            each.fold(0, u64::saturating_add)
        };
        // Every point of a search is a load, and the load that was found is run once more.
        let points = self.stage.find.map_or(0, |find| u64::from(find.search.points_limit));
        let filesystem = match settings.get("filesystem").and_then(Value::as_str) {
            Some(kind) if kind != "raw" => {
                Some(Filesystem { kind: kind.to_owned(), options: self.stage.filesystem.clone() })
            }
            _ => None,
        };
        Ok(Case {
            index: 0,
            plan: self.plan.name.clone(),
            stage: self.stage.name.clone(),
            name,
            ends_after,
            loads,
            find: self.stage.find,
            rate_share: None,
            load_of: self.stage.load_of.clone(),
            hosts: self.stage.hosts.clone(),
            stripe: self.stage.stripe,
            filesystem,
            pause_ns,
            pause_over,
            preconditioning: None,
            conditioned_by: self.stage.precondition.clone(),
            continues: false,
            events,
            conditional_events,
            estimated_duration_ns: estimate::duration_ns(&load, pause_ns)
                .saturating_add(points.saturating_mul(estimate::duration_ns(&load, 0))),
            estimated_write_bytes: estimated_write_bytes.saturating_mul(points + 1),
            settings,
            load,
        })
    }

    fn events(&self, load: &LoadSpec) -> (Vec<CaseEvent>, Vec<ConditionalEvent>) {
        let at_ns = |moment: Moment| load.ramp_ns.saturating_add(moment.resolve(load.runtime_ns));
        let mut events = Vec::new();
        let mut conditional = Vec::new();
        for event in &self.stage.events {
            let (action, arguments) = (event.action.clone(), event.arguments.clone());
            match &event.trigger {
                Trigger::At(moment) => events.push(CaseEvent { at_ns: at_ns(*moment), action, arguments }),
                Trigger::When { condition, latest } => conditional.push(ConditionalEvent {
                    condition: condition.clone(),
                    latest_ns: latest.map(at_ns),
                    action,
                    arguments,
                }),
            }
        }
        events.sort_by_key(|event| event.at_ns);
        (events, conditional)
    }

    fn pause(
        &self,
        name: &str,
        settings: &SettingValues,
        load: &LoadSpec,
        loads: &[NamedLoad],
    ) -> Result<(u64, Option<PauseRate>), PlanError> {
        if settings.contains_key("pause") {
            return Ok((convert::time_ns(settings, "pause"), None));
        }
        match (&self.stage.pause, &self.rates) {
            (Pause::Fixed { time_ns }, _) => Ok((*time_ns, None)),
            (Pause::BytesOver { otherwise_ns, .. }, Some(rates)) => {
                let writes = match loads {
                    [] => load.writes(),
                    loads => loads.iter().any(|one| one.load.writes()),
                };
                // Nothing written, nothing to wait for.
                let rate = rates.rate(self.plan, name, settings, !self.chosen.set.is_empty())?;
                Ok(if writes { (*otherwise_ns, rate) } else { (0, None) })
            }
            // A stage whose rates another stage asks for is gone through for its names.
            (Pause::BytesOver { otherwise_ns, .. }, None) => Ok((*otherwise_ns, None)),
        }
    }
}

/// The settings without what makes the load an open one, where its rate is known only when another case has ended, or
/// where it goes as fast as it can.
fn without_duration_and_events(settings: &SettingValues) -> SettingValues {
    let mut settings = settings.clone();
    if settings.contains_key(RATE_PERCENT) {
        convert::COURSES_OF_RATES.iter().for_each(|name| drop(settings.remove(*name)));
    }
    settings
}

/// The bytes after which a load ends.
fn ends_after(settings: &SettingValues) -> Option<Amount> {
    settings.get("io_size").and_then(Amount::of_setting)
}

/// For each setting the assignment that counts: the last one.
struct Resolved<'a> {
    /// Assignments of the settings of the table, in its order.
    of_table: Vec<Option<&'a Assignment>>,
    /// Host settings, by name.
    of_host: BTreeMap<&'static str, &'a Assignment>,
}

impl<'a> Resolved<'a> {
    fn new(assignments: impl Iterator<Item = &'a Assignment>) -> Self {
        let mut resolved = Resolved { of_table: vec![None; SETTINGS.len()], of_host: BTreeMap::new() };
        for assignment in assignments {
            match SETTINGS.iter().position(|setting| setting.name == assignment.setting.name) {
                Some(at) => resolved.of_table[at] = Some(assignment),
                None => {
                    resolved.of_host.insert(assignment.setting.name, assignment);
                }
            }
        }
        resolved
    }

    fn get(&self, name: &str) -> Option<&'a Assignment> {
        SETTINGS.iter().position(|setting| setting.name == name).and_then(|at| self.of_table[at])
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
fn case_seed(names: &[&str]) -> u64 {
    let bytes = names.iter().flat_map(|part| part.bytes().chain(std::iter::once(0)));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

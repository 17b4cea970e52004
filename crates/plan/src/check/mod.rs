//! Plan validation: from the document to a plan whose every value is checked.

mod claims;
mod condition;
mod figure;
mod find;
mod hosts;
mod matrix;
mod profile;
mod published;
mod replay;
mod report;
mod rounds;
mod stage;
mod watch;

use crate::document::PlanDocument;
use crate::matrix::SettingValues;
use crate::plan::Plan;
use crate::source::{Place, SourceText};
use crate::{PlanError, PlanErrorKind as Kind, expand};
use std::collections::BTreeMap;
use std::path::Path;

/// The shortest interval: a shorter one would cost more to keep than it tells.
const INTERVAL_LEAST_NS: u64 = 10_000_000;
/// The most commands, pictures and requirements of a plan, each.
const LIST_LIMIT: usize = 1_000;
/// Characters that a name may hold beside letters and digits.
const KNOWN_NAME: &str = "._-";

/// Settings of one case of each stage.
pub type KeptSettings = BTreeMap<String, SettingValues>;

/// Texts supplied beside the plan, which need not be read from files.
#[derive(Clone, Copy, Default)]
pub(crate) struct SuppliedFiles<'a> {
    /// A published table: its name in the plan, and its CSV.
    pub table: Option<(&'a str, &'a str)>,
    /// The settings of cases that were made of the plan before.
    pub kept: Option<&'a KeptSettings>,
}

/// Checks a document: the plan that it says, or its first mistake.
pub(crate) fn check(
    name: &str,
    source: SourceText,
    directory: Option<&Path>,
    document: PlanDocument,
    given: SuppliedFiles<'_>,
) -> Result<Plan, PlanError> {
    let checker = Checker { source: &source, kept: given.kept };
    for (what, count) in [
        ("commands in `inventory`", document.inventory.len()),
        ("pictures in `images`", document.images.len()),
        ("limits in `require`", document.require.len()),
    ] {
        if count > LIST_LIMIT {
            return Err(PlanError::new(Kind::OverLimit, format!("a plan has at most {LIST_LIMIT} {what}")));
        }
    }
    let hosts = checker.hosts(&document)?;
    let share = checker.volume_share(document.share.as_ref())?;
    let jobs = checker.job_share(document.jobs.as_ref())?;
    let defaults = checker.assignments(&document.defaults)?;
    let stages = checker.stages(&document, &defaults, directory)?;
    let stage_names: Vec<&str> = stages.iter().map(|stage| stage.name.as_str()).collect();

    let profiles = checker.profiles(&document.profiles, directory)?;
    let interval_ns = checker.interval_ns(&document.watch)?;
    let watch = checker.watch(document.watch, interval_ns)?;
    let images = document.images.iter().map(|image| checker.image(image)).collect::<Result<_, _>>()?;
    let inventory =
        document.inventory.iter().map(|command| checker.inventory(command)).collect::<Result<_, _>>()?;
    let declared = document
        .declared
        .iter()
        .map(|declared| checker.declared(declared, &stage_names))
        .collect::<Result<_, _>>()?;
    let required = document
        .require
        .iter()
        .map(|requirement| checker.requirement(requirement, &stage_names))
        .collect::<Result<Vec<_>, _>>()?;
    let mut tables = Vec::new();
    for table in &document.published {
        table.stages.iter().try_for_each(|stage| checker.known_stage(stage, &stage_names))?;
        let given = given.table.filter(|(name, _)| *name == table.file.value).map(|(_, text)| text);
        tables.push(published::read(&source, directory, table, given, checker.condition(&table.cases)?)?);
    }
    let claims = checker.claims(&document.claims, &stage_names)?;
    let charts = document
        .show
        .into_iter()
        .map(|chart| checker.chart(chart, &stage_names))
        .collect::<Result<_, _>>()?;
    let shown_tables = document
        .tables
        .into_iter()
        .map(|table| checker.table(table, &stage_names))
        .collect::<Result<_, _>>()?;

    let (requirements, requirement_places): (Vec<_>, Vec<_>) = required.into_iter().unzip();
    let plan = Plan {
        name: name.to_owned(),
        title: document.title,
        author: document.author,
        intro: document.intro,
        notes: document.notes,
        images,
        inventory,
        read_only: document.read_only,
        interval_ns,
        watch,
        hosts,
        share,
        jobs,
        profiles,
        stages,
        requirements,
        claims,
        declared,
        published: tables,
        charts,
        tables: shown_tables,
        source,
    };
    // A plan is refused whole: a mistake in its last stage is not found after hours of the first.
    let mut unmet: Vec<usize> = (0..plan.requirements.len()).collect();
    let mut without_direction = unmet.clone();
    expand::visit_every_case(&plan, |case| {
        let is_about = |&index: &usize| plan.requirements[index].is_about(&case.stage, &case.settings);
        unmet.retain(|index| !is_about(index));
        without_direction.retain(|index| {
            let quantity = plan.requirements[*index].quantity;
            !(is_about(index) && plan.has_direction(&case.stage, &case.settings, quantity))
        });
    })?;
    if let Some(&index) = unmet.first() {
        let message = "no case of the stage has these settings, so this requirement asks for nothing";
        return Err(plan.error_at(Kind::Contradiction, requirement_places[index], message));
    }
    // A run that was made is still read; its limit is then not shown.
    if let Some(&index) = without_direction.first().filter(|_| given.kept.is_none()) {
        let quantity = plan.requirements[index].quantity.name();
        let direction = quantity.split_once('.').map_or(quantity, |(direction, _)| direction);
        let message = format!("no case of the stage has {direction}s, so `{quantity}` can never be judged");
        return Err(plan.error_at(Kind::Contradiction, requirement_places[index], message));
    }
    Ok(plan)
}

struct Checker<'a> {
    source: &'a SourceText,
    /// Settings of cases that were made of the plan before, by stage.
    kept: Option<&'a KeptSettings>,
}

impl Checker<'_> {
    fn error(&self, kind: Kind, place: Place, message: impl Into<String>) -> PlanError {
        PlanError::new(kind, message).at(self.source.excerpt(place))
    }
}

//! Draft validation: settings that `plan` refuses are dropped and listed with their source line.
//!
//! Rules of plans that no single option breaks (a load that begins when its case is over, `offset_increment` beside
//! `verify`) show only when the whole is read. An import never fails by them, and never writes what `run` refuses.

use crate::NotCarried;
use crate::draft::{Draft, DraftStage, Line};
use plan::{PlanError, Selection};
use std::path::Path;

/// The most things that are left out of one stage before the stage is.
const LEFT_OUT_LIMIT: usize = 32;
/// Settings that every load needs.
const NEEDED: [&str; 2] = ["rw", "bs"];

/// Something that a stage can do without.
enum Part {
    Search,
    Pause,
    Axis(usize),
    /// A setting of the stage, or of one of its loads.
    Setting(Option<usize>, String),
    Load(usize),
}

impl Draft {
    /// Returns the plan as YAML that is read and expanded without an error, and the parts that were left out for
    /// that; no text where nothing is left.
    pub fn accepted_text(mut self, path: &Path, name: &str) -> (Option<String>, Vec<NotCarried>) {
        let mut left_out = Vec::new();
        let file = (path.to_owned(), 1);
        if let (Some(interval), Err(error)) = (self.interval.clone(), self.check_interval(name)) {
            left_out.push(remark(&file, format!("interval={interval}"), &error));
            self.interval = None;
        }
        let stages = std::mem::take(&mut self.stages);
        for mut stage in stages {
            let place = stage.line.clone().unwrap_or_else(|| file.clone());
            if self.shrink(name, &mut stage, &place, &mut left_out) {
                self.stages.push(stage);
            }
        }
        // Together they may be over a limit of which none is alone.
        while let Err(error) = check(&self, name) {
            let Some(stage) = self.stages.pop() else { return (None, left_out) };
            left_out.push(remark(stage.line.as_ref().unwrap_or(&file), format!("[{}]", stage.name), &error));
        }
        (Some(self.text()), left_out)
    }

    fn alone(&self, stage: &DraftStage) -> Draft {
        Draft { stages: vec![stage.clone()], ..self.clone() }
    }

    fn check_interval(&self, name: &str) -> Result<(), PlanError> {
        let mut stage = DraftStage { name: "any".into(), ..DraftStage::default() };
        stage.settings.set("rw", "read");
        stage.settings.set("bs", "4k");
        check(&self.alone(&stage), name)
    }

    /// Leaves out of a stage what keeps it from being read; false where nothing of it can stand.
    fn shrink(
        &self,
        name: &str,
        stage: &mut DraftStage,
        place: &Line,
        left_out: &mut Vec<NotCarried>,
    ) -> bool {
        for _ in 0..LEFT_OUT_LIMIT {
            let Err(error) = check(&self.alone(stage), name) else { return true };
            let tried: Vec<(Part, Result<(), PlanError>)> = parts(stage)
                .into_iter()
                .map(|part| {
                    let mut without = stage.clone();
                    part.leave_out(&mut without);
                    let checked = check(&self.alone(&without), name);
                    (part, checked)
                })
                .collect();
            // That without which all is well; else one with which a mistake goes.
            let cure = tried.iter().position(|(_, checked)| checked.is_ok()).or_else(|| {
                tried.iter().position(|(_, checked)| {
                    checked.as_ref().is_err_and(|other| other.message() != error.message())
                })
            });
            let Some((part, _)) = cure.and_then(|index| tried.into_iter().nth(index)) else {
                left_out.push(remark(place, format!("[{}]", stage.name), &error));
                return false;
            };
            let (line, what) = part.written(stage, place);
            left_out.push(remark(&line, what, &error));
            part.leave_out(stage);
        }
        left_out.push(NotCarried {
            file: place.0.clone(),
            line: place.1,
            what: format!("[{}]", stage.name),
            why: "too much of it is nothing that a plan can say".into(),
        });
        false
    }
}

/// Lists the parts that may be left out, the one that changes the load least first.
fn parts(stage: &DraftStage) -> Vec<Part> {
    let mut parts = Vec::new();
    if stage.search.is_some() {
        parts.push(Part::Search);
    }
    if stage.pause.is_some() {
        parts.push(Part::Pause);
    }
    // A load that begins later would be another load without its start.
    if stage.loads.len() > 1 {
        let late = stage.loads.iter().enumerate().filter(|(_, load)| load.start.is_some());
        parts.extend(late.map(|(index, _)| Part::Load(index)));
    }
    let own = |settings: &crate::draft::Settings, load: Option<usize>| {
        let names =
            settings.iter().map(|(name, _)| name.to_owned()).filter(|name| !NEEDED.contains(&name.as_str()));
        names.map(|name| Part::Setting(load, name)).collect::<Vec<_>>()
    };
    for (index, load) in stage.loads.iter().enumerate() {
        parts.extend(own(&load.settings, Some(index)));
    }
    parts.extend(own(&stage.settings, None));
    parts.extend((0..stage.axes.len()).map(Part::Axis));
    if stage.loads.len() > 1 {
        parts.extend((0..stage.loads.len()).map(Part::Load));
    }
    parts
}

impl Part {
    fn leave_out(&self, stage: &mut DraftStage) {
        match self {
            Part::Search => stage.search = None,
            Part::Pause => stage.pause = None,
            Part::Axis(index) => {
                // The first value stands for all.
                let (name, values) = stage.axes.remove(*index);
                if let Some(first) = values.into_iter().next() {
                    stage.settings.set(&name, first);
                }
            }
            Part::Setting(None, name) => stage.settings.remove(name),
            Part::Setting(Some(index), name) => stage.loads[*index].settings.remove(name),
            Part::Load(index) => {
                stage.loads.remove(*index);
            }
        }
    }

    /// Returns the line of the file that has the part, and the text there.
    fn written(&self, stage: &DraftStage, place: &Line) -> (Line, String) {
        let of = |line: Option<&Line>| line.unwrap_or(place).clone();
        match self {
            Part::Search => (of(stage.search.as_ref().map(|search| &search.line)), "latency_target".into()),
            Part::Pause => (place.clone(), "pause".into()),
            Part::Axis(index) => (place.clone(), format!("the values of {}", stage.axes[*index].0)),
            Part::Setting(load, name) => {
                let settings = match load {
                    Some(index) => &stage.loads[*index].settings,
                    None => &stage.settings,
                };
                let line = settings.line(name).or(load.and_then(|index| stage.loads[index].line.as_ref()));
                (of(line), format!("{name}={}", settings.get(name).unwrap_or_default()))
            }
            Part::Load(index) => {
                let load = &stage.loads[*index];
                (of(load.line.as_ref()), format!("[{}]", load.name))
            }
        }
    }
}

fn remark(line: &Line, what: String, error: &PlanError) -> NotCarried {
    NotCarried { file: line.0.clone(), line: line.1, what, why: error.message().to_owned() }
}

fn check(draft: &Draft, name: &str) -> Result<(), PlanError> {
    let plan = plan::parse_plan(name, name, &draft.text())?;
    plan::expand(&plan, &Selection::default()).map(|_| ())
}

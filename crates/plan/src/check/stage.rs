//! Stages: what is done in each of their cases.

use super::matrix::overlay;
use super::{Checker, KNOWN_NAME};
use crate::document::{
    EventDocument, FilesystemDocument, HostDocument, LoadDocument, LoadOfDocument, PauseDocument,
    PauseOverDocument, PlanDocument, PreconditionDocument, StageDocument, StripeDocument,
};
use crate::matrix::{Assignment, MatrixAxis};
use crate::part::{
    Continues, EventTemplate, FilesystemOptions, LoadChoice, LoadTarget, LoadTemplate, Pause,
    Preconditioning, RateReference, Stripe, Trigger,
};
use crate::plan::Stage;
use crate::setting::SettingScope;
use crate::yaml::Located;
use crate::{PlanError, PlanErrorKind as Kind};
use std::path::Path;

/// The most a plan may write before a stage, in sizes of the target. SNIA PTS asks for two.
const PRECONDITION_TIMES_LIMIT: u8 = 10;
/// The longest name of a stage or a load.
const NAME_CHARS_LIMIT: usize = 64;
/// The most events in one stage.
const EVENTS_LIMIT: usize = 1_000;
/// The most loads at once: a few hundred targets, each with a few loads.
const LOADS_LIMIT: usize = 1_024;
/// The most targets in a stripe, and the highest number of a target.
const TARGETS_LIMIT: u32 = 1_024;
/// The most options of `mkfs` or of a mount.
const OPTIONS_LIMIT: usize = 64;

/// Array settings that say which volume a load is for and from which host it comes, so that they may differ between
/// loads at once. The others are those of the array as a whole.
const ADDRESS_SETTINGS: [&str; 2] = ["volume", "host"];

impl Checker<'_> {
    pub(super) fn stages(
        &self,
        document: &PlanDocument,
        defaults: &[Assignment],
        directory: Option<&Path>,
    ) -> Result<Vec<Stage>, PlanError> {
        if document.stages.value.0.is_empty() {
            return Err(self.error(
                Kind::MissingKey,
                document.stages.place,
                "a plan needs at least one stage",
            ));
        }
        let stripe = document.stripe.as_ref().map(|stripe| self.stripe(stripe)).transpose()?;
        let mut stages: Vec<Stage> = Vec::new();
        for (name, stage) in &document.stages.value.0 {
            let checked = self.stage(name, stage, defaults, directory, (stripe, &document.hosts), &stages)?;
            self.rests_on_no_optional(&checked, &stages)?;
            stages.push(checked);
        }
        Ok(stages)
    }

    fn stage(
        &self,
        name: &Located<String>,
        document: &StageDocument,
        defaults: &[Assignment],
        directory: Option<&Path>,
        (plan_stripe, hosts): (Option<Stripe>, &[HostDocument]),
        earlier: &[Stage],
    ) -> Result<Stage, PlanError> {
        self.known_form("a stage", name)?;
        let mut settings = defaults.to_vec();
        let own = self.assignments(&document.settings)?;
        let axes = self.axes(&document.matrix)?;
        let loads = self.loads(document, hosts)?;
        let replay = match &document.replay {
            Some(replay) if !loads.is_empty() || document.find.is_some() => {
                let message = "a stage has one of `replay`, `loads` and `find`";
                return Err(self.error(Kind::Contradiction, replay.place, message));
            }
            Some(replay) => {
                let (replay, given) = self.replay(&name.value, replay, directory, &own, &axes)?;
                overlay(&mut settings, &given);
                replay
            }
            None => None,
        };
        overlay(&mut settings, &own);
        let stripe = match &document.stripe {
            Some(stripe) if !loads.is_empty() => {
                let message =
                    "a stage has either `loads`, each with its target, or a `stripe` over all targets";
                return Err(self.error(Kind::Contradiction, stripe.columns.place, message));
            }
            Some(stripe) => Some(self.stripe(stripe)?),
            None if loads.is_empty() => plan_stripe,
            None => None,
        };
        let continues = self.continues(&document.continues, earlier)?;
        let repeats = match &document.repeats {
            None => None,
            Some(repeats) => Some(self.rounds(repeats, &axes, continues)?),
        };
        let stage = Stage {
            name: name.value.clone(),
            title: document.title.clone(),
            notes: document.notes.clone(),
            repeats,
            continues,
            loads,
            hosts: self.host_choice(document.hosts.as_ref(), hosts)?.unwrap_or_default(),
            stripe,
            filesystem: match &document.filesystem {
                Some(filesystem) => self.filesystem(filesystem)?,
                None => FilesystemOptions::default(),
            },
            find: document.find.as_ref().map(|find| self.find(&find.value)).transpose()?,
            load_of: document
                .load_of
                .as_ref()
                .map(|wanted| self.load_of(wanted, document, &axes, earlier))
                .transpose()?,
            replay,
            pause: self.pause(document.pause.as_ref(), earlier)?,
            precondition: document
                .precondition
                .as_ref()
                .map(|wanted| self.precondition(wanted))
                .transpose()?,
            events: self.events(document)?,
            optional: self.optional(document)?,
            name_place: name.place,
            settings,
            include: self.include(&document.matrix)?,
            exclude: self.exclude(&document.matrix, &axes)?,
            axes,
        };
        if let Some(find) = &document.find
            && (stage.continues != Continues::No || !stage.events.is_empty())
        {
            let message = "a stage that searches has no `events` and does not `continue`: each point is a case of its own";
            return Err(self.error(Kind::Contradiction, find.place, message));
        }
        if let Some(filesystem) = &document.filesystem
            && !stage.may_have("filesystem", |value| value != "raw")
        {
            let message = "no case of this stage has a `filesystem` other than `raw`";
            return Err(self
                .error(Kind::Contradiction, filesystem.place, message)
                .with_hint("give the setting `filesystem` in the stage's settings or in its matrix"));
        }
        Ok(stage)
    }

    /// Refuses a stage that needs an earlier one which may be left out.
    fn rests_on_no_optional(&self, stage: &Stage, earlier: &[Stage]) -> Result<(), PlanError> {
        let before = earlier.last().filter(|_| stage.continues == Continues::StageBefore);
        let chosen = stage.load_of.as_ref().map(|choice| choice.stage.as_str());
        let paused = match &stage.pause {
            Pause::BytesOver { rate, .. } => Some(rate.stage.as_str()),
            Pause::Fixed { .. } => None,
        };
        let mut needed = earlier.iter().filter(|other| {
            before.is_some_and(|before| before.name == other.name)
                || [chosen, paused].into_iter().flatten().any(|name| name == other.name)
        });
        match needed.find(|other| other.optional) {
            None => Ok(()),
            Some(other) => {
                let message = format!("this stage needs `{}`, which is `optional`", other.name);
                Err(self.error(Kind::Contradiction, stage.name_place, message))
            }
        }
    }

    fn known_form(&self, what: &str, name: &Located<String>) -> Result<(), PlanError> {
        let is_name_char = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        let length = name.value.chars().count();
        if (1..=NAME_CHARS_LIMIT).contains(&length) && name.value.chars().all(is_name_char) {
            return Ok(());
        }
        let message = format!("{what}'s name has 1 to {NAME_CHARS_LIMIT} lower-case letters, digits and `-`");
        Err(self.error(Kind::OutOfRange, name.place, message))
    }

    fn loads(
        &self,
        document: &StageDocument,
        hosts: &[HostDocument],
    ) -> Result<Vec<LoadTemplate>, PlanError> {
        if let Some((excess, _)) = document.loads.0.get(LOADS_LIMIT) {
            let message = format!("a stage has at most {LOADS_LIMIT} loads");
            return Err(self.error(Kind::OverLimit, excess.place, message));
        }
        let mut loads = Vec::new();
        for (name, load) in &document.loads.0 {
            self.known_form("a load", name)?;
            loads.push(self.load(name, load, hosts)?);
        }
        Ok(loads)
    }

    fn load(
        &self,
        name: &Located<String>,
        document: &LoadDocument,
        hosts: &[HostDocument],
    ) -> Result<LoadTemplate, PlanError> {
        let settings = self.assignments(&document.settings)?;
        for (assignment, (written, _)) in settings.iter().zip(&document.settings.0) {
            let setting = assignment.setting;
            let is_of_the_load = match setting.scope {
                SettingScope::Load => !matches!(setting.name, "runtime" | "ramp_time"),
                SettingScope::Engine => true,
                SettingScope::Array => ADDRESS_SETTINGS.contains(&setting.name),
                SettingScope::Host | SettingScope::Plan => false,
            };
            if !is_of_the_load {
                let message = format!("`{}` is one for all loads of a case", setting.name);
                return Err(self
                    .error(Kind::Contradiction, written.place, message)
                    .with_hint("give it in the stage's settings; a load may begin later by `start`"));
            }
        }
        let target = match &document.target {
            None => None,
            Some(target) => Some(self.load_target(target)?),
        };
        Ok(LoadTemplate {
            name: name.value.clone(),
            target,
            hosts: self.host_choice(document.hosts.as_ref(), hosts)?,
            start: document.start.as_ref().map(|start| start.value),
            start_place: document.start.as_ref().map_or(name.place, |start| start.place),
            settings,
        })
    }

    fn load_target(&self, target: &Located<String>) -> Result<LoadTarget, PlanError> {
        let text = target.value.trim();
        match text.parse::<u32>() {
            Ok(number) if number < TARGETS_LIMIT => Ok(LoadTarget::Number(number as usize)),
            Ok(_) => {
                let message = format!("the number of a target is below {TARGETS_LIMIT}");
                Err(self.error(Kind::OutOfRange, target.place, message))
            }
            Err(_) if text.is_empty() || text.chars().any(char::is_control) => {
                Err(self.error(Kind::OutOfRange, target.place, "a target has a number or a name"))
            }
            Err(_) => Ok(LoadTarget::Name(text.to_owned())),
        }
    }

    fn stripe(&self, document: &StripeDocument) -> Result<Stripe, PlanError> {
        let columns = &document.columns;
        if !(1..=TARGETS_LIMIT).contains(&columns.value) {
            let message = format!("`columns` must be 1 to {TARGETS_LIMIT}");
            return Err(self.error(Kind::OutOfRange, columns.place, message));
        }
        let unit = &document.unit;
        let unit_bytes = match unit.value.trim() {
            "whole" => None,
            text => {
                let wrong = |message: String| self.error(Kind::OutOfRange, unit.place, message);
                let bytes =
                    units::parse_bytes(text).map_err(|error| wrong(format!("{error}, or `whole`")))?;
                if bytes == 0 || !bytes.is_multiple_of(512) {
                    return Err(wrong("`unit` must be a multiple of 512 above 0, or `whole`".into()));
                }
                Some(bytes)
            }
        };
        Ok(Stripe { unit_bytes, columns: columns.value })
    }

    fn filesystem(&self, document: &Located<FilesystemDocument>) -> Result<FilesystemOptions, PlanError> {
        let FilesystemDocument { mkfs, mount, fill } = &document.value;
        let is_option = |option: &String| {
            !option.is_empty() && option.chars().count() <= 256 && !option.chars().any(char::is_control)
        };
        if mkfs.len().max(mount.len()) > OPTIONS_LIMIT || !mkfs.iter().chain(mount).all(is_option) {
            let message = format!(
                "`mkfs` and `mount` take at most {OPTIONS_LIMIT} words of 1 to 256 characters without control characters"
            );
            return Err(self.error(Kind::OutOfRange, document.place, message));
        }
        if let Some(option) = mount.iter().find(|option| option.contains(',')) {
            let message = format!("the mount option `{option}` holds a comma");
            return Err(self
                .error(Kind::OutOfRange, document.place, message)
                .with_hint("give each option by itself: [noatime, nodiratime]"));
        }
        let fill_percent = match fill {
            Some(fill) if !(1..=95).contains(&fill.value) => {
                let message = "`fill` must be 1 to 95 percent; a file system needs room of its own";
                return Err(self.error(Kind::OutOfRange, fill.place, message));
            }
            fill => fill.as_ref().map_or(FilesystemOptions::FILL_PERCENT_DEFAULT, |fill| fill.value),
        };
        Ok(FilesystemOptions { mkfs: mkfs.clone(), mount: mount.clone(), fill_percent })
    }

    fn pause(&self, document: Option<&PauseDocument>, earlier: &[Stage]) -> Result<Pause, PlanError> {
        match document {
            None => Ok(Pause::Fixed { time_ns: 0 }),
            Some(PauseDocument::Fixed(text)) => match units::parse_nanos(&text.value) {
                Ok(time_ns) => Ok(Pause::Fixed { time_ns }),
                Err(error) => Err(self.error(Kind::WrongType, text.place, error.to_string())),
            },
            Some(PauseDocument::Over(PauseOverDocument { bytes_over: rate, otherwise })) => {
                self.earlier_stage(&rate.stage, earlier)?;
                if !rate.quantity.value.is_bandwidth() {
                    let message = format!("`{}` is no bandwidth", rate.quantity.value.name());
                    return Err(self.error(Kind::Contradiction, rate.quantity.place, message).with_hint(
                        "what was written is divided by bytes a second: sustained.bw_bytes_per_s",
                    ));
                }
                let reference = RateReference {
                    stage: rate.stage.value.clone(),
                    quantity: rate.quantity.value,
                    match_settings: self.setting_names(&rate.match_settings.value)?,
                    cases: self.condition(&rate.cases)?,
                    place: rate.match_settings.place,
                };
                Ok(Pause::BytesOver { rate: reference, otherwise_ns: otherwise.0 })
            }
        }
    }

    fn load_of(
        &self,
        wanted: &LoadOfDocument,
        document: &StageDocument,
        axes: &[MatrixAxis],
        earlier: &[Stage],
    ) -> Result<LoadChoice, PlanError> {
        let place = wanted.stage.place;
        let wrong = |message: &str| Err(self.error(Kind::Contradiction, place, message));
        if !document.loads.0.is_empty() || document.find.is_some() || document.replay.is_some() {
            return wrong("a stage has one of `load_of`, `replay`, `loads` and `find`");
        }
        if axes.iter().any(|axis| ["numjobs", "iodepth"].contains(&axis.setting.name)) {
            return wrong("`load_of` gives `numjobs` and `iodepth`, so they cannot vary in the matrix");
        }
        self.earlier_stage(&wanted.stage, earlier)?;
        let pick = self.pick(&wanted.pick, place)?;
        let mut quantities = pick.at_most.iter().map(|(bounded, _)| *bounded).chain([pick.quantity]);
        if let Some(unknown) = quantities.find(|quantity| !quantity.is_of_samples()) {
            return wrong(&format!("`{}` is known only when the run is over", unknown.name()));
        }
        let half_way_to = self.condition(&wanted.half_way_to)?;
        Ok(LoadChoice {
            stage: wanted.stage.value.clone(),
            pick,
            half_way_to: (!half_way_to.0.is_empty()).then_some(half_way_to),
            cases: self.condition(&wanted.cases)?,
        })
    }

    fn earlier_stage(&self, name: &Located<String>, earlier: &[Stage]) -> Result<(), PlanError> {
        let names: Vec<&str> = earlier.iter().map(|stage| stage.name.as_str()).collect();
        if names.contains(&name.value.as_str()) {
            return Ok(());
        }
        let message = format!("no stage before this one is `{}`", name.value);
        Err(self
            .error(Kind::Contradiction, name.place, message)
            .maybe_hint(array::did_you_mean(&name.value, names)))
    }

    /// Only events make a stage impossible on a target.
    fn optional(&self, document: &StageDocument) -> Result<bool, PlanError> {
        match &document.optional {
            Some(optional) if optional.value && document.events.is_empty() => {
                let message =
                    "`optional` is for stages with `events`: a stage without them is never left out";
                Err(self.error(Kind::Contradiction, optional.place, message))
            }
            optional => Ok(optional.as_ref().is_some_and(|optional| optional.value)),
        }
    }

    fn events(&self, document: &StageDocument) -> Result<Vec<EventTemplate>, PlanError> {
        if let Some(excess) = document.events.get(EVENTS_LIMIT) {
            let message = format!("a stage has at most {EVENTS_LIMIT} events");
            return Err(self.error(Kind::OverLimit, excess.place, message));
        }
        document.events.iter().map(|event| self.event(event)).collect()
    }

    fn event(&self, event: &Located<EventDocument>) -> Result<EventTemplate, PlanError> {
        let EventDocument { at, when, latest, action, with } = &event.value;
        let is_action_char = |c: char| KNOWN_NAME.contains(c) || c.is_ascii_alphanumeric();
        if action.is_empty() || action.len() > NAME_CHARS_LIMIT || !action.chars().all(is_action_char) {
            let message = "an action is a name of letters, digits and `._-`";
            return Err(self.error(Kind::OutOfRange, event.place, message));
        }
        let trigger = match (at, when) {
            (Some(_), None) if latest.is_some() => {
                let message = "`latest` belongs to `when`; an event with `at` has its moment";
                return Err(self.error(Kind::Contradiction, event.place, message));
            }
            (Some(moment), None) => Trigger::At(*moment),
            (None, Some(condition)) => Trigger::When {
                condition: self.event_condition(condition)?,
                latest: latest.as_ref().map(|latest| latest.value),
            },
            (Some(_), Some(_)) | (None, None) => {
                let message = "an event has either `at`, a moment, or `when`, a condition";
                return Err(self.error(Kind::MissingKey, event.place, message));
            }
        };
        Ok(EventTemplate { trigger, action: action.clone(), arguments: with.clone() })
    }

    fn array_setting_names(&self, names: &[Located<String>]) -> Result<Vec<&'static str>, PlanError> {
        for name in names {
            let setting = self.setting(name)?;
            if setting.scope != SettingScope::Array {
                let message = format!("`{}` is no setting of the array", setting.name);
                return Err(self.error(Kind::Contradiction, name.place, message));
            }
        }
        self.setting_names(names)
    }

    fn precondition(&self, document: &PreconditionDocument) -> Result<Preconditioning, PlanError> {
        let PreconditionDocument { purge, times, .. } = document;
        let is_purged = purge.as_ref().is_some_and(|purge| purge.value);
        if let Some(times) =
            times.as_ref().filter(|times| !(1..=PRECONDITION_TIMES_LIMIT).contains(&times.value))
        {
            let message = format!("`times` must be 1 to {PRECONDITION_TIMES_LIMIT}");
            return Err(self.error(Kind::OutOfRange, times.place, message));
        }
        if times.is_none() && !is_purged {
            let message = "`precondition` needs `times`, `purge: true`, or both".to_owned();
            let error = PlanError::new(Kind::MissingKey, message);
            return Err(match document.settings.0.first() {
                Some((name, _)) => error.at(self.source.excerpt(name.place)),
                None => error,
            });
        }
        let mut preconditioning = Preconditioning {
            purge: is_purged,
            pattern: load::Pattern::Write,
            bs_bytes: 0,
            numjobs: 1,
            iodepth: 1,
            times: times.as_ref().map_or(0, |times| u32::from(times.value)),
            after_change_of: None,
        };
        if let Some(names) = &document.after_change_of {
            preconditioning.after_change_of = Some(self.array_setting_names(names)?);
        }
        for (assignment, (name, _)) in self.assignments(&document.settings)?.iter().zip(&document.settings.0)
        {
            // Every value below has passed its setting's range, which fits the narrower type.
            let number =
                assignment.value.as_u64().and_then(|number| u32::try_from(number).ok()).unwrap_or_default();
            match assignment.setting.name {
                "rw" if assignment.value == "write" => preconditioning.pattern = load::Pattern::Write,
                "rw" if assignment.value == "randwrite" => preconditioning.pattern = load::Pattern::Randwrite,
                "rw" => {
                    let message = "preconditioning is `rw: write` or `rw: randwrite`";
                    return Err(self.error(Kind::Contradiction, assignment.place, message));
                }
                "bs" => preconditioning.bs_bytes = number,
                "numjobs" => preconditioning.numjobs = number,
                "iodepth" => preconditioning.iodepth = number,
                other => {
                    let message = format!("`{other}` is no setting of preconditioning");
                    return Err(self
                        .error(Kind::UnknownSetting, name.place, message)
                        .with_hint("it takes rw, bs, numjobs and iodepth"));
                }
            }
        }
        if let (0, Some(times)) = (preconditioning.bs_bytes, times) {
            return Err(self.error(Kind::MissingKey, times.place, "preconditioning needs the setting `bs`"));
        }
        Ok(preconditioning)
    }
}

impl Stage {
    /// True where some case may have a value of a setting that passes.
    fn may_have(&self, name: &str, passes: impl Fn(&serde_json::Value) -> bool) -> bool {
        let points = || self.axes.iter().flat_map(|axis| axis.points.iter().map(move |point| (axis, point)));
        let on_axes = points().any(|(axis, point)| axis.setting.name == name && passes(&point.value));
        let brought = points().flat_map(|(_, point)| &point.brings);
        let included = self.include.iter().flat_map(|entry| &entry.assignments);
        let given = self.settings.iter().chain(brought).chain(included);
        on_axes || given.into_iter().any(|own| own.setting.name == name && passes(&own.value))
    }
}

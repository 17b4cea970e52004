//! Checks of `replay:`.

use super::Checker;
use crate::document::ReplayDocument;
use crate::matrix::{Assignment, MatrixAxis};
use crate::setting::setting_or_error;
use crate::source::Place;
use crate::yaml::Located;
use crate::{PlanError, PlanErrorKind as Kind};
use diagnostic::Diagnostic as _;
use load::{Direction, REPLAY_SCALE_LIMIT_PERCENT, Replay, ReplayBeyond, ReplayTiming, Trace, TraceError};
use serde_json::Value;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::sync::Arc;

/// Settings that the trace gives, and that a plan may not give again.
const OF_THE_TRACE: [&str; 3] = ["rw", "bs", "rwmixread"];
/// Places in the queue of a replay at recorded moments, where the plan names none: enough that arrivals rarely wait.
const RECORDED_IODEPTH: u64 = 256;

impl Checker<'_> {
    /// The replay, and the settings that every case has by it. Where cases of this stage were kept, they have the settings,
    /// and the trace is not read.
    pub(super) fn replay(
        &self,
        stage: &str,
        document: &Located<ReplayDocument>,
        directory: Option<&Path>,
        own: &[Assignment],
        axes: &[MatrixAxis],
    ) -> Result<(Option<Replay>, Vec<Assignment>), PlanError> {
        let ReplayDocument { trace, unit, timing, beyond } = &document.value;
        let given = own.iter().map(|one| (one.setting.name, one.place));
        let varied =
            axes.iter().flat_map(|axis| axis.points.iter().map(|point| (axis.setting.name, point.place)));
        if let Some((name, place)) = given.chain(varied).find(|(name, _)| OF_THE_TRACE.contains(name)) {
            let message = format!("`{name}` is what the trace of `replay` says");
            return Err(self
                .error(Kind::Contradiction, place, message)
                .with_hint("leave it out of this stage"));
        }
        let timing = match timing.as_ref().map(|timing| (timing.value.trim(), timing.place)) {
            None | Some(("recorded", _)) => ReplayTiming::Recorded { scale_percent: 100 },
            Some(("as-fast-as-possible", _)) => ReplayTiming::AsFastAsPossible,
            Some((text, place)) => {
                match text.strip_suffix('%').and_then(|percent| percent.trim().parse().ok()) {
                    Some(scale_percent @ 1..=REPLAY_SCALE_LIMIT_PERCENT) => {
                        ReplayTiming::Recorded { scale_percent }
                    }
                    _ => {
                        let message = format!(
                            "`timing` is `recorded`, `as-fast-as-possible`, or 1% to {REPLAY_SCALE_LIMIT_PERCENT}% of the recorded time"
                        );
                        return Err(self.error(Kind::OutOfRange, place, message));
                    }
                }
            }
        };
        let beyond = match beyond.as_ref().map(|beyond| (beyond.value.as_str(), beyond.place)) {
            None | Some(("refuse", _)) => ReplayBeyond::Refuse,
            Some(("wrap", _)) => ReplayBeyond::Wrap,
            Some((_, place)) => {
                return Err(self.error(Kind::OutOfRange, place, "`beyond` is `refuse` or `wrap`"));
            }
        };
        if let Some(kept) = self.kept.and_then(|kept| kept.get(stage)) {
            let of_the_trace = OF_THE_TRACE
                .iter()
                .filter_map(|name| kept.get(*name).map(|value| (*name, value.clone())))
                .collect();
            return Ok((None, assignments(of_the_trace, timing, document.place)?));
        }
        let path =
            directory.map_or_else(|| trace.value.clone().into(), |directory| directory.join(&trace.value));
        let failed = |error: TraceError| {
            let hint = error.hint().map(Cow::into_owned);
            let refused = self.error(Kind::Unreadable, trace.place, error.to_string()).maybe_hint(hint);
            refused.caused_by(error)
        };
        let file = File::open(&path)
            .map_err(|source| failed(TraceError::Io { source_name: path.display().to_string(), source }))?;
        let unit = unit.as_ref().map(|unit| unit.value.as_str());
        let read =
            Trace::read(&path.display().to_string(), &mut BufReader::new(file), unit).map_err(failed)?;
        let settings = assignments(settings_of(&read), timing, document.place)?;
        Ok((Some(Replay { trace: Arc::new(read), timing, beyond }), settings))
    }
}

/// Returns the settings that describe a trace: its directions, its commonest size, its share of reads.
fn settings_of(trace: &Trace) -> Vec<(&'static str, Value)> {
    let mut sizes: BTreeMap<u32, u64> = BTreeMap::new();
    let (mut reads, mut writes) = (0u64, 0u64);
    for record in trace.records() {
        match record.direction {
            Direction::Read => reads += 1,
            // A trim changes the data as a write does, and a plan that is read-only has neither.
            Direction::Write | Direction::Trim => writes += 1,
        }
        if record.direction != Direction::Trim {
            *sizes.entry(record.length_bytes).or_default() += 1;
        }
    }
    let (rw, share) = match (reads, writes) {
        (0, _) => ("randwrite", 0),
        (_, 0) => ("randread", 100),
        // Rounded to whole percents, but never to a pure load.
        _ => ("randrw", (reads * 100 / (reads + writes)).clamp(1, 99)),
    };
    let commonest = sizes.iter().max_by_key(|(_, count)| **count).map_or(512, |(size, _)| *size);
    vec![("rw", rw.into()), ("rwmixread", share.into()), ("bs", commonest.into())]
}

/// The settings of a stage that replays: what the trace says, and the depth that its timing wants.
fn assignments(
    mut settings: Vec<(&str, Value)>,
    timing: ReplayTiming,
    place: Place,
) -> Result<Vec<Assignment>, PlanError> {
    if timing != ReplayTiming::AsFastAsPossible {
        settings.push(("iodepth", RECORDED_IODEPTH.into()));
    }
    settings
        .into_iter()
        .map(|(name, value)| Ok(Assignment { setting: setting_or_error(name)?, value, place }))
        .collect()
}

//! Simulation of a time line, told interval by interval.

use super::{NAME, TimeLine};
use crate::SizingError;
use findings::{Findings, Moment, Observation, ObservedCase};
use load::Sample;
use serde::Serialize;
use store::{CaseOutcome, CaseResult, CaseStatus, LoadOutcome, NewCase};
use units::NANOS_PER_SECOND;

/// Interval of a time line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimeLinePoint {
    /// Beginning, in seconds since the start of the load.
    pub start_s: f64,
    /// End.
    pub end_s: f64,
    /// I/Os a second.
    pub iops: f64,
    /// Bytes a second.
    pub bw_bytes_per_s: f64,
    /// Mean latency of reads and writes, in nanoseconds; `None` where nothing completed.
    pub mean_ns: Option<f64>,
    /// Share of a rebuild that is done at its end; `None` where none runs.
    pub rebuilt_share: Option<f64>,
    /// Events in it, in order of time.
    pub events: Vec<TimeLineEvent>,
}

/// Event of a time line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TimeLineEvent {
    /// Moment, in seconds since the start of the load.
    pub at_s: f64,
    /// Description.
    pub text: String,
}

/// Rebuild within a time line: its ends are those of the events in their intervals, or of the intervals where none is told.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RebuildSpan {
    /// Beginning, in seconds since the start of the load.
    pub begins_s: f64,
    /// End; `None` where it goes on.
    pub ends_s: Option<f64>,
    /// Share that is done at the end of the time line.
    pub share: f64,
    /// Time of the whole rebuild at the pace of what was seen of it, in seconds; `None` where nothing was done yet.
    pub whole_s: Option<f64>,
}

/// End of a time line: its findings and its rebuild.
#[derive(Debug, Clone)]
pub struct TimeLineEnd {
    /// False where whoever listened did not wait for the end.
    pub is_whole: bool,
    /// Findings of the case.
    pub findings: Findings,
    /// Its rebuild, where there was one.
    pub rebuild: Option<RebuildSpan>,
}

impl TimeLine {
    /// Simulates it; `on_point` hears each interval at its end and says whether to go on.
    pub fn simulate(
        &self,
        on_point: &mut dyn FnMut(&TimeLinePoint) -> bool,
    ) -> Result<TimeLineEnd, SizingError> {
        let (mut samples, mut moments) = (Vec::new(), Vec::new());
        let mut rebuild = None;
        let mut is_whole = true;
        let configuration = &self.configuration;
        // By `exact` nothing of it is skipped.
        campaign::simulate_case(
            &configuration.description,
            &configuration.settings,
            &self.case,
            None,
            &mut |_| {},
            &mut |twin, _, sample| {
                let notes = twin.take_notes().into_iter();
                let events: Vec<TimeLineEvent> = notes
                    .map(|note| TimeLineEvent { at_s: note.at_ns as f64 / 1e9, text: note.says })
                    .collect();
                moments.extend(events.iter().map(|one| Moment { at_s: one.at_s, text: one.text.clone() }));
                let point = point(&sample, twin.rebuilt_share(), events);
                RebuildSpan::follow(&mut rebuild, &point);
                samples.push(sample);
                is_whole = on_point(&point);
                !is_whole
            },
        )?;
        let case = ObservedCase::of_samples(self.result(&samples), &samples, moments);
        let observation = Observation { plan: NAME.into(), cases: vec![case], ..Observation::default() };
        Ok(TimeLineEnd { is_whole, findings: Findings::of(observation), rebuild })
    }

    fn result(&self, samples: &[Sample]) -> CaseResult {
        let case = NewCase {
            plan: NAME.into(),
            stage: self.case.stage.clone(),
            name: self.case.name.clone(),
            settings: self.case.settings.clone(),
            ..NewCase::default()
        };
        let outcome = CaseOutcome {
            status: CaseStatus::Done,
            engine: "sim".into(),
            target: format!("twin:{}{}", self.configuration.name, self.target_settings()),
            duration_ns: samples.iter().map(Sample::duration_ns).sum(),
            loads: vec![LoadOutcome::of_samples(NAME, samples)],
            error: None,
            warnings: Vec::new(),
            extrapolation: None,
        };
        CaseResult::of_outcome(&case, &outcome)
    }
}

fn point(sample: &Sample, rebuilt_share: Option<f64>, events: Vec<TimeLineEvent>) -> TimeLinePoint {
    let (read, write) = (&sample.read, &sample.write);
    let (ios, bytes) = (read.ios + write.ios, read.bytes + write.bytes);
    let per_second = NANOS_PER_SECOND as f64 / sample.duration_ns().max(1) as f64;
    let sum_ns = read.latency.sum_ns() + write.latency.sum_ns();
    TimeLinePoint {
        start_s: sample.start_ns as f64 / 1e9,
        end_s: sample.end_ns as f64 / 1e9,
        iops: ios as f64 * per_second,
        bw_bytes_per_s: bytes as f64 * per_second,
        mean_ns: (ios > 0).then(|| sum_ns as f64 / ios as f64),
        rebuilt_share,
        events,
    }
}

impl RebuildSpan {
    /// Takes the rebuild one interval further.
    fn follow(span: &mut Option<RebuildSpan>, point: &TimeLinePoint) {
        match (span.as_mut(), point.rebuilt_share) {
            (None, Some(share)) => {
                let begins_s = point.events.first().map_or(point.start_s, |event| event.at_s);
                let ends_s = None;
                *span = Some(RebuildSpan { begins_s, ends_s, share, whole_s: None });
            }
            (Some(span), Some(share)) => {
                span.share = share;
                span.whole_s = (share > 0.0).then(|| (point.end_s - span.begins_s) / share);
            }
            (Some(span), None) if span.ends_s.is_none() => {
                let ends_s = point.events.last().map_or(point.end_s, |event| event.at_s);
                (span.ends_s, span.whole_s) = (Some(ends_s), Some(ends_s - span.begins_s));
                span.share = 1.0;
            }
            _ => {}
        }
    }
}

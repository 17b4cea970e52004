//! Page of a live run.

use super::{DIRECTIONS, LiveCase, LiveRun, RunProgress, SECOND_NS, State};
use load::{Direction, DirectionSample, Sample};
use serde_json::{Map, Value, json};
use std::collections::VecDeque;

/// A case's chart goes back so many intervals: with those of 5 s, 50 minutes.
const POINTS_LIMIT: usize = 600;
/// So much of what was said is kept.
const EVENTS_LIMIT: usize = 200;

/// One interval of a case, all loads together.
#[derive(Debug, Clone, Default)]
struct Point {
    start_ns: u64,
    end_ns: u64,
    /// I/Os and the sum of their latencies, by direction.
    moved: [(u64, u128); 2],
}

/// The intervals of a case, oldest first.
#[derive(Debug, Clone, Default)]
pub(super) struct History(VecDeque<Point>);

impl History {
    pub(super) fn add(&mut self, sample: &Sample) {
        let is_same = self.0.back().is_some_and(|point| point.end_ns == sample.end_ns);
        if !is_same {
            if self.0.len() == POINTS_LIMIT {
                self.0.pop_front();
            }
            self.0.push_back(Point { start_ns: sample.start_ns, end_ns: sample.end_ns, ..Point::default() });
        }
        let Some(point) = self.0.back_mut() else { return };
        for (moved, direction) in point.moved.iter_mut().zip([Direction::Read, Direction::Write]) {
            let one = sample.direction(direction);
            moved.0 += one.ios;
            moved.1 += one.latency.sum_ns();
        }
    }

    /// `[seconds, read IOPS, write IOPS, read latency ms, write latency ms]`; null where nothing moved.
    fn points(&self) -> Vec<Value> {
        let of = |point: &Point| {
            let seconds = point.end_ns.saturating_sub(point.start_ns).max(1) as f64 / SECOND_NS;
            let [read, write] = point.moved.map(|(ios, _)| ios as f64 / seconds);
            let [read_ms, write_ms] =
                point.moved.map(|(ios, latency_ns)| (ios > 0).then(|| latency_ns as f64 / ios as f64 / 1e6));
            json!([point.end_ns as f64 / SECOND_NS, read, write, read_ms, write_ms])
        };
        self.0.iter().map(of).collect()
    }
}

/// Line of the event list, with its time.
#[derive(Debug)]
pub(super) struct EventLine {
    at_s: f64,
    text: String,
}

impl LiveRun {
    /// Something happened that a person wants to know: a case ended, a warning, a wait.
    pub fn event(&self, text: &str) {
        let mut state = self.lock();
        // Whoever waits says so again and again.
        if state.events.back().is_some_and(|last| last.text == text) {
            return;
        }
        if state.events.len() == EVENTS_LIMIT {
            state.events.pop_front();
        }
        let at_s = state.began_at.elapsed().as_secs_f64();
        state.events.push_back(EventLine { at_s, text: text.to_owned() });
    }
}

impl State {
    pub(super) fn page(&self) -> Value {
        let RunProgress { cases_total, cases_ended, share, time_left_ns } = self.progress;
        let ended: Map<String, Value> =
            self.ended.iter().map(|(status, count)| ((*status).to_owned(), json!(count))).collect();
        let charted = self.cases.values().find(|case| !case.history.0.is_empty()).or(self.last.as_ref());
        let chart = charted
            .map(|case| json!({"stage": case.stage, "case": case.name, "points": case.history.points()}));
        let events: Vec<Value> = self
            .events
            .iter()
            .rev()
            .map(|message| json!({"at_s": message.at_s, "says": message.text}))
            .collect();
        json!({
            "kind": "run",
            "plan": self.labels.plan,
            "target": self.labels.target,
            "version": self.labels.version,
            "elapsed_s": self.began_at.elapsed().as_secs_f64(),
            "cases_total": cases_total,
            "cases_ended": cases_ended,
            "share": share,
            "time_left_s": time_left_ns.map(|left| left as f64 / SECOND_NS),
            "ended": ended,
            "cases": self.cases.values().map(case_page).collect::<Vec<_>>(),
            "chart": chart,
            "events": events,
        })
    }
}

fn case_page(case: &LiveCase) -> Value {
    let loads: Vec<Value> = case.loads.iter().map(|(name, sample)| load_page(name, sample)).collect();
    let of_host = |((host, load), sample): (&(String, String), &Sample)| {
        let mut page = load_page(load, sample);
        page["host"] = json!(host);
        page
    };
    let hosts: Vec<Value> = case.hosts.iter().map(of_host).collect();
    json!({"stage": case.stage, "case": case.name, "share": case.share, "loads": loads, "hosts": hosts})
}

fn load_page(name: &str, sample: &Sample) -> Value {
    let directions: Map<String, Value> = DIRECTIONS
        .into_iter()
        .map(|(direction, word)| (word, sample.direction(direction)))
        .filter(|(_, moved)| !moved.is_empty())
        .map(|(word, moved)| (word.to_owned(), direction_page(moved, sample.duration_ns())))
        .collect();
    json!({"load": name, "is_ramp": sample.is_ramp, "directions": directions})
}

fn direction_page(moved: &DirectionSample, duration_ns: u64) -> Value {
    let seconds = duration_ns.max(1) as f64 / SECOND_NS;
    let has_latency = moved.latency.count() > 0;
    json!({
        "iops": moved.ios as f64 / seconds,
        "bytes_per_s": moved.bytes as f64 / seconds,
        "errors": moved.errors,
        "mean_ms": has_latency.then(|| moved.latency.mean_ns() / 1e6),
        "p99_ms": moved.latency.known_percentile_ns(990_000).filter(|_| has_latency).map(|ns| ns as f64 / 1e6),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{RunLabels, Source as _};

    fn sample(second: u64, reads: u64, latency_ns: u64) -> Sample {
        let mut sample = Sample {
            start_ns: second * 1_000_000_000,
            end_ns: (second + 1) * 1_000_000_000,
            ..Sample::default()
        };
        sample.read.ios = reads;
        (0..reads).for_each(|_| sample.read.latency.record(latency_ns));
        sample
    }

    /// Proves that a case's chart has a point for each interval, all loads of it together, and no more than the limit,
    /// the newest.
    #[test]
    fn a_chart_is_of_all_loads() {
        let mut history = History::default();
        history.add(&sample(0, 100, 1_048_576));
        history.add(&sample(0, 300, 1_048_576));
        history.add(&sample(1, 0, 0));
        let points = history.points();
        assert_eq!(points.len(), 2);
        assert_eq!((&points[0][0], &points[0][1]), (&json!(1.0), &json!(400.0)));
        assert!((points[0][3].as_f64().unwrap() - 1.05).abs() < 0.01, "{}", points[0]);
        assert_eq!(points[1], json!([2.0, 0.0, 0.0, null, null]));
        (2..2000).for_each(|second| history.add(&sample(second, 1, 1)));
        let points = history.points();
        assert_eq!((points.len(), &points[POINTS_LIMIT - 1][0]), (POINTS_LIMIT, &json!(2000.0)));
    }

    /// Proves that the page says what was said last first, and forgets what is too old.
    #[test]
    fn events_are_kept_as_far_as_they_go() {
        let labels = RunLabels { plan: "p".into(), target: "t".into(), version: "1".into() };
        let run = LiveRun::new(labels);
        (0..EVENTS_LIMIT + 5).for_each(|number| run.event(&format!("event {number}")));
        let state: Value = serde_json::from_str(&run.state()).unwrap();
        let events = state["events"].as_array().unwrap();
        assert_eq!(events.len(), EVENTS_LIMIT);
        assert_eq!(events[0]["says"], format!("event {}", EVENTS_LIMIT + 4));
        assert_eq!(
            (&state["kind"], &state["chart"], &state["time_left_s"]),
            (&json!("run"), &Value::Null, &Value::Null)
        );
    }
}

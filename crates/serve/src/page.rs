//! Page of a served array and its controls.
//!
//! One thread looks at the array once a second, whoever watches: a page costs the array nothing.

use crate::array_view::{ArrayView, DirectionView};
use crate::chains::chains_of;
use crate::controlled::Controlled;
use crate::ctl::{asked_for, verb_of};
use crate::verbs::{Scope, VERBS, VerbSpec};
use diagnostic::Problem;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Period at which the array is looked at.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// After a command it is looked at so soon: whoever pressed the button waits for it.
const LOOK_AFTER_COMMAND: Duration = Duration::from_millis(150);
/// The charts go back so many looks.
const POINTS_LIMIT: usize = 600;
/// The page shows what happened in so many notes, newest first.
const NOTES_LIMIT: usize = 20;

/// The page of one array.
pub(crate) struct Page {
    controlled: Arc<Controlled>,
    seen: Mutex<Seen>,
    wake: Condvar,
}

struct Seen {
    began_at: Instant,
    last: Option<(Instant, Value)>,
    array_view: ArrayView,
    points: VecDeque<Point>,
    has_command: bool,
}

/// One look, all volumes together.
struct Point {
    at_s: f64,
    read: DirectionView,
    write: DirectionView,
}

/// Command that a button sends.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Command {
    /// As typed after `ctl SOCKET`.
    words: Vec<String>,
}

impl Page {
    pub(crate) fn new(controlled: Arc<Controlled>) -> Page {
        let seen = Seen {
            began_at: Instant::now(),
            last: None,
            array_view: ArrayView::default(),
            points: VecDeque::new(),
            has_command: false,
        };
        Page { controlled, seen: Mutex::new(seen), wake: Condvar::new() }
    }

    /// Looks at the array until it is told to stop.
    pub(crate) fn look_on(&self, is_stopping: &AtomicBool) {
        while !is_stopping.load(Ordering::Acquire) {
            self.look();
            let mut seen = self.seen();
            let until = Instant::now() + LOOK_EVERY;
            while !seen.has_command && !is_stopping.load(Ordering::Acquire) {
                let left = until.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    break;
                }
                // In short stretches, so that stopping is soon heard.
                let stretch = left.min(LOOK_AFTER_COMMAND);
                (seen, _) = self.wake.wait_timeout(seen, stretch).unwrap_or_else(PoisonError::into_inner);
            }
            if std::mem::take(&mut seen.has_command) {
                drop(seen);
                std::thread::sleep(LOOK_AFTER_COMMAND);
            }
        }
    }

    fn look(&self) {
        // Not under the lock: while the power is off this takes long, and the page is to say so.
        let status = self.controlled.status();
        let at = Instant::now();
        let mut seen = self.seen();
        match status {
            Err(problem) => {
                seen.array_view.condition = problem.message;
                seen.array_view.is_whole = false;
            }
            Ok(now) => {
                let (before_at, before) = seen.last.take().unwrap_or_else(|| (at, now.clone()));
                seen.array_view =
                    ArrayView::between(&before, &now, at.duration_since(before_at).as_secs_f64());
                seen.last = Some((at, now));
                let point = seen.point(at);
                if seen.points.len() == POINTS_LIMIT {
                    seen.points.pop_front();
                }
                seen.points.push_back(point);
            }
        }
    }

    /// For the browser.
    pub(crate) fn state(&self) -> String {
        let seen = self.seen();
        let array_view = &seen.array_view;
        let mut state = json!(array_view);
        let points: Vec<Value> = seen.points.iter().map(Point::in_json).collect();
        let notes: Vec<_> = array_view.notes.iter().rev().take(NOTES_LIMIT).collect();
        let more = json!({
            "kind": "array",
            "elapsed_s": seen.began_at.elapsed().as_secs_f64(),
            "points": points,
            "notes": notes,
            "verbs": VERBS.iter().filter(|verb| is_button(verb)).collect::<Vec<_>>(),
            "choices": self.choices(array_view),
            "settings": seen.last.as_ref().map(|(_, status)| &status["model"]["settings"]),
        });
        if let (Some(state), Value::Object(more)) = (state.as_object_mut(), more) {
            state.extend(more);
        }
        state.to_string()
    }

    /// Carries out what somebody with the token sent.
    pub(crate) fn command(&self, body: &[u8]) -> Result<Value, Problem> {
        let Command { words } = serde_json::from_slice(body)
            .map_err(|error| Problem::new("this is no command").caused_by(error))?;
        let verb = verb_of(&words).map_err(|error| Problem::from(error.to_string()))?;
        let answer = self.controlled.answer(&verb).map_err(|refused| refused.message)?;
        self.seen().has_command = true;
        self.wake.notify_all();
        Ok(asked_for(&words, answer))
    }

    /// Returns what arguments are chosen from: what is sent, and what is shown.
    fn choices(&self, array_view: &ArrayView) -> Value {
        let drives = array_view.drives.iter().filter_map(|drive| {
            let number = drive.number?;
            let part = drive.part.as_deref().filter(|part| part.contains('/')).unwrap_or("");
            Some(json!([number.to_string(), format!("{number} {part} ({})", drive.state).replace("  ", " ")]))
        });
        let same = |name: &str| json!([name, name]);
        let controllers = array_view.parts.iter().filter(|part| part.kind == "controller");
        let controllers = controllers.enumerate().map(|(index, part)| json!([index.to_string(), part.name]));
        let chains = chains_of(&self.controlled.live.array);
        // Others are not on the way of I/O to drives, and cannot be stopped.
        let services = array_view.parts.iter().filter(|part| {
            part.node.as_deref().is_some_and(|node| node.starts_with("node"))
                && chains.is_some_and(|array| twin::service_drives(array, &part.name).is_ok())
        });
        let services = services.map(|part| {
            json!([
                part.name,
                format!("{}{}", part.name, part.state.map_or(String::new(), |state| format!(" ({state})")))
            ])
        });
        let twin = self.controlled.live.array.twin.as_ref();
        let settings = twin.map_or_else(Vec::new, |twin| twin::Twin::settings(&twin.description));
        let settings = settings.iter().map(|setting| json!([setting.name, setting.takes]));
        let pools = chains.map_or(&[][..], |array| &array.pools);
        json!({
            "drive": drives.collect::<Vec<_>>(),
            "volume": array_view.volumes.iter().map(|volume| same(&volume.name)).collect::<Vec<_>>(),
            "controller": controllers.collect::<Vec<_>>(),
            "service": services.collect::<Vec<_>>(),
            "setting": settings.collect::<Vec<_>>(),
            "template": pools.iter().map(|pool| same(&pool.keys.name.text)).collect::<Vec<_>>(),
        })
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Questions are answered by the page itself.
fn is_button(verb: &VerbSpec) -> bool {
    verb.scope != Scope::Question
}

impl Seen {
    fn point(&self, at: Instant) -> Point {
        let sum = |of: fn(&crate::array_view::VolumeView) -> DirectionView| {
            let all = self.array_view.volumes.iter().map(of);
            let (mut sum, mut waited_ms) = (DirectionView::default(), 0.0);
            for one in all {
                sum.iops += one.iops;
                sum.bytes_per_s += one.bytes_per_s;
                waited_ms += one.iops * one.latency_ms.unwrap_or(0.0);
            }
            sum.latency_ms = (sum.iops > 0.0).then(|| waited_ms / sum.iops);
            sum
        };
        Point {
            at_s: at.duration_since(self.began_at).as_secs_f64(),
            read: sum(|volume| volume.read),
            write: sum(|volume| volume.write),
        }
    }
}

impl Point {
    /// `[seconds, read IOPS, write IOPS, read latency ms, write latency ms]`, as a run's page has it.
    fn in_json(&self) -> Value {
        let short = |value: f64| (value * 1e3).round() / 1e3;
        json!([
            short(self.at_s),
            short(self.read.iops),
            short(self.write.iops),
            self.read.latency_ms.map(short),
            self.write.latency_ms.map(short),
        ])
    }
}

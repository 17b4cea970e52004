//! A served array as a person sees it: what it is, and what happened between two answers to `status`. The page draws
//! it, and `watch` writes it down.

mod entity;
mod part;

pub(crate) use entity::{Entity, entity_of};
pub(crate) use part::PartView;

use serde::Serialize;
use serde_json::Value;

/// An array over some time.
#[derive(Debug, Clone, Default, Serialize)]
pub(crate) struct ArrayView {
    pub name: String,
    pub title: String,
    /// In a few words.
    pub condition: String,
    /// Every drive holds what it should, and the power is on.
    pub is_whole: bool,
    pub connections: u64,
    /// The model's time in ours; none where the array is served untimed.
    pub speed: Option<f64>,
    /// Length of the time.
    pub seconds: f64,
    /// Drives of the layout by number, then spares.
    pub drives: Vec<DriveView>,
    pub volumes: Vec<VolumeView>,
    /// Thin pool; none where the volumes are not thin.
    pub pool: Option<PoolView>,
    /// Parts of the model.
    pub parts: Vec<PartView>,
    /// Work that goes on in the background, and how much of it is done, 0 to 1.
    pub background: Vec<(&'static str, f64)>,
    pub lateness: Option<PacingErrorView>,
    /// Notes of events: seconds on the array's clock, and words. Newest last.
    pub notes: Vec<(f64, String)>,
    /// Error that came last.
    pub last_error: Option<String>,
}

/// A drive.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct DriveView {
    /// Its number in the layout; none for a spare.
    pub number: Option<u64>,
    /// `ok`, `failed`, `pulled`, `rebuilding`, `slowed` or `spare`.
    pub state: String,
    /// The part of the model that it is.
    pub part: Option<String>,
    /// Of a replacement: how much of it is rebuilt, 0 to 1.
    pub rebuilt: Option<f64>,
}

/// A thin pool.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PoolView {
    pub size_bytes: f64,
    pub free_bytes: f64,
    /// 0 to 1.
    pub used_share: f64,
    /// Sizes of all volumes as a multiple of the pool's.
    pub overcommit: f64,
    /// `ok`, `nearly-full` or `full`.
    pub state: String,
    /// Warning with the remedy.
    pub warning: Option<String>,
}

/// A volume.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct VolumeView {
    pub name: String,
    pub size_bytes: f64,
    pub read: DirectionView,
    pub write: DirectionView,
    /// I/Os that have arrived and are not answered.
    pub queue: f64,
    /// By name; none where there is no limit.
    pub limits: Vec<(String, f64)>,
    /// I/Os that the limit holds back.
    pub held_back: f64,
}

/// Rates and latency of a volume in one direction.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub(crate) struct DirectionView {
    pub iops: f64,
    pub bytes_per_s: f64,
    /// Mean; none without I/Os.
    pub latency_ms: Option<f64>,
}

/// Pacing error since the start.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct PacingErrorView {
    pub p50_us: f64,
    pub p99_us: f64,
    pub max_us: f64,
    pub replies: u64,
    pub bytes_late: u64,
}

impl ArrayView {
    /// Of the time between two statuses, so many seconds apart. An answer that is not as expected is shown as far as
    /// it goes.
    pub(crate) fn between(before: &Value, now: &Value, seconds: f64) -> ArrayView {
        let seconds = seconds.max(1e-3);
        let model = &now["model"];
        let span_ns = number(&model["clock_ns"]) - number(&before["model"]["clock_ns"]);
        let parts = part::parts(&before["model"], model, span_ns);
        let drives = drives(now, &parts);
        let lost = drives.iter().filter(|drive| !matches!(drive.state.as_str(), "ok" | "slowed" | "spare"));
        let lost: Vec<String> =
            lost.map(|drive| format!("drive {} {}", drive.number.unwrap_or(0), drive.state)).collect();
        let in_layout = drives.iter().filter(|drive| drive.number.is_some()).count();
        let bytes = if lost.is_empty() { format!("{in_layout} drives, whole") } else { lost.join(", ") };
        let unlike = parts.iter().filter_map(|part| Some(format!("; {} {}", part.name, part.state?)));
        let pool = pool(&now["pool"]);
        ArrayView {
            name: words(&now["array"]),
            title: words(&now["title"]),
            condition: bytes + &unlike.collect::<String>() + pool.as_ref().map_or("", PoolView::condition),
            is_whole: lost.is_empty(),
            connections: now["connections"].as_u64().unwrap_or(0),
            speed: model["speed"].as_f64(),
            seconds,
            volumes: list(&now["volumes"])
                .iter()
                .enumerate()
                .map(|(index, volume)| volume_view(&before["volumes"][index], volume, model, seconds))
                .collect(),
            pool,
            parts,
            background: background(now),
            lateness: lateness(model),
            notes: list(&model["notes"])
                .iter()
                .map(|note| (number(&note["at_ns"]) / 1e9, words(&note["says"])))
                .collect(),
            last_error: now["background"]["last_error"].as_str().map(str::to_owned),
            drives,
        }
    }
}

impl PoolView {
    /// Returns the addition to the condition of the array.
    fn condition(&self) -> &'static str {
        match self.state.as_str() {
            "full" => "; thin pool full",
            "nearly-full" => "; thin pool nearly full",
            _ => "",
        }
    }
}

fn pool(pool: &Value) -> Option<PoolView> {
    Some(PoolView {
        size_bytes: pool["size_bytes"].as_f64()?,
        free_bytes: number(&pool["free_bytes"]),
        used_share: number(&pool["used_share"]),
        overcommit: number(&pool["overcommit"]),
        state: words(&pool["state"]),
        warning: pool["warning"].as_str().map(str::to_owned),
    })
}

pub(crate) fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

fn words(value: &Value) -> String {
    value.as_str().unwrap_or("").to_owned()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn drives(now: &Value, parts: &[PartView]) -> Vec<DriveView> {
    let stripes = number(&now["volume"]["stripes"]).max(1.0);
    let all = list(&now["volume"]["drives"]);
    let mut drives: Vec<DriveView> = all
        .iter()
        .enumerate()
        .map(|(index, drive)| {
            let part = now["parts_of_drives"][index].as_str().map(str::to_owned);
            let condition = words(&drive["condition"]);
            let is_rebuilding = condition == "rebuilding";
            let own = part.as_ref().and_then(|part| parts.iter().find(|other| other.name == *part));
            let state = match condition.as_str() {
                "present" => own.and_then(|part| part.state).unwrap_or("ok").to_owned(),
                _ => condition,
            };
            let rebuilt = is_rebuilding.then(|| number(&drive["rebuilt_below_stripe"]) / stripes);
            DriveView { number: drive["drive"].as_u64(), state, part, rebuilt }
        })
        .collect();
    let used: u64 = all.iter().filter_map(|drive| drive["generation"].as_u64()).sum();
    let spares = now["spares"].as_u64().unwrap_or(0).saturating_sub(used);
    drives.extend((0..spares).map(|_| DriveView {
        number: None,
        state: "spare".to_owned(),
        part: None,
        rebuilt: None,
    }));
    drives
}

fn volume_view(before: &Value, volume: &Value, model: &Value, seconds: f64) -> VolumeView {
    let moved = |direction: &str| {
        let since = |field: &str| {
            (number(&volume["served"][direction][field]) - number(&before["served"][direction][field]))
                .max(0.0)
        };
        let ios = since("ios");
        DirectionView {
            iops: ios / seconds,
            bytes_per_s: since("bytes") / seconds,
            latency_ms: (ios > 0.0).then(|| since("latency_ns") / ios / 1e6),
        }
    };
    let limit = list(&model["limits"]).iter().find(|limit| limit["volume"] == volume["name"]);
    let limits = limit.and_then(|limit| limit["limit"].as_object()).into_iter().flatten();
    VolumeView {
        name: words(&volume["name"]),
        size_bytes: number(&volume["size_bytes"]),
        read: moved("read"),
        write: moved("write"),
        queue: number(&volume["served"]["under_way"]),
        limits: limits.filter_map(|(name, value)| Some((name.clone(), value.as_f64()?))).collect(),
        held_back: limit.map_or(0.0, |limit| number(&limit["held_back"])),
    }
}

fn background(now: &Value) -> Vec<(&'static str, f64)> {
    let background = &now["background"];
    let share = |done: &Value, all: f64| (number(done) / all.max(1.0)).clamp(0.0, 1.0);
    let mut under_way = Vec::new();
    let rebuild = &background["rebuild"];
    if rebuild["is_complete"] == false {
        under_way.push(("rebuild", share(&rebuild["done_stripes"], number(&rebuild["stripes"]))));
    }
    let rehoming = &background["rehoming"];
    let waiting = number(&rehoming["waiting_pieces"]);
    if waiting > 0.0 {
        let moved = &rehoming["moved_pieces"];
        under_way.push(("rehoming", share(moved, number(moved) + waiting)));
    }
    let scrub = &background["scrub"];
    if scrub["is_running"] == true {
        under_way.push(("scrub", share(&scrub["done_stripes"], number(&now["volume"]["stripes"]))));
    }
    under_way
}

fn lateness(model: &Value) -> Option<PacingErrorView> {
    let late = model["lateness"].as_object()?;
    let us = |name: &str| late.get(name).map_or(0.0, number) / 1e3;
    let count = |name: &str| late.get(name).and_then(Value::as_u64).unwrap_or(0);
    Some(PacingErrorView {
        p50_us: us("p50_ns"),
        p99_us: us("p99_ns"),
        max_us: us("max_ns"),
        replies: count("replies"),
        bytes_late: count("bytes_late"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(done: u64) -> Value {
        json!({
            "array": "a", "title": "An array", "connections": 1, "spares": 3,
            "volume": {"stripes": 100, "drives": [
                {"drive": 0, "condition": "present", "generation": 0, "rebuilt_below_stripe": 0},
                {"drive": 1, "condition": "rebuilding", "generation": 1, "rebuilt_below_stripe": 25},
                {"drive": 2, "condition": "failed", "generation": 0, "rebuilt_below_stripe": 0},
                {"drive": 3, "condition": "present", "generation": 0, "rebuilt_below_stripe": 0},
            ]},
            "parts_of_drives": ["drive-0", "drive-1", "drive-2", "drive-3"],
            "background": {
                "rebuild": {"is_complete": false, "done_stripes": 25, "stripes": 100},
                "scrub": {"is_running": true, "done_stripes": 50},
                "rehoming": {"moved_pieces": 1, "waiting_pieces": 3},
                "last_error": "something",
            },
            "volumes": [{"name": "vol0", "size_bytes": 8, "served": {
                "read": {"ios": done, "bytes": done * 8, "latency_ns": done * 1_000_000}, "under_way": 2,
            }}],
            "model": {
                "speed": 2.0, "clock_ns": done * 1_000_000_000,
                "limits": [{"volume": "vol0", "limit": {"iops": 5.0, "bw_bytes_per_s": null}, "held_back": 1}],
                "lateness": {"p50_ns": 1000, "p99_ns": 2000, "max_ns": 3000, "replies": 9, "bytes_late": 1},
                "bounds": {"controller": {"processors": 2, "dirty_bytes": 100}, "server": {"processors": 4}},
                "parts": {
                    "drive-0": {"reads": done * 10, "seek_ns": done * 300_000_000, "rotation_ns": done * 400_000_000,
                                "read_latency_ns": done * 900_000_000},
                    "controller-0": {"processors_busy_ns": done * 1_000_000_000, "mirror_busy_ns": 0, "fill_dirty_bytes": 40},
                    "node-0/server-1": {"busy_ns": done * 1_000_000_000, "fill_stopped": 1},
                    "drive-3": {"fill_slowness_thousandths": 4000},
                    "volume-vol0": {"reads": 1},
                },
                "notes": [{"at_ns": 1_500_000_000u64, "says": "drive-2 fails"}],
            },
        })
    }

    /// Proves that a scene has each drive's state, spares that are left, what goes on, shares by the number of
    /// processors, a disk's time as a whole, and levels with their limits, all for the time between.
    #[test]
    fn a_view_is_of_the_time_between() {
        let array_view = ArrayView::between(&status(1), &status(3), 2.0);
        let states: Vec<&str> = array_view.drives.iter().map(|drive| drive.state.as_str()).collect();
        assert_eq!(states, ["ok", "rebuilding", "failed", "slowed", "spare", "spare"]);
        assert_eq!((array_view.drives[1].rebuilt, array_view.is_whole), (Some(0.25), false));
        let condition = "drive 1 rebuilding, drive 2 failed; node-0/server-1 stopped; drive-3 slowed";
        assert_eq!(array_view.condition, condition);
        assert_eq!(array_view.background, [("rebuild", 0.25), ("rehoming", 0.25), ("scrub", 0.5)]);
        let volume = &array_view.volumes[0];
        assert_eq!(
            (volume.read.iops, volume.read.latency_ms, volume.write.latency_ms),
            (1.0, Some(1.0), None)
        );
        assert_eq!((volume.limits.as_slice(), volume.held_back), (&[("iops".to_owned(), 5.0)][..], 1.0));
        let busy: Vec<_> = array_view.parts.iter().map(|part| (part.name.as_str(), part.busy)).collect();
        let expected = [
            ("drive-0", Some(0.7)),
            ("controller-0", Some(0.5)),
            ("node-0/server-1", Some(0.25)),
            ("drive-3", None),
        ];
        assert_eq!(busy, expected);
        assert_eq!((array_view.parts[0].state, array_view.parts[2].state), (None, Some("stopped")));
        assert_eq!(array_view.parts[0].rates, [("reads".to_owned(), 10.0)]);
        assert_eq!(
            (array_view.parts[1].levels[0].value, array_view.parts[1].levels[0].bound),
            (40.0, Some(100.0))
        );
        assert_eq!(array_view.notes, [(1.5, "drive-2 fails".to_owned())]);
        assert_eq!((array_view.speed, array_view.last_error.as_deref()), (Some(2.0), Some("something")));
    }
}

//! Terminal view of a served array.

use crate::array_view::{ArrayView, PartView, PoolView, VolumeView};
use serde_json::Value;
use std::fmt::Write as _;

/// Parts that are shown, busiest first.
const PARTS_SHOWN: usize = 12;
const NOTES_SHOWN: usize = 3;
/// Cells of a bar.
const BAR_CELLS: usize = 20;
/// Shares below this are nothing.
const SHARE_SHOWN: f64 = 0.001;

/// Lines of text about the time between two statuses, so many seconds apart.
pub fn view(before: &Value, now: &Value, seconds: f64) -> String {
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = write_view(&mut text, &ArrayView::between(before, now, seconds));
    text
}

fn write_view(text: &mut String, array_view: &ArrayView) -> std::fmt::Result {
    let connections = if array_view.connections == 1 { "connection" } else { "connections" };
    writeln!(
        text,
        "{}\n{}; {} {connections}",
        array_view.title, array_view.condition, array_view.connections
    )?;
    for (what, share) in &array_view.background {
        writeln!(text, "{what:<8} {} {:.1} %", bar(*share), share * 100.0)?;
    }
    if let Some(pool) = &array_view.pool {
        write_pool(text, pool)?;
    }
    if let Some(problem) = &array_view.last_error {
        writeln!(text, "last problem: {problem}")?;
    }
    write_volumes(text, &array_view.volumes)?;
    let Some(late) = &array_view.lateness else {
        return writeln!(text, "\nserved as fast as it goes");
    };
    write_parts(text, &array_view.parts)?;
    writeln!(
        text,
        "\npacing error {:.1} µs (median), {:.1} µs (p99); {} replies so far",
        late.p50_us, late.p99_us, late.replies
    )?;
    for (second, says) in array_view.notes.iter().rev().take(NOTES_SHOWN).rev() {
        writeln!(text, "{second:>7.1} s  {says}")?;
    }
    Ok(())
}

fn write_pool(text: &mut String, pool: &PoolView) -> std::fmt::Result {
    writeln!(
        text,
        "{:<8} {} {:.1} % used: {} of {} free, {:.2} times provisioned",
        "pool",
        bar(pool.used_share),
        pool.used_share * 100.0,
        units::human_bytes(pool.free_bytes as u64),
        units::human_bytes(pool.size_bytes as u64),
        pool.overcommit,
    )?;
    match &pool.warning {
        Some(warning) => writeln!(text, "warning: {warning}"),
        None => Ok(()),
    }
}

fn write_volumes(text: &mut String, volumes: &[VolumeView]) -> std::fmt::Result {
    writeln!(
        text,
        "\n{:<10} {:>9} {:>10} {:>8} {:>10} {:>10} {:>5}  limit",
        "volume", "read IOPS", "write IOPS", "MB/s", "read", "write", "queue"
    )?;
    for volume in volumes {
        let latency = |latency_ms: Option<f64>| latency_ms.map_or("-".to_owned(), |ms| format!("{ms:.3} ms"));
        writeln!(
            text,
            "{:<10} {:>9.0} {:>10.0} {:>8.1} {:>10} {:>10} {:>5}  {}",
            volume.name,
            volume.read.iops,
            volume.write.iops,
            (volume.read.bytes_per_s + volume.write.bytes_per_s) / 1e6,
            latency(volume.read.latency_ms),
            latency(volume.write.latency_ms),
            volume.queue,
            limit_of(volume),
        )?;
    }
    Ok(())
}

/// The share of the model's time that each part was busy, and what has a limit and holds something.
fn write_parts(text: &mut String, parts: &[PartView]) -> std::fmt::Result {
    let shares = |part: &PartView| {
        let name = part.name.clone();
        part.shares.clone().into_iter().map(move |(what, share)| (share, format!("{name} {what}")))
    };
    let mut busy: Vec<(f64, String)> = parts.iter().flat_map(shares).collect();
    busy.retain(|(share, _)| *share >= SHARE_SHOWN);
    busy.sort_by(|(a, a_name), (b, b_name)| b.total_cmp(a).then_with(|| a_name.cmp(b_name)));
    writeln!(text)?;
    for (share, name) in busy.iter().take(PARTS_SHOWN) {
        writeln!(text, "{name:<30} {} {:>5.1} % busy", bar(*share), share * 100.0)?;
    }
    if busy.is_empty() {
        writeln!(text, "nothing is busy")?;
    } else if busy.len() > PARTS_SHOWN {
        writeln!(text, "and {} that were busy less", busy.len() - PARTS_SHOWN)?;
    }
    let levels = parts.iter().filter(|part| part.kind == "controller").flat_map(|part| {
        let full = part.levels.iter().filter_map(|level| Some((level, level.value / level.bound?)));
        full.map(|(level, share)| (format!("{} {}", part.name, level.what), share))
    });
    for (name, share) in levels.filter(|(_, share)| *share >= SHARE_SHOWN) {
        writeln!(text, "{name:<30} {} {:>5.1} % full", bar(share), share * 100.0)?;
    }
    Ok(())
}

fn limit_of(volume: &VolumeView) -> String {
    let parts: Vec<String> = volume.limits.iter().map(|(name, value)| format!("{name} {value:?}")).collect();
    match volume.held_back {
        held if held > 0.0 => format!("{} ({held} held back)", parts.join(", ")),
        _ => parts.join(", "),
    }
}

fn bar(share: f64) -> String {
    let full = (share.clamp(0.0, 1.0) * BAR_CELLS as f64).round() as usize;
    format!("[{}{}]", "#".repeat(full), ".".repeat(BAR_CELLS - full))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn status(ios: u64, latency_ns: u64, busy_ns: u64, clock_ns: u64) -> Value {
        json!({
            "title": "An array",
            "connections": 2,
            "volume": {"drives": [{"drive": 0, "condition": "present"}, {"drive": 1, "condition": "failed"}]},
            "background": {"rebuild": {"is_complete": false, "done_stripes": 1, "stripes": 4}},
            "volumes": [{"name": "vol0", "served": {
                "read": {"ios": ios, "bytes": ios * 4096, "latency_ns": latency_ns},
                "write": {"ios": 0, "bytes": 0, "latency_ns": 0},
                "under_way": 3,
            }}],
            "model": {
                "clock_ns": clock_ns,
                "limits": [{"volume": "vol0", "limit": {"iops": 500.0}, "held_back": 7}],
                "lateness": {"p50_ns": 12_300, "p99_ns": 456_000, "replies": ios},
                "bounds": {"controller": {"processors": 4, "dirty_blocks": 8, "block_bytes": 65536}},
                "parts": {
                    "link-0": {"to_host_busy_ns": busy_ns, "to_host_bytes": 5},
                    "controller-0": {"processors_busy_ns": busy_ns * 4, "fill_dirty_blocks": 2},
                },
                "notes": [{"at_ns": 1_500_000_000u64, "says": "drive-1 fails"}],
            },
        })
    }

    /// Proves that rates, latencies and shares are those of the time between, not since the start, and that what is
    /// lost, limited and being rebuilt is said.
    #[test]
    fn a_view_is_about_the_time_between() {
        let before = status(1000, 1_000_000_000, 5_000_000_000, 10_000_000_000);
        let mut now = status(3000, 5_000_000_000, 5_500_000_000, 12_000_000_000);
        now["pool"] = json!({
            "size_bytes": 100 << 20, "free_bytes": 10 << 20, "used_share": 0.9, "overcommit": 2.5,
            "state": "nearly-full", "warning": "the thin pool is 90 % full",
        });
        let text = view(&before, &now, 2.0);
        for words in [
            "drive 1 failed; thin pool nearly full",
            "pool     [##################..] 90.0 % used: 10 MiB of 100 MiB free, 2.50 times provisioned",
            "warning: the thin pool is 90 % full",
            "[#####...............] 25.0 %",
            "vol0            1000          0      4.1   2.000 ms          -     3  iops 500.0 (7 held back)",
            "link-0 to host                 [#####...............]  25.0 % busy",
            "controller-0 processors        [#####...............]  25.0 % busy",
            "controller-0 dirty bytes       [#####...............]  25.0 % full",
            "pacing error 12.3 µs (median), 456.0 µs (p99); 3000 replies so far",
            "1.5 s  drive-1 fails",
        ] {
            assert!(text.contains(words), "{words}:\n{text}");
        }
    }

    /// Proves that an answer which is not as expected is shown as far as it goes.
    #[test]
    fn anything_can_be_shown() {
        for status in
            [Value::Null, json!([]), json!({"volumes": [1], "model": {"parts": 3, "clock_ns": "x"}})]
        {
            view(&status, &status, 0.0);
        }
    }
}

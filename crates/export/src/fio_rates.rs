//! Rates of a load in fio's `rate_iops`.
//!
//! fio limits each direction of each job, in whole I/Os a second. A plan's `rate_iops` is that of a job in all
//! directions.

use crate::fio_option_list::FioOptions;
use crate::load_settings::LoadSettings;

/// Settings of rates that vary over time, which fio does not have.
const VARYING: [&str; 3] = ["rate_burst_iops", "rate_ramp_from", "rate_profile"];

/// Writes the options of the rate.
pub(crate) fn rates(read: LoadSettings<'_>, fio: &mut FioOptions) {
    if read.number("rate_percent").is_some() {
        fio.leave_out(
            "rate_percent",
            "its rate is a share of what another case delivers, and fio takes a number",
        );
    }
    if let Some(varying) = VARYING.iter().find(|name| read.has(name)) {
        fio.leave_out(varying, "fio has no rate that varies over time");
        return;
    }
    // Without a rate these say nothing: `rate_percent: max` goes as fast as it can.
    if let (Some(process), true) = (read.word("rate_process"), read.has("rate_iops")) {
        fio.set("rate_process", process);
        fio.lose(
            "rate_process",
            "in fio an I/O that is late delays those behind it, and latency counts from its issue, not from its arrival",
        );
    }
    let limits = ["rate_iops_read", "rate_iops_write", "rate_iops_trim"].map(|name| read.float(name));
    let done = directions(read);
    for ((name, limit), is_done) in
        ["rate_iops_read", "rate_iops_write", "rate_iops_trim"].iter().zip(limits).zip(done)
    {
        if limit.is_some() && !is_done {
            fio.lose(name, "the load has no such I/Os");
        }
    }
    let has_limits = limits.iter().zip(done).any(|(limit, is_done)| limit.is_some() && is_done);
    let parts = match read.float("rate_iops") {
        Some(_) if has_limits => {
            fio.lose("rate_iops", "fio takes the limits of the directions or one of all, and here are both");
            only_done(limits, done)
        }
        Some(rate) => total(read, rate, fio),
        None if has_limits => only_done(limits, done),
        None => return,
    };
    if parts.iter().flatten().any(|rate| rate.round() != *rate || *rate < 1.0) {
        let name = if has_limits { "rate_iops_read" } else { "rate_iops" };
        let name = if read.has(name) { name } else { "rate_iops_write" };
        fio.lose(name, "fio takes whole I/Os a second for each job and direction: it is rounded");
    }
    let [reads, writes, trims] =
        parts.map(|part| part.map_or_else(String::new, |rate| rate.round().max(1.0).to_string()));
    // One number limits every direction; an empty part is no limit.
    fio.set(
        "rate_iops",
        match done {
            [true, false, false] => reads,
            [false, true, false] => writes,
            [_, _, true] => format!("{reads},{writes},{trims}"),
            _ => format!("{reads},{writes}"),
        },
    );
}

/// Returns true for each of reads, writes and trims that the load has.
fn directions(read: LoadSettings<'_>) -> [bool; 3] {
    match read.number("rwmixtrim").unwrap_or(0) {
        100 => [false, false, true],
        trims => [read.read_share() > 0, read.read_share() < 100, trims > 0],
    }
}

fn only_done(limits: [Option<f64>; 3], done: [bool; 3]) -> [Option<f64>; 3] {
    let mut parts = limits;
    for (part, is_done) in parts.iter_mut().zip(done) {
        *part = part.filter(|_| is_done);
    }
    parts
}

/// The part of each direction in a rate of all.
fn total(read: LoadSettings<'_>, rate: f64, fio: &mut FioOptions) -> [Option<f64>; 3] {
    let [reads, writes, trims] = directions(read);
    let share = read.read_share() as f64 / 100.0;
    match (reads, writes, trims) {
        (_, _, true) => [None, None, Some(rate)],
        (true, true, false) => {
            fio.lose(
                "rate_iops",
                "fio limits each direction by itself: reads and writes have their shares of the rate",
            );
            [Some(rate * share), Some(rate * (1.0 - share)), None]
        }
        (true, false, _) => [Some(rate), None, None],
        _ => [None, Some(rate), None],
    }
}

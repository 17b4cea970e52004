//! What the fill and group 1 show: writes that go on for longer than the reserve lasts.

use super::SIZES;
use crate::WriteCliff;
use crate::claims::Judged;
use crate::claims::view::{Seen, View, near};
use crate::text::{bandwidth, block, count, duration, iops};

pub(super) fn first_writes(view: &View<'_>) -> Judged {
    let pass = |number: f64| {
        view.one("fill", &format!("pass {number:.0}"), move |case| case.number("pass") == Some(number))
    };
    let (first, second) = (pass(1.0)?.level.bw_bytes_per_s, pass(2.0)?.level.bw_bytes_per_s);
    let text = format!(
        "first pass {}, second {} ({:.2} of it)",
        bandwidth(first),
        bandwidth(second),
        first / second
    );
    Ok((first <= 0.97 * second, text))
}

/// The cases of a scenario by block size, those of the plan's sizes that were run.
fn scenario<'a>(view: &View<'a>, number: f64) -> Result<Vec<Seen<'a>>, String> {
    let mut seen = view
        .all("group-1", &format!("scenario {number:.0}"), |case| case.number("scenario") == Some(number))?;
    seen.sort_by_key(Seen::bs);
    Ok(seen)
}

fn size(seen: &[Seen<'_>], bs: u64) -> Option<usize> {
    seen.iter().position(|one| one.bs() == bs)
}

pub(super) fn falls_once(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    for seen in scenario(view, 1.0)? {
        match view.cliff_or_none(seen)? {
            Ok(cliff) => {
                let level = near(cliff.sustained.iops, cliff.after.iops, 0.15);
                let once = cliff.further_falls.is_empty() && cliff.recovery.is_none();
                holds &= (0.9 * 120.0..=1.1 * 180.0).contains(&cliff.onset_s) && once && level;
                parts.push(format!(
                    "{}: after {} from {} to {}{}{}",
                    block(seen.bs()),
                    duration(cliff.onset_s),
                    iops(cliff.before.iops),
                    iops(cliff.after.iops),
                    if once { "" } else { ", more than once" },
                    if level { "" } else { ", not level" }
                ));
            }
            Err(none) => {
                holds = false;
                parts.push(format!("{}: {none}", block(seen.bs())));
            }
        }
    }
    Ok((holds, parts.join("; ")))
}

pub(super) fn by_block_size(view: &View<'_>) -> Judged {
    let seen = scenario(view, 1.0)?;
    let rate = |bs: u64| -> Result<f64, String> {
        let index = size(&seen, bs).ok_or_else(|| format!("{} was not run", block(bs)))?;
        Ok(view.sustained(seen[index])?.bw_bytes_per_s)
    };
    let (small, large) = (rate(SIZES[0])?, rate(SIZES[5])?);
    let middle = SIZES[1..5].iter().map(|bs| rate(*bs)).collect::<Result<Vec<f64>, String>>()?;
    let mean = crate::statistics::mean(&middle);
    let holds =
        small <= 0.8 * mean && large >= 1.3 * mean && middle.iter().all(|rate| near(*rate, mean, 0.15));
    let level: Vec<String> = middle.iter().map(|rate| bandwidth(*rate)).collect();
    Ok((holds, format!("4K {}, 8K to 64K {}, 1M {}", bandwidth(small), level.join(" "), bandwidth(large))))
}

/// A block size with its cliff in two scenarios; the second may show that it has none.
type CliffPair<'a> = (u64, &'a WriteCliff, Result<&'a WriteCliff, String>);

/// Cliffs of two scenarios at the same block size.
fn cliffs_of<'a>(view: &View<'a>, first: f64, second: f64) -> Result<Vec<CliffPair<'a>>, String> {
    let (first, second) = (scenario(view, first)?, scenario(view, second)?);
    let mut found = Vec::new();
    for one in first {
        if let Some(index) = size(&second, one.bs()) {
            found.push((one.bs(), view.cliff(one)?, view.cliff_or_none(second[index])?));
        }
    }
    if found.is_empty() { Err("no block size was run in both scenarios".into()) } else { Ok(found) }
}

pub(super) fn same_cliff(view: &View<'_>, other: f64, name: &str) -> Judged {
    const TWO_INTERVALS_S: f64 = 10.0;
    let mut holds = true;
    let mut parts = Vec::new();
    for (bs, plain, changed) in cliffs_of(view, 1.0, other)? {
        let Ok(changed) = changed else {
            holds = false;
            parts.push(format!("{}: no cliff with {name}", block(bs)));
            continue;
        };
        let onset = (changed.onset_s - plain.onset_s).abs();
        holds &= onset <= (0.15 * plain.onset_s).max(TWO_INTERVALS_S)
            && near(changed.sustained.iops, plain.sustained.iops, 0.10);
        parts.push(format!(
            "{}: onset {} against {}, level {} against {}",
            block(bs),
            duration(changed.onset_s),
            duration(plain.onset_s),
            iops(changed.sustained.iops),
            iops(plain.sustained.iops)
        ));
    }
    Ok((holds, format!("{name}: {}", parts.join("; "))))
}

pub(super) fn bursts(view: &View<'_>) -> Judged {
    let seen = scenario(view, 1.0)?;
    let before = |bs: u64| -> Result<crate::Rate, String> {
        let index = size(&seen, bs).ok_or_else(|| format!("{} was not run", block(bs)))?;
        Ok(view.cliff(seen[index])?.before)
    };
    let (small, eight) = (before(SIZES[0])?, before(SIZES[1])?);
    let holds = eight.iops >= 0.9 * small.iops && eight.bw_bytes_per_s >= 1.8 * small.bw_bytes_per_s;
    Ok((
        holds,
        format!(
            "before the cliff 4K {} ({}), 8K {} ({})",
            iops(small.iops),
            bandwidth(small.bw_bytes_per_s),
            iops(eight.iops),
            bandwidth(eight.bw_bytes_per_s)
        ),
    ))
}

pub(super) fn reads_fall(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    let mixed: Vec<Seen<'_>> =
        [4.0, 5.0].into_iter().filter_map(|number| scenario(view, number).ok()).flatten().collect();
    if mixed.is_empty() {
        return Err("the run has no measurement of scenarios 4 and 5 in the stage `group-1`".into());
    }
    for seen in mixed {
        let name = &seen.case.name;
        match view.cliff_or_none(seen)? {
            Ok(cliff) => {
                let (Some(before), Some(after)) = (cliff.reads_before, cliff.reads_after) else {
                    return Err(format!("{name} has no reads"));
                };
                let (reads, writes) = (after.iops / before.iops, cliff.after.iops / cliff.before.iops);
                holds &= near(reads / writes, 1.0, 0.10);
                parts.push(format!(
                    "{name}: reads to {:.0} %, writes to {:.0} %",
                    100.0 * reads,
                    100.0 * writes
                ));
            }
            Err(none) => {
                holds = false;
                parts.push(none);
            }
        }
    }
    Ok((holds, parts.join("; ")))
}

pub(super) fn mixed_sustained(view: &View<'_>) -> Judged {
    let mut ratios = Vec::new();
    for number in [4.0, 5.0] {
        for (_, pure, mixed) in cliffs_of(view, 1.0, number)? {
            if let Ok(mixed) = mixed {
                ratios.push(mixed.after.bw_bytes_per_s / pure.after.bw_bytes_per_s);
            }
        }
    }
    if ratios.is_empty() {
        return Err("no mixed load shows a cliff".into());
    }
    let mean = crate::statistics::mean(&ratios);
    let least = ratios.iter().copied().fold(f64::INFINITY, f64::min);
    let most = ratios.iter().copied().fold(0.0, f64::max);
    let text = format!(
        "mixed ÷ pure writes after the cliff: mean {mean:.2}, from {least:.2} to {most:.2} over {}",
        count(ratios.len(), "pair")
    );
    Ok((near(mean, 1.0, 0.10), text))
}

pub(super) fn raid_0(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    for (bs, five, zero) in cliffs_of(view, 1.0, 6.0)? {
        let Ok(zero) = zero else {
            // Without a cliff RAID 0 has no level after it to compare.
            return Err(format!("RAID 0 at {} shows no cliff", block(bs)));
        };
        let before = zero.before.iops / five.before.iops;
        let after = zero.sustained.iops / five.sustained.iops;
        holds &= before >= 1.2 && after >= 1.2;
        parts.push(format!("{}: × {before:.2} before, × {after:.2} after", block(bs)));
    }
    Ok((holds, parts.join("; ")))
}

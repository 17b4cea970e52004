//! F1 to F8: an IBM FlashSystem 840 with 8 of 12 modules.

use super::view::{Seen, View, near};
use super::{Claim, Judged, Origin};
use crate::Kind;
use crate::text::{bandwidth, block, count, duration, iops};

pub(super) const CLAIMS: &[Claim] = &[
    Claim {
        id: "F1",
        origin: Origin::Published,
        says: "Sequential read over 5 GB/s; sequential write almost 2 GB/s.",
        mechanism: "Prefetch and whole stripes make sequential reads cheap inside the modules; writes pass a buffer in the controllers.",
        tolerance: "reads above 5.0 GB/s, writes 1.8 to 2.1 GB/s (10⁹ bytes)",
        judge: sequential,
    },
    Claim {
        id: "F2",
        origin: Origin::Published,
        says: "4 KB 80/20 random over 500,000 IOPS with 8 of 12 modules.",
        mechanism: "Seven modules of a constant cost per command share the load.",
        tolerance: "above 500,000 IOPS in the stage peak-4k",
        judge: peak,
    },
    Claim {
        id: "F3",
        origin: Origin::Derived,
        says: "From 16 KB up the array moves a constant number of bytes per second: IOPS halve as blocks double.",
        mechanism: "The read path of the modules carries bytes at a fixed rate; from 16 KB on it, not the command, is what is full.",
        tolerance: "bytes a second within 10 % of their mean over all sizes from 16 KB up, three at least",
        judge: constant_bytes,
    },
    Claim {
        id: "F4",
        origin: Origin::Derived,
        says: "Writes are answered faster than reads at every block size; the ratio tends to 1 as bandwidth saturates.",
        mechanism: "A write is acknowledged on entering the modules' window of commands, a read waits behind it; the window is bounded, so what it adds shrinks beside the queue in front of it.",
        tolerance: "read ÷ write mean latency above 1 at every size, smallest at the largest size and there at most 1.3",
        judge: writes_first,
    },
    Claim {
        id: "F5",
        origin: Origin::Published,
        says: "IOPS rise with the share of reads; the maximum is at 90 % reads, above 100 %.",
        mechanism: "A write costs the modules 2.3 reads; near pure reads the links' direction to the hosts is full before the modules are.",
        tolerance: "no step from 0 to 90 % loses more than 1 %; 90 % at least 0.5 % above 100 % and the largest of all",
        judge: read_share,
    },
    Claim {
        id: "F6",
        origin: Origin::Derived,
        says: "8 KB pure writes give about half the IOPS of pure reads.",
        mechanism: "RAID 5 reads data and parity before it writes both.",
        tolerance: "writes ÷ reads from 0.40 to 0.60",
        judge: half,
    },
    Claim {
        id: "F7",
        origin: Origin::Published,
        says: "During the firmware update IOPS dip only briefly, while each controller is updated; latency rises slightly during the verification of the RAID stripes.",
        mechanism: "Paths fail over to the other controller; the verification reads every stripe beside the load.",
        tolerance: "a dip at one event or more, none longer than 60 s, in all at most 5 % of the time; median latency 0.2 to 30 % above the level during the verification",
        judge: update,
    },
    Claim {
        id: "F8",
        origin: Origin::Derived,
        says: "Measured ÷ declared (775,000 IOPS for 12 modules, 70/30) is about the share of modules, 8 of 12.",
        mechanism: "IOPS grow with the modules.",
        tolerance: "within 10 % of 8 ÷ 12",
        judge: share_of_modules,
    },
];

fn sequential(view: &View<'_>) -> Judged {
    let read = view.one("seq-read", "sequential reads", |_| true)?.level.bw_bytes_per_s;
    let write = view.one("seq-write", "sequential writes", |_| true)?.level.bw_bytes_per_s;
    let holds = read > 5.0e9 && (1.8e9..=2.1e9).contains(&write);
    Ok((holds, format!("sequential reads {}, sequential writes {}", bandwidth(read), bandwidth(write))))
}

fn peak(view: &View<'_>) -> Judged {
    let peak = view.one("peak-4k", "random 4 KB, 80 % reads", |_| true)?.level.iops;
    Ok((peak > 500_000.0, format!("{} in peak-4k", iops(peak))))
}

fn by_size<'a>(view: &View<'a>) -> Result<Vec<Seen<'a>>, String> {
    let mut seen = view.all("block-size", "any block size", |_| true)?;
    seen.sort_by_key(Seen::bs);
    Ok(seen)
}

fn constant_bytes(view: &View<'_>) -> Judged {
    let from_16k: Vec<Seen<'_>> = by_size(view)?.into_iter().filter(|seen| seen.bs() >= 16 << 10).collect();
    if from_16k.len() < 3 {
        return Err(format!(
            "three block sizes from 16 KB up are needed, and the run has {}",
            from_16k.len()
        ));
    }
    view.of_kind(Kind::Flattening, "block-size");
    let rates: Vec<f64> = from_16k.iter().map(|seen| seen.level.bw_bytes_per_s).collect();
    let mean = crate::statistics::mean(&rates);
    let text: Vec<String> = from_16k
        .iter()
        .map(|seen| format!("{} {}", block(seen.bs()), bandwidth(seen.level.bw_bytes_per_s)))
        .collect();
    let holds = rates.iter().all(|rate| near(*rate, mean, 0.10));
    Ok((holds, format!("mean {}: {}", bandwidth(mean), text.join(", "))))
}

fn writes_first(view: &View<'_>) -> Judged {
    let sizes = by_size(view)?;
    let ratios: Vec<(u64, f64)> = sizes
        .iter()
        .filter(|seen| seen.read_ns() > 0.0 && seen.write_ns() > 0.0)
        .map(|seen| (seen.bs(), seen.read_ns() / seen.write_ns()))
        .collect();
    let (Some(first), Some(last)) = (ratios.first(), ratios.last()) else {
        return Err("no block size has both reads and writes".into());
    };
    if ratios.len() < 3 {
        return Err(format!(
            "three block sizes are needed to see a tendency, and the run has {}",
            ratios.len()
        ));
    }
    let faster = ratios.iter().all(|(_, ratio)| *ratio > 1.0);
    let tends = ratios.iter().all(|(_, ratio)| *ratio >= last.1 * 0.99) && last.1 <= 1.3 && first.1 > last.1;
    let text: Vec<String> = ratios.iter().map(|(bs, ratio)| format!("{} {ratio:.2}", block(*bs))).collect();
    Ok((faster && tends, format!("read ÷ write latency: {}", text.join(", "))))
}

fn at_share<'a>(view: &View<'a>, share: f64) -> Result<Seen<'a>, String> {
    view.one("read-share", &format!("{share:.0} % reads"), |case| case.number("rwmixread") == Some(share))
}

fn read_share(view: &View<'_>) -> Judged {
    let mut seen = view.all("read-share", "any share of reads", |_| true)?;
    seen.sort_by(|a, b| {
        a.number("rwmixread").unwrap_or(0.0).total_cmp(&b.number("rwmixread").unwrap_or(0.0))
    });
    let (ninety, all) = (at_share(view, 90.0)?.level.iops, at_share(view, 100.0)?.level.iops);
    let rising: Vec<f64> = seen
        .iter()
        .filter(|seen| seen.number("rwmixread").unwrap_or(0.0) <= 90.0)
        .map(|seen| seen.level.iops)
        .collect();
    if rising.len() < 3 {
        return Err("three shares up to 90 % are needed to see a rise".into());
    }
    let rises = rising.windows(2).all(|pair| pair[1] >= 0.99 * pair[0]);
    let largest = seen.iter().map(|seen| seen.level.iops).fold(0.0, f64::max);
    let holds = rises && ninety >= 1.005 * all && ninety >= largest;
    let first = rising[0];
    Ok((
        holds,
        format!("{} at the smallest share, {} at 90 %, {} at 100 %", iops(first), iops(ninety), iops(all)),
    ))
}

fn half(view: &View<'_>) -> Judged {
    let (writes, reads) = (at_share(view, 0.0)?.level.iops, at_share(view, 100.0)?.level.iops);
    let ratio = writes / reads;
    let text = format!("pure writes {} ÷ pure reads {} = {ratio:.2}", iops(writes), iops(reads));
    Ok(((0.40..=0.60).contains(&ratio), text))
}

fn update(view: &View<'_>) -> Judged {
    let stage = "firmware-update";
    let seen = view.one(stage, "a load during an update", |_| true)?;
    let found = view.disruptions(stage);
    if found.is_empty() {
        return Err("no event of an update was recorded while the load ran".into());
    }
    let dips: Vec<f64> = found.iter().flat_map(|one| &one.dips).map(|dip| dip.length_s).collect();
    let longest = dips.iter().copied().fold(0.0, f64::max);
    let total: f64 = dips.iter().sum();
    let length_s: f64 = seen.case.counted().iter().map(crate::Interval::length_s).sum();
    let verification = found
        .iter()
        .find(|one| one.event.to_lowercase().contains("verif"))
        .ok_or_else(|| "no event says that the verification began".to_owned())?;
    let brief = !dips.is_empty() && longest <= 60.0 && total <= 0.05 * length_s;
    let slight = (100.2..=130.0).contains(&verification.latency_percent);
    Ok((
        brief && slight,
        format!(
            "{}, the longest {}, {} of {} in all; latency during the verification {:.1} % of the level before",
            count(dips.len(), "dip"),
            duration(longest),
            duration(total),
            duration(length_s),
            verification.latency_percent
        ),
    ))
}

fn share_of_modules(view: &View<'_>) -> Judged {
    const DECLARED_IOPS: f64 = 775_000.0;
    let peak = view.one("peak-4k", "random 4 KB, 80 % reads", |_| true)?.level.iops;
    let share = peak / DECLARED_IOPS;
    let text = format!("{} ÷ 775,000 = {share:.3}, 8 ÷ 12 = {:.3}", iops(peak), 8.0 / 12.0);
    Ok((near(share, 8.0 / 12.0, 0.10), text))
}

//! R1 to R7: RAID levels on a Dell PERC H810.

use super::view::{Seen, View, mean_ratio, near, pairs};
use super::{Coded, Judged, Origin, counted};
use crate::text::{count, iops};
use crate::{Fact, Kind};

const STAGE: &str = "sets";

const SOURCE: &str = "published test of RAID levels (vdbench, Dell PERC H810)";

pub(super) const CLAIMS: &[Coded] = &[
    Coded {
        id: "R1",
        source: SOURCE,
        tolerance: 0.03,
        needs: counted(3.0),
        origin: Origin::Published,
        says: "IOPS rise with disks at every level, less than in proportion.",
        mechanism: "Eight I/Os outstanding spread over more disks leave most of them idle.",
        criterion: "in every series over disks the last set above the first, and by less than the disks grew; no step loses more than 3 %",
        judge: rise,
    },
    Coded {
        id: "R2",
        source: SOURCE,
        tolerance: 0.15,
        needs: counted(3.0),
        origin: Origin::Published,
        says: "Reads reach NX less the parity drives.",
        mechanism: "The rule counts a parity drive as idle in reads; with rotating parity every drive reads.",
        criterion: "X is half of RAID 0 over two disks; RAID 5 and 6 within 15 % of X·(N − parity drives) on average",
        judge: less_parity,
    },
    Coded {
        id: "R3",
        source: SOURCE,
        tolerance: 0.24,
        needs: counted(3.0),
        origin: Origin::Published,
        says: "RAID 5 writes reach about 25 % of reads, RAID 6 about 20 %.",
        mechanism: "A small write reads and writes data and parity: four I/Os, six with two parities, in two phases that overlap.",
        criterion: "mean of writes ÷ reads, written through, from 0.19 to 0.31 for RAID 5 and 0.14 to 0.26 for RAID 6, and RAID 6 below RAID 5",
        judge: write_share,
    },
    Coded {
        id: "R4",
        source: SOURCE,
        tolerance: 0.02,
        needs: counted(3.0),
        origin: Origin::Published,
        says: "The gap between RAID 5 and RAID 6 narrows with disks.",
        mechanism: "The six I/Os of a write meet fewer of one another on more disks.",
        criterion: "RAID 6 ÷ RAID 5 writes over the most disks above that over the fewest, by 2 % at least",
        judge: gap,
    },
    Coded {
        id: "R5",
        source: SOURCE,
        tolerance: 0.1,
        needs: counted(3.0),
        origin: Origin::Published,
        says: "512 B and 4096 B give alike results.",
        mechanism: "Seek and rotation take milliseconds, either transfer microseconds.",
        criterion: "IOPS within 10 % on average",
        judge: sizes_alike,
    },
    Coded {
        id: "R6",
        source: SOURCE,
        tolerance: 0.15,
        needs: counted(60.0),
        origin: Origin::Published,
        says: "Write-back gains a little and leaves the picture unchanged.",
        mechanism: "The cache fills at once under steady load, and then writes as fast as it destages; sorting gains a little.",
        criterion: "writes gain 0 to 30 % on average, and RAID 0, 10, 5 and 6 keep their order over the same disks",
        judge: write_back,
    },
    Coded {
        id: "R7",
        source: SOURCE,
        tolerance: 0.1,
        needs: counted(3.0),
        origin: Origin::Published,
        says: "RAID 6 writes are not a third of the I/O: RAID 6 gives up little against RAID 5, so use RAID 6.",
        mechanism: "A second parity adds two I/Os to four, not to two, and none to a read.",
        criterion: "RAID 6 ÷ RAID 5 over equal disks at least 0.65 for writes and 0.75 for 70 % reads, on average",
        judge: not_a_third,
    },
];

fn sets<'a>(
    view: &View<'a>,
    raid: f64,
    share: f64,
    more: impl Fn(&crate::ObservedCase) -> bool,
) -> Result<Vec<Seen<'a>>, String> {
    let mut seen = view.all(STAGE, &format!("RAID {raid:.0} with {share:.0} % reads"), |case| {
        case.number("raid") == Some(raid) && case.number("rwmixread") == Some(share) && more(case)
    })?;
    seen.sort_by(|a, b| disks(a).total_cmp(&disks(b)));
    Ok(seen)
}

fn disks(seen: &Seen<'_>) -> f64 {
    seen.number("disks").unwrap_or(0.0)
}

fn is_plain(case: &crate::ObservedCase) -> bool {
    case.number("bs") == Some(512.0) && case.word("write_cache") == Some("off")
}

fn rate(seen: &Seen<'_>) -> f64 {
    seen.level.iops
}

fn rise(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    for raid in [0.0, 10.0, 5.0, 6.0] {
        for share in [100.0, 0.0, 70.0] {
            let Ok(seen) = sets(view, raid, share, is_plain) else { continue };
            let (Some(first), Some(last)) = (seen.first(), seen.last()) else { continue };
            if seen.len() < 3 {
                continue;
            }
            let (grown, more) = (rate(last) / rate(first), disks(last) / disks(first));
            let steady = seen.windows(2).all(|pair| rate(&pair[1]) >= 0.97 * rate(&pair[0]));
            holds &= grown > 1.0 && grown < more && steady;
            parts.push(format!("RAID {raid:.0}, {share:.0} % reads × {grown:.2} over × {more:.1} disks"));
        }
    }
    if parts.is_empty() {
        return Err("three sets of one level are needed to see a rise".into());
    }
    Ok((holds, parts.join("; ")))
}

fn less_parity(view: &View<'_>) -> Judged {
    let two = sets(view, 0.0, 100.0, is_plain)?;
    let two = two.iter().find(|seen| disks(seen) == 2.0).ok_or("RAID 0 over two disks was not measured")?;
    let one_disk = rate(two) / 2.0;
    let mut shares = Vec::new();
    for (raid, parity) in [(5.0, 1.0), (6.0, 2.0)] {
        for seen in sets(view, raid, 100.0, is_plain)? {
            shares.push(rate(&seen) / (one_disk * (disks(&seen) - parity)));
        }
    }
    let mean = crate::statistics::mean(&shares);
    let least = shares.iter().copied().fold(f64::INFINITY, f64::min);
    let most = shares.iter().copied().fold(0.0, f64::max);
    Ok((
        near(mean, 1.0, 0.15) && near(least, 1.0, 0.3) && near(most, 1.0, 0.3),
        format!(
            "with X = {}, reads are {least:.2} to {most:.2} of X·(N − parity), {mean:.2} on average over {}; at equal \
             disks they hardly depend on the level",
            iops(one_disk),
            count(shares.len(), "set")
        ),
    ))
}

/// Mean of writes ÷ reads at a level, written through: a cache takes the first writes at once, however many parities follow.
fn share_of_reads(view: &View<'_>, raid: u64) -> Result<f64, String> {
    let is_through =
        |of: &crate::Map| of.get("write_cache").and_then(serde_json::Value::as_str) != Some("on");
    let ratios: Vec<f64> = view
        .of_kind(Kind::WritePenalty, STAGE)
        .into_iter()
        .filter_map(|finding| match &finding.fact {
            Fact::WritePenalty(penalty) if penalty.raid == raid && is_through(&penalty.of) => {
                Some(penalty.ratio)
            }
            _ => None,
        })
        .collect();
    if ratios.is_empty() {
        return Err(format!("RAID {raid} was not measured with both pure reads and pure writes"));
    }
    Ok(crate::statistics::mean(&ratios))
}

fn write_share(view: &View<'_>) -> Judged {
    let (five, six) = (share_of_reads(view, 5)?, share_of_reads(view, 6)?);
    let holds = (0.19..=0.31).contains(&five) && (0.14..=0.26).contains(&six) && six < five;
    Ok((
        holds,
        format!(
            "writes ÷ reads: RAID 5 {:.1} %, RAID 6 {:.1} % (rule of thumb 25 % and 16.7 %)",
            100.0 * five,
            100.0 * six
        ),
    ))
}

/// RAID 6 ÷ RAID 5 by disks.
fn six_over_five(view: &View<'_>, share: f64) -> Result<Vec<(f64, f64)>, String> {
    let (five, six) = (sets(view, 5.0, share, is_plain)?, sets(view, 6.0, share, is_plain)?);
    let both = pairs(&five, &six, &["raid"]);
    if both.is_empty() {
        return Err("RAID 5 and RAID 6 were not measured over equal disks".into());
    }
    Ok(both.iter().map(|(five, six)| (disks(five), rate(six) / rate(five))).collect())
}

fn gap(view: &View<'_>) -> Judged {
    let ratios = six_over_five(view, 0.0)?;
    let (first, last) = (ratios[0], ratios[ratios.len() - 1]);
    if ratios.len() < 2 {
        return Err("two numbers of disks are needed".into());
    }
    Ok((
        last.1 >= first.1 * 1.02,
        format!(
            "RAID 6 ÷ RAID 5 writes: {:.2} over {}, {:.2} over {:.0}",
            first.1,
            count(first.0.round() as usize, "disk"),
            last.1,
            last.0
        ),
    ))
}

fn sizes_alike(view: &View<'_>) -> Judged {
    let of = |bs: f64| {
        view.all(STAGE, &format!("{bs:.0} B"), move |case| {
            case.number("bs") == Some(bs) && case.word("write_cache") == Some("off")
        })
    };
    let both = pairs(&of(512.0)?, &of(4096.0)?, &["bs"]);
    let ratio = mean_ratio(&both, "block size", rate)?;
    Ok((near(ratio, 1.0, 0.10), format!("4096 B ÷ 512 B: {ratio:.3} over {}", count(both.len(), "pair"))))
}

fn write_back(view: &View<'_>) -> Judged {
    let of = |cache: &'static str| {
        view.all(STAGE, &format!("512 B writes with the cache {cache}"), move |case| {
            case.number("bs") == Some(512.0)
                && case.number("rwmixread") == Some(0.0)
                && case.word("write_cache") == Some(cache)
        })
    };
    let (off, on) = (of("off")?, of("on")?);
    let both = pairs(&off, &on, &["write_cache"]);
    let gain = mean_ratio(&both, "the write cache", rate)?;
    // The order of two levels counts where they are more than 5 % apart.
    let mut swapped = 0;
    for (a, (off_a, on_a)) in both.iter().enumerate() {
        for (off_b, on_b) in &both[..a] {
            let (before, after) = (rate(off_a) / rate(off_b), rate(on_a) / rate(on_b));
            if disks(off_a) == disks(off_b)
                && ((before > 1.05 && after < 0.95) || (before < 0.95 && after > 1.05))
            {
                swapped += 1;
            }
        }
    }
    Ok((
        (1.0..=1.3).contains(&gain) && swapped == 0,
        format!(
            "write-back ÷ write-through: {gain:.3} over {}; pairs of levels that change places: {swapped}",
            count(both.len(), "set")
        ),
    ))
}

fn not_a_third(view: &View<'_>) -> Judged {
    let mean = |share| -> Result<f64, String> {
        let ratios: Vec<f64> = six_over_five(view, share)?.into_iter().map(|(_, ratio)| ratio).collect();
        Ok(crate::statistics::mean(&ratios))
    };
    let (writes, mixed) = (mean(0.0)?, mean(70.0)?);
    Ok((
        writes >= 0.65 && mixed >= 0.75,
        format!("RAID 6 ÷ RAID 5: {writes:.2} for writes, {mixed:.2} for 70 % reads"),
    ))
}

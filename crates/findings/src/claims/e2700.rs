//! N1 to N12: a NetApp E2700.

use super::view::{Seen, View, mean_ratio, near, pairs};
use super::{ANY, Coded, Judged, Origin, counted, under_load};
use crate::text::{bandwidth, count, latency};
use crate::{Fact, Kind, ObservedCase};

const PATTERNS: &str = "patterns";
const SEGMENTS: &str = "segments";
const LAYOUTS: [&str; 3] = ["ddp", "raid6", "raid10"];

const SOURCE: &str = "published test of a NetApp E2700";

pub(super) const CLAIMS: &[Coded] = &[
    Coded {
        id: "N1",
        source: SOURCE,
        tolerance: 0.1,
        needs: ANY,
        origin: Origin::Published,
        says: "One controller streams up to 1.5 GB/s.",
        mechanism: "The controller's processor and memory move every byte.",
        criterion: "largest sequential bandwidth of any layout from 1.3 to 1.6 GB/s",
        judge: streams,
    },
    Coded {
        id: "N2",
        source: SOURCE,
        tolerance: 0.1,
        needs: ANY,
        origin: Origin::Published,
        says: "The read cache is never hit, in any pattern; reads come out clearly below writes.",
        mechanism: "The ranges are far larger than the cache; writes are answered from it.",
        criterion: "least mean latency of random reads above 2 ms (a disk's time, not a cache's), sequential reads at most 0.9 of writes on average",
        judge: cache_misses,
    },
    Coded {
        id: "N3",
        source: SOURCE,
        tolerance: 0.15,
        needs: ANY,
        origin: Origin::Published,
        says: "Random results are low with 128 KB segments and much better with 32 KB on RAID 6 and RAID 10.",
        mechanism: "Parity and read-ahead work in whole segments, so a small segment moves less for a small block.",
        criterion: "32 KB ÷ 128 KB random IOPS at least 1.15 on average, for each layout",
        judge: small_segments,
    },
    Coded {
        id: "N4",
        source: SOURCE,
        tolerance: 0.02,
        needs: ANY,
        origin: Origin::Published,
        says: "Small segments favour small blocks, large segments large blocks; segment = block is better still.",
        mechanism: "A block that is one segment is one I/O of one drive.",
        criterion: "random IOPS at 32 KB above 512 KB; streams at 256 KB and more above 32 KB; segment = block at least the mean of all segments, on average",
        judge: segment_and_block,
    },
    Coded {
        id: "N5",
        source: SOURCE,
        tolerance: 0.02,
        needs: counted(10.0),
        origin: Origin::Published,
        says: "1024 KB segments under large streams: latency above that of 128 and 256 KB, no great gain in bandwidth.",
        mechanism: "A stripe of long segments takes longer to fill before it is written whole.",
        criterion: "1024 KB ÷ mean of 128 and 256 KB under sequential writes: latency above 1.02, bandwidth below 1.10",
        judge: long_segments,
    },
    Coded {
        id: "N6",
        source: SOURCE,
        tolerance: 0.3,
        needs: ANY,
        origin: Origin::Published,
        says: "DDP, RAID 6 and RAID 10 differ little overall at 128 KB.",
        mechanism: "All lie over the same 24 drives behind the same controller.",
        criterion: "bandwidth of each layout within 30 % of RAID 6, geometric mean over all patterns",
        judge: layouts_alike,
    },
    Coded {
        id: "N7",
        source: SOURCE,
        tolerance: 0.1,
        needs: under_load(120.0),
        origin: Origin::Published,
        says: "RAID 10 holds mixed load steadiest with the best latency, and loses in streaming to RAID 6 and DDP.",
        mechanism: "A mirror writes twice without reading first; in a stream it writes every byte twice where parity adds a quarter.",
        criterion: "random mixed load: mean latency of RAID 10 the lowest and its intervals vary no more than 1.1 times the others'; sequential writes of RAID 10 below both others",
        judge: mirror,
    },
    Coded {
        id: "N8",
        source: SOURCE,
        tolerance: 0.05,
        needs: under_load(120.0),
        origin: Origin::Published,
        says: "Random load under 32 KB suits DDP badly.",
        mechanism: "A pool's segment is 128 KB whatever the load; the vendor rates pools better for random load, so both are reported.",
        criterion: "DDP ÷ RAID 6 and DDP ÷ RAID 10 random IOPS both below 0.95 on average",
        judge: pool_random,
    },
    Coded {
        id: "N9",
        source: SOURCE,
        tolerance: 0.05,
        needs: ANY,
        origin: Origin::Published,
        says: "Through ext4 (writes): the same bandwidth, latency 15–20 % higher.",
        mechanism: "The file system adds work before and after each I/O.",
        criterion: "ext4 ÷ raw: bandwidth within 5 %, mean write latency 1.10 to 1.25",
        judge: file_system,
    },
    Coded {
        id: "N10",
        source: SOURCE,
        tolerance: 0.02,
        needs: ANY,
        origin: Origin::Published,
        says: "With growing random blocks RAID 6 and DDP improve in latency, RAID 10 does not.",
        mechanism: "Parity reads whole cache blocks whatever the size of the write, a mirror does not read.",
        criterion: "mean latency of random load at 16K ÷ 4K below 1 for RAID 6 and DDP, at least 1 for RAID 10",
        judge: growing_blocks,
    },
    Coded {
        id: "N11",
        source: SOURCE,
        tolerance: 0.02,
        needs: ANY,
        origin: Origin::Published,
        says: "Mixed random load is the array's weak point.",
        mechanism: "Reads wait behind the destaging of writes.",
        criterion: "IOPS of the random mix below pure reads and pure writes at the same layout, size and depth, on average",
        judge: mix,
    },
    Coded {
        id: "N12",
        source: SOURCE,
        tolerance: 0.1,
        needs: ANY,
        origin: Origin::Published,
        says: "The multipath driver splits I/O over the HBA ports almost 50:50.",
        mechanism: "Paths are taken in turn.",
        criterion: "largest path share at most 1.1 of the mean in every case with counters of paths",
        judge: paths,
    },
];

fn rate(seen: &Seen<'_>) -> f64 {
    seen.level.iops
}

fn bytes(seen: &Seen<'_>) -> f64 {
    seen.level.bw_bytes_per_s
}

fn mean_latency(seen: &Seen<'_>) -> f64 {
    seen.level.mean_latency_ns
}

fn is_random(case: &ObservedCase) -> bool {
    case.word("rw").is_some_and(|rw| rw.starts_with("rand"))
}

/// The settings that a pattern brings with it do not make its cases incomparable with those of another.
const OF_PATTERN: &[&str] =
    &["rw", "rwmixread", "write_cache", "read_cache", "read_ahead", "queue.scheduler"];

fn of_layout<'a>(
    view: &View<'a>,
    stage: &str,
    layout: &str,
    what: &str,
    more: impl Fn(&ObservedCase) -> bool,
) -> Result<Vec<Seen<'a>>, String> {
    view.all(stage, &format!("{what} on {layout}"), |case| case.word("layout") == Some(layout) && more(case))
}

fn streams(view: &View<'_>) -> Judged {
    let seen = view.all(PATTERNS, "sequential load", |case| !is_random(case))?;
    let most = seen.iter().map(bytes).fold(0.0, f64::max);
    Ok(((1.3e9..=1.6e9).contains(&most), format!("at most {} in sequence", bandwidth(most))))
}

fn cache_misses(view: &View<'_>) -> Judged {
    let of = |rw: &'static str| view.all(PATTERNS, rw, move |case| case.word("rw") == Some(rw));
    let random = of("randread")?;
    let least = random.iter().map(Seen::read_ns).fold(f64::INFINITY, f64::min);
    let both = pairs(&of("write")?, &of("read")?, OF_PATTERN);
    let ratio = mean_ratio(&both, "direction", bytes)?;
    Ok((
        least > 2e6 && ratio <= 0.9,
        format!(
            "least mean latency of random reads {}; sequential reads ÷ writes {ratio:.2} over {}",
            latency(least),
            count(both.len(), "pair")
        ),
    ))
}

fn segment<'a>(
    view: &View<'a>,
    layout: &str,
    kib: u64,
    wanted: impl Fn(&ObservedCase) -> bool,
) -> Result<Vec<Seen<'a>>, String> {
    of_layout(view, SEGMENTS, layout, &format!("{kib} KB segments"), |case| {
        case.number("segment") == Some((kib * 1024) as f64) && wanted(case)
    })
}

fn small_segments(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    for layout in ["raid6", "raid10"] {
        let both = pairs(
            &segment(view, layout, 128, is_random)?,
            &segment(view, layout, 32, is_random)?,
            &["segment"],
        );
        let ratio = mean_ratio(&both, "segment", rate)?;
        holds &= ratio >= 1.15;
        parts.push(format!("{layout}: 32 KB ÷ 128 KB {ratio:.2}"));
    }
    Ok((holds, format!("random IOPS, {}", parts.join("; "))))
}

fn segment_and_block(view: &View<'_>) -> Judged {
    let mut small = Vec::new();
    let mut large = Vec::new();
    let mut equal = Vec::new();
    for layout in ["raid6", "raid10"] {
        small.extend(pairs(
            &segment(view, layout, 512, is_random)?,
            &segment(view, layout, 32, is_random)?,
            &["segment"],
        ));
        let streams = of_layout(view, SEGMENTS, layout, "streams", |case| !is_random(case))?;
        let with = |wanted: fn(u64) -> bool| -> Vec<Seen<'_>> {
            let segment = |seen: &&Seen<'_>| wanted(seen.number("segment").unwrap_or(0.0) as u64 / 1024);
            streams.iter().filter(segment).copied().collect()
        };
        let short = with(|kib| kib == 32);
        for kib in [with(|kib| kib == 256), with(|kib| kib == 512), with(|kib| kib == 1024)] {
            large.extend(pairs(&short, &kib, &["segment"]));
        }
        for seen in streams.iter().filter(|seen| seen.number("segment") == seen.number("bs")) {
            let same: Vec<f64> = streams.iter().filter(|other| other.bs() == seen.bs()).map(bytes).collect();
            equal.push(bytes(seen) / crate::statistics::mean(&same));
        }
    }
    let (small, large) = (mean_ratio(&small, "segment", rate)?, mean_ratio(&large, "segment", bytes)?);
    let equal = crate::statistics::mean(&equal);
    Ok((
        small > 1.0 && large > 1.0 && equal >= 1.0,
        format!(
            "random IOPS 32 KB ÷ 512 KB {small:.2}; streams 256 KB and more ÷ 32 KB {large:.2}; segment = block ÷ mean of \
             all segments {equal:.2}"
        ),
    ))
}

fn long_segments(view: &View<'_>) -> Judged {
    let mut both = Vec::new();
    for layout in ["raid6", "raid10"] {
        let streams = |kib| segment(view, layout, kib, |case| !is_random(case));
        let long = streams(1024)?;
        both.extend(pairs(&streams(128)?, &long, &["segment"]));
        both.extend(pairs(&streams(256)?, &long, &["segment"]));
    }
    let slower = mean_ratio(&both, "segment", mean_latency)?;
    let more = mean_ratio(&both, "segment", bytes)?;
    Ok((
        slower > 1.02 && more < 1.10,
        format!("1024 KB ÷ 128 and 256 KB under streams: latency {slower:.2}, bandwidth {more:.2}"),
    ))
}

/// Second layout ÷ first over the cases that both have.
fn between(
    view: &View<'_>,
    first: &str,
    second: &str,
    value: impl Fn(&Seen<'_>) -> f64,
    wanted: impl Fn(&ObservedCase) -> bool,
) -> Result<f64, String> {
    let first = of_layout(view, PATTERNS, first, "the pattern", &wanted)?;
    let second = of_layout(view, PATTERNS, second, "the pattern", &wanted)?;
    mean_ratio(&pairs(&first, &second, &["layout"]), "layout", value)
}

fn layouts_alike(view: &View<'_>) -> Judged {
    let ddp = between(view, "raid6", "ddp", bytes, |_| true)?;
    let mirror = between(view, "raid6", "raid10", bytes, |_| true)?;
    Ok((
        near(ddp, 1.0, 0.30) && near(mirror, 1.0, 0.30),
        format!("bandwidth over all patterns ÷ RAID 6: DDP {ddp:.2}, RAID 10 {mirror:.2}"),
    ))
}

fn mirror(view: &View<'_>) -> Judged {
    let is_mixed = |case: &ObservedCase| case.word("rw") == Some("randrw");
    let is_stream = |case: &ObservedCase| case.word("rw") == Some("write");
    let variation = |seen: &Seen<'_>| seen.level.variation_percent.unwrap_or(0.0);
    let mut parts = Vec::new();
    let mut holds = true;
    for other in ["raid6", "ddp"] {
        let slower = between(view, other, "raid10", mean_latency, is_mixed)?;
        let streams = between(view, other, "raid10", bytes, is_stream)?;
        // Without noise on either side there is nothing to be steadier than.
        let restless = between(view, other, "raid10", variation, is_mixed).unwrap_or(1.0);
        holds &= slower < 1.0 && streams < 1.0 && restless <= 1.1;
        parts.push(format!(
            "RAID 10 ÷ {other}: mixed latency {slower:.2}, its variation {restless:.2}, streamed writes {streams:.2}"
        ));
    }
    Ok((holds, parts.join("; ")))
}

fn pool_random(view: &View<'_>) -> Judged {
    let six = between(view, "raid6", "ddp", rate, is_random)?;
    let ten = between(view, "raid10", "ddp", rate, is_random)?;
    Ok((six < 0.95 && ten < 0.95, format!("random IOPS: DDP ÷ RAID 6 {six:.2}, DDP ÷ RAID 10 {ten:.2}")))
}

fn file_system(view: &View<'_>) -> Judged {
    let of =
        |kind: &'static str| view.all("file-system", kind, move |case| case.word("filesystem") == Some(kind));
    let both = pairs(&of("raw")?, &of("ext4")?, &["filesystem"]);
    let same = mean_ratio(&both, "file system", bytes)?;
    let slower = mean_ratio(&both, "file system", |seen| seen.write_ns())?;
    Ok((
        near(same, 1.0, 0.05) && (1.10..=1.25).contains(&slower),
        format!("ext4 ÷ raw: bandwidth {same:.2}, write latency {slower:.2}"),
    ))
}

fn growing_blocks(view: &View<'_>) -> Judged {
    let mut parts = Vec::new();
    let mut holds = true;
    for layout in LAYOUTS {
        let of = |bs: f64| {
            of_layout(view, PATTERNS, layout, "random load", move |case| {
                is_random(case) && case.number("bs") == Some(bs)
            })
        };
        let ratio = mean_ratio(&pairs(&of(4096.0)?, &of(16384.0)?, &["bs"]), "block size", mean_latency)?;
        holds &= if layout == "raid10" { ratio >= 1.0 } else { ratio < 1.0 };
        parts.push(format!("{layout} {ratio:.3}"));
    }
    Ok((holds, format!("latency of random load, 16K ÷ 4K: {}", parts.join(", "))))
}

fn mix(view: &View<'_>) -> Judged {
    let of = |rw: &'static str| view.all(PATTERNS, rw, move |case| case.word("rw") == Some(rw));
    let mixed = of("randrw")?;
    let reads = mean_ratio(&pairs(&of("randread")?, &mixed, OF_PATTERN), "pattern", rate)?;
    let writes = mean_ratio(&pairs(&of("randwrite")?, &mixed, OF_PATTERN), "pattern", rate)?;
    Ok((
        reads < 1.0 && writes < 1.0,
        format!("IOPS of the random mix ÷ pure reads {reads:.2}, ÷ pure writes {writes:.2}"),
    ))
}

fn paths(view: &View<'_>) -> Judged {
    let mut worst: f64 = 0.0;
    let mut seen = 0;
    for stage in [PATTERNS, SEGMENTS, "file-system"] {
        for finding in view.of_kind(Kind::PathBalance, stage) {
            if let Fact::PathBalance(balance) = &finding.fact {
                worst = worst.max(balance.largest_over_mean);
                seen += 1;
            }
        }
    }
    if seen == 0 {
        return Err("the run has no counters of two or more paths".into());
    }
    Ok((worst <= 1.1, format!("largest path share ÷ mean: at most {worst:.3} in {}", count(seen, "case"))))
}

//! What each kind of finding is, how it is found, and an experiment that shows it.

use crate::Kind;
use serde::Serialize;

/// A kind of finding, explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The kind.
    pub kind: &'static str,
    /// What it is.
    pub what: &'static str,
    /// How it is found.
    pub how_found: &'static str,
    /// What shows it on a twin within half a minute: commands, and what to look for.
    pub experiment: &'static str,
}

/// Explains a kind of finding.
pub fn explain(kind: Kind) -> Explanation {
    let (what, how_found, experiment) = match kind {
        Kind::Level => (
            "The mean rate and latency of a case over its counted time, with the spread of its intervals.",
            "Totals of the case. The confidence interval is Student's t over the intervals; intervals that hang together \
             count for fewer (n·(1 − r) ÷ (1 + r) for first-order autocorrelation r).",
            "arraylab run quick --target twin:flashsystem-840 --out /tmp/level && arraylab findings /tmp/level: look at \
             variation_percent and iops_confidence_95.",
        ),
        Kind::WriteCliff => (
            "A lasting fall of the write rate: a reserve (erased flash, a write cache) is used up, and from then on the \
             array writes only as fast as it can free room.",
            "Rates of the intervals, cleaned of outliers, are cut by PELT on their logarithm (penalty 3·σ²·ln n, σ from \
             the differences of neighbours). A fall counts if it is 10 % deep, and a step of 4.5 standard errors beside a \
             common slope, or clearly better than a straight line.",
            "arraylab run dorado-2100-g2 --target twin:dorado-2100-g2 --stage group-1 --only scenario=1 --only bs=4k --out \
             /tmp/cliff && arraylab findings /tmp/cliff; then --only scenario=2 for the write cache, which moves nothing.",
        ),
        Kind::NoWriteCliff => (
            "A series of writes in which no lasting fall was found, with the smallest fall that would have been.",
            "As write-cliff. A series of fewer than eight intervals, or of a held rate, cannot show one.",
            "arraylab run flashsystem-840 --target twin:flashsystem-840 --stage seq-write --out /tmp/none && arraylab \
             findings /tmp/none: see smallest_visible_percent.",
        ),
        Kind::SteadyState => (
            "SNIA's steady state: over five rounds, largest less smallest is at most 20 % of the mean, and the fitted \
             line moves by at most 10 % of it; at most 25 rounds are waited for.",
            "Rounds of a minute, or the intervals of a case shorter than five minutes. fio's own criteria over the same \
             window stand beside it.",
            "arraylab run flashsystem-840 --target twin:flashsystem-840 --stage peak-4k --out /tmp/steady && arraylab \
             findings /tmp/steady: compare slope_percent with fio_slope_percent.",
        ),
        Kind::SteadyRounds => (
            "Whether the rounds of a stage reached SNIA's steady state in every quantity that its plan tracks, and the five \
             rounds of the measurement window, over which the standard's tables are means.",
            "Of each round the tracked quantities, each judged like steady-state; the stage ends with the first round in \
             which all are steady, or after `at_most`.",
            "arraylab run snia-iops --target twin:small-flash --set runtime=0.2 --out /tmp/rounds && arraylab findings \
             /tmp/rounds; with twin:small-flash,gc=off,reserve=off there is nothing to settle, and five rounds are enough.",
        ),
        Kind::Saturation => (
            "The load from which on more of it brings only more latency.",
            "Cases that differ in numjobs, iodepth or rate_iops alone: the first value with 90 % of the largest rate. Where \
             that is the last value, saturation was not reached.",
            "arraylab run flashsystem-840 --target twin:flashsystem-840 --stage peak-4k --set numjobs=1 (then 8, 64, 256), \
             and watch IOPS level off while latency doubles.",
        ),
        Kind::Maximum => (
            "The highest rate of a group of cases that differ in jobs, depth and engine alone, with its latency.",
            "The largest mean rate; what bounds it stands in the limit of the same case.",
            "arraylab run flashsystem-840 --target twin:flashsystem-840 --stage block-size --out /tmp/max && arraylab \
             findings /tmp/max.",
        ),
        Kind::BoundedMaximum => (
            "The highest rate whose mean latency is no more than 1 ms: what an application that waits can use.",
            "Of the cases of a group whose mean completion latency, reads and writes together, is at most 1 ms.",
            "arraylab run flashsystem-840 --target twin:flashsystem-840 --stage peak-4k --set iodepth=2: half the load, and \
             the bound is kept.",
        ),
        Kind::FoundLoad => (
            "The largest load whose latency stays under a bound of the plan's choice, with its confidence interval: what a \
             target is worth to an application with a promise to keep.",
            "A search over rate or depth: twice the load until the bound breaks, then ever closer to where a line through 1 / \
             latency crosses it. Each point is cut into sections whose scatter is its error (sectioning), and a line through \
             the points within 25 % of the answer carries the errors over to the load (delta method); points that scatter by \
             more widen it (Birge ratio).",
            "A plan with find: {max-under-latency: {of: p99, below: 1ms, over: rate}} on twin:flashsystem-840; the report draws \
             every point, the bound, and the load that was found.",
        ),
        Kind::MinimalLatency => (
            "The lowest mean latency of a group of cases, and the jobs at which it is still had.",
            "The smallest mean over reads and writes; jobs within 5 % of it are listed.",
            "arraylab run flashsystem-840 --target twin:flashsystem-840 --stage peak-4k --set numjobs=1 --set iodepth=1.",
        ),
        Kind::BestBlockSize => (
            "The block size that gives most at no cost: the largest with at least 90 % of the largest IOPS.",
            "Cases that differ in block size alone, three sizes at least.",
            "arraylab run flashsystem-840 --target twin:flashsystem-840 --stage block-size --out /tmp/bs && arraylab \
             findings /tmp/bs.",
        ),
        Kind::Flattening => (
            "The block size from which on the array moves a constant number of bytes a second, so that IOPS halve as \
             blocks double: something that carries bytes is full.",
            "The first size from which on every larger one is within 10 % of their mean, over three sizes at least.",
            "arraylab run flashsystem-840 --target twin:flashsystem-840 --stage block-size --out /tmp/flat && arraylab \
             findings /tmp/flat.",
        ),
        Kind::Limit => (
            "What bounds the rate: a link, a controller, the drives, the generator, the rate that was asked for, or \
             the number of I/Os outstanding.",
            "On a twin every part counts its busy time: the busiest kind of part, from 90 % on. On a device the host's \
             processors and a disk's queue are looked at; what lies inside it is unknown.",
            "arraylab run flashsystem-840 --target twin:flashsystem-840 --stage read-share --out /tmp/limit && arraylab \
             findings /tmp/limit: the drives bound mixed load, another part pure reads.",
        ),
        Kind::PathBalance => (
            "How evenly load divides over the paths to the array.",
            "Bytes of each link of a twin, of each port of the host and of each path to a device (dm-multipath, NVMe \
             multipath) over the counted time, as shares; of several such devices the least even one is shown.",
            "arraylab run flashsystem-840 --target twin:flashsystem-840 --stage peak-4k --out /tmp/paths && arraylab \
             findings /tmp/paths.",
        ),
        Kind::WritePenalty => (
            "How much slower writes are than reads on the same set, because of what redundancy adds: two I/Os for RAID \
             10, four for RAID 5, six for RAID 6.",
            "Pairs of cases that differ in their direction alone; the ratio has a confidence interval over the intervals.",
            "arraylab run raid-levels --target twin:raid-levels --only disks=8 --only bs=4k --out /tmp/raid && arraylab \
             findings /tmp/raid.",
        ),
        Kind::Effect => (
            "What a change of one setting does, all others equal.",
            "Pairs of cases of a stage that differ in it alone. With three pairs or more the confidence interval is over \
             the pairs, with one over its intervals.",
            "arraylab run dorado-2100-g2 --target twin:dorado-2100-g2 --stage group-1 --only bs=4k --out /tmp/effect && \
             arraylab findings /tmp/effect: see write_cache and coverage.",
        ),
        Kind::Disruption => (
            "What an event (a firmware update, a failed drive, a mark) did to the load: dips of the rate, bumps of \
             latency, and the I/Os that are missing.",
            "The level is the median before the first event. Intervals beyond four σ and 5 % of it (10 % for latency) \
             belong to a dip or bump; they are looked for from each event to the next.",
            "arraylab run flashsystem-840 --target twin:flashsystem-840 --stage firmware-update --out /tmp/update && \
             arraylab findings /tmp/update.",
        ),
        Kind::Conformance => (
            "Whether a limit was kept: delivered against allowed in every interval, and how soon a change took effect.",
            "Intervals that lie wholly under one limit; more than 2 % above it is too much.",
            "arraylab run storpool --target twin:storpool --stage limits --out /tmp/limits && arraylab findings /tmp/limits.",
        ),
    };
    Explanation { kind: kind.name(), what, how_found, experiment }
}

//! Explanations of finding kinds and data services: definition, method, and an experiment that shows it.

mod services;

use findings::Kind;
use serde::Serialize;
pub use services::{SERVICES, ServiceExplanation, explain_service};

/// A kind of finding, explained.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Explanation {
    /// The kind.
    pub kind: &'static str,
    /// Definition.
    pub what: &'static str,
    /// Method by which it is found.
    pub how_found: &'static str,
    /// Experiment that shows it on a twin within 20 seconds.
    pub experiment: Experiment,
}

/// Two runs on a twin, with what makes a finding and without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Experiment {
    /// A plan of its own that both runs need, as `bound.yaml`.
    pub plan: Option<&'static str>,
    /// Arguments of `arraylab` for a run that shows it, all but `--out`.
    pub on: &'static str,
    /// The same with its mechanism switched off.
    pub off: &'static str,
    /// Numbers to compare, and why they differ.
    pub look_for: &'static str,
}

/// The plan of the experiment on hosts: both at one rate, and one at a tenth of the other's.
const TWO_HOSTS: &str = "title: Two hosts
stages:
  even:
    settings: { rw: randread, bs: 4k, runtime: 2s, rate_iops: 1000 }
  uneven:
    settings: { rw: randread, bs: 4k, runtime: 2s }
    loads:
      more: { hosts: a, settings: { rate_iops: 900 } }
      less: { hosts: b, settings: { rate_iops: 90 } }
";

/// A search, which no published test has.
const BOUND: &str = "\
title: The largest load with a mean latency under 20 ms
stages:
  bound:
    settings: { rw: randread, bs: 4k, numjobs: 16, iodepth: 64, runtime: 20 }
    find:
      max-under-latency: { of: mean, below: 20ms, over: rate, start: 100, limit: 20000 }
";

/// Explains a kind of finding.
pub fn explain(kind: Kind) -> Explanation {
    let (what, how_found, [on, off, look_for]) = match kind {
        Kind::Level => (
            "The mean rate and latency of a case over its counted time, with the spread of its intervals.",
            "Totals of the case. The confidence interval is Student's t over the intervals; intervals that hang together \
             count for fewer (n·(1 − r) ÷ (1 + r) for first-order autocorrelation r).",
            [
                "run raid-levels --target twin:raid-levels --only raid=0 --only disks=2 --only bs=512 --only rwmixread=100 --only write_cache=off --set runtime=60",
                "run raid-levels --target twin:raid-levels,seek=off,rotation=off --only raid=0 --only disks=2 --only bs=512 --only rwmixread=100 --only write_cache=off --set runtime=60",
                "variation_percent: arms and platters make every I/O take another time, and intervals differ; without them they hardly do.",
            ],
        ),
        Kind::WriteCliff => (
            "A lasting fall of the write rate: a reserve (erased flash, a write cache) is used up, and from then on the \
             array writes only as fast as it can free room.",
            "Rates of the intervals, cleaned of outliers, are cut by PELT on their logarithm (penalty 3·σ²·ln n, σ from \
             the differences of neighbours). A fall counts if it is 10 % deep, and a step of 4.5 standard errors beside a \
             common slope, or clearly better than a straight line. Without one, the first three intervals are held against what follows \
             as a ramp is.",
            [
                "run dorado-2100-g2 --target twin:dorado-2100-g2 --stage group-1 --only scenario=1 --only bs=4k --set runtime=8m",
                "run dorado-2100-g2 --target twin:dorado-2100-g2,gc=off --stage group-1 --only scenario=1 --only bs=4k --set runtime=8m",
                "onset_s and depth_percent; without garbage collection there is nothing to wait for, and the finding is no-write-cliff.",
            ],
        ),
        Kind::RampFall => (
            "A fall of the write rate within the ramp, which is not counted: a write cache or a reserve was used up before counting began.",
            "The highest rate of an interval of the ramp, with neighbours of at least 90 % of it, beside the first ten intervals \
             that are counted: a fall of 20 % at least, and of five standard deviations of those. Not under a held rate, nor \
             where events, limits or loads that come and go change it.",
            [
                "run purchase --target twin:hybrid-read-cache --stage long-write --set runtime=60",
                "run purchase --target twin:hybrid-read-cache,write_cache=off --stage long-write --set runtime=60",
                "depth_percent: the write cache takes in what the ramp writes at first; without it there is nothing to fill.",
            ],
        ),
        Kind::NoWriteCliff => (
            "A series of writes in which no lasting fall was found, with the smallest fall that would have been.",
            "As write-cliff. A series of fewer than eight intervals, or of a held rate, cannot show one.",
            [
                "run dorado-2100-g2 --target twin:dorado-2100-g2,reserve=off --stage group-1 --only scenario=1 --only bs=4k --set runtime=8m",
                "run dorado-2100-g2 --target twin:dorado-2100-g2 --stage group-1 --only scenario=1 --only bs=4k --set runtime=8m",
                "smallest_visible_percent: drives without erased flash in reserve begin where others end; with the reserve there is a write-cliff instead.",
            ],
        ),
        Kind::SteadyState => (
            "SNIA's steady state: over five rounds, largest less smallest is at most 20 % of the mean, and the fitted \
             line moves by at most 10 % of it; at most 25 rounds are waited for.",
            "Rounds of a minute, or the intervals of a case shorter than five minutes. fio's own criteria over the same \
             window stand beside it.",
            [
                "run dorado-2100-g2 --target twin:dorado-2100-g2 --stage group-1 --only scenario=1 --only bs=4k --set runtime=8m",
                "run dorado-2100-g2 --target twin:dorado-2100-g2,gc=off --stage group-1 --only scenario=1 --only bs=4k --set runtime=8m",
                "round: with the fall among them the first five rounds are not steady; without garbage collection they are. Compare slope_percent with fio_slope_percent.",
            ],
        ),
        Kind::SteadyRounds => (
            "Whether the rounds of a stage reached SNIA's steady state in every quantity that its plan tracks, and the five \
             rounds of the measurement window, over which the standard's tables are means.",
            "Of each round the tracked quantities, each judged like steady-state; the stage ends with the first round in \
             which all are steady, or after `at_most`.",
            [
                "run snia-iops --target twin:small-flash --set runtime=0.02",
                "run snia-iops --target twin:small-flash,gc=off,reserve=off --set runtime=0.02",
                "round: a fresh target has to settle; where nothing is collected there is nothing to settle, and five rounds are enough.",
            ],
        ),
        Kind::Saturation => (
            "The load from which on more of it brings only more latency.",
            "Cases that differ in numjobs, iodepth or rate_iops alone: the first value with 90 % of the largest rate. Where \
             that is the last value, saturation was not reached.",
            [
                "run dorado-2100-g2 --target twin:dorado-2100-g2 --stage group-2 --only rwmixread=100 --only ioengine=libaio --only iodepth=32 --only bs=4k --only numjobs=1,4,16,64 --set runtime=0.1",
                "run dorado-2100-g2 --target twin:dorado-2100-g2,processors=off --stage group-2 --only rwmixread=100 --only ioengine=libaio --only iodepth=32 --only bs=4k --only numjobs=1,4,16,64 --set runtime=0.1",
                "at: the controllers' processors are full with 4 jobs; when they take no time, more jobs go on bringing more.",
            ],
        ),
        Kind::Maximum => (
            "The highest rate of a group of cases that differ in jobs, depth and engine alone, with its latency.",
            "The largest mean rate; what bounds it stands in the limit of the same case.",
            [
                "run dorado-2100-g2 --target twin:dorado-2100-g2 --stage group-2 --only rwmixread=100 --only ioengine=libaio --only iodepth=32 --only bs=4k --only numjobs=1,4,16,64 --set runtime=0.1",
                "run dorado-2100-g2 --target twin:dorado-2100-g2,processors=off --stage group-2 --only rwmixread=100 --only ioengine=libaio --only iodepth=32 --only bs=4k --only numjobs=1,4,16,64 --set runtime=0.1",
                "iops: the controllers' processors bound it; without their time it is several times as high.",
            ],
        ),
        Kind::BoundedMaximum => (
            "The highest rate whose mean latency is no more than 1 ms: what an application that waits can use.",
            "Of the cases of a group whose mean completion latency, reads and writes together, is at most 1 ms.",
            [
                "run e2700 --target twin:e2700 --stage patterns --only layout=raid10 --only rw=randwrite --only bs=4k --set runtime=5",
                "run e2700 --target twin:e2700 --stage patterns --only layout=raid10 --only rw=randwrite --only bs=4k --set runtime=5 --set write_cache=off",
                "iops: as long as the cache has room, writes are answered within 1 ms; when each has to be on its disks first, no case keeps the bound and iops is null.",
            ],
        ),
        Kind::FoundLoad => (
            "The largest load whose latency stays under a bound of the plan's choice, with its confidence interval: what a \
             target is worth to an application with a promise to keep.",
            "A search over rate or depth: twice the load until the bound breaks, then ever closer to where a line through 1 / \
             latency crosses it. Each point is cut into sections whose scatter is its error (sectioning), and a line through \
             the points within 25 % of the answer carries the errors over to the load (delta method); points that scatter by \
             more widen it (Birge ratio).",
            [
                "run bound.yaml --target twin:storpool,volume=nvme,limit_iops=1000",
                "run bound.yaml --target twin:storpool,volume=nvme,limit_iops=1000,limits=off",
                "load and confidence_95: a volume that is held to 1,000 IOPS serves an I/O each millisecond, so that the bound breaks just below; without limits the search goes on to what the volume can do.",
            ],
        ),
        Kind::MinimalLatency => (
            "The lowest mean latency of a group of cases, and the jobs at which it is still had.",
            "The smallest mean over reads and writes; jobs within 5 % of it are listed.",
            [
                "run dorado-2100-g2 --target twin:dorado-2100-g2 --stage group-2 --only rwmixread=0 --only ioengine=sync --only bs=4k --only numjobs=1,2,4 --set runtime=0.1",
                "run dorado-2100-g2 --target twin:dorado-2100-g2 --stage group-2 --only rwmixread=0 --only ioengine=sync --only bs=4k --only numjobs=1,2,4 --set runtime=0.1 --set write_cache=on",
                "mean_latency_ns: without its cache the array answers a write when data and parity are in the drives; with it at once.",
            ],
        ),
        Kind::BestBlockSize => (
            "The block size that gives most at no cost: the largest with at least 90 % of the largest IOPS.",
            "Cases that differ in block size alone, three sizes at least.",
            [
                "run flashsystem-840 --target twin:flashsystem-840 --stage block-size --set runtime=0.2 --set ramp_time=0.1",
                "run flashsystem-840 --target twin:flashsystem-840,bandwidth=off,links=off,processors=off --stage block-size --set runtime=0.2 --set ramp_time=0.1",
                "best_bs: every byte takes time on the modules' read path, so small blocks give the highest IOPS; where modules, links and controllers transfer bytes in no time, larger blocks give as many.",
            ],
        ),
        Kind::Flattening => (
            "The block size from which on the array moves a constant number of bytes a second, so that IOPS halve as \
             blocks double: something that carries bytes is full.",
            "The first size from which on every larger one is within 10 % of their mean, over three sizes at least.",
            [
                "run flashsystem-840 --target twin:flashsystem-840 --stage block-size --set runtime=0.2 --set ramp_time=0.1",
                "run flashsystem-840 --target twin:flashsystem-840,bandwidth=off,links=off,processors=off --stage block-size --set runtime=0.2 --set ramp_time=0.1",
                "flattens: the modules' read path is full from some size on; where modules, links and controllers carry bytes in no time, bytes a second grow with every size.",
            ],
        ),
        Kind::Limit => (
            "What bounds the rate: a link, a controller, the drives, the generator, the rate that was asked for, or \
             the number of I/Os outstanding.",
            "On a twin every part counts its busy time: the busiest kind of part, from 90 % on. Where none is, and \
             the same with half or twice as many I/Os outstanding does as many, or half of them wait for room or in queues, the \
             busiest kind from 50 % on; else more I/Os outstanding would do more. On a device the host's \
             processors and a disk's queue are looked at; what lies inside it is unknown.",
            [
                "run dorado-2100-g2 --target twin:dorado-2100-g2 --stage group-2 --only rwmixread=100 --only ioengine=libaio --only iodepth=32 --only bs=4k --only numjobs=1,4,16,64 --set runtime=0.1",
                "run dorado-2100-g2 --target twin:dorado-2100-g2,processors=off --stage group-2 --only rwmixread=100 --only ioengine=libaio --only iodepth=32 --only bs=4k --only numjobs=1,4,16,64 --set runtime=0.1",
                "by and part: the controller, until its processors take no time; then something else.",
            ],
        ),
        Kind::PathBalance => (
            "How evenly load divides over the paths to the array.",
            "Bytes of each link of a twin, of each port of the host and of each path to a device (dm-multipath, NVMe \
             multipath) over the counted time, as shares; of several such devices the least even one is shown.",
            [
                "run flashsystem-840 --target twin:flashsystem-840 --stage peak-4k --set runtime=0.2 --set ramp_time=0.1",
                "run flashsystem-840 --target twin:flashsystem-840,balancing=off --stage peak-4k --set runtime=0.2 --set ramp_time=0.1",
                "largest_over_mean: 1 where hosts take their paths in turn, and as many as a host has where it uses one of them.",
            ],
        ),
        Kind::HostBalance => (
            "How evenly load divides over the hosts that issue it, and which of them is slowest.",
            "I/Os a second of each host over the counted time, as shares of all; a host that is slower than others has a \
             slower path, processor or clock of its own.",
            [
                "run bound.yaml --stage even --host a=local --host b=local --target @a=file:/tmp/arraylab-explain-a.img,size=16m --target @b=file:/tmp/arraylab-explain-b.img,size=16m",
                "run bound.yaml --stage uneven --host a=local --host b=local --target @a=file:/tmp/arraylab-explain-a.img,size=16m --target @b=file:/tmp/arraylab-explain-b.img,size=16m",
                "largest_over_mean: 1 where both agents issue at one rate, and nearly 2 where one of them has a tenth of the other's.",
            ],
        ),
        Kind::WritePenalty => (
            "How much slower writes are than reads on the same set, because of what redundancy adds: two I/Os for RAID \
             10, four for RAID 5, six for RAID 6.",
            "Pairs of cases that differ in their direction alone; the ratio has a confidence interval over the intervals.",
            [
                "run raid-levels --target twin:raid-levels --only raid=5 --only disks=8 --only bs=512 --only rwmixread=0,100 --only write_cache=off --set runtime=10",
                "run raid-levels --target twin:raid-levels,parity=off --only raid=5 --only disks=8 --only bs=512 --only rwmixread=0,100 --only write_cache=off --set runtime=10",
                "ratio: about a quarter, because a write reads and writes data and parity; without parity what is left is the arm's settling for a write.",
            ],
        ),
        Kind::Effect => (
            "What a change of one setting does, all others equal.",
            "Pairs of cases of a stage that differ in it alone. With three pairs or more the confidence interval is over \
             the pairs, with one over its intervals.",
            [
                "run raid-levels --target twin:raid-levels --only raid=0,5 --only disks=8 --only bs=512 --only rwmixread=0 --only write_cache=off --set runtime=10",
                "run raid-levels --target twin:raid-levels,parity=off --only raid=0,5 --only disks=8 --only bs=512 --only rwmixread=0 --only write_cache=off --set runtime=10",
                "ratio and beyond_noise of raid: RAID 5 writes at a third of RAID 0's rate; without parity the two are alike.",
            ],
        ),
        Kind::Disruption => (
            "What an event (a firmware update, a failed drive, a mark) did to the load: changes of level, dips of the rate, \
             bumps of latency, and the I/Os that are missing.",
            "The level is the median before the first event, or since an event that changed it. Intervals beyond four σ and 5 % \
             of it (10 % for latency) belong to a dip or bump; they are looked for from each event to the next. What stays off \
             the level to the end of the case, four intervals at least, is a change of level and no dip.",
            [
                "run flashsystem-840 --target twin:flashsystem-840 --stage firmware-update",
                "run flashsystem-840 --target twin:flashsystem-840,failover=off,verification=off --stage firmware-update",
                "dips: a controller that leaves takes its paths away until the hosts notice; if it goes on working, the update's steps are still noted, and nothing dips.",
            ],
        ),
        Kind::Conformance => (
            "Whether a limit was kept: delivered against allowed in every interval, and how soon a change took effect.",
            "Intervals that lie wholly under one limit; more than 2 % above it is too much.",
            [
                "run storpool --target twin:storpool --stage limits --set runtime=20",
                "run storpool --target twin:storpool,limits=off --stage limits --set runtime=20",
                "intervals_above: at most the interval after a change while limits are kept; all of them where the system has no limits.",
            ],
        ),
    };
    let plan = match kind {
        Kind::FoundLoad => Some(BOUND),
        Kind::HostBalance => Some(TWO_HOSTS),
        _ => None,
    };
    Explanation { kind: kind.name(), what, how_found, experiment: Experiment { plan, on, off, look_for } }
}

//! Bottleneck of a case.

mod other_cases;

pub(crate) use other_cases::OtherCases;

use crate::cited::{Cited, Quantity, Source, Unit};
use crate::finding::Finding;
use crate::level::total;
use crate::observation::{Busy, Interval, ObservedCase};
use crate::{Kind, Level, Limit, PartUse, cited, words};

/// A part that is busy for this share of the time bounds the rate: by the law of busy times no more than a ninth of it
/// could be added.
const FULL: f64 = 0.90;

/// Load generators queue long before all processors are full.
const GENERATOR_FULL: f64 = 0.90;

/// A rate that was asked for is reached within this share.
const RATE_REACHED: f64 = 0.98;

/// I/Os wait for one another only where there are more than so many for each of the parts.
const OUTSTANDING_PER_PART: f64 = 2.0;
/// A part that is busy for less than this share of the time is not what others wait for.
const HALF: f64 = 0.5;

/// Parts are idle while nothing completes: beyond this share of the time, their use says nothing of the rest.
const IDLE_AT_MOST: f64 = 1.0 - FULL;

/// Number of I/Os in the mean interval with any from which on chance leaves none without (at random arrivals, one in e¹⁰).
const IOS_PER_INTERVAL: f64 = 10.0;

/// Finds the bottleneck of a case, beside the others of its run.
pub(crate) fn of(case: &ObservedCase, others: &OtherCases<'_>) -> Finding {
    let level = total(case);
    let uses = uses(case);
    let idle_percent = idle_percent(case);
    let numbers = Numbers { case, level: &level, uses: &uses, idle_percent };
    let Reason { by, part, because } = reason(&numbers, others);
    let named = uses.iter().find(|one| part == name(one));
    let use_percent = named.or(uses.iter().find(|one| by == "generator" && one.part == CPU));
    let fact = Limit {
        by: by.to_owned(),
        use_percent: use_percent.map(|one| one.mean_percent),
        part,
        because,
        iops: level.iops,
        bw_bytes_per_s: level.bw_bytes_per_s,
        idle_percent,
        waiting_commands: (case.waiting_commands > 0.0).then_some(case.waiting_commands),
        uses,
    };
    Finding::of_case(case, fact.into(), None)
}

/// The host's processors among the parts.
const CPU: &str = "cpu";

/// Bottleneck: its kind, which part of it, and why.
struct Reason {
    by: &'static str,
    part: String,
    because: Cited,
}

fn name(part: &PartUse) -> String {
    format!("{} {}", part.part, part.resource)
}

/// The numbers of one case's reason, each with its source.
struct Numbers<'a> {
    case: &'a ObservedCase,
    level: &'a Level,
    uses: &'a [PartUse],
    idle_percent: Option<f64>,
}

impl Numbers<'_> {
    fn of_level(&self, field: &str, value: f64, unit: Unit) -> Quantity {
        level_of(&self.case.path(), field, value, unit)
    }

    fn iops(&self) -> Cited {
        self.of_level("iops", self.level.iops, Unit::Iops).iops()
    }

    fn latency(&self) -> Cited {
        self.of_level("mean_latency_ns", self.level.mean_latency_ns, Unit::Ns).latency()
    }

    fn outstanding(&self) -> Cited {
        self.of_level("outstanding", self.level.outstanding, Unit::Count).mean_count("I/O")
    }

    /// Source of a field of this very finding.
    fn own(&self, field: &str) -> Source {
        Source::finding(&format!("{}/{}", Kind::Limit.name(), self.case.path()), field)
    }

    /// Share of the time without any I/O, where the use of parts says nothing of the rest.
    fn idle(&self) -> Option<Cited> {
        let percent = self.idle_percent.filter(|percent| *percent > 100.0 * IDLE_AT_MOST)?;
        Some(Quantity::new(percent, Unit::Ratio, self.own("idle_percent")).of_percent().percent())
    }

    /// Source of a field of a part's use.
    fn source_of_use(&self, part: &PartUse, field: &str) -> Source {
        let place = self.uses.iter().position(|one| std::ptr::eq(one, part)).unwrap_or(0);
        self.own(&format!("uses.{place}.{field}"))
    }

    fn of_use(&self, part: &PartUse, field: &str, value: f64, unit: Unit) -> Quantity {
        Quantity::new(value, unit, self.source_of_use(part, field))
    }

    fn share(&self, part: &PartUse) -> Cited {
        self.of_use(part, "mean_percent", part.mean_percent, Unit::Ratio).of_percent().percent()
    }

    fn largest_share(&self, part: &PartUse) -> Cited {
        self.of_use(part, "largest_percent", part.largest_percent, Unit::Ratio).of_percent().percent()
    }

    /// The part as the beginning of a sentence, with its verb.
    fn busy(&self, part: &PartUse) -> Cited {
        let name = self.source_of_use(part, "part");
        words::busy(part, self.of_use(part, "parts", part.parts as f64, Unit::Count), name)
    }
}

/// A field of the level of a case.
fn level_of(path: &str, field: &str, value: f64, unit: Unit) -> Quantity {
    Quantity::new(value, unit, Source::finding(&format!("{}/{path}", Kind::Level.name()), field))
}

/// The first that applies: a rate that was asked for, parts that are full, parts of which those that are full do most, time without
/// any I/O, time in the host, time in queues, too little outstanding.
fn reason(numbers: &Numbers<'_>, others: &OtherCases<'_>) -> Reason {
    let Numbers { case, uses, .. } = *numbers;
    if let Some(held) = held(case, numbers) {
        return held;
    }
    let busiest = uses.iter().find(|part| is_of_model(part));
    if let Some(part) = busiest.filter(|part| part.mean_percent >= 100.0 * FULL) {
        return Reason {
            by: class(part),
            part: name(part),
            because: cited!(
                "{} busy {} of the time{}",
                numbers.busy(part),
                numbers.share(part),
                words::way(part)
            ),
        };
    }
    let generator = uses.iter().find(|part| part.part == CPU);
    if let Some(cpu) = generator.filter(|cpu| cpu.mean_percent >= 100.0 * GENERATOR_FULL) {
        return Reason {
            by: "generator",
            part: CPU.into(),
            because: cited!("the host’s processors are busy {} of the time", numbers.share(cpu)),
        };
    }
    if let Some(part) = uses.iter().find(|part| is_of_model(part) && is_mostly_full(case, part)) {
        return Reason {
            by: class(part),
            part: name(part),
            because: cited!(
                "{} busy {} of the time in the mean, the busiest {}: the load is not even{}",
                numbers.busy(part),
                numbers.share(part),
                numbers.largest_share(part),
                words::way(part)
            ),
        };
    }
    let Some(part) = busiest else {
        return unknown(cited!(
            "the target shows nothing of its parts; mean latency is {} with {} outstanding",
            numbers.latency(),
            numbers.outstanding()
        ));
    };
    if let Some(idle) = numbers.idle() {
        let iops = numbers.iops();
        return unknown(cited!(
            "no I/O completed in {} of the time; over all of it there are {}",
            idle,
            iops
        ));
    }
    in_host(part, numbers).or_else(|| queued(part, others, numbers)).unwrap_or_else(|| few(part, numbers))
}

fn unknown(because: Cited) -> Reason {
    Reason { by: "unknown", part: String::new(), because }
}

/// Returns whether a part's utilisation is that of a twin's or served array's model, and not what the host measures.
fn is_of_model(part: &PartUse) -> bool {
    part.part != CPU && part.part != "disk"
}

/// Returns whether most of what parts of a kind do is done by those that are full: one controller of two, the drives of one stripe of
/// many. One full drive among many busy ones, such as that which a rebuild fills, bounds nobody but itself.
fn is_mostly_full(case: &ObservedCase, part: &PartUse) -> bool {
    let is_like = |busy: &&Busy| busy.of.part == part.part && busy.of.resource == part.resource;
    let shares = || case.busy.iter().filter(is_like).map(|busy| busy.share);
    let full: f64 = shares().filter(|share| *share >= FULL).sum();
    full > 0.0 && full >= HALF * shares().sum::<f64>()
}

/// A rate that was asked for and delivered, or a limit that was set.
fn held(case: &ObservedCase, numbers: &Numbers<'_>) -> Option<Reason> {
    let setting = |name: &str, unit| {
        let source = Source::setting(&case.stage, &case.name, name);
        Some(Quantity::new(case.number(name)?, unit, source))
    };
    let requested = setting("rate_iops", Unit::Iops).map(|rate| match setting("numjobs", Unit::Count) {
        Some(jobs) => rate.times(&jobs),
        None => rate,
    });
    if let Some(requested) =
        requested.filter(|requested| numbers.level.iops >= RATE_REACHED * requested.value())
    {
        return Some(Reason {
            by: "rate",
            part: "rate_iops".into(),
            because: cited!("{} were asked for and {} delivered", requested.iops(), numbers.iops()),
        });
    }
    let is_limited = case
        .limits
        .iter()
        .any(|limit| limit.load.is_none() && (limit.iops.is_some() || limit.bw_bytes_per_s.is_some()));
    is_limited.then(|| Reason {
        by: "rate",
        part: "limit".into(),
        because: cited!(
            "the limits that were set allow no more for some of the time; {} were delivered",
            numbers.iops()
        ),
    })
}

/// Parts of a kind are seldom full together: while some collect garbage or move their arms, the I/Os of all queue up at those,
/// and the others wait. Then more I/Os would only wait longer.
fn queued(part: &PartUse, others: &OtherCases<'_>, numbers: &Numbers<'_>) -> Option<Reason> {
    let shown = levelled(others, numbers)
        .or_else(|| waiting_for_room(numbers))
        .or_else(|| waiting(part, others, numbers))?;
    Some(if part.mean_percent >= 100.0 * HALF {
        let because = cited!(
            "{} busy {} of the time in the mean{}{}: {}",
            numbers.busy(part),
            numbers.share(part),
            words::way(part),
            if part.parts > 1 { ", though not all at once" } else { "" },
            shown
        );
        Reason { by: class(part), part: name(part), because }
    } else {
        unknown(cited!(
            "no part that is counted is busy more than {} of the time, yet {}",
            numbers.share(part),
            shown
        ))
    })
}

/// The run itself shows it: the same with half or twice as much outstanding does as many I/Os.
fn levelled(others: &OtherCases<'_>, numbers: &Numbers<'_>) -> Option<Cited> {
    let other = others.with_as_many(numbers.case, numbers.level)?;
    let of_other = |field: &str, value: f64, unit| level_of(&other.path, field, value, unit);
    Some(cited!(
        "{} outstanding do {}, {} do {}",
        numbers.outstanding(),
        numbers.iops(),
        of_other("outstanding", other.outstanding, Unit::Count).mean_count("I/O"),
        of_other("iops", other.iops, Unit::Iops).iops()
    ))
}

/// The twin counts it: most of what is outstanding waits for room in the controllers, and is not at work.
fn waiting_for_room(numbers: &Numbers<'_>) -> Option<Cited> {
    let count = numbers.case.waiting_commands;
    (count >= HALF * numbers.level.outstanding && count > 0.0).then(|| {
        cited!(
            "of {} outstanding {} wait for room in the controllers",
            numbers.outstanding(),
            Quantity::new(count, Unit::Count, numbers.own("waiting_commands")).plain(1)
        )
    })
}

/// Time in queues, beside the latency of the same where hardly any wait.
fn waiting(part: &PartUse, others: &OtherCases<'_>, numbers: &Numbers<'_>) -> Option<Cited> {
    let level = numbers.level;
    if level.outstanding <= OUTSTANDING_PER_PART * part.parts as f64 {
        return None;
    }
    let unloaded = others.beside(numbers.case, level.outstanding);
    (level.mean_latency_ns >= unloaded.factor * unloaded.latency_ns).then(|| {
        cited!(
            "{} outstanding wait {}, where {} is {}",
            numbers.outstanding(),
            numbers.latency(),
            unloaded.of,
            level_of(&unloaded.path, "mean_latency_ns", unloaded.latency_ns, Unit::Ns).latency()
        )
    })
}

/// Threads of hosts that are busy most of the time, while most of what the jobs may have outstanding is not in the array: what the
/// threads do before an I/O goes out is in no latency, and no array could make it shorter.
fn in_host(part: &PartUse, numbers: &Numbers<'_>) -> Option<Reason> {
    let (case, level, uses) = (numbers.case, numbers.level, numbers.uses);
    let allowed = case.number("numjobs").unwrap_or(1.0) * case.number("iodepth").unwrap_or(1.0);
    let is_host = class(part) == "generator" && part.resource == "threads";
    if !is_host || part.mean_percent < 100.0 * HALF || level.outstanding > (1.0 - HALF) * allowed {
        return None;
    }
    let of_array = uses.iter().find(|part| class(part) != "generator" && is_of_model(part));
    let beside = match of_array {
        Some(part) => cited!(", no part of the array more than {}", numbers.share(part)),
        None => Cited::default(),
    };
    let because = cited!("{} busy {} of the time{}", numbers.busy(part), numbers.share(part), beside);
    Some(Reason { by: "generator", part: name(part), because })
}

/// On a twin every part is seen: where none is full, time is spent in latency, and more I/Os would do more.
fn few(part: &PartUse, numbers: &Numbers<'_>) -> Reason {
    let is_any_full = numbers.uses.iter().any(|one| one.largest_percent >= 100.0 * FULL);
    Reason {
        by: "concurrency",
        part: name(part),
        because: cited!(
            "no {} is full (at most, {} busy {} of the time{}), and with {} outstanding, {} each, there are {}",
            if is_any_full { "kind of part" } else { "part" },
            numbers.busy(part),
            numbers.share(part),
            words::way(part),
            numbers.outstanding(),
            numbers.latency(),
            numbers.iops()
        ),
    }
}

/// Link, controller, drive or generator, by what a twin calls its parts.
fn class(part: &PartUse) -> &'static str {
    match (array::without_group(&part.part), part.resource.as_str()) {
        ("link" | "port" | "network" | "nic" | "drive-links" | "mirror" | "replication", _)
        | (_, "send" | "receive") => "link",
        ("controller" | "server" | "node" | "cache" | "block" | "nvmed" | "write-buffer", _) => "controller",
        ("host" | "hosts" | "client", _) => "generator",
        _ => "drive",
    }
}

/// Share of the counted time in intervals in which no I/O completed, in percent; `None` where there is none, or where chance may be
/// why.
fn idle_percent(case: &ObservedCase) -> Option<f64> {
    let (busy, idle): (Vec<Interval>, Vec<Interval>) =
        case.counted().into_iter().partition(|interval| interval.all().ios > 0.0);
    let ios: f64 = busy.iter().map(|interval| interval.all().ios).sum();
    let length_s = |intervals: &[Interval]| intervals.iter().map(Interval::length_s).sum::<f64>();
    let share = length_s(&idle) / (length_s(&idle) + length_s(&busy));
    (!idle.is_empty() && ios >= IOS_PER_INTERVAL * busy.len() as f64).then_some(100.0 * share)
}

/// Uses of like parts, the busiest kind first. Parts that were not used at all (a hot spare) do not count.
fn uses(case: &ObservedCase) -> Vec<PartUse> {
    let mut kinds: Vec<(&str, &str, Vec<f64>)> = Vec::new();
    for busy in &case.busy {
        let of = &busy.of;
        match kinds.iter_mut().find(|(part, resource, _)| *part == of.part && *resource == of.resource) {
            Some((_, _, shares)) => shares.push(busy.share),
            None => kinds.push((&of.part, &of.resource, vec![busy.share])),
        }
    }
    let mut uses: Vec<PartUse> = kinds
        .into_iter()
        .filter_map(|(part, resource, shares)| {
            let used: Vec<f64> = shares.into_iter().filter(|share| *share > 1e-6).collect();
            let largest = used.iter().copied().fold(0.0, f64::max);
            (!used.is_empty()).then(|| PartUse {
                part: part.to_owned(),
                resource: resource.to_owned(),
                mean_percent: 100.0 * crate::statistics::mean(&used),
                largest_percent: 100.0 * largest,
                parts: used.len(),
            })
        })
        .collect();
    uses.sort_by(|a, b| b.mean_percent.total_cmp(&a.mean_percent));
    uses
}

//! Check of the words of sentences and tiles: the words about a number are those of its field, the load is that of
//! its case, and a superlative is one.

use crate::expression::Expression;
use crate::resolve::Resolver;
use crate::run::{Case, Run};
use crate::{Findings, close};
use serde_json::Value;

/// Superlative that a sentence claims of its first number.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Superlative {
    HighestIops,
    HighestBandwidth,
    LowestLatency,
    HighestIopsWithinBound,
}

use Superlative::{HighestBandwidth, HighestIops, HighestIopsWithinBound, LowestLatency};

/// Every sentence that reports may say: words with the field of each number in brackets, and `*` for loads and reasons. A
/// sentence that is none of these is a contradiction by itself: nobody has said here what its numbers must be.
const SENTENCES: &[(&str, Option<Superlative>)] = &[
    ("At most [iops] were reached, at [mean_latency_ns] mean latency (*).", Some(HighestIops)),
    (
        "At most [iops] were reached, at [mean_latency_ns] mean latency over reads and writes (*).",
        Some(HighestIops),
    ),
    ("At most [bw_bytes_per_s] were moved (*).", Some(HighestBandwidth)),
    (
        "With mean latency of no more than [latency-bound] at most [iops] were reached (*).",
        Some(HighestIopsWithinBound),
    ),
    (
        "No case kept mean latency under [latency-bound]; the lowest was [mean_latency_ns] (*).",
        Some(LowestLatency),
    ),
    ("The lowest mean latency is [mean_latency_ns] (*).", Some(LowestLatency)),
    ("The lowest mean latency over reads and writes is [mean_latency_ns] (*).", Some(LowestLatency)),
    (
        "Up to *[load] ([confidence] confidence: *[confidence_95] to *[confidence_95]) * latency stays under [below_ns] (*).",
        None,
    ),
    (
        "Writes fall by [depth_percent] after [onset_s] and [bytes_written] written, of which about [reserve_bytes] used up a \
         reserve: from [before.iops] ([before.bw_bytes_per_s]) to [after.iops] ([after.bw_bytes_per_s]). In the long run \
         [sustained.iops]* remain (*).*",
        None,
    ),
    (
        "In [count(write-cliff)] writes fall, after [min(onset_s)] to [max(onset_s)]; half of them after [quartile1(onset_s)] to \
         [quartile3(onset_s)].",
        None,
    ),
    ("In [count(write-cliff)] writes fall, after [min(onset_s)] to [max(onset_s)].", None),
    (
        "Within the ramp, which is not counted, writes fall by [depth_percent] after [onset_s] and [bytes_written] written: from \
         [before.iops] ([before.bw_bytes_per_s]) to [after.iops] ([after.bw_bytes_per_s]) (*).",
        None,
    ),
    (
        "Within the ramp, which is not counted, writes fall in [count(ramp-fall)], most by [depth_percent] after [onset_s] and \
         [bytes_written] written: from [before.iops] ([before.bw_bytes_per_s]) to [after.iops] ([after.bw_bytes_per_s]) (*).",
        None,
    ),
    (
        "In the ramp before, which is not counted, they fell by [depth_percent] after [onset_s], with [bytes_written] written: *.",
        None,
    ),
    (
        "No write cliff was found in [count(no-write-cliff)] with writes, the longest of [length_s]: *. Whether longer load \
         would bring one is not proven.",
        None,
    ),
    (
        "No write cliff was found after the ramp in [count(no-write-cliff)] with writes, the longest of [length_s]: *. Whether \
         longer load would bring one is not proven.",
        None,
    ),
    (
        "Whether writes fall after the ramp is not shown by any of [count(no-write-cliff)] with writes; of the longest, \
         [length_s]: *.",
        None,
    ),
    (
        "Whether writes fall is not shown by any of [count(no-write-cliff)] with writes; of the longest, [length_s]: *.",
        None,
    ),
    ("Neither the rate nor latency leaves its level beyond noise after *.", None),
    (
        "Limits were kept in [difference(intervals,intervals_above)] of [sum(intervals)] under [count(conformance)].",
        None,
    ),
    (
        "[count(steady-state)] did not reach SNIA’s steady state (* among them): that their means would last is not proven.",
        None,
    ),
    (
        "[count(steady-state)] did not reach SNIA’s steady state (*): that its mean would last is not proven.",
        None,
    ),
    ("It saturates at * = [at], with [iops] at [mean_latency_ns] (*).", None),
    (
        "The host that made the load saturates at * = [at], with [iops] at [mean_latency_ns] (*): where the target does is not \
         shown.",
        None,
    ),
    ("It does not saturate within the * tested: the last step still gains (*).", None),
    (
        "Blocks of [best_bs] suit it best: [iops_share_percent] of the largest IOPS and [bw_bytes_per_s]; from \
         [best_bs_for_bandwidth] on, bandwidth is within [knee-tolerance] of the largest (*).",
        None,
    ),
    (
        "From [from_bs] on the same bytes move each second, [bw_bytes_per_s] (± [deviation_percent]): larger blocks are as \
         many fewer operations (*).",
        None,
    ),
    (
        "RAID [raid]: random writes reach [min(ratio)] to [max(ratio)] of reads over [count(write-penalty)]; the rule of thumb \
         says [rule_of_thumb].",
        None,
    ),
    ("The paths of * share the load evenly: * where they differ most (*).", None),
    ("The paths of * do not share the load evenly: * (*).", None),
    ("The *s of the host share the load evenly: * where they differ most (*).", None),
    ("The *s of the host do not share the load evenly: * (*).", None),
    ("Published (*): “*” This run shows otherwise: *.", None),
    ("Not shown by this run: *. *: *.", None),
    // What limits, with a reason of its own below.
    ("What limits * is not proven: ‹reason›.", None),
    ("What limits [count(limit)] is not proven. At *: ‹reason›.", None),
    ("* limits [count(limit)]. At *: ‹reason›.", None),
    ("* limit [count(limit)]. At *: ‹reason›.", None),
    ("* limits *: ‹reason›.", None),
    ("* limit *: ‹reason›.", None),
    // Events.
    (
        "“*” (at [at_s]): ‹rate›; ‹latency›; over all I/Os from then on mean latency is ‹latency-mean›; ‹errors›.",
        None,
    ),
    // In short.
    ("The model has no garbage collection: no write cliff could be seen.", None),
    (
        "After writes have fallen, up to [sustained.iops] remain (*); up to [sustained.iops] (*), or up to \
         [sustained.bw_bytes_per_s] (*).",
        None,
    ),
    (
        "After writes have fallen, up to [sustained.iops] remain (*); up to [sustained.iops] (*); up to [sustained.iops] (*), or up \
         to [sustained.bw_bytes_per_s] (*).",
        None,
    ),
    (
        "After writes have fallen, up to [sustained.iops] remain (*); up to [sustained.iops] (*); up to [sustained.iops] (*); up to \
         [sustained.iops] (*), or up to [sustained.bw_bytes_per_s] (*).",
        None,
    ),
    (
        "In [count(no-write-cliff)] of [count(write-cliff)] that write long enough, writes did not fall. In [count(write-cliff)] \
         they fall by ‹depth› after ‹onset›, with ‹written› written*.",
        None,
    ),
    ("After writes have fallen, up to [sustained.iops] or [sustained.bw_bytes_per_s] remain (*).", None),
    (
        "After writes have fallen, up to [sustained.iops] remain (*), or up to [sustained.bw_bytes_per_s] (*).",
        None,
    ),
    ("Up to ‹lasting›, over the measured [duration_s].", None),
    ("Up to ‹lasting›, over the measured [duration_s] and [duration_s].", None),
    ("Writes did not fall within the tested range, at most [length_s] at a stretch.", None),
    ("Whether writes fall is not shown: *", None),
    ("Whether writes fall after the ramp is not shown: *", None),
    ("Writes fall by ‹depth› after ‹onset›, with ‹written› written*.", None),
    (
        "In [count(write-cliff)] of [count(write-cliff)] that write long enough, writes fall by ‹depth› after ‹onset›, with \
         ‹written› written*.",
        None,
    ),
    ("The earliest begins after [onset_s], with [bytes_written] written: *.", None),
    ("Around the event “*” IOPS dip ‹dip-size› for [dips.length_s].", None),
    (
        "Around the event “*” IOPS dip ‹dip-size› and had not recovered when the case ended after [dips.length_s].",
        None,
    ),
    ("After the event “*” IOPS stay [-rate_change.change_percent] lower from [rate_change.from_s] on.", None),
    ("Not found: ‹reason› (*).", None),
    ("What limits ‹share› was not found. * *: ‹reason›.", None),
    ("In ‹share› more I/Os outstanding would do more. * *: ‹reason›.", None),
    ("* limit ‹share›. * *: ‹reason›.", None),
    ("* limits ‹share›. * *: ‹reason›.", None),
    ("*: ‹reason› (*).", None),
];

/// Words for a change of level that began late after its event; none for one that began with it.
const HELD_RATE: &[&str] =
    &["", ", having held for [rate_change.held_s] after the event, so that it may have another cause"];
const HELD_LATENCY: &[&str] =
    &["", ", having held for [latency_change.held_s] after the event, so that it may have another cause"];

/// Parts of sentences by name.
const PARTS: &[(&str, &[&str])] = &[
    (
        "reason",
        &[
            "the target shows nothing of its parts; mean latency is [mean_latency_ns] with [outstanding] outstanding",
            "* busy [uses.mean_percent] of the time*",
            "[product(rate_iops)] were asked for and [iops] delivered",
            "[rate_iops] were asked for and [iops] delivered",
            "the limits that were set allow no more for some of the time; [iops] were delivered",
            "no I/O completed in [idle_percent] of the time; over all of it there are [iops]",
            "* busy [uses.mean_percent] of the time in the mean*: [outstanding] outstanding do [iops], [outstanding] do [iops]",
            "no part that is counted is busy more than [uses.mean_percent] of the time, yet [outstanding] outstanding do [iops], \
             [outstanding] do [iops]",
            "* busy [uses.mean_percent] of the time in the mean*: of [outstanding] outstanding [waiting_commands] wait for room in \
             the controllers",
            "no part that is counted is busy more than [uses.mean_percent] of the time, yet of [outstanding] outstanding \
             [waiting_commands] wait for room in the controllers",
            "* busy [uses.mean_percent] of the time in the mean*: [outstanding] outstanding wait [mean_latency_ns], where * is \
             [mean_latency_ns]",
            "no part that is counted is busy more than [uses.mean_percent] of the time, yet [outstanding] outstanding wait \
             [mean_latency_ns], where * is [mean_latency_ns]",
            "* busy [uses.mean_percent] of the time, no part of the array more than [uses.mean_percent]",
            "no part is full (at most, * busy [uses.mean_percent] of the time*), and with [outstanding] outstanding, \
             [mean_latency_ns] each, there are [iops]",
            "no kind of part is full (at most, * busy [uses.mean_percent] of the time*), and with [outstanding] outstanding, \
             [mean_latency_ns] each, there are [iops]",
            "* busy [uses.mean_percent] of the time in the mean, the busiest [uses.largest_percent]: the load is not even*",
        ],
    ),
    (
        "rate",
        &[
            "IOPS do not leave their level beyond noise",
            "IOPS ‹dips›",
            "IOPS ‹rate-stays›",
            "IOPS ‹dips› and ‹rate-stays›",
        ],
    ),
    (
        "dips",
        &[
            "fall by up to [dips.extreme_percent], for [dips.length_s]",
            "fall by up to [dips.extreme_percent] and had not recovered when the case ended after [dips.length_s]",
            "fall by up to [dips.extreme_percent], [count(disruption)] times, for [dips.length_s] at the longest",
            "fall by up to [dips.extreme_percent], [count(disruption)] times, for [dips.length_s] at the longest, and had not \
             recovered when the case ended",
        ],
    ),
    (
        "rate-stays",
        &[
            "stay [-rate_change.change_percent] lower from [rate_change.from_s] on ([rate_change.before_iops] before, \
             [rate_change.after_iops] after)‹rate-held›",
            "stay [+rate_change.change_percent] higher from [rate_change.from_s] on ([rate_change.before_iops] before, \
             [rate_change.after_iops] after)‹rate-held›",
        ],
    ),
    (
        "latency",
        &[
            "mean latency does not leave its level beyond noise",
            "mean latency ‹bumps›",
            "mean latency ‹latency-stays›",
            "mean latency ‹bumps› and ‹latency-stays›",
        ],
    ),
    (
        "bumps",
        &[
            "rises ‹bump-size›, for [latency_bumps.length_s]",
            "rises ‹bump-size› and had not recovered when the case ended after [latency_bumps.length_s]",
            "rises ‹bump-size›, [count(disruption)] times, for [latency_bumps.length_s] at the longest",
            "rises ‹bump-size›, [count(disruption)] times, for [latency_bumps.length_s] at the longest, and had not recovered when \
             the case ended",
        ],
    ),
    (
        "bump-size",
        &[
            "by up to [latency_bumps.extreme_percent]",
            "to up to [sum(latency_bumps.extreme_percent)] times the level before",
        ],
    ),
    (
        "latency-stays",
        &[
            "stays [-latency_change.change_percent] lower from [latency_change.from_s] on ([latency_change.before_ns] before, \
             [latency_change.after_ns] after)‹latency-held›",
            "stays [+latency_change.change_percent] higher from [latency_change.from_s] on ([latency_change.before_ns] before, \
             [latency_change.after_ns] after)‹latency-held›",
        ],
    ),
    (
        "latency-mean",
        &[
            "as before",
            "[+difference(mean_latency_percent)] higher than before",
            "[-difference(mean_latency_percent)] lower than before",
            "[mean_latency_percent] times that before",
        ],
    ),
    (
        "dip-size",
        &[
            "by up to [dips.extreme_percent]",
            "by [dips.mean_percent] in the mean and up to [dips.extreme_percent],",
        ],
    ),
    ("rate-held", HELD_RATE),
    ("latency-held", HELD_LATENCY),
    ("errors", &["no I/O failed", "[errors] failed"]),
    (
        "lasting",
        &[
            "‹random›, and up to [bw_bytes_per_s] (*)",
            "‹random›, and up to [sustained.bw_bytes_per_s] (*)",
            "‹random›",
            "[bw_bytes_per_s] (*)",
            "[sustained.bw_bytes_per_s] (*)",
        ],
    ),
    (
        "random",
        &[
            "[iops] at [mean_latency_ns] mean latency (*)",
            "[iops] (*)",
            "[sustained.iops] (*)",
            "[sustained.iops] at [mean_latency_ns] mean latency (*)",
        ],
    ),
    (
        "depth",
        &[
            "[depth_percent]",
            "[median(depth_percent)]",
            "[median(depth_percent)] ([min(depth_percent)] to [max(depth_percent)])",
            "[median(depth_percent)] ([quartile1(depth_percent)] to [quartile3(depth_percent)])",
        ],
    ),
    (
        "onset",
        &[
            "[median(onset_s)]",
            "[median(onset_s)] ([min(onset_s)] to [max(onset_s)])",
            "[median(onset_s)] ([quartile1(onset_s)] to [quartile3(onset_s)])",
        ],
    ),
    (
        "written",
        &[
            "[median(bytes_written)]",
            "[median(bytes_written)] ([min(bytes_written)] to [max(bytes_written)])",
            "[median(bytes_written)] ([quartile1(bytes_written)] to [quartile3(bytes_written)])",
        ],
    ),
    ("share", &["all [count(limit)]", "[count(limit)] of [count(limit)]"]),
];

/// The sentences and the tiles of a report.
pub fn check(found: &mut Findings, run: &Run, resolver: &Resolver<'_>, report: &Value) {
    for sentence in report["sentences"].as_array().into_iter().flatten() {
        let part = sentence["part"].as_str().unwrap_or_default();
        if matches!(part, "verdict" | "decision" | "model") {
            first_page(found, run, resolver, part, sentence);
        }
        if !matches!(part, "found" | "in-short") {
            continue;
        }
        for line in lines(sentence) {
            let flat = flattened(&line.0, &line.1, resolver);
            match SENTENCES.iter().find(|(pattern, _)| matches_sentence(pattern, &flat)) {
                Some((_, superlative)) => {
                    if let Some(superlative) = superlative {
                        best(found, run, resolver, part, *superlative, &line.1, &line.0);
                    }
                }
                None => found.add(
                    part,
                    format!("a sentence that does not say what it cites: “{}” cites {flat}", line.0),
                ),
            }
            loads(found, resolver, part, &line.0, &line.1);
            saturation(found, report, part, &line.0, &line.1);
        }
    }
    for tile in report["tiles"].as_array().into_iter().flatten() {
        self::tile(found, run, resolver, tile);
    }
}

/// Words of parameters by their origin, and of limits by what came of them.
const COUNTED: [(&str, &str); 12] = [
    ("origin/fitted", " fitted to measurements"),
    ("origin/published", " published"),
    ("origin/datasheet", " from datasheets"),
    ("origin/derived", " derived from others"),
    ("origin/assumed", " assumed"),
    ("pass", " kept, "),
    ("fail", " not kept, "),
    ("not-shown", " not shown"),
    ("not-applicable", " not applicable"),
    ("pass-near-constant", " kept by percentiles"),
    ("not-selected", " of the plan: none of the cases that would show them was selected"),
    ("not-shown-selected", " of the plan: the cases that would show them have no result"),
];

/// The verdict and what the model is: each count stands before the words of what it counts, and what is not kept is not kept.
fn first_page(found: &mut Findings, run: &Run, resolver: &Resolver<'_>, part: &str, sentence: &Value) {
    for (text, numbers) in lines(sentence) {
        let flat = flattened(&text, &numbers, resolver);
        for (label, words) in COUNTED {
            for (at, _) in flat.match_indices(&format!("[{label}]")) {
                if !flat[at + label.len() + 2..].starts_with(words) {
                    found.add(part, format!("{label} is counted where “{text}” says something else"));
                }
            }
        }
        for (rest, at) in flat.match_indices("origin/").map(|(at, _)| (&flat[at..], at)) {
            if !COUNTED.iter().any(|(label, _)| rest.starts_with(&format!("{label}]"))) || at == 0 {
                found.add(part, format!("an unknown origin in “{text}”"));
            }
        }
        let failed = text.starts_with("Not kept: ");
        let missing = text.starts_with("Without a result: ") || text.starts_with("Not complete: ");
        for (_, number) in numbers.iter().filter(|_| failed || missing) {
            let from = number["from"].as_str().unwrap_or_default();
            let (Some(stage), Some(name)) = (from.strip_prefix("quote:case/"), number["text"].as_str())
            else {
                continue;
            };
            let is_so = if failed {
                resolver.is_failing(stage, name)
            } else {
                run.case(stage, name).is_some_and(|case| case.state != "done")
            };
            if !is_so {
                found.add(part, format!("{stage} {name} is named where it is not so: “{text}”"));
            }
        }
    }
}

/// The lines of a text, each with its numbers, whose places count from the beginning of the line.
fn lines(sentence: &Value) -> Vec<(String, Vec<(usize, Value)>)> {
    let text = sentence["text"].as_str().unwrap_or_default();
    let mut found = Vec::new();
    let mut from = 0usize;
    for line in text.split('\n') {
        let length = line.chars().count();
        let numbers = sentence["numbers"].as_array().into_iter().flatten().filter_map(|number| {
            let at = number["at"].as_u64()? as usize;
            (at >= from && at < from + length.max(1)).then(|| (at - from, number.clone()))
        });
        found.push((line.to_owned(), numbers.collect()));
        from += length + 1;
    }
    found
}

/// The text with the field of each number that is drawn from samples in its place.
fn flattened(text: &str, numbers: &[(usize, Value)], resolver: &Resolver<'_>) -> String {
    let letters: Vec<char> = text.chars().collect();
    let mut flat = String::new();
    let mut next = 0usize;
    for (at, number) in numbers {
        let length = number["text"].as_str().unwrap_or_default().chars().count();
        if *at < next || at + length > letters.len() {
            continue;
        }
        flat.extend(&letters[next..*at]);
        let from = number["from"].as_str().and_then(Expression::parse);
        match from.and_then(|from| label(&from, resolver)) {
            Some(label) => {
                flat.push('[');
                flat.push_str(&label);
                flat.push(']');
            }
            None => flat.extend(&letters[*at..at + length]),
        }
        next = at + length;
    }
    flat.extend(&letters[next.min(letters.len())..]);
    flat
}

/// Returns the field of an expression with its operations. `None` for settings and repeated words.
fn label(from: &Expression, resolver: &Resolver<'_>) -> Option<String> {
    match from {
        Expression::Source(kind, path) => match kind.as_str() {
            "finding" | "result" => {
                let last = path.rsplit('/').next()?;
                if resolver.field(path).is_some_and(Value::is_string) {
                    return None;
                }
                let steps: Vec<&str> =
                    last.split('.').filter(|step| step.parse::<usize>().is_err()).collect();
                Some(steps.join("."))
            }
            "constant" | "cases" | "requirements" | "page" | "array" => Some(path.clone()),
            _ => None,
        },
        Expression::Call(function, arguments) => {
            let first = arguments.first()?;
            match function.as_str() {
                "count" => {
                    let kind = first
                        .sources()
                        .first()
                        .map(|(_, path)| path.split('/').next().unwrap_or_default())?;
                    Some(format!("count({kind})"))
                }
                "percent" => label(first, resolver),
                // How far, whichever way; a median's change says its way by its word.
                "abs" => match first {
                    Expression::Call(inner, terms) if inner == "difference" => {
                        let change = first.value(&mut |kind, path| resolver.value(kind, path, 0.0)).ok()?;
                        let sign = if change < 0.0 { '-' } else { '+' };
                        Some(format!("{sign}difference({})", label(terms.first()?, resolver)?))
                    }
                    // A change says its way by its word.
                    other => {
                        let own = label(other, resolver)?;
                        if !own.ends_with("change_percent") {
                            return Some(own);
                        }
                        let change = other.value(&mut |kind, path| resolver.value(kind, path, 0.0)).ok()?;
                        Some(format!("{}{own}", if change < 0.0 { '-' } else { '+' }))
                    }
                },
                "difference" => {
                    let terms: Vec<String> =
                        arguments.iter().filter_map(|one| inner_label(one, resolver)).collect();
                    Some(format!("difference({})", terms.join(",")))
                }
                "product" => match first {
                    Expression::Source(kind, path) if kind == "setting" => {
                        Some(format!("product({})", path.rsplit('/').next()?))
                    }
                    _ => Some(format!("product({})", label(first, resolver)?)),
                },
                other => {
                    let mut labels: Vec<String> = arguments
                        .iter()
                        .filter(|one| !matches!(one, Expression::Source(kind, _) if kind == "constant"))
                        .filter_map(|one| label(one, resolver))
                        .collect();
                    labels.sort();
                    labels.dedup();
                    Some(format!("{other}({})", labels.join(",")))
                }
            }
        }
    }
}

/// The label within a sum, for differences of sums.
fn inner_label(from: &Expression, resolver: &Resolver<'_>) -> Option<String> {
    match from {
        Expression::Call(function, arguments) if function == "sum" => label(arguments.first()?, resolver),
        other => label(other, resolver),
    }
}

fn matches_sentence(pattern: &str, flat: &str) -> bool {
    // A part is one of its forms; few sentences have many, so all of them are tried.
    let Some(start) = pattern.find('‹') else { return glob(pattern, flat) };
    let rest = &pattern[start + '‹'.len_utf8()..];
    let Some(end) = rest.find('›') else { return false };
    let (name, after) = (&rest[..end], &rest[end + '›'.len_utf8()..]);
    let forms = PARTS.iter().find(|(known, _)| *known == name).map(|one| one.1).unwrap_or_default();
    forms.iter().any(|form| matches_sentence(&format!("{}{form}{after}", &pattern[..start]), flat))
}

/// Returns true if a text matches a pattern in which `*` is any text but a number that is drawn from samples.
fn glob(pattern: &str, text: &str) -> bool {
    let pieces: Vec<&str> = pattern.split('*').collect();
    let Some(mut rest) = text.strip_prefix(pieces[0]) else { return false };
    if pieces.len() == 1 {
        return rest.is_empty();
    }
    fn follows(pieces: &[&str], text: &str, allows_numbers: bool) -> bool {
        let Some((piece, others)) = pieces.split_first() else { return false };
        if others.is_empty() {
            return text.strip_suffix(piece).is_some_and(|between| allows_numbers || !between.contains('['));
        }
        let mut from = 0;
        while let Some(at) = text[from..].find(piece) {
            let at = from + at;
            if !allows_numbers && text[..at].contains('[') {
                return false;
            }
            if follows(others, &text[at + piece.len()..], allows_numbers) {
                return true;
            }
            from = at + text[at..].chars().next().map_or(1, char::len_utf8);
            if piece.is_empty() && from >= text.len() {
                break;
            }
        }
        false
    }
    // Reasons of claims, further falls and paths have numbers of their own, each of which is checked by itself.
    let is_free = pattern.starts_with("Published (")
        || pattern.starts_with("Not shown by this run")
        || pattern.starts_with("The paths of")
        || pattern.starts_with("The *s of the host")
        || pattern.starts_with("Neither the rate")
        || pattern.starts_with("Writes fall by [depth_percent]")
        || pattern.contains("* busy [uses.mean_percent]")
        || pattern.contains("[load]");
    rest = rest.trim_start_matches('\u{feff}');
    follows(&pieces[1..], rest, is_free)
}

/// The cases that an expression's findings and results are about, as `STAGE/CASE`.
fn cases_of(from: &Expression, resolver: &Resolver<'_>) -> Vec<String> {
    let of = |kind: &str, path: &str| match kind {
        "finding" => {
            let (id, _) = path.rsplit_once('/')?;
            let finding = resolver.finding(id)?;
            let case = finding.get("case").and_then(Value::as_str)?;
            Some(format!("{}/{case}", finding.get("stage")?.as_str()?))
        }
        "result" => path.rsplit_once('/').map(|(case, _)| case.to_owned()),
        _ => None,
    };
    from.sources().into_iter().filter_map(|(kind, path)| of(kind, path)).collect()
}

/// The case of a setting.
fn setting_case(from: &Expression) -> Option<String> {
    let (kind, path) = from.sources().into_iter().next()?;
    (kind == "setting").then(|| path.rsplit_once('/').map(|(case, _)| case.to_owned())).flatten()
}

/// A load in a sentence is that of the case whose numbers stand before it; where none do, of those behind it.
fn loads(found: &mut Findings, resolver: &Resolver<'_>, part: &str, text: &str, numbers: &[(usize, Value)]) {
    // Sentences of claims speak of several cases at once, each by its own words.
    if text.starts_with("Published (") || text.starts_with("Not shown by") {
        return;
    }
    let parsed: Vec<Expression> = numbers
        .iter()
        .filter_map(|(_, number)| Expression::parse(number["from"].as_str()?))
        .filter(|from| !matches!(from, Expression::Source(kind, _) if kind == "constant"))
        .collect();
    let mut since: Vec<String> = Vec::new();
    let mut place = 0;
    while place < parsed.len() {
        let Some(case) = setting_case(&parsed[place]) else {
            since.extend(cases_of(&parsed[place], resolver));
            place += 1;
            continue;
        };
        let behind = || {
            let rest = parsed[place..].iter().skip_while(|from| setting_case(from).is_some());
            rest.take_while(|from| setting_case(from).is_none()).flat_map(|from| cases_of(from, resolver))
        };
        let has_any = parsed.iter().any(|from| !cases_of(from, resolver).is_empty());
        let is_its = match since.is_empty() {
            true => !has_any || behind().any(|other| other == case),
            false => since.contains(&case),
        };
        if !is_its {
            found.add(part, format!("the load of {case} stands beside numbers of {since:?} in “{text}”"));
        }
        // All settings of one load are of one case.
        while let Some(next) = parsed.get(place).and_then(setting_case) {
            if next != case {
                found.add(part, format!("a load is put together of {case} and {next} in “{text}”"));
            }
            place += 1;
        }
        since.clear();
    }
}

/// Checks that the host is what saturates where it limits one of the cases, and the target where it does not.
fn saturation(found: &mut Findings, report: &Value, part: &str, text: &str, numbers: &[(usize, Value)]) {
    let of_host = text.starts_with("The host that made the load saturates");
    if !of_host && !text.starts_with("It saturates") {
        return;
    }
    let findings = || report["findings"].as_array().into_iter().flatten();
    let sources = numbers.iter().filter_map(|(_, number)| Expression::parse(number["from"].as_str()?));
    let id = sources.into_iter().find_map(|from| match from {
        Expression::Source(kind, path) if kind == "finding" => {
            path.rsplit_once('/').map(|(id, _)| id.to_owned())
        }
        _ => None,
    });
    let Some(own) = findings().find(|finding| finding["id"].as_str() == id.as_deref()) else {
        return found.add(part, format!("a saturation without a finding: “{text}”"));
    };
    let cases: Vec<&Value> =
        own["rests_on"].as_array().into_iter().flatten().map(|basis| &basis["case"]).collect();
    let is_host = findings().any(|finding| {
        finding["kind"] == "limit"
            && finding["by"] == "generator"
            && finding["stage"] == own["stage"]
            && cases.contains(&&finding["case"])
    });
    if is_host != of_host {
        found.add(part, format!("the host limits a case: {is_host}, but “{text}”"));
    }
}

/// Checks that the case that a superlative cites has the extreme value.
fn best(
    found: &mut Findings,
    run: &Run,
    resolver: &Resolver<'_>,
    part: &str,
    superlative: Superlative,
    numbers: &[(usize, Value)],
    text: &str,
) {
    let of_samples = numbers
        .iter()
        .filter_map(|(_, number)| Expression::parse(number["from"].as_str()?))
        .find_map(|from| cases_of(&from, resolver).into_iter().next());
    let Some(path) = of_samples else {
        return found.add(part, format!("a superlative without a case: “{text}”"));
    };
    let Some(case) = path.split_once('/').and_then(|(stage, name)| run.case(stage, name)) else {
        return found.add(part, format!("a superlative of no case: “{text}”"));
    };
    let moving = || run.done().filter(|case| case.iops() > 0.0 && !case.reads_nothing());
    let extreme = |value: &dyn Fn(&Case) -> Option<f64>| moving().filter_map(value).reduce(f64::max);
    let (own, most) = match superlative {
        HighestIops => (case.iops(), extreme(&|case| Some(case.iops()))),
        HighestBandwidth => (case.bytes_per_s(), extreme(&|case| Some(case.bytes_per_s()))),
        LowestLatency => (
            -case.mean_latency_ns(),
            extreme(&|case| Some(-case.mean_latency_ns()).filter(|latency| *latency < 0.0)),
        ),
        HighestIopsWithinBound => {
            (case.iops(), extreme(&|case| (case.mean_latency_ns() <= 1e6).then(|| case.iops())))
        }
    };
    if most.is_none_or(|most| !close(own, most)) {
        found.add(part, format!("{path} has {own}, the extreme is {most:?}: “{text}”"));
    }
}

/// A tile: its figure is the field and the extreme that its label names, its detail is of the same case.
fn tile(found: &mut Findings, run: &Run, resolver: &Resolver<'_>, tile: &Value) {
    let label_text = tile["label"].as_str().unwrap_or_default();
    let expected = match label_text {
        "Peak IOPS" => ("iops", HighestIops),
        "Peak bandwidth" => ("bw_bytes_per_s", HighestBandwidth),
        "Lowest mean latency" => ("mean_latency_ns", LowestLatency),
        "Sustained random writes" => return sustained_tile(found, resolver, tile),
        other => return found.add("tile", format!("unknown tile {other}")),
    };
    let numbers = lines(&tile["value"]).into_iter().flat_map(|line| line.1).collect::<Vec<_>>();
    let from = numbers.first().and_then(|(_, number)| Expression::parse(number["from"].as_str()?));
    let of = from.as_ref().and_then(|from| label(from, resolver));
    if numbers.len() != 1 || of.as_deref() != Some(expected.0) {
        found.add("tile", format!("{label_text} cites {of:?}"));
    }
    let text = tile["value"]["text"].as_str().unwrap_or_default();
    best(found, run, resolver, "tile", expected.1, &numbers, &format!("{label_text} {text}"));
    let case = from.map(|from| cases_of(&from, resolver)).unwrap_or_default();
    let flat = lines(&tile["detail"]);
    for (text, numbers) in &flat {
        let says = flattened(text, numbers, resolver);
        if says.contains('[') && !says.contains("mean latency [mean_latency_ns]") {
            found.add("tile", format!("the detail of {label_text} does not say what it cites: {says}"));
        }
        for from in numbers.iter().filter_map(|(_, number)| Expression::parse(number["from"].as_str()?)) {
            let others = setting_case(&from).into_iter().chain(cases_of(&from, resolver));
            for other in others.filter(|other| !case.contains(other)) {
                found.add(
                    "tile",
                    format!("the detail of {label_text} is about {other}, its figure about {case:?}"),
                );
            }
        }
    }
}

/// Checks the tile of sustained random writes: the highest sustained level of all write cliffs of a RAID level.
fn sustained_tile(found: &mut Findings, resolver: &Resolver<'_>, tile: &Value) {
    let numbers = lines(&tile["value"]).into_iter().flat_map(|line| line.1).collect::<Vec<_>>();
    let from = numbers.first().and_then(|(_, number)| Expression::parse(number["from"].as_str()?));
    let of = from.as_ref().and_then(|from| label(from, resolver));
    if of.as_deref() != Some("sustained.iops") {
        found.add("tile", format!("sustained random writes cite {of:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a sentence is only known with the fields that its words name.
    #[test]
    fn words_go_with_fields() {
        let is_known = |flat: &str| SENTENCES.iter().any(|(pattern, _)| matches_sentence(pattern, flat));
        assert!(is_known(
            "At most [iops] were reached, at [mean_latency_ns] mean latency (4K random reads)."
        ));
        assert!(!is_known(
            "At most [iops] were reached, at [read.mean_latency_ns] mean latency (4K random reads)."
        ));
        let event = |latency: &str| {
            format!(
                "“power fails” (at [at_s]): IOPS fall by up to [dips.extreme_percent], for [dips.length_s] and stay \
                 [-rate_change.change_percent] lower from [rate_change.from_s] on ([rate_change.before_iops] before, \
                 [rate_change.after_iops] after); mean latency does not leave its level beyond noise; over all I/Os from then on \
                 mean latency is {latency} than before; no I/O failed."
            )
        };
        assert!(is_known(&event("[+difference(mean_latency_percent)] higher")));
        assert!(!is_known(&event("[-difference(mean_latency_percent)] higher")));
        assert!(!is_known(&event("[+difference(latency_percent)] higher")));
        assert!(is_known(
            "The links limit [count(limit)] of [count(limit)]. For example 4K reads: 8 links are busy [uses.mean_percent] of the \
             time, on the way to the host."
        ));
        assert!(!is_known("Whatever else [iops] may be said."));
    }
}

//! Answers recomputed from the histograms of their cases: latencies, headroom, ranges, verdicts, years, the front.

use super::answers::{Answer, Answers};
use crate::answer_data::{Subject, error_differs, latency_ns, line_rate_iops, range};
use crate::run::Run;
use crate::{Findings, close};
use serde_json::Value;

/// Share of a rate that counts as delivered.
const KEPT_UP: f64 = 0.98;
/// Largest multiple that is tried.
pub(super) const TIMES_LIMIT: f64 = 64.0;

/// Requirement of the question.
struct Requirement<'a> {
    measure: &'a str,
    limit_ns: f64,
}

/// Simulated multiple, from its case.
struct Point {
    times: f64,
    iops: f64,
    latencies_ns: Vec<f64>,
    kept_up: bool,
    is_steady: bool,
    /// Times the workload that the links carry with this case's mix.
    line_rate_times: f64,
}

impl Point {
    fn holds(&self, requirements: &[Requirement<'_>]) -> bool {
        let all = self.latencies_ns.iter().zip(requirements);
        self.kept_up && all.into_iter().all(|(latency, one)| *latency <= one.limit_ns)
    }
}

/// Every answer of the run.
pub fn check(found: &mut Findings, run: &Run, answers: &Answers<'_>) {
    let question = &answers.question.data;
    let requirements: Vec<Requirement<'_>> = question["requirements"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| Requirement {
            measure: one["measure"].as_str().unwrap_or_default(),
            limit_ns: one["latency_ns"].as_f64().unwrap_or(0.0),
        })
        .collect();
    for answer in &answers.all {
        let place = format!("answer {} ({}, {})", answer.number, answer.name, answer.state());
        let mut wrong = |what: String| found.add(&place, what);
        if answer.name.is_empty() || !answer.name.starts_with(answer.text("array")) {
            wrong("its text is not about its array, state and verdict".to_owned());
        }
        errors(&mut wrong, run, answer, &requirements);
        let points = points(&mut wrong, run, answer, question, &requirements);
        years(&mut wrong, answer, question, &points, &requirements);
        if answer.is_left_out() {
            continue;
        }
        if points.is_empty() {
            let is_told = !answer.text("because").is_empty();
            let is_down = answer.verdict() == "fails" && answer.number("headroom") == Some(0.0);
            let is_unknown = answer.verdict() == "not-modelled" && answer.number("headroom").is_none();
            if !(is_told && (is_down || is_unknown)) {
                wrong(format!("{} without a simulated point or a reason", answer.verdict()));
            }
            continue;
        }
        headroom(&mut wrong, answer, &points, &requirements);
        let expected = verdict(answer, &points);
        if answer.verdict() != expected {
            wrong(format!("its verdict is {}, its ranges give {expected}", answer.verdict()));
        }
    }
    front(found, answers);
}

/// The model's errors are those of the published rows.
fn errors(wrong: &mut dyn FnMut(String), run: &Run, answer: &Answer<'_>, requirements: &[Requirement<'_>]) {
    let metrics_of = |measure: &str| -> Vec<&'static str> {
        match measure {
            "mean" => vec!["read.latency_ns.mean", "write.latency_ns.mean"],
            "read.mean" => vec!["read.latency_ns.mean"],
            "write.mean" => vec!["write.latency_ns.mean"],
            _ => Vec::new(),
        }
    };
    let mut all = vec![("model_error.iops".to_owned(), vec!["iops"])];
    all.extend(
        requirements
            .iter()
            .enumerate()
            .map(|(place, one)| (format!("model_error.required.{place}"), metrics_of(one.measure))),
    );
    let is_other = answer.has_design() || answer.is_degraded();
    let subject = Subject { array: answer.text("array"), is_other };
    for (path, metrics) in all {
        if let Some(difference) = error_differs(run, answer.data, &path, &subject, &metrics) {
            wrong(difference);
        }
    }
}

/// The simulated multiples, each held against its case.
fn points(
    wrong: &mut dyn FnMut(String),
    run: &Run,
    answer: &Answer<'_>,
    question: &Value,
    requirements: &[Requirement<'_>],
) -> Vec<Point> {
    let reported = answer.data["points"].as_array().map(Vec::as_slice).unwrap_or_default();
    let cases = answer.data["cases"].as_array().map(Vec::as_slice).unwrap_or_default();
    if reported.len() != cases.len() {
        wrong(format!("{} points of {} cases", reported.len(), cases.len()));
    }
    let mut points = Vec::new();
    for (point, path) in reported.iter().zip(cases) {
        let path = path.as_str().unwrap_or_default();
        let case = path.split_once('/').and_then(|(stage, name)| run.case(stage, name));
        let Some(case) = case.filter(|case| case.stage == answer.state()) else {
            wrong(format!("no case {path} in its state"));
            continue;
        };
        let number = |value: &Value| value.as_f64().unwrap_or(f64::NAN);
        let times = number(&point["times"]);
        let is_its = case.number("times").is_some_and(|known| (known - times).abs() < 1e-4)
            && case.settings.get("array").and_then(Value::as_str) == Some(answer.name);
        if !is_its {
            wrong(format!("{path} is of another multiple or array"));
        }
        let latencies_ns: Vec<f64> = requirements.iter().map(|one| latency_ns(case, one.measure)).collect();
        let requested = times * number(&question["iops"]);
        let kept_up = case.iops() >= KEPT_UP * requested;
        let mut held = vec![
            ("iops".to_owned(), number(&point["iops"]), case.iops()),
            ("mean_ns".to_owned(), number(&point["mean_ns"]), latency_ns(case, "mean")),
            ("p99_ns".to_owned(), number(&point["p99_ns"]), latency_ns(case, "p99")),
        ];
        for (place, latency) in latencies_ns.iter().enumerate() {
            let own = &point["required"][place];
            let share =
                |end: &str| answer.number(&format!("model_error.required.{place}.{end}")).unwrap_or(f64::NAN);
            let sampling = number(&own["sampling_95"]);
            if !(0.0..=1.0).contains(&sampling) {
                wrong(format!("{path} has a sampling error of {sampling}"));
            }
            let [low, high] = range(*latency, share("over"), share("under"), sampling);
            held.push((format!("required.{place}.latency_ns"), number(&own["latency_ns"]), *latency));
            held.push((format!("required.{place}.latency_ns_95.0"), number(&own["latency_ns_95"][0]), low));
            held.push((format!("required.{place}.latency_ns_95.1"), number(&own["latency_ns_95"][1]), high));
        }
        for (field, own, recomputed) in held {
            if !close(own, recomputed) {
                wrong(format!("{field} of {path} is {own}, recomputed {recomputed}"));
            }
        }
        // A rate at the very edge may have been judged before it was rounded.
        let is_edge = (case.iops() / (KEPT_UP * requested) - 1.0).abs() < 1e-6;
        if point["kept_up"] != kept_up && !is_edge {
            wrong(format!("{path} delivers {} of {requested} IOPS", case.iops()));
        }
        let is_steady = point["is_steady"] == true;
        let line_rate_times =
            line_rate_iops(answer.number("links_bytes_per_s"), case) / number(&question["iops"]);
        points.push(Point { times, iops: case.iops(), latencies_ns, kept_up, is_steady, line_rate_times });
    }
    at_peak(wrong, answer, &points, requirements);
    first_full(wrong, answer, cases, &points);
    points
}

/// The workload itself, beside the requirement whose range reaches furthest.
fn at_peak(
    wrong: &mut dyn FnMut(String),
    answer: &Answer<'_>,
    points: &[Point],
    requirements: &[Requirement<'_>],
) {
    if answer.data["at_peak"].is_null() {
        return;
    }
    let Some(place) = points.iter().position(|point| point.times == 1.0) else {
        return wrong("at_peak without a point of the workload itself".to_owned());
    };
    let own = |field: &str| answer.number(&format!("points.{place}.{field}")).unwrap_or(f64::NAN);
    let share = |one: usize| own(&format!("required.{one}.latency_ns_95.1")) / requirements[one].limit_ns;
    let Some(tightest) = (0..requirements.len()).max_by(|one, other| share(*one).total_cmp(&share(*other)))
    else {
        return;
    };
    let fields = [
        ("latency_ns", points[place].latencies_ns[tightest]),
        ("latency_ns_95.0", own(&format!("required.{tightest}.latency_ns_95.0"))),
        ("latency_ns_95.1", own(&format!("required.{tightest}.latency_ns_95.1"))),
        ("limit_ns", requirements[tightest].limit_ns),
        ("iops", points[place].iops),
    ];
    for (field, expected) in fields {
        let reported = answer.number(&format!("at_peak.{field}"));
        if !reported.is_some_and(|reported| close(reported, expected)) {
            wrong(format!("at_peak.{field} is {reported:?}, recomputed {expected}"));
        }
    }
    let measure = answer.text("at_peak.requirement").split(" < ").next().unwrap_or_default();
    if measure != requirements[tightest].measure {
        wrong(format!("at_peak is about {measure}, the tightest is {}", requirements[tightest].measure));
    }
}

/// The part that is full first is that of the smallest multiple that is not carried.
fn first_full(wrong: &mut dyn FnMut(String), answer: &Answer<'_>, cases: &[Value], points: &[Point]) {
    let reported = &answer.data["first_full"];
    let headroom = answer.number("headroom");
    if reported.is_null() || points.len() != cases.len() {
        return;
    }
    let over = points.iter().position(|point| headroom.is_some_and(|headroom| point.times > headroom));
    let place = over.or(points.len().checked_sub(1));
    if place.and_then(|place| cases.get(place)) != Some(&reported["case"]) {
        wrong("the part that is full first is of another multiple".to_owned());
    }
    if !reported["share"].as_f64().is_some_and(|share| (0.0..=1.0).contains(&share)) {
        wrong("the part that is full first is busy for no share of the time".to_owned());
    }
}

/// Largest multiple under a latency, between points by the logarithms of both.
fn crossing(points: &[Point], place: usize, latency_ns: f64) -> f64 {
    let mut below: Option<&Point> = None;
    for point in points {
        let latency = point.latencies_ns[place];
        if point.kept_up && latency <= latency_ns {
            below = Some(point);
            continue;
        }
        let Some(under) = below else { return 0.0 };
        let low = under.latencies_ns[place];
        if !point.kept_up || latency <= low {
            return (under.times * point.times).sqrt();
        }
        let share = ((latency_ns / low).ln() / (latency / low).ln()).clamp(0.0, 1.0);
        return under.times * (point.times / under.times).powf(share);
    }
    below.map_or(0.0, |point| point.times)
}

/// Headroom and its range.
fn headroom(
    wrong: &mut dyn FnMut(String),
    answer: &Answer<'_>,
    points: &[Point],
    requirements: &[Requirement<'_>],
) {
    let fails = points.iter().find(|point| !point.holds(requirements));
    let mut times = fails.map_or(TIMES_LIMIT, |point| point.times);
    let mut ends = [TIMES_LIMIT, TIMES_LIMIT];
    for (place, one) in requirements.iter().enumerate() {
        let share = |end: &str| answer.number(&format!("model_error.required.{place}.{end}")).unwrap_or(0.0);
        times = times.min(crossing(points, place, one.limit_ns));
        ends[0] = ends[0].min(crossing(points, place, one.limit_ns * (1.0 - share("under"))));
        ends[1] = ends[1].min(crossing(points, place, one.limit_ns * (1.0 + share("over"))));
    }
    let rate = |end: &str| answer.number(&format!("model_error.iops.{end}")).unwrap_or(0.0);
    let workload = points.iter().find(|point| point.times == 1.0);
    let line_rate_times = workload.map_or(f64::INFINITY, |point| point.line_rate_times);
    let high = (ends[1].max(times) / (1.0 - rate("under"))).min(line_rate_times.max(times));
    let expected = [
        ("headroom", times),
        ("headroom_95.0", ends[0].min(times) / (1.0 + rate("over"))),
        ("headroom_95.1", high),
    ];
    for (field, expected) in expected {
        let reported = answer.number(field);
        if !reported.is_some_and(|reported| close(reported, expected)) {
            wrong(format!("{field} is {reported:?}, its cases give {expected}"));
        }
    }
}

/// Verdict that the ranges give.
fn verdict(answer: &Answer<'_>, points: &[Point]) -> &'static str {
    let number = |path: &str| answer.number(path).unwrap_or(f64::NAN);
    let (low, high) = (number("headroom_95.0"), number("headroom_95.1"));
    let carried = || points.iter().filter(|point| point.times <= number("headroom") && point.kept_up);
    let is_settled = carried().next_back().is_none_or(|last| last.is_steady)
        || carried().any(|point| point.times >= 1.0 && point.is_steady);
    let is_within =
        answer.data["at_peak"].is_null() || number("at_peak.latency_ns_95.1") <= number("at_peak.limit_ns");
    if low >= 1.0 && is_within && is_settled {
        "meets"
    } else if high < 1.0 {
        "fails"
    } else if !is_settled {
        "not-shown"
    } else {
        "too-close-to-call"
    }
}

/// Years in which growth breaks the headroom, and in which the array is full.
fn years(
    wrong: &mut dyn FnMut(String),
    answer: &Answer<'_>,
    question: &Value,
    points: &[Point],
    requirements: &[Requirement<'_>],
) {
    let growth = question["growth"]["per_year"].as_f64().zip(question["growth"]["years"].as_u64());
    let breaks = |times: f64| {
        let (per_year, years) = growth?;
        let mut load = 1.0;
        (1..=years).find(|_| {
            load *= 1.0 + per_year;
            load > times
        })
    };
    let is_bounded = points.iter().any(|point| !point.holds(requirements));
    let of = |path: &str| answer.number(path).filter(|_| is_bounded).and_then(breaks);
    let stored = question["capacity_bytes"].as_f64().map(|bytes| bytes.max(1.0));
    let full = answer.number("usable_bytes").zip(stored).and_then(|(usable, stored)| breaks(usable / stored));
    let expected = [
        ("breaks_in_year", of("headroom")),
        ("breaks_in_year_95.0", of("headroom_95.0")),
        ("breaks_in_year_95.1", of("headroom_95.1")),
        ("full_in_year", full),
    ];
    for (field, expected) in expected {
        let reported = answer.number(field);
        if reported != expected.map(|year| year as f64) {
            wrong(format!("{field} is {reported:?}, growth gives {expected:?}"));
        }
    }
}

/// Designs on the front are those that no other beats in cost and headroom.
fn front(found: &mut Findings, answers: &Answers<'_>) {
    let field = answers.cost_field();
    // A design that fails outright has a headroom of nothing, left out or not.
    let mut designs: Vec<(&str, f64, f64)> = Vec::new();
    for answer in &answers.all {
        let (Some(cost), Some(times)) = (answer.number(field), answer.number("headroom")) else { continue };
        match designs.iter_mut().find(|known| known.0 == answer.name) {
            Some(known) => known.2 = known.2.min(times),
            None => designs.push((answer.name, cost, times)),
        }
    }
    for answer in &answers.all {
        let own = designs.iter().find(|design| design.0 == answer.name);
        let is_front = own.is_some_and(|own| {
            !designs
                .iter()
                .any(|other| other.1 <= own.1 && other.2 >= own.2 && (other.1 < own.1 || other.2 > own.2))
        });
        if answer.is_front() != is_front {
            found.add(
                &format!("answer {}", answer.number),
                format!("{} is on the front: {is_front}", answer.name),
            );
        }
    }
}

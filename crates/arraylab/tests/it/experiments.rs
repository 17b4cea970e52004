//! The experiments of `arraylab explain`: what each kind of finding and each data service shows on a twin, and what it shows once
//! that which makes it is switched off.

use crate::support::{json_lines, refuse, succeed};
use findings::Kind;
use report::{SERVICES, explain};
use serde_json::Value;
use std::collections::BTreeMap;

/// The findings after a run, the command as `explain` prints it, with its plan where it has one of its own.
fn found(run: &'static str, own_plan: Option<&str>) -> Vec<Value> {
    let directory = tempfile::tempdir().unwrap();
    let out = directory.path().join("run");
    let plan = directory.path().join("bound.yaml");
    if let Some(text) = own_plan {
        std::fs::write(&plan, text).unwrap();
    }
    let in_place = |word: &'static str| if word == "bound.yaml" { plan.to_str().unwrap() } else { word };
    let mut arguments: Vec<&str> = run.split_whitespace().map(in_place).collect();
    arguments.extend(["--out", out.to_str().unwrap()]);
    succeed(&arguments);
    json_lines(&succeed(&["findings", out.to_str().unwrap(), "--json"]))
}

/// Returns true if findings show the effect of the experiment while nothing is switched off.
fn is_shown(kind: Kind, found: &[Value]) -> bool {
    let number = |finding: &Value, key: &str| finding[key].as_f64();
    let above = |key: &str, bound: f64| found.iter().any(|one| number(one, key).is_some_and(|is| is > bound));
    let below = |key: &str, bound: f64| found.iter().any(|one| number(one, key).is_some_and(|is| is < bound));
    match kind {
        // 1.4 % over ten minutes of exact simulation; windows of fast-forward once made more of it.
        Kind::Level => above("variation_percent", 1.0),
        Kind::WriteCliff => above("depth_percent", 40.0),
        Kind::RampFall => above("depth_percent", 90.0),
        Kind::NoWriteCliff => !found.is_empty(),
        Kind::SteadyState | Kind::SteadyRounds => {
            found.iter().any(|one| one["reached"] == true) && above("round", 5.0)
        }
        Kind::Saturation => below("at", 5.0),
        Kind::Maximum => !above("iops", 200_000.0),
        Kind::BoundedMaximum => above("iops", 0.0),
        Kind::FoundLoad => below("load", 1000.0),
        Kind::MinimalLatency => above("mean_latency_ns", 600e3),
        Kind::BestBlockSize => below("best_bs", 5000.0),
        Kind::Flattening => found.iter().any(|one| one["flattens"] == true),
        Kind::Limit => found.iter().any(|one| one["by"] == "controller"),
        Kind::PathBalance | Kind::HostBalance => below("largest_over_mean", 1.1),
        Kind::WritePenalty => below("ratio", 0.35),
        Kind::Effect => {
            found
                .iter()
                .any(|one| one["setting"] == "raid" && one["on"] == "iops" && one["beyond_noise"] == true)
                && below("ratio", 0.5)
        }
        Kind::Disruption => {
            found.iter().any(|one| one["dips"].as_array().is_some_and(|dips| !dips.is_empty()))
        }
        Kind::Conformance => {
            let sum = |key: &str| found.iter().filter_map(|one| number(one, key)).sum::<f64>();
            // The interval in which a limit changes may still have some of what was under way.
            sum("intervals") > 0.0 && sum("intervals_above") <= 0.1 * sum("intervals")
        }
    }
}

/// Runs the experiments of kinds of findings, and fails where one does not show its finding or still shows it without its mechanism.
pub fn differs_without_its_mechanism(kinds: &[Kind]) {
    // Several kinds have the same runs.
    let mut of_runs = BTreeMap::new();
    for &kind in kinds {
        let experiment = explain(kind).experiment;
        let mut of_kind = |run: &'static str| -> Vec<Value> {
            let all = of_runs.entry((run, experiment.plan)).or_insert_with(|| found(run, experiment.plan));
            all.iter().filter(|finding| finding["kind"] == kind.name()).cloned().collect()
        };
        let (on, off) = (of_kind(experiment.on), of_kind(experiment.off));
        assert!(!on.is_empty(), "{}: `{}` shows nothing", kind.name(), experiment.on);
        assert!(is_shown(kind, &on), "{}: not shown by `{}`: {on:#?}", kind.name(), experiment.on);
        assert!(!is_shown(kind, &off), "{}: still shown by `{}`: {off:#?}", kind.name(), experiment.off);
    }
}

const OF_SERIES: [Kind; 6] = [
    Kind::WriteCliff,
    Kind::RampFall,
    Kind::NoWriteCliff,
    Kind::SteadyState,
    Kind::SteadyRounds,
    Kind::Level,
];
const OF_CASES: [Kind; 7] = [
    Kind::FoundLoad,
    Kind::Saturation,
    Kind::Maximum,
    Kind::BoundedMaximum,
    Kind::MinimalLatency,
    Kind::BestBlockSize,
    Kind::Flattening,
];
const OF_PARTS: [Kind; 6] =
    [Kind::Limit, Kind::PathBalance, Kind::WritePenalty, Kind::Effect, Kind::Disruption, Kind::Conformance];
/// Tried in `host_balance`.
pub const OF_HOSTS: [Kind; 1] = [Kind::HostBalance];

/// Proves that every kind of finding has its experiment tried below or in `host_balance`.
#[test]
fn every_kind_is_tried() {
    let tried: Vec<Kind> = [&OF_SERIES[..], &OF_CASES, &OF_PARTS, &OF_HOSTS].concat();
    for kind in Kind::ALL {
        assert!(tried.contains(kind), "{}", kind.name());
    }
    assert_eq!(tried.len(), Kind::ALL.len());
}

/// Proves that the experiments about series of samples show their finding, and not without its mechanism.
#[test]
fn of_series() {
    differs_without_its_mechanism(&OF_SERIES);
}

/// Proves that the experiments about cases beside one another show their finding, and not without its mechanism.
#[test]
fn of_cases() {
    differs_without_its_mechanism(&OF_CASES);
}

/// Proves that the experiments about parts, redundancy and events show their finding, and not without its mechanism.
#[test]
fn of_parts() {
    differs_without_its_mechanism(&OF_PARTS);
}

/// Proves that the claim of every data service holds on its experiment, and is refuted with the service switched off, and that the
/// numbers of reports that cite counters are recomputed.
#[test]
fn claims_of_services_hold_while_they_are_on() {
    for explained in SERVICES {
        let directory = tempfile::tempdir().unwrap();
        let files = explained.array.into_iter().map(|(file, text)| (file.to_owned(), text));
        for (file, text) in files.chain([(explained.plan_file(), explained.plan)]) {
            std::fs::write(directory.path().join(file), text).unwrap();
        }
        let in_place = |file: &str| directory.path().join(file).to_str().unwrap().to_owned();
        let plan = in_place(&explained.plan_file());
        for (number, target, verdict) in [(1, explained.on, "holds"), (2, explained.off, "refuted")] {
            let target = explained
                .array
                .map_or_else(|| target.to_owned(), |(file, _)| target.replace(file, &in_place(file)));
            let out = in_place(&format!("run-{number}"));
            succeed(&["run", &plan, "--target", &target, "--out", &out]);
            let claims = json_lines(&succeed(&["claims", &out, "--json"]));
            assert_eq!(claims.len(), 1, "{}", explained.service);
            assert_eq!(claims[0]["verdict"], verdict, "{target}: {claims:#?}");
            if explained.plan.contains("counter.") {
                let bundle = in_place(&format!("run-{number}.tar.gz"));
                succeed(&["bundle", &out, "--out", &bundle]);
                succeed(&["verify-report", &bundle]);
            }
        }
    }
}

/// Proves that an explanation of a service has its claim with its tolerance, the values that it rests on and that they are
/// assumed, and both commands; and that an unknown name is refused with those that there are.
#[test]
fn services_are_explained_with_what_they_rest_on() {
    for explained in SERVICES {
        let text = succeed(&["explain", explained.service]);
        for part in [explained.what, explained.on, explained.off, "equal within", "assumed", explained.plan] {
            assert!(text.contains(part), "{}: no `{part}` in\n{text}", explained.service);
        }
        for path in explained.rests_on {
            assert!(
                text.contains(&format!("\n{path}")),
                "{}: no value of `{path}`\n{text}",
                explained.service
            );
        }
    }
    assert_eq!(succeed(&["explain", "drive_cache"]), succeed(&["explain", "drive-cache"]));
    let (status, text) = refuse(&["explain", "tiers"]);
    assert_eq!(status, Some(2));
    assert!(text.contains("no finding or data service `tiers`") && text.contains("drive-cache"), "{text}");
    assert!(text.contains("did you mean `tier`?"), "{text}");
    let (_, text) = refuse(&["explain", "knee"]);
    assert!(text.contains("did you mean `saturation`?"), "{text}");
}

//! Nouns in sentences have their number, whatever is counted.

use crate::synthetic::{Run, Series, busy, limit, moment, settings};
use findings::{Findings, Kind};
use report::Sentences;
use std::collections::BTreeSet;

/// Everything that is said of a run in words.
fn sentences(findings: &Findings) -> Vec<String> {
    let about = Sentences::of(findings);
    let mut all: Vec<String> = about.conclusions().into_iter().map(|one| one.text.to_string()).collect();
    all.extend(about.answers().into_iter().map(|(_, answer)| answer.text.to_string()));
    all.extend(findings.claims().into_iter().map(|claim| claim.because));
    for finding in &findings.all {
        let fields = finding.to_json().unwrap();
        all.extend(
            ["because", "reason"].iter().filter_map(|name| Some(fields.get(*name)?.as_str()?.to_owned())),
        );
    }
    all
}

/// Finds a sentence that speaks of one as of many: `1 cases`. Words that end in s and are none of many: `1 s`, `1 ms`, `1 is`.
fn one_as_many(text: &str) -> Option<String> {
    const NOT_MANY: [&str; 7] = ["s", "ms", "µs", "is", "was", "has", "as"];
    let words: Vec<&str> = text.split_whitespace().collect();
    words.windows(2).find_map(|pair| {
        let is_one = pair[0].trim_start_matches(['(', '“']) == "1";
        let noun = pair[1].trim_end_matches(|last: char| !last.is_alphanumeric());
        (is_one && noun.ends_with('s') && !NOT_MANY.contains(&noun)).then(|| pair.join(" "))
    })
}

fn kinds(findings: &Findings) -> BTreeSet<Kind> {
    findings.all.iter().map(|finding| finding.kind()).collect()
}

const WRITES: [(&str, &str); 4] = [("rw", "randwrite"), ("bs", "4k"), ("numjobs", "1"), ("iodepth", "2")];

/// A number of cases that do the same, with what is added to each.
fn cases(plan: &str, stage: &str, count: usize, series: &Series, texts: &[(&str, &str)]) -> Run {
    let mut run = Run::new(plan);
    for number in 1..=count {
        let mut all = settings(texts);
        all.insert("repeat".into(), number.into());
        run.add(stage, &format!("repeat={number}"), all, series);
    }
    run
}

/// Runs in which everything is there so many times: cases, falls, dips, failed I/Os, limits, intervals, parts, sets.
fn runs(count: usize) -> Vec<Findings> {
    let mut all = Vec::new();
    let level = Series::writes(&[5_000.0; 40], 5.0, 4096.0);
    all.push(cases("own", "level", count, &level, &WRITES).observation());
    all.push(
        cases("own", "short", count, &Series::writes(&vec![5e3; count], 5.0, 4096.0), &WRITES).observation(),
    );
    let falling = Series::cliff(100_000.0, 40_000.0, 0.0, 24, 96, 4096.0);
    all.push(cases("own", "falls", count, &falling, &WRITES).observation());
    let saw: Vec<f64> = (0..90).map(|n| 9_000.0 - 80.0 * f64::from(n)).collect();
    all.push(cases("own", "unsteady", count, &Series::writes(&saw, 5.0, 4096.0), &WRITES).observation());
    let one_out = Series::level(10_000.0 * count as f64, 1.0, 1e5, 0.0, 4096.0);
    let mut seen = cases("own", "parts", count, &one_out, &[("rw", "randread"), ("bs", "4k")]).observation();
    for (share, case) in [0.3, 0.95, 0.3].into_iter().zip(&mut seen.cases) {
        case.busy = (0..count).map(|n| busy("drive", &format!("drive-{n}"), "bus", share)).collect();
    }
    all.push(seen);
    all.push(cases("own", "unseen", count, &one_out, &[("rw", "randread"), ("bs", "4k")]).observation());
    let mut held = cases("own", "held", count, &level, &WRITES).observation();
    for case in &mut held.cases {
        let start_s = 200.0 - 5.0 * count as f64;
        case.limits = vec![limit(start_s, Some(6_000.0), None)];
    }
    all.push(held);
    for plan in ["own", "flashsystem-840"] {
        let rate = |n: usize| {
            if (30..30 + 3 * count).contains(&n) && n.is_multiple_of(3) { 2_000.0 } else { 5_000.0 }
        };
        let dips = Series::writes(&(0..60).map(rate).collect::<Vec<f64>>(), 5.0, 4096.0);
        let mut event = cases(plan, "firmware-update", 1, &dips, &WRITES).observation();
        event.cases[0].moments = vec![moment(140.0, "verification")];
        event.cases[0].intervals[30].write.errors = count as u64;
        all.push(event);
    }
    let mut sets = Run::new("raid-levels");
    for (raid, bs, cache) in
        [("5", "512", "off"), ("5", "4k", "off"), ("5", "512", "on"), ("6", "512", "off")]
    {
        for disks in 1..=count {
            for (rw, share) in [("randread", "100"), ("randwrite", "0")] {
                let disks = disks.to_string();
                let texts = [
                    ("rw", rw),
                    ("rwmixread", share),
                    ("bs", bs),
                    ("raid", raid),
                    ("disks", disks.as_str()),
                    ("write_cache", cache),
                    ("numjobs", "8"),
                    ("iodepth", "1"),
                ];
                let name = format!("raid={raid},disks={disks},rwmixread={share},bs={bs},write_cache={cache}");
                let reads = share.parse::<f64>().unwrap() / 100.0;
                sets.add("sets", &name, settings(&texts), &Series::level(1e3, reads, 8e6, 8e6, 512.0));
            }
        }
    }
    all.push(sets.observation());
    all.into_iter().map(Findings::of).collect()
}

/// Proves that no sentence of any kind speaks of one as of many, where one, two or three are counted of everything; and that
/// sentences of the kinds in question are there.
#[test]
fn one_is_never_many() {
    let mut sentence_count = 0;
    let mut found = BTreeSet::new();
    for findings in (1..=3).flat_map(runs) {
        found.extend(kinds(&findings));
        for text in sentences(&findings) {
            assert_eq!(one_as_many(&text), None, "{text}");
            sentence_count += 1;
        }
    }
    assert!(sentence_count > 300, "{sentence_count} sentences");
    let counted = [
        Kind::NoWriteCliff,
        Kind::WriteCliff,
        Kind::SteadyState,
        Kind::Limit,
        Kind::Conformance,
        Kind::Disruption,
        Kind::WritePenalty,
    ];
    for kind in counted {
        assert!(found.contains(&kind), "{kind:?}");
    }
}

/// Proves that the search for one as many finds what it is for, and passes units and verbs.
#[test]
fn the_search_finds_one_as_many() {
    for text in ["In 1 cases writes fall.", "over (1 sets)", "1 I/Os outstanding"] {
        assert!(one_as_many(text).is_some(), "{text}");
    }
    for text in ["after 1 s", "at 1 ms, and", "11 cases", "in 1 of 4 cases", "1 case was"] {
        assert_eq!(one_as_many(text), None);
    }
}

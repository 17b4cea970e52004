//! The three answers of a report's first page, on made-up runs.

use crate::synthetic::{Run, Series, busy, moment, settings};
use findings::Findings;
use report::Sentences;
use std::sync::Arc;
use store::LoadResult;

/// Question and answer of a run, each of which must cite findings that exist.
fn answers(run: Run, busy_drives: Option<f64>, event: bool) -> Vec<(&'static str, String)> {
    let mut observation = run.observation();
    if let Some(share) = busy_drives {
        observation.cases[0].busy =
            (0..3).map(|n| busy("drive", &format!("drive-{n}"), "bus", share)).collect();
    }
    if event {
        observation.cases[0].moments = vec![moment(300.0, "drive-0 fails")];
    }
    let found = Findings::of(observation);
    Sentences::of(&found)
        .answers()
        .into_iter()
        .map(|(question, answer)| {
            assert!(!answer.findings.is_empty(), "{}", answer.text);
            assert!(answer.findings.iter().all(|id| found.get(id).is_some()), "{:?}", answer.findings);
            (question, answer.text.to_string())
        })
        .collect()
}

/// Proves that of a run with a write cliff the level after it is what lasts, not the higher one before, and that the busy part is
/// named as the limit.
#[test]
fn a_fall_is_what_limits_what_lasts() {
    let falling = Series::cliff(100_000.0, 40_000.0, 0.0, 24, 96, 4096.0);
    let run = Run::new("own").case("long", "bs=4096", &[("rw", "randwrite"), ("bs", "4k")], &falling);
    let answers = answers(run, Some(0.97), false);
    let questions: Vec<&str> = answers.iter().map(|(question, _)| *question).collect();
    assert_eq!(questions, ["What it sustains", "When it falls", "What limits it"]);
    assert!(
        answers[0].1 == "After writes have fallen, up to 40,160 IOPS or 164 MB/s remain (4K random writes).",
        "{answers:?}"
    );
    assert!(answers[1].1.starts_with("Writes fall by 60 % after 2.0 min, with "), "{answers:?}");
    assert!(
        answers[2].1 == "The drives: the buses of 3 drives are busy 97 % of the time (4K random writes).",
        "{answers:?}"
    );
}

/// Proves that a run without a fall says how long it was tried, and promises nothing beyond; and that a device whose parts are not
/// seen gets no limit put down to it.
#[test]
fn what_was_not_tried_is_not_promised() {
    let level = Series::level(50_000.0, 0.5, 1e6, 1e6, 4096.0);
    let mixed = settings(&[("rw", "randrw"), ("rwmixread", "50"), ("bs", "4k")]);
    let mut run = Run::new("own");
    run.add("mixed", "mixed", mixed, &level);
    let answers = answers(run, None, false);
    assert!(answers[0].1.contains(", over the measured "), "{answers:?}");
    assert!(answers[1].1.starts_with("Writes did not fall within the tested range, at most "), "{answers:?}");
    assert!(answers[2].1.starts_with("Not found"), "{answers:?}");
}

/// Proves that a fall which one case shows and others that write as long do not is told as such, and is not what the target
/// sustains.
#[test]
fn one_fall_of_many_is_no_rule() {
    let texts = [("rw", "randwrite"), ("bs", "4k")];
    let falling = Series::cliff(100_000.0, 40_000.0, 0.0, 24, 96, 4096.0);
    let level = Series::writes(&[90_000.0; 96], 5.0, 4096.0);
    let mut run = Run::new("own").case("long", "falls", &texts, &falling);
    for name in ["first", "second", "third"] {
        run = run.case("long", name, &texts, &level);
    }
    let answers = answers(run, None, false);
    assert!(answers[0].1.contains(", over the measured "), "{answers:?}");
    assert!(
        answers[1].1.starts_with("In 1 of 4 cases that write long enough, writes fall by 60 %"),
        "{answers:?}"
    );
}

/// Proves that the deepest dip around an event is told with its depth and length.
#[test]
fn a_dip_is_told() {
    let rates: Vec<f64> =
        (0..120).map(|n| if n == 61 { 20_000.0 } else { 50_000.0 + f64::from(n % 3) }).collect();
    let run = Run::new("own").case(
        "event",
        "event",
        &[("rw", "randwrite"), ("bs", "4k")],
        &Series::writes(&rates, 5.0, 4096.0),
    );
    let found = answers(run, None, true);
    assert!(
        found[1].1.contains("Around the event “drive-0 fails” IOPS dip by up to 60 % for 5 s."),
        "{found:?}"
    );
}

/// Proves that random and sequential load are each told with what they sustain and how long it was tried, and that of a case which
/// falls among many that do not it is the level after the fall.
#[test]
fn random_and_sequential_are_told_apart() {
    let falling = Series::cliff(100_000.0, 40_000.0, 0.0, 24, 96, 4096.0);
    let level = Series::writes(&[60_000.0; 96], 5.0, 4096.0);
    let streams = Series::writes(&[3_000.0; 24], 5.0, 1_048_576.0);
    let random = [("rw", "randwrite"), ("bs", "4k")];
    let run = Run::new("own")
        .case("long", "falls", &random, &falling)
        .case("long", "first", &random, &level)
        .case("long", "second", &random, &level)
        .case("stream", "stream", &[("rw", "write"), ("bs", "1m")], &streams);
    let sentence = &answers(run, None, false)[0].1;
    assert!(sentence.starts_with("Up to 60,000 IOPS at "), "{sentence}");
    assert!(
        sentence.contains("(4K random writes), and up to 3.15 GB/s (1M sequential writes)"),
        "{sentence}"
    );
    assert!(sentence.ends_with(", over the measured 8.0 min and 2.0 min."), "{sentence}");
}

/// Proves that of several falls the middle one is told, with the least and the largest.
#[test]
fn the_typical_fall_is_told() {
    let texts = [("rw", "randwrite"), ("bs", "4k")];
    let mut run = Run::new("own");
    for (name, after) in [("first", 60_000.0), ("second", 40_000.0), ("third", 20_000.0)] {
        run = run.case("long", name, &texts, &Series::cliff(100_000.0, after, 0.0, 24, 96, 4096.0));
    }
    let answers = answers(run, None, false);
    assert!(
        answers[1].1.starts_with(
            "In 3 of 3 cases that write long enough, writes fall by 60 % (40 % to 80 %) after 2.0 min, with "
        ),
        "{answers:?}"
    );
}

/// Proves that of many falls the middle half is told, so that one that is unlike the others does not make the range too wide to
/// act on, and that the earliest has a line of its own with its load.
#[test]
fn of_many_falls_one_unlike_the_others_widens_no_range() {
    let texts = [("rw", "randwrite"), ("bs", "4k")];
    let early = [("rw", "randwrite"), ("bs", "8k")];
    let mut run = Run::new("own").case("long", "early", &early, &Series::cliff(1e5, 4e4, 0.0, 8, 96, 8192.0));
    for number in 0..7 {
        let series = Series::cliff(1e5, 4e4, 0.0, 24, 96, 4096.0);
        run = run.case("long", &format!("case-{number}"), &texts, &series);
    }
    run = run.case("long", "late", &texts, &Series::cliff(1e5, 8e4, 0.0, 80, 160, 4096.0));
    let answers = answers(run, None, false);
    let lines: Vec<&str> = answers[1].1.lines().collect();
    let begins = "In 9 of 9 cases that write long enough, writes fall by 60 % after 2.0 min, with ";
    assert!(lines[0].starts_with(begins) && lines[0].ends_with("middle half of these cases)."), "{lines:?}");
    let begins = "The earliest begins after 40 s, with ";
    assert!(lines[1].starts_with(begins) && lines[1].ends_with(": 8K random writes."), "{lines:?}");
}

/// Proves that a rate that falls for good is told as a new level with both levels, not as a dip of so many seconds, and that an
/// event which changes nothing is no headline.
#[test]
fn a_permanent_drop_is_no_dip() {
    let rates: Vec<f64> =
        (0..120).map(|n| if n < 61 { 50_000.0 } else { 30_000.0 } + f64::from(n % 3)).collect();
    let texts = [("rw", "randwrite"), ("bs", "4k")];
    let run = Run::new("own").case("event", "event", &texts, &Series::writes(&rates, 5.0, 4096.0));
    let mut observation = run.observation();
    observation.cases[0].moments = vec![moment(200.0, "a note is made"), moment(304.0, "drive-0 fails")];
    let found = Findings::of(observation);
    let sentences = Sentences::of(&found).conclusions();
    let about = |event: &str| sentences.iter().find(|one| one.text.contains(event)).expect("a sentence");
    let failure = about("drive-0 fails");
    assert!(
        failure.text.contains("IOPS stay 40 % lower from 305 s on (50,001 IOPS before, 30,001 IOPS after)")
            || failure
                .text
                .contains("IOPS stay 40 % lower from 5.1 min on (50,001 IOPS before, 30,001 IOPS after)"),
        "{}",
        failure.text
    );
    assert!(!failure.text.contains("fall by up to"), "{}", failure.text);
    let note = about("a note is made");
    assert!(note.text.starts_with("Neither the rate nor latency leaves its level"), "{}", note.text);
    assert!(note.weight < failure.weight);
    let falls =
        Sentences::of(&found).answers().into_iter().find(|(question, _)| *question == "When it falls");
    assert!(falls.is_some_and(|(_, answer)| answer.text.contains("IOPS stay 40 % lower from")));
}

/// Proves that what each RAID level sustains is said, not only that of the fastest.
#[test]
fn each_raid_level_sustains() {
    let mut run = Run::new("own");
    for (raid, after) in [("0", 90_000.0), ("5", 45_000.0)] {
        let texts = [("rw", "randwrite"), ("bs", "4k"), ("raid", raid)];
        let series = Series::cliff(200_000.0, after, 0.0, 24, 96, 4096.0);
        run = run.case("group-1", &format!("raid={raid}"), &texts, &series);
    }
    let sentence = &answers(run, None, false)[0].1;
    assert!(sentence.contains("RAID 0); up to 45,"), "{sentence}");
}

/// Proves that falls which few of many cases show are no headline.
#[test]
fn rare_falls_are_no_headline() {
    let texts = [("rw", "randwrite"), ("bs", "4k")];
    let falling = Series::cliff(100_000.0, 40_000.0, 0.0, 24, 96, 4096.0);
    let level = Series::writes(&[90_000.0; 96], 5.0, 4096.0);
    let mut run = Run::new("own").case("sets", "falls", &texts, &falling);
    for number in 0..20 {
        run = run.case("sets", &format!("level-{number}"), &texts, &level);
    }
    let found = Findings::of(run.observation());
    let sentences = Sentences::of(&found).conclusions();
    let fall = sentences.iter().find(|one| one.text.starts_with("Writes fall by")).expect("a sentence");
    assert!(sentences.iter().filter(|one| one.weight > fall.weight).count() > 1, "{sentences:?}");
    let (_, falls) = Sentences::of(&found).answers().swap_remove(1);
    assert!(
        falls.text.starts_with("In 20 of 21 cases that write long enough, writes did not fall."),
        "{}",
        falls.text
    );
}

/// Proves that the figures of a case with several loads are told as theirs together, not as those of the settings that they share.
#[test]
fn several_loads_are_told_together() {
    let beside = Series::level(4_000.0, 0.5, 1e6, 1e6, 524_288.0);
    let mut observation = Run::new("own")
        .case("neighbour", "neighbour", &[("rw", "randrw"), ("bs", "8k")], &beside)
        .observation();
    let result = Arc::make_mut(&mut observation.cases[0].result);
    let load = |name: &str| LoadResult {
        load: name.into(),
        target: "twin:synthetic".into(),
        duration_s: result.duration_s,
        iops: result.iops / 2.0,
        bw_bytes_per_s: result.bw_bytes_per_s / 2.0,
        read: None,
        write: None,
        sustained: None,
        trim: None,
    };
    result.loads = Some(vec![load("own"), load("neighbour")]);
    let found = Findings::of(observation);
    let (best, _) = found.peak_bandwidth().expect("a peak");
    assert_eq!(Sentences::of(&found).load_of(best).text(), "loads own, neighbour together");
    let sentences: Vec<String> =
        Sentences::of(&found).conclusions().iter().map(|one| one.text.to_string()).collect();
    assert!(sentences.iter().all(|text| !text.contains("8K")), "{sentences:#?}");
}

/// Proves that a case whose writes fell within its ramp is none that did not fall, beside others that fall later; and that where
/// what follows the ramp is too short for a verdict, the fall in it is said all the same.
#[test]
fn a_fall_in_the_ramp_is_no_steadfastness() {
    let ramp = [[90_000.0; 4].as_slice(), &[30_000.0; 200]].concat();
    let fell_early = |counted: usize| {
        let mut series = Series::writes(&ramp[..6 + counted], 5.0, 4096.0);
        series.intervals[..6].iter_mut().for_each(|interval| interval.is_ramp = true);
        series
    };
    let falling = Series::cliff(100_000.0, 40_000.0, 0.0, 24, 96, 4096.0);
    let random = [("rw", "randwrite"), ("bs", "4k")];
    let both = || {
        Run::new("own").case("late", "late", &random, &falling).case(
            "early",
            "early",
            &random,
            &fell_early(190),
        )
    };
    let when = |run: Run| {
        let found = Findings::of(run.observation());
        let conclusions: Vec<String> =
            Sentences::of(&found).conclusions().iter().map(|one| one.text.to_string()).collect();
        let answers = Sentences::of(&found).answers();
        let (_, answer) = answers.into_iter().find(|(question, _)| *question == "When it falls").unwrap();
        (answer.text.to_string(), conclusions.join("\n"))
    };
    let in_ramp = "\nIn the ramp before, which is not counted, they fell by 67 % after 20 s, with ";
    let (answer, conclusions) = when(both());
    assert!(
        conclusions.contains("Within the ramp, which is not counted, writes fall by 67 % after 20 s"),
        "{conclusions}"
    );
    assert!(answer.starts_with("Writes fall by 60 % after 2.0 min") && answer.contains(in_ramp), "{answer}");

    let (answer, conclusions) = when(Run::new("own").case("early", "early", &random, &fell_early(5)));
    assert!(answer.starts_with("Whether writes fall after the ramp is not shown: "), "{answer}");
    assert!(answer.contains(in_ramp), "{answer}");
    assert!(
        conclusions.contains("Whether writes fall after the ramp is not shown by any of 1 case"),
        "{conclusions}"
    );
    let (answer, conclusions) = when(Run::new("own").case("early", "early", &random, &fell_early(150)));
    assert!(answer.starts_with("Writes did not fall within the tested range") && answer.contains(in_ramp));
    assert!(conclusions.contains("No write cliff was found after the ramp in 1 case"), "{conclusions}");
}

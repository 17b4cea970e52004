//! Claims on made-up runs: each holds where the published picture is there, and is refuted where its mechanism is
//! switched off.

mod published;
mod synthetic;

use findings::{Fact, Findings, Kind, Verdict, claim, claims_of};
use published::changed::rate_in;
use published::dorado_2100_g2::{self, Dorado};
use published::flashsystem_840::{self, Flash};
use published::storpool::{self, Pool};
use published::{e2700, raid_levels};
use std::sync::Arc;
use synthetic::{Run, Series, settings};

fn verdict(findings: &Findings, id: &str) -> Verdict {
    let result = claim(id).expect(id).on(findings);
    println!("{id}: {} because {}", result.verdict.name(), result.because);
    assert!(!result.because.is_empty());
    assert!(result.verdict == Verdict::NotShown || !result.findings.is_empty(), "{id} cites nothing");
    for cited in &result.findings {
        assert!(findings.get(cited).is_some(), "{id} cites {cited}, which does not exist");
    }
    result.verdict
}

fn expect(findings: &Findings, wanted: Verdict, ids: &[&str]) {
    for id in ids {
        assert_eq!(verdict(findings, id), wanted, "{id}");
    }
}

/// Proves that the balance of paths is that of the device whose load divides least evenly, that devices which carried
/// next to nothing say nothing, and that ports have a finding of their own.
#[test]
fn uneven_paths_are_found() {
    let mut run = Run::new("own");
    let series = Series::level(60.0, 1000.0, 0.0, 1e6, 4096.0);
    run.add("reads", "bs=4096", settings(&[("rw", "randread")]), &series);
    let mut observation = run.observation();
    let carried = |paths: &str, bytes: [f64; 2]| {
        [0, 1].map(|number| synthetic::carried(paths, &format!("{paths}-{number}"), bytes[number]))
    };
    observation.cases[0].carried = [
        carried("path of mpatha", [5e9, 5e9]),
        carried("path of mpathb", [8e9, 2e9]),
        carried("path of mpathc", [1e3, 0.0]),
        carried("port", [6e9, 4e9]),
    ]
    .concat();
    let findings = Findings::of(observation);
    let found: Vec<_> = findings
        .of_kind(Kind::PathBalance)
        .map(|finding| match &finding.fact {
            Fact::PathBalance(balance) => {
                (finding.id.as_str(), balance.paths.as_str(), balance.shares_percent.clone())
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(
        found,
        [
            ("path-balance/reads/bs=4096", "path of mpathb", vec![80.0, 20.0]),
            ("path-balance/reads/bs=4096/port", "port", vec![60.0, 40.0])
        ]
    );
}

/// Proves that a claim about an event which came too early in its case to have a level before it says so, in place of "no event was
/// recorded" and of a sentence in which nothing was measured.
#[test]
fn an_event_that_came_too_early_is_said_so() {
    let mut run = Run::new("flashsystem-840");
    let series = Series::level(600.0, 1000.0, 0.0, 1e6, 4096.0);
    let case = run.add("firmware-update", "one", settings(&[("rw", "randread")]), &series);
    case.moments = vec![synthetic::moment(1.0, "firmware-update")];
    let result = claim("F7").unwrap().on(&Findings::of(run.observation()));
    let because = result.because.to_string();
    assert_eq!(result.verdict, Verdict::NotShown);
    assert!(
        because.contains("it came too early in its case") && !because.contains("not measured"),
        "{because}"
    );
}

/// Proves that all 51 claims are there, each with words for its mechanism and tolerance, and that none is shown on an
/// empty run.
#[test]
fn all_claims_are_there_and_none_is_shown_by_nothing() {
    let mut count = 0;
    for (plan, letter, last) in [
        ("dorado-2100-g2", 'D', 15),
        ("flashsystem-840", 'F', 8),
        ("raid-levels", 'R', 7),
        ("e2700", 'N', 12),
        ("storpool", 'S', 9),
    ] {
        let ids: Vec<String> = claims_of(plan).iter().map(|claim| claim.id().to_owned()).collect();
        let wanted: Vec<String> = (1..=last).map(|number| format!("{letter}{number}")).collect();
        assert_eq!(ids, wanted);
        count += ids.len();
        for result in Findings::of(Run::new(plan).observation()).claims() {
            assert_eq!(result.verdict, Verdict::NotShown, "{}", result.id);
            assert!(
                !result.mechanism.is_empty() && !result.source.is_empty() && !result.criterion.is_empty(),
                "{}",
                result.id
            );
        }
    }
    assert_eq!(count, 51);
}

/// Proves that F1 to F8 hold on the published figures, and that F3 to F7 are refuted without their mechanism.
#[test]
fn flashsystem_claims() {
    let published = Findings::of(flashsystem_840::picture(Flash::default()));
    expect(&published, Verdict::Holds, &["F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8"]);
    let off = Flash::default();
    expect(
        &Findings::of(flashsystem_840::picture(Flash { free_bytes: true, ..off })),
        Verdict::Refuted,
        &["F3"],
    );
    expect(
        &Findings::of(flashsystem_840::picture(Flash { no_window: true, ..off })),
        Verdict::Refuted,
        &["F4"],
    );
    expect(
        &Findings::of(flashsystem_840::picture(Flash { no_links: true, ..off })),
        Verdict::Refuted,
        &["F5"],
    );
    expect(
        &Findings::of(flashsystem_840::picture(Flash { cheap_writes: true, ..off })),
        Verdict::Refuted,
        &["F6"],
    );
    expect(
        &Findings::of(flashsystem_840::picture(Flash { no_failover: true, ..off })),
        Verdict::Refuted,
        &["F7"],
    );
}

/// Proves that the Dorado's claims hold on figures like the published ones (D11 is refuted by them, as the reference
/// says), and that D2, D3, D7, D9 and D12 are refuted without their mechanism.
#[test]
fn dorado_claims() {
    let published = Findings::of(dorado_2100_g2::picture(Dorado::default()));
    expect(
        &published,
        Verdict::Holds,
        &["D1", "D2", "D3", "D4", "D5", "D6", "D7", "D8", "D9", "D10", "D12", "D13", "D14", "D15"],
    );
    expect(&published, Verdict::Refuted, &["D11"]);
    let off = Dorado::default();
    expect(
        &Findings::of(dorado_2100_g2::picture(Dorado { no_collection: true, ..off })),
        Verdict::Refuted,
        &["D2"],
    );
    expect(
        &Findings::of(dorado_2100_g2::picture(Dorado { no_units: true, ..off })),
        Verdict::Refuted,
        &["D3"],
    );
    expect(
        &Findings::of(dorado_2100_g2::picture(Dorado { reads_go_on: true, ..off })),
        Verdict::Refuted,
        &["D7"],
    );
    expect(
        &Findings::of(dorado_2100_g2::picture(Dorado { no_parity: true, ..off })),
        Verdict::Refuted,
        &["D9"],
    );
    expect(
        &Findings::of(dorado_2100_g2::picture(Dorado { wide_links: true, ..off })),
        Verdict::Refuted,
        &["D12"],
    );
}

/// Proves that R1 and R3 to R7 hold on figures like the published ones, that these refute R2, as the reference says, and
/// that R1 and R3 are refuted without their mechanism.
#[test]
fn raid_claims() {
    let published = Findings::of(raid_levels::picture(false, false));
    expect(&published, Verdict::Holds, &["R1", "R3", "R4", "R5", "R6", "R7"]);
    expect(&published, Verdict::Refuted, &["R2"]);
    expect(&Findings::of(raid_levels::picture(true, false)), Verdict::Refuted, &["R1"]);
    expect(&Findings::of(raid_levels::picture(false, true)), Verdict::Refuted, &["R3"]);
}

/// Proves that N1 to N12 hold on a picture like the published one, and that N2, N3 and N7 are refuted without their
/// mechanism.
#[test]
fn e2700_claims() {
    let published = Findings::of(e2700::picture(false, false, false));
    // RAID 10 is better in random load here, and DDP worse, as published.
    expect(
        &published,
        Verdict::Holds,
        &["N1", "N2", "N3", "N4", "N5", "N6", "N7", "N8", "N9", "N10", "N11", "N12"],
    );
    expect(&Findings::of(e2700::picture(true, false, false)), Verdict::Refuted, &["N2"]);
    expect(&Findings::of(e2700::picture(false, true, false)), Verdict::Refuted, &["N3"]);
    expect(&Findings::of(e2700::picture(false, false, true)), Verdict::Refuted, &["N7"]);
}

/// Proves that S1 to S9 hold on a picture like the published one, and that S1, S3, S5 and S8 are refuted without their
/// mechanism.
#[test]
fn storpool_claims() {
    let published = Findings::of(storpool::picture(Pool::default()));
    expect(&published, Verdict::Holds, &["S1", "S2", "S3", "S4", "S5", "S6", "S7", "S8", "S9"]);
    let off = Pool::default();
    expect(&Findings::of(storpool::picture(Pool { cached_disks: true, ..off })), Verdict::Refuted, &["S1"]);
    expect(&Findings::of(storpool::picture(Pool { fast_replicas: true, ..off })), Verdict::Refuted, &["S3"]);
    expect(
        &Findings::of(storpool::picture(Pool { no_limits: true, ..off })),
        Verdict::Refuted,
        &["S5", "S9"],
    );
    expect(
        &Findings::of(storpool::picture(Pool { neighbour_unlimited: true, ..off })),
        Verdict::Refuted,
        &["S8"],
    );
}

/// Proves that values which are equal within the tolerance or their noise show nothing, and that each claim says its tolerance:
/// a client that answers 0.6 % later than the node has not shown a network hop (S1).
#[test]
fn equality_shows_nothing() {
    let mut picture = storpool::picture(Pool::default());
    for case in &mut picture.cases {
        if case.stage == "latency" && case.name == "volume=hdd,host=client,rw=randread" {
            let read = Arc::make_mut(&mut case.result).read.as_mut().unwrap();
            read.latency_ns.mean = 7.14e6;
        }
    }
    let result = claim("S1").unwrap().on(&Findings::of(picture));
    assert_eq!(result.verdict, Verdict::NotShown, "{}", result.because);
    assert!(result.because.contains("equal within the tolerance of 2 %"), "{}", result.because);
    for plan in ["dorado-2100-g2", "flashsystem-840", "raid-levels", "e2700", "storpool"] {
        for result in Findings::of(Run::new(plan).observation()).claims() {
            let json = serde_json::to_value(&result).unwrap();
            assert!(
                json["tolerance"].as_f64().is_some_and(|share| (0.0..1.0).contains(&share)),
                "{}",
                result.id
            );
        }
    }
}

/// Proves that hybrid random writes far from half of all-NVMe refute S3, which says "around half", and that a cliff outside 2 to 3
/// minutes refutes D2, which says so.
#[test]
fn words_of_the_publication_are_all_checked() {
    let mut picture = storpool::picture(Pool::default());
    for case in &mut picture.cases {
        if case.stage == "iops" && case.name.contains("volume=hybrid") && case.name.contains("randwrite") {
            Arc::make_mut(&mut case.result).iops *= 2.1;
        }
    }
    // 0.84 of all-NVMe: fewer, and not around half.
    expect(&Findings::of(picture), Verdict::Refuted, &["S3"]);
    let mut picture = dorado_2100_g2::picture(Dorado::default());
    picture.cases.retain(|case| case.stage == "group-1");
    expect(&Findings::of(picture.clone()), Verdict::Holds, &["D2"]);
    for case in picture.cases.iter_mut().filter(|case| case.name.contains("scenario=1")) {
        published::changed::earlier(case, 8);
    }
    expect(&Findings::of(picture), Verdict::Refuted, &["D2"]);
}

/// Proves that every number of findings that claims may name is in the JSON of a finding of its kind, on made-up runs of all
/// kinds of cases.
#[test]
fn fields_that_claims_name_exist() {
    let mut seen: std::collections::BTreeMap<String, Vec<serde_json::Value>> =
        std::collections::BTreeMap::new();
    let picture = dorado_2100_g2::picture(Dorado::default());
    let pictures = [
        picture.clone(),
        flashsystem_840::picture(Flash::default()),
        raid_levels::picture(false, false),
        storpool::picture(Pool::default()),
        e2700::picture(false, false, false),
        // Writes that rise again after their fall, and that fall twice.
        published::changed::changed(&picture, "group-1", "scenario=1", |case| {
            rate_in(case, |index| index >= 160, 2.0);
        }),
        published::changed::changed(&picture, "group-1", "scenario=1", |case| {
            rate_in(case, |index| index >= 160, 0.6);
        }),
    ];
    for findings in pictures.into_iter().map(Findings::of) {
        for finding in &findings.all {
            let json = serde_json::Value::Object(finding.to_json().unwrap());
            seen.entry(finding.kind().name().to_owned()).or_default().push(json);
        }
    }
    let mut found = 0;
    for (kind, fields) in plan::claim::finding_fields() {
        assert!(Kind::named(kind).is_some(), "{kind} is a kind");
        // Some fields are there only where there is something to say; the kind has them all the same.
        let Some(all) = seen.get(*kind) else { continue };
        for field in *fields {
            let has = |json: &serde_json::Value| {
                let mut at = vec![json.clone()];
                for name in field.split('.') {
                    at = at
                        .iter()
                        .flat_map(|value| match value {
                            serde_json::Value::Array(list) => list.clone(),
                            other => vec![other.clone()],
                        })
                        .filter_map(|value| value.get(name).cloned())
                        .collect();
                }
                at.iter().any(serde_json::Value::is_number)
            };
            let is_rare = ["reads_", "change.", "use_percent", "takes_effect_s", "latency_bumps."]
                .iter()
                .any(|part| field.contains(part));
            assert!(is_rare || all.iter().any(has), "{kind} has no `{field}`");
            found += usize::from(all.iter().any(has));
        }
    }
    assert!(found > 60, "{found} fields were seen");
}

/// Proves that every digit of a claim's reason lies in a number with a source, that values are no quotes of the reason itself, and
/// that the values name the samples that they are made of.
#[test]
fn reasons_name_their_sources() {
    let pictures = [
        dorado_2100_g2::picture(Dorado::default()),
        flashsystem_840::picture(Flash::default()),
        raid_levels::picture(false, false),
        storpool::picture(Pool::default()),
        e2700::picture(false, false, false),
    ];
    let mut sampled = 0;
    for result in pictures.into_iter().flat_map(|picture| Findings::of(picture).claims()) {
        let because = result.because_cited();
        assert_eq!(because.text(), result.because);
        let mut next = 0;
        let letters: Vec<char> = because.text().chars().collect();
        for number in because.numbers() {
            let between: String = letters[next..number.at].iter().collect();
            assert!(!between.contains(|c: char| c.is_ascii_digit()), "{}: {between}", result.id);
            let from = number.from.as_str();
            assert!(!from.contains("quote:claim"), "{}: {from}", result.id);
            let is_of_sample = ["result:", "finding:", "intervals:"].iter().any(|kind| from.contains(kind));
            sampled += usize::from(number.value.is_some() && is_of_sample);
            next = number.at + number.text.chars().count();
        }
        let rest: String = letters[next..].iter().collect();
        assert!(!rest.contains(|c: char| c.is_ascii_digit()), "{}: {rest}", result.id);
    }
    assert!(sampled > 150, "{sampled} numbers of samples");
}

//! Counters of paths, from the run's database to the report's first page.

use load::{DirectionSample, Histogram, Sample};
use store::{
    CaseOutcome, CaseStatus, Counter, LoadOutcome, Manifest, ManifestTarget, NewCase, Run, RunEnd, RunReader,
    SourceText,
};

const SECOND_NS: u64 = 1_000_000_000;
const PLAN: &str = "title: Reads\nstages: { reads: { settings: { rw: randread, bs: 4k, runtime: 10 } } }\n";

/// Proves that counters of paths which a run has kept become a sentence on the first page, whatever drives beside the
/// load did, and that readings outside the load do not count.
#[test]
fn uneven_paths_are_said_on_the_first_page() {
    let directory = tempfile::tempdir().unwrap();
    let plan = plan::parse_plan("own", "own.yaml", PLAN).unwrap();
    let case = plan::expand(&plan, &plan::Selection::default()).unwrap().remove(0);
    let manifest = Manifest {
        arraylab_version: "0.1.0".into(),
        plan: SourceText { name: "own".into(), source: "own.yaml".into(), text: PLAN.into() },
        targets: vec![ManifestTarget { spec: "/dev/mapper/mpatha".into(), ..ManifestTarget::default() }],
        engine: "fio".into(),
        interval_ns: SECOND_NS,
        ..Manifest::default()
    };
    let new_case = NewCase {
        plan: case.plan,
        stage: case.stage,
        name: case.name,
        settings: case.settings,
        ..NewCase::default()
    };
    let mut run = Run::create(&directory.path().join("run"), &manifest, &[new_case]).unwrap();
    run.begin_case(0).unwrap();
    let mut load = LoadOutcome { name: "load".into(), ..LoadOutcome::default() };
    let paths = |run: &mut Run, at_s: u64, case_at_s: Option<u64>, kb_per_s: [f64; 2]| {
        let counter = |source, entity, value| Counter { source, entity, name: "rkB/s", value };
        let read = [
            counter("path", "mpatha/sdb", kb_per_s[0]),
            counter("path", "mpatha/sdc", kb_per_s[1]),
            counter("disk", "sda", 9e9),
            counter("disk", "sdz", 1.0),
        ];
        let case_at_ns = case_at_s.map(|second| second * SECOND_NS);
        run.append_counters(Some(0), at_s * SECOND_NS, case_at_ns, &read).unwrap();
    };
    paths(&mut run, 1, None, [0.0, 9e9]);
    for second in 0..10 {
        let mut latency = Histogram::new();
        (0..1000).for_each(|_| latency.record(1_000_000));
        let read = DirectionSample { ios: 1000, bytes: 4_096_000, latency, ..DirectionSample::default() };
        let (start_ns, end_ns) = (second * SECOND_NS, (second + 1) * SECOND_NS);
        let sample = Sample { start_ns, end_ns, read, ..Sample::default() };
        load.add(&sample);
        run.append_samples(0, "load", &[sample]).unwrap();
        paths(&mut run, second + 3, Some(second + 1), [3000.0, 1000.0]);
    }
    let outcome = CaseOutcome {
        status: CaseStatus::Done,
        engine: "fio".into(),
        target: "/dev/mapper/mpatha".into(),
        duration_ns: 10 * SECOND_NS,
        loads: vec![load],
        error: None,
        warnings: Vec::new(),
        extrapolation: None,
    };
    run.finish_case(0, &outcome).unwrap();
    run.end(&RunEnd::Done).unwrap();
    let report = report::from_run(&RunReader::open(&directory.path().join("run")).unwrap()).unwrap();
    let sentences: Vec<&str> = report.conclusions.iter().map(|conclusion| conclusion.text.text()).collect();
    let wanted =
        "The paths of mpatha do not share the load evenly: 75.0 % : 25.0 % (4K random reads, queue depth 1).";
    assert!(sentences.contains(&wanted), "{sentences:?}");
    assert!(report.markdown().contains("75.0 % : 25.0 %"));
}

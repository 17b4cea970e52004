//! Exported files as people read them.

use export::{FileLayout, PlanFormat, export_plan};
use plan::Selection;

/// The files of a plan, and what they do not say.
fn exported(plan: &plan::Plan, stages: &[&str], format: PlanFormat) -> String {
    let stages = stages.iter().map(|stage| (*stage).to_owned()).collect();
    let cases = plan::expand(plan, &Selection { stages, ..Selection::default() }).unwrap();
    match export_plan(plan, &cases, format, FileLayout::OneFile) {
        Ok(export) => export
            .files
            .into_iter()
            .map(|file| {
                file.text.replace(concat!("arraylab ", env!("CARGO_PKG_VERSION")), "arraylab VERSION")
            })
            .collect(),
        Err(error) => diagnostic::full_text(&error),
    }
}

fn of_text(text: &str, format: PlanFormat) -> String {
    exported(&plan::parse_plan("p", "p", text).unwrap_or_else(|error| panic!("{error}")), &[], format)
}

/// Proves how files look: comments with what they do not say, common options in `[global]`, definitions before runs.
#[test]
fn files_of_shipped_plans() {
    for (name, stages) in [("quick", &[][..]), ("storpool", &["limits", "neighbour"][..])] {
        let plan = plan::load_plan(name).unwrap().plan;
        insta::assert_snapshot!(format!("{name}-fio"), exported(&plan, stages, PlanFormat::Fio));
        insta::assert_snapshot!(format!("{name}-vdbench"), exported(&plan, stages, PlanFormat::Vdbench));
    }
}

/// Proves how each tool says a hot band, an end by bytes, parts of a range, rates and a curve, and what it says of settings
/// that it does not have.
#[test]
fn settings_that_are_written_otherwise() {
    let text = "title: t\nwatch: { interval: 5 }\nstages:\n  hot:\n    settings: { rw: randrw, bs: 4k, numjobs: 4, iodepth: 8, size: 1g, random_distribution: \"zoned:80/20:20/80\", io_size: 200%, rate_iops: 100, streams: 2 }\n  parts:\n    settings: { rw: read, bs: 64k, numjobs: 3, iodepth: 1, size: 100m, ramp_time: 10 }\n  quarters:\n    settings: { rw: write, bs: 64k, numjobs: 4, iodepth: 4, runtime: 7 }\n  curve:\n    settings: { rw: randread, bs: 8k, rate_process: poisson, ramp_time: 5 }\n    matrix: { rate_percent: [max, 10, 50] }\n  bursts:\n    settings: { rw: randread, bs: 8k, rate_burst_iops: 100, rate_burst_time: 1, rate_burst_period: 5 }\n  mix:\n    settings: { rw: randread, bs: 8k, bssplit: \"4k/30:64k/70\", ioengine: sync, iodepth: 4, random_distribution: \"zipf:1\" }\n  both:\n    settings: { rw: randread, bs: 4k, iodepth: 8, direct: 0, sync: dsync }\n    loads:\n      first: { target: 0 }\n      second: { target: 1, settings: { rw: write, bs: 64k, rate_iops: 100 } }\n";
    insta::assert_snapshot!("settings-fio", of_text(text, PlanFormat::Fio));
    insta::assert_snapshot!("settings-vdbench", of_text(text, PlanFormat::Vdbench));
}

/// Proves that a selection of which nothing can be written is refused with the reason, and that more jobs than fio takes of
/// one file become several files.
#[test]
fn limits_of_files() {
    let bursts = "title: t\nstages:\n  a:\n    settings: { rw: randread, bs: 8k, rate_burst_iops: 100, rate_burst_time: 1, rate_burst_period: 5 }\n";
    let refused = of_text(bursts, PlanFormat::Fio);
    assert!(
        refused.contains("rate_burst_iops: fio has no rate that varies") && refused.contains("hint: "),
        "{refused}"
    );
    let many = "title: t\nstages:\n  a:\n    settings: { rw: randread, bs: 8k, numjobs: 2000 }\n    matrix: { iodepth: [1, 2, 4, 8, 16] }\n";
    assert!(of_text(many, PlanFormat::Fio).contains("10000 jobs together"));
    let plan = plan::parse_plan("p", "p", many).unwrap();
    let cases = plan::expand(&plan, &Selection::default()).unwrap();
    let export = export_plan(&plan, &cases, PlanFormat::Fio, FileLayout::FilePerStage).unwrap();
    let names: Vec<&str> = export.files.iter().map(|file| file.name.as_str()).collect();
    assert_eq!(names, ["a-001.fio", "a-002.fio", "a-003.fio"]);
}

/// Proves that nothing of a plan that fio would read as a variable, a command or a section reaches a job file.
#[test]
fn words_of_a_plan_stay_words() {
    let text = "title: \"a\\nrw=write ${HOME}\"\nstages:\n  a:\n    settings: { rw: randread, bs: 8k, queue.scheduler: \"`id`${HOME}\", volume: x }\n    matrix: { queue.nr_requests: [\"1]\", \"${HOME};#\"] }\n";
    let file = of_text(text, PlanFormat::Fio);
    let plain: String =
        file.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    assert!(!plain.replace("${TARGET}", "").contains(['$', '`', ';', '#', '"']), "{file}");
    assert_eq!(plain.lines().filter(|line| line.starts_with('[')).count(), 3, "{file}");
    assert!(file.contains("queue.scheduler: fio does not set up the host"), "{file}");
}

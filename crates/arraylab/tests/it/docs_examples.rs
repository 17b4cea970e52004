//! The examples of the documentation, run as a reader would run them.

use crate::support::{arraylab, query, text};

/// The YAML examples of `docs/plan-language.md`.
fn examples() -> Vec<String> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan-language.md");
    let page = std::fs::read_to_string(path).expect("docs/plan-language.md");
    let fenced = page.split("```yaml\n").skip(1).filter_map(|rest| rest.split_once("```"));
    fenced.map(|(text, _)| text.to_owned()).collect()
}

/// Proves that every example with events is accepted by a twin and that an event of each takes place.
#[test]
fn event_examples_run_on_twins() {
    let with_events: Vec<String> =
        examples().into_iter().filter(|example| example.contains("events:")).collect();
    assert!(with_events.len() >= 2, "{with_events:#?}");
    for example in &with_events {
        let directory = tempfile::tempdir().unwrap();
        let (plan, run) = (directory.path().join("plan.yaml"), directory.path().join("run"));
        std::fs::write(&plan, example).unwrap();
        let array = if example.contains("volume:") { "twin:storpool" } else { "twin:composite-flash" };
        let (plan, out) = (plan.to_str().unwrap(), run.to_str().unwrap());
        let output = arraylab(&["run", plan, "--target", array, "--set", "runtime=4", "--out", out]);
        let printed_text = text(&output.stderr);
        assert_eq!(output.status.code(), Some(0), "{printed_text}\n{example}");
        let made = query(&run, "select count(*) from events where kind not in ('warning', 'note')");
        assert_ne!(made, "0", "{printed_text}\n{example}");
    }
}

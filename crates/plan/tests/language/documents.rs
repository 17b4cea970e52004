//! The documentation and the schema follow the tables.

use std::path::Path;

const BEGIN: &str =
    "<!-- written from crates/plan/src/setting; ARRAYLAB_UPDATE_DOCS=1 cargo test -p plan -->\n";
const END: &str = "<!-- end of the written part -->";

/// Proves that the tables of `docs/plan-language.md` are those of the code.
#[test]
fn the_language_page_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan-language.md");
    let page = std::fs::read_to_string(&path).expect("docs/plan-language.md");
    let (before, rest) = page.split_once(BEGIN).expect("the mark before the tables");
    let (_, after) = rest.split_once(END).expect("the mark after the tables");
    let current = format!("{before}{BEGIN}{}{END}{after}", plan::reference());
    if std::env::var_os("ARRAYLAB_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &current).expect("docs/plan-language.md");
    } else {
        assert!(page == current, "docs/plan-language.md is not current: run with ARRAYLAB_UPDATE_DOCS=1");
    }
}

/// Proves that every example on the language page is a plan.
#[test]
fn the_examples_are_plans() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/plan-language.md");
    let page = std::fs::read_to_string(path).expect("docs/plan-language.md");
    let examples: Vec<&str> = page
        .split("```yaml\n")
        .skip(1)
        .filter_map(|rest| rest.split_once("```").map(|(text, _)| text))
        .collect();
    assert!(!examples.is_empty());
    // One example replays a trace, which has to lie beside it.
    let directory = tempfile::tempdir().expect("a directory");
    std::fs::write(directory.path().join("mail.csv"), "0,8,4096,r,0.5\n").expect("a trace");
    for example in examples {
        let path = directory.path().join("example.yaml");
        std::fs::write(&path, example).expect("a plan");
        let path = path.to_str().expect("a path of text");
        plan::parse_plan("example", path, example).unwrap_or_else(|error| panic!("{error}"));
    }
}

/// Proves that the schema names every setting, refuses unknown keys, and refers only to what it defines.
#[test]
fn the_schema_follows_the_tables() {
    let schema = plan::schema(plan::Kind::Plan);
    assert_eq!(schema["additionalProperties"], false);
    let settings = schema["$defs"]["Settings"]["properties"].as_object().expect("settings");
    assert!(plan::SETTINGS.iter().all(|setting| settings.contains_key(setting.name)));
    assert_eq!(settings.len(), plan::SETTINGS.len());
    let text = schema.to_string();
    for reference in text.split("\"$ref\":\"").skip(1).filter_map(|rest| rest.split('"').next()) {
        let path = reference.strip_prefix('#').expect("a reference within the schema");
        assert!(schema.pointer(path).is_some(), "{reference}");
    }
}

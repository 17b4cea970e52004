//! Verification of a bundle: hashes, copies, every number of the report, and both forms of the report.

use crate::EvidenceError;
use crate::archive::{Unpacked, unpack};
use crate::bundle::{inventory, published_names, shipped_table};
use crate::difference::{BundleDifference, DifferenceKind};
use crate::error::io_error;
use crate::html_text::{has_text, normalized, visible_text};
use crate::members::{
    ARRAY, DATABASE, INVENTORY, MANIFEST, PICTURES, PLAN, PUBLISHED, REPORT_HTML, REPORT_JSON,
};
use diagnostic::{Problem, text_with_causes};
use serde_json::Value;
use std::path::Path;
use store::RunReader;

/// Most differences of one kind that are named; the count goes on.
const NAMED_LIMIT: usize = 1000;

/// Verified bundle.
#[derive(Debug, Clone, PartialEq)]
pub struct Verification {
    /// The run.
    pub run_id: String,
    /// The version that wrote the bundle.
    pub arraylab_version: String,
    /// Members that were read.
    pub members: usize,
    /// Numbers of the report that were recomputed.
    pub numbers: usize,
    /// SHA-256 of the bundle.
    pub sha256: String,
    /// Everything that differs; none where all agrees.
    pub differences: Vec<BundleDifference>,
    /// Checks that could not be made, and why.
    pub not_checked: Vec<String>,
}

/// Verifies a bundle. An error says that the file is none; whatever is wrong with a bundle is a difference.
pub fn verify(path: &Path) -> Result<Verification, EvidenceError> {
    let temporary = tempfile::Builder::new()
        .prefix("arraylab-verify-")
        .tempdir()
        .map_err(|source| io_error("write", &std::env::temp_dir(), source))?;
    let directory = temporary.path();
    let mut unpacked = unpack(path, directory)?;
    hashes(&mut unpacked);
    copies(&mut unpacked, directory);
    let mut not_checked = Vec::new();
    let report = parsed(&mut unpacked, REPORT_JSON);
    let mut numbers = 0;
    if let Some(report) = &report {
        numbers = count_numbers(report);
        recompute(&mut unpacked, directory, report);
        page(&mut unpacked, report);
    }
    match rendered(&mut unpacked, directory) {
        Ok(()) => {}
        Err(problem) => not_checked.push(text_with_causes(&problem)),
    }
    unpacked.differences.truncate(NAMED_LIMIT);
    Ok(Verification {
        run_id: unpacked.contents.run_id.clone(),
        arraylab_version: unpacked.contents.arraylab_version.clone(),
        members: unpacked.members.len(),
        numbers,
        sha256: unpacked.sha256,
        differences: unpacked.differences,
        not_checked,
    })
}

/// Every listed member is there with its size and hash.
fn hashes(unpacked: &mut Unpacked) {
    for member in unpacked.contents.members.clone() {
        let Some(found) = unpacked.members.get(&member.path) else {
            unpacked.add(DifferenceKind::Missing, &member.path, "bundle.json lists it, and it is not there");
            continue;
        };
        let (bytes, sha256) = (found.bytes, found.sha256.clone());
        if bytes != member.bytes {
            let says = format!("it has {bytes} bytes, bundle.json says {}", member.bytes);
            unpacked.add(DifferenceKind::Hash, &member.path, &says);
        } else if sha256 != member.sha256 {
            let listed: String = member.sha256.chars().take(64).collect();
            let says = format!("its SHA-256 is {sha256}, bundle.json says {}", listed.escape_debug());
            unpacked.add(DifferenceKind::Hash, &member.path, &says);
        }
    }
    for needed in [MANIFEST, DATABASE, REPORT_JSON, REPORT_HTML] {
        if !unpacked.contents.members.iter().any(|member| member.path == needed) {
            unpacked.add(
                DifferenceKind::Missing,
                needed,
                "every bundle has it, and bundle.json does not list it",
            );
        }
    }
}

/// Compares copies with their originals: the plan, the array and the inventory must be the manifest's, published tables the
/// shipped ones.
fn copies(unpacked: &mut Unpacked, directory: &Path) {
    let Some(found) = unpacked.members.get(MANIFEST) else { return };
    let manifest: store::Manifest = match serde_json::from_slice(&found.text) {
        Ok(manifest) => manifest,
        Err(error) => return unpacked.add(DifferenceKind::Unreadable, MANIFEST, &error.to_string()),
    };
    let (run_id, created) = (&unpacked.contents.run_id, &unpacked.contents.created_utc);
    if manifest.run_id != *run_id || manifest.created_utc != *created {
        unpacked.add(DifferenceKind::Copy, MANIFEST, "run_id or created_utc are not those of bundle.json");
    }
    let originals = [
        (PLAN, Some(manifest.plan.text.clone())),
        (ARRAY, manifest.array.as_ref().map(|array| array.text.clone())),
        (INVENTORY, Some(inventory(&manifest))),
    ];
    for (name, original) in originals {
        let copy = unpacked.members.get(name).map(|found| found.text.as_slice());
        if copy.is_some_and(|copy| original.as_deref().map(str::as_bytes) != Some(copy)) {
            unpacked.add(DifferenceKind::Copy, name, "it is not what run/manifest.json has");
        }
    }
    let prefix = format!("{PUBLISHED}/");
    let mut altered = Vec::new();
    for (name, found) in &unpacked.members {
        let Some(file) = name.strip_prefix(&prefix) else { continue };
        if shipped_table(file).is_some_and(|shipped| shipped.as_bytes() != found.text) {
            altered.push(name.clone());
        }
    }
    for name in altered {
        unpacked.add(
            DifferenceKind::Copy,
            &name,
            "it is not the table of this name that ships with this arraylab",
        );
    }
    // Where the checker looks for claims of shipped plans and for errors of models.
    let shipped = plan::shipped_plans().into_iter().find(|shipped| shipped.name == manifest.plan.name);
    let reference = directory.join("crates/findings/reference");
    let written = std::fs::create_dir_all(&reference)
        .and_then(|()| std::fs::create_dir_all(directory.join("plans")))
        // The checker finds both from here, also where the plan names no table.
        .and_then(|()| std::fs::create_dir_all(directory.join(PUBLISHED)))
        .and_then(|()| std::fs::write(reference.join("validation.jsonl"), findings::VALIDATION));
    let written = match shipped {
        Some(shipped) => written.and_then(|()| {
            std::fs::write(directory.join("plans").join(format!("{}.yaml", shipped.name)), shipped.text)
        }),
        None => written,
    };
    if let Err(error) = written {
        unpacked.add(DifferenceKind::Unreadable, "the temporary directory", &text_with_causes(&error));
    }
}

fn parsed(unpacked: &mut Unpacked, name: &str) -> Option<Value> {
    match serde_json::from_slice(&unpacked.members.get(name)?.text) {
        Ok(value) => Some(value),
        Err(error) => {
            unpacked.add(DifferenceKind::Unreadable, name, &text_with_causes(&error));
            None
        }
    }
}

/// Counts the numbers of a report that have a value or a source.
fn count_numbers(value: &Value) -> usize {
    match value {
        Value::Object(fields) => {
            let own = fields.get("numbers").and_then(Value::as_array).map_or(0, Vec::len);
            own + fields.values().map(count_numbers).sum::<usize>()
        }
        Value::Array(values) => values.iter().map(count_numbers).sum(),
        _ => 0,
    }
}

/// Every number of the report from the samples, by code that shares nothing with the report's.
fn recompute(unpacked: &mut Unpacked, directory: &Path, report: &Value) {
    if !unpacked.members.contains_key(DATABASE) || !unpacked.members.contains_key(MANIFEST) {
        return;
    }
    match report_check::Run::open(&directory.join("run"), &directory.join(PUBLISHED)) {
        Ok(run) => {
            for found in report_check::check(&run, report) {
                unpacked.add(DifferenceKind::Number, &found.place, &found.what);
            }
        }
        Err(error) => unpacked.add(DifferenceKind::Unreadable, DATABASE, &error.to_string()),
    }
}

/// Every text of the report's JSON stands on its page.
fn page(unpacked: &mut Unpacked, report: &Value) {
    let Some(found) = unpacked.members.get(REPORT_HTML) else { return };
    let shown = normalized(&visible_text(&String::from_utf8_lossy(&found.text)));
    let mut missing = Vec::new();
    let mut look = |place: &str, text: &Value| {
        let lines = text["text"].as_str().unwrap_or_default().lines();
        for line in lines.map(normalized) {
            if !line.is_empty() && !has_text(&shown, line.trim()) {
                missing.push((place.to_owned(), line));
            }
        }
    };
    let items = |name: &str| report[name].as_array().map(Vec::as_slice).unwrap_or_default();
    look("title", &report["title"]);
    look("subtitle", &report["subtitle"]);
    items("sentences").iter().for_each(|text| look(text["part"].as_str().unwrap_or("sentence"), text));
    items("warnings").iter().for_each(|text| look("warning", text));
    for tile in items("tiles") {
        look("tile", &tile["value"]);
        look("tile", &tile["detail"]);
    }
    for table in items("tables") {
        let place = format!("table {}", table["id"].as_str().unwrap_or_default());
        for cell in table["rows"]
            .as_array()
            .into_iter()
            .flatten()
            .flat_map(|row| row.as_array().into_iter().flatten())
        {
            look(&place, cell);
        }
    }
    for (place, line) in missing.into_iter().take(NAMED_LIMIT) {
        unpacked.add(
            DifferenceKind::Page,
            &place,
            &format!("report.html does not have “{line}” of report.json"),
        );
    }
}

/// Both forms of the report are what this version writes of the same samples. An error says why that was not checked.
fn rendered(unpacked: &mut Unpacked, directory: &Path) -> Result<(), Problem> {
    let own = env!("CARGO_PKG_VERSION");
    let not =
        |because: &str| Problem::new(format!("the report was not written again for comparison: {because}"));
    if unpacked.contents.arraylab_version != own {
        let other: String = unpacked.contents.arraylab_version.chars().take(40).collect();
        let because = format!("the bundle is of arraylab {}, this is {own}", other.escape_debug());
        return Err(not(&because));
    }
    let Some(manifest) = unpacked.members.get(MANIFEST) else { return Err(not("the manifest is missing")) };
    let manifest: store::Manifest = serde_json::from_slice(&manifest.text)
        .map_err(|error| not(&format!("the manifest cannot be read: {error}")))?;
    // Writing a report looks for tables and pictures of a plan beside the plan's file; a bundle from outside must not say
    // which files of this machine are read.
    if published_names(&manifest.plan.text).iter().any(|file| shipped_table(file).is_none()) {
        return Err(not("its plan has published tables of its own"));
    }
    let plan: Value = plan::parse_yaml("plan.yaml", &manifest.plan.text).unwrap_or_default();
    let has_pictures = unpacked.members.keys().any(|name| name.starts_with(PICTURES));
    if has_pictures || plan["images"].as_array().is_some_and(|images| !images.is_empty()) {
        return Err(not("its plan has pictures"));
    }
    let run = match RunReader::open(&directory.join("run")) {
        Ok(run) => run,
        Err(error) => {
            unpacked.add(DifferenceKind::Unreadable, DATABASE, &error.to_string());
            return Ok(());
        }
    };
    let report = match report::from_run(&run) {
        Ok(report) => report,
        Err(error) => {
            unpacked.add(DifferenceKind::Unreadable, DATABASE, &error.to_string());
            return Ok(());
        }
    };
    for (name, text) in [(REPORT_JSON, format!("{}\n", report.json())), (REPORT_HTML, report.html())] {
        let Some(found) = unpacked.members.get(name) else { continue };
        if found.text != text.as_bytes() {
            let says = first_difference(&text, &String::from_utf8_lossy(&found.text));
            unpacked.add(DifferenceKind::Rendered, name, &says);
        }
    }
    Ok(())
}

/// Describes the first difference of two texts, with a few words of both.
fn first_difference(expected: &str, found: &str) -> String {
    let at = expected.chars().zip(found.chars()).take_while(|(a, b)| a == b).count();
    let excerpt = |text: &str| -> String {
        text.chars().skip(at.saturating_sub(30)).take(80).collect::<String>().replace('\n', " ")
    };
    format!("from character {at} on, the samples give “{}”, it has “{}”", excerpt(expected), excerpt(found))
}

//! Finding a plan or an array by name or path.

use crate::check::{KeptSettings, SuppliedFiles};
use crate::file_text::read_text;
use crate::plan::Plan;
use crate::shipped::{Shipped, shipped_arrays, shipped_plans};
use crate::source::SourceText;
use crate::yaml::FILE_BYTES_LIMIT;
use crate::{PlanError, PlanErrorKind};
use array::did_you_mean;
use std::path::Path;

/// A plan with the text that it was read from.
#[derive(Debug, Clone)]
pub struct LoadedPlan {
    /// The plan's name: that under which it ships, or its file's name without the ending.
    pub name: String,
    /// Source of the text, as errors show it.
    pub source: String,
    /// The YAML.
    pub text: String,
    /// The plan.
    pub plan: Plan,
}

/// An array with the text that it was read from.
#[derive(Debug, Clone)]
pub struct LoadedArray {
    /// The array's name: that under which it ships, or its file's name without the ending.
    pub name: String,
    /// Source of the text, as errors show it.
    pub source: String,
    /// The YAML.
    pub text: String,
    /// The array.
    pub description: twin::ArrayDescription,
}

/// Finds an array: a shipped name, else a path.
pub fn load_array(name_or_path: &str) -> Result<LoadedArray, PlanError> {
    let found = find("array", name_or_path, &shipped_arrays())?;
    let description = parse_array(&found.source, &found.text)?;
    Ok(LoadedArray { name: found.name, source: found.source, text: found.text, description })
}

/// Reads and checks an array.
pub fn parse_array(source_name: &str, text: &str) -> Result<twin::ArrayDescription, PlanError> {
    let source = SourceText::new(source_name, text);
    let resolved = crate::array_document::resolve_source(&source)?;
    let stem = Path::new(source_name).file_stem();
    let name = stem.map_or_else(|| source_name.to_owned(), |stem| stem.to_string_lossy().into_owned());
    Ok(twin::ArrayDescription::of_parts(name, resolved))
}

/// Finds a plan: a shipped name, else a path.
pub fn load_plan(name_or_path: &str) -> Result<LoadedPlan, PlanError> {
    let found = find("plan", name_or_path, &shipped_plans())?;
    let plan = parse_plan(&found.name, &found.source, &found.text)?;
    Ok(LoadedPlan { name: found.name, source: found.source, text: found.text, plan })
}

/// Reads and checks a plan. Published tables that do not ship are looked for beside the file `source_name`.
pub fn parse_plan(name: &str, source_name: &str, text: &str) -> Result<Plan, PlanError> {
    parse(name, source_name, text, SuppliedFiles::default())
}

/// Reads the plan of an earlier run: `kept` has the settings of one case of each stage. Traces of replays are not read
/// again, since they may be long or moved away; the cases have no trace then.
pub fn parse_kept_plan(
    name: &str,
    source_name: &str,
    text: &str,
    kept: &KeptSettings,
) -> Result<Plan, PlanError> {
    parse(name, source_name, text, SuppliedFiles { kept: Some(kept), ..SuppliedFiles::default() })
}

/// The same, with the text of one published table given: its name in the plan, and its CSV.
pub fn parse_plan_with_table(
    name: &str,
    source_name: &str,
    text: &str,
    table: Option<(&str, &str)>,
) -> Result<Plan, PlanError> {
    parse(name, source_name, text, SuppliedFiles { table, ..SuppliedFiles::default() })
}

fn parse(name: &str, source_name: &str, text: &str, given: SuppliedFiles<'_>) -> Result<Plan, PlanError> {
    let source = SourceText::new(source_name, text);
    let document = crate::yaml::parse_source(&source)?;
    let path = Path::new(source_name);
    let directory = path.is_file().then(|| path.parent()).flatten();
    crate::check::check(name, source, directory, document, given)
}

/// A text, found.
struct Found {
    name: String,
    source: String,
    text: String,
}

fn find(what: &str, name_or_path: &str, shipped: &[Shipped]) -> Result<Found, PlanError> {
    if let Some(shipped) = shipped.iter().find(|shipped| shipped.name == name_or_path) {
        return Ok(Found {
            name: shipped.name.to_owned(),
            source: format!("{what}s/{}.yaml", shipped.name),
            text: shipped.text.to_owned(),
        });
    }
    let path = Path::new(name_or_path);
    let looks_like_a_path = name_or_path.contains(['/', '.']);
    if !looks_like_a_path && !path.exists() {
        return Err(PlanError::new(
            PlanErrorKind::UnknownName,
            format!("no {what} `{name_or_path}` ships, and no file has this name"),
        )
        .maybe_hint(did_you_mean(name_or_path, shipped.iter().map(|shipped| shipped.name))));
    }
    let text = read_text(path, FILE_BYTES_LIMIT)?;
    let stem = path.file_stem().map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    Ok(Found { name: stem, source: name_or_path.to_owned(), text })
}

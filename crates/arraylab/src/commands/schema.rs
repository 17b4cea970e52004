//! `schema`: JSON Schemas, for editors and for programs.

use crate::cli::{SchemaArgs, SchemaKind};
use crate::failure::Failure;
use crate::output::print;
use std::process::ExitCode;

/// `arraylab schema`
pub fn print_schema(arguments: &SchemaArgs) -> Result<ExitCode, Failure> {
    let schema = match arguments.kind {
        SchemaKind::Plan => plan::schema(plan::Kind::Plan),
        SchemaKind::Array => plan::schema(plan::Kind::Array),
        SchemaKind::Results => store::results_schema(),
    };
    let text = serde_json::to_string_pretty(&schema).map_err(Failure::failed_by)?;
    print(&format!("{text}\n"))?;
    Ok(ExitCode::SUCCESS)
}

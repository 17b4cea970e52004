//! `plans`, `arrays`, `show`: what ships.

use crate::cli::{ListArgs, ShowArgs, ShowKind};
use crate::failure::Failure;
use crate::output::{print, print_json_lines};
use crate::table::{Align, render};
use serde_json::json;
use std::process::ExitCode;

/// `arraylab plans`
pub fn plans(arguments: &ListArgs) -> Result<ExitCode, Failure> {
    list(arguments, &plan::shipped_plans())
}

/// `arraylab arrays`
pub fn arrays(arguments: &ListArgs) -> Result<ExitCode, Failure> {
    list(arguments, &plan::shipped_arrays())
}

fn list(arguments: &ListArgs, shipped: &[plan::Shipped]) -> Result<ExitCode, Failure> {
    if arguments.json {
        print_json_lines(shipped.iter().map(|item| json!({ "name": item.name, "title": item.title })))?;
    } else {
        let rows: Vec<Vec<String>> =
            shipped.iter().map(|item| vec![item.name.to_owned(), item.title.to_string()]).collect();
        print(&render(&[("name", Align::Left), ("what it is", Align::Left)], &rows))?;
    }
    Ok(ExitCode::SUCCESS)
}

/// `arraylab show`
pub fn show(arguments: &ShowArgs) -> Result<ExitCode, Failure> {
    let text = match arguments.kind {
        ShowKind::Plan => plan::load_plan(&arguments.name)?.text,
        ShowKind::Array => plan::load_array(&arguments.name)?.text,
        ShowKind::Part => super::check::part_text(&arguments.name)?,
    };
    print(&text)?;
    Ok(ExitCode::SUCCESS)
}

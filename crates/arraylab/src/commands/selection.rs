//! `--stage`, `--only` and `--set`, as both `expand` and `run` take them.

use crate::cli::SelectionArgs;
use crate::failure::Failure;

/// Takes the words apart; whether the plan has such stages and settings is for the plan to say.
pub fn selection(arguments: &SelectionArgs) -> Result<plan::Selection, Failure> {
    let mut selection = plan::Selection { stages: arguments.stages.clone(), ..plan::Selection::default() };
    for text in &arguments.only {
        let (key, values) = key_and_value("--only", text)?;
        selection.only.push((key, values.split(',').map(str::to_owned).collect()));
    }
    for text in &arguments.set {
        selection.set.push(key_and_value("--set", text)?);
    }
    Ok(selection)
}

/// Takes `KEY=VALUE` of an option apart.
pub fn key_and_value(option: &str, text: &str) -> Result<(String, String), Failure> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() && !value.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => {
            Err(Failure::refused(format!("`{option} {text}` is not KEY=VALUE; for example `{option} bs=4k`")))
        }
    }
}

//! Restoring host settings, also those of interrupted runs.

use crate::Change;
use crate::host::attribute::{Attribute, HostRoots, same_value};
use crate::host::journal::{Entry, StateDirectory};
use crate::host::{HostError, journal::Other};
use diagnostic::{Problem, full_text};
use std::fs;
use std::path::Path;

/// Result of restoring settings.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PutBack {
    /// Settings that were put back, in that order.
    pub changes: Vec<Change>,
    /// Settings that were left as they are, each with the reason.
    pub problems: Vec<String>,
}

/// Settings left by earlier runs, now restored.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Recovered {
    /// Settings that were put back for processes that died.
    pub put_back: PutBack,
    /// The processes of runs that are under way; their settings stay.
    pub live: Vec<u32>,
}

/// Puts back what dead runs left in the journals of `state_directory`. A directory that does not exist has none.
pub fn recover(roots: &HostRoots, state_directory: &Path) -> Result<Recovered, HostError> {
    if !state_directory.exists() {
        return Ok(Recovered::default());
    }
    let directory = StateDirectory::open(state_directory)?;
    let _lock = directory.lock()?;
    recover_others(roots, directory.others(roots, None)?)
}

/// The directory must be locked.
pub(crate) fn recover_others(roots: &HostRoots, others: Vec<Other>) -> Result<Recovered, HostError> {
    let mut recovered = Recovered::default();
    for other in others {
        if other.live {
            recovered.live.push(other.pid);
            continue;
        }
        if !other.earlier_boot {
            let PutBack { changes, problems } = put_back(roots, &other.entries);
            recovered.put_back.changes.extend(changes);
            recovered.put_back.problems.extend(problems);
        }
        fs::remove_file(&other.path).map_err(|source| HostError::io("remove", &other.path, source))?;
        drop(other.file);
    }
    Ok(recovered)
}

/// All that was done to one attribute.
struct History<'a> {
    attribute: &'a Attribute,
    original: &'a str,
    /// Every value that we gave it.
    ours: Vec<&'a str>,
    dependents: &'a [(Attribute, String)],
}

/// Puts back in reverse order. May be repeated, and may follow an attempt that was killed: what is back already stays.
pub(crate) fn put_back(roots: &HostRoots, entries: &[Entry]) -> PutBack {
    let mut histories: Vec<History<'_>> = Vec::new();
    for entry in entries {
        match histories.iter_mut().find(|history| *history.attribute == entry.attribute) {
            Some(history) => history.ours.extend([entry.before.as_str(), entry.after.as_str()]),
            None => histories.push(History {
                attribute: &entry.attribute,
                original: &entry.before,
                ours: vec![&entry.after],
                dependents: &entry.dependents,
            }),
        }
    }
    let mut changes = Vec::new();
    let mut problems: Vec<(&Attribute, Problem)> = Vec::new();
    for history in histories.iter().rev() {
        match put_back_one(roots, history, &mut changes) {
            // A change of the scheduler had given these a value of the kernel's, which is not one of ours; now they have
            // the one before it.
            Ok(()) => problems.retain(|(attribute, _)| {
                !history.dependents.iter().any(|(dependent, _)| dependent == *attribute)
            }),
            Err(problem) => problems.push((history.attribute, problem)),
        }
    }
    PutBack { changes, problems: problems.iter().map(|(_, problem)| full_text(problem)).collect() }
}

fn not_back_to(attribute: &Attribute, value: &str, error: &HostError) -> Problem {
    Problem::of(error).within(format!("{} could not be put back to {value}", attribute.name()))
}

fn put_back_one(roots: &HostRoots, history: &History<'_>, changes: &mut Vec<Change>) -> Result<(), Problem> {
    let History { attribute, original, ours, dependents } = history;
    let name = attribute.name();
    let not_back = |error: HostError| not_back_to(attribute, original, &error);
    let current = attribute.read(roots).map_err(not_back)?;
    if !same_value(&current, original) {
        if !ours.iter().any(|value| same_value(value, &current)) {
            return Err(format!(
                "{name} is {current}, which arraylab did not set; it is left so (it was {original})"
            )
            .into());
        }
        attribute.write(roots, original).map_err(not_back)?;
        let now = attribute.read(roots).map_err(not_back)?;
        if !same_value(&now, original) {
            return Err(format!("{name} was put back to {original} and is {now}").into());
        }
        changes.push(Change::host(
            &name,
            attribute.reportable_value(&current),
            attribute.reportable_value(original),
        ));
    }
    // The kernel gave these other values when the scheduler came and went. Also done when the scheduler is back
    // already: a process may have been killed in between.
    for (dependent, value) in *dependents {
        match dependent.read(roots) {
            Ok(now) if same_value(&now, value) => {}
            Ok(now) => {
                dependent.write(roots, value).map_err(|error| not_back_to(dependent, value, &error))?;
                changes.push(Change::host(dependent.name(), Some(now), Some(value.clone())));
            }
            Err(error) => return Err(not_back_to(dependent, value, &error)),
        }
    }
    Ok(())
}

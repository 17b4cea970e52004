//! Assignment of loads to targets.

use crate::CampaignError;
use diagnostic::Problem;
use plan::{Case, LoadTarget};

/// The number of the target of a case's named load.
pub(crate) fn target_of(case: &Case, load_index: usize, targets: &[&str]) -> Result<usize, CampaignError> {
    let load = &case.loads[load_index];
    let refused = |problem: Problem| {
        Err(problem.within(format!("stage `{}`, load `{}`", case.stage, load.name)).into())
    };
    let given = targets.len();
    match &load.target {
        Some(LoadTarget::Number(number)) if *number < given => Ok(*number),
        Some(LoadTarget::Number(number)) => refused(
            Problem::new(format!("it is for target {number}, counted from 0, but there are {given}"))
                .with_hint("give more --target"),
        ),
        Some(LoadTarget::Name(name)) => {
            let named: Vec<usize> = (0..given).filter(|&number| name_of(targets[number]) == name).collect();
            match named[..] {
                [number] => Ok(number),
                [] => refused(format!("no --target is named `{name}`").into()),
                _ => refused(format!("several --target are named `{name}`").into()),
            }
        }
        None if given == 1 => Ok(0),
        None if given == case.loads.len() => Ok(load_index),
        None => refused(
            Problem::new(format!("{} loads and {given} targets do not pair up", case.loads.len()))
                .with_hint("give one --target for each load, or one for all"),
        ),
    }
}

/// The last part of a path or an address, without what follows it.
fn name_of(target: &str) -> &str {
    let path = target.strip_prefix("file:").unwrap_or(target);
    let path = path.split([',', '?']).next().unwrap_or(path);
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that a target's name is the last part of its path, whatever kind of target it is.
    #[test]
    fn a_target_is_named_by_its_last_part() {
        assert_eq!(name_of("/dev/mapper/vol1"), "vol1");
        assert_eq!(name_of("file:/tmp/a.img,size=1g"), "a.img");
        assert_eq!(name_of("nbd://host/export"), "export");
        assert_eq!(name_of("nbd+unix:///export?socket=/run/x"), "export");
    }
}

//! Allow-lists: exceptions from a rule, each with its reason.

use std::cell::Cell;

/// Exception from a rule.
#[derive(Debug)]
pub struct Exception {
    /// Rule as it stands in the list.
    pub rule: String,
    /// Beginning of the paths that it covers.
    pub path: String,
    /// Reason.
    pub reason: String,
    is_used: Cell<bool>,
}

/// Exceptions of one rule file: `rule | path | reason` a line; `#` begins a comment.
#[derive(Debug)]
pub struct AllowList(Vec<Exception>);

impl AllowList {
    /// Parses a list; an error names the first line without a rule, a path and a reason.
    pub fn parse(text: &str) -> Result<AllowList, String> {
        let lines =
            text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty() && !line.starts_with('#'));
        let exceptions = lines.map(|(index, line)| {
            let fields: Vec<&str> = line.split('|').map(str::trim).collect();
            match fields[..] {
                [rule, path, reason] if !rule.is_empty() && !path.is_empty() && reason.len() > 10 => {
                    Ok(Exception {
                        rule: rule.to_owned(),
                        path: path.to_owned(),
                        reason: reason.to_owned(),
                        is_used: Cell::new(false),
                    })
                }
                _ => Err(format!("line {}: needs `rule | path | reason`: {line}", index + 1)),
            }
        });
        exceptions.collect::<Result<_, _>>().map(AllowList)
    }

    /// Returns true if a rule may be broken in a file. `*` stands for every rule.
    pub fn allows(&self, rule: &str, path: &str) -> bool {
        let covering = self
            .0
            .iter()
            .filter(|entry| (entry.rule == rule || entry.rule == "*") && path.starts_with(&entry.path));
        covering.map(|entry| entry.is_used.set(true)).count() > 0
    }

    /// Exceptions that were not needed since the list was parsed.
    pub fn unused(&self) -> impl Iterator<Item = &Exception> {
        self.0.iter().filter(|entry| !entry.is_used.get())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that an exception covers its rule below its path only, needs a reason, and is listed while it is unused.
    #[test]
    fn exceptions_cover_their_rule_and_path() {
        let list =
            AllowList::parse("# why\nident a | crates/x/ | changed by another branch\n").expect("a list");
        assert_eq!(list.unused().count(), 1);
        assert!(list.allows("ident a", "crates/x/src/lib.rs") && list.unused().count() == 0);
        assert!(
            !list.allows("ident a", "crates/y/src/lib.rs") && !list.allows("ident b", "crates/x/src/lib.rs")
        );
        assert!(AllowList::parse("ident a | crates/x/ |").is_err());
    }
}

//! Entries inside the binary.

use crate::{Entry, LibraryError};

macro_rules! entry {
    ($id:literal) => {
        ($id, include_str!(concat!("../../../library/", $id, ".yaml")))
    };
}

/// Entries by identifier, which is the name of the file.
const ENTRIES: &[(&str, &str)] = &[
    entry!("aws-rds-gp2-30gb"),
    entry!("bcache-disks"),
    entry!("dorado-2100-g2"),
    entry!("e2700"),
    entry!("flashsystem-820"),
    entry!("flashsystem-840"),
    entry!("flashsystem-840-2015"),
    entry!("flashsystem-900"),
    entry!("hus-vm"),
    entry!("hus-vm-one-server"),
    entry!("intel-d7-p5500"),
    entry!("intel-d7-p5600"),
    entry!("kioxia-cd6"),
    entry!("kioxia-cd7"),
    entry!("kioxia-cd8"),
    entry!("kioxia-cm6"),
    entry!("micron-7600-max"),
    entry!("micron-9200"),
    entry!("micron-9550-max"),
    entry!("raid-levels"),
    entry!("samsung-pm1743"),
    entry!("samsung-pm9a3"),
    entry!("solidigm-d7-p5810"),
    entry!("storpool"),
    entry!("violin-6232"),
    entry!("vmware-vsan-6-1"),
];

/// All entries, in the order of their identifiers.
pub fn entries() -> Result<Vec<Entry>, LibraryError> {
    ENTRIES.iter().map(|(id, text)| read(id, text)).collect()
}

/// The entry of this identifier.
pub fn find(id: &str) -> Result<Entry, LibraryError> {
    match ENTRIES.iter().find(|(name, _)| *name == id) {
        Some((id, text)) => read(id, text),
        None => Err(LibraryError::UnknownEntry { id: id.to_owned(), hint: hint(id) }),
    }
}

/// The nearest entries: by the whole identifier, else by its first word, else all.
fn hint(id: &str) -> String {
    let all: Vec<&str> = ENTRIES.iter().map(|(name, _)| *name).collect();
    let first_word = |name: &str| name.split('-').next().unwrap_or_default().to_owned();
    let is_near = |name: &&&str| {
        plan::nearest(id, [**name]).is_some()
            || plan::nearest(&first_word(id), [first_word(name).as_str()]).is_some()
    };
    match all.iter().filter(is_near).copied().collect::<Vec<_>>() {
        near if near.is_empty() => format!("known here: {}", all.join(", ")),
        near => format!(
            "did you mean {}?",
            near.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" or ")
        ),
    }
}

fn read(id: &str, text: &str) -> Result<Entry, LibraryError> {
    let mut entry: Entry = plan::parse_yaml(&format!("library/{id}.yaml"), text)?;
    id.clone_into(&mut entry.id);
    Ok(entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Proves that every file of `library/` is an entry of the binary, and that the entries stand in order.
    #[test]
    fn every_file_is_an_entry() {
        let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/../../library");
        let mut files: Vec<String> = std::fs::read_dir(directory)
            .expect("library/")
            .map(|file| file.expect("a file").file_name().to_string_lossy().into_owned())
            .filter_map(|name| name.strip_suffix(".yaml").map(str::to_owned))
            .collect();
        files.sort();
        let ids: Vec<&str> = ENTRIES.iter().map(|(id, _)| *id).collect();
        assert_eq!(files, ids);
        assert!(entries().expect("all are read").iter().all(|entry| !entry.missing.is_empty()));
    }

    /// Proves that an unknown identifier is refused with the nearest one, or with all.
    #[test]
    fn an_unknown_entry_is_refused_with_a_hint() {
        let error = diagnostic::full_text(&find("violin-6233").expect_err("unknown"));
        assert!(error.contains("did you mean `violin-6232`?"), "{error}");
        let error = diagnostic::full_text(&find("flashsystm").expect_err("unknown"));
        assert!(error.contains("`flashsystem-820` or `flashsystem-840` or"), "{error}");
        assert!(diagnostic::full_text(&find("x").expect_err("unknown")).contains("hus-vm-one-server"));
    }
}

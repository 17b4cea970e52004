#![doc = include_str!("../README.md")]

mod allow_list;
mod doc_lines;
mod rust_text;

pub use allow_list::{AllowList, Exception};
pub use doc_lines::{FirstDocLine, first_doc_lines};
pub use rust_text::{Piece, PieceKind, pieces};

use std::path::{Path, PathBuf};

/// Root directory of the repository.
pub fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("/")).to_path_buf()
}

/// Files below `directory` with one of the extensions, relative to `root`, in alphabetical order.
pub fn files(root: &Path, directory: &str, extensions: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    collect(&root.join(directory), extensions, &mut found);
    let relative = |path: &PathBuf| path.strip_prefix(root).ok()?.to_str().map(str::to_owned);
    let mut names: Vec<String> = found.iter().filter_map(relative).collect();
    names.sort();
    names
}

fn collect(path: &Path, extensions: &[&str], found: &mut Vec<PathBuf>) {
    if path.is_file() {
        let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or("");
        if extensions.contains(&extension) {
            found.push(path.to_owned());
        }
    } else if !is_built(path)
        && let Ok(entries) = path.read_dir()
    {
        entries.flatten().for_each(|entry| collect(&entry.path(), extensions, found));
    }
}

/// Returns true if a directory is build output.
fn is_built(path: &Path) -> bool {
    path.ends_with("target")
}

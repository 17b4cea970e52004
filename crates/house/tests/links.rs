//! Links of documents lead to files, and every page of `docs/` stands in the book.

use house::{files, repository};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};

/// Pages that `scripts/make-docs.sh` makes from the repository's root.
const MADE: [&str; 4] = ["introduction.md", "contributing.md", "architecture.md", "changelog.md"];

/// Relative targets of the links of a page, without their anchors.
fn links(text: &str) -> Vec<&str> {
    let targets = text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(target, _)| target);
    let paths = targets.map(|target| target.split(['#', ' ']).next().unwrap_or_default());
    paths.filter(|path| !path.is_empty() && !path.contains(':')).collect()
}

/// A path without `..`.
fn normal(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for part in path.components() {
        if part == Component::ParentDir {
            normal.pop();
        } else {
            normal.push(part);
        }
    }
    normal
}

/// Proves that relative links in README, CONTRIBUTING, CHANGELOG, ARCHITECTURE and docs lead to files of the repository.
#[test]
fn links_lead_to_files() {
    let root = repository();
    let pages = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "ARCHITECTURE.md", "docs"];
    let mut broken = Vec::new();
    for path in pages.iter().flat_map(|directory| files(&root, directory, &["md"])) {
        let text = fs::read_to_string(root.join(&path)).expect(&path);
        let directory = Path::new(&path).parent().unwrap_or(Path::new(""));
        for link in links(&text) {
            let is_made = path == "docs/SUMMARY.md" && MADE.contains(&link);
            if !is_made && !root.join(normal(&directory.join(link))).exists() {
                broken.push(format!("{path}: {link}"));
            }
        }
    }
    assert!(broken.is_empty(), "{broken:#?}");
}

/// Proves that the book has every page of `docs/` once.
#[test]
fn the_book_has_every_page() {
    let root = repository();
    let summary = fs::read_to_string(root.join("docs/SUMMARY.md")).expect("docs/SUMMARY.md");
    let listed = links(&summary);
    let once: BTreeSet<&str> = listed.iter().copied().collect();
    assert_eq!(listed.len(), once.len(), "a page stands twice in docs/SUMMARY.md");
    let pages = files(&root, "docs", &["md"]);
    let pages =
        pages.iter().filter_map(|path| path.strip_prefix("docs/")).filter(|path| *path != "SUMMARY.md");
    let expected: BTreeSet<&str> = pages.chain(MADE).collect();
    assert_eq!(once, expected);
}

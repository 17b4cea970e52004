//! First lines of modules and items: noun phrases in standard terms, or for functions verb phrases, not questions.

use house::{AllowList, files, first_doc_lines, repository};
use std::collections::BTreeMap;
use std::fs;

/// First words of a line that is written around its noun.
const QUESTION_WORDS: [&str; 9] = ["What", "How", "Who", "Whose", "Which", "When", "Where", "Why", "Whether"];

/// Returns the question word that a line begins with.
fn question_word_of(line: &str) -> Option<&str> {
    let end = |letter: char| !letter.is_alphanumeric();
    line.trim().split(end).next().filter(|word| QUESTION_WORDS.contains(word))
}

/// Returns the question word that a module's first line begins with.
fn question_word(source: &str) -> Option<&str> {
    source.lines().find_map(|line| line.strip_prefix("//!")).and_then(question_word_of)
}

/// Lists the items of a file that begin with a question, as `path:line: word`. Types that print their comments to users are
/// left out: help and schemas have sentences of their own, which snapshots hold.
fn questions(path: &str, source: &str) -> Vec<String> {
    let lines = first_doc_lines(source).into_iter().filter(|line| !line.is_printed);
    lines
        .filter_map(|line| Some(format!("{path}:{}: `{} …`", line.line, question_word_of(line.text)?)))
        .collect()
}

/// Proves that no module begins with a question such as "What a drawing shows" without a reason in the allow-list, and that
/// every entry of the list is still needed.
#[test]
fn modules_begin_with_a_noun() {
    let root = repository();
    let list = fs::read_to_string(root.join("crates/house/allowed-first-lines.txt")).expect("the allow-list");
    let allowed = AllowList::parse(&list).expect("the allow-list");
    let sources = files(&root, "crates", &["rs"]).into_iter().chain(files(&root, "fuzz", &["rs"]));
    let mut found = Vec::new();
    for path in sources {
        let source = fs::read_to_string(root.join(&path)).expect(&path);
        if let Some(word) = question_word(&source)
            && !allowed.allows(word, &path)
        {
            found.push(format!("{path}: `{word} …`"));
        }
    }
    assert!(found.is_empty(), "first lines that ask instead of naming:\n{}", found.join("\n"));
    let unused: Vec<_> = allowed.unused().collect();
    assert!(unused.is_empty(), "entries of allowed-first-lines.txt that nothing needs: {unused:#?}");
}

/// Proves that no item, public or not, in sources or tests, begins with a question such as "How many bytes.".
#[test]
fn items_begin_with_a_noun_or_verb() {
    let root = repository();
    let mut found: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    let paths = files(&root, "crates", &["rs"]);
    for path in &paths {
        let name = path.split('/').nth(1).expect("a path below crates/");
        let source = fs::read_to_string(root.join(path)).expect(path);
        found.entry(name).or_default().extend(questions(path, &source));
    }
    assert!(found.len() > 20, "sources of crates, not only of {:?}", found.keys());
    let found: Vec<String> = found.into_values().flatten().collect();
    assert!(found.is_empty(), "items that ask instead of naming:\n{}", found.join("\n"));
}

/// Proves that question words are found on the first line only, and only as whole words.
#[test]
fn question_words_are_found() {
    assert_eq!(question_word("//! What a twin lacks.\n"), Some("What"));
    assert_eq!(question_word("// a licence\n//! How twins run.\n"), Some("How"));
    assert_eq!(question_word("//! Whatever lasts.\n//! What else.\n"), None);
    assert_eq!(question_word("//! Limits of a twin.\n//! What it lacks.\n"), None);
    assert_eq!(question_word("fn main() {}\n"), None);
    let item = "/// Whether it ends.\nfn ends() {}\n/// Ends.\n/// Which is said.\nfn end() {}\n";
    assert_eq!(questions("a.rs", item), ["a.rs:1: `Whether …`"]);
    let printed = "#[derive(Args)]\nstruct Options {\n    /// Which cases\n    cases: u8,\n}\n";
    assert!(questions("a.rs", printed).is_empty());
}

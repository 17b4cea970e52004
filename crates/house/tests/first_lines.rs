//! First lines of modules: noun phrases in standard terms, not questions.

use house::{AllowList, files, repository};
use std::fs;

/// First words of a line that is written around its noun.
const QUESTION_WORDS: [&str; 9] = ["What", "How", "Who", "Whose", "Which", "When", "Where", "Why", "Whether"];

/// Question word that a module's first line begins with.
fn question_word(source: &str) -> Option<&str> {
    let line = source.lines().find_map(|line| line.strip_prefix("//!"))?;
    let end = |letter: char| !letter.is_alphanumeric();
    line.trim().split(end).next().filter(|word| QUESTION_WORDS.contains(word))
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

/// Proves that question words are found on the first line only, and only as whole words.
#[test]
fn question_words_are_found() {
    assert_eq!(question_word("//! What a twin lacks.\n"), Some("What"));
    assert_eq!(question_word("// a licence\n//! How twins run.\n"), Some("How"));
    assert_eq!(question_word("//! Whatever lasts.\n//! What else.\n"), None);
    assert_eq!(question_word("//! Limits of a twin.\n//! What it lacks.\n"), None);
    assert_eq!(question_word("fn main() {}\n"), None);
}

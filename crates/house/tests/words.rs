//! Words of the field: no private word of `words.txt` outside the allow-list.

use house::{AllowList, PieceKind, files, pieces, repository};
use std::collections::BTreeSet;
use std::fs;

const DIRECTORIES: [&str; 9] = [
    "crates",
    "fuzz",
    "docs",
    "plans",
    "arrays",
    "scripts",
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
];
const DOCUMENTS: [&str; 8] = ["md", "yaml", "html", "js", "snap", "sh", "py", "toml"];

struct Rule {
    kind: String,
    word: String,
    instead: String,
}

impl Rule {
    fn name(&self) -> String {
        format!("{} {}", self.kind, self.word)
    }
}

fn rules() -> Vec<Rule> {
    let text = fs::read_to_string(repository().join("crates/house/words.txt")).expect("words.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let rule = |line: &str| {
        let (rule, instead) = line.split_once(" => ").expect(line);
        let (kind, word) = rule.split_once(' ').expect(line);
        assert!(["type", "ident", "part", "phrase"].contains(&kind), "{line}");
        Rule { kind: kind.into(), word: word.into(), instead: instead.into() }
    };
    lines.map(rule).collect()
}

fn identifiers(code: &str) -> impl Iterator<Item = &str> {
    code.split(|letter: char| !(letter.is_alphanumeric() || letter == '_')).filter(|word| !word.is_empty())
}

/// Parts of an identifier in lower case: `AllAsking` and `all_asking` are `all`, `asking`.
fn parts(identifier: &str) -> BTreeSet<String> {
    let mut parts = vec![String::new()];
    let mut was_lower = false;
    for letter in identifier.chars() {
        if letter == '_' || (letter.is_uppercase() && was_lower) {
            parts.push(String::new());
        }
        was_lower = letter.is_lowercase() || letter.is_numeric();
        if letter != '_'
            && let Some(part) = parts.last_mut()
        {
            part.extend(letter.to_lowercase());
        }
    }
    parts.into_iter().collect()
}

/// Names of types, traits and modules that code defines.
fn defined(code: &str) -> BTreeSet<&str> {
    let words: Vec<&str> = identifiers(code).collect();
    let is_definition = |word: &str| ["struct", "enum", "trait", "type", "union", "mod"].contains(&word);
    words.windows(2).filter(|pair| is_definition(pair[0])).map(|pair| pair[1]).collect()
}

/// Rules that a Rust file breaks, with lines.
fn broken_in_code(source: &str, rules: &[Rule]) -> Vec<(usize, String)> {
    let mut broken = Vec::new();
    for piece in pieces(source) {
        if piece.kind != PieceKind::Code {
            broken.extend(broken_in_prose(piece.text, piece.line, rules));
            continue;
        }
        let defined = defined(piece.text);
        let identifiers: BTreeSet<&str> = identifiers(piece.text).collect();
        let all_parts: BTreeSet<String> =
            identifiers.iter().flat_map(|identifier| parts(identifier)).collect();
        for rule in rules {
            let is_broken = match rule.kind.as_str() {
                "type" => defined.contains(rule.word.as_str()),
                "ident" => identifiers.contains(rule.word.as_str()),
                "part" => all_parts.contains(&rule.word),
                _ => false,
            };
            if is_broken {
                let line = piece.text.lines().position(|line| {
                    identifiers_of_line(line)
                        .any(|word| word == rule.word || parts(word).contains(&rule.word))
                });
                broken.push((piece.line + line.unwrap_or(0), rule.name()));
            }
        }
    }
    broken
}

fn identifiers_of_line(line: &str) -> impl Iterator<Item = &str> {
    identifiers(line)
}

/// Phrases that prose contains, with lines. Line breaks and comment marks between its words count as spaces.
fn broken_in_prose(text: &str, first_line: usize, rules: &[Rule]) -> Vec<(usize, String)> {
    let mut joined = String::new();
    let mut starts = Vec::new();
    for (index, line) in text.lines().enumerate() {
        starts.push((joined.len(), first_line + index));
        joined.push_str(line.trim().trim_start_matches(['/', '!', '#', '>', '*', '-']).trim());
        joined.push(' ');
    }
    let lower = joined.to_lowercase();
    let mut broken = Vec::new();
    for rule in rules.iter().filter(|rule| rule.kind == "phrase") {
        let word = rule.word.to_lowercase();
        for (at, _) in lower.match_indices(&word) {
            let is_word = |letter: Option<char>| letter.is_some_and(char::is_alphanumeric);
            if !is_word(lower[..at].chars().next_back()) && !is_word(lower[at + word.len()..].chars().next())
            {
                let line =
                    starts.iter().rev().find(|(start, _)| *start <= at).map_or(first_line, |found| found.1);
                broken.push((line, rule.name()));
            }
        }
    }
    broken
}

/// Proves that no private word stands in code, comments, messages or documents without a reason in the allow-list, and
/// that every entry of the allow-list is still needed.
#[test]
fn private_words_are_replaced() {
    let (root, rules) = (repository(), rules());
    let list = fs::read_to_string(root.join("crates/house/allowed-words.txt")).expect("allowed-words.txt");
    let allowed = AllowList::parse(&list).expect("the allow-list");
    let mut found = Vec::new();
    for directory in DIRECTORIES {
        for path in files(&root, directory, &["rs"]) {
            let source = fs::read_to_string(root.join(&path)).expect(&path);
            found.extend(broken_in_code(&source, &rules).into_iter().map(|broken| (path.clone(), broken)));
        }
        for path in files(&root, directory, &DOCUMENTS) {
            let text = fs::read_to_string(root.join(&path)).expect(&path);
            found.extend(broken_in_prose(&text, 1, &rules).into_iter().map(|broken| (path.clone(), broken)));
        }
    }
    found.retain(|(path, (_, rule))| !allowed.allows(rule, path));
    let instead = |name: &str| rules.iter().find(|rule| rule.name() == name).map_or("", |rule| &rule.instead);
    let lines =
        found.iter().map(|(path, (line, rule))| format!("{path}:{line}: {rule} => {}\n", instead(rule)));
    let lines: String = lines.collect();
    assert!(
        found.is_empty(),
        "private words (write the replacement, or give a reason in allowed-words.txt):\n{lines}"
    );
    let unused: Vec<String> =
        allowed.unused().map(|entry| format!("{} | {}", entry.rule, entry.path)).collect();
    assert!(unused.is_empty(), "entries of allowed-words.txt that nothing needs: {unused:#?}");
}

/// Proves that each kind of rule finds its word where it counts and nowhere else.
#[test]
fn each_kind_of_rule_finds_its_word() {
    let rule = |kind: &str, word: &str| Rule { kind: kind.into(), word: word.into(), instead: String::new() };
    let rules =
        [rule("type", "Way"), rule("ident", "told"), rule("part", "asking"), rule("phrase", "least latency")];
    let names =
        |source: &str| broken_in_code(source, &rules).into_iter().map(|(_, name)| name).collect::<Vec<_>>();
    assert_eq!(names("struct Way;"), ["type Way"]);
    assert_eq!(names("use a::Way;"), [""; 0]);
    assert_eq!(names("let told = \"told\"; // told"), ["ident told"]);
    assert_eq!(names("fn f(all: AllAsking) {}"), ["part asking"]);
    assert_eq!(names("fn masking() {}"), [""; 0]);
    assert_eq!(
        broken_in_code("\n// the least\n/* x */ // The Least latency", &rules),
        [(3, "phrase least latency".into())]
    );
    assert_eq!(broken_in_prose("a\nthe least\nlatency", 1, &rules), [(2, "phrase least latency".into())]);
}

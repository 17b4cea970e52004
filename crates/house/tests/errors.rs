//! Shape of errors: kind, context, source and hint in places of their own (crate `diagnostic`).

use house::{AllowList, Piece, PieceKind, files, pieces, repository};
use std::fs;

/// Texts between angle brackets, from behind `<` to its `>`, split at commas that no bracket holds.
fn type_arguments(code: &str) -> Vec<String> {
    let (mut depth, mut arguments, mut argument) = (0u32, Vec::new(), String::new());
    let mut before = ' ';
    for letter in code.chars() {
        match letter {
            '<' | '(' | '[' => depth += 1,
            '>' if before == '-' => {}
            '>' if depth == 0 => break,
            '>' | ')' | ']' => depth = depth.saturating_sub(1),
            ',' if depth == 0 => {
                arguments.push(argument.trim().to_owned());
                argument.clear();
                before = letter;
                continue;
            }
            _ => {}
        }
        argument.push(letter);
        before = letter;
    }
    arguments.push(argument.trim().to_owned());
    arguments.retain(|argument| !argument.is_empty());
    arguments
}

/// Lines, from 1, of results whose error is a `String`.
fn string_errors(piece: &Piece<'_>) -> Vec<usize> {
    let line_of = |at: usize| piece.line + piece.text[..at].matches('\n').count();
    let results = piece.text.match_indices("Result<").filter(|(at, start)| {
        let arguments = type_arguments(&piece.text[at + start.len()..]);
        arguments.len() == 2 && arguments[1] == "String"
    });
    let associated = ["type Err = String;", "type Error = String;"];
    let associated = associated.iter().flat_map(|text| piece.text.match_indices(text));
    results.chain(associated).map(|(at, _)| line_of(at)).collect()
}

/// Returns true if a text carries a hint.
fn has_hint(text: &str) -> bool {
    text.contains(r"\nhint") || text.contains("\nhint:")
}

/// Returns true if the text between two pieces of code is the message of an error and repeats its source.
fn embeds_source(before: &str, text: &str, after: &str) -> bool {
    let is_message = before.trim_end().ends_with("#[error(");
    let (arguments, variant) = after.split_once(")]").unwrap_or_default();
    let of_tuple =
        variant.split_once("),").map_or(variant, |(variant, _)| variant).split('{').next().unwrap_or("");
    let is_first_field = of_tuple.contains("#[from]") || of_tuple.contains("#[source]");
    is_message
        && (text.contains("{source}")
            || arguments.contains("source")
            || (text.contains("{0}") && is_first_field))
}

/// Breaches of the three rules in a source file without its tests, as line and rule.
fn breaches(source: &str) -> Vec<(usize, &'static str)> {
    let pieces = pieces(source);
    let is_test =
        |piece: &Piece<'_>| piece.kind == PieceKind::Code && piece.text.contains("#[cfg(test)]\nmod ");
    let end = pieces.iter().position(is_test).map_or(pieces.len(), |at| at + 1);
    let mut found = Vec::new();
    for (at, piece) in pieces[..end].iter().enumerate() {
        match piece.kind {
            PieceKind::Code => {
                let tests = piece.text.find("#[cfg(test)]\nmod ").unwrap_or(piece.text.len());
                let code = Piece { text: &piece.text[..tests], ..*piece };
                found.extend(string_errors(&code).into_iter().map(|line| (line, "string")));
            }
            PieceKind::Text => {
                let code =
                    |at: Option<usize>| at.and_then(|at| pieces.get(at)).map_or("", |piece| piece.text);
                if has_hint(piece.text) {
                    found.push((piece.line, "hint"));
                }
                if embeds_source(code(at.checked_sub(1)), piece.text, code(Some(at + 1))) {
                    found.push((piece.line, "source"));
                }
            }
            PieceKind::Comment => {}
        }
    }
    found
}

/// Returns true if a file is compiled for tests only.
fn is_of_tests(path: &str) -> bool {
    !path.contains("/src/") || path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// Proves that no error of a crate is a `String`, that no text carries a hint, and that no message repeats the error's source,
/// without a reason in the allow-list, and that every entry of the list is needed.
#[test]
fn errors_have_one_shape() {
    let root = repository();
    let list = fs::read_to_string(root.join("crates/house/allowed-errors.txt")).expect("allowed-errors.txt");
    let allowed = AllowList::parse(&list).expect("the allow-list");
    let mut found = Vec::new();
    for path in files(&root, "crates", &["rs"]).into_iter().filter(|path| !is_of_tests(path)) {
        let source = fs::read_to_string(root.join(&path)).expect(&path);
        for (line, rule) in breaches(&source) {
            if !allowed.allows(rule, &path) {
                found.push(format!("{path}:{line}: {rule}"));
            }
        }
    }
    assert!(
        found.is_empty(),
        "{} errors of another shape (string: `Result<_, String>`; hint: `\\nhint` in a text; source: a message that \
         repeats its source); `diagnostic::Problem` has the shape:\n{}",
        found.len(),
        found.join("\n")
    );
    let unused: Vec<_> = allowed.unused().collect();
    assert!(unused.is_empty(), "entries of allowed-errors.txt that nothing needs: {unused:#?}");
}

/// Proves that each breach is found where it stands, over several lines and within other types, and that its neighbours are not.
#[test]
fn breaches_are_found() {
    let code = "fn a(f: &dyn Fn(u8) -> Result<u8, String>) -> Result<Vec<(u8, String)>, Error> { b(\"x\\nhint: y\") }\n\
                fn b() -> Result<\n    Map<A, B>,\n    String,\n> {}\nimpl C { type Err = String; }\n\
                #[error(\"cannot {a}: {source}\")]\nD { source: E },\n#[error(\"f: {0}\")]\nF(#[from] E),\n\
                #[error(\"g: {0}\")]\nG(String),\n#[error(\"cannot {a}\")]\nH(#[source] E),\n\
                #[cfg(test)]\nmod tests { fn c() -> Result<u8, String> { d(\"\\nhint: z\") } }\n";
    assert_eq!(
        breaches(code),
        [(1, "string"), (1, "hint"), (2, "string"), (6, "string"), (7, "source"), (9, "source")]
    );
}

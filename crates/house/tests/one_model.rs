//! One model of arrays: no kinds, and no array that the engine knows by name.

use house::{files, pieces, repository};
use std::fs;
use std::path::Path;

/// Rooms that an array passes on its way from its description to simulated time.
const ENGINE: [&str; 3] = ["crates/array/src", "crates/layout/src", "crates/twin/src"];

/// Words of the kinds that arrays had, and of choices between them.
const KINDS: [&str; 8] = [
    "on_model!",
    "ArrayModel",
    "enum Kind<",
    "replicated::",
    "ssd_array",
    "disk_array",
    "flash_modules",
    "ReplicatedSystem",
];

/// Names of the shipped arrays, of vendors and products.
fn names() -> Vec<String> {
    let arrays = files(&repository(), "arrays", &["yaml"]);
    let stems = arrays.iter().filter_map(|path| Path::new(path).file_stem()?.to_str().map(str::to_owned));
    let products = ["storpool", "dorado", "e2700", "flashsystem", "nvmed"].map(str::to_owned);
    let all: std::collections::BTreeSet<String> = stems.chain(products).collect();
    all.into_iter().collect()
}

/// Code without comments and without tests, which follow it.
fn engine_code(path: &str) -> String {
    let source = fs::read_to_string(repository().join(path)).expect(path);
    let code = source.split("#[cfg(test)]\nmod tests {").next().unwrap_or_default();
    let is_code = |piece: &&house::Piece<'_>| piece.kind != house::PieceKind::Comment;
    pieces(code).iter().filter(is_code).map(|piece| piece.text).collect()
}

/// Kinds and names in some code.
fn found_in(code: &str, names: &[String]) -> Vec<String> {
    let kinds = KINDS.iter().filter(|word| code.contains(**word)).map(|word| (*word).to_owned());
    let lower = code.to_lowercase();
    kinds.chain(names.iter().filter(|name| lower.contains(name.as_str())).cloned()).collect()
}

/// Proves that nothing between a description and simulated time names a kind of array, a shipped array or a product, so that
/// only parts decide what a twin does.
#[test]
fn the_engine_knows_no_array_and_no_kind() {
    let (root, names) = (repository(), names());
    let mut found = Vec::new();
    for path in ENGINE.iter().flat_map(|room| files(&root, room, &["rs"])) {
        if !path.ends_with("tests.rs") {
            found.extend(
                found_in(&engine_code(&path), &names).into_iter().map(|word| format!("{path}: {word}")),
            );
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// Proves that no field of an array's description excludes another: none may be left out.
#[test]
fn no_field_of_a_description_excludes_another() {
    let code = engine_code("crates/twin/src/description/mod.rs");
    let (_, fields) = code.split_once("pub struct ArrayDescription {").expect("the description");
    let (fields, _) = fields.split_once('}').expect("its end");
    assert!(fields.contains("parts:") && !fields.contains("Option<"), "{fields}");
}

/// Proves that the words are found where they stand, and in comments only there.
#[test]
fn kinds_and_names_are_found() {
    let names = names();
    assert!(names.contains(&"storpool".to_owned()) && names.contains(&"nas-raid5".to_owned()));
    assert_eq!(found_in("if array.name == \"storpool\" { on_model!(a) }", &names), ["on_model!", "storpool"]);
    assert!(found_in("if array.has_chains() {}", &names).is_empty());
}

//! Rooms: dependencies between crates as ARCHITECTURE.md draws them, and no import cycles between modules.

use house::{PieceKind, files, pieces, repository};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

type Graph = BTreeMap<String, BTreeSet<String>>;

/// Crates in the order of the table of rooms in ARCHITECTURE.md, ground floor first.
fn rooms() -> Vec<String> {
    let text = fs::read_to_string(repository().join("ARCHITECTURE.md")).expect("ARCHITECTURE.md");
    let table = text.lines().skip_while(|line| !line.starts_with("| crate |")).skip(2);
    let name = |line: &str| Some(line.strip_prefix("| `")?.split_once('`')?.0.to_owned());
    table.map_while(name).collect()
}

/// Names of the dependencies of a manifest, those of tests left out.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut is_inside = false;
    let mut names = BTreeSet::new();
    for line in manifest.lines().map(str::trim) {
        if line.starts_with('[') {
            is_inside = line == "[dependencies]" || line.ends_with(".dependencies]");
        } else if is_inside
            && let Some((name, _)) = line.split_once(['.', '=', ' '])
            && !line.starts_with('#')
        {
            names.insert(name.trim().to_owned());
        }
    }
    names
}

/// Proves that every crate stands in the table of ARCHITECTURE.md, that none is listed which is not there, and that a crate
/// depends only on crates above it in the table.
#[test]
fn dependencies_point_to_lower_rooms() {
    let (root, rooms) = (repository(), rooms());
    let manifests: Vec<String> =
        files(&root, "crates", &["toml"]).into_iter().filter(|path| path.ends_with("/Cargo.toml")).collect();
    let name_of = |path: &str| path.split('/').nth(1).unwrap_or_default().to_owned();
    let present: BTreeSet<String> = manifests.iter().map(|path| name_of(path)).collect();
    assert_eq!(present, rooms.iter().cloned().collect(), "the table of rooms against crates/");
    let mut wrong = Vec::new();
    for path in manifests {
        let name = name_of(&path);
        let floor = rooms.iter().position(|room| *room == name);
        let manifest = fs::read_to_string(root.join(&path)).expect(&path);
        for dependency in dependencies(&manifest) {
            let of = rooms.iter().position(|room| *room == dependency);
            if of.is_some() && of >= floor {
                wrong.push(format!("{name} depends on {dependency}, which does not stand above it"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Module path of a source file: `a::b` of `src/a/b.rs` and `src/a/b/mod.rs`, `` of the root.
fn module_of(path: &str) -> String {
    let inside = path.split_once("/src/").map_or(path, |(_, inside)| inside).trim_end_matches(".rs");
    let inside = inside.trim_end_matches("/mod");
    if ["lib", "main", "mod"].contains(&inside) { String::new() } else { inside.replace('/', "::") }
}

/// Code of a file without comments, strings and the tests at its end.
fn code_of(source: &str) -> String {
    let code: String =
        pieces(source).iter().filter(|piece| piece.kind == PieceKind::Code).map(|piece| piece.text).collect();
    let end = code.find("#[cfg(test)]").filter(|at| code[*at..].contains("mod tests")).unwrap_or(code.len());
    code[..end].to_owned()
}

/// Paths that code names from `crate`, `super` or `self`, resolved to module paths of the crate.
fn named_paths(code: &str, module: &str) -> Vec<String> {
    let mut paths = Vec::new();
    for start in ["crate::", "super::", "self::"] {
        for (at, _) in code.match_indices(start) {
            if code[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '_' || letter == ':')
            {
                continue;
            }
            let mut base: Vec<&str> = match start {
                "crate::" => Vec::new(),
                _ => module.split("::").filter(|part| !part.is_empty()).collect(),
            };
            let mut rest = &code[at..];
            while let Some(after) = rest.strip_prefix("super::") {
                base.pop();
                rest = after;
            }
            let rest = rest.trim_start_matches("crate::").trim_start_matches("self::");
            for tail in expand(rest) {
                let all = base.iter().copied().map(str::to_owned).chain(tail.split("::").map(str::to_owned));
                paths.push(all.collect::<Vec<_>>().join("::"));
            }
        }
    }
    paths
}

/// Paths of a use tree: `a::{b, c::d}` gives `a::b` and `a::c::d`.
fn expand(text: &str) -> Vec<String> {
    let end = text
        .find(|letter: char| !(letter.is_alphanumeric() || letter == '_' || letter == ':'))
        .unwrap_or(text.len());
    let (path, rest) = text.split_at(end);
    let Some(group) = rest.strip_prefix('{').filter(|_| path.is_empty() || path.ends_with("::")) else {
        return vec![path.trim_end_matches(':').to_owned()];
    };
    let (mut depth, mut item, mut paths) = (0, String::new(), Vec::new());
    for letter in group.chars() {
        match letter {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                paths.append(&mut expand(item.trim()));
                item.clear();
                continue;
            }
            _ => {}
        }
        item.push(letter);
    }
    paths.append(&mut expand(item.trim()));
    paths.iter().filter(|tail| !tail.is_empty()).map(|tail| format!("{path}{tail}")).collect()
}

/// Imports between the modules of a crate. A module and its own submodules are one room: `a` naming `a::b` is no arrow,
/// nor is `a::b` naming `a`; `a::b` naming `c::d` is one from `a::b` to `c::d`.
fn imports(crate_directory: &str) -> Graph {
    let root = repository();
    let sources = files(&root, &format!("{crate_directory}/src"), &["rs"]);
    let modules: BTreeSet<String> = sources.iter().map(|path| module_of(path)).collect();
    let mut graph = Graph::new();
    for path in &sources {
        let module = module_of(path);
        let code = code_of(&fs::read_to_string(root.join(path)).expect(path));
        for named in named_paths(&code, &module) {
            let mut target = named.as_str();
            while !modules.contains(target) {
                target = target.rsplit_once("::").map_or("", |(parent, _)| parent);
            }
            let is_within = |inner: &str, outer: &str| {
                outer.is_empty()
                    || inner == outer
                    || inner.strip_prefix(outer).is_some_and(|rest| rest.starts_with("::"))
            };
            if !is_within(target, &module) && !is_within(&module, target) {
                graph.entry(module.clone()).or_default().insert(target.to_owned());
            }
        }
    }
    graph
}

fn reachable(graph: &Graph, from: &str) -> BTreeSet<String> {
    let mut seen = BTreeSet::new();
    let mut open = vec![from.to_owned()];
    while let Some(module) = open.pop() {
        for next in graph.get(&module).into_iter().flatten() {
            if seen.insert(next.clone()) {
                open.push(next.clone());
            }
        }
    }
    seen
}

/// Cycles of a graph: sets of modules that reach one another.
fn cycles(graph: &Graph) -> BTreeSet<Vec<String>> {
    let reach: BTreeMap<&String, BTreeSet<String>> =
        graph.keys().map(|module| (module, reachable(graph, module))).collect();
    let members = |module: &String| {
        let others =
            reach[module].iter().filter(|other| reach.get(other).is_some_and(|back| back.contains(module)));
        others.cloned().collect::<Vec<_>>()
    };
    graph.keys().map(members).filter(|cycle| cycle.len() > 1).collect()
}

/// Proves that no modules of a crate import one another in a circle.
#[test]
fn modules_import_without_cycles() {
    let mut found = Vec::new();
    for name in rooms() {
        let of_crate = cycles(&imports(&format!("crates/{name}")));
        found.extend(of_crate.iter().map(|cycle| format!("crates/{name}: {}", cycle.join(" "))));
    }
    assert!(found.is_empty(), "import cycles:\n{}", found.join("\n"));
}

/// Proves that use trees, `super` and `self` resolve to modules, and that a circle is found and a chain is not one.
#[test]
fn paths_and_cycles_are_found() {
    let paths = named_paths("use crate::{a::{b, C}, d}; use super::e::F; self::g::h();", "x::y");
    assert_eq!(paths, ["a::b", "a::C", "d", "x::e::F", "x::y::g::h"]);
    let graph = |arrows: &[(&str, &str)]| {
        let mut graph = Graph::new();
        for (from, to) in arrows {
            graph.entry((*from).to_owned()).or_default().insert((*to).to_owned());
        }
        graph
    };
    assert!(cycles(&graph(&[("a", "b"), ("b", "c"), ("a", "c")])).is_empty());
    let circle = cycles(&graph(&[("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")]));
    assert_eq!(circle.into_iter().collect::<Vec<_>>(), [["a", "b", "c"]]);
}

//! Checks that modules of a crate, or of a parent module, have no import cycles.
//!
//! A module is a file or folder directly below `src`, or below the folder of the parent module, with everything in it. The
//! root is `lib.rs` or `main.rs`, and everything outside of the parent module. The test reads paths that begin with `crate`
//! or `super` from the source text, except in unit tests.
#![allow(clippy::disallowed_methods, reason = "this test reads the sources of the repository")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Crates whose modules have no import cycles; with a parent: the children of that module.
const ACYCLIC: [(&str, Option<&str>); 6] = [
    ("tiltfile", None),
    ("model", None),
    ("store", None),
    ("host", None),
    ("cli", None),
    ("engine", Some("controllers")),
];

/// The name of the root in messages.
const ROOT: &str = "(root)";

/// For each module the modules it imports, each with a file that does so.
type Graph = BTreeMap<String, BTreeMap<String, String>>;

#[test]
fn modules_have_no_import_cycles() {
    for (name, parent) in ACYCLIC {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(name).join("src");
        let graph = graph(&sources(&folder), parent);
        assert!(!graph.is_empty(), "crates/{name} has no modules that use others: was it read?");
        let graph = if parent.is_some() { without_root(graph) } else { graph };
        if let Some(cycle) = cycle(&graph) {
            let step = |pair: &[String]| format!("{} → {} ({})", pair[0], pair[1], graph[&pair[0]][&pair[1]]);
            let steps: Vec<String> = cycle.windows(2).map(step).collect();
            panic!("crates/{name}: modules import each other in a circle:\n{}", steps.join("\n"));
        }
    }
}

/// A source file: its path below `src`, and its text.
type SourceFile = (PathBuf, String);

fn sources(folder: &Path) -> Vec<SourceFile> {
    let mut files = Vec::new();
    let mut open = vec![folder.to_owned()];
    while let Some(current) = open.pop() {
        for entry in std::fs::read_dir(&current).expect("the folder can be read") {
            let path = entry.expect("the entry can be read").path();
            let is_test = path.file_stem().is_some_and(|stem| stem == "tests");
            if path.is_dir() && !is_test {
                open.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") && !is_test {
                let text = std::fs::read_to_string(&path).expect("the file can be read");
                files.push((path.strip_prefix(folder).expect("it is below").to_owned(), text));
            }
        }
    }
    files.sort();
    files
}

/// The module of a file as a path; empty for the root.
fn module_path(file: &Path) -> Vec<String> {
    let names = file.with_extension("");
    let names: Vec<String> = names.iter().map(|name| name.to_string_lossy().into_owned()).collect();
    match names.as_slice() {
        [root] if root == "lib" || root == "main" => Vec::new(),
        names => names.to_vec(),
    }
}

/// Returns which modules of the crate, or children of a module, import each other.
fn graph(files: &[SourceFile], parent: Option<&str>) -> Graph {
    let modules: BTreeSet<String> =
        files.iter().filter_map(|(file, _)| module_path(file).into_iter().next()).collect();
    let parsed: Vec<(&Path, Vec<String>, Vec<Import>)> = files
        .iter()
        .map(|(file, text)| {
            let module = module_path(file);
            let imports = imports(&tokens(text), &module, &modules);
            (file.as_path(), module, imports)
        })
        .collect();
    // An import of a re-export of the root counts as an import of the module that contains it.
    let root = parsed.iter().filter(|(_, module, _)| module.is_empty());
    let reexports: BTreeMap<&str, &[String]> = root
        .flat_map(|(_, _, imports)| imports)
        .filter(|import| import.path.last().is_some_and(|name| !modules.contains(name)))
        .filter_map(|import| Some((import.path.last()?.as_str(), import.path.as_slice())))
        .collect();
    let mut graph = Graph::new();
    for (file, module, imports) in &parsed {
        let from = node(module, parent);
        for import in imports {
            let Some(first) = import.path.first() else { continue };
            let to = match reexports.get(first.as_str()) {
                Some(path) => node(path, parent),
                None if modules.contains(first) => node(&import.path, parent),
                None => ROOT,
            };
            if from != to {
                let uses = graph.entry(from.to_owned()).or_default();
                uses.entry(to.to_owned()).or_insert_with(|| file.display().to_string());
            }
        }
    }
    graph
}

/// Removes what is outside of the parent.
fn without_root(mut graph: Graph) -> Graph {
    graph.remove(ROOT);
    graph.values_mut().for_each(|uses| {
        uses.remove(ROOT);
    });
    graph
}

/// Returns the node of a path from the root of the crate.
fn node<'p>(path: &'p [String], parent: Option<&str>) -> &'p str {
    let node = match parent {
        None => path.first(),
        Some(parent) => path.get(1).filter(|_| path[0] == parent),
    };
    node.map_or(ROOT, String::as_str)
}

/// A path from the root of the crate, such as `failure::raise`.
#[derive(Debug, PartialEq)]
struct Import {
    path: Vec<String>,
}

/// Splits a source text into identifiers, `::` and single signs, without comments, strings and lifetimes.
fn tokens(text: &str) -> Vec<String> {
    let letters: Vec<char> = text.chars().collect();
    let is_name = |letter: char| letter.is_alphanumeric() || letter == '_';
    let starts =
        |at: usize, sign: &str| sign.chars().enumerate().all(|(i, it)| letters.get(at + i) == Some(&it));
    let skip_to = |mut at: usize, end: &str| {
        while at < letters.len() && !starts(at, end) {
            at += 1;
        }
        at + end.chars().count()
    };
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(&letter) = letters.get(at) {
        if starts(at, "//") {
            at = skip_to(at, "\n");
        } else if starts(at, "/*") {
            at = skip_to(at, "*/");
        } else if letter == '"' {
            at += 1;
            while at < letters.len() && letters[at] != '"' {
                at += if letters[at] == '\\' { 2 } else { 1 };
            }
            at += 1;
        } else if letter == '\'' {
            // A character, or a lifetime, which has no second quote.
            let length = if letters.get(at + 1) == Some(&'\\') { 2 } else { 1 };
            let end = (at + 1 + length..at + 12).find(|end| letters.get(*end) == Some(&'\''));
            let is_character = length == 2 || letters.get(at + 2) == Some(&'\'');
            at = if is_character { end.unwrap_or(at) + 1 } else { at + 1 };
        } else if is_name(letter) {
            let end = (at..letters.len()).find(|end| !is_name(letters[*end])).unwrap_or(letters.len());
            let name: String = letters[at..end].iter().collect();
            let hashes = (end..letters.len()).take_while(|at| letters[*at] == '#').count();
            if matches!(name.as_str(), "r" | "br") && letters.get(end + hashes) == Some(&'"') {
                at = skip_to(end + hashes + 1, &format!("\"{}", "#".repeat(hashes)));
                continue;
            }
            tokens.push(name);
            at = end;
        } else if starts(at, "::") {
            tokens.push("::".to_owned());
            at += 2;
        } else {
            if !letter.is_whitespace() {
                tokens.push(letter.to_string());
            }
            at += 1;
        }
    }
    tokens
}

/// Returns what a file of `module` imports from its crate. `modules` are those below the root.
fn imports(tokens: &[String], module: &[String], modules: &BTreeSet<String>) -> Vec<Import> {
    let token = |at: usize| tokens.get(at).map_or("", String::as_str);
    let mut imports = Vec::new();
    // The modules around the current token, inline ones too, with the depth of braces at which each ends.
    let mut around: Vec<(String, usize)> = module.iter().map(|name| (name.clone(), 0)).collect();
    let (mut depth, mut at) = (0, 0);
    while at < tokens.len() {
        if (token(at), token(at + 1), token(at + 2), token(at + 3)) == ("#", "[", "cfg", "(")
            && token(at + 4) == "test"
        {
            at = after_item(tokens, at);
            continue;
        }
        match token(at) {
            "mod" if token(at + 2) == "{" => around.push((token(at + 1).to_owned(), depth + 1)),
            "{" => depth += 1,
            "}" => {
                around.retain(|(_, end)| *end < depth || *end == 0);
                depth -= 1;
            }
            _ => {}
        }
        let follows_path = at > 0 && matches!(token(at - 1), "::" | ".");
        let names: Vec<String> = around.iter().map(|(name, _)| name.clone()).collect();
        let base = match token(at) {
            _ if token(at + 1) != "::" || follows_path => None,
            "crate" => Some((Vec::new(), at + 2)),
            "super" => {
                let levels = (0..).take_while(|level| token(at + 2 * level) == "super").count();
                let kept = names.len().saturating_sub(levels);
                Some((names[..kept].to_vec(), at + 2 * levels))
            }
            // In the root the names of modules are in scope.
            name if names.is_empty() && modules.contains(name) => Some((Vec::new(), at)),
            _ => None,
        };
        if let Some((base, start)) = base {
            leaves(tokens, start, &base, &mut imports);
        }
        at += 1;
    }
    imports
}

/// Adds the paths of a tree such as `a::{b, c::d}` that begins at a token. Returns the token after it.
fn leaves(tokens: &[String], start: usize, base: &[String], imports: &mut Vec<Import>) -> usize {
    let token = |at: usize| tokens.get(at).map_or("", String::as_str);
    let mut path = base.to_vec();
    let mut at = start;
    loop {
        if token(at) == "{" {
            at += 1;
            while !matches!(token(at), "}" | "") {
                at = leaves(tokens, at, &path, imports);
                if token(at) == "," {
                    at += 1;
                }
            }
            return at + 1;
        }
        path.push(token(at).to_owned());
        at += 1;
        if token(at) != "::" {
            break;
        }
        at += 1;
    }
    if token(at) == "as" {
        path.push(token(at + 1).to_owned());
        at += 2;
    }
    imports.push(Import { path });
    at
}

/// Returns the token after the item that an attribute at a token belongs to.
fn after_item(tokens: &[String], attribute: usize) -> usize {
    let mut depth = 0;
    for (at, token) in tokens.iter().enumerate().skip(attribute) {
        match token.as_str() {
            "{" => depth += 1,
            "}" if depth == 1 => return at + 1,
            "}" => depth -= 1,
            ";" if depth == 0 => return at + 1,
            _ => {}
        }
    }
    tokens.len()
}

/// Returns a cycle: its first module is also the last.
fn cycle(graph: &Graph) -> Option<Vec<String>> {
    let mut done = BTreeSet::new();
    graph.keys().find_map(|start| visit(graph, start, &mut Vec::new(), &mut done))
}

fn visit(
    graph: &Graph,
    module: &str,
    path: &mut Vec<String>,
    done: &mut BTreeSet<String>,
) -> Option<Vec<String>> {
    if let Some(first) = path.iter().position(|known| known == module) {
        return Some(path[first..].iter().cloned().chain([module.to_owned()]).collect());
    }
    if done.contains(module) {
        return None;
    }
    path.push(module.to_owned());
    let used = graph.get(module).into_iter().flat_map(BTreeMap::keys);
    let found = used.into_iter().find_map(|next| visit(graph, next, path, done));
    path.pop();
    done.insert(module.to_owned());
    found
}

fn files(texts: &[(&str, &str)]) -> Vec<SourceFile> {
    texts.iter().map(|(path, text)| (PathBuf::from(path), (*text).to_owned())).collect()
}

fn cycle_of(texts: &[(&str, &str)]) -> Option<String> {
    cycle(&graph(&files(texts), None)).map(|cycle| cycle.join(" "))
}

#[test]
fn cycle_is_found_in_use_groups_and_inline_paths() {
    let texts = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::{x::Y, b::{self, C as D}};"),
        ("b/inner.rs", "fn f() { super::super::c::g() }"),
        ("c.rs", "fn f() -> crate::a::T { }"),
    ];
    assert_eq!(cycle_of(&texts).as_deref(), Some("a b c a"));
}

#[test]
fn tests_comments_and_strings_are_not_imports() {
    let texts = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b; "),
        (
            "b.rs",
            "// crate::a::x\n/* crate::a */ const X: &str = \"crate::a::x\"; const Y: &str = r#\"\"crate::a::x\"#;\n\
             fn f<'a>(x: &'a char) -> bool { *x == '\"' }\n#[cfg(test)]\nmod tests { use crate::a::x; }",
        ),
    ];
    assert_eq!(cycle_of(&texts), None);
}

#[test]
fn reexport_of_the_root_counts_as_its_module_and_other_items_as_the_root() {
    let reexport = [("lib.rs", "mod a; mod b; pub use a::T;"), ("a.rs", ""), ("b.rs", "use crate::T;")];
    assert_eq!(cycle_of(&reexport), None);
    let item = [("lib.rs", "mod a; pub use a::T; pub struct U;"), ("a.rs", "use crate::U;")];
    assert_eq!(cycle_of(&item).as_deref(), Some("(root) a (root)"));
}

#[test]
fn super_inside_an_inline_module_is_the_file() {
    let texts = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "struct X; mod inner { use super::X; fn f() {} } use crate::b::Y;"),
        ("b.rs", "struct Y;"),
    ];
    assert_eq!(cycle_of(&texts), None);
}

#[test]
fn only_cycles_between_children_of_the_parent_are_found() {
    let cycle_below = |texts: &[(&str, &str)]| {
        let graph = graph(&files(texts), Some("m"));
        let inside = |uses: &BTreeMap<String, String>| uses.keys().any(|name| name != ROOT);
        assert!(graph.values().any(inside));
        cycle(&without_root(graph)).map(|cycle| cycle.join(" "))
    };
    let outside = [
        ("lib.rs", "mod m; mod o;"),
        ("m/a/deep.rs", "use crate::o::x; use crate::m::b;"),
        ("m/b.rs", "use crate::o;"),
        ("o.rs", "use crate::m::{a, b};"),
    ];
    assert_eq!(cycle_below(&outside), None);
    let inside = [("lib.rs", "mod m;"), ("m/a.rs", "use super::b::x;"), ("m/b.rs", "use crate::m::a::y;")];
    assert_eq!(cycle_below(&inside).as_deref(), Some("a b a"));
}

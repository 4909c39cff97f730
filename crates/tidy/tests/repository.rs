//! Checks rules of the repository: layers, paths in documents, file sizes, suites.
#![allow(clippy::disallowed_methods, reason = "this test looks at the repository's files and asks cargo")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("crates/tidy lies two below").to_owned()
}

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Returns the files that are tracked by git, or untracked and not ignored.
fn files() -> Vec<String> {
    let output = Command::new("git")
        .args(["ls-files", "--cached", "--others", "--exclude-standard"])
        .current_dir(root())
        .output()
        .expect("git runs");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("paths are text");
    text.lines().filter(|path| root().join(path).is_file()).map(str::to_owned).collect()
}

fn crates() -> BTreeSet<String> {
    let folders = std::fs::read_dir(root().join("crates")).expect("crates/ is there");
    let folders = folders.map(|entry| entry.expect("it can be read").path());
    let crates = folders.filter(|path| path.join("Cargo.toml").is_file());
    crates.map(|path| path.file_name().expect("it has a name").to_string_lossy().into_owned()).collect()
}

fn host() -> String {
    let output = Command::new("rustc").arg("-vV").output().expect("rustc runs");
    let text = String::from_utf8(output.stdout).expect("it speaks text");
    let host = text.lines().find_map(|line| line.strip_prefix("host: "));
    host.expect("it says where it runs").to_owned()
}

struct Metadata {
    names: BTreeMap<String, String>,
    /// Dependencies of each package, without those of its tests and build script.
    needs: BTreeMap<String, BTreeSet<String>>,
}

impl Metadata {
    fn read() -> Self {
        let output = Command::new(env!("CARGO"))
            // Only this machine's packages: those of other systems need not be downloaded.
            .args(["metadata", "--format-version", "1", "--locked", "--filter-platform", &host()])
            .current_dir(root())
            .output()
            .expect("cargo runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let value: Value = serde_json::from_slice(&output.stdout).expect("cargo speaks JSON");
        let text = |value: &Value| value.as_str().expect("a text").to_owned();
        let list = |value: &Value| value.as_array().expect("a list").clone();
        let names = list(&value["packages"]).iter().map(|it| (text(&it["id"]), text(&it["name"]))).collect();
        let needs = list(&value["resolve"]["nodes"])
            .iter()
            .map(|node| {
                let normal = |it: &Value| list(&it["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
                let deps = list(&node["deps"]);
                let deps = deps.iter().filter(|it| normal(it)).map(|it| text(&it["pkg"])).collect();
                (text(&node["id"]), deps)
            })
            .collect();
        Self { names, needs }
    }

    /// Returns the names of all direct and transitive dependencies of a package.
    fn closure(&self, name: &str) -> BTreeSet<String> {
        let id = self.names.iter().find(|(_, known)| *known == name).map(|(id, _)| id.clone());
        let mut open = vec![id.unwrap_or_else(|| panic!("no package {name}"))];
        let mut seen = BTreeSet::new();
        while let Some(id) = open.pop() {
            for need in &self.needs[&id] {
                if seen.insert(need.clone()) {
                    open.push(need.clone());
                }
            }
        }
        seen.iter().map(|id| self.names[id].clone()).collect()
    }

    fn forbid(&self, package: &str, forbidden: &[&str]) {
        let closure = self.closure(package);
        let found: Vec<&&str> = forbidden.iter().filter(|name| closure.contains(**name)).collect();
        assert!(found.is_empty(), "{package} must not depend on {found:?}");
    }
}

#[test]
fn the_engine_does_no_io() {
    let io =
        ["tokio", "kube", "hyper", "axum", "reqwest", "inotify", "notify", "nix", "tempfile", "lilt-host"];
    Metadata::read().forbid("lilt-engine", &io);
}

#[test]
fn the_server_reads_the_store_and_sends_commands() {
    Metadata::read().forbid("lilt-server", &["lilt-engine", "lilt-daemon", "lilt-tiltfile", "lilt-cluster"]);
}

#[test]
fn the_edges_know_neither_each_other_nor_the_engine() {
    let metadata = Metadata::read();
    let edges = ["lilt-host", "lilt-docker", "lilt-cluster"];
    for edge in edges {
        let others: Vec<&str> = edges.into_iter().filter(|other| *other != edge).collect();
        metadata.forbid(edge, &others);
        metadata.forbid(edge, &["lilt-engine", "lilt-daemon", "lilt-store", "lilt-tiltfile", "lilt-server"]);
    }
}

#[test]
fn front_ends_know_a_session_by_its_client_alone() {
    let metadata = Metadata::read();
    let inside =
        ["lilt-daemon", "lilt-engine", "lilt-server", "lilt-tiltfile", "lilt-docker", "lilt-cluster"];
    for front in ["lilt-client", "lilt-kubectl", "lilt-tui", "lilt-e2e", "lilt-bench"] {
        metadata.forbid(front, &inside);
        metadata.forbid(front, &["lilt-cli"]);
    }
    metadata.forbid("lilt-client", &["lilt-store", "lilt-kubectl", "lilt-tui"]);
    metadata.forbid("lilt-kubectl", &["lilt-store", "lilt-tui"]);
    metadata.forbid("lilt-tui", &["lilt-kubectl"]);
}

#[test]
fn the_daemon_is_composed_with_the_rest_in_the_binary_alone() {
    let metadata = Metadata::read();
    for name in crates().iter().filter(|name| !["cli", "daemon"].contains(&name.as_str())) {
        metadata.forbid(&format!("lilt-{name}"), &["lilt-daemon"]);
    }
    metadata.forbid("lilt-daemon", &["lilt-server", "lilt-client", "lilt-kubectl", "lilt-tui"]);
}

/// A suite that is not listed would never run.
#[test]
fn every_suite_of_the_whole_product_is_a_test_target() {
    let manifest = read("crates/cli/Cargo.toml");
    let listed: BTreeSet<String> = manifest
        .lines()
        .filter_map(|line| line.strip_prefix("path = \"../e2e/")?.strip_suffix('"'))
        .map(|path| format!("crates/e2e/{path}"))
        .collect();
    let is_suite = |path: &String| {
        let inner = path.strip_prefix("crates/e2e/suites/");
        inner.is_some_and(|inner| {
            inner.ends_with("/main.rs") || (!inner.contains('/') && inner.ends_with(".rs"))
        })
    };
    let found: BTreeSet<String> = files().into_iter().filter(is_suite).collect();
    assert_eq!(listed, found, "the [[test]] entries of crates/cli/Cargo.toml");
}

#[test]
fn the_model_is_the_bottom() {
    let closure = Metadata::read().closure("lilt-model");
    let ours: Vec<&String> = closure.iter().filter(|name| name.starts_with("lilt-")).collect();
    assert!(ours.is_empty(), "{ours:?}");
}

#[test]
fn api_depends_on_nothing_of_ours_but_the_model() {
    let closure = Metadata::read().closure("lilt-api");
    let ours: Vec<&String> = closure.iter().filter(|name| name.starts_with("lilt-")).collect();
    assert_eq!(ours, ["lilt-model"]);
}

#[test]
fn the_map_names_every_crate() {
    let map = read("ARCHITECTURE.md");
    let missing: Vec<String> =
        crates().into_iter().filter(|name| !map.contains(&format!("crates/{name}"))).collect();
    assert!(missing.is_empty(), "ARCHITECTURE.md does not mention {missing:?}");
}

#[test]
fn every_path_on_the_maps_exists() {
    for page in ["ARCHITECTURE.md", "README.md", "CONTRIBUTING.md", "docs/compare.md", "docs/glossary.md"] {
        for path in paths(&read(page)) {
            assert!(root().join(&path).exists(), "{page} names {path}, which does not exist");
        }
    }
}

/// Returns the texts in backticks that begin with a folder of the repository.
fn paths(text: &str) -> Vec<String> {
    let quoted = text.split('`').skip(1).step_by(2);
    let ours = ["crates/", "web/", "docs/", "scripts/", "testbed/", "examples/", ".ci/"];
    let paths = quoted.filter(|word| ours.iter().any(|begin| word.starts_with(begin)));
    paths.filter(|word| !word.contains([' ', '*', '<', '…'])).map(str::to_owned).collect()
}

#[test]
fn links_between_pages_lead_somewhere() {
    for page in files().into_iter().filter(|path| path.ends_with(".md")) {
        let text = read(&page);
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let target = link.split('#').next().unwrap_or_default();
            if target.is_empty() || target.contains("://") {
                continue;
            }
            let folder = root().join(&page).parent().expect("a page lies in a folder").to_owned();
            assert!(folder.join(target).exists(), "{page} links to {target}, which does not exist");
        }
    }
}

#[test]
fn files_stay_small() {
    let long: Vec<String> = files()
        .into_iter()
        .filter(|path| [".rs", ".ts", ".tsx", ".css"].iter().any(|end| path.ends_with(end)))
        .filter(|path| !path.contains("/generated/"))
        .map(|path| (read(&path).lines().count(), path))
        .filter(|(lines, _)| *lines > 800)
        .map(|(lines, path)| format!("{path}: {lines} lines"))
        .collect();
    assert!(long.is_empty(), "files over 800 lines: {long:#?}");
}

#[test]
fn modules_are_named_files() {
    let old: Vec<String> =
        files().into_iter().filter(|path| path.contains("/src/") && path.ends_with("/mod.rs")).collect();
    assert!(old.is_empty(), "write foo.rs beside foo/, not {old:?}");
}

#[test]
fn words_that_say_nothing_name_no_module() {
    let vague = ["utils", "util", "common", "helpers", "helper", "manager", "misc"];
    let found: Vec<String> = files()
        .into_iter()
        .filter(|path| path.ends_with(".rs") || path.ends_with(".ts") || path.ends_with(".tsx"))
        .filter(|path| {
            let stem = Path::new(path).file_stem().map(|stem| stem.to_string_lossy().into_owned());
            stem.is_some_and(|stem| vague.contains(&stem.as_str()))
        })
        .collect();
    assert!(found.is_empty(), "{found:?}");
}

#[test]
fn every_crate_keeps_to_the_lints_and_explains_itself() {
    for name in crates() {
        let manifest = read(&format!("crates/{name}/Cargo.toml"));
        // starlark's derives implement an unsafe trait, and one module each of host and agent makes a call that cannot be
        // checked; their manifests say the rest.
        let lints = if ["agent", "host", "tiltfile"].contains(&name.as_str()) {
            "unsafe_code = \"deny\""
        } else {
            "[lints]\nworkspace = true"
        };
        assert!(manifest.contains(lints), "crates/{name} leaves the workspace's lints");
        assert!(manifest.contains("description = "), "crates/{name} does not say what it is");
        assert!(manifest.contains(&format!("name = \"lilt-{name}\"")), "crates/{name} must be lilt-{name}");
        let main = if root().join(format!("crates/{name}/src/lib.rs")).exists() { "lib" } else { "main" };
        let source = read(&format!("crates/{name}/src/{main}.rs"));
        assert!(source.starts_with("//!"), "crates/{name}/src/{main}.rs begins with what it is for");
    }
}

#[test]
fn no_machine_leaks_into_the_repository() {
    // Concatenated, so that this file does not contain what it forbids.
    let forbidden = [["/wo", "rk/"].concat(), ["/fa", "rm/"].concat()];
    for path in files() {
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
        for (number, line) in text.lines().enumerate() {
            let begins = |word: &String| {
                line.match_indices(word.as_str()).any(|(at, _)| {
                    !line[..at].ends_with(|letter: char| letter.is_alphanumeric() || letter == '.')
                })
            };
            assert!(!forbidden.iter().any(begins), "{path}:{}: {line}", number + 1);
        }
    }
}

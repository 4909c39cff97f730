//! `kustomize`: the objects of a kustomization, built by the real kustomize.

use std::path::{Path, PathBuf};

use lilt_model::Failure;
use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;

use super::tool;
use crate::arguments::Function;
use crate::failure::raise;
use crate::load_state::{LoadState, load_state};
use crate::paths::clean;
use crate::values::Blob;
use lilt_model::yaml;

const FILE_NAMES: [&str; 3] = ["kustomization.yaml", "kustomization.yml", "Kustomization"];

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Builds a kustomization and returns its objects as YAML. All files that it is made of are watched.
    ///
    /// # Arguments
    /// * `paths`: the directory of the kustomization
    /// * `kustomize_bin`: the program to use; `kustomize` unless given, or `kubectl kustomize` if there is none
    /// * `flags`: more flags, as a list
    fn kustomize<'v>(
        paths: Value<'v>,
        kustomize_bin: Option<Value<'v>>,
        flags: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Blob> {
        let function = Function("kustomize");
        let state = load_state(eval);
        let directory = function.argument("paths", paths).path_or_directory(state)?;
        let given = function.argument("kustomize_bin", kustomize_bin).string()?;
        let flags = function.argument("flags", flags).string_list()?;
        let mut tree = Tree::default();
        tree.add(state, &directory);
        tree.files.iter().for_each(|file| state.watch(file));
        if let Some(problem) = tree.problem {
            return Err(raise(problem));
        }
        // kustomize takes absolute paths for URLs.
        let target = relative(&state.directory(), &directory).display().to_string();
        let build = |program: &[&str]| {
            let words = program.iter().map(|word| (*word).to_owned());
            tool::command(state, words.chain(flags.iter().cloned()).chain([target.clone()]))
        };
        let text = if !given.is_empty() {
            let program = state.absolute(&given).display().to_string();
            tool::run(state, "kustomize", &build(&[&program, "build"]))?
        } else if let Some(text) = tool::run_if_present(state, "kustomize", &build(&["kustomize", "build"]))?
        {
            text
        } else {
            state.print("Falling back to `kubectl kustomize` since `kustomize` was not found in PATH");
            tool::run(state, "kustomize", &build(&["kubectl", "kustomize"]))?
        };
        Ok(Blob { text, source: format!("kustomize: {}", directory.display()) })
    }
}

/// Returns the relative path from one directory to a path.
fn relative(from: &Path, to: &Path) -> PathBuf {
    let common = from.components().zip(to.components()).take_while(|(a, b)| a == b).count();
    let up = from.components().skip(common).map(|_| Path::new(".."));
    let down = to.components().skip(common).map(|component| Path::new(component.as_os_str()));
    let path: PathBuf = up.chain(down).collect();
    if path.as_os_str().is_empty() { PathBuf::from(".") } else { path }
}

/// The local files of a kustomization.
#[derive(Default)]
struct Tree {
    files: Vec<PathBuf>,
    seen: Vec<PathBuf>,
    problem: Option<Failure>,
}

impl Tree {
    fn add(&mut self, state: &LoadState<'_>, directory: &Path) {
        if self.seen.contains(&directory.to_owned()) {
            return;
        }
        self.seen.push(directory.to_owned());
        let candidates = FILE_NAMES.map(|name| directory.join(name));
        let found: Vec<&PathBuf> = candidates.iter().filter(|path| state.system.exists(path)).collect();
        let file = match found.as_slice() {
            [file] => (*file).clone(),
            [] => {
                // Any of them may be created.
                self.files.extend(candidates.iter().cloned());
                self.problem.get_or_insert_with(|| missing(state, directory));
                return;
            }
            several => {
                self.files.extend(several.iter().map(|path| (*path).clone()));
                let message = format!("kustomize: several kustomization files in {}", directory.display());
                self.problem.get_or_insert_with(|| Failure::user(message));
                return;
            }
        };
        self.files.push(file.clone());
        let kustomization = match state.system.read_file(&file) {
            Ok(content) => yaml::document(&yaml::decode(&content)).map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        };
        let kustomization = match kustomization {
            Ok(kustomization) => kustomization,
            // kustomize itself may still read it, or report the error better.
            Err(problem) => {
                state.warn(format!(
                    "kustomize: cannot read {}: {problem}\nlilt watches the files beside it, not those that it lists",
                    file.display()
                ));
                let entries = state.system.list_directory(directory).unwrap_or_default();
                self.files.extend(entries.into_iter().filter(|entry| !entry.is_dir).map(|entry| entry.path));
                return;
            }
        };
        for name in listed_paths(&kustomization) {
            let path = clean(&directory.join(&name));
            if is_remote(&name) && !state.system.exists(&path) {
                continue;
            }
            let is_kustomization = FILE_NAMES.iter().any(|name| state.system.exists(&path.join(name)));
            if state.system.is_dir(&path) && is_kustomization {
                self.add(state, &path);
            } else {
                self.files.push(path);
            }
        }
    }
}

fn missing(state: &LoadState<'_>, directory: &Path) -> Failure {
    let names = FILE_NAMES.join(", ");
    let failure = Failure::user(format!("kustomize: none of {names} is in {}", directory.display()));
    failure.hint(format!("relative paths count from {}", state.directory().display()))
}

fn is_remote(name: &str) -> bool {
    name.contains("://")
        || name.contains("?ref=")
        || name.starts_with("git@")
        || name.starts_with("github.com/")
}

/// Returns the paths that a kustomization names in any of its fields.
fn listed_paths(kustomization: &Json) -> Vec<String> {
    let list = |value: Option<&Json>| value.and_then(Json::as_array).cloned().unwrap_or_default();
    let mut found: Vec<String> = Vec::new();
    for field in [
        "bases",
        "components",
        "resources",
        "crds",
        "patchesStrategicMerge",
        "configurations",
        "generators",
        "transformers",
        "validators",
    ] {
        let texts = list(kustomization.get(field));
        // Some may contain YAML in place of a path.
        found.extend(
            texts.iter().filter_map(Json::as_str).filter(|text| !text.contains('\n')).map(str::to_owned),
        );
    }
    for field in ["patches", "patchesJson6902", "replacements"] {
        let items = list(kustomization.get(field));
        found.extend(items.iter().filter_map(|item| item.get("path")?.as_str()).map(str::to_owned));
    }
    for field in ["configMapGenerator", "secretGenerator"] {
        for generator in list(kustomization.get(field)) {
            let files = list(generator.get("files")).into_iter().chain(list(generator.get("envs")));
            let files = files.filter_map(|file| file.as_str().map(str::to_owned));
            // In `key=path` the key is the name in the ConfigMap.
            found.extend(files.map(|file| file.rsplit('=').next().unwrap_or_default().to_owned()));
            found.extend(generator.get("env").and_then(Json::as_str).map(str::to_owned));
        }
    }
    let text = |value: &Json, pointer: &str| value.pointer(pointer)?.as_str().map(str::to_owned);
    let home = text(kustomization, "/helmGlobals/chartHome").unwrap_or_else(|| "charts".to_owned());
    for chart in list(kustomization.get("helmCharts")) {
        // kustomize itself fetches the chart of a repository to there, which must not reload the Tiltfile.
        if chart.get("repo").is_none() {
            found.extend(text(&chart, "/name").map(|name| format!("{home}/{name}")));
        }
        found.extend(chart.get("valuesFile").and_then(Json::as_str).map(str::to_owned));
        let more = list(chart.get("additionalValuesFiles"));
        found.extend(more.iter().filter_map(Json::as_str).map(str::to_owned));
    }
    found.extend(text(kustomization, "/openapi/path"));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn relative_path_between_directories() {
        let between = |from: &str, to: &str| relative(Path::new(from), Path::new(to)).display().to_string();
        assert_eq!(between("/a/b", "/a/b"), ".");
        assert_eq!(between("/a/b", "/a/b/c/d"), "c/d");
        assert_eq!(between("/a/b", "/a/x"), "../x");
    }

    #[test]
    fn every_path_of_a_kustomization_is_listed() {
        let text = "resources: [a.yaml, ../base]\ncomponents: [c]\npatchesStrategicMerge: [p.yaml, \"a: 1\\nb: 2\"]\n\
                    patches: [{path: q.yaml}, {patch: x}]\nconfigMapGenerator: [{files: [k=f.txt, g.txt], envs: [e.env]}]\n\
                    secretGenerator: [{env: s.env}]\nhelmGlobals: {chartHome: h}\n\
                    helmCharts: [{name: own, valuesFile: v.yaml}, {name: fetched, repo: 'https://x'}]\n";
        let mut found = listed_paths(&yaml::document(text).unwrap());
        found.sort();
        assert_eq!(
            found,
            [
                "../base", "a.yaml", "c", "e.env", "f.txt", "g.txt", "h/own", "p.yaml", "q.yaml", "s.env",
                "v.yaml"
            ]
        );
    }
}

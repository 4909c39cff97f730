//! `helm`: the objects of a chart, rendered by the real helm.

use std::path::{Path, PathBuf};

use lilt_model::Failure;
use serde_json::Value as Json;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::values::Value;

use super::kubernetes::{objects_blob, parse};
use super::tool;
use crate::arguments::Function;
use crate::failure::raise;
use crate::load_state::{LoadState, load_state};
use crate::paths::clean;
use crate::values::Blob;
use lilt_model::yaml;

/// The release's name unless one is given: the same on every load.
const RELEASE: &str = "chart";

#[starlark_module]
pub(super) fn functions(builder: &mut GlobalsBuilder) {
    /// Renders a Helm chart and returns its objects as YAML. The chart's tests are left out.
    ///
    /// # Arguments
    /// * `paths`: the directory of the chart
    /// * `name`: of the release, `chart` unless given
    /// * `namespace`: for the release, and for all objects that name none
    /// * `values`: the path of a values file, or a list of those
    /// * `set`: values as `key=value`, or a list of those
    /// * `kube_version`: the Kubernetes version that the chart sees
    /// * `skip_crds`: leave out the custom resource definitions of the chart
    fn helm<'v>(
        paths: Value<'v>,
        name: Option<Value<'v>>,
        namespace: Option<Value<'v>>,
        values: Option<Value<'v>>,
        set: Option<Value<'v>>,
        kube_version: Option<Value<'v>>,
        skip_crds: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> starlark::Result<Blob> {
        let function = Function("helm");
        let state = load_state(eval);
        let argument = |name, value| function.argument(name, value);
        let chart = function.argument("paths", paths).path_or_directory(state)?;
        check_chart(state, &chart)?;
        state.watch(&chart);
        for dependency in local_dependencies(state, &chart)? {
            state.watch(&dependency);
        }
        let release = match argument("name", name).string()? {
            given if !given.is_empty() => given,
            _ => RELEASE.to_owned(),
        };
        let namespace = argument("namespace", namespace).string()?;
        let mut words = vec!["helm".to_owned(), "template".to_owned(), release, chart.display().to_string()];
        if !namespace.is_empty() {
            words.extend(["--namespace".to_owned(), namespace.clone()]);
        }
        let kube_version = argument("kube_version", kube_version).string()?;
        if !kube_version.is_empty() {
            words.extend(["--kube-version".to_owned(), kube_version]);
        }
        if !argument("skip_crds", skip_crds).boolean()?.unwrap_or(false) {
            words.push("--include-crds".to_owned());
        }
        for file in argument("values", values).strings()? {
            state.watch_entry(&state.absolute(&file));
            words.extend(["--values".to_owned(), file]);
        }
        for value in argument("set", set).strings()? {
            words.extend(["--set".to_owned(), value]);
        }
        let rendered = tool::run(state, "helm", &tool::command(state, words))?;
        let text = without_tests(&rendered);
        let source = format!("helm: {}", chart.display());
        if namespace.is_empty() {
            return Ok(Blob { text, source });
        }
        // helm itself does not set the namespace of objects.
        let mut objects: Vec<Json> =
            parse(&text, &source, None)?.into_iter().map(|(_, object)| object).collect();
        for object in &mut objects {
            set_default_namespace(object, &namespace);
        }
        objects_blob(&objects, &source)
    }
}

fn check_chart(state: &LoadState<'_>, chart: &Path) -> starlark::Result<()> {
    if state.system.is_dir(chart) {
        return Ok(());
    }
    let shown = chart.display();
    // The Tiltfile is loaded again when it becomes a directory.
    state.watch_entry(chart);
    let failure = if state.system.exists(chart) {
        Failure::user(format!("helm: {shown} is no directory with a Chart.yaml"))
    } else {
        let failure = Failure::user(format!("helm: there is no chart directory {shown}"));
        failure.hint(format!("relative paths count from {}", state.directory().display()))
    };
    Err(raise(failure))
}

/// Returns the local charts (`file://`) that the chart depends on.
fn local_dependencies(state: &LoadState<'_>, chart: &Path) -> starlark::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for name in ["Chart.yaml", "requirements.yaml"] {
        let path = chart.join(name);
        let metadata = match state.system.read_file(&path) {
            Ok(content) => yaml::document(&yaml::decode(&content)).map_err(|error| error.to_string()),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            Err(error) => Err(error.to_string()),
        };
        let metadata = match metadata {
            Ok(metadata) => metadata,
            // helm itself may still read it, or report the error better.
            Err(problem) => {
                state.warn(lilt_model::os_error::plain(&format!(
                    "helm: cannot read {}: {problem}\nlilt does not watch the local charts that it lists",
                    path.display()
                )));
                continue;
            }
        };
        let dependencies = metadata.get("dependencies").and_then(Json::as_array).into_iter().flatten();
        let repositories = dependencies.filter_map(|dependency| dependency.get("repository")?.as_str());
        for path in repositories.filter_map(|repository| repository.strip_prefix("file://")) {
            found.push(clean(&chart.join(path)));
        }
    }
    Ok(found)
}

/// Removes tests: helm begins each document with a comment that names its template.
fn without_tests(rendered: &str) -> String {
    let is_test = |document: &str| {
        let mut sources = document.lines().filter_map(|line| line.strip_prefix("# Source: "));
        sources.any(|source| source.contains("/tests/"))
    };
    let kept: Vec<&str> = rendered.split("---\n").filter(|document| !is_test(document)).collect();
    kept.join("---\n")
}

fn set_default_namespace(object: &mut Json, namespace: &str) {
    let Some(metadata) = object.get_mut("metadata").and_then(Json::as_object_mut) else { return };
    let own = metadata.get("namespace").and_then(Json::as_str);
    if own.is_none_or(str::is_empty) {
        metadata.insert("namespace".to_owned(), namespace.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chart_tests_are_removed() {
        let rendered =
            "---\n# Source: c/templates/a.yaml\nkind: A\n---\n# Source: c/templates/tests/t.yaml\nkind: T\n";
        assert_eq!(without_tests(rendered), "---\n# Source: c/templates/a.yaml\nkind: A\n");
    }
}

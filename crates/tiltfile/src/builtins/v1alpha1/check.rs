//! What Tilt's API asks of an object beyond the types of its fields.

use serde_json::{Map, Value};

/// Everything that is wrong with the fields of an object.
pub(super) fn problems(kind: &str, fields: &Map<String, Value>) -> Vec<String> {
    let spec = Spec(fields);
    let mut problems = match kind {
        "ExtensionRepo" => spec.extension_repo(),
        "FileWatch" => spec.file_watch(),
        "KubernetesApply" => spec.kubernetes_apply(),
        "KubernetesDiscovery" => spec.kubernetes_discovery(),
        "UIButton" => spec.ui_button(),
        _ => Vec::new(),
    };
    problems.dedup();
    problems
}

struct Spec<'o>(&'o Map<String, Value>);

impl Spec<'_> {
    fn text(&self, field: &str) -> &str {
        self.0.get(field).and_then(Value::as_str).unwrap_or_default()
    }

    fn items(&self, field: &str) -> &[Value] {
        self.0.get(field).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
    }

    fn extension_repo(&self) -> Vec<String> {
        let url = self.text("url");
        let is_web = url.starts_with("https://") || url.starts_with("http://");
        let problem = match url.strip_prefix("file://") {
            None if is_web => return Vec::new(),
            None => format!("url must start with https://, http:// or file://, not {url:?}"),
            Some(path) if !std::path::Path::new(path).is_absolute() => {
                format!("url must have an absolute path, such as file:///home/user/repo, not {url:?}")
            }
            Some(_) if !self.text("gitSubpath").is_empty() => {
                "git_subpath is not for a repository with a file:// url".to_owned()
            }
            Some(_) => return Vec::new(),
        };
        vec![problem]
    }

    fn file_watch(&self) -> Vec<String> {
        let empty = self.items("watchedPaths").is_empty();
        empty.then(|| "watched_paths cannot be empty".to_owned()).into_iter().collect()
    }

    fn kubernetes_apply(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let strategy = self.text("discoveryStrategy");
        if !matches!(strategy, "" | "default" | "selectors-only") {
            problems
                .push(format!("discovery_strategy must be 'default' or 'selectors-only', not {strategy:?}"));
        }
        let has_yaml = !self.text("yaml").is_empty();
        match self.0.get("applyCmd") {
            Some(_) if has_yaml => problems.push("yaml and apply_cmd cannot both be given".to_owned()),
            None if !has_yaml => problems.push("yaml or apply_cmd is needed".to_owned()),
            Some(command) if command["args"].as_array().is_none_or(Vec::is_empty) => {
                problems.push("apply_cmd.args cannot be empty".to_owned());
            }
            _ => {}
        }
        problems
    }

    fn kubernetes_discovery(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.items("watches").is_empty() && self.items("extraSelectors").is_empty() {
            problems.push("watches or extra_selectors are needed".to_owned());
        }
        for (index, watch) in self.items("watches").iter().enumerate() {
            if watch["namespace"].as_str().is_none_or(str::is_empty) {
                problems.push(format!("watches[{index}].namespace is needed"));
            }
        }
        problems
    }

    fn ui_button(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if self.text("text").is_empty() {
            problems.push("text cannot be empty".to_owned());
        }
        let location = self.0.get("location");
        for (field, name) in [("componentID", "component_id"), ("componentType", "component_type")] {
            let value = location.and_then(|location| location[field].as_str());
            if value.is_none_or(str::is_empty) {
                problems.push(format!("location.{name} is needed"));
            }
        }
        let icon = self.text("iconSVG");
        if !icon.is_empty() && !icon.contains("<svg") {
            problems.push("icon_svg must hold an <svg> element".to_owned());
        }
        let inputs = self.items("inputs");
        for (index, input) in inputs.iter().enumerate() {
            let name = input["name"].as_str().unwrap_or_default();
            if inputs[..index].iter().any(|other| other["name"] == input["name"]) {
                problems.push(format!("two inputs have the name {name:?}"));
            }
            let kinds = ["text", "bool", "hidden", "choice"];
            if kinds.iter().filter(|kind| input.get(**kind).is_some()).count() != 1 {
                problems.push(format!("inputs[{index}] must have exactly one of {}", kinds.join(", ")));
            }
            let choice = input.get("choice");
            if choice.is_some_and(|choice| choice["choices"].as_array().is_none_or(Vec::is_empty)) {
                problems.push(format!("inputs[{index}].choice.choices cannot be empty"));
            }
        }
        problems
    }
}

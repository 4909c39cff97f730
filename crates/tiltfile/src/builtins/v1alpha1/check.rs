//! Validation of objects as in Tilt's API, beyond the types of their fields.

use lilt_api::{
    Content, ExtensionRepoSpec, FileWatchSpec, KubernetesApplySpec, KubernetesDiscoverySpec, UIButtonSpec,
};

/// Everything that is wrong with the content of an object that a Tiltfile declares.
pub(super) fn problems(content: &Content) -> Vec<String> {
    let mut problems = match content {
        Content::ExtensionRepo(repository) => extension_repo(&repository.spec),
        Content::FileWatch(watch) => file_watch(&watch.spec),
        Content::KubernetesApply(apply) => kubernetes_apply(&apply.spec),
        Content::KubernetesDiscovery(discovery) => kubernetes_discovery(&discovery.spec),
        Content::UIButton(button) => ui_button(&button.spec),
        // The others have no such rules, or cannot be declared.
        _ => Vec::new(),
    };
    problems.dedup();
    problems
}

fn extension_repo(spec: &ExtensionRepoSpec) -> Vec<String> {
    let url = spec.url.as_str();
    let is_web = url.starts_with("https://") || url.starts_with("http://");
    let problem = match url.strip_prefix("file://") {
        None if is_web => return Vec::new(),
        None => format!("url must start with https://, http:// or file://, not {url:?}"),
        Some(path) if !std::path::Path::new(path).is_absolute() => {
            format!("url must have an absolute path, such as file:///home/user/repo, not {url:?}")
        }
        Some(_) if !spec.git_subpath.is_empty() => {
            "git_subpath is not for a repository with a file:// url".to_owned()
        }
        Some(_) => return Vec::new(),
    };
    vec![problem]
}

fn file_watch(spec: &FileWatchSpec) -> Vec<String> {
    let is_empty = spec.watched_paths.is_empty();
    is_empty.then(|| "watched_paths cannot be empty".to_owned()).into_iter().collect()
}

fn kubernetes_apply(spec: &KubernetesApplySpec) -> Vec<String> {
    let mut problems = Vec::new();
    let strategy = spec.discovery_strategy.as_str();
    if !matches!(strategy, "" | "default" | "selectors-only") {
        problems.push(format!("discovery_strategy must be 'default' or 'selectors-only', not {strategy:?}"));
    }
    let has_yaml = !spec.yaml.is_empty();
    match &spec.apply_cmd {
        Some(_) if has_yaml => problems.push("yaml and apply_cmd cannot both be given".to_owned()),
        None if !has_yaml => problems.push("yaml or apply_cmd is needed".to_owned()),
        Some(command) if command.args.is_empty() => {
            problems.push("apply_cmd.args cannot be empty".to_owned());
        }
        _ => {}
    }
    problems
}

fn kubernetes_discovery(spec: &KubernetesDiscoverySpec) -> Vec<String> {
    let mut problems = Vec::new();
    if spec.watches.is_empty() && spec.extra_selectors.is_empty() {
        problems.push("watches or extra_selectors are needed".to_owned());
    }
    for (index, _) in spec.watches.iter().enumerate().filter(|(_, watch)| watch.namespace.is_empty()) {
        problems.push(format!("watches[{index}].namespace is needed"));
    }
    problems
}

fn ui_button(spec: &UIButtonSpec) -> Vec<String> {
    let mut problems = Vec::new();
    if spec.text.is_empty() {
        problems.push("text cannot be empty".to_owned());
    }
    let location = &spec.location;
    for (value, name) in
        [(&location.component_id, "component_id"), (&location.component_type, "component_type")]
    {
        if value.is_empty() {
            problems.push(format!("location.{name} is needed"));
        }
    }
    if !spec.icon_svg.is_empty() && !spec.icon_svg.contains("<svg") {
        problems.push("icon_svg must hold an <svg> element".to_owned());
    }
    for (index, input) in spec.inputs.iter().enumerate() {
        if spec.inputs[..index].iter().any(|other| other.name == input.name) {
            problems.push(format!("two inputs have the name {:?}", input.name));
        }
        let given =
            [input.text.is_some(), input.bool.is_some(), input.hidden.is_some(), input.choice.is_some()];
        if given.into_iter().filter(|is_given| *is_given).count() != 1 {
            problems.push(format!("inputs[{index}] must have exactly one of text, bool, hidden, choice"));
        }
        if input.choice.as_ref().is_some_and(|choice| choice.choices.is_empty()) {
            problems.push(format!("inputs[{index}].choice.choices cannot be empty"));
        }
    }
    problems
}

//! Validation of objects beyond the types of their fields, and defaults.

use std::collections::BTreeSet;

use lilt_api::check::complete;
use lilt_api::kinds::{Kind, Type};
use lilt_api::{
    ClusterSpec, Content, ExtensionRepoSpec, FileWatchSpec, KubernetesApplySpec, KubernetesDiscoverySpec,
    LiveUpdateSpec, ObjectKind, PortForwardSpec, SessionSpec, ToggleButtonSpec, UIButtonSpec,
};
use serde_json::{Map, Value, json};

use super::status_error::Cause;

/// Fills in defaults, and fields that always exist.
pub(crate) fn fill(kind: &Kind, object: &mut Value) {
    let Value::Object(members) = object else { return };
    for field in &kind.fields {
        let Type::Part(part) = &field.of else { continue };
        let value = members.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        let Value::Object(value) = value else { continue };
        // An empty status means that nothing has happened yet, so only the specification gets defaults.
        if field.name == "spec" || !value.is_empty() {
            complete(part, value);
        }
    }
    let is_in_cluster = matches!(
        kind.kind,
        ObjectKind::KubernetesApply
            | ObjectKind::KubernetesDiscovery
            | ObjectKind::PodLogStream
            | ObjectKind::PortForward
    );
    if is_in_cluster && text(object, "/spec/cluster").is_empty() {
        object["spec"]["cluster"] = json!("default");
    }
}

/// Returns all violations of an object.
pub(crate) fn violations(object: &Value, content: &Content) -> Vec<Cause> {
    let mut causes = name(object);
    match content {
        Content::Cluster(cluster) => registry(&cluster.spec, &mut causes),
        Content::ExtensionRepo(repository) => extension_repo(&repository.spec, &mut causes),
        Content::FileWatch(watch) => file_watch(&watch.spec, &mut causes),
        Content::KubernetesApply(apply) => kubernetes_apply(&apply.spec, &mut causes),
        Content::KubernetesDiscovery(discovery) => kubernetes_discovery(&discovery.spec, &mut causes),
        Content::LiveUpdate(update) => live_update(&update.spec, &mut causes),
        Content::PortForward(forward) => port_forward(&forward.spec, &mut causes),
        Content::Session(session) => self::session(&session.spec, &mut causes),
        Content::ToggleButton(button) => toggle_button(&button.spec, &mut causes),
        Content::UIButton(button) => ui_button(&button.spec, &mut causes),
        Content::Cmd(_)
        | Content::CmdImage(_)
        | Content::ConfigMap(_)
        | Content::DockerComposeLogStream(_)
        | Content::DockerComposeService(_)
        | Content::DockerImage(_)
        | Content::Extension(_)
        | Content::ImageMap(_)
        | Content::PodLogStream(_)
        | Content::Tiltfile(_)
        | Content::UIResource(_)
        | Content::UISession(_) => {}
    }
    causes
}

fn text<'o>(object: &'o Value, path: &str) -> &'o str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

/// Validates a name as a segment of a path: Kubernetes allows every name that is safe there.
fn name(object: &Value) -> Vec<Cause> {
    let name = text(object, "/metadata/name");
    let value = json!(name);
    if name.is_empty() {
        return vec![Cause::required("metadata.name", "name or generateName is required")];
    }
    let mut causes = Vec::new();
    if name == "." || name == ".." || name.contains(['/', '%']) {
        causes.push(Cause::invalid(
            "metadata.name",
            &value,
            "may not be '.' or '..' and may not contain '/' or '%'",
        ));
    }
    if name.len() > 253 {
        causes.push(Cause::invalid("metadata.name", &value, "may not be longer than 253 bytes"));
    }
    causes
}

fn registry(spec: &ClusterSpec, causes: &mut Vec<Cause>) {
    let Some(registry) = &spec.default_registry else { return };
    if registry.host.is_empty() {
        causes.push(Cause::required("spec.defaultRegistry.host", "the registry's address is missing"));
    }
    for (field, host) in
        [("host", &registry.host), ("hostFromContainerRuntime", &registry.host_from_container_runtime)]
    {
        let is_reference = lilt_model::reference::Reference::parse(&format!("{host}/image")).is_ok();
        if !host.is_empty() && !is_reference {
            let field = format!("spec.defaultRegistry.{field}");
            causes.push(Cause::invalid(&field, &json!(host), "is no address of a registry"));
        }
    }
}

fn extension_repo(spec: &ExtensionRepoSpec, causes: &mut Vec<Cause>) {
    let url = spec.url.as_str();
    let value = json!(url);
    let file = url.strip_prefix("file://");
    if file.is_none() && !url.starts_with("https://") && !url.starts_with("http://") {
        causes.push(Cause::invalid("spec.url", &value, "must begin with http://, https:// or file://"));
    } else if file.is_some_and(|path| !path.starts_with('/')) {
        causes.push(Cause::invalid(
            "spec.url",
            &value,
            "a file:// address must be absolute: file:///home/me/repo",
        ));
    } else if file.is_some() && !spec.git_subpath.is_empty() {
        let subpath = json!(spec.git_subpath);
        causes.push(Cause::invalid("spec.gitSubpath", &subpath, "does not go with a file:// address"));
    }
}

fn file_watch(spec: &FileWatchSpec, causes: &mut Vec<Cause>) {
    if spec.watched_paths.is_empty() {
        causes.push(Cause::required("spec.watchedPaths", "at least one path is needed"));
    }
}

fn kubernetes_apply(spec: &KubernetesApplySpec, causes: &mut Vec<Cause>) {
    const STRATEGIES: [&str; 2] = ["default", "selectors-only"];
    let strategy = spec.discovery_strategy.as_str();
    if !strategy.is_empty() && !STRATEGIES.contains(&strategy) {
        causes.push(Cause::unsupported("spec.discoveryStrategy", &json!(strategy), &STRATEGIES));
    }
    match (spec.yaml.is_empty(), &spec.apply_cmd) {
        (false, Some(command)) => {
            causes.push(Cause::invalid(
                "spec.applyCmd",
                &json!(command),
                "either spec.yaml or spec.applyCmd, not both",
            ));
        }
        (true, None) => {
            causes.push(Cause::required("spec.yaml", "either spec.yaml or spec.applyCmd is needed"));
        }
        (true, Some(command)) if command.args.is_empty() => {
            causes.push(Cause::required("spec.applyCmd.args", "the command is missing"));
        }
        _ => {}
    }
}

fn kubernetes_discovery(spec: &KubernetesDiscoverySpec, causes: &mut Vec<Cause>) {
    if spec.watches.is_empty() && spec.extra_selectors.is_empty() {
        causes.push(Cause::required("spec.watches", "at least one of watches and extraSelectors is needed"));
    }
    for (index, _) in spec.watches.iter().enumerate().filter(|(_, watch)| watch.namespace.is_empty()) {
        causes.push(Cause::required(&format!("spec.watches[{index}].namespace"), "the namespace is missing"));
    }
}

fn live_update(spec: &LiveUpdateSpec, causes: &mut Vec<Cause>) {
    if spec.syncs.is_empty() && spec.execs.is_empty() {
        causes.push(Cause::required("spec.syncs", "at least one sync or one exec is needed"));
    }
    for (index, sync) in spec.syncs.iter().enumerate() {
        if !sync.container_path.starts_with('/') {
            let field = format!("spec.syncs[{index}].containerPath");
            causes.push(Cause::invalid(&field, &json!(sync.container_path), "must be absolute"));
        }
    }
    if let Some(selector) = &spec.selector.kubernetes {
        if selector.discovery_name.is_empty() {
            causes.push(Cause::required("spec.selector.kubernetes.discoveryName", "the name is missing"));
        }
        let ways = [&selector.image, &selector.image_map_name, &selector.container_name];
        if ways.into_iter().filter(|way| !way.is_empty()).count() != 1 {
            let why = "exactly one of image, imageMapName and containerName is needed";
            causes.push(Cause::required("spec.selector.kubernetes", why));
        }
    } else if spec.selector.docker_compose.as_ref().is_some_and(|selector| selector.service.is_empty()) {
        causes.push(Cause::required("spec.selector.dockerCompose.service", "the service is missing"));
    }
}

fn port_forward(spec: &PortForwardSpec, causes: &mut Vec<Cause>) {
    if spec.pod_name.is_empty() {
        causes.push(Cause::required("spec.podName", "the pod is missing"));
    }
    if spec.forwards.is_empty() {
        causes.push(Cause::required("spec.forwards", "at least one forward is needed"));
    }
    let mut seen = BTreeSet::new();
    for (index, forward) in spec.forwards.iter().enumerate() {
        let field = |name: &str| format!("spec.forwards[{index}].{name}");
        let (local, container) = (forward.local_port, forward.container_port);
        if local != 0 && !seen.insert(local) {
            causes.push(Cause::duplicate(&field("localPort"), &json!(local)));
        }
        if !(0..=65535).contains(&local) {
            causes.push(Cause::invalid(&field("localPort"), &json!(local), "must be from 0 to 65535"));
        }
        if !(1..=65535).contains(&container) {
            causes.push(Cause::invalid(
                &field("containerPort"),
                &json!(container),
                "must be from 1 to 65535",
            ));
        }
    }
}

fn session(spec: &SessionSpec, causes: &mut Vec<Cause>) {
    const CONDITIONS: [&str; 2] = ["manual", "ci"];
    if spec.tiltfile_path.is_empty() {
        causes.push(Cause::required("spec.tiltfilePath", "the path is missing"));
    }
    let condition = spec.exit_condition.as_str();
    if !CONDITIONS.contains(&condition) {
        causes.push(Cause::unsupported("spec.exitCondition", &json!(condition), &CONDITIONS));
    }
}

fn toggle_button(spec: &ToggleButtonSpec, causes: &mut Vec<Cause>) {
    match &spec.state_source.config_map {
        None => causes.push(Cause::required("spec.stateSource.configMap", "it says where the state is kept")),
        Some(source) if source.on_value == source.off_value => {
            let value = json!(source);
            causes.push(Cause::invalid(
                "spec.stateSource.configMap",
                &value,
                "onValue and offValue must differ",
            ));
        }
        Some(_) => {}
    }
}

fn ui_button(spec: &UIButtonSpec, causes: &mut Vec<Cause>) {
    for (field, value, why) in [
        ("text", &spec.text, "a button needs a text"),
        ("location.componentID", &spec.location.component_id, "it says where the button stands"),
        (
            "location.componentType",
            &spec.location.component_type,
            "it says where the button stands: Resource or Global",
        ),
    ] {
        if value.is_empty() {
            causes.push(Cause::required(&format!("spec.{field}"), why));
        }
    }
    if !spec.icon_svg.is_empty() && !spec.icon_svg.contains("<svg") {
        causes.push(Cause::invalid("spec.iconSVG", &json!(spec.icon_svg), "is no <svg> element"));
    }
    let mut seen = BTreeSet::new();
    for (index, input) in spec.inputs.iter().enumerate() {
        let field = format!("spec.inputs[{index}]");
        if !seen.insert(&input.name) {
            causes.push(Cause::duplicate(&format!("{field}.name"), &json!(input.name)));
        }
        let kinds =
            [input.text.is_some(), input.bool.is_some(), input.hidden.is_some(), input.choice.is_some()];
        if kinds.into_iter().filter(|is_given| *is_given).count() != 1 {
            causes.push(Cause::invalid(
                &field,
                &json!(input),
                "exactly one of text, bool, hidden and choice is needed",
            ));
        }
        if input.choice.as_ref().is_some_and(|choice| choice.choices.is_empty()) {
            causes.push(Cause::required(
                &format!("{field}.choice.choices"),
                "a choice needs something to choose",
            ));
        }
    }
}

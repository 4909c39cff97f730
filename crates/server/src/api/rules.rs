//! What must hold of an object beyond the types of its fields, and what is assumed where nothing is said.

use std::collections::BTreeSet;

use lilt_api::check::complete;
use lilt_api::kinds::{Kind, Type};
use serde_json::{Map, Value, json};

use super::status_error::Cause;

/// Fills in what is assumed, and fields that are always there.
pub(crate) fn fill(kind: &Kind, object: &mut Value) {
    let Value::Object(members) = object else { return };
    for field in &kind.fields {
        let Type::Part(part) = &field.of else { continue };
        let value = members.entry(field.name).or_insert_with(|| Value::Object(Map::new()));
        if value.is_null() {
            *value = Value::Object(Map::new());
        }
        let Value::Object(value) = value else { continue };
        // A status without content says that nothing has happened yet; a specification is whole.
        if field.name == "spec" || !value.is_empty() {
            complete(part, value);
        }
    }
    let clustered = ["KubernetesApply", "KubernetesDiscovery", "PodLogStream", "PortForward"];
    if clustered.contains(&kind.name) && text(object, "/spec/cluster").is_empty() {
        object["spec"]["cluster"] = json!("default");
    }
}

/// Everything that is wrong with an object.
pub(crate) fn violations(kind: &Kind, object: &Value) -> Vec<Cause> {
    let mut causes = name(object);
    match kind.name {
        "Cluster" => registry(object, &mut causes),
        "ExtensionRepo" => extension_repo(object, &mut causes),
        "FileWatch" => file_watch(object, &mut causes),
        "KubernetesApply" => kubernetes_apply(object, &mut causes),
        "KubernetesDiscovery" => kubernetes_discovery(object, &mut causes),
        "LiveUpdate" => live_update(object, &mut causes),
        "PortForward" => port_forward(object, &mut causes),
        "Session" => session(object, &mut causes),
        "ToggleButton" => toggle_button(object, &mut causes),
        "UIButton" => ui_button(object, &mut causes),
        _ => {}
    }
    causes
}

fn text<'o>(object: &'o Value, path: &str) -> &'o str {
    object.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

fn list<'o>(object: &'o Value, path: &str) -> &'o [Value] {
    object.pointer(path).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

fn is_there(object: &Value, path: &str) -> bool {
    object.pointer(path).is_some_and(|value| !value.is_null())
}

/// As it stands in addresses: Kubernetes lets everything be a name that is safe there.
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

fn registry(object: &Value, causes: &mut Vec<Cause>) {
    if !is_there(object, "/spec/defaultRegistry") {
        return;
    }
    let host = text(object, "/spec/defaultRegistry/host");
    if host.is_empty() {
        causes.push(Cause::required("spec.defaultRegistry.host", "the registry's address is missing"));
    }
    for field in ["host", "hostFromContainerRuntime"] {
        let host = text(object, &format!("/spec/defaultRegistry/{field}"));
        let is_reference = lilt_model::reference::Reference::parse(&format!("{host}/image")).is_ok();
        if !host.is_empty() && !is_reference {
            let field = format!("spec.defaultRegistry.{field}");
            causes.push(Cause::invalid(&field, &json!(host), "is no address of a registry"));
        }
    }
}

fn extension_repo(object: &Value, causes: &mut Vec<Cause>) {
    let url = text(object, "/spec/url");
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
    } else if file.is_some() && !text(object, "/spec/gitSubpath").is_empty() {
        let subpath = &object["spec"]["gitSubpath"];
        causes.push(Cause::invalid("spec.gitSubpath", subpath, "does not go with a file:// address"));
    }
}

fn file_watch(object: &Value, causes: &mut Vec<Cause>) {
    if list(object, "/spec/watchedPaths").is_empty() {
        causes.push(Cause::required("spec.watchedPaths", "at least one path is needed"));
    }
}

fn kubernetes_apply(object: &Value, causes: &mut Vec<Cause>) {
    const STRATEGIES: [&str; 2] = ["default", "selectors-only"];
    let strategy = text(object, "/spec/discoveryStrategy");
    if !strategy.is_empty() && !STRATEGIES.contains(&strategy) {
        causes.push(Cause::unsupported("spec.discoveryStrategy", &json!(strategy), &STRATEGIES));
    }
    let command = is_there(object, "/spec/applyCmd");
    match (text(object, "/spec/yaml").is_empty(), command) {
        (false, true) => {
            let value = &object["spec"]["applyCmd"];
            causes.push(Cause::invalid(
                "spec.applyCmd",
                value,
                "either spec.yaml or spec.applyCmd, not both",
            ));
        }
        (true, false) => {
            causes.push(Cause::required("spec.yaml", "either spec.yaml or spec.applyCmd is needed"))
        }
        (true, true) if list(object, "/spec/applyCmd/args").is_empty() => {
            causes.push(Cause::required("spec.applyCmd.args", "the command is missing"));
        }
        _ => {}
    }
}

fn kubernetes_discovery(object: &Value, causes: &mut Vec<Cause>) {
    let watches = list(object, "/spec/watches");
    if watches.is_empty() && list(object, "/spec/extraSelectors").is_empty() {
        causes.push(Cause::required("spec.watches", "at least one of watches and extraSelectors is needed"));
    }
    for (index, _) in watches.iter().enumerate().filter(|(_, watch)| text(watch, "/namespace").is_empty()) {
        causes.push(Cause::required(&format!("spec.watches[{index}].namespace"), "the namespace is missing"));
    }
}

fn live_update(object: &Value, causes: &mut Vec<Cause>) {
    let syncs = list(object, "/spec/syncs");
    if syncs.is_empty() && list(object, "/spec/execs").is_empty() {
        causes.push(Cause::required("spec.syncs", "at least one sync or one exec is needed"));
    }
    for (index, sync) in syncs.iter().enumerate() {
        if !text(sync, "/containerPath").starts_with('/') {
            let field = format!("spec.syncs[{index}].containerPath");
            causes.push(Cause::invalid(&field, &sync["containerPath"], "must be absolute"));
        }
    }
    if is_there(object, "/spec/selector/kubernetes") {
        if text(object, "/spec/selector/kubernetes/discoveryName").is_empty() {
            causes.push(Cause::required("spec.selector.kubernetes.discoveryName", "the name is missing"));
        }
        let ways = ["image", "imageMapName", "containerName"];
        let given =
            ways.iter().filter(|way| !text(object, &format!("/spec/selector/kubernetes/{way}")).is_empty());
        if given.count() != 1 {
            let why = "exactly one of image, imageMapName and containerName is needed";
            causes.push(Cause::required("spec.selector.kubernetes", why));
        }
    } else if is_there(object, "/spec/selector/dockerCompose")
        && text(object, "/spec/selector/dockerCompose/service").is_empty()
    {
        causes.push(Cause::required("spec.selector.dockerCompose.service", "the service is missing"));
    }
}

fn port_forward(object: &Value, causes: &mut Vec<Cause>) {
    if text(object, "/spec/podName").is_empty() {
        causes.push(Cause::required("spec.podName", "the pod is missing"));
    }
    let forwards = list(object, "/spec/forwards");
    if forwards.is_empty() {
        causes.push(Cause::required("spec.forwards", "at least one forward is needed"));
    }
    let mut seen = BTreeSet::new();
    for (index, forward) in forwards.iter().enumerate() {
        let port = |name: &str| forward.get(name).and_then(Value::as_i64).unwrap_or_default();
        let field = |name: &str| format!("spec.forwards[{index}].{name}");
        let (local, container) = (port("localPort"), port("containerPort"));
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

fn session(object: &Value, causes: &mut Vec<Cause>) {
    const CONDITIONS: [&str; 2] = ["manual", "ci"];
    if text(object, "/spec/tiltfilePath").is_empty() {
        causes.push(Cause::required("spec.tiltfilePath", "the path is missing"));
    }
    let condition = text(object, "/spec/exitCondition");
    if !CONDITIONS.contains(&condition) {
        causes.push(Cause::unsupported("spec.exitCondition", &json!(condition), &CONDITIONS));
    }
}

fn toggle_button(object: &Value, causes: &mut Vec<Cause>) {
    if !is_there(object, "/spec/stateSource/configMap") {
        causes.push(Cause::required("spec.stateSource.configMap", "it says where the state is kept"));
    } else if text(object, "/spec/stateSource/configMap/onValue")
        == text(object, "/spec/stateSource/configMap/offValue")
    {
        let value = &object["spec"]["stateSource"]["configMap"];
        causes.push(Cause::invalid("spec.stateSource.configMap", value, "onValue and offValue must differ"));
    }
}

fn ui_button(object: &Value, causes: &mut Vec<Cause>) {
    for (field, why) in [
        ("text", "a button needs a text"),
        ("location.componentID", "it says where the button stands"),
        ("location.componentType", "it says where the button stands: Resource or Global"),
    ] {
        if text(object, &format!("/spec/{}", field.replace('.', "/"))).is_empty() {
            causes.push(Cause::required(&format!("spec.{field}"), why));
        }
    }
    let icon = text(object, "/spec/iconSVG");
    if !icon.is_empty() && !icon.contains("<svg") {
        causes.push(Cause::invalid("spec.iconSVG", &json!(icon), "is no <svg> element"));
    }
    let mut seen = BTreeSet::new();
    for (index, input) in list(object, "/spec/inputs").iter().enumerate() {
        let field = format!("spec.inputs[{index}]");
        if !seen.insert(text(input, "/name")) {
            causes.push(Cause::duplicate(&format!("{field}.name"), &input["name"]));
        }
        let kinds = ["text", "bool", "hidden", "choice"];
        if kinds.iter().filter(|kind| is_there(input, &format!("/{kind}"))).count() != 1 {
            causes.push(Cause::invalid(
                &field,
                input,
                "exactly one of text, bool, hidden and choice is needed",
            ));
        }
        if is_there(input, "/choice") && list(input, "/choice/choices").is_empty() {
            causes.push(Cause::required(
                &format!("{field}.choice.choices"),
                "a choice needs something to choose",
            ));
        }
    }
}

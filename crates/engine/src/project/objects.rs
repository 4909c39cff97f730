//! The objects of the API that tell of a resource or of the session: what Tilt's controllers keep, from the same state
//! as everything else. Only lilt writes them, but for a few whose writing means something (see [`crate::objects`]).

mod images;
mod kubernetes;
mod local;
mod pods;
mod session;
mod targets;
mod watches;

use lilt_api::specs;
use lilt_api::{Object, ObjectKey, RuntimeStatus};
use lilt_model::files::FileSet;
use lilt_model::resource::Body;
use lilt_model::{ClusterName, ResourceName};
use serde_json::{Map, Value, json};

use crate::objects::{ANNOTATION_RESOURCE, FileEvents, show_notes};
use crate::runtime::runtime;
use crate::schedule::delivered;
use crate::state::{BodyState, ResourceState, State};

pub(crate) use images::stage_statuses;
pub(crate) use kubernetes::text_hash;
pub(crate) use pods::pod_status;
pub use session::project_session_objects;
pub(crate) use session::tell_cluster;
pub use targets::project_targets;

type Named = (ObjectKey, Object);

/// Names the section of the log that an object writes to, as under Tilt.
const LOG_SPAN: &str = "tilt.dev/log-span-id";

/// Who acts on an object, where its writing alone does nothing.
const MANAGED_BY: &str = "tilt.dev/managed-by";

/// Which buttons are the page's own.
const BUTTON_TYPE: &str = "tilt.dev/uibutton-type";

fn object(kind: &str, name: &str, content: Value) -> Named {
    let mut object = Object::named(name);
    if let Value::Object(members) = content {
        object.content = members;
    }
    write_unset_times(kind, &mut object);
    (ObjectKey::new(kind, name), object)
}

/// Writes `null` for times of the status that nothing has set, where Tilt does.
pub(crate) fn write_unset_times(kind: &str, object: &mut Object) {
    let times: &[&str] = match kind {
        "ExtensionRepo" => &["lastFetchedAt"],
        "FileWatch" => &["monitorStartTime", "lastEventTime"],
        "KubernetesApply" => &["lastApplyTime", "lastApplyStartTime"],
        "KubernetesDiscovery" => &["monitorStartTime"],
        "UIButton" => &["lastClickedAt"],
        _ => return,
    };
    let status = object.content.entry("status").or_insert_with(|| json!({}));
    let unset: Vec<&str> = times.iter().copied().filter(|time| status.get(time).is_none()).collect();
    for time in unset {
        status[time] = Value::Null;
    }
}

/// The same with the annotation that says whose it is.
fn owned(kind: &str, name: &str, resource: &ResourceName, content: Value) -> Named {
    let (key, mut object) = object(kind, name, content);
    object.metadata.insert("annotations".to_owned(), json!({ANNOTATION_RESOURCE: resource.as_str()}));
    let span = match kind {
        // What a deployment leads to writes to its section.
        "KubernetesApply" | "KubernetesDiscovery" | "PortForward" => format!("kubernetesapply:{resource}"),
        "DockerComposeService" => format!("dockercompose:{name}"),
        "LiveUpdate" => format!("liveupdate:{name}"),
        "DockerImage" => format!("dockerimage:{name}"),
        "CmdImage" => format!("cmdimage:{name}"),
        "ImageMap" => format!("imagemap:{name}"),
        "Cmd" => format!("cmd:{name}"),
        _ => return (key, object),
    };
    object.annotate_unless_said(LOG_SPAN, &span);
    (key, object)
}

/// The same with a section of the log of its own.
fn owned_with_span(kind: &str, name: &str, resource: &ResourceName, content: Value, span: &str) -> Named {
    let (key, mut object) = owned(kind, name, resource, content);
    object.metadata["annotations"][LOG_SPAN] = json!(span);
    (key, object)
}

/// And with the one that says that its writing alone does nothing.
fn managed(kind: &str, name: &str, resource: &ResourceName, by: &str, content: Value) -> Named {
    let (key, mut object) = owned(kind, name, resource, content);
    object.annotate_unless_said(MANAGED_BY, by);
    (key, object)
}

/// All but the `UIResource` itself.
pub fn project_resource_objects(state: &State, name: &ResourceName) -> Vec<Named> {
    let Some(resource) = state.resources.get(name) else { return Vec::new() };
    let mut objects = switches(state, resource);
    objects.push(stop_button(state, name));
    watches::objects(state, resource, &mut objects);
    match (&resource.spec.body, &resource.body) {
        (Body::Local(spec), BodyState::Local(local)) => {
            let ready = runtime(state, resource).status == RuntimeStatus::Ok;
            local::objects(state, resource, spec, local, ready, &mut objects);
        }
        (Body::Kubernetes(spec), BodyState::Kubernetes(state_of)) => {
            let pushed = delivered(state, spec);
            let images = (&*spec.images, &*pushed);
            images::objects(state, resource, images, &spec.cluster, Some(state_of), &mut objects);
            kubernetes::objects(state, resource, spec, state_of, &mut objects);
        }
        (Body::Compose(spec), _) => {
            let images = (&*spec.images, &*spec.image_deps);
            images::objects(state, resource, images, &ClusterName::default(), None, &mut objects);
            let written = specs::compose_service(spec).put("disableSource", disable_source(name)).value();
            let failure = resource.last().and_then(|last| last.failure.as_ref()).map(ToString::to_string);
            let status = json!({
                "applyError": failure.unwrap_or_default(), "disableStatus": disable_status(resource),
            });
            let content = json!({"spec": written, "status": status});
            objects.push(managed("DockerComposeService", name.as_str(), name, "buildcontrol", content));
        }
        _ => {}
    }
    show_notes(state, &mut objects);
    objects
}

fn disable_source(name: &ResourceName) -> Value {
    json!({"configMap": {"name": format!("{name}-disable"), "key": "isDisabled"}})
}

/// What the objects of a resource say of that.
fn disable_status(resource: &ResourceState) -> Value {
    let (name, disabled) = (&resource.spec.name, resource.disabled);
    json!({
        "disabled": disabled, "state": if disabled { "Disabled" } else { "Enabled" },
        "reason": format!("ConfigMap/key \"{name}-disable\"/\"isDisabled\" is {disabled}"),
        "lastUpdateTime": resource.switched.whole_seconds(),
    })
}

/// What switches a resource: the value, and the button that writes it.
fn switches(state: &State, resource: &ResourceState) -> Vec<Named> {
    let name = &resource.spec.name;
    let own = format!("{name}-disable");
    let location = json!({"componentID": name.as_str(), "componentType": "Resource"});
    let on = json!({"text": "Enable Resource"});
    let off = json!({"text": "Disable Resource", "requiresConfirmation": true});
    let source = json!({"name": own, "key": "isDisabled", "onValue": "true", "offValue": "false"});
    let content = json!({
        "spec": {"location": location, "defaultOn": false, "on": on, "off": off, "stateSource": {"configMap": source}},
        "status": {},
    });
    let (mut button, action) = if resource.disabled { (on, "off") } else { (off, "on") };
    button["location"] = location;
    button["inputs"] = json!([{"name": "action", "hidden": {"value": action}}]);
    let toggle = toggle_button_name(name);
    let value = json!({"data": {"isDisabled": resource.disabled.to_string()}});
    let mut objects = vec![
        owned("ConfigMap", &own, name, value),
        owned("ToggleButton", &own, name, content),
        owned("UIButton", &toggle, name, json!({"spec": button, "status": clicked(state, &toggle)})),
    ];
    for (_, object) in objects.iter_mut().skip(1) {
        object.annotate_unless_said(BUTTON_TYPE, "DisableToggle");
    }
    objects
}

pub(crate) fn toggle_button_name(name: &ResourceName) -> String {
    format!("toggle-{name}-disable")
}

/// What became of a button of lilt's own.
fn clicked(state: &State, button: &str) -> Value {
    state.objects.clicks.get(button).cloned().unwrap_or_else(|| json!({}))
}

pub(crate) fn stop_button_name(name: &ResourceName) -> String {
    format!("{name}-stopbuild")
}

/// Gives up the update that runs.
fn stop_button(state: &State, name: &ResourceName) -> Named {
    let location = json!({"componentID": name.as_str(), "componentType": "Resource"});
    let spec = json!({"text": "Stop Build", "iconName": "cancel", "location": location});
    let content = json!({"spec": spec, "status": clicked(state, &stop_button_name(name))});
    let (key, mut object) = owned("UIButton", &stop_button_name(name), name, content);
    object.annotate_unless_said(BUTTON_TYPE, "StopBuild");
    (key, object)
}

fn watch_spec(files: &FileSet, disable_source: Option<Value>) -> Value {
    let ignores = files.ignores.iter().map(|rule| json!({"basePath": rule.base, "patterns": rule.patterns}));
    let mut spec = json!({"watchedPaths": files.roots, "ignores": ignores.collect::<Vec<_>>()});
    if let Some(source) = disable_source {
        spec["disableSource"] = source;
    }
    spec
}

fn watch_content(spec: Value, events: &FileEvents) -> Value {
    let mut status = Map::new();
    events.tell(&mut status);
    json!({"spec": spec, "status": status})
}

//! API objects that show a resource or the session: those of Tilt's controllers, projected from the same
//! state as everything else. Only lilt writes them, except for a few whose writes have an effect (see
//! [`crate::objects`]).

mod images;
mod kubernetes;
mod local;
mod session;
mod targets;
mod watches;

use lilt_api::{
    ApiContent, ConfigMap, ConfigMapDisableSource, ConfigMapStateSource, DisableSource, DisableStatus,
    DockerComposeService, DockerComposeServiceSpec, DockerComposeServiceStatus, Object, ObjectKey,
    ObjectKind, RuntimeStatus, StateSource, Time, ToggleButton, ToggleButtonSpec, ToggleButtonStateSpec,
    UIButton, UIButtonSpec, UIButtonStatus, UIComponentLocation, UIHiddenInputSpec, UIInputSpec,
};
use lilt_model::resource::Body;
use lilt_model::{ClusterName, ResourceName};

use crate::objects::{ANNOTATION_RESOURCE, show_notes};
use crate::runtime::runtime;
use crate::schedule::delivered;
use crate::state::{BodyState, ResourceState, State};

pub(crate) use kubernetes::text_hash;
pub use session::project_session_objects;
pub use targets::project_targets;

type Named = (ObjectKey, Object);

/// Names the section of the log that an object writes to, as under Tilt.
const LOG_SPAN: &str = "tilt.dev/log-span-id";

/// The annotation that names the actor on an object whose write alone has no effect.
const MANAGED_BY: &str = "tilt.dev/managed-by";

/// The annotation that marks the page's own buttons.
const BUTTON_TYPE: &str = "tilt.dev/uibutton-type";

fn object<C: ApiContent>(name: &str, content: &C) -> Named {
    (ObjectKey::new(C::KIND, name), Object::new(name, content))
}

/// Returns an object with the annotation that names its resource.
fn owned<C: ApiContent>(name: &str, resource: &ResourceName, content: &C) -> Named {
    let (key, mut object) = object(name, content);
    object.annotate(ANNOTATION_RESOURCE, resource.as_str());
    let span = match key.kind {
        // Objects that result from a deployment write to its section.
        ObjectKind::KubernetesApply | ObjectKind::KubernetesDiscovery | ObjectKind::PortForward => {
            format!("kubernetesapply:{resource}")
        }
        ObjectKind::DockerComposeService => format!("dockercompose:{name}"),
        ObjectKind::LiveUpdate => format!("liveupdate:{name}"),
        ObjectKind::DockerImage => format!("dockerimage:{name}"),
        ObjectKind::CmdImage => format!("cmdimage:{name}"),
        ObjectKind::ImageMap => format!("imagemap:{name}"),
        ObjectKind::Cmd => format!("cmd:{name}"),
        _ => return (key, object),
    };
    object.annotate(LOG_SPAN, &span);
    (key, object)
}

/// Returns an [`owned`] object with a section of the log of its own.
fn owned_with_span<C: ApiContent>(name: &str, resource: &ResourceName, content: &C, span: &str) -> Named {
    let (key, mut object) = owned(name, resource, content);
    object.annotate(LOG_SPAN, span);
    (key, object)
}

/// Returns an [`owned`] object with the annotation that says that its writing alone does nothing.
fn managed<C: ApiContent>(name: &str, resource: &ResourceName, by: &str, content: &C) -> Named {
    let (key, mut object) = owned(name, resource, content);
    object.annotate(MANAGED_BY, by);
    (key, object)
}

/// Returns all objects of a resource but the `UIResource` itself.
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
            let failure = resource.last().and_then(|last| last.failure.as_ref()).map(ToString::to_string);
            let service = DockerComposeService {
                spec: DockerComposeServiceSpec {
                    disable_source: Some(disable_source(name)),
                    ..DockerComposeServiceSpec::from(spec)
                },
                status: DockerComposeServiceStatus {
                    apply_error: failure.unwrap_or_default(),
                    disable_status: Some(disable_status(resource)),
                    ..DockerComposeServiceStatus::default()
                },
            };
            objects.push(managed(name.as_str(), name, "buildcontrol", &service));
        }
        _ => {}
    }
    show_notes(state, &mut objects);
    objects
}

/// Returns the value that switches a resource.
pub(super) fn switch_source(name: &ResourceName) -> ConfigMapDisableSource {
    ConfigMapDisableSource { name: format!("{name}-disable"), key: "isDisabled".to_owned() }
}

pub(super) fn disable_source(name: &ResourceName) -> DisableSource {
    DisableSource { config_map: Some(switch_source(name)), ..DisableSource::default() }
}

/// Returns whether a resource is switched off, as its objects say it.
fn disable_status(resource: &ResourceState) -> DisableStatus {
    let (name, disabled) = (&resource.spec.name, resource.disabled);
    DisableStatus {
        disabled,
        state: if disabled { "Disabled" } else { "Enabled" }.to_owned(),
        reason: format!("ConfigMap/key \"{name}-disable\"/\"isDisabled\" is {disabled}"),
        last_update_time: Some(Time(resource.switched)),
    }
}

fn location(resource: &ResourceName) -> UIComponentLocation {
    UIComponentLocation { component_id: resource.to_string(), component_type: "Resource".to_owned() }
}

/// Returns the objects that enable and disable a resource: the value, and the button that writes it.
fn switches(state: &State, resource: &ResourceState) -> Vec<Named> {
    let name = &resource.spec.name;
    let source = switch_source(name);
    let own = source.name.clone();
    let value = resource.disabled.to_string();
    let map = ConfigMap { data: [(source.key.clone(), value)].into() };
    let on = ToggleButtonStateSpec { text: "Enable Resource".to_owned(), ..Default::default() };
    let off = ToggleButtonStateSpec {
        text: "Disable Resource".to_owned(),
        requires_confirmation: true,
        ..Default::default()
    };
    let (shown, action) = if resource.disabled { (on.clone(), "off") } else { (off.clone(), "on") };
    let toggle = ToggleButton {
        spec: ToggleButtonSpec {
            location: location(name),
            default_on: false,
            on,
            off,
            state_source: StateSource {
                config_map: Some(ConfigMapStateSource {
                    name: source.name,
                    key: source.key,
                    on_value: "true".to_owned(),
                    off_value: "false".to_owned(),
                }),
            },
        },
        ..ToggleButton::default()
    };
    let action = UIInputSpec {
        name: "action".to_owned(),
        hidden: Some(UIHiddenInputSpec { value: action.to_owned() }),
        ..UIInputSpec::default()
    };
    let button_name = toggle_button_name(name);
    let button = UIButton {
        spec: UIButtonSpec {
            location: location(name),
            text: shown.text,
            requires_confirmation: shown.requires_confirmation,
            inputs: vec![action],
            ..UIButtonSpec::default()
        },
        status: click_status(state, &button_name),
    };
    let mut objects =
        vec![owned(&own, name, &map), owned(&own, name, &toggle), owned(&button_name, name, &button)];
    for (_, object) in objects.iter_mut().skip(1) {
        object.annotate(BUTTON_TYPE, "DisableToggle");
    }
    objects
}

pub(crate) fn toggle_button_name(name: &ResourceName) -> String {
    format!("toggle-{name}-disable")
}

/// Returns the status of a button that lilt itself keeps.
fn click_status(state: &State, button: &str) -> UIButtonStatus {
    state.objects.clicks.get(button).cloned().unwrap_or_default()
}

pub(crate) fn stop_button_name(name: &ResourceName) -> String {
    format!("{name}-stopbuild")
}

/// Returns the button that cancels the running update.
fn stop_button(state: &State, name: &ResourceName) -> Named {
    let button_name = stop_button_name(name);
    let button = UIButton {
        spec: UIButtonSpec {
            location: location(name),
            text: "Stop Build".to_owned(),
            icon_name: "cancel".to_owned(),
            ..UIButtonSpec::default()
        },
        status: click_status(state, &button_name),
    };
    let (key, mut object) = owned(&button_name, name, &button);
    object.annotate(BUTTON_TYPE, "StopBuild");
    (key, object)
}

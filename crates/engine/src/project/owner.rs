//! The owners of objects, as under Tilt: a Tiltfile owns what it declares, other objects are owned by what they serve.

use lilt_api::{ObjectKey, ObjectKind};
use lilt_model::ResourceName;

use super::toggle_button_name;
use crate::state::State;

/// Returns the owner of an object that shows the resource `of`, or the session if that name is empty.
pub fn project_owner(state: &State, key: &ObjectKey, of: &ResourceName) -> Option<ObjectKey> {
    let serving = |kind: ObjectKind| Some(ObjectKey::new(kind, of.as_str()));
    match key.kind {
        // A Tiltfile, and what only shows the session, belong to nobody.
        ObjectKind::Tiltfile | ObjectKind::UISession => None,
        ObjectKind::KubernetesDiscovery => serving(ObjectKind::KubernetesApply),
        ObjectKind::PodLogStream | ObjectKind::PortForward => serving(ObjectKind::KubernetesDiscovery),
        ObjectKind::UIButton if key.name == toggle_button_name(of) => {
            Some(ObjectKey::new(ObjectKind::ToggleButton, format!("{of}-disable")))
        }
        _ => Some(tiltfile(tiltfile_of(state, key, of))),
    }
}

fn tiltfile(name: ResourceName) -> ObjectKey {
    ObjectKey::new(ObjectKind::Tiltfile, name.as_str())
}

/// Returns the Tiltfile that declares a resource. An object of the session shows one Tiltfile, or the main one.
fn tiltfile_of(state: &State, key: &ObjectKey, of: &ResourceName) -> ResourceName {
    if let Some(resource) = state.resources.get(of) {
        return resource.tiltfile.clone();
    }
    let named =
        |name: &str| Some(ResourceName::new(name)).filter(|name| state.tiltfile_named(name).is_some());
    let own = named(of.as_str())
        .or_else(|| named(key.name.strip_prefix(crate::event::WatchId::OF_TILTFILE)?))
        .or_else(|| named(key.name.strip_suffix("-stopbuild")?));
    own.unwrap_or_else(ResourceName::tiltfile)
}

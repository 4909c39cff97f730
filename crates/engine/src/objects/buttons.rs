//! The buttons that lilt itself manages for each resource: to enable or disable it, and to cancel its update.

use lilt_api::{ObjectKey, ObjectKind, UIButtonStatus};
use lilt_model::ResourceName;
use lilt_model::request::Request;

use crate::apply::{cancel, requested};
use crate::project::{stop_button_name, toggle_button_name};
use crate::state::State;

/// Returns the resource, or the Tiltfile, of a button that lilt manages.
pub(super) fn resource_of(state: &State, key: &ObjectKey) -> Option<ResourceName> {
    if key.kind != ObjectKind::UIButton {
        return None;
    }
    let stopped = key.name.strip_suffix("-stopbuild").map(ResourceName::new);
    let switched = key.name.strip_prefix("toggle-").and_then(|name| name.strip_suffix("-disable"));
    let is_there =
        |name: &ResourceName| state.resources.contains_key(name) || state.tiltfile_named(name).is_some();
    let switched = switched.map(ResourceName::new).filter(|name| state.resources.contains_key(name));
    switched.or(stopped.filter(is_there))
}

pub(super) fn clicked(state: &mut State, key: &ObjectKey, status: UIButtonStatus, resource: &ResourceName) {
    let known = state.objects.clicks.get(&key.name).and_then(|known| known.last_clicked_at);
    if status.last_clicked_at <= known {
        return;
    }
    state.objects.clicks.insert(key.name.clone(), status.clone());
    if key.name == stop_button_name(resource) {
        cancel(state, resource);
        state.touch_session();
    } else if key.name == toggle_button_name(resource) {
        switch(state, &status, resource);
    }
    state.touch(resource);
}

/// Enables or disables a resource as the click requests, or toggles it if the click requests nothing.
fn switch(state: &mut State, click: &UIButtonStatus, resource: &ResourceName) {
    let action = click.inputs.iter().find(|input| input.name == "action");
    let choice = action.and_then(|action| action.hidden.as_ref()).map(|hidden| hidden.value.as_str());
    let is_disabled = state.resources.get(resource).is_some_and(|resource| resource.disabled);
    // The value `true` means disabled.
    let disable = choice.map_or(!is_disabled, |choice| choice == "on");
    let (mut on, mut off) = (Vec::new(), Vec::new());
    if disable { &mut off } else { &mut on }.push(resource.clone());
    requested(state, Request::Switch { enable: on, disable: off });
}

//! The buttons that lilt itself keeps for each resource: to switch it, and to stop its update.

use lilt_api::{Object, ObjectKey};
use lilt_model::ResourceName;
use lilt_model::request::Request;
use serde_json::Value;

use super::trigger::clicked as clicked_at;
use crate::apply::{cancel, requested};
use crate::project::{stop_button_name, toggle_button_name};
use crate::state::State;

/// The resource, or the Tiltfile, that a button is kept for.
pub(super) fn resource_of(state: &State, key: &ObjectKey) -> Option<ResourceName> {
    if key.kind != "UIButton" {
        return None;
    }
    let stopped = key.name.strip_suffix("-stopbuild").map(ResourceName::new);
    let switched = key.name.strip_prefix("toggle-").and_then(|name| name.strip_suffix("-disable"));
    let is_there =
        |name: &ResourceName| state.resources.contains_key(name) || state.tiltfile_named(name).is_some();
    let switched = switched.map(ResourceName::new).filter(|name| state.resources.contains_key(name));
    switched.or(stopped.filter(is_there))
}

pub(super) fn clicked(state: &mut State, key: &ObjectKey, button: &Object, resource: &ResourceName) {
    let before = state.objects.clicks.get(&key.name).cloned().unwrap_or_default();
    let mut known = Object::named(&key.name);
    known.content.insert("status".to_owned(), before);
    if clicked_at(button) <= clicked_at(&known) {
        return;
    }
    let status = button.get("/status").cloned().unwrap_or_default();
    state.objects.clicks.insert(key.name.clone(), status);
    if key.name == stop_button_name(resource) {
        cancel(state, resource);
        state.touch_session();
    } else if key.name == toggle_button_name(resource) {
        switch(state, button, resource);
    }
    state.touch(resource);
}

/// By what the click says; without a word, to the other side.
fn switch(state: &mut State, button: &Object, resource: &ResourceName) {
    let inputs = button.get("/status/inputs").and_then(Value::as_array);
    let action = inputs.into_iter().flatten().find(|input| input["name"] == "action");
    let said = action.and_then(|action| action.pointer("/hidden/value")).and_then(Value::as_str);
    let is_disabled = state.resources.get(resource).is_some_and(|resource| resource.disabled);
    // On means that the value is on, and that is: disabled.
    let disable = said.map_or(!is_disabled, |said| said == "on");
    let (mut on, mut off) = (Vec::new(), Vec::new());
    if disable { &mut off } else { &mut on }.push(resource.clone());
    requested(state, Request::Switch { enable: on, disable: off });
}

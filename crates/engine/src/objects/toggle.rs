//! `ToggleButton`: a button that switches a value between two.

use lilt_api::{Object, ObjectKey, owner_reference};
use lilt_model::Timestamp;
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::trigger::last_click;
use super::{ObjectRecord, Origin, Run, disable, put};
use crate::state::State;

/// The annotation by which the page tells buttons of its own from others.
const BUTTON_TYPE: &str = "tilt.dev/uibutton-type";
/// The hidden input that says what the next click does.
const ACTION: &str = "action";

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ToggleRun {
    /// The click that was last followed.
    followed: Option<Timestamp>,
    error: Option<String>,
}

impl ToggleRun {
    pub(super) fn tell(&self, status: &mut Map<String, Value>) {
        status.extend(self.error.as_ref().map(|error| ("error".to_owned(), json!(error))));
    }
}

pub(super) fn button_name(toggle: &str) -> String {
    format!("toggle-{toggle}")
}

pub(super) fn reconsider(state: &mut State, key: &ObjectKey) {
    let Some(ObjectRecord { object, uid, .. }) = state.objects.made.get(key).cloned() else { return };
    let followed = follow_click(state, key, &object);
    let (is_on, found) = is_on(state, &object);
    let error = followed.err().or(found);
    if let Some(ObjectRecord { run: Run::Toggle(run), .. }) = state.objects.made.get_mut(key)
        && run.error != error
    {
        run.error = error;
        state.objects.touch(key);
    }
    show_button(state, key, &object, &uid, is_on);
}

/// Brings a new click to the value.
fn follow_click(state: &mut State, key: &ObjectKey, toggle: &Object) -> Result<(), String> {
    let button = button_name(&key.name);
    let Some((at, _)) = last_click(state, std::slice::from_ref(&button)) else { return Ok(()) };
    let Some(ObjectRecord { run: Run::Toggle(run), .. }) = state.objects.made.get(key) else { return Ok(()) };
    if run.followed >= Some(at) {
        return Ok(());
    }
    let field = match asked(state, &button)?.as_str() {
        "on" => "onValue",
        "off" => "offValue",
        other => return Err(format!("button {button:?} input {ACTION:?} had unexpected value {other:?}")),
    };
    let source = |field: &str| toggle.text(&format!("/spec/stateSource/configMap/{field}")).to_owned();
    let (name, map_key, value) = (source("name"), source("key"), source(field));
    if !disable::exists(state, &name) {
        // The click counts when there is a value to be switched.
        return Ok(());
    }
    if let Some(ObjectRecord { run: Run::Toggle(run), .. }) = state.objects.made.get_mut(key) {
        run.followed = Some(at);
    }
    if disable::value(state, &name, &map_key).as_deref() != Some(&value) {
        disable::set_value(state, &name, &map_key, &value);
    }
    Ok(())
}

/// What a click asks for.
fn asked(state: &State, button: &str) -> Result<String, String> {
    let inputs = state.objects.get("UIButton", button).and_then(|made| made.object.get("/status/inputs"));
    let inputs = inputs.and_then(Value::as_array);
    let input = inputs.into_iter().flatten().find(|input| input["name"] == ACTION);
    let input =
        input.ok_or_else(|| format!("UIButton {button:?} does not have an input named {ACTION:?}"))?;
    let value = input.pointer("/hidden/value").and_then(Value::as_str);
    value
        .map(str::to_owned)
        .ok_or_else(|| format!("button {button:?} input {ACTION:?} was not of type 'Hidden'"))
}

/// Whether the value is that for on, and what is wrong with it.
fn is_on(state: &State, toggle: &Object) -> (bool, Option<String>) {
    let assumed = toggle.get("/spec/defaultOn").and_then(Value::as_bool).unwrap_or(false);
    if toggle.get("/spec/stateSource/configMap").is_none_or(Value::is_null) {
        return (assumed, Some("Spec.StateSource.ConfigMap is nil".to_owned()));
    }
    let source = |field: &str| toggle.text(&format!("/spec/stateSource/configMap/{field}"));
    let (name, key, on, off) = (source("name"), source("key"), source("onValue"), source("offValue"));
    if !disable::exists(state, name) {
        return (assumed, Some(format!("no such ConfigMap {name:?}")));
    }
    match disable::value(state, name, key) {
        None => (assumed, None),
        Some(value) if value == on => (true, None),
        Some(value) if value == off => (false, None),
        Some(value) => {
            let words = format!(
                "ConfigMap {name:?} key {key:?} has unknown value {value:?}. expected {on:?} or {off:?}"
            );
            (assumed, Some(words))
        }
    }
}

/// The button for the next step.
fn show_button(state: &mut State, key: &ObjectKey, toggle: &Object, uid: &str, is_on: bool) {
    let name = button_name(&key.name);
    let button = ObjectKey::new("UIButton", &name);
    let known = state.objects.made.get(&button).map(|made| made.object.clone());
    let mut object = known.clone().unwrap_or_else(|| Object::named(&name));
    let (look, action) = if is_on { ("on", "off") } else { ("off", "on") };
    let mut spec =
        toggle.get(&format!("/spec/{look}")).and_then(Value::as_object).cloned().unwrap_or_default();
    spec.insert("location".to_owned(), toggle.get("/spec/location").cloned().unwrap_or_default());
    spec.insert("inputs".to_owned(), json!([{"name": ACTION, "hidden": {"value": action}}]));
    object.content.insert("spec".to_owned(), Value::Object(spec));
    if let Some(kind) = toggle.annotation(BUTTON_TYPE) {
        object.annotate_unless_said(BUTTON_TYPE, kind);
    }
    object.metadata.insert("ownerReferences".to_owned(), json!([owner_reference(key, uid)]));
    if known.as_ref() != Some(&object) {
        let sequence = state.next_sequence();
        put(state, button, object, format!("toggle-{sequence}"), Origin::Object);
    }
}

//! `ToggleButton`: a button that switches a value between two.

use lilt_api::{
    Content, Object, ObjectKey, ObjectKind, ToggleButtonSpec, ToggleButtonStatus, UIButtonSpec,
    UIHiddenInputSpec, UIInputSpec,
};
use lilt_model::Timestamp;
use serde::Serialize;

use super::trigger::last_click;
use super::{ObjectRecord, Origin, Run, disable, put};
use crate::state::State;

/// The annotation that marks buttons managed by lilt for the page.
const BUTTON_TYPE: &str = "tilt.dev/uibutton-type";
/// The hidden input that names the action of the next click.
const ACTION: &str = "action";

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ToggleRun {
    /// The last click that was handled.
    handled: Option<Timestamp>,
    error: Option<String>,
}

impl ToggleRun {
    pub(super) fn status(&self) -> ToggleButtonStatus {
        ToggleButtonStatus { error: self.error.clone().unwrap_or_default() }
    }
}

pub(super) fn button_name(toggle: &str) -> String {
    format!("toggle-{toggle}")
}

pub(super) fn reconcile(state: &mut State, key: &ObjectKey) {
    let Some(ObjectRecord { object, content: Content::ToggleButton(toggle), uid, .. }) =
        state.objects.records.get(key).cloned()
    else {
        return;
    };
    let handled = handle_click(state, key, &toggle.spec);
    let (is_on, found) = is_on(state, &toggle.spec);
    let error = handled.err().or(found);
    if let Some(ObjectRecord { run: Run::Toggle(run), .. }) = state.objects.records.get_mut(key)
        && run.error != error
    {
        run.error = error;
        state.objects.touch(key);
    }
    show_button(state, key, &object, &uid, &button_spec(&toggle.spec, is_on));
}

/// Switches the value as a new click requests.
fn handle_click(state: &mut State, key: &ObjectKey, toggle: &ToggleButtonSpec) -> Result<(), String> {
    let button = button_name(&key.name);
    let Some((at, _)) = last_click(state, std::slice::from_ref(&button)) else { return Ok(()) };
    let Some(ObjectRecord { run: Run::Toggle(run), .. }) = state.objects.records.get(key) else {
        return Ok(());
    };
    if run.handled >= Some(at) {
        return Ok(());
    }
    let source = toggle.state_source.config_map.clone().unwrap_or_default();
    let value = match requested_action(state, &button)?.as_str() {
        "on" => source.on_value,
        "off" => source.off_value,
        other => return Err(format!("button {button:?} input {ACTION:?} had unexpected value {other:?}")),
    };
    if !disable::exists(state, &source.name) {
        // The click is handled once there is a value to switch.
        return Ok(());
    }
    if let Some(ObjectRecord { run: Run::Toggle(run), .. }) = state.objects.records.get_mut(key) {
        run.handled = Some(at);
    }
    if disable::value(state, &source.name, &source.key).as_deref() != Some(&value) {
        disable::set_value(state, &source.name, &source.key, &value);
    }
    Ok(())
}

/// Returns the action that the last click requests.
fn requested_action(state: &State, button: &str) -> Result<String, String> {
    let inputs = match state.objects.get(ObjectKind::UIButton, button).map(|record| &record.content) {
        Some(Content::UIButton(button)) => button.status.inputs.as_slice(),
        _ => &[],
    };
    let input = inputs.iter().find(|input| input.name == ACTION);
    let input =
        input.ok_or_else(|| format!("UIButton {button:?} does not have an input named {ACTION:?}"))?;
    let hidden = input.hidden.as_ref();
    hidden
        .map(|hidden| hidden.value.clone())
        .ok_or_else(|| format!("button {button:?} input {ACTION:?} was not of type 'Hidden'"))
}

/// Returns whether the value is that for on, and its error if it has one.
fn is_on(state: &State, toggle: &ToggleButtonSpec) -> (bool, Option<String>) {
    let assumed = toggle.default_on;
    let Some(source) = &toggle.state_source.config_map else {
        return (assumed, Some("Spec.StateSource.ConfigMap is nil".to_owned()));
    };
    let (name, key, on, off) = (&source.name, &source.key, &source.on_value, &source.off_value);
    if !disable::exists(state, name) {
        return (assumed, Some(format!("no such ConfigMap {name:?}")));
    }
    match disable::value(state, name, key) {
        None => (assumed, None),
        Some(value) if value == *on => (true, None),
        Some(value) if value == *off => (false, None),
        Some(value) => {
            let words = format!(
                "ConfigMap {name:?} key {key:?} has unknown value {value:?}. expected {on:?} or {off:?}"
            );
            (assumed, Some(words))
        }
    }
}

/// Returns the button whose click leads to the other state.
fn button_spec(toggle: &ToggleButtonSpec, is_on: bool) -> UIButtonSpec {
    let (appearance, action) = if is_on { (&toggle.on, "off") } else { (&toggle.off, "on") };
    let action = UIInputSpec {
        name: ACTION.to_owned(),
        hidden: Some(UIHiddenInputSpec { value: action.to_owned() }),
        ..UIInputSpec::default()
    };
    UIButtonSpec {
        location: toggle.location.clone(),
        text: appearance.text.clone(),
        icon_name: appearance.icon_name.clone(),
        icon_svg: appearance.icon_svg.clone(),
        requires_confirmation: appearance.requires_confirmation,
        inputs: vec![action],
        ..UIButtonSpec::default()
    }
}

/// Creates or updates the button of a toggle.
fn show_button(state: &mut State, key: &ObjectKey, toggle: &Object, uid: &str, spec: &UIButtonSpec) {
    let name = button_name(&key.name);
    let button = ObjectKey::new(ObjectKind::UIButton, &name);
    let known = state.objects.records.get(&button).map(|record| record.object.clone());
    let mut object = known.clone().unwrap_or_else(|| Object::named(&name));
    object.set_spec(spec);
    if let Some(kind) = toggle.annotation(BUTTON_TYPE) {
        object.annotate_if_absent(BUTTON_TYPE, kind);
    }
    object.set_owner(key, uid);
    if known.as_ref() != Some(&object) {
        let sequence = state.next_sequence();
        put(state, button, object, format!("toggle-{sequence}"), Origin::Object);
    }
}

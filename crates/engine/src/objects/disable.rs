//! Values that switch things off.

use lilt_api::{Object, ObjectKey};
use lilt_model::request::Request;
use lilt_model::{ResourceName, Timestamp};
use serde::Serialize;
use serde_json::{Value, json};

use super::changed;
use crate::state::State;

/// The end of the name of the ConfigMap that switches a resource, and its key.
const SUFFIX: &str = "-disable";
pub(super) const KEY: &str = "isDisabled";
pub(super) const SWITCH: &str = "/data/isDisabled";

/// What a `disableSource` says, and since when.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Switch {
    state: DisableState,
    reason: String,
    since: Timestamp,
}

/// What says nothing, or nonsense, switches off: to start something late is better than to start and end it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum DisableState {
    Enabled,
    Disabled,
    /// A value is not there yet.
    Pending,
    Error,
}

impl Switch {
    fn is_off(&self) -> bool {
        self.state != DisableState::Enabled
    }

    pub(super) fn status(&self) -> Value {
        let state = match self.state {
            DisableState::Enabled => "Enabled",
            DisableState::Disabled => "Disabled",
            DisableState::Pending => "Pending",
            DisableState::Error => "Error",
        };
        json!({
            "disabled": self.is_off(), "reason": self.reason, "state": state,
            "lastUpdateTime": self.since.whole_seconds(),
        })
    }
}

/// Whether an object is switched off, which it says from now on.
pub(super) fn is_off(state: &mut State, key: &ObjectKey) -> bool {
    let Some(made) = state.objects.made.get(key) else { return true };
    let (found, reason) = look(state, &made.object);
    let now = state.now;
    let Some(made) = state.objects.made.get_mut(key) else { return true };
    let known = made.switch.take().filter(|known| known.state == found && known.reason == reason);
    let is_new = known.is_none();
    let switch = known.unwrap_or(Switch { state: found, reason, since: now });
    let is_off = switch.is_off();
    made.switch = Some(switch);
    if is_new {
        state.objects.touch(key);
    }
    is_off
}

fn look(state: &State, object: &Object) -> (DisableState, String) {
    let source = object.get("/spec/disableSource").filter(|source| !source.is_null());
    let Some(source) = source else {
        return (DisableState::Enabled, "object does not specify a DisableSource".to_owned());
    };
    if let Some(one) = source.get("configMap").filter(|one| !one.is_null()) {
        return look_at(state, one);
    }
    match source.get("everyConfigMap").and_then(Value::as_array).filter(|every| !every.is_empty()) {
        Some(every) => {
            let found = every.iter().map(|one| look_at(state, one));
            let on = found.into_iter().find(|(found, _)| *found != DisableState::Disabled);
            on.unwrap_or((DisableState::Disabled, "Every ConfigMap disabled".to_owned()))
        }
        None => (DisableState::Error, "DisableSource specifies no valid sources".to_owned()),
    }
}

fn look_at(state: &State, source: &Value) -> (DisableState, String) {
    let text = |field: &str| source[field].as_str().unwrap_or_default();
    let (name, key) = (text("name"), text("key"));
    if !exists(state, name) {
        return (DisableState::Pending, format!("ConfigMap {name:?} does not exist"));
    }
    let Some(value) = value(state, name, key) else {
        return (DisableState::Error, format!("ConfigMap {name:?} has no key {key:?}"));
    };
    match parse_bool(&value) {
        Some(true) => (DisableState::Disabled, format!("ConfigMap/key {name:?}/{key:?} is true")),
        Some(false) => (DisableState::Enabled, format!("ConfigMap/key {name:?}/{key:?} is false")),
        None => {
            let words = format!("ConfigMap/key {name:?}/{key:?} has the value {value:?}, which is no bool");
            (DisableState::Error, words)
        }
    }
}

/// Reads a boolean as Go's `strconv.ParseBool` does.
pub fn parse_bool(word: &str) -> Option<bool> {
    match word {
        "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(true),
        "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(false),
        _ => None,
    }
}

/// The resource that a ConfigMap switches.
fn resource_of(state: &State, config_map: &str) -> Option<ResourceName> {
    let name = ResourceName::new(config_map.strip_suffix(SUFFIX)?);
    state.resources.contains_key(&name).then_some(name)
}

pub(super) fn is_switch(state: &State, key: &ObjectKey) -> bool {
    key.kind == "ConfigMap" && resource_of(state, &key.name).is_some()
}

pub(super) fn switch(state: &mut State, key: &ObjectKey, object: &Object) {
    let Some(resource) = resource_of(state, &key.name) else { return };
    let (mut enable, mut disable) = (Vec::new(), Vec::new());
    // The API refuses what says neither.
    let Some(is_disabled) = parse_bool(object.text(SWITCH)) else { return };
    if is_disabled { &mut disable } else { &mut enable }.push(resource);
    crate::apply::requested(state, Request::Switch { enable, disable });
}

/// A resource came, went or was switched, and with it the value that says so.
pub(crate) fn resource_switched(state: &mut State, resource: &ResourceName) {
    changed(state, &ObjectKey::new("ConfigMap", format!("{resource}{SUFFIX}")));
}

pub(super) fn exists(state: &State, config_map: &str) -> bool {
    resource_of(state, config_map).is_some() || state.objects.get("ConfigMap", config_map).is_some()
}

pub(super) fn value(state: &State, config_map: &str, key: &str) -> Option<String> {
    if let Some(resource) = resource_of(state, config_map) {
        let resource = state.resources.get(&resource)?;
        return (key == KEY).then(|| resource.disabled.to_string());
    }
    let made = state.objects.get("ConfigMap", config_map)?;
    made.object.get("/data")?.get(key)?.as_str().map(str::to_owned)
}

/// Writes a value, as a client would.
pub(super) fn set_value(state: &mut State, config_map: &str, key: &str, value: &str) {
    let map = ObjectKey::new("ConfigMap", config_map);
    let mut object = match state.objects.made.get(&map) {
        Some(made) => made.object.clone(),
        None => Object::named(config_map),
    };
    let data = object.content.entry("data").or_insert_with(|| json!({}));
    data[key] = json!(value);
    super::written(state, map, object, String::new());
}

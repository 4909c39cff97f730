//! Values that disable objects and resources.

use lilt_api::{
    ConfigMap, ConfigMapDisableSource, Content, DisableSource, DisableStatus, Object, ObjectKey, ObjectKind,
    Time,
};
use lilt_model::request::Request;
use lilt_model::{ResourceName, Timestamp};
use serde::Serialize;

use super::{ObjectRecord, changed};
use crate::state::State;

/// The end of the name of the ConfigMap that switches a resource, and its key.
const SUFFIX: &str = "-disable";
pub(super) const KEY: &str = "isDisabled";

/// The state of a `disableSource`, and the time of its last change.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Switch {
    state: DisableState,
    reason: String,
    since: Timestamp,
}

/// Every state but enabled disables: a late start is better than a start followed by a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
enum DisableState {
    Enabled,
    Disabled,
    /// A value does not exist yet.
    Pending,
    Error,
}

impl Switch {
    fn is_off(&self) -> bool {
        self.state != DisableState::Enabled
    }

    pub(super) fn status(&self) -> DisableStatus {
        let state = match self.state {
            DisableState::Enabled => "Enabled",
            DisableState::Disabled => "Disabled",
            DisableState::Pending => "Pending",
            DisableState::Error => "Error",
        };
        DisableStatus {
            disabled: self.is_off(),
            state: state.to_owned(),
            reason: self.reason.clone(),
            last_update_time: Some(Time(self.since)),
        }
    }
}

/// Evaluates whether an object is disabled, and records that for its status.
pub(crate) fn is_off(state: &mut State, key: &ObjectKey, source: Option<&DisableSource>) -> bool {
    let (found, reason) = evaluate(state, source);
    let now = state.now;
    let Some(record) = state.objects.records.get_mut(key) else { return true };
    let known = record.switch.take().filter(|known| known.state == found && known.reason == reason);
    let is_new = known.is_none();
    let switch = known.unwrap_or(Switch { state: found, reason, since: now });
    let is_off = switch.is_off();
    record.switch = Some(switch);
    if is_new {
        state.objects.touch(key);
    }
    is_off
}

fn evaluate(state: &State, source: Option<&DisableSource>) -> (DisableState, String) {
    let Some(source) = source else {
        return (DisableState::Enabled, "object does not specify a DisableSource".to_owned());
    };
    if let Some(one) = &source.config_map {
        return evaluate_map(state, one);
    }
    if source.every_config_map.is_empty() {
        return (DisableState::Error, "DisableSource specifies no valid sources".to_owned());
    }
    let mut found = source.every_config_map.iter().map(|one| evaluate_map(state, one));
    let enabled = found.find(|(found, _)| *found != DisableState::Disabled);
    enabled.unwrap_or((DisableState::Disabled, "Every ConfigMap disabled".to_owned()))
}

fn evaluate_map(state: &State, source: &ConfigMapDisableSource) -> (DisableState, String) {
    let ConfigMapDisableSource { name, key } = source;
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

/// Returns the resource that a ConfigMap switches.
pub(super) fn resource_of(state: &State, config_map: &str) -> Option<ResourceName> {
    let name = ResourceName::new(config_map.strip_suffix(SUFFIX)?);
    state.resources.contains_key(&name).then_some(name)
}

/// Switches a resource as its ConfigMap says.
pub(super) fn switch(state: &mut State, resource: ResourceName, map: &ConfigMap) {
    let (mut enable, mut disable) = (Vec::new(), Vec::new());
    // The API refuses anything but a boolean.
    let Some(is_disabled) = map.data.get(KEY).and_then(|value| parse_bool(value)) else { return };
    if is_disabled { &mut disable } else { &mut enable }.push(resource);
    crate::apply::requested(state, Request::Switch { enable, disable });
}

/// Handles the change of a resource's `ConfigMap`: the resource was added, removed, enabled or disabled.
pub(crate) fn resource_switched(state: &mut State, resource: &ResourceName) {
    changed(state, &ObjectKey::new(ObjectKind::ConfigMap, format!("{resource}{SUFFIX}")));
}

pub(super) fn exists(state: &State, config_map: &str) -> bool {
    resource_of(state, config_map).is_some() || state.objects.get(ObjectKind::ConfigMap, config_map).is_some()
}

pub(super) fn value(state: &State, config_map: &str, key: &str) -> Option<String> {
    if let Some(resource) = resource_of(state, config_map) {
        let resource = state.resources.get(&resource)?;
        return (key == KEY).then(|| resource.disabled.to_string());
    }
    match &state.objects.get(ObjectKind::ConfigMap, config_map)?.content {
        Content::ConfigMap(map) => map.data.get(key).cloned(),
        _ => None,
    }
}

/// Writes a value, as a client would.
pub(super) fn set_value(state: &mut State, config_map: &str, key: &str, value: &str) {
    let object_key = ObjectKey::new(ObjectKind::ConfigMap, config_map);
    let (mut object, mut map) = match state.objects.records.get(&object_key) {
        Some(ObjectRecord { object, content: Content::ConfigMap(map), .. }) => (object.clone(), map.clone()),
        _ => (Object::named(config_map), Box::default()),
    };
    map.data.insert(key.to_owned(), value.to_owned());
    object.set_data(&map);
    super::handle_write(state, object_key, object, String::new());
}

//! Values that switch things off.

use lilt_model::ResourceName;
use lilt_model::api::{Object, ObjectKey};
use lilt_model::request::Request;
use serde_json::{Value, json};

use super::{Made, reconsider, time};
use crate::state::State;

/// The end of the name of the ConfigMap that switches a resource.
const SUFFIX: &str = "-disable";

/// The resource that a ConfigMap switches.
fn resource_of(state: &State, key: &ObjectKey) -> Option<ResourceName> {
    let name = ResourceName::new(key.name.strip_suffix(SUFFIX)?);
    (key.kind == "ConfigMap" && state.resources.contains_key(&name)).then_some(name)
}

pub(crate) fn is_switch(state: &State, key: &ObjectKey) -> bool {
    resource_of(state, key).is_some()
}

pub(crate) fn switch(state: &mut State, key: &ObjectKey, object: &Object) {
    let Some(resource) = resource_of(state, key) else { return };
    let (mut enable, mut disable) = (Vec::new(), Vec::new());
    if object.text("/data/isDisabled") == "true" { &mut disable } else { &mut enable }.push(resource);
    crate::apply::requested(state, Request::Switch { enable, disable });
}

/// Something may have been switched by it.
pub(super) fn source_changed(state: &mut State, config_map: &str) {
    let depends = |made: &Made| sources(made).iter().any(|(name, _)| name == config_map);
    let depending = state.objects.made.iter().filter(|(_, made)| depends(made));
    let depending: Vec<ObjectKey> = depending.map(|(key, _)| key.clone()).collect();
    for key in depending {
        state.objects.touch(&key);
        reconsider(state, &key);
    }
}

/// The ConfigMaps, with the key in each, that say whether an object is switched off.
fn sources(made: &Made) -> Vec<(String, String)> {
    let one = made.object.get("/spec/disableSource/configMap").into_iter();
    let many = made.object.get("/spec/disableSource/everyConfigMap").and_then(Value::as_array);
    let text = |source: &Value, field: &str| source[field].as_str().unwrap_or_default().to_owned();
    one.chain(many.into_iter().flatten()).map(|source| (text(source, "name"), text(source, "key"))).collect()
}

/// Whether it is switched off: by all of its sources, where it has several.
pub(super) fn is_disabled(state: &State, made: &Made) -> bool {
    let sources = sources(made);
    !sources.is_empty()
        && sources.iter().all(|(name, key)| value(state, name, key).as_deref() == Some("true"))
}

fn value(state: &State, config_map: &str, key: &str) -> Option<String> {
    let switched = config_map.strip_suffix(SUFFIX).map(ResourceName::new);
    if let Some(resource) = switched.and_then(|name| state.resources.get(&name)) {
        return (key == "isDisabled").then(|| resource.disabled.to_string());
    }
    let made = state.objects.get("ConfigMap", config_map)?;
    made.object.get("/data")?.get(key)?.as_str().map(str::to_owned)
}

/// What an object says about being switched off.
pub(super) fn status(state: &State, made: &Made) -> Value {
    let disabled = is_disabled(state, made);
    let names: Vec<String> = sources(made).into_iter().map(|(name, key)| format!("{name}/{key}")).collect();
    let reason = match (names.is_empty(), disabled) {
        (true, _) => "no disable source".to_owned(),
        (false, true) => format!("switched off by {}", names.join(", ")),
        (false, false) => format!("not switched off by {}", names.join(", ")),
    };
    let word = if disabled { "Disabled" } else { "Enabled" };
    json!({"disabled": disabled, "reason": reason, "state": word, "lastUpdateTime": time(state.started)})
}

//! The objects that tell of the session as a whole.

use lilt_api::fields::Fields;
use lilt_model::cluster::{ClusterInfo, Registry};
use lilt_model::duration::display;
use lilt_model::resource::Body;
use lilt_model::{ClusterName, ResourceName, Timestamp};
use serde_json::{Map, Value, json};

use super::targets::tiltfile_target;
use super::{Named, object, owned, stop_button, stop_button_name, watch_content, watch_spec};
use crate::event::WatchId;
use crate::objects::{show_notes, tiltfile_status};
use crate::state::{ClusterState, Mode, State};
use crate::verdict::{Verdict, verdict};

/// The resources that were triggered and wait for their update.
const TRIGGER_QUEUE: &str = "tilt-trigger-queue";

/// The objects that tell of the session as a whole.
pub fn project_session_objects(state: &State) -> Vec<Named> {
    let tiltfile = ResourceName::tiltfile();
    let mut objects = vec![session(state), object("Tiltfile", tiltfile.as_str(), tiltfile_content(state))];
    for (name, tiltfile) in state.all_tiltfiles().filter(|(_, tiltfile)| !tiltfile.files.is_empty()) {
        let content = watch_content(watch_spec(&tiltfile.files, None), &tiltfile.events);
        objects.push(owned("FileWatch", &WatchId::Tiltfile(name.clone()).name(), &name, content));
    }
    for name in state.tiltfile_names() {
        objects.push(stop_button(state, &name));
    }
    for (name, cluster) in state.clusters.iter().filter(|(_, cluster)| cluster.wanted) {
        objects.push(object("Cluster", &name.object_name(), cluster_content(state, name, cluster)));
    }
    if state.resources.values().any(|resource| matches!(resource.spec.body, Body::Compose(_))) {
        let spec = json!({"connection": {"docker": {}}});
        let status = json!({"error": "Docker Compose is not supported yet"});
        objects.push(object("Cluster", "docker", json!({"spec": spec, "status": status})));
    }
    objects.push(object("ConfigMap", TRIGGER_QUEUE, trigger_queue(state)));
    show_notes(state, &mut objects);
    objects
}

/// Lists the resources whose trigger has not been served, oldest first, in the form of Tilt's map.
fn trigger_queue(state: &State) -> Value {
    let queued =
        state.resources.values().filter_map(|it| Some((it.triggered?, &it.spec.name, it.trigger_reason)));
    let mut queued: Vec<_> = queued.collect();
    queued.sort_unstable();
    let mut data = Map::new();
    for (index, (_, name, reason)) in queued.into_iter().enumerate() {
        data.insert(format!("{index}-name"), json!(name.as_str()));
        data.insert(format!("{index}-reason-code"), json!(reason.code().to_string()));
    }
    if data.is_empty() { json!({}) } else { json!({"data": data}) }
}

fn tiltfile_content(state: &State) -> Value {
    let tiltfile = &state.tiltfile;
    let own = json!({"fileWatches": [WatchId::Tiltfile(ResourceName::tiltfile()).name()]});
    let mut spec = json!({"path": tiltfile.path, "args": tiltfile.args, "restartOn": own,
        "stopOn": {"uiButtons": [stop_button_name(&ResourceName::tiltfile())]}});
    let said = &tiltfile.triggers.object;
    for field in ["restartOn", "stopOn", "labels"] {
        if let Some(value) = said.get(&format!("/spec/{field}")).filter(|value| !value.is_null()) {
            spec[field] = value.clone();
        }
    }
    if tiltfile.triggers.follows_files && said.get("/spec/restartOn").is_some_and(Value::is_object) {
        let mut watches = said.texts("/spec/restartOn/fileWatches");
        watches.insert(0, WatchId::Tiltfile(ResourceName::tiltfile()).name());
        spec["restartOn"]["fileWatches"] = json!(watches);
    }
    json!({"spec": spec, "status": tiltfile_status(tiltfile)})
}

fn cluster_content(state: &State, name: &ClusterName, cluster: &ClusterState) -> Value {
    let mut status = Map::new();
    if let Some(info) = &cluster.info {
        tell_cluster(info, cluster.connected, &mut status);
    }
    if let Some(failure) = &cluster.failure {
        status.insert("error".to_owned(), json!(failure.to_string()));
    }
    let context = match name.is_session() {
        true => state.options.context.clone().unwrap_or_default(),
        false => name.to_string(),
    };
    let asked = Fields::new()
        .put_unless_empty("context", context)
        .put_unless_empty("namespace", state.options.namespace.clone().unwrap_or_default());
    let mut spec = json!({"connection": {"kubernetes": asked.value()}});
    if let Some(registry) = &state.settings.default_registry {
        spec["defaultRegistry"] = registry_content(registry);
    }
    json!({"spec": spec, "status": status})
}

/// What a cluster says of itself, and since when it answers.
pub(crate) fn tell_cluster(info: &ClusterInfo, since: Option<Timestamp>, status: &mut Map<String, Value>) {
    let mut connection = json!({"context": info.context, "namespace": info.namespace,
        "cluster": info.cluster, "product": info.product.name()});
    if let Some(path) = &info.config_path {
        connection["configPath"] = json!(path);
    }
    let mut put = |name: &str, value: Value| status.insert(name.to_owned(), value);
    put("connection", json!({"kubernetes": connection}));
    put("version", json!(info.server_version));
    put("arch", json!(info.platform.as_deref().and_then(|it| it.split('/').nth(1)).unwrap_or("unknown")));
    if let Some(at) = since {
        put("connectedAt", json!(at));
    }
    if let Some(registry) = &info.registry {
        put("registry", registry_content(registry));
    }
}

fn registry_content(registry: &Registry) -> Value {
    let mut content = json!({"host": registry.host});
    if let Some(inside) = &registry.host_from_cluster {
        content["hostFromContainerRuntime"] = json!(inside);
    }
    if let Some(inside) = &registry.host_from_pods {
        content["hostFromClusterNetwork"] = json!(inside);
    }
    for (field, value) in [("singleName", &registry.single_name), ("help", &registry.help)] {
        if !value.is_empty() {
            content[field] = json!(value);
        }
    }
    content
}

/// The session without what resources say: with a thousand of them, a change of one must not tell them all again.
fn session(state: &State) -> Named {
    let condition = match state.options.mode {
        Mode::Up => "manual",
        Mode::Ci => "ci",
    };
    let mut spec = json!({"tiltfilePath": state.options.tiltfile, "exitCondition": condition});
    let mut status = json!({"pid": state.options.pid, "startTime": state.started, "done": false});
    // As under Tilt: `up` shows the settings once the Tiltfile has set them or left them at their defaults.
    if state.options.mode == Mode::Ci || state.tiltfile.loaded {
        spec["ci"] = ci_content(state);
    }
    if state.options.mode == Mode::Ci
        && let Some(verdict) = verdict(state)
    {
        status["done"] = json!(true);
        tell_verdict(verdict, &mut status);
    }
    // The last: what resources say is put in behind it.
    status["targets"] = json!([tiltfile_target(state)]);
    let content = json!({"spec": spec, "status": status});
    object("Session", "Tiltfile", content)
}

fn ci_content(state: &State) -> Value {
    let fields = state.settings.ci.described(state.ci_timeout());
    fields.map(|(name, length)| (name.to_owned(), json!(length))).collect()
}

fn tell_verdict(verdict: Verdict, status: &mut Value) {
    let error = match verdict {
        Verdict::Ready => return,
        Verdict::Broken { cause, .. } => cause,
        Verdict::TimedOut { after, waiting } => {
            let waiting: Vec<String> = waiting.iter().map(|(name, how)| format!("{name} {how}")).collect();
            format!("Timeout after {}: {}", display(after), waiting.join(", "))
        }
    };
    status["error"] = json!(error);
}

//! The objects of the API that tell of a resource or of the session: what Tilt's controllers keep, from the same state
//! as everything else. Only lilt writes them, but for a few whose writing means something (see [`crate::objects`]).

use lilt_model::api::probe;
use lilt_model::api::{Object, ObjectKey, RuntimeStatus};
use lilt_model::cluster::{Container, ContainerState, Pod, PodPhase};
use lilt_model::files::FileSet;
use lilt_model::kubernetes::{KubernetesResource, PodReadiness};
use lilt_model::resource::Body;
use lilt_model::{ResourceName, Timestamp};
use serde_json::{Map, Value, json};

use crate::event::{ForwardState, WatchId, clean_name};
use crate::objects::{FileEvents, RESOURCE, tiltfile_status};
use crate::runtime::{current_pods, runtime};
use crate::state::{BodyState, KubernetesState, LocalState, Mode, ResourceState, ServeState, State};

type Named = (ObjectKey, Object);

fn object(kind: &str, name: &str, content: Value) -> Named {
    let mut object = Object::named(name);
    if let Value::Object(members) = content {
        object.content = members;
    }
    (ObjectKey::new(kind, name), object)
}

/// The same with the annotation that says whose it is.
fn owned(kind: &str, name: &str, resource: &ResourceName, content: Value) -> Named {
    let (key, mut object) = object(kind, name, content);
    object.metadata.insert("annotations".to_owned(), json!({RESOURCE: resource.as_str()}));
    (key, object)
}

/// All but the `UIResource` itself.
pub fn project_resource_objects(state: &State, name: &ResourceName) -> Vec<Named> {
    let Some(resource) = state.resources.get(name) else { return Vec::new() };
    let switch = json!({"data": {"isDisabled": resource.disabled.to_string()}});
    let mut objects = vec![owned("ConfigMap", &format!("{name}-disable"), name, switch)];
    file_watches(resource, &mut objects);
    match (&resource.spec.body, &resource.body) {
        (Body::Local(_), BodyState::Local(local)) => {
            let ready = runtime(state, resource).status == RuntimeStatus::Ok;
            local_objects(resource, local, ready, &mut objects);
        }
        (Body::Kubernetes(spec), BodyState::Kubernetes(kubernetes)) => {
            kubernetes_objects(state, resource, spec, kubernetes, &mut objects);
        }
        _ => {}
    }
    objects
}

fn disable_source(name: &ResourceName) -> Value {
    json!({"configMap": {"name": format!("{name}-disable"), "key": "isDisabled"}})
}

fn local_objects(resource: &ResourceState, local: &LocalState, ready: bool, objects: &mut Vec<Named>) {
    let name = &resource.spec.name;
    let Body::Local(spec) = &resource.spec.body else { return };
    let command_spec = |command: &lilt_model::command::Command| {
        let env: Vec<String> = command.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
        json!({"args": command.argv, "dir": command.dir, "env": env, "disableSource": disable_source(name)})
    };
    if let Some(command) = &spec.update {
        let content = json!({"spec": command_spec(command), "status": update_command(resource)});
        objects.push(owned("Cmd", &clean_name(&format!("{name}:update")), name, content));
    }
    if let Some(command) = &spec.serve {
        let mut written = command_spec(command);
        if let Some(probe) = &spec.readiness_probe {
            written["readinessProbe"] = probe::written(probe);
        }
        let content = json!({"spec": written, "status": serve_command(local, ready)});
        objects.push(owned("Cmd", &clean_name(&format!("{name}-serve")), name, content));
    }
}

/// What is watched for a resource.
fn file_watches(resource: &ResourceState, objects: &mut Vec<Named>) {
    let name = &resource.spec.name;
    for (id, watch) in &resource.watches {
        let spec = watch_spec(&watch.files, Some(disable_source(name)));
        objects.push(owned("FileWatch", &id.name(), name, watch_content(spec, &watch.events)));
    }
}

fn watch_spec(files: &FileSet, disable_source: Option<Value>) -> Value {
    let ignores = files.ignores.iter().map(|rule| json!({"basePath": rule.base, "patterns": rule.patterns}));
    let mut spec = json!({"watchedPaths": files.roots, "ignores": ignores.collect::<Vec<_>>()});
    if let Some(source) = disable_source {
        spec["disableSource"] = source;
    }
    spec
}

fn watch_content(spec: Value, events: &FileEvents) -> Value {
    let mut status = Map::new();
    events.tell(&mut status);
    json!({"spec": spec, "status": status})
}

fn update_command(resource: &ResourceState) -> Value {
    if let Some(update) = &resource.update {
        return json!({"running": {"pid": 0, "startedAt": update.started}});
    }
    let Some(last) = resource.history.back() else { return json!({"waiting": {}}) };
    let failed = last.failure.as_ref().map(ToString::to_string);
    json!({"terminated": {
        "pid": 0, "startedAt": last.started, "finishedAt": last.finished,
        "exitCode": i32::from(failed.is_some()), "reason": failed.unwrap_or_default(),
    }})
}

fn serve_command(local: &LocalState, ready: bool) -> Value {
    match local.serve.as_ref().map(|serve| &serve.state) {
        None | Some(ServeState::Starting) => json!({"waiting": {}}),
        Some(ServeState::Running { pid, since, .. }) => {
            json!({"ready": ready, "running": {"pid": pid, "startedAt": since}})
        }
        Some(ServeState::Ended { exit, at }) => {
            let (code, reason) = exit.code_and_reason();
            json!({"terminated": {"pid": 0, "startedAt": at, "finishedAt": at, "exitCode": code, "reason": reason}})
        }
    }
}

fn kubernetes_objects(
    state: &State,
    resource: &ResourceState,
    spec: &KubernetesResource,
    kubernetes: &KubernetesState,
    objects: &mut Vec<Named>,
) {
    let name = &resource.spec.name;
    let pods: Vec<&Pod> = current_pods(state, kubernetes).collect();
    let watches: Vec<Value> = kubernetes
        .deployed
        .iter()
        .flat_map(|deployed| &deployed.objects)
        .map(|(object, uid)| json!({"uid": uid, "namespace": object.namespace, "name": object.name}))
        .collect();
    let told: Vec<Value> = pods.iter().map(|pod| pod_status(pod)).collect();
    let content = json!({
        "spec": {"watches": watches, "cluster": "default"},
        "status": {"monitorStartTime": state.started, "pods": told, "running": {"startTime": state.started}},
    });
    objects.push(owned("KubernetesDiscovery", name.as_str(), name, content));
    let Some(pod) = pods.iter().max_by_key(|pod| pod.created).filter(|_| !spec.forwards.is_empty()) else {
        return;
    };
    let forwards: Vec<Value> = spec
        .forwards
        .iter()
        .map(|it| json!({"localPort": it.local_port, "containerPort": it.container_port, "host": it.host, "name": it.name, "path": it.path}))
        .collect();
    let statuses: Vec<Value> = spec.forwards.iter().map(|it| forward_status(it, kubernetes)).collect();
    let content = json!({
        "spec": {"podName": pod.name, "namespace": pod.namespace, "forwards": forwards, "cluster": "default"},
        "status": {"forwardStatuses": statuses},
    });
    objects.push(owned("PortForward", &format!("{name}-{}", pod.name), name, content));
}

fn forward_status(forward: &lilt_model::kubernetes::Forward, kubernetes: &KubernetesState) -> Value {
    let error = match kubernetes.forwards.get(&forward.local_port) {
        Some(ForwardState::Failed(failure)) => failure.to_string(),
        _ => String::new(),
    };
    let host = if forward.host.is_empty() { "localhost" } else { &forward.host };
    json!({
        "localPort": forward.local_port, "containerPort": forward.container_port, "addresses": [host], "error": error,
    })
}

fn pod_status(pod: &Pod) -> Value {
    let phase = match pod.phase {
        PodPhase::Pending => "Pending",
        PodPhase::Running => "Running",
        PodPhase::Succeeded => "Succeeded",
        PodPhase::Failed => "Failed",
        PodPhase::Unknown => "Unknown",
    };
    let conditions: Vec<Value> = pod
        .conditions
        .iter()
        .map(|it| {
            json!({
                "type": it.kind, "status": if it.met { "True" } else { "False" }, "reason": it.reason,
                "message": it.message, "lastTransitionTime": it.since.whole_seconds(),
            })
        })
        .collect();
    let containers = |init: bool| -> Vec<Value> {
        pod.containers.iter().filter(|it| it.init == init).map(container_status).collect()
    };
    json!({
        "uid": pod.uid, "name": pod.name, "namespace": pod.namespace, "createdAt": pod.created.whole_seconds(),
        "phase": phase, "deleting": pod.deleting, "status": pod.status, "conditions": conditions,
        "initContainers": containers(true), "containers": containers(false),
        "errors": pod.message.iter().collect::<Vec<_>>(),
        "podTemplateSpecHash": pod.template_hash.clone().unwrap_or_default(),
        "ancestorUID": pod.owners.last(),
    })
}

fn container_status(container: &Container) -> Value {
    let state = match &container.state {
        ContainerState::Waiting { reason, .. } => {
            json!({"waiting": {"reason": reason}, "running": null, "terminated": null})
        }
        ContainerState::Running { since } => {
            json!({"running": {"startedAt": since.whole_seconds()}, "waiting": null, "terminated": null})
        }
        ContainerState::Terminated { exit_code, reason, finished, .. } => json!({
            "terminated": {"exitCode": exit_code, "reason": reason, "startedAt": null, "finishedAt": finished.whole_seconds()},
            "running": null, "waiting": null,
        }),
    };
    json!({
        "name": container.name, "id": container.id, "image": container.image, "ready": container.ready,
        "restarts": container.restarts, "ports": container.ports, "state": state,
    })
}

/// The objects that tell of the session as a whole.
pub fn project_session_objects(state: &State) -> Vec<Named> {
    let tiltfile = ResourceName::tiltfile();
    let mut objects = vec![session(state), object("Tiltfile", tiltfile.as_str(), tiltfile_content(state))];
    for (name, tiltfile) in state.all_tiltfiles().filter(|(_, tiltfile)| !tiltfile.files.is_empty()) {
        let content = watch_content(watch_spec(&tiltfile.files, None), &tiltfile.events);
        objects.push(owned("FileWatch", &WatchId::Tiltfile(name.clone()).name(), &name, content));
    }
    if state.cluster.wanted {
        objects.push(object("Cluster", "default", cluster_content(state)));
    }
    objects
}

fn tiltfile_content(state: &State) -> Value {
    let tiltfile = &state.tiltfile;
    let own = json!({"fileWatches": [WatchId::Tiltfile(ResourceName::tiltfile()).name()]});
    let mut spec = json!({"path": tiltfile.path, "args": tiltfile.args, "restartOn": own});
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

fn cluster_content(state: &State) -> Value {
    let mut status = Map::new();
    if let Some(info) = &state.cluster.info {
        let connection = json!({"kubernetes": {"context": info.context, "namespace": info.namespace, "cluster": info.context}});
        status.insert("connection".to_owned(), connection);
        status.insert("version".to_owned(), json!(info.server_version));
        let arch = info.platform.as_deref().and_then(|platform| platform.split('/').nth(1));
        status.insert("arch".to_owned(), json!(arch.unwrap_or("unknown")));
        if let Some(registry) = &info.registry {
            let inside = registry.host_from_cluster.clone().unwrap_or_default();
            status.insert(
                "registry".to_owned(),
                json!({"host": registry.host, "hostFromContainerRuntime": inside}),
            );
        }
    }
    if let Some(failure) = &state.cluster.failure {
        status.insert("error".to_owned(), json!(failure.to_string()));
    }
    json!({"spec": {"connection": {"kubernetes": {}}}, "status": status})
}

/// The session without what resources say: with a thousand of them, a change of one must not tell them all again.
fn session(state: &State) -> Named {
    let condition = match state.options.mode {
        Mode::Up => "manual",
        Mode::Ci => "ci",
    };
    let content = json!({
        "spec": {"tiltfilePath": state.options.tiltfile, "exitCondition": condition},
        "status": {
            "pid": state.options.pid, "startTime": state.started, "done": false, "targets": [tiltfile_target(state)],
        },
    });
    object("Session", "Tiltfile", content)
}

/// What the session says of one resource: its targets.
pub fn project_targets(state: &State, name: &ResourceName) -> Vec<Value> {
    let Some(resource) = state.resources.get(name) else { return Vec::new() };
    update_target(name, resource).into_iter().chain(runtime_target(state, name, resource)).collect()
}

fn target(name: String, kind: &str, resource: &ResourceName, state: Value) -> Value {
    json!({"name": name, "type": kind, "resources": [resource.as_str()], "state": state})
}

fn tiltfile_target(state: &State) -> Value {
    let tiltfile = &state.tiltfile;
    let told = match (&tiltfile.loading, tiltfile.history.back()) {
        (Some(load), _) => active(load.started, false, None),
        (None, Some(last)) => {
            terminated(last.started, last.finished, last.failure.as_ref().map(ToString::to_string))
        }
        (None, None) => json!({"waiting": {"waitReason": "initial-build"}}),
    };
    target("tiltfile:update".to_owned(), "job", &ResourceName::tiltfile(), told)
}

fn active(started: Timestamp, ready: bool, since: Option<Timestamp>) -> Value {
    json!({"active": {"startTime": started, "ready": ready, "lastReadyTime": since}})
}

fn terminated(started: Timestamp, finished: Timestamp, error: Option<String>) -> Value {
    let mut told = json!({"startTime": started, "finishTime": finished});
    if let Some(error) = error {
        told["error"] = json!(error);
    }
    json!({"terminated": told})
}

fn waiting(resource: &ResourceState) -> Value {
    let reason = resource.hold.as_ref().and_then(crate::Hold::reason).unwrap_or("unknown");
    json!({"waiting": {"waitReason": reason}})
}

fn update_target(name: &ResourceName, resource: &ResourceState) -> Option<Value> {
    if matches!(&resource.spec.body, Body::Local(local) if local.update.is_none()) {
        return None;
    }
    let told = if resource.disabled {
        json!({"disabled": {}})
    } else if let Some(update) = &resource.update {
        active(update.started, false, None)
    } else if resource.pending_since.is_some() {
        waiting(resource)
    } else if let Some(last) = resource.history.back() {
        terminated(last.started, last.finished, last.failure.as_ref().map(ToString::to_string))
    } else {
        json!({})
    };
    Some(target(format!("{name}:update"), "job", name, told))
}

fn runtime_target(state: &State, name: &ResourceName, resource: &ResourceState) -> Option<Value> {
    let (suffix, kind) = match &resource.spec.body {
        Body::Local(local) => {
            local.serve.as_ref()?;
            ("serve", "server")
        }
        Body::Kubernetes(spec) if spec.pod_readiness == PodReadiness::Succeeded => ("runtime", "job"),
        Body::Kubernetes(_) | Body::Compose(_) => ("runtime", "server"),
    };
    let now = runtime(state, resource);
    let since = resource.history.back().map_or(state.started, |last| last.finished);
    let told = match now.status {
        _ if resource.disabled => json!({"disabled": {}}),
        RuntimeStatus::Ok if kind == "job" => terminated(since, since, None),
        RuntimeStatus::Ok => active(since, true, Some(since)),
        RuntimeStatus::Error => terminated(since, since, Some(now.message.unwrap_or_default())),
        RuntimeStatus::Pending if resource.started_once => active(since, false, None),
        RuntimeStatus::Pending => waiting(resource),
        RuntimeStatus::NotApplicable => return None,
        RuntimeStatus::None | RuntimeStatus::Unknown => json!({}),
    };
    Some(target(format!("{name}:{suffix}"), kind, name, told))
}

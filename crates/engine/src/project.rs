//! Projects the state to API objects with Tilt's fields. Additions are annotations.

mod objects;
mod owner;
mod unreachable;

use std::borrow::Cow;

use lilt_api::{
    DisableResourceStatus, ObjectKind, ObjectMeta, RuntimeStatus, TiltBuild, UIBuildRunning,
    UIBuildTerminated, UIFeatureFlag, UIResource, UIResourceCondition, UIResourceKubernetes, UIResourceLink,
    UIResourceLocal, UIResourceStateWaiting, UIResourceStateWaitingOnRef, UIResourceStatus,
    UIResourceTargetSpec, UISession, UISessionStatus, UpdateStatus, VersionSettings, annotation,
};
use lilt_model::kubernetes::ObjectRef;
use lilt_model::resource::{Body, TriggerMode};
use lilt_model::settings::{FEATURES, Feature};
use lilt_model::timeline::StageKind;
use lilt_model::{COMPATIBLE_TILT_VERSION, ResourceName, SpanId, Timestamp, Unreachable};

use crate::controllers::command::CommandRun;
use crate::controllers::port_forward;
use crate::hold::Hold;
use crate::objects::{ANNOTATION_RESOURCE, show_notes_on};
use crate::owner::Owner;
use crate::runtime::{Runtime, current_pods, newest_pod};
use crate::state::{BodyState, FinishedUpdate, ResourceState, State, TiltfileState};

pub use objects::{project_resource_objects, project_session_objects, project_targets};
pub(crate) use objects::{stop_button_name, text_hash, toggle_button_name};
pub use owner::project_owner;
pub(crate) use unreachable::shown_runtime;

/// Returns the object of one resource; none if there is no such resource.
pub fn project_resource(state: &State, name: &ResourceName) -> Option<UIResource> {
    let mut resource = match state.tiltfile_named(name) {
        Some(tiltfile) => project_tiltfile(state, name, tiltfile),
        None => project_declared(state, name)?,
    };
    show_notes_on(state, ObjectKind::UIResource, &mut resource.metadata);
    Some(resource)
}

fn project_declared(state: &State, name: &ResourceName) -> Option<UIResource> {
    let resource = state.resources.get(name)?;
    let runtime = shown_runtime(state, resource);
    let status = UIResourceStatus {
        last_deploy_time: resource.history.iter().rev().find(|it| it.failure.is_none()).map(|it| it.finished),
        trigger_mode: trigger_mode(resource.trigger_mode, resource.spec.auto_init),
        build_history: history(name, resource.history.iter().rev()),
        current_build: resource.update.as_ref().map(|update| UIBuildRunning {
            start_time: Some(update.started),
            span_id: span(name, update.id),
        }),
        pending_build_since: resource.pending_since,
        has_pending_changes: resource.has_new_changes()
            || resource.reconfigured.is_some()
            || drift(resource).is_some(),
        endpoint_links: endpoints(resource),
        k8s_resource_info: kubernetes_info(state, resource),
        local_resource_info: local_info(state, resource),
        compose_resource_info: None,
        runtime_status: runtime.status,
        update_status: update_status(resource),
        specs: specs(resource),
        queued: resource.triggered.is_some(),
        // Behind Tiltfiles.
        order: i32::try_from(resource.order).unwrap_or(i32::MAX).saturating_add(1),
        disable_status: Some(disable_status(resource)),
        waiting: shown_hold(resource).as_deref().and_then(waiting),
        conditions: conditions(
            update_status(resource),
            runtime.status,
            resource.disabled,
            resource.conditions.map(|known| known.map(|(_, since)| since)),
        ),
    };
    Some(UIResource::new(metadata(state, resource, &runtime), status))
}

fn metadata(state: &State, resource: &ResourceState, runtime: &Runtime) -> ObjectMeta {
    let mut metadata = ObjectMeta { name: resource.spec.name.to_string(), ..ObjectMeta::default() };
    metadata.labels = resource.spec.labels.iter().map(|label| (label.clone(), label.clone())).collect();
    metadata.annotations.insert(ANNOTATION_RESOURCE.into(), metadata.name.clone());
    if !resource.spec.resource_deps.is_empty() {
        let deps = json_list(&resource.spec.resource_deps);
        metadata.annotations.insert(annotation::RESOURCE_DEPS.into(), deps);
    }
    let mut annotate = |key: &str, words: Option<String>| {
        if let Some(words) = words {
            metadata.annotations.insert(key.to_owned(), words);
        }
    };
    let hold = shown_hold(resource);
    annotate(annotation::HOLD, hold.as_deref().map(Hold::words));
    annotate(annotation::HOLD_DATA, hold.as_deref().and_then(|it| serde_json::to_string(it).ok()));
    let running = resource.update.as_ref().map(|update| &update.cause);
    let cause = running.or(resource.last().map(|last| &last.cause));
    annotate(annotation::CAUSE, cause.map(crate::Cause::headline));
    annotate(annotation::RUNTIME_MESSAGE, runtime.message.clone());
    let cluster = state.cluster_of(&resource.spec.name);
    let unreachable =
        unreachable::cluster_failure(state, resource).filter(|_| runtime.status == RuntimeStatus::Error);
    annotate(annotation::UNREACHABLE_CLUSTER, unreachable.map(|_| cluster.object_name()));
    annotate(annotation::DRIFT, drift(resource));
    annotate(annotation::FORWARDS, broken_forwards(state, resource));
    metadata
}

/// Returns why the next update has not started, or what the running one waits for.
fn shown_hold(resource: &ResourceState) -> Option<Cow<'_, Hold>> {
    let running = resource.update.as_ref().and_then(|update| update.stages.last());
    let wait = running.filter(|stage| stage.stage == StageKind::Wait && stage.end.is_none());
    let outage =
        wait.map(|stage| Hold::Outage { unreachable: Unreachable::Cluster, message: stage.detail.clone() });
    outage.map(Cow::Owned).or_else(|| resource.hold.as_ref().map(Cow::Borrowed))
}

/// Returns which of its objects have drifted from what was applied.
fn drift(resource: &ResourceState) -> Option<String> {
    resource.kubernetes()?.drifting.words()
}

fn broken_forwards(state: &State, resource: &ResourceState) -> Option<String> {
    let failures = port_forward::failures(state, &Owner::from(&resource.spec.name));
    (!failures.is_empty()).then(|| failures.join("; "))
}

/// Returns the resource that shows a Tiltfile.
fn project_tiltfile(state: &State, name: &ResourceName, tiltfile: &TiltfileState) -> UIResource {
    let update_status = match (&tiltfile.loading, &tiltfile.failure) {
        (Some(_), _) => UpdateStatus::InProgress,
        (None, Some(_)) => UpdateStatus::Error,
        (None, None) if tiltfile.loaded => UpdateStatus::Ok,
        (None, None) => UpdateStatus::Pending,
    };
    let loading = tiltfile.loading.as_ref().map(|load| load.started);
    let last_change = loading.or(tiltfile.history.back().map(|last| last.finished));
    let status = UIResourceStatus {
        // As under Tilt: whether the last load failed or not, and none while the next one runs.
        last_deploy_time: tiltfile.history.back().filter(|_| loading.is_none()).map(|last| last.finished),
        trigger_mode: trigger_mode(state.trigger_modes.get(name).copied().unwrap_or_default(), true),
        has_pending_changes: matches!(tiltfile.hold, Some(Hold::Trigger { changed: true, .. })),
        build_history: history(name, tiltfile.history.iter().rev()),
        current_build: tiltfile
            .loading
            .as_ref()
            .map(|load| UIBuildRunning { start_time: Some(load.started), span_id: span(name, load.id) }),
        pending_build_since: loading,
        order: 1,
        runtime_status: RuntimeStatus::NotApplicable,
        update_status,
        // It cannot be disabled: there is no source for that.
        disable_status: Some(DisableResourceStatus {
            state: "Enabled".into(),
            ..DisableResourceStatus::default()
        }),
        conditions: conditions(update_status, RuntimeStatus::NotApplicable, false, [last_change; 2]),
        ..UIResourceStatus::default()
    };
    let mut metadata = ObjectMeta { name: name.to_string(), ..ObjectMeta::default() };
    metadata.labels = tiltfile.labels.iter().map(|label| (label.clone(), label.clone())).collect();
    metadata.annotations.insert(ANNOTATION_RESOURCE.into(), name.to_string());
    metadata.annotations.insert(annotation::ARGS.into(), json_list(&tiltfile.args));
    let cause = tiltfile.loading.as_ref().map(|load| &load.cause);
    let cause = cause.or(tiltfile.history.back().map(|last| &last.cause)).map(crate::Cause::headline);
    let activity = tiltfile.loading.as_ref().and_then(|load| load.activity.clone());
    let hold = tiltfile.hold.as_ref().map(Hold::words).or(activity);
    let notes = [(annotation::HOLD, hold), (annotation::CAUSE, cause)];
    for (key, words) in notes.into_iter().filter_map(|(key, words)| Some((key, words?))) {
        metadata.annotations.insert(key.to_owned(), words);
    }
    UIResource::new(metadata, status)
}

pub fn project_session(state: &State) -> UISession {
    let mut metadata = ObjectMeta { name: "Tiltfile".into(), ..ObjectMeta::default() };
    let unreachable = unreachable::services(state);
    if !unreachable.is_empty() {
        let list = serde_json::json!(unreachable).to_string();
        metadata.annotations.insert(annotation::UNREACHABLE.to_owned(), list);
    }
    show_notes_on(state, ObjectKind::UISession, &mut metadata);
    UISession::new(
        metadata,
        UISessionStatus {
            fatal_error: String::new(),
            running_tilt_build: TiltBuild {
                version: COMPATIBLE_TILT_VERSION.into(),
                commit_sha: format!("lilt-{}", state.options.version),
                date: state.options.build_date.clone(),
                dev: false,
            },
            tilt_start_time: Some(state.started),
            tiltfile_key: state.options.tiltfile.display().to_string(),
            feature_flags: feature_flags(state),
            version_settings: Some(VersionSettings { check_updates: state.settings.check_updates }),
            ..UISessionStatus::default()
        },
    )
}

fn feature_flags(state: &State) -> Vec<UIFeatureFlag> {
    let flag = |feature: &Feature| UIFeatureFlag {
        name: feature.name.to_owned(),
        value: state.settings.features.get(feature.name).copied().unwrap_or(feature.enabled),
    };
    FEATURES.iter().map(flag).collect()
}

fn json_list<T: ToString>(list: &[T]) -> String {
    let list: Vec<String> = list.iter().map(ToString::to_string).collect();
    serde_json::json!(list).to_string()
}

fn span(name: &ResourceName, update: u64) -> String {
    format!("build:{name}:{update}")
}

fn history<'a>(
    name: &ResourceName,
    updates: impl Iterator<Item = &'a FinishedUpdate>,
) -> Vec<UIBuildTerminated> {
    updates
        .map(|update| UIBuildTerminated {
            error: update.failure.as_ref().map(ToString::to_string).unwrap_or_default(),
            warnings: update.warnings.clone(),
            start_time: Some(update.started),
            finish_time: Some(update.finished),
            span_id: span(name, update.id),
            is_crash_rebuild: update.cause == crate::Cause::Replaced,
        })
        .collect()
}

fn trigger_mode(mode: TriggerMode, auto_init: bool) -> i32 {
    match (mode, auto_init) {
        (TriggerMode::Auto, true) => 0,
        (TriggerMode::Manual, true) => 1,
        (TriggerMode::Manual, false) => 2,
        (TriggerMode::Auto, false) => 3,
    }
}

fn update_status(resource: &ResourceState) -> UpdateStatus {
    if resource.disabled {
        return UpdateStatus::None;
    }
    if resource.update.is_some() {
        return UpdateStatus::InProgress;
    }
    if matches!(&resource.spec.body, Body::Local(local) if local.update.is_none()) && resource.started_once {
        return UpdateStatus::NotApplicable;
    }
    match (&resource.hold, resource.last()) {
        (Some(Hold::Trigger { .. }), None) => UpdateStatus::None,
        // A failed update that will be retried.
        (None | Some(Hold::Trigger { .. } | Hold::Outage { .. }), Some(last)) if last.failure.is_some() => {
            UpdateStatus::Error
        }
        (None | Some(Hold::Trigger { .. }), Some(_)) => UpdateStatus::Ok,
        (Some(_) | None, _) => UpdateStatus::Pending,
    }
}

fn endpoints(resource: &ResourceState) -> Vec<UIResourceLink> {
    if resource.disabled {
        return Vec::new();
    }
    let forwards = match &resource.spec.body {
        Body::Kubernetes(kubernetes) => kubernetes.forwards.as_slice(),
        Body::Local(_) | Body::Compose(_) => &[],
    };
    let forwards =
        forwards.iter().map(|forward| UIResourceLink { url: forward.url(), name: forward.name.clone() });
    let links = resource
        .spec
        .links
        .iter()
        .map(|link| UIResourceLink { url: link.url.clone(), name: link.name.clone() });
    forwards.chain(links).collect()
}

fn kubernetes_info(state: &State, resource: &ResourceState) -> Option<UIResourceKubernetes> {
    let (Body::Kubernetes(spec), BodyState::Kubernetes(kubernetes)) = (&resource.spec.body, &resource.body)
    else {
        return None;
    };
    let display_names =
        spec.objects.iter().filter_map(ObjectRef::of).map(|object| object.to_string()).collect();
    let mut info = UIResourceKubernetes { display_names, ..UIResourceKubernetes::default() };
    if let Some(pod) = newest_pod(current_pods(state, kubernetes)) {
        info.pod_name.clone_from(&pod.name);
        info.pod_creation_time = Some(pod.created);
        info.pod_update_start_time = kubernetes.applied_during.map(|(began, _)| began.truncated());
        info.pod_status.clone_from(&pod.status);
        info.pod_status_message = pod.message.clone().unwrap_or_default();
        info.all_containers_ready = pod.containers.iter().filter(|it| !it.init).all(|it| it.ready);
        info.pod_restarts = i32::try_from(pod.restarts()).unwrap_or(i32::MAX);
        info.span_id = SpanId::of_pod(&resource.spec.name, &pod.name).to_string();
    }
    Some(info)
}

fn local_info(state: &State, resource: &ResourceState) -> Option<UIResourceLocal> {
    let BodyState::Local(_) = &resource.body else { return None };
    let pid = state.commands.get(&Owner::from(&resource.spec.name)).map_or(0, CommandRun::pid);
    Some(UIResourceLocal { pid: i64::from(pid), is_test: false })
}

fn specs(resource: &ResourceState) -> Vec<UIResourceTargetSpec> {
    let name = &resource.spec.name;
    match &resource.spec.body {
        Body::Local(_) => {
            vec![UIResourceTargetSpec {
                id: format!("local:{name}"),
                kind: "local".into(),
                has_live_update: false,
            }]
        }
        Body::Kubernetes(kubernetes) => {
            let images = kubernetes.images.iter().map(|image| UIResourceTargetSpec {
                id: format!("image:{}", image.name),
                kind: "image".into(),
                has_live_update: image.live_update.is_some(),
            });
            let deploy = UIResourceTargetSpec {
                id: format!("k8s:{name}"),
                kind: "k8s".into(),
                has_live_update: false,
            };
            images.chain(std::iter::once(deploy)).collect()
        }
        Body::Compose(_) => vec![UIResourceTargetSpec {
            id: format!("docker-compose:{name}"),
            kind: "docker-compose".into(),
            has_live_update: false,
        }],
    }
}

fn disable_status(resource: &ResourceState) -> DisableResourceStatus {
    DisableResourceStatus {
        enabled_count: i32::from(!resource.disabled),
        disabled_count: i32::from(resource.disabled),
        state: if resource.disabled { "Disabled" } else { "Enabled" }.into(),
        // Clients read the names of what can be enabled and disabled from here.
        sources: vec![objects::disable_source(&resource.spec.name)],
    }
}

fn waiting(hold: &Hold) -> Option<UIResourceStateWaiting> {
    let one = |kind: &str, name: &str| UIResourceStateWaitingOnRef {
        group: "tilt.dev".into(),
        api_version: "v1alpha1".into(),
        kind: kind.into(),
        name: name.into(),
    };
    let on = match hold {
        Hold::Dependencies { on } => on.iter().map(|it| one("UIResource", it.name.as_str())).collect(),
        Hold::Uncategorized => vec![one("UIResource", ResourceName::UNCATEGORIZED)],
        Hold::Tiltfile => vec![one("UIResource", ResourceName::tiltfile().as_str())],
        Hold::Image { resource: other, .. } | Hold::Producing { by: other } => {
            vec![one("UIResource", other.as_str())]
        }
        Hold::Cluster { .. } => vec![one("Cluster", "default")],
        _ => Vec::new(),
    };
    Some(UIResourceStateWaiting { reason: hold.reason()?.into(), on })
}

/// Returns the conditions `UpToDate` and `Ready`, by Tilt's rules.
fn conditions(
    update: UpdateStatus,
    runtime: RuntimeStatus,
    disabled: bool,
    since: [Option<Timestamp>; 2],
) -> Vec<UIResourceCondition> {
    let [up_to_date, ready] = met(update, runtime);
    let update_reason = match update {
        _ if disabled => "Disabled",
        UpdateStatus::Error => "UpdateError",
        UpdateStatus::Pending => "UpdatePending",
        _ => "Unknown",
    };
    let ready_reason = match (update, runtime) {
        _ if disabled => "Disabled",
        (_, RuntimeStatus::Error) => "RuntimeError",
        (UpdateStatus::Ok, RuntimeStatus::Pending) => "RuntimePending",
        _ => update_reason,
    };
    let condition = |kind: &str, met: bool, reason: &str, since: Option<Timestamp>| UIResourceCondition {
        kind: kind.into(),
        status: if met { "True" } else { "False" }.into(),
        last_transition_time: since,
        reason: if met { String::new() } else { reason.into() },
        ..UIResourceCondition::default()
    };
    vec![
        condition("UpToDate", up_to_date, update_reason, since[0]),
        condition("Ready", ready, ready_reason, since[1]),
    ]
}

/// Returns whether a resource is up to date, and whether it is ready, by Tilt's rules.
pub(crate) fn conditions_met(resource: &ResourceState, runtime: RuntimeStatus) -> [bool; 2] {
    met(update_status(resource), runtime)
}

fn met(update: UpdateStatus, runtime: RuntimeStatus) -> [bool; 2] {
    let up_to_date = matches!(update, UpdateStatus::Ok | UpdateStatus::NotApplicable);
    let ready = match runtime {
        RuntimeStatus::Ok => true,
        RuntimeStatus::NotApplicable => update == UpdateStatus::Ok,
        _ => false,
    };
    [up_to_date, ready]
}

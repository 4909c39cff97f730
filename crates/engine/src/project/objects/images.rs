//! The objects that tell of images: how they are found, built and kept up to date in place.

use lilt_api::fields::{Fields, sanitized};
use lilt_api::specs;
use lilt_model::ClusterName;
use lilt_model::cluster::{Container, ContainerState, Pod, PodRef};
use lilt_model::image::{BuildRecord, BuildStage, ImageBuild, ImageTarget};
use lilt_model::resource::Body;
use lilt_model::{ContainerId, ImageName, Timestamp};
use serde_json::{Value, json};

use super::local::command_status;
use super::{MANAGED_BY, Named, managed, owned, owned_with_span};
use crate::event::WatchId;
use crate::runtime::current_pods;
use crate::state::{ImageState, KubernetesState, Progress, ResourceState, State, UpdateKind};
use crate::task::{ImageJob, UpdateJob};

/// The name of what tells of an image of one resource.
fn object_name(resource: &ResourceState, image: &ImageTarget) -> String {
    sanitized(&format!("{}:{}", resource.spec.name, sanitized(image.name.as_str())))
}

pub(super) fn objects(
    state: &State,
    resource: &ResourceState,
    (images, pushed): (&[ImageTarget], &[ImageName]),
    cluster: &ClusterName,
    kubernetes: Option<&KubernetesState>,
    objects: &mut Vec<Named>,
) {
    let name = &resource.spec.name;
    for image in images {
        let known = kubernetes.and_then(|kubernetes| kubernetes.images.get(&image.name));
        let own = object_name(resource, image);
        if image.is_built() {
            let content = json!({"spec": specs::image_map(image).value(), "status": map_status(known)});
            objects.push(owned("ImageMap", &sanitized(image.name.as_str()), name, content));
        }
        let status = build_status(resource, image, known);
        match &image.build {
            ImageBuild::Docker(build) => {
                let spec = clustered(specs::docker_image(build, &image.depends_on), image, pushed, cluster);
                objects.push(owned("DockerImage", &own, name, json!({"spec": spec, "status": status})));
            }
            ImageBuild::Custom(build) if image.is_built() => {
                let spec = clustered(specs::cmd_image(build, &image.depends_on), image, pushed, cluster);
                let command = json!({"args": build.command.argv, "dir": build.command.dir});
                let run = known.and_then(|known| known.command.as_ref());
                let content = json!({"spec": command, "status": command_status(resource, run)});
                let (key, mut object) =
                    owned_with_span("Cmd", &own, name, content, &format!("cmdimage:{own}"));
                object.annotate_unless_said(MANAGED_BY, "cmd_image");
                objects.push((key, object));
                objects.push(owned("CmdImage", &own, name, json!({"spec": spec, "status": status})));
            }
            ImageBuild::Custom(_) | ImageBuild::Compose(_) | ImageBuild::LiveUpdateOnly => {}
        }
        objects.extend(live_update(state, resource, image, kubernetes, &own));
    }
}

fn clustered(spec: Fields, image: &ImageTarget, pushed: &[ImageName], cluster: &ClusterName) -> Value {
    let needs = if pushed.contains(&image.name) { "push" } else { "base" };
    let spec = spec.put("ref", image.name.as_str()).put("cluster", cluster.object_name());
    spec.put("clusterNeeds", needs).value()
}

fn map_status(known: Option<&ImageState>) -> Value {
    let reference = known.and_then(|image| image.reference.clone()).unwrap_or_default();
    let mut fields = Fields::new()
        .put_unless_empty("image", reference.as_str())
        .put_unless_empty("imageFromCluster", reference.as_str())
        .put_unless_empty("imageFromLocal", reference.as_str());
    if let Some((begin, _)) = known.and_then(|image| image.built_during) {
        fields = fields.put("buildStartTime", json!(begin));
    }
    fields.value()
}

fn build_status(resource: &ResourceState, image: &ImageTarget, known: Option<&ImageState>) -> Value {
    let building = resource.update.as_ref().filter(|update| match &update.kind {
        UpdateKind::Job(job) => match &**job {
            UpdateJob::Deploy(job) => {
                job.images.iter().any(|it| matches!(it, ImageJob::Build(built) if built.name == image.name))
            }
            _ => false,
        },
        UpdateKind::Live => false,
    });
    if let Some(update) = building {
        return json!({"building": {"startedAt": update.started, "reason": update.cause.headline()}});
    }
    let reference = known.and_then(|known| known.reference.as_ref());
    if let Some(record) = known.and_then(|known| known.last_build.as_ref().filter(|it| is_newest(known, it)))
    {
        let reference = reference.filter(|_| record.error.is_none()).map(String::as_str).unwrap_or_default();
        let completed = Fields::new()
            .put("startedAt", json!(record.began))
            .put("finishedAt", json!(record.ended))
            .put_unless_empty("error", record.error.clone().unwrap_or_default());
        let stages =
            if matches!(image.build, ImageBuild::Docker(_)) { stage_statuses(record) } else { Vec::new() };
        return Fields::new()
            .put_unless_empty("ref", reference)
            .put("completed", completed.finish())
            .put_unless_empty("stageStatuses", stages)
            .value();
    }
    match (reference, known.and_then(|known| known.built_during), resource.last()) {
        (Some(reference), Some((begin, end)), _) => {
            json!({"ref": reference, "completed": {"startedAt": begin, "finishedAt": end}})
        }
        (None, _, Some(last)) if last.failure.is_some() => json!({"completed": {
            "startedAt": last.started, "finishedAt": last.finished,
            "error": last.failure.as_ref().map(ToString::to_string),
        }}),
        _ => {
            json!({"waiting": {"reason": resource.hold.as_ref().map(crate::Hold::words).unwrap_or_default()}})
        }
    }
}

/// Not one from before another resource's update built the same image.
fn is_newest(image: &ImageState, record: &BuildRecord) -> bool {
    image.built_during.is_none_or(|(begin, _)| begin <= record.began)
}

/// What a build went through, as the API tells it.
pub(crate) fn stage_statuses(record: &BuildRecord) -> Vec<Value> {
    let told = |stage: &BuildStage| {
        Fields::new()
            .put("name", stage.name.as_str())
            .put_unless_empty("cached", stage.cached)
            .put("startedAt", json!(stage.began))
            .put_unless_empty("finishedAt", stage.ended.map_or(Value::Null, |at| json!(at)))
            .put_unless_empty("error", stage.error.clone().unwrap_or_default())
            .value()
    };
    record.stages.iter().map(told).collect()
}

fn live_update(
    state: &State,
    resource: &ResourceState,
    image: &ImageTarget,
    kubernetes: Option<&KubernetesState>,
    own: &str,
) -> Option<Named> {
    let known = kubernetes.and_then(|kubernetes| kubernetes.images.get(&image.name));
    let update = image.live_update.as_ref()?;
    let name = &resource.spec.name;
    let mut spec = specs::live_update(update).value();
    let map = sanitized(image.name.as_str());
    spec["sources"] = sources(resource, image);
    let mut selector = json!({"discoveryName": name.as_str(), "applyName": name.as_str()});
    if update.container_name.is_empty() {
        selector["imageMapName"] = json!(map);
    } else {
        selector["containerName"] = json!(update.container_name);
    }
    spec["selector"] = json!({"kubernetes": selector});
    let mut containers: Vec<Value> = known.map(|it| running(resource, it)).unwrap_or_default();
    containers.extend(kubernetes.zip(known).into_iter().flat_map(|(kubernetes, known)| {
        current_pods(state, kubernetes).flat_map(|pod| waiting(pod, image, known))
    }));
    let mut status = json!({"containers": containers});
    if let Some((reason, message, since)) = failed(resource, known) {
        status = json!({"failed": {"reason": reason, "message": message, "lastTransitionTime": since}});
    }
    let (key, mut object) =
        managed("LiveUpdate", own, name, "buildcontrol", json!({"spec": spec, "status": status}));
    let mode = if resource.is_automatic() { "auto" } else { "manual" };
    object.annotate_unless_said("tilt.dev/update-mode", mode);
    Some((key, object))
}

/// Where its saves come from: its own files, and those of all that it is built on.
fn sources(resource: &ResourceState, image: &ImageTarget) -> Value {
    let images = match &resource.spec.body {
        Body::Kubernetes(spec) => spec.with_bases(image),
        Body::Local(_) | Body::Compose(_) => vec![image],
    };
    let source = |image: &ImageTarget| {
        let watch = WatchId::Image(resource.spec.name.clone(), image.name.clone()).name();
        json!({"fileWatch": watch, "imageMap": sanitized(image.name.as_str())})
    };
    images.into_iter().map(source).collect()
}

fn container(pod: &PodRef, name: &str, id: Option<&ContainerId>) -> Fields {
    Fields::new()
        .put_unless_empty("containerID", id.map(ContainerId::as_str).unwrap_or_default())
        .put("containerName", name)
        .put("podName", pod.name.as_str())
        .put("namespace", pod.namespace.as_str())
}

/// Those that take files.
fn running(resource: &ResourceState, image: &ImageState) -> Vec<Value> {
    let waits = !resource.is_automatic() && resource.triggered.is_none() && resource.update.is_none();
    let trigger = json!({"reason": "Trigger", "message": "Only updates on manual trigger"});
    let told = |(id, progress): (&ContainerId, &Progress)| {
        container(&progress.pod, &progress.name, Some(id))
            .put_unless_empty("lastFileTimeSynced", progress.synced.map_or(Value::Null, |at| json!(at)))
            .put_unless_empty("lastExecError", progress.error.clone().unwrap_or_default())
            .put_unless_empty("waiting", if waits { trigger.clone() } else { Value::Null })
            .value()
    };
    image.containers.iter().map(told).collect()
}

/// Those that will.
fn waiting(pod: &Pod, target: &ImageTarget, image: &ImageState) -> Vec<Value> {
    let is_of = |container: &&Container| match &image.reference {
        Some(reference) => container.image == *reference,
        None => !target.is_built() && target.selects(&container.name, &container.image),
    };
    let waits = |it: &&Container| !it.init && matches!(it.state, ContainerState::Waiting { .. });
    let why = json!({"reason": "ContainerWaiting", "message": "Waiting for container to start"});
    let told = |it: &Container| {
        container(&pod.reference(), &it.name, it.id.as_ref()).put("waiting", why.clone()).value()
    };
    pod.containers.iter().filter(waits).filter(is_of).map(told).collect()
}

/// Why files cannot go into containers. A step that failed in one is said of that one.
fn failed(resource: &ResourceState, known: Option<&ImageState>) -> Option<(&'static str, String, Timestamp)> {
    let last = resource.last().filter(|last| last.live)?;
    let failure = last.failure.as_ref()?;
    let in_steps = known.is_some_and(|image| image.containers.values().any(|it| it.error.is_some()));
    (!in_steps).then(|| ("UpdateFailed", failure.to_string(), last.finished))
}

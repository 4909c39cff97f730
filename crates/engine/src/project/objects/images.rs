//! The objects that tell of images: how they are found, built and kept up to date in place.

use lilt_model::ClusterName;
use lilt_model::api::fields::{Fields, sanitized};
use lilt_model::api::specs;
use lilt_model::image::{ImageBuild, ImageTarget};
use serde_json::{Value, json};

use super::{Named, managed, owned};
use crate::event::WatchId;
use crate::state::{ImageState, KubernetesState, ResourceState, UpdateKind};
use crate::task::{ImageJob, UpdateJob};

/// The name of what tells of an image of one resource.
fn object_name(resource: &ResourceState, image: &ImageTarget) -> String {
    sanitized(&format!("{}:{}", resource.spec.name, sanitized(image.name.as_str())))
}

pub(super) fn objects(
    resource: &ResourceState,
    images: &[ImageTarget],
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
                let spec = clustered(specs::docker_image(build, &image.depends_on), image, cluster);
                objects.push(owned("DockerImage", &own, name, json!({"spec": spec, "status": status})));
            }
            ImageBuild::Custom(build) if image.is_built() => {
                let spec = clustered(specs::cmd_image(build, &image.depends_on), image, cluster);
                objects.push(owned("CmdImage", &own, name, json!({"spec": spec, "status": status})));
            }
            ImageBuild::Custom(_) | ImageBuild::Compose(_) | ImageBuild::LiveUpdateOnly => {}
        }
        objects.extend(live_update(resource, image, known, &own));
    }
}

fn clustered(spec: Fields, image: &ImageTarget, cluster: &ClusterName) -> Value {
    spec.put("ref", image.name.as_str()).put("cluster", cluster.object_name()).value()
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

fn live_update(
    resource: &ResourceState,
    image: &ImageTarget,
    known: Option<&ImageState>,
    own: &str,
) -> Option<Named> {
    let update = image.live_update.as_ref()?;
    let name = &resource.spec.name;
    let mut spec = specs::live_update(update).value();
    let watch = WatchId::Image(name.clone(), image.name.clone()).name();
    let map = sanitized(image.name.as_str());
    spec["sources"] = json!([{"fileWatch": watch, "imageMap": map}]);
    let mut selector = json!({"discoveryName": name.as_str(), "applyName": name.as_str()});
    if update.container_name.is_empty() {
        selector["imageMapName"] = json!(map);
    } else {
        selector["containerName"] = json!(update.container_name);
    }
    spec["selector"] = json!({"kubernetes": selector});
    let containers = known.into_iter().flat_map(|known| &known.containers).map(|(id, progress)| {
        json!({
            "containerID": id, "containerName": progress.name, "podName": progress.pod.name,
            "namespace": progress.pod.namespace,
        })
    });
    let mut status = json!({"containers": containers.collect::<Vec<_>>()});
    let failed =
        resource.last().filter(|last| last.live).and_then(|last| last.failure.as_ref().zip(Some(last)));
    if let Some((failure, last)) = failed {
        status["failed"] = json!({
            "reason": "UpdateFailed", "message": failure.to_string(), "lastTransitionTime": last.finished,
        });
    }
    Some(managed("LiveUpdate", own, name, "buildcontrol", json!({"spec": spec, "status": status})))
}

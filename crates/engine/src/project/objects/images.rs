//! The objects that show images: how they are found, built and kept up to date in place.

use lilt_api::{
    Cmd, CmdImage, CmdImageSpec, CmdImageStateBuilding, CmdImageStateCompleted, CmdImageStateWaiting,
    CmdImageStatus, CmdSpec, DockerImage, DockerImageSpec, DockerImageStageStatus, DockerImageStateBuilding,
    DockerImageStateCompleted, DockerImageStateWaiting, DockerImageStatus, ImageMap, ImageMapSpec,
    ImageMapStatus, LiveUpdate, LiveUpdateContainerStatus, LiveUpdateKubernetesSelector, LiveUpdateSelector,
    LiveUpdateSource, LiveUpdateSpec, LiveUpdateStateFailed, LiveUpdateStatus, sanitize_name, stage_statuses,
};
use lilt_model::ClusterName;
use lilt_model::cluster::{Container, ContainerState, Pod};
use lilt_model::image::{BuildRecord, ImageBuild, ImageTarget};
use lilt_model::resource::Body;
use lilt_model::{ImageName, Timestamp};

use super::local::command_status;
use super::{MANAGED_BY, Named, managed, owned, owned_with_span};
use crate::controllers::live_update;
use crate::event::WatchId;
use crate::runtime::current_pods;
use crate::state::{ImageState, KubernetesState, ResourceState, State, UpdateKind};
use crate::task::{ImageJob, UpdateJob};

/// The name of the objects that show an image of one resource.
fn object_name(resource: &ResourceState, image: &ImageTarget) -> String {
    sanitize_name(&format!("{}:{}", resource.spec.name, sanitize_name(image.name.as_str())))
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
            let map = ImageMap { spec: ImageMapSpec::from(image), status: map_status(known) };
            objects.push(owned(&sanitize_name(image.name.as_str()), name, &map));
        }
        let needs = if pushed.contains(&image.name) { "push" } else { "base" }.to_owned();
        match &image.build {
            ImageBuild::Docker(build) => {
                let spec = DockerImageSpec {
                    reference: image.name.to_string(),
                    cluster: cluster.object_name(),
                    cluster_needs: needs,
                    ..DockerImageSpec::new(build, &image.depends_on)
                };
                let status = BuildPhase::of(resource, image, known).docker_image_status();
                objects.push(owned(&own, name, &DockerImage { spec, status }));
            }
            ImageBuild::Custom(build) if image.is_built() => {
                let spec = CmdSpec { env: Vec::new(), ..CmdSpec::from(&build.command) };
                let run = known.and_then(|known| known.command.as_ref());
                let command = Cmd { spec, status: command_status(resource, run) };
                let (key, mut object) = owned_with_span(&own, name, &command, &format!("cmdimage:{own}"));
                object.annotate(MANAGED_BY, "cmd_image");
                objects.push((key, object));
                let spec = CmdImageSpec {
                    reference: image.name.to_string(),
                    cluster: cluster.object_name(),
                    cluster_needs: needs,
                    ..CmdImageSpec::new(build, &image.depends_on)
                };
                let status = BuildPhase::of(resource, image, known).cmd_image_status();
                objects.push(owned(&own, name, &CmdImage { spec, status }));
            }
            ImageBuild::Custom(_) | ImageBuild::Compose(_) | ImageBuild::LiveUpdateOnly => {}
        }
        objects.extend(live_update_object(state, resource, image, kubernetes, &own));
    }
}

fn map_status(known: Option<&ImageState>) -> ImageMapStatus {
    let reference = known.and_then(|image| image.reference.clone()).unwrap_or_default();
    ImageMapStatus {
        image: reference.clone(),
        image_from_cluster: reference.clone(),
        image_from_local: reference,
        build_start_time: known.and_then(|image| image.built_during).map(|(begin, _)| begin),
    }
}

/// The progress of an image build, as shown by `DockerImage` and `CmdImage`.
enum BuildPhase {
    Waiting { reason: String },
    Building { started: Timestamp, reason: String },
    Completed(Completed),
}

struct Completed {
    reference: String,
    started: Timestamp,
    finished: Timestamp,
    error: String,
    stages: Vec<DockerImageStageStatus>,
}

impl BuildPhase {
    fn of(resource: &ResourceState, image: &ImageTarget, known: Option<&ImageState>) -> Self {
        let building = resource.update.as_ref().filter(|update| match &update.kind {
            UpdateKind::Job(job) => match &**job {
                UpdateJob::Deploy(job) => job
                    .images
                    .iter()
                    .any(|it| matches!(it, ImageJob::Build(built) if built.name == image.name)),
                _ => false,
            },
            UpdateKind::Live(_) => false,
        });
        if let Some(update) = building {
            return Self::Building { started: update.started, reason: update.cause.headline() };
        }
        let reference = known.and_then(|known| known.reference.clone());
        let record = known.and_then(|known| known.last_build.as_ref().filter(|it| is_newest(known, it)));
        if let Some(record) = record {
            return Self::Completed(Completed {
                reference: reference.filter(|_| record.error.is_none()).unwrap_or_default(),
                started: record.began,
                finished: record.ended,
                error: record.error.clone().unwrap_or_default(),
                stages: stage_statuses(record),
            });
        }
        match (reference, known.and_then(|known| known.built_during), resource.last()) {
            (Some(reference), Some((started, finished)), _) => Self::Completed(Completed {
                reference,
                started,
                finished,
                error: String::new(),
                stages: Vec::new(),
            }),
            (None, _, Some(last)) if last.failure.is_some() => Self::Completed(Completed {
                reference: String::new(),
                started: last.started,
                finished: last.finished,
                error: last.failure.as_ref().map(ToString::to_string).unwrap_or_default(),
                stages: Vec::new(),
            }),
            _ => Self::Waiting { reason: resource.hold.as_ref().map(crate::Hold::words).unwrap_or_default() },
        }
    }

    fn docker_image_status(self) -> DockerImageStatus {
        match self {
            Self::Waiting { reason } => DockerImageStatus {
                waiting: Some(DockerImageStateWaiting { reason }),
                ..DockerImageStatus::default()
            },
            Self::Building { started, reason } => DockerImageStatus {
                building: Some(DockerImageStateBuilding { started_at: Some(started), reason }),
                ..DockerImageStatus::default()
            },
            Self::Completed(Completed { reference, started, finished, error, stages }) => DockerImageStatus {
                reference,
                completed: Some(DockerImageStateCompleted {
                    started_at: Some(started),
                    finished_at: Some(finished),
                    error,
                    reason: String::new(),
                }),
                stage_statuses: stages,
                ..DockerImageStatus::default()
            },
        }
    }

    fn cmd_image_status(self) -> CmdImageStatus {
        match self {
            Self::Waiting { reason } => {
                CmdImageStatus { waiting: Some(CmdImageStateWaiting { reason }), ..CmdImageStatus::default() }
            }
            Self::Building { started, reason } => CmdImageStatus {
                building: Some(CmdImageStateBuilding { started_at: Some(started), reason }),
                ..CmdImageStatus::default()
            },
            Self::Completed(Completed { reference, started, finished, error, .. }) => CmdImageStatus {
                reference,
                completed: Some(CmdImageStateCompleted {
                    started_at: Some(started),
                    finished_at: Some(finished),
                    error,
                    reason: String::new(),
                }),
                ..CmdImageStatus::default()
            },
        }
    }
}

/// Returns whether the record is not from before another resource's update built the same image.
fn is_newest(image: &ImageState, record: &BuildRecord) -> bool {
    image.built_during.is_none_or(|(begin, _)| begin <= record.began)
}

fn live_update_object(
    state: &State,
    resource: &ResourceState,
    image: &ImageTarget,
    kubernetes: Option<&KubernetesState>,
    own: &str,
) -> Option<Named> {
    let known = kubernetes.and_then(|kubernetes| kubernetes.images.get(&image.name));
    let update = image.live_update.as_ref()?;
    let name = &resource.spec.name;
    let map = sanitize_name(image.name.as_str());
    let selector = LiveUpdateKubernetesSelector {
        discovery_name: name.to_string(),
        apply_name: name.to_string(),
        image_map_name: if update.container_name.is_empty() { map } else { String::new() },
        container_name: update.container_name.clone(),
        image: String::new(),
    };
    let spec = LiveUpdateSpec {
        sources: sources(resource, image),
        selector: LiveUpdateSelector { kubernetes: Some(selector), docker_compose: None },
        ..LiveUpdateSpec::from(update)
    };
    let containers = || {
        let mut containers = known.map(|it| running(resource, it)).unwrap_or_default();
        containers.extend(kubernetes.zip(known).into_iter().flat_map(|(kubernetes, known)| {
            current_pods(state, kubernetes).flat_map(|pod| waiting(pod, image, known))
        }));
        containers
    };
    let status = match failed(resource, known) {
        Some(failed) => LiveUpdateStatus { containers: Vec::new(), failed: Some(failed) },
        None => LiveUpdateStatus { containers: containers(), failed: None },
    };
    let (key, mut object) = managed(own, name, "buildcontrol", &LiveUpdate { spec, status });
    let mode = if resource.is_automatic() { "auto" } else { "manual" };
    object.annotate("tilt.dev/update-mode", mode);
    Some((key, object))
}

/// Returns the sources of its changes: its own files and those of its base images.
fn sources(resource: &ResourceState, image: &ImageTarget) -> Vec<LiveUpdateSource> {
    let images = match &resource.spec.body {
        Body::Kubernetes(spec) => spec.with_bases(image),
        Body::Local(_) | Body::Compose(_) => vec![image],
    };
    let source = |image: &ImageTarget| LiveUpdateSource {
        file_watch: WatchId::Image(resource.spec.name.clone(), image.name.clone()).name(),
        image_map: sanitize_name(image.name.as_str()),
    };
    images.into_iter().map(source).collect()
}

/// Returns the containers that receive files.
fn running(resource: &ResourceState, image: &ImageState) -> Vec<LiveUpdateContainerStatus> {
    let waits = !resource.is_automatic() && resource.triggered.is_none() && resource.update.is_none();
    let trigger = waits.then_some(("Trigger", "Only updates on manual trigger"));
    let containers = image.containers.iter();
    containers.map(|(id, container)| live_update::running_container(id, container, trigger)).collect()
}

/// Returns the containers that will receive files.
fn waiting(pod: &Pod, target: &ImageTarget, image: &ImageState) -> Vec<LiveUpdateContainerStatus> {
    let is_of = |container: &&Container| match &image.reference {
        Some(reference) => container.image == *reference,
        None => !target.is_built() && target.selects(&container.name, &container.image),
    };
    let waits = |it: &&Container| !it.init && matches!(it.state, ContainerState::Waiting { .. });
    let shown = |it: &Container| live_update::waiting_container(&pod.reference(), &it.name, it.id.as_ref());
    pod.containers.iter().filter(waits).filter(is_of).map(shown).collect()
}

/// Returns why files cannot be copied into containers. A failed step is reported for its container instead.
fn failed(resource: &ResourceState, known: Option<&ImageState>) -> Option<LiveUpdateStateFailed> {
    let last = resource.last().filter(|last| last.live)?;
    let failure = last.failure.as_ref()?;
    let in_steps = known.is_some_and(|image| image.containers.values().any(|it| it.step_error().is_some()));
    (!in_steps).then(|| LiveUpdateStateFailed {
        reason: "UpdateFailed".to_owned(),
        message: failure.to_string(),
        last_transition_time: Some(last.finished),
    })
}

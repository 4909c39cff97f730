//! `DockerImage` and `CmdImage`: images that are built for API objects. Images declared by Tiltfiles are
//! built by the updates of resources.

use std::collections::BTreeSet;
use std::sync::Arc;

use lilt_api::{
    CmdImageStateBuilding, CmdImageStateCompleted, CmdImageStateWaiting, CmdImageStatus, Content,
    DockerImageStateBuilding, DockerImageStateCompleted, DockerImageStateWaiting, DockerImageStatus,
    FileWatchSpec, ImageMapStatus, Object, ObjectKey, ObjectKind, sanitize_name, stage_statuses,
};
use lilt_model::cluster::Delivery;
use lilt_model::image::{BuildRecord, ImageBuild, ImageTarget};
use lilt_model::kubernetes::KubernetesResource;
use lilt_model::reference::Reference;
use lilt_model::{ClusterName, Failure, ImageName, Timestamp};
use serde::Serialize;

use super::apply::is_allowed;
use super::pods::{cluster_named, cluster_trouble};
use super::trigger::last_file_event;
use super::{ANNOTATION_RESOURCE, ObjectRecord, Origin, Run, images, log_resource, put};
use crate::controllers::file_watch::FileEvents;
use crate::event::BuiltReference;
use crate::plan::Plan;
use crate::state::State;
use crate::task::{DeployJob, ImageJob, Task};

const KINDS: [ObjectKind; 2] = [ObjectKind::DockerImage, ObjectKind::CmdImage];

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ImageRun {
    /// The number of the current build.
    run: u64,
    /// The current job; none while the image cannot be built.
    job: Option<Arc<DeployJob>>,
    /// The newest save that the image contains.
    saved: Option<Timestamp>,
    started: Timestamp,
    /// The reason why it is not built.
    refused: Option<String>,
    /// The steps of the last build.
    record: Option<BuildRecord>,
    outcome: Option<(Timestamp, Result<BuiltReference, String>)>,
}

/// Returns the name of the `ImageMap` of an image.
pub(super) fn map_name(reference: &str) -> String {
    sanitize_name(reference)
}

/// The fields that both kinds of builds have in common.
struct BuildSpec<'s> {
    reference: &'s str,
    image_maps: &'s [String],
    cluster: &'s str,
}

fn build_spec(content: &Content) -> Option<BuildSpec<'_>> {
    match content {
        Content::DockerImage(image) => Some(BuildSpec {
            reference: &image.spec.reference,
            image_maps: &image.spec.image_maps,
            cluster: &image.spec.cluster,
        }),
        Content::CmdImage(image) => Some(BuildSpec {
            reference: &image.spec.reference,
            image_maps: &image.spec.image_maps,
            cluster: &image.spec.cluster,
        }),
        _ => None,
    }
}

/// Returns the `FileWatch` of the folder of a build.
pub(super) fn watch_name(key: &ObjectKey) -> String {
    format!("image:{}", key.name)
}

fn job(state: &State, spec: &BuildSpec<'_>, build: ImageBuild) -> Result<DeployJob, String> {
    let name = ImageName::from(spec.reference);
    Reference::parse(name.as_str()).map_err(|failure| format!("spec.ref: {}", failure.message))?;
    refuse_circle(state, spec)?;
    let bases = images::built(state, spec.image_maps)?;
    let depends_on = bases.iter().map(|(base, _)| base.name.clone()).collect();
    let target = ImageTarget { name: name.clone(), build, depends_on, ..ImageTarget::default() };
    let reuse = |(base, reference): &(ImageTarget, String)| ImageJob::Reuse {
        name: base.name.clone(),
        reference: reference.clone(),
    };
    let mut jobs: Vec<ImageJob> = bases.iter().map(reuse).collect();
    jobs.push(ImageJob::Build(Box::new(target.clone())));
    let images = bases.into_iter().map(|(base, _)| base).chain([target]).collect();
    let cluster = cluster_named(state, spec.cluster);
    let (delivery, registry, platform) = place(state, &cluster)?;
    let image_deps = vec![name.clone()];
    Ok(DeployJob {
        kubernetes: KubernetesResource { cluster, images, image_deps, ..KubernetesResource::default() },
        images: jobs,
        delivered: vec![name],
        delivery,
        registry,
        platform,
        namespace: String::new(),
        rerun: false,
        first: false,
        follows_command: false,
        crashing: Vec::new(),
        closed: Vec::new(),
        merge: state.settings.server_side_apply,
        unattended: state.is_unattended(),
    })
}

/// Refuses a build that depends on itself, directly or through others.
fn refuse_circle(state: &State, spec: &BuildSpec<'_>) -> Result<(), String> {
    let own = map_name(spec.reference);
    let mut seen = BTreeSet::new();
    let mut next = spec.image_maps.to_vec();
    while let Some(map) = next.pop() {
        if map == own {
            return Err(format!("the image {} builds on itself", spec.reference));
        }
        if !seen.insert(map.clone()) {
            continue;
        }
        for kind in KINDS {
            let specs = state.objects.of_kind(kind).filter_map(|(_, record)| build_spec(&record.content));
            let builders = specs.filter(|spec| map_name(spec.reference) == map);
            next.extend(builders.flat_map(|spec| spec.image_maps.iter().cloned()));
        }
    }
    Ok(())
}

type Place = (Delivery, Option<lilt_model::registry::Registry>, Option<String>);

/// Returns the target of the build: the cluster that the Tiltfile deploys to, if there is one.
fn place(state: &State, cluster: &ClusterName) -> Result<Place, String> {
    if !is_allowed(state, cluster) {
        return Ok((Delivery::Shared, None, None));
    }
    match &state.clusters.get(cluster).info {
        Some(info) => {
            let destination = state.destination(cluster);
            let delivery = Delivery::choose(info, state.settings.default_registry.as_ref());
            Ok((delivery, destination.registry, destination.platform))
        }
        None => Err(cluster_trouble(state, cluster).unwrap_or_default()),
    }
}

pub(super) fn reconcile(state: &mut State, key: &ObjectKey) {
    follow_context(state, key);
    let number = state.next_sequence();
    let now = state.now;
    let Some(record) = state.objects.records.get(key) else { return };
    let saved = last_file_event(state, &[watch_name(key)]);
    let Some(spec) = build_spec(&record.content) else { return };
    let build = match &record.content {
        Content::CmdImage(image) => ImageBuild::Custom(image.spec.custom_build(state.folder())),
        Content::DockerImage(image) => ImageBuild::Docker(image.spec.docker_build(state.folder())),
        _ => return,
    };
    let (wanted, refused) = match job(state, &spec, build) {
        Ok(job) => (Some(job), None),
        Err(why) => (None, Some(why)),
    };
    let Some(ObjectRecord { run: Run::Image(run), .. }) = state.objects.records.get_mut(key) else { return };
    // A built image stays while a base image of it is built.
    let waits = refused.is_some() && run.outcome.is_some();
    run.refused = refused;
    if !waits && (run.job.as_deref() != wanted.as_ref() || saved > run.saved) {
        run.run = number;
        run.started = now;
        run.saved = saved;
        run.job = wanted.map(Arc::new);
        run.outcome = None;
        run.record = None;
    }
    state.objects.touch(key);
    tell_map(state, key);
}

/// Creates the file watch of the folder of a build, so that a save triggers a build.
fn follow_context(state: &mut State, key: &ObjectKey) {
    let Some(ObjectRecord { object, content: Content::DockerImage(image), uid, .. }) =
        state.objects.records.get(key)
    else {
        return;
    };
    if image.spec.context.is_empty() {
        return;
    }
    let watch = ObjectKey::new(ObjectKind::FileWatch, watch_name(key));
    let mut wanted = Object::named(&watch.name);
    wanted.annotate_if_absent(ANNOTATION_RESOURCE, log_resource(object).as_str());
    wanted.set_owner(key, uid);
    let spec = FileWatchSpec {
        watched_paths: vec![image.spec.context.clone()],
        ignores: image.spec.context_ignores.clone(),
        disable_source: None,
    };
    wanted.set_spec(&spec);
    let is_ours = |record: &ObjectRecord| record.object.owner_uids().eq(wanted.owner_uids());
    let is_same =
        |record: &ObjectRecord| matches!(&record.content, Content::FileWatch(watch) if watch.spec == spec);
    let known = state.objects.records.get(&watch);
    if known.is_none_or(|record| is_ours(record) && !is_same(record)) {
        let sequence = state.next_sequence();
        put(state, watch, wanted, format!("image-{sequence}"), Origin::Object);
    }
}

/// Returns whether its files are watched. Before that, a save during the build would be lost.
fn is_watched(state: &State, key: &ObjectKey) -> bool {
    let watch = watch_name(key);
    state.objects.get(ObjectKind::FileWatch, &watch).is_none()
        || state.file_events(&watch).is_some_and(FileEvents::has_begun)
}

pub(crate) fn ended(
    state: &mut State,
    key: &ObjectKey,
    number: u64,
    record: Option<BuildRecord>,
    outcome: Result<BuiltReference, Failure>,
) {
    let now = state.now;
    if let Some(ObjectRecord { run: Run::Image(run), .. }) = state.objects.records.get_mut(key)
        && run.run == number
    {
        run.record = record;
        run.outcome = Some((now, outcome.map_err(|failure| failure.to_string())));
        state.objects.touch(key);
        tell_map(state, key);
    }
}

/// Handles a runner that failed because of a bug.
pub(crate) fn broke(state: &mut State, key: &ObjectKey, failure: Failure) {
    if let Some(ObjectRecord { run: Run::Image(run), .. }) = state.objects.records.get(key) {
        let number = run.run;
        ended(state, key, number, None, Err(failure));
    }
}

/// Writes the current reference of the image to its map, if there is one.
fn tell_map(state: &mut State, key: &ObjectKey) {
    let Some(ObjectRecord { content, run: Run::Image(run), .. }) = state.objects.records.get(key) else {
        return;
    };
    let (Some(spec), Some((_, Ok(built)))) = (build_spec(content), &run.outcome) else { return };
    let status = ImageMapStatus {
        image: built.in_cluster.clone(),
        image_from_cluster: built.in_cluster.clone(),
        image_from_local: built.local.clone(),
        build_start_time: Some(run.started),
    };
    let key = ObjectKey::new(ObjectKind::ImageMap, map_name(spec.reference));
    let Some(ObjectRecord { object, content: Content::ImageMap(map), .. }) = state.objects.records.get(&key)
    else {
        return;
    };
    // Of several objects that build the same image, the newest counts.
    if map.status.build_start_time.is_none_or(|since| since < run.started) {
        let mut object = object.clone();
        object.set_status(&status);
        put(state, key, object, String::new(), Origin::Outside);
    }
}

pub(super) fn plan(state: &State, key: &ObjectKey, object: &Object, run: &ImageRun) -> Plan {
    let wanted = run.job.clone().filter(|_| run.outcome.is_none() && is_watched(state, key));
    let Some(job) = wanted else { return Plan::new() };
    let resource = log_resource(object);
    Plan::from([Task::Image { object: key.clone(), run: run.run, job, resource }])
}

pub(super) fn docker_image_status(run: &ImageRun) -> DockerImageStatus {
    match (&run.outcome, &run.job) {
        (Some((at, outcome)), _) => DockerImageStatus {
            reference: built_reference(outcome),
            completed: Some(DockerImageStateCompleted {
                started_at: Some(run.started),
                finished_at: Some(*at),
                error: outcome.as_ref().err().cloned().unwrap_or_default(),
                reason: String::new(),
            }),
            stage_statuses: run.record.as_ref().map(stage_statuses).unwrap_or_default(),
            ..DockerImageStatus::default()
        },
        (None, Some(_)) => DockerImageStatus {
            building: Some(DockerImageStateBuilding { started_at: Some(run.started), reason: String::new() }),
            ..DockerImageStatus::default()
        },
        (None, None) => DockerImageStatus {
            waiting: Some(DockerImageStateWaiting { reason: run.refused.clone().unwrap_or_default() }),
            ..DockerImageStatus::default()
        },
    }
}

pub(super) fn cmd_image_status(run: &ImageRun) -> CmdImageStatus {
    match (&run.outcome, &run.job) {
        (Some((at, outcome)), _) => CmdImageStatus {
            reference: built_reference(outcome),
            completed: Some(CmdImageStateCompleted {
                started_at: Some(run.started),
                finished_at: Some(*at),
                error: outcome.as_ref().err().cloned().unwrap_or_default(),
                reason: String::new(),
            }),
            ..CmdImageStatus::default()
        },
        (None, Some(_)) => CmdImageStatus {
            building: Some(CmdImageStateBuilding { started_at: Some(run.started), reason: String::new() }),
            ..CmdImageStatus::default()
        },
        (None, None) => CmdImageStatus {
            waiting: Some(CmdImageStateWaiting { reason: run.refused.clone().unwrap_or_default() }),
            ..CmdImageStatus::default()
        },
    }
}

fn built_reference(outcome: &Result<BuiltReference, String>) -> String {
    outcome.as_ref().map(|built| built.in_cluster.clone()).unwrap_or_default()
}

//! `DockerImage` and `CmdImage`: images that are built because their object says so. What Tiltfiles declare is built by the
//! updates of resources.

use std::collections::BTreeSet;
use std::sync::Arc;

use lilt_api::fields::{Fields, sanitized};
use lilt_api::{Object, ObjectKey, owner_reference, reading};
use lilt_model::cluster::Delivery;
use lilt_model::image::{BuildRecord, ImageBuild, ImageTarget};
use lilt_model::kubernetes::KubernetesResource;
use lilt_model::reference::Reference;
use lilt_model::{ClusterName, Failure, ImageName, Timestamp};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::apply::is_allowed;
use super::pods::{cluster_of, trouble};
use super::trigger::last_file_event;
use super::{ANNOTATION_RESOURCE, ObjectRecord, Origin, Run, images, log_resource, put};
use crate::event::BuiltReference;
use crate::plan::Plan;
use crate::project::stage_statuses;
use crate::state::State;
use crate::task::{DeployJob, ImageJob, Task};

pub(super) const KINDS: [&str; 2] = ["DockerImage", "CmdImage"];

#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct ImageRun {
    /// Every build has its own number.
    run: u64,
    /// What is built; none while it cannot be.
    job: Option<Arc<DeployJob>>,
    /// The newest save that is in it.
    saved: Option<Timestamp>,
    started: Timestamp,
    /// Why it is not built.
    refused: Option<String>,
    /// What the last build went through.
    record: Option<BuildRecord>,
    outcome: Option<(Timestamp, Result<BuiltReference, String>)>,
}

/// The map that says what the image of an object is called.
pub(super) fn map_name(object: &Object) -> String {
    sanitized(object.text("/spec/ref"))
}

/// The `FileWatch` that follows the folder of a build.
pub(super) fn watch_name(key: &ObjectKey) -> String {
    format!("image:{}", key.name)
}

fn job(state: &State, key: &ObjectKey, object: &Object) -> Result<DeployJob, String> {
    let name = ImageName::from(object.text("/spec/ref"));
    Reference::parse(name.as_str()).map_err(|failure| format!("spec.ref: {}", failure.message))?;
    refuse_circle(state, object)?;
    let bases = images::built(state, &object.texts("/spec/imageMaps"))?;
    let build = match key.kind.as_str() {
        "DockerImage" => ImageBuild::Docker(reading::docker_image(object, state.folder())),
        _ => ImageBuild::Custom(reading::cmd_image(object, state.folder())),
    };
    let depends_on = bases.iter().map(|(base, _)| base.name.clone()).collect();
    let target = ImageTarget { name: name.clone(), build, depends_on, ..ImageTarget::default() };
    let reuse = |(base, reference): &(ImageTarget, String)| ImageJob::Reuse {
        name: base.name.clone(),
        reference: reference.clone(),
    };
    let mut jobs: Vec<ImageJob> = bases.iter().map(reuse).collect();
    jobs.push(ImageJob::Build(Box::new(target.clone())));
    let images = bases.into_iter().map(|(base, _)| base).chain([target]).collect();
    let cluster = cluster_of(state, object);
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
    })
}

/// What builds on itself, be it through others, would be built for ever.
fn refuse_circle(state: &State, object: &Object) -> Result<(), String> {
    let own = map_name(object);
    let mut seen = BTreeSet::new();
    let mut next = object.texts("/spec/imageMaps");
    while let Some(map) = next.pop() {
        if map == own {
            return Err(format!("the image {} builds on itself", object.text("/spec/ref")));
        }
        if !seen.insert(map.clone()) {
            continue;
        }
        for kind in KINDS {
            let first = ObjectKey::new(kind, "");
            let builders = state.objects.made.range(first..).take_while(|(key, _)| key.kind == kind);
            let builders = builders.filter(|(_, made)| map_name(&made.object) == map);
            next.extend(builders.flat_map(|(_, made)| made.object.texts("/spec/imageMaps")));
        }
    }
    Ok(())
}

type Place = (Delivery, Option<lilt_model::cluster::Registry>, Option<String>);

/// Where it goes: to the cluster that the Tiltfile deploys to, if it deploys to any.
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
        None => Err(trouble(state, cluster).unwrap_or_default()),
    }
}

pub(super) fn reconsider(state: &mut State, key: &ObjectKey) {
    follow_context(state, key);
    let number = state.next_sequence();
    let now = state.now;
    let Some(made) = state.objects.made.get(key) else { return };
    let saved = last_file_event(state, &[watch_name(key)]);
    let (wanted, refused) = match job(state, key, &made.object) {
        Ok(job) => (Some(job), None),
        Err(why) => (None, Some(why)),
    };
    let Some(ObjectRecord { run: Run::Image(run), .. }) = state.objects.made.get_mut(key) else { return };
    // What was built stays so while a base of it is built.
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

/// A save below the folder of a build is a reason to build again.
fn follow_context(state: &mut State, key: &ObjectKey) {
    let Some(ObjectRecord { object, uid, .. }) = state.objects.made.get(key) else { return };
    let context = object.text("/spec/context");
    if key.kind != "DockerImage" || context.is_empty() {
        return;
    }
    let watch = ObjectKey::new("FileWatch", watch_name(key));
    let mut wanted = Object::named(&watch.name);
    wanted.annotate_unless_said(ANNOTATION_RESOURCE, log_resource(object).as_str());
    wanted.metadata.insert("ownerReferences".to_owned(), json!([owner_reference(key, uid)]));
    let ignores = object.get("/spec/contextIgnores").cloned().unwrap_or_else(|| json!([]));
    wanted.content.insert("spec".to_owned(), json!({"watchedPaths": [context], "ignores": ignores}));
    let is_ours = |made: &ObjectRecord| {
        made.object.metadata.get("ownerReferences") == wanted.metadata.get("ownerReferences")
    };
    let known = state.objects.made.get(&watch);
    if known.is_none_or(|made| is_ours(made) && made.object.get("/spec") != wanted.get("/spec")) {
        let sequence = state.next_sequence();
        put(state, watch, wanted, format!("image-{sequence}"), Origin::Object);
    }
}

/// Nothing is built before its files are watched: a save during the build would be lost.
fn is_watched(state: &State, key: &ObjectKey) -> bool {
    match state.objects.get("FileWatch", &watch_name(key)).map(|made| &made.run) {
        Some(Run::Files(run)) => run.events.has_begun(),
        _ => true,
    }
}

pub(crate) fn ended(
    state: &mut State,
    key: &ObjectKey,
    number: u64,
    record: Option<BuildRecord>,
    outcome: Result<BuiltReference, Failure>,
) {
    let now = state.now;
    if let Some(ObjectRecord { run: Run::Image(run), .. }) = state.objects.made.get_mut(key)
        && run.run == number
    {
        run.record = record;
        run.outcome = Some((now, outcome.map_err(|failure| failure.to_string())));
        state.objects.touch(key);
        tell_map(state, key);
    }
}

/// A runner broke: a bug of ours.
pub(crate) fn broke(state: &mut State, key: &ObjectKey, failure: Failure) {
    if let Some(ObjectRecord { run: Run::Image(run), .. }) = state.objects.made.get(key) {
        let number = run.run;
        ended(state, key, number, None, Err(failure));
    }
}

/// Writes what the image is called now into its map, if there is one.
fn tell_map(state: &mut State, key: &ObjectKey) {
    let Some(ObjectRecord { object, run: Run::Image(run), .. }) = state.objects.made.get(key) else { return };
    let Some((_, Ok(built))) = &run.outcome else { return };
    let status = json!({
        "image": built.in_cluster, "imageFromCluster": built.in_cluster, "imageFromLocal": built.local,
        "buildStartTime": run.started,
    });
    let map = ObjectKey::new("ImageMap", map_name(object));
    let Some(known) = state.objects.made.get(&map).map(|made| made.object.clone()) else { return };
    // Of several that build the same image, the newest counts.
    let since = Timestamp::from_rfc3339(known.text("/status/buildStartTime"));
    if since.is_none_or(|since| since < run.started) {
        let mut told = known;
        told.content.insert("status".to_owned(), status);
        put(state, map, told, String::new(), Origin::Outside);
    }
}

pub(super) fn plan(state: &State, key: &ObjectKey, object: &Object, run: &ImageRun) -> Plan {
    let wanted = run.job.clone().filter(|_| run.outcome.is_none() && is_watched(state, key));
    let Some(job) = wanted else { return Plan::new() };
    let resource = log_resource(object);
    Plan::from([Task::Image { object: key.clone(), run: run.run, job, resource }])
}

pub(super) fn tell(run: &ImageRun, status: &mut Map<String, Value>) {
    let told = match (&run.outcome, &run.job) {
        (Some((at, outcome)), _) => {
            let completed = Fields::new()
                .put("startedAt", json!(run.started))
                .put("finishedAt", json!(at))
                .put_unless_empty("error", outcome.as_ref().err().cloned().unwrap_or_default());
            let reference = outcome.as_ref().map(|built| built.in_cluster.clone()).unwrap_or_default();
            let stages = run.record.as_ref().map(stage_statuses).unwrap_or_default();
            Fields::new()
                .put_unless_empty("ref", reference)
                .put("completed", completed.finish())
                .put_unless_empty("stageStatuses", stages)
                .value()
        }
        (None, Some(_)) => json!({"building": {"startedAt": run.started}}),
        (None, None) => json!({"waiting": {"reason": run.refused.clone().unwrap_or_default()}}),
    };
    status.extend(told.as_object().cloned().unwrap_or_default());
}

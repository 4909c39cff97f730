//! What copies into the containers of a `LiveUpdate`.

use lilt_api::{Content, LiveUpdateSpec, ObjectKey, ObjectKind};
use lilt_model::files::{FileSet, IgnoreRule};
use lilt_model::resource::Body;
use lilt_model::{ContainerId, ResourceName};

use super::{LiveRun, Target};
use crate::cause::Cause;
use crate::objects::{ObjectRecord, log_resource};
use crate::plan::Plan;
use crate::state::State;
use crate::task::{SyncJob, SyncTask, Task};

pub(in crate::objects) fn plan(state: &State, key: &ObjectKey, made: &ObjectRecord, run: &LiveRun) -> Plan {
    let Content::LiveUpdate(object) = &made.content else { return Plan::new() };
    let spec = &object.spec;
    let live_update = spec.live_update(state.folder());
    let log = log_resource(&made.object);
    let without_agent = without_agent(state, spec, &log);
    let task = |(id, target): (&ContainerId, &Target)| {
        let job = target.job.as_ref().map(|job| SyncJob {
            update: job.run,
            cause: Some(match job.everything && job.paths.is_empty() {
                true => Cause::Started,
                false => Cause::Files(job.paths.iter().map(|path| state.shown(path)).collect()),
            }),
            paths: job.paths.clone(),
            everything: job.everything.then(|| ignored(state, spec)),
        });
        let task = SyncTask {
            pod: target.place.pod.clone(),
            container: target.place.name.clone(),
            id: id.clone(),
            agent: target.place.agent,
            without_agent,
            live_update: live_update.clone(),
            given_up: run.given_up.get(id).copied().unwrap_or_default(),
            job,
        };
        let (name, resource) = (key.name.clone(), log.clone());
        Task::ObjectSync { name, resource, task: Box::new(task) }
    };
    let is_reached = |target: &Target| state.clusters.get(&target.place.pod.cluster).info.is_some();
    run.containers.iter().filter(|(_, target)| is_reached(target)).map(task).collect()
}

/// No files, but for what the sources of saves ignore.
fn ignored(state: &State, spec: &LiveUpdateSpec) -> FileSet {
    let ignores = spec.sources.iter().flat_map(|source| ignores_of(state, &source.file_watch));
    FileSet::new(Vec::new(), ignores.collect())
}

/// Of a watch that was made, or of one that lilt itself keeps.
fn ignores_of(state: &State, watch: &str) -> Vec<IgnoreRule> {
    if let Some(Content::FileWatch(watch)) =
        state.objects.get(ObjectKind::FileWatch, watch).map(|made| &made.content)
    {
        return watch.spec.files(state.folder()).ignores;
    }
    let mut kept = state.resources.values().flat_map(|resource| &resource.watches);
    kept.find(|(id, _)| id.name() == watch).map(|(_, watch)| watch.files.ignores.clone()).unwrap_or_default()
}

/// Whether lilt's agent must not come into the containers: as the resource says whose pods they are, or as holds for all.
fn without_agent(state: &State, spec: &LiveUpdateSpec, log: &ResourceName) -> bool {
    let discovery = spec.selector.kubernetes.as_ref().map_or("", |selector| selector.discovery_name.as_str());
    let said = [&ResourceName::new(discovery), log].into_iter().find_map(|name| {
        match &state.resources.get(name)?.spec.body {
            Body::Kubernetes(spec) => Some(spec.without_agent),
            Body::Local(_) | Body::Compose(_) => None,
        }
    });
    said.unwrap_or(!state.settings.live_update_agent)
}

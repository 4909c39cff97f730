//! A fact becomes state. Total: whatever comes, it cannot fail; what is stale or unknown is ignored.

mod alarm;
mod cluster;
mod drift;
mod files;
mod images;
mod load;
mod notices;
mod pods;
mod request;
mod switch;
mod update;

use lilt_model::{ResourceName, Timestamp};

use crate::controllers::port_forward;
use crate::event::{Event, ProgramId, ServeExit};
use crate::objects;
use crate::outage;
use crate::prune;
use crate::state::{BodyState, Probed, ServeState, State};
use crate::task::{Leftovers, TaskId};
use crate::telemetry;
use crate::timeline;

pub(crate) use drift::{ask_for_base, corrects as corrects_drift, lacks_base};
pub(crate) use load::{clean_up, forget as forget_tiltfile, request as request_load, wanted_watches};
pub(crate) use request::{cancel, requested, set_args};
pub(crate) use switch::note_cluster;

pub fn apply(state: &mut State, at: Timestamp, event: Event) {
    state.now = at;
    match event {
        Event::Started => {
            state.started = at;
            alarm::limit_ci(state);
            state.touch_session();
            load::request(state, &ResourceName::tiltfile());
        }
        Event::Requested { request } => requested(state, request),
        Event::Loaded { load, files, contents, outcome } => {
            load::ended(state, load, files, contents, outcome);
        }
        Event::LoadIsSlow { load, activity, files } => load::is_slow(state, load, activity, files),
        Event::Watching { watch, version } => files::watching(state, &watch, version),
        Event::ChangesLost { watch } => files::lost(state, &watch),
        Event::WatchTroubled { watch, failure } => files::troubled(state, &watch, &failure),
        Event::FilesChanged { watch, paths, written } => files::changed(state, watch, paths, written),
        Event::StageBegan { resource, update, stage, detail } => {
            timeline::stage_began(state, &resource, update, stage, &detail);
        }
        Event::ImageBuilt { resource, update, image, reference } => {
            images::built(state, &resource, update, &image, reference);
        }
        Event::StageEnded { resource, update } => timeline::stage_ended(state, &resource, update),
        Event::OutageOver { outage } => outage::over(state, outage),
        Event::Woke => alarm::woke(state),
        Event::UpdateEnded { resource, update, outcome } => update::ended(state, &resource, update, *outcome),
        Event::Synced { resource, update, container, outcome } => {
            update::synced(state, &resource, update, &container, outcome);
        }
        Event::UpdateCommandStarted { resource, update, image, pid } => {
            update::command_started(state, &resource, update, image.as_ref(), pid);
        }
        Event::UpdateCommandEnded { resource, update, image, exit } => {
            update::command_ended(state, &resource, update, image.as_ref(), exit);
        }
        Event::ServeStarted { resource, generation, pid } => {
            set_serve(state, &resource, generation, ServeState::Running { pid, since: at, probed: None });
        }
        Event::ServeEnded { resource, generation, exit } => {
            set_serve(state, &resource, generation, ServeState::Ended { exit, at });
        }
        Event::ProbeChanged { program: ProgramId::Server(name), generation, ready, cause } => {
            set_probed(state, &name, generation, Probed { ready, cause });
        }
        Event::ProbeChanged { program: ProgramId::Command(name), generation, ready, .. } => {
            objects::command_probed(state, &name, generation, ready);
        }
        Event::ClusterConnected { cluster, info } => cluster::connected(state, &cluster, *info),
        Event::ClusterFailed { cluster, address, failure } => {
            cluster::connection_failed(state, &cluster, address, failure);
        }
        Event::ClusterTroubled { cluster, failure } => cluster::failed(state, &cluster, failure),
        Event::ClusterRecovered { cluster } => cluster::recovered(state, &cluster),
        Event::PodsListed { cluster, namespace, pods } => pods::listed(state, &cluster, &namespace, pods),
        Event::PodChanged { pod } => pods::changed(state, *pod),
        Event::PodGone { pod } => pods::gone(state, &pod),
        Event::Noticed { notice } => notices::noticed(state, notice),
        Event::PodsRefused { cluster, namespace, failure } => {
            notices::refused(state, &cluster, namespace, failure);
        }
        Event::ObjectsListed { scope, objects } => drift::listed(state, &scope, objects),
        Event::ObjectChanged { scope, name, mark } => drift::changed(state, &scope, &name, mark),
        Event::ObjectGone { scope, name, mark } => drift::gone(state, &scope, &name, &mark),
        Event::Inspected { resource, inspection, found } => {
            drift::inspected(state, &resource, inspection, found);
        }
        Event::ForwardChanged { owner, slot, local_port, state: reported } => {
            port_forward::changed(state, &owner, slot, local_port, reported);
        }
        Event::CleanedUp { cleanup } => {
            load::cleaned_up(state, cleanup);
        }
        Event::Pruned => prune::ended(state),
        Event::TelemetryDue { run } => telemetry::due(state, run),
        Event::TelemetrySent { run, delivered } => telemetry::sent(state, run, delivered),
        Event::ObjectPut { key, object, uid } => objects::written(state, key, *object, uid),
        Event::ObjectNoted { key, of, notes } => objects::noted(state, key, &of, *notes),
        Event::ObjectDeleted { key, keep_owned } => objects::delete(state, &key, keep_owned),
        Event::OwnerGone { uid } => objects::owner_gone(state, &uid),
        Event::ObjectsComing { name, run, resource, cluster, objects } => {
            objects::objects_coming(state, &name, run, &resource, Leftovers::objects(cluster, objects));
        }
        Event::ObjectsApplied { name, run, outcome } => objects::objects_applied(state, &name, run, outcome),
        Event::ObjectSyncWaits { name, run, container, message } => {
            objects::live_update_waits(state, &name, run, &container, message);
        }
        Event::ObjectSynced { name, run, container, outcome } => {
            objects::live_update_synced(state, &name, run, &container, outcome);
        }
        Event::ObjectImageBuilt { key, run, record, outcome } => {
            objects::image_ended(state, &key, run, record, outcome);
        }
        Event::ClusterLooked { name, run, outcome } => objects::cluster_looked(state, &name, run, outcome),
        Event::RepositoryFetched { name, run, outcome } => {
            objects::repository_fetched(state, &name, run, outcome);
        }
        Event::ExtensionFound { name, run, outcome } => objects::extension_found(state, &name, run, outcome),
        Event::CommandStarted { name, run, pid } => objects::command_started(state, &name, run, pid),
        Event::CommandEnded { name, run, exit } => objects::command_ended(state, &name, run, exit),
        Event::TaskBroke { task, failure } => broke(state, task, failure),
    }
}

fn set_serve(state: &mut State, name: &lilt_model::ResourceName, generation: u64, next: ServeState) {
    if let Some(resource) = state.resources.get_mut(name)
        && let BodyState::Local(local) = &mut resource.body
        && let Some(serve) = local.serve.as_mut().filter(|serve| serve.generation == generation)
    {
        if let ServeState::Running { since, pid, .. } = &next {
            serve.started = Some(*since);
            serve.pid = *pid;
        }
        if let (ServeState::Running { probed, .. }, ServeState::Ended { .. }) = (&serve.state, &next) {
            serve.was_ready = serve.probe.is_none() || probed.as_ref().is_some_and(|it| it.ready);
        }
        serve.state = next;
        state.touch(name);
    }
}

/// Of a server that has ended meanwhile it means nothing any more.
fn set_probed(state: &mut State, name: &lilt_model::ResourceName, generation: u64, found: Probed) {
    if let Some(resource) = state.resources.get_mut(name)
        && let BodyState::Local(local) = &mut resource.body
        && let Some(serve) = local.serve.as_mut().filter(|serve| serve.generation == generation)
        && let ServeState::Running { probed, .. } = &mut serve.state
    {
        *probed = Some(found);
        state.touch(name);
    }
}

/// A runner broke. What it was to do counts as failed; it is not started again by itself.
fn broke(state: &mut State, task: TaskId, failure: lilt_model::Failure) {
    match task {
        TaskId::Load(name) => load::broke(state, &name, failure),
        TaskId::Update(name) => update::broke(state, &name, failure),
        TaskId::Sync(name, container) => update::sync_broke(state, &name, &container, failure),
        TaskId::Serve(name) => {
            let generation = serve_generation(state, &name);
            let next = ServeState::Ended { exit: ServeExit::Failed(failure), at: state.now };
            set_serve(state, &name, generation, next);
        }
        TaskId::Probe(ProgramId::Command(name)) => objects::command_broke(state, &name, failure),
        TaskId::Probe(ProgramId::Server(name)) => {
            let generation = serve_generation(state, &name);
            set_probed(state, &name, generation, Probed { ready: false, cause: Some(failure.message) });
        }
        TaskId::Forward(owner, slot) => port_forward::broke(state, &owner, slot, failure),
        TaskId::Cleanup(cleanup) => {
            load::cleaned_up(state, cleanup);
        }
        TaskId::Connect(name) | TaskId::Namespace(name, _) => cluster::failed(state, &name, failure),
        TaskId::Kubeconfig(_) => {}
        TaskId::Outage(outage) => outage::broke(state, &outage),
        TaskId::Prune => prune::ended(state),
        TaskId::Telemetry => telemetry::broke(state),
        TaskId::Command(name) => objects::command_broke(state, &name, failure),
        TaskId::Apply(name) => objects::apply_broke(state, &name, failure),
        TaskId::ObjectSync(name, _, container) => {
            objects::live_update_broke(state, &name, &container, failure);
        }
        TaskId::Image(key) => objects::image_broke(state, &key, failure),
        TaskId::Cluster(name) => objects::cluster_broke(state, &name, failure),
        TaskId::Repository(name) => objects::repository_broke(state, &name, failure),
        TaskId::Extension(name) => objects::extension_broke(state, &name, failure),
        // The daemon starts these again and says so.
        TaskId::Watch(_) | TaskId::LogStream(..) | TaskId::Wake | TaskId::Objects(_) => {}
        TaskId::Inspect(name) => drift::inspected(state, &name, inspection_of(state, &name), Vec::new()),
    }
}

fn inspection_of(state: &State, name: &lilt_model::ResourceName) -> u64 {
    let kubernetes = state.resources.get(name).and_then(|resource| resource.kubernetes());
    kubernetes.map_or(0, |kubernetes| kubernetes.drifting.inspection)
}

fn serve_generation(state: &State, name: &lilt_model::ResourceName) -> u64 {
    match state.resources.get(name).map(|resource| &resource.body) {
        Some(BodyState::Local(local)) => local.serve.as_ref().map_or(0, |serve| serve.generation),
        _ => 0,
    }
}

//! A fact becomes state. Total: whatever comes, it cannot fail; what is stale or unknown is ignored.

mod alarm;
mod cluster;
mod drift;
mod images;
mod load;
mod notices;
mod pods;
mod request;
mod switch;
mod update;

use lilt_model::{ResourceName, Timestamp};

use crate::controllers::{command, file_watch, live_update, port_forward};
use crate::event::Event;
use crate::objects;
use crate::outage;
use crate::prune;
use crate::state::State;
use crate::task::{Leftovers, TaskId};
use crate::telemetry;
use crate::timeline;

pub(crate) use drift::{corrects as corrects_drift, lacks_base, request_base};
pub(crate) use images::{
    propagate_to_unwatched_sharers, record_changes as record_image_changes, save as save_number,
};
pub(crate) use load::{
    clean_up, forget as forget_tiltfile, request as request_load,
    request_for_changes as request_load_for_changes, wanted_watches,
};
pub(crate) use request::{cancel, requested, set_args};
pub(crate) use switch::note_cluster;
pub(crate) use update::{finish as finish_update, take as take_update};

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
        Event::Watching { watch, version } => file_watch::watching(state, &watch, version),
        Event::ChangesLost { watch } => file_watch::changes_lost(state, &watch),
        Event::WatchTroubled { watch, failure } => file_watch::troubled(state, &watch, &failure),
        Event::FilesChanged { changes } => {
            for changes in changes {
                file_watch::changed(state, changes);
            }
        }
        Event::StageBegan { owner, update, stage, detail } => {
            live_update::stage_began(state, &owner, update, stage, &detail);
        }
        Event::ImageBuilt { resource, update, image, reference } => {
            images::built(state, &resource, update, &image, reference);
        }
        Event::StageEnded { resource, update } => timeline::stage_ended(state, &resource, update),
        Event::OutageOver { outage } => outage::over(state, outage),
        Event::Woke => alarm::woke(state),
        Event::UpdateEnded { resource, update, outcome } => update::ended(state, &resource, update, *outcome),
        Event::Synced { owner, update, container, outcome } => {
            live_update::synced(state, &owner, update, &container, outcome);
        }
        Event::UpdateCommandStarted { resource, update, image, pid } => {
            update::command_started(state, &resource, update, image.as_ref(), pid);
        }
        Event::UpdateCommandEnded { resource, update, image, exit } => {
            update::command_ended(state, &resource, update, image.as_ref(), exit);
        }
        Event::CommandStarted { owner, run, pid } => command::started(state, &owner, run, pid),
        Event::CommandEnded { owner, run, exit } => command::ended(state, &owner, run, exit),
        Event::CommandProbed { owner, run, ready, cause } => {
            command::probed(state, &owner, run, ready, cause);
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
        Event::ObjectPut { key, object, uid } => objects::handle_write(state, key, *object, uid),
        Event::ObjectNoted { key, of, notes } => objects::noted(state, key, &of, *notes),
        Event::ObjectDeleted { key, keep_owned } => objects::delete(state, &key, keep_owned),
        Event::OwnerGone { uid } => objects::owner_gone(state, &uid),
        Event::ObjectsComing { name, run, resource, cluster, objects } => {
            objects::objects_coming(state, &name, run, &resource, Leftovers::objects(cluster, objects));
        }
        Event::ObjectsApplied { name, run, outcome } => objects::objects_applied(state, &name, run, outcome),
        Event::ObjectImageBuilt { key, run, record, outcome } => {
            objects::image_ended(state, &key, run, record, outcome);
        }
        Event::ClusterLooked { name, run, outcome } => objects::cluster_looked(state, &name, run, outcome),
        Event::RepositoryFetched { name, run, outcome } => {
            objects::repository_fetched(state, &name, run, outcome);
        }
        Event::ExtensionFound { name, run, outcome } => objects::extension_found(state, &name, run, outcome),
        Event::TaskBroke { task, failure } => broke(state, task, failure),
    }
}

/// A runner broke. What it was to do counts as failed; it is not started again by itself.
fn broke(state: &mut State, task: TaskId, failure: lilt_model::Failure) {
    match task {
        TaskId::Load(name) => load::broke(state, &name, failure),
        TaskId::Update(name) => update::broke(state, &name, failure),
        TaskId::Sync(owner, container) => live_update::broke(state, &owner, &container, failure),
        TaskId::Command(owner) => command::broke(state, &owner, failure),
        TaskId::Probe(owner) => command::probe_broke(state, &owner, failure),
        TaskId::Forward(owner, slot) => port_forward::broke(state, &owner, slot, failure),
        TaskId::Cleanup(cleanup) => {
            load::cleaned_up(state, cleanup);
        }
        TaskId::Connect(name) | TaskId::Namespace(name, _) => cluster::failed(state, &name, failure),
        TaskId::Kubeconfig(_) => {}
        TaskId::Outage(outage) => outage::broke(state, &outage),
        TaskId::Prune => prune::ended(state),
        TaskId::Telemetry => telemetry::broke(state),
        TaskId::Apply(name) => objects::apply_broke(state, &name, failure),
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

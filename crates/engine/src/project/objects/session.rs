//! The objects that show the session as a whole.

use lilt_api::{
    Cluster, ClusterConnection, ClusterSpec, ClusterStatus, ConfigMap, DockerClusterConnection, FileWatch,
    FileWatchSpec, KubernetesClusterConnection, RegistryHosting, RestartOnSpec, Session, SessionCISpec,
    SessionSpec, SessionStatus, StopOnSpec, Tiltfile, TiltfileSpec,
};
use lilt_model::duration::display;
use lilt_model::resource::Body;
use lilt_model::{ClusterName, ResourceName};

use super::targets::tiltfile_target;
use super::{Named, object, owned, stop_button, stop_button_name};
use crate::controllers::file_watch;
use crate::event::WatchId;
use crate::objects::{show_notes, tiltfile_status};
use crate::state::{ClusterState, Mode, State};
use crate::verdict::{Verdict, verdict};

/// The resources that were triggered and wait for their update.
const TRIGGER_QUEUE: &str = "tilt-trigger-queue";

/// The objects that show the session as a whole.
pub fn project_session_objects(state: &State) -> Vec<Named> {
    let tiltfile = ResourceName::tiltfile();
    let mut objects = vec![session(state), object(tiltfile.as_str(), &main_tiltfile(state))];
    for (name, tiltfile) in state.all_tiltfiles().filter(|(_, tiltfile)| !tiltfile.watch.files().is_empty()) {
        let watch = FileWatch {
            spec: FileWatchSpec::from(tiltfile.watch.files()),
            status: file_watch::status(tiltfile.watch.events()),
        };
        objects.push(owned(&WatchId::Tiltfile(name.clone()).name(), &name, &watch));
    }
    for name in state.tiltfile_names() {
        objects.push(stop_button(state, &name));
    }
    for (name, cluster) in state.clusters.iter().filter(|(_, cluster)| cluster.wanted) {
        objects.push(object(&name.object_name(), &self::cluster(state, name, cluster)));
    }
    if state.resources.values().any(|resource| matches!(resource.spec.body, Body::Compose(_))) {
        objects.push(object("docker", &compose_cluster()));
    }
    objects.push(object(TRIGGER_QUEUE, &trigger_queue(state)));
    show_notes(state, &mut objects);
    objects
}

/// Lists the resources whose trigger has not been served, oldest first, in the form of Tilt's map.
fn trigger_queue(state: &State) -> ConfigMap {
    let queued =
        state.resources.values().filter_map(|it| Some((it.triggered?, &it.spec.name, it.trigger_reason)));
    let mut queued: Vec<_> = queued.collect();
    queued.sort_unstable();
    let mut map = ConfigMap::default();
    for (index, (_, name, reason)) in queued.into_iter().enumerate() {
        map.data.insert(format!("{index}-name"), name.to_string());
        map.data.insert(format!("{index}-reason-code"), reason.code().to_string());
    }
    map
}

/// Returns the object of the main Tiltfile, with the fields written by clients.
fn main_tiltfile(state: &State) -> Tiltfile {
    let tiltfile = &state.tiltfile;
    let name = ResourceName::tiltfile();
    let own_watch = WatchId::Tiltfile(name.clone()).name();
    let written = tiltfile.triggers.spec.clone();
    let restart_on = match written.restart_on {
        Some(mut restart_on) => {
            if tiltfile.triggers.follows_files {
                restart_on.file_watches.insert(0, own_watch);
            }
            restart_on
        }
        None => RestartOnSpec { file_watches: vec![own_watch], ui_buttons: Vec::new() },
    };
    let stop_on = written.stop_on.unwrap_or_else(|| StopOnSpec { ui_buttons: vec![stop_button_name(&name)] });
    Tiltfile {
        spec: TiltfileSpec {
            args: tiltfile.args.clone(),
            labels: written.labels,
            path: tiltfile.path.display().to_string(),
            restart_on: Some(restart_on),
            stop_on: Some(stop_on),
        },
        status: tiltfile_status(tiltfile),
    }
}

fn cluster(state: &State, name: &ClusterName, cluster: &ClusterState) -> Cluster {
    let known = cluster
        .info
        .as_ref()
        .map(|info| ClusterStatus { connected_at: cluster.connected, ..ClusterStatus::from(info) });
    let context = match name.is_session() {
        true => state.options.context.clone().unwrap_or_default(),
        false => name.to_string(),
    };
    let connection = KubernetesClusterConnection {
        context,
        namespace: state.options.namespace.clone().unwrap_or_default(),
    };
    Cluster {
        spec: ClusterSpec {
            connection: Some(ClusterConnection { kubernetes: Some(connection), docker: None }),
            default_registry: state.settings.default_registry.as_ref().map(RegistryHosting::from),
        },
        status: ClusterStatus {
            error: cluster.failure.as_ref().map(ToString::to_string).unwrap_or_default(),
            ..known.unwrap_or_default()
        },
    }
}

/// The Docker engine that services of Docker Compose would run in.
fn compose_cluster() -> Cluster {
    let docker = Some(DockerClusterConnection::default());
    Cluster {
        spec: ClusterSpec {
            connection: Some(ClusterConnection { docker, kubernetes: None }),
            default_registry: None,
        },
        status: ClusterStatus {
            error: "Docker Compose is not supported yet".to_owned(),
            ..ClusterStatus::default()
        },
    }
}

/// The session without the targets of resources: with a thousand of them, a change of one must not write them all again.
fn session(state: &State) -> Named {
    let mode = state.options.mode;
    let condition = match mode {
        Mode::Up => "manual",
        Mode::Ci => "ci",
    };
    // As under Tilt: `up` shows the settings once the Tiltfile has set them or left them at their defaults.
    let shows_ci = mode == Mode::Ci || state.tiltfile.loaded;
    let verdict = if mode == Mode::Ci { verdict(state) } else { None };
    let session = Session {
        spec: SessionSpec {
            tiltfile_path: state.options.tiltfile.display().to_string(),
            exit_condition: condition.to_owned(),
            ci: shows_ci.then(|| SessionCISpec::new(&state.settings.ci, state.ci_timeout())),
        },
        status: SessionStatus {
            pid: i64::from(state.options.pid),
            start_time: Some(state.started),
            done: verdict.is_some(),
            error: verdict.and_then(verdict_error).unwrap_or_default(),
            // The store appends the targets of resources to these.
            targets: vec![tiltfile_target(state)],
        },
    };
    object("Tiltfile", &session)
}

fn verdict_error(verdict: Verdict) -> Option<String> {
    match verdict {
        Verdict::Ready => None,
        Verdict::Broken { cause, .. } => Some(cause),
        Verdict::TimedOut { after, waiting } => {
            let waiting: Vec<String> = waiting.iter().map(|(name, how)| format!("{name} {how}")).collect();
            Some(format!("Timeout after {}: {}", display(after), waiting.join(", ")))
        }
    }
}

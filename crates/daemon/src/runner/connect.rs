//! Connects to a cluster, however long it takes.
//!
//! An unreachable cluster is retried continuously. An unusable kubeconfig is read again only when it, or a file that it
//! names, changes. A rejected login or certificate is retried then, and seldom otherwise.

mod image_delivery;
pub(crate) mod remote;
mod sharing;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use lilt_cluster::{Cluster, ConnectOptions};
use lilt_docker::Engine;
use lilt_engine::{Event, WatchId};
use lilt_host::process::Guardian;
use lilt_host::watch::Subscription;
use lilt_model::cluster::ClusterInfo;
use lilt_model::files::FileSet;
use lilt_model::log::{Level, Source};
use lilt_model::{ClusterName, Failure, ResourceName, SpanId};

use crate::connections::Connection;
use crate::context::{Context, Message};
use crate::plugin_log::PluginLog;
use crate::runner::FileWatcher;
use crate::settings::Settings;

const FIRST_DELAY: Duration = Duration::from_millis(200);
const LONGEST_DELAY: Duration = Duration::from_secs(3);
/// Between attempts with a rejected login or certificate: some login commands open a browser window each time.
const FIRST_PERSISTENT_DELAY: Duration = Duration::from_secs(5);
const LONGEST_PERSISTENT_DELAY: Duration = Duration::from_secs(60);
/// Between two reads of an unusable kubeconfig that cannot be watched.
const UNWATCHED_DELAY: Duration = Duration::from_secs(30);

pub(crate) async fn run(context: Context, watcher: FileWatcher, plugin_log: PluginLog, name: ClusterName) {
    let mut delay = FIRST_DELAY;
    let mut reported: Option<Failure> = None;
    let mut changes: KubeconfigChanges = None;
    let kube_context = context.settings.connection(&name).context;
    let output = plugin_log.log_to(span_id(&name), &context.settings.plugin_output);
    let docker = context.connections.docker().ok().map(Arc::as_ref);
    loop {
        let attempt = async {
            let options =
                ConnectOptions { plugin_output: output.clone(), ..context.settings.connection(&name) };
            let cluster = Cluster::connect(options).await.map_err(|failure| (failure, None))?;
            let address = cluster.address();
            let found = examine(cluster, &context.settings, &context.guardian, docker, &name).await;
            found.map_err(|failure| (failure, Some(address)))
        };
        let attempt = tokio::select! {
            attempt = attempt => attempt,
            () = context.cancel.cancelled() => return,
        };
        let retry;
        match attempt {
            Ok((connection, info, warnings)) => {
                announce(&context, &name, &info, reported.is_some());
                warnings.iter().for_each(|warning| {
                    span(&context, &name).print(Level::Warn, &format!("WARNING: {warning}"));
                });
                let info = Box::new(info);
                context.send_message(Message::Connected { cluster: name, connection, info }).await;
                return;
            }
            Err((failure, address)) => {
                retry = Retry::after(&failure, address.is_none());
                if reported.as_ref() != Some(&failure) {
                    let next = retry.announcement();
                    span(&context, &name).print(Level::Error, &format!("ERROR: {failure}\n{next}"));
                    let (cluster, failure) = (name.clone(), failure.clone());
                    context.send(Event::ClusterFailed { cluster, address, failure }).await;
                }
                reported = Some(failure);
            }
        }
        delay = retry.delay(delay, LONGEST_DELAY);
        tokio::select! {
            () = retry.kubeconfig_changed(&watcher, kube_context.as_deref(), &mut changes) => {}
            () = tokio::time::sleep(delay), if retry != Retry::OnChange => {
                delay *= 2;
            }
            () = context.cancel.cancelled() => return,
        }
    }
}

/// When a failed connection is retried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Retry {
    /// Soon: the cluster does not respond.
    Soon,
    /// When the kubeconfig changes, and seldom until then.
    Seldom,
    /// When the kubeconfig changes: it cannot be used.
    OnChange,
}

impl Retry {
    /// Chooses by the failure. `is_unaddressed`: it came before the cluster's address was known.
    pub(super) fn after(failure: &Failure, is_unaddressed: bool) -> Self {
        // If this machine lacked what it takes to read the kubeconfig, no change of a file would announce its recovery.
        if is_unaddressed && failure.unreachable().is_none() {
            Self::OnChange
        } else if failure.kind.is_persistent() {
            Self::Seldom
        } else {
            Self::Soon
        }
    }

    /// Returns what to log after a failure.
    pub(super) fn announcement(self) -> &'static str {
        match self {
            Self::Soon => "Trying again until it answers.",
            Self::Seldom => {
                "Trying again when the kubeconfig changes, and until then ever less often, at least once a minute."
            }
            Self::OnChange => "Connecting again when the kubeconfig changes.",
        }
    }

    /// Clamps a delay to the limits of this kind of retry. `longest` is the limit of `Soon`.
    pub(super) fn delay(self, proposed: Duration, longest: Duration) -> Duration {
        match self {
            Self::Seldom => proposed.clamp(FIRST_PERSISTENT_DELAY, LONGEST_PERSISTENT_DELAY),
            _ => proposed.min(longest),
        }
    }

    /// Waits for a change of the kubeconfig if that leads to a retry; otherwise for ever.
    pub(super) async fn kubeconfig_changed(
        self,
        watcher: &FileWatcher,
        kube_context: Option<&str>,
        changes: &mut KubeconfigChanges,
    ) {
        if self == Self::Soon {
            return std::future::pending().await;
        }
        let is_first = changes.is_none();
        kubeconfig_changed(watcher, kube_context, changes).await;
        // The first wait only starts a watch. Earlier changes are seen by the next attempt, which comes anyway.
        if self == Self::Seldom && is_first && changes.is_some() {
            kubeconfig_changed(watcher, kube_context, changes).await;
        }
    }
}

/// The files that are watched, and the watch.
pub(super) type KubeconfigChanges = Option<(Vec<PathBuf>, Subscription<Option<WatchId>>)>;

/// Waits for a change of the kubeconfig files or of a file that they name.
///
/// Returns at once whenever the set of files differs from the watched one: changes before the new watch would be missed.
async fn kubeconfig_changed(
    watcher: &FileWatcher,
    kube_context: Option<&str>,
    changes: &mut KubeconfigChanges,
) {
    let files = lilt_cluster::connection_files(kube_context);
    match changes {
        Some((watched, subscription)) if *watched == files => {
            if subscription.next().await.is_none() {
                *changes = None;
            }
        }
        _ => {
            let set = FileSet::new(files.clone(), Vec::new());
            match watcher.subscribe(None, set) {
                Ok(subscription) => *changes = Some((files, subscription)),
                // Files that cannot be watched are polled.
                Err(_) => tokio::time::sleep(UNWATCHED_DELAY).await,
            }
        }
    }
}

pub(crate) type Connected = (Connection, ClusterInfo, image_delivery::Warnings);

/// Connects to a cluster, and determines its properties and how images are delivered to it.
///
/// `docker` is the engine of this machine.
pub(crate) async fn connect(
    settings: &Settings,
    guardian: &Guardian,
    docker: Option<&Engine>,
    name: &ClusterName,
) -> Result<Connected, Failure> {
    let cluster = Cluster::connect(settings.connection(name)).await?;
    examine(cluster, settings, guardian, docker, name).await
}

async fn examine(
    cluster: Cluster,
    settings: &Settings,
    guardian: &Guardian,
    docker: Option<&Engine>,
    name: &ClusterName,
) -> Result<Connected, Failure> {
    let mut info = cluster.probe().await?;
    let kubeconfig = if name.is_session() { None } else { settings.kubeconfig.write_for(name.as_str())? };
    let written = settings.kubeconfig.written().filter(|_| name.is_session());
    info.config_path = kubeconfig.clone().or_else(|| written.map(|written| written.path.clone()));
    info.node_commands = settings.node_commands_of(name, &info.context);
    let image_delivery::ImageDelivery { engine, mut warnings } =
        image_delivery::find(guardian, docker, &mut info).await?;
    warnings.extend(remote::warning(&cluster).await);
    Ok((Connection { cluster, engine, kubeconfig }, info, warnings))
}

fn span(context: &Context, name: &ClusterName) -> lilt_store::Span {
    context.logs.span(span_id(name), Some(ResourceName::tiltfile()), Source::Build)
}

fn span_id(name: &ClusterName) -> SpanId {
    SpanId::from(if name.is_session() { "cluster".to_owned() } else { format!("cluster:{name}") })
}

fn announce(context: &Context, name: &ClusterName, info: &ClusterInfo, after_failure: bool) {
    let mut span = span(context, name);
    if after_failure {
        span.info(&format!("Connected to the cluster of context {}", info.context));
    }
    if let Some(registry) = &info.registry {
        span.info(&format!("Auto-detected local registry from environment: {}", registry.host));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn retry_of_a_connection_depends_on_the_failure() {
        let failure = Failure::environment("no");
        let short = failure.clone().of_kind(lilt_model::Unreachable::Machine);
        assert_eq!(Retry::after(&failure, true), Retry::OnChange);
        assert_eq!(Retry::after(&short, true), Retry::Soon);
        assert_eq!(Retry::after(&failure, false), Retry::Soon);
        assert_eq!(
            Retry::after(&failure.of_kind(lilt_model::FailureKind::LoginRejected), false),
            Retry::Seldom
        );
        let seconds =
            |retry: Retry, proposed| retry.delay(Duration::from_secs(proposed), LONGEST_DELAY).as_secs();
        assert_eq!([1, 10, 120].map(|proposed| seconds(Retry::Seldom, proposed)), [5, 10, 60]);
        assert_eq!([1, 10].map(|proposed| seconds(Retry::Soon, proposed)), [1, 3]);
    }
}

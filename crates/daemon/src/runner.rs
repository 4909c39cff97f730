//! One async function per kind of task. Each ends with exactly one terminal event where its kind has one, and
//! leaves nothing behind when it is cancelled.

mod api_retry;
mod apply;
mod capture;
mod cleanup;
mod cluster;
mod command;
pub(crate) mod connect;
mod deploy;
mod extension;
mod forward;
mod image;
mod kubeconfig;
mod load;
mod local;
mod log_stream;
mod namespace;
mod objects;
mod outage;
mod pod_report;
mod probe;
mod prune;
mod report;
mod sync;
mod telemetry;
mod wake;
mod watch;

use lilt_engine::{Cause, Event, Task, UpdateJob, UpdateOutcome};
use lilt_model::{Failure, ResourceName};
use tokio::sync::watch::Receiver;

use crate::context::Context;

pub(crate) use connect::{Connected, connect};
pub(crate) use deploy::base::Base;
pub(crate) use deploy::{CachedBuild, ImageReferences, cached_references, in_pods, injections};
pub(crate) use forward::ConnectionSlots;
pub(crate) use load::evaluate;
pub(crate) use prune::{distinct, prune};
pub(crate) use sync::Readings;

/// Runs a task to its end. `feed` brings what continues it to tasks that go on with that.
pub(crate) async fn run(feed: Receiver<Task>, context: Context) {
    let task = feed.borrow().clone();
    match task {
        Task::Load { tiltfile: name, load, cause, path, args, secrets } => {
            load::run(context, load::LoadJob { name, load, cause, path, args, secrets }).await;
        }
        Task::Apply { name, run, job } => apply::run(context, name, run, &job).await,
        Task::Image { object, run, job, resource } => image::run(context, object, run, resource, &job).await,
        Task::Cluster { name, run, source } => cluster::run(context, name, run, source).await,
        Task::Repository { name, run, source } => extension::fetch(context, name, run, source).await,
        Task::Extension { name, run, source, path } => {
            extension::find(context, name, run, source, path).await;
        }
        Task::Watch { watch, .. } => watch::run(context, watch, feed).await,
        Task::Update { resource, update, cause, job } => match &*job {
            UpdateJob::Local(job) => local::run(context, resource, update, cause, job).await,
            UpdateJob::Deploy(job) => deploy::run(context, resource, update, cause, job).await,
            UpdateJob::Refused(failure) => refuse(context, resource, update, &cause, failure.clone()).await,
        },
        Task::Command { owner, run, command, on_exit, resource } => {
            command::run(context, owner, run, command, on_exit, resource).await;
        }
        Task::Probe { owner, run, probe, resource } => {
            probe::run(context, owner, run, probe, resource).await;
        }
        Task::Outage { outage, id, attempts, immediate } => {
            outage::run(context, outage, id, attempts, immediate).await;
        }
        Task::Prune(job) => prune::run(context, &job).await,
        Task::Telemetry(job) => telemetry::run(context, &job).await,
        Task::Wake { at } => wake::run(context, at).await,
        Task::Connect { cluster, .. } => connect::run(context, cluster).await,
        Task::Kubeconfig { cluster } => kubeconfig::run(context, cluster).await,
        Task::Namespace { cluster, namespace, reconnect } => {
            namespace::run(context, cluster, namespace, reconnect > 0).await;
        }
        Task::Objects { scope } => objects::follow(context, scope).await,
        Task::Inspect { resource, inspection } => objects::inspect(context, resource, *inspection).await,
        Task::LogStream { owner, resource, pod, .. } => {
            log_stream::run(context, owner, resource, &pod.cluster, feed).await;
        }
        Task::Forward { owner, slot, resource, cluster, forward, .. } => {
            let port = forward::Port::new(context, owner, slot, resource, cluster, forward);
            port.run(feed).await;
        }
        Task::Sync { owner, resource, .. } => sync::run(context, owner, resource, feed).await,
        Task::Cleanup { cleanup, resource, leftovers, reason } => {
            cleanup::run(context, cleanup, resource, leftovers, reason).await;
        }
    }
}

/// An update that cannot be done says so.
async fn refuse(context: Context, resource: ResourceName, update: u64, cause: &Cause, failure: Failure) {
    let mut span = context.update_span(&resource, update);
    report::begin(&mut span, cause);
    report::failed(&mut span, &failure);
    drop(span);
    let outcome = UpdateOutcome { failure: Some(failure), ..UpdateOutcome::success() };
    context.send(Event::UpdateEnded { resource, update, outcome: Box::new(outcome) }).await;
}

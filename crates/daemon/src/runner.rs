//! One async function per kind of task. Each ends with exactly one terminal event where its kind has one, and
//! leaves nothing behind when it is cancelled.

mod apply;
mod cleanup;
mod cluster;
mod command;
pub(crate) mod connect;
mod deploy;
mod extension;
mod follow;
mod forward;
mod image;
mod kubeconfig;
mod load;
mod local;
mod namespace;
mod objects;
mod outage;
mod patience;
mod probe;
mod program;
mod prune;
mod reading;
mod report;
mod serve;
mod sync;
mod telemetry;
mod wake;
mod watch;

use lilt_engine::{Cause, Event, TaskId, TaskSpec, UpdateJob, UpdateOutcome};
use lilt_model::{Failure, ResourceName};
use tokio::sync::watch::Receiver;

use crate::context::Context;

pub(crate) use connect::{Reached, reach};
pub(crate) use deploy::base::Base;
pub(crate) use deploy::{FirstBuild, Named, foreseen, in_pods, injections};
pub(crate) use forward::ConnectionSlots;
pub(crate) use load::evaluate;
pub(crate) use prune::{distinct, prune};
pub(crate) use sync::Readings;

/// Runs a task to its end. `spec` brings new specifications to tasks that take them while running.
pub(crate) async fn run(id: TaskId, spec: Receiver<TaskSpec>, context: Context) {
    let first = spec.borrow().clone();
    match (id, first) {
        (TaskId::Load(name), TaskSpec::Load { load, cause, path, args, secrets }) => {
            load::run(context, load::Order { name, load, cause, path, args, secrets }).await;
        }
        (TaskId::Apply(name), TaskSpec::Apply { run, job }) => apply::run(context, name, run, &job).await,
        (TaskId::Image(key), TaskSpec::Image { run, job, resource }) => {
            image::run(context, key, run, resource, &job).await;
        }
        (TaskId::Cluster(name), TaskSpec::Cluster { run, source }) => {
            cluster::run(context, name, run, source).await;
        }
        (TaskId::Repository(name), TaskSpec::Repository { run, source }) => {
            extension::fetch(context, name, run, source).await;
        }
        (TaskId::Extension(name), TaskSpec::Extension { run, source, path }) => {
            extension::find(context, name, run, source, path).await;
        }
        (TaskId::Watch(id), TaskSpec::Watch { .. }) => watch::run(context, id, spec).await,
        (TaskId::Update(name), TaskSpec::Update { update, cause, job }) => match &*job {
            UpdateJob::Local(job) => local::run(context, name, update, cause, job).await,
            UpdateJob::Deploy(job) => deploy::run(context, name, update, cause, job).await,
            UpdateJob::Refused(failure) => refuse(context, name, update, &cause, failure.clone()).await,
        },
        (TaskId::Serve(name), TaskSpec::Serve { generation, command }) => {
            serve::run(context, name, generation, command).await;
        }
        (TaskId::Probe(program), TaskSpec::Probe { generation, probe, resource }) => {
            probe::run(context, program, generation, probe, resource).await;
        }
        (TaskId::Command(name), TaskSpec::Command { run, command, resource }) => {
            command::run(context, name, run, command, resource).await;
        }
        (TaskId::Outage(outage), TaskSpec::Outage { id, attempts, immediate }) => {
            outage::run(context, outage, id, attempts, immediate).await;
        }
        (TaskId::Prune, TaskSpec::Prune(job)) => prune::run(context, &job).await,
        (TaskId::Telemetry, TaskSpec::Telemetry(job)) => telemetry::run(context, &job).await,
        (TaskId::Wake, TaskSpec::Wake { at }) => wake::run(context, at).await,
        (TaskId::Connect(name), TaskSpec::Connect { .. }) => connect::run(context, name).await,
        (TaskId::Kubeconfig(name), TaskSpec::Kubeconfig) => kubeconfig::run(context, name).await,
        (TaskId::Namespace(cluster, namespace), TaskSpec::Namespace { reconnect }) => {
            namespace::run(context, cluster, namespace, reconnect > 0).await;
        }
        (TaskId::Objects(scope), TaskSpec::Objects) => objects::follow(context, scope).await,
        (TaskId::Inspect(name), TaskSpec::Inspect(inspection)) => {
            objects::inspect(context, name, *inspection).await;
        }
        (TaskId::Follow(name, _), TaskSpec::Follow { .. }) => follow::run(context, name, spec).await,
        (TaskId::Forward(name, _), TaskSpec::Forward { cluster, forward, .. }) => {
            forward::run(context, name, None, (cluster, forward), spec).await;
        }
        (TaskId::ObjectForward(object, name, place), TaskSpec::Forward { cluster, forward, .. }) => {
            forward::run(context, name, Some((object, place)), (cluster, forward), spec).await;
        }
        (TaskId::Stream(object, name), TaskSpec::Stream { .. }) => {
            follow::stream(context, object, name, spec).await;
        }
        (TaskId::Sync(name, _), TaskSpec::Sync(_)) => sync::run(context, name, None, spec).await,
        (TaskId::ObjectSync(object, name, _), TaskSpec::Sync(_)) => {
            sync::run(context, name, Some(object), spec).await;
        }
        (TaskId::Cleanup(id), TaskSpec::Cleanup { resource, leftovers, reason }) => {
            cleanup::run(context, id, resource, leftovers, reason).await;
        }
        (id, spec) => {
            unreachable!("invariant: the engine plans {id:?} with its own specification, not {spec:?}")
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
    context.tell(Event::UpdateEnded { resource, update, outcome: Box::new(outcome) }).await;
}

//! Applies the objects of a `KubernetesApply`.

use std::time::Duration;

use lilt_cluster::ApplyOptions;
use lilt_engine::{AppliedObjects, ApplyJob, ApplySource, Event};
use lilt_host::process::Process;
use lilt_model::command::Command;
use lilt_model::log::{Level, Source};
use lilt_model::{Failure, SpanId, yaml};
use lilt_store::Span;

use super::api_retry::{self, ApiRetry};
use super::capture;
use super::deploy::{by_command, injection, variables};
use super::outage::OutageRetry;
use crate::context::Context;
use crate::in_flight::Writes;

/// The default, as for resources.
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) async fn run(context: Context, name: String, run: u64, job: &ApplyJob) {
    let id = SpanId::from(format!("kubernetesapply:{name}"));
    let span = || context.logs.span(id.clone(), Some(job.resource.clone()), Source::Build);
    span().info(&format!("Applying the objects of {name} to the cluster"));
    let limit = job.timeout.unwrap_or(TIMEOUT);
    let mut running = None;
    let writes = Writes::new(context.cancel.clone(), context.shutdown.clone());
    let work = async {
        let mut retry = OutageRetry::new(&context, &job.cluster, span(), job.unattended);
        loop {
            let outcome = match &job.source {
                ApplySource::Text(text) => {
                    apply(&context, &writes, (&name, run), job, text, limit, span()).await
                }
                ApplySource::Command(command) => {
                    run_command(&context, job, command, limit, span(), &mut running).await
                }
            };
            match outcome {
                Ok(applied) => return Ok(applied),
                Err(failure) => retry.wait_out(failure).await?,
            }
        }
    };
    let outcome = writes.drain_writes(work).await;
    let Some(outcome) = outcome else { return capture::stop(&context, &mut running).await };
    match &outcome {
        Ok(applied) => {
            for (object, _) in &applied.uids {
                span().info(&format!("  → {object}"));
            }
        }
        Err(failure) => span().print(Level::Error, &format!("ERROR: kubernetesapply {name}: {failure}")),
    }
    context.send(Event::ObjectsApplied { name, run, outcome }).await;
}

async fn apply(
    context: &Context,
    writes: &Writes,
    (name, run): (&str, u64),
    job: &ApplyJob,
    text: &str,
    limit: Duration,
    mut span: Span,
) -> Result<AppliedObjects, Failure> {
    let objects = lilt_tiltfile::kubernetes_objects(text)?;
    let images: Vec<_> = job.images.iter().map(|(image, deployed)| injection(image, deployed)).collect();
    let objects = lilt_cluster::inject::prepare(&objects, &images, &job.locators)?;
    let options = ApplyOptions { timeout: limit, merge: job.merge, ..ApplyOptions::default() };
    let cluster = context.connections.cluster(&job.cluster)?;
    let (resource, cluster_name) = (job.resource.clone(), job.cluster.clone());
    let coming = Event::ObjectsComing {
        name: name.to_owned(),
        run,
        resource,
        cluster: cluster_name,
        objects: objects.clone(),
    };
    context.send(coming).await;
    let mut retry = ApiRetry::new(&cluster, api_retry::deadline(job.unattended, limit));
    let applied = loop {
        let write = writes.begin_write().await?;
        let applied = retry.attempt(cluster.apply_with(&objects, &options)).await;
        drop(write);
        let failure = match applied {
            Ok(applied) => break applied,
            Err(failure) => failure,
        };
        if !retry.should_retry(&failure, |message| span.info(message)).await {
            return Err(failure);
        }
    };
    let result = yaml::stream(applied.iter().map(|applied| &applied.content));
    let uids = applied.into_iter().map(|applied| (applied.object, applied.uid)).collect();
    Ok(AppliedObjects { objects, uids, result })
}

async fn run_command(
    context: &Context,
    job: &ApplyJob,
    command: &Command,
    limit: Duration,
    mut span: Span,
    running: &mut Option<Process>,
) -> Result<AppliedObjects, Failure> {
    let mut command = context.connections.with_kubeconfig(&job.cluster, command);
    let images = job.images.iter().map(|(image, reference)| (&image.name, reference.as_str()));
    command.env.extend(variables::of_images(images));
    span.info(&format!("Running cmd: {}", command.display()));
    let (exit, printed) = capture::run(context, &command, span, limit, running).await?;
    let (objects, found) =
        by_command::find(context, &job.cluster, job.unattended, exit, &printed, limit.as_secs()).await?;
    let objects = by_command::with_identities(&objects, &found);
    let uids = found.into_iter().map(|found| (found.object, found.uid)).collect();
    let result = yaml::stream(&objects);
    Ok(AppliedObjects { objects, uids, result })
}

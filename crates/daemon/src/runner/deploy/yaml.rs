//! Applies the objects of a resource, with the built images put in.

use std::time::Duration;

use lilt_cluster::{Applied, ApplyOptions, Cluster};
use lilt_engine::{DeployJob, Deployed};
use lilt_model::timeline::StageKind;
use lilt_model::{Failure, ImageName, yaml};
use serde_json::Value;

use super::agent;
use super::apply_cache::ApplyCache;
use super::custom;
use super::steps::Steps;
use super::{Deployment, collect_hashes, injections, shown};
use crate::context::Context;
use crate::deployers::Deployers;
use crate::runner::api_retry::{self, ApiRetry};

pub(super) async fn apply(
    context: &Context,
    deployment: &Deployment<'_>,
    job: &DeployJob,
    references: &[(ImageName, String)],
    steps: &mut Steps,
) -> Result<Deployed, Failure> {
    steps.begin(StageKind::Deploy, "", "Deploying".into()).await;
    let mut objects = prepare_objects(context, job, references).await?;
    agent::add(context, deployment, job, references, &mut objects, steps).await?;
    steps.detail("Applying YAML to cluster");
    let cluster = context.connections.cluster(&job.kubernetes.cluster)?;
    let cache = ApplyCache::of(context, steps.resource(), cluster.server());
    let options = ApplyOptions {
        origins: &job.kubernetes.origins,
        timeout: Duration::from_secs(u64::from(job.kubernetes.apply_timeout_secs)),
        merge: job.merge,
        overwrite: job.rerun,
        known: cache.read(),
        bulk: job.first,
        deployer: Some(deployment.deployers.own()),
    };
    if job.rerun {
        delete_workloads(&cluster, job, &objects, steps).await?;
    }
    let deadline = api_retry::deadline(job.unattended, options.timeout);
    let mut retry = ApiRetry::new(&cluster, deadline);
    let applied = loop {
        let write = deployment.writes.begin_write().await?;
        let applied = retry.attempt(cluster.apply_with(&objects, &options)).await;
        drop(write);
        let failure = match applied {
            Ok(applied) => break applied,
            Err(failure) => failure,
        };
        if !retry.should_retry(&failure, |message| steps.detail(message)).await {
            return Err(failure);
        }
    };
    cache.write(&options.known, &objects, &applied);
    print_applied(job, &applied, steps);
    warn_of_other_sessions(deployment.deployers, &applied, steps).await;
    if !job.rerun {
        // If only a ConfigMap changed, crashed pods stay in their back-off.
        let mut workloads = applied.iter().filter(|it| runs_pods(job, &it.content).unwrap_or(true));
        replace_crashed(&cluster, job, workloads.any(|workload| workload.changed), steps).await;
    }
    steps.end().await;
    let mut template_hashes = Vec::new();
    objects.iter().for_each(|object| collect_hashes(object, &mut template_hashes));
    let jobs: Vec<&Applied> = applied.iter().filter(|applied| applied.object.kind == "Job").collect();
    let completed = !jobs.is_empty() && jobs.iter().all(|job| job.complete && !job.changed);
    Ok(Deployed {
        completed,
        marks: applied.iter().map(|applied| applied.fingerprint.clone()).collect(),
        result: yaml::stream(applied.iter().map(|applied| &applied.content)),
        objects: applied.into_iter().map(|applied| (applied.object, applied.uid)).collect(),
        template_hashes,
        ..Deployed::default()
    })
}

/// Returns the objects as they are applied.
async fn prepare_objects(
    context: &Context,
    job: &DeployJob,
    references: &[(ImageName, String)],
) -> Result<Vec<Value>, Failure> {
    let mut images = injections(&job.kubernetes, references);
    for image in &mut images {
        image.content = custom::content_id(context, job, image).await;
    }
    lilt_cluster::inject::prepare(&job.kubernetes.objects, &images, &job.kubernetes.image_locators)
}

fn print_applied(job: &DeployJob, applied: &[Applied], steps: &mut Steps) {
    steps.detail("Objects applied to cluster:");
    for object in applied {
        let note = if object.changed { "" } else { " (unchanged)" };
        steps.detail(&format!("  → {}{note}", shown(&object.object, &job.namespace)));
    }
    for remark in applied.iter().flat_map(|applied| &applied.remarks) {
        match remark.warning {
            true => steps.warn(remark.text.clone()),
            false => steps.detail(&remark.text),
        }
    }
}

async fn warn_of_other_sessions(deployers: &Deployers, applied: &[Applied], steps: &mut Steps) {
    for Applied { object, other_deployer, .. } in applied {
        let Some(other) = other_deployer else { continue };
        if let Some(warning) = deployers.warning(object, other).await {
            steps.warn(warning);
        }
    }
}

fn runs_pods(job: &DeployJob, object: &Value) -> Result<bool, Failure> {
    lilt_cluster::inject::runs_pods(object, &job.kubernetes.image_locators)
}

/// Deletes crashed pods if no workload changed: they may work now, but Kubernetes would restart them late.
async fn replace_crashed(cluster: &Cluster, job: &DeployJob, changed: bool, steps: &mut Steps) {
    match cluster.replace_crashed(&job.crashing, changed).await {
        Ok(replaced) => {
            for pod in replaced {
                steps.detail(&format!(
                    "The pod {} has crashed: it is deleted, so that another starts now",
                    pod.name
                ));
            }
        }
        // Kubernetes will restart the pods anyway, only later.
        Err(failure) => steps.warn(failure.to_string()),
    }
}

/// Deletes the workloads before a manually triggered update, so that they restart, and jobs run again.
///
/// Unlike in Tilt, objects that hold data stay.
async fn delete_workloads(
    cluster: &Cluster,
    job: &DeployJob,
    objects: &[Value],
    steps: &mut Steps,
) -> Result<(), Failure> {
    let mut workloads = Vec::new();
    for object in objects {
        if runs_pods(job, object)? {
            workloads.push(object.clone());
        }
    }
    if workloads.is_empty() {
        return Ok(());
    }
    steps.detail("Deleting what runs, so that it starts anew");
    let time = Duration::from_secs(u64::from(job.kubernetes.apply_timeout_secs)) + grace(&workloads);
    let mut retry = ApiRetry::new(cluster, api_retry::deadline(job.unattended, time));
    while let Err(failure) = retry.attempt(cluster.delete(&workloads, Some(time))).await {
        if !retry.should_retry(&failure, |message| steps.detail(message)).await {
            return Err(failure);
        }
    }
    Ok(())
}

/// Returns the longest grace period of bare pods. Workloads are deleted without waiting for their pods.
fn grace(workloads: &[Value]) -> Duration {
    /// The default of Kubernetes.
    const USUAL: u64 = 30;
    let pods = workloads.iter().filter(|object| object["kind"] == "Pod");
    let seconds = pods.map(|pod| pod["spec"]["terminationGracePeriodSeconds"].as_u64().unwrap_or(USUAL));
    Duration::from_secs(seconds.max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn delete_timeout_includes_the_grace_period_of_bare_pods() {
        let pod = |spec: Value| json!({"kind": "Pod", "spec": spec});
        let seconds = |objects: &[Value]| grace(objects).as_secs();
        assert_eq!(seconds(&[json!({"kind": "Deployment"})]), 0);
        assert_eq!(seconds(&[pod(json!({}))]), 30);
        assert_eq!(seconds(&[pod(json!({"terminationGracePeriodSeconds": 90})), pod(json!({}))]), 90);
    }
}

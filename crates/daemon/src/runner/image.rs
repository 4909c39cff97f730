//! Builds the image of a `DockerImage` or a `CmdImage`.

use lilt_api::ObjectKey;
use lilt_engine::{BuiltReference, DeployJob, Event, UpdateOutcome};
use lilt_model::{Failure, ResourceName};

use super::deploy::{build, build_step_count, steps::Steps};
use super::outage::OutageRetry;
use super::report;
use crate::context::Context;

pub(crate) async fn run(context: Context, key: ObjectKey, run: u64, resource: ResourceName, job: &DeployJob) {
    let mut span = context.update_span(&resource, run);
    let retry_span = context.update_span(&resource, run);
    span.info(&format!("Building the image of {key}"));
    let mut steps = Steps::new(&context, resource, run, span, build_step_count(&job.images));
    let mut outcome = UpdateOutcome::success();
    let work = async {
        let mut retry = OutageRetry::new(&context, &job.kubernetes.cluster, retry_span, job.unattended);
        loop {
            match build(&context, job, &mut steps, &mut outcome).await {
                Ok(built) => return Ok(built),
                Err(failure) => retry.wait_out(failure).await?,
            }
        }
    };
    let result = tokio::select! {
        result = work => result,
        // Dropping the work ends the running build or push; a command gets time to exit.
        () = context.cancel.cancelled() => return steps.stop_command().await,
    };
    let missing = || Failure::internal(format!("{key} was built and has no name"));
    let built = result.and_then(|built| built.last().cloned().ok_or_else(missing));
    match &built {
        Ok(_) => steps.summarize(),
        Err(failure) => report::failed(steps.span(), failure),
    }
    drop(steps);
    let result = built.map(|(_, built)| BuiltReference { local: built.local, in_cluster: built.in_cluster });
    let record = outcome.builds.pop();
    context.send(Event::ObjectImageBuilt { key, run, record, outcome: result }).await;
}

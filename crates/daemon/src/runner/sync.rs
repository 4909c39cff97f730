//! Live updates of one container, over a connection that stays open, so that a save needs no new exec.

mod changed;
mod channel;
mod docker;
mod file_reader;
mod retry;

use std::path::PathBuf;
use std::time::Duration;

use lilt_cluster::{Changes, Cluster, Output};
use lilt_engine::{Event, Outage, Owner, SyncFault, SyncJob, SyncTask, Task};
use lilt_model::image::{RestartProcess, Run};
use lilt_model::log::Level;
use lilt_model::timeline::StageKind;
use lilt_model::{Class, Failure, FailureKind, ResourceName, Unreachable};
use lilt_store::Span;
use tokio::sync::watch::Receiver;
use tokio::time::Instant;

use super::{api_retry, outage, report};
use crate::context::Context;
use crate::settings::Transport;
use channel::Channel;
use docker::DockerChannel;
pub(crate) use file_reader::FileReader;
use file_reader::{Reading, Roots, SharedRead};
use retry::Retries;

const PAUSE: Duration = Duration::from_millis(250);
/// How long a node may take to report that a container has terminated.
const ENDING: Duration = Duration::from_secs(5);
/// How long `ci` waits for an API server that does not respond.
const CI_LIMIT: Duration = Duration::from_secs(30);
/// An API server that takes longer to respond counts as unreachable.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the live updates of one container. Writes to the log of `resource`.
pub(crate) async fn run(
    context: Context,
    file_reader: FileReader,
    owner: Owner,
    resource: ResourceName,
    mut spec: Receiver<Task>,
) {
    let Some(first) = task(&mut spec) else { return };
    let Ok(cluster) = context.connections.cluster(&first.pod.cluster) else { return };
    // Connected ahead of the first save, so that it is as fast as the others. A failure is reported when there is work.
    let mut target = Target::new(&context, cluster, &first);
    // What this container has at the paths of syncs: other containers may have received other changes.
    let mut roots = file_reader.complete_roots(Roots::new(), &first.live_update).await;
    let cancel = context.cancel.clone();
    let serve = async {
        if let Some(task) = task(&mut spec) {
            let _ = target.channel(&task).await;
        }
        let mut done = 0;
        loop {
            if let Some(task) = task(&mut spec)
                && let Some(job) = task.job.as_ref().filter(|job| job.update != done)
            {
                done = job.update;
                let mut span = context.update_span(&resource, job.update);
                let is_reporting = job.cause.is_some();
                let stages = Stages {
                    context: &context,
                    owner: &owner,
                    resource: &resource,
                    update: job.update,
                    is_reporting,
                };
                roots = file_reader.complete_roots(roots, &task.live_update).await;
                let reading = file_reader.open(&owner, &task, job, &roots).await;
                let outcome = update(&mut target, &task, job, &reading, &stages, &mut span).await;
                roots.extend(reading.roots().cloned().unwrap_or_default());
                drop(reading);
                drop(span);
                let (update, container) = (job.update, task.id.clone());
                context.send(Event::Synced { owner: owner.clone(), update, container, outcome }).await;
            } else if spec.changed().await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = serve => {}
        () = cancel.cancelled() => {}
    }
}

fn task(spec: &mut Receiver<Task>) -> Option<SyncTask> {
    match &*spec.borrow_and_update() {
        Task::Sync { task, .. } => Some((**task).clone()),
        _ => None,
    }
}

struct Target<'a> {
    context: &'a Context,
    cluster: Cluster,
    channel: Option<Channel>,
    /// Whether the transport is the Docker engine that runs the container.
    by_engine: bool,
    /// The retries of the running update.
    retries: Retries,
}

impl<'a> Target<'a> {
    fn new(context: &'a Context, cluster: Cluster, task: &SyncTask) -> Self {
        let by_engine = !task.agent && context.settings.live_update == Some(Transport::Docker);
        Self { context, cluster, channel: None, by_engine, retries: Retries::new(None) }
    }

    /// Closes the channel and waits until another attempt is worth it. Returns false if it is not.
    async fn retry(&mut self, task: &SyncTask, failure: &Failure, stages: &Stages<'_>) -> bool {
        self.channel = None;
        let (context, cluster) = (self.context, &self.cluster);
        let check = || check_available(context, cluster, task, failure);
        self.retries.wait(failure, check, |cause| stages.wait(task, cause)).await
    }

    async fn channel(&mut self, task: &SyncTask) -> Result<&mut Channel, Failure> {
        let open = match self.channel.take() {
            Some(open) => open,
            None => match self.open(task).await {
                Err(failure) if self.switch_to_engine(&failure, task).await => self.open(task).await?,
                opened => opened?,
            },
        };
        Ok(self.channel.insert(open))
    }

    async fn open(&mut self, task: &SyncTask) -> Result<Channel, Failure> {
        Channel::open(self.context, &self.cluster, task, self.by_engine).await
    }

    /// Switches to the Docker engine if that can do what the image or the cluster's permissions do not allow.
    ///
    /// The engine needs neither programs of the image nor permissions. Otherwise an exec that stays open is the better
    /// transport: a new one for each step takes the engine tens of milliseconds.
    async fn switch_to_engine(&mut self, failure: &Failure, task: &SyncTask) -> bool {
        let may = self.context.settings.live_update.unwrap_or_default() == Transport::Any;
        let lasts = failure.class() == Class::User || failure.kind == FailureKind::Forbidden;
        if !may || self.by_engine || task.agent || !lasts {
            return false;
        }
        self.by_engine = DockerChannel::open(self.context, task).await.is_ok();
        self.by_engine
    }
}

/// Checks whether the dependency that made an attempt fail is back: the API server, unless the failure names another one.
async fn check_available(
    context: &Context,
    cluster: &Cluster,
    task: &SyncTask,
    failure: &Failure,
) -> Result<(), Failure> {
    let unreachable = match failure.unreachable() {
        None | Some(Unreachable::Cluster) => return cluster.check_login(RESPONSE_TIMEOUT).await,
        Some(what) => what.clone(),
    };
    match outage::is_over(context, &Outage { cluster: task.pod.cluster.clone(), unreachable }).await {
        true => Ok(()),
        false => Err(failure.clone()),
    }
}

/// Updates one container: copies files, runs steps, restarts the process.
async fn update(
    target: &mut Target<'_>,
    task: &SyncTask,
    job: &SyncJob,
    reading: &SharedRead,
    stages: &Stages<'_>,
    span: &mut Span,
) -> Result<(), SyncFault> {
    if let Some(cause) = &job.cause {
        report::begin(span, cause);
    }
    target.retries = Retries::new(api_retry::deadline(task.unattended, CI_LIMIT));
    let name = container_name(task);
    let result = match copy_and_run(target, task, reading, stages, &name, span).await {
        Ok(paths) => restart(target, task, paths, stages, span).await,
        // After a restart the process may have exited at once, before the node reports it.
        Err(SyncFault::Transport(lost)) if task.agent && lost.class() == Class::Environment => {
            Err(classify_fault_after_restart(&target.cluster, task, SyncFault::Transport(lost)).await)
        }
        Err(fault) => Err(classify_fault(&target.cluster, task, fault).await),
    };
    match &result {
        Ok(()) => span.info(&format!("  → Container {name} updated!")),
        Err(SyncFault::Gone) => span.info(&format!("  → Container {name} is gone")),
        Err(SyncFault::Step(failure)) => {
            span.info(&failed_line(&name, &failure.message));
        }
        Err(SyncFault::Transport(failure) | SyncFault::Closed(failure)) => {
            span.print(Level::Warn, &failed_line(&name, &failure.to_string()));
        }
    }
    result
}

fn container_name(task: &SyncTask) -> String {
    format!("{}/{}", task.pod.name, task.container)
}

/// Returns the line that Tilt prints for a container that could not be updated. Scripts look for it.
fn failed_line(container: &str, cause: &str) -> String {
    format!("  → Failed to update container {container}: {cause}")
}

/// Returns [`SyncFault::Gone`] if the container is gone: that is the cause of any other fault.
async fn classify_fault(cluster: &Cluster, task: &SyncTask, fault: SyncFault) -> SyncFault {
    match cluster.runs(&task.pod, &task.id).await {
        Ok(false) => SyncFault::Gone,
        _ => fault,
    }
}

/// The same after a restart. If the process exited at once, so does its container, but the node reports that later.
async fn classify_fault_after_restart(cluster: &Cluster, task: &SyncTask, fault: SyncFault) -> SyncFault {
    let deadline = Instant::now() + ENDING;
    let mut fault = classify_fault(cluster, task, fault).await;
    while fault != SyncFault::Gone && Instant::now() < deadline {
        tokio::time::sleep(PAUSE).await;
        fault = classify_fault(cluster, task, fault).await;
    }
    fault
}

/// Copies the changes and runs the steps. Returns the changed paths.
async fn copy_and_run<'a>(
    target: &mut Target<'_>,
    task: &SyncTask,
    reading: &'a SharedRead,
    stages: &Stages<'_>,
    name: &str,
    span: &mut Span,
) -> Result<&'a [PathBuf], SyncFault> {
    let mut shortage = Shortage::default();
    let wait = |failure: &Failure| shortage.report(failure, span);
    let Reading { paths, changed } = reading.read(wait).await.map_err(SyncFault::Transport)?;
    // Printed while the container works: thousands of files have thousands of lines.
    let print = async { changed.print(name, reading.is_first, span) };
    let (copied, ()) = tokio::join!(copy(target, task, &changed.changes, stages), print);
    copied?;
    run_steps(target, task, paths, stages, span).await?;
    Ok(paths)
}

/// Reports once that this machine lacks what an update needs. A build would need it as well, so the update waits.
#[derive(Default)]
struct Shortage {
    is_reported: bool,
}

impl Shortage {
    fn report(&mut self, failure: &Failure, span: &mut Span) {
        if !std::mem::replace(&mut self.is_reported, true) {
            let condition = Unreachable::Machine.return_condition();
            span.print(Level::Warn, &format!("WARNING: {failure}\nThe update goes on when {condition}"));
        }
    }
}

/// Reports the stages of an update, for one of its containers.
struct Stages<'a> {
    context: &'a Context,
    owner: &'a Owner,
    /// Whose log it writes to.
    resource: &'a ResourceName,
    update: u64,
    /// Otherwise the task of another container reports the stages.
    is_reporting: bool,
}

impl Stages<'_> {
    async fn begin(&self, stage: StageKind, detail: &str) {
        if self.is_reporting {
            let (owner, update, detail) = (self.owner.clone(), self.update, detail.to_owned());
            self.context.send(Event::StageBegan { owner, update, stage, detail }).await;
        }
    }

    /// Reports that the update waits for what does not respond.
    async fn wait(&self, task: &SyncTask, cause: Failure) {
        let line = format!("  → Waiting to update container {}: {}", container_name(task), cause.message);
        self.context.update_span(self.resource, self.update).info(&line);
        self.begin(StageKind::Wait, &cause.message).await;
    }
}

async fn copy(
    target: &mut Target<'_>,
    task: &SyncTask,
    changes: &Changes,
    stages: &Stages<'_>,
) -> Result<(), SyncFault> {
    loop {
        let result = match target.channel(task).await {
            Ok(channel) => match channel.send(changes).await {
                Ok(()) => {
                    stages.begin(StageKind::Write, "").await;
                    channel.commit().await
                }
                failed => failed,
            },
            Err(failure) => Err(failure),
        };
        // A lost connection is worth a retry; a missing tar or container is not.
        let Err(failure) = result else { return Ok(()) };
        target.channel = None;
        if matches!(target.cluster.runs(&task.pod, &task.id).await, Ok(false)) {
            return Err(SyncFault::Gone);
        }
        if !target.switch_to_engine(&failure, task).await && !target.retry(task, &failure, stages).await {
            return Err(match failure.kind == FailureKind::NotWritable {
                true => SyncFault::Closed(failure),
                false => SyncFault::Transport(failure),
            });
        }
    }
}

async fn run_steps(
    target: &mut Target<'_>,
    task: &SyncTask,
    paths: &[PathBuf],
    stages: &Stages<'_>,
    span: &mut Span,
) -> Result<(), SyncFault> {
    let due: Vec<&Run> = task.live_update.runs.iter().filter(|run| is_due(&run.triggers, paths)).collect();
    for (index, run) in due.iter().enumerate() {
        open_for_step(target, task, stages).await?;
        stages.begin(StageKind::Run, &shown(run)).await;
        if !run.echo_off {
            span.info(&format!("[CMD {}/{}] {}", index + 1, due.len(), shown(run)));
        }
        let channel = target.channel(task).await.map_err(SyncFault::Transport)?;
        let output = |output: Output<'_>| match output {
            Output::Stdout(bytes) | Output::Stderr(bytes) => span.write(bytes),
        };
        match channel.run(&run.argv, output).await {
            Ok(0) => span.end_line(),
            Ok(code) => {
                let message = format!("{} failed: exit status {code}", run_step(run));
                return Err(SyncFault::Step(Failure::user(message)));
            }
            // The step may still be running, and must perhaps not run twice at a time.
            Err(failure) => {
                target.channel = None;
                return Err(SyncFault::Step(unfinished(run, failure)));
            }
        }
    }
    Ok(())
}

/// The command of a step, or a fixed text if it may contain a secret.
fn shown(run: &Run) -> String {
    if run.echo_off { "(hidden by echo_off)".to_owned() } else { run.argv.join(" ") }
}

fn run_step(run: &Run) -> String {
    if run.echo_off {
        "run step (hidden by echo_off)".to_owned()
    } else {
        format!("run step {:?}", shown(run))
    }
}

/// Reopens the channel if it was lost since the files were copied. The next step has not started then.
async fn open_for_step(
    target: &mut Target<'_>,
    task: &SyncTask,
    stages: &Stages<'_>,
) -> Result<(), SyncFault> {
    while let Err(failure) = target.channel(task).await {
        if matches!(target.cluster.runs(&task.pod, &task.id).await, Ok(false)) {
            return Err(SyncFault::Gone);
        }
        if !target.retry(task, &failure, stages).await {
            return Err(SyncFault::Transport(failure));
        }
    }
    Ok(())
}

fn unfinished(run: &Run, failure: Failure) -> Failure {
    if failure.class() != Class::Environment {
        return failure;
    }
    let message = format!("{} was cut off: {}", run_step(run), failure.message);
    let hint = "whether it has done its work is not known: it runs again with the next save".to_owned();
    Failure { message, hint: Some(hint), ..failure }
}

/// Restarts the process, if the live update has a restart step.
async fn restart(
    target: &mut Target<'_>,
    task: &SyncTask,
    paths: &[PathBuf],
    stages: &Stages<'_>,
    span: &mut Span,
) -> Result<(), SyncFault> {
    let restart = task.live_update.restart_process.as_ref();
    if !restart.is_some_and(|RestartProcess { triggers, .. }| is_due(triggers, paths)) {
        return Ok(());
    }
    if !task.agent {
        stages.begin(StageKind::Restart, "").await;
        return Err(SyncFault::Step(cannot_restart(task)));
    }
    loop {
        open_for_step(target, task, stages).await?;
        stages.begin(StageKind::Restart, "").await;
        let channel = target.channel(task).await.map_err(SyncFault::Transport)?;
        let Err(failure) = channel.restart().await else { break };
        target.channel = None;
        // The new program cannot be started: the container exits, and a new image would contain the same.
        if failure.class() == Class::User {
            return Err(SyncFault::Step(failure));
        }
        // If the API server became unreachable, it is unknown whether the process was restarted. Restarting twice does no harm.
        if target.cluster.check_reachable(RESPONSE_TIMEOUT).await.is_ok()
            || !target.retry(task, &failure, stages).await
        {
            return Err(
                classify_fault_after_restart(&target.cluster, task, SyncFault::Transport(failure)).await
            );
        }
    }
    span.info("  → Process started anew");
    Ok(())
}

/// A failure that no deployment would fix: lilt does not build the image.
fn cannot_restart(task: &SyncTask) -> Failure {
    Failure::user(format!(
        "the changes are in the container {}, but its process cannot be started anew: lilt's agent is not in its pod",
        task.container
    ))
    .hint("the log of the last deployment says why; what runs by itself when files change needs no restart_process()")
}

fn is_due(triggers: &[PathBuf], paths: &[PathBuf]) -> bool {
    triggers.is_empty() || paths.iter().any(|path| triggers.iter().any(|it| path.starts_with(it)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn failed_update_names_pod_and_container() {
        let line = failed_line("web-1/main", "run step \"false\" failed: exit status 1");
        assert_eq!(
            line,
            "  → Failed to update container web-1/main: run step \"false\" failed: exit status 1"
        );
    }

    #[test]
    fn steps_with_triggers_run_only_for_their_files() {
        let triggers = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        let changed = [PathBuf::from("/p/requirements.txt")];
        assert!(is_due(&triggers(&[]), &changed));
        assert!(is_due(&triggers(&["/p/requirements.txt"]), &changed));
        assert!(!is_due(&triggers(&["/p/require"]), &changed));
    }
}
